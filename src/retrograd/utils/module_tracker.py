"""`ModuleTracker`: which modules are running, in forward and in backward."""

from __future__ import annotations

import weakref
from typing import Any, Self

from retrograd.autograd.graph import register_multi_grad_hook
from retrograd.core.modes import is_grad_enabled
from retrograd.core.tensor import Tensor
from retrograd.core.tree import flatten
from retrograd.engine.engine import ENGINE
from retrograd.nn.module_hooks import register_module_forward_hook, register_module_forward_pre_hook


class ModuleTracker:
    """A context in which `parents` has the names of the modules that are running, and "Global".

    >>> import retrograd as rg
    >>> model = rg.nn.Sequential(rg.nn.Identity())
    >>> tracker = ModuleTracker()
    >>> _ = model[0].register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
    >>> with tracker:
    ...     y = model(rg.ones(2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward is running."""
        return ENGINE.current_task() is not None

    def _name_of(self, module: Any) -> str:
        """Its name inside of the outermost module that was called."""
        if module not in self._names:
            for path, inner in module.named_modules(prefix=type(module).__name__):
                self._names[inner] = path
        return self._names[module]

    def _begins(self, module: Any, inputs: Any) -> None:
        name = self._name_of(module)
        self.parents.add(name)
        wanted = _recorded(inputs)
        if wanted:
            self._handles.append(register_multi_grad_hook(wanted, lambda _: self.parents.discard(name)))

    def _ends(self, module: Any, inputs: Any, outputs: Any) -> None:
        name = self._name_of(module)
        self.parents.discard(name)
        wanted = _recorded(outputs)
        if wanted:
            self._handles.append(register_multi_grad_hook(wanted, lambda _: self.parents.add(name)))

    def __enter__(self) -> Self:
        self._handles = [
            register_module_forward_pre_hook(self._begins),
            register_module_forward_hook(self._ends, always_call=True),
        ]
        return self

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _recorded(values: Any) -> list[Tensor]:
    """The tensors among values that gradients pass through."""
    if not is_grad_enabled():
        return []
    return [v for v in flatten(values)[0] if isinstance(v, Tensor) and v.requires_grad]
