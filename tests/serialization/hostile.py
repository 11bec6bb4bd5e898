"""Files that were made to do harm, and files with random damage."""

from __future__ import annotations

import io
import pickle
import pickletools
import random
import struct
import zipfile
import zlib

import retrograd as rg
from retrograd.serialization.legacy import OUR_MAGIC

from .samples import saved, tensors, values


def archive(program, storages=(b"\0" * 16,), compression=zipfile.ZIP_STORED, **records):
    """A zip archive with this pickle inside."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as target:
        target.writestr("archive/data.pkl", program)
        target.writestr("archive/version", records.pop("version", b"3\n"))
        for name, data in records.items():
            target.writestr(f"archive/{name}", data)
        for i, data in enumerate(storages):
            target.writestr(f"archive/data/{i}", data)
    return made.getvalue()


class Pickle:
    """Writes a pickle by hand: each method adds an instruction and returns the writer."""

    def __init__(self, begin=b"\x80\x02"):
        self.data = begin

    def add(self, data):
        self.data += data
        return self

    def name(self, full):
        module, _, name = full.rpartition(".")
        return self.add(f"c{module}\n{name}\n".encode())

    def value(self, value):
        return self.add(pickle.dumps(value, protocol=2)[2:-1])

    def storage(self, kind="FloatStorage", key="0", where="cpu", count=4):
        self.add(b"(").value("storage").name(f"torch.{kind}").value(key).value(where).value(count)
        return self.add(b"tQ")

    def tensor(self, offset=0, size=(4,), stride=(1,), requires_grad=False, **storage):
        self.name("torch._utils._rebuild_tensor_v2").add(b"(").storage(**storage)
        self.value(offset).value(size).value(stride).value(requires_grad)
        return self.name("collections.OrderedDict").add(b")RtR")

    def end(self):
        return self.data + b"."


def zip_bytes(names):
    """An archive whose directory can be spoilt: the bytes, and where its directory begins."""
    data = archive(Pickle().tensor().end(), **names)
    return data, data.rindex(b"PK\x01\x02")


# ---- random damage ------------------------------------------------------------------------------------------------


def seeds(torch):
    """Good files of every format."""
    value = {"tensors": tensors(rg), "plain": values(rg)}
    found = [
        saved(rg, value),
        saved(rg, value, pickle_protocol=4),
        OUR_MAGIC + pickle.dumps(value, protocol=4),
    ]
    if torch is not None:
        value = {"tensors": tensors(torch), "plain": values(torch)}
        found += [saved(torch, value), saved(torch, value, _use_new_zipfile_serialization=False)]
    return found


def damaged(data, chance):
    """A file with a little damage: bytes changed, lost, doubled, moved; or its pickle so, in a zip that is sound."""
    if data[:2] == b"PK" and chance.random() < 0.7:
        with zipfile.ZipFile(io.BytesIO(data)) as source:
            records = {name: source.read(name) for name in source.namelist()}
        root = next(iter(records)).partition("/")[0]
        spoil = chance.choice([f"{root}/data.pkl"] * 8 + list(records))
        records[spoil] = (_instructions if chance.random() < 0.5 else _bytes)(records[spoil], chance)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as target:
            for name, content in records.items():
                target.writestr(name, content)
        return made.getvalue()
    return _bytes(data, chance)


def _bytes(data, chance):
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        if not data:
            break
        i, n = chance.randrange(len(data)), chance.randrange(1, 9)
        kind = chance.randrange(6)
        if kind == 0:
            data[i] = chance.randrange(256)
        elif kind == 1:
            data[i] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del data[i : i + n]
        elif kind == 3:
            data[i:i] = data[i : i + n * 4]
        elif kind == 4:
            data[i : i + 4] = struct.pack("<I", chance.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1]))
        else:
            del data[i:]
    return bytes(data)


def _instructions(data, chance):
    """A pickle whose instructions are shuffled, doubled or dropped whole, so that it still can be read."""
    try:
        starts = [position for _, _, position in pickletools.genops(data)]
    except ValueError:
        return _bytes(data, chance)
    parts = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
    for _ in range(chance.choice([1, 1, 2, 5])):
        i, j = chance.randrange(len(parts)), chance.randrange(len(parts))
        kind = chance.randrange(4)
        if kind == 0:
            parts[i], parts[j] = parts[j], parts[i]
        elif kind == 1:
            parts[i] = parts[j]
        elif kind == 2:
            parts.insert(i, parts[j])
        else:
            parts[i] = b""
    return b"".join(parts)


def fuzz(files, count, seed, load):
    """Loads `count` damaged files; says how many were loaded and how many were refused with each kind of error."""
    chance, outcomes = random.Random(seed), {}
    for _ in range(count):
        data = damaged(chance.choice(files), chance)
        try:
            load(io.BytesIO(data))
            outcome = "loaded"
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            outcome = type(error).__name__
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


def crc(data):
    return zlib.crc32(data).to_bytes(4, "little")
