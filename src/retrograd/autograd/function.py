"""Custom operations: `autograd.Function`, its context, and `once_differentiable`.

Note [The context is the node]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
`ctx` in `forward` and `backward` is the graph's node itself, an instance of a class made once for each Function
(`MyFunctionBackward`). What a user hangs on it lives and dies with the node. Saved tensors are kept as values with
their version, so that saving an output makes no cycle; attributes are the user's own affair, as in PyTorch.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import CPU
from retrograd.backends.dtypes import is_differentiable
from retrograd.core.anomaly import remember_origin
from retrograd.core.apply import gradient_edge
from retrograd.core.modes import ANOMALY, current
from retrograd.core.node import Edge, Grads, InputMetadata, Node
from retrograd.core.saved import SavedTensor, SavedValue, freed_graph
from retrograd.core.tensor import Tensor
from retrograd.core.views import IN_CUSTOM_FUNCTION, rebase_history
from retrograd.errors import GradientError, InplaceError, type_name

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx(Node):
    """What `forward` and `backward` share: saved tensors, marks, and whatever the user hangs on it."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads: bool = True
    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    _saved: tuple[SavedValue | None, ...] = ()
    _freed: bool = False

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

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient arrives in `backward` as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        return tuple(SavedTensor(self, "", s) for s in self._saved)

    def is_released(self) -> bool:
        return self._freed

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`."""
        if self._freed:
            raise freed_graph(self)
        return tuple(None if s is None else s.unpack(self) for s in self._saved)


class BackwardCFunction(FunctionCtx):
    """The node of a custom Function; a subclass of it is made for each Function."""

    _forward_cls: ClassVar[Any] = None
    tensor_inputs: tuple[bool, ...] = ()

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        wrapped = [self._given(i, g, tensors) for i, g in enumerate(grads)]
        results = self._user_backward()(self, *wrapped)
        made = self._checked(results if isinstance(results, tuple) else (results,))
        return made if tensors else [None if g is None else g.array for g in made]

    def _given(self, i: int, grad: Any, tensors: bool) -> Any:
        """A gradient as `backward` gets it."""
        if grad is not None:
            return grad if tensors else Tensor(grad)
        if not self.materialize_grads or self.input_dtype(i) is None:
            return None
        return Tensor(np.zeros(self.input_shape(i), self.input_dtype(i)))

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

    def _checked(self, results: Sequence[Any]) -> list[Any]:
        """One gradient per tensor argument, from one result per argument of `forward`."""
        expected = len(self.tensor_inputs)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise GradientError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)}). backward() returns one gradient for each argument of forward(), None for those that "
                "are not tensors."
            )
        made: list[Any] = []
        for i, (result, is_tensor) in enumerate(zip(results, self.tensor_inputs, strict=True)):
            if result is not None and not is_tensor:
                raise GradientError(
                    f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if result is not None and not isinstance(result, Tensor):
                raise GradientError(f"expected Variable or None (got {type_name(result)}) from {self.name()}")
            if is_tensor:
                made.append(result)
        return made

    def release(self) -> None:
        if self._saved:
            self._saved = ()
            self._freed = True

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"

    def maybe_clear_saved_tensors(self) -> None:
        """Frees the saved tensors."""
        self.release()


class Function:
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
    _backward_cls: ClassVar[Any] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Its methods are static: call {type(self).__name__}.apply(...).",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Write forward and backward as "
            f"static methods and call {type(self).__name__}.apply(...)."
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(f"{cls.__name__}Backward", (BackwardCFunction,), {"_forward_cls": cls})

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
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
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
        separate = cls.setup_context is not Function.setup_context
        if kwargs or separate:
            args = _positional(cls, args, kwargs, separate)
        ctx: BackwardCFunction = cls._backward_cls()
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        state = current()
        was_enabled = state.grad_enabled
        state.grad_enabled = False
        try:
            if separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            state.grad_enabled = was_enabled
        return _finished(ctx, args, output, was_enabled and any(ctx.needs_input_grad))


def _positional(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], separate: bool) -> tuple[Any, ...]:
    """Keyword arguments and defaults in the order of `forward`'s signature."""
    lead = () if separate else (None,)
    bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"{cls.__name__}.forward: keyword-only arguments are not supported by apply()")
    return bound.args[len(lead) :]


def _finished(ctx: BackwardCFunction, args: tuple[Any, ...], output: Any, recorded: bool) -> Any:
    """Links the node behind the outputs and saves what was asked for."""
    several = isinstance(output, tuple)
    raw = output if several else (output,)
    if recorded:
        _check_marks(ctx, args, raw)
        ctx.tensor_inputs = tuple(isinstance(a, Tensor) for a in args)
        ctx.set_next_edges(
            [gradient_edge(a) if a.requires_grad else Edge(None, 0) for a in args if isinstance(a, Tensor)]
        )
        ctx.sequence_nr = current().next_sequence_nr()
        if current().special & ANOMALY:
            remember_origin(ctx, current())
    outputs = tuple(
        _linked(ctx, args, out, i, recorded) if isinstance(out, Tensor) else out for i, out in enumerate(raw)
    )
    if recorded:
        # backward() gets one gradient per output, also of those that have none.
        kinds = [_metadata(out) for out in outputs]
        ctx.out_shape, ctx.out_dtype, ctx.more_inputs = kinds[0].shape, kinds[0].dtype, kinds[1:] or None
        ours = [out for out in outputs if isinstance(out, Tensor) and out._node is ctx]
        ctx._saved = tuple(
            None if t is None else SavedValue(t, any(t is out for out in ours), ctx)
            for t in ctx.to_save or ()
        )
    ctx.to_save = None
    ctx.dirty_tensors = ctx.non_differentiable = ()
    return outputs if several else outputs[0]


def _check_marks(ctx: BackwardCFunction, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """What `forward` has said on ctx must be about tensors, and what it wrote into must come back."""
    for i, tensor in enumerate(ctx.to_save or ()):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {i} is of type {type_name(tensor)}. Keep "
                "other things as attributes of ctx."
            )
    for tensor in ctx.dirty_tensors:
        if not isinstance(tensor, Tensor):
            raise GradientError(f"mark_dirty can only accept variables, but got {type_name(tensor)}")
        if not any(tensor is a for a in args):
            warnings.warn(
                "mark_dirty() received a tensor that was not an input: only inputs can have been written in place",
                UserWarning,
                stacklevel=4,
            )
        elif not any(tensor is out for out in outputs):
            raise GradientError(
                "Some elements marked as dirty during the forward method were not returned as output. Return each "
                "input that forward() has written into."
            )
        elif tensor._base is not None and len(outputs) > 1:
            raise GradientError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                "return more than one Tensor. Write into a clone(), or return that one alone."
            )
    for tensor in ctx.non_differentiable:
        if not isinstance(tensor, Tensor):
            raise GradientError(
                f"mark_non_differentiable only accepts variable arguments, but got {type_name(tensor)}"
            )


def _metadata(out: Any) -> InputMetadata:
    """What the gradient of an output looks like; of something that is no tensor, there is none."""
    if not isinstance(out, Tensor):
        return InputMetadata((), None, CPU)
    return InputMetadata(out.array.shape, out.array.dtype, out.device)


def _linked(
    ctx: BackwardCFunction, args: tuple[Any, ...], out: Tensor, number: int, recorded: bool
) -> Tensor:
    """Output `number` with its place in the graph."""
    if out._node is ctx:
        out.output_nr = number  # returned twice: the last place counts
        return out
    dirty = any(out is d for d in ctx.dirty_tensors)
    if dirty:
        if recorded and out._requires and out._node is None:
            raise InplaceError("a leaf Variable that requires grad has been used in an in-place operation.")
        out.bump_version()
    elif any(out is a for a in args) or out._requires:
        # An input handed back as it is: a new tensor on the same memory, which the node can call its own.
        apart = not recorded or any(out is n for n in ctx.non_differentiable)
        out = out.detach() if apart else _alias(out)
    tracked = recorded and is_differentiable(out.array.dtype)
    if not tracked or any(out.array is n.array for n in ctx.non_differentiable):
        return out
    if dirty and out._base is not None:
        rebase_history(out, ctx)
        return out
    out._node, out.output_nr, out._requires = ctx, number, True
    if out._base is not None:
        out._view_kind, out._view_version = IN_CUSTOM_FUNCTION, out.counter().version
    return out


def _alias(x: Tensor) -> Tensor:
    """The same memory as a view that belongs to no graph yet."""
    made = Tensor(x.array)
    made._base = x if x._base is None else x._base
    made._view_version = made.counter().version
    return made


class InplaceFunction(Function):
    """A Function that may work in place; kept for code that derives from it."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a `backward` that cannot be differentiated itself: trying to says so instead of giving wrong numbers."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        state = current()
        was_enabled = state.grad_enabled
        state.grad_enabled = False
        try:
            results = fn(ctx, *grads)
        finally:
            state.grad_enabled = was_enabled
        tracked = [g for g in grads if isinstance(g, Tensor) and g.requires_grad]
        if not was_enabled or not tracked:
            return results
        several = isinstance(results, tuple)
        made = tuple(_undifferentiable(r, tracked) for r in (results if several else (results,)))
        return made if several else made[0]

    return wrapper


class DelayedError(Node):
    """Raises when a gradient reaches it: stands behind results that have no second derivative."""

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def _undifferentiable(result: Any, sources: Sequence[Tensor]) -> Any:
    if not isinstance(result, Tensor) or not is_differentiable(result.array.dtype):
        return result
    made = Tensor(result.array)
    node = DelayedError()
    node.set_next_edges([gradient_edge(t) for t in sources])
    node.sequence_nr = current().next_sequence_nr()
    node.add_input(made.array)
    made._node, made._requires = node, True
    return made
