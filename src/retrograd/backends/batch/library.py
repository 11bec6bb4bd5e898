"""The array library that formulas know as `xp` when an array is batched: NumPy, and what its protocols leave out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from retrograd.backends.batch.array import BatchedArray, Level, batches, getitem_of, on_levels


class BatchedNumpy:
    """NumPy for arrays that are batched on some levels: what it makes anew has room for every sample."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self.levels = levels  # the newest first
        self.lib = _LIB

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        setattr(self, name, found)
        return found

    def _roomy(self, make: Any, shape: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An array that `make` makes, batched on all levels."""
        sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
        made = make((*batches(self.levels), *sizes), *args, **kwargs)
        return on_levels(made, self.levels)

    def zeros(self, shape: Any, *args: Any, **kwargs: Any) -> Any:
        return self._roomy(np.zeros, shape, args, kwargs)

    def ones(self, shape: Any, *args: Any, **kwargs: Any) -> Any:
        return self._roomy(np.ones, shape, args, kwargs)

    def empty(self, shape: Any, *args: Any, **kwargs: Any) -> Any:
        return self._roomy(np.empty, shape, args, kwargs)

    def full(self, shape: Any, number: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(number, BatchedArray):
            return self._roomy(np.full, shape, (number, *args), kwargs)
        made = self._roomy(np.empty, shape, args or (number.dtype,), kwargs)
        made[...] = number
        return made

    def asarray(self, x: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, BatchedArray):
            return np.asarray(x, dtype, *args, **kwargs)
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)

    asanyarray = ascontiguousarray = asarray

    def take(self, x: Any, indices: Any, axis: Any = None, **kwargs: Any) -> Any:
        if isinstance(x, BatchedArray) or not isinstance(indices, BatchedArray):
            return np.take(x, indices, axis, **kwargs)
        flat, place = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
        return getitem_of(flat, (*[slice(None)] * place, indices))

    def array(self, x: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, BatchedArray):
            return np.array(x, dtype, *args, **kwargs)
        found = self.asarray(x, dtype)
        return found.copy(kwargs.get("order") or "K") if found is x and kwargs.get("copy", True) else found


def as_strided(x: Any, shape: Any, strides: Any, subok: bool = False, writeable: bool = True) -> Any:
    """`as_strided`, which NumPy does not hand on: of each sample."""
    if not isinstance(x, BatchedArray):
        return np.lib.stride_tricks.as_strided(x, shape, strides, subok, writeable=writeable)
    value = x.value
    wide = as_strided(value, (value.shape[0], *shape), (value.strides[0], *strides), subok, writeable)
    return BatchedArray(wide, x.level)


_LIB = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=as_strided), array_utils=np.lib.array_utils)
