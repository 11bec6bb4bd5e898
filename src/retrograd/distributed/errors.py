"""The errors of `torch.distributed`, under its names."""

from __future__ import annotations


class DistError(RuntimeError):
    """Something between ranks has failed."""


class DistBackendError(DistError):
    """An operation has failed or timed out; the message says where each rank was."""


class DistNetworkError(DistError):
    """Ranks do not reach each other."""


class DistStoreError(DistError):
    """Ranks did not find each other in time."""


class QueueEmptyError(DistStoreError):
    """Nothing was in a queue of a store."""
