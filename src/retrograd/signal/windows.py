"""Windows of a signal, under the names of `torch.signal.windows`.

Unlike the older `hann_window` and its kin these are symmetric unless `sym=False` asks for a period: one point more,
without the last. They are computed in double precision, and are float32 or float64.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from retrograd.backends.casts import cast
from retrograd.backends.dtypes import as_dtype, get_default_dtype
from retrograd.backends.layout_class import strided
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.tensor import Tensor
from retrograd.ops.common import int_from, number_from
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.ops.tensor.create import finish
from retrograd.ops.tensor.data import check_options
from retrograd.values import Array, DType

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


class _Window:
    """What all windows are asked for: how many points there are, and of what kind the result is."""

    def __init__(
        self, function: str, M: int, sym: bool, dtype: Any, layout: Any, device: Any, grad: bool
    ) -> None:
        self.dtype: DType = get_default_dtype() if dtype is None else as_dtype(dtype)
        M = int_from(function, "M", 1, M)
        if M < 0:
            raise ValueError(f"{function} requires non-negative window length, got M={M}")
        if layout is not None and layout is not strided:
            raise ValueError(f"{function} is implemented for strided tensors only, got: {layout}")
        if self.dtype.kind != "f" or self.dtype.itemsize < 4:
            raise ValueError(f"{function} expects float32 or float64 dtypes, got: torch.{self.dtype.name}")
        self.where = check_options(device, layout, False)
        self.requires_grad = grad
        self.length = M
        self.count = M if sym or M < 2 else M + 1  # of the points of a whole window

    def places(self) -> Array:
        """The numbers of the points."""
        with SHORTAGE_TOLD:
            return np.arange(self.length, dtype=np.float64)

    def middle(self) -> Array:
        """How far each point is from the middle."""
        return self.places() - (self.count - 1) / 2

    def shares(self) -> Array:
        """Where each point is, from 0 at one end of the window to 1 at the other."""
        return self.places() / (self.count - 1) if self.count > 1 else np.full(self.length, 0.5)

    def filled(self, values: Array) -> Tensor:
        ones = np.ones(1) if self.length == 1 else values
        return finish(cast(ones, self.dtype), None, self.requires_grad, self.where)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: DType | None = None,
    layout: object = None, device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Falls off from `center` (the middle) to both sides by a factor e in `tau` points."""
    window = _Window("exponential", M, sym, dtype, layout, device, requires_grad)
    tau = number_from("exponential", "tau", 3, tau)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    at = None if center is None else number_from("exponential", "center", 2, center)
    away = window.middle() if at is None else window.places() - at
    return window.filled(np.exp(-np.abs(away) / tau))


def cosine(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: object = None, device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Half a wave."""
    window = _Window("cosine", M, sym, dtype, layout, device, requires_grad)
    return window.filled(np.sin(np.pi * (window.places() + 0.5) / max(window.count, 1)))


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The bell of a normal distribution with standard deviation `std`, 1 in the middle."""
    window = _Window("gaussian", M, sym, dtype, layout, device, requires_grad)
    std = number_from("gaussian", "std", 2, std)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return window.filled(np.exp(-0.5 * (window.middle() / std) ** 2))


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A Bessel function's bell, the narrower the larger `beta`."""
    window = _Window("kaiser", M, sym, dtype, layout, device, requires_grad)
    beta = number_from("kaiser", "beta", 2, beta)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    inside = np.maximum(1 - (2 * window.shares() - 1) ** 2, 0)
    return window.filled(np.i0(beta * np.sqrt(inside)) / np.i0(beta))


def hamming(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: object = None, device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine that is 0.08 at its ends."""
    _Window("hamming", M, sym, dtype, layout, device, requires_grad)
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: object = None, device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine that is 0 at its ends.

    >>> from retrograd.signal.windows import hann
    >>> hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    _Window("hann", M, sym, dtype, layout, device, requires_grad)
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: object = None, device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Three cosines, 0 at the ends."""
    _Window("blackman", M, sym, dtype, layout, device, requires_grad)
    return general_cosine(
        M,
        a=(0.42, 0.5, 0.08),
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def bartlett(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: object = None, device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A triangle that is 0 at its ends."""
    window = _Window("bartlett", M, sym, dtype, layout, device, requires_grad)
    return window.filled(1 - np.abs(2 * window.shares() - 1))


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Cosines of 0, 1, 2, … periods with the weights `a`, the signs taking turns."""
    window = _Window("general_cosine", M, sym, dtype, layout, device, requires_grad)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = [float(weight) for weight in a]
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    at = 2 * np.pi * window.shares()
    values = np.zeros(window.length)
    for i, weight in enumerate(weights):
        values += (-1) ** i * weight * np.cos(i * at)
    return window.filled(values)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine: `alpha` minus `1 - alpha` times a cosine of one period."""
    return general_cosine(
        M,
        a=(alpha, 1 - alpha),
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def nuttall(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: object = None, device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Four cosines with the weights of Nuttall."""
    return general_cosine(
        M, a=(0.3635819, 0.4891775, 0.1365995, 0.0106411), sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip
