"""Names that people's tools use: those of `torch._C`, of nodes, and old ones of tensors."""

from __future__ import annotations

import io
import pickle
import warnings
from collections import OrderedDict
from typing import Any

from .harness import attempt, program


@program()
def outside_of_a_backward(torch: Any) -> Any:
    inside = torch._C
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    return [
        inside._current_graph_task_id(),
        inside._current_autograd_node(),
        inside._autograd._get_current_graph_task_keep_graph(),
        attempt("should only be called during the backward pass", inside._current_graph_task_execution_order),
        attempt("should only be called during the backward pass", inside._will_engine_execute_node, node),
    ]


@program()
def which_backward_runs(torch: Any) -> Any:
    ids: list[int] = []
    kept: list[bool] = []
    x = torch.ones(2, requires_grad=True)

    def look(g: Any) -> None:
        ids.append(torch._C._current_graph_task_id())
        kept.append(torch._C._autograd._get_current_graph_task_keep_graph())

    def nested(g: Any) -> None:
        look(g)
        z = torch.ones(2, requires_grad=True)
        z.register_hook(look)
        with torch.enable_grad():
            w = (z * 3).sum()
        w.backward()
        look(g)

    y = x * 2
    y.register_hook(nested)
    x.register_hook(look)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    numbers = {n: i for i, n in enumerate(dict.fromkeys(ids))}
    return [numbers[n] for n in ids], all(n >= 0 for n in ids), kept


