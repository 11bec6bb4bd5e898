"""`backward` and `grad`: arguments into root edges and gradients, then the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, overload

from retrograd.autograd.graph import GradientEdge, _engine_run_backward
from retrograd.autograd.logs import logs
from retrograd.backends.base import backend_of
from retrograd.backends.casts import maker_of
from retrograd.core.lost import warn_about_lost_loss
from retrograd.core.modes import INFERENCE, current
from retrograd.core.places import warn
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.core.version import UNTRACKED
from retrograd.engine.engine import ENGINE
from retrograd.errors import GradientError, type_name

K = TypeVar("K")
Points: TypeAlias = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]  # places in the graph
Gradients: TypeAlias = Tensor | Sequence[Tensor | None]


def backward(
    tensors: Points,
    grad_tensors: Gradients | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Gradients | None = None,
    inputs: Points | None = None,
) -> None:
    """Computes the gradients of `tensors` with respect to the graph's leaves and adds them to their `.grad`.

    Args:
        tensors: what to differentiate: a tensor, a GradientEdge, or a sequence of them.
        grad_tensors: the gradient with respect to each; None where it is a scalar.
        retain_graph: keep the graph for another backward; by default as `create_graph`.
        create_graph: record the backward itself, for higher-order derivatives.
        grad_variables: the old name of `grad_tensors`.
        inputs: accumulate into these only (a tensor, a GradientEdge, a sequence or a dict of them).

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> rg.autograd.backward([(x * x).sum(), x.sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    if current().transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported: `.grad` of a tensor outside would "
            "be written for each sample. Use func.grad or func.vjp, or call backward() outside of the transform."
        )
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise GradientError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`: one name is "
                "enough, and it is `grad_tensors`."
            )
        grad_tensors = grad_variables
    chosen = None if inputs is None else as_tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    if chosen is not None and not chosen:
        raise GradientError("`inputs` argument to `backward()` cannot be empty.")
    outputs = as_tuple(tensors)
    wanted = () if chosen is None else _checked_inputs(chosen)
    grads = make_grads(outputs, grad_list(grad_tensors, len(outputs)), False)
    if create_graph:
        _warn_about_cycle()
    keep = create_graph if retain_graph is None else retain_graph
    _run_engine(outputs, grads, keep, create_graph, wanted, True, True)


UPWARD.backward = backward


@overload
def grad(
    outputs: Points,
    inputs: Mapping[K, Tensor | GradientEdge],
    grad_outputs: Gradients | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> dict[K, Tensor]: ...
@overload
def grad(
    outputs: Points,
    inputs: Points,
    grad_outputs: Gradients | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
def grad(
    outputs: Points,
    inputs: Points | Mapping[Any, Tensor | GradientEdge],
    grad_outputs: Gradients | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, as a tuple (or a dict, if `inputs` is one).

    Args:
        outputs: what to differentiate: a tensor, a GradientEdge, or a sequence of them.
        inputs: with respect to what: likewise, or a dict.
        grad_outputs: the gradient with respect to each output; None where it is a scalar.
        retain_graph: keep the graph for another backward; by default as `create_graph`.
        create_graph: record the backward itself, so that the result can be differentiated again.
        only_inputs: ignored.
        allow_unused: give None for an input that the outputs do not depend on, instead of an error.
        is_grads_batched: the first dimension of each gradient in `grad_outputs` is a batch; so it is in the results.
        materialize_grads: give zeros instead of None; implies `allow_unused`.

    >>> import retrograd as rg
    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> (first,) = rg.autograd.grad(x ** 3, x, create_graph=True)
    >>> rg.autograd.grad(first, x)
    (tensor(12.),)
    """
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now: autograd.grad never accumulates; for that, use "
            "autograd.backward.",
            FutureWarning,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `grad()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not "
            "supported."
        )
    names = list(inputs) if isinstance(inputs, dict) else None
    wanted = tuple(inputs.values()) if isinstance(inputs, dict) else as_tuple(inputs)
    if not wanted:
        raise GradientError("`inputs` argument to `grad()` cannot be empty.")
    _checked_inputs(wanted)
    roots = as_tuple(outputs)
    grads = make_grads(roots, grad_list(grad_outputs, len(roots)), is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    lenient = bool(allow_unused) or materialize_grads
    run = _run_batched if is_grads_batched else _run_once
    results = run(roots, grads, keep, create_graph, wanted, lenient)
    if materialize_grads:
        results = tuple(
            _zeros(w, create_graph) if r is None else r for r, w in zip(results, wanted, strict=True)
        )
    return results if names is None else dict(zip(names, results, strict=True))


def _run_once(
    roots: Sequence[Any], grads: Sequence[Any], keep: bool, create: bool, wanted: Sequence[Any], lenient: bool
) -> tuple[Any, ...]:
    results: tuple[Any, ...] = _run_engine(roots, grads, keep, create, wanted, lenient, False)
    return results


def _run_engine(
    roots: Sequence[Any],
    grads: Sequence[Any],
    keep: bool,
    create: bool,
    wanted: Sequence[Any],
    lenient: bool,
    accumulate: bool,
) -> Any:
    """Calls the engine, by the way that logs if somebody listens."""
    if logs():
        return _engine_run_backward(roots, grads, keep, create, wanted, lenient, accumulate)
    return ENGINE.run_backward(roots, grads, keep, create, wanted, lenient, accumulate)


def _run_batched(
    roots: Sequence[Any], grads: Sequence[Any], keep: bool, create: bool, wanted: Sequence[Any], lenient: bool
) -> tuple[Any, ...]:
    """One backward on a batch of gradients. See Note [Levels in a graph]."""
    if any(g is not None and g.ndim == 0 for g in grads):
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
            "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0. With is_grads_batched=True every gradient "
            "has a batch in front: pass grad_outputs."
        )
    sizes = [len(g) for g in grads if g is not None]
    if not sizes or min(sizes) == 0:
        return (None,) * len(wanted)
    if min(sizes) != max(sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension: with is_grads_batched=True, it is the first of each gradient."
        )
    from retrograd.func.levels import Level, entered_once, left

    level = Level(sizes[0], "same")
    rows = [None if g is None else entered_once(g, level) for g in grads]
    found = _run_once(roots, rows, keep, create, wanted, lenient)
    return tuple(None if f is None else left(f, 0, level) for f in found)


