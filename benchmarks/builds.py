"""Two builds of retrograd in turns: what a change to the core, the engine or the backends costs or brings.

    python benchmarks/builds.py BEFORE AFTER [--only WORD] [--seconds S] [--threads N]

A build is a wheel, or a folder that holds the package. Each runs in a process of its own, which answers one row at a
time; blocks of timings alternate between the two, and the best time of each counts, as in `run.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measuring import clock
from measuring.report import duration

SLOWER = 1.05  # beyond this a row is marked
BLOCKS = 6  # of each build, at least

# Single calls, each a line of a program with a leaf `w`, constants `x`, `y` and `m`, and `F` for `nn.functional`.
CALLS = """
w * w; w + 1; x > 0; x < 0.5; x == 0; 2 - w; w / x; w ** 2; w ** x; -w; w @ x; m @ m; m.mm(m); w.exp(); w.tanh()
w.sigmoid(); w.relu()
w.clamp(0, 1); w.clamp(min=0); w.sqrt(); w.abs(); w.sin(); w.log1p(); w.isnan(); x.isnan(); x.isfinite(); x > y; x == y
w.erf(); w.lgamma(); w.cos(); w.log(); w.expm1(); w.atan(); w.floor(); w.sign(); rg.atan2(w, x); rg.hypot(w, x)
w.prod(); w.var(); w.any(); w.min(); w.logsumexp(0); w.cumprod(0); w.flip(0); w.roll(1); F.huber_loss(w, x)
(w * x).sum().backward(); w.tanh().sum().backward(); F.gelu(w).sum().backward(); w.sigmoid().sum().backward()
w.softmax(0).sum().backward(); w.exp().mean().backward(); F.mse_loss(w, x).backward(); w.std().backward()
w.sum(); w.mean(); w.sum(0, keepdim=True); w.std(); w.amax(); w.max(); w.argmax(); w.cumsum(0); w.softmax(0); w.norm()
F.log_softmax(w, 0); F.gelu(w); F.silu(w); F.softplus(w); F.elu(w); F.leaky_relu(w); F.layer_norm(m, (8,))
F.linear(m, m, m[0]); F.mse_loss(w, x); F.binary_cross_entropy_with_logits(w, x); F.cross_entropy(m, k); F.dropout(w)
F.embedding(k, m); F.one_hot(k, 8); F.pad(w, (1, 1)); F.bilinear(m, m, b); F.multilabel_margin_loss(m[0], k)
w[0]; w[1:3]; w[k]; w[x > 0]; w.view(2, -1); w.reshape(-1, 2); m.t(); m.transpose(0, 1); w.unsqueeze(0); w.expand(3, -1)
w.split(4); w.chunk(2); m.unbind(); m.sort(); m.topk(2); m.gather(0, k[None]); m.index_select(0, k); m.tril()
rg.cat([w, w]); rg.stack([w, x]); rg.where(x > 0, w, x); rg.maximum(w, x); rg.zeros(8); rg.ones_like(x); rg.arange(8)
rg.tensor([1.0, 2.0]); rg.randn(8); rg.einsum('ij,j->i', m, m[0]); rg.outer(m[0], m[1])
rg.linalg.inv(m); rg.linalg.norm(m)
x.clone(); x.detach(); x.double(); x.to(rg.float64); x.item; x.tolist(); x.numpy(); x.size(); x.shape
z.exp_(); z.clamp_(0, 1); z.add_(1); z.mul_(x); z.zero_(); z.copy_(x); z.fill_(2.0); z.relu_(); z.sub_(x, alpha=2)
z.index_fill_(0, k[:2], 0.0); z.masked_fill_(x > 0, 0.0); z.neg_(); z.sigmoid_(); z.round_()
"""


def program_of(call: str, lib: Any, size: int) -> Callable[[], Any]:
    """A hundred times the same call, on vectors of `size` elements."""
    lib.manual_seed(0)
    names = {
        "rg": lib, "F": lib.nn.functional, "w": lib.rand(size).requires_grad_(), "x": lib.rand(size),
        "y": lib.rand(size), "z": lib.rand(size), "m": lib.rand(8, 8) + lib.eye(8), "b": lib.rand(8, 8, 8),
        "k": lib.arange(8),
    }  # fmt: skip
    exec(f"def program():\n    for _ in range(100):\n        {call}\n", names)
    return names["program"]


def rows(lib: Any, size: int) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Every row of both tables, then the single calls: its name, its operations, and how to make its program."""
    import transforms
    from rows import SECTIONS

    for section in SECTIONS:
        for row in section.rows:
            yield row.name, row.operations, lambda row=row: row.make(lib)
    for section in transforms.SECTIONS.values():
        for name, make in section.items():
            yield name, 1, lambda make=make: make(lib)
    for call in CALLS.replace("\n", "; ").split("; "):
        if call:
            yield f"`{call}`", 100, lambda call=call: program_of(call, lib, size)


