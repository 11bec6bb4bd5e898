# ruff: noqa: N999 - the name is PyTorch's
"""PowerSGD: gradients travel as products of thin matrices.

The method is that of T. Vogels, S. P. Karimireddy and M. Jaggi, "PowerSGD: Practical Low-Rank Gradient Compression for
Distributed Optimization" (2019): a step of subspace iteration for each matrix, begun where the last one ended, with
what was lost added to the next gradient.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.distributed.algorithms.ddp_comm_hooks.default_hooks import group_of, mean_over
from retrograd.distributed.buckets import GradBucket
from retrograd.futures import Future
from retrograd.ops.linalg.factorizations import linalg_qr_of
from retrograd.ops.random.generator import Generator
from retrograd.ops.random.sampling import randn
from retrograd.ops.shape.join import cat
from retrograd.ops.tensor.create import zeros


class PowerSGDState:
    """What PowerSGD remembers from step to step; the same settings on all ranks.

    Args:
        process_group: the ranks; those of the model if None.
        matrix_approximation_rank: the rank of the products: more is more exact, and more bytes.
        start_powerSGD_iter: the number of steps in which gradients travel as they are; at least 2 with error feedback
            or a warm start.
        min_compression_rate: a gradient is left as it is unless it gets smaller by this factor.
        use_error_feedback: add what was lost in a step to the next gradient.
        warm_start: begin with the last step's matrices.
        orthogonalization_epsilon: is added to the lengths that columns are divided by, if not 0.
        random_seed: of the first matrices.
        compression_stats_logging_frequency, batch_tensors_with_same_shape: accepted for PyTorch's sake.
    """

    process_group: Any

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.random_seed = random_seed
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.generator: Generator = Generator().manual_seed(random_seed)
        self.error_dict: dict[int, Tensor] = {}  # what was lost, by number of bucket
        self.q_memory_dict: dict[int, list[Tensor]] = {}  # the thin matrices of the last step
        self.iter: int = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        warnings.warn(
            "NOTE: Process group is not serializable and excluded from a saved state.", stacklevel=2
        )
        return {name: value for name, value in self.__dict__.items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = None
        self.__dict__.update(state)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts a step when its last bucket comes."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """By what factor gradients got smaller, and how many numbers they were before and after."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after

    def is_worth_it(self, rows: int, columns: int) -> bool:
        """Whether a matrix of this shape gets so much smaller that it is to be compressed."""
        thin = (rows + columns) * self.matrix_approximation_rank
        return thin * self.min_compression_rate < rows * columns

    def thin_matrices(self, index: int, matrices: Sequence[Tensor]) -> list[Tensor]:
        """A matrix with orthogonal columns for each matrix of a bucket, to begin with."""
        known = self.q_memory_dict.get(index) if self.warm_start else None
        if known is None:
            known = [
                randn(m.shape[1], self._rank(m), generator=self.generator, dtype=m.dtype).to(m.device)
                for m in matrices
            ]
        return [self.orthogonalised(q) for q in known]

    def _rank(self, matrix: Tensor) -> int:
        return int(min(self.matrix_approximation_rank, *matrix.shape))

    def orthogonalised(self, matrix: Tensor) -> Tensor:
        """A matrix whose columns are orthogonal and span the same space."""
        if not self.orthogonalization_epsilon:
            wide = matrix.float() if matrix.dtype.itemsize == 2 else matrix  # LAPACK has no halves
            return linalg_qr_of(wide)[0].to(matrix.dtype)
        columns: list[Tensor] = []
        for i in range(matrix.shape[1]):
            column = matrix[:, i]
            for other in columns:
                column = column - (other * column).sum() * other
            columns.append(column / (column.norm() + self.orthogonalization_epsilon))
        return cat([column.reshape(-1, 1) for column in columns], 1)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Averages each gradient that is a matrix, or has more dimensions, as a product of two thin matrices.

    Others, and those that would not get smaller, are averaged as they are.
    """
    if state.iter < state.start_powerSGD_iter:
        return _uncompressed(state, bucket)
    whole, matrices = [], []
    kept = _with_error(state, bucket)
    for gradient in bucket.gradients():
        matrix = (
            gradient.view(gradient.shape[0], -1) if gradient.dim() > 1 and gradient.is_contiguous() else None
        )
        if matrix is not None and state.is_worth_it(*matrix.shape):
            matrices.append(matrix)
        else:
            whole.append(gradient)
    return _reduced(state, bucket, kept, whole, matrices)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Averages all gradients of a bucket as one square matrix: quicker than `powerSGD_hook`, and less exact."""
    if state.iter < state.start_powerSGD_iter:
        return _uncompressed(state, bucket)
    kept = _with_error(state, bucket)
    buffer = bucket.buffer()
    side = math.ceil(math.sqrt(buffer.numel()))
    square = zeros(side * side, dtype=buffer.dtype, device=buffer.device)
    square[: buffer.numel()] = buffer
    if not state.is_worth_it(side, side):
        return _reduced(state, bucket, kept, [buffer], [])
    future = _reduced(state, bucket, None, [], [square.view(side, side)])

    def unfold(done: Future[Tensor]) -> Tensor:
        done.wait()
        buffer.copy_(square[: buffer.numel()])
        _keep_error(state, bucket, kept)
        return buffer

    return future.then(unfold)


