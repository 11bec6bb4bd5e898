"""Files with random damage: each is loaded or refused with one of the errors that `load` promises, and nothing else."""

from __future__ import annotations

import importlib.util
import io
import random
import warnings
from collections.abc import Iterator

import retrograd
from tests.serialization import hostile
from tests.serialization.test_hostile import REFUSED


def explore(count: int, seed: int) -> Iterator[str]:
    """Damage that `load` did not cope with."""
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    good, rng = hostile.seeds(torch), random.Random(seed)
    for number in range(count):
        data = hostile.damaged(rng.choice(good), rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                retrograd.load(io.BytesIO(data))
            except REFUSED:
                pass
            except BaseException as error:
                yield f"file {number}: {error!r:.200}\nload(io.BytesIO({data!r:.2000}))"
