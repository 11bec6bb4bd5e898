"""Indices, masks and targets are saved values: overwritten, shown, packed and freed like others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from .harness import attempt, program


def quiet(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program whose warnings do not count: PyTorch says of some functions that they are in beta."""

    def wrapped(torch: Any) -> Any:
        with warnings.catch_warnings(action="ignore"):
            return run(torch)

    wrapped.__name__, wrapped.__module__ = run.__name__, run.__module__
    return program()(wrapped)


OVERWRITTEN = "modified by an inplace operation|cannot be saved|second time|not implemented"
ROWS, PLACES = [2, 0], [[0, 1], [2, 0], [1, 1]]
MASK = [[True, False, True, False], [False, False, True, True], [True, True, False, False]]
LINE = [True, False, True]


class Form(NamedTuple):
    """A call with constants: the shapes of its operands, the constants, and what shows them."""

    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    constants: tuple[Any, ...]
    names: tuple[str, ...] = ()


def written(torch: Any, x: Any, *rest: Any) -> Any:
    """`x[key] = value`, the value 5.0 if there is none."""
    y = x.clone()
    value, key = (rest[0], rest[1]) if rest[0].is_floating_point() else (5.0, rest)
    y[key] = value
    return y


def functional(torch: Any) -> Any:
    return torch.nn.functional


