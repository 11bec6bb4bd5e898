"""Reading a checkpoint, by any number of ranks."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.distributed.checkpoint.filesystem import FileSystemReader, PathLike, folder_of
from retrograd.distributed.checkpoint.layout import (
    Key,
    flattened,
    nested,
    read_metadata,
    read_values,
    shown,
)


def load(
    state_dict: MutableMapping[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fills a state dict with what `save` wrote, whatever number of ranks wrote it.

    Tensors are filled in place, other values are replaced, and what has `load_state_dict()` is given its state. Each
    rank reads what it asks for; it needs none of the others.

    Args:
        state_dict: what is wanted, in the form in which it was saved.
        checkpoint_id: the path of the folder.
        storage_reader: another way to name it.
        planner: to be left out.
        process_group, no_dist: accepted for PyTorch's sake.

    >>> import tempfile
    >>> import retrograd as rg
    >>> from retrograd.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"w": rg.ones(2), "step": 3}, checkpoint_id=folder)
    ...     state = {"w": rg.zeros(2), "step": 0}
    ...     checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'w': tensor([1., 1.]), 'step': 3}
    """
    folder = folder_of(checkpoint_id, storage_reader, planner)
    files = read_metadata(folder)["files"]
    for name, value in state_dict.items():
        if hasattr(value, "load_state_dict") and not isinstance(value, Tensor):
            keys = [key for key in files if key[0] == name]
            _check(keys or [(name,)], files, folder)
            found = read_values(folder, keys, files)
            value.load_state_dict(nested(found)[name])
        else:
            state_dict[name] = _filled(name, value, folder, files)


@no_grad()
def _filled(name: str, value: Any, folder: Path, files: dict[Key, str]) -> Any:
    """A value with what was saved of it: tensors themselves, other things anew."""
    wanted = flattened({name: value})
    _check(list(wanted), files, folder)
    found = read_values(folder, wanted, files)
    for key, own in wanted.items():
        if isinstance(own, Tensor):
            if own.shape != found[key].shape:
                raise ValueError(
                    f"Size mismatch between saved {tuple(found[key].shape)} and current {tuple(own.shape)} for "
                    f"{shown(key)}: give load() a tensor of the shape that was saved"
                )
            own.copy_(found[key])
            found[key] = own
    return nested(found)[name]


def load_whole(checkpoint_id: PathLike) -> Any:
    """Everything that is in a checkpoint, as a nested state dict. Tensors are read when they are used."""
    folder = Path(checkpoint_id)
    files = read_metadata(folder)["files"]
    return nested(read_values(folder, files, files))


def _check(keys: list[Key], files: dict[Key, str], folder: Path) -> None:
    missing = [shown(key) for key in keys if key not in files]
    if missing:
        raise RuntimeError(
            f"Missing key in checkpoint state_dict: {missing[0]}. The checkpoint in {folder} has {len(files)} values, "
            f"but not {', '.join(missing[:5])}."
        )
