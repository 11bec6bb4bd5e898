"""Whether ranks have the same parameters; if not, the first difference, with both sides."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.groups import get_process_group_ranks
from retrograd.distributed.objects import all_gather_object

_ADVICE = "All ranks build the same model, with the same arguments and in the same order."


def verify_agreement(
    parameters: Iterable[Tensor] | Iterable[tuple[str, Tensor]], group: Any = None, what: str = "parameter"
) -> None:
    """Checks that all ranks have the same number of tensors, in the same order, with the same shapes and dtypes.

    `parameters` are tensors, or pairs of a name and a tensor, as `named_parameters()` gives them. Where ranks differ,
    all raise an error that names the first difference and both sides.

    >>> import retrograd as rg
    >>> rg.distributed.init_process_group()
    >>> rg.distributed.verify_agreement(rg.nn.Linear(3, 2).named_parameters())
    >>> rg.distributed.destroy_process_group()
    """
    ranks = get_process_group_ranks(group)
    own = [_described(each) for each in parameters]
    lists: list[Any] = [None] * len(ranks)
    all_gather_object(lists, own, group)
    for rank, other in zip(ranks[1:], lists[1:], strict=True):
        if other != lists[0]:
            raise DistBackendError(difference(lists[0], other, ranks[0], rank, what))


def difference(first: list[str], second: list[str], rank: int, other: int, what: str = "parameter") -> str:
    """The first difference of what two ranks have.

    >>> print(difference(["a: float32 [2]"], ["a: float32 [3]"], 0, 1))
    parameter 0 is not the same on all ranks:
      rank 0: a: float32 [2]
      rank 1: a: float32 [3]
    All ranks build the same model, with the same arguments and in the same order.
    """
    pairs = zip_longest(first, second)
    i, (a, b) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
    if a is None or b is None:
        head = f"ranks have different numbers of {what}s: rank {rank} has {len(first)}, rank {other} has {len(second)}"
    else:
        head = f"{what} {i} is not the same on all ranks"
    sides = [f"  rank {r}: {side or f'no {what} {i}'}" for r, side in ((rank, a), (other, b))]
    return "\n".join([f"{head}:", *sides, _ADVICE])


def _described(each: Any) -> str:
    name, tensor = each if isinstance(each, tuple) else (None, each)
    text = f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
    return text if name is None else f"{name}: {text}"
