"""How much of PyTorch's public interface is there: what is missing has a reason that docs/differences.md gives."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import retrograd as rg

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
SPACES = (
    "", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize",
    "nn.utils.parametrizations", "optim", "optim.lr_scheduler", "optim.swa_utils", "utils.data", "utils.checkpoint",
    "autograd", "autograd.functional", "autograd.forward_ad", "autograd.graph", "linalg", "fft", "special", "random",
    "func", "overrides", "testing", "profiler", "signal.windows", "distributions", "distributions.constraints",
    "distributions.transforms", "distributions.kl", "distributions.utils",
)  # fmt: skip
# What makes no sense on dense tensors of one process: a pattern of names, and words of the page that say so.
NOT_FOR_US = {
    r"q(scheme|_)|quantize|fake_quantize|fbgemm|int_repr|dequantize|choose_qparams"
    r"|empty_quantized|fused_moving_avg|per_(channel|tensor)": "quantised numbers",
    r"sparse|(c?col|crow|row)?_?indices_copy|values_copy|[sdh]?s?mm$|hspmm|spmm|s+p?addmm|resize_as_sparse|SparseAdam"
    r"|is_coalesced": "sparse tensors",
    r"cudnn|miopen|mkldnn|batch_norm_(backward|elemt|gather|stats|update)|is_vulkan|Event$|Stream"
    r"|.*stream|(get|is|set)_autocast_(ipu|xla)|AcceleratorGraph|ExecutionTraceObserver|DeviceType"
    r"|kineto": "other devices",
    r".*DataPipe|DataChunk|argument_validation|functional_datapipe|.*determinis|runtime_validation|_DatasetKind"
    r"": "DataPipes",
    r"[A-Z].*(Type|Spec|Graph.*|Logger|Script.*|Module.*|IODescriptor|Config|Stats)$|AVG|SUM|AliasDb|Argument|Block"
    r"|BufferDict|CallStack|Capsule|Code|CompilationUnit|DeepCopyMemoTable|.*StorageContext|Dispatch.*|ErrorReport"
    r"|Exclude.*|ExecutionPlan|FatalError|FileCheck|FunctionSchema|Future|Gradient|Graph|IODescriptor|ModuleDict|slice_inverse|JITException|ListType|Node"
    r"|OperatorInfo|ParameterDict|PyTorchFile.*|Script.*|StaticModule|Tag|ThroughputBenchmark|TracingState|Type|Use"
    r"|Value|cpp|fork|import_ir.*|merge_type.*|parse_.*|unify.*|wait|BroadcastingList\d|boolean_dispatch|export"
    r"|sym_fresh_size|sym_constrain.*|functionalize|debug_unwrap|redispatch_function|init_num_threads"
    r"|assert_int_or_pair": "TorchScript",
    r".*_notes|common_args|GRID_SAMPLE.*|TYPE_CHECKING|Tensor|handle_torch_function|has_torch_function.*"
    r"|reproducibility.*|SAC_.*": "leftovers",
}  # fmt: skip


def public(module: ModuleType) -> set[str]:
    """The names that a module of PyTorch's offers."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {name for name in dir(module) if not name.startswith("_") and _is_its(getattr(module, name))}


def _is_its(value: Any) -> bool:
    return not isinstance(value, ModuleType) and str(getattr(value, "__module__", "torch")).startswith(
        "torch"
    )


def reason(space: str, name: str) -> str:
    """Why a name may be missing; empty if it should be there."""
    found = (why for pattern, why in NOT_FOR_US.items() if re.match(pattern, name))
    return next(found, "")


@pytest.fixture(scope="module")
def missing(torch) -> tuple[int, dict[str, list[str]]]:
    """How many names there are to be had, and those that are missing, by package."""
    count, found = 0, {}
    for space in SPACES:
        theirs, ours = (
            importlib.import_module(f"{top}.{space}".rstrip(".")) for top in ("torch", "retrograd")
        )
        absent = {name for name in public(theirs) if not hasattr(ours, name)}
        wanted = {name for name in absent if not reason(space, name)}
        count += len(public(theirs)) - len(absent) + len(wanted)
        if wanted:
            found[space] = sorted(wanted)
    return count, found


# What is asked of a Tensor and makes no sense on a dense one of one process: words of the page that say so.
OF_TENSORS = {
    "sparse tensors": r"(c?col|crow|row)?_?indices|values|coalesce|is_coalesced|(dense|sparse)_dim|sparse_.*"
    r"|to_sparse.*|s?s?p?addmm|smm|resize_as_sparse_|to_padded_tensor|to_mkldnn",
    "quantised numbers": r"q_.*|qscheme|dequantize|int_repr",
    "other devices": r"ipu|mtia|xpu|record_stream|is_distributed",
    "dtypes that NumPy has not": r"chalf",
    "removed from PyTorch": r"eig|lstsq|solve|symeig|reinforce|resize|resize_as",
    "leftovers": r"index|name|slice_inverse",
}  # fmt: skip


def test_tensors_have_every_name(torch):
    theirs = {name for name in dir(torch.Tensor) if not name.startswith("_")}
    absent = sorted(name for name in theirs if not hasattr(rg.Tensor, name))
    unexplained = [n for n in absent if not any(re.fullmatch(p, n) for p in OF_TENSORS.values())]
    assert len(theirs) > 590
    assert unexplained == []
    words = " ".join((PAGE.read_text(encoding="utf-8")).lower().split())
    assert [why for why in OF_TENSORS if why.lower() not in words] == []


def test_nearly_every_name_is_there(missing):
    count, found = missing
    absent = sum(map(len, found.values()))
    assert count > 1250
    assert absent / count <= 0.02, found


def test_what_is_missing_is_on_the_page(missing):
    page = PAGE.read_text(encoding="utf-8")
    words = " ".join(page.lower().split())
    assert [why for why in NOT_FOR_US.values() if why.lower() not in words] == []
    unlisted = [name for names in missing[1].values() for name in names if f"`{name}`" not in page]
    assert unlisted == []
