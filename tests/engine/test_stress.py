"""Everything at once: threads × random graphs × hooks, errors and nested backwards, against the naive engine.

Each thread draws tasks with dice of its own, so a failure names the seed that repeats it. All wait at most LIMIT
seconds; a watchdog shows every stack and ends the run if something is stuck.
"""

from __future__ import annotations

import gc
import os
import random
import threading
import time
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.core.node import Node
from retrograd.errors import FreedGraphError
from retrograd.utils.checkpoint import checkpoint
from tests.devices import fake
from tests.engine import reference
from tests.engine.programs import STEPS, Program, picked, tracked, weights_for
from tests.engine.together import (
    LIMIT,
    at_once,
    leaf,
    many_switches,
    real_stderr,
    sharing,
    step,
    watchdog,
    workers,
)

__all__ = ["real_stderr", "watchdog"]

engine = rg.autograd.Variable._execution_engine
fake.install()
CALLERS = 8
SEED = int(os.environ.get("STRESS_SEED", "0"))


class Planned(Exception):
    """An error that a task is meant to end with."""


class Nesting(rg.autograd.Function):
    """The identity, whose backward runs another backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        nested(2)
        return g


def nested(depth: int) -> None:
    """A backward of its own, with others inside."""
    x = leaf([0.3, 0.6, 0.9])
    with rg.enable_grad():
        y = (x.sin() * 2 + x.to("fake:0").to("cpu")).sum()
    y.register_hook(lambda g: nested(depth - 1) if depth else None)
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.cos([0.3, 0.6, 0.9]) + 1)


# What may stand before a root.
ENDS: list[Any] = [
    lambda t: t,
    lambda t: t,
    Nesting.apply,
    lambda t: checkpoint(rg.sin, t, use_reentrant=True),
    lambda t: checkpoint(lambda u: u.sin() * u, t, use_reentrant=False),
]


class Task:
    """A random graph with random extras; `run` is one backward of it, compared with the naive engine."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        kinds = sorted(STEPS)
        steps = [
            (dice.choice(kinds), dice.randrange(999), dice.randrange(999)) for _ in range(dice.randint(3, 14))
        ]
        self.leaves, self.pool = Program(dice.randint(1, 3), steps).grow(rg)
        self.tracked = tracked(self.pool)
        chosen = picked(self.tracked, [dice.randrange(999) for _ in range(dice.randint(1, 3))])
        self.roots = [dice.choice(ENDS)(t) for t in chosen]
        self.weights = weights_for(self.roots)
        self.factors: dict[Any, float] = {}
        self.fails = False

    def expected(self) -> list[Any]:
        starts = [(reference.edge_of(r), w) for r, w in zip(self.roots, self.weights, strict=True)]
        run = reference.run(starts, self.factors)
        return [run.seen.get(reference.edge_of(x)) for x in self.leaves]

    def decorate(self) -> None:
        """Puts hooks on tensors: some scale, some run a backward, some queue a callback, some raise."""
        for _ in range(self.dice.randrange(4)):
            tensor = self.dice.choice(self.tracked)
            edge = reference.edge_of(tensor)
            kind = self.dice.randrange(10)
            if kind < 4:
                self.factors[edge] = self.factors.get(edge, 1.0) * 2
                tensor.register_hook(lambda g: None if g is None else g * 2)
            elif kind < 7:
                tensor.register_hook(lambda g: nested(1))
            elif kind < 9:
                tensor.register_hook(lambda g: engine.queue_callback(lambda: nested(0)))
            else:
                self.fails = True
                tensor.register_hook(self.fail)

    def fail(self, grad: Any) -> None:
        raise Planned

    def backward(self, **options: Any) -> None:
        rg.autograd.backward(self.roots, [rg.Tensor(w, share=True) for w in self.weights], **options)

    def run(self) -> int:
        """One backward, or several; how many."""
        self.decorate()
        wanted = self.expected()
        times = self.dice.choice([1, 1, 1, 2])
        for k in range(times):
            try:
                self.backward(retain_graph=k + 1 < times)
            except Planned:
                assert self.fails
                return 1
        self.compare(wanted, times)
        return times

    def compare(self, wanted: list[Any], times: int) -> None:
        for x, w in zip(self.leaves, wanted, strict=True):
            if w is None:
                assert x.grad is None
            else:
                np.testing.assert_allclose(x.grad.numpy(), w * times, rtol=1e-12, atol=1e-13)


def random_tasks(seed: int, count: int) -> int:
    """Runs tasks until so many backwards are done."""
    done = 0
    number = 0
    while done < count:
        number += 1
        name = f"{seed}:{number}"
        try:
            done += Task(random.Random(name)).run()
        except BaseException as error:
            error.add_note(f"task {name}")
            raise
        assert engine.current_task() is None, name
        assert rg.is_grad_enabled(), name
    return done


