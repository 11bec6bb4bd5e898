"""Tensors made on another device, and random numbers drawn there: every creating function takes `device=`."""

from __future__ import annotations

import copy
import pickle
import threading
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.devices.place import HERE, KIND, strict_only

F = rg.nn.functional

MAKERS: dict[str, Any] = {
    "zeros": lambda **o: rg.zeros(2, 3, **o),
    "ones": lambda **o: rg.ones(2, 3, **o),
    "empty": lambda **o: rg.empty(2, 3, **o).zero_(),
    "full": lambda **o: rg.full((2,), 3.5, **o),
    "eye": lambda **o: rg.eye(3, 2, **o),
    "arange": lambda **o: rg.arange(1, 7, 2, **o),
    "range": lambda **o: rg.range(1, 7, 2, **o),
    "linspace": lambda **o: rg.linspace(0, 1, 5, **o),
    "logspace": lambda **o: rg.logspace(0, 1, 5, **o),
    "scalar_tensor": lambda **o: rg.scalar_tensor(2.5, **o),
    "tensor": lambda **o: rg.tensor([[1, 2], [3, 4.5]], **o),
    "tensor of an array": lambda **o: rg.tensor(np.ones(3), **o),
    "as_tensor": lambda **o: rg.as_tensor(np.ones(3), **o),
    "as_tensor of a tensor": lambda **o: rg.as_tensor(rg.ones(3, device="cpu"), **o),
    "asarray": lambda **o: rg.asarray([1.0, 2.0], **o),
    "from_dlpack": lambda **o: rg.from_dlpack(np.ones(3), **o),
    "empty_strided": lambda **o: rg.empty_strided((2, 3), (1, 2), **o).zero_(),
    "empty_permuted": lambda **o: rg.empty_permuted((2, 3), (1, 0), **o).zero_(),
    "tril_indices": lambda **o: rg.tril_indices(3, 3, **o),
    "triu_indices": lambda **o: rg.triu_indices(3, 3, **o),
    "fftfreq": lambda **o: rg.fft.fftfreq(4, **o),
    "rfftfreq": lambda **o: rg.fft.rfftfreq(4, **o),
    "hann_window": lambda **o: rg.hann_window(4, **o),
    "hamming_window": lambda **o: rg.hamming_window(4, **o),
    "blackman_window": lambda **o: rg.blackman_window(4, **o),
    "bartlett_window": lambda **o: rg.bartlett_window(4, **o),
    "kaiser_window": lambda **o: rg.kaiser_window(4, **o),
}  # fmt: skip
LIKE: dict[str, Any] = {
    "zeros_like": rg.zeros_like,
    "ones_like": rg.ones_like,
    "empty_like": lambda x, **o: rg.empty_like(x, **o).zero_(),
    "full_like": lambda x, **o: rg.full_like(x, 3, **o),
    "new_zeros": lambda x, **o: x.new_zeros(2, 3, **o),
    "new_ones": lambda x, **o: x.new_ones(2, 3, **o),
    "new_empty": lambda x, **o: x.new_empty(2, 3, **o).zero_(),
    "new_full": lambda x, **o: x.new_full((2,), 3, **o),
    "new_tensor": lambda x, **o: x.new_tensor([1, 2], **o),
    "new_empty_strided": lambda x, **o: x.new_empty_strided((2, 3), (1, 2), **o).zero_(),
}  # fmt: skip
RANDOM: dict[str, Any] = {
    "rand": lambda **o: rg.rand(2, 3, **o),
    "rand complex": lambda **o: rg.rand(3, dtype=rg.complex64, **o),
    "rand half": lambda **o: rg.rand(3, dtype=rg.float16, **o),
    "randn": lambda **o: rg.randn(2, 3, **o),
    "randint": lambda **o: rg.randint(2, 9, (4,), **o),
    "randperm": lambda **o: rg.randperm(6, **o),
    "normal": lambda **o: rg.normal(1.0, 2.0, (3,), **o),
}  # fmt: skip
DRAWS: dict[str, Any] = {
    "rand_like": lambda x, **o: rg.rand_like(x, **o),
    "randn_like": lambda x, **o: rg.randn_like(x, **o),
    "randint_like": lambda x, **o: rg.randint_like(x, 5, **o),
    "normal of means": lambda x, **o: rg.normal(x, 2.0, **o),
    "normal of both": lambda x, **o: rg.normal(x, x, **o),
    "bernoulli": lambda x, **o: rg.bernoulli(x, **o),
    "poisson": lambda x, **o: rg.poisson(x, **o),
    "binomial": lambda x, **o: rg.binomial(x * 4, x, **o),
    "multinomial": lambda x, **o: rg.multinomial(x, 2, **o),
    "multinomial with replacement": lambda x, **o: rg.multinomial(x, 5, True, **o),
    "uniform_": lambda x, **o: x.clone().uniform_(-1, 1, **o),
    "normal_": lambda x, **o: x.clone().normal_(1, 2, **o),
    "bernoulli_": lambda x, **o: x.clone().bernoulli_(0.5, **o),
    "bernoulli_ by": lambda x, **o: x.clone().bernoulli_(x, **o),
    "random_": lambda x, **o: x.clone().random_(2, 9, **o),
    "exponential_": lambda x, **o: x.clone().exponential_(2, **o),
    "cauchy_": lambda x, **o: x.clone().cauchy_(**o),
    "geometric_": lambda x, **o: x.clone().geometric_(0.5, **o),
    "log_normal_": lambda x, **o: x.clone().log_normal_(**o),
}  # fmt: skip
LAYERS: dict[str, Any] = {
    "dropout": lambda x: F.dropout(x, 0.5),
    "dropout2d": lambda x: F.dropout2d(x[None, :, :, None], 0.5),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5),
    "rrelu": lambda x: F.rrelu(-x, training=True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, hard=True),
    "fractional_max_pool2d": lambda x: F.fractional_max_pool2d(x.expand(1, 1, 4, 3), 2, output_size=2),
}  # fmt: skip


