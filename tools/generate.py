"""Writes what follows from the op library: the packages' public names, and the stub of Tensor's methods.

    python tools/generate.py            write the files
    python tools/generate.py --check    say whether they are as they would be written

`src/retrograd/public_names.py` says which module has which name, so that it is loaded when the name is asked for.
`src/retrograd/__init__.py`, `nn/functional.py`, `linalg/__init__.py`, `fft/__init__.py` and `special/__init__.py` find
their names there, and import them for editors and type checkers; `src/retrograd/core/plain.pyi` declares the method
forms of functions.
"""

from __future__ import annotations

import builtins
import importlib
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that this file may be run by its path

from tools.stubs import TENSOR, Place, declaration  # noqa: E402

PACKAGE = ROOT / "src" / "retrograd"

# Public names that are no op functions, by the module that has them.
OTHERS = {
    "retrograd.amp.autocast_mode": ["autocast"],
    "retrograd.amp.grad_scaler": ["GradScaler"],
    "retrograd.amp.settings": [
        "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
        "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
        "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
        "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
    ],
    "retrograd.__config__": ["compiled_with_cxx11_abi", "has_lapack", "has_mkl", "has_openmp", "has_spectral"],
    "retrograd.errors": ["AcceleratorError", "OutOfMemoryError"],
    "retrograd.alias.install": ["install_as_torch"],
    "retrograd.autograd.anomaly_mode": ["is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_anomaly_enabled"],
    "retrograd.autograd.custom_gradient": ["custom_gradient"],
    "retrograd.autograd.modes": ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"],
    "retrograd.backends.device": ["device"],
    "retrograd.backends.dtype_class": [
        "bfloat16", "complex64", "complex128", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
        "uint8", "uint16", "uint32", "uint64", "dtype",
    ],
    "retrograd.backends.dtypes": ["can_cast", "set_default_dtype"],
    "retrograd.backends.layout_class": [
        *("jagged", "layout", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided")
    ],
    "retrograd.backends.limits": ["finfo", "iinfo"],
    "retrograd.backends.memory_format": [
        "channels_last", "channels_last_3d", "contiguous_format", "memory_format", "preserve_format",
    ],
    "retrograd.compiler": ["compile"],
    "retrograd.core.plain": ["Size"],
    "retrograd.cpu": ["get_device_module"],
    "retrograd.core.modes": ["is_grad_enabled", "is_inference_mode_enabled"],
    "retrograd.core.printing": ["set_printoptions"],
    "retrograd.core.tensor": ["Tensor"],
    "retrograd.engine.threads": [
        "get_num_interop_threads",
        "get_num_threads",
        "set_num_interop_threads",
        "set_num_threads",
    ],
    "retrograd.func.mapping": ["vmap"],
    "retrograd.futures": ["Future"],
    "retrograd.inspect.why": ["why_no_grad"],
    "retrograd.legacy_storages": [
        "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage", "ComplexFloatStorage",
        "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage",
        "_storage_classes",
    ],
    "retrograd.legacy_types": [
        "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
        "IntTensor", "LongTensor", "ShortTensor", "_tensor_classes",
    ],
    "retrograd.overrides.state": ["DisableTorchFunction", "DisableTorchFunctionSubclass"],
    "retrograd.symbolic": [
        "SymBool", "SymFloat", "SymInt", "cond", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not",
        "sym_sqrt", "sym_sum", "while_loop",
    ],
    "retrograd.ops.random.generator": ["Generator", "default_generator"],
    "retrograd.ops.tensor.typed_storage": ["TypedStorage"],
    "retrograd.ops.tensor.untyped_storage": ["UntypedStorage"],
    "retrograd.serialization.loading": ["load"],
    "retrograd.serialization.saving": ["save"],
    "retrograd.streams": ["Event", "Stream"],
}  # fmt: skip
# Of these, what `import retrograd` loads in any case; the others are loaded when they are first asked for.
AT_ONCE = ("retrograd.autograd.modes", "retrograd.backends.", "retrograd.core.", "retrograd.engine.")
SUBPACKAGES = [
    "accelerator", "amp", "autograd", "compiler", "cpu", "cuda", "distributed", "distributions", "fft", "func",
    "futures", "fx", "hub", "jit", "library", "linalg", "masked", "memory", "mps", "multiprocessing", "nn", "onnx",
    "optim", "optimize", "overrides", "profiler", "quasirandom", "random", "signal", "special", "testing", "utils",
    "xpu",
]  # fmt: skip
# Modules that are no part of the public interface, and yet are attributes of the package.
INTERNAL = [
    "_C", "__config__", "__future__", "_dynamo", "_functorch", "_inductor", "_jit_internal", "_logging", "_ops",
    "_tensor_str", "_vmap_internals", "backends", "functional", "inspect", "return_types", "serialization", "sparse",
    "storage", "torch_version", "types", "version",
]  # fmt: skip
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
}
# Packages whose names op modules declare: the constant of `public_names.py`, the file, its docstring.
PACKAGES = {
    "nn.functional": (
        "FUNCTIONAL", "nn/functional.py", "Functions of neural networks: activations, losses, linear maps.",
    ),
    "linalg": ("LINALG", "linalg/__init__.py", "Linear algebra under PyTorch's names."),
    "fft": ("FFT", "fft/__init__.py", "Fourier transforms under PyTorch's names."),
    "special": ("SPECIAL", "special/__init__.py", "Special functions under PyTorch's names."),
}  # fmt: skip

