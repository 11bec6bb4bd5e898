"""Batch norm: each channel less its mean over the batch, over its spread; with running statistics for evaluation."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.nn import init
from retrograd.nn.lazy_modules import LazyModuleMixin
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from retrograd.ops.nn.batch_norm import functional_batch_norm
from retrograd.ops.tensor.create import empty, ones, zeros
from retrograd.ops.tensor.data import tensor


class _NormBase(Module):
    """What batch norm and instance norm share: scale and shift, and running statistics."""

    _version = 2
    num_features: int
    affine: bool
    momentum: float | None
    track_running_stats: bool
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)
        tracked = track_running_stats
        self.register_buffer(
            "running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None
        )
        self.register_buffer(
            "running_var", ones(num_features, device=device, dtype=dtype) if tracked else None
        )
        self.register_buffer("num_batches_tracked", tensor(0, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets the running statistics: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Makes the scale 1 and the shift 0, and forgets the running statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say which inputs it takes")

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any) -> None:
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked  # what version 1 did not save
            state_dict[key] = tensor(0) if own is None or own.device.type == "meta" else own
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """The normalised input; while training, the running statistics move towards those of the batch."""
        self._check_input_dim(input)
        training, mean, var = self.training, self.running_mean, self.running_var
        if training and not self.track_running_stats:
            mean = var = None
        return functional_batch_norm(
            input,
            mean,
            var,
            self.weight,
            self.bias,
            training or (mean is None and var is None),
            self._count_batch() if training else self.momentum or 0.0,
            self.eps,
        )

    def _count_batch(self) -> float:
        """Counts a batch of training; how far the running statistics move with it."""
        count, momentum = self.num_batches_tracked, self.momentum
        if self.track_running_stats and count is not None:
            count.add_(1)
            if momentum is None:  # the mean of all batches so far
                momentum = 1.0 / float(count)
        return momentum or 0.0


class BatchNorm1d(_BatchNorm):
    """Normalises each of C features over a batch: (N, C) or (N, C, L).

    Args:
        num_features: C.
        eps: what is added to the variance.
        momentum: how far running statistics move with each batch; None gives the mean of all batches.
        affine: whether there is a scale, and a shift, for each feature.
        track_running_stats: whether there are running statistics, which take the place of the batch's in evaluation.
        device, dtype: of parameters and buffers.
        bias: whether there is a shift.

    >>> import retrograd as rg
    >>> layer = rg.nn.BatchNorm1d(2, affine=False)
    >>> layer(rg.tensor([[0.0, 1.0], [2.0, 5.0]])).round(), layer.running_mean
    (tensor([[-1., -1.],
            [ 1.,  1.]]), tensor([0.1000, 0.3000]))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of images over a batch: (N, C, H, W). The arguments are those of BatchNorm1d.

    >>> import retrograd as rg
    >>> rg.nn.BatchNorm2d(3)(rg.zeros(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of volumes over a batch: (N, C, D, H, W). The arguments are those of BatchNorm1d."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A norm that learns `num_features` from its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=bias)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight: Any = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias: Any = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean: Tensor | None = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var: Tensor | None = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked: Tensor = tensor(0, device=device)

    def reset_parameters(self) -> None:
        """Sets the first values, once there are shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Takes `num_features` from an input."""
        if not self.has_uninitialized_params():
            return
        self.num_features: int = input.shape[1]
        lazy: tuple[Any, ...] = (self.weight, self.bias, self.running_mean, self.running_var)
        for held in lazy:
            if held is not None:
                held.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d that learns `num_features` from its first input."""

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d that learns `num_features` from its first input."""

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d that learns `num_features` from its first input."""

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim
