"""Random tensors: drawn in a given size, or drawn by parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import (
    Backend,
    as_array,
    backend_of,
    common_backend,
    device_of,
    is_array,
    stands_for_many,
)
from retrograd.backends.casts import cast
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import SCALAR_NAMES, bfloat16, get_default_dtype, real_of
from retrograd.backends.memory_format import memory_format as MemoryFormat
from retrograd.backends.mersenne import Mersenne, in_memory_order, lies_in_rows, normal_draw
from retrograd.backends.pieces import PIECE, look
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1, apply2
from retrograd.core.op import Binary
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DtypeError, OperandError, broadcast_error, type_name
from retrograd.ops.common import (
    beside,
    deliver,
    int_from,
    joint_shape,
    number_from,
    require_tensor,
    zero_like,
)
from retrograd.ops.inplace.write import Replaced
from retrograd.ops.random.generator import Generator, stream_of
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.ops.tensor.create import dtype_for, finish, leaf_like, like, shape_from
from retrograd.ops.tensor.data import check_options, new_leaf
from retrograd.values import Array, DType, Shape

# -- arrays of drawn numbers ---------------------------------------------------------------------------------------


def uniform_array(rng: Any, shape: Shape, dtype: DType, low: float = 0, high: float = 1) -> Array:
    """Uniform on [low, high); in half precision, what rounds to `high` is `low`."""
    if dtype.kind == "c":
        parts = uniform_array(rng, (*shape, 2), real_of(dtype), low, high)
        return parts.view(dtype).reshape(shape)
    if dtype.kind != "f":
        raise NotImplementedError(f"\"check_uniform_bounds\" not implemented for '{SCALAR_NAMES[dtype]}'")
    with SHORTAGE_TOLD:
        whole = low == 0 and high == 1
        if isinstance(rng, Mersenne) and not whole and dtype.itemsize > 2:
            least, most = dtype.type(low), dtype.type(high)
            return rng.stretched(shape, dtype, float(least), float(most - least))
        unit = as_array(rng.random(shape, np.float64 if dtype.itemsize == 8 else np.float32))
        if dtype.itemsize > 2:
            return unit if whole else cast(as_array(unit * (high - low) + low), dtype, copy=False)
        least, most = as_held(low, dtype), as_held(high, dtype)
        values = cast(as_array(unit * as_held(most - least, dtype) + least), dtype)
        rounded = cast(values, least.dtype)
        return cast(common_backend((rounded,)).where(rounded == most, least, rounded), dtype)


def as_held(number: Any, dtype: DType) -> np.float32:
    """What half precision makes of a number."""
    return np.float32(cast(as_array(np.float32(number)), dtype))


def normal_array(rng: Any, shape: Shape, dtype: DType, lies_in_rows: bool = True) -> Array:
    """Normal with mean 0 and variance 1; a complex number shares the variance between its parts."""
    draw = normal_draw(rng, dtype.itemsize == 2, lies_in_rows)
    if dtype.kind == "c":
        parts = draw((*shape, 2), real_of(dtype)) * real_of(dtype).type(math.sqrt(0.5))
        return parts.view(dtype).reshape(shape)
    if dtype.kind != "f":
        raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{SCALAR_NAMES[dtype]}'")
    with SHORTAGE_TOLD:
        if dtype.itemsize == 2:
            return cast(as_array(draw(shape, np.float32)), dtype)
        return as_array(draw(shape, dtype))


def fraction_bits(dtype: DType) -> int:
    """How many bits of a floating-point number are its digits: up to there every whole number has its own."""
    return 8 if dtype is bfloat16 else int(np.finfo(dtype).nmant) + 1


_C_NAMES = {"u1": "unsigned char", "i1": "signed char", "i2": "short", "i4": "int", "i8": "long"}


def integer_array(rng: Any, low: int, high: int, shape: Shape, dtype: DType) -> Array:
    """Integers from `low` up to, but not including, `high`."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    for name, value in (("from", low), ("to - 1", high - 1)):
        if dtype.kind in "iub":
            limit = np.iinfo(dtype) if dtype.kind != "b" else None
            if not (limit.min <= value <= limit.max if limit else 0 <= value <= 1):
                where = _C_NAMES.get(dtype.str[1:], dtype.name)
                raise RuntimeError(f"{name} is out of bounds for {where}")
        elif abs(value) > 1 << fraction_bits(dtype):
            bits = fraction_bits(dtype)
            warn(
                f"{name} is out of bounds [-(2^{bits}), 2^{bits}]. Due to precision limitations {dtype} can support "
                "discrete uniform distribution only within this range.",
                UserWarning,
            )
    with SHORTAGE_TOLD:
        wide = np.dtype(np.uint64 if dtype == "uint64" else np.int64)
        return cast(as_array(rng.integers(low, high - 1, shape, wide, endpoint=True)), dtype, copy=False)


