"""`Work`: what an operation with `async_op=True` returns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from retrograd.distributed.mpi import MessageError
from retrograd.distributed.progress import Operation, Progress
from retrograd.futures import Future


class Work:
    """An operation under way, of which one can ask whether it is over, and for which one can wait."""

    def __init__(
        self, progress: Progress, operation: Operation, explain: Callable[[Operation, str], BaseException]
    ) -> None:
        self._progress = progress
        self._operation: Any = operation
        self._explain = (
            explain  # the error of an operation that does not end, or that its messages have failed
        )

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until the operation is over, and raises its error if it has failed."""
        operation = self._operation
        if not operation.over:
            seconds = timeout.total_seconds() if timeout else operation.timeout
            if not self._progress.wait(operation, seconds):
                raise self._explain(operation, f"has waited for its timeout of {seconds:g} seconds")
        error = operation.error
        if error is not None:
            if isinstance(error, MessageError):
                raise self._explain(operation, f"has failed: {error}") from None
            raise error
        return True

    def is_completed(self) -> bool:
        """Whether it is over."""
        if not self._operation.over:
            self._progress.poll()
        return bool(self._operation.over)

    def is_success(self) -> bool:
        """Whether it is over and has not failed."""
        return self.is_completed() and self._operation.error is None

    def exception(self) -> BaseException | None:
        """The error with which it has failed, if it has."""
        error: BaseException | None = self._operation.error
        return error

    def source_rank(self) -> int:
        """The rank from which a `recv` has received."""
        operation = self._operation
        if not operation.source:
            raise RuntimeError(
                "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
            )
        return int(operation.group.ranks[operation.source[0]])

    _source_rank = source_rank  # PyTorch's name since 2.10

    def limit(self, timeout: timedelta) -> None:
        """Sets how long `wait` waits, which is otherwise the timeout of the group."""
        self._operation.timeout = timeout.total_seconds()

    def result(self) -> list[Any]:
        """The tensors that it writes."""
        return list(self._operation.writes)

    def synchronize(self) -> None:
        """Waits, as `wait` does."""
        self.wait()

    def get_future(self) -> Future[list[Any]]:
        """A future, whose value is the list of the tensors that it writes."""

        def compute() -> list[Any]:
            self.wait()
            return self.result()

        def settle() -> None:
            future.done()

        future = Future.of(self.is_completed, compute)
        self._progress.when_over(self._operation, settle)
        return future
