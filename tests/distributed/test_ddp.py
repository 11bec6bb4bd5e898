"""DistributedDataParallel: gradients over several ranks are those of one process, and the same bits on all."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import absent, cases, outcomes

pytestmark = pytest.mark.skipif(bool(absent()), reason=absent())
MODULE = "tests.distributed.ddp_cases"


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("name", cases(MODULE))
def test_on_several_ranks(name, count):
    for rank, error in enumerate(outcomes(MODULE, count)[name]):
        assert error is None, f"on rank {rank}:\n{error}"
