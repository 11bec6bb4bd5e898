"""Pruning, beside PyTorch's: masks, names, hooks, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch")
from torch.nn.utils import prune as theirs  # noqa: E402

ours = rg.nn.utils.prune


def conv(library):
    layer = library.nn.Conv2d(3, 4, 2)
    numbers = np.random.default_rng(0).normal(size=(4, 3, 2, 2)).astype("float32")
    layer.weight.data = library.from_numpy(numbers)
    layer.bias.data = library.from_numpy(numbers[:, 0, 0, 0].copy())
    return layer


def scores(library):
    return library.from_numpy(np.random.default_rng(1).normal(size=(4, 3, 2, 2)).astype("float32"))


def twice(library, prune):
    layer = prune.l1_unstructured(conv(library), "weight", amount=0.3)
    return prune.ln_structured(layer, "weight", amount=0.5, n=2, dim=0)


def by_mask(library, prune):
    layer = prune.l1_unstructured(conv(library), "bias", amount=2)
    return prune.custom_from_mask(layer, "bias", library.tensor([1, 1, 0, 1]))


def whole(library, prune):
    model = library.nn.Sequential(conv(library), conv(library))
    given = {(model[0], "weight"): scores(library)}
    pairs = [(model[0], "weight"), (model[1], "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, importance_scores=given, amount=0.4)
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=5)
    return model


PROGRAMS = {
    "l1": lambda library, prune: prune.l1_unstructured(conv(library), "weight", amount=7),
    "scores": lambda lib, prune: prune.l1_unstructured(
        conv(lib), "weight", 0.5, importance_scores=scores(lib)
    ),
    "l2 channels": lambda library, prune: prune.ln_structured(conv(library), "weight", amount=2, n=2, dim=1),
    "inf channels": lambda lib, prune: prune.ln_structured(conv(lib), "weight", 1, n=float("inf"), dim=-1),
    "nothing": lambda library, prune: prune.identity(conv(library), "weight"),
    "none of it": lambda library, prune: prune.l1_unstructured(conv(library), "weight", amount=0),
    "all": lambda library, prune: prune.random_unstructured(conv(library), "weight", amount=1.0),
    "twice": twice,
    "mask": by_mask,
    "whole": whole,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_masks_and_weights_are_pytorchs(name):
    mine, other = PROGRAMS[name](rg, ours), PROGRAMS[name](torch, theirs)
    assert ours.is_pruned(mine)
    assert sorted(mine.state_dict()) == sorted(other.state_dict())
    for key, value in other.state_dict().items():
        np.testing.assert_array_equal(mine.state_dict()[key].numpy(), value.numpy())
    x = np.random.default_rng(2).normal(size=(2, 3, 4, 4)).astype("float32")
    if name != "whole":
        np.testing.assert_allclose(
            mine(rg.from_numpy(x)).detach().numpy(), other(torch.from_numpy(x)).detach().numpy(), atol=1e-5
        )
        hooks = [[type(h).__name__ for h in m._forward_pre_hooks.values()] for m in (mine, other)]
        assert hooks[0] == hooks[1]


def test_gradients_stop_at_the_mask():
    layer = ours.l1_unstructured(conv(rg), "weight", amount=0.5)
    layer(rg.ones(1, 3, 4, 4)).sum().backward()
    assert rg.equal(layer.weight_orig.grad != 0, layer.weight_mask == 1)


def test_an_optimizer_moves_what_is_left():
    layer = ours.l1_unstructured(conv(rg), "weight", amount=0.5)
    optimizer = rg.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.detach().clone()
    layer(rg.ones(1, 3, 4, 4)).sum().backward()
    optimizer.step()
    layer(rg.ones(1, 3, 4, 4))
    assert not rg.equal(layer.weight, before)
    assert rg.equal(layer.weight == 0, layer.weight_mask == 0)


def test_removed_it_is_an_ordinary_parameter():
    layer = ours.random_structured(conv(rg), "weight", amount=2, dim=0)
    original, weight = layer.weight_orig, layer.weight.detach().clone()
    assert int((layer.weight_mask.flatten(1).sum(1) == 0).sum()) == 2
    assert ours.remove(layer, "weight") is layer
    assert layer.weight is original
    assert rg.equal(layer.weight, weight)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert not ours.is_pruned(layer)
    with pytest.raises(ValueError, match="has to be pruned before pruning can be removed"):
        ours.remove(layer, "weight")


def test_pickles_are_pruned_too():
    layer = twice(rg, ours)
    again = pickle.loads(pickle.dumps(layer))
    assert rg.equal(again(rg.ones(1, 3, 4, 4)), layer(rg.ones(1, 3, 4, 4)))
    assert len(next(iter(again._forward_pre_hooks.values()))) == 2


def test_a_copy_wants_a_weight_without_a_history():
    """PyTorch's refuses as well: what the hook has made is no leaf."""
    layer = conv(torch)
    theirs.identity(layer, "weight")
    for pruned in (layer, twice(rg, ours)):
        with pytest.raises(RuntimeError, match="graph leaves"):
            copy.deepcopy(pruned)


BAD = {
    "amount": lambda library, prune: prune.l1_unstructured(conv(library), "weight", amount="x"),
    "too much": lambda library, prune: prune.l1_unstructured(conv(library), "weight", amount=1.5),
    "more than all": lambda library, prune: prune.l1_unstructured(conv(library), "weight", amount=1000),
    "one dimension": lambda library, prune: prune.ln_structured(conv(library), "bias", amount=1, n=2, dim=0),
    "no such dimension": lambda library, prune: prune.random_structured(conv(library), "weight", 1, dim=7),
    "no such parameter": lambda library, prune: prune.l1_unstructured(conv(library), "weights", amount=1),
    "scores": lambda lib, prune: prune.l1_unstructured(conv(lib), "weight", 1, importance_scores=lib.ones(2)),
    "kind": lambda lib, prune: prune.global_unstructured([(conv(lib), "weight")], prune.LnStructured, amount=1, n=2),
    "no list": lambda library, prune: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_pytorch_refuses_is_refused(name):
    with pytest.raises(Exception) as refused:
        BAD[name](torch, theirs)
    with pytest.raises(refused.type) as mine:
        BAD[name](rg, ours)
    words = str(refused.value).partition(".")[0][:40].replace("torch.Size", "").replace("torch", "")
    assert words in str(mine.value).replace("torch", "") or name in (
        "kind",
        "no such parameter",
        "no such dimension",
    )


def test_a_failed_pruning_leaves_the_module_as_it_was():
    layer = conv(rg)
    with pytest.raises(ValueError, match="should be smaller"):
        ours.l1_unstructured(layer, "weight", amount=1000)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
