"""Padding: a border around the last dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.families import Linear
from retrograd.core.op import Unary
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import number_from, require_tensor, require_word
from retrograd.ops.index.index_select import IndexSelectAdjoint
from retrograd.ops.nn.host import library_of
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import integer
from retrograd.ops.tensor.data import held_number
from retrograd.values import Array, Number, Shape


class ConstantPadNd(Unary):
    """x with a border of one number; a negative width cuts off instead"""

    params: ClassVar[tuple[str, ...]] = ("pad", "value")
    shown: ClassVar[dict[str, str]] = {"pad": "pad"}

    def __init__(self, pad: Shape, value: Any) -> None:
        self.pad = pad
        self.value = value

    def forward(self, xp: Backend, x: Array) -> Array:
        shape, source, target = list(x.shape), [slice(None)] * x.ndim, [slice(None)] * x.ndim
        for i in range(len(self.pad) // 2):
            before, after = self.pad[2 * i], self.pad[2 * i + 1]
            d, n = x.ndim - 1 - i, x.shape[x.ndim - 1 - i]
            shape[d] = n + before + after
            source[d] = slice(max(-before, 0), n - max(-after, 0))
            target[d] = slice(max(before, 0), shape[d] - max(after, 0))
        out = xp.full(tuple(shape), self.value, x.dtype)
        out[tuple(target)] = x[tuple(source)]
        return out

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return ConstantPadNd(tuple([-n for n in self.pad]), 0).on(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return ConstantPadNd(self.pad, 0).on(t)


class IndexedPad(Linear):
    """x with a border of its own elements, named by one index per padded dimension, the last dimension first"""

    params: ClassVar[tuple[str, ...]] = ("padding", "indices")
    array_params: ClassVar[tuple[str, ...]] = ("indices",)
    shown: ClassVar[dict[str, str]] = {"padding": "padding"}

    def __init__(self, padding: Shape, indices: Sequence[Array]) -> None:
        self.padding = padding
        self.indices = indices

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        for i, index in enumerate(self.indices):
            x = xp.take(x, xp.asarray(index), x.ndim - 1 - i)
        return x

    def transpose(self, g: Any) -> Any:
        shape = list(g.shape)
        for i in range(len(self.indices) - 1, -1, -1):
            d = len(shape) - 1 - i
            shape[d] = self.in_shape[d]
            g = IndexSelectAdjoint(d, library_of(g).asarray(self.indices[i]), tuple(shape)).on(g)
        return g


class ReflectionPad1D(IndexedPad):
    """the mirror image at both ends"""


class ReflectionPad2D(IndexedPad):
    """the mirror image at all four sides"""


class ReflectionPad3D(IndexedPad):
    """the mirror image at all six sides"""


class ReplicationPad1D(IndexedPad):
    """the outermost elements repeated at both ends"""


class ReplicationPad2D(IndexedPad):
    """the outermost elements repeated at all four sides"""


class ReplicationPad3D(IndexedPad):
    """the outermost elements repeated at all six sides"""


class CircularPad(IndexedPad):
    """the elements of the other end"""


# The ops of each mode, by the number of padded dimensions.
BORDERS: dict[str, tuple[type[IndexedPad], ...]] = {
    "reflect": (ReflectionPad1D, ReflectionPad2D, ReflectionPad3D),
    "replicate": (ReplicationPad1D, ReplicationPad2D, ReplicationPad3D),
    "circular": (CircularPad, CircularPad, CircularPad),
}

# How PyTorch's kernels for them are called; there are none for truth values.
KERNELS = {"reflect": "reflection", "replicate": "replication"}


def border_index(mode: str, before: int, n: int, after: int) -> Array:
    """Which elements of a dimension of size `n` a padded dimension consists of."""
    if mode == "circular":
        kept = np.arange(max(-before, 0), n - max(-after, 0))
        return kept[np.arange(-max(before, 0), len(kept) + max(after, 0)) % max(len(kept), 1)]
    index = np.arange(-before, n + after)
    if mode == "replicate":
        return index.clip(0, n - 1)
    index = np.abs(index)
    return np.where(index >= n, 2 * (n - 1) - index, index)


# -- functions -----------------------------------------------------------------------------------------------------


@public("nn.functional.pad")
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Number | None = None) -> Tensor:
    """`input` with a border; `pad` gives its width before and after the last dimension, then the one before it, ….

    Args:
        mode: "constant" (a number), "reflect" (the mirror image), "replicate" (the outermost element repeated) or
            "circular" (the other end).
        value: the number of mode "constant"; 0 if None.

    >>> from retrograd.nn.functional import pad
    >>> import retrograd as rg
    >>> pad(rg.tensor([1.0, 2.0]), (1, 2))
    tensor([0., 1., 2., 0., 0.])
    """
    x = require_tensor("pad", "input", 1, input)
    require_word("pad", "mode", mode, 3)
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        return constant_border(x, pad, value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise ShapeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return _bordered(x, _widths(x, pad), mode)


def _widths(x: Tensor, pad: Any) -> Shape:
    """The widths of a border, two for each dimension that has one."""
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type_name(pad)}")
    widths = tuple([integer(n) for n in pad])
    if len(widths) % 2:
        raise ShapeError(
            f"Padding length must be divisible by 2: two widths per dimension, got {sizes(widths)}"
        )
    if len(widths) // 2 > x.array.ndim:
        raise ShapeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(widths)} and input of dimension {x.array.ndim}"
        )
    return widths


def constant_border(x: Tensor, pad: Any, value: Any) -> Tensor:
    """A tensor with a border of one number, which may be complex."""
    widths = _widths(x, pad)
    number = 0 if value is None else number_from("pad", "value", 4, value)
    for i, n in enumerate(reversed(x.array.shape)):
        if sum(min(w, 0) for w in widths[2 * i : 2 * i + 2]) + n < 0:
            raise ShapeError(
                f"narrow(): length must be non-negative. The padding {sizes(widths)} cuts off more than there is of "
                f"shape {sizes(x.array.shape)}."
            )
    found: Tensor = apply1(ConstantPadNd(widths, held_number(number, x.array.dtype)), x)
    return found


def _bordered(x: Tensor, widths: Shape, mode: str) -> Tensor:
    """The modes that repeat elements of the input."""
    count, ndim, shape = len(widths) // 2, x.array.ndim, x.array.shape
    if autocasting_on_cpu() and (mode == "replicate" or (mode == "reflect" and count < 3)):
        return in_float32(_bordered, x, widths, mode)
    if mode not in BORDERS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not 1 <= count <= 3 or ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(widths)} is not supported for {ndim}D input tensor. "
            "Mode constant pads any dimensions; the others the last 1, 2 or 3 of one or two more."
        )
    if mode != "circular" and 0 in shape[ndim - count - 1 :]:
        raise ShapeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {sizes(shape)}"
        )
    if x.array.dtype.kind == "b" and mode in KERNELS:
        raise unsupported_dtype(f"{KERNELS[mode]}_pad{count}d", x.array.dtype)
    indices = []
    for i in range(count):
        d = ndim - 1 - i
        _check_width(mode, widths[2 * i], widths[2 * i + 1], shape, d)
        with SHORTAGE_TOLD:
            indices.append(border_index(mode, widths[2 * i], shape[d], widths[2 * i + 1]))
    found: Tensor = apply1(BORDERS[mode][count - 1](widths, indices), x)
    return found


def _check_width(mode: str, before: int, after: int, shape: Shape, d: int) -> None:
    """A border cannot be wider than what it is made of."""
    n = shape[d]
    if mode == "reflect" and max(before, after) >= n:
        raise ShapeError(
            "Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension {d} of input {sizes(shape)}"
        )
    if mode == "circular" and max(before, after) > n:
        raise ShapeError("Padding value causes wrapping around more than once.")
    if mode == "circular" and max(before, after) > 0 >= n + min(before, 0) + min(after, 0):
        raise ShapeError(
            f"The size of tensor a (0) must match the size of tensor b ({n}) at non-singleton dimension {d}: nothing "
            f"is left of it that padding ({before}, {after}) could repeat"
        )
    if n + before + after < (mode != "circular"):
        if mode == "circular":
            raise ShapeError("Negative padding value is resulting in an empty dimension")
        raise ShapeError(f"input (W: {n}) is too small. Calculated output W: {n + before + after}")
