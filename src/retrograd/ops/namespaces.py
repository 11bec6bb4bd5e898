"""`torch.ops.name`: the operations that programs have defined, by the namespace they are in."""

from __future__ import annotations

from typing import Any, NoReturn

# By namespace, then by name. `library` fills it.
NAMESPACES: dict[str, OpNamespace] = {}


class OpNamespace:
    """The operations of one namespace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else self.operations.get(name)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> list[str]:
        return sorted({*self.operations, "name"})

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


def namespace(name: str) -> OpNamespace:
    """The one of that name, made on first use."""
    return NAMESPACES.setdefault(name, OpNamespace(name))


# Paths of libraries of operations that could not be loaded.
REFUSED_LIBRARIES: list[str] = []


def load_library(path: object) -> NoReturn:
    """Refuses a shared library, as if it were made for another version: programs may do without it."""
    REFUSED_LIBRARIES.append(str(path))
    raise OSError(
        f"torch.ops.load_library({str(path)!r}): operations in C++ are made for PyTorch, and cannot be loaded here"
    )
