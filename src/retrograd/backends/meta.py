"""Arrays without values, those of the device "meta": a shape, a dtype and strides.

Note [Meta arrays]
~~~~~~~~~~~~~~~~~~
A `MetaArray` is an array of NumPy's over memory that nobody writes. A system gives memory out when it is touched: a
model of any size takes none. The class says that there are no values; so

- what makes arrays leaves them as they are, and what writes into one writes nothing;
- an op runs on the CPU on the memory as it is, for the shape and dtype of its result, and the values are dropped. A
  view of a meta array is one of the same memory;
- whatever asks for a value raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import BACKENDS, common_backend, register
from retrograd.backends.casts import of_bfloat16
from retrograd.backends.device import device
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.numpy_backend import NumpyBackend
from retrograd.values import Array, Shape

ndarray: Final[Any] = np.ndarray
META: Final = device("meta")
_WRITERS: Final = frozenset({np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal})


class MetaArray(np.ndarray[Any, Any]):
    """See Note [Meta arrays]."""

    __array_priority__: ClassVar[float] = 600

    @property
    def dtype(self) -> Any:
        """The dtype that the rest of the library sees."""
        return _shown(self.view(ndarray).dtype)

    def astype(self, dtype: Any, order: Any = "K", *args: Any, **options: Any) -> Any:
        if _shown(dtype) == self.dtype and not options.get("copy", True):
            return self
        return untouched(self.view(ndarray), _own(dtype), order)

    def view(self, kind: Any) -> Any:  # type: ignore[override]
        """The same memory, as a class of arrays or as a dtype."""
        if isinstance(kind, type) and issubclass(kind, ndarray):
            return super().view(kind)
        return seen(super().view(ndarray).view(_own(kind)))

    def __setitem__(self, key: Any, value: Any) -> None:
        pass  # there are no values

    def fill(self, value: Any) -> None:
        pass

    def item(self, *args: Any) -> Any:
        raise RuntimeError(
            "Tensor.item() cannot be called on meta tensors: they have a shape, and no values."
        )

    def tolist(self) -> Any:
        raise no_data()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        targets = options.pop("out", None)
        if targets is not None:
            return targets if len(targets) > 1 else targets[0]
        if method == "at":
            return None
        if method == "__call__" and ufunc.signature is None:
            return _shape_of_each(ufunc, bare(inputs), bare(options))
        return blank(getattr(ufunc, method)(*bare(inputs), **bare(options)))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in _WRITERS:
            return None
        target = options.get("out")
        return target if target is not None else blank(function(*bare(args), **bare(options)))


def no_data() -> NotImplementedError:
    """The error of whoever wants values."""
    return NotImplementedError(
        "Cannot copy out of meta tensor; no data! A tensor on the device meta has a shape and a dtype only: make one "
        "elsewhere, by torch.empty_like(t, device='cpu') or, for a module, to_empty(device='cpu')."
    )


def _shape_of_each(ufunc: Any, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """The result of a function of each element: one element is computed, for the dtype."""
    arrays = [x for x in inputs if isinstance(x, ndarray)]
    first = [x[(slice(0, 1),) * x.ndim] if isinstance(x, ndarray) else x for x in inputs]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    with np.errstate(all="ignore"):
        found = ufunc(*first, **options)
    like = next((x for x in arrays if x.shape == shape), np.broadcast_to(np.zeros(()), shape))
    each = [untouched(like, f.dtype) for f in (found if type(found) is tuple else (found,))]
    return tuple(each) if type(found) is tuple else each[0]


def _own(dtype: Any) -> Any:
    """A dtype as NumPy has it."""
    return dtype.dtype if dtype is bfloat16 else dtype


def _shown(dtype: Any) -> Any:
    """A dtype as the library has it."""
    return bfloat16 if getattr(dtype, "name", "") == "bfloat16" else dtype


def untouched(like: Any, dtype: Any = None, order: Any = "K") -> Any:
    """A meta array of the shape, dtype and order in memory of an array of NumPy's."""
    axes = list(range(like.ndim))
    if order not in ("C", "c") and not like.flags.c_contiguous:
        axes = sorted(axes, key=lambda axis: -abs(like.strides[axis]))
    made = np.zeros([like.shape[axis] for axis in axes], like.dtype if dtype is None else dtype)
    return made.transpose(np.argsort(axes, kind="stable")).view(MetaArray)


def bare(value: Any) -> Any:
    """Nested values with NumPy's arrays in the place of ours, over the same memory."""
    if isinstance(value, MetaArray):
        found = value.view(ndarray)
        return of_bfloat16().seen(found) if value.dtype is bfloat16 else found
    if type(value) is tuple or type(value) is list:
        return type(value)([bare(v) for v in value])
    if type(value) is dict:
        return {key: bare(v) for key, v in value.items()}
    return value


