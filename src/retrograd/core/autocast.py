"""Autocast: functions that compute in lower precision, or in float32, while it is on.

Note [Autocast]
~~~~~~~~~~~~~~~
PyTorch has lists: products and convolutions take their operands in lower precision, losses and factorizations take
theirs in float32, and everything else takes what it gets. A function of a list begins with

    if autocasting():
        return lowered(linear, input, weight, bias)

or `in_float32`, or `widest`. Those convert the tensors among the arguments, recorded like every conversion, and call
the function again with autocast off, so that what it is made of is computed as it would be outside. A function of a
list tests one flag until somebody uses autocast for the first time.

The lists of CPUs and of GPUs differ: `autocasting_on_cpu` and `autocasting_on_gpu` ask for one of them. That of GPUs
has the quickest functions there are, such as `exp` and `sum`, which nothing may slow down. Their ops are `widened`:
`apply1` converts their operand while a bit of `ThreadState.special` is set, for which it looks in any case.

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
from retrograd.core.modes import WIDENED, ThreadState, current
from retrograd.core.op import Op
from retrograd.core.tensor import Tensor
from retrograd.core.traits import traits_of
from retrograd.core.upward import UPWARD
from retrograd.errors import check_depth
from retrograd.hints import mypyc_attr
from retrograd.values import DType

R = TypeVar("R")


class _Use:
    """Whether any thread has ever switched autocast on."""

    ever: bool = False


USE: Final = _Use()


def autocasting() -> bool:
    """Whether this thread computes under autocast, on the CPU or on GPUs."""
    if not USE.ever:
        return False
    state = current()
    return state.autocast is not None or state.autocast_gpu is not None


def autocasting_on_cpu() -> bool:
    """Whether this thread computes under autocast on the CPU, whose list has functions that the other has not."""
    return USE.ever and current().autocast is not None


def autocasting_on_gpu(x: Any) -> bool:
    """Whether this thread computes under autocast on GPUs, and a tensor is there."""
    return (
        USE.ever
        and current().autocast_gpu is not None
        and isinstance(x, Tensor)
        and device_of(x.array) is not CPU
    )


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
    elif device_type == "cuda":
        USE.ever = USE.ever or enabled
        _put_gpu(state, dtype if enabled else None)


def _put_gpu(state: ThreadState, dtype: DType) -> None:
    """Sets the lower precision on GPUs, None to compute as ever."""
    state.autocast_gpu = dtype
    state.special = state.special & ~WIDENED if dtype is None else state.special | WIDENED


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
    before: Any = None  # settings, what is kept, and what was before that

    def __enter__(self) -> Any:
        state = current()
        self.before = (*setting(self.device), state.autocast_keeps, self.before)
        put_setting(self.device, self._enabled, as_dtype(self.fast_dtype))
        state.autocast_keeps = self._cache_enabled
        open_block()
        return self

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        enabled, dtype, keeps, self.before = self.before
        close_block()
        put_setting(self.device, enabled, dtype)
        current().autocast_keeps = keeps


def same_autocast() -> AutocastSwitch:
    """A block in which autocast is what it is now: for what runs again later."""
    found = AutocastSwitch()
    found.device = "cpu" if current().autocast_gpu is None else "cuda"
    found._enabled, found.fast_dtype = setting(found.device)
    found._cache_enabled = current().autocast_keeps
    return found


def without_autocast(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with autocast off, and its tensors as they are."""
    state = current()
    on_cpu, on_gpu = state.autocast, state.autocast_gpu
    state.autocast = None
    _put_gpu(state, None)
    try:
        return function(*args, **options)
    finally:
        state.autocast = on_cpu
        _put_gpu(state, on_gpu)


def is_widened(op: Op, x: Tensor, state: ThreadState) -> bool:
    """Whether an op computes in float32 under autocast on GPUs, and its operand is in lower precision there."""
    dtype = x.array.dtype
    return (
        traits_of(op).widened
        and op.given_dtype() is None
        and dtype is not float32
        and device_of(x.array) is not CPU
        and _is_eligible(x, state)
    )


def lowered(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with its tensors in lower precision, that of the device that each is on."""
    return _called(function, args, options, None, current())


def in_float32(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with its tensors in float32."""
    return _called(function, args, options, float32, current())


def widest(function: Callable[..., R], *args: Any, **options: Any) -> R:
    """Calls a function with its tensors in the widest dtype among them."""
    state = current()
    found = [t.array.dtype for t in _tensors(args) if _is_eligible(t, state)]
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


def _is_eligible(x: Tensor, state: ThreadState) -> bool:
    """Whether autocast converts a tensor: a floating-point one that is not float64, on a device where it is on."""
    dtype = x.array.dtype
    return bool(dtype.kind == "f" and dtype is not float64) and _lower(x, state) is not None


def _lower(x: Tensor, state: ThreadState) -> DType:
    """The lower precision of a tensor's device; None where autocast is off."""
    return state.autocast if device_of(x.array) is CPU else state.autocast_gpu


def _converted(value: Any, dtype: DType, state: ThreadState, depth: int = 0) -> Any:
    """An argument with its tensors converted."""
    check_depth(depth)
    if isinstance(value, Tensor):
        return _cast(value, dtype, state)
    if isinstance(value, (tuple, list)) and any(isinstance(v, Tensor) for v in value):
        return type(value)([_converted(v, dtype, state, depth + 1) for v in value])
    return value


def _cast(x: Tensor, dtype: DType, state: ThreadState) -> Tensor:
    """A tensor in a dtype, None being the lower precision of its device."""
    if not _is_eligible(x, state):
        return x
    lower = _lower(x, state)
    if dtype is None:
        dtype = lower
    if x.array.dtype is dtype:
        return x
    is_weight = x.array.dtype is float32 and x._requires and x._node is None and x._base is None
    if not (is_weight and state.grad_enabled and state.autocast_keeps and dtype is lower):
        found: Tensor = UPWARD.operators.cast(x, dtype)
        return found
    kept = state.autocast_cache.get(id(x))
    if kept is not None and kept[0]() is x and kept[1].array.dtype is dtype:
        copy: Tensor = kept[1]
        return copy
    made: Tensor = UPWARD.operators.cast(x, dtype)
    state.autocast_cache[id(x)] = weakref.ref(x), made
    return made
