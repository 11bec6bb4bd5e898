"""What stands behind `checkpoint(..., use_reentrant=False)`: a call that is run again when its values are needed.

Note [Checkpoint frames]
~~~~~~~~~~~~~~~~~~~~~~~~
While the function runs for the first time, pack hooks put an empty `Holder` into the graph wherever a value would have
been saved, and note on the `Frame` what it looked like. The first unpack of a backward runs the function again, under
pack hooks that collect the values: number k of the second run belongs to number k of the first. So the values are there
once per backward, each is handed out once and then dropped.

A Frame is held by the graph's packed values alone (through their unpack hook) and dies with the last of them. Nothing
it holds points back at them: records keep names, places and version counters, never nodes or tensors.

Note [Nested checkpoints]
~~~~~~~~~~~~~~~~~~~~~~~~~
The inputs of an inner call are values saved in the outer one, so they are recomputed too: an inner Frame cannot run
again before the outer has. `Frame.values` walks that chain from the outside in, without recursion.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Self

import numpy as np

from retrograd.autograd.modes import enable_grad
from retrograd.autograd.saved_hooks import saved_tensors_hooks
from retrograd.core.autocast import same_autocast
from retrograd.core.modes import current
from retrograd.core.node import Node
from retrograd.core.places import Place, here, mark
from retrograd.core.saved import SavedValue
from retrograd.core.tensor import Tensor
from retrograd.core.version import VersionCounter
from retrograd.engine.engine import ENGINE
from retrograd.engine.task import GraphTask
from retrograd.errors import sizes
from retrograd.ops.random.generator import get_rng_state, set_rng_state
from retrograd.values import DType, Shape


class CheckpointError(RuntimeError):
    """A checkpointed function did not do the same again when it was run for backward."""


class StopRecomputation(BaseException):
    """Ends a second run once all values are there; no Exception, so that `except Exception` lets it pass."""

    def __init__(self, run: Rerun) -> None:
        self.run = run


class GraphExecGroup:
    """Inside the block, a checkpointed call is run again at most once, however many backwards need its values.

    Each saved value may be needed by one of the backwards only. It concerns checkpoints with `use_reentrant=False`.

    >>> import retrograd as rg
    >>> from retrograd.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = rg.ones(2, requires_grad=True)
    >>> a, b = checkpoint(lambda t: (t.exp(), t.sin()), x, use_reentrant=False)
    >>> with GraphExecGroup():  # one second run for both
    ...     a.sum().backward()
    ...     b.sum().backward()
    """

    def __enter__(self) -> Self:
        state = current()
        if state.graph_group is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {state.graph_group}"
            )
        state.graph_group = self
        return self

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        current().graph_group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        group: GraphExecGroup | None = current().graph_group
        return group


class Record(NamedTuple):
    """What a saved value looked like, and who saved it where."""

    shape: Shape
    dtype: DType
    device: Any
    maker: str
    place: Place
    counter: VersionCounter
    version: int

    def kind(self) -> tuple[Shape, DType, Any]:
        """What must be the same in both runs."""
        return self.shape, self.dtype, self.device

    def __str__(self) -> str:
        return f"{sizes(self.shape)} {self.dtype} on {self.device}, {self.maker}\n    saved by {self.place}"


def record(tensor: Tensor) -> Record:
    """Notes what a value that is being saved looks like."""
    node = tensor.grad_fn
    if node is not None:
        maker = f"computed by {node.name()}"
    else:
        maker = "a leaf" if tensor.requires_grad else "a constant"
    counter = tensor._version_counter()
    array = tensor.array
    return Record(array.shape, array.dtype, tensor.device, maker, here(), counter, counter.version)


class Holder:
    """What the graph keeps in place of a value: its number."""

    def __init__(self, position: int) -> None:
        self.position = position


class Values(dict[int, Tensor]):
    """Recomputed values by their number; those from `covered` on were not looked for."""

    def __init__(self, covered: int) -> None:
        super().__init__()
        self.covered = covered


@contextmanager
def random_numbers_again(state: Tensor | None) -> Iterator[None]:
    """Inside, the default generator begins where it stood in `state`; afterwards it stands where it is now."""
    if state is None:
        yield
        return
    before = get_rng_state()
    _put_generator(state)
    try:
        yield
    finally:
        _put_generator(before)


def _put_generator(state: Tensor) -> None:
    """Puts the default generator somewhere; to see that it is there already costs much less, and most functions draw
    nothing.
    """
    if not np.array_equal(get_rng_state().array, state.array):
        set_rng_state(state)


class CheckpointInputs(Node):
    """Saves the arguments of a call; it is in no graph, but says in errors who saved them and where."""

    def name(self) -> str:
        return "checkpoint"

    def save(self, value: Any) -> Any:
        """An argument as the frame keeps it."""
        return SavedValue(value, False, self) if isinstance(value, Tensor) else value


class Frame:
    """One checkpointed call. See Note [Checkpoint frames]."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        recompute_context: AbstractContextManager[Any], preserve_rng_state: bool, early_stop: bool, checks_kinds: bool,
        debug: bool,
    ) -> None:  # fmt: skip
        self.function = function
        self.kwargs = kwargs
        self.recompute_context = recompute_context
        self.early_stop = early_stop
        self.checks_kinds = checks_kinds
        self.debug = debug
        self.autocast: Any = same_autocast()
        self.rng_state: Tensor | None = get_rng_state() if preserve_rng_state else None
        self.complete: bool = False  # whether the first run is over
        self.records: list[Record] = []
        self.holders: list[weakref.ref[Holder]] = []
        # By backward, or by the group of backwards that share one second run.
        self.found: weakref.WeakKeyDictionary[GraphTask | GraphExecGroup, Values] = (
            weakref.WeakKeyDictionary()
        )
        self.owner: CheckpointInputs = CheckpointInputs()
        mark(self.owner)
        self.inputs: list[Any] = [self.owner.save(a) for a in args]
        self.parent: Frame | None = (
            _enclosing_frame() if any(isinstance(i, SavedValue) for i in self.inputs) else None
        )

    def run(self, args: tuple[Any, ...], forward_context: AbstractContextManager[Any]) -> Any:
        """The first run."""
        with saved_tensors_hooks(self.pack, self.unpack), forward_context:
            result = self.function(*args, **self.kwargs)
            self.complete = True
        if not self.complete:
            raise RuntimeError(
                "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised "
                "during the checkpointed forward. There is no value to return: let the context pass the exception on."
            )
        return result

    def pack(self, tensor: Tensor) -> Holder:
        """Lets a value go that the first run would save."""
        holder = Holder(len(self.records))
        self.records.append(record(tensor))
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        """The value that belongs to a holder, from a second run."""
        value = self.values(holder.position).pop(holder.position, None)
        if value is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                f"{'' if current().graph_group is None else _OVERLAP}Its value was dropped then, to save memory. Let "
                "the backward  of a custom Function read ctx.saved_tensors only once and keep the result."
            )
        return value

    def values(self, position: int) -> Values:
        """The values of this backward; the function, and those around it, are run again if they have not been yet."""
        backward = current().graph_group or ENGINE.current_task()
        if backward is None:
            return self.rerun()
        values = self.found.get(backward)
        # A backward inside the function runs it again while it still runs, up to where it stands.
        if values is not None and position < values.covered:
            return values
        chain = [self]
        while (parent := chain[-1].parent) is not None and backward not in parent.found:
            chain.append(parent)
        for frame in reversed(chain):
            frame.found[backward] = frame.rerun()
        return self.found[backward]

    def rerun(self) -> Values:
        """Runs the function again and collects what it saves."""
        args = [i.unpack(self.owner) if isinstance(i, SavedValue) else i for i in self.inputs]
        run = Rerun(self)
        try:
            with (
                saved_tensors_hooks(run.pack, _as_is),
                enable_grad(),
                random_numbers_again(self.rng_state),
                self.autocast,
                self.recompute_context,
            ):
                self.function(*args, **self.kwargs)
        except StopRecomputation as stop:
            if stop.run is not run:
                raise
        run.check()
        return run.values


