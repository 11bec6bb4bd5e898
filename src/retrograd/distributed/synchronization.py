"""`synchronized`: the gradients of plain tensors, averaged over all ranks in every backward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.agreement import verify_agreement
from retrograd.distributed.buckets import FIRST_BYTES, OTHER_BYTES
from retrograd.distributed.coalescing import broadcast_all
from retrograd.distributed.groups import default_group
from retrograd.distributed.reducer import Reducer
from retrograd.distributed.starting import new_group


class Synchronized:
    """What `synchronized` returns: averages gradients until `remove()`, or to the end of a `with` block."""

    def __init__(self, params: list[Tensor], group: Any, limits: list[int], init_sync: bool) -> None:
        verify_agreement([(f"tensor {i}", each) for i, each in enumerate(params)], group)
        if init_sync:
            broadcast_all(params, group)
        self._reducer: Reducer | None = Reducer(params, own_group(group), limits, always=True)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backwards in this block add to `.grad` without the other ranks; the next one outside makes up for it."""
        reducer = self._reducer
        if reducer is None:
            yield
            return
        before = reducer.expected, reducer.always
        reducer.expected = reducer.always = False
        try:
            yield
        finally:
            reducer.expected, reducer.always = before

    def remove(self) -> None:
        """Lets gradients be those of this rank alone again."""
        if self._reducer is not None:
            self._reducer.stop()
            self._reducer = None

    def __enter__(self) -> Synchronized:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def synchronized(
    params: Iterable[Tensor],
    process_group: Any = None,
    bucket_cap_mb: float | None = None,
    init_sync: bool = True,
) -> Synchronized:
    """Averages the gradients of tensors over all ranks, in every backward that reaches one of them.

    It is DistributedDataParallel for programs without modules. Each rank computes its own loss of its own data with any
    function; after `backward()` the `.grad` of these tensors is the mean over the ranks. A tensor that a rank does not
    use counts as zeros there. Every rank must run as many such backwards as the others.

    Args:
        params: leaves that require a gradient, the same on all ranks.
        process_group: the ranks; all if None.
        bucket_cap_mb: gradients travel in messages of about so many MiB (25).
        init_sync: give all ranks the values that the first one has.

    >>> import retrograd as rg
    >>> rg.distributed.init_process_group()
    >>> w = rg.ones(3, requires_grad=True)
    >>> with rg.distributed.synchronized([w]):
    ...     (w * 2).sum().backward()
    >>> w.grad
    tensor([2., 2., 2.])
    >>> rg.distributed.destroy_process_group()
    """
    listed = list(params)
    for position, param in enumerate(listed):
        if not isinstance(param, Tensor) or not param.requires_grad or not param.is_leaf:
            raise ValueError(
                f"synchronized() averages gradients of leaves that require one, and number {position} of its tensors "
                "is not such: call requires_grad_() on it, or leave it out"
            )
    group = process_group or default_group()
    return Synchronized(listed, group, bucket_limits(bucket_cap_mb), init_sync)


def bucket_limits(bucket_cap_mb: float | Sequence[float] | None) -> list[int]:
    """The sizes of buckets in bytes, of one in MiB or several; None is PyTorch's default, with a small first one."""
    if bucket_cap_mb is None:
        return [FIRST_BYTES, OTHER_BYTES]
    several = [bucket_cap_mb] if isinstance(bucket_cap_mb, (int, float)) else bucket_cap_mb
    return [int(each * (1 << 20)) for each in several]


def own_group(group: Any) -> Any:
    """A group of the same ranks that nobody else uses: see Note [Order of reductions]. All its ranks call this."""
    return new_group(
        group.ranks, group.timeout, use_local_synchronization=True, group_desc="gradients", sort_ranks=False
    )