def _uncompressed(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    state.maybe_increase_iter(bucket)
    return mean_over(group_of(state.process_group, bucket), bucket.buffer())


def _with_error(state: PowerSGDState, bucket: GradBucket) -> Tensor | None:
    """Adds what was lost in the last step; a copy of that, to find what is lost in this one."""
    if not state.use_error_feedback:
        return None
    lost = state.error_dict.get(bucket.index())
    if lost is not None:
        bucket.buffer().add_(lost)
    return bucket.buffer().clone()


def _keep_error(state: PowerSGDState, bucket: GradBucket, kept: Tensor | None) -> None:
    if kept is not None:
        state.error_dict[bucket.index()] = kept - bucket.buffer()


def _reduced(
    state: PowerSGDState,
    bucket: GradBucket,
    kept: Tensor | None,
    whole: Sequence[Tensor],
    matrices: Sequence[Tensor],
) -> Future[Tensor]:
    """Averages some gradients as they are and others as products, in their memory."""
    group = group_of(state.process_group, bucket)
    state.total_numel_before_compression += bucket.buffer().numel()
    index = bucket.index()
    q = state.thin_matrices(index, matrices)
    p = [matrix @ each for matrix, each in zip(matrices, q, strict=True)]
    plain = _joined([*whole, *p])
    state.total_numel_after_compression += plain.numel() + sum(each.numel() for each in q)
    first = mean_over(group, plain)

    def expand(done: Future[Tensor]) -> Tensor:
        done.wait()
        parts = _parted(plain, [*whole, *p])
        for gradient, mean in zip(whole, parts, strict=False):
            gradient.copy_(mean)
        left = [state.orthogonalised(each) for each in parts[len(whole) :]]
        if left:
            right = [matrix.t() @ each for matrix, each in zip(matrices, left, strict=True)]
            means = _joined(right)
            mean_over(group, means).wait()
            right = _parted(means, right)
            for matrix, a, b in zip(matrices, left, right, strict=True):
                matrix.copy_(a @ b.t())
            state.q_memory_dict[index] = right
        _keep_error(state, bucket, kept)
        state.maybe_increase_iter(bucket)
        return bucket.buffer()

    return first.then(expand)


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors one after the other, as one message."""
    return cat([each.reshape(-1) for each in tensors])


def _parted(message: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """The tensors of a message again."""
    found, place = [], 0
    for each in like:
        found.append(message[place : place + each.numel()].view(each.shape))
        place += each.numel()
    return found
