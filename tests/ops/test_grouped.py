"""Products of groups: against the products one by one, forward and backward."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.nn.functional import grouped_mm

ENDS = (2, 2, 5)


def groups():
    return list(zip((0, *ENDS), ENDS, strict=False))


def rows_and_experts(lib):
    return lib.arange(15.0).reshape(5, 3) / 7, lib.arange(36.0).reshape(3, 3, 4) / 5


def one_by_one(x, y):
    """What the products of the groups are, by slices."""
    if x.ndim == 2 and y.ndim == 3:
        return rg.cat([x[a:b] @ y[i] for i, (a, b) in enumerate(groups())])
    if x.ndim == 3:
        return rg.cat([x[i] @ y[:, a:b] for i, (a, b) in enumerate(groups())], 1)
    return rg.stack([x[:, a:b] @ y[a:b] for a, b in groups()])


OPERANDS = {
    "rows": ((5, 3), (3, 3, 4)),
    "columns": ((3, 4, 2), (2, 5)),
    "inner": ((4, 5), (5, 3)),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_groups_are_products_side_by_side(name):
    rg.manual_seed(1)
    x, y = (rg.randn(*shape, requires_grad=True) for shape in OPERANDS[name])
    found = grouped_mm(x, y, offs=rg.tensor(ENDS, dtype=rg.int32))
    wanted = one_by_one(x, y)
    rg.testing.assert_close(found, wanted)
    weight = rg.randn(*wanted.shape)
    rg.testing.assert_close(
        rg.autograd.grad((found * weight).sum(), (x, y)), rg.autograd.grad((wanted * weight).sum(), (x, y))
    )


def test_second_derivatives_and_tangents():
    rg.manual_seed(1)
    x, y = rg.randn(5, 3, requires_grad=True), rg.randn(3, 3, 4, requires_grad=True)
    offs = rg.tensor(ENDS, dtype=rg.int32)

    def twice(product):
        g = rg.autograd.grad(product(x, y).sin().sum(), (x, y), create_graph=True)
        return rg.autograd.grad(g[0].sum() + (g[1] ** 2).sum(), (x, y))

    rg.testing.assert_close(twice(lambda a, b: grouped_mm(a, b, offs=offs)), twice(one_by_one))
    tangents = rg.ones(5, 3), rg.ones(3, 3, 4)
    ours = rg.func.jvp(lambda a, b: grouped_mm(a, b, offs=offs), (x, y), tangents)
    rg.testing.assert_close(ours, rg.func.jvp(one_by_one, (x, y), tangents))


def test_a_batch_of_groups():
    offs = rg.tensor(ENDS, dtype=rg.int32)
    x, y = rows_and_experts(rg)
    batch = rg.stack([x, -x])
    found = rg.vmap(lambda a: grouped_mm(a, y, offs=offs))(batch)
    rg.testing.assert_close(found, rg.stack([one_by_one(x, y), one_by_one(-x, y)]))


def test_stacks_and_rows_behind_the_last_group():
    x = rg.ones(2, 3, 4)
    rg.testing.assert_close(grouped_mm(x, x.mT), x @ x.mT)
    found = grouped_mm(rg.ones(3, 2), rg.ones(1, 2, 1), offs=rg.tensor([2], dtype=rg.int32))
    assert found.tolist() == [[2.0], [2.0], [0.0]]


def test_it_is_pytorchs_product(torch):
    def run(lib):
        x, y = lib.arange(48.0).reshape(6, 8), lib.arange(256.0).reshape(2, 8, 16) / 64
        return lib.nn.functional.grouped_mm(x, y, offs=lib.tensor([2, 6], dtype=lib.int32)).tolist()

    assert run(rg) == run(torch)


def test_what_does_not_fit():
    x, y, offs = rg.ones(5, 3), rg.ones(2, 3, 4), rg.tensor([1, 5], dtype=rg.int32)
    for phrase, change in {
        "Have to provide offsets": {"offs": None},
        "offs has to be 1D": {"offs": offs[None]},
        "Offsets have to be int32": {"offs": offs.long()},
        "matrix batch sizes have to match": {"offs": offs[:1]},
        "Bias not supported": {"bias": rg.ones(4)},
        "output dtype must match": {"out_dtype": rg.bfloat16},
        "contraction dimension": {"mat_a": rg.ones(5, 2)},
        "mat_a has to be 2 or 3d": {"mat_a": rg.ones(5)},
        "Expected mat_a to be Float32": {"mat_a": x.double(), "mat_b": y.double()},
        "same dtype, but got: float != c10::BFloat16": {"mat_b": y.bfloat16()},
        "batched dimension": {"mat_a": rg.ones(3, 5, 3), "offs": None},
    }.items():
        with pytest.raises(RuntimeError, match=phrase):
            grouped_mm(**{"mat_a": x, "mat_b": y, "offs": offs, **change})
