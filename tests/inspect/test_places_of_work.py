"""Recordings of what runs elsewhere: on other devices, on several threads, on several ranks."""

from __future__ import annotations

import threading

import pytest

import retrograd as rg
from tests.devices import strict

FORMS = ("text", "html", "dot", "mermaid", "perfetto", "json", "table")


def step(x):
    """A recording of one small step."""
    with rg.inspect.record() as recording:
        (x * 2).exp().sum().backward()
    for form in FORMS:
        assert getattr(recording, form)()
    return recording.document


def test_another_device():
    strict.install()
    document = step(rg.ones(3, 4, device="strict:0", requires_grad=True))
    assert {op["device"] for op in document["ops"]} == {"strict:0"}
    assert document["values"][document["ops"][0]["outputs"][0]["value"]]["max"] == 2.0
    assert document["blocks"][document["ops"][0]["outputs"][0]["block"]][0] == 48
    assert document["backwards"][0]["steps"][-1]["grad"] >= 0


def test_a_large_array_of_another_device_comes_over_as_a_sample():
    strict.install()
    document = step(rg.ones(300, 400, device="strict:0", requires_grad=True))
    figures = document["values"][document["ops"][0]["outputs"][0]["value"]]
    assert figures["shape"] == [300, 400]
    assert figures["sampled"] < 120_000


def test_one_bad_element_of_another_device_is_seen():
    strict.install()
    x = rg.ones(300, 400)
    x[157, 211] = float("nan")
    document = step(x.to("strict:0").requires_grad_())
    assert document["values"][document["ops"][0]["outputs"][0]["value"]]["nan"] == 1


def test_tensors_without_values():
    document = step(rg.ones(3, 4, device="meta", requires_grad=True))
    assert document["ops"][0]["outputs"] == [{"shape": [3, 4], "dtype": "float32", "block": -1, "value": -1}]
    assert not document["values"]
    assert not document["blocks"]
    assert {kept["bytes"] for node in document["nodes"] for kept in node["saved"]} == {0}


def test_threads_one_after_another_are_different_threads():
    x = rg.ones(2, requires_grad=True)
    numbers = []

    def work():
        numbers.append(threading.get_ident())
        (x * 2).sum()

    with rg.inspect.record() as recording:
        for name in ("first", "second", "third"):
            thread = threading.Thread(target=work, name=name)
            thread.start()
            thread.join()
    document = recording.document
    assert [document["threads"][op["thread"]] for op in document["ops"]] == [
        *("first", "first", "second", "second", "third", "third")
    ]
    assert len(numbers) == 3  # Python may have used one number for all


def test_modules_of_threads_do_not_mix():
    net = rg.nn.Linear(2, 2)
    gate = threading.Barrier(2)

    def work():
        gate.wait()
        for _ in range(20):
            net(rg.ones(1, 2)).sum()

    with rg.inspect.record() as recording:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    ops = recording.document["ops"]
    assert len(ops) == 2 * 20 * 3
    assert {op["module"].partition("#")[0] for op in ops if op["name"] == "AddmmBackward0"} == {"net"}
    assert {op["module"] for op in ops if op["name"] == "SumBackward0"} == {""}


@pytest.fixture
def alone():
    """A world of one rank."""
    rg.distributed.init_process_group()
    yield
    rg.distributed.destroy_process_group()


@pytest.mark.usefixtures("alone")
def test_data_parallel_training_is_recorded():
    net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    optimizer = rg.optim.SGD(net.parameters(), lr=0.1)
    with rg.inspect.record() as recording:
        net(rg.ones(4, 3)).sum().backward()
        optimizer.step()
    document = recording.document
    assert {leaf["name"] for leaf in document["leaves"]} == {"net.module.weight", "net.module.bias"}
    assert all(leaf["reached"] for leaf in document["leaves"])
    assert [span["name"] for span in document["spans"]] == ["SGD.step"]
    for form in FORMS:
        assert getattr(recording, form)()
