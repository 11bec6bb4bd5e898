"""How many of the public names of torch.nn are here; those that are not are on the page about differences."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import retrograd as rg
from tests.project.sources import ROOT

torch = pytest.importorskip("torch")

# What is about other things than dense tensors: quantised numbers.
ELSEWHERE = {
    "nn": {"intrinsic", "qat", "quantizable", "quantized"},
}
# What could be here, and is not yet.
NOT_YET: dict[str, set[str]] = {}
SPACES = (
    "nn",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "nn.utils.parametrize",
    "nn.utils.parametrizations",
    "nn.grad",
)


def names_of(space: str) -> set[str]:
    """The public names of a part of torch.nn, without what it imports from elsewhere."""
    module = importlib.import_module(f"torch.{space}")
    found = set()
    for name, value in vars(module).items():
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") or ""
        if not name.startswith("_") and str(home).startswith("torch.nn"):
            found.add(name)
    imported = {
        "nn": set(),
        "nn.utils.rnn": {"PackedSequence_", "bind"},
        "nn.utils.parametrize": {"Module", "ModuleDict", "ModuleList", "Parameter"},
        "nn.utils.parametrizations": {"F", "Module", "parametrize"},
    }
    return found - imported.get(space, set()) - ELSEWHERE.get(space, set())


def ours(space: str):
    found = rg
    for part in space.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("space", SPACES)
def test_what_is_missing_is_known(space):
    missing = {name for name in names_of(space) if not hasattr(ours(space), name)}
    assert missing == NOT_YET.get(space, set())


def test_nearly_all_names_are_there():
    wanted = {f"{space}.{name}" for space in SPACES for name in names_of(space)}
    there = {name for name in wanted if hasattr(ours(name.rpartition(".")[0]), name.rpartition(".")[2])}
    assert len(wanted) > 200
    assert len(there) / len(wanted) >= 0.98


def test_what_is_missing_is_on_the_page_about_differences():
    page = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    names = set().union(*ELSEWHERE.values(), *NOT_YET.values())
    assert {name for name in names if name not in page} == set()


def test_methods_of_a_module_are_pytorchs():
    public = {name for name in dir(torch.nn.Module) if not name.startswith("_")}
    missing = {name for name in public if not hasattr(rg.nn.Module, name)}
    assert missing == {"ipu", "mtia", "xpu", "T_destination"}
    assert {name for name in dir(rg.nn.Module) if not name.startswith("_")} <= public
