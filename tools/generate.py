"""Writes what follows from the op library: the packages' public names, and the stub of Tensor's methods.

    python tools/generate.py            write the files
    python tools/generate.py --check    say whether they are as they would be written

`src/retrograd/__init__.py` imports every public function by name, so that editors and type checkers see them;
`nn/functional.py`, `linalg/__init__.py` and `fft/__init__.py` likewise; `src/retrograd/core/plain.pyi` declares the
method forms that `ops.methods` installs.
"""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "retrograd"

# Public names that are no op functions, by the module that has them.
OTHERS = {
    "retrograd.autograd.anomaly_mode": ["is_anomaly_check_nan_enabled", "is_anomaly_enabled"],
    "retrograd.autograd.custom_gradient": ["custom_gradient"],
    "retrograd.autograd.modes": ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"],
    "retrograd.backends.base": ["device"],
    "retrograd.backends.dtypes": [
        "can_cast",
        "complex64",
        "complex128",
        "float16",
        "float32",
        "float64",
        "get_default_dtype",
        "int8",
        "int16",
        "int32",
        "int64",
        "promote_types",
        "result_type",
        "set_default_dtype",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    ],
    "retrograd.core.plain": ["Size"],
    "retrograd.core.modes": ["is_grad_enabled", "is_inference_mode_enabled"],
    "retrograd.core.printing": ["set_printoptions"],
    "retrograd.core.tensor": ["Tensor"],
    "retrograd.engine.threads": [
        "get_num_interop_threads",
        "get_num_threads",
        "set_num_interop_threads",
        "set_num_threads",
    ],
    "retrograd.inspect.why": ["why_no_grad"],
    "retrograd.ops.generator": ["Generator", "default_generator"],
    "retrograd.serialization": ["load", "save"],
}
SUBPACKAGES = ["autograd", "cuda", "fft", "linalg", "nn", "random", "special", "utils"]
# PyTorch's names that are Python's own: assigned after the imports, because other modules could not use them as names.
DTYPE_ALIASES = {
    "bool": "bool_",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "dtype": "DTypeClass",
}
# Functions that return something else than one Tensor: their stub says Any.
NOT_ONE_TENSOR = {
    "__array_function__", "__array_ufunc__", "__dlpack__", "__dlpack_device__", "allclose", "aminmax", "chunk",
    "const_data_ptr", "cummax", "cummin", "dim_order", "dsplit", "equal", "frexp", "geqrf", "histogram", "hsplit",
    "is_pinned", "is_same_size", "is_set_to", "is_shared", "kthvalue", "lu", "max", "median", "min", "mode",
    "nanmedian", "nonzero", "numel", "qr", "random_",
    "slogdet", "sort", "split", "split_with_sizes", "std_mean", "svd", "tensor_split", "topk", "triangular_solve",
    "type", "unbind", "unique", "unique_consecutive", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes",
    "var_mean", "vsplit", "where",
}  # fmt: skip

HEADER = '''"""retrograd: PyTorch's autograd over NumPy arrays.

The function imports below are written by `tools/generate.py` from the op library.
"""
'''


def op_modules() -> list[ModuleType]:
    """The modules of the op library that hold public functions."""
    if "retrograd" not in sys.modules:
        # The package without its __init__, which may be the very file that is out of date.
        bare = ModuleType("retrograd")
        bare.__path__ = [str(PACKAGE)]
        sys.modules["retrograd"] = bare
    return list(importlib.import_module("retrograd.ops.methods").MODULES)


def public_functions() -> dict[str, set[str]]:
    """The functions the package offers, as import clauses by the module that defines them."""
    clauses: dict[str, set[str]] = {}
    for module in op_modules():
        named = {
            f.__name__: f for f in (*getattr(module, "FUNCTIONS", ()), *getattr(module, "NOT_METHODS", ()))
        }
        named |= getattr(module, "ALIASES", {}) | getattr(module, "FUNCTION_ALIASES", {})
        for name, function in named.items():
            own = function.__name__
            clauses.setdefault(function.__module__, set()).add(own if own == name else f"{own} as {name}")
    return clauses


def methods_as_functions() -> list[str]:
    """The in-place methods that are functions too: `exp_(t)` is `t.exp_()`."""
    op_modules()
    known = {*importlib.import_module("retrograd.ops.methods").method_table(), "detach_"}
    wanted = importlib.import_module("retrograd.ops.inplace_functions").METHODS_AS_FUNCTIONS
    return [name for name in wanted if name in known]


def offered(clauses: dict[str, set[str]]) -> set[str]:
    """The names that import clauses bind."""
    return {clause.rpartition(" ")[2] for found in clauses.values() for clause in found}


def package_text() -> str:
    """The text of `retrograd/__init__.py`."""
    imports = public_functions()
    for name, found in OTHERS.items():
        imports.setdefault(name, set()).update(found)
    lines = [HEADER, "import numpy as _np", "", f"from retrograd import {', '.join(SUBPACKAGES)}"]
    lines += [f"from {name} import ({', '.join(sorted(imports[name]))},)" for name in sorted(imports)]
    lines += ["from retrograd.backends.dtypes import bool_ as _bool", "", '__version__ = "0.1.0"', ""]
    for alias, target in DTYPE_ALIASES.items():
        source = {"bool_": "_bool", "DTypeClass": "_np.dtype"}.get(target, target)
        lines.append(f"{alias} = {source}")
    lines += [
        'strided = "strided"',
        'contiguous_format = "contiguous_format"',
        'preserve_format = "preserve_format"',
    ]
    constants = ["e", "finfo", "iinfo", "inf", "nan", "newaxis", "pi"]
    lines += [f"{c} = _np.{c}" for c in constants]
    methods = methods_as_functions()
    lines += [f"{name} = Tensor.{name}" for name in methods]
    public = offered(imports) | set(DTYPE_ALIASES) | set(SUBPACKAGES) | set(constants) | set(methods)
    public |= {"__version__", "strided", "contiguous_format", "preserve_format"}
    lines += ["", f"__all__ = [{', '.join(repr(n) for n in sorted(public))},]"]
    return formatted("\n".join(lines) + "\n", "__init__.py")


