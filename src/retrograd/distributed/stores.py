"""Stores: small values under names, which processes share. `HashStore`, `FileStore`, `TCPStore`, `PrefixStore`.

Ranks need none of them here, since MPI introduces them to each other. Programs use them for counters and settings, and
may give one to `init_process_group` for ranks that no `mpirun` has started to find each other.
"""

from __future__ import annotations

import contextlib
import copy
import json
import socket
import socketserver
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self

from retrograd.distributed.errors import DistNetworkError, DistStoreError, QueueEmptyError

Values = dict[str, str]  # bytes as the characters of the same numbers, which JSON can hold
_NAP = 0.005  # seconds between two looks for a value


def _add(values: Values, key: str, amount: int) -> int:
    total = int(values.get(key, "0")) + amount
    values[key] = str(total)
    return total


def _compare_set(values: Values, key: str, expected: str, desired: str) -> str:
    if values.get(key, "") == expected:
        values[key] = desired
    return values.get(key, expected)


def _push(values: Values, key: str, more: str) -> None:
    values[key] = json.dumps([*json.loads(values.get(key, "[]")), more])


def _pop(values: Values, key: str) -> str | None:
    """The first of a queue, or None if there is nothing in it."""
    first, *rest = json.loads(values.pop(key, "[]")) or [None]
    if rest:
        values[key] = json.dumps(rest)
    return first if first is None else str(first)


# What can be done to the values at once, without anybody else in between.
_ACTS: Final[dict[str, Callable[..., Any]]] = {
    "set": lambda values, more: values.update(more),
    "get": lambda values, key: values.get(key),
    "add": _add,
    "append": lambda values, key, more: values.update({key: values.get(key, "") + more}),
    "compare_set": _compare_set,
    "check": lambda values, keys: all(key in values for key in keys),
    "delete": lambda values, key: values.pop(key, None) is not None,
    "keys": list,
    "push": _push,
    "pop": _pop,
    "length": lambda values, key: len(json.loads(values.get(key, "[]"))),
}


class Store:
    """Values under names. A store of one's own derives from this, and has `act`."""

    timeout: timedelta = timedelta(seconds=300)
    """How long `get` and `wait` wait for a name."""

    def act(self, name: str, *args: Any) -> Any:
        """Does one of the things above to the values."""
        raise NotImplementedError("a Store is one of HashStore, FileStore and TCPStore")

    def set(self, key: str, value: str | bytes) -> None:
        """Keeps a value."""
        self.multi_set([key], [value])

    def get(self, key: str) -> bytes:
        """The value under a name; waits until there is one."""
        self.wait([key])
        found: str = self.act("get", key)
        return found.encode("latin-1")

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Keeps several values."""
        self.act("set", {key: _text(value) for key, value in zip(keys, values, strict=True)})

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Several values."""
        return [self.get(key) for key in keys]

    def add(self, key: str, amount: int) -> int:
        """Adds to a number, which is 0 in the beginning; the sum."""
        return int(self.act("add", key, amount))

    def append(self, key: str, value: str | bytes) -> None:
        """Puts something behind a value."""
        self.act("append", key, _text(value))

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Keeps a value if the one there is `expected_value`; the one that is there afterwards."""
        found: str = self.act("compare_set", key, _text(expected_value), _text(desired_value))
        return found.encode("latin-1")

    def check(self, keys: Sequence[str]) -> bool:
        """Whether there are values under all these names."""
        return bool(self.act("check", list(keys)))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until there are."""
        limit = self.timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Wait timeout: after {limit.total_seconds():g} seconds nobody has set all of {list(keys)}"
                )
            time.sleep(_NAP)

    def delete_key(self, key: str) -> bool:
        """Forgets a value; whether there was one."""
        return bool(self.act("delete", key))

    def list_keys(self) -> list[str]:
        """All names."""
        return list(self.act("keys"))

    def num_keys(self) -> int:
        """How many names there are."""
        return len(self.list_keys())

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Puts a value at the end of a queue."""
        self.act("push", key, _text(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue; waits until there is one, or raises a QueueEmptyError."""
        end = time.monotonic() + self.timeout.total_seconds()
        while (found := self.act("pop", key)) is None:
            if not block:
                raise QueueEmptyError("queue is empty")
            if time.monotonic() > end:
                raise DistStoreError(f"Wait timeout: nothing has come into the queue {key!r}")
            time.sleep(_NAP)
        return str(found).encode("latin-1")

    def queue_len(self, key: str) -> int:
        """How many values are in a queue."""
        return int(self.act("length", key))

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Waits until so many have called it with the same name."""
        if self.add(f"{key}/came", 1) == world_size:
            self.set(f"{key}/all", "")
        self.wait([f"{key}/all"], timeout)

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return True

    def clone(self) -> Self:
        """Another store with the same values, for another thread."""
        return copy.copy(self)

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long to wait for a name."""
        self.timeout = timeout


def _text(value: str | bytes) -> str:
    if not isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"a store keeps str and bytes, not {type(value).__name__}: say str(value)")
    return (value.encode() if isinstance(value, str) else bytes(value)).decode("latin-1")


