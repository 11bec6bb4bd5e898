"""The order contract: each test's docstring is a sentence of `docs/inside/order.md`."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import Function
from retrograd.autograd.graph import saved_tensors_hooks
from retrograd.engine import evaluate, parallel
from retrograd.engine.threads import SETTINGS
from tests.builds import replaces_functions
from tests.devices import fake

PAGE = Path(__file__).parents[2] / "docs" / "inside" / "order.md"
ENGINE = rg.autograd.Variable._execution_engine


def leaf(*values: float) -> Any:
    return rg.tensor(values or (0.5, -0.25), dtype=rg.float64, requires_grad=True)


def logged(log: list[Any], what: Any) -> Any:
    """A hook that writes down that it ran."""
    return lambda *args: log.append(what)


def nodes_of(root: Any) -> list[Any]:
    found, todo = [], [root]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found.append(node)
            todo += [n for n, _ in node.next_functions]
    return found


def watched(*roots: Any) -> list[str]:
    """The names of the nodes behind `roots`, as they run."""
    log: list[str] = []
    for node in {n for root in roots for n in nodes_of(root.grad_fn)}:
        node.register_prehook(logged(log, type(node).__name__))
    return log


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_once_when_complete() -> None:
    """A node runs once per backward, when every gradient that will reach it has arrived."""
    x = leaf(1.0)
    y = x.exp()
    got: list[float] = []
    y.grad_fn.register_prehook(lambda g: got.append(g[0].item()))
    (y * 2 + y * 3 + y).backward()
    assert got == [6.0]


def test_last_recorded_first() -> None:
    """Of the nodes that are ready, the one recorded last runs first."""
    x = leaf()
    a, b = x.sin(), x.cos()
    c, d = a.exp(), b.tanh()
    loss = (c + d).sum()
    log = watched(loss)
    loss.backward()
    assert log[:6] == [
        "SumBackward0", "AddBackward0", "TanhBackward0", "ExpBackward0", "CosBackward0", "SinBackward0",
    ]  # fmt: skip


def test_accumulators_first() -> None:
    """An AccumulateGrad runs before anything else that is ready."""
    x, w = leaf(), leaf()
    loss = (x.sin() * w).sum()
    log = watched(loss)
    loss.backward()
    assert log == ["SumBackward0", "MulBackward0", "AccumulateGrad", "SinBackward0", "AccumulateGrad"]


def test_equals_in_order_of_readiness() -> None:
    """Nodes of equal rank run in the order in which they became ready."""
    leaves = [leaf(float(i)) for i in range(4)]
    log: list[int] = []
    for i, x in enumerate(leaves):
        x.register_hook(logged(log, i))
    rg.stack(leaves).sum().backward()
    assert log == [0, 1, 2, 3]


def test_inner_before_outer() -> None:
    """A backward inside a backward runs to its end before the outer one goes on."""
    x, inner = leaf(), leaf()
    log: list[str] = []
    inner.register_hook(logged(log, "inner leaf"))

    def descend(grad: Any) -> None:
        log.append("descend")
        with rg.enable_grad():
            inner.sin().cos().sum().backward()
        log.append("ascend")

    y = x * 2
    y.register_hook(descend)
    x.register_hook(logged(log, "outer leaf"))
    y.sum().backward()
    assert log == ["descend", "inner leaf", "ascend", "outer leaf"]


def test_only_what_is_asked_for() -> None:
    """Only nodes on a path to what was asked for run."""
    x, w = leaf(), leaf()
    loss = (x.sin() + w.cos()).sum()
    log = watched(loss)
    rg.autograd.grad(loss, x)
    assert "CosBackward0" not in log
    assert "SinBackward0" in log


# -- sums --------------------------------------------------------------------------------------------------------------


def test_order_of_sums() -> None:
    """Gradients that meet at a node are added in the order in which their sources run, edge by edge."""
    big, small = 1e16, 1.0
    x = leaf(1.0)
    terms = [
        x * small,
        x * -big,
        x * big,
    ]  # the last runs first: (big - big) + small, not (small - big) + big
    (terms[0] + terms[1] + terms[2]).backward()
    assert x.grad.item() == 1.0
    y = leaf(1.0)
    terms = [y * big, y * -big, y * small]
    (terms[0] + terms[1] + terms[2]).backward()
    assert y.grad.item() == (small - big) + big


def test_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums come out the same to the last bit whatever the number of threads."""
    monkeypatch.setattr(parallel, "LARGE", 0)
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal(50) * 10.0 ** rng.integers(-8, 8) for _ in range(12)]
    results = set()
    for count in (1, 2, 8):
        monkeypatch.setattr(SETTINGS, "num_threads", count)
        x = rg.tensor(np.linspace(0, 1, 50), requires_grad=True)
        branches = [(x * rg.from_numpy(f)).tanh() for f in factors]
        rg.stack(branches).sum().backward()
        results.add(x.grad.array.tobytes())
    assert len(results) == 1


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_tensor_hooks() -> None:
    """Tensor hooks run before their node, in the order of registration."""
    x = leaf()
    y = x.exp()
    log: list[str] = []
    y.grad_fn.register_hook(logged(log, "node"))
    y.register_hook(logged(log, "first"))
    y.register_hook(logged(log, "second"))
    y.sum().backward()
    assert log == ["first", "second", "node"]


