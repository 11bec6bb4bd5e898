"""Custom operations: `autograd.Function` and its two older relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from retrograd.autograd.context import BackwardCFunction, FunctionCtx
from retrograd.autograd.function_apply import applied
from retrograd.autograd.nested_io import flattened_like, form_of, iter_tensors, unflatten
from retrograd.autograd.once import once_differentiable
from retrograd.core.places import warn
from retrograd.core.plain import FunctionMeta
from retrograd.core.tensor import Tensor

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class Function(metaclass=FunctionMeta):
    """Base class of custom differentiable operations.

    Write `forward` and `backward` as static methods and call `apply`:

    >>> import retrograd as rg
    >>> class Square(rg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return grad_output * 2 * x
    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward(); x.grad
    tensor(6.)

    `forward` may instead leave out `ctx` and have a `setup_context(ctx, inputs, output)` beside it.
    """

    generate_vmap_rule: ClassVar[bool] = False
    # Whether ctx.saved_tensors gives the tensors away, once.
    clear_saved_tensors_on_access: ClassVar[bool] = False
    # Whether backward gets its gradients in one list, which it may empty.
    boxed_grads_call: ClassVar[bool] = False
    _traceable: ClassVar[bool] = False  # whether transforms may go through it as it is
    _backward_cls: ClassVar[Any] = None
    _node_cls: ClassVar[Any] = BackwardCFunction  # what the class of the node derives from

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Its methods are static: call {type(self).__name__}.apply(...).",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Write forward and backward as "
            f"static methods and call {type(self).__name__}.apply(...)."
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(f"{cls.__name__}Backward", (cls._node_cls,), {"_forward_cls": cls})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the result: `forward(ctx, *args)`, or `forward(*args)` with a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Saves what `backward` needs, when `forward` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD. "
            f"{ctx._forward_cls.__name__} has none, and an argument of it has a tangent."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The operation over a batch."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs the operation on tensors and other arguments."""
        return applied(cls, args, kwargs)

    # What a class has that overrides none of these.
    _no_setup_context = setup_context
    _no_backward = backward
    _no_vmap = vmap


_SingleLevelFunction = Function  # PyTorch's names for what is one class here
_ContextMethodMixin = FunctionCtx


def _is_setup_context_defined(setup_context: Callable[..., Any]) -> bool:
    """Whether a Function has a `setup_context` of its own, given `cls.setup_context`."""
    return setup_context is not Function.setup_context


class InplaceFunction(Function):
    """A Function that may work in place; kept for code that derives from it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """The older form of a Function whose arguments and results are nested lists and tuples of tensors.

    `forward_extended` and `backward_extended` are methods of an instance, which is also their context:

    >>> import retrograd as rg, warnings
    >>> class Swap(rg.autograd.NestedIOFunction):
    ...     def forward_extended(self, pair):
    ...         return [pair[1] * 2, pair[0] * 3]
    ...     def backward_extended(self, g, h):
    ...         return [h * 3, g * 2]
    >>> a = rg.tensor(1.0, requires_grad=True); b = rg.tensor(1.0, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     c, d = Swap()([a, b])
    >>> rg.autograd.grad(c + d, (a, b))
    (tensor(3.), tensor(2.))
    """

    _ctx: Any = None  # the node, while one of the methods runs
    _result: Any = None  # the form of the last result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        flat = super().apply(self, args, *iter_tensors(args), **kwargs)
        return unflatten(flat, self._result)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Makes an instance and calls it."""
        return cls()(*args, **kwargs)

    @staticmethod
    def forward(ctx: Any, owner: Any, nested: Any, *_flat: Tensor) -> tuple[Tensor, ...]:
        """Calls `forward_extended`."""
        ctx.owner, ctx.input_form = owner, form_of(nested)
        owner._ctx = ctx
        try:
            result = owner.forward_extended(*nested)
        finally:
            owner._ctx = None
        ctx.output_form = owner._result = form_of(result)
        return tuple(iter_tensors(result))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """Calls `backward_extended`."""
        nested = unflatten(grads, ctx.output_form)
        owner = ctx.owner
        owner._ctx = ctx
        try:
            results = owner.backward_extended(*(nested if isinstance(nested, (list, tuple)) else (nested,)))
        finally:
            owner._ctx = None
        given = results if isinstance(results, tuple) else (results,)
        return (None, None, *flattened_like(given, ctx.input_form))

    def save_for_backward(self, *nested: Any) -> None:
        """Keeps nested tensors for `backward_extended`, where they are `self.saved_tensors`."""
        self._ctx.saved_form = form_of(nested)
        self._ctx.save_for_backward(*iter_tensors(nested))

    @property
    def saved_tensors(self) -> Any:
        """What was given to `save_for_backward`; inside `backward_extended` only."""
        return unflatten(self._ctx.saved_tensors, self._ctx.saved_form)

    def mark_dirty(self, *nested: Any) -> None:
        """Says which inputs `forward_extended` has written into."""
        self._ctx.mark_dirty(*iter_tensors(nested))

    def mark_non_differentiable(self, *nested: Any) -> None:
        """Says which results have no gradient."""
        self._ctx.mark_non_differentiable(*iter_tensors(nested))

    def forward_extended(self, *args: Any) -> Any:
        """Computes the result from nested arguments."""
        raise NotImplementedError(f"{type(self).__name__} must implement forward_extended")

    def backward_extended(self, *grads: Any) -> Any:
        """The gradients of the arguments, nested as they were."""
        raise NotImplementedError(f"{type(self).__name__} must implement backward_extended")
