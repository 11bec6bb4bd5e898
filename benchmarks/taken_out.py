"""Measures what a feature costs by taking its statements out of the source and running both versions in turns."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple


class Cut(NamedTuple):
    """Statements of a function, or of a method `Class.name`, that match a pattern."""

    module: ModuleType
    name: str
    pattern: str

    def owner(self) -> Any:
        """What holds the function: the module, or a class in it."""
        *classes, _ = self.name.split(".")
        return getattr(self.module, classes[0]) if classes else self.module

    def without(self) -> Any:
        """The function, compiled anew without them."""
        name = self.name.rsplit(".", 1)[-1]
        function = getattr(self.owner(), name)
        source = textwrap.dedent(inspect.getsource(function))
        shorter, count = re.subn(self.pattern, "", source, flags=re.DOTALL)
        assert count, f"nothing to take out of {self.name}"
        namespace = dict(function.__globals__)  # it may have been imported into the module that calls it
        code = compile(
            "from __future__ import annotations\n" + shorter, function.__code__.co_filename, "exec"
        )
        exec(code, namespace)
        return namespace[name]


def interpreted(cuts: Sequence[Cut]) -> bool:
    """Whether this build runs from its sources, so that statements can be taken out of them."""
    return all(inspect.isfunction(getattr(cut.owner(), cut.name.rsplit(".", 1)[-1])) for cut in cuts)


def check_interpreted(cuts: Sequence[Cut]) -> None:
    """Ends the program where nothing can be taken out."""
    if not interpreted(cuts):
        sys.exit(
            "This build is compiled: nothing can be taken out of it. Run with the sources on the path: src/"
        )


def cost(program: Callable[[], Any], cuts: Sequence[Cut], repeat: int) -> float:
    """By which part the program is slower with the statements than without, best of many, in turns."""
    names = [(cut.owner(), cut.name.rsplit(".", 1)[-1]) for cut in cuts]
    whole = [getattr(owner, name) for owner, name in names]
    shorter = [cut.without() for cut in cuts]
    best = [float("inf"), float("inf")]
    gc.collect()
    for _ in range(repeat):
        for i, functions in enumerate((whole, shorter)):
            for (owner, name), function in zip(names, functions, strict=True):
                setattr(owner, name, function)
            start = (
                time.thread_time()
            )  # a few percent are looked for: what others do to the processor is more
            program()
            best[i] = min(best[i], time.thread_time() - start)
    for (owner, name), function in zip(names, whole, strict=True):
        setattr(owner, name, function)
    return best[0] / best[1] - 1
