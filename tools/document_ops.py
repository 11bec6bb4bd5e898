"""Writes docs/ops.md: every differentiable operation with its family and formula, and what PyTorch has besides.

    python tools/document_ops.py            write the page
    python tools/document_ops.py --check    say whether it is as it would be written

The rows are those of the op table that the tests run (`tests/ops/cases.py`); PyTorch must be installed.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ops.md"
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from tests.ops.case import Case  # noqa: E402
from tests.ops.cases import CASES  # noqa: E402

import retrograd  # noqa: E402
from retrograd.core.op import Op  # noqa: E402

DTYPES = ("float32", "float64", "complex64", "complex128", "int64", "bool")
FAMILIES = (
    "View", "Linear", "Symmetric", "ElementwiseUnary", "ElementwiseBinary", "Bilinear", "Unary", "Binary", "Variadic",
)  # fmt: skip

# Why something of PyTorch's is not here: the first reason one of whose patterns matches the name.
REASONS = {
    "quantised tensors": "quant fbgemm q_scale q_zero q_per qscheme int_repr choose_qparams",
    "sparse tensors": """
        sparse _indices coalesce hspmm hsmm dsmm smm spmm saddmm sspaddmm dense_dim values_copy to_dense ^values$
        ^indices
    """,
    "entry points of one library or kernel; the public function is here": "cudnn miopen mkldnn native_norm batch_norm_",
    "dtypes that NumPy has not (complex32, eight bits)": "chalf scaled_ grouped_mm",
    "compiler and scripting": """
        sym_ unify_type parse_ import_ir merge_type compile$ wait$ fork$ while_loop ^cond$ handle_torch has_torch
        boolean_dispatch assert_int typename classproperty thread_safe Optional
    """,
    "storage and files": "^save$ ^load$ from_file get_file_path storage share_memory module_load",
    "other devices": """
        is_(ipu|maia|meta|mps|mtia|vulkan|xla|xpu|nested|pinned|shared|distributed) ^(cuda|ipu|xpu|mtia)$ pin_memory
        autocast record_stream get_device_module default_device vulkan const_data_ptr
    """,
    "settings of PyTorch's own kernels": """
        determin set_warn is_warn flush_denormal float32_matmul anomaly_enabled default_tensor_type init_num_threads
        profiler multiprocessing cxx11
    """,
    "removed or deprecated in PyTorch": """
        ^(symeig|eig|lstsq|solve|matrix_rank|volatile|reinforce|resize|resize_as|new|name|frobenius_norm)$
    """,
}

INTRODUCTION = """\
# The operations

Written by `tools/document_ops.py` from the op table that the tests run. A row is a differentiable function, with the
node it records (PyTorch's name), the family that gives its derivatives, what it computes, and the dtypes it takes.
*composed* functions are made of other rows. Every one can be differentiated any number of times.
"""


def family_of(node: Any) -> str:
    """The family that a node's op derives from."""
    names = [cls.__qualname__ for cls in type(node).__mro__]  # not `__name__`, which is that of a node
    bases = [cls for cls in type(node).__mro__ if cls.__module__.startswith("retrograd.core.")]
    return next((b.__qualname__ for b in bases if b.__qualname__ in FAMILIES), names[0])


def formula_of(node: Any) -> str:
    """The first line of an op's docstring: what it computes."""
    return (inspect.getdoc(type(node)) or "").split("\n")[0].rstrip(".")


def taken(case: Case) -> tuple[list[str], Any]:
    """The dtypes that a row's function takes, and the node it records."""
    dtypes, node = [], None
    sample = case.samples[0]
    for dtype in DTYPES:
        base = "complex128" if dtype.startswith("c") else "float64"
        if ("complex" if base == "complex128" else "real") in case.excuses:
            continue
        arrays = [np.asarray(a).astype(dtype) for a in case.arrays(sample, base)]
        tensors = [retrograd.tensor(a, requires_grad=a.dtype.kind in "fc") for a in arrays]
        try:
            made = case.run(sample, tensors)
        except Exception:  # noqa: BLE001 - whatever it is, the dtype is not taken
            continue
        dtypes.append(dtype)
        outs = made if isinstance(made, (tuple, list)) else (made,)
        node = node or next((o.grad_fn for o in outs if getattr(o, "grad_fn", None) is not None), None)
    return dtypes, node


def rows() -> Iterator[str]:
    """A line per function of the op table."""
    seen = set()
    for case in sorted(CASES, key=lambda c: c.name):
        if case.name in seen:
            continue
        seen.add(case.name)
        dtypes, node = taken(case)
        composed = not isinstance(node, Op)
        family = "composed" if composed else family_of(node)
        what = "" if composed else formula_of(node).replace("|", "\\|")
        name = "" if node is None else node.name()
        kinds = ", ".join(dtypes)
        yield f"| `{case.name}` | {name} | {family} | {what} | {kinds} |"


def public(module: Any) -> set[str]:
    """The functions of a module of PyTorch's, or of its Tensor."""
    names = [name for name in dir(module) if not name.startswith("_")]
    found = {name: getattr(module, name, None) for name in names}
    return {name for name, value in found.items() if callable(value) and not inspect.isclass(value)}


def reason_for(name: str) -> str:
    """Why a function of PyTorch's is not here."""
    for reason, patterns in REASONS.items():
        if any(re.search(pattern, name) for pattern in patterns.split()):
            return reason
    return "not written yet"


def missing() -> dict[str, list[str]]:
    """What PyTorch has and we do not, by reason."""
    spaces = {
        "torch": (torch, retrograd),
        "torch.Tensor": (torch.Tensor, retrograd.Tensor),
        "torch.nn.functional": (torch.nn.functional, retrograd.nn.functional),
        "torch.linalg": (torch.linalg, retrograd.linalg),
        "torch.fft": (torch.fft, retrograd.fft),
        "torch.special": (torch.special, retrograd.special),
    }
    found: dict[str, list[str]] = {}
    for prefix, (theirs, ours) in spaces.items():
        for name in sorted(public(theirs)):
            if not hasattr(ours, name):
                found.setdefault(reason_for(name), []).append(f"{prefix}.{name}")
    return found


def text() -> str:
    """The page."""
    lines = list(rows())
    gaps = missing()
    count = sum(len(names) for names in gaps.values())
    page = [
        INTRODUCTION,
        f"{len(lines)} functions.",
        "",
        "| function | node | family | computes | dtypes |",
        "|---|---|---|---|---|",
        *lines,
        "",
        "## What PyTorch has and we do not",
        "",
        f"{count} names of PyTorch {torch.__version__.split('+')[0]}, by reason:",
        "",
    ]
    for why in sorted(gaps, key=lambda w: (-len(gaps[w]), w)):
        names = ", ".join(f"`{name.removeprefix('torch.')}`" for name in gaps[why])
        page.append(f"- **{why}** ({len(gaps[why])}): {names}")
    return "\n".join(page) + "\n"


def main() -> None:
    """Writes the page, or checks it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = text()
    if "--check" not in sys.argv:
        PAGE.write_text(wanted, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
        sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: run python tools/document_ops.py")


if __name__ == "__main__":
    main()
