"""Writing a checkpoint: each rank a part."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.checkpoint.filesystem import FileSystemWriter, PathLike, folder_of
from retrograd.distributed.checkpoint.layout import METADATA, Key, flattened, read_metadata
from retrograd.distributed.groups import default_group, is_initialized
from retrograd.distributed.objects import all_gather_object, broadcast_object_list
from retrograd.serialization.saving import save as save_file


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Writes the state of a program into a folder. All ranks call it, each with what it has.

    What all ranks have is written once, by one of them, so that each writes about as much; what only some have (the
    share of a ZeroRedundancyOptimizer) by one that has it. The folder is a complete checkpoint at any time: the old
    one until the new one is.

    Args:
        state_dict: values by name: tensors, numbers, texts, containers of them, and whatever has `state_dict()` and
            `load_state_dict()`. A value that differs from rank to rank needs a name with the rank in it.
        checkpoint_id: the path of the folder, which all ranks see.
        storage_writer: another way to name it.
        planner, use_collectives: to be left out.
        process_group: the ranks; all if None.
        no_dist: this process alone writes everything.

    >>> import tempfile
    >>> import retrograd as rg
    >>> from retrograd.distributed import checkpoint
    >>> model = rg.nn.Linear(2, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"model": model, "step": 3}, checkpoint_id=folder, no_dist=True)
    ...     checkpoint.load_whole(folder)["step"]
    3
    """
    folder = folder_of(checkpoint_id, storage_writer, planner)
    if not getattr(storage_writer, "overwrite", True) and (folder / METADATA).exists():
        raise RuntimeError(f"Checkpoint already exists in {folder}, and overwrite=False.")
    alone = no_dist or not is_initialized()
    group = None if alone else process_group or default_group()
    rank = 0 if group is None else group.rank()
    flat = flattened({name: _state_of(value) for name, value in state_dict.items()})
    owners = _shared_out(_all(group, {key: _size(value) for key, value in flat.items()}))
    token = _of_first(group, f"{time.time_ns():x}")
    own = {key: flat[key] for key, owner in owners.items() if owner == rank}
    error = _written(folder, f"{token}-{rank}.pt", own)
    _raise_first(_all(group, error), folder, token)
    if rank == 0:
        files = {key: f"{token}-{owner}.pt" for key, owner in owners.items()}
        error = _replaced(folder, {"version": 1, "files": files})
    _raise_first(_all(group, error), folder, token)


def async_save(state_dict: Mapping[str, Any], **options: Any) -> Future[None]:
    """`save`, which returns a future. It is done when it is returned: the others' messages are not held up by files."""
    done: Future[None] = Future()
    save(state_dict, **options)
    done.set_result(None)
    return done


def _state_of(value: Any) -> Any:
    """The state of an object that has one; the share of one whose state is shared out."""
    if hasattr(value, "sharded_state_dict"):
        return value.sharded_state_dict()
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return value.state_dict()
    return value


def _size(value: Any) -> int:
    return int(value.numel() * value.element_size()) if isinstance(value, Tensor) else 0


def _shared_out(sizes: list[dict[Key, int]]) -> dict[Key, int]:
    """The rank that writes each value: of those that have it, the one with least to write so far."""
    holders: dict[Key, list[int]] = {}
    for rank, of_rank in enumerate(sizes):
        for key in of_rank:
            holders.setdefault(key, []).append(rank)
    loads = [0] * len(sizes)
    owners: dict[Key, int] = {}
    for key, ranks in holders.items():
        owner = min(ranks, key=lambda rank: (loads[rank], rank))
        owners[key] = owner
        loads[owner] += sizes[owner][key]
    return owners


def _written(folder: Path, name: str, own: dict[Key, Any]) -> str | None:
    """Writes a rank's file; what went wrong, if something did."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if own:
            save_file({key: _compact(value) for key, value in own.items()}, folder / name)
    except Exception as error:  # noqa: BLE001 - all ranks are told
        return f"{type(error).__name__}: {error}"
    return None


def _compact(value: Any) -> Any:
    """A tensor without the rest of the memory that it is a part of: a file would have all of that."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    is_part = value.untyped_storage().nbytes() > value.numel() * value.element_size()
    return value.clone() if is_part else value


def _replaced(folder: Path, metadata: dict[str, Any]) -> str | None:
    """Makes the new checkpoint the one that counts, and removes the old one's files."""
    try:
        save_file(metadata, folder / METADATA)
        kept = set(metadata["files"].values())
        for path in folder.glob("*-*.pt"):
            if path.name not in kept:
                path.unlink(missing_ok=True)
    except Exception as error:  # noqa: BLE001 - all ranks are told
        return f"{type(error).__name__}: {error}"
    return None


def _raise_first(errors: list[str | None], folder: Path, token: str) -> None:
    """Raises on all ranks what went wrong on one, after the new files are gone; the old checkpoint is as it was."""
    for rank, error in enumerate(errors):
        if error is not None:
            for path in folder.glob(f"{token}-*.pt"):
                if token not in str(_known_files(folder)):
                    path.unlink(missing_ok=True)
            raise RuntimeError(
                f"the checkpoint in {folder} was not saved, because rank {rank} could not write its part: {error}. "
                "The one that was there before is complete."
            )


def _known_files(folder: Path) -> set[str]:
    """The files of the checkpoint that counts."""
    return set(read_metadata(folder)["files"].values()) if (folder / METADATA).exists() else set()


def _all(group: Any, value: Any) -> list[Any]:
    """The values of all ranks."""
    if group is None:
        return [value]
    found: list[Any] = [None] * group.size()
    all_gather_object(found, value, group=group)
    return found


def _of_first(group: Any, value: Any) -> Any:
    """The value of the first rank."""
    shared = [value]
    if group is not None:
        broadcast_object_list(shared, group=group, group_src=0)
    return shared[0]
