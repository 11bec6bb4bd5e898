"""Arrays of bfloat16, the half precision that has float32's range.

Note [bfloat16]
~~~~~~~~~~~~~~~
The package ml_dtypes brings the dtype to NumPy: its elements can be stored, converted and copied, but few functions
know it, and a sum of it stops growing at 256. So `BFloat16Array` is a kind of array of its own (Note [Backends]), and
everything is computed on it as PyTorch does it: operands become float32, the operation or derivative runs on them as
on any other, and what it returns is rounded once, at the end.

- An op whose result shares memory (a view) is applied to the bits, and its result is seen as bfloat16 again.
- The dtype that such an array shows is `retrograd.bfloat16` itself (`dtype_class.py`), of kind "f".
- Operands that are NumPy's own never meet any of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import (
    BACKENDS,
    Backend,
    backend_of,
    common_backend,
    register,
    stands_for_many,
)
from retrograd.backends.casts import stays_bfloat16
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.numpy_backend import NumpyBackend
from retrograd.values import Array, Shape

ndarray: Final[Any] = np.ndarray
float32: Final = np.dtype("float32")
BITS: Final = np.dtype("uint16")
NUMPY: Final = bfloat16.dtype  # as NumPy has it

# Functions whose results share the memory of their argument.
_VIEWS: Final = frozenset(
    {
        *(np.broadcast_to, np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze),
        *(np.expand_dims, np.diagonal, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.split, np.array_split),
        *(np.rollaxis, np.flip, np.lib.stride_tricks.sliding_window_view),
    }
)
_OF_MEMORY: Final = frozenset({np.may_share_memory, np.shares_memory})
_WRITERS: Final = frozenset({np.put_along_axis, np.put, np.place, np.putmask, np.fill_diagonal, np.copyto})
_LIKE: Final = frozenset({np.empty_like, np.zeros_like, np.ones_like, np.full_like})
# Methods that compute.
_COMPUTING: Final = (
    *(
        "sum",
        "mean",
        "prod",
        "max",
        "min",
        "var",
        "std",
        "cumsum",
        "cumprod",
        "dot",
        "clip",
        "round",
        "trace",
    ),
    *("argmax", "argmin", "argsort", "searchsorted", "any", "all", "nonzero", "conj", "conjugate"),
)


class BFloat16Array(np.ndarray[Any, Any]):
    """See Note [bfloat16]. Its memory is that of NumPy's array of ml_dtypes' bfloat16: `np.asarray` shows it."""

    __array_priority__: ClassVar[float] = 500

    @property
    def dtype(self) -> Any:
        """The dtype that the rest of the library sees."""
        return bfloat16

    def astype(self, dtype: Any, order: Any = "K", *args: Any, **options: Any) -> Any:
        if dtype == bfloat16:
            return self if not options.get("copy", True) else self.copy(order)
        return bare(self).astype(dtype, order, *args, **{**options, "copy": True})

    def view(self, dtype: Any = None, *args: Any) -> Any:  # type: ignore[override]
        if dtype is None or dtype is BFloat16Array or dtype == bfloat16:
            return super().view()
        return bare(self) if dtype is ndarray else bare(self).view(dtype)

    def __getitem__(self, key: Any) -> Any:
        return as_bfloat16(super().__getitem__(key))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        function = getattr(ufunc, method)
        if method == "at":
            return _written(inputs[0], lambda target: function(target, *widened(inputs[1:])))
        if ufunc is np.nextafter and all(isinstance(x, BFloat16Array) for x in inputs):
            return as_bfloat16(ufunc(*[bare(x) for x in inputs]))  # a wider dtype has other neighbours
        targets = options.pop("out", None)
        found = function(*widened(inputs), **_options(options))
        if targets is not None:
            return _into(targets, found)
        return rounded(found) if stays_bfloat16(inputs, options) else found

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in _OF_MEMORY:
            return function(*[bare(a) for a in args], **options)
        if function in _VIEWS:
            return of_bits(function(bits(args[0]), *args[1:], **options))
        if function in _WRITERS:
            return _write(function, args, options)
        if function in _LIKE:
            return getattr(BACKEND, function.__name__)(*args, **options)
        target = options.pop("out", None)
        found = function(*widened(args), **_options(options))
        if target is not None:
            return _into((target,), found)
        return rounded(found) if stays_bfloat16(args, options) else found


def _computing(name: str) -> Any:
    def method(self: BFloat16Array, *args: Any, **options: Any) -> Any:
        target = options.pop("out", None)
        found = getattr(wide(self), name)(*widened(args), **_options(options))
        if target is not None:
            return _into((target,), found)
        return rounded(found) if stays_bfloat16((self, *args), options) else found

    return method


for _name in _COMPUTING:
    setattr(BFloat16Array, _name, _computing(_name))


# -- there and back --------------------------------------------------------------------------------------------------


def bare(array: Any) -> Any:
    """The memory of an array as NumPy has it; anything else as it is."""
    return ndarray.view(array, ndarray) if isinstance(array, BFloat16Array) else array


def bits(array: Any) -> Any:
    """The memory of an array as bits."""
    return bare(array).view(BITS) if isinstance(array, BFloat16Array) else array


def of_bits(found: Any) -> Any:
    """Bits, alone or several, as bfloat16 again."""
    if type(found) is tuple or type(found) is list:
        return type(found)([of_bits(f) for f in found])
    return (
        found.view(NUMPY).view(BFloat16Array) if isinstance(found, ndarray) and found.dtype == BITS else found
    )


def as_bfloat16(found: Any) -> Any:
    """NumPy's array or number of bfloat16 as an array of ours, in the same memory; anything else as it is."""
    if isinstance(found, BFloat16Array):
        return found
    if isinstance(found, (ndarray, np.generic)) and found.dtype == NUMPY:
        return np.asarray(found).view(BFloat16Array)
    return found


