"""A failing backward as a file, and its node run again."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.inspect.replay import NodeReplay, NotReplayable

F = nn.functional

BAD = {
    "sqrt": lambda x: x.sqrt().sum(),
    "log": lambda x: (x * x).log().sum(),
    "division": lambda x: (1.0 / x).sum(),
    "power": lambda x: (x**0.5).sum(),
    "norm": lambda x: (x[:1] / x[:1].norm()).sum(),
    "matrix product": lambda x: (x.reshape(1, 3) @ rg.full((3, 2), float("inf"))).sum(),
    "three operands": lambda x: rg.addcdiv(x, x, x).sum(),
}


@pytest.mark.parametrize("name", BAD)
def test_a_node_that_makes_nan_runs_again_alone(name, tmp_path):
    x = rg.tensor([0.0, 1.0, 4.0], requires_grad=True)
    with rg.inspect.on_failure(tmp_path / "crash.html") as watch:
        BAD[name](x).backward()
    assert watch.reason
    assert (tmp_path / "crash.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    found = NodeReplay(watch.archive)
    assert found.told["reason"] == watch.reason
    results = [r for r in found.run() if r is not None]
    assert any(not np.isfinite(r).all() for r in results)


class Picky(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.most = 10.0
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if float((g * x).sum()) > ctx.most:
            raise ArithmeticError("too much")
        return g * 2


def test_a_custom_function_that_raises_does_so_again(tmp_path):
    x = rg.tensor([3.0, 4.0], requires_grad=True)
    with (
        rg.inspect.on_failure(tmp_path / "crash.html") as watch,
        pytest.raises(ArithmeticError, match="too much"),
    ):
        (Picky.apply(x) * 5).sum().backward()
    assert watch.reason == "PickyBackward raised ArithmeticError: too much"
    with pytest.raises(ArithmeticError, match="too much"):
        NodeReplay(watch.archive, script=__file__).run()
    with pytest.raises(ArithmeticError, match="too much"):
        NodeReplay(watch.archive).run()  # its module is loaded


def test_a_second_step_alone_is_in_the_page(tmp_path):
    x = rg.tensor([1.0], requires_grad=True)
    with rg.inspect.on_failure(tmp_path / "crash.html") as watch:
        for value in (1.0, 4.0, 0.0):
            with rg.no_grad():
                x.fill_(value)
            x.sqrt().sum().backward()
    assert len(watch.recording.document["backwards"]) == 1
    assert watch.recording.document["failure"] == "SqrtBackward0 made an infinity of finite gradients"


def test_a_good_run_writes_nothing(tmp_path):
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.on_failure(tmp_path / "crash.html") as watch:
        (x * 2).sum().backward()
    assert watch.reason == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_file_that_is_none_says_so(content, tmp_path):
    file = tmp_path / "x.npz"
    file.write_bytes(content)
    with pytest.raises(NotReplayable, match="no archive of a failed node"):
        NodeReplay(file)
    np.savez(file, a=np.ones(2))
    with pytest.raises(NotReplayable, match="no archive of a failed node"):
        NodeReplay(file)


def test_the_page_must_be_a_page(tmp_path):
    with pytest.raises(ValueError, match=r"\.html"):
        rg.inspect.on_failure(tmp_path / "crash.txt")


def test_the_programs_own_error_comes_through_where_nothing_can_be_written(tmp_path):
    x = rg.tensor([3.0, 4.0], requires_grad=True)
    (tmp_path / "page.html").mkdir()
    with (
        rg.inspect.on_failure(tmp_path / "page.html") as watch,
        pytest.raises(ArithmeticError, match="too much"),
        pytest.warns(UserWarning, match="could not be written"),
    ):
        (Picky.apply(x) * 5).sum().backward()
    assert watch.reason == "PickyBackward raised ArithmeticError: too much"


def test_the_page_stands_where_it_was_wanted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    with rg.inspect.on_failure("crash.html") as watch:
        monkeypatch.chdir(tmp_path / "other")
        rg.zeros(2, requires_grad=True).sqrt().sum().backward()
    assert (tmp_path / "crash.html").exists()
    assert watch.archive == tmp_path / "crash.npz"


def test_what_no_file_can_hold_is_told(tmp_path):
    with rg.inspect.on_failure(tmp_path / "crash.html") as watch:
        rg.func.vmap(rg.func.grad(lambda u: u.sqrt().sum()))(rg.zeros(3, 2))
    with pytest.raises(NotReplayable, match="SqrtBackward0 was made with out, which a file cannot hold"):
        NodeReplay(watch.archive)
    loss = rg.zeros(2, requires_grad=True).exp().sum()
    loss.backward()
    with (
        rg.inspect.on_failure(tmp_path / "crash.html") as watch,
        pytest.raises(RuntimeError, match="a second time"),
    ):
        loss.backward()
    with pytest.raises(NotReplayable, match="ran after what it had saved was freed"):
        NodeReplay(watch.archive)
