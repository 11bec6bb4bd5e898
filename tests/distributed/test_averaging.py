"""Parameters averaged by ranks that train by themselves for some steps."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import absent, cases, outcomes

pytestmark = pytest.mark.skipif(bool(absent()), reason=absent())
MODULE = "tests.distributed.averaging_cases"


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", cases(MODULE))
def test_on_several_ranks(name, count):
    for rank, error in enumerate(outcomes(MODULE, count)[name]):
        assert error is None, f"on rank {rank}:\n{error}"