M, V, S = (3, 4), (2, 4), ()
INDEXING = {
    "x[i]": Form(lambda t, x, i: x[i], (M,), (ROWS,), ("indices",)),
    "x[:, i]": Form(lambda t, x, i: x[:, i], (M,), (ROWS,), ("indices",)),
    "x[i, j]": Form(lambda t, x, i, j: x[i, j], (M,), (ROWS, [1, 3]), ("indices",)),
    "x[i, 1:, j]": Form(lambda t, x, i, j: x[i, 1:, j], ((3, 4, 5),), (ROWS, [1, 3]), ("indices",)),
    "x[m]": Form(lambda t, x, m: x[m], (M,), (LINE,), ("indices",)),
    "x[m] of all": Form(lambda t, x, m: x[m], (M,), (MASK,), ("indices",)),
    "x[m, i]": Form(lambda t, x, m, i: x[m, i], (M,), (LINE, ROWS), ("indices",)),
    "x[n]": Form(lambda t, x, n: x[n], (M,), (2,)),
    "x[n, j]": Form(lambda t, x, n, j: x[n, j], (M,), (2, [0, 1]), ("indices",)),
    "x[i] = 5": Form(written, (M,), (ROWS,), ("indices",)),
    "x[i, j] = 5": Form(written, (M,), (ROWS, [0, 1]), ("indices",)),
    "x[m] = 5": Form(written, (M,), (LINE,), ("indices",)),
    "x[i] = v": Form(written, (M, V), (ROWS,), ("indices",)),
    "x[m] = v": Form(written, (M, V), (LINE,), ("indices",)),
    "index_put": Form(lambda t, x, v, i: x.index_put((i,), v), (M, V), (ROWS,), ("indices",)),
    "index_put, adding": Form(lambda t, x, v, i: x.index_put((i,), v, True), (M, V), (ROWS,), ("indices",)),
    "index_put_": Form(lambda t, x, v, i: x.clone().index_put_((i,), v), (M, V), (ROWS,), ("indices",)),
}
ALONG = {
    "gather": Form(lambda t, x, i: x.gather(1, i), (M,), (PLACES,), ("index",)),
    "take_along_dim": Form(lambda t, x, i: t.take_along_dim(x, i, 1), (M,), (PLACES,)),
    "take_along_dim, flat": Form(lambda t, x, i: t.take_along_dim(x, i), (M,), ([0, 5],), ("index",)),
    "take": Form(lambda t, x, i: x.take(i), (M,), ([0, 1, 5],), ("index",)),
    "put": Form(lambda t, x, v, i: x.put(i, v), (M, (3,)), ([0, 1, 5],), ("index",)),
    "put, adding": Form(lambda t, x, v, i: x.put(i, v, True), (M, (3,)), ([0, 1, 5],), ("index",)),
    "index_select": Form(lambda t, x, i: x.index_select(0, i), (M,), (ROWS,), ("index",)),
    "index_add": Form(lambda t, x, v, i: x.index_add(0, i, v, alpha=2), (M, V), (ROWS,), ("index",)),
    "index_add of a constant": Form(
        lambda t, x, i: x.index_add(0, i, t.ones(2, 4, dtype=t.float64)), (M,), (ROWS,)
    ),
    "index_copy": Form(lambda t, x, v, i: x.index_copy(0, i, v), (M, V), (ROWS,), ("index",)),
    "index_fill": Form(lambda t, x, i: x.index_fill(0, i, 5.0), (M,), (ROWS,), ("index",)),
    "index_fill, tensor": Form(lambda t, x, v, i: x.index_fill(0, i, v), (M, S), (ROWS,), ("index",)),
    "index_reduce": Form(lambda t, x, v, i: x.index_reduce(0, i, v, "prod"), (M, V), (ROWS,), ("index",)),
    "scatter": Form(lambda t, x, v, i: x.scatter(1, i, v), (M, (3, 2)), (PLACES,), ("index",)),
    "scatter_": Form(lambda t, x, v, i: x.clone().scatter_(1, i, v), (M, (3, 2)), (PLACES,), ("index",)),
    "scatter, number": Form(lambda t, x, i: x.scatter(1, i, 5.0), (M,), (PLACES,), ("index",)),
    "scatter_add": Form(lambda t, x, v, i: x.scatter_add(1, i, v), (M, (3, 2)), (PLACES,), ("index",)),
    "scatter_add of a constant": Form(
        lambda t, x, i: x.scatter_add(1, i, t.ones(3, 2, dtype=t.float64)), (M,), (PLACES,)
    ),
    "scatter_reduce": Form(
        lambda t, x, v, i: x.scatter_reduce(1, i, v, "amax"), (M, (3, 2)), (PLACES,), ("index",)
    ),
    "repeat_interleave": Form(lambda t, x, r: x.repeat_interleave(r, 0), (M,), ([1, 2, 3],)),
}
MASKS = {
    "where": Form(lambda t, x, y, c: t.where(c, x, y), (M, M), (MASK,), ("condition",)),
    "where, number": Form(lambda t, x, c: t.where(c, x, 0.0), (M,), (MASK,), ("condition",)),
    "where of a line": Form(lambda t, x, c: x.where(c, 0.0), (M,), (MASK[0],), ("condition",)),
    "where not": Form(lambda t, x, c: t.where(~c, x, 0.0), (M,), (MASK,)),
    "masked_fill": Form(lambda t, x, m: x.masked_fill(m, 5.0), (M,), (MASK,), ("mask",)),
    "masked_fill_": Form(lambda t, x, m: x.clone().masked_fill_(m, 5.0), (M,), (MASK,), ("mask",)),
    "masked_fill, tensor": Form(lambda t, x, v, m: x.masked_fill(m, v), (M, S), (MASK,), ("mask",)),
    "masked_select": Form(lambda t, x, m: x.masked_select(m), (M,), (MASK[0],), ("mask",)),
    "masked_scatter": Form(lambda t, x, v, m: x.masked_scatter(m, v), (M, M), (MASK,), ("mask",)),
}
NETWORKS = {
    "embedding": Form(lambda t, x, i: functional(t).embedding(i, x), (M,), (PLACES,), ("indices",)),
    "embedding with padding": Form(
        lambda t, x, i: functional(t).embedding(i, x, padding_idx=1),
        (M,), (PLACES,), ("indices",),
    ),
    "max_unpool1d": Form(lambda t, x, i: functional(t).max_unpool1d(x, i, 2), ((1, 2),), ([[0, 3]],)),
    "max_unpool2d": Form(
        lambda t, x, i: functional(t).max_unpool2d(x, i, 2), ((1, 2, 2),), ([[[0, 3], [9, 15]]],), ("indices",)
    ),
    "nll_loss": Form(lambda t, x, i: functional(t).nll_loss(x, i), (M,), ([0, 3, 2],), ("target",)),
    "cross_entropy": Form(lambda t, x, i: functional(t).cross_entropy(x, i), (M,), ([0, 3, 2],), ("target",)),
}  # fmt: skip
ONCE = {  # those of which PyTorch has no second derivative
    "embedding_bag": Form(
        lambda t, x, i, o: functional(t).embedding_bag(i, x, o), (M,), ([0, 1, 2, 0], [0, 2]),
        ("indices", "offsets"),
    ),
    "embedding_bag, max": Form(
        lambda t, x, i, o: functional(t).embedding_bag(i, x, o, mode="max"), (M,), ([0, 1, 2, 0], [0, 2]),
        ("indices", "offsets"),
    ),
    "embedding_bag of rows": Form(
        lambda t, x, i: functional(t).embedding_bag(i, x, mode="sum"), (M,), ([[0, 1], [2, 0]],)
    ),
    "ctc_loss": Form(
        lambda t, x, i: functional(t).ctc_loss(x.log_softmax(2), i, (4, 4), (2, 1), reduction="none"),
        ((4, 2, 3),), ([[1, 2], [2, 1]],), ("targets",),
    ),
    "segment_reduce": Form(
        lambda t, x, n: t.segment_reduce(x, "max", lengths=n), (M,), ([2, 1],), ("lengths",)
    ),
    "segment_reduce, offsets": Form(
        lambda t, x, n: t.segment_reduce(x, "sum", offsets=n), (M,), ([0, 2, 3],), ("offsets",)
    ),
    "multi_margin_loss": Form(lambda t, x, i: functional(t).multi_margin_loss(x, i), (M,), ([0, 3, 2],), ("target",)),
}  # fmt: skip
TWICE = {**INDEXING, **ALONG, **MASKS, **NETWORKS}
FORMS = {**TWICE, **ONCE}


