"""The differences in calls of PyTorch's samples that are known, with their reasons: docs/differences.md tells users."""

from __future__ import annotations

import re

# What the operation, the way it was called, the kind of difference and its words must match, and why it is so.
EXPLAINED: list[tuple[str, str, str, str, str]] = []


def reason(operation: str, way: str, kind: str, words: str) -> str | None:
    """Why a call is known to differ, or None."""
    for in_operation, in_way, of_kind, in_words, why in EXPLAINED:
        if (
            re.fullmatch(in_operation, operation)
            and re.fullmatch(in_way, way)
            and re.fullmatch(of_kind, kind)
            and re.search(in_words, words, re.DOTALL)
        ):
            return why
    return None
