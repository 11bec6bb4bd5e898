"""Norms of each sample by itself: LayerNorm, GroupNorm, RMSNorm, and the response norms."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.nn.tuples import repeated
from retrograd.ops.tensor.create import empty


class LocalResponseNorm(Module):
    """Makes each channel smaller where its neighbours are large.

    Args:
        size: how many neighbours count.
        alpha, beta, k: x / (k + alpha * mean of squares) ** beta.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """An older LocalResponseNorm, of images alone. The arguments are the same."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return super().forward(input)


class _Affine(Module):
    """What the other norms share: parameters that begin with ones and zeros, or are not there."""

    def _make(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            self.register_parameter(
                name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None
            )

    def reset_parameters(self) -> None:
        """Makes the scale 1 and the shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Normalises over the last dimensions: x less its mean, over its spread.

    Args:
        normalized_shape: the sizes of these dimensions, or of the one.
        eps: what is added to the variance.
        elementwise_affine: whether there is a scale, and a shift, for each element.
        bias: whether there is a shift.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> rg.nn.LayerNorm(2)(rg.tensor([[1.0, 3.0]])).detach().round()
    tensor([[-1.,  1.]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape: tuple[Any, ...] = repeated(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Normalises groups of channels of each sample.

    Args:
        num_groups: into how many groups the channels fall.
        num_channels: how many channels there are.
        eps: what is added to the variance.
        affine: whether there is a scale, and a shift, for each channel.
        device, dtype: of the parameters.
        bias: whether there is a shift.

    >>> import retrograd as rg
    >>> rg.nn.GroupNorm(2, 4)(rg.ones(1, 4, 3)).shape
    torch.Size([1, 4, 3])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make(num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divides by the root of the mean square over the last dimensions.

    Args:
        normalized_shape: the sizes of these dimensions, or of the one.
        eps: what is added to the mean square, by default the dtype's own.
        elementwise_affine: whether there is a scale for each element.
        device, dtype: of the parameter.

    >>> import retrograd as rg
    >>> rg.nn.RMSNorm(2)(rg.tensor([[3.0, 3.0]])).detach()
    tensor([[1., 1.]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape: tuple[Any, ...] = repeated(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = empty(self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if made is None else Parameter(made))
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """The normalised input."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
