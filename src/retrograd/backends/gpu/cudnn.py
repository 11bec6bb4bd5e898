"""Convolutions by NVIDIA's cuDNN, through its C interface, where the library is found.

A plan has the descriptions of operands that cuDNN wants and the algorithm that it advises; there is one for each kind
of call. Where cuDNN is missing, convolutions are products of matrices of windows, as on the CPU.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Final, NamedTuple

from retrograd.backends.gpu.kernels import empty, letter
from retrograd.backends.gpu.nvidia import found_library
from retrograd.values import Array, Shape

DTYPES: Final = {"f": 0, "d": 1, "e": 2, "bf": 9}
FLOAT, DOUBLE = 0, 1
NCHW, CROSS_CORRELATION = 0, 1
DEFAULT_MATH, FULL_PRECISION = 0, 3
MOST_WORKSPACE: Final = 1 << 30
NAMES: Final = ("libcudnn.so.9", "libcudnn.so.8", "libcudnn.so", "cudnn64_9.dll")


class Advice(ctypes.Structure):
    """`cudnnConvolution…AlgoPerf_t`: an algorithm, and the workspace it needs."""

    _fields_ = (
        ("algo", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time", ctypes.c_float),
        ("memory", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


class CudnnCall(NamedTuple):
    """What a plan is for: which of the three, the shapes of input, weight and output, how windows slide, the dtype."""

    which: str  # Forward, BackwardData or BackwardFilter
    x: Shape
    w: Shape
    y: Shape
    padding: Shape
    stride: Shape
    dilation: Shape
    groups: int
    char: str
    tf32: bool


class Convolutions:
    """The three convolutions: see Note [Three convolutions]."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.library: Any = found_library("cudnn", NAMES)
        self.plans: dict[CudnnCall, tuple[list[Any], int, int]] = {}
        self.local = threading.local()  # a handle is one thread's
        self.lock = threading.Lock()

    def serves(self, geometry: Any, *arrays: Any) -> bool:
        """Whether cuDNN is there, and takes operands such as these."""
        w, x = geometry.windows, arrays[0]
        whole = all(
            (n + 2 * p - d * (k - 1) - 1) // s + 1 == m
            for n, k, s, p, d, m in zip(
                w.size, w.kernel, w.stride, w.padding, w.dilation, w.number, strict=True
            )
        )
        return (
            self.library is not None
            and whole
            and letter(x.dtype) in DTYPES
            and all(a.dtype is x.dtype and a.size and a.flags.c_contiguous for a in arrays)
        )

    def run(
        self, which: str, geometry: Any, a: Array, b: Array, shapes: tuple[Shape, Shape, Shape], tf32: bool
    ) -> Array:
        """Computes y of (x, w), x of (w, y) or w of (x, y): whichever `which` says is missing."""
        w = geometry.windows
        call = CudnnCall(
            which, *shapes, w.padding, w.stride, w.dilation, geometry.groups, letter(a.dtype), tf32
        )
        descriptors, algo, room = self._plan(call)
        out = empty(shapes[{"Forward": 2, "BackwardData": 0, "BackwardFilter": 1}[which]], a.dtype)
        workspace = self.cupy.empty(room, "b")
        kind = ctypes.c_double if call.char == "d" else ctypes.c_float
        one, zero = kind(1), kind(0)
        first, second, conv, result = descriptors
        self._check(
            getattr(self.library, f"cudnnConvolution{which}")(
                self._handle(), ctypes.byref(one), first, _pointer(a), second, _pointer(b), conv, algo,
                _pointer(workspace), ctypes.c_size_t(room), ctypes.byref(zero), result, _pointer(out),
            )
        )  # fmt: skip
        return out

    def _handle(self) -> Any:
        handle = getattr(self.local, "handle", None)
        if handle is None:
            handle = self.local.handle = ctypes.c_void_p()
            self._check(self.library.cudnnCreate(ctypes.byref(handle)))
        stream = ctypes.c_void_p(self.cupy.cuda.get_current_stream().ptr)
        self._check(self.library.cudnnSetStream(handle, stream))
        return handle

    def _plan(self, call: CudnnCall) -> tuple[list[Any], int, int]:
        """Descriptions in the order of arguments, the algorithm, and the bytes of its workspace."""
        with self.lock:
            if call not in self.plans:
                x, w, y = self._tensor(call.x, call), self._filter(call), self._tensor(call.y, call)
                conv = self._convolution(call)
                orders = {
                    "Forward": [x, w, conv, y],
                    "BackwardData": [w, y, conv, x],
                    "BackwardFilter": [x, y, conv, w],
                }
                order = orders[call.which]
                self.plans[call] = (order, *self._algorithm(call.which, order))
        return self.plans[call]

    def _algorithm(self, which: str, order: list[Any]) -> tuple[int, int]:
        advice, count = (Advice * 10)(), ctypes.c_int()
        ask = getattr(self.library, f"cudnnGetConvolution{which}Algorithm_v7")
        self._check(ask(self._handle(), *order, 10, ctypes.byref(count), advice))
        for one in advice[: count.value]:
            if one.status == 0 and one.memory <= MOST_WORKSPACE:
                return one.algo, one.memory
        raise RuntimeError("cuDNN has no algorithm for this convolution")

    def _made(self, kind: str) -> Any:
        made = ctypes.c_void_p()
        self._check(getattr(self.library, f"cudnnCreate{kind}Descriptor")(ctypes.byref(made)))
        return made

    def _tensor(self, shape: Shape, call: CudnnCall) -> Any:
        made, dims = self._made("Tensor"), _spatial(shape)
        strides = [1] * len(dims)
        for i in range(len(dims) - 2, -1, -1):
            strides[i] = strides[i + 1] * dims[i + 1]
        self._check(
            self.library.cudnnSetTensorNdDescriptor(
                made, DTYPES[call.char], len(dims), _ints(dims), _ints(strides)
            )
        )
        return made

    def _filter(self, call: CudnnCall) -> Any:
        made, dims = self._made("Filter"), _spatial(call.w)
        self._check(
            self.library.cudnnSetFilterNdDescriptor(made, DTYPES[call.char], NCHW, len(dims), _ints(dims))
        )
        return made

    def _convolution(self, call: CudnnCall) -> Any:
        made, short = self._made("Convolution"), len(call.stride) == 1
        padding = ((0,) if short else ()) + tuple(call.padding)
        stride, dilation = (((1,) if short else ()) + tuple(v) for v in (call.stride, call.dilation))
        width = DOUBLE if call.char == "d" else FLOAT
        self._check(
            self.library.cudnnSetConvolutionNdDescriptor(
                made, len(stride), _ints(padding), _ints(stride), _ints(dilation), CROSS_CORRELATION, width
            )
        )
        self._check(self.library.cudnnSetConvolutionGroupCount(made, call.groups))
        math = DEFAULT_MATH if call.tf32 or call.char in ("e", "bf") else FULL_PRECISION
        self._check(self.library.cudnnSetConvolutionMathType(made, math))
        return made

    def _check(self, status: int) -> None:
        if status != 0:
            self.library.cudnnGetErrorString.restype = ctypes.c_char_p
            raise RuntimeError(f"cuDNN: {self.library.cudnnGetErrorString(status).decode()}")


def _spatial(shape: Shape) -> Shape:
    """A shape with two dimensions of space at least: cuDNN knows no lines."""
    return (*shape[:2], 1, *shape[2:]) if len(shape) == 3 else tuple(shape)


def _ints(values: Any) -> Any:
    return (ctypes.c_int * len(values))(*values)


def _pointer(array: Array) -> Any:
    return ctypes.c_void_p(array.data.ptr)
