"""The native pack's kernels beside NumPy's own functions: where does NumPy win?

    python benchmarks/kernels.py [--only WORD] [--sizes N …] [--threads N …] [--seconds S] [--all]

Three sorts: functions of NumPy's names; formulas of elementwise ops, forward and backward, which the pack computes in
one pass; and ops along an axis, as softmax. What people get, be it a kernel or NumPy by the kernel's own choice, is
timed beside the same formula with NumPy alone, in turns in one process, and the best time of each counts. Only lost
rows are printed, or all of them with `--all`.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from measuring import clock
from measuring.report import duration

import retrograd
from retrograd.backends.base import BACKENDS
from retrograd.backends.native import CPU_BACKEND
from retrograd.backends.numpy_backend import NUMPY
from retrograd.backends.pack import PACK
from retrograd.core.metadata import InputMetadata
from retrograd.core.node import Edge, Identity
from retrograd.core.op import Binary, Unary, Variadic
from retrograd.core.traits import traits_of

LOST = 1.05  # of NumPy's time: beyond this a row is lost
BLOCKS = 4  # of each, at least
COLUMNS = 100  # of the matrices that are worked on along an axis

REDUCTIONS = ("sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin")
# Ops along an axis of a matrix, by module, class and arguments.
ALONG = (
    *(f"nn.softmax.{name}({axis})" for name in ("Softmax", "LogSoftmax") for axis in (0, 1)),
    *(f"reduce.sums.Logsumexp(({axis},), False)" for axis in (0, 1)),
    *(f"reduce.statistics.{name}(({axis},), 1, False)" for name in ("Var", "Std") for axis in (0, 1)),
    *(f"reduce.running_sums.{name}({axis})" for name in ("Cumsum", "Cumprod") for axis in (0, 1)),
    *("nn.difference_loss.MseLoss(1)", "nn.difference_loss.HuberLoss(1, 1.0)"),
)
# Values of parameters, by their names; 0.7 serves for the rest.
VALUES = {
    "approximate": ("none", "tanh"), "exponent": (2, 3, 0.5, -1, 2.7), "mode": ("floor", "trunc"),
    "low": (0.2,), "high": (0.6,), "eps": (0.1,), "noise": (None,), "training": (False,),
}  # fmt: skip


class Case(NamedTuple):
    """One kernel, and the same by NumPy alone."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]


def numbers(shape: Any, dtype: str, seed: int) -> Any:
    """Numbers between 0.05 and 0.95, where every function is defined but those that `moved` is for."""
    return np.random.default_rng(seed).uniform(0.05, 0.95, shape).astype(dtype)


def moved(name: str, x: Any) -> Any:
    """The numbers, where `name` is defined."""
    return x + 1 if "cosh" in name.lower() else x


# ---- functions of NumPy's names ----------------------------------------------------------------------------------


def functions(size: int, dtype: str) -> Iterator[Case]:
    """Functions of one and of two arrays, `where`, and reductions: of everything, of rows, of columns."""
    x, y = numbers(size, dtype, 0), numbers(size, dtype, 1)
    mask, matrix = y > 0.5, x.reshape(-1, COLUMNS)
    for name in sorted(vars(PACK)):
        kernel, plain = getattr(PACK, name), getattr(np, name, None)
        if isinstance(plain, np.ufunc) and plain.signature is None:
            args = (x, y)[: plain.nin]
            yield Case(f"np.{name}", lambda f=kernel, a=args: f(*a), lambda f=plain, a=args: f(*a))
            if plain.nin == 2:
                yield Case(f"np.{name}, a number", lambda f=kernel: f(x, 0.3), lambda f=plain: f(x, 0.3))
    yield Case("np.where", lambda: PACK.where(mask, x, y), lambda: np.where(mask, x, y))
    for name, axis in itertools.product(REDUCTIONS, (None, 0, 1)):
        kernel, plain = getattr(PACK, name), getattr(np, name)
        yield Case(
            f"np.{name}, axis {axis}",
            lambda f=kernel, axis=axis: f(matrix, axis=axis),
            lambda f=plain, axis=axis: f(matrix, axis=axis),
        )


# ---- ops ---------------------------------------------------------------------------------------------------------


