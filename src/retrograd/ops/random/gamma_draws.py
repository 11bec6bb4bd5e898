"""Samples of the gamma and Dirichlet distributions that follow their parameters: PyTorch's implicit gradients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend, as_array, backend_of, device_of
from retrograd.backends.limits import finfo
from retrograd.core.apply import apply1, apply2, apply_n
from retrograd.core.families import ElementwiseUnary
from retrograd.core.op import OUT, Unary, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import unsupported_dtype
from retrograd.ops.common import beside, require_tensor
from retrograd.ops.random.generator import Generator, stream_of
from retrograd.ops.register import public
from retrograd.ops.special.real import RealBinary
from retrograd.ops.special.sample_slopes import beta_slope, gamma_slope
from retrograd.values import Array


class StandardGammaGrad(RealBinary):
    """how far a gamma sample y moves with its shape x; PyTorch does not differentiate it either"""

    kernel = "_standard_gamma_grad_cpu"

    def surface(self, xp: Backend, x: Array, y: Array) -> Array:
        return gamma_slope(xp, x, y)

    def slope(self, i: int, x: Any, y: Any, out: Any) -> Any:
        raise NotImplementedError(
            "the derivative for '_standard_gamma_grad' is not implemented: samples of a gamma distribution can be "
            "differentiated once."
        )


class StandardGamma(ElementwiseUnary):
    """numbers drawn from the gamma distribution with shape x, which move as the shape does"""

    keeps: ClassVar[int] = X | OUT
    params: ClassVar[tuple[str, ...]] = ("values",)
    array_params: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Backend, x: Array) -> Array:
        return self.values

    def slope(self, x: Any, out: Any) -> Any:
        return StandardGammaGrad().on(x, out)


class DirichletGrad(Variadic):
    """how far a part x of a Dirichlet sample moves with its own concentration y of z in all, over 1 - x"""

    elementwise: ClassVar[bool] = True
    any_shape: ClassVar[bool] = True

    def forward(self, xp: Backend, xs: Any) -> Any:
        dtype = xs[0].dtype
        if dtype.kind != "f":
            raise unsupported_dtype("_dirichlet_grad_cpu", dtype, "it takes real floating point tensors.")
        x, y, z = xp.broadcast_arrays(*[xp.asarray(v, np.float64) for v in xs])
        part, own, total = x.reshape(-1), y.reshape(-1), z.reshape(-1)
        rest = xp.where(part < 1, 1 - part, 1.0)
        return (beta_slope(xp, part, own, total - own) / rest).reshape(x.shape).astype(dtype, copy=False)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        raise NotImplementedError(
            "the derivative for '_dirichlet_grad' is not implemented: samples of a Dirichlet distribution can be "
            "differentiated once."
        )


class SampleDirichlet(Unary):
    """parts of a whole, drawn with concentrations x along the last dimension, which move as the concentrations do"""

    keeps: ClassVar[int] = X | OUT
    params: ClassVar[tuple[str, ...]] = ("values",)
    array_params: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Backend, x: Array) -> Array:
        return self.values

    def _moves(self, x: Any, out: Any) -> Any:
        return DirichletGrad().on(out, x, x.sum(axis=-1, keepdims=True))

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return self._moves(x, out) * (g - (out * g).sum(axis=-1, keepdims=True))

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        moved = self._moves(x, out) * t
        return moved - out * moved.sum(axis=-1, keepdims=True)


# -- functions -----------------------------------------------------------------------------------------------------


def _shapes(function: str, input: Tensor) -> Array:
    """The array of a tensor of shapes of the gamma distribution."""
    x = require_tensor(function, "input", 1, input).array
    if x.dtype.kind != "f":
        raise unsupported_dtype("gamma_cpu", x.dtype, "it takes real floating point tensors.")
    return x


def _gamma_array(xp: Backend, x: Array, generator: Generator | None) -> Array:
    """Drawn in double precision: with a small shape, most numbers are too small for another."""
    stream = stream_of(generator, device_of(x), x)
    return beside(as_array(stream.standard_gamma(xp.where(x > 0, x, 0.0).astype(np.float64))), x)


@public("_standard_gamma")
def standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers drawn from gamma distributions with these shapes and scale 1; gradients flow to the shapes.

    >>> import retrograd as rg
    >>> shape = rg.tensor([1e8], requires_grad=True)
    >>> rg._standard_gamma(shape).backward()
    >>> shape.grad.round(decimals=2)  # a large sample moves as its mean does
    tensor([1.])
    """
    x = _shapes("_standard_gamma", input)
    xp = backend_of(x)
    values = xp.maximum(_gamma_array(xp, x, generator).astype(x.dtype), finfo(x.dtype).tiny)
    found: Tensor = apply1(StandardGamma(values), input)
    return found


@public("_standard_gamma_grad")
def standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of samples `output` of gamma distributions by their shapes `input`."""
    require_tensor("_standard_gamma_grad", "input", 1, input)
    require_tensor("_standard_gamma_grad", "output", 2, output)
    found: Tensor = apply2(StandardGammaGrad(), input, output)
    return found


@public("_sample_dirichlet")
def sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Parts of a whole along the last dimension, drawn with these concentrations; gradients flow to them.

    >>> import retrograd as rg
    >>> rg._sample_dirichlet(rg.tensor([1e8, 3e8])).round(decimals=2)
    tensor([0.2500, 0.7500])
    """
    x = _shapes("_sample_dirichlet", input)
    xp = backend_of(x)
    drawn = xp.maximum(_gamma_array(xp, x, generator), np.finfo(np.float64).tiny)
    parts = drawn / drawn.sum(axis=-1, keepdims=True)
    limits = finfo(x.dtype)
    values = parts.clip(limits.tiny, 1 - limits.eps / 2).astype(x.dtype)
    found: Tensor = apply1(SampleDirichlet(values), input)
    return found


@public("_dirichlet_grad")
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of parts `x` of Dirichlet samples by their own concentrations `alpha`, over 1 - x."""
    for i, (name, value) in enumerate((("x", x), ("alpha", alpha), ("total", total))):
        require_tensor("_dirichlet_grad", name, i + 1, value)
    found: Tensor = apply_n(DirichletGrad(), [x, alpha, total])
    return found
