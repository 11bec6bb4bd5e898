"""Follower: keeps a recorder told of the modules that run, by their paths, and of the steps of optimisers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any

from retrograd.core.modes import current
from retrograd.inspect.names import modules_in
from retrograd.inspect.recorder import Recorder
from retrograd.nn.module_hooks import register_module_forward_hook, register_module_forward_pre_hook
from retrograd.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


class Follower:
    """What runs, by thread. `scope` gives the variables that modules are named by."""

    def __init__(self, recorder: Recorder, scope: Callable[[], Mapping[str, Any]]) -> None:
        self.recorder = recorder
        self.scope = scope
        self.roots: dict[int, str] = {}  # names of modules that variables hold, by id
        self.inside: dict[tuple[int, int], str] = {}  # paths of modules in others
        self.running: dict[int, list[tuple[Any, str]]] = {}  # by thread: modules, and the paths around them
        self.began: dict[int, int] = {}  # by thread: when the optimiser's step did
        self.calls: dict[str, int] = {}  # a module's second call is another group of nodes

    def handles(self) -> list[Any]:
        """Begins; each handle's `remove()` ends a part of it."""
        return [
            register_module_forward_pre_hook(self.enter),
            register_module_forward_hook(self.leave, always_call=True),
            register_optimizer_step_pre_hook(self.step_starts),
            register_optimizer_step_post_hook(self.step_ends),
        ]

    def enter(self, module: Any, args: Any) -> None:
        """A module is called."""
        thread = self.recorder.thread(current())
        above = self.running.setdefault(id(thread), [])
        name = f"{thread.module}.{self._path(above[-1][0], module)}" if above else self._root(module)
        self.calls[name] = self.calls.get(name, 0) + 1
        above.append((module, thread.module))
        thread.module = name if self.calls[name] == 1 else f"{name}#{self.calls[name]}"

    def leave(self, module: Any, args: Any, output: Any) -> None:
        """It has returned, or failed."""
        thread = self.recorder.thread(current())
        if self.running.get(id(thread)):
            thread.module = self.running[id(thread)].pop()[1]

    def step_starts(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """An optimiser's step begins."""
        self.began[id(self.recorder.thread(current()))] = perf_counter_ns()

    def step_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """It has ended."""
        thread, spans = self.recorder.thread(current()), self.recorder.spans
        start = self.began.pop(id(thread), perf_counter_ns())
        self.recorder.doubt()
        if len(spans) < self.recorder.limit:
            spans.append((f"{type(optimizer).__name__}.step", thread, start, perf_counter_ns()))

    def _root(self, module: Any) -> str:
        if id(module) not in self.roots:
            self.roots.update({id(module): type(module).__name__, **modules_in(self.scope())})
        return self.roots[id(module)]

    def _path(self, parent: Any, module: Any) -> str:
        key = id(parent), id(module)
        if key not in self.inside:
            found = [path for path, part in parent.named_modules() if part is module]
            self.inside[key] = found[0] if found else type(module).__name__
        return self.inside[key]
