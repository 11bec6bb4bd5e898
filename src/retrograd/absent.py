"""Devices that are not there: what `cuda`, `mps` and `xpu` have in common.

A question gets an honest answer, what only sets something up for later does nothing, and what would need the device
raises PyTorch's exception.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

NO_DEVICE = "tensors live on the CPU. Ask is_available() first"


class Unavailable:
    """A function or class that needs a device which is not there: it can be named, not called."""

    __name__: str

    def __init__(
        self, name: str, error: type[Exception] = AssertionError, why: str = "", instead: str = NO_DEVICE
    ) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = f"Raises: {name} needs a device that is not there."
        self._error = error
        why = why or f"{name} needs a device that is not there"
        self._sentence = f"{why}: {instead}."

    def __call__(self, *args: object, **named: object) -> NoReturn:
        raise self._error(self._sentence)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __or__(self, other: object) -> object:
        return Any  # in annotations: `torch.cuda.CUDAGraph | None`

    __ror__ = __or__


def is_available() -> bool:
    """Whether tensors can live on such a device.

    >>> is_available()
    False
    """
    return False


def device_count() -> int:
    """How many such devices there are."""
    return 0


def is_initialized() -> bool:
    """Whether such a device is in use."""
    return False


def empty_cache() -> None:
    """Nothing: there is no memory of such a device to give back."""


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator on such a device. `rg.manual_seed` seeds the one of the CPU."""


def seed() -> None:
    """Nothing, as `manual_seed`."""


def memory_allocated(device: Any = None) -> int:
    """How many bytes of such a device are in use: none."""
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What is known of the memory of such a device: nothing."""
    return OrderedDict()


class NoDevice:
    """A context in which new tensors would be on a device; one without a number changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx: int = device if isinstance(device, int) else -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise AssertionError(
                f"device {self.idx} cannot be used: there is none, and tensors live on the CPU. "
                "Ask device_count() first."
            )

    def __exit__(self, *error: object) -> None:
        """Nothing to undo."""
