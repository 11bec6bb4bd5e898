"""The few classes that stay interpreted when the rest is compiled.

Native classes made by mypyc refuse weak references and foreign attributes unless they derive from an ordinary
Python class; these are those classes. They cost nothing.
"""

from __future__ import annotations

import threading
from typing import Any


class Plain:
    """Gives a native subclass weak references and room for a user's attributes."""


class TensorMethods:
    """The place where the method forms of functions (`t.exp()`, `t.sum(dim=0)`) are installed by `retrograd.ops`."""


class ThreadLocal(threading.local):
    """One thread's slot for the state that `core.modes` keeps; filled on first use in each thread."""

    def __init__(self, make: Any) -> None:
        self.state = make()
