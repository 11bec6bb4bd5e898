"""NumpyBackend: everything, in plain NumPy. The reference that the other backends are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import BACKENDS, Backend, backend_of
from retrograd.backends.device import device
from retrograd.backends.kernels import blocks
from retrograd.backends.long_calls import long_calls
from retrograd.backends.mersenne import Mersenne
from retrograd.hints import mypyc_attr
from retrograd.values import Array, Axis, Shape

ndarray: Final[Any] = np.ndarray
# Submodules that formulas use. NumPy loads some of them when they are asked for.
SUBMODULES: Final = ("fft", "lib", "linalg")


class Memory:
    """A part of an array's memory: `np.asarray` makes it an array, which keeps the memory."""

    def __init__(self, base: Array, start: int, shape: Shape, strides: Shape, dtype: Any) -> None:
        self.base = base
        self.start = start
        self.shape, self.strides, self.typestr = shape, strides, dtype.str

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.typestr,
            "data": (self.start, False),
        }


@mypyc_attr(allow_interpreted_subclasses=True)
class NumpyBackend(Backend):
    """NumPy's arrays on the CPU; as a base class, those of a library with NumPy's names: kernels use these alone."""

    is_plain: ClassVar[bool] = True

    def __init__(self, library: Any = np) -> None:
        self.adopt(vars(library))
        self.adopt({name: getattr(library, name) for name in SUBMODULES if hasattr(library, name)})
        if library is np:
            self.adopt(long_calls())

    def adopt(self, names: dict[str, Any]) -> None:
        """Makes functions of an array library attributes: `xp.exp`. Kernels keep their names."""
        for name, value in names.items():
            if not name.startswith("_") and not hasattr(type(self), name):
                setattr(self, name, value)

    # -- arrays ----------------------------------------------------------------------------------------------------

    def bring(self, array: Array, where: device) -> Array:
        found = np.array(
            array if type(array) is ndarray else backend_of(array).numpy(array), copy=True, subok=False
        )
        return found if found.dtype.kind != "V" else BACKENDS.of_bfloat16.seen(found)

    def numpy(self, array: Array) -> Array:
        return array

    def is_writable(self, array: Array) -> bool:
        return not isinstance(array, ndarray) or bool(array.flags.writeable)

    def set_writable(self, array: Array, writable: bool) -> None:
        if isinstance(array, ndarray):
            array.flags.writeable = writable

    def unlocked(self, array: Array) -> Array:
        if not isinstance(array, ndarray):
            return super().unlocked(array)
        # NumPy would not unlock a view of a view that is locked.
        return self.at_address(
            self.owner_of(array), self.extent_of(array)[0], array.dtype, array.shape, array.strides
        )

    def owner_of(self, array: Array) -> Array:
        base = array.base
        while True:
            if isinstance(base, Memory):
                base = base.base
            if not isinstance(base, np.ndarray):
                return array
            array, base = base, base.base

    def extent_of(self, array: Array) -> tuple[int, int, int]:
        start = int(array.__array_interface__["data"][0])
        if not array.size:
            return start, start, start
        low, high = np.lib.array_utils.byte_bounds(array)
        return start, int(low), int(high)

    def reduced(
        self, how: str, function: Callable[..., Array], x: Array, axis: Axis, keepdims: bool, *beside: Array
    ) -> Array:
        if not self.is_plain or x.size <= blocks.LIMIT:
            return super().reduced(how, function, x, axis, keepdims, *beside)
        return blocks.reduced(how, function, x, axis, keepdims, beside)

    def of_lines(self, function: Callable[..., Array], x: Array, *axes: int) -> Array:
        if x.size <= blocks.LIMIT or not (self.is_plain or self.rounds):
            return function(x)
        return blocks.of_lines(self, function, x, axes)

    def of_elements(self, function: Callable[..., Array], *xs: Array) -> Array:
        if xs[0].size <= blocks.LIMIT or not (self.is_plain or self.rounds):
            return function(*xs)
        return blocks.of_elements(self, function, xs)

    def new_stream(self, seed: int) -> Any:
        return Mersenne(seed)

    def stream_state(self, stream: Any) -> bytes:
        found: bytes = stream.state()
        return found

    def restore_stream(self, stream: Any, state: bytes) -> None:
        stream.restore(state)

    def stretch(self, x: Array, shape: Shape) -> Array:
        """`x` broadcast to a shape it is known to fit, read-only. NumPy's `broadcast_to` takes long to set up."""
        if type(x) is not ndarray or not x.flags.c_contiguous or not x.size:
            return self.broadcast_to(x, shape)
        strides = [0] * (len(shape) - x.ndim)
        for n, m, s in zip(x.shape, shape[len(strides) :], x.strides, strict=True):
            strides.append(s if n == m else 0)
        view = np.ndarray(shape, x.dtype, x, 0, strides)
        view.flags.writeable = False
        return view

    def strided(self, memory: Array, dtype: Any, offset: int, shape: Shape, strides: Shape) -> Array:
        """An array over the memory of a contiguous one, `offset` bytes from its start; strides are in bytes."""
        return np.ndarray(shape, dtype, memory, offset, strides)

    def at_address(self, owner: Array, address: int, dtype: Any, shape: Shape, strides: Shape) -> Array:
        """An array anywhere in the memory that the owner of another has; it keeps that memory."""
        memory = self.owner_of(owner)
        if type(memory) is ndarray and memory.size and memory.flags.c_contiguous and memory.flags.writeable:
            return np.ndarray(shape, dtype, memory, address - self.extent_of(memory)[0], strides)
        return np.asarray(Memory(owner, address, shape, strides, dtype))

    def memory_of(self, array: Array) -> Any:
        """What owns the memory of an array, be it an array or anything else that shows memory as one."""
        while array.base is not None and hasattr(array.base, "__array_interface__"):
            array = array.base
        return array


NUMPY: Final = NumpyBackend()