class HashStore(Store):
    """Values in the memory of this process, for its threads.

    >>> store = HashStore()
    >>> store.set("colour", "blue")
    >>> store.get("colour"), store.add("steps", 3), store.num_keys()
    (b'blue', 3, 2)
    """

    def __init__(self) -> None:
        self._values: Values = {}
        self._lock = threading.Lock()

    def act(self, name: str, *args: Any) -> Any:
        with self._lock:
            return _ACTS[name](self._values, *args)


class FileStore(Store):
    """Values in a file that all processes see."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path = file_name

    def act(self, name: str, *args: Any) -> Any:
        import fcntl  # which Windows has not

        with Path(self.path).open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            values: Values = json.loads(file.read() or "{}")
            found = _ACTS[name](values, *args)
            file.seek(0)
            file.truncate()
            json.dump(values, file)
        return found


class TCPStore(Store):
    """Values in the process that is the master, which others ask for them over the network."""

    host: str
    timeout: timedelta

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = Store.timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        self.host, self.timeout = host_name, timeout
        self._server = _listening(port) if is_master else None
        self.port: int = port if self._server is None else self._server.server_address[1]
        if self._server is not None:
            threading.Thread(target=self._server.serve_forever, name="retrograd-store", daemon=True).start()
        self._lock = threading.Lock()
        self._socket = self._connected()
        self._file = self._socket.makefile("rw")
        weakref.finalize(self, _close, self._server, self._socket, self._file)
        if world_size is not None and wait_for_workers:
            self._wait_for_all(world_size)

    def _connected(self) -> socket.socket:
        end = time.monotonic() + self.timeout.total_seconds()
        while True:
            try:
                return socket.create_connection((self.host, self.port))
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"The client socket has timed out: no TCPStore answers at {self.host}:{self.port} ({error})"
                    ) from None
                time.sleep(0.05)

    def _wait_for_all(self, world_size: int) -> None:
        self.add(_JOINED, 1)
        end = time.monotonic() + self.timeout.total_seconds()
        while (came := self.add(_JOINED, 0)) < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self.timeout.total_seconds():g} seconds waiting for clients of the TCPStore. "
                    f"{came}/{world_size} clients joined."
                )
            time.sleep(_NAP)

    def act(self, name: str, *args: Any) -> Any:
        with self._lock:
            self._file.write(json.dumps([name, *args]) + "\n")
            self._file.flush()
            line = self._file.readline()
        if not line:
            raise DistNetworkError(f"the TCPStore at {self.host}:{self.port} has gone")
        found, error = json.loads(line)
        if error:
            raise ValueError(error)
        return found

    def clone(self) -> Self:
        return type(self)(self.host, self.port, timeout=self.timeout)


def _listening(port: int) -> _Server:
    try:
        return _Server(("", port), _Answers)
    except OSError as error:
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port} ({error})"
        ) from None


def _close(server: Any, *files: Any) -> None:
    """Ends what a store has opened."""
    for file in files:
        with contextlib.suppress(OSError):
            file.close()
    if server is not None:
        server.shutdown()
        server.server_close()


_JOINED: Final = "init/"  # where processes are counted; PyTorch's store shows such a name, too


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.store = HashStore()


class _Answers(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        """Does what each line asks for, and answers by a line."""
        server: Any = self.server
        for line in self.rfile:
            name, *args = json.loads(line)
            try:
                answer = [server.store.act(name, *args), None]
            except ValueError as error:  # a number is added to what is none: the asker's fault
                answer = [None, str(error)]
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class PrefixStore(Store):
    """Another store, with something in front of all names. The other one may be of a class of the program's own."""

    timeout: timedelta

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix = prefix
        self.underlying_store = store
        self.timeout = store.timeout

    @property
    def _underlying_non_prefix_store(self) -> Store:
        """The store at the end of a chain of them."""
        store = self.underlying_store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store

    def _named(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._named(key), value)

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._named(key))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self.underlying_store.multi_set([self._named(key) for key in keys], values)

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._named(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._named(key), value)

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        return self.underlying_store.compare_set(self._named(key), expected_value, desired_value)

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check([self._named(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self.underlying_store.wait([self._named(key) for key in keys], timeout)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._named(key))

    def list_keys(self) -> list[str]:
        """The names that begin so, without what is in front."""
        start = self._named("")
        return [key.removeprefix(start) for key in self.underlying_store.list_keys() if key.startswith(start)]

    def num_keys(self) -> int:
        """How many names the other store has, those that begin otherwise too."""
        return self.underlying_store.num_keys()

    def queue_push(self, key: str, value: str | bytes) -> None:
        self.underlying_store.queue_push(self._named(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self.underlying_store.queue_pop(self._named(key), block)

    def queue_len(self, key: str) -> int:
        return self.underlying_store.queue_len(self._named(key))

    def set_timeout(self, timeout: timedelta) -> None:
        self.timeout = timeout
        self.underlying_store.set_timeout(timeout)

    def clone(self) -> Self:
        return type(self)(self.prefix, self.underlying_store.clone())
