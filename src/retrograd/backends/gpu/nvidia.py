"""NVIDIA's libraries beside CuPy: those of the system, or of the packages `nvidia-…`."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any


def found_library(name: str, files: tuple[str, ...]) -> Any:
    """A library of NVIDIA's; None if there is none. One that CuPy has loaded is found by its file's name."""
    places = list(files)
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations if found is not None else None) or ():
        places += [str(path) for path in sorted(Path(folder).glob(f"*/lib/lib{name}.so.*"))]
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    return None
