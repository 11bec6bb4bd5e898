"""Who waits where: what ranks tell each other when an operation does not end.

Note [Who waits where]
~~~~~~~~~~~~~~~~~~~~~~
Ranks have a channel beside their operations: a communicator of its own for small messages. The helper thread, or a
thread that waits, looks for some a few times each second, so that a rank answers whatever it is doing: it says which
operation of each group it has called last, on which line, whether that is over, and on which line its main thread is.

A rank that has waited for some seconds asks the others of the group. If one of them does another operation under the
same number, or has ended its program before this one, waiting is in vain, and it raises an error at once. Otherwise
it waits until the timeout, asks once more, and tells in its error where each rank is. A rank that gives no answer
within `PATIENCE` is one whose process hangs in a call that lets no other thread run, has been stopped, or is gone.
"""

from __future__ import annotations

import pickle
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retrograd.core.places import describe, user_frame
from retrograd.distributed import mpi
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.groups import WORLD
from retrograd.distributed.progress import Operation

if TYPE_CHECKING:
    from retrograd.distributed.calls import Call

FIRST_LOOK: Final = 3.0  # seconds after which a rank that waits asks the others
PATIENCE: Final = 3.0  # seconds in which they answer
_ASK, _TELL, _REPORT, _ANSWER = 1, 2, 3, 4


class Position(NamedTuple):
    """How far a rank is in a group."""

    number: int
    signature: str
    described: str
    line: str
    over: bool


class Status(NamedTuple):
    """What a rank tells the others."""

    rank: int
    groups: dict[str, Position]
    now: str
    ended: bool
    """Whether its program is over."""
    failed: bool
    """Whether its process has gone, and waits for nobody."""


class Channel:
    """The messages of this rank beside its operations. Everything with the lock of `Progress`."""

    ended: bool
    failed: bool

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank: int = comm.rank
        self.size: int = comm.size
        self.known: dict[int, Status] = {}
        self.ended = self.failed = False
        self.reports: Counter[tuple[str, int]] = Counter()
        """How often a rank waits in the monitored barrier of a group whose first rank this is."""
        self.answers: dict[str, bool] = {}
        """Of groups whose first rank is another: whether all have come to the monitored barrier."""
        self._sent: list[tuple[Any, Any]] = []  # requests, and what they send

    # -- messages --------------------------------------------------------------------------------------------------

    def _send(self, rank: int, tag: int, content: Any) -> None:
        data = bytearray(pickle.dumps(content))
        self._sent = [(request, kept) for request, kept in self._sent if not request.Test()]
        self._sent.append((self.comm.Isend(data, rank, tag), data))

    def serve(self) -> None:
        """Answers what others have asked, and takes what they have told."""
        library = mpi.library()
        status = library.Status()
        while self.comm.Iprobe(library.ANY_SOURCE, library.ANY_TAG, status):
            source, tag = status.Get_source(), status.Get_tag()
            data = bytearray(status.Get_count(library.BYTE))
            self.comm.Recv(data, source, tag)
            content = pickle.loads(data)  # noqa: S301 - from a rank of this program
            if tag == _ASK:
                self._send(source, _TELL, self.status())
            elif tag == _TELL:
                self.known[source] = content
            elif tag == _REPORT:
                group, change = content
                self.reports[group, source] = max(0, self.reports[group, source] + change)
            else:
                self.answers.update([content])

    def report(self, rank: int, group: str, taken_back: bool = False) -> None:
        """Tells the first rank of a group that this one waits in a monitored barrier, or does no longer."""
        self._send(rank, _REPORT, (group, -1 if taken_back else 1))

    def answer(self, rank: int, group: str, all_have_come: bool) -> None:
        """Tells a rank that waits in a monitored barrier how it has ended."""
        self._send(rank, _ANSWER, (group, all_have_come))

    def ask(self, ranks: list[int]) -> None:
        """Asks ranks where they are."""
        for rank in ranks:
            self._send(rank, _ASK, None)

    def is_sending(self) -> bool:
        """Whether something that was told has not arrived yet."""
        return not all(request.Test() for request, _ in self._sent)

    def has_lost_one(self) -> bool:
        """Whether a rank has failed and gone."""
        return any(told.failed for told in self.known.values())

    def tell_end(self, failed: bool = False) -> None:
        """Tells all that this rank's program is over."""
        self.ended, self.failed = True, failed
        for rank in range(self.size):
            if rank != self.rank:
                self._send(rank, _TELL, self.status())

    def status(self) -> Status:
        """Where this rank is."""
        groups = {
            each.group_name: Position(
                last.number, last.signature(), last.described(), str(last.place), last.over
            )
            for each in WORLD.groups
            if (last := each.last) is not None
        }
        return Status(
            self.rank, groups, "" if self.ended else _line_of_main_thread(), self.ended, self.failed
        )


