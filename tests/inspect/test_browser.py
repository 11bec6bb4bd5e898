"""The inspector's page in a real browser, from disk, without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time

import pytest

import retrograd as rg
from retrograd import nn
from tests.inspect.recordings import SIX, line_fit
from tests.project.sources import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PLAYWRIGHT = ROOT / "inspector" / "node_modules" / "playwright-core"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
STRANGE = [
    "<!--<script>",
    "\u2028\u2029",
    '"\\u003c\\',
    "&lt;b&gt;",
    "'; alert(3); '",
    "\u202eevil",
    "w" * 5000,
    "\0\x1b[31m",
]
WIDTHS = ("1600 light", "1600 dark", "390 light", "390 dark")


def line():
    """A line fit with a parameter that nothing uses; returns the recording and the gradients."""
    x = rg.linspace(0, 1, 20)
    y = 3 * x + 1
    w = rg.tensor(0.5, requires_grad=True)
    b = rg.tensor(0.0, requires_grad=True)
    unused = rg.ones(3, requires_grad=True)
    with rg.inspect.record(title="line") as recording:
        loss = ((w * x + b - y) ** 2).mean()
        loss.backward()
    assert unused.grad is None
    return recording, {"w": w.grad.item(), "b": b.grad.item()}


def modules():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    with rg.inspect.record(title="modules") as recording:
        loss = net(rg.ones(3, 4)).sum()
        loss.backward()
    return recording


def hostile():
    names = {name: rg.ones(2, requires_grad=True) for name in (HOSTILE, *STRANGE)}
    with rg.inspect.record(names, title=HOSTILE) as recording:
        sum((w.log() - 1).sum() for w in names.values()).backward()
    return recording


def chain():
    x = rg.ones(4, requires_grad=True)
    with rg.inspect.record(title="chain") as recording:
        y = x
        for _ in range(10_000):
            y = y * 1.0001
        y.sum().backward()
    return recording


class Blocks(nn.Module):
    """Modules in modules, with 126 nodes in each of the inner ones, and a parameter."""

    def __init__(self, *counts):
        super().__init__()
        self.inner = nn.ModuleList(Blocks(*counts[1:]) for _ in range(counts[0])) if counts else ()
        if not counts:
            self.weight = nn.Parameter(rg.ones(2))

    def forward(self, x):
        for block in self.inner:
            x = block(x)
        for _ in range(0 if self.inner else 42):
            x = (x * self.weight + 0.1).tanh()
        return x


def blocks():
    net = Blocks(20, 40)
    with rg.inspect.record(title="blocks") as recording:
        net(rg.ones(2)).sum().backward()
    return recording


def forward_only():
    x = rg.ones(4, requires_grad=True)
    with rg.inspect.record(title="forward only") as recording:
        y = x.exp().sum()
    assert y.requires_grad
    return recording


def nothing():
    with rg.inspect.record(title="nothing") as recording:
        pass
    return recording


def failing():
    x = rg.ones(4, requires_grad=True)

    def fail(g):
        raise ValueError("no such thing")

    with rg.inspect.record(title="failing") as recording, pytest.raises(ValueError, match="no such thing"):
        y = x.exp()
        y.register_hook(fail)
        y.sum().backward()
    return recording


def sums():
    """A small tensor and a larger one, used three times each."""
    small, large = rg.tensor([1.0, 2.0], requires_grad=True), rg.ones(20, requires_grad=True)
    with rg.inspect.record(title="sums") as recording:
        a, b, c = small.exp(), small.sin(), small * 2
        d, e, f = large * 1, large * 2, large * 3
        ((a + b + c).sum() + (d + e + f).sum()).backward()
    return recording


def threads():
    """Two backwards on threads, and second derivatives. A thread that ends early gives its number to the other one."""

    def work(x):
        (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()

    with rg.inspect.record(title="threads") as recording:
        others = [
            threading.Thread(target=work, args=(rg.ones(2, requires_grad=True),), name=f"worker {i}")
            for i in range(2)
        ]
        for other in others:
            other.start()
        for other in others:
            other.join()
    return recording


def training():
    """Thirty steps of one net."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    with rg.inspect.record(title="training") as recording:
        for _ in range(30):
            net(rg.ones(4, 2)).sum().backward()
    return recording