def same(there: Any, here: Any) -> None:
    assert there.device == rg.device(HERE)
    assert there.dtype == here.dtype
    assert there.stride() == here.stride()
    np.testing.assert_array_equal(there.cpu().numpy(), here.numpy())


def warns(name: str) -> Any:
    return pytest.warns(UserWarning, match="deprecated") if name == "range" else nullcontext()


def on_device(array: Any) -> Any:
    return rg.tensor(array, device=HERE)


CHANCES = np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("name", MAKERS)
def test_made_there(name):
    with warns(name):
        same(MAKERS[name](device=HERE), MAKERS[name]())


@pytest.mark.parametrize("name", MAKERS)
def test_made_there_by_default(name):
    with warns(name):
        here = MAKERS[name]()
        with rg.device(HERE):
            there = MAKERS[name]()
    same(there, here)
    assert rg.zeros(1).device.type == "cpu"


@pytest.mark.parametrize("name", LIKE)
def test_made_where_another_is(name):
    here, there = rg.ones(2, 3), rg.ones(2, 3, device=HERE)
    same(LIKE[name](there), LIKE[name](here))
    same(LIKE[name](here, device=HERE), LIKE[name](here))
    assert LIKE[name](there, device="cpu").device.type == "cpu"
    with rg.device(HERE):
        assert LIKE[name](here).device.type == "cpu"


@strict_only
@pytest.mark.parametrize("name", RANDOM)
def test_drawn_there(name):
    """The strict device draws as NumPy does, so that numbers can be compared."""
    same(
        RANDOM[name](device=HERE, generator=rg.Generator(HERE).manual_seed(3)),
        RANDOM[name](generator=rg.Generator().manual_seed(3)),
    )
    rg.manual_seed(5)
    there = RANDOM[name](device=HERE)
    rg.manual_seed(5)
    same(there, RANDOM[name]())


@strict_only
@pytest.mark.parametrize("name", DRAWS)
def test_drawn_where_another_is(name):
    here, there = rg.tensor(CHANCES), on_device(CHANCES)
    same(
        DRAWS[name](there, generator=rg.Generator(HERE).manual_seed(3)),
        DRAWS[name](here, generator=rg.Generator().manual_seed(3)),
    )


