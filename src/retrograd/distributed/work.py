"""`Work`: what an operation with `async_op=True` returns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from retrograd.distributed.progress import Operation, Progress
from retrograd.futures import Future


class Work:
    """An operation under way, of which one can ask whether it is over, and for which one can wait."""

    def __init__(self, progress: Progress, operation: Operation, limit: float, result: list[Any]) -> None:
        self._progress = progress
        self._operation = operation
        self._limit = limit
        self._result = result
        self._late: Callable[[], BaseException] = lambda: TimeoutError("the operation has timed out")
        self._source = -1

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until the operation is over, and raises its error if it has failed."""
        operation = self._operation
        if not operation.over:
            seconds = timeout.total_seconds() if timeout else self._limit
            if not self._progress.wait(operation, seconds):
                raise self._late()
        if operation.error is not None:
            raise operation.error
        return True

    def is_completed(self) -> bool:
        """Whether it is over."""
        if not self._operation.over:
            self._progress.poll()
        return self._operation.over

    def is_success(self) -> bool:
        """Whether it is over and has not failed."""
        return self._operation.over and self._operation.error is None

    def exception(self) -> BaseException | None:
        """The error with which it has failed, if it has."""
        return self._operation.error

    def source_rank(self) -> int:
        """The rank from which a `recv` without a source has received."""
        return self._source

    def result(self) -> list[Any]:
        """The tensors that it has written."""
        return self._result

    def synchronize(self) -> None:
        """Waits, as `wait` does."""
        self.wait()

    def get_future(self) -> Future[list[Any]]:
        """The same as a future, whose value is the list of the tensors."""

        def compute() -> list[Any]:
            self.wait()
            return self._result

        return Future.of(self.is_completed, compute)
