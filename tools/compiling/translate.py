"""From Python to C: mypyc over the modules that are compiled, as one unit."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from mypyc.build import mypycify
from mypyc.namegen import NameGenerator, exported_name
from tools.compiling.declarations import declared
from tools.compiling.describe import Descriptions
from tools.compiling.loosen import loosened, offered_by_packages
from tools.compiling.modules import PACKAGE, SOURCE, compiled_files
from tools.compiling.repair import repair
from tools.compiling.wording import reword

UNIT = "retrograd"  # the shared library is called retrograd__mypyc


def translate(target: Path) -> list[Any]:
    """Writes C files below `target` and returns what setuptools calls extensions: the unit, then a shim per module."""
    target.mkdir(parents=True, exist_ok=True)
    files = [path.relative_to(SOURCE).as_posix() for path in compiled_files()]
    # `make check` judges the types; here mypy only has to know them.
    options = ["--config-file=", "--follow-imports=silent", f"--cache-dir={target / 'types'}"]
    with _working_in(_prepared(target / "src")), _tolerant_signatures():
        extensions = mypycify(
            options + files,
            multi_file=True,
            target_dir=str(target),
            group_name=UNIT,
        )
    _improve(target, files)
    reword(extensions[0], target)
    return extensions


def _prepared(folder: Path) -> Path:
    """A copy of the sources as mypyc is to see them."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.npz")
    )
    offered = offered_by_packages([path.read_text(encoding="utf-8") for path in PACKAGE.rglob("__init__.py")])
    for path in compiled_files():
        text = loosened(declared(path.read_text(encoding="utf-8")), offered)
        (folder / path.relative_to(SOURCE)).write_text(text, encoding="utf-8")
    return folder


def _improve(target: Path, files: list[str]) -> None:
    """Puts into the C files what mypyc left out."""
    modules = [file.removesuffix(".py").replace("/", ".") for file in files]
    names = NameGenerator([modules])
    for file, module in zip(files, modules, strict=True):
        path = target / f"__native_{exported_name(module)}.c"
        source = (target / "src" / file).read_text(encoding="utf-8")
        text = repair(path.read_text(encoding="utf-8"))
        path.write_text(Descriptions(module, source, names).put_into(text), encoding="utf-8")


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Runs in `folder`: mypyc names modules after their paths as given, which must therefore be relative."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _tolerant_signatures() -> Iterator[None]:
    """Keeps a wrong signature from ending the translation, since `describe` writes the right ones anyway.

    If one argument is a float with a default, mypyc 2.4.1 takes all for positional and fails at required ones.
    """
    with mock.patch.object(inspect, "Signature", _signature):
        yield


def _signature(parameters: Any) -> Any:
    try:
        return _Signature(parameters)
    except ValueError:
        return "(...)"


_Signature = inspect.Signature
