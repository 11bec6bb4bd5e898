"""In-place writes that are more than a method and a move: comparisons, logic, activations; functions like `exp_`."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply1, apply_n
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import current
from retrograd.core.op import Linear, Unary, Variadic
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError
from retrograd.ops.common import as_value, require_tensor, zero_like
from retrograd.ops.inplace.methods import Replaced
from retrograd.ops.nn.activation import (
    SELU_ALPHA,
    SELU_SCALE,
    Celu,
    Elu,
    LeakyRelu,
    Threshold,
    dropout,
    hardtanh,
    relu,
)
from retrograd.values import Array

# -- comparisons and logic -----------------------------------------------------------------------------------------


class ReplacedByBoth(Variadic):
    """Given values in place of x, which come of x and y; neither gets a gradient but zeros."""

    params = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Any, xs: Any) -> Any:
        return self.values

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return [zero_like(gs[0]) if self.needs(i) else None for i in range(2)]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        given = next(t for t in ts if t is not None)
        return as_value(np.zeros(self.values.shape, given.dtype), given)


class EqNumber(Replaced):
    """1 where x equals a number, else 0"""

    node_name = "EqBackward0"


class NeNumber(Replaced):
    """1 where x differs from a number, else 0"""

    node_name = "NeBackward0"


class LtNumber(Replaced):
    """1 where x is below a number, else 0"""

    node_name = "LtBackward0"


class LeNumber(Replaced):
    """1 where x is not above a number, else 0"""

    node_name = "LeBackward0"


class GtNumber(Replaced):
    """1 where x is above a number, else 0"""

    node_name = "GtBackward0"


class GeNumber(Replaced):
    """1 where x is not below a number, else 0"""

    node_name = "GeBackward0"


class EqTensor(ReplacedByBoth):
    """1 where x equals y, else 0"""

    node_name = "EqBackward1"


class NeTensor(ReplacedByBoth):
    """1 where x differs from y, else 0"""

    node_name = "NeBackward1"


class LtTensor(ReplacedByBoth):
    """1 where x is below y, else 0"""

    node_name = "LtBackward1"


class LeTensor(ReplacedByBoth):
    """1 where x is not above y, else 0"""

    node_name = "LeBackward1"


class GtTensor(ReplacedByBoth):
    """1 where x is above y, else 0"""

    node_name = "GtBackward1"


class GeTensor(ReplacedByBoth):
    """1 where x is not below y, else 0"""

    node_name = "GeBackward1"


COMPARISONS: dict[str, tuple[Any, Any]] = {
    "eq": (EqNumber, EqTensor), "ne": (NeNumber, NeTensor), "not_equal": (NeNumber, NeTensor),
    "lt": (LtNumber, LtTensor), "less": (LtNumber, LtTensor), "le": (LeNumber, LeTensor),
    "less_equal": (LeNumber, LeTensor), "gt": (GtNumber, GtTensor), "greater": (GtNumber, GtTensor),
    "ge": (GeNumber, GeTensor), "greater_equal": (GeNumber, GeTensor),
}  # fmt: skip


def _comparison(name: str) -> Any:
    """The in-place form of a comparison: ones and zeros in the dtype of the tensor."""
    with_number, with_tensor = COMPARISONS[name]

    def method(self: Any, other: Any) -> Any:
        x: Any = require_tensor(f"{name}_", "input", 1, self)
        check_writable(x)
        result = getattr(x, name)(other)
        tracked = x.requires_grad or (isinstance(other, Tensor) and other.requires_grad)
        if result.array.shape == x.array.shape and tracked and current().grad_enabled:
            values = result.array.astype(x.array.dtype)
            if isinstance(other, Tensor):
                result = apply_n(with_tensor(values), (x, other))
            else:
                result = apply1(with_number(values), x)
        return write_back(x, result)

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"`{name}`, in place: ones and zeros."
    return method


def _untracked(name: str) -> Any:
    """The in-place form of a method whose result autograd takes no notice of: even a leaf can be written so."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        x = require_tensor(f"{name}_", "input", 1, self)
        state = current()
        was_enabled, state.grad_enabled = state.grad_enabled, False
        try:
            check_writable(x)
            return write_back(x, getattr(x, name)(*args, **kwargs))
        finally:
            state.grad_enabled = was_enabled

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"`{name}`, in place; the history stays as it is."
    return method


UNTRACKED_NAMES = ("logical_not", "logical_and", "logical_or", "logical_xor")


