"""Two recordings against each other, and numbers laid over one."""

from __future__ import annotations

import json

import pytest

import retrograd as rg


def step(factor, extra=False):
    """A recording of one small step."""
    w = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.inspect.record(title=f"factor {factor}") as recording:
        y = (w * factor).exp()
        if extra:
            y = y + 1.0
        y.sum().backward()
    return recording


def test_the_same_program_matches_node_by_node():
    difference = step(0.5).diff(step(0.5))
    assert not difference.only_here
    assert not difference.only_there
    assert [row["name"] for row in difference.table()] == [
        "MulBackward0",
        "AccumulateGrad",
        "ExpBackward0",
        "SumBackward0",
    ]
    assert set(difference.ratios("gradient_norm").values()) == {1.0}
    assert set(difference.ratios("saved_bytes").values()) == {1.0}


def test_gradients_differ_by_their_ratio():
    here, there = step(1.0), step(0.5)
    ratios = here.diff(there).ratios("gradient_norm")
    leaf = next(i for i, node in enumerate(here.document["nodes"]) if node["leaf"])
    norms = [r.table()[-1]["gradient_norm"] for r in (here, there)]
    assert ratios[leaf] == pytest.approx(norms[0] / norms[1])
    text = here.diff(there).text()
    assert "here: factor 1.0   there: factor 0.5" in text
    assert "AccumulateGrad w (2,)" in text


def test_nodes_that_only_one_has():
    difference = step(1.0, extra=True).diff(step(1.0))
    assert [difference.here["nodes"][i]["name"] for i in difference.only_here] == ["AddBackward0"]
    assert "only here\n  y = AddBackward0" in str(difference)
    assert not difference.only_there
    turned = step(1.0).diff(step(1.0, extra=True))
    assert len(turned.only_there) == 1
    assert "only there" in turned.text()


def test_lines_may_move_and_runs_may_be_longer():
    def run(times):
        w = rg.ones(2, requires_grad=True)
        with rg.inspect.record() as recording:
            for _ in range(times):
                (w * 2).sum().backward()
        return recording

    difference = run(3).diff(run(2))
    assert len(difference.pairs) == 6  # two operations and the leaf's node, twice
    assert len(difference.only_here) == 3


def overlays(page):
    """What the page is told to color by."""
    text = page.partition('type="application/json">')[2].partition("</script>")[0]
    return json.loads(text)["overlays"]


def test_the_page_colors_by_ratios(tmp_path):
    page = step(1.0, extra=True).diff(step(0.5)).html(tmp_path / "diff.html")
    assert (tmp_path / "diff.html").read_text(encoding="utf-8") == page
    found = {overlay["title"]: overlay for overlay in overlays(page)}
    assert {"|gradient|, here / there", "time, here / there", "only here"} <= set(found)
    assert found["|gradient|, here / there"]["ratio"] is True
    assert None in found["only here"]["numbers"]
    assert "iframe" in step(1.0).diff(step(0.5))._repr_html_()


def test_numbers_by_node_variable_module_or_function():
    net = rg.nn.Sequential(rg.nn.Linear(2, 2), rg.nn.Tanh())
    with rg.inspect.record() as recording:
        loss = net(rg.ones(1, 2)).sum()
        loss.backward()
    nodes = recording.document["nodes"]
    by_name = recording.overlay("a", {"loss": 1, "net.0": 2.5}).document["overlays"][0]["numbers"]
    assert {node["name"]: n for node, n in zip(nodes, by_name, strict=True) if n is not None} == {
        "SumBackward0": 1.0,
        "AddmmBackward0": 2.5,
        "TBackward0": 2.5,
    }
    counted = recording.overlay("b", lambda node: len(node["edges"]) or None)
    assert counted.document["overlays"][0]["numbers"][0] == len(nodes[0]["edges"])
    both = recording.overlay("a", {0: 1.0}).overlay("b", {1: float("nan")}, unit="ms", ratio=True)
    assert [o["title"] for o in both.document["overlays"]] == ["a", "b"]
    assert set(both.document["overlays"][1]["numbers"]) == {None}
    assert "overlays" not in recording.document
    assert overlays(both.html())


def test_an_overlay_of_nothing_says_so():
    with pytest.raises(KeyError, match="no node is called 'nobody'"):
        step(1.0).overlay("a", {"nobody": 1.0})
    with pytest.raises(KeyError, match="no node is called 999"):
        step(1.0).overlay("a", {999: 1.0})
