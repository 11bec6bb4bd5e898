"""Tensors over the memory of files: `from_file` and `UntypedStorage.from_file`."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg


@pytest.mark.parametrize("shared", [False, True])
def test_a_file_is_memory(tmp_path, shared, torch):
    def program(lib, path):
        np.arange(4, dtype=np.float32).tofile(path)
        t = lib.from_file(str(path), shared=shared, size=3)
        t[0] = 7
        return t.tolist(), str(t.dtype), bytes(lib.UntypedStorage.from_file(str(path), False, 4).tolist())

    ours, theirs = program(rg, tmp_path / "ours"), program(torch, tmp_path / "theirs")
    assert ours == theirs
    assert (np.fromfile(tmp_path / "ours", np.float32)[0] == 7) is np.bool_(shared)


def test_a_part_of_a_storage_is_a_storage():
    part = rg.tensor([1, 2, 3], dtype=rg.uint8).untyped_storage()[1:]
    assert (type(part), part.tolist(), part[0]) == (rg.UntypedStorage, [2, 3], 2)
    assert rg.asarray(part, dtype=rg.uint8).tolist() == [2, 3]


@pytest.mark.parametrize("kind", ["int32", "uint8", "float16"])
def test_a_view_as_another_dtype(kind, torch):
    def program(lib):
        x, dtype = lib.tensor([1.0, 2.0]), getattr(lib, kind)
        return x.view(dtype).tolist(), x.view(dtype=dtype).tolist(), lib.view_copy(x, dtype).tolist()

    assert program(rg) == program(torch)
