"""These tests are skipped where there is no GPU."""

from __future__ import annotations

from typing import Any

import pytest

from retrograd.backends.base import open_device


@pytest.fixture(scope="session", autouse=True)
def cupy() -> Any:
    """CuPy, on a machine with a GPU."""
    try:
        open_device("cuda")
    except RuntimeError as error:
        pytest.skip(f"no GPU: {error}")
    return pytest.importorskip("cupy")
