"""Whether somebody listens to what the engine does: asked at every backward, so it must be quick."""

from __future__ import annotations

import sys
from typing import Any, Final

DEBUG: Final = 10  # as in `logging`, which is slow to load: see `Listener`


class Listener:
    """The logger of `retrograd.autograd.graph`; none while nobody has loaded `logging` and could have set a level."""

    log: Any = None

    def find(self) -> None:
        """Gets the logger, if there can be one."""
        if "logging" in sys.modules:
            self.log = sys.modules["logging"].getLogger("retrograd.autograd.graph")


LISTENER: Final = Listener()


def logs() -> bool:
    """Whether every node is to log its run."""
    if LISTENER.log is None:
        LISTENER.find()
        if LISTENER.log is None:
            return False
    return bool(LISTENER.log.isEnabledFor(DEBUG))
