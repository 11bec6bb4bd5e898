"""The statements that random programs are made of: each function here gives one, as text, for the tensors there are."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.native.hostile.calls import words

from .corners import (
    complex_write,
    composed,
    dtype_move,
    duals,
    edges,
    nested_modes,
    rich_function,
    split_write,
    subclass,
)
from .draws import draw
from .training import call, change_module, module, module_hook, optimiser

if TYPE_CHECKING:
    from .grow import Grower

Maker = Callable[["Grower"], str]

DTYPES = (
    ["float32"] * 8
    + ["float64"] * 7
    + ["complex64"] * 3
    + ["complex128", "float16", "int32", "uint8", "bool"]
)
SHAPES = [(), (3,), (3,), (2, 3), (2, 3), (2, 2), (1, 3), (2, 1), (3, 2, 2), (4,), (1,), (0, 3)]
FLOATS = ("0.5", "-1.5", "2.0", "1.25", "-0.75", "0.3", "1.7", "-0.4", "3.0", "-2.5")
WHOLE = ("0", "1", "2", "0", "1")


def leaf(g: Grower) -> str:
    """A tensor that is written down."""
    dtype, shape = g.rng.choice(DTYPES), g.rng.choice(SHAPES)
    form = FLOATS
    if dtype.startswith("complex"):
        form = ("0.5+1j", "-1.5j", "2.0", "1-0.25j", "0.3+0.4j")
    elif dtype == "bool":
        form = ("True", "False")
    elif "int" in dtype:
        form = WHOLE
    smooth = dtype.startswith(("float", "complex"))
    needs = ", requires_grad=True" if smooth and g.chance(0.75) else ""
    return f"{g.new()} = torch.tensor({nested(g, shape, form)}, dtype=torch.{dtype}{needs})"


def nested(g: Grower, shape: tuple[int, ...], form: tuple[str, ...]) -> str:
    if not shape:
        return g.rng.choice(form)
    inner = ", ".join(nested(g, shape[1:], form) for _ in range(shape[0]))
    return (
        f"[{inner}]" if shape[0] else "[[], [], []]" if len(shape) < 2 else f"torch.zeros({shape}).tolist()"
    )


# -- functions ---------------------------------------------------------------------------------------------------------

UNARY = words("""
    sin cos tanh sigmoid exp abs neg relu square sign sgn floor round clone contiguous conj erf expm1 log1p reciprocal
    logical_not isnan isfinite sinh atan asinh rsqrt log sqrt trunc frac exp2 positive angle resolve_conj detach t
    flatten squeeze sum mean prod cumsum_ max min amax amin all any std var count_nonzero logsumexp softmax
    float double half long bool int cfloat real imag diagonal tril triu flip item tolist numel dim nan_to_num
    deg2rad sinc erfinv lgamma digamma argmax argmin norm diff ravel fliplr msort unique isreal
    is_complex element_size
""")
ALONG = words("""
    sum({d}) mean({d}) prod({d}) max({d}) min({d}) amax({d}) amin({d}) std({d}) var({d}) cumsum({d}) cumprod({d})
    softmax({d}) log_softmax({d}) logsumexp({d}) sort(dim={d},stable=True) argsort(dim={d},stable=True) argmax({d}) norm(2,{d})
    flip({d}) roll(1,{d}) sum({d},keepdim=True) mean({d},keepdim=True) all({d}) any({d}) cummax({d}) logcumsumexp({d})
    renorm(2,{d},1.0) nansum({d}) aminmax(dim={d}) count_nonzero({d})
    diff(dim={d}) var({d},correction=0) nanmean({d})
""")
BINARY = words("""
    add sub mul div true_divide maximum minimum atan2 eq lt ge fmod remainder floor_divide pow where_ logaddexp
    hypot copysign lerp_ dot matmul outer fmax heaviside xlogy logical_and bitwise_and rsub
    isclose ne float_power allclose equal cov_
""")
WITH_NUMBER = words("""
    add sub mul div pow clamp(-1,{n}) clamp_min fmod remainder eq lt add({n},alpha=2) floor_divide leaky_ true_divide
    rsub masked_ float_power rpow rdiv lshift hardshrink ne