def test_retained_after_hooks() -> None:
    """A retained gradient is what the tensor hooks made of it, whatever the order of registration."""
    y = leaf().exp()
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]


def test_hooks_around_a_node() -> None:
    """Node pre-hooks run after tensor hooks, and node post-hooks after the node's formula."""
    log: list[str] = []

    class Formula(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            log.append("formula")
            return g

    y = Formula.apply(leaf())
    y.grad_fn.register_hook(logged(log, "post"))
    y.grad_fn.register_prehook(logged(log, "pre"))
    y.register_hook(logged(log, "tensor"))
    y.sum().backward()
    assert log == ["tensor", "pre", "formula", "post"]


def test_post_accumulate() -> None:
    """Post-accumulate hooks run when the gradient is in `.grad`."""
    x = leaf()
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (x * 3).sum().backward()
    assert seen == [[3.0, 3.0]]


def test_captured_after_hooks() -> None:
    """A gradient captured by `autograd.grad` has passed the tensor hooks of its tensor."""
    x = leaf()
    x.register_hook(lambda g: g * 10)
    (g,) = rg.autograd.grad(x.sum(), x)
    assert g.tolist() == [10.0, 10.0]


def test_hooks_of_different_nodes() -> None:
    """Hooks of different nodes run in the order of their nodes."""
    x = leaf()
    a = x.sin()
    b = x.cos()
    log: list[str] = []
    a.register_hook(logged(log, "recorded first"))
    b.register_hook(logged(log, "recorded last"))
    (a * b).sum().backward()
    assert log == ["recorded last", "recorded first"]


# -- callbacks ---------------------------------------------------------------------------------------------------------


def test_callbacks_at_the_end() -> None:
    """Queued callbacks run once, after the last node, in the order in which they were queued."""
    x = leaf()
    y = x.exp()
    log: list[str] = []

    def queue(grad: Any) -> None:
        ENGINE.queue_callback(logged(log, "first"))
        ENGINE.queue_callback(logged(log, "second"))

    y.register_hook(queue)
    x.register_hook(logged(log, "leaf"))
    y.sum().backward()
    assert log == ["leaf", "first", "second"]


def test_callbacks_of_callbacks() -> None:
    """A callback queued by a callback runs too."""
    x = leaf()
    log: list[str] = []

    def again() -> None:
        log.append("first")
        ENGINE.queue_callback(logged(log, "queued by it"))

    x.register_hook(lambda g: ENGINE.queue_callback(again))
    x.sum().backward()
    assert log == ["first", "queued by it"]


def test_callbacks_of_inner() -> None:
    """Callbacks queued in an inner backward run at the end of the inner one."""
    x, inner = leaf(), leaf()
    log: list[str] = []
    inner.register_hook(lambda g: ENGINE.queue_callback(logged(log, "inner callback")))

    def descend(grad: Any) -> None:
        with rg.enable_grad():
            inner.sum().backward()
        log.append("inner is done")

    x.register_hook(descend)
    x.sum().backward()
    assert log == ["inner callback", "inner is done"]


# -- saved values ------------------------------------------------------------------------------------------------------


def test_packing() -> None:
    """The values of one node are packed operands first, by the alphabet of PyTorch's names (`other` before `self`),
    then results.
    """
    x, y = leaf(2.0), leaf(3.0)
    packed: list[float] = []
    with saved_tensors_hooks(lambda t: packed.append(t.item()) or t, lambda t: t):
        x**y
    assert packed == [3.0, 2.0, 8.0]


def test_unpacking() -> None:
    """They are unpacked in that order when the node runs, so nodes unpack in the reverse of the order in which they
    packed.
    """
    x, y = leaf(2.0), leaf(3.0)
    unpacked: list[float] = []
    with saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t.item()) or t):
        z = (x**y).log()
    z.backward()
    assert unpacked == [8.0, 3.0, 2.0, 8.0]


def test_freeing() -> None:
    """What a node saved is freed when it has run, unless the graph is kept."""
    freed: dict[bool, list[bool]] = {True: [], False: []}
    for keep in (True, False):
        x = leaf()
        y = x.sin()
        z = y.exp()
        node = z.grad_fn
        y.register_hook(lambda g, keep=keep, node=node: freed[keep].append(node._freed))
        z.sum().backward(retain_graph=keep)
    assert freed == {True: [False], False: [True]}


# -- errors ------------------------------------------------------------------------------------------------------------


def failing() -> tuple[Any, Any, Any, list[str]]:
    """Two leaves, a loss whose backward fails at one of them after it has reached the other, and the log of both."""
    x, w = leaf(), leaf()
    log: list[str] = []
    y = x.sin()

    def refuse(grad: Any) -> None:
        log.append("refused")
        ENGINE.queue_callback(logged(log, "callback"))
        raise ValueError("no")

    handle = y.register_hook(refuse)
    x.register_hook(logged(log, "x"))
    w.register_hook(logged(log, "w"))
    loss = (y * w).sum()
    loss.handle = handle
    return x, w, loss, log


