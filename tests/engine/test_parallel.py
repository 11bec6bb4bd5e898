"""Branches that run at once: the bits are those of one thread, and who runs what is as Note [Shared backward] says."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import retrograd as rg
from retrograd.engine import parallel, threads
from retrograd.utils.checkpoint import checkpoint
from tests.builds import replaces_functions
from tests.devices import fake
from tests.engine import reference
from tests.engine.programs import STEPS, Program, picked, programs, tracked, weights_for
from tests.engine.test_random_graphs import Grown, same, some_places
from tests.engine.together import (
    LIMIT,
    Company,
    here,
    leaf,
    many_switches,
    real_stderr,
    sharing,
    step,
    watchdog,
    within_limit,
    workers,
)

__all__ = ["real_stderr", "watchdog"]

engine = rg.autograd.Variable._execution_engine
fake.install()


def random_program(seed: int) -> Program:
    dice = random.Random(seed)
    kinds = sorted(STEPS)
    steps = [
        (dice.choice(kinds), dice.randrange(999), dice.randrange(999)) for _ in range(dice.randint(4, 24))
    ]
    return Program(dice.randint(1, 4), steps)


def gradients(program: Program, count: int) -> list[bytes | None]:
    """The bits of the gradients of all leaves, computed by so many threads."""
    leaves, pool = program.grow(rg)
    roots = picked(tracked(pool), [997, 31, 5, 2])
    with sharing(count), many_switches():
        rg.autograd.backward(roots, [rg.Tensor(w, share=True) for w in weights_for(roots)])
    return [None if x.grad is None else x.grad.numpy().tobytes() for x in leaves]


# -- bits ------------------------------------------------------------------------------------------------------------


def test_a_thousand_graphs_have_the_same_bits_for_1_2_and_8_threads():
    def all_of_them() -> None:
        for seed in range(1000):
            program = random_program(seed)
            alone = gradients(program, 1)
            assert gradients(program, 2) == alone, f"seed {seed}, 2 threads"
            assert gradients(program, 8) == alone, f"seed {seed}, 8 threads"

    within_limit(all_of_them)


def sums(count: int, scale: list[float]) -> bytes:
    """Many gradients of very different size that meet in a leaf, each in its own time: the bits tell the order."""
    x = leaf(np.linspace(0.1, 0.7, 5))
    dice = random.Random()
    branches = [step(x * s, lambda: time.sleep(dice.choice([0, 0, 0.001]))).sin() * (1 / s) for s in scale]
    with sharing(count):
        rg.autograd.backward(branches, [rg.Tensor(np.full(5, s), share=True) for s in scale])
    return x.grad.numpy().tobytes()


def test_sums_are_taken_in_the_order_of_one_thread():
    dice = random.Random(1)
    scale = [dice.uniform(0.1, 1) * 10 ** dice.uniform(-8, 8) for _ in range(40)]
    alone = sums(1, scale)
    assert sums(1, scale[::-1]) != alone, "the order would not be noticed"
    for _ in range(10):
        assert sums(8, scale) == alone


@pytest.mark.parametrize("size", [60, 200])
def test_matrix_products_have_the_same_bits(size):
    """BLAS rounds some products of this size differently on one thread and on two."""

    def layers(count: int) -> list[bytes]:
        rng = np.random.default_rng(3)
        weights = [leaf(rng.standard_normal((2 * size, size // 2)) / 8) for _ in range(6)]
        x = rg.Tensor(rng.standard_normal((size, 2 * size)), share=True)
        with sharing(count):
            towers = [((x @ a).tanh() @ b.T).sin() for a, b in zip(weights[:3], weights[3:], strict=True)]
            (towers[0] + towers[1] * towers[2]).sum().backward()
        return [w.grad.numpy().tobytes() for w in weights]

    alone = layers(1)
    for count in (2, 8, 3):
        assert layers(count) == alone


def test_hooks_see_the_same_bits_in_the_same_order():
    def log(count: int) -> list[Any]:
        seen: list[Any] = []
        _, pool = random_program(77).grow(rg)
        for i, t in enumerate(tracked(pool)):
            t.register_hook(lambda g, i=i: seen.append((i, None if g is None else g.numpy().tobytes())))
        roots = picked(tracked(pool), [997, 31, 5])
        with sharing(count):
            rg.autograd.backward(roots, [rg.Tensor(w, share=True) for w in weights_for(roots)])
        return seen

    alone = log(1)
    assert len(alone) > 5
    for _ in range(20):
        assert log(8) == alone


# -- against the naive engine ----------------------------------------------------------------------------------------

FEW = settings(max_examples=25)


@FEW
@given(programs, some_places, some_places)
def test_leaves_and_retained_gradients(program, roots, hooked):
    grown = Grown(program, roots)
    grown.scale(hooked)
    kept = grown.tracked[::2]
    for tensor in kept:
        tensor.retain_grad()
    expected = grown.expected()
    with sharing(4):
        grown.backward()
    grown.check_leaves(expected)
    for tensor in kept:
        same(tensor.grad, expected.seen.get(reference.edge_of(tensor)))


@FEW
@given(programs, some_places, some_places, some_places)
def test_grad_of_some_inputs(program, roots, wanted, hooked):
    grown = Grown(program, roots)
    grown.scale(hooked)
    inputs = picked(grown.tracked, wanted)
    edges = [reference.edge_of(t) for t in inputs]
    expected = grown.expected(only=edges)
    needed = set(expected.order)
    with sharing(4):
        found = grown.grad(inputs)
    for edge, value in zip(edges, found, strict=True):
        same(value, (expected.arrived if edge[0] in needed else expected.seen).get(edge))
    assert all(t._grad is None for t in grown.tracked)


@FEW
@given(programs, some_places, some_places)
def test_nodes_with_hooks_keep_the_order_of_the_contract(program, roots, hooked):
    grown = Grown(program, roots)
    nodes = sorted(
        reference.reachable(node for (node, _), _ in grown.starts()),
        key=lambda n: (n.name(), n._sequence_nr()),
    )
    watched = set(picked(nodes, hooked))
    expected = [n for n in grown.expected().order if n in watched]
    ran: list[Any] = []
    for node in watched:
        node.register_prehook(lambda grads, node=node: ran.append(node))
    with sharing(4):
        grown.backward()
    assert ran == expected


# -- who runs what ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 5])
def test_as_many_branches_run_at_once_as_there_are_threads(count):
    meet = threading.Barrier(count)  # nobody passes it before all are there
    x = leaf()
    with sharing(count):
        branches = [step(x, lambda: meet.wait(LIMIT)) for _ in range(count)]
        within_limit(lambda: sum(branches).backward())
    assert x.grad.item() == count


def test_no_more_branches_run_at_once_than_threads_are_allowed():
    lock, now, most, company = threading.Lock(), [0], [0], Company()

    def busy() -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        company.join()
        time.sleep(0.004)
        with lock:
            now[0] -= 1

    with sharing(6):  # so that more workers are there than may help below
        leaf().sin().backward()
    with sharing(3):
        sum(step(leaf(), busy) for _ in range(30)).backward()
    assert 1 < most[0] <= 3


def test_workers_and_the_caller_share_built_in_nodes():
    company = Company()
    with sharing(3):
        sum(step(leaf(), company.join) for _ in range(20)).backward()
    assert here() in company.names
    assert any(name.startswith("retrograd-cpu-") for name in company.names)


def test_everything_a_user_wrote_runs_on_the_calling_thread():
    ran: list[str] = []

    class Mine(rg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ran.append(here())
            return g * 2

    def unpack(t: Any) -> Any:
        ran.append(here())
        return t

    def again(t: Any) -> Any:
        ran.append(here())
        return t.sin()

    def branch() -> Any:
        x = leaf()
        x.register_hook(lambda g: ran.append(here()))
        x.register_post_accumulate_grad_hook(lambda t: ran.append(here()))
        y = Mine.apply(x).cos()
        y.register_hook(lambda g: engine.queue_callback(lambda: ran.append(here())))
        y.grad_fn.register_hook(lambda gi, go: ran.append(here()))
        y.grad_fn.register_prehook(lambda go: ran.append(here()))
        with rg.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = y.exp() * y
        return checkpoint(again, y, use_reentrant=False)

    with sharing(4):
        for _ in range(20):
            loss = sum(branch() for _ in range(3))
            ran.clear()
            loss.backward()
            assert len(ran) >= 24
            assert set(ran) == {here()}


def test_hooks_of_a_leaf_alone_run_on_the_calling_thread():
    ran: list[str] = []
    with sharing(4), many_switches():
        for _ in range(50):
            leaves = [leaf() for _ in range(4)]
            for x in leaves:
                x.register_post_accumulate_grad_hook(lambda t: ran.append(here()))
            sum(x.sin() for x in leaves).backward()
    assert ran == [here()] * 200


def test_a_hook_waits_for_those_that_come_before_it():
    """The first has to wait for a device, the second is ready at once."""
    ran: list[str] = []
    second = leaf() * 1
    first = leaf() * 1
    first.register_hook(lambda g: ran.append("first"))
    second.register_hook(lambda g: ran.append("second"))
    slow = step(first.to("fake:0"), lambda: time.sleep(0.05)).to("cpu")
    (second + slow).backward()
    assert ran == ["first", "second"]


def test_a_hook_that_a_hook_registers_runs_on_the_calling_thread_too():
    ran: list[str] = []
    with sharing(4):
        for _ in range(50):
            x, y = leaf(), leaf()
            a, b = x.sin(), y.sin()
            c = a.cos() + b.cos()
            c.register_hook(
                lambda g: [t.register_hook(lambda g: ran.append(here())) for t in (a, b)] and None
            )
            (c * 1).backward()
    assert ran == [here()] * 100


def test_a_small_node_is_left_to_the_caller_even_in_a_shared_backward():
    """While the caller is at a small node, there is a large one for a worker."""
    small_ones: set[str] = set()
    large_ones: set[str] = set()
    helped = threading.Event()

    def small() -> None:
        small_ones.add(here())
        if not helped.wait(LIMIT):
            helped.set()

    def large(caller: str = here()) -> None:
        large_ones.add(here())
        if here() != caller:
            helped.set()

    with sharing(3, large=100):
        branches = []
        for _ in range(12):
            later = step(leaf(np.ones(4)), small)  # what is made first runs last
            sooner = step(leaf(np.ones(200)), large).reshape(50, 4)
            branches.append(step(later + sooner, large).sum())
        sum(branches).backward()
    assert small_ones == {here()}
    assert large_ones - {here()}


def test_nodes_that_lead_to_large_ones_have_their_backward_shared():
    company = Company()
    with sharing(2, large=100):
        branches = [step(leaf(np.ones(200)), company.join) * 2 for _ in range(8)]
        sum(branch.sum() for branch in branches).backward()
    assert company.names - {here()}


def in_a_process(code: str) -> str:
    """What a program prints; it begins with retrograd imported."""
    prelude = "import threading, numpy as np, retrograd as rg\n"
    show = "\nprint(sorted(t.name for t in threading.enumerate() if t.name.startswith('retrograd')))"
    done = subprocess.run(
        [sys.executable, "-c", prelude + code + show],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "x = rg.ones(8, requires_grad=True)\nfor _ in range(50): sum((x * i).sin() for i in range(8)).sum().backward()",
        "x = rg.ones(400, 400, requires_grad=True)\nx.cumsum(0).cumsum(1).cumsum(0).sum().backward()",
        """x = rg.ones(400, 400, requires_grad=True)