""")


def unary(g: Grower) -> str:
    x, name = g.tensor(*g.pick((), ("smooth",), ("grad",), ("grad",))), g.rng.choice(UNARY)
    if name == "softmax":
        return f"{g.new()} = {x}.softmax({g.dim(x)})"
    if name == "cumsum_":
        return f"{g.new()} = {x}.cumsum({g.dim(x)})"
    if name == "flip":
        return f"{g.new()} = {x}.flip({g.dim(x)})"
    if name == "logsumexp":
        return f"{g.new()} = torch.logsumexp({x}, {g.dim(x)})"
    if name in {"item", "tolist", "numel", "dim", "is_complex", "element_size"}:
        return f"log.append({x}.{name}())"
    form = f"{x}.{name}()" if g.chance(0.7) or name in CASTS else f"torch.{name}({x})"
    return f"{g.new()} = {form}"


CASTS = {"float", "double", "half", "long", "bool", "int", "cfloat", "contiguous", "flatten"}


def along(g: Grower) -> str:
    x = g.tensor("dims", *g.pick((), ("smooth",), ("grad",)))
    return f"{g.new()} = {x}.{g.rng.choice(ALONG).format(d=g.dim(x))}"


def binary(g: Grower) -> str:
    x = g.tensor(*g.pick((), ("smooth",), ("grad",)))
    y = g.tensor() if g.chance(0.3) else alike(g, x)
    name, out = g.rng.choice(BINARY), g.new()
    if name == "where_":
        return (
            f"{out} = torch.where({x} > 0, {x}, {y})"
            if g.chance(0.7)
            else f"{out} = torch.where({y}.bool(), {x}, {g.number()})"
        )
    if name == "lerp_":
        return f"{out} = torch.lerp({x}, {y}, {g.pick(y, '0.25', x)})"
    if name == "cov_":
        return f"{out} = torch.addcmul({x}, {y}, {y}, value={g.number()})"
    if name == "rsub":
        return f"{out} = torch.rsub({x}, {y})"
    if name in {"allclose", "equal"}:
        return f"log.append(torch.{name}({x}, {y}))"
    sign = {
        "add": "+",
        "sub": "-",
        "mul": "*",
        "div": "/",
        "matmul": "@",
        "eq": "==",
        "lt": "<",
        "ge": ">=",
    }.get(name)
    if sign and g.chance(0.6):
        return f"{out} = {x} {sign} {y}"
    return f"{out} = torch.{name}({x}, {y})"


def alike(g: Grower, name: str) -> str:
    """A tensor that goes together with another: of its shape, or with one number."""
    shape = g.shape(name)
    found = [n for n, v in g.tensors.items() if tuple(v.shape) == shape or v.dim() == 0]
    return g.rng.choice(found) if found else name


def with_number(g: Grower) -> str:
    x, name, n = g.tensor(), g.rng.choice(WITH_NUMBER), g.number()
    out = g.new()
    if "(" in name:
        return f"{out} = {x}.{name.format(n=n)}"
    if name == "rpow":
        return f"{out} = {g.pick('2', '0.5', '1.5')} ** {x}"
    if name == "rdiv":
        return f"{out} = {n} / {x}"
    if name == "rsub":
        return f"{out} = {n} - {x}"
    if name == "leaky_":
        return f"{out} = torch.nn.functional.leaky_relu({x}, 0.1)"
    if name == "masked_":
        return f"{out} = {x}.masked_fill({x} > 0, {n})"
    if name == "lshift":
        return f"{out} = torch.nn.functional.softplus({x})"
    return f"{out} = {x}.{name}({n})"


def matrix(g: Grower) -> str:
    x = g.tensor("matrix", "smooth")
    y = g.tensor("matrix", "smooth")
    return f"{g.new()} = " + g.pick(
        f"{x} @ {y}", f"{x} @ {x}.t()", f"{x}.mT @ {x}", f"torch.linalg.norm({x})",
        f"{x}.matmul({g.tensor('vector', 'smooth')})", f"torch.addmm({y}, {x}, {x}.t())",
        f"torch.nn.functional.linear({x}, {x})", f"{x}.trace()",
        f"torch.bmm({x}[None], {x}[None].mT)", f"torch.tensordot({x}, {y}, 1)", f"torch.linalg.vector_norm({x}, dim=0)",
    )  # fmt: skip


def join(g: Grower) -> str:
    x = g.tensor("dims")
    y = alike(g, x)
    return f"{g.new()} = " + g.pick(
        f"torch.cat([{x}, {y}], {g.dim(x)})", f"torch.stack([{x}, {y}])", f"torch.stack([{x}, {x}], -1)",
        f"torch.cat([{x}, {x}])", f"torch.hstack([{x}, {y}])", f"torch.broadcast_tensors({x}, {y})",
        f"torch.block_diag({x}, {y})", f"torch.cartesian_prod({x}, {x})", f"{x}.repeat(2, 1)", f"torch.tile({x}, (2,))",
        f"torch.meshgrid({x}, {x}, indexing='ij')", f"torch.vstack([{x}, {y}])", f"torch.column_stack([{x}, {y}])",
    )  # fmt: skip


def network(g: Grower) -> str:
    x = g.tensor("float", "dims")
    f = "torch.nn.functional."
    return f"{g.new()} = " + g.pick(
        f"{f}gelu({x})", f"{f}silu({x})", f"{f}elu({x})", f"{f}mse_loss({x}, {alike(g, x)})", f"{f}layer_norm({x}, {x}.shape[-1:])",
        f"{f}normalize({x}, dim=-1)", f"{f}pad({x}, (1, 1))", f"{f}hardtanh({x})", f"{f}relu6({x})", f"{f}logsigmoid({x})",
        f"{f}l1_loss({x}, {alike(g, x)})", f"{f}smooth_l1_loss({x}, {alike(g, x)})", f"{f}softplus({x})", f"{f}hardswish({x})",
        f"{f}cosine_similarity({x}, {x}.sin(), dim=-1)", f"{f}dropout({x}, 0.5, False)", f"{f}mish({x})", f"{f}selu({x})",
        f"{f}binary_cross_entropy_with_logits({x}, torch.ones_like({x}))", f"{f}celu({x})", f"{f}tanhshrink({x})",
        f"{f}cross_entropy({x}, torch.zeros({x}.shape[:1], dtype=torch.long))", f"{f}softsign({x})", f"{f}threshold({x}, 0.1, 0.0)",
        f"{f}avg_pool1d({x}[None, None].flatten(2), 2)", f"{f}max_pool1d({x}[None, None].flatten(2), 2)",
    )  # fmt: skip


# -- views -------------------------------------------------------------------------------------------------------------


def view(g: Grower) -> str:
    x = g.tensor("dims", *g.pick((), ("smooth",), ("grad",), ("node",)))
    if x in g.tensors and g.tensors[x].is_complex() and g.chance(0.4):
        return f"{g.new()} = " + g.pick(
            f"{x}.real", f"{x}.imag", f"torch.view_as_real({x})", f"{x}.conj()", f"{x}.mH"
        )
    d, shape = g.dim(x), g.shape(x)
    names = ", ".join(g.new() for _ in range(2))
    total = 1
    for n in shape:
        total *= n
    if g.chance(0.15):
        return f"{names} = " + g.pick(f"{x}.chunk(2, {d})", f"{x}.split([1, {shape[d] - 1 if shape and d < len(shape) else 1}], {d})",
                                       f"{x}.unbind({d})", f"torch.tensor_split({x}, 2, {d})", f"torch.unbind({x})", f"{x}.split(2)")  # fmt: skip
    return f"{g.new()} = " + g.pick(
        f"{x}.view(-1)", f"{x}.view({total})", f"{x}.reshape(-1)", f"{x}.reshape(1, -1)", f"{x}.t()", f"{x}.transpose(0, {d})",
        f"{x}.T", f"{x}.mT", f"{x}[0]", f"{x}[-1]", f"{x}[1:]", f"{x}[::2]", f"{x}[..., 0]", f"{x}[None]", f"{x}[..., 1:]",
        f"{x}[..., None]", f"{x}[:, 0]", f"{x}[:, ::2]", f"{x}[:1, 1:]", f"{x}[...]", f"{x}[:]", f"{x}.select({d}, 0)",
        f"{x}.narrow({d}, 0, 1)", f"{x}.unsqueeze({d})", f"{x}.squeeze({d})", f"{x}.expand(2, *{x}.shape)", f"{x}.unfold({d}, 2, 1)",
        f"{x}.diagonal()", f"{x}.as_strided((2,), (1,))", f"{x}.as_strided((2, 2), (1, 1))", f"{x}.flatten()", f"{x}.movedim(0, {d})",
        f"{x}.detach()", f"{x}.view_as({x})", f"{x}.expand_as({x})", f"{x}.permute({', '.join(map(str, reversed(range(len(shape)))))})",
        f"{x}.swapaxes(0, -1)", f"{x}.unflatten({d}, (1, -1))", f"{x}.flatten().view({shape})", f"{x}.broadcast_to((2, *{x}.shape))",
        f"{x}.alias() if hasattr({x}, 'alias') else {x}.view({shape})", f"{x}.reshape({shape[::-1]})", f"{x}.data", f"{x}.view({x}.dtype)",
        f"{x}.view({x}.real.dtype)", f"{x}.contiguous()", f"{x}.narrow_copy({d}, 0, 1)", f"{x}.ravel()", f"{x}.squeeze()", f"{x}[0:0]",
        f"{x}[True]", f"{x}.adjoint()", f"torch.atleast_2d({x})", f"{x}.diagonal().unsqueeze(0)", f"{x}.real",
    )  # fmt: skip


# -- writes ------------------------------------------------------------------------------------------------------------

WRITES = words("""
    add_ sub_ mul_ div_ copy_ fmod_ pow_ atan2_ floor_divide_ remainder_ fill_ xlogy_ logical_and_
