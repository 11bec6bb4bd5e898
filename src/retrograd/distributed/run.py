"""`python -m torch.distributed.run` and `torchrun`: the ranks of one machine, started by MPI."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from retrograd.distributed.launching import NoMPI, Plan, launch

_SEVERAL = (
    "torchrun is started once on each machine, and MPI once for all: for {nodes} machines say `retrograd launch -n "
    "RANKS --hosts a,b SCRIPT`, or call the script by `mpirun` or `srun`; docs/guide/distributed.md has a batch script."
)


def main(args: Sequence[str] | None = None) -> None:
    """Starts a script as `torchrun` does: one machine, `--nproc-per-node` ranks."""
    arguments, unknown = _parser().parse_known_args(args)
    if unknown:
        sys.stderr.write(
            f"torch.distributed.run: has no meaning for MPI, and is left out: {' '.join(unknown)}\n"
        )
    if str(arguments.nnodes).split(":")[-1] != "1":
        raise SystemExit(_SEVERAL.format(nodes=arguments.nnodes))
    program = [*(["-m"] if arguments.module else []), arguments.script, *arguments.arguments]
    try:
        status = launch(Plan(_ranks(arguments.nproc_per_node), program, [], None, False, None))
    except NoMPI as error:
        raise SystemExit(f"torch.distributed.run: {error}") from None
    if status:
        raise SystemExit(status)


def _ranks(text: str) -> int:
    if text.isdigit():
        return int(text)
    return os.cpu_count() or 1  # "auto", "cpu", and "gpu" where there is none


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torchrun", description="Start a script as several ranks, by MPI.")
    parser.add_argument("--nproc-per-node", "--nproc_per_node", default="1", help="how many ranks")
    parser.add_argument("--nnodes", default="1", help="how many machines: 1")
    parser.add_argument("-m", "--module", action="store_true", help="the script is a module")
    for name in (
        "node-rank",
        "rdzv-backend",
        "rdzv-endpoint",
        "rdzv-id",
        "rdzv-conf",
        "max-restarts",
        "master-addr",
    ):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", help=argparse.SUPPRESS)
    parser.add_argument("--master-port", "--master_port", help=argparse.SUPPRESS)
    parser.add_argument("--standalone", "--use-env", "--use_env", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


if __name__ == "__main__":
    main()
