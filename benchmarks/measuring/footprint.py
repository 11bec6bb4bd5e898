"""What a library weighs before it does anything: the time of its import, and its size on disk."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

IMPORT = "import time, numpy; start = time.perf_counter(); import {0}; print(time.perf_counter() - start)"


def import_times(names: tuple[str, ...], repeat: int) -> dict[str, float]:
    """The best time of `import name` in a fresh interpreter that has NumPy already, in turns."""
    best = dict.fromkeys(names, float("inf"))
    for _ in range(repeat):
        for name in names:
            best[name] = min(best[name], float(output_of(["-c", IMPORT.format(name)])))
    return best


def output_of(arguments: list[str], path: str = "") -> str:
    """What a fresh interpreter prints, with one more folder on its path."""
    paths = [path, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def files_of(name: str) -> list[Path]:
    """The files of a package and of libraries beside it that carry its name, without what Python has cached."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    found = [*folder.rglob("*"), *folder.parent.glob(f"{name}__*")]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def installed_size(name: str) -> int:
    """The bytes of a package on disk."""
    return sum(path.stat().st_size for path in files_of(name))


def wheel_size(name: str) -> int:
    """The bytes of a package packed as in a wheel."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files_of(name):
            archive.write(path, str(path))
    return len(memory.getvalue())
