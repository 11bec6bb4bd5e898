"""Recurrent networks as functions: PyTorch's two signatures, derivatives of all kinds, dtypes, batches, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch")

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
SIZES = [3, 2, 2, 1]


def arrays(kind, layers, directions, out=4, biases=True, packed=False, batch_first=False):
    """The input, the states and the parameters of a network from 3 features to 4."""
    rng = np.random.default_rng(0)
    rows, shapes = 4 * GATES[kind], []
    for layer in range(layers):
        for _ in range(directions):
            shapes += [(rows, 3 if layer == 0 else out * directions), (rows, out)]
            shapes += [(rows,), (rows,)] if biases else []
            shapes += [(out, 4)] if out != 4 else []
    x = (sum(SIZES), 3) if packed else (3, 5, 3) if batch_first else (5, 3, 3)
    states = [(layers * directions, 3, out)] + ([(layers * directions, 3, 4)] if kind == "lstm" else [])
    return [rng.standard_normal(shape) for shape in (x, *states, *shapes)]


def network(library, kind, layers, directions, biases=True, packed=False, batch_first=False, **options):
    """The function of tensors alone."""

    def run(x, *rest):
        count = 2 if kind == "lstm" else 1
        hx, params = (rest[:2] if count == 2 else rest[0]), rest[count:]
        settings = (biases, layers, 0.0, False, directions == 2)
        function = getattr(library, kind)
        if packed:
            return function(x, library.tensor(SIZES), hx, params, *settings)
        return function(x, hx, params, *settings, batch_first)

    return run


CASES = [
    (kind, {"layers": layers, "directions": directions, **options})
    for kind in GATES
    for layers, directions, options in (
        (1, 1, {}),
        (2, 2, {"biases": False, "batch_first": True}),
        (2, 1, {"packed": True}),
        (1, 2, {"packed": True, "biases": False}),
    )
] + [
    ("lstm", {"layers": 2, "directions": 2, "out": 2}),
    ("lstm", {"layers": 1, "directions": 2, "out": 2, "packed": True}),
]


def leaves(library, values, dtype="float64"):
    return [library.tensor(v, dtype=getattr(library, dtype), requires_grad=True) for v in values]


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(("kind", "options"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_first_and_second_derivatives_are_pytorchs(kind, options, dtype):
    values, found = arrays(kind, **options), []
    for library in (torch, rg):
        xs = leaves(library, values, dtype)
        outs = network(library, kind, **options)(*xs)
        first = library.autograd.grad(sum((o * o.sin()).sum() for o in outs), xs, create_graph=True)
        second = library.autograd.grad(sum((g * g).sum() for g in first), xs)
        found.append([t.detach().numpy() for t in (*outs, *first, *second)])
    for wanted, got in zip(*found, strict=True):
        assert got.dtype == wanted.dtype
        slack = 1e-9 if dtype == "float64" else 1e-2
        np.testing.assert_allclose(got, wanted, rtol=slack, atol=slack * np.abs(wanted).max())


@pytest.mark.parametrize("kind", GATES)
def test_gradients_of_gradients_and_forward_mode(kind):
    options = {"layers": 1, "directions": 1, "packed": True}
    xs = leaves(rg, arrays(kind, **options))
    run = network(rg, kind, **options)
    assert rg.autograd.gradcheck(run, xs, check_forward_ad=True, check_batched_grad=True, fast_mode=True)
    assert rg.autograd.gradgradcheck(run, xs, fast_mode=True, check_fwd_over_rev=True)


@pytest.mark.parametrize("kind", GATES)
def test_samples_of_a_batch_are_what_each_is_alone(kind):
    options = {"layers": 1, "directions": 1}
    x, *rest = leaves(rg, arrays(kind, **options))
    xs, run = rg.stack([x, 2 * x, -x]).detach(), network(rg, kind, **options)
    together = rg.func.vmap(lambda each: run(each, *rest)[0])(xs)
    alone = rg.stack([run(each, *rest)[0] for each in xs])
    np.testing.assert_allclose(together.detach(), alone.detach(), rtol=1e-12)

    def loss(w, each):
        return run(each, *rest[:-4], w, *rest[-3:])[0].sum()

    w = rest[-4].detach()
    per_sample = rg.func.vmap(rg.func.grad(loss), (None, 0))(w, xs)
    wanted = rg.stack([rg.func.grad(loss)(w, each) for each in xs])
    np.testing.assert_allclose(per_sample.detach(), wanted.detach(), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize(("dtype", "slack"), [("float16", 2e-2), ("complex128", 1e-10)])
def test_other_dtypes(kind, dtype, slack):
    values, found = [0.3 * v for v in arrays(kind, 1, 1)], []
    for library in (torch, rg):
        xs = leaves(library, values, dtype)
        outs = network(library, kind, 1, 1)(*xs)
        grads = library.autograd.grad(sum(o.abs().sum() for o in outs), xs)
        found.append([t.detach().numpy() for t in (*outs, *grads)])
    for wanted, got in zip(*found, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=slack, atol=slack * float(np.abs(wanted).max()))


def test_arguments_by_name():
    x, h, c, *params = leaves(rg, arrays("lstm", 1, 1))
    rest = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "train": True, "bidirectional": False}
    by_place = rg.lstm(x, (h, c), params, *rest.values(), False)
    by_name = rg.lstm(input=x, hx=(h, c), params=params, batch_first=False, **rest)
    assert all(rg.equal(a, b) for a, b in zip(by_place, by_name, strict=True))
    data, h, *params = leaves(rg, arrays("gru", 1, 1, packed=True))
    sizes = rg.tensor(SIZES)
    by_place = rg.gru(data, sizes, h, params, *rest.values())
    by_name = rg.gru(data=data, batch_sizes=sizes, hx=h, params=params, **rest)
    assert all(rg.equal(a, b) for a, b in zip(by_place, by_name, strict=True))


def changed(i, change):
    """A call whose tensor number i is another."""

    def call(library, xs, kind="lstm", packed=False):
        xs = [*xs[:i], change(xs[i]), *xs[i + 1 :]]
        return network(library, kind, 1, 1, packed=packed)(*xs)

    return call


def with_settings(*settings):
    return lambda library, xs: library.lstm(xs[0], xs[1:3], xs[3:], *settings)


WRONG = {
    "data of other features": changed(0, lambda x: x[..., :2]),
    "data of four dimensions": changed(0, lambda x: x[None]),
    "a state of another batch": changed(1, lambda h: h[:, :2]),
    "a state of two dimensions": changed(1, lambda h: h[0]),
    "a state of other features": changed(1, lambda h: h[..., :2]),
    "a cell of other features": changed(2, lambda c: c[..., :2]),
    "a weight of other columns": changed(3, lambda w: w[:, :2]),
    "a recurrent weight of other columns": changed(4, lambda w: w[:, :2]),
    "a recurrent weight of other rows": changed(4, lambda w: w[:-1]),
    "a bias of another size": changed(5, lambda b: b[:-1]),
    "data of another dtype": changed(0, lambda x: x.float()),
    "states of another dtype": changed(1, lambda h: h.float()),
    "no time": changed(0, lambda x: x[:0]),
    "a missing weight": lambda library, xs: network(library, "lstm", 1, 1)(*xs[:-1]),
    "too few states": with_settings(True, 2, 0.0, False, False, False),
    "no layers": with_settings(True, 0, 0.0, False, False, False),
    "two directions of one": with_settings(True, 1, 0.0, False, True, False),
    "one state": lambda library, xs: library.lstm(xs[0], xs[1:2], xs[3:], True, 1, 0.0, False, False, False),
    "a state that is no pair": lambda library, xs: library.lstm(
        xs[0], xs[1], xs[3:], True, 1, 0.0, False, False, False
    ),
    "no tensor": lambda library, xs: library.lstm([1.0], xs[1:3], xs[3:], True, 1, 0.0, False, False, False),
    "arguments that are not there": lambda library, xs: library.lstm(xs[0], xs[1:3], xs[3:]),
    "an argument twice": lambda library, xs: library.lstm(
        xs[0], xs[1:3], xs[3:], True, 1, 0.0, False, False, False, input=xs[0]
    ),
}


def same_error(call, *made):
    """PyTorch refuses it, and so do we, with an exception of the same type."""
    torch._C._set_mkldnn_enabled(False)  # its kernel looks at nothing
    try:
        with pytest.raises(Exception) as theirs:
            call(torch, *made[0])
    finally:
        torch._C._set_mkldnn_enabled(True)
    with pytest.raises(theirs.type) as ours:
        call(rg, *made[1])
    assert str(ours.value)


@pytest.mark.parametrize("wrong", WRONG)
def test_errors(wrong):
    values = arrays("lstm", 1, 1)
    same_error(WRONG[wrong], [leaves(torch, values)], [leaves(rg, values)])


@pytest.mark.parametrize(
    "sizes", [[3, 2, 2], [3, 2, 2, 2], [3.0, 2.0, 2.0, 1.0], []], ids=["fewer", "more", "float", "none"]
)
def test_errors_of_packed_sequences(sizes):
    values = arrays("gru", 1, 1, packed=True)

    def call(library, xs):
        x, h, *params = xs
        return library.gru(x, library.tensor(sizes), h, params, True, 1, 0.0, False, False)

    if sizes == [3, 2, 2]:  # what is left over is ignored
        found = [call(library, leaves(library, values))[0] for library in (torch, rg)]
        np.testing.assert_allclose(found[1].detach(), found[0].detach().numpy())
    else:
        same_error(call, [leaves(torch, values)], [leaves(rg, values)])


CELL_ERRORS = {
    "a vector": lambda xs: [xs[0][0], xs[1][0], *xs[2:]],
    "other features": lambda xs: [xs[0][:, :2], *xs[1:]],
    "another batch": lambda xs: [xs[0], xs[1][:1], *xs[2:]],
    "a state of other features": lambda xs: [xs[0], xs[1][:, :2], *xs[2:]],
    "a weight of other rows": lambda xs: [*xs[:2], xs[2][:2], *xs[3:]],
    "another dtype": lambda xs: [xs[0].float(), *xs[1:]],
}


@pytest.mark.parametrize("wrong", CELL_ERRORS)
@pytest.mark.parametrize("kind", GATES)
def test_errors_of_cells(kind, wrong):
    values = arrays(kind, 1, 1)
    values = [values[0][0], values[1][0], *values[-4:]]

    def call(library, xs):
        x, h, *weights = CELL_ERRORS[wrong](xs)
        return getattr(library, f"{kind}_cell")(x, (h, h) if kind == "lstm" else h, *weights)

    same_error(call, [leaves(torch, values)], [leaves(rg, values)])


def test_memory_is_given_back_with_the_graph():
    out = network(rg, "lstm", 1, 1)(*leaves(rg, arrays("lstm", 1, 1)))[0]
    node = out.grad_fn
    assert node.notes is not None
    out.sum().backward()
    assert node.notes is None
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()


def test_writing_into_an_input_is_noticed():
    xs = leaves(rg, arrays("gru", 1, 1))
    x = xs[0].detach().clone()
    out = network(rg, "gru", 1, 1)(x, *xs[1:])[0]
    x.zero_()
    with pytest.raises(RuntimeError, match="in-?place|overwritten|modified"):
        out.sum().backward()


def test_writing_into_the_outputs_changes_no_gradient():
    values = arrays("rnn_tanh", 1, 1)
    xs, others = leaves(rg, values), leaves(rg, values)

    def loss(outs):
        return (outs[0] * 2).sum() + outs[1].sum()

    loss(network(rg, "rnn_tanh", 1, 1)(*xs)).backward()
    outs = network(rg, "rnn_tanh", 1, 1)(*others)
    found = loss(outs)
    with rg.no_grad():
        for out in outs:
            out.zero_()
    found.backward()
    assert all(rg.equal(a.grad, b.grad) for a, b in zip(xs, others, strict=True))
