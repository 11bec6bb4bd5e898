"""Windows that slide over the last dimensions of an array: how many there are, and how to read and write them.

Note [Windows]
~~~~~~~~~~~~~~
A window has `kernel` elements per dimension, `dilation` apart; the next window begins `stride` further on. An array of
all windows has the dimensions of the kernel, then those of the windows: element `[..., *k, *p]` is
`x[..., p * stride + k * dilation]`. Convolution multiplies it, pooling reduces it, `unfold` is it. Reading the windows
is a view; its adjoint, adding windows where they came from, is a loop over the places in the kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from retrograd.backends.base import Backend
from retrograd.errors import ShapeError, type_name
from retrograd.ops.shape.reshape import integer
from retrograd.values import Array, Shape


class Sliding(NamedTuple):
    """How windows slide over an array whose last dimensions are `size`. See Note [Windows]."""

    size: Shape
    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    number: Shape  # how many windows there are per dimension

    @property
    def lengths(self) -> Shape:
        """The last dimensions once padded: at least what the windows reach, which ceil_mode lets hang over."""
        found = []
        for n, k, s, p, d, c in zip(*self, strict=True):
            found.append(max(n + 2 * p, (c - 1) * s + (k - 1) * d + 1))
        return tuple(found)

    def read(self, xp: Backend, x: Array) -> Array:
        """All windows of an array that is padded already, as a view."""
        lead = x.ndim - len(self.kernel)
        steps = x.strides[lead:]
        # What is never stepped over does not matter, and may be more than an address can be.
        strides = [n * d if k > 1 else n for n, d, k in zip(steps, self.dilation, self.kernel, strict=True)]
        strides += [n * s if c > 1 else n for n, s, c in zip(steps, self.stride, self.number, strict=True)]
        shape = x.shape[:lead] + self.kernel + self.number
        return xp.lib.stride_tricks.as_strided(x, shape, x.strides[:lead] + tuple(strides))

    def places(self) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
        """Each place in the kernel, with the slices of a padded array that all windows have there."""
        for k in itertools.product(*map(range, self.kernel)):
            where = []
            for i, d, c, s in zip(k, self.dilation, self.number, self.stride, strict=True):
                where.append(slice(i * d, i * d + (c - 1) * s + 1, s))
            yield k, tuple(where)

    def write(self, xp: Backend, cols: Array) -> Array:
        """The adjoint of `read` after `padded`: windows added where they came from."""
        lead = cols.shape[: cols.ndim - 2 * len(self.kernel)]
        out = xp.zeros(lead + self.lengths, cols.dtype)
        if 0 not in self.number:
            for k, where in self.places():
                out[(..., *where)] += cols[(..., *k, *[slice(None)] * len(k))]
        return self.cropped(out)

    def reduced(self, x: Array, ufunc: Any) -> Array:
        """Each window of an array that is padded already, reduced by a ufunc: one dimension after the other."""
        lead = (slice(None),) * (x.ndim - len(self.kernel))
        for axis, (k, s, d, c) in enumerate(
            zip(self.kernel, self.stride, self.dilation, self.number, strict=True)
        ):
            part = (*lead, *[slice(None)] * axis)
            out = x[(*part, slice(0, (c - 1) * s + 1, s))]
            for i in range(d, k * d, d):
                more = x[(*part, slice(i, i + (c - 1) * s + 1, s))]
                out = ufunc(out, more) if i == d else ufunc(out, more, out=out)
            x = out
        return x

    def padded(self, xp: Backend, x: Array, value: Any = 0) -> Array:
        """The array with the border that the windows need; the array itself where they need none."""
        lengths = self.lengths
        if lengths == self.size:
            return x
        out = xp.full(x.shape[: x.ndim - len(self.size)] + lengths, value, x.dtype)
        out[self._inside()] = x
        return out

    def cropped(self, x: Array) -> Array:
        """A padded array without its border."""
        return x if x.shape[x.ndim - len(self.size) :] == self.size else x[self._inside()]

    def _inside(self) -> Any:
        return (..., *[slice(p, p + n) for p, n in zip(self.padding, self.size, strict=True)])


def window_count(n: int, k: int, s: int, p: int, d: int, ceil: bool = False) -> int:
    """How many windows fit; with `ceil` also one that hangs over the end, if it begins inside."""
    room = n + 2 * p - d * (k - 1) - 1
    if not ceil:
        return room // s + 1
    count = -(-room // s) + 1
    return count - 1 if (count - 1) * s >= n + p else count


def sliding(
    size: Sequence[int], kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil: bool = False
) -> Sliding:
    """The windows of some geometry over the dimensions `size`."""
    rows = zip(size, kernel, stride, padding, dilation, strict=True)
    count = tuple([window_count(*row, ceil) for row in rows])
    return Sliding(tuple(size), kernel, stride, padding, dilation, count)


LARGE: Final = 2**60  # compiled code compares with this one at once


def ints(function: str, argument: str, position: int, value: Any) -> Shape:
    """One int or several, as a tuple."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if all(hasattr(n, "__index__") for n in given):
        found = tuple([integer(n) for n in given])
        for n in found:
            if (n > LARGE or n < -LARGE) and not -(2**63) <= n < 2**63:
                raise ValueError(
                    f"Overflow when unpacking long long: {function}() got {value} for {argument}"
                )
        return found
    raise TypeError(
        f"{function}(): argument '{argument}' (position {position}) must be tuple of ints, not {type_name(value)}"
    )


def spread_ints(given: Shape, n: int, message: str) -> Shape:
    """As many ints as there are dimensions, from one or from that many; `message` says what else is wrong."""
    if len(given) == n:
        return given
    if len(given) == 1:
        return given * n
    raise ShapeError(message)
