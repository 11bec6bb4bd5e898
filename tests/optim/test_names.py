"""The public names of PyTorch's modules for training are there; what is left out is told in docs/differences.md."""

from __future__ import annotations

import inspect
from operator import attrgetter
from pathlib import Path

import pytest

import retrograd as rg

PAGE = (Path(__file__).parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
SPACES = ("optim", "optim.lr_scheduler", "optim.swa_utils", "utils.data")
# By reason.
LEFT_OUT = {
    "there are no sparse tensors": {"SparseAdam"},
    "PyTorch no longer develops DataPipes": {
        "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation", "functional_datapipe",
        "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation", "runtime_validation_disabled",
    },
}  # fmt: skip


@pytest.mark.parametrize("space", SPACES)
def test_every_name_is_there_or_explained(torch, space):
    ours, theirs = attrgetter(space)(rg), attrgetter(space)(torch)
    missing = {name for name in theirs.__all__ if name[0] != "_" and not hasattr(ours, name)}
    explained = set().union(*LEFT_OUT.values())
    assert missing <= explained
    assert {name for name in missing if f"`{name}`" not in PAGE} == set()


@pytest.mark.parametrize("space", SPACES)
def test_signatures_have_pytorchs_arguments(torch, space):
    for name in attrgetter(space)(torch).__all__:
        ours = getattr(attrgetter(space)(rg), name, None)
        if inspect.isclass(ours) and name not in ("Optimizer", "Dataset", "IterableDataset", "Sampler"):
            theirs = getattr(attrgetter(space)(torch), name)
            expected, found = (inspect.signature(kind.__init__).parameters for kind in (theirs, ours))
            assert list(found) == list(expected), name
            assert [p.kind for p in found.values()] == [p.kind for p in expected.values()], name


def test_files_have_pytorchs_functions(torch):
    for name in (
        "add_safe_globals",
        "clear_safe_globals",
        "get_safe_globals",
        "safe_globals",
        "load",
        "save",
    ):
        assert callable(getattr(torch.serialization, name))
        assert callable(getattr(rg.serialization, name))
