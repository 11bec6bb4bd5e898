"""The noise of dropout: the same numbers as without the pack, and the generator left at the same place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.native import CPU_BACKEND
from retrograd.backends.pack import PACK
from retrograd.nn import functional as F
from tests.native.networks import FLOATS, needs_pack, threads, without_pack

pytestmark = needs_pack

SIZES = [2048, 2049, 4097, 16384, 16385, 70000, 100001]


def stream(skipped: int) -> np.random.Generator:
    """A generator from which some numbers of 32 bits were drawn: after an odd count half a draw is left over."""
    made = np.random.Generator(np.random.PCG64(11))
    made.random(skipped, np.float32)
    return made


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.0, 0.1, 1 / 3, 0.5, 1.0])
@pytest.mark.parametrize("skipped", [0, 1, 2, 3])
def test_the_numbers_are_numpys(skipped: int, p: float, dtype: str) -> None:
    for size in SIZES:
        ours, numpys = stream(skipped), stream(skipped)
        found = CPU_BACKEND.noise(ours, np.empty(size, dtype), p, 1.25)
        wanted = np.where(numpys.random(size, np.float32) >= p, np.asarray(1.25, dtype), np.asarray(0, dtype))
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
        assert ours.bit_generator.state == numpys.bit_generator.state
        np.testing.assert_array_equal(ours.random(3, np.float32), numpys.random(3, np.float32))


def test_no_number_depends_on_the_number_of_threads() -> None:
    found = []
    for count in (1, 2, 5):
        with threads(count):
            found.append(CPU_BACKEND.noise(stream(1), np.empty((300, 400), np.float32), 0.3, 2.0))
    assert all((other == found[0]).all() for other in found)


def test_other_generators_are_numpys_own_business() -> None:
    for bits in (np.random.MT19937, np.random.Philox):
        ours, numpys = (np.random.Generator(bits(3)) for _ in range(2))
        found = CPU_BACKEND.noise(ours, np.empty(5000), 0.5, 1)
        np.testing.assert_array_equal(found, numpys.random(5000, np.float32) >= 0.5)


@pytest.mark.parametrize("name", ["dropout", "dropout2d", "alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("p", [0.2, 1.0])
def test_functions_give_the_same_with_and_without_the_pack(name: str, p: float) -> None:
    def run() -> tuple[Any, Any, Any]:
        rg.manual_seed(7)
        x = rg.from_numpy(np.random.default_rng(0).standard_normal((60, 40, 2, 2)).astype(np.float32))
        x.requires_grad_()
        out = getattr(F, name)(x, p, training=True)
        out.sum().backward()
        return out.detach().numpy(), x.grad.numpy(), rg.rand(3).numpy()

    found = run()
    with without_pack():
        plain = run()
    for a, b in zip(found, plain, strict=True):
        np.testing.assert_array_equal(a, b)


def test_half_precision_is_not_served() -> None:
    assert PACK.noise(np.empty(4096, np.float16), 0.5, 1.0, (0, 1, 2, 3, 0, 0)) is None
    assert CPU_BACKEND.noise(stream(0), np.empty(4096, np.float16), 0.5, 1).dtype == np.float16
