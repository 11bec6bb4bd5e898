"""Other libraries that differentiate, with the programs that can be written for them, under the same names."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

# What a column is called, the package it needs, and the module here that has its `programs()`.
KNOWN = (
    ("autograd", "autograd", "peers.hips"),
    ("MyGrad", "mygrad", "peers.mygrad_programs"),
    ("JAX", "jax", "peers.jax_eager"),
    ("JAX, jit", "jax", "peers.jax_jitted"),
    ("tinygrad", "tinygrad", "peers.tinygrad_programs"),
)


class Peer(NamedTuple):
    """A library, and by name the functions that prepare its programs."""

    name: str
    programs: dict[str, Callable[[], Callable[[], Any]]]

    def program(self, name: str) -> Callable[[], Any] | None:
        """The program of that name, ready to run, or None if it has none."""
        return self.programs[name]() if name in self.programs else None


def installed_peers() -> list[Peer]:
    """The peers that are installed here and work, in the order of their columns."""
    found = []
    for name, package, module in KNOWN:
        if importlib.util.find_spec(package) is None:
            print(f"{name} is not installed")
            continue
        peer = Peer(name, importlib.import_module(module).programs())
        try:
            peer.programs["trivial"]()()
        except Exception as error:  # noqa: BLE001 - whatever keeps a peer from running, the others go on
            print(f"{name} does not run here: {error}")
            continue
        found.append(peer)
    return found
