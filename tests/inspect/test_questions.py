"""The questions people ask of a backward: each is answered by name and line."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.inspect import questions


def test_which_line_made_the_first_nan_forward():
    x = rg.tensor([1.0, -1.0], requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * 2
        z = y.log()
        (z * 3).sum().backward()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith("Log made NaN in the forward pass")
    assert answer.text.endswith("z = y.log()")


def test_which_line_made_the_first_nan_backward():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    with rg.inspect.record() as recording:
        length = x.sqrt()
        (length * length).sum().backward()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith(
        "SqrtBackward0 made NaN in its gradient 0, for AccumulateGrad x (2,), from finite"
    )
    assert answer.text.endswith("length = x.sqrt()")


def test_which_node_holds_the_most_memory():
    x = rg.ones(1000, requires_grad=True)
    with rg.inspect.record() as recording:
        small = x[:10].exp()
        large = x.exp()
        (small.sum() + large.sum()).backward()
    answer = questions.most_memory(recording.document)
    assert answer.text.startswith("ExpBackward0 kept 3.9 KiB")
    assert answer.text.endswith("large = x.exp()")


def test_why_has_w_no_gradient():
    w = rg.ones(2, requires_grad=True)
    b = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        hidden = w.exp().detach()
        loss = (hidden * b).sum()
        loss.backward()
    (answer,) = questions.without_gradient(recording.document)
    assert answer.text.startswith("w (2,): No gradient reaches the parameter.")
    assert "hidden = w.exp().detach()" in answer.text


def test_which_order_did_the_engine_run_in():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * 2
        loss = (y + x).sum()
        loss.backward()
    assert questions.order(recording.document) == [
        "loss = SumBackward0",
        "AddBackward0",
        "y = MulBackward0",
        "AccumulateGrad x (2,)",
    ]


def test_what_made_the_peak():
    x = rg.ones(1000, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x.exp()
        z = y.sin()
        z.sum().backward()
    peak = questions.peak(recording.document)
    rows = questions.makers(recording.document, peak.blocks)
    lines = {recording.document["places"][place]["text"].strip() for _, place, _ in rows if place >= 0}
    assert {"y = x.exp()", "z = y.sin()"} <= lines
    assert peak.bytes >= 3 * 4000


def test_the_largest_gradient():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * 1000.0
        y.sum().backward()
    assert questions.largest_gradient(recording.document).text.endswith("y = x * 1000.0")


@pytest.mark.parametrize(
    "question", [questions.first_nonfinite, questions.largest_gradient, questions.most_memory]
)
def test_an_empty_recording_has_no_answers(question):
    with rg.inspect.record() as recording:
        pass
    assert question(recording.document) is None