def operands(torch: Any, form: Form) -> tuple[list[Any], list[Any]]:
    """Leaves and constants, anew."""
    leaves = []
    for shape in form.shapes:
        count = 1
        for n in shape:
            count *= n
        values = (torch.arange(count, dtype=torch.float64) / 7 + 0.1).reshape(shape)
        leaves.append(values.clone().requires_grad_())
    return leaves, [torch.tensor(value) for value in form.constants]


def gradients(torch: Any, y: Any, leaves: list[Any], create_graph: bool = False) -> Any:
    return torch.autograd.grad((y * y * y).sum(), leaves, create_graph=create_graph)


def second(torch: Any, first: Any, leaves: list[Any]) -> Any:
    size = sum((g * g).sum() for g in first)
    return torch.autograd.grad(size, leaves, allow_unused=True)


def each_overwritten(torch: Any, forms: dict[str, Form], run: Callable[..., Any]) -> Any:
    """What `run` gives for each form, with each of its constants overwritten half-way."""
    found = {}
    for name, form in forms.items():
        for i in range(len(form.constants)):
            leaves, constants = operands(torch, form)
            write = constants[i].zero_
            found[f"{name}: {i}"] = attempt(OVERWRITTEN, run, form, leaves, constants, write)
    return found


@quiet
def overwritten_before_backward(torch: Any) -> Any:
    def run(form: Form, leaves: Any, constants: Any, write: Any) -> Any:
        y = form.call(torch, *leaves, *constants)
        write()
        return gradients(torch, y, leaves)

    return each_overwritten(torch, FORMS, run)


@quiet
def overwritten_before_the_second_backward(torch: Any) -> Any:
    def run(form: Form, leaves: Any, constants: Any, write: Any) -> Any:
        first = gradients(torch, form.call(torch, *leaves, *constants), leaves, create_graph=True)
        write()
        return second(torch, first, leaves)

    return each_overwritten(torch, TWICE, run)


@quiet
def overwritten_without_a_gradient(torch: Any) -> Any:
    def run(form: Form, leaves: Any, constants: Any, write: Any) -> Any:
        y = form.call(torch, *[x.detach() for x in leaves], *constants)
        write()
        return y

    return each_overwritten(torch, FORMS, run)


