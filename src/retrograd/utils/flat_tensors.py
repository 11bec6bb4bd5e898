"""Several tensors in one, so that they travel or are computed on together: what PyTorch has in `torch._utils`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retrograd.core.tensor import Tensor
from retrograd.ops.shape.join import cat


def flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of all tensors, in one dimension.

    >>> import retrograd as rg
    >>> flatten_dense_tensors([rg.ones(2), rg.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    return cat([t.reshape(-1) for t in tensors])


def unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The parts of `flat`, views in the shapes of `tensors`."""
    found, begin = [], 0
    for t in tensors:
        end = begin + t.numel()
        found.append(flat[begin:end].view(t.shape))
        begin = end
    return tuple(found)


def take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """The tensors in lists of one dtype each, of `size_limit` bytes or a tensor more."""
    waiting: dict[str, tuple[list[Tensor], int]] = {}
    for t in tensors:
        kind = t.type()
        several, size = waiting.pop(kind, ([], 0))
        added = t.numel() * t.element_size()
        if several and size + added > size_limit:
            yield several
            several, size = [], 0
        several.append(t)
        waiting[kind] = several, size + added
    yield from (several for several, _ in waiting.values())
