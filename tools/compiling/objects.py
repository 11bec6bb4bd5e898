"""From C to object files: in parallel, and only what has changed since the last time."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

KEPT = 4  # object files of one source, the newest of which are kept


def workers() -> int:
    """How many compilers may run at once: one per processor, or MAX_JOBS."""
    return int(os.environ.get("MAX_JOBS") or os.cpu_count() or 1)


class Objects:
    """Object files, kept in the folder `store`, and the compilers that make them, which all parts of a build share.

    Their names hold a digest of what went into them: the flags, the text, and the part of the headers that the text
    sees. So several builds may share a store, at the same time too.
    """

    def __init__(self, compiler: Any, store: Path) -> None:
        self.compiler = compiler
        self.store = store
        self.program = [str(part) for part in getattr(compiler, "compiler_so", ())]
        self.pool = ThreadPoolExecutor(workers())
        store.mkdir(parents=True, exist_ok=True)

    def of(
        self,
        sources: Sequence[Path],
        includes: Sequence[str],
        flags: Callable[[Path], Sequence[str]],
        seen_by: Callable[[str], str],
    ) -> list[str]:
        """Those of `sources`, each compiled with its `flags`; `seen_by(text)` is what a text sees of the headers."""

        def make(source: Path) -> str:
            text = source.read_text(encoding="utf-8")
            how = [*self.program, *flags(source)]
            digest = hashlib.sha256("\0".join((*how, text, seen_by(text))).encode()).hexdigest()[:32]
            target = self.store / source.name / f"{digest}{self.compiler.obj_extension}"
            if target.exists():
                target.touch()
            else:
                _compile(self.compiler, source, target, includes, flags(source))
                _drop_old(target.parent)
            return str(target)

        # Large files first, so that no processor waits for a last one.
        order = sorted(sources, key=_size, reverse=True)
        made = dict(zip(order, self.pool.map(make, order), strict=True))
        return [made[source] for source in sources]

    def precompile(self, header: Path, includes: Sequence[str], flags: Iterable[Sequence[str]]) -> None:
        """Has GCC read a header once for each of these `flags`; a file that includes it first need not do so again."""
        folder = header.with_name(f"{header.name}.gch")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        found = [f"-I{path}" for path in (*self.compiler.include_dirs, *includes)]
        for number, chosen in enumerate(sorted({tuple(each) for each in flags})):
            target = ["-x", "c-header", str(header), "-o", str(folder / f"{number}.gch")]
            self.compiler.spawn([*self.program, *found, *chosen, *target])


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
