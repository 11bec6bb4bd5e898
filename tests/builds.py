"""Marks for tests that look inside the library in ways a compiled build does not allow."""

from __future__ import annotations

import pytest

from retrograd.__config__ import is_compiled

replaces_functions = pytest.mark.skipif(
    is_compiled(), reason="compiled functions call each other directly: none can be put in another's place"
)
sees_frames = pytest.mark.skipif(is_compiled(), reason="compiled functions have no Python frames to look at")
derives_from_ops = pytest.mark.skipif(
    is_compiled(), reason="classes of compiled ops have no interpreted subclasses"
)
