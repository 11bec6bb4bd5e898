"""What vmap does beyond what PyTorch's behaviour shows: the fallback, levels, batches in graphs."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd import func
from retrograd.backends.batch.array import BatchedArray


def test_shared_operands_cost_no_memory():
    w = rg.ones(1000)
    seen = []

    def look(w, x):
        seen.append(w.array.value.shape if isinstance(w.array, BatchedArray) else w.array.shape)
        return (w * x).sum()

    func.vmap(func.grad(look), in_dims=(None, 0))(w, rg.ones(50, 1000))
    assert seen == [(1, 1000)]


def test_what_depends_on_shared_operands_only_is_computed_once():
    shapes = []

    def f(w, x):
        h = w.exp()
        shapes.append(h.array.value.shape)
        return (h * x).sum()

    func.vmap(func.grad(f), in_dims=(None, 0))(rg.ones(3), rg.ones(50, 3))
    assert shapes == [(1, 3)]


def test_levels_end_with_an_error():
    def fails(x):
        raise KeyError("mine")

    for transform in (func.vmap(fails), func.grad(fails), func.vmap(func.grad(fails)), func.jacfwd(fails)):
        with pytest.raises(KeyError, match="mine"):
            transform(rg.ones(2))
    with pytest.raises(KeyError, match="mine"):
        func.jvp(lambda x: func.jvp(fails, (x,), (x,)), (rg.ones(2),), (rg.ones(2),))
    rg.ones(2).requires_grad_()
    rg.rand(1)
    with rg.autograd.forward_ad.dual_level():
        assert rg.autograd.forward_ad.unpack_dual(rg.ones(1)).tangent is None


def test_threads_have_levels_of_their_own():
    inside, done = threading.Event(), threading.Event()
    found = []

    def wait(x):
        inside.set()
        done.wait(10)
        return x * 2

    thread = threading.Thread(target=lambda: found.append(func.vmap(wait)(rg.ones(3, 2))))
    thread.start()
    inside.wait(10)
    x = rg.ones(2, requires_grad=True)
    (x * rg.rand(2)).sum().backward()
    done.set()
    thread.join()
    assert found[0].shape == (3, 2)


def test_the_graph_of_a_batch_is_freed():
    x = rg.ones(4, 3, requires_grad=True)
    y = func.vmap(lambda v: (v.exp() * v).sum())(x)
    node = weakref.ref(y.grad_fn)
    y.sum().backward()
    del y
    gc.collect()
    assert node() is None
    assert type(x.grad.array) is np.ndarray


def test_hooks_see_batched_gradients():
    x = rg.ones(4, 3, requires_grad=True)
    seen = []

    def f(v):
        h = v * 2
        h.register_hook(lambda g: seen.append(tuple(g.shape)))
        return h.sum()

    func.vmap(f)(x).sum().backward()
    assert seen == [(3,)]


def test_a_batched_tensor_prints_all_samples():
    texts = []
    func.vmap(lambda x: texts.append(repr(x)) or x)(rg.tensor([[1.0], [2.0]]))
    assert texts == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1.],\n            [2.]])\n)"]


def test_a_write_into_part_of_a_tensor_that_has_a_history():
    x = rg.ones(2, 3, requires_grad=True).transpose(0, 1) * 1
    with pytest.raises(RuntimeError, match="samples of an argument of vmap, whose history is outside"):
        func.vmap(lambda v: v.mul_(2))(x[:2])


def test_random_numbers_of_each_sample_in_nested_maps():
    f = func.vmap(func.vmap(lambda x: rg.rand(5), randomness="different"), randomness="same")
    found = f(rg.ones(3, 4))
    assert found.shape == (3, 4, 5)
    assert (found[0] == found[1]).all()
    assert (found[0, 0] != found[0, 1]).any()


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_every_way_to_draw(randomness):
    rg.manual_seed(0)  # four coins may fall alike three times
    x = rg.full((3, 4), 0.5)
    draws = {
        "bernoulli": rg.bernoulli, "normal": lambda x: rg.normal(x, 1.0), "poisson": rg.poisson,
        "binomial": lambda x: rg.binomial(x * 20, x), "multinomial": lambda x: rg.multinomial(x, 3),
        "rand_like": rg.rand_like, "randn_like": rg.randn_like, "randperm": lambda x: rg.randperm(20),
        "randint": lambda x: rg.randint(0, 1000, (4,)), "uniform_": lambda x: x.clone().uniform_(),
        "normal_": lambda x: x.clone().normal_(), "exponential_": lambda x: x.clone().exponential_(),
        "cauchy_": lambda x: x.clone().cauchy_(), "log_normal_": lambda x: x.clone().log_normal_(),
        "geometric_": lambda x: x.clone().geometric_(0.01), "random_": lambda x: x.clone().random_(0, 1000),
        "dropout": lambda x: rg.nn.functional.dropout(x.repeat(20)),
        "alpha_dropout": lambda x: rg.nn.functional.alpha_dropout(x.repeat(20), training=True),
        "gumbel_softmax": lambda x: rg.nn.functional.gumbel_softmax(x, dim=0),
        "rrelu": lambda x: rg.nn.functional.rrelu(-x, training=True),
    }  # fmt: skip
    # Which each sample has for itself, so that samples cannot share what is drawn.
    by_parameters = {"bernoulli", "normal", "poisson", "binomial", "multinomial"}
    for name, draw in draws.items():
        over = func.vmap(draw, randomness=randomness)
        if name in by_parameters and randomness == "same":
            with pytest.raises(RuntimeError, match="does not currently support same randomness"):
                over(x)
            continue
        found = over(x)
        assert len(found) == 3, name
        alike = all(bool((found[i] == found[0]).all()) for i in (1, 2))
        assert alike == (randomness == "same"), name


def test_no_warning_in_a_training_step():
    w = rg.ones(3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        func.vmap(func.grad(lambda w, x: rg.softmax(x @ w, 0)[0]), in_dims=(None, 0))(w, rg.ones(5, 3))


X = rg.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=rg.float64)
GRADIENT = func.vmap(func.grad(lambda x: (x.exp() * x.sin()).sum()))


def by_modes():
    """What else may be on while a batch is differentiated."""
    from retrograd.utils.checkpoint import checkpoint

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rg.autograd.detect_anomaly():
            yield "anomaly", GRADIENT(X)
    with rg.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        yield "hooks", GRADIENT(X)
    with rg.autograd.detect_nonfinite():
        yield "nonfinite", GRADIENT(X)
    with rg.no_grad():
        yield "no_grad", GRADIENT(X)
    f = lambda x: checkpoint(lambda x: (x.exp() * x.sin()).sum(), x, use_reentrant=False)  # noqa: E731
    yield "checkpoint", func.vmap(func.grad(f))(X)


def test_other_modes_change_nothing():
    wanted = GRADIENT(X).array
    for name, found in by_modes():
        np.testing.assert_allclose(found.array, wanted, err_msg=name)


def test_a_nan_in_one_sample_is_found():
    f = func.vmap(func.grad(lambda x: (x * 0).log().sum()))
    with rg.autograd.detect_nonfinite(), pytest.raises(RuntimeError, match="log"):
        f(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rg.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="MulBackward0|LogBackward0"):
            f(X)


def test_running_statistics_that_all_samples_share():
    F = rg.nn.functional
    x, mean, var = rg.ones(2, 4, 3), rg.zeros(3), rg.ones(3)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input while the running_mean"):
        func.vmap(lambda x: F.batch_norm(x, mean, var, training=True))(x)
    assert not mean.any()
    assert func.vmap(lambda x: F.batch_norm(x, mean, var))(x).shape == x.shape
    assert func.vmap(lambda x: F.batch_norm(x, None, None, training=True))(x).shape == x.shape
