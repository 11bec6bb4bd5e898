"""Loggers as `torch._logging` hands them out: those of Python."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

__all__ = ["getArtifactLogger", "set_logs", "warning_once"]


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """Python's logger of a module, for one kind of message."""
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


def set_logs(**levels: Any) -> None:
    """Nothing: what these levels are of, parts of PyTorch's compiler, is not here."""


@cache
def warning_once(logger: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """Logs a warning the first time that it is given."""
    logger.warning(*args, **kwargs)
