"""`TorchFunctionMode`: a context that sees every call."""

from __future__ import annotations

from enum import Enum
from typing import Any, Self

from retrograd.overrides.state import STATE
from retrograd.overrides.switch import switch_for_a_mode


class TorchFunctionMode:
    """A context whose `__torch_function__` is called in place of every function, method and operator of the library.

    Inside of it the mode itself is off, so that it can call `func`. What the class Tensor has itself, as `t.shape` or
    `t.item()`, is not seen.

    >>> import retrograd as rg
    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(rg.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = rg.ones(2) + 1
    torch.ones
    torch.Tensor.add
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no __torch_function__: define what it does to a call"
        )

    def __enter__(self) -> Self:
        switch_for_a_mode(True)
        STATE.modes.append(self)
        return self

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        STATE.modes.pop()
        switch_for_a_mode(False)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """An instance, as older programs make one."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


# -- the modes as a stack, innermost last: names of torch._C ----------------------------------------------------------


def _len_torch_function_stack() -> int:
    """How many modes are on."""
    return len(STATE.modes)


def _get_function_stack_at(level: int) -> TorchFunctionMode:
    """One of them, counted from the outermost."""
    found: TorchFunctionMode = STATE.modes[level]
    return found


def _push_on_torch_function_stack(mode: TorchFunctionMode) -> None:
    """Switches a mode on, as entering it does."""
    TorchFunctionMode.__enter__(mode)


def _pop_torch_function_stack() -> TorchFunctionMode:
    """Switches the innermost mode off, and gives it back."""
    mode = _get_function_stack_at(-1)
    TorchFunctionMode.__exit__(mode)
    return mode


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes that are on, the innermost last."""
    return [_get_function_stack_at(i) for i in range(_len_torch_function_stack())]


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode that is on."""
    stack = _get_current_function_mode_stack()
    return stack[-1] if stack else None


class _TorchFunctionState(Enum):
    """Who is asked what a function does: all, modes alone, or nobody."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _get_torch_function_state() -> _TorchFunctionState:
    """Who is asked in this thread."""
    return _TorchFunctionState(STATE.off)


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    """Sets who is asked."""
    STATE.off = state.value


def _is_torch_function_enabled() -> bool:
    """Whether classes are asked in this thread."""
    return STATE.off == _TorchFunctionState.ENABLED.value


def _is_torch_function_all_disabled() -> bool:
    """Whether nobody is asked in this thread."""
    return STATE.off == _TorchFunctionState.ALL_DISABLED.value
