"""The frequencies of a Fourier transform, and spectra with frequency 0 at the start or in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backends.casts import cast, maker_of
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import as_dtype, get_default_dtype
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, unsupported_dtype
from retrograd.ops.common import int_from, number_from, require_tensor, wrap_dim
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import sizes_of
from retrograd.ops.shape.transpose import roll
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.ops.tensor.create import finish_row, shape_from
from retrograd.ops.tensor.data import check_options
from retrograd.values import Array, DType, Shape


def _frequencies(
    function: str, numbers: Array, n: int, d: Any, dtype: Any, out: Any, requires_grad: bool, where: Device
) -> Tensor:
    """Numbers of waves as frequencies, of `n` points at a distance `d`."""
    target = get_default_dtype() if dtype is None else as_dtype(dtype)
    if target.kind not in "fc":
        raise DtypeError(f"{function} requires a floating point or complex dtype")
    if target.kind == "c":
        raise unsupported_dtype("arange_cpu", target)
    width = n * number_from(f"fft_{function}", "d", 2, d)
    step = maker_of(target).asarray(np.inf if width == 0 else 1.0 / width, target)
    with np.errstate(invalid="ignore"):
        return finish_row(cast(numbers, target) * step, out, requires_grad, where, counted=True)


@public("fft.fftfreq")
def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of the elements of `fft` of `n` points at a distance `d`.

    >>> import retrograd as rg
    >>> rg.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    where = check_options(device, layout, False)
    count = shape_from("fft_fftfreq", (int_from("fft_fftfreq", "n", 1, n),), None)[0]
    with SHORTAGE_TOLD:
        numbers = np.fft.ifftshift(np.arange(count) - count // 2)
    return _frequencies("fftfreq", numbers, count, d, dtype, out, requires_grad, where)


@public("fft.rfftfreq")
def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of the elements of `rfft` of `n` points at a distance `d`.

    >>> import retrograd as rg
    >>> rg.fft.rfftfreq(4, d=0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """
    where = check_options(device, layout, False)
    count = int_from("fft_rfftfreq", "n", 1, n)
    with SHORTAGE_TOLD:
        half = count // 2 if count >= 0 else -(-count // 2)  # towards zero
        numbers = np.arange(shape_from("fft_rfftfreq", (half + 1,), None)[0])
    return _frequencies("rfftfreq", numbers, count, d, dtype, out, requires_grad, where)


def _shift(function: str, input: Any, dim: Any, numpy: dict[str, Any], extra: int) -> Tensor:
    x = require_tensor(f"fft_{function}", "input", 1, input)
    dim = numpy.pop("axis", dim)
    if numpy:
        raise TypeError(f"fft_{function}() got an unexpected keyword argument '{next(iter(numpy))}'")
    if dim is None:
        dims: Shape = tuple(range(x.array.ndim))
    else:
        listed = sizes_of(f"fft_{function}", "dim", (dim if isinstance(dim, (tuple, list)) else (dim,),))
        dims = tuple([wrap_dim(d, x.array.ndim) for d in listed])
    found: Tensor = roll(x, tuple([(x.array.shape[d] + extra) // 2 for d in dims]), dims)
    return found


@public("fft.fftshift")
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None, **numpy: Any) -> Tensor:
    """A spectrum with frequency 0 in the middle of each dimension in `dim`, all unless given.

    >>> import retrograd as rg
    >>> rg.fft.fftshift(rg.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shift("fftshift", input, dim, numpy, 0)


@public("fft.ifftshift")
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None, **numpy: Any) -> Tensor:
    """The inverse of `fftshift`."""
    return _shift("ifftshift", input, dim, numpy, 1)
