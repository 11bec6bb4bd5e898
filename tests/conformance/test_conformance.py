"""Runs every program of `programs_*.py` on torch and on retrograd and compares the two outcomes."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from .harness import REGISTRY, broken_promises, differences, observe

torch = pytest.importorskip(
    "torch", reason="PyTorch is the oracle of the conformance suite: pip install torch==2.13.0"
)
retrograd = importlib.import_module("retrograd")

for _path in sorted(Path(__file__).parent.glob("programs_*.py")):
    importlib.import_module(f"{__package__}.{_path.stem}")


@pytest.fixture(autouse=True, scope="module")
def quiet_oracle() -> None:
    """One thread, and every warning every time: torch otherwise shows some warnings once per process."""
    torch.set_num_threads(1)
    torch.set_warn_always(True)


@pytest.mark.parametrize("name", REGISTRY)
def test_conformance(name: str) -> None:
    function, expected = REGISTRY[name]
    oracle = observe(function, torch)
    wrong = list(broken_promises(oracle, expected))
    assert not wrong, "\n".join(["the program itself is wrong, torch disagrees with it:", *wrong])
    ours = observe(function, retrograd)
    found = [*broken_promises(ours, expected), *differences(oracle, ours)]
    assert not found, "\n".join(found)
