"""The device "meta": tensors that have a shape and no values."""

from __future__ import annotations

import copy
import resource
import sys

import pytest

import retrograd as rg

nn = rg.nn


def test_what_is_made_there_has_a_shape_only():
    x = rg.empty(3, 4, device="meta")
    assert (x.is_meta, x.device.type, x.shape, x.stride(), x.dtype) == (
        True,
        "meta",
        (3, 4),
        (4, 1),
        rg.float32,
    )
    assert repr(x) == "tensor(..., device='meta', size=(3, 4))"
    assert repr(rg.arange(5, device="meta")) == "tensor(..., device='meta', size=(5,), dtype=torch.int64)"
    assert not rg.ones(1).is_meta
    assert x.data_ptr() == 0


@pytest.mark.parametrize(
    "use", [lambda t: t.cpu(), lambda t: t.to("cpu"), lambda t: t.tolist(), lambda t: t.numpy()]
)
def test_values_cannot_be_read(use):
    with pytest.raises((NotImplementedError, TypeError), match="meta"):
        use(rg.ones(2, device="meta"))
    with pytest.raises(RuntimeError, match="cannot be called on meta tensors"):
        bool(rg.ones((), device="meta"))


MODULES = {
    "Linear(4, 5)": (3, 4),
    "Conv2d(2, 3, 3)": (1, 2, 6, 6),
    "LSTM(4, 5)": (2, 3, 4),
    "BatchNorm1d(4)": (3, 4),
    "LayerNorm(4)": (3, 4),
    "TransformerEncoderLayer(8, 2)": (3, 2, 8),
    "MaxPool2d(2)": (1, 1, 4, 4),
    "Softmax(-1)": (3, 4),
}


@pytest.mark.parametrize("text", MODULES)
def test_modules_compute_the_shapes_that_they_compute_elsewhere(text):
    def outputs(where):
        with rg.device(where):
            found = eval(f"nn.{text}")(rg.ones(MODULES[text]))
        return [found] if isinstance(found, rg.Tensor) else [found[0], *found[1]]

    there, here = outputs("meta"), outputs("cpu")
    assert [(t.shape, t.stride(), t.dtype) for t in there] == [(t.shape, t.stride(), t.dtype) for t in here]
    assert {t.device.type for t in there} == {"meta"}


def test_gradients_are_there_too():
    x = rg.ones(2, 3, device="meta", requires_grad=True)
    (x.t() @ x).relu().sum().backward()
    assert (x.grad.shape, x.grad.device.type) == ((2, 3), "meta")


def test_views_writes_and_dtypes():
    x = rg.zeros(4, 6, device="meta")
    assert x.t()[1:].reshape(2, -1).is_meta
    assert x.add_(1) is x
    x[0] = 3.0
    x.uniform_().normal_().fill_(2)
    assert x.half().dtype == rg.float16
    assert (x > 0).dtype == rg.bool
    assert x.bfloat16().dtype == rg.bfloat16
    assert (x.bfloat16() @ x.bfloat16().t()).dtype == rg.bfloat16
    with pytest.raises(RuntimeError, match="same device"):
        x + rg.ones(4, 6)


def test_a_model_is_made_there_and_gets_its_weights_later():
    with rg.device("meta"):
        model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert {t.device.type for t in model.state_dict().values()} == {"meta"}
    weights = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict()
    with pytest.raises(NotImplementedError, match="no data"):
        model.to("cpu")
    loaded = copy.deepcopy(model)
    loaded.load_state_dict(weights, assign=True)
    made = model.to_empty(device="cpu")
    made.load_state_dict(weights)
    x = rg.ones(2, 2)
    assert rg.equal(made(x), loaded(x))


def test_a_skeleton_for_the_weights_of_several_models():
    models = [nn.Linear(2, 3) for _ in range(4)]
    params, buffers = rg.func.stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    x = rg.ones(5, 2)
    found = rg.vmap(lambda p, b: rg.func.functional_call(base, (p, b), (x,)))(params, buffers)
    assert rg.allclose(found, rg.stack([model(x) for model in models]))


@pytest.mark.skipif(
    sys.platform != "linux", reason="the largest size of a process is told in other units elsewhere"
)
def test_it_takes_no_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with rg.device("meta"):
        layer = nn.Linear(20_000, 20_000)
    assert layer.weight.numel() == 400_000_000
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    )  # KiB; there would be 1.6 million


@pytest.mark.parametrize(
    "make",
    [
        lambda library, x: library.empty_strided((2, 3), (1, 2), device="meta"),
        lambda library, x: x.new_empty_strided((2, 3), (1, 2)),
        lambda library, x: x.view(library.int32),
        lambda library, x: x.view(library.float64),
        lambda library, x: library.empty(1, 2, 3, 4, device="meta", memory_format=library.channels_last),
    ],
)
def test_memory_may_lie_and_be_seen_in_any_way(make, torch):
    found, expected = (make(library, library.ones(4, 6, device="meta")) for library in (rg, torch))
    assert (found.is_meta, found.shape, found.stride()) == (True, expected.shape, expected.stride())
    assert str(found.dtype) == str(expected.dtype)