@quiet
def what_the_error_says(torch: Any) -> Any:
    found = []
    for name in ("gather", "where", "x[m]", "masked_fill"):
        leaves, (constant,) = operands(torch, FORMS[name])
        y = FORMS[name].call(torch, *leaves, constant)
        constant.zero_().zero_()
        try:
            y.sum().backward()
        except RuntimeError as error:
            found.append(str(error).partition("operation: ")[2].partition(" instead")[0])
    return found


@quiet
def inference_tensors_are_refused(torch: Any) -> Any:
    found = {}
    for name, form in FORMS.items():
        leaves, constants = operands(torch, form)
        with torch.inference_mode():
            constants = [c.clone() for c in constants]
        found[name] = attempt(OVERWRITTEN, lambda f=form, a=(*leaves, *constants): f.call(torch, *a).shape)
    return found


@quiet
def shown_until_freed(torch: Any) -> Any:
    found = {}
    for name, form in FORMS.items():
        leaves, constants = operands(torch, form)
        y = form.call(torch, *leaves, *constants)
        node = y.grad_fn
        for key in form.names:
            found[f"{name}: {key}"] = getattr(node, f"_saved_{key}")
            found[f"{name}: {key} is listed"] = {f"_saved_{key}", f"_raw_saved_{key}"} <= set(dir(node))
        y.sum().backward()
        for key in form.names:
            found[f"{name}: {key} is freed"] = attempt(OVERWRITTEN, getattr, node, f"_saved_{key}")
        found[f"{name}: again"] = attempt(OVERWRITTEN, y.sum().backward)
    return found


def watching(torch: Any, log: list[Any]) -> Any:
    """Hooks that note the integers and truth values that they see. Of floating-point values PyTorch saves more."""

    def pack(t: Any) -> Any:
        if not t.is_floating_point():
            log.append((t.dtype, tuple(t.shape)))
        return t

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)


@quiet
def what_hooks_see(torch: Any) -> Any:
    found = {}
    for name, form in {
        **TWICE,
        "segment_reduce": ONCE["segment_reduce"],
        "ctc_loss": ONCE["ctc_loss"],
    }.items():
        leaves, constants = operands(torch, form)
        log: list[Any] = []
        with watching(torch, log):
            y = form.call(torch, *leaves, *constants)
        found[name] = log, gradients(torch, y, leaves)
    return found


@quiet
def what_hooks_see_of_a_backward(torch: Any) -> Any:
    """But for reductions, whose formulas are not PyTorch's."""
    found = {}
    for name, form in {**INDEXING, **ALONG, **MASKS}.items():
        leaves, constants = operands(torch, form)
        y = form.call(torch, *leaves, *constants)
        log: list[Any] = []
        with watching(torch, log):
            first = gradients(torch, y, leaves, create_graph=True)
        if "reduce" not in name:
            found[name] = log, second(torch, first, leaves)
    return found


@quiet
def packed_for_good(torch: Any) -> Any:
    """What hooks have taken may be overwritten: formulas get what they give back, also in a second backward."""
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)
    found = {}
    for name, form in TWICE.items():
        leaves, constants = operands(torch, form)
        with hooks:
            y = form.call(torch, *leaves, *constants)
            for c in constants:
                c.zero_()
            first = gradients(torch, y, leaves, create_graph=True)
        found[name] = [g.detach() for g in first], second(torch, first, leaves)
    return found


@quiet
def formulas_use_what_was_unpacked(torch: Any) -> Any:
    def flipped(t: Any) -> Any:
        return t if t.is_floating_point() else t.flip(0)

    found = {}
    for name in ("x[i]", "x[m]", "gather", "take", "index_select", "embedding", "where", "masked_fill"):
        leaves, constants = operands(torch, FORMS[name])
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, flipped):
            y = FORMS[name].call(torch, *leaves, *constants)
        y.backward(torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape))
        found[name] = leaves[0].grad, constants
    return found


