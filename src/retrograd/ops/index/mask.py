"""Masks: elements chosen by booleans."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Final, Literal, overload

import numpy as np

from retrograd.backends.base import Backend, backend_of, stands_for_many, whole
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.kernels.blocks import LIMIT
from retrograd.backends.pieces import look
from retrograd.core.apply import apply1, apply_n
from retrograd.core.families import Linear
from retrograd.core.op import Unary, Variadic
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, broadcast_error, type_name
from retrograd.ops.common import (
    beside,
    deliver_exact,
    joint_shape,
    require_tensor,
    tensor_of,
    zeros_beside,
)
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.index.gather import take
from retrograd.ops.register import public
from retrograd.ops.shape.split import PlacePart
from retrograd.ops.tensor.data import check_fits, number_for
from retrograd.values import Array, Number, Shape

MASK: Final = {"mask": "constant:0"}  # what shows the mask of an op


def _common_shape(x: Array, mask: Array) -> Shape:
    return x.shape if x.shape == mask.shape else joint_shape(x.shape, mask.shape)


class MaskedFill(Unary):
    """x with a number where a mask holds"""

    params: ClassVar[tuple[str, ...]] = ("mask", "value")
    array_params: ClassVar[tuple[str, ...]] = ("value",)
    in_rows: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = MASK

    def __init__(self, mask: Any, value: Any) -> None:
        self.constants = (constant_of(mask),)
        self.value = value

    def forward(self, xp: Backend, x: Array) -> Array:
        return xp.where(self.mask.array, xp.asarray(self.value, x.dtype), x)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return MaskedFill(self.mask, 0).on(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return MaskedFill(self.mask, 0).on(t)

    @property
    def mask(self) -> SavedConstant:
        """Where the mask holds."""
        return self.constant(0)


class MaskedFillTensor(Variadic):
    """x with a 0-dim tensor where a mask holds"""

    node_name = "MaskedFillBackward1"
    params: ClassVar[tuple[str, ...]] = ("mask",)
    in_rows: ClassVar[bool] = True
    shown: ClassVar[dict[str, str]] = MASK

    def __init__(self, mask: Any) -> None:
        self.constants = (constant_of(mask),)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, value = xs
        return xp.where(self.mask.array, xp.asarray(value, x.dtype), x)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        return [
            MaskedFill(self.mask, 0).on(g) if self.needs(0) else None,
            Where().on(self.mask, g, 0.0) if self.needs(1) else None,
        ]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        tx, tv = ts
        return Where().on(self.mask, 0.0 if tv is None else tv, 0.0 if tx is None else tx)

    @property
    def mask(self) -> SavedConstant:
        """Where the mask holds."""
        return self.constant(0)


class MaskedSelect(Linear):
    """the elements where a mask holds, as a vector"""

    params: ClassVar[tuple[str, ...]] = ("mask",)
    shown: ClassVar[dict[str, str]] = MASK

    def __init__(self, mask: Any) -> None:
        self.constants = (constant_of(mask),)

    def forward(self, xp: Backend, x: Array) -> Array:
        mask = self.mask.array
        self.whole = _common_shape(x, mask)
        return xp.stretch(x, self.whole)[xp.stretch(mask, self.whole)]

    def transpose(self, g: Any) -> Any:
        return MaskedPlace(self.mask, self.whole).on(g)

    @property
    def mask(self) -> SavedConstant:
        """Where the mask holds."""
        return self.constant(0)


class MaskedPlace(Linear):
    """zeros of some shape with the elements of a vector where a mask holds"""

    node_name = "MaskedScatterBackward0"
    params: ClassVar[tuple[str, ...]] = ("mask", "size")
    shown: ClassVar[dict[str, str]] = MASK

    def __init__(self, mask: Any, size: Shape) -> None:
        self.constants = (constant_of(mask),)
        self.size = size

    def forward(self, xp: Backend, x: Array) -> Array:
        out = xp.zeros(self.size, x.dtype)
        out[xp.stretch(self.mask.array, self.size)] = x
        return out

    def transpose(self, g: Any) -> Any:
        return MaskedSelect(self.mask).on(g)

    @property
    def mask(self) -> SavedConstant:
        """Where the mask holds."""
        return self.constant(0)


class MaskedScatter(Variadic):
    """x with the first elements of a source where a mask holds"""

    params: ClassVar[tuple[str, ...]] = ("mask",)
    shown: ClassVar[dict[str, str]] = {**MASK, "source_sym_sizes": "source_shape"}

    def __init__(self, mask: Any) -> None:
        self.constants = (constant_of(mask),)

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        x, source = xs
        mask = self.mask.array
        whole = _common_shape(x, mask)
        self.source_shape, self.x_shape = source.shape, x.shape
        where = xp.stretch(mask, whole)
        self.count = int(where.sum())
        out = xp.array(xp.stretch(x, whole), order="C")
        out[where] = source.reshape(-1)[: self.count]
        return out

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        g = gs[0]
        return [
            MaskedFill(self.mask, 0).on(g) if self.needs(0) else None,
            self.source_grad(g) if self.needs(1) else None,
        ]

    def source_grad(self, g: Any) -> Any:
        """The gradient of the source: zero for the elements that found no place."""
        used = MaskedSelect(self.mask).on(g)
        return (
            PlacePart((prod(self.source_shape),), (slice(0, self.count),)).on(used).reshape(self.source_shape)
        )

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        tx, source = ts
        if source is None:
            return MaskedFill(self.mask, 0).on(tx)
        return self.fresh().on(zeros_beside(source, self.x_shape) if tx is None else tx, source)

    @property
    def mask(self) -> SavedConstant:
        """Where the mask holds."""
        return self.constant(0)


# -- functions -----------------------------------------------------------------------------------------------------


def _mask(x: Tensor, mask: Any, function: str, complaint: str) -> SavedConstant:
    """A mask, checked: booleans that broadcast with `x`."""
    given = constant_of(require_tensor(function, "mask", 2, mask))
    m = given.array
    if m.dtype.kind != "b":
        raise DtypeError(
            f"{complaint.format(dtype=m.dtype)} (its dtype is {SCALAR_NAMES[m.dtype]}; compare, or convert it with "
            ".bool())"
        )
    try:
        if m.shape != x.array.shape:
            joint_shape(m.shape, x.array.shape)
    except ValueError:
        raise broadcast_error(m.shape, x.array.shape) from None
    return given.like(beside(m, x.array))


@public("masked_fill", "Tensor.masked_fill_", method=True)
def masked_fill(input: Tensor, mask: Tensor, value: Number | Tensor) -> Tensor:
    """A copy of `input` with `value`, a number or a 0-dim tensor, where `mask` holds.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, -2.0])
    >>> x.masked_fill(x < 0, 0.0)
    tensor([1., 0.])
    """
    x = require_tensor("masked_fill", "input", 1, input)
    m = _mask(
        x, mask, "masked_fill", "masked_fill_ only supports boolean masks, but got mask with dtype {dtype}"
    )
    if not isinstance(value, Tensor):
        found: Tensor = apply1(MaskedFill(m, number_for(value, x.array.dtype)), x)
        return found
    if value.array.ndim:
        raise ShapeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.array.ndim} dimension(s)."
        )
    check_fits(value, x.array.dtype)
    found = apply_n(MaskedFillTensor(m), (x, value))
    return found


@public("masked_select", method=True)
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` where `mask` holds, as a vector; the two are broadcast together.

    >>> import retrograd as rg
    >>> rg.masked_select(rg.tensor([1, 2, 3]), rg.tensor([True, False, True]))
    tensor([1, 3])
    """
    x = require_tensor("masked_select", "input", 1, input)
    m = _mask(x, mask, "masked_select", "masked_select: expected BoolTensor for mask")
    if stands_for_many(m.array):
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask). We cannot support this because "
            "for each batch this would return a differently shaped Tensor. Use where(mask, x, 0)."
        )
    return deliver_exact(
        apply1(MaskedSelect(m), x), out, "masked_select(): self and result must have the same scalar type"
    )


