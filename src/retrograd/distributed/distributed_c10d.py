"""`torch.distributed.distributed_c10d`: the names of `torch.distributed`, and some that are PyTorch's own."""

from __future__ import annotations

from typing import Any

from retrograd.distributed import NAMES
from retrograd.distributed.groups import default_group, get_backend_config, member
from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(__name__, NAMES)

_get_default_group = default_group


def _get_pg_config(group: Any = None) -> dict[str, Any]:
    """What a group is: its name, backend and ranks."""
    found = default_group() if group is None else group
    return {
        "pg_name": found.group_name,
        "pg_desc": found.group_desc,
        "backend_config": get_backend_config(found),
        "pg_size": found.size(),
        "ranks": list(found.ranks),
    }


def _get_group_size(group: object) -> int:
    """How many ranks a group has."""
    found = member(group, "_get_group_size")
    return -1 if found is None else found.size()
