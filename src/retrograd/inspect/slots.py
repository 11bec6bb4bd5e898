"""What a node has saved for its backward, by the names that PyTorch gives it."""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import is_array
from retrograd.inspect.recorder import saved_slots

_SLOTS = {"x": "self", "y": "other", "out": "result"}


def slot_name(kind: Any, slot: str) -> str:
    """PyTorch's name for a slot of nodes of this class."""
    named: dict[str, str] = {field: name for name, field in getattr(kind, "shown", {}).items()}
    return named.get(slot, _SLOTS.get(slot, slot))


def saved_arrays(node: Any) -> list[tuple[str, Any]]:
    """The arrays that a node has saved, by name."""
    kind = type(node)
    return [(slot_name(kind, slot), array) for slot, array in saved_slots(node) if is_array(array)]
