"""Values that will be there later, as `torch.futures`.

Note [Futures are lazy]
~~~~~~~~~~~~~~~~~~~~~~~
What `then` was given runs when somebody waits for the result or asks whether it is there, on the thread that does. A
function that sends something to the other ranks therefore runs where the program says, in the same order on all ranks,
and never on a helper thread whose timing differs from rank to rank. What `add_done_callback` was given is told at once
that the value is there, on whatever thread that was noticed: it must not send anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A value that somebody will set. What `then` is given runs when it is waited for: Note [Futures are lazy].

    >>> future = Future()
    >>> twice = future.then(lambda done: 2 * done.value())
    >>> future.set_result(21)
    >>> twice.wait()
    42
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._lock = threading.Lock()
        self._settled = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._is_due: Callable[[], bool] | None = (
            None  # with `_compute`, for a value that is computed on demand
        )
        self._compute: Callable[[], Any] | None = None

    @staticmethod
    def of(is_due: Callable[[], bool], compute: Callable[[], Any]) -> Future[Any]:
        """A value that `compute()` waits for and gives; `is_due()` says whether it would do so at once."""
        future: Future[Any] = Future()
        future._is_due = is_due
        future._compute = compute
        return future

    def done(self) -> bool:
        """Whether the value is there, or an error in its place."""
        is_due = self._is_due
        if not self._settled.is_set() and is_due is not None and is_due():
            self._settle()
        return self._settled.is_set()

    def wait(self) -> T:
        """The value, as soon as it is there; raises the error that came in its place."""
        self._settle()
        self._settled.wait()
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def value(self) -> T:
        """The value of a future that is done."""
        if not self.done():
            raise RuntimeError(
                "the future has no value yet: wait() waits for it, done() says whether it is there"
            )
        return self.wait()

    def set_result(self, result: T) -> None:
        """Gives the value to all who wait for it."""
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Has all who wait for the value raise an error."""
        if not isinstance(result, BaseException):
            raise TypeError(f"{result!r} is no exception: set_exception takes what is to be raised")
        self._set(None, result)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future for what `callback(self)` returns."""

        def compute() -> Any:
            self._settle()
            self._settled.wait()
            return callback(self)

        return Future.of(self.done, compute)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls `callback(self)` when the value is there: now, if it is there already."""
        with self._lock:
            if not self._settled.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def _settle(self) -> None:
        """Computes a value that is computed on demand. Another thread that wants it too waits for this one."""
        with self._lock:
            compute, self._compute, self._is_due = self._compute, None, None
        if compute is None:
            return
        try:
            value = compute()
        except BaseException as error:
            self._set(None, error)
            if not isinstance(error, Exception):
                raise
        else:
            self._set(value, None)

    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._settled.is_set():
                raise RuntimeError("the future has its value already: it can be set once")
            self._value, self._error = value, error
            self._settled.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


def collect_all(futures: Iterable[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future for a list of futures, all of them done."""
    every = list(futures)

    def compute() -> list[Future[Any]]:
        for future in every:
            future.wait()
        return every

    return Future.of(lambda: all(future.done() for future in every), compute)


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """The values of several futures, as soon as all are there.

    >>> first, second = Future(), Future()
    >>> first.set_result(1)
    >>> second.set_result(2)
    >>> wait_all([first, second])
    [1, 2]
    """
    return [future.wait() for future in futures]
