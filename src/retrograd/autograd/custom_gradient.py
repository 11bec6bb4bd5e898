"""`custom_gradient`: a function that says itself what its gradient is, without the ceremony of a Function class.

Note [The gradient function]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
The decorated function runs unrecorded on the caller's own tensors, and the gradient function it returns waits in the
node, with whatever it has captured. What it captured of the results must not lead back to the node, so the caller gets
twins of the results. Captured arguments and results are guarded by their versions, as saved tensors are.

When the backward pass is itself recorded, tensors that were computed inside the function and captured would count as
constants, and the second derivative would be wrong. So the function then runs again, recorded, on the saved arguments,
and the gradient function of that run is used. The same happens when hooks took the saved values away.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np

from retrograd.autograd.function import BackwardCFunction, Function
from retrograd.autograd.function_link import alias
from retrograd.core.modes import SAVED_HOOKS, current
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError, sizes, type_name

P = ParamSpec("P")
R = TypeVar("R")


def custom_gradient(function: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]:
    """Decorator: the function returns its value and a function that computes the gradient.

    Args:
        function: takes tensors as positional arguments and returns `(value, gradient)`. `value` is a tensor or a tuple
            of tensors. `gradient` takes the gradient of each of them and returns the gradient of each positional
            tensor argument, None where there is none. Keyword arguments and whatever is no tensor are constants.

    `log(1 + exp(x))` for large `x` overflows on the way back, where the gradient is plainly 1:

    >>> import retrograd as rg
    >>> @rg.custom_gradient
    ... def log1pexp(x):
    ...     e = rg.exp(x)
    ...     def gradient(g):
    ...         return g * (1 - 1 / (1 + e))
    ...     return rg.log(1 + e), gradient
    >>> x = rg.tensor(100.0, requires_grad=True)
    >>> y = log1pexp(x)
    >>> y.backward(); x.grad
    tensor(1.)
    >>> y.grad_fn.name()
    'log1pexpBackward'

    A gradient function written with differentiable operations can be differentiated again: under `create_graph=True`
    the function runs a second time, to record how the tensors that its gradient function captured came about. It should
    give the same result for the same arguments.
    """
    if not callable(function):
        raise TypeError(f"custom_gradient: expected a function, got {type_name(function)}")
    name = getattr(function, "__name__", type(function).__name__)
    operation: Any = type(name, (_Operation,), {"function": staticmethod(function)})

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return operation.apply(kwargs, *args)

    return call


class _GradientNode(BackwardCFunction):
    """The node of a function with a gradient of its own."""

    gradient: Any = None  # the gradient function; None: run the function again
    constants: tuple[Any, ...] = ()  # the positional arguments, None in place of tensors
    keywords: Any = None
    shapes: tuple[Any, ...] = ()  # of the tensor arguments
    captured: tuple[int, ...] = ()  # which of the saved tensors the gradient function has captured

    def release(self) -> None:
        super().release()
        self.gradient = self.keywords = None
        self.constants = ()


class _Operation(Function):
    """What `custom_gradient` derives a Function from for each decorated function."""

    _traceable: ClassVar[bool] = True
    _node_cls: ClassVar[Any] = _GradientNode
    function: ClassVar[Any] = None

    @staticmethod
    def forward(ctx: Any, keywords: dict[str, Any], *args: Any) -> Any:
        """Runs the function and keeps the gradient function. See Note [The gradient function]."""
        name, function = ctx._forward_cls.__name__, ctx._forward_cls.function
        value, gradient = _pair(name, function(*args, **keywords))
        results = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        twins = tuple(_twin(r, args) for r in results)
        ctx.keywords = keywords
        ctx.constants = tuple(None if isinstance(a, Tensor) else a for a in args)
        tensors = [a for a in args if isinstance(a, Tensor)]
        ctx.shapes = tuple(t.array.shape for t in tensors)
        if current().special & SAVED_HOOKS:
            ctx.save_for_backward(*tensors)
        else:
            ctx.gradient = gradient
            saved, ctx.captured = _guarded(gradient, tensors, results, twins)
            ctx.save_for_backward(*saved)
        return twins if isinstance(value, (tuple, list)) else twins[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Calls the gradient function."""
        name = ctx._forward_cls.__name__
        gradient = ctx.gradient
        if gradient is None or current().grad_enabled:
            _, gradient = _pair(name, ctx._forward_cls.function(*_arguments(ctx), **ctx.keywords))
        else:
            for i in ctx.captured:
                ctx._saved[i].unpack(ctx)  # raises if it has been overwritten
        found = gradient(*grads)
        results = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        return (None, *_per_argument(ctx, name, results))


