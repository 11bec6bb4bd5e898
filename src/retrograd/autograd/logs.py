"""Whether somebody listens to what the engine does: asked at every backward, so it must be quick."""

from __future__ import annotations

import sys
from typing import Any, Final

DEBUG: Final = 10  # as in `logging`, which is slow to load: see `Listener`


class Listener:
    """The logger of `retrograd.autograd.graph`; none while nobody has loaded `logging` and could have set a level."""

    log: Any = None

    def found(self) -> Any:
        """The logger, if there can be one."""
        if self.log is None and "logging" in sys.modules:
            self.log = sys.modules["logging"].getLogger("retrograd.autograd.graph")
        return self.log


LISTENER: Final = Listener()


def logs() -> bool:
    """Whether every node is to log its run."""
    log = LISTENER.found()
    return log is not None and bool(log.isEnabledFor(DEBUG))
