"""Classes of the program that want to be asked what functions do to them: Note [Overriding functions]."""

from __future__ import annotations

import builtins
from typing import Any


def watch_classes() -> None:
    """Has functions ask from the moment at which a class with `__torch_function__` is made. Then watches no more."""
    build: Any = builtins.__build_class__

    def watched(*args: Any, **named: Any) -> Any:
        made = build(*args, **named)
        if (
            "__torch_function__" in getattr(made, "__dict__", ())
            and made.__module__.partition(".")[0] != "retrograd"
        ):
            if builtins.__build_class__ is watched:
                builtins.__build_class__ = build
            from retrograd.overrides.switch import switch_on

            switch_on()
        return made

    builtins.__build_class__ = watched
