"""The statements of random programs about what is rarer of autograd: edges, nodes, nested modes, transforms, subclasses."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .grow import Grower

graph, ad = "torch.autograd.graph", "torch.autograd.forward_ad"


def split_write(g: Grower) -> str:
    """A write into one of several views that one call gave."""
    x, d = g.tensor("dims", "written", g.pick("node", "smooth", "plain", "leaf")), 0
    d = g.dim(x)
    views = g.pick(f"{x}.unbind({d})", f"{x}.split(1, {d})", f"{x}.chunk(2, {d})", f"torch.tensor_split({x}, 2, {d})", f"[v for v in {x}]",
                   f"torch.split({x}.view(-1), 2)", f"torch.unsafe_chunk({x}, 2, {d})", f"{x}.unsafe_split(1, {d})", f"[{x}[0], {x}[-1]]", f"torch.hsplit({x}, 1)")  # fmt: skip
    first, rest = g.new(), g.new()
    change = g.pick(f"{first}.mul_(2)", f"{first}[...] = 0.5", f"{first}.zero_()", f"{first}.add_({g.beside(x)})", f"{x}.mul_(2)", f"{first}.copy_({first} * 2)")  # fmt: skip
    around = g.pick("{}", "{}", "with torch.no_grad():\n    {}", "with torch.inference_mode():\n    {}")
    inside = g.chance(0.3)
    take = f"{first}, *{rest} = {views}"
    if "with" in around and inside:
        return around.format(f"{take}\n    {change}")
    return f"{take}\n{around.format(change)}"


def complex_write(g: Grower) -> str:
    """Parts of complex numbers, and writes through them."""
    x = g.tensor("complex", *g.pick((), ("node",), ("written",)))
    y = g.beside(x, "smooth")
    part = g.pick(f"{x}.real", f"{x}.imag", f"torch.view_as_real({x})", f"{x}.conj()", f"torch.view_as_real({x})[..., 0]", f"{x}.conj().imag",
                  f"torch.view_as_complex(torch.view_as_real({x}))", f"{x}.mH", f"torch.resolve_conj({x}.conj())", f"{x}.flatten().real", f"{x}[..., :1].imag")  # fmt: skip
    if g.chance(0.4):
        return f"{g.new()} = {part}"
    return f"v = {part}\n" + g.pick("v.mul_(2)", "v.add_(1)", "v.copy_(v * 2)", "v[...] = 0.5", "v.zero_()", f"v.mul_({y})", "v.neg_()", "v.sin_()", f"{x}.mul_(2)\n{g.new()} = v * 1")  # fmt: skip


def rich_function(g: Grower) -> str:
    """A custom Function with all that it may have beside `forward` and `backward`, and a call of it, mostly transformed."""
    n, x, y = g.count, g.tensor("smooth", "grad"), g.tensor("smooth")
    compute, slope, other = g.pick(
        ("x * k * y", "g * k * y", "g * k * x"), ("x.sin() * k", "g * x.cos() * k", "None"), ("x.clone().mul_(k)", "g * k", "torch.zeros_like(y) if ctx.needs_input_grad[1] else None"),
        ("(x * y).sum() * k", "torch.ones_like(x) * g * k", "torch.zeros_like(y)"), ("x.view_as(x)", "g", "None"), ("x.exp()", "g * ctx.out", "None"),
    )  # fmt: skip
    keep = g.pick("ctx.save_for_backward(x, y)", "ctx.save_for_backward(x, y)\n        ctx.save_for_forward(x, y)", "ctx.save_for_forward(x, y)\n        ctx.save_for_backward(x, y)")  # fmt: skip
    setup = g.chance(0.6)
    text = f"class F{n}(torch.autograd.Function):\n"
    text += f"    generate_vmap_rule = {g.pick('True', 'True', 'False')}\n" if g.chance(0.7) else ""
    head = (
        f"    @staticmethod\n    def forward(x, y, k):\n        return {compute}\n    @staticmethod\n"
        f"    def setup_context(ctx, inputs, output):\n        x, y, ctx.k = inputs\n        ctx.out = {g.pick('output', 'output.detach()')}\n        {keep}\n"
        if setup
        else f"    @staticmethod\n    def forward(ctx, x, y, k):\n        ctx.k, ctx.out = k, {compute.replace('x.clone().mul_(k)', 'x * k')}\n        {keep}\n        return {compute}\n"
    )
    more = g.pick("", "", "        ctx.mark_non_differentiable(output)\n", "        ctx.set_materialize_grads(False)\n")  # fmt: skip
    text += head + (more if setup else "")
    text += f"    @staticmethod\n    def backward(ctx, g):\n        (x, y), k = ctx.saved_tensors, ctx.k\n        return {slope}, {other}, None\n"
    if g.chance(0.6):
        text += f"    @staticmethod\n    def jvp(ctx, a, b, _):\n        return {g.pick('a * ctx.k', 'a.clone()', 'a * ctx.saved_tensors[0]', 'None')}\n"
    if g.chance(0.3):
        text += f"    @staticmethod\n    def vmap(info, dims, x, y, k):\n        log.append((info.batch_size, dims))\n        return F{n}.apply(x, y, k), {g.pick('dims[0]', '0', 'None')}\n"
    f = f"lambda a: F{n}.apply(a, {y}, 2)"
    call = g.pick(f"F{n}.apply({x}, {y}, 2)", f"F{n}.apply({x}, {x}, k=2)" if g.chance(0.05) else f"F{n}.apply({x}, {x}, 3)", f"torch.func.vmap({f})({x})", f"torch.func.grad(lambda a: F{n}.apply(a, {y}, 2).sum())({x})",
                  f"torch.func.jvp({f}, ({x},), ({x},))", f"torch.func.vjp({f}, {x})[1]({x})", f"torch.func.vmap(torch.func.grad(lambda a: F{n}.apply(a, {y}, 2).sum()))({x})", f"torch.func.jacrev({f})({x})",
                  f"checkpoint({f}, {x}, use_reentrant=False)", f"torch.autograd.functional.jvp({f}, {x}, {x})", f"torch.func.vmap(lambda a, b: F{n}.apply(a, b, 2), (0, None))({x}, {y})")  # fmt: skip
    return text + f"{g.new()} = {call}"


def nested_modes(g: Grower) -> str:
    """Checkpoints in checkpoints, in hooks on saved values, and the other way round."""
    x = g.tensor("smooth", "grad")
    inner = g.pick(
        "a.sin() * a",
        "(a * a).exp()",
        f"a * {g.tensor()}",
        "a.clone().mul_(2).sin()",
        "torch.nn.functional.dropout(a, 0.5)",
        "a.view(-1)[:1] * a.sum()",
    )
    hooks = g.pick("lambda t: (log.append(t.shape), t)[1], lambda t: t", "lambda t: t.clone(), lambda t: (log.append('unpack'), t)[1]", "lambda t: t.detach().numpy(), torch.from_numpy", "lambda t: None, lambda t: None")  # fmt: skip
    f, way = f"lambda a: {inner}", f"use_reentrant={g.pick('False', 'False', 'True')}"
    within = g.pick(
        f"checkpoint(lambda b: checkpoint({f}, b, use_reentrant=False) * b, {x}, {way})", f"checkpoint({f}, checkpoint({f}, {x}, {way}), use_reentrant=False)",
        f"checkpoint({f}, {x}, {way}, preserve_rng_state=False)", f"checkpoint({f}, {x}, use_reentrant=False, determinism_check='none')", f"({f})({x})",
        f"checkpoint(lambda b: torch.autograd.grad(({f})(b).abs().sum(), b, create_graph=True)[0], {x}, use_reentrant=False)",
        f"checkpoint({f}, {x}, use_reentrant=False, context_fn=lambda: ({graph}.saved_tensors_hooks({hooks}), torch.enable_grad()))",
    )  # fmt: skip
    around = g.pick(f"{graph}.saved_tensors_hooks({hooks})", f"{graph}.saved_tensors_hooks({hooks})", "torch.utils.checkpoint.set_checkpoint_early_stop(False)", f"{graph}.save_on_cpu()",
                    f"{graph}.disable_saved_tensors_hooks('no')", f"{graph}.allow_mutation_on_saved_tensors()", "torch.no_grad()", "torch.autograd.detect_anomaly()", "torch.autocast('cpu', dtype=torch.float16)")  # fmt: skip
    then = g.pick(
        "",
        "",
        f"\n    t{g.count + 1}.sum().backward()",
        f"\n    t{g.count + 1}.abs().sum().backward(retain_graph=True)",
    )
    return f"with {around}:\n    {g.new()} = {within}{then}"


def edges(g: Grower) -> str:
    """Edges, nodes and what hangs on them."""
    y, x, leaf = g.tensor("node"), g.tensor("grad"), g.tensor("leaf")
    both = f"[{x}, {g.tensor('grad')}]"
    return g.pick(
        f"{g.new()} = torch.autograd.grad({y}.sum(), {graph}.get_gradient_edge({x}), allow_unused=True)", f"{g.new()} = torch.autograd.grad({graph}.get_gradient_edge({y}), [{x}], grad_outputs=torch.ones_like({y}), allow_unused=True)",
        f"torch.autograd.backward([{y}, {x}], [torch.ones_like({y}), torch.ones_like({x})])", f"torch.autograd.backward([{y}.sum(), {x}.sum()], inputs=[{leaf}, {x}])",
        f"h{g.count} = {graph}.register_multi_grad_hook({both}, lambda gs: log.append([g is None for g in gs]))", f"h{g.count} = {graph}.register_multi_grad_hook({both}, lambda g: log.append(g), mode='any')",
        f"h{g.count} = {graph}.get_gradient_edge({leaf}).node.register_hook(lambda i, o: log.append((i, o)))", f"h{g.count} = {graph}.get_gradient_edge({leaf}).node.register_prehook(lambda i: tuple(g * 2 for g in i))",
        f"h{g.count} = {leaf}.view_as({leaf}).grad_fn.next_functions[0][0].register_prehook(lambda i: log.append(i))", f"{g.new()} = torch.autograd.grad({y}.sum(), [{x}, {leaf}], allow_unused=True, materialize_grads={g.pick('True', 'False')})",
        f"{g.new()} = torch.autograd.grad({y}, {x}, torch.ones(2, *{y}.shape, dtype={y}.dtype), is_grads_batched=True, allow_unused=True)", f"{y}.sum().backward(inputs=[{x}, {leaf}], retain_graph=True)",
        f"{y}.retain_grad()\n{y}.sum().backward()\n{g.new()} = {y}.grad", f"log.append({y}.grad_fn is None)",
        f"log.append([getattr({y}.grad_fn, k) for k in ('_saved_self', '_saved_result') if hasattr({y}.grad_fn, k)])", f"{y}.grad_fn.metadata['k'] = 1; log.append({y}.grad_fn.metadata['k'])", f"{g.new()} = {y}.grad_fn(torch.ones_like({y}))",
        f"h{g.count} = {x}.register_hook(lambda g: {leaf}.sum().backward())", f"{leaf}.grad = None\n{y}.sum().backward(create_graph=True)\n{g.new()} = {leaf}.grad",
        f"with {graph}.set_warn_on_accumulate_grad_stream_mismatch(False):\n    {y}.sum().backward()" if g.chance(0.1) else f"{y}.sum().backward(inputs={leaf})", f"{x}.detach_()", f"{y}.detach_(); {y}.requires_grad_()",
        f"with {graph}.Node.__mro__ and {graph}.save_on_cpu():\n    {g.new()} = ({x} * {x}).sin()", f"log.append(torch.autograd.gradcheck(lambda a: a.sin() * a, {x}.detach().double().requires_grad_()))",
        f"log.append({y}.grad_fn.next_functions[0][0] is {x}.grad_fn)", f"log.append({x}.is_leaf)",
        f"h{g.count} = {x}.register_hook(lambda g: g.mul_(2))", f"h{g.count} = {x}.register_hook(lambda g: (g * 2).requires_grad_(False))",
    )  # fmt: skip


def composed(g: Grower) -> str:
    """Transforms of transforms, of a function that writes in place."""
    x, y = g.tensor("float", "dims"), g.tensor("float")
    body = [
        g.pick(
            "b = a.clone()", "b = a * 1", "b = a.sin()", "b = torch.zeros_like(a)", f"b = a * {y}", "b = a"
        )
    ]
    body += [
        g.pick("b.mul_(a.sin())", "b[..., 0] = a.sum()", "b.view(-1)[:1].add_(a.sum())", "b += a * a", "b.unbind(0)[0].mul_(2)", "b = b.detach() * a", "b = torch.where(a > 0, b, a)", "b.copy_(a.exp())",
               "with torch.no_grad():\n    b = b * 2", "b = torch.cat([b, a])", "b = b.t()", "b.transpose_(0, -1)", "b = b[..., None].squeeze(-1)", "b = torch.stack([a, b]).unbind(0)[1]", f"b = b + {y}.sum()", "b.select(0, 0).zero_()",
               "c = b.view(-1); c.mul_(3)", "b = b.expand(2, *b.shape).sum(0)", "b = b.float().double()", "b = torch.linalg.vector_norm(b, dim=-1, keepdim=True) * b", "b = b.softmax(-1)", "b = b.cumsum(0)")
        for _ in range(g.pick(1, 2, 3))
    ]  # fmt: skip
    n = g.count
    f, total = f"f{n}", f"lambda a: f{n}(a).sum()"
    fn = "torch.func."
    call = g.pick(
        f"{fn}grad({total})({x})", f"{fn}vmap({f})({x})", f"{fn}vmap({fn}grad({total}))({x})", f"{fn}grad(lambda a: {fn}vmap({f})(a).sum())({x})", f"{fn}jvp({f}, ({x},), (torch.ones_like({x}),))",
        f"{fn}jvp({fn}grad({total}), ({x},), (torch.ones_like({x}),))", f"{fn}grad(lambda a: {fn}grad({total})(a).sum())({x})", f"{fn}jacrev({f})({x})", f"{fn}jacfwd({f})({x})", f"{fn}hessian({total})({x})",
        f"{fn}vjp({f}, {x})[1](torch.ones_like({x}))", f"{fn}vmap({fn}vmap({f}))({x})", f"{fn}vmap({f}, in_dims=-1, out_dims=-1)({x})", f"{fn}linearize({f}, {x})[1]({x})", f"{fn}vmap({fn}jacrev({f}))({x})", f"{fn}jacfwd({fn}jacrev({f}))({x})",
        f"{fn}vmap({f}, chunk_size=1)({x})", f"{fn}grad_and_value({total}, has_aux=False)({x})", f"{fn}vmap(lambda a: {fn}jvp({f}, (a,), (a,))[1])({x})",
        f"torch.autograd.functional.jacobian({f}, {x}, vectorize={g.pick('True', 'False')}, create_graph={g.pick('True', 'False')})", f"torch.autograd.functional.hessian({total}, {x}, create_graph={g.pick('True', 'False')})",
        f"torch.autograd.functional.vhp({total}, {x}, torch.ones_like({x}))", f"torch.autograd.functional.jvp({f}, {x}, torch.ones_like({x}), strict={g.pick('True', 'False')})", f"{f}({x})",
    )  # fmt: skip
    return f"def {f}(a):\n{textwrap.indent(chr(10).join(body), '    ')}\n    return b\n{g.new()} = {call}"


def subclass(g: Grower) -> str:
    """Subclasses of Tensor, and modes that see functions."""
    x, n, y = g.tensor(), g.count, g.tensor()
    act = g.pick("log.append(func.__name__)", "pass")  # fmt: skip
    use = g.pick("{a} + {b}", "{a}.sin()", "torch.cat([{a}, {a}])", "{a}.sum()", "{a}.view(-1)", "{a}.clone().mul_(2)", "torch.nn.functional.relu({a})", "{a}.detach()", "{a} * 2", "copy.deepcopy({a})", "{a}.unbind(0)", "{a}.max(0)", "{a}[0]",
                 "torch.nn.Parameter({a})", "{b} * {a}", "torch.stack([{b}, {a}])", "{a}.new_zeros(2)", "torch.zeros_like({a})", "{a}.float()", "{a}.numpy()", "{a}.requires_grad_()", "2 ** {a}", "{a}.__class__.__name__")  # fmt: skip
    if g.chance(0.3):
        return (
            f"class S{n}(torch.overrides.TorchFunctionMode):\n    def __torch_function__(self, func, types, args=(), kwargs=None):\n        {act}\n"
            f"        return func(*args, **(kwargs or {{}}))\nwith S{n}():\n    {g.new()} = {use.format(a=x, b=y)}"
        )
    own = (
        "    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None):\n        return super().__torch_function__(func, types, args, kwargs)\n"
        if g.chance(0.6)
        else "    pass\n"
    )
    made = g.pick(
        f"{x}.as_subclass(S{n})",
        f"S{n}({x})",
        f"torch.Tensor._make_subclass(S{n}, {x}.detach(), {g.pick('True', 'False')})",
    )
    a = g.new()
    b = g.new()
    return f"class S{n}(torch.Tensor):\n{own}{a} = {made}\n{b} = {use.format(a=a, b=y)}\nlog.append((type({a}).__name__, type({b}).__name__))"


def dtype_move(g: Grower) -> str:
    """Another dtype in the middle of a graph, or of everything."""
    x, d = (
        g.tensor("smooth", *g.pick((), ("grad",))),
        g.pick("float64", "float32", "float16", "complex64", "bfloat16", "int64"),
    )
    return g.pick(
        f"{g.new()} = {x}.to(torch.{d})", f"{g.new()} = {x}.type(torch.{d})", f"{g.new()} = {x}.to(torch.{d}, copy=True)", f"{g.new()} = {x}.to({g.tensor()})", f"{g.new()} = {x}.sum(dtype=torch.{d})",
        f"{g.new()} = {x}.softmax(-1, dtype=torch.{d})", f"{g.new()} = torch.empty_like({x}, dtype=torch.{d}).copy_({x})", f"torch.set_default_dtype(torch.{g.pick('float64', 'float32')})", f"{g.new()} = {x}.cumsum(-1, dtype=torch.{d})",
        f"with torch.autocast('cpu', dtype=torch.{g.pick('float16', 'bfloat16')}):\n    {g.new()} = {x} @ {x}.mT\n    {g.new()} = t{g.count - 1}.softmax(-1)", f"{g.new()} = {x}.to(torch.{d}, memory_format=torch.contiguous_format)",
        f"{g.new()} = {x}.view(torch.{d})", f"{g.new()} = torch.tensor({x}.tolist())", f"{g.new()} = {x}.type_as({g.tensor()}).mul_({x})", f"{g.new()} = {x}.bfloat16().sum()", f"{x}.grad = torch.ones_like({x}, dtype=torch.{d})",
    )  # fmt: skip


def duals(g: Grower) -> str:
    """Forward mode: writes into views of duals, and gradients through tangents."""
    x, y = g.tensor("float"), g.tensor("float")
    tangent = g.pick(
        f"torch.ones_like({x})", f"{x}.detach() * 2", f"torch.ones_like({x}).requires_grad_()", f"{x}"
    )
    body = [
        g.pick("d = d * d", "d = d.sin()", "d.mul_(2)", "d[...] = d * 3", "d.view(-1)[:1].mul_(2)", f"d = d * {y}", "d = d.detach()", "v = d.view(-1); v.mul_(d.sin().reshape(-1))", f"d = torch.cat([d, {x}])", "d = d.clone(); d.zero_()", "d = d.t()",
               "e = torch.zeros_like(d); e.copy_(d); d = e", "with torch.no_grad():\n    d = d * 2", "d = d.expand(2, *d.shape)", "d = checkpoint(lambda a: a.sin(), d, use_reentrant=False)", "d = d.unbind(0)[0]", "d = d.requires_grad_()", "d = copy.deepcopy(d)",
               f"d = {x}.detach().clone(); d.view(-1)[:1] = {ad}.make_dual(torch.ones(1, dtype=d.dtype), torch.ones(1, dtype=d.dtype))", "d = d.to(torch.float64)", "d = d.sum() * d", "d = torch.linalg.vector_norm(d) * d", "d = torch.view_as_real(torch.complex(d, d))")
        for _ in range(g.pick(1, 1, 2, 3))
    ]  # fmt: skip
    a, b = g.new(), g.new()
    lines = [
        f"d = {ad}.make_dual({x}.{g.pick('detach()', 'clone()', 'detach().clone()')}, {tangent})",
        *body,
        f"{a}, {b} = {ad}.unpack_dual(d)",
    ]
    return f"with {ad}.dual_level():\n" + textwrap.indent("\n".join(lines), "    ")
