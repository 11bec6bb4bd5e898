"""What `Function.apply` does: runs `forward` with recording off, and has the node linked behind its outputs."""

from __future__ import annotations

import inspect
from typing import Any

from retrograd.autograd.context import BackwardCFunction
from retrograd.autograd.function_link import finished
from retrograd.core.modes import FORWARD, RECORDED, current
from retrograd.core.tensor import Tensor
from retrograd.ops.common import differ

NO_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod: {} does in forward(ctx, ...) what forward(...) and setup_context(ctx, inputs, "
    "output) do apart."
)


def applied(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs the Function `cls` on tensors and other arguments."""
    if cls._backward_cls is None:
        cls.forward()
    separate: bool = cls.setup_context is not cls._no_setup_context
    if kwargs or (separate and not _is_complete(cls.forward, len(args))):
        args = _positional(cls, args, kwargs, separate)
    state = current()
    if state.transforms and not separate and not cls._traceable:
        raise RuntimeError(NO_SETUP.format(cls.__name__))
    own_rule = differ(*args) and _has_own_rule(cls, separate)
    ctx: BackwardCFunction = cls._backward_cls()
    needed = _mark_needs(ctx, args)
    was_enabled, special = state.grad_enabled, state.special
    began = state.observer.function_starts() if special & RECORDED else 0
    state.grad_enabled = False
    state.special = special & ~FORWARD
    try:
        if separate:
            output = _by_own_rule(cls, args) if own_rule else cls.forward(*args)
            cls.setup_context(ctx, args, output)
        else:
            output = cls.forward(ctx, *args)
    finally:
        state.grad_enabled, state.special = was_enabled, special
    made = finished(ctx, args, output, needed and was_enabled)
    if special & RECORDED:
        state.observer.function_ends(ctx, args, made if isinstance(made, tuple) else (made,), began)
    return made


def check_rule(cls: Any, own: bool) -> None:
    """A Function says how it goes over a batch in exactly one way."""
    name = cls.__name__
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Which of both is meant? Take one away."
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True, if forward() and backward() use tensor operations only."
        )


def _by_own_rule(cls: Any, args: tuple[Any, ...]) -> Any:
    """What `forward` would return inside of vmap, from the Function's own `vmap`."""
    from retrograd.func.custom_function import by_own_rule

    return by_own_rule(cls, args)


def _mark_needs(ctx: BackwardCFunction, args: tuple[Any, ...]) -> bool:
    """Fills `ctx.needs_input_grad`; whether any gradient is needed."""
    needs: list[bool] = []
    found = False
    for arg in args:
        need = isinstance(arg, Tensor) and arg.requires_grad
        needs.append(need)
        found = found or need
    ctx.needs_input_grad = tuple(needs)
    return found


def _is_complete(forward: Any, count: int) -> bool:
    """Whether `count` positional arguments leave none of `forward`'s to its default."""
    code = getattr(forward, "__code__", None)
    return code is not None and bool(count == code.co_argcount) and code.co_kwonlyargcount == 0


def _positional(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], separate: bool) -> tuple[Any, ...]:
    """Keyword arguments and defaults in the order of `forward`'s signature."""
    lead = () if separate else (None,)
    bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"{cls.__name__}.forward: keyword-only arguments are not supported by apply()")
    return bound.args[len(lead) :]


def _has_own_rule(cls: Any, separate: bool) -> bool:
    """Inside of vmap: whether the Function's own `vmap` is to be used. Refuses one that cannot be."""
    own: bool = cls.vmap is not cls._no_vmap
    if current().transforms and not cls._traceable:
        check_rule(cls, own)
    return own and separate
