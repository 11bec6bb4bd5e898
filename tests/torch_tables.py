"""The tables with which PyTorch tests its own modules and optimisers: calls, and calls that are refused."""

from __future__ import annotations

import importlib
import sys
import types
import unittest
from typing import Any


def table(module: str, name: str) -> Any:
    """One of the tables of `torch.testing._internal`.

    PyTorch's test tools import a package, `expecttest`, that the tables do not need; where it is not installed, an
    empty one takes its place.
    """
    try:
        importlib.import_module("expecttest")
    except ImportError:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    return getattr(importlib.import_module(f"torch.testing._internal.{module}"), name)
