"""`hash_tensor` gives PyTorch's numbers."""

from __future__ import annotations

import pytest

import retrograd as rg


def make(lib, name):
    return {
        "floats": lambda: lib.tensor([[1.5, -2.0, 0.1], [3.0, 1e30, 7.0]]),
        "doubles": lambda: lib.tensor([[1.5, -2.0, 0.1]], dtype=lib.float64),
        "halves": lambda: lib.tensor([[1.5, -2.0]], dtype=lib.float16),
        "bfloat16": lambda: lib.tensor([[1.5, -2.0]], dtype=lib.bfloat16),
        "longs": lambda: lib.tensor([[1, -5, 2**40]]),
        "bytes": lambda: lib.tensor([[1, 255]], dtype=lib.uint8),
        "small": lambda: lib.tensor([[1, -5]], dtype=lib.int8),
        "truth": lambda: lib.tensor([[True, False]]),
        "one": lambda: lib.tensor(3.0),
    }[name]()


KINDS = ("floats", "doubles", "halves", "bfloat16", "longs", "bytes", "small", "truth", "one")


@pytest.mark.parametrize("name", KINDS)
def test_all_elements_and_those_of_a_dimension(torch, name):
    def run(lib):
        x = make(lib, name)
        parts = [lib.hash_tensor(x), lib.hash_tensor(x, 0), x.hash_tensor(-1, keepdim=True)]
        return [(p.tolist(), str(p.dtype), tuple(p.shape)) for p in parts]

    assert run(rg) == run(torch)


def test_samples_of_a_batch():
    x = rg.arange(12).reshape(2, 3, 2)
    assert rg.vmap(lambda a: rg.hash_tensor(a, 0))(x).tolist() == rg.hash_tensor(x, 1).tolist()
    assert rg.vmap(rg.hash_tensor)(x).tolist() == rg.hash_tensor(x, (1, 2)).tolist()


@pytest.mark.parametrize(
    "phrase", ["Unknown hash_tensor mode: 1", "not implemented for", "specified", "uint64"]
)
def test_what_it_refuses(torch, phrase):
    def run(lib):
        calls = {
            "Unknown hash_tensor mode: 1": lambda: lib.hash_tensor(lib.ones(2), mode=1),
            "not implemented for": lambda: lib.hash_tensor(lib.ones(2, dtype=lib.complex64)),
            "specified": lambda: lib.hash_tensor(lib.ones(0)),
            "uint64": lambda: lib.hash_tensor(lib.ones(2), 0, out=lib.ones(1)),
        }
        with pytest.raises((RuntimeError, NotImplementedError), match=phrase):
            calls[phrase]()

    run(torch)
    run(rg)
