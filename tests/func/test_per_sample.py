from __future__ import annotations

import tracemalloc
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.func import grad, per_sample_grads, vmap
from tests.func.models import MODELS, looped, perceptron

every_model = pytest.mark.parametrize("name", MODELS)


def close(found, wanted):
    assert list(found) == list(wanted)
    for key in wanted:
        assert found[key].shape == wanted[key].shape
        np.testing.assert_allclose(found[key].array, wanted[key].array, rtol=1e-9, atol=1e-11)


@every_model
def test_what_a_loop_over_the_samples_gives(name):
    model = MODELS[name](6)
    close(per_sample_grads(model.loss, model.params, *model.batch), looped(model))


@every_model
def test_streamed_parameter_by_parameter(name):
    model = MODELS[name](4)
    found = {}
    assert per_sample_grads(model.loss, model.params, *model.batch, each=found.__setitem__) is None
    wanted = looped(model)
    assert set(found) == set(wanted)
    close({key: found[key] for key in wanted}, wanted)


@every_model
def test_nothing_is_left_behind(name):
    model = MODELS[name](3)
    arrays = {key: p.array for key, p in model.params.items()}
    per_sample_grads(model.loss, model.params, *model.batch)
    for key, p in model.params.items():
        assert p.array is arrays[key]
        assert p.grad is None
    loss = model.loss(*[b[0] for b in model.batch])
    loss.backward()
    assert all(p.grad.shape == p.shape for p in model.params.values())


def test_the_mean_of_all_is_the_gradient_of_the_mean():
    model = perceptron(8)
    found = per_sample_grads(model.loss, model.params, *model.batch)
    losses = vmap(model.loss)(*model.batch)
    wanted = rg.autograd.grad(losses.mean(), list(model.params.values()))
    for f, w in zip(found.values(), wanted, strict=True):
        np.testing.assert_allclose(f.mean(0).array, w.array, rtol=1e-9, atol=1e-12)


def test_in_chunks():
    model = perceptron(7)
    close(per_sample_grads(model.loss, model.params, *model.batch, chunk_size=3), looped(model))
    rows = {}
    per_sample_grads(
        model.loss,
        model.params,
        *model.batch,
        chunk_size=3,
        each=lambda k, g: rows.setdefault(k, []).append(len(g)),
    )
    assert set(rows) == set(model.params)
    assert all(lengths == [3, 3, 1] for lengths in rows.values())


def test_code_that_is_written_for_batches():
    model = perceptron(5)
    p = model.params

    def loss_of_batch(x, y):
        assert x.shape == (1, 32)
        h = rg.relu(x @ p["w1"].T + p["b1"])
        h = rg.relu(h @ p["w2"].T + p["b2"])
        return rg.nn.functional.cross_entropy(h @ p["w3"].T + p["b3"], y)

    close(per_sample_grads(loss_of_batch, p, *model.batch, as_batch=True), looped(model))


def test_parameters_in_a_list_and_alone():
    w = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    x = rg.tensor([[1.0, 0.0], [3.0, 1.0]], dtype=rg.float64)
    wanted = (2 * (x @ w.detach()))[:, None] * x
    found = per_sample_grads(lambda x: (w @ x) ** 2, [w], x)
    assert isinstance(found, list)
    np.testing.assert_allclose(found[0].array, wanted.array)
    np.testing.assert_allclose(per_sample_grads(lambda x: (w @ x) ** 2, w, x).array, wanted.array)
    keys = []
    per_sample_grads(lambda x: (w @ x) ** 2, [w], x, each=lambda key, g: keys.append(key))
    assert keys == [0]


def test_an_argument_that_all_share_and_one_along_another_dimension():
    w = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    x, scale = (
        rg.tensor([[1.0, 3.0, 2.0], [0.0, 1.0, 5.0]], dtype=rg.float64),
        rg.tensor(2.0, dtype=rg.float64),
    )
    found = per_sample_grads(lambda x, s: (w @ x) * s, w, x, scale, in_dims=(1, None))
    np.testing.assert_allclose(found.array, x.array.T * 2)


def test_a_parameter_that_is_not_used():
    w, v = (rg.ones(2, requires_grad=True) for _ in range(2))
    found = per_sample_grads(lambda x: (w * x).sum(), {"w": w, "v": v}, rg.ones(3, 2))
    assert found["v"].shape == (3, 2)
    assert not found["v"].any()