# -- powers and conjugates -----------------------------------------------------------------------------------------


class ConjPhysicalInPlace(Linear):
    """the complex conjugate, in its own memory"""

    node_name = "ConjPhysicalBackward1"

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.conjugate(x) if x.dtype.kind == "c" else x.copy()

    def transpose(self, g: Any) -> Any:
        return g.conj()


def conj_physical_(self: Any) -> Tensor:
    """The complex conjugate, in place."""
    x = require_tensor("conj_physical_", "input", 1, self)
    check_writable(x, stretched=True)
    return write_back(x, apply1(ConjPhysicalInPlace(), x))


def float_power_(self: Any, exponent: Any) -> Any:
    """`float_power`, in place: only what is float64 or complex128 already can hold the result."""
    x: Any = require_tensor("float_power_", "input", 1, self)
    kinds = [x.array.dtype.kind] + ([exponent.array.dtype.kind] if isinstance(exponent, Tensor) else [])
    is_complex = "c" in kinds or isinstance(exponent, complex)
    wanted = np.dtype("complex128" if is_complex else "float64")
    if x.array.dtype != wanted:
        raise DtypeError(
            f"the base given to float_power_ has dtype {SCALAR_NAMES[x.array.dtype]} but the operation's result "
            f"requires dtype {SCALAR_NAMES[wanted]}"
        )
    return x.pow_(exponent.to(wanted) if isinstance(exponent, Tensor) else exponent)


# -- activations ---------------------------------------------------------------------------------------------------


class EluInPlace(Elu):
    """Elu, in its own memory"""

    node_name = "EluBackward1"


class CeluInPlace(Celu):
    """Celu, in its own memory"""

    node_name = "CeluBackward1"


class LeakyReluInPlace(LeakyRelu):
    """LeakyRelu, in its own memory"""

    node_name = "LeakyReluBackward1"


class ThresholdInPlace(Threshold):
    """Threshold, in its own memory"""

    node_name = "ThresholdBackward1"


def _written(function: str, op: Unary, input: Any) -> Any:
    x = require_tensor(function, "input", 1, input)
    check_writable(x)
    return write_back(x, apply1(op, x))


def relu_(input: Any) -> Any:
    """`relu`, in place."""
    return relu(input, inplace=True)


def elu_(input: Any, alpha: float = 1.0) -> Any:
    """`elu`, in place."""
    return _written("elu_", EluInPlace(alpha), input)


def selu_(input: Any) -> Any:
    """`selu`, in place."""
    return _written("selu_", EluInPlace(SELU_ALPHA, SELU_SCALE), input)


def celu_(input: Any, alpha: float = 1.0) -> Any:
    """`celu`, in place."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _written("celu_", CeluInPlace(alpha), input)


def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:
    """`leaky_relu`, in place."""
    return _written("leaky_relu_", LeakyReluInPlace(negative_slope), input)


def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """`hardtanh`, in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """`threshold`, in place."""
    return _written("threshold_", ThresholdInPlace(threshold, value), input)


def dropout_(input: Any, p: float, train: bool) -> Any:
    """`dropout`, in place."""
    return dropout(input, p, train, inplace=True)


FUNCTIONS: tuple[Any, ...] = ()
NOT_METHODS: tuple[Any, ...] = (selu_, celu_, threshold_, dropout_)
METHODS: dict[str, Any] = {
    **{f"{name}_": _comparison(name) for name in COMPARISONS},
    **{f"{name}_": _untracked(name) for name in UNTRACKED_NAMES},
    "conj_physical_": conj_physical_,
    "float_power_": float_power_,
}
FUNCTIONAL: dict[str, Any] = {
    "relu_": relu_, "elu_": elu_, "selu_": selu_, "celu_": celu_, "leaky_relu_": leaky_relu_, "hardtanh_": hardtanh_,
    "threshold_": threshold_,
}  # fmt: skip

# In-place methods that PyTorch also has as functions: `torch.exp_(t)` is `t.exp_()`. Those that exist here are offered.
METHODS_AS_FUNCTIONS = (
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_",
    "as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_",
    "conj_physical_", "cos_", "cosh_", "deg2rad_", "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_",
    "fill_", "fix_", "floor_", "frac_", "gcd_", "i0_", "index_put_", "lcm_", "ldexp_", "log10_", "log1p_",
    "log2_", "log_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_",
    "resize_as_", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_",
    "trunc_", "xlogy_", "zero_",
)  # fmt: skip
