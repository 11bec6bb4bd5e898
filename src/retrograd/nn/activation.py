"""Activations: functions of each element, or of the elements along a dimension."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init as initial
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.tensor.create import empty


class _InPlace(Module):
    """An activation that may write into its input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """What is printed of it."""
        return "inplace=True" if self.inplace else ""

    def _with_inplace(self, text: str) -> str:
        return f"{text}, inplace=True" if self.inplace else text


class Threshold(_InPlace):
    """The input where it is above a threshold, and a value elsewhere.

    Args:
        threshold: what an element must be above.
        value: what the others become.
        inplace: whether the input is written into.

    >>> import retrograd as rg
    >>> rg.nn.Threshold(1.0, 9.0)(rg.tensor([0.5, 2.0]))
    tensor([9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return self._with_inplace(f"threshold={self.threshold}, value={self.value}")


class ReLU(_InPlace):
    """max(0, x).

    >>> import retrograd as rg
    >>> rg.nn.ReLU()(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.relu(input, self.inplace)


class RReLU(_InPlace):
    """x where it is positive; x times a random slope elsewhere, the mean slope when not training.

    Args:
        lower, upper: between which the slopes are.
        inplace: whether the input is written into.
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return self._with_inplace(f"lower={self.lower}, upper={self.upper}")


class Hardtanh(_InPlace):
    """x between two values, and these elsewhere.

    >>> import retrograd as rg
    >>> rg.nn.Hardtanh()(rg.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning)
        self.min_val: float = min_val if min_value is None else min_value
        self.max_val: float = max_val if max_value is None else max_value
        if not self.max_val > self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return self._with_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.sigmoid(input)


class Hardsigmoid(_InPlace):
    """x / 6 + 1 / 2, between 0 and 1."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing."""
        return ""


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.tanh(input)


class SiLU(_InPlace):
    """x times its sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x))."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.mish(input, self.inplace)


class Hardswish(_InPlace):
    """x times its hard sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing."""
        return ""


class ELU(_InPlace):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return self._with_inplace(f"alpha={self.alpha}")


class CELU(_InPlace):
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return self._with_inplace(f"alpha={self.alpha}")


class SELU(_InPlace):
    """ELU with the two constants that keep mean and spread from layer to layer."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.selu(input, self.inplace)


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The product."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"dim={self.dim}"


class GELU(Module):
    """x times the share of the normal distribution below x.

    Args:
        approximate: "none", or "tanh" for a formula that is quicker and nearly the same.

    >>> import retrograd as rg
    >>> rg.nn.GELU()(rg.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """x, and 0 where it is within `lambd` of 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"{self.lambd}"


class LeakyReLU(_InPlace):
    """x where it is positive, x times a small slope elsewhere."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return self._with_inplace(f"negative_slope={self.negative_slope}")


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x where beta * x is above a threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """x, nearer to 0 by `lambd`, and 0 where it is within that."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"{self.lambd}"


class PReLU(Module):
    """x where it is positive, x times a slope that is learned elsewhere.

    Args:
        num_parameters: 1, or the number of channels: a slope for each.
        init: the first value of the slopes.
        device, dtype: of the slopes.

    >>> import retrograd as rg
    >>> rg.nn.PReLU(init=0.5)(rg.tensor([-2.0, 3.0]))
    tensor([-1.,  3.], grad_fn=<PreluKernelBackward0>)
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight: Any = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Gives the slopes their first value again."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """x / (1 + abs(x))."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.tanhshrink(input)


class _AlongDim(Module):
    """A function of the elements along a dimension."""

    dim: int | None
    _added_later: ClassVar[dict[str, Any]] = {"dim": None}

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """The softmax of -x along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """The weights, whose sum is 1."""
        return F.softmin(input, self.dim)


class Softmax(_AlongDim):
    """exp(x) over its sum along a dimension.

    >>> import retrograd as rg
    >>> rg.nn.Softmax(dim=0)(rg.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The weights, whose sum is 1."""
        return F.softmax(input, self.dim)


class Softmax2d(Module):
    """The softmax over the channels of images."""

    def forward(self, input: Tensor) -> Tensor:
        """The weights, whose sum over the channels is 1."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        """The logarithms of the weights."""
        return F.log_softmax(input, self.dim)