def table_text(title: str, table: str, path: str) -> str:
    """The text of a package that offers what modules list in a table of theirs (`FUNCTIONAL`, `LINALG`)."""
    imports: dict[str, set[str]] = {}
    for module in op_modules():
        for name, function in getattr(module, table, {}).items():
            own = function.__name__
            imports.setdefault(function.__module__, set()).add(own if own == name else f"{own} as {name}")
    lines = [f'"""{title}', "", "Written by `tools/generate.py` from the op library.", '"""', ""]
    lines += [f"from {name} import ({', '.join(sorted(imports[name]))},)" for name in sorted(imports)]
    lines += ["", f"__all__ = [{', '.join(repr(n) for n in sorted(offered(imports)))},]"]
    return formatted("\n".join(lines) + "\n", path)


def functional_text() -> str:
    """The text of `retrograd/nn/functional.py`."""
    title = "Functions of neural networks: activations, losses, linear maps."
    return table_text(title, "FUNCTIONAL", "nn/functional.py")


def linalg_text() -> str:
    """The text of `retrograd/linalg/__init__.py`."""
    return table_text("Linear algebra under PyTorch's names.", "LINALG", "linalg/__init__.py")


def fft_text() -> str:
    """The text of `retrograd/fft/__init__.py`."""
    return table_text("Fourier transforms under PyTorch's names.", "FFT", "fft/__init__.py")


def special_text() -> str:
    """The text of `retrograd/special/__init__.py`."""
    return table_text("Special functions under PyTorch's names.", "SPECIAL", "special/__init__.py")


def stub_text() -> str:
    """The text of `retrograd/core/plain.pyi`."""
    op_modules()
    methods = importlib.import_module("retrograd.ops.methods").method_table()
    lines = [
        '"""What type checkers see of `plain.py`. Written by `tools/generate.py`."""',
        "import builtins",
        "import threading",
        "from collections.abc import Sequence",
        "from typing import Any",
        "from retrograd.core.tensor import Tensor",
        "from retrograd.values import Array, Axis, DType, Number, Shape",
        "class Plain: ...",
        "class FunctionMeta(type): ...",
        "class PlainNode(Plain): ...",
        "class Size(tuple[int, ...]):",
        "    def numel(self) -> int: ...",
        "    def __getitem__(self, index: Any) -> Any: ...",
        "    def __add__(self, other: Any) -> Any: ...",
        "class TensorMethods:",
        "    @property",
        "    def grad(self) -> Tensor | None: ...",
        "    @grad.setter",
        "    def grad(self, value: Any) -> None: ...",
        "    @grad.deleter",
        "    def grad(self) -> None: ...",
    ]
    for name in sorted(methods):
        lines.append("    " + declaration(name, methods[name]))
    lines += [
        "class ThreadLocal(threading.local):",
        "    state: Any",
        "    def __init__(self, make: Any) -> None: ...",
    ]
    return formatted("\n".join(lines) + "\n", "plain.pyi")


def declaration(name: str, method: Any) -> str:
    """One method as a stub declares it."""
    if isinstance(method, property):
        return f"@property\n    def {name}(self) -> Any: ..."
    parameters = []
    for i, p in enumerate(inspect.signature(method).parameters.values()):
        if i == 0:
            parameters.append("self")
            continue
        if (
            p.kind is p.KEYWORD_ONLY
            and "*" not in parameters
            and not any(q.startswith("*") for q in parameters)
        ):
            parameters.append("*")
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        kind = "Any" if p.annotation is p.empty else inspect.formatannotation(p.annotation).strip("'")
        kind = re.sub(r"\b(bool|int|float|type)\b", r"builtins.\1", kind)  # Tensor has methods of these names
        parameters.append(f"{star}{p.name}: {kind}" + ("" if p.default is p.empty else " = ..."))
    result = "Any" if name in NOT_ONE_TENSOR else "Tensor"
    return f"def {name}({', '.join(parameters)}) -> {result}: ..."


def formatted(text: str, name: str) -> str:
    """The text as ruff would have it."""
    for command in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(PACKAGE / name), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout
    return text


def main() -> int:
    """Writes the files, or says which are out of date."""
    files = {
        PACKAGE / "__init__.py": package_text,
        PACKAGE / "nn" / "functional.py": functional_text,
        PACKAGE / "linalg" / "__init__.py": linalg_text,
        PACKAGE / "fft" / "__init__.py": fft_text,
        PACKAGE / "special" / "__init__.py": special_text,
        PACKAGE / "core" / "plain.pyi": stub_text,
    }
    stale = 0
    for path, make in files.items():
        text = make()
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)} is out of date: run python tools/generate.py")
            stale += 1
        else:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
