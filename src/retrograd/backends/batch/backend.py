"""BatchedBackend: what computes on arrays that stand for all samples of a batch.

Note [Ops on batches]
~~~~~~~~~~~~~~~~~~~~~
An op's `forward` is written for plain arrays. Given batched ones (Note [Batched arrays]) it does the right thing by
itself, because every function it calls knows what to do with them. All operands and parameters are put on the same
levels before: an array of NumPy's own would not know what to do with a batched index. Ops of single elements run on all
samples at once, as on an array with one more dimension.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from retrograd.backends.base import (
    BACKENDS,
    Backend,
    backend_of,
    common_backend,
    device_of,
    extent_of,
    is_array,
    is_writable,
    owner_of,
    register,
)
from retrograd.backends.batch import merging
from retrograd.backends.batch.array import (
    IN_PLACE,
    BatchedArray,
    Level,
    aligned,
    alike,
    all_samples,
    batches,
    constant,
    getitem_of,
    has_batched,
    is_batched,
    levels_among,
    levels_of,
    newest_among,
    on_levels,
    one_sample,
    unpacked,
)
from retrograd.backends.batch.library import on
from retrograd.backends.batch.methods import CONTROL_FLOW
from retrograd.backends.batch.random import check_draw
from retrograd.backends.batch.shape import DataDependent, Unbatchable
from retrograd.backends.device import device
from retrograd.backends.mirror import MirrorBackend
from retrograd.backends.numpy_backend import SUBMODULES, NumpyBackend
from retrograd.values import Array, Shape

ndarray: Final[Any] = np.ndarray


class BatchedBackend(NumpyBackend):
    """NumPy for arrays that are batched on some levels: what it makes anew has room for every sample."""

    device_type = ""
    is_plain = False
    stands_for_many = True
    dynamic_shapes = False

    def __init__(self, levels: tuple[Level, ...], inner: Backend) -> None:
        self.levels = levels  # the newest first
        self._inner = inner

    def of(self, array: Array) -> BatchedBackend:
        batch: BatchedArray = array
        level = batch.level
        if type(batch.value) is ndarray:
            return level.backend or _first_backend(level)
        return _backend_over(level, backend_of(batch.value))

    def joined(self, other: Backend) -> Backend:
        if isinstance(other, MirrorBackend):
            return other
        if not isinstance(other, BatchedBackend):
            return self if other is self.inner else backend_on(self.levels, other)
        return self._joined(other)

    def _joined(self, other: BatchedBackend) -> BatchedBackend:
        inner = other.inner if self.inner is BACKENDS.cpu else self.inner
        return backend_on(tuple(sorted({*self.levels, *other.levels}, key=_number, reverse=True)), inner)

    # -- arrays ----------------------------------------------------------------------------------------------------

    @property
    def inner(self) -> Any:
        return self._inner

    @property
    def lead(self) -> Shape:
        return batches(self.levels)

    def device_of(self, array: Array) -> device:
        return device_of(all_samples(array))

    def whole(self, array: Array) -> Array:
        return all_samples(array)

    def of_whole(self, array: Array) -> Array:
        return on_levels(array, self.levels)

    def around(self, array: Array) -> tuple[Any, Array] | None:
        return array.level, array.value

    def check_draw(self, parameter: Array) -> None:
        check_draw(levels_of(parameter))

    def check_room(self, array: Array) -> None:
        if not isinstance(array, BatchedArray):
            raise Unbatchable(IN_PLACE)

    def check_condition(self, array: Array) -> None:
        raise DataDependent(CONTROL_FLOW)

    def share(self, tensor: Any, values: Array) -> None:
        """Where all samples are to write the same, the tensor's memory stays what it is.

        So `out[0] = w ** 2` works with a tensor that was made inside of a vmap but is no sample's own, if `w` is what a
        transform in there differentiates by: each sample has its own gradient of it, not its own value.
        """
        missing = tuple([level for level in levels_of(values) if level not in levels_of(tensor.array)])
        if not missing or not all(alike(unpacked(values, level)) for level in missing):
            return
        for t in (tensor,) if tensor._base is None else (tensor, tensor._base):
            t.array = constant(t.array, missing)
            for level in missing:
                level.shared.append(weakref.ref(t))

    def fits(self, array: Array, shape: Any, dtype: Any) -> bool:
        return bool(array.fits(shape, dtype))

    def is_writable(self, array: Array) -> bool:
        return is_writable(all_samples(array))

    def set_writable(self, array: Array, writable: bool) -> None:
        self.inner.set_writable(all_samples(array), writable)

    def owner_of(self, array: Array) -> Array:
        return owner_of(all_samples(array))

    def extent_of(self, array: Array) -> tuple[int, int, int]:
        return extent_of(one_sample(array))

    def sample(self, array: Array) -> Array:
        return one_sample(array)

    def on_levels(self, array: Array) -> Array:
        """An array as batched on all levels of this backend."""
        return constant(array, self.levels)

    def numpy(self, array: Array) -> Array:
        return array.tolist()  # refuses, and says why

    def _roomy(self, make: Any, shape: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An array that `make` makes, batched on all levels."""
        sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
        made = make((*batches(self.levels), *sizes), *args, **kwargs)
        return on_levels(made, self.levels)

    def zeros(self, shape: Any, *args: Any, **kwargs: Any) -> Any:
        return self._roomy(self.inner.zeros, shape, args, kwargs)

    def ones(self, shape: Any, *args: Any, **kwargs: Any) -> Any:
        return self._roomy(self.inner.ones, shape, args, kwargs)

    def empty(self, shape: Any, *args: Any, **kwargs: Any) -> Any:
        return self._roomy(self.inner.empty, shape, args, kwargs)

    def full(self, shape: Any, number: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(number, BatchedArray):
            return self._roomy(self.inner.full, shape, (number, *args), kwargs)
        made = self._roomy(self.inner.empty, shape, args or (number.dtype,), kwargs)
        made[...] = number
        return made

    def asarray(self, x: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, BatchedArray):
            return self.inner.asarray(x, dtype, *args, **kwargs)
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)

    def take(self, x: Any, indices: Any, axis: Any = None, **kwargs: Any) -> Any:
        if isinstance(x, BatchedArray) or not isinstance(indices, BatchedArray):
            return on(np.take)(x, indices, axis, **kwargs)
        flat, place = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
        return getitem_of(flat, (*[slice(None)] * place, indices))

    def array(self, x: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, BatchedArray):
            return self.inner.array(x, dtype, *args, **kwargs)
        found = self.asarray(x, dtype)
        return found.copy(kwargs.get("order") or "K") if found is x and kwargs.get("copy", True) else found

    def stretch(self, x: Array, shape: Shape) -> Array:
        return np.broadcast_to(x, shape)

    # -- ops -------------------------------------------------------------------------------------------------------

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        """See Note [Ops on batches]."""
        if self.inner.rounds and not (op.is_view or op.moves_memory):
            return self.inner.forward(op, xs)
        parameters = _parameters(op)
        if parameters is None and op.any_shape:
            level = newest_among(tuple(xs))
            assert level is not None
            values = aligned(xs, level)
            found = common_backend(values).forward(op, values)
            return BatchedArray(found if is_array(found) else np.asarray(found), level)
        backend = self
        if parameters:
            backend = self._joined(backend_on(levels_among(parameters), self.inner))
        return op.compute(backend, [backend._operand(x) for x in xs])

    def _operand(self, x: Any) -> Any:
        """An operand with all levels; numbers stay numbers."""
        if isinstance(x, BatchedArray) and len(self.levels) == 1 and type(x.value) is ndarray:
            return x
        return self.on_levels(x) if is_array(x) else x

    def vjp(self, op: Any, given: Sequence[Any]) -> Any:
        return self.inner.vjp(op, given) if self.inner.rounds else super().vjp(op, given)

    def compiled_vjp(self, kernel: Any, op: Any, given: Sequence[Any]) -> Any:
        """Gradients of all samples at once, if they are all alike."""
        if kernel is None:
            return NotImplemented
        level, shape = given[0].level, given[0].value.shape
        values: list[Any] = []
        for v in given:
            if isinstance(v, BatchedArray):
                if v.level is not level or v.value.shape != shape or is_batched(v.value):
                    return NotImplemented
                values.append(v.value)
            elif isinstance(v, np.ndarray):
                return NotImplemented
            else:
                values.append(v)
        found = kernel(op, *values)
        if found is NotImplemented:
            return found
        if isinstance(found, tuple):
            return tuple([None if f is None else BatchedArray(f, level) for f in found])
        return BatchedArray(found, level)

    # -- kernels ---------------------------------------------------------------------------------------------------

    def add_into(self, target: Array, other: Array) -> Array:
        return target + other  # a batch may have no room in the memory of one sample

    def product(self, x: Array, y: Array) -> Array:
        if x.dtype == np.float16:
            return (x.astype(np.float32) @ y.astype(np.float32)).astype(np.float16)
        return x @ y

    def softmax(self, x: Array, axis: int | None) -> Array:
        if axis is None:
            return self.softmax(x[None], 0)[0]
        return BatchedArray(backend_of(x.value).softmax(x.value, _from_end(axis, x)), x.level)

    def log_softmax(self, x: Array, axis: int | None) -> Array:
        if axis is None:
            return self.log_softmax(x[None], 0)[0]
        return BatchedArray(backend_of(x.value).log_softmax(x.value, _from_end(axis, x)), x.level)

    def softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        found = merging.along("softmax_backward", g, out, op.axis)
        return op.formula(g, out) if found is None else found

    def log_softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        found = merging.along("log_softmax_backward", g, out, op.axis)
        return op.formula(g, out) if found is None else found

    def layer_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        found: tuple[Any, Any] | None = merging.layer_norm(xs[0], xs[1], xs[2], op.eps, op.axes[0])
        return super().layer_norm(op, xs) if found is None else found

    def layer_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found = merging.layer_norm_backward(g, xs[0], xs[1], op.moments, op.axes[0], wanted)
        return super().layer_norm_backward(op, g, xs, wanted) if found is None else found

    def conv_correlate(self, op: Any, x: Any, w: Any, b: Any) -> Any:
        found = merging.convolve("conv_correlate", x, w, b, op.geometry.windows, op.geometry.groups)
        return op.computed(self, x, w, b) if found is None else found

    def conv_spread(self, op: Any, y: Any, w: Any, b: Any) -> Any:
        found = merging.convolve("conv_spread", y, w, b, op.geometry.windows, op.geometry.groups)
        return op.computed(self, y, w, b) if found is None else found

    def conv_overlap(self, op: Any, x: Any, y: Any) -> Any:
        found = merging.conv_overlap(x, y, op.geometry.windows, op.geometry.groups)
        return op.computed(self, x, y, None) if found is None else found

    def max_pool(self, op: Any, x: Any) -> Any:
        found = merging.pool("max_pool", x, len(op.windows.kernel), op.windows, op.wanted)
        return op.computed(self, x) if found is None else found

    def max_pool_backward(self, op: Any, g: Any) -> Any:
        found = merging.max_pool_back(g, op.positions.array, op.in_shape, op.rank)
        return op.formula(g) if found is None else found

    def avg_pool(self, op: Any, x: Any) -> Any:
        by = np.asarray(op.divisors(x.dtype), x.dtype)
        found = (
            merging.pool("avg_pool", x, len(op.windows.kernel), op.windows, by)
            if x.dtype.kind == "f"
            else None
        )
        return op.computed(self, x) if found is None else found

    def avg_pool_backward(self, op: Any, g: Any) -> Any:
        windows, by = op.pool.windows, np.asarray(op.pool.divisors(g.dtype), g.dtype)
        found = merging.pool("avg_pool_back", g, len(windows.kernel), windows, by)
        return op.computed(self, g) if found is None else found

    def attention(self, op: Any, xs: Sequence[Any]) -> Any:
        found = merging.attention(xs[0], xs[1], xs[2], xs[3], op.is_causal, float(op.scale))
        return op.computed(self, xs) if found is None else found

    def attention_backward(self, op: Any, g: Any, xs: Sequence[Any], out: Any, wanted: int) -> Sequence[Any]:
        found = merging.attention_back(g, xs, op.is_causal, float(op.scale), wanted)
        return super().attention_backward(op, g, xs, out, wanted) if found is None else found

    def nll(self, op: Any, xs: Sequence[Any]) -> Any:
        found = merging.nll(xs[0], xs[1], xs[2], op.ignore_index)
        return op.computed(self, xs) if found is None else found

    def nll_backward(self, op: Any, g: Any, xs: Sequence[Any]) -> Any:
        found = merging.nll_backward(g, xs[1], xs[2], op.ignore_index, op.in_shape)
        return op.formula(g, xs) if found is None else found

    def mm_backward(self, op: Any, i: int, turned: bool, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            found = merging.times_turned(y, g) if turned else merging.times_turned(g, y)
        else:
            found = merging.turned_times(g, x) if turned else merging.turned_times(x, g)
        if found is None:
            return op.formula(i, g, x, y)
        return found.swapaxes(0, 1) if turned else found

    def addmm(self, op: Any, x: Any, y: Any, z: Any) -> Any:
        found = merging.addmm(x, y, z)
        return op.computed(self, x, y, z) if found is None else found


def backend_on(levels: tuple[Level, ...], inner: Backend | None = None) -> BatchedBackend:
    """The backend of some levels over another, the CPU's if none is named; the newest level keeps it."""
    newest = levels[0]
    inner = BACKENDS.cpu if inner is None else inner
    if len(levels) == 1 and inner is BACKENDS.cpu:
        return newest.backend or _first_backend(newest)
    if newest.backends is None:
        newest.backends = {}
    found: BatchedBackend | None = newest.backends.get((levels, inner))
    if found is None:
        _put_names()
        found = newest.backends[levels, inner] = BatchedBackend(levels, inner)
    return found


def _backend_over(level: Level, older: Backend) -> BatchedBackend:
    """The backend of arrays on a level whose values are of another, which may be that of older levels."""
    found: BatchedBackend | None = None if level.over is None else level.over.get(older)
    if found is None:
        levels = (level, *older.levels) if isinstance(older, BatchedBackend) else (level,)
        found = backend_on(levels, older.inner)
        if level.over is None:
            level.over = {}
        level.over[older] = found
    return found


def _first_backend(level: Level) -> BatchedBackend:
    """The backend of a level alone, over the CPU's."""
    _put_names()
    found = level.backend = BatchedBackend((level,), BACKENDS.cpu)
    return found


class Names:
    """For which array libraries `BatchedBackend` has the names of NumPy's functions."""

    def __init__(self) -> None:
        self.foreign: int = -1


_NAMES = Names()
_OWN = frozenset(dir(BatchedBackend))


def _put_names() -> None:
    """Gives the class NumPy's functions, each as `on` has it: that changes with the first other library."""
    foreign = len(BACKENDS.foreign)
    if _NAMES.foreign == foreign:
        return
    names = {**vars(np), **{name: getattr(np, name) for name in SUBMODULES}}
    for name, function in names.items():
        if not name.startswith("_") and name not in _OWN:
            setattr(BatchedBackend, name, staticmethod(on(function)))
    asarray: Any = BatchedBackend.asarray
    for name, value in {"asanyarray": asarray, "ascontiguousarray": asarray, "lib": _LIB}.items():
        setattr(BatchedBackend, name, value)
    _NAMES.foreign = foreign  # at last: an interrupt may come before, and other threads look here


def _number(level: Level) -> int:
    return level.number


def _from_end(axis: int, x: Any) -> int:
    """An axis counted from the end: one more dimension in front does not change that."""
    ndim: int = x.ndim
    return axis - ndim if axis >= 0 else axis


def as_strided(x: Any, shape: Any, strides: Any, subok: bool = False, writeable: bool = True) -> Any:
    """`as_strided`, which NumPy does not hand on: of each sample."""
    if not isinstance(x, BatchedArray):
        return np.lib.stride_tricks.as_strided(x, shape, strides, subok, writeable=writeable)
    value = x.value
    wide = as_strided(value, (value.shape[0], *shape), (value.strides[0], *strides), subok, writeable)
    return BatchedArray(wide, x.level)


_LIB = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=as_strided), array_utils=np.lib.array_utils)


def _parameters(op: Any) -> list[Any] | None:
    """Those of an op's parameters that hold batched arrays; None if it has none that could."""
    if op.constants is None and not op.array_params:
        return None
    return [value for value in op.parameter_arrays() if has_batched(value)]


# Of all batched arrays; `of` finds the one for an array's levels.
register(BatchedBackend((), BACKENDS.cpu), BatchedArray)
