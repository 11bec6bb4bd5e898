"""What `retrograd launch` runs as each rank: `python -m retrograd.distributed.rank_main script.py …`.

It sets the variables that scripts for `torchrun` read, and runs the script as Python would. A script that fails before
it has called `init_process_group` ends the other ranks too, of which not every `mpirun` takes care.
"""

from __future__ import annotations

import io
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from retrograd.distributed.environment import seat_of_mpi
from retrograd.distributed.groups import WORLD

LOCAL_RANK = "--local-rank="
"""An argument behind which each rank writes its number on its machine."""
_PATIENCE = 15  # seconds in which the others must come to MPI, for this rank to end them


def main() -> None:
    """Runs the script, or the module after `-m`, that the command line names."""
    arguments = sys.argv[1:]
    as_module = arguments[0] == "-m"
    _set_variables()
    local_rank = os.environ.get("LOCAL_RANK", "0")
    sys.argv = [each + local_rank if each == LOCAL_RANK else each for each in arguments[as_module:]]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            line_buffering=True, write_through=False
        )  # lines of ranks come whole, and at once
    try:
        if as_module:
            sys.path[0] = os.getcwd()  # noqa: PTH109 - as Python does
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
            runpy.run_path(os.path.abspath(sys.argv[0]), run_name="__main__")  # noqa: PTH100 - links stay
    except SystemExit as error:
        if error.code in (None, 0) or WORLD.group is not None:
            raise
        _end_all(error)
    except Exception as error:  # noqa: BLE001 - told, and then the end of all
        error.__traceback__ = _own_part(error.__traceback__)
        if WORLD.group is not None:
            sys.excepthook(type(error), error, error.__traceback__)
            sys.exit(1)
        _end_all(error)


def _set_variables() -> None:
    seat = seat_of_mpi()
    if seat is None:
        return
    values = {
        "RANK": seat.rank,
        "WORLD_SIZE": seat.size,
        "LOCAL_RANK": seat.local_rank,
        "LOCAL_WORLD_SIZE": seat.local_size,
    }
    if "ROLE_NAME" in os.environ:  # torchrun's, of which there is one
        values |= {"ROLE_RANK": seat.rank, "ROLE_WORLD_SIZE": seat.size}
    for name, value in values.items():
        if value is not None:
            os.environ[name] = str(value)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without what has run the script."""
    while trace is not None and trace.tb_frame.f_code.co_filename.endswith(
        ("rank_main.py", "<frozen runpy>")
    ):
        trace = trace.tb_next
    return trace


def _end_all(error: BaseException) -> NoReturn:
    """Ends a rank that has not joined the others yet, and them with it."""
    seat = seat_of_mpi()
    if seat is None or seat.size == 1:
        raise error
    if not isinstance(error, SystemExit):
        text = "".join(traceback.format_exception(error))
        os.write(2, f"rank {seat.rank} of {seat.size} has failed:\n{text}".encode(errors="replace"))
    elif isinstance(error.code, str):
        sys.stderr.write(f"{error.code}\n")
    code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
    if hasattr(signal, "alarm"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_PATIENCE)  # the others may never come
    from retrograd.distributed import mpi

    mpi.library().COMM_WORLD.Abort(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
