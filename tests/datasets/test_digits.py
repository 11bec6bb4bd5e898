"""The digits that ship with the package."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from retrograd.datasets import load_digits, split_digits


def test_digits_are_those_of_the_source():
    images, labels = load_digits()
    assert images.dtype == labels.dtype == np.uint8
    assert images.shape == (1797, 64)
    assert images.max() == 16
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    digest = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()
    assert digest == "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


def test_each_call_gives_arrays_of_its_own():
    load_digits().images[:] = 0
    assert load_digits().images.any()


def test_the_two_parts_hold_every_digit_once():
    digits = load_digits()
    numbered = digits._replace(labels=np.arange(1797))
    train, held_out = split_digits(numbered, held_out=300)
    assert len(held_out.labels) == 300
    assert sorted([*train.labels, *held_out.labels]) == list(range(1797))
    assert np.array_equal(train.images, digits.images[train.labels])


def test_a_split_depends_on_its_seed_alone():
    numbered = load_digits()._replace(labels=np.arange(1797))
    held_out = [split_digits(numbered, seed=seed).held_out.labels.tolist() for seed in (0, 0, 1)]
    assert held_out[0] == held_out[1] != held_out[2]
    # NumPy promises this stream for ever: published accuracies stay comparable.
    assert held_out[0][:5] == [1081, 1707, 927, 713, 262]


@pytest.mark.parametrize("held_out", [0, -1, 1797])
def test_a_part_cannot_be_empty(held_out):
    with pytest.raises(ValueError, match="leaves one part of 1797 digits empty"):
        split_digits(load_digits(), held_out=held_out)


def test_nothing_is_read_at_import():
    program = """
import sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
import retrograd.datasets
assert not [name for name in opened if name.endswith("digits.npz")]
retrograd.datasets.load_digits()
assert [name for name in opened if name.endswith("digits.npz")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
