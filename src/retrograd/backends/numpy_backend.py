"""NumpyBackend: everything, in plain NumPy. The reference that the other backends are compared with."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.device import device
from retrograd.backends.kernels import along_axis, optimizer_steps, running, softmax
from retrograd.backends.kernels.noise import noise
from retrograd.backends.kernels.products import layout_of
from retrograd.hints import mypyc_attr
from retrograd.values import Array, Axis, Shape

ndarray: Final[Any] = np.ndarray
float16: Final = np.dtype("float16")
float32: Final = np.dtype("float32")
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

    def adopt(self, names: dict[str, Any]) -> None:
        """Makes functions of an array library attributes: `xp.exp`. Kernels keep their names."""
        for name, value in names.items():
            if not name.startswith("_") and not hasattr(type(self), name):
                setattr(self, name, value)

    # -- arrays ----------------------------------------------------------------------------------------------------

    def bring(self, array: Array, where: device) -> Array:
        return np.array(
            array if type(array) is ndarray else backend_of(array).numpy(array), copy=True, subok=False
        )

    def numpy(self, array: Array) -> Array:
        return array

    def is_writable(self, array: Array) -> bool:
        return not isinstance(array, ndarray) or bool(array.flags.writeable)

    def set_writable(self, array: Array, writable: bool) -> None:
        if isinstance(array, ndarray):
            array.flags.writeable = writable

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

    def new_stream(self, seed: int) -> Any:
        return np.random.Generator(np.random.PCG64(seed))

    def stretch(self, x: Array, shape: Shape) -> Array:
        """`x` broadcast to a shape it is known to fit, read-only. NumPy's `broadcast_to` takes long to set up."""
        xp: Any = self
        if type(x) is not ndarray or not x.flags.c_contiguous or not x.size:
            return xp.broadcast_to(x, shape)
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
        return np.asarray(Memory(owner, address, shape, strides, dtype))

    def memory_of(self, array: Array) -> Any:
        """What owns the memory of an array, be it an array or anything else that shows memory as one."""
        while array.base is not None and hasattr(array.base, "__array_interface__"):
            array = array.base
        return array

    # -- sums ------------------------------------------------------------------------------------------------------

    def add_into(self, target: Array, other: Array) -> Array:
        """The sum of two arrays, in the memory of the first."""
        xp: Any = self
        return xp.add(target, other, out=target)

    def write_sum(self, target: Array, other: Array) -> None:
        """Adds an array to another, in place."""
        xp: Any = self
        xp.add(target, other, out=target)

    def running_sum(self, a: Array, axis: int, reverse: bool) -> Array:
        """The running sum along an axis, from the front or, reversed, from the back."""
        xp: Any = self
        return running.running(xp, xp.cumsum, a, axis, reverse)

    def running_product(self, a: Array, axis: int, reverse: bool) -> Array:
        """The running product along an axis, from the front or, reversed, from the back."""
        xp: Any = self
        return running.running(xp, xp.cumprod, a, axis, reverse)

    def softmax(self, x: Array, axis: int | None) -> Array:
        """exp(x) / sum(exp(x)) along the axis."""
        return softmax.softmax(self, x, axis)

    def log_softmax(self, x: Array, axis: int | None) -> Array:
        """The logarithm of softmax, without overflow."""
        return softmax.log_softmax(self, x, axis)

    def logsumexp(self, x: Array, axis: Axis) -> Array:
        """log(sum(exp(x))) along the axes, which stay as 1, without overflow."""
        return softmax.logsumexp(self, x, axis)

    # -- products --------------------------------------------------------------------------------------------------

    def product(self, x: Array, y: Array) -> Array:
        """`x @ y`; half precision is summed in single, as PyTorch does."""
        xp: Any = self
        if x.dtype is float16:
            return xp.matmul(x.astype(float32), y.astype(float32)).astype(float16)
        return xp.matmul(x, y)

    def layout_of(self, x: Array, y: Array) -> int:
        """How two matrices lie in memory whose product is taken: see kernels/products.py."""
        return layout_of(x, y)

    # -- indices ---------------------------------------------------------------------------------------------------

    def take_along(self, x: Array, index: Array, dim: int) -> Array:
        """The elements of x that an index names along a dimension. See Note [Positions]."""
        return along_axis.take_along(self, x, index, dim)

    def put_along(self, out: Array, index: Array, dim: int, values: Array) -> None:
        """Writes values, one for each place of the index or one for all, into a contiguous array."""
        along_axis.put_along(self, out, index, dim, values)

    def add_along(self, out: Array, index: Array, dim: int, values: Array) -> None:
        """Adds values, one for each place of the index, to a contiguous array; an element named twice gets both."""
        along_axis.add_along(self, out, index, dim, values)

    def add_at(self, out: Array, key: tuple[Any, ...], x: Array) -> Array:
        """Adds x to the elements of a contiguous `out` that `key` points at; one that comes twice gets both."""
        return along_axis.add_at(self, out, key, x)

    def outside(self, index: Array, low: int, high: int) -> Any:
        """The first index that is not from `low` to before `high`; None if there is none."""
        return along_axis.outside(self, index, low, high)

    def within_0_1(self, x: Array) -> bool:
        """Whether all numbers are probabilities."""
        return bool(((x >= 0) & (x <= 1)).all())

    # -- random numbers, optimisers --------------------------------------------------------------------------------

    def noise(self, stream: Any, like: Array, p: float, scale: Any) -> Array:
        """An array of the shape and dtype of `like`: 0 with probability `p`, else `scale`."""
        return noise(self, stream, like, p, scale)

    def sgd_steps(self, rows: list[Any], rates: Any) -> None:
        """A step of gradient descent for each row: see kernels/optimizer_steps.py."""
        step: Any = optimizer_steps.sgd_step
        for row in rows:
            step(self, *row, rates)

    def adam_steps(self, rows: list[Any], rates: Any) -> None:
        """A step of Adam or AdamW for each row."""
        step: Any = optimizer_steps.adam_step
        for row in rows:
            step(self, *row, rates)


NUMPY: Final = NumpyBackend()
