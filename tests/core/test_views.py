"""Views and writes through them: random programs of both, the same on retrograd and on PyTorch."""

from __future__ import annotations

import os
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as rg

# More of them: EXAMPLES=5000 pytest tests/core/test_views.py
EXAMPLES = int(os.environ.get("EXAMPLES", "200"))


def windows_by_strides(t: Any) -> Any:
    """Pairs of neighbours in the last dimension, which overlap where there are three."""
    if t.dim() == 0 or t.shape[-1] < 2:
        return t.as_strided(tuple(t.shape), t.stride())
    step = t.stride(-1)
    return t.as_strided((*t.shape[:-1], t.shape[-1] - 1, 2), (*t.stride(), step))


VIEWS: dict[str, Any] = {
    "slice": lambda t: t[0:1],
    "rest": lambda t: t[1:],
    "select": lambda t: t[0],
    "columns": lambda t: t[..., ::2],
    "transpose": lambda t: t.transpose(0, -1),
    "permute": lambda t: t.permute(tuple(reversed(range(t.dim())))),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "squeeze": lambda t: t.squeeze(),
    "view": lambda t: t.view(-1),
    "diagonal": lambda t: t.diagonal(),
    "unbind": lambda t: t.unbind()[-1],
    "chunk": lambda t: t.chunk(2)[0],
    "tensor_split": lambda t: t.tensor_split(2, -1)[-1],
    "expand": lambda t: t.unsqueeze(0).expand(2, *t.shape),
    "expand by nothing": lambda t: t.expand(1, *t.shape),
    "unfold": lambda t: t.unfold(-1, 2, 1),
    "unfold apart": lambda t: t.unfold(0, 1, 1),
    "as_strided": windows_by_strides,
    "as_strided transposed": lambda t: t.as_strided(tuple(t.shape)[::-1], t.stride()[::-1]),
    "detach": lambda t: t.detach(),
}
RESULTS: dict[str, Any] = {
    "sin": lambda t, u: t.sin(),
    "add": lambda t, u: t + u,
    "mul": lambda t, u: t * u,
    "clone": lambda t, u: t.clone(),
    "sum": lambda t, u: t.sum(),
    "reshape": lambda t, u: t.reshape(-1),
    "detached clone": lambda t, u: t.detach().clone(),
    "elements": lambda t, u: t[[-1, 0]],
}
WRITES: dict[str, Any] = {
    "mul_": lambda t, u: t.mul_(u),
    "mul_ by a number": lambda t, u: t.mul_(0.5),
    "add_": lambda t, u: t.add_(u),
    "sin_": lambda t, u: t.sin_(),
    "tanh_": lambda t, u: t.tanh_(),
    "zero_": lambda t, u: t.zero_(),
    "fill_": lambda t, u: t.fill_(0.75),
    "copy_": lambda t, u: t.copy_(u),
    "lt_": lambda t, u: t.lt_(u),
    "logical_not_": lambda t, u: t.logical_not_(),
    "masked_fill_": lambda t, u: t.masked_fill_(t.detach() > 0.2, 0.125),
    "t_": lambda t, u: t.t_(),
    "transpose_": lambda t, u: t.transpose_(0, -1),
    "unsqueeze_": lambda t, u: t.unsqueeze_(0),
    "squeeze_": lambda t, u: t.squeeze_(),
    "setitem": lambda t, u: t.__setitem__(0, u),
    "setitem of a number": lambda t, u: t.__setitem__((Ellipsis, 0), 0.25),
    "setitem of a slice": lambda t, u: t.__setitem__(slice(1, None), u),
    "setitem by a list": lambda t, u: t.__setitem__([0], u),
    "setitem by a list of a number": lambda t, u: t.__setitem__([-1, 0], 1.5),
    "setitem by a mask": lambda t, u: t.__setitem__(t.detach() < 0, 0.5),
}
RESHAPING = ("t_", "transpose_", "unsqueeze_", "squeeze_")


class Step(NamedTuple):
    kind: str
    name: str
    first: int
    second: int
    recorded: bool


def step_of(kind: str, table: dict[str, Any]) -> st.SearchStrategy[Step]:
    """Views and writes may also be made under no_grad."""
    place = st.integers(0, 12)
    recorded = st.sampled_from([True] if kind == "result" else [True, True, True, False])
    return st.builds(Step, st.just(kind), st.sampled_from(sorted(table)), place, place, recorded)


steps = st.one_of(step_of("view", VIEWS), step_of("result", RESULTS), step_of("write", WRITES))
programs = st.lists(steps, min_size=2, max_size=12)


