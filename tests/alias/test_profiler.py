"""torch.profiler and torch.autograd.profiler: calls, the nodes of backwards, trees and tables of them."""

from __future__ import annotations

import importlib

import pytest

import retrograd as rg


@pytest.fixture(params=["torch", "retrograd"])
def lib(request):
    return pytest.importorskip("torch") if request.param == "torch" else rg


def events_of(lib, *calls):
    """Calls as (number, thread, from when, to when)."""
    event = importlib.import_module(f"{lib.__name__}.autograd").profiler_util.FunctionEvent
    return [
        event(id=number, node_id=0, name=f"e{number}", thread=thread, start_us=start, end_us=end)
        for number, thread, start, end in calls
    ]


def test_times_say_what_is_inside_of_what(lib):
    util = importlib.import_module(f"{lib.__name__}.autograd").profiler_util
    events = util.EventList(
        events_of(lib, (1, 1, 0, 1), (2, 1, 1, 2), (3, 0, 0, 2), (4, 0, 1, 2), (5, 0, 1, 3))
    )
    events._build_tree()
    assert [[child.id for child in event.cpu_children] for event in events] == [[], [], [], [], [4]]
    assert events[4].self_cpu_time_total == 1
    assert events[3].cpu_parent is events[4]


def test_calls_are_summed_up(lib):
    average = importlib.import_module(f"{lib.__name__}.autograd").profiler_util.FunctionEventAvg()
    for event in events_of(lib, (0, 0, 10, 15), (0, 0, 20, 30)):
        average.add(event)
    average.add(average)
    assert (average.key, average.count, average.cpu_time_total, average.cpu_time) == ("e0", 4, 30, 7.5)
    assert average.device_time_total == 0


def test_times_have_units(lib):
    in_words = importlib.import_module(f"{lib.__name__}.autograd").profiler_util._format_time
    assert [in_words(t) for t in (1.5, 2500.0, 3e6)] == ["1.500us", "2.500ms", "3.000s"]


def test_nodes_are_told_by_the_number_of_their_call(lib):
    with lib.autograd.profiler.profile(use_kineto=lib.autograd.kineto_available()) as found:
        assert lib.autograd._profiler_enabled()
        x, y = lib.ones(3, 3, requires_grad=True), lib.ones(3, 3, requires_grad=True)
        (x + y).sum().backward()
    assert not lib.autograd._profiler_enabled()
    for forward, backward in (("aten::add", "AddBackward0"), ("aten::sum", "SumBackward0")):
        names = [forward, f"autograd::engine::evaluate_function: {backward}", backward]
        call, *nodes = [
            next(
                e for e in found.function_events if e.name == name and (name != forward or e.sequence_nr >= 0)
            )
            for name in names
        ]
        assert {node.sequence_nr for node in nodes} == {call.sequence_nr}
        assert call.fwd_thread == 0
        assert {node.fwd_thread for node in nodes} == {call.thread}
    sums = [e for e in found.function_events if "AccumulateGrad" in e.name]
    assert [e.sequence_nr for e in sums] == [-1] * 4


def test_a_failed_backward_ends_its_calls():
    class Fails(rg.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x.clone()

        @staticmethod
        def backward(_, grad):
            raise ValueError("no")

    with rg.profiler.profile() as found:
        with pytest.raises(ValueError, match="no"):
            Fails.apply(rg.ones(1, requires_grad=True)).backward()
        rg.ones(1).exp()
    assert found.events()[-1].cpu_parent is None
    assert any("FailsBackward" in event.name for event in found.events())


def test_names_are_those_of_the_dispatcher():
    x = rg.ones(2)
    with rg.profiler.profile() as found:
        x / 2
        x += 1
        x.add_(1)
        x @ x
    assert [event.name for event in found.events()] == [
        "aten::div",
        "aten::add_",
        "aten::add_",
        "aten::matmul",
    ]


def test_a_table_has_shapes_and_a_header_and_leaves_out_what_is_inside(lib):
    with lib.autograd.profiler.profile(record_shapes=True) as found, lib.profiler.record_function("whole"):
        lib.ones(2, 3) * 2
    table = found.key_averages(group_by_input_shape=True).table(
        sort_by="self_cpu_time_total", row_limit=10, header="TEST", top_level_events_only=True
    )
    assert "TEST" in table
    assert "whole" in table
    assert "aten::mul" not in table
    assert "[[2, 3], []]" in found.key_averages(group_by_input_shape=True).table()
    assert str(found) == found.table()
