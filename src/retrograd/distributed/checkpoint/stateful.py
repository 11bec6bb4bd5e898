"""What `save` and `load` treat as an object with a state of its own."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """Anything with `state_dict()` and `load_state_dict()`: a model, an optimiser, a program's own class."""

    def state_dict(self) -> dict[str, Any]:
        """Its state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state."""
