"""The inspector's page in a real browser, from disk, without a network."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

import retrograd as rg
from retrograd import nn
from tests.project.sources import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PLAYWRIGHT = ROOT / "inspector" / "node_modules" / "playwright-core"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def line():
    """README's line fit; returns the recording and the gradients."""
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
    w = rg.ones(2, requires_grad=True)
    with rg.inspect.record({HOSTILE: w}, title=HOSTILE) as recording:
        (w.log() - 1).sum().backward()
    return recording


def chain():
    x = rg.ones(4, requires_grad=True)
    with rg.inspect.record(title="chain") as recording:
        y = x
        for _ in range(10_000):
            y = y * 1.0001
        y.sum().backward()
    return recording


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the browser saw, and the gradients of the line fit."""
    if CHROMIUM is None:
        pytest.skip("no browser: Chromium is not installed")
    if shutil.which("node") is None or not PLAYWRIGHT.is_dir():
        pytest.skip("no browser tests: they need Node.js, and `npm ci` in inspector/")
    folder = tmp_path_factory.mktemp("pages")
    recording, grads = line()
    for name, made in (
        ("line", recording),
        ("modules", modules()),
        ("hostile", hostile()),
        ("chain", chain()),
    ):
        made.html(folder / f"{name}.html")
    command = ["node", "look.mjs", CHROMIUM, str(folder)]
    done = subprocess.run(command, cwd=ROOT / "inspector", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), grads


@pytest.mark.parametrize("page", ["line.html", "modules.html", "hostile.html", "chain.html"])
def test_pages_open_from_disk_without_a_complaint(seen, page):
    for width in ("1600", "390"):
        found = seen[0][page][width]
        assert found["problems"] == []
        assert found["requests"] == []
        assert found["overflow"] <= 0
        assert found["items"] > 0


def test_the_theme_is_the_systems_and_can_be_changed(seen):
    light, dark = seen[0]["line.html"]["1600"]["paper"], seen[0]["line.html"]["390"]["paper"]
    assert light != dark
    assert seen[0]["replay"]["theme"] == dark


def test_names_are_text_whatever_they_look_like(seen):
    found = seen[0]["hostile.html"]["1600"]
    assert found["title"] == HOSTILE
    assert found["scripts"] == 2  # the recording and the page's own
    assert found["images"] == 0


def test_ten_thousand_nodes_fold_to_something_one_can_look_at(seen):
    assert seen[0]["chain.html"]["1600"]["items"] < 500


def test_the_replay_goes_by_buttons_keys_and_slider(seen):
    replay = seen[0]["replay"]
    assert replay["problems"] == []
    assert replay["at"] == [7, 0, 2, 1, 0, 3, 7]
    assert sorted(replay["states"]) == ["done", "done", "done", "idle", "idle", "idle", "running"]
    assert replay["queue"].startswith("Ready queue")


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
    assert replay["printed"] == "none"


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
    assert folds["unfolded"] == folds["open"] == folds["none"]
    assert len(folds["open"]) == 10
    assert folds["lines"] == ["loss = net(rg.ones(3, 4)).sum()"]


def test_the_policy_lets_nothing_be_fetched_or_evaluated(seen):
    assert seen[0]["policy"] == ["fetch", "eval", "script", "image"]
