"""Words for how tensors lie on ranks: PyTorch's placements."""

from __future__ import annotations

import copy
import pickle
from importlib import import_module

import pytest

EXPRESSIONS = (
    "Replicate()", "Shard(0)", "Shard(dim=-1)", "Partial()", "Partial('avg')", "_StridedShard(1, split_factor=2)",
)  # fmt: skip


def told(library: str, text: str) -> object:
    """What a placement says of itself."""
    words = vars(import_module(f"{library}.distributed.tensor.placement_types"))
    placed = eval(text, words)
    copies = (eval(text, words), copy.copy(placed), pickle.loads(pickle.dumps(placed)))
    return (
        repr(placed),
        str(placed),
        (placed.is_shard(), placed.is_shard(0), placed.is_replicate()),
        (placed.is_partial(), placed.is_partial("avg")),
        [placed == other and hash(placed) == hash(other) for other in copies],
        [placed == eval(other, words) for other in EXPRESSIONS],
    )


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_placement_is_pytorchs(text, torch):
    assert told("retrograd", text) == told("torch", text)


def test_a_placement_cannot_be_changed():
    with pytest.raises(AttributeError):
        import_module("retrograd.distributed.tensor").Shard(0).dim = 1
