"""What the programs of the pages make public is so for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrograd.core.plain import TensorMethods
from retrograd.ops.register import DECLARED


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages write files."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def public_for_one_test() -> Iterator[None]:
    yield
    for name, form in list(DECLARED.items()):
        if not str(getattr(form, "__module__", "retrograd")).startswith("retrograd"):
            del DECLARED[name]
            if name.startswith("Tensor."):
                delattr(TensorMethods, name.partition(".")[2])
