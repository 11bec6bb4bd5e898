"""Checkpoints that several ranks write together, and that any number of them reads."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import absent, cases, outcomes, run_on_ranks

pytestmark = pytest.mark.skipif(bool(absent()), reason=absent())
MODULE = "tests.distributed.checkpoint_cases"


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("name", cases(MODULE))
def test_on_several_ranks(name, count):
    for rank, error in enumerate(outcomes(MODULE, count)[name]):
        assert error is None, f"on rank {rank}:\n{error}"


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 3), (2, 1)])
def test_other_numbers_of_ranks_go_on(before, after, tmp_path):
    """What 4 ranks have saved, with the optimiser's state shared out among them, 2 take over."""
    run_on_ranks(before, f"{MODULE}:begin", str(tmp_path))
    run_on_ranks(after, f"{MODULE}:resume", str(tmp_path))
