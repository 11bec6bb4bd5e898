"""Every module of `nn`, with PyTorch's weights: the text, keys, outputs, gradients and buffers are PyTorch's."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

import retrograd as rg

from .table import ROWS, Made

torch = pytest.importorskip("torch")

IDS = [f"{i}-{row.text}" for i, row in enumerate(ROWS)]
TOLERANCE = {"float32": {"rtol": 2e-4, "atol": 2e-5}, "float64": {"rtol": 1e-9, "atol": 1e-11}}


def module_of(library, text, dtype):
    """The module that a row describes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = eval(f"nn.{text}", {"nn": library.nn, "tensor": library.tensor})
        return made.to(getattr(library, dtype))


def as_input(library, value, dtype):
    """A value of a row as the library has it; numbers get a gradient."""
    if isinstance(value, tuple) and not isinstance(value, Made):
        return tuple(as_input(library, part, dtype) for part in value)
    if isinstance(value, Made):
        return value.make(library, *[as_input(library, array, dtype) for array in value.arrays])
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "biu":
        return library.from_numpy(value.copy())
    return library.from_numpy(value.astype(dtype)).requires_grad_()


def tensors_in(value, kind):
    """The tensors in a result or in inputs."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in tensors_in(part, kind)]
    return []


class Run:
    """One call of a module, and its backward."""

    def __init__(self, library, row, dtype, training=True, module=None):
        self.library, self.row = library, row
        self.module = module_of(library, row.text, dtype) if module is None else module
        self.module.train(training)
        self.dtype, self.tensor = dtype, library.Tensor

    def call(self):
        inputs = [as_input(self.library, value, self.dtype) for value in self.row.inputs]
        options = {
            key: as_input(self.library, value, self.dtype) if isinstance(value, np.ndarray) else value
            for key, value in self.row.options.items()
        }
        for key, value in options.items():
            if "mask" in key and isinstance(value, self.tensor):
                options[key] = value.detach()
        inputs = self._wanting(inputs)
        modules = inputs[0] if len(inputs) == 1 and type(inputs[0]) is tuple else inputs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.outputs = tensors_in(self.module(*modules, **options), self.tensor)
        self.leaves = [t for t in tensors_in([inputs, list(options.values())], self.tensor) if t.is_leaf]
        return self

    def _wanting(self, inputs):
        """Targets that may have no gradient have none."""
        if "Loss" not in self.row.text or len(inputs) < 2:
            return inputs
        several = ("Cosine", "Ranking", "Triplet")
        last = len(inputs) - 1
        wanted = range(last) if any(name in self.row.text for name in several) else [0]
        if self.row.text.startswith("Triplet"):
            wanted = range(len(inputs))
        if self.row.text.startswith("Gaussian"):
            wanted = range(len(inputs))
        return [
            t if i in wanted or not isinstance(t, self.tensor) else t.detach() for i, t in enumerate(inputs)
        ]

    def backward(self):
        wanting = [t for t in self.outputs if t.requires_grad]
        if wanting:
            total = 0
            for t in wanting:
                weights = np.cos(np.arange(t.numel())).reshape(tuple(t.shape)).astype(self.dtype)
                total = total + (t * self.library.from_numpy(weights)).sum()
            total.backward()
        return self


def values(tensors):
    return [None if t is None else t.detach().numpy() for t in tensors]


def tolerance_of(row, dtype):
    single = "Hardsigmoid" in row.text  # whose gradient PyTorch computes with a float32 number
    return TOLERANCE["float32" if single else dtype]


def assert_same(ours, theirs, tolerance, what):
    assert len(ours) == len(theirs), what
    for mine, other in zip(values(ours), values(theirs), strict=True):
        assert (mine is None) == (other is None), what
        if mine is not None:
            assert mine.shape == other.shape, what
            assert mine.dtype == other.dtype, what
            np.testing.assert_allclose(mine, other, **tolerance, err_msg=what)


def move_state(ours, theirs):
    """Gives our module the state of PyTorch's."""
    state = {name: rg.from_numpy(t.detach().numpy().copy()) for name, t in theirs.state_dict().items()}
    assert ours.load_state_dict(state).missing_keys == []


