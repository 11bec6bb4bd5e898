"""Twenty steps of every optimiser with every option, beside PyTorch's; and state dicts that change libraries."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

from .cases import CASES, COMPLEX, DIFFERENTIABLE, KINDS

STEPS = 20
SHAPES = ((3, 4), (5,), (), (2, 3, 2))
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}


def parameters(lib, dtype="float64", shapes=SHAPES):
    rng = np.random.default_rng(0)
    return [
        lib.tensor(rng.standard_normal(shape).tolist(), dtype=getattr(lib, dtype)).requires_grad_()
        for shape in shapes
    ]


def train(lib, params, optimizer, steps=STEPS, start=0):
    """Some steps on a loss whose slopes change their signs on the way."""
    for k in range(start, start + steps):
        optimizer.zero_grad()
        loss = sum(((p - 0.3) ** 2 * (1 + 0.1 * k)).sum() + (p * 3).sin().sum() for p in params)
        loss.backward()
        optimizer.step()


def results(lib, name, options, dtype="float64"):
    params = parameters(lib, dtype)
    optimizer = getattr(lib.optim, name)(params, **options)
    train(lib, params, optimizer)
    kept = [optimizer.state[p] for p in params]
    return [p.tolist() for p in params], [{key: s[key].tolist() for key in sorted(s)} for s in kept]


def compare(ours, theirs, tolerance):
    for a, b in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_allclose(a[key], b[key], rtol=10 * tolerance, atol=tolerance, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_twenty_steps_with_every_option(torch, name):
    for options in CASES[name]:
        # Counts and momenta are float32 in both: so far and no further do numbers agree.
        compare(results(rg, name, options), results(torch, name, options), 1e-6 if name == "NAdam" else 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_twenty_steps_in_float32(torch, name):
    options = CASES[name][-1]
    compare(results(rg, name, options, "float32"), results(torch, name, options, "float32"), 2e-4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_directions_and_implementations(torch, name, kind):
    options = {**CASES[name][-1], **kind}
    compare(results(rg, name, options), results(torch, name, options), 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_rates_that_are_tensors(torch, name):
    def run(lib):
        return results(lib, name, {"lr": lib.tensor(0.02, dtype=lib.float64)})

    compare(run(rg), run(torch), 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_large_parameters_go_block_by_block(name):
    """The same numbers as for small ones."""

    def run(pieces):
        values = np.sin(np.arange(40_000.0)).reshape(pieces, -1)
        params = [rg.tensor(row, requires_grad=True) for row in values]
        optimizer = getattr(rg.optim, name)(params, **CASES[name][-1])
        for _ in range(3):
            optimizer.zero_grad()
            sum((p**3).sum() for p in params).backward()
            optimizer.step()
        return np.concatenate([p.detach().array for p in params])

    if name != "Adafactor":  # which looks at a parameter as a whole
        np.testing.assert_array_equal(run(1), run(40))


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_parameters(torch, name):
    def run(lib):
        z = lib.tensor([1 + 2j, -0.5 + 0.1j, 3 - 1j], dtype=lib.complex128).requires_grad_()
        optimizer = getattr(lib.optim, name)([z], **CASES[name][-1])
        for _ in range(10):
            optimizer.zero_grad()
            ((z * z.conj()).real.sum() + (z * z).real.sum() * 0.3).backward()
            optimizer.step()
        return z.tolist()

    np.testing.assert_allclose(run(rg), run(torch), rtol=1e-6)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_through_a_step(torch, name):
    """The gradient of what a step has made, with respect to the start."""

    def run(lib):
        start = lib.tensor([1.0, -0.5, 0.3], dtype=lib.float64, requires_grad=True)
        w = start * 1.0
        w.retain_grad()
        optimizer = getattr(lib.optim, name)([w], **CASES[name][-1], differentiable=True)
        w.grad = (start**3).exp()
        optimizer.step()
        (w * w).sum().backward()
        return start.grad.tolist()

    ours, theirs = run(rg), run(torch)
    if np.isnan(theirs).any():  # where PyTorch's formula is singular at the first step
        return
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("name", [*CASES, "LBFGS", "Muon"])
@pytest.mark.parametrize("way", ["rg-torch", "torch-rg", "rg-rg"])
def test_state_dicts_go_from_one_library_to_the_other(torch, name, way):
    libraries = {"rg": rg, "torch": torch}
    first, second = (libraries[n] for n in way.split("-"))
    options = CASES[name][-1] if name in CASES else {}
    shapes = ((3, 4), (2, 2)) if name == "Muon" else SHAPES

    def half(lib, params, start):
        optimizer = getattr(lib.optim, name)(params, **options)
        return optimizer, lambda: go(lib, params, optimizer, start)

    params = parameters(first, shapes=shapes)
    optimizer, run = half(first, params, 0)
    run()
    saved = converted(optimizer.state_dict(), first, second)
    others = [second.tensor(p.tolist(), dtype=second.float64).requires_grad_() for p in params]
    other, run_other = half(second, others, 3)
    other.load_state_dict(saved)
    run_other()
    go(first, params, optimizer, 3)
    tolerance = 5e-2 if name == "Muon" else 1e-6
    for a, b in zip(params, others, strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=tolerance, atol=tolerance)


def go(lib, params, optimizer, start):
    """Three steps more; L-BFGS wants a closure."""
    if type(optimizer).__name__ != "LBFGS":
        train(lib, params, optimizer, 3, start)
        return

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - 0.3) ** 4).sum() for p in params)
        loss.backward()
        return loss

    optimizer.step(closure)


def converted(value, first, second):
    """A state dict with the tensors of the other library."""
    if isinstance(value, first.Tensor):
        return second.tensor(value.tolist(), dtype=getattr(second, str(value.dtype).removeprefix("torch.")))
    if isinstance(value, dict):
        return {key: converted(inner, first, second) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(converted(inner, first, second) for inner in value)
    return value


# ---- those that are different -------------------------------------------------------------------------------------


def rosenbrock(w):
    return (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2 + (w[2] - 1) ** 4


@pytest.mark.parametrize("history", [100, 2])
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("rate", [1, 0.3])
@pytest.mark.parametrize("most", [None, 60])
def test_lbfgs_goes_pytorchs_way(torch, search, rate, history, most):
    def run(lib):
        w = lib.tensor([-0.5, 0.8, 3.0], dtype=lib.float64, requires_grad=True)
        rate_ = rate if search else rate * 1e-2
        optimizer = lib.optim.LBFGS(
            [w], lr=rate_, max_iter=5, max_eval=most, line_search_fn=search, history_size=history
        )
        calls, losses = [], []

        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(w)
            loss.backward()
            calls.append(loss.item())
            return loss

        for _ in range(6):
            losses.append(optimizer.step(closure).item())
        state = optimizer.state[w]
        return calls, losses, w.tolist(), state["func_evals"], state["n_iter"]

    ours, theirs = run(rg), run(torch)
    assert ours[3:] == theirs[3:]
    for a, b in zip(ours[:3], theirs[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3)  # each move makes rounding errors larger


def test_lbfgs_of_several_and_complex_parameters(torch):
    def run(lib):
        z = lib.tensor([1 + 2j, -0.5 + 0.1j], dtype=lib.complex128, requires_grad=True)
        w = lib.tensor([[1.0, 2.0]], dtype=lib.float64, requires_grad=True)
        unused = lib.ones(2, dtype=lib.float64, requires_grad=True)
        optimizer = lib.optim.LBFGS([z, w, unused], line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = ((z * z.conj()).real * (1 + w[0] ** 2)).sum() + ((w - 1) ** 2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return [z.tolist(), w.tolist(), unused.tolist()]

    for a, b in zip(run(rg), run(torch), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


@pytest.mark.parametrize(
    "options", [{}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}, {"weight_decay": 0}]
)
def test_muon_is_pytorchs_to_the_precision_of_bfloat16(torch, options):
    def run(lib):
        params = parameters(lib, "float32", ((6, 4), (3, 5), (2, 2)))
        optimizer = lib.optim.Muon(params, lr=0.02, **options)
        train(lib, params, optimizer, 5)
        return [p.tolist() for p in params]

    for a, b in zip(run(rg), run(torch), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-2)


def test_muon_makes_singular_values_equal():
    w = rg.zeros(4, 3, requires_grad=True)
    w.grad = rg.tensor(np.random.default_rng(0).standard_normal((4, 3)), dtype=rg.float32)
    rg.optim.Muon(
        [w], lr=1.0, weight_decay=0, ns_steps=20, ns_coefficients=(1.5, -0.5, 0.0), adjust_lr_fn="original"
    ).step()
    values = rg.linalg.svdvals(w.detach())
    np.testing.assert_allclose(values.tolist(), [(4 / 3) ** 0.5] * 3, rtol=1e-4)


# ---- options that are refused -------------------------------------------------------------------------------------

WRONG = [
    ("RMSprop", {"lr": -1}), ("RMSprop", {"eps": -1}), ("RMSprop", {"momentum": -1}), ("RMSprop", {"alpha": -1}),
    ("RMSprop", {"weight_decay": -1}), ("Adagrad", {"lr_decay": -1}), ("Adagrad", {"initial_accumulator_value": -1}),
    ("Adagrad", {"fused": True, "differentiable": True}), ("Adagrad", {"fused": True, "foreach": True}),
    ("Adadelta", {"rho": 2}), ("Adadelta", {"eps": -1}), ("Adamax", {"betas": (2, 0.9)}),
    ("NAdam", {"momentum_decay": -1}), ("NAdam", {"betas": (0.9, 2)}), ("RAdam", {"betas": (2, 0.9)}),
    ("ASGD", {"lr": -1}), ("ASGD", {"weight_decay": -1}), ("Rprop", {"etas": (2, 1.2)}), ("Adafactor", {"lr": -1}),
    ("Adafactor", {"beta2_decay": 1}), ("Adafactor", {"eps": (-1, 1)}), ("Adafactor", {"eps": (None, -1)}),
    ("Adafactor", {"d": 0.5}), ("Adafactor", {"weight_decay": -1}), ("LBFGS", {"lr": -1}), ("Muon", {"lr": -1}),
    ("Muon", {"momentum": -1}), ("Muon", {"weight_decay": -1}), ("Muon", {"adjust_lr_fn": "x"}),
]  # fmt: skip


def refusal(lib, name, options, shape=(2, 2)):
    with pytest.raises(Exception) as caught:
        param = lib.ones(*shape, requires_grad=True)
        param.grad = lib.ones(*shape)
        getattr(lib.optim, name)([param], **options).step()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize(("name", "options"), WRONG, ids=str)
def test_wrong_options_are_refused_in_pytorchs_words(torch, name, options):
    kind, message = refusal(rg, name, options)
    expected, words = refusal(torch, name, options)
    assert issubclass(kind, expected)
    assert message.startswith(words.rstrip("."))


@pytest.mark.parametrize("name", ["Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "Adam"])
def test_steps_are_not_captured_on_the_cpu(torch, name):
    for lib in (rg, torch):
        kind, message = refusal(lib, name, {"capturable": True})
        assert kind is AssertionError
        assert message.startswith("If capturable=True, params")


def test_parameters_that_are_refused(torch):
    for lib in (rg, torch):
        kind, message = refusal(lib, "Muon", {}, (2,))
        assert (kind, message[:45]) == (ValueError, "Muon only supports 2D parameters whereas we f")
        params = [
            {"params": [lib.ones(1, requires_grad=True)]},
            {"params": [lib.ones(1, requires_grad=True)]},
        ]
        with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
            lib.optim.LBFGS(params)
        z = lib.ones(1, dtype=lib.complex64, requires_grad=True)
        z.grad = lib.ones(1, dtype=lib.complex64)
        with pytest.raises(RuntimeError, match="Adafactor does not support complex parameters"):
            lib.optim.Adafactor([z]).step()


@pytest.mark.parametrize("name", [*CASES, "LBFGS", "Muon"])
def test_the_same_options_and_text(torch, name):
    def text(lib):
        optimizer = getattr(lib.optim, name)([lib.ones(2, 2, requires_grad=True)])
        return list(optimizer.defaults.items()), repr(optimizer)

    assert text(rg) == text(torch)


def test_other_parameters_for_a_while(torch):
    def run(lib):
        w, other = (lib.ones(2, requires_grad=True) for _ in range(2))
        optimizer = lib.optim.Adam([w], lr=0.1)
        w.grad = other.grad = lib.ones(2)
        optimizer.step()
        state = {"state": {0: {k: v.clone() for k, v in optimizer.state[w].items()}}}
        state["param_groups"] = [{**optimizer.state_dict()["param_groups"][0], "lr": 0.5}]
        with lib.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, state):
            optimizer.step()
        return w.tolist(), other.tolist(), state["state"][0]["step"].item(), optimizer.param_groups[0]["lr"]

    for ours, theirs in zip(run(rg), run(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
