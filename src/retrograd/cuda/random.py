"""The generators of random numbers on GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrograd.backends.device import device as Device
from retrograd.core.tensor import Tensor
from retrograd.cuda.devices import device_count, index_of, is_available
from retrograd.ops.random.generator import Generator, default_generator_of


def _generator(device: Any) -> Generator:
    found: Generator = default_generator_of(Device("cuda", index_of(device)))
    return found


def generators() -> tuple[Generator, ...]:
    """Those of all GPUs: `torch.cuda.default_generators`."""
    return tuple([_generator(index) for index in range(device_count())])


def manual_seed(seed: int) -> None:
    """Seeds the generator of the current GPU; without a GPU it does nothing."""
    if is_available():
        _generator(None).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all GPUs."""
    for index in range(device_count()):
        _generator(index).manual_seed(seed)


def seed() -> None:
    """Seeds the generator of the current GPU so that nobody can foresee its numbers."""
    if is_available():
        _generator(None).seed()


def seed_all() -> None:
    """Does so on all GPUs."""
    for index in range(device_count()):
        _generator(index).seed()


def initial_seed() -> int:
    """The seed of the current GPU's generator."""
    return _generator(None).initial_seed()


def get_rng_state(device: Any = None) -> Tensor:
    """Where the generator of a GPU is now."""
    return _generator(device).get_state()


def set_rng_state(new_state: Tensor, device: Any = None) -> None:
    """Puts the generator of a GPU where it was."""
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """Where the generators of all GPUs are."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Puts the generators of all GPUs where they were."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