""")
SELF_WRITES = words("""
    zero_ sin_ cos_ tanh_ sigmoid_ exp_ abs_ neg_ relu_ square_ sgn_ floor_ round_ sqrt_ reciprocal_ clamp_ t_ squeeze_
    conj_physical_ tril_ triu_ erf_ log1p_ trunc_ logical_not_ sign_ nan_to_num_ expm1_ atan_ rsqrt_ frac_ cumsum_
    unsqueeze_ transpose_ fill_diagonal_ addcmul_ lerp_ clamp_min_ hardtanh_ leaky_relu_ masked_fill_ index_fill_
    index_add_ index_copy_ scatter_ scatter_add_ index_put_ masked_scatter_ put_ swapaxes_ elu_ celu_ addcdiv_ renorm_
    index_reduce_ scatter_reduce_ cumprod_ deg2rad_ arctan_ negative_ absolute_ sinh_
""")


def write(g: Grower) -> str:
    x = g.tensor("written", *g.pick((), ("node",), ("node",), ("plain",), ("smooth",)))
    if x in g.tensors and g.chance(0.35):
        sign = g.pick("+=", "-=", "*=", "/=")
        return f"{x} {sign} {g.beside(x) if g.chance(0.6) else g.number()}"
    if g.chance(0.35):
        name = g.rng.choice(WRITES)
        return f"{x}.{name}({g.beside(x) if g.chance(0.7) else g.number()})"
    return write_itself(g, x)


def write_itself(g: Grower, x: str) -> str:
    name, d = g.rng.choice(SELF_WRITES), g.dim(x)
    n, i = g.number(), g.pick("torch.tensor([0])", "torch.tensor([0, 0])", g.tensor("int"))
    source = g.beside(x)
    source = source if source in g.tensors else f"torch.tensor({source})"
    arguments = {
        "clamp_": f"-1, {n}", "cumsum_": f"{d}", "cumprod_": f"{d}", "unsqueeze_": f"{d}", "transpose_": f"0, {d}", "swapaxes_": f"0, {d}",
        "fill_diagonal_": n, "addcmul_": f"{source}, {source}", "addcdiv_": f"{source}, {source}", "lerp_": f"{source}, 0.25", "clamp_min_": n,
        "masked_fill_": f"{x} > 0, {n}", "index_fill_": f"{d}, {i}, {n}", "index_add_": f"{d}, {i}, {source}",
        "index_copy_": f"{d}, {i}, {source}", "scatter_": f"{d}, torch.zeros_like({x}, dtype=torch.long), {source}",
        "scatter_add_": f"{d}, torch.zeros_like({x}, dtype=torch.long), {source}", "index_put_": f"({i},), {source}",
        "masked_scatter_": f"{x} > 0, {source}", "put_": f"{i}, {source}, {g.pick('True', 'False')}", "renorm_": f"2, {d}, 1.0",
        "index_reduce_": f"{d}, {i}, {source}, 'amax'", "scatter_reduce_": f"{d}, torch.zeros_like({x}, dtype=torch.long), {source}, 'sum'",
    }  # fmt: skip
    if name in {"hardtanh_", "leaky_relu_", "elu_", "celu_"}:
        return f"torch.nn.functional.{name}({x})"
    return f"{x}.{name}({arguments.get(name, '')})"


def set_item(g: Grower) -> str:
    x = g.tensor("dims", "written", *g.pick((), ("node",), ("plain",)))
    place = g.pick("0", "-1", "1:", "::2", "..., 0", "...", ":", "0, 0", "[0, 0]", "None", f"{x} > 0", f"{x}.bool()",
                   "torch.tensor([0])", "torch.tensor([0, 0])", "[1, 0]", ":, 0", ":, [0]", "0:0", g.tensor("int"), g.tensor("bool"))  # fmt: skip
    return f"{x}[{place}] {g.pick('=', '=', '=', '+=', '*=')} {g.beside(x) if g.chance(0.6) else g.number()}"


def out(g: Grower) -> str:
    x = g.tensor("plain")
    y = g.beside(x, "plain")
    y = (
        y
        if y in g.tensors and x in g.tensors and g.tensors[x].dtype == g.tensors[y].dtype
        else f"torch.empty(0, dtype={x}.dtype)"
    )
    function = g.pick("sin", "exp", "neg", "abs", "sigmoid", "cumsum", "add", "mul", "sum")
    more = {"cumsum": f", {g.dim(x)}", "add": f", {g.number()}", "mul": f", {x}", "sum": f", {g.dim(x)}"}.get(
        function, ""
    )
    return f"torch.{function}({x}{more}, out={y})"


# -- indices that change -----------------------------------------------------------------------------------------------


def index(g: Grower) -> str:
    x, d = g.tensor("dims", *g.pick((), ("grad",))), 0
    i = g.tensor("int")
    return f"{g.new()} = " + g.pick(
        f"{x}[{i}]", f"{x}[{i}, 0]", f"{x}[..., {i}]", f"{x}.index_select({d}, {i})", f"{x}.gather({d}, {i})", f"{x}.take({i})",
        f"{x}[[0, 0]]", f"{x}[[0], [1]]", f"{x}[{x} > 0]", f"{x}[{x}.bool()]", f"{x}.masked_select({x} > 0)", f"{x}[{g.tensor('bool')}]",
        f"{x}.index_add({d}, {i}, {x})", f"{x}.index_fill({d}, {i}, {g.number()})", f"{x}.scatter({d}, {i}, {g.number()})",
        f"{x}.scatter_add({d}, {i}, {x})", f"torch.nn.functional.embedding({i}, {x})", f"{x}.index_put(({i},), {x}[0])",
        f"{x}[{i}, {i}]", f"{x}[None, {i}]", f"{x}.index_copy({d}, {i}, {x})",
        f"torch.nn.functional.one_hot({i}, 5)", f"{x}[{i}][{i}]", f"{x}[:, {i}]", f"{x}.put({i}, {x}[0])", f"{x}[{i}.tolist()]",
        f"{x}.masked_fill({g.tensor('bool')}, {g.number()})", f"torch.where({g.tensor('bool')}, {x}, {g.number()})",
        f"torch.searchsorted({x}, {x})", f"torch.bincount({i})",
    )  # fmt: skip


def index_tensor(g: Grower) -> str:
    return f"{g.new()} = " + g.pick("torch.tensor([0, 1])", "torch.tensor([1, 0])", "torch.tensor([[0, 1, 0]])", "torch.tensor(0)",
                                      "torch.tensor([0, 0, 1])", "torch.tensor([True, False])", "torch.tensor([-1, 0])",
                                      "torch.arange(2)", "torch.tensor([1, 0, 0, 1])[::2]", "torch.tensor([True, False, True])")  # fmt: skip


def change_index(g: Grower) -> str:
    i = g.tensor("written", g.pick("int", "int", "bool"))
    return g.pick(
        f"{i}[0] = 1",
        f"{i}.zero_()",
        f"{i}.logical_not_()",
        f"{i}.fill_(1)",
        f"{i}.copy_(1 - {i}.long())",
        f"{i}.sub_(1)",
        f"{i}[...] = 0",
    )


# -- graphs ------------------------------------------------------------------------------------------------------------


def backward(g: Grower) -> str:
    y = g.tensor("node")
    options = [f"retain_graph={g.pick('True', 'False')}"] if g.chance(0.4) else []
    options += ["create_graph=True"] if g.chance(0.25) else []
    options += [f"inputs=[{g.tensor('leaf')}]"] if g.chance(0.15) else []
    gradient = g.pick("", "", f"torch.ones_like({y})", f"{y}", f"{g.tensor()}") if g.chance(0.3) else ""
    if g.chance(0.6) and not gradient:
        y += g.pick(".sum()", ".sum()", ".abs().sum()", ".mean()", ".real.sum()")
    return f"{y}.backward({', '.join(([gradient] if gradient else []) + options)})"


def grad(g: Grower) -> str:
    y, names = g.tensor("node"), g.new()
    inputs = ", ".join(
        dict.fromkeys(g.tensor(g.pick("leaf", "leaf", "grad", "node")) for _ in range(g.pick(1, 1, 2)))
    )
    options = ["create_graph=True"] if g.chance(0.5) else ["retain_graph=True"] if g.chance(0.4) else []
    options += [f"{g.pick('allow_unused', 'materialize_grads')}=True"] if g.chance(0.5) else []
    target = g.pick(
        f"{y}.sum()",
        f"{y}.sum()",
        f"{y}.abs().sum()",
        f"({y} * {y}).abs().sum()",
        f"{y}, grad_outputs=torch.ones_like({y})",
        y,
    )
    if ", " in target:
        target, more = target.split(", ", 1)
        options.append(more)
    form = f"torch.autograd.grad({target}, [{inputs}]{', ' if options else ''}{', '.join(options)})"
    return f"{names}, *t_rest{g.count} = {form}"


def hook(g: Grower) -> str:
    x, action = (
        g.tensor("grad"),
        g.pick(
            "log.append(g)",
            "log.append(g)",
            "g * 2",
            "None",
            "log.append(g.sum())",
            "g.clone().zero_()",
            "g[0]",
        ),
    )
    kind = g.pick(
        "register_hook", "register_hook", "post", "prehook", "node", "retain", "remove", "accumulate"
    )
    h = f"h{g.count}"
    if kind == "post":
        leaf = g.tensor("leaf")
        action = g.pick(
            "log.append(p.grad)",
            "log.append(p._version)",
            "log.append(p.grad.mul_(2))",
            "setattr(p, 'grad', None)",
            "log.append(p.grad.clone())",
        )
        return f"{h} = {leaf}.register_post_accumulate_grad_hook(lambda p: {action})"
    if kind == "prehook":
        action = g.pick(
            "log.append(gs)",
            "tuple(g * 2 if g is not None else None for g in gs)",
            "None",
            "log.append(len(gs))",
        )
        return f"{h} = {g.tensor('node')}.grad_fn.register_prehook(lambda gs: {action})"
    if kind == "node":
        action = g.pick(
            "log.append(ins)",
            "log.append((ins, outs))",
            "tuple(g * 2 if g is not None else None for g in ins)",
            "None",
        )
        return f"{h} = {g.tensor('node')}.grad_fn.register_hook(lambda ins, outs: {action})"
    if kind == "retain":
        return f"{g.tensor('node')}.retain_grad()"
    if kind == "remove":
        return f"{g.other('h')}.remove()"
    if kind == "accumulate":
        return f"{g.tensor('leaf')}.grad = {g.pick('None', 'None', 'torch.ones_like(' + x + ')', x + '.detach()')}"
    return f"{h} = {x}.register_hook(lambda g: {action})"


def checkpointed(g: Grower) -> str:
    x, y = g.tensor("smooth", "grad"), g.tensor()
    body = g.pick(
        "(a.sin() * a).cos()",
        f"a * {y}",
        "a.exp().sum()",
        f"(a + {y}).tanh()",
        "a.clone().mul_(2)",
        "(a, a.sin())",
        "a.view(-1)[:1] * a.sum()",
    )
    return f"{g.new()} = checkpoint(lambda a: {body}, {x}, use_reentrant={g.pick('False', 'False', 'True')})"


def transform(g: Grower) -> str:
    x = g.tensor("float", "dims")
    f = g.pick(
        "lambda a: (a * a).sum()",
        "lambda a: a.sin().sum()",
        f"lambda a: (a * {x}.detach()).tanh().sum()",
        "lambda a: a.prod()",
    )
    h = g.pick("lambda a: a * a", "lambda a: a.sin()", "lambda a: a.sum()", "lambda a: (a.sin(), a.cos())")
    g.new()
    return f"f{g.count} = " + g.pick(
        f"torch.func.grad({f})({x})", f"torch.func.vmap({h})({x})", f"torch.func.jvp({h}, ({x},), ({x},))", f"torch.func.jacrev({h})({x})",
        f"torch.func.jacfwd({h})({x})", f"torch.func.vjp({h}, {x})[0]", f"torch.func.hessian({f})({x})", f"torch.func.grad_and_value({f})({x})",
        f"torch.func.vmap(torch.func.grad({f}))({x})", f"torch.autograd.functional.jacobian({h}, {x})", f"torch.autograd.functional.hvp({f}, {x}, {x})[1]",
        f"torch.autograd.functional.vjp({f}, {x})[1]",
    )  # fmt: skip


def custom(g: Grower) -> str:
    """A custom Function, put together of what they differ by, and one call of it."""
    x, n = g.tensor("smooth", "grad"), g.count
    save = g.pick(
        "ctx.save_for_backward(x)",
        "ctx.save_for_backward(y)",
        "ctx.x = x.detach()",
        "ctx.save_for_backward(x, y)",
        "ctx.k = 2",
    )
    compute = g.pick(
        "y = x * 2",
        "y = x.sin()",
        "y = x.clone()",
        "y = x.view_as(x)",
        "y = x",
        "y = x.mul_(2)",
        "y = x[:1]",
        "y = x.sum()",
        "y = (x * x).detach()",
    )
    marks = g.pick(
        "pass",
        "pass",
        "pass",
        "ctx.mark_dirty(x)",
        "ctx.mark_non_differentiable(y)",
        "ctx.set_materialize_grads(False)",
    )
    results = g.pick("y", "y", "y", "(y, x.exp())", "y, x.detach()")
    value = g.pick(
        "g * 2",
        "g",
        "g.clone()",
        "None",
        "g.expand(ctx.shape)",
        "torch.ones(ctx.shape)",
        "g.sum()",
        "(g, None)",
        "g * ctx.saved_tensors[0]",
        "ctx.k * g",
    )
    once = g.pick("", "", "", "    @torch.autograd.function.once_differentiable\n")
    text = f"""