with rg.autograd.set_multithreading_enabled(False): (x.cumsum(0) + x.cumsum(1)).sum().backward()""",
        "rg.set_num_threads(1)\nx = rg.ones(400, 400, requires_grad=True)\n(x.cumsum(0) + x.lgamma()).sum().backward()",
        "x = rg.ones(400, 400, requires_grad=True)\n(x @ x + x @ x.T).sum().backward()",
        "x = rg.ones(400, 400, requires_grad=True)\n(x.sin() + x.cos()).sum().backward()",
    ],
    ids=["small", "one large branch", "forbidden", "one thread", "spread by BLAS", "spread by kernels"],
)
def test_no_thread_is_started_where_none_is_needed(code):
    assert in_a_process("rg.set_num_threads(4)\n" + code) == "[]"


def test_large_branches_start_their_workers_once():
    code = (
        "rg.set_num_threads(3)\nx = rg.ones(400, 400, requires_grad=True)\n"
        "for _ in range(5): (x.cumsum(0) + x.lgamma()).sum().backward()"
    )
    assert in_a_process(code) == "['retrograd-cpu-0', 'retrograd-cpu-1']"


def test_a_recorded_backward_keeps_to_its_caller():
    ran: set[str] = set()
    x = leaf()
    with sharing(4):
        y = sum(step(x * x, lambda: ran.add(here())) for _ in range(8))
        (g,) = rg.autograd.grad(y, x, create_graph=True)
    assert ran == {here()}
    (h,) = rg.autograd.grad(g, x)
    assert h.item() == 16.0


def test_workers_survive_being_idle():
    with sharing(3):
        (leaf().sin() + leaf().cos()).backward()
        before = workers()
        time.sleep(0.2)
        meet = threading.Barrier(3)
        within_limit(lambda: sum(step(leaf(), lambda: meet.wait(LIMIT)) for _ in range(3)).backward())
        assert workers() == before


# -- settings --------------------------------------------------------------------------------------------------------


@pytest.fixture
def settings_as_before():
    now = threads.SETTINGS
    before = now.num_threads, now.num_interop_threads
    yield
    now.num_threads, now.num_interop_threads = before
    rg.set_num_threads(rg.get_num_threads())


@pytest.mark.usefixtures("settings_as_before")
def test_numbers_of_threads_are_what_was_set():
    assert rg.get_num_threads() >= 1
    rg.set_num_threads(5)
    rg.set_num_interop_threads(3)
    assert (rg.get_num_threads(), rg.get_num_interop_threads()) == (5, 3)


@pytest.mark.parametrize("name", ["set_num_threads", "set_num_interop_threads"])
@pytest.mark.parametrize(("count", "what"), [(0, "positive"), (-2, "positive"), (1.5, "int"), ("2", "int")])
def test_a_number_of_threads_must_be_a_positive_int(name, count, what):
    before = rg.get_num_threads()
    with pytest.raises(RuntimeError, match=what):
        getattr(rg, name)(count)
    assert rg.get_num_threads() == before


def test_multithreading_is_the_threads_own_setting():
    seen: list[bool] = []
    with rg.autograd.set_multithreading_enabled(False):
        assert not rg.autograd.is_multithreading_enabled()
        other = threading.Thread(target=lambda: seen.append(rg.autograd.is_multithreading_enabled()))
        other.start()
        other.join(LIMIT)
    assert rg.autograd.is_multithreading_enabled()
    assert seen == [True]


def test_without_multithreading_the_caller_runs_every_branch():
    ran: set[str] = set()
    with sharing(4), rg.autograd.set_multithreading_enabled(False):
        sum(step(leaf(), lambda: ran.add(here())) for _ in range(10)).backward()
    assert ran == {here()}


# -- matrix products -------------------------------------------------------------------------------------------------


@replaces_functions
def test_matrix_products_take_turns(monkeypatch):
    """Each uses all of BLAS's threads, so two at once would ask for more than there are."""
    now: list[int] = []
    most: list[int] = []
    run = parallel.run_node

    def watched(task: Any, node: Any, buffer: Any) -> Any:
        if not node.multiplies:
            return run(task, node, buffer)
        now.append(1)
        most.append(len(now))
        time.sleep(0.002)
        try:
            return run(task, node, buffer)
        finally:
            now.pop()

    monkeypatch.setattr(parallel, "run_node", watched)
    with sharing(4):
        x = leaf(np.eye(3))
        sum((x @ x).sin().sum() for _ in range(8)).backward()
    assert max(most) == 1
    assert len(most) == 8