@program()
def which_node_runs(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.ones(2, requires_grad=True)

    def look(*args: Any) -> None:
        seen.append(torch._C._current_autograd_node())

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            look()
            return g * 2

    def unpack(t: Any) -> Any:
        look()
        return t

    y = x.exp()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        z = y.sin()
    w = Twice.apply(z)
    y.register_hook(look)
    z.grad_fn.register_hook(look)
    w.grad_fn.register_prehook(look)
    x.register_post_accumulate_grad_hook(look)
    w.sum().backward()
    return seen, torch._C._current_autograd_node()


@program()
def which_nodes_will_run(torch: Any) -> Any:
    found: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = x * 2, y * 3
    c = a + b
    other = (x * 5).grad_fn

    def look(g: Any) -> None:
        will = torch._C._will_engine_execute_node
        found.append([will(n.grad_fn) for n in (a, b, c)] + [will(other)])
        found.append(attempt("expects an grad_fn, but got", will, 1))

    c.register_hook(look)
    c.sum().backward(retain_graph=True)
    torch.autograd.grad(c.sum(), x, retain_graph=True)
    torch.autograd.grad(c.sum(), a)
    return found


@program()
def the_order_of_nodes(torch: Any) -> Any:
    orders: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    a, b = x * 2, x.exp()
    c = (a + b).sin()
    loss = c.sum() + a.sum()

    def look(g: Any) -> None:
        orders.append(torch._C._current_graph_task_execution_order())

    loss.register_hook(look)
    with torch.autograd.set_multithreading_enabled(False):
        loss.backward(retain_graph=True)
        torch.autograd.grad(loss, b, retain_graph=True)
    words = "expects the current backward to be executed with multithreading disabled"
    return orders, attempt(words, loss.backward)


@program()
def versions_and_saved_tensors_by_hand(torch: Any) -> Any:
    inside = torch._C._autograd
    x, y = torch.ones(2), torch.ones(3)
    x.add_(1)
    inside._unsafe_set_version_counter((x, y), (7, 9))
    leaf = torch.ones(2, requires_grad=True)
    saved = inside._make_saved_tensor(leaf, False)
    first = saved.data is leaf, saved.unpack_hook
    saved.register_hooks(lambda t: t * 2, lambda t: t)
    return x._version, y._version, first, saved.data, isinstance(saved, inside.SavedTensor)


@program()
def default_hooks_on_saved_values(torch: Any) -> Any:
    inside = torch._C._autograd
    seen: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    before = inside._saved_tensors_hooks_is_enabled(), inside._top_saved_tensors_default_hooks(False)
    inside._push_saved_tensors_default_hooks(lambda t: seen.append(1) or t, lambda t: t)
    x.sin()
    top = inside._top_saved_tensors_default_hooks(False) is not None
    inside._pop_saved_tensors_default_hooks()
    x.sin()
    inside._saved_tensors_hooks_disable("not now")
    off = inside._saved_tensors_hooks_is_enabled(), inside._saved_tensors_hooks_get_disabled_error_message()
    inside._saved_tensors_hooks_enable()
    return before, len(seen), top, off, inside._saved_tensors_hooks_get_disabled_error_message()


@program()
def forward_mode_switched_off(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    with fwad.dual_level():
        d = fwad.make_dual(torch.ones(2), torch.ones(2))
        torch._C._set_fwd_grad_enabled(False)
        try:
            off = (d * 2, torch._C._is_fwd_grad_enabled())
        finally:
            torch._C._set_fwd_grad_enabled(True)
        return fwad.unpack_dual(off[0])[1], off[1], fwad.unpack_dual(d * 2)[1]


@program()
def custom_nodes_by_hand(torch: Any) -> Any:
    got: list[Any] = []

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: Any) -> Any:
            ctx.n = n
            return x * n, x + n

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            got.append((g, h))
            return None if g is None else g * ctx.n, None

    x = torch.ones(2, requires_grad=True)
    y, _ = Pair.apply(x, 3)
    node = y.grad_fn
    return (
        node.apply(torch.ones(2), None),
        node.apply(None, torch.ones(2)),
        got,
        node._materialize_non_diff_grads,
    )


@program()
def zeros_for_outputs_without_a_gradient(torch: Any) -> Any:
    got: list[Any] = []

    def make(materialize: bool, marked: bool) -> Any:
        class Both(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx._materialize_non_diff_grads = materialize
                a, b, c = x * 2, x.long(), x * 3
                if marked:
                    ctx.mark_non_differentiable(c)
                return a, b, c

            @staticmethod
            def backward(ctx: Any, g: Any, h: Any, i: Any) -> Any:
                got.append((g, h, i))
                return g * 2

        return Both

    for materialize in (True, False):
        for marked in (True, False):
            x = torch.ones(2, requires_grad=True)
            make(materialize, marked).apply(x)[0].sum().backward()
    return got


@program()
def hooks_in_a_dictionary(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y._backward_hooks = OrderedDict()
    y.grad_fn._register_hook_dict(y)
    y._backward_hooks[0] = lambda g: seen.append(g) or g * 2
    y._backward_hooks[1] = lambda g: seen.append(g)
    y.sum().backward()
    return seen, x.grad, attempt("expected a variable", y.grad_fn._register_hook_dict, {})


@program()
def numbers_of_nodes(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    a, b = x * 2, x * 3
    before = torch._C._autograd._get_sequence_nr() == b.grad_fn._sequence_nr() + 1
    order: list[str] = []
    a.grad_fn.register_prehook(lambda g: order.append("a"))
    b.grad_fn.register_prehook(lambda g: order.append("b"))
    loss = (a + b).sum()
    loss.backward(retain_graph=True)
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    loss.backward()
    return before, order


@program()
def view_replay(torch: Any) -> Any:
    x = torch.ones(4, requires_grad=True)
    with torch.autograd._force_original_view_tracking(True):
        inside = torch._C._is_view_replay_enabled()
        y = x.clone()
        v = y.view(2, 2)
        y.mul_(3)
        (v * v).sum().backward()
    return inside, torch._C._is_view_replay_enabled(), x.grad


@program()
def old_types_of_tensors(torch: Any) -> Any:
    x = torch.arange(4.0)
    names = ("Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double")
    types = [getattr(torch, f"{name}Tensor") for name in names]
    return [
        [(t.__name__, t.dtype, t(2, 3).dtype, t([1, 0]), isinstance(x, t), t().shape) for t in types],
        torch.FloatTensor(torch.Size((2, 3))).shape,
        torch.FloatTensor((2, 3)),
        torch.LongTensor([1.5]),
        torch.LongTensor([[1, 2], [3, 4]]),
        torch.FloatTensor(x).data_ptr() == x.data_ptr(),
        attempt("expected", torch.FloatTensor, x.double()),
        attempt("data must be a sequence", torch.FloatTensor, 2.5),
        x.type(torch.LongTensor),
        x.to(torch.DoubleTensor.dtype).dtype,
        isinstance(1, torch.LongTensor),
        x.new(2, 3).shape,
        x.long().new([1, 2]),
        x.new(),
        x.new(x),
        x.new(torch.Size((2,))).shape,
        x.new(3, device="cpu").shape,
    ]


@program()
def the_storage_of_a_tensor(torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of a TypedStorage once
        return looked_at(torch)


def looked_at(torch: Any) -> Any:
    """What storages say of themselves."""
    x = torch.arange(4.0)
    part, typed = x[1:].untyped_storage(), x[1:].storage()
    return [
        (part.size(), len(part), part.nbytes(), part.data_ptr() == x.data_ptr(), str(part.device)),
        (part == x.untyped_storage(), part == x.clone().untyped_storage(), part.tolist(), part[6]),
        (
            typed.size(),
            len(typed),
            typed.nbytes(),
            typed.tolist(),
            typed[1],
            typed.dtype,
            typed.element_size(),
        ),
        (typed.data_ptr() == x.data_ptr(), repr(typed), repr(x[:1].clone().untyped_storage())),
        (torch.is_storage(part), torch.is_storage(typed), torch.is_storage(x)),
        typed.untyped() == part,
        x.t().untyped_storage().data_ptr() == x.view(2, 2).untyped_storage().data_ptr(),
        torch.zeros(0).untyped_storage().nbytes(),
    ]


@program(warns="volatile was removed")
def a_volatile_tensor(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.volatile = True
    return x.volatile, x.requires_grad


@program(warns="was part of PyTorch's private API")
def jacobians_of_old_scripts(torch: Any) -> Any:
    import importlib

    module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    numerical, analytical = module.get_numerical_jacobian, module.get_analytical_jacobian
    a = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], dtype=torch.float64, requires_grad=True)
    c = torch.ones(2, dtype=torch.float64)

    def run(inputs: Any) -> Any:
        return inputs[1] @ inputs[0]

    return [
        numerical(run, (a, b, c), eps=1e-6),
        numerical(run, (a, b), target=b, eps=1e-6),
        numerical(lambda i: (i[0] * 2, i[1] * 3), (a, b), eps=1e-6),
        analytical((a, b, c), b @ a),
        attempt("Expected grad_out to be 1.0", numerical, run, (a, b), grad_out=2.0),
        attempt("Expected grad_out to be 1.0", analytical, (a, b), b @ a, grad_out=2.0),
    ]


@program()
def functions_on_lists_of_tensors(torch: Any) -> Any:
    a = [torch.tensor([0.25, 0.5]), torch.tensor([0.125, 0.75, 0.5])]
    b = [torch.full((2,), 2.0), torch.full((3,), 3.0)]

    def copies() -> Any:
        return [t.clone() for t in a]

    names = [
        "abs",
        "acos",
        "asin",
        "atan",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "expm1",
        "floor",
        "frac",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "neg",
        "reciprocal",
        "round",
        "rsqrt",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
    ]
    found: list[Any] = []
    for name in names:
        written = copies()
        returned = getattr(torch, f"_foreach_{name}_")(written)
        found.append((name, getattr(torch, f"_foreach_{name}")(a), written, type(returned).__name__))
    for name in ("add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow"):
        function, written = getattr(torch, f"_foreach_{name}"), copies()
        getattr(torch, f"_foreach_{name}_")(written, 0.5)
        found.append((name, function(a, 0.5), function(a, [0.25, 2.0]), function(a, b), written))
    x = torch.tensor(2.0)
    found.append((torch._foreach_add(a, x), torch._foreach_add(a, b, alpha=2), torch._foreach_mul(a, x)))
    found.append((torch._foreach_sub(a, b, alpha=3), torch._foreach_pow(2, b)))
    for name in ("addcmul", "addcdiv"):
        function, written = getattr(torch, f"_foreach_{name}"), copies()
        getattr(torch, f"_foreach_{name}_")(written, b, b, value=2)
        found.append((function(a, b, a), function(a, b, a, value=2), function(a, b, a, [1, 2]), written))
        found.append(function(a, b, a, torch.tensor([1.0, 2.0])))
    found.append([torch._foreach_lerp(a, b, w) for w in (0.5, [0.5, 0.25], a)])
    found.append([torch._foreach_norm(b, p) for p in (1, 2, float("inf"))])
    found.append(
        (torch._foreach_norm(b), torch._foreach_max(b), torch._foreach_clone(a), torch._foreach_powsum(b, 2))
    )
    found.append(torch._foreach_mm([torch.eye(2)], [torch.ones(2, 2)]))
    zeros, copied = copies(), copies()
    torch._foreach_zero_(zeros)
    torch._foreach_copy_(copied, b)
    return found, zeros, copied


@program()
def functions_on_lists_by_keyword(torch: Any) -> Any:
    a, b = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])], [torch.tensor([0.5, 4.0]), torch.tensor([2.0])]
    found = [
        torch._foreach_lerp(a, tensors1=b, weight=0.25),
        torch._foreach_lerp(a, b, weights=a),
        torch._foreach_add(a, scalar=2),
        torch._foreach_mul(a, scalars=[2.0, 3.0]),
        torch._foreach_sub(a, other=b, alpha=2),
        torch._foreach_pow(a, exponent=2),
        torch._foreach_addcmul(a, tensor1=b, tensor2=b, value=3),
        torch._foreach_addcdiv(a, b, b, scalars=[1.0, 2.0]),
    ]
    largest, smallest = [[t.clone() for t in a] for _ in "ab"]
    torch._foreach_maximum_(largest, b)
    torch._foreach_minimum_(smallest, other=b)
    return found, largest, smallest


@program()
def gradients_and_errors_of_functions_on_lists(torch: Any) -> Any:
    a = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)]
    out = torch._foreach_mul(torch._foreach_exp(a), [2.0, 3.0])
    (out[0].sum() + out[1].sum()).backward()
    return [
        [t.grad for t in a],
        attempt("must have the same number of tensors, got 2 and 1", torch._foreach_add, a, a[:1]),
        attempt("Tensor list must have at least one tensor", torch._foreach_add, [], 1),
        attempt("", torch._foreach_add, 1, 2),
        attempt("leaf Variable that requires grad", torch._foreach_mul_, a, 2),
    ]