def _pair(name: str, returned: Any) -> tuple[Any, Any]:
    """The value and the gradient function, if that is what was returned."""
    if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
        kinds = [type_name(r) for r in returned] if isinstance(returned, tuple) else type_name(returned)
        raise TypeError(
            f"custom_gradient: {name}() must return a pair (value, gradient function), but returned {kinds}. Several "
            "values go into a tuple of their own: return (a, b), gradient."
        )
    value, gradient = returned
    values = value if isinstance(value, (tuple, list)) else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, Tensor):
            raise TypeError(f"custom_gradient: value {i} of {name}() must be a Tensor, got {type_name(v)}")
    return value, gradient


def _twin(result: Tensor, args: Sequence[Any]) -> Tensor:
    """A result as the caller gets it: another tensor on the same memory, unless it is an argument."""
    if any(result is a for a in args):
        return result
    return result.detach() if result._base is None else alias(result)


def _guarded(
    gradient: Any, tensors: list[Tensor], results: Sequence[Any], twins: Sequence[Any]
) -> tuple[list[Tensor], tuple[int, ...]]:
    """What is saved (the arguments, and the results that were captured) and which of it was captured."""
    cells = [c.cell_contents for c in getattr(gradient, "__closure__", None) or () if _is_filled(c)]
    cells += getattr(gradient, "__defaults__", None) or ()
    captured = [i for i, t in enumerate(tensors) if any(t is c for c in cells)]
    kept = [twin for r, twin in zip(results, twins, strict=True) if any(r is c for c in cells)]
    captured += range(len(tensors), len(tensors) + len(kept))
    return tensors + kept, tuple(captured)


def _is_filled(cell: Any) -> bool:
    """Whether a variable that a closure refers to has been assigned yet."""
    try:
        cell.cell_contents  # noqa: B018 - reading it is the test
    except ValueError:
        return False
    return True


def _arguments(ctx: Any) -> list[Any]:
    """The positional arguments again, the tensors at their places in the graph."""
    saved = iter(ctx.saved_tensors)
    tensors = ctx.tensor_inputs[1:]
    return [next(saved) if t else c for t, c in zip(tensors, ctx.constants, strict=True)]


def _per_argument(ctx: Any, name: str, results: tuple[Any, ...]) -> list[Any]:
    """One gradient for each positional argument, from one for each tensor (or for each argument)."""
    is_tensor = ctx.tensor_inputs[1:]
    count = len(ctx.shapes)
    if len(results) == count:
        given = iter(results)
        placed = [next(given) if t else None for t in is_tensor]
    elif len(results) == len(is_tensor):
        placed = list(results)
    else:
        raise GradientError(
            f"custom_gradient: the gradient function of {name}() returned an incorrect number of gradients (expected "
            f"{count}, got {len(results)}). It returns one for each positional tensor argument, or None for it."
        )
    shapes = iter(ctx.shapes)
    for i, (grad, tensor) in enumerate(zip(placed, is_tensor, strict=True)):
        shape = next(shapes) if tensor else None
        if grad is not None:
            _check(ctx, name, i, grad, shape)
    return placed


def _check(ctx: Any, name: str, i: int, grad: Any, shape: Any) -> None:
    """Refuses a gradient that argument `i` cannot have."""
    what = f"custom_gradient: the gradient function of {name}() returned"
    whose = f"argument {_parameter(ctx._forward_cls.function, i)}"
    if shape is None:
        raise GradientError(f"{what} a gradient for {whose}, which is no tensor. Return None there.")
    if not isinstance(grad, Tensor):
        raise GradientError(
            f"{what} {type_name(grad)} for {whose}: expected a Tensor or None. Wrap numbers and arrays in tensor()."
        )
    if grad.array.shape != shape and not _reducible(grad.array.shape, shape):
        raise GradientError(
            f"{what} an invalid gradient for {whose} - got {sizes(grad.array.shape)} but expected shape compatible "
            f"with {sizes(shape)}, that of the argument."
        )


def _reducible(wide: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a gradient of the shape `wide` is summed to `shape`, because `shape` broadcasts to it."""
    try:
        return np.broadcast_shapes(wide, shape) == wide
    except ValueError:
        return False


def _parameter(function: Any, i: int) -> str:
    """The name of positional parameter `i`, or its number."""
    names = [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return f"'{names[i]}'" if i < len(names) else str(i + 1)