def _zeros(like: Any, requires_grad: bool) -> Tensor:
    if isinstance(like, GradientEdge):
        raise GradientError("materialize_grads cannot be used when the given input is a GradientEdge")
    made = Tensor(backend_of(like.array).zeros_like(like.array), share=True)
    made._requires = requires_grad
    if current().special & INFERENCE:
        made._counter = UNTRACKED
    return made


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One tensor or edge, or a sequence of them, as a tuple."""
    if isinstance(value, Tensor):
        return (value,)
    return (value,) if isinstance(value, GradientEdge) else tuple(value)


def _checked_inputs(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """What gradients are wanted for: tensors and edges, nothing else."""
    for item in inputs:
        if not (isinstance(item, Tensor) or isinstance(item, GradientEdge)):
            raise GradientError(f"all inputs have to be Tensors or GradientEdges, but got {type_name(item)}")
    return inputs


def grad_list(grads: Any, count: int) -> tuple[Any, ...]:
    """The gradients as a tuple as long as the outputs."""
    if grads is None:
        return (None,) * count
    return as_tuple(grads)


def make_grads(outputs: Sequence[Any], grads: Sequence[Any], batched: bool) -> tuple[Tensor | None, ...]:
    """A gradient for each output: the given one, checked, or 1 for a scalar."""
    if len(grads) < len(outputs):
        raise GradientError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    made: list[Tensor | None] = []
    for i, output in enumerate(outputs):
        if not (isinstance(output, Tensor) or isinstance(output, GradientEdge)):
            raise TypeError(
                f"element {i} of tensors must be a Tensor or a GradientEdge, but got {type_name(output)}"
            )
        grad = grads[i]
        if isinstance(grad, Tensor):
            shape, dtype = _kind_of(output)
            _check_grad(i, grad, shape, dtype, batched)
            made.append(grad)
        elif grad is None:
            made.append(_implicit_grad(output))
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type_name(grad)}")
    return tuple(made)


def _kind_of(output: Any) -> tuple[tuple[int, ...], Any]:
    if isinstance(output, GradientEdge):
        return output.node.input_shape(output.output_nr), output.node.input_dtype(output.output_nr)
    return output.array.shape, output.array.dtype


def _check_grad(i: int, grad: Tensor, shape: tuple[int, ...], dtype: Any, batched: bool) -> None:
    """A given gradient has the output's shape (behind the batch dimension) and is complex exactly if the output is."""
    got = grad.array.shape[1:] if batched else grad.array.shape
    if got != tuple(shape):
        both = f"grad_output[{i}] has a shape of {Size(got)} and output[{i}] has a shape of {Size(shape)}."
        if batched:
            raise GradientError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: {both}"
            )
        raise GradientError(f"Mismatch in shape: {both}")
    if dtype is not None and (grad.array.dtype.kind == "c") != (dtype.kind == "c"):
        raise GradientError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {grad.array.dtype} and output[{i}] has a dtype of {dtype}."
        )


def shapes_of(output: Any, grad: Tensor, is_grads_batched: bool) -> tuple[Size, Size]:
    """The shapes that an output and its gradient must share: `torch.autograd._calculate_shape`."""
    shape, _ = _kind_of(output)
    return Size(shape), Size(grad.array.shape[1:] if is_grads_batched else grad.array.shape)


def _implicit_grad(output: Any) -> Tensor | None:
    """1 for a real scalar output; anything larger needs a gradient from the caller."""
    if isinstance(output, Tensor):
        if not output.requires_grad:
            return None
        if output._node is None:
            warn_about_lost_loss(output)
        if output.array.size == 1 and output.array.dtype.kind == "f":
            return Tensor(backend_of(output.array).ones_like(output.array), share=True)
    shape, dtype = _kind_of(output)
    if math.prod(shape) != 1:
        raise GradientError(
            "grad can be implicitly created only for scalar outputs. This one has shape "
            f"{list(shape)}: reduce it (.sum(), .mean()) or pass `gradient`."
        )
    if dtype.kind != "f":
        raise GradientError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
    return Tensor(maker_of(dtype).ones(shape, dtype), share=True)


def _warn_about_cycle() -> None:
    warn(
        "Using backward() with create_graph=True will create a reference cycle: a leaf holds its .grad, whose graph "
        "holds the leaf. It lives until Python's collector runs or .grad is set to None; autograd.grad makes no cycle.",
        UserWarning,
    )
