"""`python -m torch.distributed.run` and `torchrun`: the ranks of one machine, started by MPI."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from retrograd.cuda.devices import device_count
from retrograd.distributed.rank_main import LOCAL_RANK
from retrograd.distributed.start_ranks import NoMPI, Plan, launch

_SEVERAL = (
    "torchrun is started once on each machine, and MPI once for all: for {nodes} machines say `retrograd launch -n "
    "RANKS --hosts a,b SCRIPT`, or call the script by `mpirun` or `srun`; docs/guide/distributed.md has a batch script."
)

# What else `torchrun` takes, most of it for its own way of starting ranks on several machines: it has no meaning here.
_TAKEN = (
    "duplicate-stderr-filters", "duplicate-stdout-filters", "event-log-handler", "local-addr", "local-ranks-filter",
    "log-dir", "logs-specs", "master-addr", "master-port", "max-restarts", "monitor-interval", "node-rank",
    "numa-binding", "rdzv-backend", "rdzv-conf", "rdzv-endpoint", "rdzv-id", "role", "shutdown-timeout",
    "signals-to-handle", "start-method",
)  # fmt: skip


def main(args: Sequence[str] | None = None, tells_local_rank: bool = False) -> None:
    """Starts a script as `torchrun` does: one machine, `--nproc-per-node` ranks.

    With `tells_local_rank` the script is given `--local-rank=…`, unless the command line has `--use-env`.
    """
    arguments, unknown = _parser().parse_known_args(args)
    if unknown:
        sys.stderr.write(
            f"torch.distributed.run: has no meaning for MPI, and is left out: {' '.join(unknown)}\n"
        )
    if str(arguments.nnodes).split(":")[-1] != "1":
        raise SystemExit(_SEVERAL.format(nodes=arguments.nnodes))
    _set_variables(arguments)
    told = [LOCAL_RANK] if tells_local_rank and not arguments.use_env else []
    program = [*(["-m"] if arguments.module else []), arguments.script, *told, *arguments.arguments]
    try:
        status = launch(Plan(_ranks(arguments.nproc_per_node), program, [], None, False, None))
    except NoMPI as error:
        raise SystemExit(f"torch.distributed.run: {error}") from None
    if status:
        raise SystemExit(status)


def _set_variables(arguments: argparse.Namespace) -> None:
    """Sets what `torchrun` sets alike for all ranks, by which scripts recognise it; `rank_main` sets the rest."""
    given = {
        "TORCHELASTIC_RUN_ID": arguments.rdzv_id or "none",
        "TORCHELASTIC_MAX_RESTARTS": arguments.max_restarts or "0",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_NAME": arguments.role or "default",
    }
    for name, value in given.items():
        os.environ.setdefault(name, value)
    for name, value in (("MASTER_ADDR", arguments.master_addr), ("MASTER_PORT", arguments.master_port)):
        if value is not None:
            os.environ[name] = value


def _ranks(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text == "gpu" and not device_count():
        raise SystemExit(
            "torch.distributed.run: --nproc-per-node=gpu: there is no GPU here. Say how many ranks."
        )
    gpus = device_count() if text in ("gpu", "auto") else 0
    return gpus or os.cpu_count() or 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torchrun", description="Start a script as several ranks, by MPI.")
    parser.add_argument("--nproc-per-node", "--nproc_per_node", default="1", help="how many ranks")
    parser.add_argument("--nnodes", default="1", help="how many machines: 1")
    parser.add_argument("-m", "--module", action="store_true", help="the script is a module")
    parser.add_argument("-r", "--redirects", help=argparse.SUPPRESS)
    parser.add_argument("-t", "--tee", help=argparse.SUPPRESS)
    for name in _TAKEN:
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", help=argparse.SUPPRESS)
    parser.add_argument("--standalone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--use-env", "--use_env", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


if __name__ == "__main__":
    main()
