"""From Python to C: mypyc over the modules that are compiled, as one unit."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from mypyc.build import include_dir, mypycify
from mypyc.ir.ops import ERR_MAGIC, PrimitiveDescription
from mypyc.namegen import NameGenerator, exported_name
from mypyc.primitives.registry import method_call_ops
from setuptools import Extension
from tools.compiling import hot, judging, loosen, repair, runtime
from tools.compiling.census import Census
from tools.compiling.declarations import declared
from tools.compiling.describe import Descriptions
from tools.compiling.kept import Note, digest_of
from tools.compiling.loading import Loading
from tools.compiling.modules import PACKAGE, SOURCE, compiled_files
from tools.compiling.public import called_by_users
from tools.compiling.rewriting import Rewriting, Tally, Times, exactly
from tools.compiling.stable import name_literals
from tools.compiling.syntax import tree_of

ROOT = SOURCE.parent
NOTE = "translated.json"  # says what the C files were made of
UNIT = "retrograd"  # the shared library is called retrograd__mypyc
TABLE = f"__native_{UNIT}.c"  # the C file of all literals


def translate(target: Path) -> Extension:
    """The library with all the code: C files in `target`, written if what they are made of is new."""
    note = Note(target / NOTE, _made_of())
    sources = note.read()
    if sources is None or not all((target / name).exists() for name in sources):
        note.drop()
        _translate_apart(target, note.made_of)
        sources = note.read()
    # The run-time library's headers need not be where they were the last time.
    return Extension(
        f"{UNIT}__mypyc",
        sources=[str(target / name) for name in sources],
        include_dirs=[include_dir(), str(target)],
    )


def _made_of() -> str:
    """A digest of all that decides what is written."""
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi"), *Path(__file__).parent.glob("*.*")]
    return digest_of(files)


def _translate_apart(target: Path, made_of: str) -> None:
    """Has another process do it, which need not put its million objects away: that takes twelve seconds."""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools.compiling.translate import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program, str(target), made_of], check=False)
    if done.returncode:
        raise RuntimeError("mypyc ended with an error")


def main() -> None:
    """What that process does: the C files, and the note that says what they were made of."""
    target, made_of = Path(sys.argv[1]), sys.argv[2]
    gc.disable()  # nothing that a translation makes is garbage before its end
    sources = [str(Path(source).relative_to(target)) for source in _translated(target).sources]
    Note(target / NOTE, made_of).write(sources)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _translated(target: Path) -> Any:
    """Has mypyc write the C files, and corrects them."""
    target.mkdir(parents=True, exist_ok=True)
    sources = {_module(path): declared(path.read_text(encoding="utf-8")) for path in compiled_files()}
    tally = Tally()
    loose = _loosened(sources, tally)
    files = [f"{module.replace('.', '/')}.py" for module in loose]
    # `make check` judges the types; here mypy only has to know them, and it would never read what it keeps.
    options = ["--config-file=", "--follow-imports=silent", f"--cache-dir={os.devnull}"]
    with _checked_words(), _working_in(_prepared(target / "src", loose)), _tolerant_signatures():
        unit, *_ = mypycify(options + files, multi_file=True, target_dir=str(target), group_name=UNIT)
    changed = sum(sources[module] != text for module, text in loose.items())
    expected = {loosen.IMPORTS: exactly(changed)} | _improve(target, loose, tally) | runtime.expected()
    runtime.change_runtime(unit, target, tally)
    _add_own(unit, target)
    tally.check(expected)
    if sys.platform == "linux":  # elsewhere assemblers know other words
        table = target / TABLE
        modules = [path for path in map(Path, unit.sources) if path.name.startswith("__native")]
        name_literals([path for path in modules if path != table], table)
    return unit


def _module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _loosened(sources: Mapping[str, str], tally: Tally) -> dict[str, str]:
    """The modules as mypyc is to see them."""
    trees = {_module(path): tree_of(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    census = Census(sources)
    public = called_by_users(trees, census)
    return {module: loosen.loosened(module, census, public, text, tally) for module, text in sources.items()}


def _prepared(folder: Path, sources: Mapping[str, str]) -> Path:
    """A copy of the package with these `sources`."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.npz")
    )
    for module, text in sources.items():
        (folder / module.replace(".", "/")).with_suffix(".py").write_text(text, encoding="utf-8")
    return folder


def _improve(target: Path, sources: Mapping[str, str], tally: Tally) -> dict[Rewriting, Times]:
    """Corrects the C files and puts into them what mypyc left out; returns how often that should have happened."""
    names = NameGenerator([list(sources)])
    paths = {module: target / f"__native_{exported_name(module)}.c" for module in sources}
    texts = {module: path.read_text(encoding="utf-8") for module, path in paths.items()}
    loading = Loading(texts, tally)
    described = Counter[Rewriting]({judging.WRAPPERS: 0})
    for module, source in sources.items():
        descriptions = Descriptions(module, source, names)
        described.update(descriptions.expected())
        described[judging.WRAPPERS] += judging.count(module, source, names)
        text = descriptions.put_into(repair.repair(texts[module], tally), tally)
        text = hot.marked(module, judging.judge(module, source, names, text, tally), tally)
        paths[module].write_text(loading.shortened(module, text), encoding="utf-8")
    loading.finish(target / TABLE)
    census = Census(sources)
    return {
        **{rewriting: exactly(count) for rewriting, count in described.items()},
        **repair.expected(census, list(texts.values())),
        **loading.expected(census),
        **hot.expected(),
    }


def _add_own(unit: Any, target: Path) -> None:
    """Has the unit compile what is written here and not by mypyc."""
    for subject in ("freeing", "boxing", "judging", "loading"):
        for name in (f"{subject}.h", f"{subject}.c"):
            shutil.copyfile(Path(__file__).with_name(name), target / name)
        unit.sources.append(str(target / f"{subject}.c"))


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


@contextmanager
def _checked_words() -> Iterator[None]:
    """Has compiled code ask whether these methods of strings failed.

    They make new strings, for which there may be no memory; mypyc 2.4.1 believes that they cannot fail.
    """
    names = ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "splitlines")
    checked = {name: [_checked(operation) for operation in method_call_ops[name]] for name in names}
    with mock.patch.dict(method_call_ops, checked):
        yield


def _checked(operation: PrimitiveDescription) -> PrimitiveDescription:
    fields = {name: getattr(operation, name) for name in inspect.signature(PrimitiveDescription).parameters}
    return PrimitiveDescription(**{**fields, "error_kind": ERR_MAGIC})


def _signature(parameters: Any) -> Any:
    try:
        return _Signature(parameters)
    except ValueError:
        return "(...)"


_Signature = inspect.Signature
