"""A communication hook that communicates nothing."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.buckets import GradBucket
from retrograd.futures import Future


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Leaves each rank its own gradients: what a step costs without communication, and nothing to train with."""
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future