@program("boom")
def an_error_in_the_graph(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (torch._C._functions.DelayedError("boom", 1)(x * 2) + 1).sum().backward()


@program()
def an_error_that_no_gradient_reaches(torch: Any) -> Any:
    x, y = (torch.ones(2, requires_grad=True) for _ in "xy")
    out = x.clone().view(-1)
    out += torch._C._functions.DelayedError("boom", 1)(y)
    return torch.autograd.grad(out.sum(), x)


@program()
def gradients_that_are_undefined(torch: Any) -> Any:
    seen: list[Any] = []

    def run(materialize: bool) -> Any:
        class Passing(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(materialize)
                return x.clone()

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                seen.append(grad)
                return grad

        x = torch.ones(1, requires_grad=True)
        torch._C._functions.UndefinedGrad()(Passing.apply(x)).backward()
        return x.grad

    return run(True), run(False), seen


@program()
def whether_a_tensor_is_still_there(torch: Any) -> Any:
    x = torch.ones(2)
    reference = torch._C._WeakTensorRef(x)
    before = reference.expired()
    del x
    return before, reference.expired()


@program()
def modes_as_the_inside_tells_them(torch: Any) -> Any:
    with torch.no_grad():
        without = torch._C.is_grad_enabled()
    with torch.autograd.forward_ad.dual_level():
        level = torch.autograd.forward_ad._current_level
    return without, torch._C.is_grad_enabled(), level, torch.autograd.forward_ad._current_level


@program(warns="non-inplace resize")
def resize_out_of_place(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    return x.resize(3, 2), x.resize_as(torch.ones(6)), attempt("can only change the shape", x.resize, 4, 2)


class Echo:
    """A hook that files can hold."""

    def __repr__(self) -> str:
        return "an echo"

    def __call__(self, g: Any) -> Any:
        return g


@program(warns="backward hook an echo on tensor will not be serialized")
def hooks_on_tensors_in_files(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(Echo())
    found = pickle.loads(pickle.dumps(x))
    torch.save(x, io.BytesIO())
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.register_hook(Echo())
    torch.save(parameter, io.BytesIO())
    quiet = torch.ones(2, requires_grad=True)
    quiet.register_hook(torch.utils.hooks.unserializable_hook(lambda g: g))
    torch.save(quiet, io.BytesIO())
    return found, not found._backward_hooks
