"""Queues of work on a GPU, and marks in them."""

from __future__ import annotations

from typing import Any

from retrograd.cuda.devices import index_of, library


def _needed(name: str) -> Any:
    """CuPy, for a class; PyTorch raises another error for those than for functions."""
    try:
        return library()
    except AssertionError as error:
        raise RuntimeError(f"torch.cuda.{name} requires CUDA support: {error}") from error


class Pool:
    """The queues that there are: as many as PyTorch has for a GPU and a priority, given out in turns.

    None ever goes away: a backward needs the queue of its forward, which a program may have forgotten by then.
    """

    SIZE = 32

    def __init__(self) -> None:
        self.made: dict[tuple[int, int], list[Any]] = {}
        self.count: dict[tuple[int, int], int] = {}

    def take(self, cupy: Any, device: int, priority: int) -> Any:
        """The next queue of a GPU."""
        key = (device, min(priority, 0))
        made, turn = self.made.setdefault(key, []), self.count.get(key, 0)
        self.count[key] = turn + 1
        if len(made) < self.SIZE:
            with cupy.cuda.Device(device):
                made.append(cupy.cuda.Stream(non_blocking=True, priority=key[1]))
            return made[-1]
        return made[turn % self.SIZE]


POOL = Pool()


class Stream:
    """A queue of work: what is put into it runs in order, beside what other queues do.

    Args:
        device: the GPU, the current one by default.
        priority: -1 for work that goes first.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, _cupy_stream: Any = None) -> None:
        cupy = _needed("Stream")
        self.device_index: int = index_of(device)
        found = POOL.take(cupy, self.device_index, priority) if _cupy_stream is None else _cupy_stream
        self.cupy: Any = found
        self.priority = priority

    @property
    def cuda_stream(self) -> int:
        """Its address, for other libraries."""
        return int(self.cupy.ptr)

    def synchronize(self) -> None:
        """Waits until all its work is done."""
        self.cupy.synchronize()

    def query(self) -> bool:
        """Whether all its work is done."""
        return bool(self.cupy.done)

    def record_event(self, event: Event | None = None) -> Event:
        """Puts a mark behind the work that it has so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """What comes next waits until another queue has come to a mark."""
        self.cupy.wait_event(event.cupy)

    def wait_stream(self, stream: Stream) -> None:
        """What comes next waits for all work that another queue has so far."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<retrograd.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A queue that another library has made, by its address; that library must keep it.

    Args:
        stream_ptr: its address.
        device: its GPU, the current one by default.
    """

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        cupy = _needed("ExternalStream")
        index = index_of(device)
        super().__init__(index, _cupy_stream=cupy.cuda.ExternalStream(stream_ptr, index))


def get_stream_from_external(data_ptr: int, device: Any = None) -> ExternalStream:
    """A queue that another library has made."""
    library()
    return ExternalStream(data_ptr, device)


class Event:
    """A mark in a queue of work.

    Args:
        enable_timing: whether `elapsed_time` will be asked for.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.cupy: Any = _needed("Event").cuda.Event(
            block=blocking, disable_timing=not enable_timing, interprocess=interprocess
        )

    def record(self, stream: Stream | None = None) -> None:
        """Puts the mark behind the work that a queue has so far."""
        self.cupy.record((current_stream() if stream is None else stream).cupy)

    def wait(self, stream: Stream | None = None) -> None:
        """What a queue gets next waits for the mark."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        return bool(self.cupy.done)

    def synchronize(self) -> None:
        """Waits until it is."""
        self.cupy.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another."""
        return float(library().cuda.get_elapsed_time(self.cupy, end_event.cupy))


def current_stream(device: Any = None) -> Stream:
    """The queue into which this thread's work for a GPU goes."""
    cupy = library()
    index = index_of(device)
    return Stream(index, _cupy_stream=cupy.cuda.get_current_stream(index))


def default_stream(device: Any = None) -> Stream:
    """The queue that is used unless another is chosen."""
    return Stream(device, _cupy_stream=library().cuda.Stream.null)


class StreamContext:
    """A block in which work goes into a queue; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.cupy.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            self.stream.cupy.__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """A block in which work goes into a queue; None changes nothing."""
    return StreamContext(stream)


def set_stream(stream: Stream) -> None:
    """Lets this thread's work go into a queue from now on."""
    stream.cupy.use()
