"""How a checkpoint lies in its folder, and how nested state dicts become flat ones.

Note [Checkpoints are complete or old]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A checkpoint is a folder with a file for each rank that wrote something, and `.metadata`, which says in which file each
value is. Files have names that are new with each save. `.metadata` is written last, by one rank, and takes the place of
the old one in a single step; only then the files of the old one are removed. A crash at any time leaves a folder whose
`.metadata` names complete files: those of the new checkpoint or those of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any, TypeAlias

from retrograd.serialization.loading import load

METADATA = ".metadata"
# The way to a value: keys of dicts, and ("", i) for the i-th of a list, or ("()", i) of a tuple.
Key: TypeAlias = "tuple[Any, ...]"
_SEQUENCES = {"": list, "()": tuple}


def flattened(state: Mapping[Any, Any]) -> dict[Key, Any]:
    """All values of a nested state, by the way to them; empty containers are values.

    >>> flattened({"a": {"b": 1}, "c": [2, {}]})
    {('a', 'b'): 1, ('c', ('', 0)): 2, ('c', ('', 1)): {}}
    """
    found: dict[Key, Any] = {}
    pending: list[tuple[Key, Any]] = [((), dict(state))]
    while pending:
        key, value = pending.pop()
        if isinstance(value, Mapping) and value:
            pending.extend(((*key, name), value[name]) for name in reversed(list(value)))
        elif isinstance(value, (list, tuple)) and value and not hasattr(value, "_fields"):
            mark = "()" if isinstance(value, tuple) else ""
            pending.extend(((*key, (mark, i)), value[i]) for i in reversed(range(len(value))))
        else:
            found[key] = value
    return found


def nested(flat: Mapping[Key, Any]) -> Any:
    """The nested state that was flattened.

    >>> nested({("a", "b"): 1, ("c", ("", 0)): 2, ("c", ("", 1)): {}})
    {'a': {'b': 1}, 'c': [2, {}]}
    """
    root: dict[Any, Any] = {}
    for key, value in flat.items():
        inner = root
        for part in key[:-1]:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise RuntimeError(f"a checkpoint has both a value and something inside it at {shown(key)}")
        inner[key[-1]] = value
    return _as_sequences(root)


def _as_sequences(root: dict[Any, Any]) -> Any:
    """Makes lists and tuples of the dicts that stand for them, the innermost first."""
    order: list[tuple[dict[Any, Any], Any]] = [({None: root}, None)]
    for holder, name in order:
        value = holder[name]
        if isinstance(value, dict):
            order.extend((value, inner) for inner in value)
    for holder, name in reversed(order):
        value = holder[name]
        if isinstance(value, dict) and value and all(_is_place(inner) for inner in value):
            ordered = sorted(value.items(), key=lambda item: item[0][1])
            holder[name] = _SEQUENCES[ordered[0][0][0]](each for _, each in ordered)
    return order[0][0][None]


def _is_place(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and key[0] in _SEQUENCES and isinstance(key[1], int)


def shown(key: Key) -> str:
    """A key as people read it: `optimizer.state.0.exp_avg`."""
    return ".".join(str(part[1]) if _is_place(part) else str(part) for part in key)


def read_metadata(folder: Path) -> dict[str, Any]:
    """What is in a checkpoint: `files`, the name of the file of each key."""
    path = folder / METADATA
    if not path.exists():
        raise FileNotFoundError(
            f"there is no checkpoint in {folder}: it has no file {METADATA}, which is written last. Either nothing "
            "was saved there, or the first save did not come to its end."
        )
    found = load(path, weights_only=True)
    files = found.get("files") if isinstance(found, dict) else None
    if not isinstance(files, dict) or not all(_is_entry(key, name) for key, name in files.items()):
        raise RuntimeError(
            f"{path} is not what save() writes: it must name the file of each value, and files of that folder only"
        )
    return dict(found)


def _is_entry(key: Any, name: Any) -> bool:
    """Whether a value's way and its file can be meant: the file lies in the folder, not somewhere else."""
    is_own = isinstance(name, str) and name.endswith(".pt") and PurePath(name).name == name
    return is_own and isinstance(key, tuple) and len(key) > 0


def read_values(folder: Path, keys: Iterable[Key], files: Mapping[Key, str]) -> dict[Key, Any]:
    """The values of some keys. Tensors are mapped into memory: only what is used is read."""
    wanted = list(keys)
    opened = {
        name: load(folder / name, mmap=True, weights_only=True)
        for name in dict.fromkeys(files[key] for key in wanted)
    }
    for key in wanted:
        values = opened[files[key]]
        if not isinstance(values, dict) or key not in values:
            raise RuntimeError(
                f"the checkpoint in {folder} is damaged: {files[key]} does not have {shown(key)}"
            )
    return {key: opened[files[key]][key] for key in wanted}
