"""Tensors out of nothing: filled, ranges, and shaped like another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from retrograd.backends.base import (
    Backend,
    backend_of,
    device_of,
    is_writable,
    placed,
    stands_for_many,
)
from retrograd.backends.casts import cast, maker_of
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import (
    C_NAMES,
    SCALAR_NAMES,
    as_dtype,
    bfloat16,
    default_complex,
    get_default_dtype,
    scalar_dtype,
)
from retrograd.backends.memory_format import (
    check_format,
    empty_in,
    preserve_format,
)
from retrograd.backends.memory_format import memory_format as MemoryFormat
from retrograd.backends.native import CPU_BACKEND as XP
from retrograd.backends.pieces import fill
from retrograd.backends.shortage import made
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import (
    DtypeError,
    OperandError,
    OutOfMemoryError,
    ShapeError,
    sizes,
    type_name,
    unsupported_dtype,
)
from retrograd.ops.common import deliver, int_from, number_from, require_tensor
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.ops.tensor.data import (
    Data,
    check_options,
    held_number,
    new_leaf,
    tensor,
)
from retrograd.ops.tensor.unwritten import marked
from retrograd.values import Array, DType, Number, Shape


def finish(array: Array, out: Any, requires_grad: bool, where: Device) -> Tensor:
    """The tensor a creating function returns: a new leaf on a device, or `out` filled."""
    if out is None:
        return new_leaf(array if where is CPU else placed(array, where), requires_grad)
    filled: Tensor = deliver(Tensor(array, share=True), out, told=False)
    return filled.requires_grad_() if requires_grad else filled


def finish_row(array: Array, out: Any, requires_grad: bool, where: Device, counted: bool = False) -> Tensor:
    """`finish` for numbers in a row: an `out` of as many keeps its shape. Others are told of if `counted`."""
    if out is not None and out.array.size == array.size:
        array = array.reshape(out.array.shape)
    elif counted and out is not None and out.array.size:
        warn(
            f"The number of elements in the out tensor of shape {list(out.array.shape)} is {out.array.size} which does "
            f"not match the computed number of elements {array.size}. It is resized to hold them.",
            UserWarning,
        )
    return finish(array, out, requires_grad, where)


def dtype_for(dtype: Any, out: Any, default: DType) -> DType:
    """The dtype asked for, that of `out`, or the default."""
    if out is None:
        return default if dtype is None else as_dtype(dtype)
    have = out.array.dtype
    if dtype is not None and as_dtype(dtype) != have:
        raise DtypeError(
            f"dtype {SCALAR_NAMES[as_dtype(dtype)]} does not match dtype of out parameter ({SCALAR_NAMES[have]})"
        )
    return have


def shape_from(function: str, args: Sequence[Any], size: Any) -> Shape:
    """The shape meant by `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    if size is not None:
        if args:
            raise TypeError(f"{function}() got multiple values for argument 'size'")
        args = (size,)
    elif not args:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    single = len(args) == 1
    if single and isinstance(args[0], (tuple, list)):
        args, single = args[0], False
    shape = tuple([_length(function, n, i, single) for i, n in enumerate(args)])
    for n in shape:
        if n < 0:
            raise ShapeError(
                f"{function}: Trying to create tensor with negative dimension {n}: {sizes(shape)}. "
                "Dimension size must be non-negative."
            )
    return shape


def _length(function: str, n: Any, i: int, single: bool) -> int:
    if type(n) is int:
        return n
    if hasattr(n, "__index__") and not isinstance(n, bool):
        return int(n.__index__())
    if single:
        raise TypeError(
            f"{function}(): argument 'size' (position 1) must be tuple of ints, not {type_name(n)}"
        )
    raise TypeError(
        f"{function}(): argument 'size' failed to unpack the object at pos {i + 1} with error "
        f'"type must be tuple of ints,but got {type_name(n)}"'
    )


@public("scalar_tensor")
def scalar_tensor(
    s: Number | Tensor, *, dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A 0-dim tensor of the default dtype."""
    where = check_options(device, layout, pin_memory)
    value = number_from("scalar_tensor", "s", 1, s)
    wanted = dtype_for(dtype, None, get_default_dtype())
    array = filled((), value, wanted, maker_of(wanted))
    return finish(array, None, requires_grad, where)


public("OutOfMemoryError")(OutOfMemoryError)

# -- filled --------------------------------------------------------------------------------------------------------


def filled(shape: Shape, value: Any, dtype: DType, xp: Backend) -> Array:
    """An array full of one number, if the dtype can hold it."""
    number = held_number(value, dtype)
    found = made(xp.empty, shape, dtype)
    fill(found, number)
    return found


@public("zeros")
def zeros(
    *args: int | Sequence[int], size: Sequence[int] | None = None, out: Tensor | None = None,
    dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Zeros: `zeros(2, 3)`, `zeros((2, 3))` or `zeros(size=(2, 3))`.

    >>> import retrograd as rg
    >>> rg.zeros(2, dtype=rg.int64)
    tensor([0, 0])
    """
    where = check_options(device, layout, pin_memory)
    shape = shape_from("zeros", args, size)
    wanted = dtype_for(dtype, out, get_default_dtype())
    return finish(made(maker_of(wanted, where).zeros, shape, wanted), out, requires_grad, where)


@public("ones")
def ones(
    *args: int | Sequence[int], size: Sequence[int] | None = None, out: Tensor | None = None,
    dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Ones, in the given size."""
    where = check_options(device, layout, pin_memory)
    shape = shape_from("ones", args, size)
    wanted = dtype_for(dtype, out, get_default_dtype())
    return finish(made(maker_of(wanted, where).ones, shape, wanted), out, requires_grad, where)


@public("empty")
def empty(
    *args: int | Sequence[int], size: Sequence[int] | None = None, out: Tensor | None = None,
    dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None, pin_memory: bool = False,
    requires_grad: bool = False, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Memory as it is found, in the given size: fill it before use."""
    where = check_options(device, layout, pin_memory)
    shape = shape_from("empty", args, size)
    if memory_format is preserve_format:
        raise RuntimeError(
            "unsupported memory format Preserve: there is no tensor whose format could be kept"
        )
    wanted, order = dtype_for(dtype, out, get_default_dtype()), check_format("empty", memory_format)
    xp = maker_of(wanted, where)
    array = made(xp.empty, shape, wanted) if order is None else empty_in(xp, shape, wanted, order)
    return finish(marked(array), out, requires_grad, where)


@public("full")
def full(
    size: Sequence[int], fill_value: Number | Tensor, *, out: Tensor | None = None, dtype: DType | None = None,
    layout: str | None = None, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """One number everywhere; the dtype is that of the number unless given.

    >>> import retrograd as rg
    >>> rg.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    where = check_options(device, layout, pin_memory)
    if not isinstance(size, (tuple, list)):
        raise OperandError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}"
        )
    value = number_from("full", "fill_value", 2, fill_value)
    wanted = dtype_for(dtype, out, scalar_dtype(value))
    shape = shape_from("full", (size,), None)
    return finish(filled(shape, value, wanted, maker_of(wanted, where)), out, requires_grad, where)


@public("eye")
def eye(
    n: int, m: int | None = None, *, out: Tensor | None = None, dtype: DType | None = None,
    layout: str | None = None, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The n × m matrix with ones on its diagonal; square unless `m` is given.

    >>> import retrograd as rg
    >>> rg.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    where = check_options(device, layout, pin_memory)
    rows = int_from("eye", "n", 1, n)
    columns = rows if m is None else int_from("eye", "m", 2, m)
    for name, value in (("n", rows), ("m", columns)):
        if value < 0:
            raise ShapeError(f"{name} must be greater or equal to 0, got {value}")
    wanted = dtype_for(dtype, out, get_default_dtype())
    matrix = made(maker_of(wanted).zeros, (rows, columns), wanted)
    matrix.reshape(-1)[: rows * columns if rows < columns else columns * columns : columns + 1] = 1
    return finish(matrix, out, requires_grad, where)


# -- ranges --------------------------------------------------------------------------------------------------------


@public("arange")
def arange(
    *args: Number | Tensor, start: Number | Tensor = 0, end: Number | Tensor | None = None,
    step: Number | Tensor = 1, out: Tensor | None = None, dtype: DType | None = None, layout: str | None = None,
    device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`arange(end)`, `arange(start, end)`, `arange(start, end, step)`: from start up to, but not including, end.

    >>> import retrograd as rg
    >>> rg.arange(1, 2, 0.25)
    tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    where = check_options(device, layout, pin_memory)
    if len(args) > 3 or (not args and end is None):
        raise TypeError(
            f"arange() received an invalid combination of arguments: {len(args)} positional ones. Write arange(end) or "
            "arange(start, end, step)."
        )
    given: Any = (start, end, step)
    if len(args) == 1 and end is None:
        given = (start, args[0], step)
    else:
        given = (*args, *given[len(args) :])
    both = len(args) > 1
    first = number_from("arange", "start", 1 if both else 2, given[0])
    last = number_from("arange", "end", 2 if both else 1, given[1])
    by = number_from("arange", "step", 3, given[2])
    whole = isinstance(first, int) and isinstance(last, int) and isinstance(by, int)
    if whole and max(abs(first), abs(last), abs(by)) >= 1 << 63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    wanted = dtype_for(dtype, out, scalar_dtype(0 if whole else 0.0))
    return finish_row(range_array(first, last, by, wanted), out, requires_grad, where, counted=True)


def range_array(start: Any, end: Any, step: Any, dtype: DType) -> Array:
    """start, start + step, … below end; each computed from its number, so that errors do not add up."""
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("arange: value cannot be converted to type double without overflow: it is complex")
    if dtype.kind in "bc":
        raise unsupported_dtype("arange_cpu", dtype)
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if dtype == "int64":
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero, also as the integer that dtype int64 makes of it")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: no step of {step} leads from {start} to {end}"
        )
    if _are_whole(start, end, step) and dtype.kind in "iu":
        count = -((start - end) // step)
        if count <= SURELY_THERE:
            return np.arange(start, end, step).astype(dtype, copy=False)
    elif math.isfinite((end - start) / step):
        count = math.ceil((end - start) / step)
    else:
        raise RuntimeError(f"invalid size, possible overflow: from {start} to {end} by steps of {step}")
    return made(partial(_range, start, end, step), (count,), dtype)


def _are_whole(start: Any, end: Any, step: Any) -> bool:
    return isinstance(start, int) and isinstance(end, int) and isinstance(step, int)


SURELY_THERE = 1 << 20  # elements for which there is always memory


def _range(start: Any, end: Any, step: Any, shape: Shape, dtype: DType) -> Array:
    if dtype.kind in "iu":
        if _are_whole(start, end, step):
            return np.arange(start, end, step).astype(dtype, copy=False)
        # as many as the numbers themselves would be, of which the fractions are cut off
        start, step = int(start), int(step)
    return cast(start + np.arange(shape[0]) * step, dtype)


@public("linspace")
def linspace(
    start: Number | Tensor, end: Number | Tensor, steps: int, *, out: Tensor | None = None,
    dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` evenly spaced numbers from start to end, both included.

    >>> import retrograd as rg
    >>> rg.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    where = check_options(device, layout, pin_memory)
    ends, count, wanted = _line_arguments("linspace", start, end, steps, out, dtype)
    array = cast(made(partial(spaced, ends), (count,), wanted), wanted)
    return finish_row(array, out, requires_grad, where)


