"""What modules do here beyond what both libraries show: members, memory, lazy tensors, types of results."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import retrograd as rg
from retrograd import nn

# ---- members: Note [Members of a module] --------------------------------------------------------------------------


def test_a_table_and_the_attribute_are_one():
    layer = nn.Linear(2, 2)
    new = nn.Parameter(rg.ones(2, 2))
    layer._parameters["weight"] = new
    assert layer.weight is new
    del layer._parameters["weight"]
    assert not hasattr(layer, "weight")
    layer._parameters.update(weight=new)
    assert layer._parameters.pop("bias") is not None
    assert not hasattr(layer, "bias")
    assert layer._parameters.pop("bias", None) is None
    layer._parameters |= {"bias": None}
    assert layer.bias is None
    assert layer._parameters.setdefault("scale", new) is layer.scale
    assert layer._parameters.popitem() == ("scale", new)
    layer._parameters.clear()
    assert list(layer.parameters()) == []
    assert not hasattr(layer, "weight")
    with pytest.raises(KeyError):
        layer._parameters.pop("weight")


def test_a_whole_table_can_be_replaced():
    layer = nn.Linear(2, 2)
    layer._parameters = {"weight": nn.Parameter(rg.ones(1))}
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    assert layer.weight.shape == (1,)
    assert not hasattr(layer, "bias")


def test_a_plain_attribute_takes_the_place_of_a_member():
    layer = nn.Linear(2, 2)
    del layer.weight
    layer.weight = rg.zeros(2, 2)
    assert list(layer._parameters) == ["bias"]
    assert layer(rg.ones(1, 2)).shape == (1, 2)


def test_a_module_is_freed_when_nobody_holds_it():
    gc.disable()
    try:
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.LSTM(2, 2))
        gone = [weakref.ref(thing) for thing in (model, model[0], model[0].weight, model[1].running_mean)]
        del model
        assert [ref() for ref in gone] == [None] * 4
    finally:
        gc.enable()


def test_copies_have_tables_of_their_own():
    layer = nn.Linear(2, 2)
    for twin in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        twin.weight = nn.Parameter(rg.zeros(2, 2))
        assert twin._parameters["weight"] is twin.weight
        assert layer.weight is not twin.weight
    assert copy.copy(layer).weight is layer.weight


def test_a_pickle_has_plain_tables():
    state = nn.Linear(2, 2).__getstate__()
    assert "weight" not in state
    assert list(state["_parameters"]) == ["weight", "bias"]


# ---- tensors ------------------------------------------------------------------------------------------------------


class Marked(rg.Tensor):
    """A class of a user's."""


def test_a_parameter_of_a_users_class_keeps_its_class():
    param = nn.Parameter(Marked(rg.ones(2).array))
    assert isinstance(param, nn.Parameter)
    assert type(param) is Marked
    module = nn.Module()
    module.p = param
    assert list(module.parameters()) == [param]


def test_tensors_without_shape_refuse_everything():
    for made in (nn.UninitializedParameter(), nn.UninitializedBuffer()):
        for use in (lambda t: t + 1, lambda t: rg.exp(t), lambda t: t.numel(), lambda t: t.sum()):
            with pytest.raises((ValueError, AttributeError)):
                use(made)
        assert made.dtype == rg.float32
        assert repr(copy.deepcopy(made)) == repr(made) == repr(pickle.loads(pickle.dumps(made)))
        with pytest.raises(RuntimeError, match="share memory"):
            made.share_memory_()
        made.materialize((2, 3), dtype=rg.float64)
        assert made.shape == (2, 3)
        assert made.dtype == rg.float64


def test_what_is_not_here_says_so():
    with pytest.raises(TypeError, match=r"invalid combination of arguments - got \(q=int\)"):
        nn.Linear(1, 1).to(q=1)


def test_a_lazy_module_that_does_not_say_its_shapes():
    class Bad(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        Bad()(rg.ones(1))
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented"):
        nn.modules.lazy.LazyModuleMixin.initialize_parameters(nn.LazyLinear(1))


# ---- training -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        lambda: nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Linear(16, 1)),
        lambda: nn.Sequential(
            nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(32, 1)
        ),
        lambda: nn.Sequential(nn.Unflatten(1, (4, 1)), Last(nn.LSTM(1, 12, batch_first=True)), nn.Linear(12, 1)),
        lambda: nn.Sequential(
            nn.Unflatten(1, (4, 1)), nn.Linear(1, 8), nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True),
            nn.Flatten(), nn.Linear(32, 1),
        ),
    ],
    ids=["mlp", "convolution", "lstm", "transformer"],
)  # fmt: skip
def test_models_learn(model):
    rg.manual_seed(0)
    x = rg.randn(64, 4)
    y = (x[:, :1] * x[:, 1:2]).sin()
    made = model()
    optimizer = rg.optim.Adam(made.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(made(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(made.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


class Last(nn.Module):
    """The last output of a recurrent network."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0][:, -1]


def test_a_plain_dict_may_take_the_place_of_a_table():
    class Patched(rg.nn.Linear):
        def __setattr__(self, name, value):
            if name == "_parameters":
                object.__setattr__(self, name, value)
            else:
                super().__setattr__(name, value)

    layer = Patched(2, 1)
    weight, bias = layer.weight, layer.bias
    del layer.weight, layer.bias
    layer._parameters = {"weight": weight * 2, "bias": bias}
    assert layer.bias is bias
    assert layer(rg.ones(1, 2)).grad_fn is not None
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = layer.other
