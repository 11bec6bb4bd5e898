"""`save` and `load`: objects with tensors in them, in files.

The format is a pickle behind a short header. `load` builds tensors and plain containers only, unless told otherwise:
a pickle that asks for anything else could run whatever its author liked.
"""

from __future__ import annotations

import collections
import io
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import check_device
from retrograd.backends.device import device
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor, rebuild_leaf
from retrograd.lazy import load as load_module

MAGIC = b"retrograd\x00\x01"
DEFAULT_PROTOCOL = 4
# What a file may name when it is loaded with weights_only: none of these runs code of the file's author.
HARMLESS: dict[tuple[str, str], Any] = {
    ("builtins", "complex"): complex,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "slice"): slice,
    ("builtins", "range"): range,
    ("builtins", "bytearray"): bytearray,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "Counter"): collections.Counter,
    ("collections", "deque"): collections.deque,
    ("retrograd.core.tensor", "Tensor"): Tensor,
    ("retrograd.core.tensor", "rebuild_leaf"): rebuild_leaf,
    ("retrograd.core.plain", "Size"): Size,
    ("retrograd.backends.base", "device"): device,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
}
# The same, of modules that are loaded when a file names them: see Note [Loaded on demand].
LATER = {("retrograd.nn.parameter", name) for name in ("Parameter", "rebuild_parameter")}


def _numpy_makers() -> dict[tuple[str, str], Any]:
    """The functions that NumPy's own pickles of arrays and numbers name."""
    found: dict[tuple[str, str], Any] = {}
    for sample in (np.zeros(1), np.float64(0)):
        maker = sample.__reduce__()[0]
        assert not isinstance(maker, str)
        for module in (maker.__module__, "numpy.core.multiarray"):
            found[module, maker.__name__] = maker
    maker = np.zeros(1).__reduce_ex__(5)[0]
    assert not isinstance(maker, str)
    for module in (maker.__module__, "numpy.core.numeric"):
        found[module, maker.__name__] = maker
    return found


class HarmlessUnpickler(pickle.Unpickler):
    """Reads tensors, numbers, strings and plain containers, and refuses the rest."""

    known: ClassVar[dict[tuple[str, str], Any]] = {**HARMLESS, **_numpy_makers()}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in LATER:
            return getattr(load_module(module), name)
        found = self.known.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file asks for {module}.{name}, which is neither a tensor nor a plain "
                "container. If you trust its author with your machine, load it with weights_only=False."
            )
        return found


def add_safe_globals(safe_globals: Sequence[type]) -> None:
    """Lets files loaded with weights_only name these classes too, such as one's own subclass of Tensor."""
    for cls in safe_globals:
        HarmlessUnpickler.known[cls.__module__, cls.__qualname__] = cls


@contextmanager
def opened(f: Any, mode: str) -> Iterator[Any]:
    """A path or an open file as an open file."""
    if not isinstance(f, (str, os.PathLike)):
        wanted = "write" if "w" in mode else "read"
        if not hasattr(f, wanted):
            raise AttributeError(
                f"expected 'f' to be string, path, or a file-like object with a '{wanted}' method, not "
                f"{type(f).__name__}"
            )
        yield f
        return
    with Path(f).open(mode) as file:
        yield file


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:  # fmt: skip
    """Writes an object to a file, given by its path or open for writing bytes.

    >>> import io
    >>> import retrograd as rg
    >>> file = io.BytesIO()
    >>> rg.save({"weight": rg.ones(2), "step": 3}, file)
    >>> _ = file.seek(0)
    >>> rg.load(file)
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    # First to memory, so that an object that cannot be pickled leaves no half of a file.
    made = io.BytesIO()
    pickle_module.dump(obj, made, protocol=pickle_protocol)
    with opened(f, "wb") as file:
        file.write(MAGIC)
        file.write(made.getbuffer())


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: Any = None,
    **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Reads what `save` wrote.

    Args:
        map_location: the device to load to, as a string, a device, or a function of tensors; there is the CPU.
        weights_only: True (the default) reads tensors and plain containers alone; False reads anything, and so lets the
            file's author run code.
        mmap: not supported: the file is read.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if mmap:
        raise RuntimeError("load(): mmap is not supported, the whole file is read. Leave it out.")
    if isinstance(map_location, (str, int, device)):
        check_device(map_location)
    with opened(f, "rb") as file:
        _check_magic(file.read(len(MAGIC)))
        if weights_only:
            return HarmlessUnpickler(file, **pickle_load_args).load()
        return (pickle_module or pickle).load(file, **pickle_load_args)


def _check_magic(found: bytes) -> None:
    if found == MAGIC:
        return
    if not found:
        raise EOFError("Ran out of input: the file is empty")
    kind = "It is a file of PyTorch's: convert it there to NumPy arrays. " if found[:2] == b"PK" else ""
    raise pickle.UnpicklingError(f"load(): this is not a file that save() wrote. {kind}")
