"""torch.library: operations of one's own; and what libraries call when they are imported."""

from __future__ import annotations

import importlib

import pytest

import retrograd as rg
from retrograd.ops.namespaces import REFUSED_LIBRARIES


def make_scale(lib):
    """The same operation with both libraries: a tensor times a number, and its gradient."""

    def scale(x, k: float = 2.0):
        return x * k

    scale.__annotations__ = {"x": lib.Tensor, "k": float, "return": lib.Tensor}
    op = lib.library.custom_op("fortests::scale", mutates_args=())(scale)

    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    op.register_autograd(lambda ctx, grad: (grad * ctx.k, None), setup_context=setup_context)
    op.register_fake(lambda x, k=2.0: lib.empty_like(x))
    return op


def test_a_custom_operation_has_its_backward(torch):
    def run(lib):
        make_scale(lib)
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = lib.ops.fortests.scale(x, 3.0) + lib.ops.fortests.scale(x)
        y.sum().backward()
        return y.tolist(), x.grad.tolist()

    assert run(rg) == run(torch) == ([5.0, 10.0], [5.0, 5.0])


def test_a_library_defines_and_implements(torch):
    def run(lib):
        space = lib.library.Library("fortestslib", "DEF")
        space.define("twice(Tensor x) -> Tensor")
        space.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        lib.library.define("fortestslib::half", "(Tensor x) -> Tensor")
        lib.library.impl("fortestslib::half", "default", lambda x: x / 2)
        x = lib.ones(2, requires_grad=True)
        lib.ops.fortestslib.twice(x).sum().backward()
        return x.grad.tolist(), lib.ops.fortestslib.half(lib.ones(2)).tolist()

    assert run(rg) == run(torch)


def test_a_library_in_c_cannot_be_loaded():
    try:
        with pytest.raises(OSError, match="made for PyTorch"):
            rg.ops.load_library("vision.so")
    finally:
        REFUSED_LIBRARIES.clear()  # what it might have held would be excused from here on


def test_what_files_call_in_passing():
    def twice(x):
        return x * 2

    assert rg.fx.wrap(twice) is twice
    assert rg.fx.wrap("twice") == "twice"
    assert rg.onnx.parse_args("v", "i")(twice) is twice
    assert rg.onnx.register_custom_op_symbolic("a::b", twice, 11) is None
    assert rg.onnx.unregister_custom_op_symbolic("a::b", 11) is None
    assert not rg.onnx.is_in_onnx_export()
    c = importlib.import_module("retrograd._C")
    keys = c.DispatchKeySet(c.DispatchKey.AutocastCPU) | c.DispatchKeySet(c.DispatchKey.CPU)
    assert keys.has(c.DispatchKey.CPU)
    with c._ExcludeDispatchKeyGuard(keys):
        assert c._log_api_usage_once("models.resnet") is None


def test_a_checkpoint_that_was_downloaded_before(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert rg.hub._get_torch_home() == str(tmp_path)
    url = "https://example.org/weights/model-1.pth?x=1"
    with pytest.raises(NotImplementedError, match="nothing is fetched"):
        rg.hub.load_state_dict_from_url(url, model_dir=str(tmp_path))
    rg.save({"w": rg.ones(2)}, tmp_path / "model-1.pth")
    assert rg.hub.load_state_dict_from_url(url, model_dir=str(tmp_path))["w"].tolist() == [1.0, 1.0]


def test_tensors_are_grouped_by_device_and_dtype(torch):
    def run(lib):
        group = importlib.import_module(
            f"{lib.__name__}.utils._foreach_utils"
        )._group_tensors_by_device_and_dtype
        a, b, c = lib.ones(1), lib.ones(2, dtype=lib.float64), lib.ones(3)
        found = group([[a, b, c], [c, b, a], []], with_indices=True)
        return {
            str(dtype): ([[t.numel() for t in one] for one in lists], indices)
            for (_, dtype), (lists, indices) in found.items()
        }

    assert run(rg) == run(torch)


def test_what_is_no_distribution_may_be_registered_for_divergences():
    class Base: ...

    class Mine(rg.distributions.Normal): ...

    class Other(rg.distributions.VonMises, Base): ...

    rg.distributions.register_kl(Mine, Base)(lambda p, q: 7)
    assert rg.distributions.kl_divergence(Mine(0.0, 1.0), Other(0.0, 1.0)) == 7
    with pytest.raises(TypeError, match="Expected type_q"):
        rg.distributions.register_kl(Mine, "Base")


def test_a_gradient_inside_of_vmap_is_that_of_the_operation():
    """Where PyTorch refuses: the rule computes the result, `backward` the gradient of each sample."""
    op = make_scale(rg)
    op.register_vmap(lambda info, in_dims, x, k: (op(x, k), in_dims[0]))
    x = rg.tensor([1.0, 2.0, 3.0])
    assert rg.vmap(rg.func.grad(lambda x: op(x, 5.0) * x))(x).tolist() == [10.0, 20.0, 30.0]
    assert rg.func.jacrev(rg.vmap(op))(x).tolist() == (2 * rg.eye(3)).tolist()
