"""The page's colours: text that can be read, and states that colour-blind people can tell apart."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from tests.project.sources import ROOT

STYLE = (ROOT / "inspector" / "src" / "style.css").read_text(encoding="utf-8")

# How people see who lack one kind of cone: Machado, Oliveira and Fernandes 2009, for linear light.
SIGHT = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}

# From linear light to what cones take, and from that to coordinates in which distance is difference to the eye (OKLab).
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
AXES = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def theme(name: str) -> dict[str, str]:
    """The colours of the light or the dark theme."""
    light, dark = re.findall(r":root(?:\[data-theme=\"dark\"\])? \{(.*?)\}", STYLE, re.DOTALL)
    return dict(re.findall(r"--(\w+): (#\w{6})", light if name == "light" else dark))


def linear(color: str) -> np.ndarray:
    """Red, green and blue light of a colour such as #0063a5."""
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The ratio that accessibility guidelines ask of text."""
    light = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def lab(light: np.ndarray) -> np.ndarray:
    """Light in coordinates in which distance is difference to the eye."""
    return AXES @ np.cbrt(CONES @ np.clip(light, 0, None))


@pytest.mark.parametrize("name", ["light", "dark"])
def test_text_can_be_read_on_everything_it_stands_on(name):
    colors = theme(name)
    faces = [
        "paper",
        "frame",
        "face",
        "leafFace",
        "runningFace",
        "readyFace",
        "doneFace",
        "badFace",
        "more",
        "less",
    ]
    assert {
        face: round(contrast(colors["ink"], colors[face]), 2)
        for face in faces
        if contrast(colors["ink"], colors[face]) < 7
    } == {}
    for text in ("quiet", "accent", "bad"):
        low = {face: contrast(colors[text], colors[face]) for face in ("paper", "frame", "face")}
        assert {face: round(ratio, 2) for face, ratio in low.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", ["light", "dark"])
def test_more_and_less_can_be_told_apart(name, sight):
    colors = theme(name)
    seen = [lab(SIGHT[sight] @ linear(colors[end])) for end in ("less", "face", "more")]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 0.08


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", ["light", "dark"])
def test_states_can_be_told_apart(name, sight):
    colors = theme(name)
    seen = {state: lab(SIGHT[sight] @ linear(colors[state])) for state in ("leaf", "running", "done", "bad")}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 0.08, (one, other)
