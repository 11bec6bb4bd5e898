"""One recording, many forms."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from xml.etree import ElementTree as ET

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.inspect import page
from retrograd.inspect.gather import SCHEMA
from tests.inspect.recordings import SIX
from tests.project.sources import ROOT

HOSTILE = '"</script><b>\\'


@pytest.fixture(scope="module")
def recording():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    with rg.inspect.record(title="a net") as made:
        loss = net(rg.ones(4, 2)).sum()
        loss.backward()
    return made


def test_text_tells_what_was_found_and_every_step(recording):
    text = recording.text()
    assert text.startswith("a net: 6 operations, 1 backward")
    assert "AccumulateGrad net.2.weight (1, 3)" in text
    assert "loss = SumBackward0" in text
    assert "memory: at most" in text
    assert "└─ TBackward0\n" in text  # the tree
    assert "… 9 more steps" in recording.text(rows=1)
    assert "\x1b" not in text  # not a terminal


def test_many_backwards_are_not_all_told():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as made:
        for _ in range(20):
            (x * 2).sum().backward()
    assert "… 12 more backwards" in made.text()
    assert len(made.table()) == 60


def test_text_has_colours_where_rich_is_installed(recording, monkeypatch):
    rich = pytest.importorskip("rich")
    assert rich is not None
    assert "\x1b[" in recording.text(color=True)
    monkeypatch.setitem(sys.modules, "rich.text", None)
    assert "\x1b[" not in recording.text(color=True)


def test_pandas_takes_the_table(recording):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(recording.table())
    assert frame["label"].iloc[0] == "loss = SumBackward0"
    assert frame["microseconds"].sum() > 0


def test_the_table_has_a_row_for_each_step(recording):
    rows = recording.table()
    assert len(rows) == 10
    assert rows[0]["label"] == "loss = SumBackward0"
    assert {row["module"] for row in rows} >= {"net.0", "net.1", "net.2"}
    assert all(set(row) == set(rows[0]) for row in rows)


def test_json_comes_back(recording, tmp_path):
    file = tmp_path / "step.json"
    recording.json(file)
    again = rg.inspect.Recording.load(file)
    assert again.document == recording.document
    assert again.document["schema"] == SCHEMA
    assert again.text() == recording.text()
    file.write_text('{"schema": "other"}')
    with pytest.raises(ValueError, match="no recording of the kind"):
        rg.inspect.Recording.load(file)


def test_every_field_of_the_document_is_described(recording):
    described = (ROOT / "docs" / "inside" / "recordings.md").read_text(encoding="utf-8")
    fields = set(recording.document)
    for kind in ("nodes", "ops", "backwards", "leaves", "places"):
        fields |= set(recording.document[kind][0])
    fields |= set(recording.document["backwards"][0]["steps"][0])
    for value in recording.document["values"]:
        fields |= set(value)
    assert {field for field in fields if f"`{field}`" not in described} == set()
    assert SCHEMA in described


def test_dot_has_every_node_and_edge(recording):
    text = recording.dot()
    assert text.count("->") == 9
    assert len(re.findall(r"^\s+n\d+ \[", text, re.MULTILINE)) == 10
    assert "subgraph" in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_svg_is_a_picture(recording):
    assert ET.fromstring(recording.svg().encode()).tag.endswith("svg")


STRANGE = ["a\x1b[31m", "b\0", "c\u202e", "&lt;d&gt;", "</text>", 'e"]', "f\\", "g\nh", "#35;", "n" * 5000]


def strange():
    names = {name: rg.ones(2, requires_grad=True) for name in STRANGE}
    with rg.inspect.record(names, title="\x1b]0;title\a") as made:
        sum(w.log().sum() for w in names.values()).backward()
    return made


def test_strange_names_are_obeyed_by_nobody():
    made = strange()
    for text in (
        made.text(),
        made.text(color=True).replace("\x1b[", ""),
        made.dot(),
        made.mermaid(),
        made.diff(made).text(),
    ):
        assert not set("\x1b\0\a\u202e") & set(text)
    assert '"&amp;lt;d&amp;gt;\\n(2,)"' in made.dot()
    assert '"#amp;lt;d#amp;gt; (2,)"' in made.mermaid()
    assert '"#35;35; (2,)"' in made.mermaid()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_strange_names_are_text_in_a_picture():
    drawn = {
        text.text for text in ET.fromstring(strange().svg().encode()).iter() if text.tag.endswith("}text")
    }
    assert {"&lt;d&gt;", "</text>", 'e"]', "f\\", "n" * 5000} <= drawn


def test_svg_without_graphviz_says_what_to_do(recording, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="apt install graphviz"):
        recording.svg()


def test_mermaid_is_a_flowchart(recording):
    text = recording.mermaid()
    assert text.startswith("flowchart TB\n")
    assert text.count("-->") == 9
    assert 'n0["TBackward0 (2, 3)"]' in text


def test_a_trace_has_slices_arrows_and_memory(recording):
    events = json.loads(recording.perfetto())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert sum(event["cat"] == "node" for event in slices) == 10
    assert sum(event["cat"] == "forward" for event in slices) == 6
    assert all(event["dur"] >= 0 for event in slices)
    assert sum(event["ph"] == "s" for event in events) == sum(event["ph"] == "f" for event in events) == 9
    assert any(event["ph"] == "C" for event in events)


REQUIRED = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "s": {"name", "cat", "pid", "tid", "ts", "id"},
    "f": {"name", "cat", "pid", "tid", "ts", "id", "bp"},
    "C": {"name", "pid", "ts", "args"},
}


@pytest.mark.parametrize("name", SIX)
def test_a_trace_is_what_the_trace_event_format_asks_for(name):
    trace = json.loads(SIX[name]().perfetto(), parse_constant=pytest.fail)
    assert set(trace) == {"displayTimeUnit", "traceEvents"}
    events = trace["traceEvents"]
    assert all(set(event) - {"ph"} == REQUIRED[event["ph"]] for event in events)
    slices = [event for event in events if event["ph"] == "X"]
    for tid in {event["tid"] for event in slices}:
        open_ends: list[float] = []  # slices of a thread lie in one another or apart
        for event in sorted((e for e in slices if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
            while open_ends and open_ends[-1] <= event["ts"]:
                open_ends.pop()
            assert not open_ends or event["ts"] + event["dur"] <= open_ends[-1] + 1e-3
            open_ends.append(event["ts"] + event["dur"])
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys()
    for arrow in (*starts.values(), *ends.values()):  # an arrow begins and ends in a slice
        assert any(s["tid"] == arrow["tid"] and s["ts"] <= arrow["ts"] <= s["ts"] + s["dur"] for s in slices)
    assert all(starts[i]["ts"] <= ends[i]["ts"] for i in starts)
    assert all(event["args"]["bytes"] >= 0 for event in events if event["ph"] == "C")


def test_json_has_no_number_that_json_has_not():
    x = rg.tensor([1e308, -1e308, 1.7e308, float("nan"), float("inf")], dtype=rg.float64, requires_grad=True)
    with rg.inspect.record() as made:
        (x * rg.full((5,), 1e-10, dtype=rg.float64)).exp().sum().backward()
        (x * 2).sum().backward()
    for text in (made.json(), made.perfetto()):
        json.loads(text, parse_constant=pytest.fail)


def test_names_cannot_break_out_of_any_form(tmp_path):
    w = rg.ones(2, requires_grad=True)
    with rg.inspect.record({HOSTILE: w}, title=HOSTILE) as made:
        (w * 2).sum().backward()
    html = made.html(tmp_path / "page.html")
    data = html.partition('<script id="recording" type="application/json">')[2].partition("</script>")[0]
    assert json.loads(data)["title"] == HOSTILE
    assert json.loads(made.json())["title"] == HOSTILE
    assert "<b>" not in made.mermaid()
    if shutil.which("dot"):
        assert ET.fromstring(made.svg().encode()) is not None
    assert "<b>" not in made._repr_html_()


def test_the_page_forbids_everything_but_itself():
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.template())[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_template_was_built_from_these_sources():
    from tools import inspector

    assert inspector.check() == ""


def test_notebooks_show_tensors_graphs_ledgers_and_recordings(recording):
    w = rg.ones(2, requires_grad=True)
    assert recording._repr_html_().startswith("<iframe sandbox=")
    assert "&lt;MulBackward0&gt;" in (w * 2)._repr_html_()
    assert rg.inspect.make_dot(w * 2)._repr_html_().lstrip().startswith(("<?xml", "<pre"))
    assert "alive" in rg.inspect.memory()._repr_html_()


def test_make_dot_draws_the_graph_that_torch_has(torch):
    def nodes(lib):
        w = lib.ones(2, requires_grad=True)
        loss = ((w * 2).exp() + w).sum()
        seen, todo = {}, [loss.grad_fn]
        while todo:
            node = todo.pop()
            if node is not None and id(node) not in seen:
                seen[id(node)] = node
                todo += [n for n, _ in node.next_functions]
        return w, loss, sorted(n.name().rpartition("::")[2] for n in seen.values())

    w, loss, ours = nodes(rg)
    theirs = nodes(torch)[2]
    source = rg.inspect.make_dot(loss, params={"w": w}).source
    drawn = sorted(re.findall(r'^\s+n\d+ \[label="(\w+)"\]', source, re.MULTILINE))
    assert drawn == ours == theirs
    assert 'label="w\\n (2)" fillcolor=lightblue' in source


def test_make_dot_shows_what_is_saved(tmp_path):
    w = rg.ones(2, requires_grad=True)
    graph = rg.inspect.make_dot([w.exp(), w.sum()], show_saved=True, show_attrs=True)
    assert 'label="result\\n (2)" fillcolor=orange' in graph.source
    assert "ExpBackward0\\n----------------------\\nresult: [saved tensor]" in graph.source
    assert graph.save(str(tmp_path / "g")).endswith("g")
    assert (tmp_path / "g").read_text(encoding="utf-8") == str(graph)
    if shutil.which("dot"):
        assert graph.render(str(tmp_path / "g"), cleanup=True, format="svg").endswith("g.svg")
        assert graph.render("h", directory=str(tmp_path)).endswith("h.pdf")
        assert graph.pipe("png").startswith(b"\x89PNG")


class Twice(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_make_dot_of_views_custom_functions_long_values_and_freed_graphs():
    w = rg.ones(40, requires_grad=True)
    y = Twice.apply(w)
    source = rg.inspect.make_dot(y.view(8, 5), show_saved=True, show_attrs=True, max_attr_chars=6).source
    assert "fillcolor=darkolivegreen3" in source  # what the output is a view of
    assert "style=dotted" in source
    assert "saved_tensors: [saved..." in source
    assert 'label="saved_tensors[0]\\n (40)" fillcolor=orange' in source
    loss = w.exp().sum()
    loss.backward()
    assert "orange" not in rg.inspect.make_dot(loss, show_saved=True, show_attrs=True).source


@pytest.mark.parametrize("form", ["json", "dot", "mermaid", "perfetto", "html"])
def test_a_name_that_is_no_unicode_is_written(form, tmp_path):
    odd = os.fsdecode(b"caf\xe9.py")  # what Python makes of a file's name in another encoding
    w = rg.ones(2, requires_grad=True)
    with rg.inspect.record({odd: w}, title=odd) as made:
        w.sum().backward()
    file = tmp_path / "out"
    getattr(made, form)(file)
    assert "caf" in file.read_text(encoding="utf-8")
    if form == "json":
        assert rg.inspect.Recording.load(file).document == made.document
    assert "\udce9" not in repr(made)
