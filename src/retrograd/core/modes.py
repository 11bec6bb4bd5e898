"""Thread-local state: grad mode, inference mode, and whether anything special is on.

Note [One fast path]
~~~~~~~~~~~~~~~~~~~~
`ThreadState.special` is a bit set of everything that makes an op leave the fast road: inference mode, saved-tensor
hooks, anomaly mode, an open level of forward mode, a recording, a selection, autocast on GPUs. `apply` tests it before
and after an op computes, so features that are off cost two tests of an integer.
"""

from __future__ import annotations

from typing import Any, Final

from retrograd.backends.pack import PACK
from retrograd.core.plain import ThreadLocal

INFERENCE: Final = 1
SAVED_HOOKS: Final = 2  # pack and unpack hooks for saved values
ANOMALY: Final = 4  # nodes remember where they were made
LEVEL: Final = 8  # a level of forward mode is open: views remember where their tangents lie
FORWARD: Final = 16  # ... and tangents are computed: see core/tangent.py
RECORDED: Final = 32  # an observer is told of every operation: see Note [Recording] in core/observer.py
SELECTED: Final = 64  # some results are not computed, but known: see core/selection.py
WIDENED: Final = 128  # autocast is on for GPUs, where some ops compute in float32: see Note [Autocast]
NO_FORWARD: Final = ~(8 | 16)  # all bits but these two


class ThreadState:
    """What one thread has switched on; workers of the engine get a copy of their caller's."""

    grad_enabled: bool = True
    special: int = 0
    sequence_nr: int = 0
    multithreading: bool = True  # whether a backward called here may use other threads
    saved_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, the innermost last
    check_nan: bool = True  # whether anomaly mode raises on NaN
    # The node on whose behalf a user's code runs; in anomaly mode, and if SELECTED is set, any that runs. In between,
    # an earlier one.
    running_node: Any = None
    observer: Any = None  # who is told of operations and backwards, if RECORDED is set
    selection: Any = None  # who knows them, if SELECTED is set
    nonfinite: int = 0  # what detect_nonfinite looks for: 1 is NaN, 2 is Inf; 0: it is off
    grad_layout: bool = True  # what enforce_grad_layout_policy says: `.grad` lies in memory as its leaf does
    view_replay: bool = False  # what _force_original_view_tracking says; nothing depends on it
    replaying: bool = False  # whether a backward runs again in search of a NaN: `.grad` stays as it is
    saved_hooks_refused: str = ""  # why hooks may not be used here, if they may not
    level: Any = None  # the open level of forward mode
    forward_enabled: bool = True  # what set_fwd_grad_enabled says
    task: Any = None  # the backward that is running, the innermost of nested ones
    graph_group: Any = (
        None  # backwards that share what checkpoints compute again: see utils/checkpoint_frame.py
    )
    checkpoint_valid: bool = True  # of the backwards around it
    # With hooks on, or tangents: weak reference to the array that an in-place op works on, and its version.
    overwriting: Any = None
    overwriting_version: int = 0
    # Told of every write: see Note [Mutation of saved values] in autograd/mutation.py.
    write_guard: Any = None
    batch_levels: tuple[Any, ...] = ()  # the running vmaps, the innermost last
    autocast: Any = None  # the dtype of autocast, None where it is off: see Note [Autocast]
    autocast_gpu: Any = None  # the same for tensors on GPUs
    autocast_keeps: bool = True  # whether it keeps what it has made of weights
    autocast_depth: int = 0  # how many of its blocks are open
    transforms: int = 0  # how many functions of `retrograd.func` are running one inside another
    differentiation: Any = None  # the innermost of them that differentiates: see Note [Hooks of a transform]

    def __init__(self) -> None:
        self.autocast_cache: dict[int, Any] = {}  # what it has made of weights, by their ids
        self.autocast_settings: dict[str, Any] = {}  # by type of device: whether it is on, and its dtype

    def next_sequence_nr(self) -> int:
        """Rises by one with every node made in this thread."""
        number = self.sequence_nr
        self.sequence_nr = number + 1
        return number


class NewThreads:
    """What threads begin with that have no state yet."""

    observer: Any = None


NEW_THREADS: Final = NewThreads()


def _begin() -> ThreadState:
    state = ThreadState()
    if NEW_THREADS.observer is not None:
        state.observer = NEW_THREADS.observer
        state.special = RECORDED
    return state


LOCAL: Final = ThreadLocal(_begin)


_quick: Final[Any] = None if PACK is None else PACK.thread_state  # the pack finds it faster


def current() -> ThreadState:
    """This thread's state."""
    if _quick is not None:
        known: ThreadState | None = _quick()
        if known is not None:
            return known
    return _own()


def _own() -> ThreadState:
    state: ThreadState = LOCAL.state
    if PACK is not None:
        PACK.set_thread_state(state)
    return state


def lend(state: ThreadState) -> None:
    """Makes another thread's state this one's too, while that thread waits."""
    LOCAL.state = state
    if PACK is not None:
        PACK.set_thread_state(state)


def update_forward(state: ThreadState) -> None:
    """Sets the bits of forward mode by what is open and enabled: inference mode has no tangents."""
    bits = 0
    if state.level is not None:
        bits = LEVEL | FORWARD if state.forward_enabled and not state.special & INFERENCE else LEVEL
    state.special = state.special & NO_FORWARD | bits


def before_write(array: Any) -> None:
    """Tells this thread's guard, if there is one, that this memory is about to be overwritten."""
    guard = current().write_guard
    if guard is not None:
        guard.before_write(array)


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    return current().grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return current().special & INFERENCE != 0
