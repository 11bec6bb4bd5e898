"""Workers that run the tests together start the ranks of a module once."""

from __future__ import annotations

import importlib.util
import os

import pytest

from tests.distributed import ranks


@pytest.fixture(scope="session", autouse=True)
def outcomes_are_shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ and importlib.util.find_spec("fcntl"):
        ranks.SHARED = tmp_path_factory.getbasetemp().parent