def compared():
    """A step against another, in which one gradient is larger, one is smaller and an operation is missing."""

    def step(factor, extra):
        a, b = rg.ones(3, requires_grad=True), rg.ones(3, requires_grad=True)
        with rg.inspect.record(title=f"factor {factor}") as recording:
            c = a.exp() * factor
            d = b / factor
            if extra:
                c = c.clone()
            (c + d).sum().backward()
        return recording

    return step(4.0, True).diff(step(2.0, False))


PAGES = {
    "diff": compared,
    "modules": modules,
    "hostile": hostile,
    "chain": chain,
    "blocks": blocks,
    "forward": forward_only,
    "nothing": nothing,
    "failing": failing,
    "sums": sums,
    "threads": threads,
    "training": training,
    **{f"six-{name}": make for name, make in SIX.items()},
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the browser saw, and the gradients of the line fit; of several processes that test, one looks for all."""
    if CHROMIUM is None:
        pytest.skip("no browser: Chromium is not installed (.ci/browser)")
    if shutil.which("node") is None or not PLAYWRIGHT.is_dir():
        pytest.skip("no browser tests: they need Node.js, and `npm ci` in inspector/ (.ci/browser)")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "inspected"
    result = folder / "seen.json"
    try:
        folder.mkdir()
    except FileExistsError:
        while not result.exists():
            time.sleep(0.2)
    else:
        try:
            told = look(folder)
        except Exception as error:  # those that wait are to hear of it
            told = {"failed": repr(error)}
        (folder / "seen.part").write_text(json.dumps(told), encoding="utf-8")
        (folder / "seen.part").rename(result)
    told = json.loads(result.read_text(encoding="utf-8"))
    assert "failed" not in told, told["failed"]
    return told["found"], told["grads"]


def look(folder):
    """Writes the pages, and has the browser open them."""
    recording, grads = line()
    recording.html(folder / "line.html")
    for name, make in PAGES.items():
        make().html(folder / f"{name}.html")
    command = ["node", "look.mjs", CHROMIUM, str(folder)]
    done = subprocess.run(command, cwd=ROOT / "inspector", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {"found": json.loads(done.stdout), "grads": grads}


@pytest.mark.parametrize("page", ["line", *PAGES])
def test_pages_open_from_disk_without_a_complaint(seen, page):
    for width in WIDTHS:
        found = seen[0][f"{page}.html"][width]
        assert found["problems"] == []
        assert found["requests"] == []
        assert found["overflow"] <= 0
        assert found["items"] > 0 or page == "nothing"


def test_the_theme_is_the_systems_and_can_be_changed(seen):
    page = seen[0]["line.html"]
    light, dark = page["1600 light"]["paper"], page["390 dark"]["paper"]
    assert light != dark
    assert page["390 light"]["paper"] == light
    assert seen[0]["replay"]["theme"] == dark


def test_names_are_text_whatever_they_look_like(seen):
    found = seen[0]["hostile.html"]["1600 light"]
    assert found["title"] == HOSTILE
    assert found["scripts"] == 2  # the recording and the page's own
    assert found["images"] == 0
    assert seen[0]["names"] == [HOSTILE, *STRANGE]


def test_ten_thousand_nodes_fold_to_something_one_can_look_at(seen):
    assert seen[0]["chain.html"]["1600 light"]["items"] < 500
    assert seen[0]["large"] == {"problems": [], "unfolded": 10_002, "half": 5_001, "found": 201}


def test_a_hundred_thousand_nodes_can_be_used_folded(seen):
    found = seen[0]["folded"]
    assert found["problems"] == []
    assert found["nodes"] > 100_000
    assert found["first"] < 100  # things to look at
    assert found["found"] == 201
    assert found["revealed"] - found["first"] > 100  # the modules around what was found are open
    assert found["again"] < found["revealed"]
    assert found["all"] == found["nodes"]
    assert found["half"] == 50_000


def test_of_many_backwards_the_chosen_one_is_shown(seen):
    found = seen[0]["training"]
    assert found["scope"] == ["one", "one", "one", "one", "all"]
    once, other, revealed, again, every = found["nodes"]
    assert once == other == revealed == again
    assert every == 30 * once
    assert found["backwards"] == [0, 29, 3, 3, 3]
    assert found["selected"][1] == found["roots"][29]
    assert found["selected"][2] == found["selected"][3] == found["roots"][3]
    assert found["leaves"] == 4  # each beside the operation that uses it, within its module


def test_the_replay_goes_by_buttons_keys_and_slider(seen):
    replay = seen[0]["replay"]
    assert replay["problems"] == []
    assert replay["at"] == [7, 0, 2, 1, 0, 3, 7]
    assert sorted(replay["states"]) == ["done", "done", "done", "idle", "idle", "idle", "running"]
    assert replay["queue"].startswith("Ready queue")
    assert replay["moved"]  # the mark in the timeline and the memory's curve


def test_a_sum_under_way_shows_what_has_come(seen):
    small = {arrived: text for name, arrived, text in seen[0]["sums"] if name == "small"}
    large = {arrived: text for name, arrived, text in seen[0]["sums"] if name == "large"}
    assert small == {"1 of 3": "[2, 2]", "2 of 3": "[2.5403, 1.5839]"}  # of 2 * x and of its sine
    assert large == {"1 of 3": "‖13.4‖", "2 of 3": "‖13.4‖ + ‖8.94‖"}


def test_the_grads_shown_are_the_programs(seen):
    (found, grads) = seen
    shown = dict(row.split("\t") for row in found["replay"]["grads"])
    assert {name: float(text.strip("[]")) for name, text in shown.items()} == pytest.approx(grads, rel=1e-6)


def test_find_card_and_code_lead_to_each_other(seen):
    replay = seen[0]["replay"]
    assert replay["focus"] == "search"
    assert [row.split()[0] for row in replay["results"]] == ["MulBackward0"]
    assert "x * y" in replay["card"]
    assert "Kept for backward" in replay["card"]
    assert "loss = ((w * x + b - y) ** 2).mean()" in replay["line"]
    assert replay["fromCode"] >= 0
    assert replay["clicked"] == 0


def test_a_pointer_on_a_box_is_told_its_whole_name(seen):
    assert seen[0]["replay"]["hint"] == "MulBackward0"


def test_on_a_narrow_page_what_is_found_comes_into_view(seen):
    assert seen[0]["narrow"]["before"] < 0  # the graph is above what is seen
    assert seen[0]["narrow"]["after"] > -1  # of a pixel
    assert "net.2" in seen[0]["narrow"]["row"]


def test_find_takes_shapes_and_lines(seen):
    assert [row.split()[0] for row in seen[0]["find"]["shape"]] == ["AddmmBackward0"]
    assert len(seen[0]["find"]["line"]) >= 5
    assert seen[0]["find"]["none"] == ["No node matches."]


def test_the_questions_are_answered_in_words(seen):
    answers = seen[0]["replay"]["answers"]
    assert answers["First non-finite"] == "Every value that was looked at is finite."
    assert "sent a gradient of norm" in answers["Largest gradient"]
    assert "kept" in answers["Most memory"]
    assert answers["No gradient reaches"].startswith("unused 3")
    assert "Nothing the output was computed from" in answers["Unused parameters"]


def test_groups_fold_by_module_and_by_line(seen):
    folds = seen[0]["folds"]
    assert folds["problems"] == []
    assert folds["folded"] == ["net", "Sum"]
    assert folds["unfolded"] == folds["open"]
    assert len(folds["open"]) == len(folds["none"]) == 10
    assert folds["lines"] == ["loss = net(rg.ones(3, 4)).sum()"]
    assert (
        folds["scales"][0] != folds["scales"][1]
    )  # what is found opens its group, and single nodes keep less


def test_the_keyboard_reaches_everything(seen):
    keys = seen[0]["keys"]
    assert keys["problems"] == []
    assert set(keys["controls"]) <= set(keys["reached"])
    assert keys["along"][0] != keys["along"][1]
    assert keys["along"][2] == keys["along"][0]
    assert keys["folded"] == ["net.2"]
    assert keys["unfolded"] == []
    assert keys["slider"] == ["Pause", "Play"]  # the space bar plays, and an arrow is the slider's own


def test_paper_gets_a_light_page_without_buttons(seen):
    paper = seen[0]["paper"]
    assert paper["player"] == "none"
    assert paper["paper"] == seen[0]["line.html"]["1600 light"]["paper"]
    assert paper["brightness"] > 200  # of the corner of the graph
    assert paper["theme"] == "dark"  # again, afterwards
    assert paper["before"] > 1  # of the canvas' height: the graph is longer than that
    assert paper["lowest"] <= 1
    assert paper["after"] == paper["before"]


def test_signs_and_colours_are_explained(seen):
    assert seen[0]["legend"] == {
        "graph": ["leaf", "◔sum under way", "●ready", "▶runs", "✓has run", "⚠not finite", "▸folded group"],
        "timeline": ["forward", "backward", "⚠ not finite"],
    }


def test_nodes_are_coloured_by_numbers(seen):
    overlay = seen[0]["overlay"]
    ratios = [f"{what}, here / there" for what in ("|gradient|", "time", "saved bytes")]
    expected = ["replay", "time", "|gradient|", "saved bytes", *ratios, "only here"]
    assert overlay["options"] == [f"color: {what}" for what in expected]
    assert overlay["first"]["legend"] == ["|gradient|, here / there", "×0.5×2", "no number"]
    reds = [int(color[4:].split()[0]) for color in overlay["first"]["colors"] if color]
    assert min(reds) < 0x80  # less is blue
    assert max(reds) > 0xE0  # more is orange, and what is the same is white
    assert "" in overlay["first"]["colors"]  # what only one has
    assert "here / there" in overlay["card"]
    assert overlay["saved"]["legend"][0] == "saved bytes"
    assert overlay["folded"]["legend"][0] == "saved bytes"
    assert set(overlay["replay"]["colors"]) == {""}
    assert "leaf" in overlay["replay"]["legend"]


def test_a_page_says_that_a_backward_failed_or_that_there_was_none(seen):
    assert "ValueError: no such thing" in seen[0]["failing"]["state"]
    assert seen[0]["failing"]["header"] == "⚠ ValueError: no such thing"
    assert seen[0]["failing"]["says"].endswith("which fails.")
    assert seen[0]["forward"] == {"player": "none", "card": "y = SumBackward0"}
    assert seen[0]["nothing"].startswith("Nothing was recorded")


def test_a_page_has_a_line_of_time_for_each_thread(seen):
    assert [row.split(" · ")[0] for row in seen[0]["threads"]["backwards"]] == ["worker 0", "worker 1"]
    assert seen[0]["threads"]["count"] == 4


def test_the_policy_lets_nothing_be_fetched_or_evaluated(seen):
    assert seen[0]["policy"] == ["fetch", "eval", "script", "image"]


def test_the_line_fit_of_the_pictures_is_the_guides():
    page = (ROOT / "docs" / "guide" / "inspect.md").read_text(encoding="utf-8")
    step = "loss = ((slope * x + offset - y) ** 2).mean()"
    assert step in page
    assert any(place["text"].strip() == step for place in line_fit().document["places"])
