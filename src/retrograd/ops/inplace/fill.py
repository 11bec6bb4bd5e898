"""Other values in place: `t.zero_()`, `t.fill_(1)`, `t.copy_(other)`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, backend_of, common_backend, device_of
from retrograd.backends.casts import cast
from retrograd.backends.layout import copied_like, is_dense, lies_like
from retrograd.backends.native import copy_over
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.apply import apply1, apply_n
from retrograd.core.inplace import check_writable, is_followed
from retrograd.core.modes import current
from retrograd.core.op import Variadic
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import ShapeError, broadcast_error, operand_error, sizes
from retrograd.ops.common import joint_shape, memory_order, number_from, require_tensor, zero_like
from retrograd.ops.inplace.write import Independent, write
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import Clone, to
from retrograd.ops.tensor.data import held_number, number_for
from retrograd.values import Array, Number, Shape


class Zero(Independent):
    """zeros in place of x"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.zeros_like(x)


class Fill(Independent):
    """a number in place of x"""

    params: ClassVar[tuple[str, ...]] = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.full_like(x, self.number, order=memory_order(xp, x))


FillInPlace = variant(Fill, "FillBackward2", "a number in place of x, in its own memory")


class Taken(Variadic):
    """y in place of x, in the shape and dtype of x"""

    like_first = True

    def forward(self, xp: Backend, xs: Any) -> Any:
        x, y = xs
        if y.dtype.kind == "c" and x.dtype.kind != "c":
            y = y != 0 if x.dtype.kind == "b" else y.real
        return cast(xp.stretch(y, x.shape), x.dtype)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return [zero_like(gs[0]) if self.needs(0) else None, gs[0] if self.needs(1) else None]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        return zero_like(ts[0]) if ts[1] is None else Taken().on(xs[0], ts[1])


class Copied(Taken):
    """y copied over x"""

    node_name = "CopyBackwards"

    def name(self) -> str:
        return "torch::autograd::CopyBackwards"


FillTensor = variant(Taken, "FillBackward1", "a 0-dim y in place of x")


FillTensorInPlace = variant(Taken, "FillBackward3", "a 0-dim y in place of x, in its own memory")


@public("zero_", method=True)
def zero_(self: Tensor) -> Tensor:
    """Fills with zeros."""
    check_writable(require_tensor("zero_", "input", 1, self), stretched=True)
    if is_followed(self):
        return write(self, apply1(Zero(), self))
    self.array.fill(0)
    self._bump_version()
    return self


@public("fill_", method=True)
def fill_(self: Tensor, value: Tensor | Number) -> Tensor:
    """Fills with one number; a 0-dim tensor gets its gradient."""
    check_writable(require_tensor("fill_", "input", 1, self), stretched=not isinstance(value, Tensor))
    if isinstance(value, Tensor):
        return write(self, apply_n(FillTensorInPlace(), (self, _number_tensor("fill_", value))))
    number = held_number(number_from("fill_", "value", 1, value), self.array.dtype)
    if is_followed(self):
        return write(self, apply1(FillInPlace(number), self))
    self.array.fill(number)
    self._bump_version()
    return self


def _number_tensor(function: str, value: Tensor) -> Tensor:
    if value.array.ndim:
        raise ShapeError(
            f"{function.removesuffix('_')}_ only supports 0-dimension value tensor but got tensor with "
            f"{value.array.ndim} dimensions."
        )
    return value


@public("fill")
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """One number in the shape and dtype of `input`."""
    x = require_tensor("fill", "input", 1, input)
    if isinstance(value, Tensor):
        found: Tensor = apply_n(FillTensor(), (x, _number_tensor("fill", value)))
        return found
    found = apply1(Fill(number_for(number_from("fill", "value", 2, value), x.array.dtype).item()), x)
    return found


@public("Tensor.copy_")
def copy_(self: Tensor, other: Tensor | Number, non_blocking: bool = False) -> Tensor:
    """Copies the elements of `other`, broadcast to the shape and converted to the dtype of this tensor.

    >>> import retrograd as rg
    >>> rg.zeros(2, 2).copy_(rg.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    check_writable(self, stretched=other is self)
    if not isinstance(other, Tensor):
        if not isinstance(other, (bool, int, float, complex, np.generic)):
            raise operand_error("copy_", "other", 1, other)
        other = Tensor(np.asarray(other), share=True)
    if type(self.array) is not type(other.array) and device_of(self.array) != device_of(other.array):
        moved: Tensor = to(other, device_of(self.array))
        other = moved
    if other.array.shape != self.array.shape:
        _check_fits(other.array.shape, self.array.shape)
    if other.array.dtype.kind == "c" and self.array.dtype.kind not in "bc":
        warn("Casting complex values to real discards the imaginary part", UserWarning)
    if is_followed(self) or (other.requires_grad and current().grad_enabled):
        return write(self, apply_n(Copied(), (self, other)))
    if copy_over(self.array, other.array):
        self._bump_version()
        return self
    token = hush(QUIET)
    try:
        values = other.array if self.array.dtype.kind in "bc" else other.array.real
        common_backend((self.array, values)).copyto(self.array, values, casting="unsafe")
    finally:
        unhush(token)
    self._bump_version()
    return self


@public("Tensor.module_load")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `load_state_dict` has this tensor of a module change places with; `other` is what the state dict has.

    It is called after `torch.__future__.set_swap_module_params_on_conversion(True)`. The result is a new tensor.
    """
    return (other if assign else self.copy_(other)).detach()


def clone_like(x: Tensor, other: Tensor) -> Tensor:
    """A copy of `x` that lies in memory as `other` of the same shape does: what a recorded first gradient is."""
    place = other.array
    if x.array.shape != place.shape or not is_dense(place):
        found: Tensor = apply1(Clone("C"), x)
        return found
    if place.dtype != x.array.dtype:
        place = backend_of(place).empty_like(place, dtype=x.array.dtype)
    found = apply_n(Copied(), (Tensor(place, share=True), x))
    if not lies_like(found.array, place):
        found.array = copied_like(found.array, place)  # nobody has seen it yet
    return found


def _check_fits(shape: Shape, target: Shape) -> None:
    """Raises unless a source of this shape broadcasts to the shape of the target."""
    try:
        whole = joint_shape(target, shape)
    except ValueError:
        raise broadcast_error(target, shape) from None
    if whole != target:
        raise ShapeError(
            f"output with shape {sizes(target)} doesn't match the broadcast shape {sizes(whole)}"
        )


@public("Tensor.fill_diagonal_")
def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Fills the main diagonal; with `wrap`, that of a tall matrix begins anew after each end."""
    shape = require_tensor("fill_diagonal_", "input", 1, self).array.shape
    if len(shape) < 2:
        raise ShapeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError("all dimensions of input must be of equal length")
    stride, start = self.stride(), self.storage_offset()
    self.as_strided((min(shape),), (sum(stride),), start).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        width = shape[1]
        more = -(-self.numel() // (width + 1)) - width
        self.as_strided((more,), (sum(stride),), start + stride[0] * (width + 1)).fill_(fill_value)
    return self
