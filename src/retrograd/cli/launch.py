"""`retrograd launch`: a script as several ranks, started by MPI."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from retrograd.alias.install import FOLDER
from retrograd.cli.numbers import at_least_one
from retrograd.cli.script import takes_script
from retrograd.distributed.start_ranks import MPIRUN, NoMPI, Plan, launch

_DESCRIPTION = f"""\
Starts a script as several processes, called ranks, that train together by retrograd.distributed.

  retrograd launch -n 4 train.py --epochs 3      four ranks on this machine
  retrograd launch -n 8 --hosts a,b train.py     four on each of two machines
  retrograd launch -n 2 --torch ddp.py           a script that says `import torch`

The system's `mpirun` is used if there is one (or the one that the variable {MPIRUN} names), and otherwise that of the
extra: pip install 'retrograd[mpi]'. Each line of output begins with its rank. When a rank fails, its traceback is
printed and all end; Ctrl-C ends all. Under a batch system, `srun python train.py` does without this command.
"""


def add(commands: Any) -> None:
    """Adds the command to the parser."""
    found = commands.add_parser(
        "launch",
        help="run a script as several processes that train together, by MPI",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("-n", "--ranks", type=at_least_one, required=True, help="how many processes")
    found.add_argument(
        "--hosts", default="", metavar="A,B", help="the machines, by name; by default this one"
    )
    found.add_argument(
        "--threads",
        type=at_least_one,
        help="threads of each rank; by default cores / ranks, where not set already",
    )
    found.add_argument(
        "--no-labels", action="store_true", help="print lines as they are, without the rank in front"
    )
    found.add_argument("--mpirun", metavar="FILE", help="the mpirun to start them with")
    found.add_argument("--torch", action="store_true", help="with retrograd as the script's `torch`")
    found.add_argument("-m", dest="module", action="store_true", help="run a module or package, by its name")
    takes_script(found)
    found.set_defaults(call=run)


def run(arguments: argparse.Namespace) -> int:
    """Starts the ranks and waits for them; the exit status of `mpirun`."""
    if arguments.torch:
        path = [FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(path)
    here = not (arguments.module or arguments.hosts)
    if here and not Path(arguments.script).exists():  # each rank would say so
        print(f"retrograd launch: there is no file {arguments.script}", file=sys.stderr)
        return 2
    program = [*(["-m"] if arguments.module else []), arguments.script, *arguments.arguments]
    hosts = [host for host in arguments.hosts.split(",") if host]
    plan = Plan(arguments.ranks, program, hosts, arguments.threads, not arguments.no_labels, arguments.mpirun)
    sys.stdout.flush()
    try:
        return launch(plan)
    except NoMPI as error:
        print(f"retrograd launch: {error}", file=sys.stderr)
        return 1
