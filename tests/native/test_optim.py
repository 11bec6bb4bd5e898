"""Steps of optimisers: kernels against NumPy's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.kernels.optimizer_steps import AdamRates, SGDRates, adam_step, sgd_step
from retrograd.backends.native import CPU_BACKEND
from retrograd.backends.numpy_backend import NUMPY
from retrograd.backends.pack import PACK
from tests.native.networks import FLOATS, needs_pack, normal, threads, without_pack

pytestmark = needs_pack

SHAPES = [(), (1,), (7,), (3, 5), (0, 4), (130, 129), (100, 400)]
SGD = [
    SGDRates(0.1, 0.0, 0.0, 0.0, False, False),
    SGDRates(0.1, 0.0, 0.0, 0.3, False, True),
    SGDRates(0.1, 0.9, 0.0, 0.0, False, False),
    SGDRates(0.1, 0.9, 0.2, 0.1, False, True),
    SGDRates(0.1, 0.9, 0.0, 0.1, True, False),
]
ADAM = [
    AdamRates(0.1, 0.9, 0.99, 1e-8, 0.0, False, False),
    AdamRates(0.1, 0.8, 0.95, 1e-3, 0.2, False, True),
    AdamRates(0.1, 0.9, 0.99, 1e-8, 0.2, True, False),
]


def arrays(shape: tuple[int, ...], dtype: str, count: int) -> list[Any]:
    """A parameter, a gradient, and arrays of state, the last two of which are not negative."""
    made = [np.asarray(normal(shape, dtype, seed)) for seed in range(count)]
    return [*made[:3], *(np.asarray(np.square(a)) for a in made[3:])]


def copies(rows: list[Any]) -> list[Any]:
    return [tuple(a.copy() if isinstance(a, np.ndarray) else a for a in row) for row in rows]


def assert_same(found: list[Any], wanted: list[Any], dtype: str) -> None:
    rtol = 1e-5 if dtype == "float32" else 1e-12
    for row, other in zip(found, wanted, strict=True):
        for a, b in zip(row, other, strict=True):
            if isinstance(a, np.ndarray):
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rates", SGD)
@pytest.mark.parametrize("first", [True, False])
def test_gradient_descent(rates: SGDRates, first: bool, dtype: str) -> None:
    rows: list[Any] = []
    for shape in SHAPES:
        param, grad, velocity = arrays(shape, dtype, 3)
        rows.append((param, grad, velocity if rates.momentum else None, first))
    wanted = copies(rows)
    for row in wanted:
        sgd_step(NUMPY, *row, rates)
    assert PACK.sgd_steps(rows, rates) == []
    assert_same(rows, wanted, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rates", ADAM)
@pytest.mark.parametrize("largest", [True, False])
def test_adam(rates: AdamRates, largest: bool, dtype: str) -> None:
    rows: list[Any] = []
    for step, shape in enumerate(SHAPES, 1):
        param, grad, mean, square, top = arrays(shape, dtype, 5)
        rows.append((param, grad, mean, square, top if largest else None, float(step)))
    wanted = copies(rows)
    for row in wanted:
        adam_step(NUMPY, *row, rates)
    assert PACK.adam_steps(rows, rates) == []
    assert_same(rows, wanted, dtype)


def test_special_numbers() -> None:
    values = np.array([0.0, np.inf, -np.inf, np.nan, 1.0], np.float32)
    param, grad = (np.ascontiguousarray(a).ravel() for a in np.meshgrid(values, values))
    for rates in SGD:
        rows: list[Any] = [(param.copy(), grad, param.copy() if rates.momentum else None, False)]
        wanted = copies(rows)
        with np.errstate(all="ignore"):
            sgd_step(NUMPY, *wanted[0], rates)
        CPU_BACKEND.sgd_steps(rows, rates)
        assert_same(rows, wanted, "float32")
    for adam in ADAM:
        rows = [(param.copy(), grad, np.ones_like(param), np.abs(param), np.abs(grad), 2.0)]
        wanted = copies(rows)
        with np.errstate(all="ignore"):
            adam_step(NUMPY, *wanted[0], adam)
        CPU_BACKEND.adam_steps(rows, adam)
        assert_same(rows, wanted, "float32")


def test_layouts() -> None:
    """Arrays in Fortran's order are served together; a mixture, and arrays with gaps, are left to NumPy."""
    rates = ADAM[1]
    straight = arrays((6, 4), "float64", 5)
    fortran = [np.asfortranarray(a) for a in straight]
    mixed = [fortran[0], *straight[1:]]
    gaps = [np.repeat(a, 2, axis=1)[:, ::2] for a in straight]
    for row, served in ((straight, True), (fortran, True), (mixed, False), (gaps, False)):
        rows = copies([(*row, 3.0)]) if served else [(*row, 3.0)]
        wanted = copies(rows)
        adam_step(NUMPY, *wanted[0], rates)
        assert (PACK.adam_steps(copies(rows), rates) == []) or not served
        CPU_BACKEND.adam_steps(rows, rates)
        assert_same(rows, wanted, "float64")


def test_a_parameter_that_comes_twice_moves_twice() -> None:
    param, grad, velocity = arrays((200, 300), "float32", 3)
    rows: list[Any] = [(param, grad, velocity, False), (param, grad, velocity, False)]
    alone = copies([rows[0]])[0]
    for _ in range(2):
        sgd_step(NUMPY, *alone, SGD[3])
    with threads(2):
        CPU_BACKEND.sgd_steps(rows, SGD[3])
    assert_same([rows[0]], [alone], "float32")


