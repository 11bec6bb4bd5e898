"""`rg.hub`: models of a folder, and what is said where PyTorch would download."""

from __future__ import annotations

import pytest

import retrograd as rg

CONF = '''
import beside_hub


def line(slope, offset=0):
    """A straight line."""
    return lambda x: slope * x + offset + beside_hub.ZERO
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(CONF)
    (tmp_path / "beside_hub.py").write_text("ZERO = 0\n")
    return str(tmp_path)


def test_models_of_a_folder(folder):
    assert rg.hub.list(folder, source="local") == ["line"]
    assert rg.hub.help(folder, "line", source="local") == "A straight line."
    made = rg.hub.load(folder, "line", 2, offset=1, source="local", trust_repo=True)
    assert made(3) == 7
    with pytest.raises(RuntimeError, match="Cannot find callable curve in hubconf"):
        rg.hub.load(folder, "curve", source="local")


def test_nothing_is_downloaded():
    for call in (rg.hub.load, rg.hub.help):
        with pytest.raises(
            NotImplementedError, match="nothing is fetched from the net: download someone/thing"
        ):
            call("someone/thing", "model")
    with pytest.raises(ValueError, match="Unknown source"):
        rg.hub.load("a", "b", source="elsewhere")