@public("masked_scatter", "Tensor.masked_scatter_", method=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with the first elements of `source`, in order, where `mask` holds.

    >>> import retrograd as rg
    >>> rg.masked_scatter(rg.zeros(3), rg.tensor([True, False, True]), rg.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    x = require_tensor("masked_scatter", "input", 1, input)
    src = require_tensor("masked_scatter", "source", 3, source)
    m = _mask(x, mask, "masked_scatter", "masked_scatter_ only supports boolean masks, but got another dtype")
    if x.array.dtype != src.array.dtype:
        raise DtypeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{SCALAR_NAMES[x.array.dtype]} and {SCALAR_NAMES[src.array.dtype]}"
        )
    xp = backend_of(m.array)
    where = xp.stretch(m.array, _common_shape(x.array, m.array))
    needed = int(whole(where.sum()).max())
    if src.array.size < needed:
        raise ShapeError(
            f"Number of elements of source < number of ones in mask ({src.array.size} < {needed})"
        )
    if not xp.dynamic_shapes and src.array.size:
        # Samples may need more or fewer elements: each place looks up the one that it would get.
        order = xp.maximum(where.reshape(-1).cumsum() - 1, 0).reshape(where.shape)
        found: Tensor = Where().on(where, take(src, Tensor(order, share=True)), x)
        return found
    found = apply_n(MaskedScatter(m), (x, src))
    return found


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor: ...


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True], out: Tensor | None = None) -> tuple[Tensor, ...]: ...


