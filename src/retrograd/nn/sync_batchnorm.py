"""SyncBatchNorm: batch norm over the batches of all ranks together."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.function import Function
from retrograd.autograd.once import once_differentiable
from retrograd.core.tensor import Tensor
from retrograd.distributed.groups import default_group, is_initialized
from retrograd.distributed.movements import all_gather_into_tensor
from retrograd.distributed.reductions import all_reduce
from retrograd.nn.batchnorm import _BatchNorm
from retrograd.nn.module import Module
from retrograd.ops.shape.join import cat
from retrograd.ops.tensor.create import empty, full


class SyncBatchNorm(_BatchNorm):
    """Normalises each channel over the batches of all ranks: (N, C, ...), where N may differ between ranks.

    In evaluation, with one rank, and without a process group it is BatchNorm. It works on CPUs too.

    Args:
        num_features, eps, momentum, affine, track_running_stats, device, dtype, bias: as in BatchNorm1d.
        process_group: the ranks whose batches are taken together; all if None.

    >>> import retrograd as rg
    >>> model = rg.nn.Sequential(rg.nn.Conv2d(1, 4, 3), rg.nn.BatchNorm2d(4))
    >>> rg.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
    SyncBatchNorm(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input; while training, the running statistics move towards those of all ranks."""
        self._check_input_dim(input)
        batch_counts = self.training or (self.running_mean is None and self.running_var is None)
        if not (batch_counts and self.training and is_initialized()):
            return super().forward(input)
        group = self.process_group or default_group()
        if group.size() == 1:
            return super().forward(input)
        running = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        result: Tensor = _Normalise.apply(
            input, self.weight, self.bias, *running, self.eps, self._count_batch(), group
        )
        return result

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with all its BatchNorm layers made SyncBatchNorm ones, which share parameters and buffers."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls._converted(module, process_group)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

    @classmethod
    def _converted(cls, layer: _BatchNorm, process_group: Any) -> SyncBatchNorm:
        made = SyncBatchNorm(
            layer.num_features,
            layer.eps,
            layer.momentum,
            layer.affine,
            layer.track_running_stats,
            process_group,
            bias=layer.bias is not None,
        )
        if layer.affine:
            made.weight, made.bias = layer.weight, layer.bias
        made.running_mean, made.running_var = layer.running_mean, layer.running_var
        made.num_batches_tracked = layer.num_batches_tracked
        made.training = layer.training
        if hasattr(layer, "qconfig"):
            made.qconfig = layer.qconfig
        return made


class _Normalise(Function):
    """Batch norm with the statistics of all ranks."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        eps: float,
        momentum: float,
        group: Any,
    ) -> Tensor:
        """Gathers means, squares and counts of all ranks; each computes the same statistics from them."""
        x = input.float() if input.element_size() == 2 else input
        axes = [0, *range(2, x.dim())]
        spread = (1, -1, *[1] * (x.dim() - 2))
        mean, var, count = _statistics(x, axes, group)
        if running_mean is not None and running_var is not None:
            running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
            unbiased = var * (count / max(count - 1, 1))
            running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
        scale = (var + eps).rsqrt()
        hat = (x - mean.view(spread)) * scale.view(spread)
        ctx.save_for_backward(hat, weight, scale)
        ctx.group, ctx.axes, ctx.spread, ctx.count, ctx.dtype = group, axes, spread, count, input.dtype
        ctx.bias_dtype = None if bias is None else bias.dtype
        out = hat if weight is None else hat * weight.view(spread)
        out = out if bias is None else out + bias.view(spread)
        return (out if out is not hat else hat.clone()).to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Adds up over the ranks what the gradient of the input needs of all of them."""
        hat, weight, scale = ctx.saved_tensors
        g = grad.to(hat.dtype)
        shift, stretch = g.sum(ctx.axes), (g * hat).sum(ctx.axes)
        grad_input = None
        if ctx.needs_input_grad[0]:
            channels = shift.numel()
            totals = cat([shift, stretch])
            all_reduce(totals, group=ctx.group)
            totals /= ctx.count
            centred = g - totals[:channels].view(ctx.spread) - hat * totals[channels:].view(ctx.spread)
            factor = scale if weight is None else scale * weight
            grad_input = (centred * factor.view(ctx.spread)).to(ctx.dtype)
        grad_weight = None if weight is None else stretch.to(weight.dtype)
        grad_bias = None if ctx.bias_dtype is None else shift.to(ctx.bias_dtype)
        return grad_input, grad_weight, grad_bias, None, None, None, None, None


def _statistics(x: Tensor, axes: list[int], group: Any) -> tuple[Tensor, Tensor, int]:
    """Mean and variance of each channel over all ranks, and of how many numbers."""
    channels, size = x.shape[1], group.size()
    here = x.numel() // channels
    mean = x.sum(axes) / max(here, 1)
    squares = ((x - mean.view(1, -1, *[1] * (x.dim() - 2))) ** 2).sum(axes)
    own = cat([mean, squares, full((1,), float(here), dtype=x.dtype, device=x.device)])
    gathered = empty(size * own.numel(), dtype=x.dtype, device=x.device)
    all_gather_into_tensor(gathered, own, group=group)
    gathered = gathered.view(size, -1)
    means, counts = gathered[:, :channels], gathered[:, 2 * channels :]
    total = int(counts.sum().item())
    if total <= 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {tuple(x.shape)} on this rank and "
            f"{total} over all ranks"
        )
    common = (means * counts).sum(0) / total
    spread = gathered[:, channels : 2 * channels].sum(0) + (counts * (means - common) ** 2).sum(0)
    return common, spread / total, total
