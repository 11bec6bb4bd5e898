"""What random programs have shown: nodes without gradients, loose inference tensors, indices of nothing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from .harness import attempt, program

FREED = "Trying to backward through the graph a second time"
WRITTEN = "has been modified by an inplace operation"
INFERENCE = "Inplace update to inference tensor outside InferenceMode is not allowed"
SAVED = "Inference tensors cannot be saved for backward"
OVERFLOW = "cannot be converted to type .* without overflow"


def cut(torch: Any) -> Any:
    """A function whose backward gives no gradient."""

    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    return Cut.apply


# -- no gradient comes -----------------------------------------------------------------------------------------------


@program()
def what_was_freed_is_missed_without_a_gradient_too(torch: Any) -> Any:
    found = []
    for function in (torch.sin, lambda x: x * x, lambda x: x[torch.tensor([0])], lambda x: torch.cat([x, x])):
        x = torch.ones(3, requires_grad=True)
        middle = function(x)
        y = cut(torch)(middle)
        middle.sum().backward()
        saves = middle.grad_fn.name() != "CatBackward0"
        found.append(attempt(FREED, y.sum().backward) if saves else y.sum().backward())
    return found


@program(WRITTEN)
def what_was_overwritten_is_missed_without_a_gradient_too(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    a = x * 2
    y = cut(torch)(a.sin())
    a.zero_()
    y.sum().backward()


@program(warns="Anomaly Detection has been enabled|Error detected in CosBackward0")
def anomaly_mode_frees_the_node_that_it_complains_of(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = y.cos()
    with torch.autograd.detect_anomaly(check_nan=True):
        complaint = attempt("returned nan values", z.backward, torch.full((3,), float("nan")))
    return complaint, attempt(FREED, (z * z).sum().backward), y.sum().backward(), x.grad


@program()
def a_node_that_saved_nothing_is_not_freed(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = torch.addcmul(x, torch.ones(2), torch.ones(2), value=2)
    y.mean().backward()
    y.sum().backward()
    return x.grad


@program()
def a_gradient_by_a_view_is_that_of_its_place_now(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    base = x * 1
    view = base[:2]
    y = view * 2
    base.mul_(2)
    unused = torch.autograd.grad(y.sum(), [view], allow_unused=True)
    first, _ = parts = base.split([1, 2])
    base.mul_(2)
    refused = "its base or another view of its base has been modified"
    call = torch.autograd.grad
    return unused, len(parts), attempt(refused, call, base.sum(), [first], allow_unused=True)


# -- inference mode --------------------------------------------------------------------------------------------------


def made_inside(torch: Any) -> Any:
    with torch.inference_mode():
        return torch.ones(3) * 2


@program()
def a_detached_inference_tensor_can_be_written(torch: Any) -> Any:
    x, w = made_inside(torch), torch.ones(3, requires_grad=True)
    d = x.detach()
    d.mul_(2)
    x.data.add_(1)
    d.add_(w)
    e = x.detach()
    flags = d.is_inference(), d.requires_grad, x.data.is_inference(), e.is_inference()
    # A copy: PyTorch writes into an inference tensor before it refuses.
    return x.clone(), flags, d.grad_fn.name(), attempt(INFERENCE, x.mul_, 2), attempt(SAVED, torch.mul, e, w)


@program()
def what_is_not_loose_stays_closed(torch: Any) -> Any:
    x = made_inside(torch)
    with torch.inference_mode():
        inside, data = x.detach(), x.data
    views = x.detach().view(-1), x.view(-1), inside, data
    return [attempt(INFERENCE, view.mul_, 2) for view in views], attempt(
        "Setting requires_grad=True on inference tensor", x.detach().requires_grad_
    )


@program()
def copies_made_in_inference_mode_are_of_it(torch: Any) -> Any:
    x, leaf = torch.ones(3), torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        copies = [
            copy.copy(x),
            copy.deepcopy(x),
            pickle.loads(pickle.dumps(x)),
            pickle.loads(pickle.dumps(leaf)),
        ]
        read = x.view(torch.int32), x.view(torch.float32), x.view(3)
    return [c.is_inference() for c in (*copies, *read)]


@program()
def hooks_that_make_floats_of_indices_are_noticed(torch: Any) -> Any:
    index = torch.tensor([0, 1])
    functions = (
        lambda x: torch.where(x > 0, x, x * 2), lambda x: x.gather(0, index), lambda x: x[index],
        lambda x: x.index_select(0, index), lambda x: x.masked_fill(x > 0, 2), lambda x: x.masked_select(x > 0),
        lambda x: x.take(index), lambda x: x.index_copy(0, index, x[:2]), lambda x: x.sort()[0],
        lambda x: x.index_fill(0, index, 2), lambda x: x.max(0)[0],
    )  # fmt: skip
    found = []
    for function in functions:
        x = torch.ones(3, requires_grad=True) * 1
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
            y = function(x)
        found.append(
            attempt("[Ff]loat|must be long, int|Expected dtype int|Expected a long", y.sum().backward)
        )
    return found


# -- indices ---------------------------------------------------------------------------------------------------------


@program()
def an_index_of_nothing_takes_any_source(torch: Any) -> Any:
    x = torch.ones(0, 3, 2)
    index = torch.zeros_like(x, dtype=torch.long)
    source = torch.tensor(-1.5, requires_grad=True)
    y = (torch.ones(0, 3, 2, requires_grad=True) * 1).scatter_(1, index, source)
    y.sum().backward()
    return (
        x.scatter_(1, index, torch.tensor(2.0)), x.scatter(1, index, torch.ones(3)), source.grad,
        x.scatter_add(1, index, torch.tensor(2.0)), x.scatter_reduce(1, index, torch.tensor(2.0), "sum"),
    )  # fmt: skip


@program()
def a_number_that_a_mask_writes_must_fit(torch: Any) -> Any:
    def write(x: Any, value: Any) -> Any:
        x[x > 0] = value
        return x

    refused = (
        (torch.float64, torch.tensor([1 + 1j])), (torch.float64, torch.tensor(1 + 1j)),
        (torch.int32, torch.tensor([2**40])), (torch.int64, torch.tensor([float("nan")])),
        (torch.float32, torch.tensor([1e60], dtype=torch.float64)),
    )  # fmt: skip
    taken = (
        (torch.float64, torch.tensor([2 + 0j])), (torch.int32, torch.tensor([2.5])), (torch.bool, torch.tensor([3])),
        (torch.float32, torch.tensor([0.5], dtype=torch.float64)),
    )  # fmt: skip
    return [attempt(OVERFLOW, write, torch.ones(2, dtype=d), v) for d, v in refused], [
        write(torch.ones(2, dtype=d), v) for d, v in taken
    ]


# -- formulas and layouts --------------------------------------------------------------------------------------------


@program()
def a_gradient_of_zero_stays_zero_beside_the_logarithm_of_a_number(torch: Any) -> Any:
    found = []
    for function, number in ((torch.xlogy, -1.5), (torch.xlogy, 0.0), (torch.special.xlog1py, -2.5)):
        x = torch.tensor([0.1, 0.0, 1.0], requires_grad=True)
        y = function(x, number)
        found += [
            torch.autograd.grad(y, x, torch.tensor(g), retain_graph=True) for g in ([0.0, 1, 1], [2.0, 0, 0])
        ]
    return found


@program(warns="will create a reference cycle")
def the_gradient_of_a_part_of_nothing_depends_on_nothing(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    part, whole = x[0:0], x.view(-1)
    with torch.no_grad():
        whole.add_(1)
    (part * part).sum().backward(create_graph=True)
    return x.grad, x.grad.requires_grad


@program()
def powers_of_numbers_and_kin_lie_in_rows(torch: Any) -> Any:
    x, f = torch.ones(2, 3).t(), torch.nn.functional
    results = 2**x, 0**x, torch.pow(2, x), f.logsigmoid(x), f.rrelu(x), f.rrelu(x, training=True)
    return [r.stride() for r in results]


@program()
def halves_times_a_number_lie_in_rows_where_memory_repeats(torch: Any) -> Any:
    x = torch.ones(2, 1, dtype=torch.float16).expand(2, 2, 1)
    return (
        (x * 3).stride(),
        x.mul(0.5).stride(),
        torch.ones(2, dtype=torch.float16).expand(2, 2).mul(3).stride(),
    )


@program()
def coordinates_of_a_strided_line_are_views(torch: Any) -> Any:
    x = torch.ones(6, requires_grad=True)[::2]
    grids = torch.meshgrid(x, x, indexing="ij")
    return [grid.grad_fn.next_functions[0][0].name() for grid in grids], torch.cartesian_prod(x, x)


@program()
def an_input_handed_back_is_a_view_without_gradients_too(torch: Any) -> Any:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

    found = []
    for x in (torch.ones(1, dtype=torch.uint8), torch.ones(1), torch.ones(1, requires_grad=True)):
        y = Same.apply(x)
        with torch.no_grad():
            z = Same.apply(x)
        found.append((y is x, y._base is x, y._is_view(), z is x, z._is_view()))
    return found


@program()
def an_input_handed_back_without_recording_requires_nothing(torch: Any) -> Any:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x, x.detach()

    x = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        return Same.apply(x), Same.apply(x.t()), Same.apply(x[:1])


# -- views, subclasses, transforms -----------------------------------------------------------------------------------


@program()
def a_view_of_what_requires_nothing_any_more_leads_nowhere(torch: Any) -> Any:
    found = []
    for part in (lambda x: x[0], lambda x: x.view(2, 2), lambda x: x[1:].t()):
        x = torch.ones(4, requires_grad=True)
        view = part(x)
        x.requires_grad_(False)
        x += 2
        found.append((view, view.grad_fn.name(), view.grad_fn.next_functions))
        view.sum().backward(torch.tensor(1.0))
        found.append(x.grad)
    return found


@program()
def as_subclass_asks_no_class(torch: Any) -> Any:
    class First(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    class Second(torch.Tensor):
        pass

    first = torch.ones(2).as_subclass(First)
    kinds = Second, First, torch.Tensor
    return [type(first.as_subclass(kind)).__name__ for kind in kinds], first.as_subclass(Second) * 2


@program()
def a_subclass_may_have_an_init_of_its_own(torch: Any) -> Any:
    class Named(torch.Tensor):
        def __init__(self, values: Any) -> None:
            self.title = "first"

    class Both(Named):
        def __init__(self, values: Any) -> None:
            super().__init__(values)
            self.other = 2

    class Sized(torch.Tensor):
        def __init__(self, *sizes: int) -> None:
            super().__init__()

    x = torch.ones(2, requires_grad=True)
    y = Named(x)
    (y * 3).sum().backward()
    made = Named([1.0, 2.0]), Both([3.0]), Named(torch.ones(3)) + 1
    return *made, made[0].title, made[1].title, made[1].other, y, x.grad, Sized(2, 3).shape, Sized().shape


@program("data must be a sequence")
def nothing_makes_no_tensor(torch: Any) -> Any:
    return torch.Tensor(None)


@program()
def each_sample_has_a_gradient_of_its_own(torch: Any) -> Any:
    grad, vmap, found = torch.func.grad, torch.func.vmap, []
    for function in (lambda a: (a * 2).sum(), lambda a: torch.zeros_like(a).sum(), lambda a: a.mean() * 3):
        made = vmap(grad(function))(torch.ones(4, 3))
        twice = vmap(vmap(grad(function)))(torch.ones(2, 4, 3))
        found.append((made.mul_(2), twice.add_(1), made.stride(), twice.stride()))
    return found, vmap(lambda a: torch.ones(2))(torch.ones(4, 3)).stride()


@program()
def backward_hooks_of_a_module_wait_while_no_gradient_is_computed(torch: Any) -> Any:
    model, log, func = torch.nn.Linear(2, 2), [], torch.func
    torch.nn.init.constant_(model.weight, 0.5)
    torch.nn.init.zeros_(model.bias)
    model.register_full_backward_pre_hook(lambda module, outputs: log.append("outputs"))
    model.register_full_backward_hook(lambda module, inputs, outputs: log.append("inputs"))
    x = torch.ones(3, 2, requires_grad=True)
    func.vmap(model)(x).sum().backward()
    func.vmap(func.vmap(model))(torch.ones(2, 3, 2))
    value, tangent = func.jvp(model, (torch.ones(3, 2),), (torch.ones(3, 2),))
    return log, x.grad, value.detach(), tangent.shape, func.jacfwd(model)(torch.ones(2)).shape


@program()
def indices_as_often_as_counts_say_have_their_dtype(torch: Any) -> Any:
    return [
        torch.repeat_interleave(torch.tensor([1, 0, 2], dtype=dtype)) for dtype in (torch.int32, torch.int64)
    ]


@program()
def a_view_that_is_marked_has_no_gradient_inside_of_transforms(torch: Any) -> Any:
    class Marked(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.view_as(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = torch.ones(3)
    return torch.func.jacrev(Marked.apply)(x), torch.func.vjp(Marked.apply, x)[1](x)


@program()
def a_mask_of_native_dropout_is_saved(torch: Any) -> Any:
    x, found = torch.ones(4, requires_grad=True), []
    for rate in (0.0, 0.5):
        y, mask = torch.native_dropout(x, rate, True)
        found.append((y.grad_fn._saved_p, y.grad_fn._saved_result1.dtype))
        y.sum().backward()
        found.append(attempt(FREED, y.sum().backward))
        y, mask = torch.native_dropout(x, rate, True)
        mask.zero_()
        found.append(attempt(WRITTEN, y.sum().backward))
    return found


@program()
def a_tensor_made_of_a_tensor_counts_its_writes(torch: Any) -> Any:
    class Own(torch.Tensor):
        pass

    x = torch.ones(3)
    y, z = torch.Tensor(x), Own(x)
    y[0] = 5
    z[1] = 7
    return x, x._version, y._version, z._version, y._base is x, z._base is x


@program()
def unchecked_pieces_of_a_plain_tensor_are_none_of_inference_mode(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        pieces = x.unsafe_split(2)[0], x.unsafe_chunk(2)[1], x.unsafe_split_with_sizes([1, 2])[0]
        loose = torch.ones(3).unsafe_split(2)[0]
        pieces[0].mul_(2)
    return [p.is_inference() for p in (*pieces, loose)], x


@program()
def views_of_tangents_of_no_samples(torch: Any) -> Any:
    def turned(a: Any) -> Any:
        return a.sin().mT

    func, found = torch.func, []
    for shape in ((0, 3, 2), (0, 2, 2), (2, 0, 3), (2, 3, 0)):
        x = torch.zeros(shape)
        found.append(func.vmap(lambda a: func.jvp(turned, (a,), (a,))[1])(x))
        found.append(func.jvp(func.vmap(turned), (x,), (x,)))
    return found


@program()
def gradients_of_what_was_written_by_wider_operands_have_its_dtype(torch: Any) -> Any:
    found: list[Any] = []
    for wide, narrow in ((torch.float64, torch.float32), (torch.complex128, torch.complex64)):
        for name in ("mul_", "add_", "div_", "sub_"):
            for other in (
                torch.tensor(2.0, dtype=wide),
                torch.full((2,), 1.5, dtype=wide, requires_grad=True),
            ):
                leaf = torch.full((2,), 0.5, dtype=wide, requires_grad=True)
                x = leaf.to(narrow)
                getattr(x, name)(other)
                x.retain_grad()
                x.register_hook(lambda g: found.append(g.dtype))
                x.grad_fn.register_prehook(lambda gs: found.append(gs[0].dtype))
                x.abs().sum().backward()
                found.append((x, x.grad, leaf.grad, other.grad))
    return found


@program()
def extrema_and_products_in_place_too(torch: Any) -> Any:
    found = []
    other = torch.full((2,), 0.25, dtype=torch.float64)
    for name in ("clamp_min_", "atan2_", "hypot_", "xlogy_", "copysign_", "fmod_"):
        x = torch.full((2,), 0.5, requires_grad=True) * 1
        getattr(x, name)(other)
        x.retain_grad()
        x.sum().backward()
        found.append(x.grad)
    x = torch.full((2,), 0.5, requires_grad=True) * 1
    x.addcmul_(other, other)
    x.retain_grad()
    x.sum().backward()
    return found, x.grad.dtype


@program()
def hooks_may_write_into_the_gradient_of_a_mean(torch: Any) -> Any:
    found: list[Any] = []
    losses = (
        lambda x: x.mean(),
        lambda x: x.mean(0).sum(),
        lambda x: x.t().mean(),
        lambda x: torch.cat([torch.zeros(2, 3), x]).mean(),
        lambda x: x.view(-1).mean(),
    )
    for loss in losses:
        for create in (False, True):
            x = torch.ones(2, 3, requires_grad=True)
            x.register_hook(lambda g: g.mul_(2))
            x.register_hook(lambda g: found.append(g.clone()))
            found.append(torch.autograd.grad(loss(x), x, create_graph=create))
    return found


@program()
def unchecked_pieces_of_bfloat16_share_memory(torch: Any) -> Any:
    x = torch.ones(4, dtype=torch.bfloat16)
    x.unsafe_split(2)[0].mul_(2)
    x.unsafe_chunk(2)[1].add_(2)
    x.unsafe_split_with_sizes([3, 1])[1].zero_()
    return x.float()
