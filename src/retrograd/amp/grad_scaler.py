"""`GradScaler`: losses made larger before backward, so that small gradients survive in half precision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.backends.base import BACKENDS
from retrograd.backends.dtypes import float16
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.inplace.loss_scale import _amp_update_scale_
from retrograd.ops.tensor.create import full

READY, UNSCALED, STEPPED = range(3)  # what has been done for an optimiser since the last update


class _Progress:
    """What has been done for one optimiser since the last update."""

    def __init__(self) -> None:
        self.stage = READY
        self.found_inf: Tensor | None = (
            None  # 1 if a gradient was infinite or NaN, None before one has looked
        )


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it, and leaves out steps whose gradients are not finite.

    Args:
        device: "cpu"; "cuda" warns and does nothing where there is no GPU.
        init_scale: the scale to begin with.
        growth_factor: by what the scale grows after `growth_interval` steps in a row with finite gradients.
        backoff_factor: by what it shrinks after a step without.
        growth_interval: see growth_factor.
        enabled: False makes all methods do nothing but call the optimiser.

    >>> import retrograd as rg
    >>> w = rg.ones(2, requires_grad=True)
    >>> optimizer, scaler = rg.optim.SGD([w], lr=0.5), rg.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([1024., 1024.])
    >>> scaler.step(optimizer); scaler.update()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and "cuda" not in BACKENDS.by_device:
            warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                UserWarning,
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None  # made when something is scaled for the first time
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None  # how many steps in a row were finite
        self._progress: dict[int, _Progress] = {}  # by the ids of optimisers

    # -- a step of training ------------------------------------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """A loss, or losses in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._make_scale()
            assert self._scale is not None
            return outputs * self._scale.to(outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        found = [self.scale(output) for output in outputs]
        return type(outputs)(found) if isinstance(outputs, (list, tuple)) else found

    def _make_scale(self) -> None:
        self._scale = full((), self._init_scale, dtype="float32")
        self._growth_tracker = full((), self._init_growth_tracker, dtype="int32")

    def _known_scale(self, what: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )
        return self._scale

    def _of(self, optimizer: Any) -> _Progress:
        return self._progress.setdefault(id(optimizer), _Progress())

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimiser's parameters by the scale: before they are clipped, say.

        `step` does it otherwise.
        """
        if not self._enabled:
            return
        scale, progress = self._known_scale("unscale_"), self._of(optimizer)
        if progress.stage == UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if progress.stage == STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        progress.found_inf = self._unscale_grads(optimizer, scale, allow_half=False)
        progress.stage = UNSCALED

    def _unscale_grads(self, optimizer: Any, scale: Tensor, allow_half: bool) -> Tensor | None:
        """Divides gradients; 1 if any was not finite, 0 if none was, None where there is none."""
        found: Tensor | None = None
        inverse = 1.0 / float(scale.item())
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    grad = parameter.grad
                    if grad is None:
                        continue
                    if grad.array.dtype is float16 and not allow_half:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    finite = bool(grad.isfinite().all())
                    found = found if found is not None and finite else full((), 0.0 if finite else 1.0)
                    grad.mul_(inverse)
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls `optimizer.step(*args, **kwargs)` if all gradients are finite; gives what it returns, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._known_scale("step")
        progress = self._of(optimizer)
        if progress.stage == STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if progress.stage == READY:
            self.unscale_(optimizer)
        if progress.found_inf is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if progress.found_inf.item() else optimizer.step(*args, **kwargs)
        progress.stage = STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """After the steps of all optimisers: makes the scale smaller or larger, or `new_scale`."""
        if not self._enabled:
            return
        scale, tracker = self._known_scale("update"), self._growth_tracker
        assert tracker is not None
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            found = [p.found_inf for p in self._progress.values() if p.found_inf is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            worst = next((f for f in found if f.item()), found[0])
            _amp_update_scale_(
                scale, tracker, worst, self._growth_factor, self._backoff_factor, self._growth_interval
            )
        self._progress = {}

    def _set_scale(self, scale: Tensor, new: float | Tensor) -> None:
        if isinstance(new, Tensor):
            if new.numel() != 1 or new.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.copy_(new)
        else:
            scale.fill_(new)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        """Looks for gradients that are not finite, and divides by nothing."""
        progress = self._of(optimizer)
        progress.found_inf = self._unscale_grads(optimizer, full((), 1.0), allow_half=True)
        return self._found_inf_per_device(optimizer)

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        found = self._of(optimizer).found_inf
        return {} if found is None else {found.device: found}

    # -- what it is set to -------------------------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets that."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By what the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets that."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets that."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint should keep of it; empty if it is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._progress:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
