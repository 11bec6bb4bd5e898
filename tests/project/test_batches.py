"""Decision 9: nothing outside of `backends` and `func` knows of batched arrays."""

from __future__ import annotations

import re

import pytest

from .sources import python_files, relative

NAMES = re.compile(
    r"\b(BatchedArray|BatchedShape|BatchedBackend|Unbatchable|DynamicShape|DataDependent|backends\.batch|is_batched"
    r"|has_batched|levels_of|all_samples|on_levels)\b"
)
FILES = [
    path for path in python_files() if not relative(path).startswith(("backends/", "func/", "_functorch/"))
]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_module_names_a_batched_array(path):
    found = NAMES.findall(path.read_text(encoding="utf-8"))
    assert not found, f"{relative(path)} names {', '.join(sorted(set(found)))}"


def test_the_check_finds_what_it_looks_for():
    assert NAMES.findall("from retrograd.backends.batch.array import BatchedArray") == [
        "backends.batch",
        "BatchedArray",
    ]
