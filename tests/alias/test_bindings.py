"""Functions by the names that PyTorch's C++ half has for them, and what its own test helpers call."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import retrograd as rg

c = importlib.import_module("retrograd._C")


def test_operations_are_found_without_an_import_of_their_module():
    """`torch.ops.aten` is a module that a program asks for by its name alone."""
    program = (
        "import retrograd as torch; print(torch.ops.aten.add.Tensor(torch.ones(1), torch.ones(1), alpha=2))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "tensor([3.])"


CALLS = {
    "slice": lambda t: t.ops.aten.slice.Tensor(t.arange(10), 0, 1, 8, 2),
    "slice of the last dimension": lambda t: t.ops.aten.slice(t.arange(6).reshape(2, 3), -1, 0, 2),
    "layer_norm": lambda t: t.ops.aten.layer_norm(t.arange(4.0), (4,)),
    "_softmax": lambda t: t.ops.aten._softmax(t.arange(3.0), 0, False),
    "_log_softmax": lambda t: t.ops.aten._log_softmax.default(t.arange(3.0), 0, False),
    "_safe_softmax": lambda t: t.ops.aten._safe_softmax(t.tensor([[1.0, 2.0], [-t.inf, -t.inf]]), 1),
    "_softmax_backward_data": lambda t: t.ops.aten._softmax_backward_data(
        t.tensor([1.0, 2.0]), t.tensor([0.25, 0.75]), 0, t.float32
    ),
    "native_dropout_backward": lambda t: t.ops.aten.native_dropout_backward(
        t.ones(2), t.tensor([True, False]), 2.0
    ),
    "max_pool2d_with_indices": lambda t: t.ops.aten.max_pool2d_with_indices(
        t.arange(16.0).reshape(1, 1, 4, 4), [2, 2]
    )[1],
    "max_pool2d_with_indices_backward": lambda t: t.ops.aten.max_pool2d_with_indices_backward(
        t.ones(1, 1, 2, 2), t.zeros(1, 1, 4, 4), [2, 2], [2, 2], [0, 0], [1, 1], False,
        t.tensor([[[[5, 7], [13, 15]]]]),
    ),
    "_upsample_bilinear2d_aa": lambda t: t.ops.aten._upsample_bilinear2d_aa(
        t.arange(16.0).reshape(1, 1, 4, 4), (2, 2), False
    ),
    "upsample_nearest2d": lambda t: t.ops.aten.upsample_nearest2d(t.arange(4.0).reshape(1, 1, 2, 2), (4, 4)),
    "gelu": lambda t: t.ops.aten.gelu.default(t.ones(2), approximate="tanh"),
    "in place": lambda t: t.ops.aten.add_.Tensor(t.ones(2), t.ones(2)),
    "out": lambda t: t.ops.aten.sigmoid.out(t.zeros(2), out=t.empty(2)),
    "linalg_inv": lambda t: t.ops.aten.linalg_inv(2 * t.eye(2)),
    "sym_size": lambda t: t.tensor(t.ops.aten.sym_size(t.ones(2, 3), 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_operations_compute_what_pytorchs_do(torch, name):
    rg.testing.assert_close(CALLS[name](rg).double(), rg.tensor(CALLS[name](torch).tolist()).double())


def test_an_operation_that_cannot_be_called():
    with pytest.raises(NotImplementedError, match="cannot be called here"):
        rg.ops.aten._batch_norm_with_update(rg.ones(2))


def test_functions_by_family():
    assert c._linalg.linalg_inv is rg.linalg.inv
    assert c._special.special_i0 is rg.special.i0
    assert c._fft.fft_rfft is rg.fft.rfft
    assert c._nn.gelu is rg.nn.functional.gelu
    assert c._VariableFunctions.add is rg.add
    assert c._VariableFunctions.__and__(rg.tensor(3), 1).item() == 1
    for family in (c._linalg, c._special, c._fft, c._nn):
        with pytest.raises(AttributeError, match="no_such_function"):
            _ = family.linalg_no_such_function if family is c._linalg else family.no_such_function


def test_what_test_helpers_call(caplog):
    logs = importlib.import_module("retrograd._logging")
    scribe = importlib.import_module("retrograd._logging.scribe")
    assert scribe.open_source_signpost(subsystem="tests", name="x", parameters="{}") is None
    assert logs.set_logs(recompiles=True) is None
    logger = logs.getArtifactLogger("a.b", "graph")
    for _ in range(2):
        logs.warning_once(logger, "only once")
    assert [record.message for record in caplog.records] == ["only once"]
    assert importlib.import_module("retrograd.utils._pytree").arg_tree_leaves(1, [2], a=3) == [1, 2, 3]


def test_types_of_numbers(torch):
    ours, theirs = (importlib.import_module(f"{lib}._prims_common") for lib in ("retrograd", "torch"))
    for name in ("bool", "uint8", "int64", "bfloat16", "float64", "complex64"):
        for ask in ours.__all__:
            assert getattr(ours, ask)(getattr(rg, name)) == getattr(theirs, ask)(getattr(torch, name))


def test_classes_of_results_that_were_written():
    assert rg.return_types.max_out is rg.return_types.max
    assert not hasattr(rg.return_types, "no_such_function_out")


def test_switches_that_are_not_frozen():
    """PyTorch's helpers freeze the switches of some libraries; those of products can still be set."""
    program = (
        "import retrograd as torch\n"
        "torch.backends.disable_global_flags()\n"
        "torch.backends.cuda.matmul.allow_tf32 = True\n"
        "torch.backends.cudnn.conv.fp32_precision = 'ieee'\n"
        "try:\n"
        "    torch.backends.cudnn.benchmark = True\n"
        "except RuntimeError as error:\n"
        "    print(torch.backends.cuda.matmul.allow_tf32, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("True not allowed to set")
