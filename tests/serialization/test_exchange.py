"""Files go from one library to the other, both ways, and nothing is lost."""

from __future__ import annotations

import io
import itertools
import zlib
from collections import OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest

import retrograd as rg

from .samples import saved, tensors, through, values

WAYS = list(itertools.product(("rg", "torch"), repeat=2))


@pytest.fixture
def libraries(torch):
    return {"rg": rg, "torch": torch}


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_plain_values(libraries, way):
    writer, reader = (libraries[name] for name in way)
    found, expected = through(writer, reader, values(writer)), values(reader)
    assert found == expected
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_tensors(libraries, way):
    writer, reader = (libraries[name] for name in way)
    found, expected = through(writer, reader, tensors(writer)), tensors(reader)
    for name, tensor in [*found.pop("dtypes").items(), *found.items()]:
        other = expected["dtypes"][name] if name in expected["dtypes"] else expected[name]
        assert (tensor.dtype, tensor.shape, tensor.stride()) == (other.dtype, other.shape, other.stride()), (
            name
        )
        assert tensor.tolist() == other.tolist(), name
        assert tensor.requires_grad == other.requires_grad, name
        assert tensor.is_leaf, name


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_views_still_share_memory(libraries, way):
    writer, reader = (libraries[name] for name in way)
    found = through(writer, reader, tensors(writer))
    found["whole"][1, 2] = 100.0
    assert found["turned"][1, 1].item() == found["part"][0, 1].item() == 100.0


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_version_of_pickle(protocol):
    file = io.BytesIO(saved(rg, [tensors(rg), values(rg)], pickle_protocol=protocol))
    found = rg.load(file)
    assert found[1] == values(rg)
    assert found[0]["turned"].tolist() == tensors(rg)["turned"].tolist()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_state_of_an_optimiser(libraries, way, name):
    writer, reader = (libraries[n] for n in way)

    def trained(lib):
        w = lib.tensor([1.0, -2.0], requires_grad=True)
        optimizer = getattr(lib.optim, name)([w], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
        for _ in range(3):
            (w * w).sum().backward()
            optimizer.step()
        return w, optimizer

    w, optimizer = trained(reader)
    optimizer.load_state_dict(through(writer, reader, trained(writer)[1].state_dict()))
    optimizer.step()
    again, other = trained(reader)
    other.step()
    np.testing.assert_allclose(w.tolist(), again.tolist(), rtol=1e-6)


def test_modules_of_pytorch(torch):
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    found = through(torch, rg, module.state_dict())
    assert type(found) is OrderedDict
    assert found._metadata["1"] == {"version": 2}
    module.load_state_dict(through(rg, torch, found), strict=True)


def test_parameters_of_pytorch(torch):
    found = through(torch, rg, torch.nn.Parameter(torch.ones(2)))
    assert isinstance(found, rg.Tensor)
    assert found.requires_grad
    frozen = through(torch, rg, torch.nn.Parameter(torch.ones(2), requires_grad=False))
    assert not frozen.requires_grad


class Parameter(rg.Tensor):
    """As the class of this name in `nn`, which need not be there."""


Parameter.__module__ = "retrograd.nn.parameter"


def test_parameters_become_pytorchs(torch):
    plain = rg.arange(4.0).as_subclass(Parameter).requires_grad_()
    noted = rg.ones(2).as_subclass(Parameter)
    noted.note = "frozen"
    plain_there, noted_there, shared = through(
        rg, torch, [plain, noted, plain.detach()[1:].as_subclass(rg.Tensor)]
    )
    assert type(plain_there) is type(noted_there) is torch.nn.Parameter
    assert (plain_there.requires_grad, noted_there.requires_grad, noted_there.note) == (True, False, "frozen")
    with torch.no_grad():
        plain_there[1] = 9.0
    assert shared.tolist() == [9.0, 2.0, 3.0]


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_attributes_of_tensors(libraries, way):
    writer, reader = (libraries[name] for name in way)
    x = writer.ones(2)
    x.note = "mine"
    assert through(writer, reader, x).note == "mine"


def test_the_old_format_of_pytorch(torch):
    data = saved(torch, [tensors(torch), values(torch)], _use_new_zipfile_serialization=False)
    file = io.BytesIO(data + data)
    for _ in range(2):  # two files in one, one after the other
        found, plain = rg.load(file)
        assert plain == values(rg)
        for name, tensor in tensors(rg).items():
            if name != "dtypes":
                assert found[name].tolist() == tensor.tolist(), name
        assert {name: t.tolist() for name, t in found["dtypes"].items()} == {
            name: t.tolist() for name, t in tensors(rg)["dtypes"].items()
        }
        found["whole"][1, 2] = 100.0
        assert found["turned"][1, 1].item() == 100.0


def test_conjugates_that_pytorch_has_only_noted(torch):
    x = torch.tensor([1 + 2j, 3j])
    assert through(torch, rg, x.conj()).tolist() == [1 - 2j, -3j]
    assert through(torch, rg, x.conj().imag).tolist() == [-2.0, -3.0]


def test_one_memory_as_two_dtypes(torch):
    def run(lib):
        x = lib.ones(4, dtype=lib.complex64)
        return saved(lib, [x, lib.view_as_real(x)])

    for lib in (rg, torch):
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            run(lib)


def test_values_that_only_we_load():
    value = {
        "array": np.arange(6.0).reshape(2, 3),
        "columns": np.ones((2, 3), order="F"),
        "swapped": np.arange(3, dtype=">i4"),
        "number": np.float64(2.5),
        "more": [frozenset([1]), deque([1], 3), defaultdict(list, a=[1]), range(3), slice(1, 2)],
    }
    found = through(rg, rg, value)
    assert found["more"] == value["more"]
    assert found["number"] == 2.5
    assert found["columns"].flags.f_contiguous
    for name in ("array", "columns", "swapped"):
        np.testing.assert_array_equal(found[name], value[name])


def test_arrays_that_no_storage_can_describe():
    array = np.arange(6.0, dtype=np.float32)
    tensors = [
        rg.from_numpy(array[::-1].copy())[:2],
        rg.Tensor(array[::-1], share=True),
        rg.Tensor(array.astype(">f4"), share=True),
    ]
    found = through(rg, rg, tensors)
    assert [t.tolist() for t in found] == [t.tolist() for t in tensors]


def test_numbers_of_the_other_byte_order():
    value = tensors(rg)["dtypes"]
    data = saved(rg, {name: rg.Tensor(t.array.byteswap(), share=True) for name, t in value.items()})
    for old, new in ((b"little", b"big   "), (crc(b"little"), crc(b"big   "))):
        data = data.replace(old, new)
    found = rg.load(io.BytesIO(data))
    assert {name: t.tolist() for name, t in found.items()} == {name: t.tolist() for name, t in value.items()}


def crc(data):
    return zlib.crc32(data).to_bytes(4, "little")


def mirrors(library: Any) -> dict[str, Any]:
    z = library.tensor([1 + 2j, 3j])
    return {"z": z, "conj": z.conj(), "neg": z._neg_view()}


@pytest.mark.parametrize("backwards", [False, True])
def test_conjugates_and_negatives_are_still_views_of_the_same_memory(torch, backwards):
    writer, reader = (torch, rg) if backwards else (rg, torch)
    file = io.BytesIO()
    writer.save(mirrors(writer), file)
    for library in (reader, writer):
        file.seek(0)
        found = library.load(file)
        for name, expected in mirrors(library).items():
            assert found[name].tolist() == expected.tolist(), name
            assert (found[name].is_conj(), found[name].is_neg()) == (expected.is_conj(), expected.is_neg())
        found["z"].zero_()
        assert found["conj"].tolist() == [0, 0]


def test_files_without_checksums(torch, tmp_path):
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(torch.arange(3.0), tmp_path / "a.pt")
    finally:
        torch.serialization.set_crc32_options(before)
    assert rg.load(tmp_path / "a.pt").tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("backwards", [False, True])
def test_tensors_without_values_keep_their_shape(torch, backwards):
    writer, reader = (torch, rg) if backwards else (rg, torch)
    file = io.BytesIO()
    x = writer.ones(2, 3, device="meta").t()
    writer.save(
        {"x": x, "leaf": writer.ones(2, dtype=writer.int8, device="meta"), "p": writer.nn.Parameter(x)}, file
    )
    for library in (reader, writer):
        file.seek(0)
        found = library.load(file)
        assert {name: (t.is_meta, t.shape, t.stride(), t.requires_grad) for name, t in found.items()} == {
            "x": (True, (3, 2), (1, 3), False),
            "leaf": (True, (2,), (1,), False),
            "p": (True, (3, 2), (1, 3), True),
        }
        assert str(found["leaf"].dtype) == "torch.int8"


class SavesItself(rg.Tensor):
    """A tensor that is pickled as a list."""

    def __reduce_ex__(self, protocol):
        return list, (self.tolist(),)


def test_a_class_of_tensors_may_say_how_it_is_pickled():
    file = io.BytesIO()
    rg.save(rg.ones(2).as_subclass(SavesItself), file)
    file.seek(0)
    assert rg.load(file, weights_only=False) == [1.0, 1.0]
