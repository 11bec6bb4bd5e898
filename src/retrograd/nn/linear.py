"""Linear maps: Linear, Bilinear, and Identity."""

from __future__ import annotations

import math
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.lazy_modules import LazyModuleMixin
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter, UninitializedParameter
from retrograd.ops.tensor.create import empty


class Identity(Module):
    """Gives its input as it is; arguments are ignored, so that it can stand in for any layer.

    >>> import retrograd as rg
    >>> rg.nn.Identity(54, unused=True)(rg.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """A linear map and a shift: `input @ weight.T + bias`.

    Args:
        in_features: the size of the last dimension of the input.
        out_features: that of the output.
        bias: whether there is a shift.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> layer = rg.nn.Linear(3, 2)
    >>> layer(rg.ones(5, 3)).shape, layer
    (torch.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    in_features: int
    out_features: int
    weight: Tensor
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values, uniform within 1 over the root of `in_features`."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The output for an input."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear: PyTorch's attention has this class for its output."""


class Bilinear(Module):
    """A number for each pair of features of two inputs: `input1 @ weight[k] @ input2 + bias[k]`.

    Args:
        in1_features, in2_features: the sizes of the last dimensions of the inputs.
        out_features: that of the output.
        bias: whether there is a shift.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> rg.nn.Bilinear(2, 3, 4)(rg.ones(5, 2), rg.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight: Any = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias: Any = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values, uniform within 1 over the root of `in1_features`."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The output for two inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that learns `in_features` from its first input.

    Args:
        out_features: the size of the last dimension of the output.
        bias: whether there is a shift.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> layer = rg.nn.LazyLinear(2)
    >>> _ = layer(rg.ones(1, 7)); layer
    Linear(in_features=7, out_features=2, bias=True)
    """

    out_features: int
    in_features: int

    cls_to_become = Linear
    weight: UninitializedParameter

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias: Any = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new initial values, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Takes `in_features` from an input."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:  # the shapes came from a state dict
            self.in_features = input.shape[-1]
            self.out_features = self.weight.shape[0]
