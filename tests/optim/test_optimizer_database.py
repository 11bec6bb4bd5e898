"""The options of every optimiser that PyTorch tests its own with (its `optim_db`), tried beside PyTorch's."""

from __future__ import annotations

import copy
import io
import re
import types
import warnings

import numpy as np
import pytest

import retrograd as rg
from tests.torch_tables import table

torch = pytest.importorskip("torch")

# SparseAdam is for gradients that are sparse.
OPTIMIZERS = {
    info.optim_cls.__name__: info
    for info in table("common_optimizers", "optim_db")
    if not info.only_supports_sparse_grads
}
SHAPES = ((4, 3), (3,), (2, 2))
TOLERANCE = {"float32": {"rtol": 2e-4, "atol": 2e-5}, "float64": {"rtol": 1e-8, "atol": 1e-10}}


def twin(value, made=None):
    """Options or parameters as ours: numbers stay, tensors are converted, each once."""
    made = {} if made is None else made
    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            numbers = rg.from_numpy(value.detach().numpy().copy())
            made[id(value)] = rg.nn.Parameter(numbers) if isinstance(value, torch.nn.Parameter) else numbers
        return made[id(value)]
    if isinstance(value, dict):
        return {key: twin(part, made) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(twin(part, made) for part in value)
    return value


def configurations(name):
    """Every option of PyTorch's table, with each way to compute that it names."""
    info = OPTIMIZERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in info.optim_inputs_func(device="cpu"):
            for choice in (
                {},
                *({flag: True} for flag in ("foreach", "fused") if flag in info.supported_impls),
            ):
                kwargs = {**given.kwargs, **choice}
                if kwargs.get("fused") and "cpu" not in info.supports_fused_on:
                    continue
                if choice and isinstance(kwargs.get("lr"), torch.Tensor):
                    continue  # PyTorch takes a tensor for lr only with `capturable`, which its CPU has not
                if kwargs.get("capturable"):
                    continue
                yield kwargs


class Problem:
    """A few parameters and a loss of them; each library has one with the same numbers."""

    def __init__(self, library, dtype, shapes):
        rng = np.random.default_rng(0)
        self.library = library
        self.params = [
            library.nn.Parameter(library.from_numpy(rng.normal(size=s).astype(dtype))) for s in shapes
        ]
        self.targets = [library.from_numpy(rng.normal(size=s).astype(dtype)) for s in shapes]

    def groups(self):
        return [{"params": self.params[:1]}, {"params": self.params[1:], "lr": 0.02}]

    def loss(self):
        return sum(
            ((p - t) ** 2).sum() + (p * t).cos().sum() for p, t in zip(self.params, self.targets, strict=True)
        )

    def steps(self, optimizer, count, schedulers=()):
        for i in range(count):

            def closure():
                optimizer.zero_grad(set_to_none=i % 2 == 0)
                loss = self.loss()
                loss.backward()
                return loss

            loss = optimizer.step(closure)
            for scheduler in schedulers:
                plateau = isinstance(scheduler, self.library.optim.lr_scheduler.ReduceLROnPlateau)
                scheduler.step(loss.detach()) if plateau else scheduler.step()

    def values(self):
        return [p.detach().numpy() for p in self.params]


def shapes_of(name):
    return tuple(s for s in SHAPES if len(s) == 2) if name == "Muon" else SHAPES


def both(name, dtype):
    return Problem(rg, dtype, shapes_of(name)), Problem(torch, dtype, shapes_of(name))


def make(problem, name, kwargs, groups):
    given = problem.groups() if groups else problem.params
    return getattr(problem.library.optim, name)(given, **kwargs)


def tolerance_of(name, dtype="float64"):
    """PyTorch keeps the factors of ASGD in float32 with `foreach`, and orthogonalises in bfloat16 for Muon."""
    return {"ASGD": TOLERANCE["float32"], "Muon": {"rtol": 2e-2, "atol": 2e-3}}.get(name, TOLERANCE[dtype])


def assert_same(ours, theirs, tolerance, what):
    for mine, other in zip(ours.values(), theirs.values(), strict=True):
        np.testing.assert_allclose(mine, other, **tolerance, err_msg=str(what))


def moved(library, state):
    """A state dict that went through a file of the other library."""
    file = io.BytesIO()
    (torch if library is rg else rg).save(state, file)
    file.seek(0)
    return rg.load(file) if library is rg else torch.load(file, weights_only=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_steps_are_pytorchs(name, dtype):
    for kwargs in configurations(name):
        for groups in (False, True) if OPTIMIZERS[name].supports_param_groups else (False,):
            ours, theirs = both(name, dtype)
            mine, other = make(ours, name, twin(kwargs), groups), make(theirs, name, kwargs, groups)
            assert repr(mine) == repr(other)
            ours.steps(mine, 20)
            theirs.steps(other, 20)
            assert_same(ours, theirs, tolerance_of(name, dtype), kwargs)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_move_both_ways(name):
    for kwargs in configurations(name):
        ours, theirs = both(name, "float64")
        mine, other = make(ours, name, twin(kwargs), False), make(theirs, name, kwargs, False)
        ours.steps(mine, 3)
        theirs.steps(other, 3)
        saved = copy.deepcopy(mine.state_dict()), copy.deepcopy(other.state_dict())
        assert saved[0]["param_groups"][0].keys() == saved[1]["param_groups"][0].keys()
        for index, entry in saved[1]["state"].items():
            assert set(saved[0]["state"][index]) == set(entry)
        mine, other = make(ours, name, twin(kwargs), False), make(theirs, name, kwargs, False)
        mine.load_state_dict(moved(rg, saved[1]))
        other.load_state_dict(moved(torch, saved[0]))
        ours.steps(mine, 3)
        theirs.steps(other, 3)
        assert_same(ours, theirs, tolerance_of(name), kwargs)


def made_of_ours(maker):
    """A function that makes one of PyTorch's schedulers, making ours of the same name."""
    names = {name: getattr(rg.optim.lr_scheduler, name) for name in rg.optim.lr_scheduler.__all__}
    return types.FunctionType(maker.__code__, names)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_schedulers_steer_it(name):
    for makers in OPTIMIZERS[name].scheduler_inputs:
        ours, theirs = both(name, "float64")
        mine, other = make(ours, name, {"lr": 0.01}, False), make(theirs, name, {"lr": 0.01}, False)
        ours.steps(mine, 20, [made_of_ours(maker)(mine) for maker in makers])
        theirs.steps(other, 20, [maker(other) for maker in makers])
        assert_same(ours, theirs, tolerance_of(name), name)
        assert float(mine.param_groups[0]["lr"]) == pytest.approx(float(other.param_groups[0]["lr"]))


def refusal(make, case):
    """What is said of bad options, by an error or a warning."""
    expected = pytest.warns if issubclass(case.error_type, Warning) else pytest.raises
    with expected(case.error_type) as said:
        make()
    return str(said[0].message) if expected is pytest.warns else str(said.value)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_bad_options_are_refused_as_by_pytorch(name):
    for case in OPTIMIZERS[name].optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = case.optimizer_error_input
        if case.error_on.name == "CONSTRUCTION_ERROR":
            ours = refusal(lambda: getattr(rg.optim, name)(twin(given.params), **twin(given.kwargs)), case)
            theirs = refusal(lambda: OPTIMIZERS[name].optim_cls(given.params, **given.kwargs), case)
            assert theirs in ours or re.search(case.error_regex, ours), given.desc
