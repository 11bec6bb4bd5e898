"""Writing over saved values, and writes that do not count. What PyTorch does too is in tests/conformance."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.autograd.graph import allow_mutation_on_saved_tensors, saved_tensors_hooks


@pytest.fixture
def x():
    return rg.tensor([1.0, 2.0, 3.0], requires_grad=True)


def part(y):
    y[1:].zero_()


def element(y):
    y[2] = 9.0


def assigned_slice(y):
    y[1:] = 9.0


def detached_part(y):
    y.detach()[1:].zero_()


def part_of_data(y):
    y.data[1:].zero_()


def strided(y):
    y[::2].zero_()


def reversed_part(y):
    y.view(3, 1)[1:].add_(1)


def into_a_part(y):
    rg.add(rg.ones(2), rg.ones(2), out=y.detach()[1:])


def other_library_view(y):
    rg.from_numpy(y.detach().numpy()[1:]).zero_()


WRITES = [
    part,
    element,
    assigned_slice,
    detached_part,
    part_of_data,
    strided,
    reversed_part,
    into_a_part,
    other_library_view,
]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_a_part_saves_the_whole(x, write):
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        loss = (y**2).sum()
        write(y)
        assert y.tolist() != [1.0, 2.0, 3.0]
        loss.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_write_to_the_whole_saves_a_part(x):
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        loss = (y[1:] ** 2).sum()
        y.zero_()
        loss.backward()
    assert x.grad.tolist() == [0.0, 4.0, 6.0]


def test_a_write_through_one_view_saves_another(x):
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        a, b = y[:2], y[1:]
        loss = (a**2).sum()
        b.zero_()
        loss.backward()
    assert x.grad.tolist() == [2.0, 4.0, 0.0]


def test_an_in_place_product_of_overlapping_views(x):
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        y[:2].mul_(y[1:])
        (gradient,) = grad(y.sum(), x)
    # y = (x0 x1, x1 x2, x2)
    assert gradient.tolist() == [2.0, 1.0 + 3.0, 2.0 + 1.0]


def test_no_copy_where_the_write_does_not_reach(x):
    with allow_mutation_on_saved_tensors() as ctx:
        y = x.clone()
        loss = (y[:1] ** 2).sum()
        y[2:].zero_()
        assert len(ctx.cloned) == 0
        y[:2].zero_()
        assert len(ctx.cloned) == 1
        loss.backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]


def test_no_copy_without_a_write(x):
    with allow_mutation_on_saved_tensors() as ctx:
        y = x.exp()
        y.sum().backward()
        assert (len(ctx.cloned), len(ctx.original)) == (0, 0)


def test_one_copy_serves_all_who_saved_the_memory(x):
    with allow_mutation_on_saved_tensors() as ctx:
        y = x.clone()
        losses = [y.sin(), y.cos(), y.detach() * x, y.view(3) * x]
        y.zero_()
        assert len(ctx.cloned) == 1
        sum(loss.sum() for loss in losses).backward()
    expected = np.cos([1.0, 2.0, 3.0]) - np.sin([1.0, 2.0, 3.0]) + 3 * np.array([1.0, 2.0, 3.0])
    assert x.grad.tolist() == pytest.approx(expected.tolist())


def test_saved_again_after_the_write_is_another_value(x):
    with allow_mutation_on_saved_tensors() as ctx:
        y = x.clone()
        first = (y**2).sum()
        y.mul_(10)
        second = (y**2).sum()
        assert (len(ctx.cloned), len(ctx.original)) == (1, 1)
        y.zero_()
        assert len(ctx.cloned) == 2
        (first + second).backward()
    assert x.grad.tolist() == pytest.approx([202.0, 404.0, 606.0])


def test_values_die_with_the_graph_and_with_the_block(x):
    gc.collect()
    gc.disable()
    try:
        with allow_mutation_on_saved_tensors() as ctx:
            y = x.clone()
            loss, other = (y**2).sum(), (y**3).sum()
            y.zero_()
            (copied,) = (weakref.ref(kept) for kept in ctx.cloned)
            del loss
            assert copied() is not None
            del other
            assert copied() is None
            z = x.clone()
            kept_loss = (z**2).sum()
            memory = weakref.ref(z.array)
            z.zero_()
            del z
            assert memory() is None
            (array,) = (weakref.ref(t.array) for t in ctx.cloned.values())
        assert array() is None
        assert kept_loss.requires_grad
    finally:
        gc.enable()


def test_another_thread_keeps_the_ordinary_rules(x):
    errors = []

    def work():
        a = rg.tensor([1.0], requires_grad=True)
        b = a.clone()
        loss = (b**2).sum()
        b.zero_()
        try:
            loss.backward()
        except RuntimeError as error:
            errors.append(str(error))

    with allow_mutation_on_saved_tensors():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(errors) == 1
    assert "modified by an inplace operation" in errors[0]


def test_a_custom_gradient_sees_the_original_values(x):
    @rg.custom_gradient
    def square(a):
        return a * a, lambda g: 2 * g * a

    with allow_mutation_on_saved_tensors():
        y = x.clone()
        loss = square(y).sum()
        y.zero_()
        loss.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_the_message_says_what_to_do(x):
    with allow_mutation_on_saved_tensors():
        loss = (x**2).sum()
    with pytest.raises(AssertionError, match="call backward\\(\\) inside it"):
        loss.backward()


def test_out_is_checked_like_any_other_write(x):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        rg.add(rg.ones(3), 1, out=rg.ones(1).expand(3))
    with rg.inference_mode():
        frozen = rg.ones(3)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        rg.add(rg.ones(3), 1, out=frozen)


def test_a_pack_hook_gets_a_copy_of_what_an_in_place_op_overwrites(x):
    packed = []
    with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = x.clone()
        y.mul_(y.detach())
        z = x * y
    assert packed[0].tolist() == [1.0, 2.0, 3.0]
    assert any(t.array is y.array for t in packed), "what is not overwritten is packed as it is"
    assert z.requires_grad


def test_versions_are_kept_for_one_or_several():
    a, b = rg.ones(2), rg.ones(2)
    b.add_(1)
    with rg.autograd._unsafe_preserve_version_counter((a, b)):
        a.add_(1)
        b.add_(1)
    assert (a._version, b._version) == (0, 1)
    with pytest.raises(AssertionError, match="got list"):
        rg.autograd._unsafe_preserve_version_counter([a])
