"""PyTorch's names around checkpoints, beside PyTorch."""

from __future__ import annotations

import importlib

import pytest

import retrograd as rg
from retrograd.distributed import checkpoint
from retrograd.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


def state_module(lib):
    return importlib.import_module(f"{lib.__name__}.distributed.checkpoint.state_dict")


def trained(lib, backwards):
    """A model, and an optimiser that got its parameters in one order or the other, in two groups."""
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3), lib.nn.Linear(3, 1))
    params = list(model.parameters())[:: -1 if backwards else 1]
    groups = [{"params": params[:2], "lr": 0.5}, {"params": params[2:]}]
    return model, lib.optim.Adam(groups, lr=0.1)


def program(lib):
    """What is said of a state, and of an optimiser that has taken it over."""
    states = state_module(lib)
    model, optimizer = trained(lib, backwards=False)
    of_model, unused = states.get_state_dict(model, optimizer)
    said = [list(of_model), shown(unused), [param.grad for param in model.parameters()], len(optimizer.state)]
    model(lib.ones(4, 2) * lib.arange(4.0)[:, None]).sum().backward()
    optimizer.step()
    of_model, of_optimizer = states.get_state_dict(model, optimizer)
    said.append(shown(of_optimizer))
    other, same = trained(lib, backwards=False)
    found = states.set_state_dict(other, same, model_state_dict=of_model, optim_state_dict=of_optimizer)
    said += [str(found), shown(states.get_optimizer_state_dict(other, same))]
    with pytest.raises(RuntimeError, match="Missing key") as error:
        states.set_model_state_dict(other, {"x": lib.ones(1)})
    loose = states.StateDictOptions(strict=False)
    said += [type(error.value).__name__, str(states.set_model_state_dict(other, {}, options=loose))]
    model[0].weight.requires_grad_(False)
    options = states.StateDictOptions(ignore_frozen_params=True)
    return [*said, list(states.get_model_state_dict(model, options=options))]


def shown(state):
    """A state of an optimiser in words."""
    values = {name: {key: list(t.shape) for key, t in own.items()} for name, own in state["state"].items()}
    return values, [(group["lr"], group["params"]) for group in state["param_groups"]]


def test_states_beside_pytorch():
    torch = pytest.importorskip("torch")
    assert program(rg) == program(torch)


def test_a_state_finds_its_parameters_in_another_order():
    states = state_module(rg)
    model, optimizer = trained(rg, backwards=False)
    model(rg.arange(8.0).view(4, 2)).pow(2).sum().backward()
    optimizer.step()
    given = states.get_optimizer_state_dict(model, optimizer)
    other = rg.optim.Adam(
        [{"params": list(model.parameters())[1::-1]}, {"params": list(model.parameters())[2:]}]
    )
    states.set_optimizer_state_dict(model, other, given)
    for param in model.parameters():
        assert rg.equal(other.state[param]["exp_avg"], optimizer.state[param]["exp_avg"])
    assert [group["lr"] for group in other.param_groups] == [0.5, 0.1]


class App:
    """A program's own state."""

    def __init__(self, step):
        self.step = step
        self.mean = rg.full((2,), float(step))

    def state_dict(self):
        return {"step": self.step, "mean": self.mean}

    def load_state_dict(self, state_dict):
        self.step, self.mean = state_dict["step"], state_dict["mean"]


def test_readers_and_writers(tmp_path):
    assert isinstance(App(1), checkpoint.stateful.Stateful)
    writer = checkpoint.FileSystemWriter(tmp_path, thread_count=2)
    assert checkpoint.async_save({"app": App(4), "epoch": 2}, storage_writer=writer).result() is None
    state = {"app": (app := App(0)), "epoch": 0}
    checkpoint.load(state, storage_reader=checkpoint.FileSystemReader(tmp_path))
    assert (app.step, app.mean.tolist(), state["epoch"]) == (4, [4, 4], 2)
    with pytest.raises(RuntimeError, match="already exists"):
        checkpoint.save({"x": 1}, storage_writer=checkpoint.FileSystemWriter(tmp_path, overwrite=False))
    for function in (checkpoint.save, checkpoint.load):
        with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified"):
            function({"x": 1})
        with pytest.raises(ValueError, match="leave planner out"):
            function({"x": 1}, checkpoint_id=tmp_path, planner=3)


def test_what_states_are_not():
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        StateDictOptions(broadcast_from_rank0=True)
    with pytest.raises(ValueError, match="leave out flatten_optimizer_state_dict"):
        StateDictOptions(flatten_optimizer_state_dict=True)
    with pytest.raises(ValueError, match="leave submodules out"):
        get_model_state_dict(rg.nn.Linear(1, 1), submodules=set())
