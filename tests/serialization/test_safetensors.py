"""Files of the safetensors format, where its library is installed."""

from __future__ import annotations

import sys

import pytest

import retrograd as rg

from .samples import DTYPES


def test_the_library_is_named_where_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install 'retrograd\[io\]'"):
        rg.serialization.save_safetensors({"x": rg.ones(2)}, tmp_path / "a.safetensors")


def test_tensors_by_name(tmp_path):
    pytest.importorskip("safetensors")
    path = tmp_path / "a.safetensors"
    kinds = [name for name in DTYPES if not name.startswith("complex")]
    tensors = {name: rg.tensor([[0, 1], [2, 3]]).to(getattr(rg, name)) for name in kinds}
    tensors |= {"turned": rg.arange(6.0).reshape(2, 3).t(), "scalar": rg.tensor(2.5), "empty": rg.zeros(0, 3)}
    rg.serialization.save_safetensors(tensors, path, metadata={"by": "me"})
    found = rg.serialization.load_safetensors(path)
    assert {name: (t.dtype, t.tolist()) for name, t in found.items()} == {
        name: (t.dtype, t.tolist()) for name, t in tensors.items()
    }
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_other_things_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'x' is a int, not a Tensor"):
        rg.serialization.save_safetensors({"x": 3}, tmp_path / "a.safetensors")
