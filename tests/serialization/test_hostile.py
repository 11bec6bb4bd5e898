"""Files that were made to do harm are refused with a clear error, and nothing of them is loaded."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile

import pytest

import retrograd as rg

from . import hostile
from .hostile import Pickle, archive

REFUSED = (pickle.UnpicklingError, RuntimeError, EOFError)


def load(data):
    return rg.load(io.BytesIO(data))


def test_files_written_by_hand_are_loaded():
    assert load(archive(Pickle().tensor().end())).tolist() == [0.0] * 4
    assert load(archive(Pickle().tensor(size=(2, 2), stride=(2, 1)).end())).shape == (2, 2)
    assert load(archive(Pickle().tensor(size=(3, 4), stride=(0, 1)).end())).shape == (3, 4)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"offset": 1}, "reaches element 4 of a storage of 4"),
        ({"offset": -1}, "offset of a tensor is -1"),
        ({"offset": 2**63}, "offset"),
        ({"offset": "0"}, "offset"),
        ({"size": (5,)}, "reaches element 4"),
        ({"size": (-4,)}, "-4, which is no size"),
        ({"size": (2**40, 2**40), "stride": (0, 0)}, "larger than any memory"),
        ({"size": (2**61,), "stride": (0,)}, "larger than any memory"),
        ({"size": (True,)}, "no size"),
        ({"size": (1.0,)}, "no size"),
        ({"size": [4]}, "tuple of at most 64"),
        ({"size": (1,) * 65, "stride": (1,) * 65}, "tuple of at most 64"),
        ({"stride": (-1,)}, "-1, which is no size"),
        ({"stride": (2,)}, "reaches element 6"),
        ({"stride": (2**62,)}, "reaches element"),
        ({"stride": ()}, "1 sizes and 0 strides"),
        ({"requires_grad": "yes"}, "neither requires a gradient"),
        ({"requires_grad": True, "kind": "IntStorage"}, "can require gradients"),
        ({"count": 5}, "has 16 bytes where 20 should be"),
        ({"count": 3}, "has 16 bytes where 12 should be"),
        ({"count": 2**40}, "more than there are in the file"),
        ({"count": -1}, "no size"),
        ({"key": "7"}, "no record 'data/7'"),
        ({"key": "../data.pkl"}, "no record"),
        ({"key": 0}, "in a way that load"),
        ({"where": "cuda:0"}, "map_location"),
        ({"where": "nowhere"}, "map_location"),
        ({"kind": "QInt8Storage"}, "QInt8Storage"),
        ({"kind": "float32"}, "in a way that load"),
    ],
)
def test_tensors_that_cannot_be(tensor, message):
    with pytest.raises(REFUSED, match=message):
        load(archive(Pickle().tensor(**tensor).end()))


def test_one_storage_described_in_two_ways():
    program = Pickle().add(b"(").tensor().tensor(kind="DoubleStorage", count=4, size=(1,)).add(b"t").end()
    with pytest.raises(REFUSED, match="in two ways"):
        load(archive(program))


@pytest.mark.parametrize(
    "name",
    [
        "os.system", "posix.system", "builtins.eval", "builtins.exec", "builtins.getattr", "__builtin__.open",
        "subprocess.Popen", "numpy.load", "numpy.ctypeslib.as_array", "retrograd.load", "torch.hub.load",
        "retrograd.core.tensor.Tensor.__init__", "collections.abc.os", "operator.attrgetter",
    ],
)  # fmt: skip
def test_code_is_not_run(name):
    ran = Pickle().name(name).add(b"(").value("echo 1 > harm").add(b"tR").end()
    with pytest.raises(REFUSED, match="Weights only load failed"):
        load(archive(ran))
    assert not os.path.exists("harm")  # noqa: PTH110 - the name as the shell would have it


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Pickle().name("builtins.bytearray").add(b"(").value(2**40).add(b"tR"), "no bytes"),
        (Pickle().name("builtins.list").add(b"(").value((1,)).add(b"tR"), "calls"),
        (Pickle().name("torch.Tensor").add(b"(").value(2**40).add(b"tR"), "calls"),
        (Pickle().name("torch.Size").add(b"(").value((-1,)).add(b"tR"), "no size"),
        (Pickle().name("numpy.ndarray").add(b"(").value((2**40,)).add(b"tR"), "calls"),
        (Pickle().tensor().value({"array": 3}).add(b"b"), "gives a state to a Tensor"),
        (Pickle().value([1]).value({"x": 3}).add(b"b"), "gives a state to a list"),
        (Pickle().value(1).value(2).add(b"a"), "as if it were a list"),
        (Pickle().value(1).value(2).value(3).add(b"s"), "sets items"),
        (Pickle().add(b"}").value([1]).value(3).add(b"s"), "to be a key"),
        (Pickle().add(b"}" + b")" + b"\x85" * 100_000).value(3).add(b"s"), "nested too deeply"),
        (Pickle().add(b"h\x05"), "has not made"),
        (Pickle().add(b"R"), "more than there is"),
        (Pickle().add(b"(R"), "more than there is"),
        (Pickle().add(b"t"), "no mark"),
        (Pickle().add(b"\x82\x01"), "EXT1"),
        (Pickle().add(b"(ios\nsystem\n"), "INST"),
        (Pickle().value(1).value(2), "ends too early"),
        (Pickle().name("collections.defaultdict").name("collections.deque").add(b"\x85R"), "is to call"),
        (Pickle().name("collections.OrderedDict").add(b")R").value({"__class__": 1}).add(b"b"), "no dict of names"),
    ],
)  # fmt: skip
def test_pickles_that_go_astray(program, message):
    with pytest.raises(REFUSED, match=message):
        load(archive(program.end()))


def test_a_tensor_keeps_its_own_attributes():
    for name in ("array", "_requires", "backward", "grad"):
        program = Pickle().name("torch._tensor._rebuild_from_type_v2").add(b"(")
        program.name("torch._utils._rebuild_tensor_v2").name("torch.Tensor").add(b"(")
        program.storage().value(0).value((4,)).value((1,)).value(False).add(b"}").add(b"t").value(
            {name: 3}
        ).add(b"tR")
        with pytest.raises(REFUSED, match=f"another '{name}'"):
            load(archive(program.end()))


def test_a_long_text_used_again_and_again():
    program = Pickle().value("x" * 100_000).add(b"q\x000")
    for _ in range(3000):
        program.data += b"c_codecs\nencode\n(h\x00X\x06\x00\x00\x00latin1tR0"
    with pytest.raises(REFUSED, match="again and again"):
        load(archive(program.value(1).end()))


def test_values_that_would_take_for_ever_to_print():
    program = Pickle().add(b"]q\x00")
    for i in range(60):
        program.data += b"](" + bytes([ord("h"), i]) * 10 + b"e" + bytes([ord("q"), i + 1])
    nest = program.data[2:]
    made = Pickle().name("torch.Size").add(b"(").add(nest).add(b"\x85tR")
    with pytest.raises(REFUSED):
        load(archive(made.end()))


# ---- arrays of NumPy's --------------------------------------------------------------------------------------------


def numpy_array(state, code="f8", order="<"):
    program = Pickle().name("numpy._core.multiarray._reconstruct").add(b"(").name("numpy.ndarray")
    program.value((0,)).add(b"C\x01btR(K\x01").value(state[0])
    program.name("numpy.dtype").add(b"(").value(code).value(False).value(True).add(b"tR")
    program.value((3, order, None, None, None, -1, -1, 0)).add(b"b")
    return program.value(False).add(b"C" + bytes([len(state[1])]) + state[1]).add(b"tb")


def test_arrays_are_built_from_their_bytes():
    assert load(archive(numpy_array(((2,), b"\0" * 16)).end())).tolist() == [0.0, 0.0]
    for state in (((3,), b"\0" * 16), ((2**40,), b"\0" * 16), ((-2,), b"\0" * 16), ((2, 2**62), b"\0" * 16)):
        with pytest.raises(REFUSED):
            load(archive(numpy_array(state).end()))
    with pytest.raises(REFUSED, match="dtype 'O8' are not loaded"):
        load(archive(numpy_array(((2,), b"\0" * 16), code="O8").end()))
    with pytest.raises(REFUSED, match="byte order"):
        load(archive(numpy_array(((2,), b"\0" * 16), order=7).end()))


# ---- archives -----------------------------------------------------------------------------------------------------


def test_archives_that_are_cut_off():
    data = archive(Pickle().tensor().end())
    for end in range(1, len(data)):
        with pytest.raises(REFUSED):
            load(data[:end])


def test_compressed_records_are_refused():
    with pytest.raises(REFUSED, match="is compressed"):
        load(archive(Pickle().tensor().end(), compression=zipfile.ZIP_DEFLATED))


def test_records_that_lie_over_each_other():
    data = bytearray(archive(Pickle().tensor().end(), (b"\0" * 16, b"\1" * 16)))
    first = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    places = [i for i in range(len(data)) if data[i : i + 4] == b"PK\x01\x02"]
    assert first in places
    data[places[3] + 42 : places[3] + 46] = data[places[2] + 42 : places[2] + 46]
    with pytest.raises(REFUSED):
        load(bytes(data))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_records_that_are_there_twice():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for _ in range(2):
            target.writestr("archive/data.pkl", Pickle().value(1).end())
    with pytest.raises(REFUSED, match="there twice"):
        load(made.getvalue())


@pytest.mark.parametrize(
    "names", [("a/data.pkl", "b/data.pkl"), ("../../x/data.pkl",), ("data.pkl",), ("x/y",)]
)
def test_archives_of_other_things(names):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name in names:
            target.writestr(name, Pickle().value(1).end())
    with pytest.raises(REFUSED, match="no data.pkl"):
        load(made.getvalue())


def test_changed_bytes_are_noticed():
    data = archive(Pickle().tensor().end(), (b"\x01\x02\x03\x04" * 4,))
    with pytest.raises(REFUSED, match="have changed since"):
        load(data.replace(b"\x01\x02\x03\x04" * 4, b"\x01\x02\x03\x05" * 4))


@pytest.mark.parametrize("record", [{"version": b"99\n"}, {"version": b"x"}, {"byteorder": b"middle"}])
def test_records_that_say_what_is_not_known(record):
    with pytest.raises(REFUSED):
        load(archive(Pickle().value(1).end(), **record))


def test_programs_of_torchscript_are_refused():
    with pytest.raises(RuntimeError, match="TorchScript"):
        load(archive(Pickle().value(1).end(), **{"constants.pkl": b"x"}))


def test_a_size_that_a_header_makes_up():
    data = bytearray(archive(Pickle().tensor().end()))
    at = data.rindex(b"PK\x01\x02")
    data[at + 20 : at + 28] = struct.pack("<II", 2**31, 2**31)
    with pytest.raises(REFUSED):
        load(bytes(data))


# ---- random damage ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")  # of pickletools, on rubbish
def test_damaged_files_are_refused_or_loaded(torch):
    """RETROGRAD_FUZZ=20000 tries that many files."""
    count = int(os.environ.get("RETROGRAD_FUZZ", "2000"))
    outcomes = hostile.fuzz(hostile.seeds(torch), count, 7, rg.load)
    assert sum(outcomes.values()) == count
    assert outcomes["UnpicklingError"] > count // 5