def overlaps(t: Any) -> bool:
    """Whether elements share memory in a way that a write through them has no defined result."""
    reach = 1
    for stride, n in sorted((s, n) for s, n in zip(t.stride(), t.shape, strict=True) if n > 1 and s):
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False


def run(lib: Any, program: list[Step]) -> list[Any]:
    """What a user sees of the program: values, flags, versions, errors; last the derivatives."""
    values = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    leaf, other = (
        lib.tensor((values + k).tolist(), dtype=lib.float64, requires_grad=True) for k in (0.0, 0.3)
    )
    pool = [leaf * 1, other * 1, lib.tensor(values.tolist(), dtype=lib.float64)]
    seen: list[Any] = []
    for step in program:
        t, u = pool[step.first % len(pool)], pool[step.second % len(pool)]
        if step.kind == "write" and step.name not in RESHAPING and (overlaps(t) or not t.numel()):
            continue  # PyTorch has no second derivative of a write into an empty view
        if step.kind == "write" and np.shares_memory(t.detach().numpy(), u.detach().numpy()):
            u = u.detach().clone()  # what a write into its own operand means is another subject
        try:
            with lib.set_grad_enabled(step.recorded):
                if step.kind == "view":
                    pool.append(VIEWS[step.name](t))
                elif step.kind == "result":
                    pool.append(RESULTS[step.name](t, u))
                else:
                    WRITES[step.name](t, u)
        except (RuntimeError, IndexError):
            seen.append("error")  # where there are two, which comes first is not the subject
        seen.append([described(t) for t in pool])
    return [*seen, derivatives(lib, pool, [leaf, other])]


def derivatives(lib: Any, pool: list[Any], leaves: list[Any]) -> list[Any]:
    """First and second derivatives of a function of all tensors, by the leaves."""
    try:
        total = sum(t.sin().sum() for t in pool)
        first = lib.autograd.grad(total, leaves, create_graph=True, materialize_grads=True)
        second = lib.autograd.grad(sum((f * f).sum() for f in first), leaves, materialize_grads=True)
    except RuntimeError:
        return ["RuntimeError"]
    return [[t.tolist() for t in first], [t.tolist() for t in second]]


def described(t: Any) -> Any:
    """A view that lost its place in the graph refuses to say where it is."""
    facts = [t.detach().tolist(), list(t.shape), t._version, t._is_view()]
    try:
        return [*facts, t.is_leaf, t.requires_grad, None if t.grad_fn is None else t.grad_fn.name()]
    except RuntimeError:
        return [*facts, "RuntimeError"]


def flat(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from flat(v)
    else:
        yield value


@pytest.mark.filterwarnings("ignore:Use of")
@settings(max_examples=EXAMPLES)
@given(program=programs)
def test_programs_of_views_and_writes_do_what_they_do_in_pytorch(torch, program):
    theirs, ours = list(flat(run(torch, program))), list(flat(run(rg, program)))
    assert len(ours) == len(theirs)
    for found, wanted in zip(ours, theirs, strict=True):
        if isinstance(wanted, float):
            assert found == np.float64(wanted) or abs(found - wanted) < 1e-9 * max(1.0, abs(wanted))
        else:
            assert found == wanted


# -- the rules, one by one ---------------------------------------------------------------------------


def leaf() -> Any:
    return rg.tensor([0.1, 0.2, 0.3, 0.4], dtype=rg.float64, requires_grad=True)


def test_a_write_through_a_view_is_part_of_its_bases_history():
    x = leaf()
    y = x * 1
    y[1:3].mul_(10)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0, 1.0]


def test_other_views_of_the_base_see_the_write():
    x = leaf()
    y = x * 1
    first, pairs = y[0:2], y.view(2, 2)
    pairs[0].mul_(10)
    assert first.grad_fn.name() == "AsStridedBackward0"
    first.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0, 0.0, 0.0]


def test_a_constant_base_joins_the_graph_when_a_tracked_value_is_written_into_it():
    x, base = leaf(), rg.zeros(6, dtype=rg.float64)
    base[1:5] = x
    assert (base.requires_grad, base.is_leaf) == (True, False)
    (base * base).sum().backward()
    assert x.grad.tolist() == [0.2, 0.4, 0.6, 0.8]


def test_a_write_under_no_grad_leaves_the_history_alone():
    y = leaf() * 1
    before = y.grad_fn
    with rg.no_grad():
        y[0:2].mul_(10)
    assert y.grad_fn is before
    assert y._version == 1