def test_dropout_of_each_sample():
    w = rg.ones(50, requires_grad=True)
    loss = lambda x: rg.nn.functional.dropout(w * x).sum()  # noqa: E731
    found = per_sample_grads(loss, w, rg.ones(2, 50), randomness="different")
    assert set(np.unique(found.array)) == {0.0, 2.0}
    assert (found[0] != found[1]).any()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        per_sample_grads(loss, w, rg.ones(2, 50))


def test_clipping_by_the_norm_of_each_sample():
    """What private training does: two passes, and never more than one parameter's gradients in memory."""
    model = perceptron(6)
    squares = rg.zeros(6, dtype=rg.float64)
    per_sample_grads(
        model.loss, model.params, *model.batch, each=lambda key, g: squares.add_(g.flatten(1).square().sum(1))
    )
    factors = (1 / squares.sqrt()).clamp(max=1.0)
    sums = {}
    per_sample_grads(
        model.loss, model.params, *model.batch,
        each=lambda key, g: sums.__setitem__(key, (g * factors.reshape(-1, *[1] * (g.ndim - 1))).sum(0)),
    )  # fmt: skip
    whole = looped(model)
    norms = sum(g.flatten(1).square().sum(1) for g in whole.values()).sqrt()
    for key, g in whole.items():
        wanted = (g / norms.clamp(min=1.0).reshape(-1, *[1] * (g.ndim - 1))).sum(0)
        np.testing.assert_allclose(sums[key].array, wanted.array, rtol=1e-9, atol=1e-12)


def wide(layers):
    params = [rg.ones(256, 256, requires_grad=True) for _ in range(layers)]

    def loss(x):
        for w in params:
            x = rg.tanh(w @ x)
        return x.sum()

    return params, loss, rg.ones(16, 256)


def test_streaming_holds_one_parameters_gradients_at_a_time():
    params, loss, x = wide(6)
    seen = []

    def look(key, g):
        assert all(ref() is None for ref in seen)
        seen.append(weakref.ref(g))

    per_sample_grads(loss, params, x, each=look)
    assert len(seen) == 6


def test_streaming_needs_the_memory_of_one_parameters_gradients():
    params, loss, x = wide(6)
    one = 16 * params[0].nbytes
    per_sample_grads(loss, params, x, each=lambda key, g: None)
    tracemalloc.start()
    per_sample_grads(loss, params, x, each=lambda key, g: None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * one


def test_a_parameter_used_through_what_was_computed_before():
    w = rg.ones(3, requires_grad=True)
    doubled = w * 2
    with pytest.raises(
        ValueError, match="used through a tensor that was computed from it before, by MulBackward0"
    ):
        per_sample_grads(lambda x: (doubled * x).sum(), w, rg.ones(2, 3))
    assert type(w.array) is np.ndarray


def test_what_does_not_fit():
    w, x = rg.ones(3, requires_grad=True), rg.ones(2, 3)
    with pytest.raises(TypeError, match="parameter 0 must be a Tensor, not int"):
        per_sample_grads(lambda x: x.sum(), [1], x)
    with pytest.raises(ValueError, match="parameter 0, of shape \\[3\\], does not require a gradient"):
        per_sample_grads(lambda x: x.sum(), [rg.ones(3)], x)
    with pytest.raises(ValueError, match="was computed, by MulBackward0"):
        per_sample_grads(lambda x: x.sum(), [w * 1], x)
    with pytest.raises(
        ValueError, match="must return a single number for one sample, but returned a tensor of shape"
    ):
        per_sample_grads(lambda x: w * x, w, x)
    with pytest.raises(TypeError, match="must return a Tensor, not float"):
        per_sample_grads(lambda x: 1.0, w, x)
    with pytest.raises(ValueError, match="got no inputs"):
        per_sample_grads(lambda: w.sum(), w)


def test_an_error_inside_restores_the_parameters():
    w = rg.ones(3, requires_grad=True)

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        per_sample_grads(fails, w, rg.ones(2, 3))
    assert type(w.array) is np.ndarray
    (w * 2).sum().backward()
    np.testing.assert_allclose(w.grad.array, 2.0)


def test_as_vmap_of_grad_gives_it():
    model = perceptron(4)

    def of_params(params, x, y):
        h = rg.relu(rg.nn.functional.linear(x, params["w1"], params["b1"]))
        h = rg.relu(rg.nn.functional.linear(h, params["w2"], params["b2"]))
        return rg.nn.functional.cross_entropy(rg.nn.functional.linear(h, params["w3"], params["b3"]), y)

    plain = {key: p.detach() for key, p in model.params.items()}
    close(vmap(grad(of_params), in_dims=(None, 0, 0))(plain, *model.batch), looped(model))
