"""What a recording notes of a program, whatever the program uses."""

from __future__ import annotations

import functools
import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.backends.pack import PACK
from retrograd.core.modes import current
from retrograd.inspect import questions
from retrograd.utils.checkpoint import checkpoint


class Cube(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


def recorded(program, **options):
    """The document of a recording of `program`."""
    with rg.inspect.record(**options) as recording:
        program()
    return recording.document


def names(document, backward=0):
    return [document["nodes"][step["node"]]["name"] for step in document["backwards"][backward]["steps"]]


def test_operations_have_lines_operands_shapes_and_times():
    x = rg.ones(2, 3, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x.exp()
        z = y + 1.0
    first, second = recording.document["ops"]
    assert [first["name"], second["name"]] == ["ExpBackward0", "AddBackward0"]
    assert recording.document["places"][first["place"]]["text"].strip() == "y = x.exp()"
    assert first["operands"][0]["shape"] == [2, 3]
    assert second["operands"][0]["node"] == first["node"]
    assert first["outputs"][0] | {"block": 0, "value": 0} == {
        "shape": [2, 3],
        "dtype": "float32",
        "block": 0,
        "value": 0,
    }
    assert first["start"] <= first["end"] <= second["start"]
    assert z.grad_fn is not None


def test_an_expression_is_found_within_its_line():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        _ = (x * 2.0) + x.sin()
    places = [recording.document["places"][op["place"]] for op in recording.document["ops"]]
    assert [p["text"][p["start"] : p["end"]] for p in places] == ["x * 2.0", "x.sin()", "(x * 2.0) + x.sin()"]


def test_the_order_is_the_engines():
    ran = []
    x = rg.ones(3, requires_grad=True)
    with rg.inspect.record() as recording:
        a, b = x.exp(), x.sin()
        c = a * b
        for tensor in (a, b, c):
            tensor.register_hook(lambda g, name=tensor.grad_fn.name(): ran.append(name))
        c.sum().backward()
    order = names(recording.document)
    assert [name for name in order if name in ran] == ran
    assert order == ["SumBackward0", "MulBackward0", "SinBackward0", "ExpBackward0", "AccumulateGrad"]


def test_gradients_meet_in_sums_and_end_in_grad():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    document = recorded(lambda: (x * x + x).sum().backward())
    backward = document["backwards"][0]
    leaf = backward["steps"][-1]
    assert dict(map(tuple, backward["dependencies"]))[leaf["node"]] == 3
    assert sum(to == leaf["node"] for step in backward["steps"] for _, to, _, _ in step["sent"]) == 3
    assert document["values"][leaf["given"][0]]["values"] == x.grad.tolist()
    assert document["values"][leaf["grad"]]["values"] == x.grad.tolist() == [3.0, 5.0]


def test_saved_values_name_who_else_holds_them():
    x = rg.ones(100, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x.exp()
        (y * y).sum().backward()
    document = recording.document
    block = next(n for n in document["nodes"] if n["name"] == "ExpBackward0")["saved"][0]["block"]
    held = [document["nodes"][i]["name"] for i in questions.holders(document, block)]
    assert sorted(held) == ["ExpBackward0", "MulBackward0"]
    freed = {document["nodes"][s["node"]]["name"]: s["freed"] for s in document["backwards"][0]["steps"]}
    assert freed["ExpBackward0"] == 400
    assert freed["SumBackward0"] == 0


def test_variables_modules_and_given_names_are_names():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    given = rg.ones(3, requires_grad=True)
    with rg.inspect.record({"mine": given}) as recording:
        hidden = net(rg.ones(4, 2))
        loss = (hidden * given).sum()
        loss.backward()
    nodes = recording.document["nodes"]
    leaves = {node["variable"] for node in nodes if node["leaf"]}
    assert leaves == {"net.0.weight", "net.0.bias", "mine"}
    assert {node["variable"]: node["name"] for node in nodes if node["variable"] in {"hidden", "loss"}} == {
        "hidden": "TanhBackward0",
        "loss": "SumBackward0",
    }
    assert {node["module"] for node in nodes if node["name"] == "AddmmBackward0"} == {"net.0"}


def test_hooks_and_captures_are_noted():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        y.grad_fn.register_hook(lambda gi, go: None)
        (grad,) = rg.autograd.grad(y.sum(), (x,))
    document = recording.document
    steps = {document["nodes"][s["node"]]["name"]: s for s in document["backwards"][0]["steps"]}
    assert len(steps["MulBackward0"]["hooks"]) == 2
    assert steps["AccumulateGrad"]["captured"] == [0]
    assert grad.tolist() == [20.0, 20.0]


def test_a_backward_that_records_itself_and_the_next():
    x = rg.tensor(2.0, requires_grad=True)
    with rg.inspect.record() as recording:
        (g,) = rg.autograd.grad(x**3, (x,), create_graph=True)
        g.backward()
    document = recording.document
    assert [b["create_graph"] for b in document["backwards"]] == [True, False]
    inner = [op for op in document["ops"] if op["during"]]
    assert inner
    assert all(op["during"][0] == 0 for op in inner)
    assert x.grad.item() == 12.0


def test_a_backward_inside_another():
    x = rg.ones(2, requires_grad=True)

    def hook(g):
        with rg.enable_grad():
            (x * 3).sum().backward()

    with rg.inspect.record() as recording:
        y = x * 2
        y.register_hook(hook)
        y.sum().backward()
    assert [b["outer"] for b in recording.document["backwards"]] == [-1, 0]
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_checkpoint_shows_what_is_computed_again():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    document = recorded(lambda: checkpoint(net, rg.ones(2, 4), use_reentrant=False).sum().backward())
    again = [op["name"] for op in document["ops"] if op["during"]]
    assert "TanhBackward0" in again or "AddmmBackward0" in again


def test_custom_functions_forward_mode_vmap_and_optimisers():
    x = rg.ones(3, requires_grad=True)
    optimizer = rg.optim.SGD([x], lr=0.1)

    def program():
        Cube.apply(x).sum().backward()
        optimizer.step()
        rg.func.jvp(lambda t: t.sin(), (rg.ones(2),), (rg.ones(2),))
        rg.func.vmap(lambda t: t.exp().sum())(rg.ones(4, 2))
        rg.func.grad(lambda t: (t**2).sum())(rg.ones(2))

    document = recorded(program)
    assert "CubeBackward" in {op["name"] for op in document["ops"]}
    node = next(n for n in document["nodes"] if n["name"] == "CubeBackward")
    assert [(s["name"], s["bytes"]) for s in node["saved"]] == [("saved_tensors[0]", 12)]
    assert [span["name"] for span in document["spans"]] == ["SGD.step"]
    assert np.allclose(x.detach().numpy(), 1 - 0.3)


def test_threads_that_begin_inside_are_covered():
    x = rg.ones(2, requires_grad=True)
    y = rg.ones(2, requires_grad=True)

    def work():
        (y * 5).sum().backward()

    with rg.inspect.record() as recording:
        thread = threading.Thread(target=work, name="second")
        thread.start()
        (x * 2).sum().backward()
        thread.join()
        assert rg.ones(1).sum().item() == 1
    document = recording.document
    assert sorted(document["threads"][b["thread"]] for b in document["backwards"]) == ["MainThread", "second"]
    assert y.grad.tolist() == [5.0, 5.0]


def test_nothing_is_kept_alive():
    x = rg.ones(1000, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x.exp()
        node, array = weakref.ref(y.grad_fn), weakref.ref(y.array)
        del y
        gc.collect()
        assert node() is None
        assert array() is None
    block = recording.document["blocks"][recording.document["ops"][0]["outputs"][0]["block"]]
    assert block[2] is not None


def test_blocks_are_what_the_allocator_says():
    x = rg.ones(1000, requires_grad=True)
    (x.exp() * x).sum()  # what is loaded on demand is there
    arrays = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    tracemalloc.start()
    with rg.inspect.record() as recording:
        y = x.exp()
        z = y * x
        del y  # its memory is still what ExpBackward0 has saved
        snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    made = [block for block in recording.document["blocks"] if block[3] >= 0]
    assert [block[0] for block in made] == [4000, 4000]
    assert all(block[2] is None for block in made)
    assert sum(kept["bytes"] for node in recording.document["nodes"] for kept in node["saved"]) == 12000
    if PACK is not None:  # else there are copies of NumPy's beside
        alive = sum(trace.size for trace in snapshot.filter_traces([arrays]).traces)
        assert alive == sum(block[0] for block in made)
    assert z.requires_grad


def test_results_are_the_same_bits():
    def program():
        rg.manual_seed(0)
        net = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4))
        net(rg.randn(8, 16)).log_softmax(1).mean().backward()
        return [p.grad.numpy() for p in net.parameters()]

    plain = program()
    with rg.inspect.record():
        watched = program()
    assert all(np.array_equal(a, b) for a, b in zip(plain, watched, strict=True))


def test_a_limit_is_kept_and_said():
    x = rg.ones(2, requires_grad=True)

    def program():
        y = x
        for _ in range(50):
            y = y * 1.5
        y.sum().backward()

    document = recorded(program, limit=20)
    limits = document["limits"]
    assert len(document["ops"]) == 20
    assert limits["ops_left_out"] == 31
    assert limits["steps_left_out"] == 32
    assert limits["values_left_out"] > 0
    assert "31 ops are left out" in rg.inspect.Recording(document).text()


def test_a_long_program_stays_within_the_limit():
    x = rg.ones(2, requires_grad=True)
    optimizer = rg.optim.SGD([x], lr=0.0)

    def program():
        for _ in range(300):
            (x * 2 + 1).sum().backward()
            optimizer.step()

    with rg.inspect.record(limit=50) as recording:
        program()
    document = recording.document
    assert len(document["ops"]) == len(document["spans"]) == 50
    assert sum(len(b["steps"]) for b in document["backwards"]) == 50
    assert max(len(document[what]) for what in ("nodes", "values", "blocks", "backwards")) <= 100
    assert document["limits"]["backwards_left_out"] > 200
    assert "backwards are left out" in recording.text()
    assert recording.html()


def test_one_large_graph_stays_within_the_limit():
    x = rg.ones(2, requires_grad=True)
    inner = rg.ones(2, requires_grad=True)

    def hook(g):
        with rg.enable_grad():
            (inner * 3).sum().backward()

    with rg.inspect.record(limit=10) as recording:
        y = x
        for _ in range(100):
            y = y * 1.5
            y.register_hook(hook)
        y.sum().backward()
    assert len(recording.document["nodes"]) == 20
    assert recording.document["limits"]["nodes_left_out"] > 0
    assert inner.grad.tolist() == [300.0, 300.0]
    for form in (recording.text, recording.dot, recording.mermaid, recording.perfetto, recording.html):
        assert form()


def test_large_arrays_are_kept_as_a_sample_and_looked_at_whole():
    x = rg.ones(300_000, requires_grad=True)
    with rg.no_grad():
        x[1] = float("nan")
    sampled = recorded(lambda: (x * 2).sum())
    assert sampled["values"][0]["sampled"] < 1000
    assert sampled["values"][0]["nan"] == 1
    everything = recorded(lambda: x * 2, values="all")
    assert everything["values"][0]["nan"] == 1


def test_an_error_in_a_backward_is_part_of_the_recording():
    x = rg.ones(2, requires_grad=True)

    def fail(g):
        raise ValueError("no")

    with rg.inspect.record() as recording, pytest.raises(ValueError, match="no"):
        y = x * 2
        y.register_hook(fail)
        y.sum().backward()
    backward = recording.document["backwards"][0]
    assert backward["error"] == "ValueError: no"
    assert (
        recording.document["nodes"][backward["steps"][backward["failing"]]["node"]]["name"] == "MulBackward0"
    )
    assert "failed at step 2: ValueError: no" in recording.text()


def test_it_is_off_afterwards_and_a_recording_may_stand_in_another():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as outer:
        x.exp()
        with rg.inspect.record() as inner:
            x.sin()
        x.cos()
    assert [op["name"][:3] for op in outer.document["ops"]] == ["Exp", "Sin", "Cos"]
    assert [op["name"][:3] for op in inner.document["ops"]] == ["Sin"]
    assert current().special == 0
    with rg.inference_mode():
        x.exp()  # a mode that is entered afterwards finds nobody


def test_a_decorator_records_each_call():
    x = rg.ones(2, requires_grad=True)

    @rg.inspect.record(title="step")
    def step(factor):
        (x * factor).sum().backward()
        return factor

    assert step(2.0) == 2.0
    assert names(step.recording.document)[0] == "SumBackward0"
    assert step.recording.document["title"] == "step"


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"values": "some"}, ValueError, "values"),
        ({"limit": 0}, ValueError, "limit"),
        ({"names": ["x"]}, TypeError, "names"),
    ],
)
def test_bad_arguments_say_so(options, error, match):
    with pytest.raises(error, match=match):
        rg.inspect.record(**options)


