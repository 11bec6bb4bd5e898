"""Where checkpoints that were downloaded once are kept. Nothing is fetched from the net."""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from retrograd.serialization import load as _load

_CHOSEN: builtins.list[str] = []  # by set_dir; the last counts


def _get_torch_home() -> str:
    """The folder of what PyTorch keeps for a user: $TORCH_HOME, or torch in the user's folder of caches."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))  # noqa: PTH111, PTH118


def get_dir() -> str:
    """The folder of models and checkpoints.

    >>> import retrograd as rg
    >>> rg.hub.set_dir("downloads"); rg.hub.get_dir()
    'downloads'
    """
    return _CHOSEN[-1] if _CHOSEN else str(Path(_get_torch_home()) / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Chooses the folder of models and checkpoints."""
    _CHOSEN.append(os.path.expanduser(d))  # noqa: PTH111


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Loads the checkpoint of a URL if it has been downloaded already, by PyTorch or by hand.

    Args:
        url: where it comes from; the last part is the name of the file.
        model_dir: the folder of the file; that of `get_dir()`, and there `checkpoints`, if left out.
        map_location: as that of `load`.
        progress, check_hash: about downloads, of which there are none.
        file_name: the name of the file, if it has another.
        weights_only: files are never executed here, so this makes no difference.
    """
    folder = Path(get_dir()) / "checkpoints" if model_dir is None else Path(model_dir)
    path = folder / (file_name or Path(urlparse(url).path).name)
    if not path.exists():
        raise NotImplementedError(
            f"load_state_dict_from_url(): {path} is not there, and nothing is fetched from the net. Download {url} "
            "and put it there under that name."
        )
    return _load(path, map_location=map_location)


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Calls a function of the file `hubconf.py` in a folder, with `source="local"`; from GitHub nothing is fetched.

    Args:
        repo_or_dir: the folder.
        model: the name of the function.
        args, kwargs: for that function; those that tell PyTorch how to download are left out.
        source: where from: "local".
    """
    for about_downloads in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(about_downloads, None)
    found = getattr(_entries("load", repo_or_dir, source), model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf: {repo_or_dir} has no such function")
    return found(*args, **kwargs)


def help(github: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """The documentation of a function of the file `hubconf.py` in a folder, with `source="local"`."""
    return getattr(_entries("help", github, source), model).__doc__


def list(github: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """The names of the functions of the file `hubconf.py` in a folder, with `source="local"`."""
    entries = vars(_entries("list", github, source))
    return [name for name, value in entries.items() if callable(value) and not name.startswith("_")]


def _entries(function: str, folder: str, source: str) -> Any:
    """The module `hubconf` of a folder, which may import what lies beside it."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(
            f"torch.hub.{function}(): nothing is fetched from the net: download {folder} yourself, and give its folder "
            'with source="local".'
        )
    spec = importlib.util.spec_from_file_location("hubconf", Path(folder) / "hubconf.py")
    assert spec is not None and spec.loader is not None  # the name ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module