def largest_exact(dtype: DType) -> int:
    """The largest integer up to which a dtype holds every one."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    return 1 if dtype.kind == "b" else 1 << fraction_bits(dtype)


def any_integer_array(rng: Any, shape: Shape, dtype: DType) -> Array:
    """Integers of all those that a dtype holds exactly, but for negative ones."""
    most = largest_exact(dtype)
    if most >= 1 << 32 or dtype.kind == "c":
        return integer_array(rng, 0, most + 1, shape, dtype)
    with SHORTAGE_TOLD:
        return cast(as_array(rng.integers(0, 1 << 32, shape, np.uint32) % (most + 1)), dtype)


def bernoulli_array(rng: Any, p: Any, shape: Shape, dtype: DType, laid_as: Array | None = None) -> Array:
    """1 with probability `p`, a number or an array, else 0; what is drawn may lie in memory as an array does."""
    if is_array(p):
        if backend_of(p).has_values and not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false: probabilities are in [0, 1]"
            )
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    if isinstance(rng, Mersenne) and not is_array(p) and dtype.char in "fd":
        return rng.choices(shape, dtype, float(p), 1.0)
    kind = np.float32 if is_array(p) and p.dtype != np.float64 else np.float64
    drawn = (
        rng.random(shape, kind)
        if laid_as is None
        else in_memory_order(lambda size: rng.random(size, kind), laid_as)
    )
    return cast(as_array(beside(drawn, p) < p), dtype)


def check_std(std: Any) -> None:
    """A standard deviation is not negative."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


# -- of a given size -----------------------------------------------------------------------------------------------


