"""Random numbers by the pack: those of the plain twister, and the twister left at the same place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.mersenne import Mersenne
from retrograd.backends.native import CPU_BACKEND
from retrograd.backends.native_mersenne import NativeMersenne
from retrograd.backends.pack import PACK
from retrograd.backends.pieces import PIECE
from retrograd.nn import functional as F
from tests.native.networks import FLOATS, needs_pack, without_pack

pytestmark = needs_pack

SIZES = [0, 1, 2, 15, 16, 17, 511, 512, 513, 2049]
ENDS = [10, 2**28 - 1, 2**28, 2**40, 2**63 - 1]
SHAPES = np.array([0.0, 1e-3, 0.3, 1.0, 2.5, 1e4])
CHANCES = np.array([0.0, 1e-9, 0.2, 0.5, 0.7, 1.0])


def drawn(stream: Any, size: int) -> list[Any]:
    """Numbers of all kinds, in an order in which a normal number is left over now and then."""
    found = [method((size,), np.dtype(t)) for t in FLOATS for method in (
        stream.random, stream.standard_normal, stream.half_normal, stream.normal_in_turn, stream.standard_exponential
    )]  # fmt: skip
    found += [stream.integers(-3, end, (size,)) for end in ENDS]
    found += [stream.integers(0, 1 << 32, (size,), np.uint32), stream.permutation(size)]
    found += [stream.integers(0, (1 << 64) - 1, (size,), np.uint64, endpoint=True)]
    found += [stream.stretched((size,), np.dtype(t), -2.0, 5.0) for t in FLOATS]
    found += [stream.choices((size,), np.dtype(t), 0.3, 1.25) for t in FLOATS]
    found += [
        stream.uniform(1.0, 3.0, (size,)),
        stream.standard_cauchy((size,)),
        stream.geometric(0.2, (size,)),
    ]
    found += [stream.lognormal(1.0, 2.0, (size,)), stream.normal_in_turn((), np.dtype(np.float64))]
    many = np.resize(SHAPES, size)
    found += [stream.standard_gamma(many), stream.poisson(many), stream.poisson(np.asarray(3.5))]
    return [*found, stream.binomial(many * 50, np.resize(CHANCES, size))]


@pytest.mark.parametrize("size", SIZES)
def test_the_numbers_are_those_of_the_plain_twister(size: int) -> None:
    plain, ours = Mersenne(11), NativeMersenne(11)
    for found, wanted in zip(drawn(ours, size), drawn(plain, size), strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(
            found, wanted, rtol=1e-5 if wanted.dtype == np.float32 else 1e-12, atol=1e-7
        )
    assert (
        ours.state()[:-40] == plain.state()[:-40]
    )  # but for the number that waits, which may round otherwise
    assert (ours.spare is None) == (plain.spare is None)


LONG = {
    "random": lambda stream, n: stream.random(n, np.float32),
    "standard_normal": lambda stream, n: stream.standard_normal(n, np.dtype(np.float32)),
    "half_normal": lambda stream, n: stream.half_normal(n),
    "normal_in_turn": lambda stream, n: stream.normal_in_turn(n),
    "standard_exponential": lambda stream, n: stream.standard_exponential(n),
    "integers": lambda stream, n: stream.integers(0, 100, n),
    "stretched": lambda stream, n: stream.stretched((n,), np.dtype(np.float32), 1.0, 2.0),
    "choices": lambda stream, n: stream.choices((n,), np.dtype(np.float32), 0.3, 2.0),
}


@pytest.mark.parametrize("name", LONG)
def test_many_numbers_come_in_pieces(name: str) -> None:
    plain, ours = Mersenne(5), NativeMersenne(5)
    count = PIECE + 17
    np.testing.assert_allclose(LONG[name](ours, count), LONG[name](plain, count), rtol=1e-4, atol=1e-6)
    assert (ours.random(3) == plain.random(3)).all()


def test_many_numbers_by_parameters_come_in_pieces() -> None:
    whole, parts = NativeMersenne(5), NativeMersenne(5)
    rates = np.full(whole.piece + 5, 20.0)
    found = whole.poisson(rates)
    np.testing.assert_array_equal(found[:7], parts.poisson(rates[:7]))
    np.testing.assert_array_equal(found[7:], parts.poisson(rates[7:]))
    assert abs(found.mean() - 20) < 0.1
    assert abs(found.var() - 20) < 0.2


def test_noise_of_half_precision_and_of_other_orders_is_drawn_the_plain_way() -> None:
    for like in (np.empty((60, 40), np.float16), np.empty((60, 40), np.float32).T):
        found = CPU_BACKEND.noise(NativeMersenne(3), like, 0.5, 2.0)
        wanted = super(type(CPU_BACKEND), CPU_BACKEND).noise(Mersenne(3), like, 0.5, 2.0)
        assert found.dtype == like.dtype
        np.testing.assert_array_equal(found, wanted)


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


def test_the_twister_is_numpys() -> None:
    numpys = np.random.RandomState(17)
    words = [
        PACK.draw_integers(PACK.twister(17), (count,), 0, 0, False) for count in (1, 623, 624, 625, 2000)
    ]
    wanted = numpys._bit_generator.random_raw(2000)
    for found in words:
        np.testing.assert_array_equal(found.view(np.uint64), wanted[: len(found)])


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625])
def test_states_go_from_one_form_to_the_other(drawn: int) -> None:
    for one, other in ((Mersenne(1), NativeMersenne(2)), (NativeMersenne(1), Mersenne(2))):
        one.random((drawn,), np.dtype(np.float32))
        other.restore(one.state())
        assert other.state() == one.state()
        np.testing.assert_array_equal(one.random((1000,)), other.random((1000,)))


def test_what_is_no_twister_is_refused() -> None:
    for capsule in (None, 3, np.random.MT19937(0).capsule):
        with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
            PACK.draw(capsule, 0, (3,), True)
    for place, state in ((-1, bytes(2496)), (625, bytes(2496)), (0, bytes(2495)), (0, "x")):
        with pytest.raises(ValueError, match="what twister_state returned"):
            PACK.twister_go(PACK.twister(0), place, state)
    assert PACK.draw_poisson(PACK.twister(0), np.ones(3, np.float32)) is None
    assert PACK.draw_binomial(PACK.twister(0), np.ones(3), np.ones(2)) is None