def blank(found: Any) -> Any:
    """Results without their values."""
    if type(found) is tuple or type(found) is list:
        return type(found)([blank(f) for f in found])
    if isinstance(found, np.generic):
        found = np.asarray(found)
    return untouched(ndarray.view(found, ndarray)) if isinstance(found, ndarray) else found


def seen(found: Any) -> Any:
    """Views without their values, over the same memory."""
    if type(found) is tuple or type(found) is list:
        return type(found)([seen(f) for f in found])
    return ndarray.view(found, MetaArray) if isinstance(found, ndarray) else found


class MetaStream:
    """What draws random numbers: their shapes."""

    def random(self, size: Any = (), dtype: Any = np.float64) -> Array:
        return BACKEND.empty(size, dtype)

    standard_normal = standard_exponential = random

    def __getattr__(self, name: str) -> Any:
        drawing = getattr(np.random.default_rng(0), name)
        return lambda *args, **options: blank(drawing(*bare(args), **bare(options)))


class MetaBackend(NumpyBackend):
    """What computes the shapes of meta arrays: see Note [Meta arrays]."""

    device_type = "meta"
    is_plain = False
    has_values = False

    def device_of(self, array: Array) -> device:
        return META

    def numbered(self, where: device) -> device:
        return META

    def bring(self, array: Array, where: device) -> Array:
        made: Array = blank(array)
        return made

    def numpy(self, array: Array) -> Array:
        raise no_data()

    # -- arrays out of nothing -------------------------------------------------------------------------------------

    def empty(self, shape: Any, dtype: Any = np.float64, order: Any = "C") -> Any:
        return np.zeros(shape, _own(dtype), order).view(MetaArray)  # memory that nobody has touched

    def zeros(self, shape: Any, dtype: Any = np.float64, order: Any = "C") -> Any:
        return self.empty(shape, dtype, order)

    def ones(self, shape: Any, dtype: Any = np.float64, order: Any = "C") -> Any:
        return self.empty(shape, dtype, order)

    def full(self, shape: Any, number: Any, dtype: Any = np.float64, order: Any = "C") -> Any:
        return self.empty(shape, dtype, order)

    def empty_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        if "shape" in options:
            return self.empty(options["shape"], x.dtype if dtype is None else dtype)
        return untouched(ndarray.view(x, ndarray), _own(dtype), order)

    def zeros_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        return self.empty_like(x, dtype, order, **options)

    def ones_like(self, x: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        return self.empty_like(x, dtype, order, **options)

    def full_like(self, x: Any, number: Any, dtype: Any = None, order: Any = "K", **options: Any) -> Any:
        return self.empty_like(x, dtype, order, **options)

    def asarray(self, x: Any, dtype: Any = None, **options: Any) -> Any:
        return x if isinstance(x, MetaArray) and dtype in (None, x.dtype) else self.array(x, dtype)

    def array(self, x: Any, dtype: Any = None, order: Any = "K", copy: bool = True, **options: Any) -> Any:
        return untouched(np.asarray(bare(x), _own(dtype)), order=order)

    def ascontiguousarray(self, x: Any) -> Any:
        return x if x.flags.c_contiguous else untouched(x.view(ndarray), order="C")

    # -- memory ----------------------------------------------------------------------------------------------------

    def strided(self, memory: Array, dtype: Any, offset: int, shape: Shape, strides: Shape) -> Array:
        made: Array = seen(super().strided(memory.view(ndarray), _own(dtype), offset, shape, strides))
        return made

    def at_address(self, owner: Array, address: int, dtype: Any, shape: Shape, strides: Shape) -> Array:
        made: Array = seen(super().at_address(bare(owner), address, _own(dtype), shape, strides))
        return made

    def stretch(self, x: Array, shape: Shape) -> Array:
        made: Array = seen(BACKENDS.cpu.stretch(bare(x), shape))
        return made

    # -- ops -------------------------------------------------------------------------------------------------------

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        target = getattr(op, "target", None)
        if isinstance(target, device) and target != META:
            raise no_data()
        values = bare(list(xs))
        found = common_backend(values).forward(op, values)
        return seen(found) if op.is_view or op.moves_memory else blank(found)

    def vjp(self, op: Any, given: Sequence[Any]) -> Any:
        return blank(op.vjp(*bare(list(given))))

    # -- random numbers --------------------------------------------------------------------------------------------

    def new_stream(self, seed: int) -> Any:
        return MetaStream()

    def stream_state(self, stream: Any) -> bytes:
        return b""

    def restore_stream(self, stream: Any, state: bytes) -> None:
        pass


BACKEND: Final = MetaBackend()
register(BACKEND, MetaArray)
