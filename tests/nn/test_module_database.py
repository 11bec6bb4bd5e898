"""The calls of every module that PyTorch tests its own modules with (its `module_db`), made on both libraries."""

from __future__ import annotations

import contextlib
import copy
import pickle
import re
import warnings

import numpy as np
import pytest

import retrograd as rg
from tests.torch_tables import table

torch = pytest.importorskip("torch")


MODULES = {info.name: info for info in table("common_modules", "module_db")}
DTYPES = ("float32", "float64")
TOLERANCE = {"float32": {"rtol": 2e-4, "atol": 5e-5}, "float64": {"rtol": 1e-8, "atol": 1e-10}}
# What draws random numbers in training, of which no two libraries draw the same.
DRAWN = {
    "nn.AlphaDropout", "nn.Dropout", "nn.Dropout1d", "nn.Dropout2d", "nn.Dropout3d", "nn.FeatureAlphaDropout",
    "nn.FractionalMaxPool2d", "nn.FractionalMaxPool3d", "nn.RReLU", "nn.TransformerEncoder",
    "nn.TransformerEncoderLayer", "nn.TransformerDecoderLayer", "nn.Transformer",
}  # fmt: skip


def twin(value):
    """A value of PyTorch's as ours: tensors, dtypes, functions, classes and modules, in containers too."""
    if isinstance(value, torch.nn.Parameter):
        return rg.nn.Parameter(twin(value.detach()), value.requires_grad)
    if isinstance(value, torch.Tensor):
        numbers = value.detach().cpu()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = rg.from_numpy(numbers.numpy().copy())
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return rg.nn.utils.rnn.PackedSequence(*[twin(part) for part in value])
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return encoder_layer(value)
    if isinstance(value, dict):
        return {key: twin(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(twin(part) for part in value)
    if isinstance(value, torch.dtype):
        return getattr(rg, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if callable(value) and getattr(value, "__module__", "").startswith("torch"):
        return named(rg, f"{value.__module__}.{value.__qualname__}")
    return value


def named(library, path):
    """What has a name, under the public place of its kind."""
    name = path.rpartition(".")[2]
    for place in (library.nn, library.nn.functional, library):
        if hasattr(place, name):
            return getattr(place, name)
    raise LookupError(path)


def encoder_layer(theirs):
    """The layer that an encoder is made of."""
    attention = theirs.self_attn
    made = rg.nn.TransformerEncoderLayer(
        attention.embed_dim,
        attention.num_heads,
        theirs.linear1.out_features,
        theirs.dropout.p,
        twin(theirs.activation),
        batch_first=attention.batch_first,
        norm_first=theirs.norm_first,
        bias=theirs.linear1.bias is not None,
    )
    made.load_state_dict(twin(dict(theirs.state_dict())))
    return made


def inputs_of(info, dtype, training):
    """The calls of a module, those that PyTorch's own tests make."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(
            info.module_inputs_func(
                info, device="cpu", dtype=getattr(torch, dtype), requires_grad=True, training=training
            )
        )


def own(value):
    """PyTorch's inputs as leaves, so that the gradients of all can be read."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: own(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return type(value)(own(part) for part in value)
    return value


def both(info, given, dtype, training):
    """The module on both libraries, with PyTorch's weights."""
    args, kwargs = given.constructor_input.args, given.constructor_input.kwargs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = info.module_cls(*args, **kwargs).to(getattr(torch, dtype)).train(training)
        ours = named(rg, info.name)(*twin(list(args)), **twin(kwargs)).to(getattr(rg, dtype)).train(training)
    return ours, theirs


def move_state(ours, theirs):
    state = twin(dict(theirs.state_dict()))
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)


def tensors_in(value, kind):
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        return [t for part in value.values() for t in tensors_in(part, kind)]
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in tensors_in(part, kind)]
    return []


def assert_same(ours, theirs, dtype, what):
    assert len(ours) == len(theirs), what
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine is None) == (other is None), what
        if mine is not None:
            assert str(mine.dtype) == str(other.dtype), what
            assert tuple(mine.shape) == tuple(other.shape), what
            assert mine.requires_grad == other.requires_grad, what
            a, b = mine.detach().numpy(), other.detach().numpy()
            np.testing.assert_allclose(a, b, **TOLERANCE[dtype], err_msg=what)