HEADER = """retrograd: PyTorch's autograd over NumPy arrays.

Most names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

# `plain.pyi` around the methods of Tensor.
STUB = '''"""What type checkers see of `plain.py`. Written by `tools/generate.py`."""
import threading
from collections.abc import Callable
from typing import Any, SupportsIndex, overload
from retrograd.core.tensor import Tensor
from retrograd.hints import Plain
NODE_NAMES: set[str]
class FunctionMeta(type): ...
class PlainNode(Plain):
    def __dir__(self) -> list[str]: ...
class Size(tuple[int, ...]):
    def numel(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Size: ...
    def __add__(self, other: tuple[int, ...], /) -> Size: ...  # type: ignore[override]
    def __radd__(self, other: tuple[int, ...], /) -> Size: ...
    def __mul__(self, times: SupportsIndex, /) -> Size: ...
    def __rmul__(self, times: SupportsIndex, /) -> Size: ...
class MethodForm:
    name: str
    find: Callable[[], Any]
    def __init__(self, name: str, find: Callable[[], Any]) -> None: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any: ...
    def __set__(self, instance: Any, value: Any) -> None: ...
class TensorMethods:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any: ...
    @staticmethod
    def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any: ...  # noqa: PLW0211
    def __index__(self) -> int: ...
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Tensor) -> None: ...
    ...  # the methods
class ThreadLocal(threading.local):
    state: Any
    def __init__(self, make: Callable[[], Any]) -> None: ...
'''

# By module: the names under which its things are offered, and what they are called there.
Homes = dict[str, dict[str, str]]


# -- what there is -------------------------------------------------------------------------------------------------


@cache
def declared() -> dict[str, Any]:
    """What the modules of the op library declare, by its name in full."""
    if "retrograd" not in sys.modules:
        # The package without its __init__, and the library without its list of names: they may be out of date.
        bare, names = ModuleType("retrograd"), ModuleType("retrograd.public_names")
        bare.__path__ = [str(PACKAGE)]
        tables = [constant for constant, _, _ in PACKAGES.values()]
        vars(names).update({table: {} for table in ("METHODS", "FUNCTIONS", *tables)})
        sys.modules |= {"retrograd": bare, "retrograd.public_names": names}
    for path in sorted((PACKAGE / "ops").rglob("[!_]*.py")):
        importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    found: dict[str, Any] = importlib.import_module("retrograd.ops.register").DECLARED
    return found


def within(package: str) -> dict[str, Any]:
    """What is declared as part of a package (empty: the whole one) or of Tensor, by the last part of its name."""
    names = {name: name.rpartition(".") for name in declared()}
    return {short: declared()[name] for name, (place, _, short) in names.items() if place == package}


def homes(package: str) -> Homes:
    """The names of a package, by the module that has what they stand for."""
    found: Homes = {}
    for name, form in within(package).items():
        if hasattr(form, "function"):  # an in-place form: the method is the function, too
            found.setdefault("retrograd.core.tensor", {})[name] = f"Tensor.{name}"
        else:
            found.setdefault(form.__module__, {})[name] = form.__name__
    return found


def methods() -> Homes:
    """The methods and properties of Tensor, by the module that declares them."""
    found: Homes = {}
    for name, form in within("Tensor").items():
        module = (form.fget if isinstance(form, property) else form).__module__
        found.setdefault(module, {})[name] = name
    return found


def merged(*all_homes: Homes) -> Homes:
    """Several tables in one."""
    found: Homes = {}
    for each in all_homes:
        for module, names in each.items():
            found.setdefault(module, {}).update(names)
    return found


def names_of(found: Homes) -> set[str]:
    return {name for names in found.values() for name in names}


# -- what is written -----------------------------------------------------------------------------------------------


def docstring(text: str) -> list[str]:
    """The docstring of a generated file."""
    return [f'"""{text}', "", "Written by `tools/generate.py` from the op library.", '"""', ""]


def imports(found: Homes) -> list[str]:
    """The imports that bind the names."""
    lines = []
    for module, names in sorted(found.items()):
        clauses = sorted(own if own == name else f"{own} as {name}" for name, own in names.items())
        lines.append(f"from {module} import ({', '.join(clauses)},)")
    return lines


def contents(found: Homes) -> str:
    """A dictionary of the names, as `lazy.Contents` has it."""
    lines = []
    for module, names in sorted(found.items()):
        text = " ".join(name if name == own else f"{name}={own}" for name, own in sorted(names.items()))
        lines.append(f'"{module}": {literal(text, 80 - len(module))},')
    return "{" + "\n".join(lines) + "}"


def literal(text: str, room: int = 80) -> str:
    """A string in quotes, on several lines if there is no room for it on one."""
    if len(text) <= room:
        return f'"{text}"'
    wrapped = textwrap.wrap(text, 80, break_long_words=False, break_on_hyphens=False)
    return "(" + " ".join(f'"{line} "' for line in wrapped[:-1]) + f' "{wrapped[-1]}")'


def public(names: Iterable[str]) -> str:
    """The line that lists the public names."""
    return f"__all__ = [{', '.join(repr(name) for name in sorted(names))},]"


def package_text() -> str:
    """The text of `retrograd/__init__.py`."""
    others = {module: {name: name for name in names} for module, names in OTHERS.items()}
    at_once = {module: others.pop(module) for module in OTHERS if module.startswith(AT_ONCE)}
    modules = {f"retrograd.{name}": {name: ""} for name in (*SUBPACKAGES, *INTERNAL)}
    modules["retrograd.foreach"] = {name: name for name in importlib.import_module("retrograd.foreach").NAMES}
    functions = homes("")
    in_place = sorted(functions.pop("retrograd.core.tensor"))
    numbers, others_of_numpy = ["e", "inf", "nan", "pi"], ["newaxis"]
    sources = {"bool_": "_bool"}
    lines = [
        *docstring(HEADER.rstrip()),
        "from retrograd import forms as forms  # first: see Note [Compiled and interpreted]",
        "",
        "# isort: split",
        "import builtins as _builtins",
        "import typing as _typing",
        "import numpy as _np",
        *imports(at_once),
        "from retrograd.backends import dtypes_without_arrays as _without_arrays",
        "from retrograd.backends.dtype_class import bool_ as _bool",
        "from retrograd.backends.dtypes_without_arrays import *  # noqa: F403",
        "from retrograd.lazy import lazily as _lazily",
        "from retrograd import ops as ops",
        "from retrograd.public_names import FUNCTIONS as _FUNCTIONS",
        "from retrograd.version import __version__",
        "if _typing.TYPE_CHECKING:",
        f"    from retrograd import {', '.join((*SUBPACKAGES, *(f'{name} as {name}' for name in INTERNAL)))}",
        *(f"    {line}" for line in imports(merged(functions, others))),
        *in_place_functions(in_place, within("")),
        "else:",
        f"    __getattr__, __dir__ = _lazily(__name__, _FUNCTIONS, {contents(merged(others, modules))})",
        "",
        *(f"{alias} = {sources.get(target, target)}" for alias, target in DTYPE_ALIASES.items()),
        *(f"{name}: _builtins.float = _np.{name}" for name in numbers),
        *(f"{name} = _np.{name}" for name in others_of_numpy),
    ]
    names = names_of(merged(functions, others, at_once)) | {*DTYPE_ALIASES, *SUBPACKAGES, *in_place}
    lines += ["", public({*names, *numbers, *others_of_numpy, "__version__"})]
    lines += ["__all__ += _without_arrays.__all__"]
    return formatted(lines, "__init__.py")


def subpackage_text(package: str) -> str:
    """The text of a package whose names op modules declare."""
    table, path, title = PACKAGES[package]
    found = homes(package)
    in_place = sorted(found.pop("retrograd.core.tensor", ()))
    lines = [
        *docstring(title),
        "import typing as _typing",
        "from retrograd.lazy import lazily as _lazily",
        f"from retrograd.public_names import {table} as _{table}",
        "if _typing.TYPE_CHECKING:",
        *(f"    {line}" for line in imports(found)),
        *in_place_functions(in_place, within(package)),
        "else:",
        f"    __getattr__, __dir__ = _lazily(__name__, _{table})",
        "",
        public(names_of(found) | {*in_place}),
    ]
    return formatted(lines, path)


def contents_text() -> str:
    """The text of `retrograd/public_names.py`."""
    lines = docstring("Which module has which name: Tensor's methods, and the functions of every package.")
    tables = {"METHODS": methods(), "FUNCTIONS": homes("")}
    tables |= {table: homes(package) for package, (table, _, _) in PACKAGES.items()}
    lines += [f"{table}: dict[str, str] = {contents(found)}" for table, found in tables.items()]
    properties = " ".join(
        sorted(name for name, form in within("Tensor").items() if isinstance(form, property))
    )
    lines += ["# What of METHODS is an attribute.", f"PROPERTIES = {literal(properties)}"]
    return formatted(lines, "public_names.py")


def stub_text() -> str:
    """The text of `retrograd/core/plain.pyi`."""
    found = sorted(within("Tensor").items())
    place = Place(taken={name for name, _ in found})
    methods = [line for name, form in found for line in declaration(name, form, place)]
    head, tail = STUB.split("    ...  # the methods\n")
    lines = [*head.splitlines(), *(f"    {line}" for line in methods), *tail.splitlines()]
    return formatted([lines[0], *place.import_lines(), *lines[1:]], "core/plain.pyi")


def in_place_functions(names: Iterable[str], forms: dict[str, Any]) -> list[str]:
    """In-place forms as functions, in a block for type checkers."""
    place = Place(taken=set(dir(builtins)), prefix="_")
    found = [
        line
        for name in sorted(names)
        for line in declaration(name, forms[name], place, f"self: {place.name('Tensor', TENSOR)}")
    ]
    return [f"    {line}" for line in (*place.import_lines(), *found)]


def formatted(lines: list[str], name: str) -> str:
    """The text of a file as ruff would have it."""
    text = "\n".join(lines) + "\n"
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
        PACKAGE / "public_names.py": contents_text,
        PACKAGE / "core" / "plain.pyi": stub_text,
        **{PACKAGE / path: partial(subpackage_text, name) for name, (_, path, _) in PACKAGES.items()},
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
