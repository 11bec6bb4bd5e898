"""Communication hooks that average gradients, as they are or in fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backends.dtype_class import bfloat16, dtype, float16
from retrograd.core.tensor import Tensor
from retrograd.distributed.buckets import GradBucket
from retrograd.distributed.reductions import all_reduce
from retrograd.distributed.work import Work
from retrograd.futures import Future

CommHook = Callable[[Any, GradBucket], "Future[Tensor]"]


def group_of(process_group: Any, bucket: GradBucket) -> Any:
    """The group that was asked for, or the bucket's own."""
    return bucket.group if process_group is None else process_group


def mean_over(group: Any, tensor: Tensor) -> Future[Tensor]:
    """A future for the mean of a tensor over the ranks of a group, in its memory."""
    tensor.div_(group.size())
    work = all_reduce(tensor, group=group, async_op=True)
    assert isinstance(work, Work)
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients as they are: what happens without a hook, too."""
    return mean_over(group_of(process_group, bucket), bucket.buffer())


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients that travel as float16: half the bytes of float32."""
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients that travel as bfloat16: half the bytes of float32, and its range."""
    return _compressed(bfloat16, process_group, bucket)


def fp16_compress_wrapper(hook: CommHook) -> CommHook:
    """A hook that gives `hook` gradients in float16, and takes its result back to their own dtype."""
    return _wrapped(float16, hook)


def bf16_compress_wrapper(hook: CommHook) -> CommHook:
    """A hook that gives `hook` gradients in bfloat16, and takes its result back to their own dtype."""
    return _wrapped(bfloat16, hook)


def _compressed(kind: dtype, process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    buffer = bucket.buffer()
    mean = mean_over(group_of(process_group, bucket), buffer.to(kind))
    return mean.then(lambda done: buffer.copy_(done.value()))


def _wrapped(kind: dtype, hook: CommHook) -> CommHook:
    def compressing_hook(state: Any, bucket: GradBucket) -> Future[Tensor]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(kind))
        return hook(state, bucket).then(lambda done: buffer.copy_(done.value()))

    return compressing_hook
