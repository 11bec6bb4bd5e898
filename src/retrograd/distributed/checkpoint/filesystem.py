"""The folder of a checkpoint under PyTorch's names for what reads and writes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PathLike = str | os.PathLike[str]


class FileSystemWriter:
    """Says into which folder `save` writes.

    Args:
        path: the folder.
        overwrite: whether there may be a checkpoint in it already, which the new one replaces.
        options: PyTorch's others, about threads and files, which have no meaning here.
    """

    def __init__(self, path: PathLike, *, overwrite: bool = True, **options: Any) -> None:
        self.path: Path = Path(path)
        self.overwrite = overwrite


class FileSystemReader:
    """Says from which folder `load` reads."""

    def __init__(self, path: PathLike) -> None:
        self.path: Path = Path(path)


def folder_of(checkpoint_id: PathLike | None, storage: Any, planner: Any) -> Path:
    """The folder that is named by itself, or by a reader or writer."""
    if planner is not None:
        raise ValueError("a checkpoint is planned here by the names of its values alone: leave planner out")
    if checkpoint_id is not None:
        return Path(checkpoint_id)
    if storage is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    if not isinstance(storage, (FileSystemReader, FileSystemWriter)):
        raise TypeError(
            f"checkpoints are folders here: give checkpoint_id=path in place of a {type(storage).__name__}"
        )
    return storage.path
