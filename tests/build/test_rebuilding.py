"""A second build makes again what depends on a change, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mypyc", reason="mypy is only there where the package is developed")
pytest.importorskip("setuptools", reason="only a build needs setuptools")

from tools.compiling import objects as objects_module
from tools.compiling import translate as translation
from tools.compiling.kept import Note, digest_of
from tools.compiling.native import Headers
from tools.compiling.objects import FEW, First, Objects
from tools.compiling.stable import Header


class Compiler:
    """Notes what it compiles, and with which flags."""

    obj_extension = ".o"
    include_dirs: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.compiled: dict[str, list[str]] = {}
        self.read: list[str] = []

    def compile(self, sources: list[str], folder: str, extra_postargs: list[str], **how: Any) -> list[str]:
        self.compiled |= {Path(source).name: extra_postargs for source in sources}
        Path(folder).mkdir()
        made = Path(folder, "made.o")
        made.write_text("object")
        return [str(made)]

    def spawn(self, command: list[str]) -> None:
        self.read += command


class Pack:
    """Two sources: `a` reads x.h, and loops.inc by way of a macro; `b` reads y.h, which reads z.h."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.flags = ["-O2"]
        self.write("a.cpp", '#include "x.h"\n#define LOOPS "loops.inc"\n#include LOOPS\n')
        self.write("b.cpp", '#include "y.h"\n')
        self.write("y.h", '#include "z.h"\n')
        for name in ("x.h", "z.h", "loops.inc"):
            self.write(name, f"// {name}\n")
        self.build()

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def build(self) -> list[str]:
        """What is compiled."""
        compiler = Compiler()
        headers = [str(path) for path in self.folder.iterdir() if path.suffix in {".h", ".inc"}]
        made = Objects(compiler, self.folder / "store").of(
            sorted(self.folder.glob("*.cpp")), [], lambda _: self.flags, Headers(headers).seen_by
        )
        assert all(Path(path).exists() for path in made)
        return sorted(compiler.compiled)


@pytest.fixture
def pack(tmp_path):
    return Pack(tmp_path)


def test_nothing_is_compiled_twice(pack):
    assert pack.build() == []


@pytest.mark.parametrize(
    ("name", "compiled"),
    [
        ("x.h", ["a.cpp"]),
        ("loops.inc", ["a.cpp"]),
        ("y.h", ["b.cpp"]),
        ("z.h", ["b.cpp"]),
        ("b.cpp", ["b.cpp"]),
        ("read_by_nobody.h", []),
    ],
)
def test_what_reads_a_file_is_compiled_when_it_changes(pack, name, compiled):
    path = pack.folder / name
    pack.write(name, (path.read_text() if path.exists() else "") + "// changed\n")
    assert pack.build() == compiled
    assert pack.build() == []


def test_all_is_compiled_when_flags_change(pack):
    pack.flags = ["-O3"]
    assert pack.build() == ["a.cpp", "b.cpp"]


def test_all_is_compiled_for_another_python(pack, monkeypatch):
    monkeypatch.setattr(objects_module, "versions", lambda: ("another",))
    assert pack.build() == ["a.cpp", "b.cpp"]


def test_declarations_are_followed_to_those_they_mention(tmp_path):
    path = tmp_path / "a.h"

    def seen(inner: str) -> str:
        path.write_text(
            f"typedef struct {{ Inner i; }} Outer;\ntypedef struct {{ {inner} x; }} Inner;\nint f(void);\n"
        )
        return Header([path]).seen_by("Outer *o;")

    assert seen("int") == seen("int")
    assert seen("int") != seen("long")
    assert "f(void)" not in seen("int")


# ---- headers that are read once -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "once"), [(FEW, False), (FEW + 1, True)])
def test_a_header_is_read_beforehand_for_many_sources(tmp_path, count, once):
    sources = [tmp_path / f"{i}.c" for i in range(count + 1)]
    for source in sources:
        source.write_text("")
    header = tmp_path / "first.h"
    header.write_text("")
    compiler = Compiler()
    own = sources[0]  # begins differently
    Objects(compiler, tmp_path / "store").of(
        sources, [], lambda _: ["-O2"], lambda _: "", First(header, set(sources[1:]))
    )
    assert ("c-header" in compiler.read) == once
    including = {name for name, flags in compiler.compiled.items() if str(header) in flags}
    assert including == ({source.name for source in sources} - {own.name} if once else set())


# ---- notes ----------------------------------------------------------------------------------------------------------


def test_a_note_holds_for_what_it_was_written_for(tmp_path):
    source = tmp_path / "a.py"
    source.write_text("1")
    path = tmp_path / "notes" / "a"
    Note(path, digest_of([source])).write(["made"])
    assert Note(path, digest_of([source])).read() == ["made"]
    source.write_text("2")
    assert Note(path, digest_of([source])).read() is None
    path.write_text("broken {")
    assert Note(path, digest_of([source])).read() is None


def test_translation_is_kept_until_its_sources_change(tmp_path, monkeypatch):
    made_of, runs = ["first"], []

    def translate_apart(target: Path, made: str) -> None:
        runs.append(made)
        (target / "m.c").write_text("")
        Note(target / translation.NOTE, made).write(["m.c"])

    monkeypatch.setattr(translation, "_translate_apart", translate_apart)
    monkeypatch.setattr(translation, "_made_of", lambda: made_of[0])
    for _ in range(2):
        assert translation.translate(tmp_path).sources == [str(tmp_path / "m.c")]
    assert runs == ["first"]
    made_of[0] = "second"
    translation.translate(tmp_path)
    assert runs == ["first", "second"]
    (tmp_path / "m.c").unlink()
    translation.translate(tmp_path)
    assert runs == ["first", "second", "second"]