@strict_only
@pytest.mark.parametrize("name", LAYERS)
def test_layers_draw_where_their_input_is(name):
    rg.manual_seed(5)
    there = LAYERS[name](on_device(CHANCES))
    rg.manual_seed(5)
    here = LAYERS[name](rg.tensor(CHANCES))
    assert there.device == rg.device(HERE)
    np.testing.assert_allclose(there.cpu().numpy(), here.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", [*DRAWS, *RANDOM])
def test_a_generator_of_another_device_is_refused(name):
    cpu, far = rg.Generator(), rg.Generator(HERE)
    if name in RANDOM:
        tries = (lambda: RANDOM[name](generator=far), lambda: RANDOM[name](device=HERE, generator=cpu))
    else:
        x, y = rg.tensor(CHANCES), on_device(CHANCES)
        tries = (lambda: DRAWS[name](x, generator=far), lambda: DRAWS[name](y, generator=cpu))
    for refused, words in zip(
        tries, ("Expected a 'cpu' device type", f"Expected a '{KIND}' device type"), strict=True
    ):
        with pytest.raises(RuntimeError, match=words):
            refused()


def test_states_of_a_generator():
    g = rg.Generator(HERE).manual_seed(7)
    rg.rand(3, device=HERE, generator=g)
    state, copies = g.get_state(), (g.clone_state(), copy.deepcopy(g), pickle.loads(pickle.dumps(g)))
    first = rg.rand(3, device=HERE, generator=g).cpu()
    g.set_state(state)
    for again in (g, *copies):
        assert again.device == rg.device(HERE)
        assert again.initial_seed() == 7
        assert rg.equal(rg.rand(3, device=HERE, generator=again).cpu(), first)


def test_fork_rng_puts_back_every_device():
    rg.manual_seed(1)
    rg.rand(1, device=HERE)
    with rg.random.fork_rng():
        inside = rg.rand(3, device=HERE), rg.rand(3)
    outside = rg.rand(3, device=HERE), rg.rand(3)
    for a, b in zip(inside, outside, strict=True):
        assert rg.equal(a.cpu(), b.cpu())


def test_seeds_and_devices_that_are_not_the_default():
    rg.manual_seed(11)
    assert rg.random.default_generator.initial_seed() == 11
    a = rg.rand(2, device=HERE).cpu()
    assert rg.equal(rg.rand(2, device=HERE, generator=rg.Generator(HERE).manual_seed(11)).cpu(), a)


def test_the_default_device_belongs_to_a_thread():
    found: list[Any] = []
    rg.set_default_device(HERE)
    try:
        assert rg.get_default_device() == rg.device(HERE)
        thread = threading.Thread(target=lambda: found.append((rg.zeros(1).device, rg.get_default_device())))
        thread.start()
        thread.join()
        with rg.device("cpu"):
            assert rg.zeros(1).device.type == "cpu"
            with rg.device(HERE):
                assert rg.zeros(1).device.type == KIND
            assert rg.zeros(1).device.type == "cpu"
        assert rg.zeros(1).device.type == KIND
    finally:
        rg.set_default_device(None)
    assert found == [(rg.device("cpu"), rg.device("cpu"))]
    assert rg.zeros(1).device.type == "cpu"


def test_a_device_that_is_not_there():
    with pytest.raises(RuntimeError, match="device 'xpu:1' is not available"):
        rg.zeros(2, device="xpu:1")
    with pytest.raises(RuntimeError, match="device 'cuda:99' is not available: .*GPU"):
        rg.zeros(2, device="cuda:99")
    with rg.device("xpu"), pytest.raises(RuntimeError, match="not available"):
        rg.zeros(2)
    assert rg.zeros(2).device.type == "cpu"


def test_a_model_on_the_device():
    """As scripts are written: everything is made there, and trained there."""
    rg.manual_seed(0)
    x, y = rg.randn(16, 3, device=HERE), rg.randn(16, 1, device=HERE)
    w = rg.randn(3, 1, device=HERE, requires_grad=True)
    losses = []
    for _ in range(20):
        loss = F.mse_loss(x @ w, y)
        loss.backward()
        with rg.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert w.device == rg.device(HERE)
