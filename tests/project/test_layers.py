"""Imports point down, threads start in one file, and PyTorch is imported nowhere."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from . import layers
from .sources import PACKAGE, ROOT, python_files, relative, tree


def module_name(path: Path) -> str:
    """`core.node` for core/node.py, `core` for core/__init__.py, `__init__` for the package's own."""
    name = relative(path).removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def found_imports() -> list[tuple[str, str, layers.Import]]:
    found = []
    for path in python_files():
        module = module_name(path)
        full = layers.WHOLE if module == "__init__" else f"{layers.WHOLE}.{module}"
        for imported in layers.imports(full, tree(path), path.name == "__init__.py"):
            found.append((relative(path), module, imported))
    return found


def test_imports_point_down():
    wrong = []
    for path, module, imported in found_imports():
        why = layers.objection(module, imported.module)
        if why and not layers.permitted(module, imported.module):
            wrong.append(f"{path}:{imported.line} imports {imported.module}: {why}")
    assert not wrong, "\n".join(wrong)


def test_every_allowed_exception_is_used():
    used = {layers.permitted(module, imported.module) for _, module, imported in found_imports()}
    assert set(layers.ALLOWED) <= used, "an exception that nothing needs any more is to be removed"


def test_threads_start_in_one_file_only():
    wrong = [
        f"{relative(path)}:{line}"
        for path in python_files()
        if module_name(path) not in layers.STARTS_THREADS
        for line in layers.thread_starts(tree(path))
    ]
    assert not wrong, f"threads are started by engine/threads.py alone, but also at {wrong}"


def test_a_library_that_is_loaded_by_name_is_an_extra():
    """`import_module("scipy.optimize")` is no import that the layers see."""
    loaded = {
        str(argument.value).partition(".")[0]
        for path in python_files()
        for call in ast.walk(tree(path))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("import_module")
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    # `cuda` is the pathfinder that CuPy brings along; `pynvml` is NVIDIA's, which PyTorch asks for by that name, too.
    assert loaded == {
        *(
            "cuda",
            "cupy",
            "cupyx",
            "matplotlib",
            "ml_dtypes",
            "mpi4py",
            "pynvml",
            "retrograd",
            "rich",
            "safetensors",
            "scipy",
        ),
    }
    names = {
        "scipy": ["scipy"], "io": ["safetensors"], "cli": ["rich"], "plot": ["matplotlib"], "bfloat16": ["ml_dtypes"],
        "cuda": ["cupy-cuda13x"], "mpi": ["mpi4py", "mpich", "impi-rt"],
    }  # fmt: skip
    assert {extra: [line.partition(">")[0] for line in extras[extra]] for extra in names} == names


def test_every_folder_of_the_package_has_a_layer():
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert folders <= set(layers.LEVEL)


# ---- the checks themselves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("core.node", "retrograd.engine.task"),
        ("engine.task", "retrograd.ops.elementwise.exponential"),
        ("ops.math", "retrograd.engine.task"),
        ("errors", "retrograd.values.Array"),
        ("autograd.backward", "retrograd.func.grad"),
        ("nn.linear", "retrograd.optim.SGD"),
        ("datasets.digits", "retrograd.inspect.text"),
        ("core.node", "retrograd.Tensor"),
        ("core.node", "retrograd"),
        ("ragged.matrix", "retrograd.core.node"),
        ("ops.math", "torch.nn"),
        ("__init__", "torch"),
    ],
)
def test_an_upward_import_is_refused(module, imported):
    assert layers.objection(module, imported)


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("core.node", "retrograd.backends.base.device"),
        ("core.node", "retrograd.core.tensor"),
        ("engine.task", "retrograd.core.node"),
        ("func.grad", "retrograd.autograd.backward"),
        ("cli.demo", "retrograd"),
        ("cli.demo", "retrograd.inspect"),
        ("__main__", "retrograd.cli.main"),
        ("__init__", "retrograd.cli"),
        ("core.node", "numpy"),
    ],
)
def test_a_downward_import_is_not(module, imported):
    assert layers.objection(module, imported) is None


def test_imports_are_found_wherever_they_stand():
    text = """
import numpy.linalg
from . import task
from ..core import node
from ..core.node import Node
if TYPE_CHECKING:
    from retrograd.ops.elementwise import exponential
def run():
    from retrograd import Tensor
"""
    found = [name for _, name in layers.imports("retrograd.engine.engine", ast.parse(text), is_package=False)]
    assert sorted(found) == [
        "numpy.linalg",
        "retrograd.Tensor",
        "retrograd.core.node",
        "retrograd.core.node.Node",
        "retrograd.engine.task",
        "retrograd.ops.elementwise.exponential",
    ]
    inside = layers.imports("retrograd.engine", ast.parse("from .task import GraphTask"), is_package=True)
    assert [name for _, name in inside] == ["retrograd.engine.task.GraphTask"]


def test_an_exception_covers_its_own_module_and_no_other(monkeypatch):
    monkeypatch.setattr(layers, "ALLOWED", {("core.tensor", "autograd.backward"): "for this test"})
    assert layers.permitted("core.tensor", "retrograd.autograd.backward.backward")
    assert layers.permitted("core.tensor", "retrograd.autograd.backward")
    assert not layers.permitted("core.tensor", "retrograd.autograd.backwards")
    assert not layers.permitted("core.node", "retrograd.autograd.backward")


def test_starting_a_thread_is_noticed():
    text = "import threading\nthreading.Thread(target=f)\nThread()\nthreading.local()\n"
    assert list(layers.thread_starts(ast.parse(text))) == [2, 3]