@pytest.mark.parametrize("count", [1, 3])
def test_thousands_of_tasks_on_eight_threads(count):
    with sharing(count), many_switches():
        outcomes = at_once(*[lambda seed=SEED + s: random_tasks(seed, 150) for s in range(CALLERS)])
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    assert sum(outcomes) >= 150 * CALLERS


def test_no_gradient_is_lost_on_shared_leaves():
    """Every thread adds whole numbers to the same leaves, in graphs of random shape, some of which fail."""
    leaves = [leaf(np.zeros(n)) for n in (1, 3, 1000)]

    def work(seed: int) -> list[int]:
        dice = random.Random(seed)
        added = [0] * len(leaves)
        for _ in range(120):
            parts = []
            wanted = [dice.randrange(4) for _ in leaves]
            for x, times in zip(leaves, wanted, strict=True):
                where = dice.choice(["cpu", "fake:0", "fake:1"])
                parts += [(x.to(where) * 1).to("cpu").sum() for _ in range(times)]
            if not parts:
                continue
            # The hook is on the root: a backward that fails has not yet reached a leaf.
            loss = sum(parts) * 1
            if dice.randrange(5) == 0:
                loss.register_hook(raise_planned)
            try:
                loss.backward()
            except Planned:
                continue
            added = [a + w for a, w in zip(added, wanted, strict=True)]
        return added

    with sharing(3), many_switches():
        outcomes = at_once(*[lambda s=s: work(SEED + s) for s in range(CALLERS)])
    totals = [sum(column) for column in zip(*outcomes, strict=True)]
    for x, total in zip(leaves, totals, strict=True):
        assert x.grad.tolist() == [float(total)] * x.numel()


def raise_planned(grad: Any) -> None:
    raise Planned


def test_errors_on_workers_devices_and_callers_at_once():
    def fail() -> None:
        raise Planned

    def work(seed: int) -> tuple[int, int]:
        dice = random.Random(seed)
        failed = fine = 0
        for _ in range(60):
            x = leaf(1.0)
            action = dice.choice([int, int, fail])
            where = dice.choice(["cpu", "fake:0"])
            loss = step(x.to(where), action).to("cpu") + step(x * 2, int) + x * 3
            try:
                loss.backward()
            except Planned:
                assert action is fail
                failed += 1
            else:
                assert action is int
                assert x.grad.item() == 6.0
                fine += 1
        return failed, fine

    with sharing(3), many_switches():
        outcomes = at_once(*[lambda s=s: work(SEED + s) for s in range(CALLERS)])
    assert all(failed > 5 and fine > 5 for failed, fine in outcomes)


def test_one_winner_in_every_race_for_a_graph():
    """Threads meet again and again at graphs they share; each graph is won once."""
    rounds = 150
    meet = threading.Barrier(CALLERS)
    dice = random.Random(SEED)
    graphs = []
    for _ in range(rounds):
        x = leaf([0.5, 0.7])
        parts = [(x * k).sin().sum() for k in range(1, dice.randint(2, 5))]
        graphs.append(
            (x, sum(parts), sum(k * np.cos(k * np.array([0.5, 0.7])) for k in range(1, len(parts) + 1)))
        )

    def work() -> list[int]:
        won = []
        for number, (_, loss, _) in enumerate(graphs):
            meet.wait(LIMIT)
            try:
                loss.backward()
            except FreedGraphError:
                pass
            else:
                won.append(number)
        return won

    with sharing(3), many_switches():
        outcomes = at_once(*[work] * CALLERS)
    assert sorted(n for won in outcomes for n in won) == list(range(rounds))
    for x, _, wanted in graphs:
        np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-12)


def test_deep_nesting_on_several_threads():
    def descend(x: Any, depth: int) -> None:
        with rg.enable_grad():
            y = checkpoint(lambda t: t * 1, x, use_reentrant=True) + x * 1
        if depth:
            y.register_hook(lambda g: descend(x, depth - 1))
        y.backward()

    def work() -> float:
        x = leaf(1.0)
        descend(x, 100)
        return x.grad.item()

    with sharing(3):
        assert at_once(*[work] * 4) == [202.0] * 4


def nodes_alive() -> int:
    gc.collect()
    return sum(isinstance(o, Node) for o in gc.get_objects())


def test_nothing_leaks():
    """Neither nodes nor threads are left when tasks of every kind, failing ones among them, have run."""
    with sharing(3):
        at_once(*[lambda s=s: random_tasks(SEED + s, 10) for s in range(CALLERS)])
        nodes, threads = nodes_alive(), set(workers())
        outcomes = at_once(*[lambda s=s: random_tasks(SEED + 100 + s, 40) for s in range(CALLERS)])
        assert min(outcomes) >= 40
        end = time.monotonic() + 10
        while nodes_alive() > nodes and time.monotonic() < end:
            time.sleep(0.01)  # a worker may be on its way back to its queue
        assert nodes_alive() <= nodes
        assert set(workers()) == threads
