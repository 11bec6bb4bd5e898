"""Constants, the indices and masks that ops save: shared, packed, unpacked and freed. See Note [Constants]."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.core.op import ready
from retrograd.core.saved import SavedConstant, constant_of
from retrograd.core.version import PACKED
from retrograd.errors import FreedGraphError, InplaceError


def leaf(*shape: int) -> rg.Tensor:
    return rg.arange(float(np.prod(shape))).reshape(*shape).clone().requires_grad_()


def test_a_constant_knows_the_version_of_its_tensor():
    i = rg.tensor([1, 0])
    i.add_(0)
    found = constant_of(i)
    assert found.array is i.array
    assert (found.counter, found.version) == (i._version_counter(), 1)
    assert constant_of(found) is found
    assert constant_of(i.array).counter is None


def test_another_form_has_the_same_version():
    found = constant_of(rg.tensor([1, 0]))
    wide = found.like(found.array[:, None])
    assert (wide.counter, wide.version, wide.array.shape) == (found.counter, found.version, (2, 1))
    assert found.like(found.array) is found


def test_formulas_hand_the_same_constant_on():
    x = leaf(3)
    y = x[rg.tensor([2, 0])]
    (given,) = y.grad_fn.key
    (g,) = rg.autograd.grad(y, x, rg.ones(2, requires_grad=True), create_graph=True)
    assert g.grad_fn.key == (given,)


def test_packing_leaves_the_shared_constant_alone():
    x = leaf(3)
    y = x[rg.tensor([2, 0])]
    (g,) = rg.autograd.grad(y, x, rg.ones(2, requires_grad=True), create_graph=True)
    y.grad_fn._raw_saved_indices[0].register_hooks(lambda t: t.tolist(), rg.tensor)
    assert y.grad_fn.key[0].counter is PACKED
    assert g.grad_fn.key[0].counter is not PACKED
    assert y.grad_fn._saved_indices[0].tolist() == [2, 0]


def test_a_packed_constant_is_unpacked_by_a_twin():
    x = leaf(3)
    with rg.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), rg.tensor):
        y = x.gather(0, rg.tensor([2, 0]))
    node = y.grad_fn
    twin = ready(node, node.constants)
    assert twin is not node
    assert twin.index.array.tolist() == [2, 0]
    assert twin.next_functions == node.next_functions
    assert twin.out_shape == node.out_shape
    assert node.index.counter is PACKED
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0]


def test_an_op_runs_its_own_formula_if_nothing_is_packed():
    node = leaf(3).gather(0, rg.tensor([2, 0])).grad_fn
    assert ready(node, node.constants) is node


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i, m: x[i],
        lambda x, i, m: x.gather(0, i),
        lambda x, i, m: x.index_select(0, i),
        lambda x, i, m: x.scatter_add(0, i, x),
        lambda x, i, m: x.where(m, 0.0),
        lambda x, i, m: x.masked_fill(m, 0.0),
        lambda x, i, m: x.masked_select(m),
        lambda x, i, m: rg.nn.functional.embedding(i, x[:, None]),
        lambda x, i, m: x.sort()[0],
    ],
)
def test_constants_are_freed_with_the_graph(call):
    x, i, m = leaf(3), rg.tensor([2, 0]), rg.tensor([True, False, True])
    y = call(x, i, m)
    arrays = [weakref.ref(c.array) for node in (y.grad_fn,) for c in node.constants]
    del i, m
    gc.collect()
    assert all(array() is not None for array in arrays)
    assert y.grad_fn.holds_saved()
    y.sum().backward()
    assert all(array() is None for array in arrays)
    assert y.grad_fn.constants is None
    assert not y.grad_fn.slot_names()
    with pytest.raises(FreedGraphError, match="Noticed at"):
        y.sum().backward()


def test_a_retained_graph_keeps_them():
    x = leaf(3)
    y = x[rg.tensor([2, 0])]
    y.sum().backward(retain_graph=True)
    assert y.grad_fn._saved_indices[0].tolist() == [2, 0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]


def test_formulas_of_a_freed_op_say_so():
    node = leaf(3)[rg.tensor([2, 0])].grad_fn
    other = leaf(3).gather(0, rg.tensor([2, 0])).grad_fn
    for op in (node, other):
        op.release()
    with pytest.raises(FreedGraphError):
        _ = node.key
    with pytest.raises(FreedGraphError):
        _ = other.index


def test_the_error_names_both_lines():
    i = rg.tensor([2, 0])
    y = leaf(3)[i]
    i.zero_()
    with pytest.raises(
        InplaceError, match=r"saved by       IndexBackward0 of .*\n.*overwritten by .*i\.zero_"
    ):
        y.sum().backward()


def test_sealed_indices_are_read_only():
    i = rg.tensor([2, 0])
    with rg.autograd.graph.seal_saved_tensors():
        y = leaf(3)[i]
    with pytest.raises(ValueError, match="read-only"):
        i.numpy()[0] = 1
    y.sum().backward()
    i.numpy()[0] = 1


def test_batched_indices_go_through_hooks():
    x, i = leaf(2, 3), rg.tensor([[2, 0], [1, 1]])

    def loss(x, i):
        return (x.gather(0, i) ** 2).sum()

    with rg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        found = rg.func.vmap(rg.func.grad(loss))(x.detach(), i)
    assert found.tolist() == [[0.0, 0.0, 4.0], [0.0, 16.0, 0.0]]


def test_an_index_that_nobody_else_has_is_packed_too():
    log = []
    with rg.autograd.graph.saved_tensors_hooks(lambda t: (log.append(t.tolist()), t)[1], lambda t: t):
        y = leaf(3)[[2, 0]]
    y.sum().backward()
    assert log == [[2, 0]]


def test_a_diagnosis_does_without_overwritten_constants():
    x, m = leaf(3), rg.tensor([True, False, False])
    with rg.autograd.detect_nonfinite():
        y = (x.masked_fill(m, 1.0) - 1).log()
        m.zero_()
        with pytest.raises(RuntimeError):
            y.sum().backward()


def test_constants_are_compared_by_version_not_by_value():
    i = rg.tensor([2, 0])
    y = leaf(3)[i]
    i.copy_(i.clone())
    with pytest.raises(InplaceError):
        y.sum().backward()


def test_a_constant_holds_no_tensor():
    i = rg.tensor([2, 0])
    kept = weakref.ref(i)
    y = leaf(3)[i]
    del i
    assert kept() is None
    assert isinstance(y.grad_fn.key[0], SavedConstant)
