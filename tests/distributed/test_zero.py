"""ZeroRedundancyOptimizer: shared-out state and gradients give the results of plain ones, in less memory."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import absent, cases, outcomes

pytestmark = pytest.mark.skipif(bool(absent()), reason=absent())
MODULE = "tests.distributed.zero_cases"


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("name", cases(MODULE))
def test_on_several_ranks(name, count):
    for rank, error in enumerate(outcomes(MODULE, count)[name]):
        assert error is None, f"on rank {rank}:\n{error}"
