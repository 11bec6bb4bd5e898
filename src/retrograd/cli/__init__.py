"""The command `retrograd`."""

from retrograd.cli.main import main

__all__ = ["main"]
