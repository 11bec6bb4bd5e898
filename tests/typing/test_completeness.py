"""Users' type checkers know the types of what is public, and need not infer them."""

from __future__ import annotations

from functools import cache
from typing import Any

from .checkers import needs_pyright, pyright

KNOWN = 0.95  # of all names that can be imported; the rest are attributes of operations


@cache
def verified() -> Any:
    """What pyright says of the package's own types."""
    return pyright("--verifytypes", "retrograd", "--ignoreexternal")["typeCompleteness"]


@needs_pyright
def test_types_are_known():
    assert verified()["exportedSymbolCounts"]["withKnownType"] > 10_000
    assert verified()["completenessScore"] >= KNOWN


@needs_pyright
def test_every_type_that_the_package_itself_offers_is_known():
    offered = [s for s in verified()["symbols"] if s["isExported"] and s["name"].count(".") == 1]
    assert len(offered) > 700
    assert [s["name"] for s in offered if not s["isTypeKnown"]] == []
