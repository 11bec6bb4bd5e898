"""`torch.distributed.distributed_c10d`: the names of `torch.distributed`, and some that are PyTorch's own."""

from __future__ import annotations

from retrograd.distributed import NAMES
from retrograd.distributed.groups import default_group, member
from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(__name__, NAMES)

_get_default_group = default_group


def _rank_not_in_group(group: object) -> bool:
    """Whether this process is no member of a group."""
    return isinstance(group, int)


def _get_group_size(group: object) -> int:
    """How many ranks a group has."""
    found = member(group, "_get_group_size")
    return -1 if found is None else found.size()
