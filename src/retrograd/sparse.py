"""There are no sparse tensors. What test suites switch on for them can be switched, as `torch.sparse`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


class check_sparse_tensor_invariants:  # noqa: N801 - torch's name
    """Whether sparse tensors would be checked when they are made: a switch, a context and a decorator.

    >>> with check_sparse_tensor_invariants():
    ...     check_sparse_tensor_invariants.is_enabled()
    True
    >>> check_sparse_tensor_invariants.is_enabled()
    False
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether it is on."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Switches it on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Switches it off."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *error: object) -> None:
        check_sparse_tensor_invariants._enabled = bool(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **named)

        return run
