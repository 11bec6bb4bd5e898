"""Functions of two arrays with the methods that NumPy's have and CuPy's have not, for all dtypes.

Both methods combine neighbours at a distance of 1, 2, 4 …: as many passes as the length has binary digits.
"""

from __future__ import annotations

from typing import Any

from retrograd.values import Array


class Ufunc:
    """An associative function of CuPy's, with `accumulate` and `at`."""

    def __init__(self, cupy: Any, function: Any) -> None:
        self.cupy = cupy
        self.function = function

    def __call__(self, *args: Any, **options: Any) -> Array:
        found: Array = self.function(*args, **options)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def accumulate(self, x: Array, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        """The running result along an axis."""
        found = self.cupy.array(x, dtype=dtype, copy=True)
        rows = self.cupy.moveaxis(found, axis, 0)
        step = 1
        while step < len(rows):
            rows[step:] = self.function(rows[:-step].copy(), rows[step:])
            step *= 2
        if out is None:
            return found
        out[...] = found
        return out

    def at(self, x: Array, key: Any, values: Any) -> None:
        """Combines values with the elements that a key names; one that comes twice gets both."""
        cupy = self.cupy
        place = cupy.arange(x.size).reshape(x.shape)[key]
        values = cupy.broadcast_to(cupy.asarray(values, x.dtype), place.shape).reshape(-1)
        place = place.reshape(-1)
        if not place.size:
            return
        order = cupy.argsort(place)
        place, values = place[order], values[order]
        step = 1
        while step < len(place):
            same = place[step:] == place[:-step]
            values[step:] = cupy.where(same, self.function(values[:-step], values[step:]), values[step:])
            step *= 2
        last = cupy.append(place[1:] != place[:-1], True)
        where = cupy.unravel_index(place[last], x.shape)
        x[where] = self.function(x[where], values[last])


class AddUfunc(Ufunc):
    """`cupy.add`, whose `at` adds atomically where the GPU can, which is quicker."""

    ATOMIC = "iIlLqQefd"

    def at(self, x: Array, key: Any, values: Any) -> None:
        if x.dtype.char in self.ATOMIC:
            self.function.at(x, key, values)
        elif x.dtype.kind == "c":
            values = self.cupy.asarray(values, x.dtype)
            self.function.at(x.real, key, values.real)
            self.function.at(x.imag, key, values.imag)
        else:
            super().at(x, key, values)