# -- threads that cannot be had --------------------------------------------------------------------------------------


@pytest.fixture
def no_more_threads(monkeypatch):
    """The system gives no threads, until the function is called."""

    def refuse(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "THREADS", threads.Threads())
    with monkeypatch.context() as until_called:
        until_called.setattr(threading.Thread, "start", refuse)
        yield until_called.undo


def test_a_caller_who_gets_no_helpers_works_alone(no_more_threads):
    x = leaf()
    with sharing(4):
        (x.sin() + x.cos() * x).backward()
    assert x.grad.item() == pytest.approx(np.cos(2) + np.cos(2) - 2 * np.sin(2))


def test_a_caller_who_gets_one_helper_of_three_works_with_that_one(monkeypatch):
    monkeypatch.setattr(threads, "THREADS", threads.Threads())
    start = threading.Thread.start

    def first_only(self: threading.Thread) -> None:
        if self.name.startswith("retrograd") and threads.THREADS.cpu.threads:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", first_only)
    assert threads.THREADS.cpu.ensure(3) == 1
    x = leaf()
    with sharing(4):
        within_limit((x.sin() + x.cos() * x).backward)
    assert x.grad.item() == pytest.approx(np.cos(2) + np.cos(2) - 2 * np.sin(2))


def test_a_caller_does_the_work_of_a_device_without_a_thread(no_more_threads):
    x = leaf()
    y = x.to("fake:7").sin().to("cpu")
    y.backward(retain_graph=True)
    assert x.grad.item() == pytest.approx(np.cos(2))
    no_more_threads()
    within_limit(y.backward)
    assert x.grad.item() == pytest.approx(2 * np.cos(2))
