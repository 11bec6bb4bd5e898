"""What a tensor refuses while a function that it is part of is being transformed (`func.grad`, `vmap`, …)."""

from __future__ import annotations

from retrograd.backends.base import stands_for_many
from retrograd.core.modes import current
from retrograd.values import Array


def check_requires_grad() -> None:
    """A transform's own arguments are what it differentiates by."""
    if current().transforms:
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
            "APIs) inside of a function being transformed by a functorch transform. This is unsupported: what to "
            "differentiate by is the transform's argument. Nest func.grad, func.vjp, func.jacrev, … instead."
        )


def check_retain_grad() -> None:
    """No backward of a transform fills `.grad`."""
    if current().transforms:
        raise RuntimeError(
            "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch "
            "transform. This is unsupported: what a transform computes goes into no `.grad`. Differentiate by that "
            "tensor with func.grad, func.vjp, …, or call retain_grad() outside."
        )


def _only_batches() -> bool:
    """Whether the transforms are all vmaps. How they are nested with others is not known here."""
    state = current()
    return len(state.batch_levels) == state.transforms


def check_data_read(array: Array) -> None:
    """What all samples share can be had without its history; of what they do not, detach() speaks."""
    if current().transforms and stands_for_many(array) and _only_batches():
        raise RuntimeError("accessing `data` under vmap transform is not allowed. Use t.detach() instead.")


def check_data_written(array: Array, other: Array) -> None:
    """A tensor is more than its memory in there, so that it cannot be given another."""
    if not current().transforms:
        return
    many = stands_for_many(array) or stands_for_many(other)
    if many or not _only_batches():
        where = "under vmap" if many else "inside functorch"
        raise RuntimeError(
            f"mutating directly with `.data` {where} transform is not allowed. Write in place, with t.copy_(value), or "
            "compute out of place."
        )
