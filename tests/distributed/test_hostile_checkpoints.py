"""Checkpoints that nobody has written in good faith are refused, and read nothing beyond their folder."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg
from retrograd.distributed import checkpoint


@pytest.fixture
def folder(tmp_path) -> Any:
    folder = tmp_path / "inner"
    checkpoint.save({"w": rg.ones(2), "step": [3, 4]}, checkpoint_id=folder, no_dist=True)
    return folder


def change(folder, files: Any) -> None:
    rg.save({"version": 1, "files": files}, folder / ".metadata")


@pytest.mark.parametrize("name", ["../secret.pt", "/secret.pt", "..", "", "x/../../secret.pt", 5, None])
def test_no_file_of_another_folder_is_read(folder, tmp_path, name):
    rg.save({("w",): rg.zeros(2)}, tmp_path / "secret.pt")
    change(folder, {("w",): f"{tmp_path}{name}" if name == "/secret.pt" else name})
    with pytest.raises(RuntimeError, match="files of that folder only"):
        checkpoint.load_whole(folder)
    with pytest.raises(RuntimeError, match="files of that folder only"):
        checkpoint.load({"w": rg.zeros(2)}, checkpoint_id=folder)


@pytest.mark.parametrize(
    "metadata", [None, 3, [], {}, {"files": None}, {"files": {"w": "a.pt"}}, {"files": {(): "a.pt"}}]
)
def test_metadata_that_are_none(folder, metadata):
    rg.save(metadata, folder / ".metadata")
    with pytest.raises(RuntimeError, match="is not what save"):
        checkpoint.load_whole(folder)


def test_values_that_are_missing_or_contradict_each_other(folder):
    (own,) = folder.glob("*.pt")
    change(folder, {("v",): own.name})
    with pytest.raises(RuntimeError, match="does not have v"):
        checkpoint.load_whole(folder)
    rg.save([1], own)
    with pytest.raises(RuntimeError, match="does not have v"):
        checkpoint.load_whole(folder)
    change(folder, {("v",): own.name, ("v", "w"): own.name})
    rg.save({("v",): 1, ("v", "w"): 2}, own)
    with pytest.raises(RuntimeError, match="both a value and something inside it"):
        checkpoint.load_whole(folder)
