"""Custom operations: `autograd.Function`, its context, and its two older relatives.

Note [The context is the node]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
`ctx` in `forward` and `backward` is the graph's node itself, an instance of a class made once for each Function
(`MyFunctionBackward`). What a user hangs on it lives and dies with the node. Saved tensors are kept as values with
their version, so that saving an output makes no cycle; attributes are the user's own affair, as in PyTorch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from retrograd.autograd.calling import call_backward
from retrograd.autograd.function_batched import NO_SETUP, by_own_rule, check_rule, is_batched
from retrograd.autograd.linking import finished
from retrograd.autograd.nesting import flattened_like, form_of, iter_tensors, unflatten
from retrograd.autograd.once import once_differentiable
from retrograd.core.modes import FORWARD, current
from retrograd.core.node import Grads, Node
from retrograd.core.places import warn
from retrograd.core.plain import FunctionMeta
from retrograd.core.saved import SavedTensor, SavedValue, freed_graph
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


class FunctionCtx(Node):
    """What `forward` and `backward` share: saved tensors, marks, and whatever the user hangs on it."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads: bool = True
    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    _forward_cls: ClassVar[Any] = None  # the Function this is the context of
    _saved: tuple[SavedValue | None, ...] = ()
    _taken: bool = False  # whether the saved tensors were given out for good

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for `backward`, where they are `ctx.saved_tensors`. Call it once, in `forward`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for `jvp`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                    "attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Says which inputs `forward` has written into."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Says which outputs have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing: shared memory is always tracked. Kept for old code."""
        warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked.",
            FutureWarning,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient arrives in `backward` as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        return tuple(SavedTensor(self, "", s) for s in self._saved)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`."""
        if self._taken:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                f"autograd.Function, as on {self._forward_cls.__name__}. Keep what the first access gave in a variable."
            )
        if self.saved_for_forward is not None:
            return self.saved_for_forward  # inside jvp
        if self._freed:
            raise freed_graph(self)
        found = tuple(None if s is None else s.unpack(self) for s in self._saved)
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved, self._taken = (), True
        return found

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


class BackwardCFunction(FunctionCtx):
    """The node of a custom Function; a subclass of it is made for each Function."""

    tensor_inputs: tuple[bool, ...] = ()

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        return call_backward(self, self._user_backward(), self._forward_cls.boxed_grads_call, grads, tensors)

    def _user_backward(self) -> Callable[..., Any]:
        cls = self._forward_cls
        has_backward, has_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed: they are two names of "
                "one thing."
            )
        found: Callable[..., Any] = cls.vjp if has_vjp else cls.backward
        return found

    def release(self) -> None:
        if self._saved:
            self._freed = True
            self._saved = ()

    def holds_saved(self) -> bool:
        return bool(self._saved)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"

    def maybe_clear_saved_tensors(self) -> None:
        """Frees the saved tensors."""
        self.release()


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
        if cls._backward_cls is None:
            cls.forward()
        separate = _is_setup_context_defined(cls.setup_context)
        if kwargs or separate:
            args = _positional(cls, args, kwargs, separate)
        if current().transforms and not separate and not cls._traceable:
            raise RuntimeError(NO_SETUP.format(cls.__name__))
        own_rule = is_batched(args) and cls._check_rule(separate)
        ctx: BackwardCFunction = cls._backward_cls()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        state = current()
        was_enabled, special = state.grad_enabled, state.special
        state.grad_enabled = False
        state.special = special & ~FORWARD
        try:
            if separate:
                output = by_own_rule(cls, args) if own_rule else cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            state.grad_enabled, state.special = was_enabled, special
        return finished(ctx, args, output, was_enabled and any(ctx.needs_input_grad))

    @classmethod
    def _check_rule(cls, separate: bool) -> bool:
        """Inside of vmap: whether the Function's own `vmap` is to be used. Refuses one that cannot be."""
        own = cls.vmap is not Function.vmap
        if current().transforms and not cls._traceable:
            check_rule(cls, own)
        return own and separate


_SingleLevelFunction = Function  # PyTorch's names for what is one class here
_ContextMethodMixin = FunctionCtx


def _is_setup_context_defined(setup_context: Callable[..., Any]) -> bool:
    """Whether a Function has a `setup_context` of its own, given `cls.setup_context`."""
    return setup_context is not Function.setup_context


def _positional(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], separate: bool) -> tuple[Any, ...]:
    """Keyword arguments and defaults in the order of `forward`'s signature."""
    lead = () if separate else (None,)
    bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"{cls.__name__}.forward: keyword-only arguments are not supported by apply()")
    return bound.args[len(lead) :]


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
