"""Tensors of GPUs over NCCL, and over MPI without a copy: with a fake CuPy, which checks what it is called with."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import absent, cases, outcomes

pytestmark = pytest.mark.skipif(bool(absent()), reason=absent())
MODULE = "tests.distributed.gpu_cases"


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", cases(MODULE))
def test_on_several_ranks(name, count):
    for rank, error in enumerate(outcomes(MODULE, count)[name]):
        assert error is None, f"on rank {rank}:\n{error}"
