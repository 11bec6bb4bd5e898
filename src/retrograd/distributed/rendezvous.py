"""Ranks that no `mpirun` has started find each other: those of `multiprocessing.spawn`, or of a script's own making.

Note [Ranks without mpirun]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
PyTorch's programs may start their ranks themselves, and give each its number and the address of the first one, in the
variables MASTER_ADDR and MASTER_PORT. MPICH and its kin ask whoever has started them for the addresses of the others,
by lines of text over a socket (PMI-1). So the first rank starts a small process that answers these lines at that
address, and every rank tells MPI to ask there. It only introduces them: messages between ranks are MPI's. It is a
process, not a thread, since Python stands still while MPI starts; and it is run from this file alone, which therefore
imports nothing of the package. Open MPI asks in another way, and needs its `mpirun`.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import time
import uuid
from typing import Any

STARTED: list[Any] = []  # the process that answers, if this is the first rank
_MAXES = "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=4096"


def join(rank: int, size: int, address: str, port: int, seconds: float) -> None:
    """Has MPI, which is not loaded yet, ask for the other ranks at an address; the first rank answers there."""
    if rank == 0:
        command = [sys.executable, "-I", __file__, str(port), str(size)]
        nothing = subprocess.DEVNULL  # it must not keep open what rank 0 was given to write to
        STARTED.append(
            subprocess.Popen(command, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)  # noqa: S603
        )
    _wait_for(address, port, seconds)
    os.environ.update(PMI_PORT=f"{address}:{port}", PMI_ID=str(rank), PMI_RANK=str(rank), PMI_SIZE=str(size))


def leave() -> None:
    """Takes back what `join` has done, where MPI could not be loaded."""
    for name in ("PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE"):
        os.environ.pop(name, None)
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.wait()


def _wait_for(address: str, port: int, seconds: float) -> None:
    """Waits until somebody answers."""
    end = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((address, port), timeout=5) as probe:
                probe.sendall(b"cmd=probe\n")
                if probe.recv(64).startswith(b"cmd=probe"):
                    return
        except OSError:
            pass
        if time.monotonic() > end:
            raise TimeoutError(
                f"rank 0 did not answer at {address}:{port} within {seconds:g} seconds. All ranks need the same "
                "MASTER_ADDR and MASTER_PORT, and rank 0 must run on that machine."
            )
        time.sleep(0.02)


class Registry:
    """What ranks tell of themselves, and ask of each other."""

    def __init__(self, size: int) -> None:
        self.size = size
        # MPICH makes the name of the memory that ranks share of this one. What a job that was killed has left there, or
        # another one is using, must not be found.
        self.job: str = f"ranks-{uuid.uuid4().hex}"
        self.values: dict[str, str] = {}
        self.waiting: list[Any] = []  # connections in the barrier
        self.ended: int = 0

    def answer(self, request: dict[str, str], connection: Any) -> list[str]:
        """The lines to send back for one that has come."""
        command = request.get("cmd", "")
        if command == "initack":
            return [
                "cmd=initack rc=0",
                f"cmd=set size={self.size}",
                f"cmd=set rank={request['pmiid']}",
                "cmd=set debug=0",
            ]
        if command == "put":
            self.values[request["key"]] = request["value"]
            return ["cmd=put_result rc=0 msg=success"]
        if command == "get":
            found = self.values.get(request["key"])
            return [
                "cmd=get_result rc=-1 msg=key_not_found"
                if found is None
                else f"cmd=get_result rc=0 msg=success value={found}"
            ]
        if command == "barrier_in":
            return self._barrier(connection)
        if command == "finalize":
            self.ended += 1
        return [self._fixed(command)]

    def _barrier(self, connection: Any) -> list[str]:
        self.waiting.append(connection)
        if len(self.waiting) < self.size:
            return []
        for other in self.waiting:
            other.sendall(b"cmd=barrier_out rc=0\n")
        self.waiting = []
        return []

    def _fixed(self, command: str) -> str:
        """Answers that are always the same."""
        return {
            "probe": "cmd=probe",
            "init": "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
            "get_maxes": _MAXES,
            "get_appnum": "cmd=appnum rc=0 appnum=0",
            "get_my_kvsname": f"cmd=my_kvsname rc=0 kvsname={self.job}",
            "get_universe_size": f"cmd=universe_size rc=0 size={self.size}",
            "finalize": "cmd=finalize_ack rc=0",
        }.get(command, f"cmd={command} rc=-1 msg=unknown")


def serve(port: int, size: int) -> None:
    """Answers until all ranks have gone again, or rank 0 has, which has started this process."""
    registry = Registry(size)
    parts: dict[Any, bytes] = {}
    came = False
    parent = os.getppid()
    with socket.create_server(("", port), backlog=size) as server, selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        while parts or (not came and os.getppid() == parent):
            for key, _ in selector.select(1.0):
                connection: Any = key.fileobj
                if connection is server:
                    accepted, _ = server.accept()
                    selector.register(accepted, selectors.EVENT_READ)
                    parts[accepted] = b""
                    continue
                data = _received(connection)
                *lines, parts[connection] = (parts[connection] + data).split(b"\n")
                for line in lines:
                    request = dict(word.split("=", 1) for word in line.decode().split() if "=" in word)
                    came = came or request.get("cmd") == "initack"
                    for text in registry.answer(request, connection):
                        connection.sendall(text.encode() + b"\n")
                if not data:
                    selector.unregister(connection)
                    del parts[connection]
                    connection.close()


def _received(connection: Any) -> bytes:
    try:
        return bytes(connection.recv(65536))
    except OSError:
        return b""


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