@quiet
def hooks_on_one_of_several(torch: Any) -> Any:
    x, i, j = torch.arange(12.0).reshape(3, 4).requires_grad_(), torch.tensor([2, 0]), torch.tensor([1, 3])
    y, log = x[i, j], []
    _, other = y.grad_fn._raw_saved_indices
    other.register_hooks(lambda t: (log.append(t), t + 1)[1], lambda t: (log.append("unpack"), t - 1)[1])
    shown = y.grad_fn._saved_indices
    y.sum().backward()
    part = x[:, i]
    missing = part.grad_fn._raw_saved_indices[0]
    refused = attempt("value None", missing.register_hooks, lambda t: t, lambda t: t)
    return shown, x.grad, log, refused


@quiet
def own_hooks_take_a_value_for_good(torch: Any) -> Any:
    x, c, i = torch.arange(3.0).requires_grad_(), torch.ones(3), torch.tensor([2, 0])
    y, z = x[i], x * c
    y.grad_fn._raw_saved_indices[0].register_hooks(lambda t: t.clone(), lambda t: t)
    z.grad_fn._raw_saved_other.register_hooks(lambda t: t.clone(), lambda t: t)
    i.zero_()
    c.zero_()
    (y.sum() + z.sum()).backward()
    return x.grad


@quiet
def mutation_that_is_allowed(torch: Any) -> Any:
    found = {}
    for name, form in FORMS.items():
        leaves, constants = operands(torch, form)
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            y = form.call(torch, *leaves, *constants)
            for c in constants:
                c.zero_()
            found[name] = gradients(torch, y, leaves)
    return found


@quiet
def kept_on_the_cpu(torch: Any) -> Any:
    found = {}
    for name, form in FORMS.items():
        leaves, constants = operands(torch, form)
        with torch.autograd.graph.save_on_cpu():
            y = form.call(torch, *leaves, *constants)
        found[name] = gradients(torch, y, leaves)
    return found


@quiet
def inside_a_checkpoint(torch: Any) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    found = {}
    for name, form in FORMS.items():
        leaves, constants = operands(torch, form)

        def run(*xs: Any, form: Form = form, constants: Any = constants) -> Any:
            return form.call(torch, *[x * 1 for x in xs], *constants).sin()

        found[name] = gradients(torch, checkpoint(run, *leaves, use_reentrant=False), leaves)
    return found


@quiet
def with_tangents(torch: Any) -> Any:
    """Forward mode, with and without hooks that take the constants away."""
    fwAD, found = torch.autograd.forward_ad, {}
    for name, form in TWICE.items():
        if name == "index_reduce":  # PyTorch has no forward mode of it
            continue
        leaves, constants = operands(torch, form)
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)
        with fwAD.dual_level(), hooks:
            duals = [fwAD.make_dual(x, x.detach() * 2) for x in leaves]
            y = form.call(torch, *duals, *constants)
            found[name] = fwAD.unpack_dual(y).tangent.detach()
    return found


RESULTS = {
    "max": lambda t, x: x.max(1),
    "min": lambda t, x: x.min(1, keepdim=True),
    "median": lambda t, x: x.median(1),
    "mode": lambda t, x: x.mode(1),
    "sort": lambda t, x: x.sort(1, descending=True),
    "topk": lambda t, x: x.topk(2, 1),
    "kthvalue": lambda t, x: x.kthvalue(2, 1),
    "cummax": lambda t, x: x.cummax(1),
    "max_pool1d": lambda t, x: functional(t).max_pool1d(x, 2, return_indices=True),
    "max_pool2d": lambda t, x: functional(t).max_pool2d(x[None], 2, return_indices=True),
    "adaptive_max_pool1d": lambda t, x: functional(t).adaptive_max_pool1d(x, 2, return_indices=True),
}


@quiet
def indices_that_are_results(torch: Any) -> Any:
    found = {}
    for name, call in RESULTS.items():
        log: list[Any] = []
        x = (torch.arange(16.0) % 5).reshape(4, 4).requires_grad_()
        with watching(torch, log):
            y, indices = call(torch, x)
        indices.zero_()  # the hooks have it, and are content
        y = call(torch, x)[0]
        y.sum().backward()
        again = attempt(OVERWRITTEN, y.sum().backward)
        y, indices = call(torch, x)
        indices.zero_()
        found[name] = log, x.grad, again, attempt(OVERWRITTEN, y.sum().backward)
    return found