@public("nonzero", method=True)
def nonzero(
    input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The indices of the elements that are not zero, one row each; or one tensor per dimension.

    >>> import retrograd as rg
    >>> rg.nonzero(rg.tensor([0, 3, 4]))
    tensor([[1],
            [2]])
    """
    a = require_tensor("nonzero", "input", 1, input).array
    if not isinstance(as_tuple, (bool, np.bool_)):
        raise TypeError(f"nonzero(): argument 'as_tuple' must be bool, not {type_name(as_tuple)}")
    xp = backend_of(a)
    line = a if a.ndim else a.reshape(1)
    if as_tuple:
        return tuple([tensor_of(xp.ascontiguousarray(i)) for i in xp.nonzero(line)])
    rows = _nonzero_rows(xp, line)
    return deliver_exact(
        tensor_of(rows if a.ndim else xp.zeros((len(rows), 0), np.int64)),
        out,
        "nonzero: Expected out tensor to have scalar type {wanted} but got scalar type{given}",
    )


def _nonzero_rows(xp: Backend, a: Array) -> Array:
    """The indices of the elements that are not zero, as rows; those of a large array are found part by part."""
    if a.ndim == 1 and a.size <= LIMIT:
        found: Array = xp.nonzero(a)[0].reshape(-1, 1)
        return found
    if not xp.is_plain or a.size <= LIMIT:
        return xp.stack(xp.nonzero(a), 1)
    rows = xp.empty((int(xp.count_nonzero(a)), a.ndim), np.int64)
    step = max(1, LIMIT * len(a) // a.size)
    filled = 0
    for start in range(0, len(a), step):
        look()
        places = xp.nonzero(a[start : start + step])
        part = rows[filled : filled + len(places[0])]
        for i, along in enumerate(places):
            part[:, i] = along
        part[:, 0] += start
        filled += len(part)
    return rows


@public("argwhere", method=True)
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one row each.

    >>> import retrograd as rg
    >>> rg.argwhere(rg.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return nonzero(require_tensor("argwhere", "input", 1, input))