def class_of(name: str) -> Any:
    """An op class, by `module.Class`."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(f"retrograd.ops.{module}"), own)


def fused_ops() -> Iterator[tuple[str, Any]]:
    """Every op that has a compiled formula, with some parameters."""
    for name in sorted({key.rpartition(".")[0] for key in PACK.fused_kernels()}):
        cls = class_of(name)
        for values in itertools.product(*(VALUES.get(param, (0.7,)) for param in cls.params)):
            shown = f"({', '.join(map(str, values))})" if values else ""
            yield f"{name}{shown}", cls(*values)


def ops_along() -> Iterator[tuple[str, Any]]:
    """Ops that work along an axis."""
    for text in ALONG:
        name, _, values = text.partition("(")
        yield text, eval(f"make({values}", {"make": class_of(name)})


def cases_of(name: str, op: Any, x: Any) -> Iterator[Case]:
    """The forward of an op, and its backward."""
    count = 1 if isinstance(op, Unary) else 2 if isinstance(op, Binary) else 3
    xs = [moved(name, x), *(numbers(x.shape, x.dtype, seed) for seed in range(2, count + 1))]
    given = (xs,) if isinstance(op, Variadic) else xs
    forward = served(traits_of(op).forward, (op, *xs), lambda: op.forward(CPU_BACKEND, *given))
    yield Case(f"{name} forward", forward, lambda: op.forward(NUMPY, *given))
    out = np.asarray(op.forward(NUMPY, *given))
    op._meta = InputMetadata(out.shape, out.dtype)
    op.set_next_edges([Edge(Identity(), 0)] * count)
    g = numbers(out.shape, x.dtype, 9)
    if isinstance(op, Variadic):
        plain, args = lambda: op.vjp([g], xs, [out]), (op, g, *xs, 7)
    elif count == 1:
        plain, args = lambda: op.vjp(g, xs[0], out), (op, g, xs[0], out)
    else:
        plain, args = lambda: (op.vjp(0, g, *xs, out), op.vjp(1, g, *xs, out)), (op, g, *xs, out, 3)
    if op.differentiable:
        yield Case(f"{name} backward", served(traits_of(op).vjp, args, plain), plain)


def served(kernel: Any, args: tuple[Any, ...], plain: Callable[[], Any]) -> Callable[[], Any]:
    """The compiled formula on some arguments, or, where it does not serve them, the plain one."""
    serves = kernel is not None and kernel(*args) is not NotImplemented
    return (lambda: kernel(*args)) if serves else plain


def cases(size: int, dtype: str) -> Iterator[Case]:
    """All of them."""
    yield from functions(size, dtype)
    x = numbers(size, dtype, 0)
    for name, op in fused_ops():
        yield from cases_of(name, op, x)
    for name, op in ops_along():
        yield from cases_of(name, op, x.reshape(-1, COLUMNS))


# ---- the comparison ----------------------------------------------------------------------------------------------


def in_turns(case: Case, seconds: float) -> tuple[float, float]:
    """The best time of each; formulas find NumPy alone where it is its turn."""
    sides = ((case.ours, CPU_BACKEND), (case.theirs, NUMPY))
    best, calls = [float("inf")] * 2, [0] * 2
    blocks, end = 0, clock.now() + seconds
    try:
        while blocks < BLOCKS or clock.now() < end:
            for i, (program, backend) in enumerate(sides):
                BACKENDS.cpu = backend
                calls[i] = calls[i] or clock.calls_per_timing(program)
                for _ in range(clock.BLOCK):
                    best[i] = min(best[i], clock.timed(program, calls[i]) / calls[i])
            blocks += 1
    finally:
        BACKENDS.cpu = CPU_BACKEND
    return best[0], best[1]


def compare(size: int, dtype: str, threads: int, only: str, seconds: float, everything: bool) -> None:
    """Prints the rows of one size, dtype and number of threads."""
    retrograd.set_num_threads(threads)
    count, lost = 0, 0
    title = f"{size:,} numbers, {dtype}, {threads} thread{'s' if threads > 1 else ''}"
    print(f"{title:62}{'ours':>11}{'NumPy':>11}{'ratio':>8}", flush=True)
    for case in cases(size, dtype):
        if only not in case.name:
            continue
        ours, theirs = in_turns(case, seconds)
        ratio = ours / theirs
        count, lost = count + 1, lost + (ratio > LOST)
        if everything or ratio > LOST:
            mark = "<" if ratio > LOST else " "
            print(
                f"  {case.name:60}{duration(ours):>11}{duration(theirs):>11}{ratio:>8.2f} {mark}", flush=True
            )
    print(f"  {lost} of {count} are lost\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="The native pack's kernels beside NumPy's own functions.")
    parser.add_argument("--only", default="", help="kernels with this word in their names")
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[100, 10_000, 1_000_000], help="multiples of 100"
    )
    parser.add_argument("--threads", type=int, nargs="*", default=[1, retrograd.get_num_threads()])
    parser.add_argument("--seconds", type=float, default=0.0, help="time for each kernel, at least")
    parser.add_argument("--all", action="store_true", help="print what is won, too")
    args = parser.parse_args()
    if PACK is None:
        parser.exit(1, "the native pack is not built, or was left out\n")
    np.seterr(all="ignore")  # as operations run: see docs/decisions/0003-quiet-numpy.md
    for threads, size, dtype in itertools.product(
        sorted(set(args.threads)), args.sizes, ("float32", "float64")
    ):
        compare(size, dtype, threads, args.only, args.seconds, args.all)


if __name__ == "__main__":
    main()
