"""The formulas that GPUs compile: up to date, and the text of a kernel for every kind of operands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrograd.backends.gpu.formulas import FLAT, NUMBER, SINGLE, SPREAD, Formula, source_of, strides_of

ROOT = Path(__file__).parents[2]
FILE = ROOT / "src" / "retrograd" / "backends" / "gpu" / "formulas.json"
SHEET = json.loads(FILE.read_text("utf-8"))


@pytest.mark.skipif(not (ROOT / "tools" / "fuse.py").exists(), reason="needs the sources")
def test_the_file_says_what_the_op_library_computes() -> None:
    program = "from tools.fuse import for_gpus; print(for_gpus(), end='')"
    settings = {"RETROGRAD_NO_NATIVE": "1", "RETROGRAD_INTERPRETED": "1"}
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **settings, "PYTHONPATH": path}, capture_output=True,
        text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout == FILE.read_text("utf-8"), "run `python tools/fuse.py --gpu`"


@pytest.mark.parametrize("key", SHEET["kernels"])
def test_every_leaf_has_its_loops(key: str) -> None:
    def leaves(tree: object) -> list[object]:
        return [*leaves(tree[1]), *leaves(tree[2])] if isinstance(tree, list) else [tree]

    for _, tree in SHEET["kernels"][key]["cases"]:
        for leaf in leaves(tree):
            if isinstance(leaf, dict):
                assert all(number < len(SHEET["loops"]) for number in [*leaf["each"], leaf["all"]])


def test_the_text_of_a_kernel() -> None:
    multiply = Formula(SHEET["kernels"]["elementwise.arithmetic.Mul.vjp"]).leaf(None)[0]["all"]
    text = source_of(SHEET["loops"][multiply], "float", FLAT + SPREAD + FLAT, 0, 2)
    assert (
        "formula(const T* __restrict__ a0, const T* __restrict__ a1, const T* __restrict__ a2, T* __restrict__ o0, "
        in text
    )
    assert "long long d0, long long d1, long long s1_0, long long s1_1, long long n" in text
    assert "at1 += rest % d1 * s1_1; rest /= d1;" in text
    text = source_of(SHEET["loops"][multiply], "double", FLAT + SINGLE + NUMBER, 0, 0)
    assert "(T)a1[0]" in text
    assert "double a2" in text


def test_how_a_smaller_operand_is_spread() -> None:
    class Lying:
        shape, strides, itemsize, ndim = (3, 1, 4), (16, 16, 4), 4, 3

    assert strides_of([None, Lying()], FLAT + SPREAD, (2, 3, 5, 4)) == [0, 4, 0, 1]
