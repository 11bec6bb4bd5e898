"""Objects of every kind that files hold, made by either library."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128",
    "uint16", "uint32", "uint64",
]  # fmt: skip


def through(writer, reader, value, **options):
    """What `reader` loads of what `writer` saved."""
    file = io.BytesIO()
    writer.save(value, file)
    file.seek(0)
    return reader.load(file, **options)


def saved(lib, value, **options):
    """The bytes of a file."""
    file = io.BytesIO()
    lib.save(value, file, **options)
    return file.getvalue()


def values(lib):
    """Plain values and containers."""
    return {
        "numbers": [1, -(2**70), 2.5, float("inf"), 1 + 2j, True, None],
        "texts": ("s", "ü€", b"ab\xff", bytearray(b"q"), ""),
        "nested": {"a": {1: [(), [[]], {}]}, (1, "x"): {1, 2}, 2.5: None},
        "ordered": OrderedDict(b=1, a=2),
        "counter": Counter("aab"),
        "size": lib.Size([1, 2]),
        "devices": [lib.device("cpu"), lib.device("cuda:1")],
        "dtypes": [getattr(lib, name) for name in DTYPES],
    }


def tensors(lib):
    """Tensors of every dtype and layout."""
    x = lib.arange(12.0).reshape(3, 4)
    return {
        "dtypes": {name: lib.tensor([[0, 1, 2], [3, 0, 5]]).to(getattr(lib, name)) for name in DTYPES},
        "whole": x,
        "turned": x.t()[1:],
        "part": x[1:, ::2],
        "expanded": lib.ones(1).expand(3),
        "empty": lib.zeros(0, 3),
        "scalar": lib.tensor(3.5),
        "leaf": lib.ones(2, requires_grad=True),
        "result": lib.ones(2, requires_grad=True) * 2,
    }
