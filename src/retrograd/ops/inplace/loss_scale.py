"""What mixed precision does to gradients and to the scale of the loss, as `torch._amp_update_scale_`."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.core.tensor import Tensor
from retrograd.ops.register import public


@public("_amp_foreach_non_finite_check_and_unscale_")
def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiplies gradients in place by a number, and makes `found_inf` 1 if one of them is not finite."""
    for name, given in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if given.array.size != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if given.array.dtype != "float32":
            raise RuntimeError(f"{name} must be a float tensor.")
    for grad in self:
        if not grad.isfinite().all():
            found_inf.fill_(1)
        grad.mul_(inv_scale.item())


@public("_amp_update_scale_", "Tensor._amp_update_scale_")
def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Makes a scale smaller after gradients that were not finite; larger after enough steps in a row that were."""
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return self
    count = int(growth_tracker.item()) + 1
    if count == growth_interval:
        grown = self * scale_growth_factor
        if grown.isfinite().all():
            self.copy_(grown)
        count = 0
    growth_tracker.fill_(count)
    return self
