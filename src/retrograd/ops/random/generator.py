"""Generators of random numbers, and the default one that functions use unless they are given another.

On the CPU the same seed gives PyTorch's numbers: Note [Random numbers of the CPU].
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from retrograd.backends.base import BACKENDS, backend_of, check_device
from retrograd.backends.device import CPU
from retrograd.backends.device import device as Device
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.errors import OperandError, type_name
from retrograd.forks import at_fork
from retrograd.hints import Plain
from retrograd.ops.register import public
from retrograd.ops.tensor.data import new_leaf

_FIRST_SEED = 67280421310721  # what a Generator begins with until it is seeded, as in PyTorch


def _unforeseeable() -> int:
    """63 bits from the system; `secrets` has the same, but takes milliseconds to load."""
    return int.from_bytes(os.urandom(8), "big") >> 1


class Generator(Plain):
    """A stream of random numbers with a seed and a state of its own.

    >>> import retrograd as rg
    >>> g = rg.Generator().manual_seed(1)
    >>> a = rg.rand(3, generator=g)
    >>> bool((a == rg.rand(3, generator=g.manual_seed(1))).all())
    True
    """

    def __init__(self, device: Device | str | int | None = "cpu") -> None:
        self.device: Device = check_device(device)
        self._seed: int | None = _FIRST_SEED
        self._stream: Any = None

    @property
    def numpy(self) -> Any:
        """What draws the numbers, with methods of NumPy's generator; inside of vmap, as `randomness` says."""
        levels = current().batch_levels
        return levels[-1].stream(self.raw, levels) if levels else self.raw

    @property
    def raw(self) -> Any:
        """What draws outside of vmap; made when it is first needed."""
        stream = self._stream
        return self._begin() if stream is None else stream

    def _begin(self) -> Any:
        """Makes what draws, unless another thread was quicker."""
        with _LOCK:
            stream = self._stream
            if stream is None:
                stream = self._stream = BACKENDS.on(self.device).new_stream(self.initial_seed())
        return stream

    def manual_seed(self, seed: int) -> Generator:
        """Begins the stream that belongs to `seed`, and returns the generator."""
        if isinstance(seed, (bool, Tensor)) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type_name(seed)}")
        number = seed.__index__()
        if not -(1 << 63) <= number < 1 << 64:
            raise ValueError(f"Overflow when unpacking long long: a seed has 64 bits, got {number}")
        self._seed = number % (1 << 64)
        self._stream = None
        return self

    def seed(self) -> int:
        """Begins a stream nobody can foresee, and returns its seed."""
        self.manual_seed(_unforeseeable())
        return self.initial_seed()

    def initial_seed(self) -> int:
        """The seed with which the stream began."""
        if self._seed is None:
            self._seed = _unforeseeable()
        return self._seed

    def get_state(self) -> Tensor:
        """Where the stream is now, as a tensor of bytes for `set_state`."""
        return new_leaf(np.frombuffer(_packed(self), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Puts the stream where it was when `get_state` was called."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type_name(new_state)}")
        if new_state.array.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, not one of {new_state.array.dtype}")
        _unpack(self, new_state.array.tobytes())
        return self

    def get_offset(self) -> int:
        """How far the stream is: known of generators of GPUs alone."""
        raise RuntimeError("CPU Generator does not use offset: get_state() says where its stream is.")

    def set_offset(self, offset: object) -> Generator:
        """Goes to a place in the stream: generators of GPUs alone can."""
        raise RuntimeError(
            "CPU Generator does not use offset: set_state() goes to where get_state() was asked."
        )

    def clone_state(self) -> Generator:
        """Another generator, at the same place of the same stream."""
        return rebuild_generator(_packed(self), self.device)

    def __deepcopy__(self, memo: Any) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> Any:
        return rebuild_generator, (_packed(self), self.device)


_LOCK = threading.RLock()
_HELD: list[Any] = []  # what a thread that forks holds meanwhile
_SEED_BYTES = 8


def _packed(generator: Generator) -> bytes:
    """Seed and state of the stream."""
    state: bytes = BACKENDS.on(generator.device).stream_state(generator.raw)
    return generator.initial_seed().to_bytes(_SEED_BYTES, "little") + state


def _unpack(generator: Generator, data: bytes) -> None:
    size = len(_packed(generator))
    if len(data) != size:
        raise RuntimeError(
            f"Expected a Generator state of size {size} but found the input RNG state size to be {len(data)}. "
            "Give what get_state() returned."
        )
    generator.manual_seed(int.from_bytes(data[:_SEED_BYTES], "little"))
    BACKENDS.on(generator.device).restore_stream(generator.raw, data[_SEED_BYTES:])


def rebuild_generator(data: bytes, device: Device | str = "cpu") -> Generator:
    """A generator in a given state: what unpickling calls."""
    made = Generator(device)
    _unpack(made, data)
    return made


default_generator: Generator = Generator()
default_generator._seed = None  # unforeseeable, and drawn only when somebody asks
_DEFAULTS: dict[Device, Generator] = {
    CPU: default_generator
}  # one for each device on which somebody has drawn


def _hold_streams() -> None:
    """Before a fork: other threads end their draws, for they would not be there in the child to end them."""
    _LOCK.acquire()  # from now on nobody makes a stream
    _HELD.append(_LOCK)
    for generator in list(_DEFAULTS.values()):
        lock = getattr(generator._stream, "lock", None)
        if lock is not None:
            lock.acquire()
            _HELD.append(lock)


def _let_streams_go() -> None:
    while _HELD:
        _HELD.pop().release()


at_fork(before=_hold_streams, after_in_parent=_let_streams_go, after_in_child=_let_streams_go)


def default_generator_of(where: Device) -> Generator:
    """The generator of a device that functions use unless they are given another."""
    found = _DEFAULTS.get(where)
    if found is None:
        made = Generator(where)
        made._seed = default_generator._seed
        found = _DEFAULTS.setdefault(where, made)
    return found


@public("manual_seed")
def manual_seed(seed: int) -> Generator:
    """Seeds the default generators of all devices, and returns that of the CPU."""
    for generator in _DEFAULTS.values():
        generator.manual_seed(int(seed))
    return default_generator


@public("thread_safe_generator")
def thread_safe_generator() -> Generator | None:
    """The generator of a thread that loads data; None elsewhere, and workers are processes here."""
    return None


@public("seed")
def seed() -> int:
    """Gives the default generators a seed nobody can foresee, and returns it."""
    return manual_seed(_unforeseeable()).initial_seed()


@public("initial_seed")
def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


@public("get_rng_state")
def get_rng_state() -> Tensor:
    """The state of the default generator of the CPU."""
    return default_generator.get_state()


@public("set_rng_state")
def set_rng_state(new_state: Tensor) -> None:
    """Puts the default generator of the CPU where it was when `get_rng_state` was called."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Sequence[Any] | None = None, enabled: bool = True, **options: Any) -> Iterator[None]:
    """Inside the `with` block default generators may be used freely; afterwards they stand where they stood.

    Args:
        devices: those besides the CPU whose generators are put back; all unless given.
        enabled: False leaves everything as it is.
    """
    chosen = list(_DEFAULTS) if devices is None else [CPU, *[check_device(d) for d in devices]]
    states = [(g, g.get_state()) for g in map(default_generator_of, chosen)] if enabled else []
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def stream_of(generator: Any, where: Device, *parameters: Any) -> Any:
    """What draws on a device for a `generator=` argument; draws may depend on arrays of parameters."""
    if generator is None:
        generator = default_generator if where is CPU else default_generator_of(where)
    elif not isinstance(generator, Generator):
        raise OperandError(f"argument 'generator' must be a retrograd.Generator, not {type_name(generator)}")
    if generator.device.type != where.type:
        raise RuntimeError(
            f"Expected a '{where.type}' device type for generator but found '{generator.device.type}'. Make one with "
            f"Generator(device='{where}')."
        )
    stream = generator.numpy
    for p in parameters:
        backend_of(p).check_draw(p)
    return stream
