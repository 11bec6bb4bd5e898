"""Dtypes that NumPy has no arrays of: every way to a tensor of one is refused with a sentence that says what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.casts import cast, reinterpreted

INSTEAD = {
    "complex32": "complex64",
    "float8_e4m3fn": "float16 or bfloat16",
    "float4_e2m1fn_x2": "float16 or bfloat16",
    "qint8": "float32",
    "int4": "int8",
    "uint1": "uint8",
    "bits16": "uint8",
}
WAYS = {
    "zeros": lambda kind: rg.zeros(2, dtype=kind),
    "tensor": lambda kind: rg.tensor([1], dtype=kind),
    "arange": lambda kind: rg.arange(3, dtype=kind),
    "empty_like": lambda kind: rg.empty_like(rg.ones(2), dtype=kind),
    "new_zeros": lambda kind: rg.ones(2).new_zeros(2, dtype=kind),
    "frombuffer": lambda kind: rg.frombuffer(bytearray(4), dtype=kind),
    "to": lambda kind: rg.ones(2).to(kind),
    "to_keyword": lambda kind: rg.ones(2).to("cpu", dtype=kind),
    "type": lambda kind: rg.ones(2).type(kind),
    "view": lambda kind: rg.ones(2).view(kind),
    "sum": lambda kind: rg.ones(2).sum(dtype=kind),
    "softmax": lambda kind: rg.nn.functional.softmax(rg.ones(2), 0, dtype=kind),
    "promote_types": lambda kind: rg.promote_types(kind, rg.float32),
    "autocast": lambda kind: rg.autocast("cpu", dtype=kind),
    "Linear": lambda kind: rg.nn.Linear(1, 1, dtype=kind),
    "cast": lambda kind: cast(np.ones(2), kind),
    "reinterpreted": lambda kind: reinterpreted(np.ones(2), kind),
    "numpy": lambda kind: kind.dtype,
}


@pytest.mark.parametrize("way", WAYS)
def test_use_is_refused(way):
    for name, instead in INSTEAD.items():
        sentence = f"torch.{name} can be named here.* Use {instead} instead"
        with pytest.raises(NotImplementedError, match=sentence):
            WAYS[way](getattr(rg, name))


def test_no_default(torch):
    for name in INSTEAD:
        for module in (rg, torch):
            with pytest.raises(TypeError):
                module.set_default_dtype(getattr(module, name))
        with pytest.raises(TypeError, match=f"only floating-point types.* got {re.escape(f'torch.{name}')}"):
            rg.set_default_dtype(getattr(rg, name))


def test_they_differ_from_all_of_numpys():
    for name in INSTEAD:
        kind = getattr(rg, name)
        for known in (np.dtype("float32"), np.dtype("int8"), np.dtype("float64"), None, name, 3):
            assert kind != known
            assert known != kind
