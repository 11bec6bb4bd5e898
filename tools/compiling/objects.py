"""From C to object files: in parallel, and only what has changed since the last time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tools.compiling.kept import digest, versions

KEPT = 4  # object files of one source, the newest of which are kept
FEW = 4  # sources for which it does not pay to read a header beforehand


def workers() -> int:
    """How many compilers may run at once: one per processor, or MAX_JOBS."""
    return int(os.environ.get("MAX_JOBS") or os.cpu_count() or 1)


class First(NamedTuple):
    """A header that some sources include before anything else; GCC can read it once for all of them."""

    header: Path
    sources: Collection[Path]


class Objects:
    """Object files, kept in the folder `store`, and the compilers that make them, which all parts of a build share.

    Their names hold a digest of what went into them: the flags, the text, the part of the headers that the text sees,
    and the versions of all that has headers of its own. So several builds may share a store, at the same time too.
    """

    def __init__(self, compiler: Any, store: Path) -> None:
        self.compiler = compiler
        self.store = store
        self.pool = ThreadPoolExecutor(workers())
        store.mkdir(parents=True, exist_ok=True)

    def of(
        self,
        sources: Sequence[Path],
        includes: Sequence[str],
        flags: Callable[[Path], Sequence[str]],
        seen_by: Callable[[str], str],
        first: First | None = None,
    ) -> list[str]:
        """Those of `sources`, each compiled with its `flags`; `seen_by(text)` is what a text sees of the headers."""
        targets = {source: self._target(source, flags(source), seen_by, first) for source in sources}
        # Large files first, so that no processor waits for a last one.
        missing = sorted((s for s in sources if not _is_kept(targets[s])), key=_size, reverse=True)
        quick = [source for source in missing if first and source in first.sources]
        if first and len(quick) > FEW:
            included = self._read_once(first.header, includes, [flags(source) for source in quick])
        else:
            included = quick = []

        def make(source: Path) -> None:
            chosen = [*flags(source), *(included if source in quick else ())]
            _compile(self.compiler, source, targets[source], includes, chosen)
            _drop_old(targets[source].parent)

        list(self.pool.map(make, missing))
        return [str(targets[source]) for source in sources]

    def _target(
        self, source: Path, flags: Sequence[str], seen_by: Callable[[str], str], first: First | None
    ) -> Path:
        """Where the object file is, or will be."""
        text = source.read_text(encoding="utf-8")
        if first and source in first.sources:
            text = first.header.read_text(encoding="utf-8") + text
        name = digest((*self._surroundings, *flags, text, seen_by(text)))
        return self.store / source.name / f"{name}{self.compiler.obj_extension}"

    @cached_property
    def _surroundings(self) -> tuple[str, ...]:
        """What is the same for all sources."""
        programs = [*self._program(""), *self._program("_cxx")]
        if not programs:
            return versions()
        said = subprocess.run([programs[0], "--version"], capture_output=True, text=True, check=False).stdout
        return (*versions(), *programs, said)

    def _program(self, language: str) -> list[str]:
        """The compiler and what Python tells it."""
        return [str(part) for part in getattr(self.compiler, f"compiler_so{language}", None) or ()]

    def _read_once(self, header: Path, includes: Sequence[str], flags: Iterable[Sequence[str]]) -> list[str]:
        """Has GCC read a header once for each of these `flags`, and says how a source includes it."""
        is_c = header.suffix == ".h"
        program = self._program("") if is_c else self._program("_cxx") or self._program("")
        folder = header.with_name(f"{header.name}.gch")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        found = [f"-I{path}" for path in (*self.compiler.include_dirs, *includes)]
        for number, chosen in enumerate(sorted({tuple(each) for each in flags})):
            target = ["-x", "c-header" if is_c else "c++-header", str(header), "-o", f"{folder}/{number}.gch"]
            self.compiler.spawn([*program, *found, *chosen, *target])
        return ["-include", str(header)]


def _is_kept(target: Path) -> bool:
    """Whether an object file is there; it counts as used now."""
    if not target.exists():
        return False
    target.touch()
    return True


def _size(source: Path) -> int:
    return source.stat().st_size


def _compile(
    compiler: Any, source: Path, target: Path, includes: Sequence[str], flags: Sequence[str]
) -> None:
    """One file. The compiler object keeps the folders of a source, so the result is moved to where it belongs."""
    target.parent.mkdir(exist_ok=True)
    scratch = target.parent / f"{target.stem}.{os.getpid()}"
    try:
        (found,) = compiler.compile(
            [str(source)], str(scratch), include_dirs=list(includes), extra_postargs=list(flags)
        )
        Path(found).replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _drop_old(folder: Path) -> None:
    objects = sorted((path for path in folder.iterdir() if path.is_file()), key=_time)
    for path in objects[:-KEPT]:
        path.unlink(missing_ok=True)


def _time(path: Path) -> float:
    return path.stat().st_mtime