@pytest.mark.parametrize("write", ["mul_", "tanh_", "sin_", "exp_"])
def test_a_write_through_a_view_can_be_differentiated_twice(write):
    def first(x: Any, **options: Any) -> Any:
        y = x * 1
        part = y[1:3]
        part.mul_(part.detach() + 2) if write == "mul_" else getattr(part, write)()
        return rg.autograd.grad((y * y).sum(), x, **options)[0]

    x = leaf()
    recorded = first(x, create_graph=True)
    np.testing.assert_allclose(recorded.detach().array, first(x).array)
    (second,) = rg.autograd.grad(recorded.sum(), x)
    if write != "mul_":  # which holds one factor still
        step = 1e-6
        ends = [
            first(rg.Tensor(x.detach().array + s, share=True).requires_grad_()).array for s in (step, -step)
        ]
        np.testing.assert_allclose(second.array, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("split", [lambda t: t.unbind(), lambda t: t.split(2), lambda t: t.chunk(2)])
def test_one_of_several_views_of_one_call_cannot_be_written(split):
    y = leaf() * 1
    part = split(y)[0]
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        part.mul_(2)
    assert y._version == 0


def test_one_of_several_views_is_lost_when_its_base_is_written():
    y = leaf() * 1
    part = y.unbind()[0]
    y.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        _ = part.grad_fn
    with rg.no_grad():
        part.mul_(2)  # the value may still be changed
    assert part.item() == pytest.approx(0.4)


def test_a_view_made_under_no_grad_cannot_be_written_with_recording():
    y = leaf() * 1
    with rg.no_grad():
        v = y[0:2]
    with pytest.raises(
        RuntimeError, match="A view was created in no_grad mode and is being modified inplace"
    ):
        v.mul_(2)


def test_an_expanded_view_cannot_be_written():
    v = rg.zeros(1).expand(3)
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory"
    ):
        v.add_(1)


def test_a_base_dies_with_its_views():
    y = leaf() * 1
    v = y[0:2]
    base = weakref.ref(y)
    del y
    assert base() is not None
    del v
    assert base() is None


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0,)], ids=str)
def test_empty_tensors_have_the_strides_of_any_other(shape):
    t = rg.zeros(*shape)
    wanted = tuple(int(np.prod([max(n, 1) for n in shape[i + 1 :]])) for i in range(len(shape)))
    assert t.stride() == wanted
    assert t.is_contiguous()


def test_a_refused_write_of_a_tracked_value_into_one_of_several_views_changes_nothing():
    x, base = leaf(), rg.zeros(2, dtype=rg.float64)
    part = base.unbind()[1]
    with pytest.raises(RuntimeError, match="modified inplace"):
        part.copy_(x.sum())
    assert base.tolist() == [0.0, 0.0]
    assert (base._version, base.requires_grad, base.grad_fn) == (0, False, None)


def test_a_lost_view_can_still_be_read_under_no_grad():
    y, target = leaf() * 1, rg.zeros((), dtype=rg.float64)
    part = y.unbind()[0]
    y.mul_(2)
    with rg.no_grad():
        target.copy_(part)
    assert target.item() == pytest.approx(0.2)


# -- memory ------------------------------------------------------------------------------------------


def test_memory_that_numpy_calls_read_only_is_not_written():
    array = np.arange(3.0)
    array.flags.writeable = False
    t = rg.from_numpy(array)
    for write in (t.zero_, lambda: t.add_(1), lambda: t[:2].mul_(2), lambda: t.expand(2, 3)[0].add_(1)):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert (array.tolist(), t._version) == ([0.0, 1.0, 2.0], 0)


def test_an_expanded_array_stays_read_only_to_numpy():
    t = rg.zeros(3, 1)
    wide = t.expand(3, 4)
    wide.fill_(2)
    wide[:, 0].add_(1)
    assert t.flatten().tolist() == [3.0, 3.0, 3.0]
    assert not t.expand(3, 4).numpy().flags.writeable


def test_one_copy_of_an_expanded_tensor_can_be_written():
    x = leaf()
    y = x * 1
    wide = y.expand(2, 4)
    wide[1].mul_(10)
    (wide.sum() + y.sum()).backward()
    assert x.grad.tolist() == [30.0, 30.0, 30.0, 30.0]


def test_windows_of_a_lent_array_with_gaps_are_refused():
    lent = np.lib.stride_tricks.as_strided(np.arange(8.0), (2, 2), (32, 8))
    with pytest.raises(RuntimeError, match="has gaps"):
        rg.from_numpy(lent).unfold(0, 1, 1)


def test_a_view_by_strides_shares_the_memory_of_any_layout():
    t = rg.arange(24.0).view(2, 3, 4).permute(1, 2, 0).clone()
    windows = t.unfold(1, 2, 2)
    windows.mul_(2)
    assert windows.data_ptr() == t.data_ptr()
    np.testing.assert_array_equal(t.array, np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0) * 2)