def wide(array: Any) -> Any:
    """An array as float32; in rows where its dimensions share memory."""
    return bare(array).astype(float32, "K" if array.flags.writeable or array.flags.c_contiguous else "C")


def widened(value: Any) -> Any:
    """Nested values with arrays of float32 in the place of ours, also where they stand for samples of a `vmap`."""
    if isinstance(value, BFloat16Array):
        return wide(value)
    if type(value) is tuple or type(value) is list:
        return type(value)([widened(v) for v in value])
    if type(value) is dict:
        return {key: widened(v) for key, v in value.items()}
    if value is bfloat16:
        return float32
    return value.astype(float32) if getattr(value, "dtype", None) is bfloat16 else value


def narrow(array: Any, order: Any = "K") -> Any:
    """Numbers of any kind rounded to bfloat16, in memory of their own."""
    source = np.asarray(array)
    if order == "C" or source.flags.c_contiguous:
        made = BFloat16Array(source.shape, NUMPY)
    else:
        made = np.empty_like(source, NUMPY, order, subok=False).view(BFloat16Array)
    bare(made)[...] = source.real if source.dtype.kind == "c" else source
    return made


def number(value: Any) -> Any:
    """A single number as an array of no dimensions."""
    return narrow(value)


def rounded(found: Any) -> Any:
    """float32 results rounded to bfloat16; others (indices, truth values, complex numbers) as they are."""
    if type(found) is tuple or type(found) is list:
        return type(found)([rounded(f) for f in found])
    if getattr(found, "dtype", None) != float32:
        return found
    return found.astype(bfloat16) if stands_for_many(found) else narrow(found)


def _options(options: dict[str, Any]) -> dict[str, Any]:
    return {name: widened(value) for name, value in options.items()}


def _into(targets: Any, found: Any) -> Any:
    """Writes results into the arrays that a caller has given for them."""
    for target, value in zip(targets, found if type(found) is tuple else (found,), strict=True):
        bare(target)[...] = value
    return targets if len(targets) > 1 else targets[0]


def _written(target: Any, write: Any) -> None:
    """Lets a function write into an array, by way of float32."""
    values = widened(target)
    write(values)
    if values is not target:
        bare(target)[...] = values


def _write(function: Any, args: Any, options: dict[str, Any]) -> Any:
    if function is np.copyto:
        options = {**options, "casting": "unsafe"}
    return function(bare(args[0]), *widened(args[1:]), **widened(options))


