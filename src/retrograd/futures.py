"""Values that will be there later, as `torch.futures`: what a communication hook of DistributedDataParallel returns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any


class Future:
    """A value that will be there later.

    >>> future = Future()
    >>> doubled = future.then(lambda f: 2 * f.value())
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self.devices = devices
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []
        self._drive: Callable[[], object] = _nothing  # brings the end about, where nobody else may

    def done(self) -> bool:
        """Whether the value or an error is there."""
        return self._ended.is_set()

    def wait(self) -> Any:
        """The value, as soon as it is there; raises the error if there is one."""
        if not self._ended.is_set():
            self._drive()
            self._ended.wait()
        return self.value()

    def value(self) -> Any:
        """The value, which must be there; raises the error if there is one."""
        if not self._ended.is_set():
            raise RuntimeError("the value of this future is not there yet: call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future for what a function makes of this one, called as soon as its value is there."""
        following = Future()
        following._drive = self._wait_quietly

        def follow(ended: Future) -> None:
            try:
                following.set_result(callback(ended))
            except Exception as error:  # noqa: BLE001 - raised where somebody waits for it
                following.set_exception(error)

        self.add_done_callback(follow)
        return following

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Has a function called with this future as soon as its value is there."""
        with self._lock:
            if not self._ended.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: Any) -> None:
        """Gives the value; once."""
        self._end(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Gives an error in its place."""
        self._end(None, result)

    def _wait_quietly(self) -> None:
        if not self._ended.is_set():
            self._drive()
            self._ended.wait()

    def _end(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._ended.is_set():
                raise RuntimeError("this future has its value already")
            self._value, self._error = value, error
            callbacks, self._callbacks = self._callbacks, []
            self._ended.set()
        for callback in callbacks:
            callback(self)


def _nothing() -> None:
    """Somebody else brings the end about."""


def collect_all(futures: Sequence[Future]) -> Future:
    """A future for the list of these, as soon as all have their values."""
    whole = Future()

    def drive() -> None:
        for future in futures:
            future._wait_quietly()

    whole._drive = drive
    left = [len(futures)]
    lock = threading.Lock()

    def one_less(_: Future) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            whole.set_result(list(futures))

    for future in futures:
        future.add_done_callback(one_less)
    if not futures:
        whole.set_result([])
    return whole


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The values of all."""
    return [future.wait() for future in futures]