def _enclosing_frame() -> Frame | None:
    """The frame whose first run is going on here, if its hooks are the innermost."""
    hooks = current().saved_hooks
    owner = getattr(hooks[-1][1], "__self__", None) if hooks else None
    return owner if isinstance(owner, Frame) else None


def _as_is(tensor: Tensor) -> Tensor:
    """Values of a second run are kept as they are: the function may run a backward of its own."""
    return tensor


class Rerun:
    """The second run of a frame: collects values, and compares what it sees with the first."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.expected: int = len(frame.records)
        self.partial: bool = not frame.complete
        self.records: list[Record] = []
        self.values: Values = Values(self.expected)

    def pack(self, tensor: Tensor) -> Tensor:
        """Keeps a value if its counterpart in the first run is still in a graph."""
        position = len(self.records)
        self.records.append(record(tensor))
        # Bare: the tensor itself may be a result of the node that saves it, which would be a cycle.
        value = Tensor(tensor.array, share=True) if tensor.requires_grad else tensor
        if position < self.expected and self.frame.holders[position]() is not None:
            self.values[position] = (
                value if self._stays(position) else Tensor(tensor.array.copy(), share=True)
            )
        if self.frame.early_stop and position + 1 >= self.expected:
            raise StopRecomputation(self)
        return value

    def _stays(self, position: int) -> bool:
        """Whether nobody wrote into the value after it was saved; what happened in the first run happens again."""
        first = self.frame.records[position]
        return first.counter.version == first.version

    def check(self) -> None:
        """Raises if the two runs differ."""
        first, second = self.frame.records[: self.expected], self.records
        if len(second) < len(first):
            self._fail(
                "A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(first)}\n"
                f"Number of tensors saved during recomputation: {len(second)}."
            )
        if len(second) > len(first) and not self.partial and not self.frame.early_stop:
            self._fail(
                "trying to save more tensors during recomputation than during the original forward pass."
            )
        if self.frame.checks_kinds:
            for position in self.values:
                if first[position].kind() != second[position].kind():
                    self._fail(
                        "Recomputed values for the following tensors have different metadata than during the forward "
                        "pass."
                    )

    def _fail(self, what: str) -> None:
        text = f"torch.utils.checkpoint: {what}\n{self._first_difference()}\n{_CURE}"
        if not self.frame.debug:
            raise CheckpointError(f"{text} debug=True lists everything that both runs saved.")
        raise CheckpointError(
            "An error happened while unpacking tensors; dumping logs of latest computation because you passed "
            f"`debug=True` to `torch.utils.checkpoint.checkpoint()`.\n{self._listing()}\n\n"
            "ERROR: Detected non-determinism while running activation checkpointing\n"
            "You are seeing this error because you passed `debug=True` to checkpoint and what was saved differs.\n"
            f"{text}"
        ) from CheckpointError(text)

    def _first_difference(self) -> str:
        """Where the two runs part, in three lines."""
        first, second = self.frame.records[: self.expected], self.records
        position = min(len(first), len(second))
        for i, (a, b) in enumerate(zip(first, second, strict=False)):
            if a.kind() != b.kind() or a.maker != b.maker:
                position = i
                break
        sides = [str(s[position]) if position < len(s) else "nothing more" for s in (first, second)]
        return (
            f"tensor at position {position}:\n  saved metadata: {sides[0]}\n  recomputed metadata: {sides[1]}"
        )

    def _listing(self) -> str:
        """Everything both runs saved, for `debug=True`."""
        lines: list[str] = []
        sides = (
            ("the original forward", self.frame.records[: self.expected]),
            ("recomputation", self.records),
        )
        for title, records in sides:
            lines.append(f"\nSaved during {title}:")
            lines += [f"  {i}: {r}" for i, r in enumerate(records)]
        return "\n".join(lines)


_OVERLAP = (
    "Performing two backward calls that overlap (both need the same saved value) is not allowed inside a "
    "GraphExecGroup. "
)
_CURE = (
    "The function must do the same when backward runs it again. Look for what has changed since: a global or a "
    "counter, a module's mode, an argument that is no tensor, random numbers not from the default generator."
)
