"""`make_tensor`: a tensor of random values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype
from retrograd.backends.limits import finfo, iinfo
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.random.sampling import randint
from retrograd.ops.tensor.create import empty
from retrograd.values import DType


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of values between `low` and `high`, each as likely as any other.

    Args:
        shape: sizes, or one sequence of them.
        dtype: of the tensor.
        device: where it lies.
        low, high: by default -9 and 9, or 0 and 9 for bytes; what the dtype cannot hold is left out.
        requires_grad: whether it gets a gradient.
        noncontiguous: whether its elements lie apart in memory.
        exclude_zero: whether zeros are replaced by the smallest number, or by 1.
        memory_format: how it lies in memory.

    >>> import retrograd as rg
    >>> t = rg.testing.make_tensor((2, 3), dtype=rg.int64, device="cpu", low=1, high=4)
    >>> t.shape, bool(((t >= 1) & (t < 4)).all())
    (torch.Size([2, 3]), True)
    """
    kind = as_dtype(dtype)
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if requires_grad and kind.kind not in "fc":
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype_of(kind)}"
        )
    lower, upper = _limits(kind, low, high)
    spread = noncontiguous and int(np.prod(sizes)) > 1
    made = _values((*sizes[:-1], 2 * sizes[-1]) if spread else sizes, kind, lower, upper, device)
    if spread:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = finfo(kind).tiny if kind.kind in "fc" else 1
    return made.requires_grad_(requires_grad)


def _limits(kind: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """The interval that values are drawn from: what was asked for, as far as the dtype goes."""
    lower = (0 if kind.kind in "bu" else -9) if low is None else low
    upper = (2 if kind.kind == "b" else 10 if kind.kind in "iu" else 9) if high is None else high
    if math.isnan(lower) or math.isnan(upper):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={lower} and high={upper}")
    if lower == upper and kind.kind in "fc":
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated: use "
            "`torch.full` for a tensor of one value.",
            FutureWarning,
        )
    elif lower >= upper:
        raise ValueError(f"`low` must be less than `high`, but got {lower} >= {upper}")
    least, most = _range(kind)
    if upper <= least or lower > most:
        end = "]" if kind.kind in "fc" else ")"
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{lower}, {upper}), "
            f"but {dtype_of(kind)} only supports [{least}, {most}{end}"
        )
    return max(lower, least), min(upper, most)


def _range(kind: Any) -> tuple[float, float]:
    """The least value of a dtype and the first beyond it; of a floating point one, the largest."""
    if kind.kind == "b":
        return 0, 2
    if kind.kind in "iu":
        return iinfo(kind).min, iinfo(kind).max + 1
    return finfo(kind).min, finfo(kind).max


def _values(sizes: tuple[int, ...], kind: Any, low: float, high: float, device: Any) -> Tensor:
    if kind.kind in "biu":
        made: Tensor = randint(math.ceil(low), math.ceil(high), sizes, device=device)
        return made.to(dtype_of(kind))
    if kind.kind == "c":
        part = np.dtype("float64" if kind.itemsize == 16 else "float32")
        made = _values((*sizes, 2), part, low, high, device)
        from retrograd.ops.elementwise.complex_numbers import view_as_complex

        return view_as_complex(made)
    made = empty(sizes, dtype=dtype_of(kind), device=device)
    if high - low >= finfo(kind).max:  # a wider range than uniform_ takes
        return made.uniform_(low / 2, high / 2).mul_(2)
    return made.uniform_(low, high)
