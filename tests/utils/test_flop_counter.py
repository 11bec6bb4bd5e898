"""The table of counted operations, which PyTorch prints only where another package is installed."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.utils.flop_counter import FlopCounterMode


def test_the_table_has_modules_and_operations(capsys: pytest.CaptureFixture[str]) -> None:
    layers = rg.nn.Sequential(rg.nn.Linear(4, 5), rg.nn.ReLU(), rg.nn.Linear(5, 6))
    with FlopCounterMode() as counter:
        layers(rg.ones(300, 4))
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        "Module           FLOP    % Total",
        "------------  -------  ---------",
        "Sequential    30.000K    100.00%",
        "- aten.addmm  30.000K    100.00%",
        "Sequential.0  12.000K     40.00%",
        "- aten.addmm  12.000K     40.00%",
        "Sequential.2  18.000K     60.00%",
        "- aten.addmm  18.000K     60.00%",
    ]
    assert counter.get_table(1) == "\n".join(printed.splitlines()[:4])


def test_what_no_module_does_is_global() -> None:
    with FlopCounterMode(display=False) as counter:
        rg.ones(3) + 1
    assert counter.get_table().splitlines()[2].split() == ["Global", "0", "0%"]
