"""Kernels on the last dimensions of arrays: softmax, layer norm, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from math import prod
from typing import Any, Final

from retrograd.values import Array, Shape

TYPES: Final = {"f": "float", "d": "double"}
THREADS: Final = 256
PARTS: Final = 64  # into which sums over rows are split


class Rows:
    """The kernels of `rows.cu`, compiled for a dtype when they are first needed."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.functions: dict[tuple[str, str], Any] = {}

    def serves(self, axes: Shape, *arrays: Any) -> bool:
        """Whether axes are the last, and arrays lie in rows, of one shape and a dtype that there are kernels for."""
        x = arrays[0]
        return (
            x.dtype.char in TYPES
            and x.size > 0
            and axes == tuple(range(x.ndim - len(axes), x.ndim))
            and all(a.flags.c_contiguous and a.dtype is x.dtype and a.shape == x.shape for a in arrays)
        )

    def function(self, name: str, char: str) -> Any:
        """A kernel for a dtype."""
        if (name, char) not in self.functions:
            text = resources.files("retrograd.backends.gpu").joinpath("rows.cu").read_text("utf-8")
            head = f"typedef {TYPES[char]} T;\n#define INFINITE __longlong_as_double(0x7ff0000000000000LL)\n"
            module = self.cupy.RawModule(code=head + text, options=("-std=c++17",))
            self.functions[name, char] = module.get_function(name)
        return self.functions[name, char]

    def each(self, name: str, n: int, *inputs: Array) -> Array:
        """What a kernel makes of each row of n numbers."""
        x = inputs[0]
        out: Array = self.cupy.ndarray(x.shape, x.dtype)
        self.function(name, x.dtype.char)((x.size // n,), (THREADS,), (*inputs, out, n))
        return out

    def layer_norm(self, x: Array, weight: Any, bias: Any, eps: float, n: int) -> tuple[Array, Array]:
        """The normalised rows, and each row's mean and scale."""
        out, moments = self.cupy.ndarray(x.shape, x.dtype), self.cupy.ndarray((x.size // n, 2), x.dtype)
        args = (x, 0 if weight is None else weight, 0 if bias is None else bias)
        self.function("layer_norm", x.dtype.char)((len(moments),), (THREADS,), (*args, out, moments, eps, n))
        return out, moments

    def layer_norm_backward(
        self, g: Array, x: Array, weight: Any, moments: Array, shape: Shape, wanted: int
    ) -> Sequence[Any]:
        """The gradients of x, weight and bias that are wanted."""
        n, char = prod(shape), x.dtype.char
        dx = dweight = dbias = None
        if wanted & 1:
            dx = self.cupy.ndarray(x.shape, x.dtype)
            args = (g, x, 0 if weight is None else weight, moments, dx, n)
            self.function("layer_norm_backward", char)((len(moments),), (THREADS,), args)
        if wanted & 6:
            parts = self.cupy.ndarray((2, PARTS, n), x.dtype)
            grid = (-(-n // THREADS), PARTS)
            self.function("layer_norm_columns", char)(
                grid, (THREADS,), (g, x, moments, parts[0], parts[1], len(moments), n)
            )
            dweight, dbias = (v.reshape(shape) for v in parts.sum(axis=1))
        return dx, dweight if wanted & 2 else None, dbias if wanted & 4 else None