def backward(library, outputs):
    wanting = [t for t in outputs if t.requires_grad]
    if wanting:
        total = 0
        for t in wanting:
            weights = library.cos(library.arange(t.numel(), dtype=library.float64)).reshape(t.shape)
            total = total + (t * weights.to(t.dtype)).sum()
        total.real.backward() if total.is_complex() else total.backward()


def call(module, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module(*given[0], **given[1])


def check(info, given, dtype, training):
    ours, theirs = both(info, given, dtype, training)
    assert repr(ours) == repr(theirs)
    args, kwargs = own(list(given.forward_input.args)), own(given.forward_input.kwargs)
    mine = twin(list(args)), twin(kwargs)
    if info.is_lazy:
        call(theirs, (copy.deepcopy(args), copy.deepcopy(kwargs)))
        call(ours, (twin(list(args)), twin(kwargs)))
        assert repr(ours) == repr(theirs)
    move_state(ours, theirs)
    got = tensors_in(call(ours, mine), rg.Tensor)
    wanted = tensors_in(call(theirs, (args, kwargs)), torch.Tensor)
    if training and info.name in DRAWN:
        assert [(t.shape, str(t.dtype)) for t in got] == [(t.shape, str(t.dtype)) for t in wanted]
        return ours, mine, got
    assert_same(got, wanted, dtype, "output")
    backward(rg, got)
    backward(torch, wanted)
    leaves = [t.grad for t in tensors_in([mine[0], mine[1]], rg.Tensor) if t.is_leaf]
    expected = [t.grad for t in tensors_in([list(args), kwargs], torch.Tensor) if t.is_leaf]
    assert_same(leaves, expected, dtype, "gradient of an input")
    params = dict(theirs.named_parameters())
    for name, param in ours.named_parameters():
        assert_same([param.grad], [params[name].grad], dtype, f"gradient of {name}")
    assert_same(list(ours.state_dict().values()), list(theirs.state_dict().values()), dtype, "state after")
    return ours, mine, got


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MODULES)
def test_every_call_gives_pytorchs_results(name, dtype, training):
    for given in inputs_of(MODULES[name], dtype, training):
        check(MODULES[name], given, dtype, training)


@pytest.mark.parametrize("name", MODULES)
def test_a_copy_a_pickle_and_a_conversion_are_the_module(name):
    for given in inputs_of(MODULES[name], "float64", False):
        module, inputs, outputs = check(MODULES[name], given, "float64", False)
        for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), module.float().double()):
            assert repr(again) == repr(module)
            same = tensors_in(
                call(again, inputs), rg.Tensor
            )  # recorded: without gradients encoders leave padding out
            assert_same([t.detach() for t in same], [t.detach() for t in outputs], "float32", "output")


BAD = [name for name, info in MODULES.items() if info.module_error_inputs_func is not None]


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_are_refused_as_by_pytorch(name):
    info = MODULES[name]
    cases = info.module_error_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=True, training=True
    )
    for case in cases:
        given = case.module_error_input
        args, kwargs = given.constructor_input.args, given.constructor_input.kwargs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a set within a set, in one of the patterns
            pattern = re.compile(case.error_regex)
        with contextlib.ExitStack() as stack:
            if case.error_on.name == "CONSTRUCTION_ERROR":
                stack.enter_context(pytest.raises(case.error_type, match=pattern))
            module = named(rg, name)(*twin(list(args)), **twin(kwargs))
            stack.enter_context(pytest.raises(case.error_type, match=pattern))
            module(*twin(list(given.forward_input.args)), **twin(given.forward_input.kwargs))
