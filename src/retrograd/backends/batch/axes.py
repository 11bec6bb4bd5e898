"""Rules for functions that work along axes: reductions, running sums, sorts, turns, Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch.array import (
    RULES,
    BatchedArray,
    Level,
    all_axes,
    in_front,
    is_on,
    lead,
    widened,
    wrapped,
)
from retrograd.backends.batch.elementwise import into
from retrograd.backends.batch.library import lib, on
from retrograd.backends.batch.served import SERVED
from retrograd.backends.batch.shape import Unbatchable


class Along:
    """A function whose argument number `place` is an axis; `default` is what it is where it is not given.

    `flat` says what None means: the sample in one line, or all axes.
    """

    def __init__(self, place: int = 1, default: Any = None, flat: bool = False, name: str = "axis") -> None:
        self.place = place
        self.default = default
        self.flat = flat
        self.name = name

    def __call__(self, function: Any, level: Level, args: Any, kwargs: Any) -> Any:
        x = args[0]
        given = list(args)
        axis = self.default
        if len(given) > self.place:
            axis = given[self.place]
        elif self.name in kwargs:
            axis = kwargs[self.name]
        value = lead(x, level)
        out = kwargs.pop("out", None)
        if type(value) is np.ndarray:
            function = SERVED.get(function, function)
        if axis is None and self.flat:
            keep = kwargs.get("keepdims", False)
            value = value.reshape(
                (value.shape[0], 1 if keep is True else -1, *([-1] if keep is True else []))
            )
            return self._flat(function, level, value, x.ndim, given, kwargs, out)
        kwargs[self.name] = all_axes(axis, x.ndim)
        if is_on(kwargs.get("where"), level):
            kwargs["where"] = widened(kwargs["where"].value, x.ndim)
        rest = _unbatched(function, given[1 : self.place])
        more = _unbatched(function, given[self.place + 1 :])
        if more:
            return into(
                out, wrapped(on(function)(value, *rest, kwargs.pop(self.name), *more, **kwargs), level), level
            )
        return into(out, wrapped(on(function)(value, *rest, **kwargs), level), level)

    def _flat(
        self, function: Any, level: Level, value: Any, ndim: int, given: list[Any], kwargs: Any, out: Any
    ) -> Any:
        """The function of a sample as one line."""
        keep = kwargs.pop("keepdims", False)
        line = value.reshape(value.shape[0], -1)
        kwargs[self.name] = 1
        rest = _unbatched(function, given[1 : self.place])
        found = on(function)(line, *rest, **kwargs)
        if keep is True:
            found = found.reshape((value.shape[0],) + (1,) * ndim)
        return into(out, wrapped(found, level), level)


def _unbatched(function: Any, values: list[Any]) -> list[Any]:
    """Arguments that must be the same for all samples."""
    for v in values:
        if isinstance(v, BatchedArray):
            raise Unbatchable(f"vmap: an argument of {function.__name__} differs between samples")
    return values


# Without these types, mypy takes seconds to find what such functions have in common.
REDUCTIONS: tuple[Any, ...] = (
    np.sum, np.prod, np.mean, np.max, np.min, np.amax, np.amin, np.var, np.std, np.median, np.ptp, np.nansum,
    np.nanmean, np.nanmax, np.nanmin, np.nanprod, np.nanmedian, np.nanvar, np.nanstd, np.count_nonzero,
)  # fmt: skip
FLAT: tuple[Any, ...] = (
    np.argmax, np.argmin, np.cumsum, np.cumprod, np.nancumsum, np.nanargmax, np.nanargmin,
)  # fmt: skip
SORTS: tuple[Any, ...] = (np.sort, np.argsort)
PARTITIONS: tuple[Any, ...] = (np.partition, np.argpartition)
RULES.functions.update(dict.fromkeys(REDUCTIONS, Along()))
RULES.functions.update(dict.fromkeys(FLAT, Along(flat=True)))
RULES.functions.update(dict.fromkeys(SORTS, Along(default=-1, flat=True)))
RULES.functions.update(dict.fromkeys(PARTITIONS, Along(place=2, default=-1, flat=True)))
RULES.functions.update({np.flip: Along(), np.diff: Along(place=2, default=-1)})


def quantile(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`quantile(x, q, axis)`, whose result has the dimensions of q in front."""
    x, q, *rest = args
    axis = rest[0] if rest else kwargs.pop("axis", None)
    (q,) = _unbatched(function, [q])
    found = on(function)(lead(x, level), q, axis=all_axes(axis, x.ndim), **kwargs)
    return wrapped(lib.moveaxis(found, np.ndim(q), 0), level)


def repeat(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`repeat(x, counts, axis)`."""
    x, counts, *rest = args
    axis = rest[0] if rest else kwargs.get("axis")
    (counts,) = _unbatched(function, [counts])
    value = lead(x, level)
    if axis is None:
        return wrapped(on(function)(value.reshape(value.shape[0], -1), counts, axis=1), level)
    return wrapped(on(function)(value, counts, axis=in_front(axis, x.ndim)), level)


def roll(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`roll(x, shift, axis)`."""
    x, shift, *rest = args
    axis = rest[0] if rest else kwargs.get("axis")
    value = lead(x, level)
    if axis is None:
        return wrapped(
            on(function)(value.reshape(value.shape[0], -1), shift, axis=1).reshape(value.shape), level
        )
    return wrapped(on(function)(value, shift, axis=in_front(axis, x.ndim)), level)


def rot90(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`rot90(x, k, axes)`."""
    x, *rest = args
    options = {**dict(zip(("k", "axes"), rest, strict=False)), **kwargs}
    options["axes"] = in_front(options.get("axes", (0, 1)), x.ndim)
    return wrapped(on(function)(lead(x, level), **options), level)


def fourier(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """Transforms over one axis or several: `fft(x, n, axis, norm)`, `fftn(x, s, axes, norm)`, `fftshift(x, axes)`."""
    x, *rest = args
    several = "axes" in _FOURIER[function]
    options = {**dict(zip(_FOURIER[function], rest, strict=False)), **kwargs}
    if several:
        axes, s = options.get("axes"), options.get("s")
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        options["axes"] = in_front(tuple(axes) if not isinstance(axes, int) else axes, x.ndim)
    else:
        options["axis"] = in_front(options.get("axis", -1), x.ndim)
    out = options.pop("out", None)
    return into(out, wrapped(on(function)(lead(x, level), **options), level), level)


_ONE, _MANY = ("n", "axis", "norm", "out"), ("s", "axes", "norm", "out")
_FOURIER: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft), _ONE),
    **dict.fromkeys((np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn), _MANY),
    **dict.fromkeys((np.fft.fftshift, np.fft.ifftshift), ("axes",)),
}
RULES.functions.update(dict.fromkeys(_FOURIER, fourier))
RULES.functions.update(
    {np.quantile: quantile, np.nanquantile: quantile, np.repeat: repeat, np.roll: roll, np.rot90: rot90}
)
