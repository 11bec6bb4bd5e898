"""Programs that train on two ranks, beside PyTorch's DistributedDataParallel over Gloo."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle")

from tests.distributed.ranks import absent, cases, outcomes

pytestmark = pytest.mark.skipif(bool(absent()), reason=absent())
MODULE = "tests.distributed.oracle_cases"


@pytest.mark.parametrize("name", cases(MODULE))
def test_as_pytorch(name):
    for rank, error in enumerate(outcomes(MODULE, 2)[name]):
        assert error is None, f"on rank {rank}:\n{error}"
