"""Arrays of bfloat16 on a GPU.

Note [bfloat16 on a GPU]
~~~~~~~~~~~~~~~~~~~~~~~~
As on the CPU (Note [bfloat16]) they are a kind of array of their own, with a backend of its own, whose dtype is
`retrograd.bfloat16`. In memory they are CuPy's arrays of 16 bits (uint16), so everything that moves elements is CuPy's,
and CuPy need not know the dtype.

- Ops in `NATIVE`, and elementwise ones, have kernels that read and write bfloat16 and compute in float32.
- Every other op gets float32 copies of its operands, on the GPU, and its result is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, is_array, register
from retrograd.backends.casts import stays_bfloat16
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.gpu.backend import CudaBackend
from retrograd.backends.gpu.kernels import MAKERS, STORED, THREADS, blocks_for, letter, pack_of
from retrograd.backends.gpu.launch import ROAD, empty
from retrograd.backends.pack import PACK
from retrograd.values import Array, Shape

BITS: Final = np.dtype("uint16")
float32: Final = np.dtype("float32")

# Ops whose forward and gradients call kernels of the backend alone, which take bfloat16.
NATIVE: Final = frozenset({
    "Mm", "Bmm", "Addmm", "Softmax", "LogSoftmax", "NativeLayerNorm", "FusedRmsNorm", "NativeGroupNorm",
    "NativeBatchNorm", "ScaledDotProductFlashAttentionForCpu", "NllLoss", "NllLoss2D", "Embedding", "EmbeddingDense",
    "Sum", "SumDim", "Mean", "MeanDim", "Clone", "UnsafeView", "Cat", "Stack", "Add", "Sub",
})  # fmt: skip
BY_CUDNN: Final = frozenset({"Convolution", "Correlate", "Spread", "Overlap"})
# Those of them that take operands wherever these lie.
ANYWHERE: Final = frozenset({
    "Mm", "Bmm", "Addmm", "ScaledDotProductFlashAttentionForCpu", "Embedding", "Clone", "UnsafeView", "Cat", "Stack",
    "Add", "Sub",
})  # fmt: skip
# What the array library does to memory, whatever its elements are.
MOVES: Final = frozenset({
    "reshape", "transpose", "swapaxes", "ravel", "squeeze", "flatten", "take", "repeat", "diagonal", "concatenate",
    "stack", "broadcast_to", "moveaxis", "expand_dims", "flip", "roll", "tile", "ascontiguousarray", "split",
    "atleast_1d", "atleast_2d", "rollaxis", "asfortranarray", "triu", "tril",
})  # fmt: skip
# What writes into its first argument.
WRITERS: Final = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
METHODS: Final = (
    "sum", "mean", "prod", "max", "min", "var", "std", "cumsum", "cumprod", "dot", "clip", "round", "trace", "argmax",
    "argmin", "argsort", "searchsorted", "any", "all", "nonzero", "conj", "conjugate",
)  # fmt: skip
OPERATORS: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "radd", "rsub", "rmul", "rtruediv",
    "rfloordiv", "rmod", "rpow", "rmatmul", "neg", "pos", "abs", "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
IN_PLACE: Final = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow")


class BFloat16Methods:
    """What arrays of bfloat16 on a GPU do: see Note [bfloat16 on a GPU]."""

    __slots__ = ()  # so that such arrays lie in memory as CuPy's own
    owner: ClassVar[Any]  # their backend

    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> Any:
        return bfloat16

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **_: Any) -> Any:
        if dtype == bfloat16:
            return self.copy(order) if copy else self
        return self.owner.widened(self).astype(dtype, order=order, copy=False)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        if dtype is None or dtype == bfloat16:
            return self.owner.of_bits(self.owner.bits(self))
        return self.owner.bits(self).view(dtype)

    def copy(self, order: str = "C") -> Any:
        return self.owner.of_bits(self.owner.bits(self).copy(order))

    def fill(self, value: Any) -> None:
        self[...] = value

    def __getitem__(self, key: Any) -> Any:
        return self.owner.of_bits(self.owner.bits(self)[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(value) is float or type(value) is int:
            self.owner.bits(self)[key] = bits_of(value)
            return
        self.owner.bits(self)[key] = self.owner.bits(self.owner.cast(value, copy=False))

    def item(self, *args: Any) -> float:
        return float(self.owner.widened(self).item(*args))

    def tolist(self) -> Any:
        return self.owner.widened(self).tolist()

    def __float__(self) -> float:
        return self.item()

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    @property
    def T(self) -> Any:
        return self.owner.transpose(self)

    @property
    def real(self) -> Any:
        return self


def array_class(cupy: Any, backend: BFloat16OnGpu) -> Any:
    """The class of such arrays: CuPy is there only once a GPU is asked for."""
    names = {"owner": backend, "__slots__": ()}
    made: Any = type("CudaBFloat16Array", (BFloat16Methods, cupy.ndarray), names)
    for name in (
        "reshape",
        "transpose",
        "swapaxes",
        "ravel",
        "squeeze",
        "flatten",
        "take",
        "repeat",
        "diagonal",
    ):
        setattr(made, name, _moving(backend, name))
    for name in (*METHODS, *(f"__{name}__" for name in OPERATORS)):
        setattr(made, name, _computing(backend, name))
    for name in IN_PLACE:
        setattr(made, f"__{name}__", _writing(backend, f"__{name[1:]}__", f"__{name}__"))
    return made


def _moving(backend: BFloat16OnGpu, name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return backend.of_bits(getattr(backend.bits(self), name)(*args, **options))

    return method


def _computing(backend: BFloat16OnGpu, name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        found = getattr(backend.widened(self), name)(*backend.widened(args), **backend.widened(options))
        return backend.rounded(found) if stays_bfloat16((self, *args), options) else found

    return method


def _writing(backend: BFloat16OnGpu, name: str, own: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        self[...] = getattr(backend.widened(self), name)(backend.widened(other))
        return self

    method.__name__ = own
    return method


class BFloat16OnGpu(CudaBackend):
    """What computes on such arrays: kernels that know them, or the backend of CuPy's arrays, on float32."""

    rounds = True

    def __init__(self, main: Any) -> None:
        self.main = main
        own = (
            "cupy",
            "devices",
            "formulas",
            "kernels",
            "faults",
            "rows",
            "reductions",
            "norms",
            "losses",
            "picks",
        )
        for name in (*own, "products", "attentions", "fused_attentions", "convolutions", "streams", "kept"):
            setattr(self, name, getattr(main, name))
        self.runs_formulas = False
        self.array_class: Any = array_class(self.cupy, self)
        self.served = ROAD.short and PACK.gpu_narrow(self.array_class)  # whether the pack makes such arrays
        self.native: frozenset[str] = NATIVE if self.convolutions.library is None else NATIVE | BY_CUDNN
        MAKERS.bfloat16 = self._made

    def __getattr__(self, name: str) -> Any:
        """A function of the array library, which does not know this dtype."""
        function = getattr(self.main, name)
        if not callable(function) or isinstance(function, type):
            return function
        if name in MOVES:
            return lambda x, *args, **options: self.of_bits(function(self.bits(x), *args, **options))

        def write(target: Any, *args: Any, **options: Any) -> None:
            values = self.widened(target)
            function(values, *self.widened(args), **self.widened(options))
            target[...] = values

        if name in WRITERS:
            return write

        def call(*args: Any, **options: Any) -> Any:
            target = options.pop("out", None)
            found = function(*self.widened(args), **self.widened(options))
            if target is not None:
                target[...] = found
                return target
            return self.rounded(found) if stays_bfloat16(args, options) else found

        return call

    def joined(self, other: Backend) -> Backend:
        return other.joined(self) if other.stands_for_many else super().joined(other)

    # -- there and back --------------------------------------------------------------------------------------------

    def _made(self, shape: Shape, order: str = "C") -> Any:
        if self.served and order == "C":
            return PACK.gpu_empty(shape, BITS, self.array_class)
        return self.array_class(shape, BITS, None, None, order)

    def bits(self, value: Any) -> Any:
        """Nested arrays as CuPy has them."""
        if type(value) is self.array_class:
            if self.served:
                return PACK.gpu_seen_as(value, self.cupy.ndarray)
            return self.cupy.ndarray.view(value, None, self.cupy.ndarray)
        if type(value) is tuple or type(value) is list:
            return type(value)([self.bits(v) for v in value])
        return value

    def of_bits(self, found: Any) -> Any:
        """Arrays of 16 bits, alone or several, as bfloat16 again."""
        if type(found) is tuple or type(found) is list:
            return type(found)([self.of_bits(f) for f in found])
        if self.served and type(found) is self.cupy.ndarray:
            return PACK.gpu_seen_as(found, self.array_class)
        return self.cupy.ndarray.view(found, None, self.array_class)

    def widened(self, value: Any) -> Any:
        """Nested values with arrays of float32 in the place of ours."""
        if type(value) is self.array_class:
            return self._converted(self.bits(value), "BFloat", float32)
        if type(value) is tuple or type(value) is list:
            return type(value)([self.widened(v) for v in value])
        if type(value) is dict:
            return {key: self.widened(v) for key, v in value.items()}
        return float32 if value is bfloat16 else value

    def rounded(self, found: Any) -> Any:
        """float32 results rounded to bfloat16; others (indices, truth values, complex numbers) as they are."""
        if type(found) is tuple or type(found) is list:
            return type(found)([self.rounded(f) for f in found])
        return self.cast(found) if getattr(found, "dtype", None) == float32 else found

    def cast(self, array: Any, order: Any = "K", copy: bool = True) -> Any:
        """Numbers of any kind as bfloat16."""
        if type(array) is self.array_class:
            return array.copy(order) if copy else array
        if not isinstance(array, self.cupy.ndarray):
            array = self.cupy.asarray(as_numbers(array))
        if letter(array.dtype) not in STORED:
            array = (array.real if array.dtype.kind == "c" else array).astype(float32)
        if order == "C" and not array.flags.c_contiguous:
            array = self.cupy.ascontiguousarray(array)
        return self._converted(array, STORED[letter(array.dtype)], bfloat16)

    def _converted(self, x: Any, stored: str, dtype: Any) -> Any:
        """An array in another dtype, whose elements lie in the order of x's."""
        turned = not x.flags.c_contiguous and x.flags.f_contiguous
        source = x.T if turned else x if x.flags.c_contiguous else x.copy("C")
        out = self._made(source.shape) if dtype is bfloat16 else empty(source.shape, dtype)
        if source.size:
            v = pack_of(1 << 10, source, out)
            kernel = self.kernels.get(
                "conversions.cu", "convert", ("S", stored), ("T", "double" if stored == "double" else "float"),
                ("O", STORED[letter(dtype)]), ("V", v),
            )  # fmt: skip
            kernel.launch(blocks_for(source.size, THREADS * v), THREADS, (source, out, source.size))
        return out.transpose() if turned else out

    def of_bfloat16(self) -> Any:
        return self

    def maker(self, dtype: Any) -> Any:
        return self if dtype == bfloat16 else self.main

    def as_bfloat16(self, array: Array, order: Any) -> Any:
        return self.cast(array, order)

    # -- arrays out of nothing -------------------------------------------------------------------------------------

    def empty(self, shape: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        """An array whose elements are not set."""
        if dtype != bfloat16:
            return self.main.empty(shape, dtype, order=order)
        return self.of_bits(self.cupy.empty(shape, BITS, order))

    def zeros(self, shape: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        """Zeros."""
        if dtype != bfloat16:
            return self.main.zeros(shape, dtype, order=order)
        return self.of_bits(self.cupy.zeros(shape, BITS, order))

    def ones(self, shape: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        """Ones."""
        return self.full(shape, 1, dtype, order)

    def full(self, shape: Any, number: Any, dtype: Any = bfloat16, order: Any = "C") -> Any:
        """One number everywhere."""
        made = self.empty(shape, dtype, order)
        made[...] = number
        return made

    def asarray(self, x: Any, dtype: Any = None, **options: Any) -> Any:
        """An array of this backend, or of CuPy's where another dtype is asked for."""
        return self.array(x, dtype, copy=False, **options)

    def array(self, x: Any, dtype: Any = None, order: Any = "K", copy: bool = True, **options: Any) -> Any:
        """A copy, or the array itself where it is what is wanted."""
        if dtype is None and not isinstance(x, self.array_class) and getattr(x, "dtype", None) != bfloat16:
            return self.main.array(x, None, order=order, copy=copy)
        if dtype is not None and dtype != bfloat16:
            return self.main.array(self.widened(x), dtype, order=order, copy=False)
        return self.cast(x, order, copy)

    def empty_like(self, x: Any, dtype: Any = None, order: Any = "K", shape: Any = None, **_: Any) -> Any:
        """An array of another's shape, whose elements are not set."""
        made = self.cupy.empty_like(
            self.bits(x), BITS if dtype is None or dtype == bfloat16 else dtype, order, shape=shape
        )
        return self.of_bits(made) if dtype is None or dtype == bfloat16 else made

    def zeros_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        """Zeros of another's shape."""
        return self.full_like(x, 0, dtype, order, **options)

    def ones_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        """Ones of another's shape."""
        return self.full_like(x, 1, dtype, order, **options)

    def full_like(self, x: Any, number: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        """One number in another's shape."""
        if self.served and dtype is None and not options:
            found = PACK.gpu_filled(x, float(number))
            if found is not None:
                return found
        made = self.empty_like(x, dtype, order, **options)
        made[...] = number
        return made

    def copyto(self, target: Array, values: Any, casting: str = "same_kind", where: Any = None) -> None:
        """Writes values into an array."""
        if where is None and type(target) is self.array_class:
            target[...] = values
        else:
            self.__getattr__("copyto")(target, values, casting, **({} if where is None else {"where": where}))

    # -- memory ----------------------------------------------------------------------------------------------------

    def bring(self, array: Array, where: Any) -> Array:
        found: Array = self.main.bring(array, where)
        return found

    def numpy(self, array: Array) -> Array:
        return self.main.numpy(self.bits(array)).view(bfloat16.dtype)

    def strided(self, memory: Array, dtype: Any, offset: int, shape: Shape, strides: Shape) -> Array:
        if dtype != bfloat16:
            return super().strided(self.bits(memory), dtype, offset, shape, strides)
        found: Array = self.of_bits(super().strided(self.bits(memory), BITS, offset, shape, strides))
        return found

    def stretch(self, x: Array, shape: Shape) -> Array:
        found: Array = self.of_bits(self.main.stretch(self.bits(x), shape))
        return found

    def add_into(self, target: Array, other: Array) -> Array:
        self.write_sum(target, other)
        return target

    def write_sum(self, target: Array, other: Array) -> None:
        if not self._write_sum(target, other):
            target += other

    def join(self, op: Any, xs: Sequence[Any]) -> Any:
        if all(x.dtype is bfloat16 for x in xs):
            return self.of_bits(op.joined(self.main, self.bits(list(xs)), BITS))
        found = self.main.join(op, self.widened(list(xs)))
        return self.rounded(found) if stays_bfloat16(xs, {}) else found

    def by_library(self, name: str, x: Array, *args: Any) -> Array:
        found = getattr(self.main, name)(self.widened(x), *self.widened(args))
        return self.rounded(found)

    # -- ops -------------------------------------------------------------------------------------------------------

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        if op.copies:
            return op.compute(self, xs)
        if op.is_view or op.moves_memory:
            seen = self.of_bits(self.main.forward(op, [self.bits(xs[0]), *xs[1:]]))
            if (region := getattr(op, "region", None)) is not None:
                region.be_of(bfloat16)  # gradients that are laid out there are no bits
            return seen
        if op.elementwise:
            found = self.formulas.forward(
                op, [float(x) if isinstance(x, np.ndarray) and not x.ndim else x for x in xs]
            )
            if found is not NotImplemented:
                return found
        xs = [self.operand(x) for x in xs]
        given = op.given_dtype()
        if (given is None or given is bfloat16) and self._is_native(op, xs):
            return op.compute(self, xs)
        if given is bfloat16:
            op.target = None  # what it asks for it has: no need to round operands again
        values = self.widened(list(xs))
        found = self.main.forward(op, values)
        if given is not None:
            stays = given is bfloat16
        else:
            stays = xs[0].dtype is bfloat16 if op.like_first else stays_bfloat16(xs, {})
        return self.rounded(found) if stays else found

    def vjp(self, op: Any, given: Sequence[Any]) -> Any:
        native = op.is_view or self._is_native(op, given)
        return op.vjp(*(given if native else self.widened(list(given))))

    def _is_native(self, op: Any, values: Sequence[Any]) -> bool:
        """Whether the kernels of an op take operands such as these."""
        name = type(op).__qualname__
        if name not in self.native:
            return False
        if name in ANYWHERE:
            return True
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if isinstance(value, (tuple, list)):
                waiting.extend(value)
            elif is_array(value):
                if not value._c_contiguous:
                    return False
                if name in ("Softmax", "LogSoftmax") and op.axis not in (None, -1, value.ndim - 1):
                    return False
        return True

    def operand(self, x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype == bfloat16 and not x.ndim:
            return self.cast(x)
        return super().operand(x)


def bits_of(number: float) -> int:
    """The bits of a number that is rounded to bfloat16."""
    return int(np.asarray(number).astype(bfloat16.dtype).view(BITS))


def as_numbers(value: Any) -> Any:
    """Numbers of the CPU as CuPy takes them."""
    array = np.asarray(value)
    return array.astype(float32) if array.dtype.name == "bfloat16" else array


def install(main: Any) -> BFloat16OnGpu:
    """Makes arrays of bfloat16 on a GPU known."""
    found = BFloat16OnGpu(main)
    register(found, found.array_class)
    return found
