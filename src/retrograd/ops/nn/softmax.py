"""Softmax, its logarithm and softmin."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend, backend_of
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting_on_gpu, in_float32
from retrograd.core.families import Symmetric
from retrograd.core.op import OUT, Unary
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.common import deliver_exact, require_tensor
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.nn.activation import unsupported
from retrograd.ops.reduce.running_sums import one_dim
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import convert
from retrograd.values import Array, DType


def nothing_of(kernel: str, x: Array) -> Array:
    """The result where there are no elements, which PyTorch gives for any dtype."""
    if x.size:
        raise unsupported(kernel, x)
    return x.copy()


class Softmax(Symmetric):
    """exp(x) / sum(exp(x)) along an axis"""

    in_rows: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT
    params: ClassVar[tuple[str, ...]] = ("axis",)
    shown: ClassVar[dict[str, str]] = {"dim": "axis"}

    def __init__(self, axis: int | None) -> None:
        self.axis = axis

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            return nothing_of("softmax_lastdim_kernel_impl", x)
        return xp.softmax(x, self.axis)

    def product(self, v: Any, x: Any, out: Any) -> Any:
        return backend_of(v).softmax_backward(self, v, out)

    def formula(self, v: Any, out: Any) -> Any:
        """The Jacobian times `v`."""
        weighted = v * out
        return weighted - out * weighted.sum(axis=self.axis, keepdims=True)


class LogSoftmax(Unary):
    """log(softmax(x)), without overflow"""

    in_rows: ClassVar[bool] = True
    keeps: ClassVar[int] = OUT
    params: ClassVar[tuple[str, ...]] = ("axis",)
    shown: ClassVar[dict[str, str]] = {"dim": "axis"}

    def __init__(self, axis: int | None) -> None:
        self.axis = axis

    def forward(self, xp: Backend, x: Array) -> Array:
        if x.dtype.kind != "f":
            return nothing_of("log_softmax_lastdim_kernel_impl", x)
        return xp.log_softmax(x, self.axis)

    def vjp(self, g: Any, x: Any, out: Any) -> Any:
        return backend_of(g).log_softmax_backward(self, g, out)

    def formula(self, g: Any, out: Any) -> Any:
        """The gradient of x."""
        return g - Exp().on(out) * g.sum(axis=self.axis, keepdims=True)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return t - (Exp().on(out) * t).sum(axis=self.axis, keepdims=True)


# -- functions -----------------------------------------------------------------------------------------------------


@public("softmax", "special.softmax", method=True)
def softmax(
    input: Tensor,
    dim: int | None = None,
    dtype: DType | None = None,
    *,
    out: Tensor | None = None,
    **numpy: int | None,
) -> Tensor:
    """`exp(input) / sum(exp(input))` along `dim`: positive numbers that sum to 1.

    Args:
        dtype: convert to this dtype first.

    >>> import retrograd as rg
    >>> rg.softmax(rg.tensor([1.0, 1.0, 1.0, 1.0]), dim=0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    if dtype is None and out is None and autocasting_on_gpu(input):
        return in_float32(softmax, input, dim, **numpy)
    x, axis = _softmax_operand("softmax", input, dim, dtype, numpy)
    found: Tensor = deliver_exact(apply1(Softmax(axis), x), out)
    return found


@public("log_softmax", "special.log_softmax", method=True)
def log_softmax(
    input: Tensor,
    dim: int | None = None,
    dtype: DType | None = None,
    *,
    out: Tensor | None = None,
    **numpy: int | None,
) -> Tensor:
    """`log(softmax(input))` along `dim`, without overflow."""
    if dtype is None and out is None and autocasting_on_gpu(input):
        return in_float32(log_softmax, input, dim, **numpy)
    x, axis = _softmax_operand("log_softmax", input, dim, dtype, numpy)
    found: Tensor = deliver_exact(apply1(LogSoftmax(axis), x), out)
    return found


def _softmax_operand(
    function: str, input: Any, dim: Any, dtype: Any, numpy: dict[str, Any]
) -> tuple[Tensor, int | None]:
    x = require_tensor(function, "input", 1, input)
    if dim is None and "axis" not in numpy:
        raise TypeError(f'{function}() missing 1 required positional arguments: "dim"')
    axis = one_dim(function, dim, x.array.ndim, numpy)
    return x if dtype is None else convert(x, dtype), axis if x.array.ndim else None


@public("nn.functional.softmax")
def functional_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """`softmax` as `nn.functional` has it: without `dim` it guesses one, and warns."""
    return softmax(input, _implicit_dim("softmax", input, dim), dtype)


@public("nn.functional.log_softmax")
def functional_log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """`log_softmax` as `nn.functional` has it: without `dim` it guesses one, and warns."""
    return log_softmax(input, _implicit_dim("log_softmax", input, dim), dtype)


@public("nn.functional.softmin")
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """`softmax(-input)`: the smallest elements weigh most."""
    x = require_tensor("softmin", "input", 1, input)
    return softmax(-x, _implicit_dim("softmin", x, dim), dtype)


def _implicit_dim(function: str, input: Any, dim: int | None) -> int:
    """The dimension that was said, or the one of the old rule."""
    return softmax_dim(function, input.ndim) if dim is None else dim


def softmax_dim(function: str, ndim: int) -> int:
    """The dimension that PyTorch's old rule would choose, with a warning."""
    warn(
        f"Implicit dimension choice for {function} has been deprecated. Change the call to include dim=X as an "
        "argument.",
        UserWarning,
    )
    return 0 if ndim in (0, 1, 3) else 1
