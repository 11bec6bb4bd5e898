"""Python's import of `torch` and of everything below it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

from retrograd.alias.torch_module import MissingModule, TorchModule, module_for, own


class Finder:
    """Finds `torch.nn` and the like, and `functorch`, before anything else does."""

    def __init__(self, top: TorchModule) -> None:
        self.top = top

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What Python's import needs to know of a module; None if it is not one of PyTorch's, or no module."""
        if name.partition(".")[0] not in ("torch", "functorch"):
            return None
        found = self.top if name == "torch" else module_for(name)
        return None if found is None else ModuleSpec(name, Handover(found), is_package=not _is_file(found))


def _is_file(module: TorchModule) -> bool:
    """Whether a module shows a file of ours, which `python -m` can run, and not a package."""
    return not isinstance(module, MissingModule) and not hasattr(own(module)["_shown"], "__path__")


class Handover(Loader):
    """Hands out a module that is there already."""

    def __init__(self, module: TorchModule) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: what it shows has run."""

    def get_code(self, name: str) -> CodeType:
        """What `python -m torch.distributed.run` runs: the file that it shows, once more."""
        path = Path(own(self.module)["_shown"].__file__)
        return compile(path.read_bytes(), str(path), "exec")