def pair(row, dtype, training):
    """The row on both libraries, with the same weights; lazy modules have seen an input before."""
    ours, theirs = Run(rg, row, dtype, training), Run(torch, row, dtype, training)
    assert repr(ours.module) == repr(theirs.module)
    if "Lazy" in row.text:
        ours.call()
        theirs.call()
        assert repr(ours.module) == repr(theirs.module)
    spread(theirs.module)
    move_state(ours.module, theirs.module)
    return ours, theirs


def spread(module):
    """Makes values of PyTorch's module that are all ones or zeros less alike."""
    for i, (name, t) in enumerate(module.state_dict().items()):
        if t.is_floating_point() and "_random" not in name and t.numel() and "norm_type" not in name:
            t.add_(torch.sin(torch.arange(t.numel(), dtype=t.dtype) + i).reshape(t.shape).abs() * 0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_outputs_gradients_and_buffers_are_pytorchs(row, dtype):
    ours, theirs = pair(row, dtype, training=True)
    ours.call().backward()
    theirs.call().backward()
    tolerance = tolerance_of(row, dtype)
    assert_same(ours.outputs, theirs.outputs, tolerance, "output")
    assert_same(
        [t.grad for t in ours.leaves], [t.grad for t in theirs.leaves], tolerance, "gradient of an input"
    )
    mine, other = dict(ours.module.named_parameters()), dict(theirs.module.named_parameters())
    assert list(mine) == list(other)
    for name, param in mine.items():
        assert_same([param.grad], [other[name].grad], tolerance, f"gradient of {name}")
    mine, other = ours.module.state_dict(), theirs.module.state_dict()
    assert list(mine) == list(other)
    assert {k: dict(v) for k, v in mine._metadata.items()} == {k: dict(v) for k, v in other._metadata.items()}
    assert_same(list(mine.values()), list(other.values()), tolerance, "state after a call")


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_evaluation_is_pytorchs(row):
    ours, theirs = pair(row, "float64", training=False)
    assert_same(ours.call().outputs, theirs.call().outputs, TOLERANCE["float64"], "output")


@pytest.mark.parametrize("row", [r for r in ROWS if "Lazy" not in r.text], ids=lambda r: r.text)
def test_a_copy_and_a_pickle_compute_the_same(row):
    first = Run(rg, row, "float64", training=False)
    for again in (copy.deepcopy(first.module), pickle.loads(pickle.dumps(first.module))):
        second = Run(rg, row, "float64", training=False, module=again)
        assert repr(again) == repr(first.module)
        assert_same(second.call().outputs, first.call().outputs, TOLERANCE["float64"], "output")


def test_every_module_has_a_row():
    used = {row.text.partition("(")[0] for row in ROWS}
    bases = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase"}
    bases |= {"RNNCellBase", "NLLLoss2d", "CrossMapLRN2d"}
    bases |= {"DataParallel", "SyncBatchNorm"}  # of several processes: tests/distributed
    modules = {
        name
        for name in rg.nn.__all__
        if inspect.isclass(getattr(rg.nn, name)) and issubclass(getattr(rg.nn, name), rg.nn.Module)
    }
    assert modules - bases - used == set()


def test_the_older_response_norm_is_the_newer_one():
    """PyTorch's forgets to take channels out of its window, and its gradient is not that of its output."""
    x = rg.randn(1, 4, 2, 2, dtype=rg.float64, requires_grad=True)
    older, newer = rg.nn.CrossMapLRN2d(3, alpha=0.5), rg.nn.LocalResponseNorm(3, alpha=0.5)
    assert rg.equal(older(x), newer(x))
    assert repr(older) == repr(torch.nn.CrossMapLRN2d(3, alpha=0.5))


BY_ARGS = {"Sequential", "RNN", "LSTM", "GRU"}  # PyTorch's say *args, which tells nothing


@pytest.mark.parametrize(
    "name", sorted({n for row in ROWS if not (n := row.text.partition("(")[0]).startswith("Lazy")} - BY_ARGS)
)
def test_signatures_are_pytorchs(name):
    ours, theirs = inspect.signature(getattr(rg.nn, name)), inspect.signature(getattr(torch.nn, name))
    assert list(ours.parameters) == list(theirs.parameters)
    defaults = [
        (p.name, p.default, q.default)
        for p, q in zip(ours.parameters.values(), theirs.parameters.values(), strict=True)
        if p.name != "activation"
    ]
    assert [(n, a) for n, a, _ in defaults] == [(n, b) for n, _, b in defaults]
