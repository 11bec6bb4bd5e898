"""`install_as_torch`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from retrograd import lazy
from retrograd.alias.class_names import give_name
from retrograd.alias.classes import watch_classes
from retrograd.alias.finder import Finder
from retrograd.alias.torch_module import TorchModule
from retrograd.ops.returns import RETURN_TYPES

# Classes whose objects are there before anybody names them; others have PyTorch's names when they are asked for.
_UNNAMED = ("Tensor", "Size", "dtype", "device", "OutOfMemoryError")
FOLDER = str(Path(__file__).parent / "path")


def install_as_torch() -> None:
    """Makes `torch`, and everything below it, mean retrograd in this process and in workers that it starts.

    Call it before anything imports `torch`. `retrograd run script.py` does so for a script that is left as it is.

    >>> import retrograd
    >>> retrograd.install_as_torch()  # doctest: +SKIP
    >>> import torch.nn as nn  # doctest: +SKIP
    """
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    present = sys.modules.get("torch")
    if present is not None and not str(getattr(present, "__file__", "")).startswith(FOLDER):
        raise RuntimeError(
            "install_as_torch(): PyTorch itself is imported already, and tensors of both would meet. Call it before "
            "anything imports torch, or run the program by `retrograd run script.py`."
        )
    top = TorchModule(
        "torch",
        import_module("retrograd"),
        {"__version__": import_module("retrograd.torch_version").__version__},
    )
    finder: Any = Finder(top)
    sys.meta_path.insert(0, finder)
    if FOLDER not in sys.path:
        sys.path.insert(1, FOLDER)  # which multiprocessing hands to the processes that it spawns
    watch_classes()
    lazy.FORMS.changed = _forget
    sys.modules["torch"] = top
    top.__spec__ = finder.find_spec("torch")
    for name in _UNNAMED:
        give_name(getattr(top, name))
    for kind in RETURN_TYPES.values():
        give_name(kind)


def _forget() -> None:
    """Functions have another form: modules look them up anew."""
    for module in list(sys.modules.values()):
        if isinstance(module, TorchModule):
            module.forget()
