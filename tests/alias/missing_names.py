"""A program that names what is missing: nothing fails before it is used. Run by `retrograd run`."""

import contextlib
from typing import Optional

import torch
import torch.nn as nn
import torch.onnx.utils
from torch.ao.quantization import QConfig
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.fx import symbolic_trace
from torch.nn.parallel import DistributedDataParallel
from torch.optim.adamw import AdamW
from torch.utils.data.dataset import Dataset

DTYPES = {"int8": torch.qint8, "affine": torch.per_tensor_affine, "float": torch.float32}


class Sharded(FSDP):
    """Made, and never instantiated."""


def annotated(x: Optional[torch.sparse.Tensor], y: torch.nested.NestedTensor | None = None) -> None:
    """Annotations are no use."""


def fails(use, error, *words):
    try:
        use()
    except error as raised:
        assert all(word in str(raised) for word in words), raised
        return
    raise AssertionError(f"{words}: nothing was raised")


assert AdamW is torch.optim.AdamW
assert Dataset is torch.utils.data.Dataset
assert nn.Linear is torch.nn.modules.linear.Linear is torch.nn.Linear
assert torch.float32 != DTYPES["int8"]
assert not isinstance(nn.Linear(1, 1), (DistributedDataParallel, nn.DataParallel))
fails(
    lambda: FSDP(nn.Linear(1, 1)),
    NotImplementedError,
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "DistributedDataParallel",
)
fails(Sharded, NotImplementedError, "is not in retrograd", "DistributedDataParallel")
fails(symbolic_trace, NotImplementedError, "torch.fx.symbolic_trace", "not traced")
fails(lambda: QConfig.activation(), NotImplementedError, "quantised")
fails(lambda: torch.onnx.export(None), NotImplementedError, "torch.onnx.export", "ONNX")
fails(lambda: torch.hub.load("a", "b"), NotImplementedError, "torch.hub.load", "download")
fails(lambda: torch.zeros(2, dtype=torch.qint8), NotImplementedError, "torch.qint8", "Use float32")
fails(lambda: torch.per_tensor_affine + 1, NotImplementedError, "torch.per_tensor_affine")
fails(lambda: bool(torch.per_tensor_affine), NotImplementedError, "torch.per_tensor_affine")
assert torch.ops.aten.no_such_operation  # functions are true, and so are operations that are missing
assert list(torch.ao.nn.qat.modules.__all__) == []
square = torch.cuda.jiterator._create_jit_fn("template <typename T> T square(T x) { return x * x; }")
fails(lambda: square(torch.ones(1)), NotImplementedError, "the kernel 'square'", "C++")
pair = torch.cuda.jiterator._create_multi_output_jit_fn("void pair(T x, T& a, T& b) {}", num_outputs=2)
fails(lambda: pair(torch.ones(1)), NotImplementedError, "the kernel 'pair'")
assert torch.backends.python_native.available_dsls == []
assert torch.optim.SparseAdam.__name__ == "SparseAdam"  # by which PyTorch's lists name their tests
fails(lambda: torch.no_such_name(3), NotImplementedError, "torch.no_such_name is not in retrograd")

# Who asks whether a name is there is told the truth.
assert hasattr(torch, "compile")
assert not hasattr(torch, "qscheme")
assert getattr(torch, "qscheme", None) is None
assert not hasattr(torch.nn, "quantized")
assert hasattr(torch.nn.functional, "scaled_dot_product_attention")
fails(lambda: getattr(torch, "qscheme"), AttributeError, "torch.qscheme is not in retrograd")  # noqa: B009

# And so is who has prepared for it.
found = []
try:
    import torch.nothing_here
except ImportError as e:
    found.append(str(e))
try:
    from torch.nn import NothingHere
except (ImportError, AttributeError) as e:
    found.append(str(e))
try:
    from torch.nothing_here.at_all import x
except ModuleNotFoundError as e:
    found.append(str(e))
try:
    torch.nothing_here
except AttributeError as e:
    found.append(str(e))
try:
    with contextlib.suppress(ValueError):
        from torch.nn import NothingHere
except Exception as e:
    found.append(str(e))
assert len(found) == 5, found
try:
    from torch.nn import NothingHere  # no except clause of this `try` is about it
except ValueError:
    found.append("never")
assert "NothingHere" in repr(NothingHere)

# Modules show all their names, as a program finds them that walks through one.
assert vars(torch.optim)["SGD"] is torch.optim.SGD
assert torch.distributions.__dict__["Normal"] is torch.distributions.Normal
assert "_shown" not in vars(torch)
assert vars(torch)["nn"] is torch.nn
print("all as it should be")
