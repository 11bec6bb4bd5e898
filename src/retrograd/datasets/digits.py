"""1,797 handwritten digits, 8×8 pixels each; origin and licence are in this folder's README.md."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Digits(NamedTuple):
    """Images beside their labels; row `i` of one belongs to element `i` of the other."""

    images: NDArray[np.uint8]
    """One image a row: 64 pixels, line by line, from 0 (paper) to 16 (ink)."""
    labels: NDArray[np.uint8]
    """The digit each image shows, 0 to 9."""


class DigitsSplit(NamedTuple):
    """The same digits in two disjoint parts."""

    train: Digits
    held_out: Digits


def load_digits() -> Digits:
    """Read the digits that ship with the package.

    >>> images, labels = load_digits()
    >>> images.shape, labels.shape
    ((1797, 64), (1797,))
    """
    with (files(__package__) / "digits.npz").open("rb") as file, np.load(file) as archive:
        return Digits(archive["images"], archive["labels"])


def split_digits(digits: Digits, *, held_out: int = 360, seed: int = 0) -> DigitsSplit:
    """Put `held_out` digits, drawn at random by `seed`, aside for judging what the rest has taught.

    >>> train, held_out = split_digits(load_digits())
    >>> len(train.labels), len(held_out.labels)
    (1437, 360)
    """
    total = len(digits.labels)
    if not 0 < held_out < total:
        raise ValueError(
            f"split_digits: held_out={held_out} leaves one part of {total} digits empty; "
            f"choose a number from 1 to {total - 1}"
        )
    # The legacy generator, because NumPy keeps its stream fixed for ever: one seed, one split, in every version.
    order = np.random.RandomState(seed).permutation(total)
    return DigitsSplit(_take(digits, order[held_out:]), _take(digits, order[:held_out]))


def _take(digits: Digits, rows: NDArray[np.intp]) -> Digits:
    return Digits(digits.images[rows], digits.labels[rows])