def test_the_first_error_ends_it() -> None:
    """The first error ends the backward: no further node, hook or callback runs."""
    _, _, loss, log = failing()
    with pytest.raises(ValueError, match="no"):
        loss.backward()
    assert log == ["w", "refused"]


def test_gradients_before_an_error() -> None:
    """Leaves that were reached before an error keep the gradients they got."""
    x, w, loss, _ = failing()
    with pytest.raises(ValueError, match="no"):
        loss.backward()
    assert w.grad is not None
    assert x.grad is None


def test_after_an_error() -> None:
    """After an error the next backward works, and values that were not yet used are still there."""
    x, _, loss, _ = failing()
    with pytest.raises(ValueError, match="no"):
        loss.backward(retain_graph=True)
    loss.handle.remove()
    loss.backward()
    assert x.grad is not None


# -- threads -----------------------------------------------------------------------------------------------------------


def test_user_code_on_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks, custom Functions, unpack hooks and callbacks run on the thread that called backward, in the order
    above.
    """
    monkeypatch.setattr(parallel, "LARGE", 0)
    monkeypatch.setattr(SETTINGS, "num_threads", 4)
    where: list[tuple[str, str]] = []

    def note(what: str) -> None:
        where.append((what, threading.current_thread().name))

    class Noting(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            note("Function")
            return g

    x = leaf()
    hooked, own = x.sin(), Noting.apply(x.cos())
    hooked.register_hook(lambda g: note("hook"))
    with saved_tensors_hooks(lambda t: t, lambda t: note("unpack") or t):
        packed = x.exp()
    x.register_hook(lambda g: ENGINE.queue_callback(lambda: note("callback")))
    rg.stack([hooked, own, packed, x.tanh()]).sum().backward()
    caller = threading.current_thread().name
    assert where == [(what, caller) for what in ("unpack", "Function", "hook", "callback")]


@replaces_functions
def test_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Built-in nodes of another device run on that device's worker, and large ones on the CPU may run on workers."""
    fake.install()
    monkeypatch.setattr(parallel, "LARGE", 0)
    monkeypatch.setattr(SETTINGS, "num_threads", 4)
    names: dict[str, set[str]] = {}
    run = evaluate.call_node

    def noting(task: Any, node: Any, given: Any, owned: int) -> Any:
        names.setdefault(node.name(), set()).add(threading.current_thread().name)
        return run(task, node, given, owned)

    monkeypatch.setattr(evaluate, "call_node", noting)
    x = leaf()
    rg.stack([x.to("fake:0").exp().to("cpu"), x.sin(), x.cos(), x.tanh()]).sum().backward()
    assert names["ExpBackward0"] == {"retrograd-fake:0-0"}
    allowed = {threading.current_thread().name, *(f"retrograd-cpu-{i}" for i in range(8))}
    assert names["SinBackward0"] | names["CosBackward0"] | names["TanhBackward0"] <= allowed


def in_threads(*functions: Any) -> None:
    """Runs the functions at once, and waits."""
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_modes_belong_to_threads() -> None:
    """Grad mode and the other modes belong to the thread that sets them."""
    seen: list[Any] = []
    with rg.no_grad(), rg.autograd.set_multithreading_enabled(False), rg.autograd.set_detect_anomaly(True):
        in_threads(
            lambda: seen.append(
                (rg.is_grad_enabled(), rg.autograd.is_multithreading_enabled(), rg.is_anomaly_enabled())
            )
        )
    assert seen == [(True, True, False)]


def test_shared_leaves() -> None:
    """Backwards of several threads that end in one leaf lose nothing."""
    x = rg.zeros(2000, dtype=rg.float64, requires_grad=True)

    def work() -> None:
        for _ in range(50):
            (x * 1).sum().backward()

    in_threads(*[work] * 8)
    assert (x.grad == 400).all()


def test_one_wins() -> None:
    """Of several threads that run one graph without keeping it, one succeeds and the others get the error of a second
    backward.
    """
    for _ in range(20):
        x = leaf()
        loss = x.exp().sin().sum()
        start = threading.Barrier(4)
        results: list[str] = []

        def work(loss: Any = loss, start: Any = start, results: Any = results) -> None:
            start.wait()
            try:
                loss.backward()
                results.append("succeeded")
            except RuntimeError as error:
                results.append("second" if "second time" in str(error) else repr(error))

        in_threads(*[work] * 4)
        assert sorted(results) == ["second", "second", "second", "succeeded"]


def test_the_page_and_the_tests_say_the_same() -> None:
    page = re.findall(r"^- (.+(?:\n  .+)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    promised = {" ".join(sentence.split()) for sentence in page}
    tested = {
        " ".join(f.__doc__.split()) for name, f in globals().items() if name.startswith("test_") and f.__doc__
    }
    assert promised == tested