# ---- the process of one build ------------------------------------------------------------------------------------


def serve(folder: str, threads: int, size: int) -> None:
    """Answers the rows that are asked for: a block of timings each."""
    sys.path.insert(0, folder)
    import retrograd

    assert str(retrograd.__file__).startswith(folder), f"{retrograd.__file__} is not of {folder}"
    retrograd.set_num_threads(threads)
    known = {name: (operations, make) for name, operations, make in rows(retrograd, size)}
    print(json.dumps(list(known)), flush=True)
    current, program, calls = "", None, 1
    for line in sys.stdin:
        name = line.rstrip("\n")
        operations, make = known[name]
        if name != current:
            current, program = name, make()
            calls = clock.calls_per_timing(program)
        best = min(clock.timed(program, calls) for _ in range(clock.BLOCK)) / calls / operations
        print(best, flush=True)


class Build:
    """A build in a process of its own."""

    def __init__(self, folder: Path, threads: int, size: int) -> None:
        command = [
            sys.executable,
            __file__,
            "--serve",
            str(folder),
            "--threads",
            str(threads),
            "--size",
            str(size),
        ]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names: list[str] = json.loads(self._answer())

    def time(self, name: str) -> float:
        """The best time of a block."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a build ended: see the error above")
        return line


# ---- the comparison ----------------------------------------------------------------------------------------------


def unpacked(build: str, folder: Path) -> Path:
    """The folder that holds the package."""
    if not build.endswith(".whl"):
        return Path(build).resolve()
    zipfile.ZipFile(build).extractall(folder)
    return folder


def in_turns(before: Build, after: Build, name: str, seconds: float) -> tuple[float, float]:
    """The best time of each build for one row."""
    first = second = float("inf")
    blocks, end = 0, clock.now() + seconds
    while blocks < BLOCKS or clock.now() < end:
        first, second = min(first, before.time(name)), min(second, after.time(name))
        blocks += 1
    return first, second


def compare(before: Build, after: Build, only: str, seconds: float) -> None:
    """Prints every row that both builds have."""
    slower = []
    for name in [name for name in before.names if only in name and name in after.names]:
        first, second = in_turns(before, after, name, seconds)
        ratio = second / first
        mark = "<" if ratio > SLOWER else " "
        slower += [name] if ratio > SLOWER else []
        print(f"  {name:62}{duration(first):>11}{duration(second):>11}{ratio:>8.3f} {mark}", flush=True)
    print(
        f"\n{len(slower)} rows take more than {SLOWER - 1:.0%} longer{': ' if slower else ''}{', '.join(slower)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Two builds of retrograd in turns.")
    parser.add_argument("builds", nargs="*", metavar="BUILD", help="a wheel or a folder: before, then after")
    parser.add_argument("--only", default="", help="rows with this word in their names")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each row")
    parser.add_argument("--threads", type=int, default=2, help="threads of each build")
    parser.add_argument("--size", type=int, default=8, help="elements of the vectors in single calls")
    parser.add_argument("--serve", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.threads, args.size)
        return
    if len(args.builds) != 2:
        parser.error("name two builds: before and after")
    with tempfile.TemporaryDirectory() as scratch:
        folders = [unpacked(build, Path(scratch, str(i))) for i, build in enumerate(args.builds)]
        before, after = (Build(folder, args.threads, args.size) for folder in folders)
        print(f"  {'':62}{'before':>11}{'after':>11}{'ratio':>8}")
        compare(before, after, args.only, args.seconds)


if __name__ == "__main__":
    main()