class F{n}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {compute}
        {save}
        ctx.shape = x.shape
        {marks}
        return {results}
    @staticmethod
{once}    def backward(ctx, g, *more):
        return {value}
{g.new()} = F{n}.apply({x})
"""
    return text.strip()


# -- modes, threads, memory --------------------------------------------------------------------------------------------

MODES = [
    "torch.no_grad()",
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.inference_mode()",
    "torch.inference_mode(False)",
    "torch.set_grad_enabled(False)",
    "torch.autograd.detect_anomaly()",
    "torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2)",
    "torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t)",
    "torch.autograd.graph.save_on_cpu()",
    "torch.autograd.graph.disable_saved_tensors_hooks('not here')",
    "torch.autograd.graph.allow_mutation_on_saved_tensors()",
    "torch.autograd.set_multithreading_enabled(False)",
    "torch.autograd.forward_ad.dual_level()",
    "torch.autograd._unsafe_preserve_version_counter({x})",
]


def block(g: Grower) -> str:
    """A few statements inside of a mode."""
    mode = g.rng.choice(MODES).strip().format(x=g.tensor())
    return f"with {mode}:\n" + textwrap.indent("\n".join(simple(g) for _ in range(g.pick(1, 2, 3))), "    ")


def thread(g: Grower) -> str:
    x = g.tensor("grad")
    body = g.pick(f"{x}.sin()", f"{x}.sum().backward()", "torch.is_grad_enabled()", f"{x}.detach().add_(1)", f"torch.autograd.grad({x}.sum(), {g.tensor('leaf')})",
                  f"torch.set_grad_enabled(False) and {x} * 2", f"torch.ones(2) * {x}", "torch.is_inference_mode_enabled()")  # fmt: skip
    return f"{g.new()} = ThreadPoolExecutor(1).submit(lambda: {body}).result()"


def memory(g: Grower) -> str:
    x = g.tensor(*g.pick((), ("leaf",), ("node",)))
    y = g.beside(x) if g.chance(0.8) else g.tensor()
    return g.pick(
        f"{x}.data = {y}.data", f"{x}.data.add_(1)", f"{x}.data.copy_({y})", f"{x}.detach().mul_(2)", f"{x}.set_({y})", f"{x}.requires_grad_()",
        f"{x}.requires_grad = False", f"{x}.requires_grad_(False)", f"{g.new()} = {x}.detach().requires_grad_()", f"{g.new()} = copy.deepcopy({x})",
        f"{g.new()} = copy.copy({x})", f"{g.new()} = pickle.loads(pickle.dumps({x}))", f"del {x}", f"{x} = {y}", f"{g.new()} = {x}.grad",
        f"torch.set_grad_enabled({g.pick('False', 'True', 'True')})", f"{g.new()} = torch.zeros_like({x})", f"{g.new()} = torch.nn.Parameter({x})",
        f"log.append(str({x}))", f"log.append({x}.is_contiguous())", f"{g.new()} = {x}._base", f"{g.new()} = {x}.new_ones(2)",
        f"{g.new()} = {x}.to({y}.dtype)", f"{g.new()} = {x}.type_as({y})", f"{g.new()} = torch.empty_like({x}).copy_({x})",
        f"log.append({x}.grad_fn)", f"{g.new()} = {x}.numpy().sum()", f"{g.new()} = torch.from_numpy({x}.detach().clone().numpy())", f"{x}.zero_()",
        f"{g.new()} = torch.full_like({x}, 2)", f"{x}.grad.zero_()", f"{g.new()} = torch.as_tensor({x}.tolist())", f"log.append(torch.result_type({x}, {y}))",
        "torch.autograd._force_original_view_tracking(False)", f"{g.new()} = torch.clone({x})",
    )  # fmt: skip


def dual(g: Grower) -> str:
    x, n = g.tensor("float"), g.count
    body = g.pick(
        "d.sin()",
        "d * d",
        "d.sum()",
        "d.clone().mul_(2)",
        f"d * {g.tensor()}",
        "d.view(-1)",
        "d.detach()",
        "torch.cat([d, d])",
    )
    ad, tangent = "torch.autograd.forward_ad", g.pick(f"torch.ones_like({x})", x)
    return (
        f"with {ad}.dual_level():\n    d = {ad}.make_dual({x}.detach(), {tangent})\n"
        f"    {g.new()} = {body}\n    {g.new()} = {ad}.unpack_dual(t{n + 1}).tangent"
    )


SIMPLE: list[tuple[int, Maker]] = [
    (2, leaf), (10, unary), (6, along), (8, binary), (5, with_number), (3, matrix), (3, join), (3, network), (14, view),
    (12, write), (6, set_item), (1, out), (4, index), (3, index_tensor), (3, change_index), (4, backward), (4, grad),
    (5, hook), (5, memory), (5, draw),
]  # fmt: skip
COMPOUND: list[tuple[int, Maker]] = [
    (6, block), (3, custom), (2, checkpointed), (2, transform), (2, thread), (2, dual),
]  # fmt: skip
CORNERS: list[tuple[int, Maker]] = [
    (3, split_write), (2, complex_write), (3, rich_function), (3, nested_modes), (4, edges), (4, composed), (3, subclass),
    (2, dtype_move), (2, duals),
]  # fmt: skip
TRAINING: list[tuple[int, Maker]] = [
    (3, module),
    (8, call),
    (3, module_hook),
    (5, change_module),
    (5, optimiser),
    (2, backward),
]


def makers(rng: random.Random) -> dict[Maker, float]:
    """What the statements of a program are made by, and how often: some programs train, some look into corners."""
    found: dict[Maker, float] = {maker: weight for weight, maker in [*SIMPLE, *COMPOUND]}
    for share, more in ((0.25, CORNERS), (0.15, TRAINING)):
        if rng.random() < share:
            found |= {maker: weight * 4.0 for weight, maker in more}
    return found


def one_of(g: Grower, makers: dict[Maker, float]) -> str:
    maker: Any = g.rng.choices(list(makers), list(makers.values()))[0]
    return str(maker(g))


def simple(g: Grower) -> str:
    return one_of(g, {maker: weight for weight, maker in SIMPLE})
