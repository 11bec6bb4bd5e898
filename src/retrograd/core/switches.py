"""Context managers that switch this thread's state, and put it back as it was.

Note [Leaving a mode]
~~~~~~~~~~~~~~~~~~~~~
Ctrl-C raises KeyboardInterrupt at the beginning of a Python function, and an `__exit__` written in Python is one: the
interrupt comes before its first line, and the mode stays on for good. Compiled code has no such moments. So what enters
and leaves a mode is in modules that are compiled, and classes that stay interpreted (those of `autograd/modes.py`,
which decorate) derive from what is here. They have no `__init__`, because their subclasses' differ.
Where there is no memory left, leaving a mode asks for none: `__exit__` takes no tuple of arguments. Nor does it index
by -1, which Python takes for an error if NumPy has left one behind unsaid: what was before is a pair, whose second part
is what was before that.

Without compilation, and on Python 3.14 between `__enter__` and the block, an interrupt may still come at that moment.
"""

from __future__ import annotations

from typing import Any

from retrograd.core.modes import INFERENCE, current, update_forward
from retrograd.hints import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class GradSwitch:
    """Sets grad mode on entry and restores it on exit; nested entries keep a stack."""

    mode: bool = True
    before: tuple[bool, Any] = (False, None)

    def __enter__(self) -> None:
        state = current()
        self.before = (state.grad_enabled, self.before)
        state.grad_enabled = self.mode

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        self.put_back()

    def put_back(self) -> None:
        """Grad mode as it was before the innermost entry."""
        current().grad_enabled = self.before[0]
        if self.before[1] is not None:
            self.before = self.before[1]


@mypyc_attr(allow_interpreted_subclasses=True)
class InferenceSwitch:
    """The same for inference mode, which sets grad mode too."""

    mode: bool = True
    before: tuple[bool, int, Any] = (False, 0, None)

    def __enter__(self) -> None:
        state = current()
        self.before = (state.grad_enabled, state.special, self.before)
        state.grad_enabled = not self.mode
        state.special = state.special | INFERENCE if self.mode else state.special & ~INFERENCE
        update_forward(state)

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        state = current()
        state.grad_enabled = self.before[0]
        state.special = self.before[1]
        if self.before[2] is not None:
            self.before = self.before[2]
        update_forward(state)


@mypyc_attr(allow_interpreted_subclasses=True)
class FieldSwitch:
    """The same for any field that is on or off."""

    field: str = ""
    mode: bool = True
    before: bool = True

    def put(self, value: bool) -> None:
        """Sets the field."""
        setattr(current(), self.field, value)

    def __enter__(self) -> None:
        self.put(self.mode)

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        self.put(self.before)


class transforming:  # noqa: N801 - a context manager, as `no_grad` is
    """While a function runs inside a transform, some of what PyTorch's own graphs allow is refused."""

    def __enter__(self) -> None:
        current().transforms += 1

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        current().transforms -= 1


class differentiating:  # noqa: N801
    """The same for one that differentiates: inference mode and a forward mode that is off end at its door."""

    def __init__(self, forward: bool = False) -> None:
        self.forward = forward
        self.inference: int = 0
        self.enabled: bool = True

    def __enter__(self) -> None:
        state = current()
        self.inference = state.special & INFERENCE
        self.enabled = state.forward_enabled
        state.special &= ~INFERENCE
        state.forward_enabled = self.enabled or self.forward
        state.transforms += 1
        update_forward(state)

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        state = current()
        state.transforms -= 1
        state.special |= self.inference
        state.forward_enabled = self.enabled
        update_forward(state)
