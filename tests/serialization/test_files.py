"""Where files lie and how they are written: paths, open files, crashes, memory maps, devices, older formats."""

from __future__ import annotations

import io
import os
import pickle
import stat
import zipfile
from fractions import Fraction

import numpy as np
import pytest

import retrograd as rg
from retrograd.serialization.legacy import OUR_MAGIC
from tests.devices import fake

from .samples import saved, tensors, through, values


def test_paths_of_every_kind(tmp_path):
    for path in (tmp_path / "a.pt", str(tmp_path / "b.pt"), os.fspath(tmp_path / "no-ending")):
        rg.save({"x": rg.ones(2)}, path)
        assert rg.load(path)["x"].tolist() == [1.0, 1.0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pt", "b.pt", "no-ending"]


def test_a_crash_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    rg.save(1, path)

    def broken(*_):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="the disk is full"):
            rg.save(2, path)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        rg.save(lambda: 3, path)
    assert rg.load(path) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


@pytest.mark.skipif(os.name == "nt", reason="modes and links are POSIX's")
def test_a_new_file_has_the_mode_of_the_old_one_and_links_stay(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    rg.save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    rg.save(2, link)
    assert link.is_symlink()
    assert rg.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_open_files_that_can_only_write():
    class Pipe:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data)

    pipe = Pipe()
    rg.save(tensors(rg)["whole"], pipe)
    assert rg.load(io.BytesIO(pipe.data)).shape == (3, 4)


def test_what_cannot_be_pickled_writes_nothing():
    file = io.BytesIO()
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        rg.save([rg.ones(2), lambda: 3], file)
    assert file.getvalue() == b""


def test_a_file_mapped_to_memory(tmp_path):
    path = tmp_path / "a.pt"
    rg.save(tensors(rg), path)
    before = path.read_bytes()
    found = rg.load(path, mmap=True)
    for name, tensor in tensors(rg).items():
        if name != "dtypes":
            assert found[name].tolist() == tensor.tolist()
    found["whole"][1, 2] = 100.0
    assert found["turned"][1, 1].item() == 100.0
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="must be a string or a path"):
        rg.load(io.BytesIO(before), mmap=True)


def test_storages_begin_where_kernels_like_it(torch, tmp_path):
    path = tmp_path / "a.pt"
    rg.save([rg.ones(3), rg.ones(5)], path)
    assert all(t.array.ctypes.data % 64 == 0 for t in rg.load(path, mmap=True))
    assert torch.load(path, mmap=True)[1].tolist() == [1.0] * 5


# ---- devices ------------------------------------------------------------------------------------------------------


def elsewhere(data):
    """A file of tensors that were on a GPU."""
    old, new = b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(made, "w") as target:
        for info in source.infolist():
            target.writestr(info.filename, source.read(info).replace(old, new))
    return made.getvalue()


@pytest.mark.parametrize(
    "where", ["cpu", rg.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage]
)
def test_tensors_of_a_device_that_is_not_here(where):
    data = elsewhere(saved(rg, rg.arange(3.0)))
    with pytest.raises(
        RuntimeError, match="Attempting to deserialize object on device 'cuda:0'.*map_location"
    ):
        rg.load(io.BytesIO(data))
    assert rg.load(io.BytesIO(data), map_location=where).tolist() == [0.0, 1.0, 2.0]


def test_a_function_of_locations_sees_storages_and_their_devices():
    seen = []
    data = elsewhere(saved(rg, [rg.arange(4.0)[1:], rg.ones(2, dtype=rg.int64)]))
    rg.load(
        io.BytesIO(data),
        map_location=lambda storage, where: seen.append((np.asarray(storage).tobytes(), where)) or storage,
    )
    numbers = np.arange(4, dtype=np.float32), np.ones(2, np.int64)
    assert seen == [(array.tobytes(), "cuda:0") for array in numbers]


def test_a_function_of_locations_may_leave_it_to_the_default():
    data = saved(rg, rg.arange(3.0))
    restore = rg.serialization.default_restore_location
    assert rg.load(io.BytesIO(data), map_location=lambda s, _: restore(s, "cpu")).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on device 'cuda:0'"):
        rg.load(io.BytesIO(data), map_location=lambda s, _: restore(s, "cuda:0"))
    assert rg.serialization.location_tag(rg.ones(2).untyped_storage()) == "cpu"


