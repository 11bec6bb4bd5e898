"""What NumPy's functions do to Tensors: for each, a function that takes NumPy's arguments.

Results follow PyTorch's rules for dtypes and NumPy's for everything a caller can see in the arguments: `np.var` divides
by n, `np.sum(t, axis=0)` takes an axis, `np.concatenate(ts, axis=None)` flattens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.backends.base import as_array, common_backend
from retrograd.core.tensor import Tensor
from retrograd.ops.common import deliver, plain
from retrograd.ops.elementwise.choose import where as where_
from retrograd.ops.elementwise.complex_numbers import angle, imag, real
from retrograd.ops.fourier import frequencies
from retrograd.ops.fourier import transform as fourier
from retrograd.ops.index import gather, mask
from retrograd.ops.index.index_select import index_select, repeat_interleave
from retrograd.ops.linalg.matmul import matmul
from retrograd.ops.nn.pad import pad
from retrograd.ops.numpy.table import (
    HANDLERS,
    NoCounterpart,
    axes,
    flat,
    floating,
    implements,
    library,
    ours,
    tensor_of,
)
from retrograd.ops.reduce import extrema
from retrograd.ops.reduce import running_sums as scan
from retrograd.ops.reduce import statistics as moments
from retrograd.ops.reduce import sums as reduce
from retrograd.ops.shape import join, split
from retrograd.ops.shape import reshape as shapes
from retrograd.ops.shape import transpose as arrange
from retrograd.ops.shape.combinations import unravel_index
from retrograd.ops.shape.diagonals import diag, diagflat, diagonal, tril, triu
from retrograd.ops.tensor import create
from retrograd.ops.tensor.convert import clone
from retrograd.ops.tensor.data import as_tensor

# -- reductions ----------------------------------------------------------------------------------------------------


def _masked(a: Any, mask_: Any, neutral: Any) -> Any:
    """`a` with a neutral element where a reduction's `where=` is false."""
    return a if mask_ is True else where_(tensor_of(mask_), a, neutral)


@implements(np.sum)
def _sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    return deliver(reduce.sum(_masked(tensor_of(a), where, 0), axis, bool(keepdims), dtype=dtype), out)


@implements(np.nansum)
def _nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(reduce.nansum(tensor_of(a), axis, bool(keepdims), dtype=dtype), out)


@implements(np.prod)
def _prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    x = _masked(tensor_of(a), where, 1)
    listed = axes(axis, x) if axis is None or isinstance(axis, tuple) else (axis,)
    for d in sorted([n % x.array.ndim for n in listed], reverse=True):
        x = reduce.prod(x, d, bool(keepdims), dtype=dtype)
    return deliver(x, out)


@implements(np.mean)
def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(reduce.mean(floating(a), axis, bool(keepdims), dtype=dtype), out)


@implements(np.var)
def _var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False
) -> Any:
    x = floating(a) if dtype is None else tensor_of(a).to(dtype)
    return deliver(moments.var(x, axis, correction=ddof, keepdim=bool(keepdims)), out)


@implements(np.std)
def _std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False
) -> Any:
    x = floating(a) if dtype is None else tensor_of(a).to(dtype)
    return deliver(moments.std(x, axis, correction=ddof, keepdim=bool(keepdims)), out)


