"""What all tests of distributions begin with."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def checks_by_both():
    """PyTorch's compiler, once another test has had it loaded, leaves PyTorch's checks of arguments switched off."""
    if "torch" in sys.modules:
        sys.modules["torch"].distributions.Distribution.set_default_validate_args(True)