def test_numbers_can_be_left_out():
    model = rg.nn.Linear(2, 3)
    with rg.serialization.skip_data():
        data = saved(rg, model.state_dict())
    assert len(data) == len(saved(rg, model.state_dict()))
    assert not any(t.any() for t in rg.load(io.BytesIO(data)).values())
    with rg.serialization.skip_data():
        assert rg.load(io.BytesIO(saved(rg, rg.ones(2)))).tolist() == [0.0, 0.0]


def test_tensors_go_to_another_device():
    fake.install()
    x = rg.ones(2).to("fake:0")
    found = through(rg, rg, [x, rg.zeros(2)])
    assert [str(t.device) for t in found] == ["fake:0", "cpu"]
    assert str(through(rg, rg, rg.zeros(2), map_location="fake:0").device) == "fake:0"
    assert str(through(rg, rg, x, map_location="cpu").device) == "cpu"


# ---- trust --------------------------------------------------------------------------------------------------------


class Mine:
    """A class of somebody's."""

    def __init__(self, value):
        self.value = value


class MyTensor(rg.Tensor):
    """A kind of tensor of somebody's."""


def test_strangers_are_refused_by_name():
    with pytest.raises(
        pickle.UnpicklingError, match=r"Weights only load failed.*GLOBAL .*Mine was not an allowed"
    ):
        through(rg, rg, {"x": Mine(3)})
    assert through(rg, rg, Mine(3), weights_only=False).value == 3


def test_what_a_user_has_allowed_is_loaded():
    serialization = rg.serialization
    assert serialization.get_safe_globals() == []
    with serialization.safe_globals([Mine, MyTensor]):
        assert serialization.get_safe_globals() == [Mine, MyTensor]
        assert through(rg, rg, Mine(rg.ones(1))).value.tolist() == [1.0]
        x = rg.ones(2).as_subclass(MyTensor)
        assert type(through(rg, rg, x)) is MyTensor
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(Fraction, "fractions.Fraction")])
    assert through(rg, rg, Fraction(1, 3)) == Fraction(1, 3)
    serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError, match="fractions.Fraction"):
        through(rg, rg, Fraction(1, 3))


def test_names_that_would_be_refused(tmp_path):
    path = tmp_path / "a.pt"
    for protocol in (2, 4):
        rg.save({"x": rg.ones(2), "y": Fraction(1, 2)}, path, pickle_protocol=protocol)
        assert rg.serialization.get_unsafe_globals_in_checkpoint(path) == ["fractions.Fraction"]


def test_arguments_that_contradict_each_other():
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        rg.load(io.BytesIO(b"x"), pickle_module=pickle, weights_only=True)
    with pytest.raises(EOFError):
        rg.load(io.BytesIO(b""))


def test_dtypes_that_are_not_here(torch):
    data = saved(torch, torch.ones(2).to(torch.float8_e5m2))
    with pytest.raises(pickle.UnpicklingError, match="float8_e5m2 is of a kind that retrograd has not"):
        rg.load(io.BytesIO(data))


def test_dtypes_that_are_only_named(torch):
    names = ["float8_e4m3fn", "complex32", "qint8", "uint3", "bits1x8"]
    data = saved(torch, {"kinds": [getattr(torch, name) for name in names]})
    assert rg.load(io.BytesIO(data))["kinds"] == [getattr(rg, name) for name in names]
    again = io.BytesIO()
    rg.save([getattr(rg, name) for name in names], again)
    assert torch.load(io.BytesIO(again.getvalue())) == [getattr(torch, name) for name in names]


# ---- our first format ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [4, 5])
def test_files_of_our_first_format(protocol):
    x = rg.arange(6.0).reshape(2, 3)
    x.note = "mine"
    value = {"x": x, "turned": x.t(), "leaf": rg.ones(2, requires_grad=True), "plain": values(rg)}
    data = OUR_MAGIC + pickle.dumps(value, protocol=protocol)
    for trusting in (False, True):
        found = rg.load(io.BytesIO(data), weights_only=not trusting)
        assert found["plain"] == value["plain"]
        assert found["x"].note == "mine"
        assert found["leaf"].requires_grad
        np.testing.assert_array_equal(found["turned"].array, x.array.T)