def test_a_recording_that_is_on_says_so():
    with rg.inspect.record() as recording:
        assert "still on" in repr(recording)
        with pytest.raises(RuntimeError, match="still on"):
            recording.text()


def test_no_memory_is_freed_before_it_is_seen():
    x = rg.ones(4, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x
        for _ in range(20):
            y = y * 1.5
        y.sum().backward()
    blocks = recording.document["blocks"]
    assert len(blocks) > 20
    assert all(died is None or 0 <= born <= died for _, born, died, *_ in blocks)


def test_whatever_can_be_called_is_decorated():
    x = rg.ones(2, requires_grad=True)

    class Loss:
        def __call__(self, factor):
            (x * factor).sum().backward()

    for call in (Loss(), functools.partial(lambda x, factor: (x * factor).sum().backward(), x)):
        recorded = rg.inspect.record()(call)
        recorded(2.0)
        assert names(recorded.recording.document) == ["SumBackward0", "MulBackward0", "AccumulateGrad"]


def test_a_decorated_function_may_name_variables_that_have_no_value_yet():
    w = rg.ones(2, requires_grad=True)

    @rg.inspect.record()
    def step():
        (w * 2 if w is not None else late).sum().backward()

    step()
    late = w
    assert "AccumulateGrad w (2,)" in step.recording.text()


def test_what_runs_after_the_call_is_not_decorated():
    def generator():
        yield 1

    async def coroutine():
        pass

    for later in (generator, coroutine, functools.partial(generator)):
        with pytest.raises(TypeError, match="runs after the call"):
            rg.inspect.record()(later)


class Shy:
    """An object that does not want to be looked at, as one that stands for another that is gone."""

    @property
    def __class__(self):
        raise ReferenceError("gone")


class Closed(dict):
    def items(self):
        raise RuntimeError("closed")


def test_odd_variables_do_no_harm():
    x = rg.ones(2, requires_grad=True)
    lazy, shy, closed, pair = nn.LazyLinear(3), Shy(), Closed(), [Shy(), x]
    document = recorded(
        lambda: (x * 2).sum().backward(),
        names={"lazy": lazy, "shy": shy, "closed": closed, "pair": pair, "buffers": nn.LazyBatchNorm1d()},
    )
    assert [leaf["name"] for leaf in document["leaves"]] == ["pair[1]"]