def test_a_gradient_that_is_the_parameter() -> None:
    param = normal((300, 200), "float64")
    wanted = param - 0.1 * param
    CPU_BACKEND.sgd_steps([(param, param, None, False)], SGD[0])
    np.testing.assert_allclose(param, wanted, rtol=1e-14)


def test_what_is_not_served_is_given_back() -> None:
    half = tuple(np.ones(3, np.float16) for _ in range(2))
    locked = np.ones(3)
    locked.flags.writeable = False
    rows: list[Any] = [
        (*half, None, False),
        (np.ones(3), np.ones(3), None, False),
        (np.ones(3), np.ones(4), None, False),
        (np.ones(3), np.ones(3, np.float32), None, False),
        (locked, np.ones(3), None, False),
    ]
    left = PACK.sgd_steps(rows, SGD[0])
    assert [next(i for i, row in enumerate(rows) if row is other) for other in left] == [0, 2, 3, 4]


def test_no_bit_depends_on_the_number_of_threads() -> None:
    found = []
    for count in (1, 2, 5):
        rows: list[Any] = [(*arrays((150, 170), "float32", 5), 4.0) for _ in range(5)]
        with threads(count):
            CPU_BACKEND.adam_steps(rows, ADAM[2])
        found.append([a.tobytes() for row in rows for a in row[:5]])
    assert found[0] == found[1] == found[2]


def test_whole_optimisers_go_the_way_they_go_without_the_pack() -> None:
    def trained() -> list[Any]:
        rg.manual_seed(0)
        ends = []
        for make in (rg.optim.Adam, rg.optim.AdamW, rg.optim.SGD):
            w = rg.tensor(normal((20, 30), "float64"), requires_grad=True)
            optimizer = make([w], lr=0.05)
            for _ in range(5):
                optimizer.zero_grad()
                ((w - 1) ** 2).sum().backward()
                optimizer.step()
            ends.append(w.detach().numpy())
        return ends

    found = trained()
    with without_pack():
        plain = trained()
    for a, b in zip(found, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


RULES = {
    "RMSprop": [
        {},
        {"momentum": 0.9},
        {"centered": True, "weight_decay": 0.1},
        {"momentum": 0.9, "centered": True},
    ],
    "Adagrad": [{"lr_decay": 0.1}, {"initial_accumulator_value": 0.5, "maximize": True}],
    "Adadelta": [{}, {"weight_decay": 0.1}],
    "Adamax": [{}, {"weight_decay": 0.1, "maximize": True}],
    "NAdam": [{}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [
        {},
        {"betas": (0.8, 0.9), "weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "ASGD": [{}, {"t0": 2, "weight_decay": 0.1}],
    "Rprop": [{}, {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.05)}],
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "options"), [(name, each) for name, some in RULES.items() for each in some])
def test_rules(name: str, options: dict[str, Any], dtype: str) -> None:
    """Eight steps with the pack and without it, of parameters of all shapes, and of one that it does not serve."""
    found = []
    for plain in (False, True):
        params = [rg.tensor(normal(shape, dtype), requires_grad=True) for shape in SHAPES]
        params.append(rg.tensor(normal((4, 6), dtype)[:, ::2], requires_grad=True))
        optimizer = getattr(rg.optim, name)(params, **options)
        for step in range(8):
            for i, param in enumerate(params):
                param.grad = rg.from_numpy(np.asarray(normal(tuple(param.shape), dtype, 20 * step + i)))
            if plain:
                with without_pack():
                    optimizer.step()
            else:
                optimizer.step()
        states = [value for param in params for value in optimizer.state[param].values()]
        found.append([t.detach().numpy() for t in (*params, *states)])
    for a, b in zip(*found, strict=True):
        slack = 2e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(a, b, rtol=slack, atol=slack)


@pytest.mark.parametrize("name", RULES)
def test_rules_on_infinite_numbers_and_nan(name: str) -> None:
    found = []
    for plain in (False, True):
        param = rg.tensor(np.resize([1.0, -2.0, 0.0], 12), requires_grad=True)
        optimizer = getattr(rg.optim, name)([param])
        for step in range(3):
            param.grad = rg.tensor(
                np.roll([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 0.0, 5.0, 1e300, 1e-300], step)
            )
            if plain:
                with without_pack():
                    optimizer.step()
            else:
                optimizer.step()
        found.append(param.detach().numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_a_rule_moves_all_parameters_that_it_serves() -> None:
    params = [rg.ones(3, requires_grad=True) for _ in range(5)]
    optimizer = rg.optim.RMSprop(params)
    for param in params:
        param.grad = rg.ones(3)
    optimizer.step()
    rates = dict(optimizer.param_groups[0])
    rows = [
        optimizer._row(p.array, p.grad.array, optimizer.state[p], dict(rates), optimizer._names(p, rates))
        for p in params
    ]
    short = rows[0]._replace(kept=())
    assert PACK.rule_steps(0, [*rows, short]) == [short]
    assert PACK.rule_steps(99, rows) is None
    assert PACK.rule_steps(5, rows) == rows  # which keeps two arrays