CHANNEL: list[Channel] = []  # the one of this process, if it has others to talk to


def _line_of_main_thread() -> str:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    if frame is None:
        return "an unknown line"
    frame = user_frame(frame)
    return describe(frame.f_code, frame.f_lasti)


def look(operation: Operation | None, waited: float) -> None:
    """Looks at the channel; for an operation that has waited for long, also at where the others are."""
    if not CHANNEL:
        return
    channel = CHANNEL[0]
    with WORLD.progress.lock:
        channel.serve()
    call: Any = operation
    if call is None or waited < 0.5 or call.over or not hasattr(call, "group"):
        return
    if any(channel.known[rank].ended for rank in _others(call) if rank in channel.known):
        _raise_if_in_vain(call, channel)
    if waited >= call.looks:
        call.looks = 2 * waited + FIRST_LOOK
        _hear(channel, _others(call))
        _raise_if_in_vain(call, channel)


def _others(call: Call) -> list[int]:
    """The ranks of the world that take part in an operation, but for this one."""
    own = call.group.ranks[call.group.rank()]
    return [rank for rank in call.group.ranks if rank != own]


def _hear(channel: Channel, ranks: list[int]) -> None:
    """Has ranks asked where they are, and waits for the answers."""
    progress = WORLD.progress
    with progress.lock:
        for rank in ranks:
            if rank in channel.known and not channel.known[rank].ended:
                del channel.known[rank]
        channel.ask([rank for rank in ranks if rank not in channel.known])
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not all(rank in channel.known for rank in ranks):
        progress.poll()
        with progress.lock:
            channel.serve()
        time.sleep(0.005)


def _raise_if_in_vain(call: Call, channel: Channel) -> None:
    """Raises the error of an operation that cannot end any more."""
    if call.over or not call.number:
        return
    for rank in _others(call):
        told = channel.known.get(rank)
        if told is None:
            continue
        at = told.groups.get(call.group.group_name)
        if told.ended and (at is None or at.number < call.number):
            raise DistBackendError(report(call, f"waits in vain, for rank {rank} has ended its program"))
        if at is not None and at.number == call.number and at.signature != call.signature():
            raise DistBackendError(report(call, f"waits in vain, for rank {rank} does something else"))


def report(call: Call, what: str) -> str:
    """Where each rank of the group is, for an operation that does not end."""
    group = call.group
    own = group.ranks[group.rank()]
    number = f"operation {call.number}, " if call.number else ""
    lines = [f"{number}{call.described()}, of rank {own} {what}."]
    lines.append(f"  rank {own} waits in it: {call.place}")
    if CHANNEL:
        channel = CHANNEL[0]
        _hear(channel, _others(call))
        lines += [f"  rank {rank} {_whereabouts(call, channel.known.get(rank))}" for rank in _others(call)]
    lines.append("All ranks of a group call the same operations in the same order.")
    return "\n".join(lines)


def positions(ranks: list[int]) -> str:
    """On which line each of some ranks is."""
    channel = CHANNEL[0]
    _hear(channel, ranks)
    return "\n".join(f"  rank {rank} {_now(channel.known.get(rank))}" for rank in ranks)


def _now(told: Status | None) -> str:
    if told is None:
        return (
            f"has given no answer within {PATIENCE:g} seconds: its process is stopped or gone, or in a call that lets "
            "no other thread run"
        )
    return "has ended its program" if told.ended else f"is at {told.now}"


def _whereabouts(call: Call, told: Status | None) -> str:
    now = _now(told)
    if told is None:
        return now
    at = told.groups.get(call.group.group_name)
    if not call.number:
        return now
    if at is None:
        return f"has called no operation of this group: it {now}"
    state = "is done with" if at.over else "waits in"
    if at.number < call.number:
        return f"has not called it; its last was operation {at.number}, {at.described}, {at.line}. It {now}"
    if at.number > call.number:
        return f"is past it, and {state} operation {at.number}, {at.described}: {at.line}"
    if at.signature != call.signature():
        return f"does another operation instead, {at.described}: {at.line}"
    return f"{state} it: {at.line}"
