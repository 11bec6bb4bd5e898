"""Which kernels attention may use, as `torch.nn.attention`. There is one here: the choice changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """Kernels of PyTorch's for attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """A context in which attention may use these kernels.

    >>> with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
    ...     pass
    """
    asked = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not asked or not all(isinstance(kernel, SDPBackend) for kernel in asked):
        raise AssertionError(f"sdpa_kernel(): expected one or several of SDPBackend, got {backends!r}")
    yield
