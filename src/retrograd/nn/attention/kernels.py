"""Which kernels `scaled_dot_product_attention` may use."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from retrograd.ops.nn.attention import KERNELS


class SDPBackend(enum.Enum):
    """Kernels of attention. On the CPU there are two: FLASH_ATTENTION, which is fused, and MATH, which is composed."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return int(self.value)

    __str__ = enum.Enum.__str__


# The order in which PyTorch tells which are allowed.
_ORDER = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The kernels that may be used now."""
    return [kernel for kernel in _ORDER if kernel.value in KERNELS.allowed]


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Inside the block, attention is computed by these kernels only; it decorates functions, too.

    Args:
        backends: one, or several.
        set_priority: taken and ignored: where the fused kernel serves it comes first.

    >>> import retrograd as rg
    >>> from retrograd.nn.attention import SDPBackend, sdpa_kernel
    >>> q = rg.ones(1, 1, 2, 4, requires_grad=True)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     print(rg.nn.functional.scaled_dot_product_attention(q, q, q).grad_fn.name())
    UnsafeViewBackward0
    """
    if not isinstance(backends, (SDPBackend, list)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = [backends] if isinstance(backends, SDPBackend) else backends
    before = KERNELS.allowed
    KERNELS.allowed = frozenset(b.value for b in wanted if isinstance(b, SDPBackend))
    try:
        yield
    finally:
        KERNELS.allowed = before
