"""What every row of the op table must satisfy."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from tests.ops.case import Case
from tests.ops.cases import CASES
from tests.ops.checks import (
    CLOSE,
    about,
    differentiable,
    forward,
    gradients,
    inner,
    leaves,
    nodes_of,
    numeric_gradients,
    numeric_tangent,
    only_node,
    results,
    some,
    tangents,
)

every_row = pytest.mark.parametrize("case", CASES, ids=str)


def excused(case: Case, *checks: str) -> None:
    for check in checks:
        if check in case.excuses:
            pytest.skip(case.excuses[check])


def calls(case: Case, dtypes: list[str]):
    """Every sample in every dtype, with its arrays."""
    for dtype in dtypes:
        for sample in case.samples:
            with about(case, sample, dtype):
                yield sample, case.arrays(sample, dtype)


@every_row
def test_forward_is_what_numpy_computes(case):
    excused(case, "numpy")
    for sample, arrays in calls(case, case.dtypes):
        with about(case, sample):
            found = results(case.run(sample, [rg.Tensor(a, share=True) for a in arrays]))
            wanted = case.reference(sample, arrays)
            wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
            assert len(found) == len(wanted)
            for f, w in zip(found, wanted, strict=True):
                assert f.shape == np.shape(w)
                np.testing.assert_allclose(f.array, w, rtol=1e-12, atol=1e-12)


@every_row
def test_gradient_is_what_differences_say(case):
    excused(case, "numeric")
    for sample, arrays in calls(case, case.dtypes):
        with about(case, sample, str(arrays[0].dtype)):
            gs = some(forward(case, sample, arrays), seed=1)
            numeric = numeric_gradients(lambda moved: inner(gs, forward(case, sample, moved)), arrays)
            for found, wanted in zip(gradients(case, sample, arrays, gs), numeric, strict=True):
                assert found.shape == wanted.shape
                np.testing.assert_allclose(found, wanted, **CLOSE)


@every_row
def test_recording_the_backward_changes_no_number(case):
    for sample, arrays in calls(case, case.dtypes):
        with about(case, sample, str(arrays[0].dtype)):
            gs = some(forward(case, sample, arrays), seed=1)
            plain = gradients(case, sample, arrays, gs)
            recorded = gradients(case, sample, arrays, gs, create_graph=True)
            for a, b in zip(plain, recorded, strict=True):
                assert a.dtype == b.dtype
                # A kernel of the native pack may add in another order: errors are those of the largest terms.
                scale = np.abs(b[np.isfinite(b)]).max(initial=1)
                np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14 * scale)


@every_row
def test_forward_mode_is_the_transpose_of_reverse_mode(case):
    excused(case, "jvp")
    for sample, arrays in calls(case, case.dtypes):
        with about(case, sample, str(arrays[0].dtype)):
            xs = leaves(arrays)
            made = case.run(sample, xs)
            outs = differentiable(made)
            values = [o.array for o in outs]
            node = only_node(outs, xs)
            assert node is not None, "several nodes; excuse the row from 'jvp' with the reason"
            ts, gs = some(arrays, seed=2), some(values, seed=1)
            found = tangents(node, xs, ts, [o.array for o in results(made)])
            back = gradients(case, sample, arrays, gs)
            np.testing.assert_allclose(
                inner(gs, np_broadcast(found, values)), inner(back, ts), rtol=1e-10, atol=1e-12
            )
            if "numeric" not in case.excuses:
                wanted = numeric_tangent(lambda moved: forward(case, sample, moved), arrays, ts)
                for f, w in zip(np_broadcast(found, values), wanted, strict=True):
                    np.testing.assert_allclose(f, w, **CLOSE)


def np_broadcast(tangents_, values):
    """A tangent may be smaller than its output where one operand alone has it."""
    return [np.broadcast_to(t, v.shape) for t, v in zip(tangents_, values, strict=True)]


@every_row
def test_second_derivative_is_what_differences_of_the_first_say(case):
    excused(case, "second_order", "numeric")
    for sample, arrays in calls(case, case.dtypes):
        with about(case, sample, str(arrays[0].dtype)):
            gs = some(forward(case, sample, arrays), seed=1)
            vs = some(arrays, seed=3)
            by_x, by_g = second_gradients(case, sample, arrays, gs, vs)
            numeric = numeric_gradients(lambda moved: inner(vs, gradients(case, sample, moved, gs)), arrays)
            for found, wanted in zip(by_x, numeric, strict=True):
                np.testing.assert_allclose(found, wanted, **CLOSE)
            # The gradient is linear in g, so its derivative by g is the forward derivative along v.
            tangent = numeric_tangent(lambda moved: forward(case, sample, moved), arrays, vs)
            for found, wanted in zip(by_g, tangent, strict=True):
                np.testing.assert_allclose(found, wanted, **CLOSE)


def second_gradients(case, sample, arrays, gs, vs):
    """The gradients of Re <v, gradient> by the inputs and by g."""
    xs, g_leaves = leaves(arrays), leaves(gs)
    outs = differentiable(case.run(sample, xs))
    first = rg.autograd.grad(outs, xs, g_leaves, create_graph=True, allow_unused=True)
    pairs = [
        (f, rg.Tensor(v, share=True))
        for f, v in zip(first, vs, strict=True)
        if f is not None and f.requires_grad
    ]
    wanted = [*xs, *g_leaves]
    if not pairs:
        return [np.zeros_like(a) for a in arrays], [np.zeros_like(g) for g in gs]
    second = rg.autograd.grad([p[0] for p in pairs], wanted, [p[1] for p in pairs], materialize_grads=True)
    found = [s.array for s in second]
    return found[: len(xs)], found[len(xs) :]


@every_row
@pytest.mark.parametrize(("narrow", "wide"), [("float32", "float64"), ("complex64", "complex128")])
def test_single_precision_stays_single_and_agrees_with_double(case, narrow, wide):
    excused(case, "float32", "complex" if narrow == "complex64" else "real")
    for sample, arrays in calls(case, [narrow]):
        with about(case, sample, narrow):
            outs, wide_outs = (forward(case, sample, [a.astype(d) for a in arrays]) for d in (narrow, wide))
            gs = some(outs, seed=1)
            found = gradients(case, sample, arrays, gs)
            wanted = gradients(
                case,
                sample,
                [a.astype(wide) for a in arrays],
                [g.astype(w.dtype) for g, w in zip(gs, wide_outs, strict=True)],
            )
            assert all(o.dtype.itemsize * 2 == w.dtype.itemsize for o, w in zip(outs, wide_outs, strict=True))
            assert all(f.dtype == narrow for f in found)
            for f, w in zip([*outs, *found], [*wide_outs, *wanted], strict=True):
                np.testing.assert_allclose(f, w, rtol=2e-4, atol=2e-5)


@every_row
def test_inputs_and_gradients_belong_to_their_owners(case):
    """Nothing is written into, and a gradient shares memory with nothing else."""
    for sample, arrays in calls(case, case.dtypes):
        with about(case, sample, str(arrays[0].dtype)):
            before = [a.copy() for a in arrays]
            xs = leaves(arrays)
            outs = differentiable(case.run(sample, xs))
            values = [o.array.copy() for o in outs]
            gs = some(values, seed=1)
            g_tensors = [rg.Tensor(g.copy(), share=True) for g in gs]
            first = scribbled(outs, g_tensors, xs)
            second = scribbled(outs, g_tensors, xs)
            for a, b in zip(
                [*before, *values, *gs, *first],
                [*arrays, *(o.array for o in outs), *(g.array for g in g_tensors), *second],
                strict=True,
            ):
                np.testing.assert_array_equal(a, b)
            assert all(x._version == 0 for x in xs)


def scribbled(outs, gs, xs):
    """The gradients of a backward, copied and then overwritten in `.grad`."""
    tracked = [(o, g) for o, g in zip(outs, gs, strict=True) if o.requires_grad]
    rg.autograd.backward([o for o, _ in tracked], [g for _, g in tracked], retain_graph=True)
    copies = []
    for i, x in enumerate(xs):
        grad = x.grad
        copies.append(np.zeros_like(x.array) if grad is None else grad.array.copy())
        if grad is not None:
            assert grad.array.flags.writeable
            others = [*(y.array for y in xs), *(o.array for o in outs), *(g.array for g in gs)]
            others += [y.grad.array for j, y in enumerate(xs) if j != i and y.grad is not None]
            assert not any(np.shares_memory(grad.array, other) for other in others)
    for x in xs:
        if x.grad is not None:
            x.grad.array[...] = np.nan
        x.grad = None
    return copies


@pytest.mark.parametrize("case", [c for c in CASES if c.call is None and "Tensor." not in c.name], ids=str)
@pytest.mark.parametrize("wrong", ["text", object(), None], ids=["text", "object", "None"])
def test_what_is_no_tensor_is_refused_by_type(case, wrong):
    sample = case.samples[0]
    inputs = [wrong, *(rg.Tensor(a, share=True) for a in case.arrays(sample, case.dtypes[0])[1:])]
    with pytest.raises(TypeError):
        case.run(sample, inputs)


@every_row
def test_formulas_give_arrays_of_their_own_or_pass_on_what_they_got(case):
    """The engine adds in place into an array that is neither a view nor what the node was given: Note [Ownership]."""
    for sample, arrays in calls(case, case.dtypes):
        with about(case, sample, str(arrays[0].dtype)):
            xs = leaves(arrays)
            outs = [o for o in differentiable(case.run(sample, xs)) if o.requires_grad]
            others = [*(x.array for x in xs), *(o.detach().array for o in outs)]
            for node in nodes_of(outs):
                if node.fresh_results:
                    node.register_hook(
                        lambda gives, gets: check_ownership(arrays_of(gives), arrays_of(gets), others)
                    )
            rg.autograd.backward(
                outs, [rg.Tensor(g, share=True) for g in some([o.detach().array for o in outs], seed=1)]
            )


def arrays_of(grads):
    return [g.array for g in grads if g is not None]


def check_ownership(gives, gets, others):
    for i, given in enumerate(gives):
        if given.base is None and not any(given is g for g in gets):
            rest = [*gives[:i], *gives[i + 1 :], *gets, *others]
            assert not any(np.shares_memory(given, other) for other in rest)
