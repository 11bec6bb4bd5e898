"""A program that names what is missing: nothing fails before it is used. Run by `retrograd run`."""

import contextlib
from typing import Optional

import torch
import torch.nn as nn
import torch.onnx.utils
from torch.ao.quantization import QConfig
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel
from torch.optim.adamw import AdamW
from torch.utils.data.dataset import Dataset
from torch.utils.tensorboard import SummaryWriter

DTYPES = {"int8": torch.qint8, "float": torch.float32}


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
fails(SummaryWriter, NotImplementedError, "torch.utils.tensorboard.SummaryWriter", "TensorBoard")
fails(lambda: QConfig.activation(), NotImplementedError, "quantised")
fails(lambda: torch.onnx.export(None), NotImplementedError, "torch.onnx.export", "ONNX")
fails(lambda: torch.hub.load("a", "b"), NotImplementedError, "torch.hub.load", "download")
fails(lambda: torch.zeros(2, dtype=torch.qint8), (TypeError, NotImplementedError))
fails(lambda: torch.qint8 + 1, NotImplementedError, "torch.qint8")
fails(lambda: torch.no_such_name(3), NotImplementedError, "torch.no_such_name is not in retrograd")

# Who asks whether a name is there is told the truth.
assert hasattr(torch, "compile")
assert not hasattr(torch, "qint8")
assert getattr(torch, "qint8", None) is None
assert not hasattr(torch.nn, "quantized")
assert hasattr(torch.nn.functional, "scaled_dot_product_attention")
fails(lambda: getattr(torch, "qint8"), AttributeError, "torch.qint8 is not in retrograd")  # noqa: B009

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
print("all as it should be")
