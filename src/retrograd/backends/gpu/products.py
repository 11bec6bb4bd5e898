"""Products of matrices by NVIDIA's cuBLAS, through its C interface.

Sums are float32 for half precision and bfloat16; float32 has full precision unless `backends.cuda.matmul.allow_tf32`.
Each thread has a handle of its own, and each stream a workspace, taken from CuPy's pool.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Final

from retrograd.backends.flags import cuda
from retrograd.backends.gpu.kernels import empty, in_columns, letter
from retrograd.backends.gpu.nvidia import found_library
from retrograd.values import Array

NAMES: Final = ("libcublas.so.13", "libcublas.so.12", "libcublas.so", "cublas64_13.dll", "cublas64_12.dll")
# cudaDataType_t and cublasComputeType_t.
DATA: Final = {"f": 0, "d": 1, "e": 2, "bf": 14}
SUMS: Final = {"f": 68, "d": 70, "e": 68, "bf": 68}
WITH_TF32: Final = 77
DEFAULT: Final = -1  # the algorithm that cuBLAS chooses
PLAIN, TURNED = 0, 1  # cublasOperation_t
WORKSPACE: Final = 32 << 20

_int, _pointer, _long = ctypes.c_int, ctypes.c_void_p, ctypes.c_longlong
_operand: Final = [_pointer, _int, _int]
_strided: Final = [_pointer, _int, _int, _long]
_head: Final = [_pointer, *[_int] * 5, _pointer]
SIGNATURES: Final[dict[str, list[Any]]] = {
    "cublasGemmEx": [*_head, *_operand, *_operand, _pointer, *_operand, _int, _int],
    "cublasGemmStridedBatchedEx": [*_head, *_strided, *_strided, _pointer, *_strided, _int, _int, _int],
    "cublasGemmBatchedEx": [*_head, *_operand, *_operand, _pointer, *_operand, _int, _int, _int],
    "cublasCreate_v2": [_pointer],
    "cublasSetStream_v2": [_pointer, _pointer],
    "cublasSetWorkspace_v2": [_pointer, _pointer, ctypes.c_size_t],
}


class Matrices:
    """How the last two dimensions of an array lie, as cuBLAS wants to know it: rows that begin `lead` numbers apart."""

    array: Array

    def __init__(self, x: Array) -> None:
        self.array = x
        (rows, columns), size = x.shape[-2:], x.itemsize
        down, along = x.strides[-2] // size, x.strides[-1] // size
        # A dimension of size 1 may have any stride.
        in_rows = (along == 1 or columns == 1) and (down >= columns or rows == 1) and down >= 0
        in_columns = (down == 1 or rows == 1) and (along >= rows or columns == 1) and along >= 0
        if not in_rows and not in_columns:
            self.array = x = x.copy("C")
            down, in_rows = columns, True
        self.turned: bool = not in_rows
        self.lead: int = max(
            1, (along if columns > 1 else rows) if self.turned else (down if rows > 1 else columns)
        )
        self.step = x.strides[0] // size if x.ndim == 3 else 0


class Products:
    """cuBLAS, and what it needs."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.library: Any = found_library("cublas", NAMES)
        self.local = threading.local()  # a handle is one thread's
        self.workspaces: dict[tuple[int, int], Any] = {}
        for name, arguments in SIGNATURES.items() if self.library is not None else ():
            getattr(self.library, name).argtypes = arguments
        self.numbers: dict[tuple[str, float], Any] = {}

    def serves(self, x: Any, y: Any) -> bool:
        """Whether cuBLAS is there, and multiplies arrays such as these, which are matrices or batches of as many."""
        return (
            self.library is not None
            and x.dtype == y.dtype
            and x.ndim == y.ndim
            and (x.ndim == 2 or (x.ndim == 3 and x.shape[0] == y.shape[0]))
            and letter(x.dtype) in DATA
            and x.size > 0
            and y.size > 0
            and max(x.size, y.size) < 1 << 31
        )

    def product(self, x: Array, y: Array, turned: bool = False) -> Array:
        """`x @ y`; or, turned, its transpose, which then lies column by column."""
        char = letter(x.dtype)
        a, b = Matrices(x), Matrices(y)
        rows, length, columns = x.shape[-2], x.shape[-1], y.shape[-1]
        out = in_columns((columns, rows), x.dtype) if turned else empty((*x.shape[:-1], columns), x.dtype)
        kind = DATA[char]
        # In rows, out is what cuBLAS calls out.T: the operands change places.
        head = (self.handle(), int(b.turned), int(a.turned), columns, rows, length, self.number(char, 1.0))
        first, second = (b.array.data.ptr, kind, b.lead), (a.array.data.ptr, kind, a.lead)
        target = (out.data.ptr, kind, columns)
        if x.ndim == 2:
            self.call(
                "cublasGemmEx",
                *head,
                *first,
                *second,
                self.number(char, 0.0),
                *target,
                self.sums(char),
                DEFAULT,
            )
        else:
            self.call(
                "cublasGemmStridedBatchedEx", *head, *first, b.step, *second, a.step, self.number(char, 0.0),
                *target, rows * columns, len(x), self.sums(char), DEFAULT,
            )  # fmt: skip
        return out

    def at_addresses(
        self, sizes: tuple[int, int, int], a: tuple[int, str, int, bool], b: tuple[int, str, int, bool],
        out: tuple[int, str, int, bool], count: int, beta: float = 0.0,
    ) -> None:  # fmt: skip
        """Products of (rows, length, columns) of `count` matrices at addresses that arrays on the GPU have.

        An operand is where its addresses are, the letter of its dtype, how far apart its rows begin, and whether it is
        to be turned.
        """
        rows, length, columns = sizes
        char = a[1]
        self.call(
            "cublasGemmBatchedEx", self.handle(), int(b[3]), int(a[3]), columns, rows, length, self.number(char, 1.0),
            b[0], DATA[b[1]], b[2], a[0], DATA[a[1]], a[2], self.number(char, beta),
            out[0], DATA[out[1]], out[2], count, self.sums(char), DEFAULT,
        )  # fmt: skip

    def sums(self, char: str) -> int:
        """What products are summed in."""
        return WITH_TF32 if char == "f" and cuda.matmul.allow_tf32 else SUMS[char]

    def number(self, char: str, value: float) -> Any:
        """A number where cuBLAS can read it, of the type of the sums."""
        kept = self.numbers.get((char, value))
        if kept is None:
            made = (ctypes.c_double if char == "d" else ctypes.c_float)(value)
            kept = self.numbers[char, value] = (made, ctypes.addressof(made))
        return kept[1]

    def handle(self) -> Any:
        """This thread's handle, for the current stream."""
        device = self.cupy.cuda.runtime.getDevice()
        held = getattr(self.local, "handles", None)
        if held is None:
            held = self.local.handles = {}
        entry = held.get(device)
        if entry is None:
            made = ctypes.c_void_p()
            self.call("cublasCreate_v2", ctypes.byref(made))
            entry = held[device] = [made, None]
        stream = self.cupy.cuda.get_current_stream().ptr
        if entry[1] != stream:
            self.call("cublasSetStream_v2", entry[0], stream)  # which takes the workspace away
            workspace = self.workspaces.get((device, stream))
            if workspace is None:
                workspace = self.workspaces[device, stream] = self.cupy.cuda.alloc(WORKSPACE)
            self.call("cublasSetWorkspace_v2", entry[0], workspace.ptr, WORKSPACE)
            entry[1] = stream
        return entry[0]

    def call(self, name: str, *args: Any) -> None:
        """Calls a function of cuBLAS."""
        status = getattr(self.library, name)(*args)
        if status:
            raise RuntimeError(f"{name} failed with the status {status} (see cublasStatus_t)")
