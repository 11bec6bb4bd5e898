"""Prints the full names of public classes, and whether pickles find them; reads annotations of classes derived from them.

Run by PyTorch and by `retrograd run`, whose lines are compared.
"""

import inspect
import pickle
import sys
from importlib import import_module
from typing import get_type_hints

SPACES = (
    "torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data", "torch.distributions",
    "torch.distributions.transforms", "torch.amp", "torch.return_types",
)  # fmt: skip
# What PyTorch has and we have not: docs/differences.md.
ELSEWHERE = (
    "DataPipe",
    "DataChunk",
    "datapipe",
    "runtime_validation",
    "determin",
    "SparseAdam",
    "DatasetKind",
    "SequenceKey",
    "_out",
)

torch = import_module("torch")
found = [
    torch.Tensor,
    torch.Size,
    torch.dtype,
    torch.device,
    torch.Generator,
    torch.no_grad,
    torch.nn.Parameter,
    torch.AcceleratorError,
    torch.Event,
    torch.OutOfMemoryError,
    torch.Stream,
    torch.SymInt,
    torch.UntypedStorage,
    torch.TypedStorage,
    torch.utils.checkpoint.CheckpointError,
    torch.utils.hooks.RemovableHandle,
    torch.autograd.forward_ad.dual_level,
    torch.autograd.graph.Node,
    torch.autograd.graph.GradientEdge,
    torch.autograd.graph.save_on_cpu,
    type(torch.ones(2).sort()),
]
for space in SPACES:
    module = import_module(space)
    names = getattr(module, "__all__", None) or [
        name for name in dir(module) if name[0].isupper() or space == "torch.return_types" and name[0] != "_"
    ]
    known = [name for name in names if not any(part in name for part in ELSEWHERE)]
    found += [kind for name in sorted(known) if inspect.isclass(kind := getattr(module, name))]
sys.stdout.writelines(f"{kind} {pickle.loads(pickle.dumps(kind)) is kind}\n" for kind in found)

for base in (
    torch.Tensor,
    torch.nn.Module,
    torch.nn.LazyLinear,
    torch.optim.RAdam,
    torch.utils.data.Sampler,
    torch.distributions.HalfNormal,
    torch.distributions.TanhTransform,
):
    derived = type("Derived", (base,), {"__annotations__": {"width": "int"}})
    assert get_type_hints(derived)["width"] is int