class BFloat16Backend(NumpyBackend):
    """What computes on arrays of bfloat16: the CPU's backend, on float32."""

    is_plain = False
    rounds = True

    def joined(self, other: Backend) -> Backend:
        return other.joined(self) if other.stands_for_many else super().joined(other)

    # -- arrays out of nothing -------------------------------------------------------------------------------------

    def cast(self, array: Any, order: Any = "K", copy: bool = True) -> Any:
        """An array of any backend in bfloat16."""
        if isinstance(array, BFloat16Array):
            return array.copy(order) if copy else array
        if type(array) is ndarray or isinstance(array, np.generic):
            return narrow(array, order)
        return backend_of(array).as_bfloat16(array, order)

    def seen(self, array: Any) -> Any:
        """NumPy's array of bfloat16 as one of ours, in the same memory."""
        return as_bfloat16(array)

    def empty(self, shape: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        if dtype != bfloat16:
            return BACKENDS.cpu.empty(shape, dtype, order=order)
        return BFloat16Array(shape, NUMPY, order=order)

    def zeros(self, shape: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        return self.full(shape, 0, dtype, order)

    def ones(self, shape: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        return self.full(shape, 1, dtype, order)

    def full(self, shape: Any, number: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        made = self.empty(shape, dtype, order)
        bare(made)[...] = widened(number)
        return made

    def asarray(self, x: Any, dtype: Any = None, **options: Any) -> Any:
        return self.array(x, dtype, copy=False, **options)

    def array(self, x: Any, dtype: Any = None, order: Any = "K", copy: bool = True, **options: Any) -> Any:
        if dtype == bfloat16:
            return self.cast(x if isinstance(x, ndarray) else np.asarray(x), order, copy)
        if dtype is not None and isinstance(x, BFloat16Array):
            return x.astype(dtype, order)
        if isinstance(x, BFloat16Array):
            return x.copy(order) if copy else x
        return BACKENDS.cpu.array(x, dtype, order=order, copy=True if copy else None, **options)

    def empty_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        if dtype is None or dtype == bfloat16:
            made = np.empty_like(bare(x), NUMPY, order, subok=False, **options)
            return made.view(BFloat16Array)
        return np.empty_like(bare(x), dtype, order, **options)

    def zeros_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        return self.full_like(x, 0, dtype, order, **options)

    def ones_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        return self.full_like(x, 1, dtype, order, **options)

    def full_like(self, x: Any, number: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        made = self.empty_like(x, dtype, order, **options)
        bare(made)[...] = widened(number)
        return made

    def ascontiguousarray(self, x: Any) -> Any:
        return x if x.flags.c_contiguous else x.copy("C")

    # -- memory ----------------------------------------------------------------------------------------------------

    def numpy(self, array: Array) -> Array:
        return bare(array)

    def extent_of(self, array: Array) -> tuple[int, int, int]:
        return BACKENDS.cpu.extent_of(bits(array))

    def strided(self, memory: Array, dtype: Any, offset: int, shape: Shape, strides: Shape) -> Array:
        if dtype != bfloat16:
            return super().strided(bare(memory), dtype, offset, shape, strides)
        return of_bits(super().strided(bare(memory), BITS, offset, shape, strides))

    def at_address(self, owner: Array, address: int, dtype: Any, shape: Shape, strides: Shape) -> Array:
        if dtype != bfloat16:
            return super().at_address(bare(owner), address, dtype, shape, strides)
        return of_bits(super().at_address(bare(owner), address, BITS, shape, strides))

    def stretch(self, x: Array, shape: Shape) -> Array:
        return of_bits(BACKENDS.cpu.stretch(bits(x), shape))

    # -- ops -------------------------------------------------------------------------------------------------------

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        if op.copies:
            return op.compute(self, xs)
        if op.is_view or op.moves_memory:
            operands = [bits(xs[0]), *xs[1:]]
            found = of_bits(common_backend(operands).forward(op, operands))
            if (region := getattr(op, "region", None)) is not None:
                region.be_of(bfloat16)  # gradients that are laid out there are no bits
            return found
        given = op.given_dtype()
        if given is bfloat16:
            op.target = None  # what it asks for it has: no need to round operands again
        values = widened(list(xs))
        found = common_backend(values).forward(op, values)
        if given is not None:
            stays = given is bfloat16
        else:
            stays = xs[0].dtype is bfloat16 if op.like_first else stays_bfloat16(xs, {})
        return rounded(found) if stays else found

    def vjp(self, op: Any, given: Sequence[Any]) -> Any:
        return op.vjp(*widened(list(given)))


BACKEND: Final = BFloat16Backend()
BACKENDS.of_bfloat16 = BACKEND
register(BACKEND, BFloat16Array)
