"""Instance norm: each channel of each sample less its mean, over its spread."""

from __future__ import annotations

from typing import Any

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    dims: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(
                f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)"
            )

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        self._check_input_dim(input)
        dim = input.dim() - self.dims - 1
        if input.shape[dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.shape[dim]}."
                )
            warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
                UserWarning,
            )
        if dim == 0:
            return self._normalised(input.unsqueeze(0)).squeeze(0)
        return self._normalised(input)

    def _normalised(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each signal: (N, C, L) or (C, L).

    Args:
        num_features: C.
        eps: what is added to the variance.
        momentum: how far running statistics move with each batch.
        affine: whether there is a scale, and a shift, for each channel.
        track_running_stats: whether there are running statistics, which take the place of the sample's in evaluation.
        device, dtype: of parameters and buffers.
        bias: whether there is a shift.

    >>> import retrograd as rg
    >>> rg.nn.InstanceNorm1d(1)(rg.tensor([[[1.0, 3.0]]])).round()
    tensor([[[-1.,  1.]]])
    """

    dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each image: (N, C, H, W) or (C, H, W). The arguments are those of InstanceNorm1d."""

    dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each volume. The arguments are those of InstanceNorm1d."""

    dims = 3


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm1d that learns `num_features` from its first input."""

    dims = 1
    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm2d that learns `num_features` from its first input."""

    dims = 2
    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm3d that learns `num_features` from its first input."""

    dims = 3
    cls_to_become = InstanceNorm3d
