from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.func import functional_call, grad, named_tensors, stack_module_state, vmap


class Layer:
    def __init__(self, seed: int) -> None:
        numbers = np.random.default_rng(seed)
        self.weight = rg.tensor(numbers.standard_normal((2, 2)), requires_grad=True)
        self.bias = rg.tensor(numbers.standard_normal(2), requires_grad=True)

    def __call__(self, x):
        return x @ self.weight + self.bias


class Net:
    def __init__(self, seed: int = 0) -> None:
        self.layers = [Layer(seed), Layer(seed + 1)]
        self.options = {"scale": rg.tensor(2.0, dtype=rg.float64)}
        self.name = "net"

    def __call__(self, x, *, power=1):
        for layer in self.layers:
            x = rg.tanh(layer(x))
        return (x * self.options["scale"]).sum() ** power


NAMES = ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "options.scale"]
X = rg.tensor([0.5, -1.0], dtype=rg.float64)


def test_names_of_tensors():
    assert list(named_tensors(Net())) == NAMES
    loop = Net()
    loop.options["self"] = loop
    assert list(named_tensors(loop)) == NAMES


def test_called_with_other_tensors():
    net, other = Net(0), Net(5)
    assert functional_call(net, named_tensors(other), X) == other(X)
    assert functional_call(net, named_tensors(other), (X,), {"power": 2}) == other(X) ** 2
    assert net(X) == Net(0)(X)


def test_some_tensors_in_several_dicts():
    net = Net()
    zero = rg.zeros(2, dtype=rg.float64)
    found = functional_call(net, ({"layers.0.bias": zero}, {"options.scale": X[0]}), X)
    net.layers[0].bias, net.options["scale"] = zero, X[0]
    assert found == net(X)


def test_gradients_by_name():
    net = Net()
    params = {name: t.detach() for name, t in named_tensors(net).items()}
    found = grad(lambda p: functional_call(net, p, X))(params)
    net(X).backward()
    np.testing.assert_allclose(found["layers.1.weight"].array, net.layers[1].weight.grad.array)
    assert list(found) == NAMES


def test_an_error_puts_the_tensors_back():
    net = Net()
    before = named_tensors(net)
    with pytest.raises(RuntimeError):
        functional_call(net, {"layers.0.weight": rg.ones(5, 5)}, X)
    assert all(t is before[name] for name, t in named_tensors(net).items())


def test_tied_tensors_are_replaced_together():
    net = Net()
    net.layers[1].bias = net.layers[0].bias
    one = rg.ones(2, dtype=rg.float64)
    tied = functional_call(net, {"layers.0.bias": one}, X)
    apart = functional_call(net, {"layers.0.bias": one}, X, tie_weights=False)
    assert tied != apart
    assert tied == functional_call(net, {"layers.0.bias": one, "layers.1.bias": one}, X)
    with pytest.raises(ValueError, match="functional_call got multiple values for keys"):
        functional_call(net, {"layers.0.bias": one, "layers.1.bias": one * 2}, X)


def test_names_that_do_not_fit():
    net = Net()
    assert functional_call(net, {"nothing": X}, X) == net(X)
    with pytest.raises(
        RuntimeError, match="Unexpected key\\(s\\): 'nothing'.\n\tMissing key\\(s\\): 'layers.0.bias'"
    ):
        functional_call(net, {"nothing": X}, X, strict=True)
    with pytest.raises(ValueError, match="\\['a'\\] appeared in multiple dictionaries"):
        functional_call(net, ({"a": X}, {"a": X}), X)
    with pytest.raises(ValueError, match="to be a dict, or a list/tuple of dicts"):
        functional_call(net, 3, X)
    with pytest.raises(TypeError, match="the model must be callable"):
        functional_call(3, {}, X)


def test_an_ensemble():
    nets = [Net(i) for i in range(4)]
    params, buffers = stack_module_state(nets)
    assert list(params) == NAMES[:4]
    assert list(buffers) == NAMES[4:]
    assert all(p.requires_grad and p.is_leaf and len(p) == 4 for p in params.values())
    found = vmap(lambda p, b: functional_call(nets[0], (p, b), X))(params, buffers)
    np.testing.assert_allclose(found.detach().array, [net(X).item() for net in nets])


def test_models_that_cannot_be_stacked():
    with pytest.raises(RuntimeError, match="Expected at least one model, got 0"):
        stack_module_state([])
    with pytest.raises(
        RuntimeError, match="Expected all models to be of the same class. They are of Layer, Net"
    ):
        stack_module_state([Net(), Layer(0)])
    evaluating = Net()
    evaluating.training = False
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        stack_module_state([Net(), evaluating])
