"""Autocast: functions that compute in lower precision, or in float32, while it is on.

Note [Autocast]
~~~~~~~~~~~~~~~
PyTorch has lists: products and convolutions take their operands in lower precision, losses and factorizations take
theirs in float32, and everything else takes what it gets. A function of a list begins with

    if autocasting():
        return lowered(linear, input, weight, bias)

or `in_float32`, or `widest`. Those convert the tensors among the arguments, recorded like every conversion, and call
the function again with autocast off, so that what it is made of is computed as it would be outside. Nothing else in
the library knows of autocast: ops and the road that they take (`apply.py`) have no test for it, and a function of a
list tests one flag until somebody uses autocast for the first time.

A leaf that requires a gradient, a weight, is converted once for all its uses: the copy is kept until the outermost
block ends, or `clear_autocast_cache()`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from retrograd.backends.base import device_of
from retrograd.backends.device import CPU
from retrograd.backends.dtypes import as_dtype, bfloat16, float16, float32, float64
from retrograd.core.modes import ThreadState, current
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.hints import mypyc_attr
from retrograd.values import DType

R = TypeVar("R")


class _Use:
    """Whether any thread has ever switched autocast on."""

    ever: bool = False


USE: Final = _Use()


def autocasting() -> bool:
    """Whether this thread computes under autocast."""
    return USE.ever and current().autocast is not None


# The lower precision of each type of device, unless somebody has set another.
_DTYPES: Final[dict[str, DType]] = {"cpu": bfloat16, "cuda": float16}


def setting(device_type: str) -> tuple[bool, DType]:
    """Whether autocast is on for a type of device in this thread, and its dtype there."""
    found: tuple[bool, DType] = current().autocast_settings.get(
        device_type, (False, _DTYPES.get(device_type, bfloat16))
    )
    return found


def put_setting(device_type: str, enabled: bool, dtype: DType) -> None:
    """Sets both."""
    state = current()
    state.autocast_settings[device_type] = enabled, dtype
    if device_type == "cpu":
        USE.ever = USE.ever or enabled
        state.autocast = dtype if enabled else None


def open_block() -> int:
    """One more block of autocast; how many there are now."""
    state = current()
    state.autocast_depth += 1
    return state.autocast_depth


def close_block() -> int:
    """One less; with the last of them, what was kept of weights goes."""
    state = current()
    state.autocast_depth -= 1
    if not state.autocast_depth:
        state.autocast_cache.clear()
    return state.autocast_depth


@mypyc_attr(allow_interpreted_subclasses=True)
class AutocastSwitch:
    """Sets autocast on entry and restores it on exit. See Note [Leaving a mode]."""

    device: str = "cpu"
    fast_dtype: Any = None
    _enabled: bool = True
    _cache_enabled: bool = True
    before: tuple[Any, ...] = ()

    def __enter__(self) -> Any:
        state = current()
        self.before = (*self.before, (setting(self.device), state.autocast_keeps))
        put_setting(self.device, self._enabled, as_dtype(self.fast_dtype))
        state.autocast_keeps = self._cache_enabled
        open_block()
        return self

    def __exit__(self, *exc: object) -> None:
        (enabled, dtype), keeps = self.before[-1]
        self.before = self.before[:-1]
        close_block()
        put_setting(self.device, enabled, dtype)
        current().autocast_keeps = keeps


def same_autocast() -> AutocastSwitch:
    """A block in which autocast is what it is now: for what runs again later."""
    found = AutocastSwitch()
    found._enabled, found.fast_dtype = setting("cpu")
    found._cache_enabled = current().autocast_keeps
    return found


def without_autocast(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with autocast off, and its tensors as they are."""
    state = current()
    before = state.autocast
    state.autocast = None
    try:
        return function(*args, **options)
    finally:
        state.autocast = before


def lowered(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with its tensors in lower precision."""
    state = current()
    return _called(function, args, options, state.autocast, state)


def in_float32(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with its tensors in float32."""
    return _called(function, args, options, float32, current())


def widest(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with its tensors in the widest dtype among them."""
    state = current()
    found = [t.array.dtype for t in _tensors(args) if _is_eligible(t)]
    same = all(dtype == found[0] for dtype in found)
    return _called(function, args, options, found[0] if found and same else float32, state)


def _called(
    function: Callable[..., R], args: Sequence[Any], options: dict[str, Any], dtype: DType, state: ThreadState
) -> R:
    if options.get("out") is None:  # PyTorch leaves those alone that write into a tensor
        args = [_converted(a, dtype, state) for a in args]
        options = {name: _converted(a, dtype, state) for name, a in options.items()}
    return without_autocast(function, *args, **options)


def _tensors(args: Sequence[Any]) -> list[Tensor]:
    """The tensors among arguments, alone or in lists."""
    found: list[Tensor] = []
    for a in args:
        if isinstance(a, Tensor):
            found.append(a)
        elif isinstance(a, (tuple, list)):
            found += [t for t in a if isinstance(t, Tensor)]
    return found


def _is_eligible(x: Tensor) -> bool:
    """Whether autocast converts a tensor: a floating-point one on the CPU that is not float64."""
    dtype = x.array.dtype
    return bool(dtype.kind == "f" and dtype is not float64) and device_of(x.array) is CPU


def _converted(value: Any, dtype: DType, state: ThreadState) -> Any:
    """An argument with its tensors converted."""
    if isinstance(value, Tensor):
        return _cast(value, dtype, state)
    if isinstance(value, (tuple, list)) and any(isinstance(v, Tensor) for v in value):
        return type(value)([_converted(v, dtype, state) for v in value])
    return value


def _cast(x: Tensor, dtype: DType, state: ThreadState) -> Tensor:
    if x.array.dtype is dtype or not _is_eligible(x):
        return x
    is_weight = x.array.dtype is float32 and x._requires and x._node is None and x._base is None
    if not (is_weight and state.grad_enabled and state.autocast_keeps and dtype is state.autocast):
        found: Tensor = UPWARD.operators.cast(x, dtype)
        return found
    kept = state.autocast_cache.get(id(x))
    if kept is not None and kept[0]() is x and kept[1].array.dtype is dtype:
        copy: Tensor = kept[1]
        return copy
    made: Tensor = UPWARD.operators.cast(x, dtype)
    state.autocast_cache[id(x)] = weakref.ref(x), made
    return made
