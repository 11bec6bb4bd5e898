"""Transforms beside PyTorch's, in one process: Jacobians, Hessians, products with them, vmap, per-sample gradients.

Every row runs the same code on both libraries, in turns, and the best time of each counts. The last section compares
per-sample gradients with a loop over the samples, on retrograd alone.

    python benchmarks/transforms.py [--only WORD] [--seconds S] [--threads N]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import clock
from measuring.compare import disagreement
from measuring.report import Line, Report, duration

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

Program = Callable[[], Any]
BATCH = 64


def numbers(lib: Any, *shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return lib.tensor((rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32))


def network(lib: Any, sizes: tuple[int, ...]) -> Callable[[Any], Any]:
    """A perceptron as a function of its input."""
    layers = [numbers(lib, n, m, seed=i) for i, (m, n) in enumerate(itertools.pairwise(sizes))]

    def run(x: Any) -> Any:
        for w in layers[:-1]:
            x = lib.tanh(w @ x)
        return layers[-1] @ x

    return run


def energy(lib: Any) -> Callable[[Any], Any]:
    """A number that depends on all neighbours: its Hessian is full."""

    def run(x: Any) -> Any:
        return (x[1:] * x[:-1]).sin().sum() + lib.log1p((x**2).sum()) + (x**4).mean()

    return run


def loss_of(lib: Any) -> tuple[dict[str, Any], Callable[..., Any], tuple[Any, Any]]:
    """Parameters, the loss of one sample as a function of them, and a batch."""
    F = lib.nn.functional
    params = {
        "w1": numbers(lib, 64, 32), "b1": numbers(lib, 64), "w2": numbers(lib, 64, 64), "b2": numbers(lib, 64),
        "w3": numbers(lib, 10, 64), "b3": numbers(lib, 10),
    }  # fmt: skip
    labels = np.random.default_rng(1).integers(0, 10, BATCH)

    def loss(p: dict[str, Any], x: Any, y: Any) -> Any:
        h = F.relu(F.linear(x, p["w1"], p["b1"]))
        h = F.relu(F.linear(h, p["w2"], p["b2"]))
        return F.cross_entropy(F.linear(h, p["w3"], p["b3"]), y)

    return params, loss, (numbers(lib, BATCH, 32), lib.tensor(labels))


def jacobian(kind: str, sizes: tuple[int, ...]) -> Callable[[Any], Program]:
    def make(lib: Any) -> Program:
        f, x = getattr(lib.func, kind)(network(lib, sizes)), numbers(lib, sizes[0])
        return lambda: f(x)

    return make


def functional_jacobian(lib: Any) -> Program:
    f, x = network(lib, (32, 64, 32)), numbers(lib, 32)
    return lambda: lib.autograd.functional.jacobian(f, x, vectorize=True)


def hessian(count: int) -> Callable[[Any], Program]:
    def make(lib: Any) -> Program:
        f, x = lib.func.hessian(energy(lib)), numbers(lib, count)
        return lambda: f(x)

    return make


def product(kind: str) -> Callable[[Any], Program]:
    """A Hessian times a vector, in three ways."""

    def make(lib: Any) -> Program:
        F, f = lib.func, energy(lib)
        x, v = numbers(lib, 1000), numbers(lib, 1000, seed=1)
        if kind == "forward over reverse":
            return lambda: F.jvp(F.grad(f), (x,), (v,))[1]
        if kind == "reverse over reverse":
            return lambda: F.vjp(F.grad(f), x)[1](v)[0]
        return lambda: lib.autograd.functional.hvp(f, x, v)[1]

    return make


def mapped(name: str) -> Callable[[Any], Program]:
    """Functions of one sample over a batch."""

    def make(lib: Any) -> Program:
        x, w = numbers(lib, BATCH, 32), numbers(lib, 32, 32)
        f = {
            "elementwise": lambda v: (v.sin() * 2 + v).exp(),
            "matrix times sample": lambda v: w @ v,
            "softmax": lambda v: lib.softmax(v * 3, 0),
            "distance of all pairs": lambda v: lib.vmap(lambda u: ((u - v) ** 2).sum())(x),
        }[name]
        g = lib.vmap(f)
        return lambda: g(x)

    return make


def per_sample(lib: Any) -> Program:
    params, loss, batch = loss_of(lib)
    f = lib.func.vmap(lib.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: f(params, *batch)["w2"]


def per_sample_jacobians(lib: Any) -> Program:
    f, x = lib.vmap(lib.func.jacrev(network(lib, (16, 32, 8)))), numbers(lib, BATCH, 16)
    return lambda: f(x)


def gradient(lib: Any) -> Program:
    f, x = lib.func.grad(energy(lib)), numbers(lib, 50)
    return lambda: f(x)


SECTIONS: dict[str, dict[str, Callable[[Any], Program]]] = {
    "Jacobians": {
        "jacrev, 32 → 64 → 32": jacobian("jacrev", (32, 64, 32)),
        "jacfwd, 32 → 64 → 32": jacobian("jacfwd", (32, 64, 32)),
        "jacrev, 256 → 256 → 10": jacobian("jacrev", (256, 256, 10)),
        "jacfwd, 8 → 256 → 256": jacobian("jacfwd", (8, 256, 256)),
        "functional.jacobian, vectorize=True": functional_jacobian,
    },
    "Hessians": {
        "hessian of 50 dimensions": hessian(50),
        "hessian of 300 dimensions": hessian(300),
        **{f"hvp of 1,000 dimensions, {kind}": product(kind) for kind in (
            "forward over reverse", "reverse over reverse", "autograd.functional",
        )},
    },
    "Batches": {
        **{f"vmap, {name}": mapped(name) for name in (
            "elementwise", "matrix times sample", "softmax", "distance of all pairs",
        )},
        "vmap of grad: per-sample gradients, batch of 64": per_sample,
        "vmap of jacrev, batch of 64": per_sample_jacobians,
        "grad of 50 dimensions": gradient,
    },
}  # fmt: skip


def compare(report: Report, only: str, seconds: float) -> None:
    """All rows of both libraries."""
    import torch

    import retrograd

    for title, rows in SECTIONS.items():
        chosen = {name: make for name, make in rows.items() if only in name}
        if chosen:
            report.section(title)
        for name, make in chosen.items():
            programs = [make(retrograd), make(torch)]
            wrong = disagreement(*(program() for program in programs))
            ours, theirs = clock.best_times(programs, seconds, 4)
            shown = f"{name} ({wrong})" if wrong else name
            report.add(Line(shown, duration(ours), duration(theirs), theirs / ours, "", None))


def against_a_loop(only: str, seconds: float) -> None:
    """Per-sample gradients and a loop of backwards over the samples, on retrograd."""
    from tests.func.models import MODELS, looped

    from retrograd.func import per_sample_grads

    print(f"\n{'Per-sample gradients, batch of 64':46}{'at once':>11}{'a loop':>11}{'ratio':>9}")
    for name, make in MODELS.items():
        if only not in name:
            continue
        model = make(BATCH, "float32")
        once = lambda model=model: per_sample_grads(model.loss, model.params, *model.batch)  # noqa: E731
        loop = lambda model=model: looped(model)  # noqa: E731
        ours, theirs = clock.best_times([once, loop], seconds, 3)
        print(f"  {name:44}{duration(ours):>11}{duration(theirs):>11}{theirs / ours:>8.1f}×", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Transforms beside PyTorch's.")
    parser.add_argument("--only", default="", help="rows with this word in their names")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each row")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # torch's own deprecations, when forward mode is first used
    import torch

    torch.set_num_threads(args.threads)
    report = Report([f"retrograd beside PyTorch {torch.__version__}, {args.threads} thread(s)"])
    compare(report, args.only, args.seconds)
    report.close()
    against_a_loop(args.only, args.seconds)


if __name__ == "__main__":
    main()
