"""Where a number is declared, the compiled build takes what its sources take: NumPy's numbers, 1 for True."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled
from tests.build import numbers


@cache
def outcomes(interpreted: str) -> dict[str, str]:
    """What comes of all the calls in a process of its own: some of them change settings."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.build.numbers"],
        env={**os.environ, "RETROGRAD_INTERPRETED": interpreted},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.skipif(not is_compiled(), reason="only the sources are here")
def test_compiled_functions_take_the_numbers_that_their_sources_take():
    compiled, interpreted = outcomes("0"), outcomes("1")
    assert compiled.keys() == interpreted.keys()
    different = {key: outcome for key, outcome in compiled.items() if outcome != interpreted[key]}
    assert different == {}


def test_every_parameter_that_is_declared_a_number_is_given_one():
    given = {key.partition(":")[0] for key in outcomes("1")}
    missing = {
        f"{function}({parameter})"
        for (module, function), parameters in numbers.declared().items()
        for parameter in parameters
        if f"{module}.{function}({parameter}" not in given
    }
    assert missing == set()


def test_numbers_of_numpy_and_tensors_of_one_element_are_numbers():
    x = rg.ones(3, requires_grad=True)
    x.sum().backward(retain_graph=1, create_graph=np.False_)
    assert rg.round(x * 1.2345, decimals=np.int64(2)).tolist() == pytest.approx([1.23] * 3)
    assert rg.nan_to_num(rg.tensor([np.nan]), nan=np.float32(2)).tolist() == [2]
    labels = rg.tensor([0, 2])
    assert rg.nn.functional.one_hot(labels, labels.max() + 1).shape == (2, 3)