@public("logspace")
def logspace(
    start: Number | Tensor, end: Number | Tensor, steps: int, base: float = 10.0, *, out: Tensor | None = None,
    dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Powers of `base` whose exponents are evenly spaced from start to end.

    >>> import retrograd as rg
    >>> rg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    where = check_options(device, layout, pin_memory)
    ends, count, wanted = _line_arguments("logspace", start, end, steps, out, dtype)
    number = number_from("logspace", "base", 4, base)
    if wanted.kind in "iu" and count:
        ends = [held_number(v, wanted) for v in ends]
    work = np.dtype("complex128" if wanted.kind == "c" else "float64")
    exponents = made(partial(spaced, ends), (count,), work)
    return finish_row(cast(np.power(number, exponents), wanted), out, requires_grad, where)


def _line_arguments(
    function: str, start: Any, end: Any, steps: Any, out: Any, dtype: Any
) -> tuple[list[Any], int, DType]:
    """The arguments of linspace and logspace, checked."""
    try:
        ends = [_end(function, "start", 1, start), _end(function, "end", 2, end)]
        count = int_from(function, "steps", 3, steps)
    except TypeError:
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got ({type_name(start)}, {type_name(end)}, "
            f"{type_name(steps)}), but start and end are numbers or tensors without dimensions, and steps is an int"
        ) from None
    if count < 0:
        raise RuntimeError(f"{function}: number of steps must be non-negative, got {count}")
    default = default_complex() if any(isinstance(v, complex) for v in ends) else get_default_dtype()
    wanted = dtype_for(dtype, out, default)
    if default.kind == "c" and wanted.kind != "c":
        raise DtypeError(
            f"torch.{function}(): inferred dtype {C_NAMES[default]} can't be safely cast to passed dtype "
            f"{SCALAR_NAMES[wanted]}"
        )
    if wanted.kind == "b":
        raise unsupported_dtype(f"{function}_cpu", wanted)
    return ends, count, wanted


def _end(function: str, name: str, position: int, value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(
                f"{function} only supports 0-dimensional start and end tensors, but got {name} with {value.array.ndim} "
                "dimension(s)."
            )
        return value.array.item()
    return number_from(function, name, position, value)


def spaced(ends: Sequence[Any], shape: Shape, dtype: DType) -> Array:
    """Evenly spaced numbers; the second half counts back from the end, so that the end is met exactly."""
    work = np.dtype("float64") if dtype.kind in "iu" else np.dtype("float32") if dtype == bfloat16 else dtype
    (count,) = shape
    if count == 0:
        return np.empty(0, work)
    start, end = (work.type(held_number(v, dtype if dtype.kind in "iu" else work)) for v in ends)
    if count < 2:
        return np.full(count, start)
    step = (end - start) / work.type(count - 1)
    up = np.arange(count // 2).astype(work)
    down = np.arange(count - count // 2 - 1, -1, -1).astype(work)
    return np.concatenate([start + up * step, end - down * step])


# -- like another --------------------------------------------------------------------------------------------------


def like(
    function: str, input: Any, dtype: Any, device: Any, layout: Any, pin_memory: Any, memory_format: Any
) -> Array:
    """Memory for a tensor of the same shape and order in memory as `input`, on its device unless another is given."""
    wanted = check_format(function, memory_format)
    where = check_options(device, layout, pin_memory)
    x = require_tensor(function, "input", 1, input).array
    if device is not None and device_of(x) != where:
        known = backend_of(x).has_values
        x = placed(x, where) if known else maker_of(x.dtype, where).empty(x.shape, x.dtype)
    if wanted is not None and wanted is not preserve_format:
        kind = x.dtype if dtype is None else as_dtype(dtype)
        return empty_in(_maker_like(x, kind), x.shape, kind, wanted)
    if dtype is None and type(x) is np.ndarray and x.flags.c_contiguous:
        return XP.empty_like(x)
    order: Any = (
        "K" if is_writable(x) or x.flags.c_contiguous else "C"
    )  # an expanded tensor has no order to keep
    if dtype is None:
        return backend_of(x).empty_like(x, dtype=x.dtype, order=order)
    kind = as_dtype(dtype)
    return _maker_like(x, kind).empty_like(x, dtype=kind, order=order)


def _maker_like(x: Array, dtype: DType) -> Any:
    """The backend that makes arrays of a dtype where `x` is."""
    return maker_of(dtype) if type(x) is np.ndarray else backend_of(x)


def leaf_like(source: Tensor, array: Array, requires_grad: bool) -> Tensor:
    """A new leaf, of the class of the tensor that it is like."""
    made = new_leaf(array, requires_grad)
    return made if type(source) is Tensor else source._classed(made)


@public("zeros_like")
def zeros_like(
    input: Tensor, *, dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Zeros in the shape and dtype of `input`."""
    array = like("zeros_like", input, dtype, device, layout, pin_memory, memory_format)
    array.fill(0)
    return leaf_like(input, array, requires_grad)


@public("ones_like")
def ones_like(
    input: Tensor, *, dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Ones in the shape and dtype of `input`."""
    array = like("ones_like", input, dtype, device, layout, pin_memory, memory_format)
    array.fill(1)
    return leaf_like(input, array, requires_grad)


@public("empty_like")
def empty_like(
    input: Tensor, *, dtype: DType | None = None, layout: str | None = None, device: DeviceLike = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Memory as it is found, in the shape and dtype of `input`."""
    array = like("empty_like", input, dtype, device, layout, pin_memory, memory_format)
    return leaf_like(input, marked(array), requires_grad)


@public("full_like")
def full_like(
    input: Tensor, fill_value: Number | Tensor, *, dtype: DType | None = None, layout: str | None = None,
    device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """One number everywhere, in the shape and dtype of `input`.

    >>> import retrograd as rg
    >>> rg.full_like(rg.zeros(2), 7)
    tensor([7., 7.])
    """
    array = like("full_like", input, dtype, device, layout, pin_memory, memory_format)
    array.fill(held_number(number_from("full_like", "fill_value", 2, fill_value), array.dtype))
    return leaf_like(input, array, requires_grad)


# -- methods: new tensors of the dtype of this one -----------------------------------------------------------------


def like_options(source: Tensor, dtype: Any, device: Any) -> dict[str, Any]:
    """How a tensor is made that is to be like another one: in its dtype and on its device, unless others are given."""
    return {
        "dtype": source.array.dtype if dtype is None else dtype,
        "device": source.device if device is None else device,
    }


def _roomy(source: Tensor, made: Tensor) -> Tensor:
    """A new tensor of the class of the one that it is made from, with room for every sample if that holds a batch."""
    if stands_for_many(source.array):
        array, xp = made.array, backend_of(source.array)
        made.array = xp.of_whole(xp.inner.broadcast_to(array, (*xp.lead, *array.shape)).copy())
    return made if type(source) is Tensor else source._classed(made)


@public("Tensor.new_tensor")
def new_tensor(
    self: Tensor, data: Data, *, dtype: DType | None = None, device: DeviceLike = None, **options: Any
) -> Tensor:
    """`tensor(data)` in this tensor's dtype, on its device.

    >>> import retrograd as rg
    >>> rg.zeros(1, dtype=rg.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    made = tensor(data, **like_options(self, dtype, device), **options)
    return made if type(self) is Tensor else self._classed(made)


@public("Tensor.new_zeros")
def new_zeros(
    self: Tensor, *args: int | Sequence[int], dtype: DType | None = None, device: DeviceLike = None, **options: Any
) -> Tensor:  # fmt: skip
    """`zeros(size)` in this tensor's dtype, on its device."""
    return _roomy(self, zeros(*args, **like_options(self, dtype, device), **options))


@public("Tensor.new_ones")
def new_ones(
    self: Tensor, *args: int | Sequence[int], dtype: DType | None = None, device: DeviceLike = None, **options: Any
) -> Tensor:  # fmt: skip
    """`ones(size)` in this tensor's dtype, on its device."""
    return _roomy(self, ones(*args, **like_options(self, dtype, device), **options))


@public("Tensor.new_empty")
def new_empty(
    self: Tensor, *args: int | Sequence[int], dtype: DType | None = None, device: DeviceLike = None, **options: Any
) -> Tensor:  # fmt: skip
    """`empty(size)` in this tensor's dtype, on its device."""
    return _roomy(self, empty(*args, **like_options(self, dtype, device), **options))


@public("Tensor.new_full")
def new_full(
    self: Tensor, size: Sequence[int], fill_value: Number | Tensor, *, dtype: DType | None = None,
    device: DeviceLike = None, **options: Any,
) -> Tensor:  # fmt: skip
    """`full(size, fill_value)` in this tensor's dtype, on its device.

    >>> import retrograd as rg
    >>> rg.zeros(1, dtype=rg.float64).new_full((2,), 3)
    tensor([3., 3.], dtype=torch.float64)
    """
    return _roomy(self, full(size, fill_value, **like_options(self, dtype, device), **options))
