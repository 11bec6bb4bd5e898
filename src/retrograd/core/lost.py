"""Why a tensor has no gradient: a note left where tracking ended, and handed on to everything computed from it.

Note [Lost tracking]
~~~~~~~~~~~~~~~~~~~~
Where a graph ends (an op under no_grad, `detach()`, a function without a derivative) the result gets a `Lost` that says
why and on which line; a tensor made from numbers gets one that says that nothing came before. An op whose result is not
recorded hands the notes of its operands on, so they arrive at the loss whose backward fails. A node with a constant
operand keeps that operand's note, so `why_no_grad` finds cuts inside a graph too. What stood before a cut is referred
to weakly: a note keeps no graph alive.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from retrograd.core.modes import INFERENCE, ThreadState
from retrograd.core.places import made_at, mark, warn

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor

# Why. Whatever is not MADE is a cut: something before it required a gradient.
MADE, NO_GRAD, INFERENCE_MODE, DETACHED, NO_DERIVATIVE, FROZEN = 0, 1, 2, 3, 4, 5
MOST_SOURCES = 4  # how many notes of operands are kept together


class Lost:
    """Why and where tracking ended."""

    _made: Any = None  # the line: see Note [Places]

    def __init__(self, why: int, what: str, before: Any = None) -> None:
        self.why = why
        self.what = what  # the function that ended it
        self.more: tuple[Lost, ...] = ()  # notes of the same kind, of other operands; they have no others
        self.first: Any = None  # the note that this one repeats, if it has others
        self.source: Any = None if before is None else weakref.ref(before)  # the node or leaf before the cut

    def all(self) -> list[Lost]:
        """This note and those of the other operands."""
        return [self, *self.more]

    def text(self) -> str:
        """Sentences for a message."""
        if self.why == MADE:
            return _made(self.all())
        return "\n".join(dict.fromkeys(lost.sentence() for lost in self.all()))

    def sentence(self) -> str:
        """What happened at this cut."""
        at = str(made_at(self))
        if self.why == NO_GRAD:
            return f"Tracking was lost under no_grad() (or with grad mode off), where {self.what} ran: {at}"
        if self.why == INFERENCE_MODE:
            return f"Tracking was lost under inference_mode(), where {self.what} ran: {at}"
        if self.why == DETACHED:
            return f"Tracking was lost by {self.what}, which gives the values without the graph: {at}"
        if self.why == FROZEN:
            return f"requires_grad was switched off: {at}"
        return f"Tracking was lost by {self.what}, which has no derivative: {at}"


def _made(sources: list[Lost]) -> str:
    """The sentence about a tensor that was computed from constants alone."""
    lines = "".join(dict.fromkeys(f"\n    {made_at(s)}" for s in sources))
    return (
        "No tensor with requires_grad=True took part in computing it. It came from numbers (whatever they were before "
        f"an .item(), .tolist() or .numpy() cannot be followed) made here:{lines}"
    )


def born(tensor: Tensor) -> None:
    """Notes that a tensor was made from numbers."""
    lost = Lost(MADE, "")
    mark(lost)
    tensor._lost = lost


def cut(tensor: Tensor, why: int, what: str) -> Lost:
    """The note for a result that `what` computed from a tensor that requires grad, without being recorded."""
    before = tensor._node
    lost = Lost(why, what, tensor if before is None else before)
    mark(lost)
    return lost


def hand_on1(out: Tensor, x: Tensor, what: str, may_reduce: bool, state: ThreadState) -> None:
    """Leaves a note on a result that is not recorded: a new one if the operand is tracked, else the operand's.

    `may_reduce` says that the result of `what` may have fewer elements than its operand.
    """
    out._lost = cut(x, _why(state), what) if x._requires else x._lost
    if may_reduce and out.array.ndim == 0 and x.array.size > 1:
        out._reduced = True


def hand_on2(
    out: Tensor, x: Tensor | None, y: Tensor | None, what: str, may_reduce: bool, state: ThreadState
) -> None:
    """`hand_on1` for two operands; None stands for a number."""
    if x is None or (y is not None and y._requires and not x._requires):
        x, y = y, x
    assert x is not None
    hand_on1(out, x, what, may_reduce, state)
    if x._requires or y is None or y._lost is None or y._lost is x._lost:
        return
    out._lost = y._lost if x._lost is None else _joined(x._lost, y._lost)


def hand_on(out: Tensor, operands: tuple[Any, ...], what: str, may_reduce: bool, state: ThreadState) -> None:
    """`hand_on1` for any number of operands; None stands for a missing one."""
    lost: Lost | None = None
    reduces = may_reduce and out.array.ndim == 0
    for operand in operands:
        if operand is None:
            continue
        x: Tensor = operand
        if x._requires:
            hand_on1(out, x, what, may_reduce, state)
            return
        if reduces and x.array.size > 1:
            out._reduced = True
        note: Lost | None = x._lost
        if note is not None and note is not lost:
            lost = note if lost is None else _joined(lost, note)
    out._lost = lost


def cut_note(x: Tensor) -> Lost | None:
    """The note of a constant operand, if it was cut off from a graph of its own."""
    lost: Lost | None = x._lost
    return None if lost is None or lost.why == MADE else lost


def note_of_constant(operands: tuple[Any, ...]) -> Lost | None:
    """The note that a recorded node of several operands keeps: those of all that were cut off."""
    found: Lost | None = None
    for operand in operands:
        x: Tensor | None = operand
        lost = None if x is None or x._requires else cut_note(x)
        if lost is not None:
            found = lost if found is None else _joined(found, lost)
    return found


def warn_about_lost_loss(loss: Tensor) -> None:
    """`loss.requires_grad = True` silences backward()'s error, and nothing trains: said when the leaf is a root.

    A leaf may be made of anything, but a single number that was computed and now begins a backward is a loss.
    """
    lost: Lost | None = loss._lost
    if lost is None or loss.array.ndim or not (loss._reduced or lost.why in (NO_GRAD, NO_DERIVATIVE)):
        return
    warn(
        "requires_grad=True was set on the result of a computation that was not recorded. This backward() runs, but "
        "nothing it was computed from gets a gradient, so nothing will train. Leave the flag alone and mend the cause: "
        f"{lost.text()}",
        UserWarning,
    )


def _why(state: ThreadState) -> int:
    """Why a result of tracked operands is not."""
    if state.special & INFERENCE:
        return INFERENCE_MODE
    return NO_DERIVATIVE if state.grad_enabled else NO_GRAD


def _joined(a: Lost, b: Lost) -> Lost:
    """The note of a result of two constants: a cut says more than a birth; notes of one kind are collected."""
    if (a.why == MADE) != (b.why == MADE):
        return b if a.why == MADE else a
    if len(a.more) + 1 >= MOST_SOURCES or b is a.first or b in a.more:
        return a
    if a is b.first or a in b.more:
        return b
    made = Lost(a.why, a.what)
    made._made, made.source = a._made, a.source
    made.first = a if a.first is None else a.first
    more: tuple[Lost, ...] = (b,) if b.first is None else (b.first, *b.more)
    made.more = (a.more + more)[: MOST_SOURCES - 1]
    return made