@public("rand")
def rand(
    *args: int | Sequence[int], size: int | Sequence[int] | None = None, generator: Generator | None = None,
    out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
    device: Device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers uniform on [0, 1), in the given size."""
    where = check_options(device, layout, pin_memory)
    shape = shape_from("rand", args, size)
    array = uniform_array(stream_of(generator, where), shape, dtype_for(dtype, out, get_default_dtype()))
    return finish(array, out, requires_grad, where)


@public("randn")
def randn(
    *args: int | Sequence[int], size: int | Sequence[int] | None = None, generator: Generator | None = None,
    out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
    device: Device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers with mean 0 and variance 1, in the given size."""
    where = check_options(device, layout, pin_memory)
    shape = shape_from("randn", args, size)
    array = normal_array(stream_of(generator, where), shape, dtype_for(dtype, out, get_default_dtype()))
    return finish(array, out, requires_grad, where)


@public("randint")
def randint(
    *args: int | Sequence[int], low: int | None = None, high: int | None = None,
    size: Sequence[int] | None = None, generator: Generator | None = None, out: Tensor | None = None,
    dtype: DType | None = None, layout: Any = None, device: Device | str | int | None = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`randint(high, size)` or `randint(low, high, size)`: integers from low (0) up to, but not including, high."""
    where = check_options(device, layout, pin_memory)
    bounds: list[Any] = list(args)
    given: Any = bounds.pop() if size is None and bounds else size
    if not isinstance(given, (tuple, list)):
        raise OperandError(f"randint(): argument 'size' must be tuple of ints, not {type_name(given)}")
    shape = shape_from("randint", (given,), None)
    first, last = _bounds("randint", bounds, low, high)
    wanted = dtype_for(dtype, out, np.dtype("int64"))
    array = integer_array(stream_of(generator, where), first, last, shape, wanted)
    return finish(array, out, requires_grad, where)


def _bounds(function: str, given: Sequence[Any], low: Any, high: Any) -> tuple[int, int]:
    """`(high)`, `(low, high)` and the keywords."""
    values = [v for v in (*given, low, high) if v is not None]
    if not 1 <= len(values) <= 2:
        raise TypeError(
            f"{function}() received an invalid combination of arguments: {len(values)} bounds. Write high, or low and "
            "high."
        )
    whole = [
        int_from(function, "high" if i == len(values) - 1 else "low", i + 1, v) for i, v in enumerate(values)
    ]
    return (0, whole[0]) if len(whole) == 1 else (whole[0], whole[1])


@public("randperm")
def randperm(
    n: int, *, generator: Generator | None = None, out: Tensor | None = None,
    dtype: DType | None = None, layout: Any = None, device: Device | str | int | None = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The integers from 0 to n - 1 in random order."""
    where = check_options(device, layout, pin_memory)
    (count,) = shape_from("randperm", (int_from("randperm", "n", 1, n),), None)
    wanted = dtype_for(dtype, out, np.dtype("int64"))
    if wanted.kind in "iu" and count and count - 1 > np.iinfo(wanted).max:
        raise RuntimeError(f"randperm: value cannot be converted to type {wanted} without overflow")
    if wanted.kind == "f" and count > (most := (1 << fraction_bits(wanted)) + 1):
        raise RuntimeError(f"n cannot be greater than {most} for {SCALAR_NAMES[wanted]} type.")
    with SHORTAGE_TOLD:
        array = cast(stream_of(generator, where).permutation(count), wanted)
    return finish(array, out, requires_grad, where)


def _laid_as(array: Array, drawn: Array) -> Array:
    """Numbers that lie in memory as an array does, which is overwritten; inside of vmap some for each sample."""
    if stands_for_many(drawn):
        return drawn
    array[...] = beside(drawn, array)
    return array


@public("rand_like")
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None,
    device: Device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Numbers uniform on [0, 1), in the shape and dtype of `input`."""
    array = like("rand_like", input, dtype, device, layout, pin_memory, memory_format)
    rng = stream_of(generator, device_of(array))
    drawn = in_memory_order(lambda shape: uniform_array(rng, shape, array.dtype), array)
    return leaf_like(input, _laid_as(array, drawn), requires_grad)


@public("randn_like")
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None,
    device: Device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Normal numbers with mean 0 and variance 1, in the shape and dtype of `input`."""
    array = like("randn_like", input, dtype, device, layout, pin_memory, memory_format)
    rng, rows = stream_of(generator, device_of(array)), lies_in_rows(array)
    drawn = in_memory_order(lambda shape: normal_array(rng, shape, array.dtype, rows), array)
    return leaf_like(input, _laid_as(array, drawn), requires_grad)


@public("randint_like")
def randint_like(
    input: Tensor, *args: int, low: int | None = None, high: int | None = None,
    generator: Generator | None = None, dtype: DType | None = None, layout: Any = None,
    device: Device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Integers from low (0) up to, but not including, high, in the shape and dtype of `input`."""
    first, last = _bounds("randint_like", args, low, high)
    array = like("randint_like", input, dtype, device, layout, pin_memory, memory_format)
    rng = stream_of(generator, device_of(array))
    drawn = in_memory_order(lambda shape: integer_array(rng, first, last, shape, array.dtype), array)
    return leaf_like(input, _laid_as(array, drawn), requires_grad)


# -- by parameters -------------------------------------------------------------------------------------------------


NormalMean = variant(Replaced, "NormalBackward1", "normal numbers around x")
NormalStd = variant(Replaced, "NormalBackward2", "normal numbers with deviation x")


class NormalBoth(Binary):
    """normal numbers around x with deviation y"""

    node_name = "NormalBackward3"
    params: ClassVar[tuple[str, ...]] = ("values",)
    array_params: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return self.values

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        return zero_like(g)

    def jvp(self, tx: Any, ty: Any, x: Any, y: Any, out: Any) -> Any:
        return zero_like(tx if ty is None else ty)


class Bernoulli(Replaced):
    """0 or 1, with probability x for 1"""


class Poisson(Replaced):
    """counts whose mean is x"""


class BinomialDraw(Binary):
    """counts of successes among x trials of probability y, which PyTorch does not differentiate"""

    params: ClassVar[tuple[str, ...]] = ("values",)
    array_params: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return self.values

    def vjp(self, i: int, g: Any, x: Any, y: Any, out: Any) -> Any:
        raise RuntimeError(
            "derivative for aten::binomial is not implemented: a count jumps where the probability moves. Detach the "
            "result, or work with its probability."
        )

    def name(self) -> str:
        return "torch::autograd::NotImplemented"


@public("normal")
def normal(
    mean: Tensor | float = 0.0, std: Tensor | float = 1.0, size: Sequence[int] | None = None, *,
    generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
    device: Device | str | int | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers: mean and deviation are tensors, or numbers (two numbers need a `size`)."""
    where = check_options(device, layout, pin_memory)
    if size is not None:
        mean, std = number_from("normal", "mean", 1, mean), number_from("normal", "std", 2, std)
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    if isinstance(std, Tensor) and std.array.dtype.kind == "c":
        raise DtypeError("normal expects standard deviation to be non-complex")
    rng = stream_of(generator, device_of(tensors[0].array) if tensors else where, *[t.array for t in tensors])
    if not tensors:
        if size is None:
            raise TypeError(
                "normal() received an invalid combination of arguments: two numbers need a size as well"
            )
        check_std(std)
        noise = normal_array(
            rng, shape_from("normal", (size,), None), dtype_for(dtype, out, get_default_dtype())
        )
        return finish(scale_noise(noise, mean, std), out, requires_grad, where)
    kind = tensors[0].array.dtype
    xp = common_backend([t.array for t in tensors])
    if isinstance(std, Tensor) and xp.has_values and std.array.size and not (std.array >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if not isinstance(std, Tensor):
        check_std(std)
    a, b = _bare(xp, mean, kind), _bare(xp, std, kind)
    try:
        shape = joint_shape(a.shape, b.shape)
    except ValueError:
        raise broadcast_error(a.shape, b.shape) from None
    values = scale_noise(beside(normal_array(rng, shape, kind), tensors[0].array), a, b)
    if len(tensors) == 2:
        return deliver(apply2(NormalBoth(values), mean, convert(tensors[1], kind)), out)
    op = NormalMean(values) if isinstance(mean, Tensor) else NormalStd(values)
    return deliver(apply1(op, tensors[0]), out)


def _bare(xp: Backend, v: Any, dtype: DType) -> Array:
    return cast(v.array, dtype, copy=False) if isinstance(v, Tensor) else xp.asarray(v, dtype)


def scale_noise(noise: Array, mean: Any, std: Any) -> Array:
    """`mean + std * noise` in the dtype of the noise; both parts of complex noise lie around a number."""
    if isinstance(mean, (int, float)) and mean == 0 and isinstance(std, (int, float)) and std == 1:
        return noise
    if noise.dtype.kind == "c" and isinstance(mean, (int, float)):
        mean = complex(mean, mean)
    return cast(as_array(noise * std + mean), noise.dtype, copy=False)


@public("bernoulli", method=True)
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 with the probability in each element of `input` (or with probability `p`), else 0."""
    x = require_tensor("bernoulli", "input", 1, input)
    if p is None and x.array.dtype.kind != "f":
        raise NotImplementedError(
            f"\"bernoulli_tensor_cpu_p_\" not implemented for '{SCALAR_NAMES[x.array.dtype]}'"
        )
    chances = x.array if p is None else number_from("bernoulli", "p", 2, p)
    dtype = x.array.dtype if out is None else out.array.dtype  # 0 and 1 are of every one
    values = bernoulli_array(stream_of(generator, device_of(x.array), x.array), chances, x.array.shape, dtype)
    return deliver(apply1(Bernoulli(beside(values, x.array)), x), out, told=False)


@public("poisson")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of events whose expected number is in each element of `input`."""
    x = require_tensor("poisson", "input", 1, input)
    if x.array.dtype.kind != "f":
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{SCALAR_NAMES[x.array.dtype]}'")
    if backend_of(x.array).has_values and not (x.array >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    drawn = stream_of(generator, device_of(x.array), x.array).poisson(x.array)
    found: Tensor = apply1(Poisson(beside(cast(as_array(drawn), x.array.dtype), x.array)), x)
    return found


@public("binomial")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`; both are tensors.

    >>> import retrograd as rg
    >>> rg.binomial(rg.tensor([5.0, 7.0]), rg.tensor([0.0, 1.0]))
    tensor([0., 7.])
    """
    n, p = require_tensor("binomial", "count", 1, count), require_tensor("binomial", "prob", 2, prob)
    for name, x in (("count", n), ("prob", p)):
        if x.array.dtype.kind != "f":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {SCALAR_NAMES[x.array.dtype]}"
            )
    xp = common_backend((n.array, p.array))
    try:
        trials, chance = xp.broadcast_arrays(n.array, p.array)
    except ValueError:
        raise broadcast_error(n.array.shape, p.array.shape) from None
    known = ~(xp.isnan(trials) | xp.isnan(chance))
    whole = xp.where(known, xp.maximum(trials, 0), 0)
    stream = stream_of(generator, device_of(n.array), n.array, p.array)
    drawn = stream.binomial(whole, xp.where(known, chance, 0).clip(0, 1))
    values = cast(xp.where(known, beside(drawn, n.array), np.nan), n.array.dtype)
    found: Tensor = apply2(BinomialDraw(beside(values, n.array)), n, p)
    return found


@public("multinomial", method=True)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with probabilities proportional to each row of `input`.

    >>> import retrograd as rg
    >>> rg.multinomial(rg.tensor([0.0, 3.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """
    p = require_tensor("multinomial", "input", 1, input).array
    if out is not None and out.array.dtype != np.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {SCALAR_NAMES[out.array.dtype]}")
    count = int_from("multinomial", "num_samples", 2, num_samples)
    _check_chances(p, count, replacement)
    if out is not None and out.array.dtype != np.int64:
        raise DtypeError(f"multinomial expects Long tensor out, got: {SCALAR_NAMES[out.array.dtype]}")
    xp = backend_of(p)
    rows = xp.atleast_2d(p).astype(np.float64)
    rng = stream_of(generator, device_of(p), p)
    if replacement and count > 1:
        steps = rows.cumsum(axis=1)
        with SHORTAGE_TOLD:
            draws = beside(rng.random((len(rows), count), rows.dtype), p) * steps[:, -1:]
        found = _intervals(xp, steps, draws)
    else:
        # Exponential waiting times: the first `count` to arrive are a sample without replacement.
        kind = np.float64 if p.dtype == np.float64 else np.float32
        drawn = in_memory_order(lambda shape: rng.standard_exponential(shape, kind), xp.atleast_2d(p))
        waits = beside(drawn, p)
        arrivals = xp.where(rows > 0, waits / xp.where(rows > 0, rows, 1), np.inf)
        found = xp.argsort(arrivals, axis=1, kind="stable")[:, :count]
    result = found.reshape((*p.shape[:-1], count)).astype(np.int64)
    return deliver(new_leaf(result), out, told=False)


def _intervals(xp: Backend, steps: Array, draws: Array) -> Array:
    """In which interval between the steps of its row each number lies."""
    if not xp.is_plain:
        return (steps[:, None, :] <= draws[:, :, None]).sum(axis=-1)
    found = np.empty(draws.shape, np.int64)
    for row, numbers, places in zip(steps, draws, found, strict=True):
        for begin in range(0, len(numbers), PIECE):
            look()
            places[begin : begin + PIECE] = row.searchsorted(numbers[begin : begin + PIECE], side="right")
    return found


def _check_chances(p: Array, count: int, replacement: bool) -> None:
    xp = backend_of(p)
    if p.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {p.ndim}")
    if p.dtype.kind != "f":
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {SCALAR_NAMES[p.dtype]}"
        )
    if count <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {count}")
    if not replacement and count > p.shape[-1]:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {count} of {p.shape[-1]}"
        )
    if p.shape[-1] > 2**24:
        raise RuntimeError(f"number of categories cannot exceed 2^24, but is {p.shape[-1]}")
    if not xp.has_values:
        return
    if not (xp.isfinite(p) & (p >= 0)).all():
        if replacement and count > 1:
            what = "= infinity or NaN" if (p >= 0).all() else "< 0"
            raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {what})")
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (p.sum(axis=-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
