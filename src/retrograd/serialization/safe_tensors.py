"""Files of the safetensors format: named tensors and nothing else, by the library of that name."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.data import tensor
from retrograd.serialization.files import to_write


def _library(module: str) -> Any:
    try:
        return (
            importlib.import_module("safetensors")
            if not module
            else importlib.import_module("safetensors.numpy")
        )
    except ImportError:
        raise ImportError(
            "save_safetensors() and load_safetensors() call the library safetensors, which is not installed: "
            "pip install 'retrograd[io]'. save() and load() work without it."
        ) from None


def save_safetensors(
    tensors: Mapping[str, Tensor], filename: Any, metadata: dict[str, str] | None = None
) -> None:
    """Writes named tensors to a safetensors file; the old file stays until the new one is complete.

    Args:
        tensors: what to write, by name. Each is written for itself: memory that two share is written twice.
        filename: the path of the file, or a file open for writing bytes.
        metadata: texts by name, to be kept with them.
    """
    for name, given in tensors.items():
        if not isinstance(given, Tensor):
            raise ValueError(f"save_safetensors(): {name!r} is a {type(given).__name__}, not a Tensor")
    arrays = {name: np.ascontiguousarray(t.detach().to("cpu").array) for name, t in tensors.items()}
    arrays = {name: array.reshape(tensors[name].shape) for name, array in arrays.items()}
    data = _library("numpy").save(arrays, metadata=metadata)
    with to_write(filename) as file:
        file.write(data)


def load_safetensors(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file by name. The library maps the file to memory, and reads each tensor from there.

    Args:
        filename: the path of the file.
        device: where the tensors are to be.
    """
    with _library("").safe_open(os.fspath(filename), framework="np") as file:
        found = {name: tensor(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118 - no dict
    return {name: made.to(device) for name, made in found.items()}