@implements(np.max)
def _max(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(extrema.amax(a, axes(axis, a), bool(keepdims)), out)


@implements(np.min)
def _min(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(extrema.amin(a, axes(axis, a), bool(keepdims)), out)


HANDLERS[np.amax], HANDLERS[np.amin] = _max, _min


@implements(np.ptp)
def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(_max(a, axis, None, keepdims) - _min(a, axis, None, keepdims), out)


@implements(np.any)
def _any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(reduce.any(tensor_of(a), axis, bool(keepdims)), out)


@implements(np.all)
def _all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(reduce.all(tensor_of(a), axis, bool(keepdims)), out)


@implements(np.argmax)
def _argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return deliver(extrema.argmax(a, axis, bool(keepdims)), out)


@implements(np.argmin)
def _argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return deliver(extrema.argmin(a, axis, bool(keepdims)), out)


@implements(np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None) -> Any:
    return reduce.count_nonzero(a, axis)


@implements(np.cumsum)
def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return deliver(scan.cumsum(flat(a) if axis is None else a, 0 if axis is None else axis, dtype=dtype), out)


@implements(np.cumprod)
def _cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return deliver(
        scan.cumprod(flat(a) if axis is None else a, 0 if axis is None else axis, dtype=dtype), out
    )


# -- shapes --------------------------------------------------------------------------------------------------------


@implements(np.reshape)
def _reshape(a: Any, shape: Any) -> Any:
    return shapes.reshape(a, shape if isinstance(shape, (tuple, list)) else (shape,))


@implements(np.ravel)
def _ravel(a: Any) -> Any:
    return flat(a)


@implements(np.transpose, np.permute_dims)
def _transpose(a: Any, axes: Any = None) -> Any:
    return arrange.permute(a, tuple(reversed(range(a.array.ndim))) if axes is None else tuple(axes))


@implements(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Any:
    for d in () if axis is None else axis if isinstance(axis, tuple) else (axis,):
        if a.array.shape[d] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return shapes.squeeze(a) if axis is None else shapes.squeeze(a, axis)


@implements(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    listed = axis if isinstance(axis, tuple) else (axis,)
    count = a.array.ndim + len(listed)
    for d in sorted(n % count for n in listed):
        a = shapes.unsqueeze(a, d)
    return a


@implements(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    return arrange.flip(m, axes(axis, m) if axis is None or isinstance(axis, tuple) else (axis,))


@implements(np.roll)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return arrange.roll(a, shift, axis)


@implements(np.rot90)
def _rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    return arrange.rot90(m, k, axes)


@implements(np.repeat)
def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    counts = repeats if isinstance(repeats, int) else as_tensor(repeats)
    return repeat_interleave(a, counts, axis)


@implements(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any) -> Any:
    return shapes.broadcast_to(array, shape if isinstance(shape, (tuple, list)) else (shape,))


@implements(np.concatenate, np.concat)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None) -> Any:
    given = [tensor_of(a) for a in arrays]
    if axis is None:
        given, axis = [flat(a) for a in given], 0
    return join.cat(given, axis, out=out)


@implements(np.append)
def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    return _concatenate((arr, values), axis)


def _stacking(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Hstack and the like, which take one list."""

    def stacked(tup: Any) -> Any:
        return function([tensor_of(a) for a in tup])

    return stacked


HANDLERS.update({
    np.hstack: _stacking(join.hstack), np.vstack: _stacking(join.vstack), np.dstack: _stacking(join.dstack),
    np.column_stack: _stacking(join.column_stack),
})  # fmt: skip


@implements(np.stack)
def _stack(arrays: Any, axis: Any = 0, out: Any = None) -> Any:
    return join.stack([tensor_of(a) for a in arrays], axis, out=out)


@implements(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    if isinstance(indices_or_sections, int) and ary.array.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _array_split(ary, indices_or_sections, axis)


@implements(np.array_split)
def _array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    return list(split.tensor_split(ary, indices_or_sections, axis))


@implements(np.meshgrid)
def _meshgrid(*xi: Any, indexing: Any = "xy") -> Any:
    return list(join.meshgrid(*[tensor_of(x) for x in xi], indexing=indexing))


@implements(np.broadcast_arrays)
def _broadcast_arrays(*args: Any) -> Any:
    return shapes.broadcast_tensors(*[tensor_of(a) for a in args])


# -- elements ------------------------------------------------------------------------------------------------------


@implements(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return mask.nonzero(tensor_of(condition), as_tuple=True)
    test = tensor_of(condition)
    numbers = (int, float, complex)
    given = [v if isinstance(v, numbers) else tensor_of(v) for v in (x, y)]
    return where_(test if test.array.dtype.kind == "b" else test != 0, *given)


@implements(np.clip)
def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    return deliver(ours("clamp")(tensor_of(a), low, high), out)


@implements(np.round, np.around)
def _round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return deliver(ours("round")(a, decimals=decimals), out)


@implements(np.take)
def _take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> Any:
    index = tensor_of(indices)
    if axis is None:
        return deliver(gather.take(a, index.long()), out)
    picked = index_select(a, axis, flat(index))
    d = axis % a.array.ndim
    return deliver(
        shapes.reshape(picked, (*a.array.shape[:d], *index.array.shape, *a.array.shape[d + 1 :])), out
    )


@implements(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return gather.take_along_dim(arr, tensor_of(indices), axis)


@implements(np.nonzero)
def _nonzero(a: Any) -> Any:
    return mask.nonzero(a, as_tuple=True)


@implements(np.flatnonzero)
def _flatnonzero(a: Any) -> Any:
    return mask.nonzero(flat(a), as_tuple=True)[0]


@implements(np.sort)
def _sort(a: Any, axis: Any = -1) -> Any:
    return ours("sort")(flat(a) if axis is None else a, -1 if axis is None else axis)[0]


@implements(np.argsort)
def _argsort(a: Any, axis: Any = -1) -> Any:
    return ours("argsort")(flat(a) if axis is None else a, -1 if axis is None else axis)


@implements(np.diff)
def _diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    return ours("diff")(a, n, axis)


@implements(np.quantile)
def _quantile(a: Any, q: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    x = floating(a)
    at = q if isinstance(q, (int, float)) else tensor_of(q).to(x.array.dtype)
    return deliver(ours("quantile")(x, at, axis, bool(keepdims)), out)


@implements(np.median)
def _median(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _quantile(a, 0.5, axis, out, keepdims=keepdims)


@implements(np.pad)
def _pad(array: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Any:
    if mode != "constant":
        raise NoCounterpart(f"pad in mode {mode}")
    pairs = np.broadcast_to(np.asarray(pad_width), (array.array.ndim, 2))[::-1]
    return pad(array, tuple(int(n) for n in pairs.reshape(-1)), "constant", constant_values)


@implements(np.copy)
def _copy(a: Any, order: Any = "K") -> Any:
    return clone(a)


# -- products ------------------------------------------------------------------------------------------------------


@implements(np.dot)
def _dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = tensor_of(a), tensor_of(b)
    if x.array.ndim == 0 or y.array.ndim == 0:
        return deliver(x * y, out)
    if y.array.ndim > 2:  # NumPy's dot sums over the last but one dimension, and pairs all others
        return deliver(ours("tensordot")(x, y, ([x.array.ndim - 1], [y.array.ndim - 2])), out)
    return deliver(matmul(x, y), out)


@implements(np.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    dims = axes if isinstance(axes, int) else tuple([[d] if isinstance(d, int) else list(d) for d in axes])
    return ours("tensordot")(tensor_of(a), tensor_of(b), dims)


@implements(np.outer)
def _outer(a: Any, b: Any, out: Any = None) -> Any:
    return deliver(ours("outer")(flat(a), flat(b)), out)


@implements(np.trace)
def _trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    return reduce.sum(diagonal(a, offset, axis1, axis2), -1)


@implements(np.einsum)
def _einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    return ours("einsum")(subscripts, *[tensor_of(v) for v in operands])


@implements(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    known = library()
    if "linalg.norm" in known:
        return known["linalg.norm"](floating(x), ord, axis, bool(keepdims))
    return known["linalg.vector_norm"](floating(x), 2 if ord is None else ord, axis, bool(keepdims))


# -- the rest: called as NumPy's are -------------------------------------------------------------------------------


def _array_equal(a1: Any, a2: Any) -> bool:
    x, y = tensor_of(a1), tensor_of(a2)
    return x.array.shape == y.array.shape and bool((x.array == y.array).all())


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    x, y = plain(a), plain(b)
    return Tensor(as_array(common_backend((x, y)).isclose(x, y, rtol, atol, equal_nan)), share=True)


def _allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> bool:
    x, y = plain(a), plain(b)
    return bool(common_backend((x, y)).allclose(x, y, rtol, atol, equal_nan))


def _nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return deliver(ours("nanmean")(floating(a), axis, bool(keepdims), dtype=dtype), out)


def _size(a: Any, axis: Any = None) -> int:
    return int(a.array.size if axis is None else a.array.shape[axis])


HANDLERS.update({
    np.shape: lambda a: a.array.shape, np.ndim: lambda a: a.array.ndim, np.size: _size,
    np.iscomplexobj: lambda x: x.array.dtype.kind == "c", np.isrealobj: lambda x: x.array.dtype.kind != "c",
    np.zeros_like: lambda a, dtype=None: create.zeros_like(a, dtype=dtype),
    np.ones_like: lambda a, dtype=None: create.ones_like(a, dtype=dtype),
    np.empty_like: lambda prototype, dtype=None: create.empty_like(prototype, dtype=dtype),
    np.full_like: lambda a, fill_value, dtype=None: create.full_like(a, fill_value, dtype=dtype),
    np.array_equal: _array_equal, np.real: real, np.angle: angle,
    np.imag: lambda val: imag(val) if val.array.dtype.kind == "c" else create.zeros_like(val),
    np.isreal: "isreal", np.tril: tril, np.triu: triu, np.diag: diag, np.diagflat: diagflat,
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: diagonal(a, offset, axis1, axis2),
    np.swapaxes: arrange.swapaxes, np.moveaxis: arrange.movedim, np.fliplr: arrange.fliplr, np.flipud: arrange.flipud,
    np.tile: "tile", np.atleast_1d: join.atleast_1d, np.atleast_2d: join.atleast_2d,
    np.atleast_3d: join.atleast_3d, np.hsplit: "hsplit", np.vsplit: "vsplit",
    np.dsplit: "dsplit", np.inner: "inner", np.vdot: "vdot", np.kron: "kron",
    np.allclose: _allclose, np.isclose: _isclose, np.argwhere: "argwhere",
    np.isneginf: "isneginf", np.isposinf: "isposinf", np.nan_to_num: "nan_to_num",
    np.cross: "linalg.cross", np.nanmean: _nanmean, np.sinc: "sinc", np.i0: "i0", np.unravel_index: unravel_index,
})  # fmt: skip
HANDLERS.update({
    getattr(np.linalg, name): f"linalg.{name}"
    for name in (
        "inv", "pinv", "det", "slogdet", "solve", "cholesky", "qr", "svd", "eig", "eigh", "eigvals", "eigvalsh",
        "matrix_power", "multi_dot", "cond", "tensorinv", "tensorsolve", "matrix_rank",
    )
})  # fmt: skip


def _transform(name: str, several: bool) -> Callable[..., Any]:
    """A Fourier transform with NumPy's names for its arguments."""
    function = getattr(fourier, name)

    def one(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        return function(tensor_of(a), n, axis, norm, out=out)

    def many(
        a: Any,
        s: Any = None,
        axes: Any = (-2, -1) if "2" in name else None,
        norm: Any = None,
        out: Any = None,
    ) -> Any:
        return function(tensor_of(a), s, axes, norm, out=out)

    return many if several else one


HANDLERS.update(
    {
        getattr(np.fft, name): _transform(name, False)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    }
)
HANDLERS.update(
    {
        getattr(np.fft, name): _transform(name, True)
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    }
)
HANDLERS.update(
    {
        np.fft.fftshift: lambda x, axes=None: frequencies.fftshift(x, axes),
        np.fft.ifftshift: lambda x, axes=None: frequencies.ifftshift(x, axes),
    }
)

FILLED = HANDLERS  # the table as this module leaves it
