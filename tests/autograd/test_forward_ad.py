"""Forward mode: every row of the op table in it, alone and with backward; levels; memory."""

from __future__ import annotations

import contextlib
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import forward_ad as fwd
from retrograd.core.modes import FORWARD, LEVEL, current
from tests.ops.cases import CASES
from tests.ops.checks import (
    CLOSE,
    about,
    differentiable,
    forward,
    gradients,
    inner,
    leaves,
    numeric_tangent,
    results,
    some,
)
from tests.ops.twins import Twin, dense, plain

NO_FORWARD_MODE = {"linalg.svd-full": "the additional vectors of tall and wide matrices can be any"}

# Rows whose tangents PyTorch gives otherwise, or fails at.
TRIANGLE = (
    "PyTorch takes the tangent to be symmetric or triangular; here one half of it is read, as of the matrix"
)
DRAWN = "the two libraries draw different numbers"
ARRAYS = "the row's own call needs arrays"
FAILS = "PyTorch fails at this call in forward mode"
NOT_COMPARED = {
    "linalg.cholesky": TRIANGLE,
    "linalg.cholesky_ex": TRIANGLE,
    "cholesky_inverse": TRIANGLE,
    "cholesky_inverse-of_triangle": TRIANGLE,
    "linalg.eigh": TRIANGLE,
    "triangular_solve-transposed": TRIANGLE,
    "triangular_solve-plain": TRIANGLE,
    "linalg.svd": "singular vectors are known up to their sign",
    "feature_dropout": DRAWN,
    "alpha_dropout-on": DRAWN,
    "feature_alpha_dropout-on": DRAWN,
    "native_dropout-on": DRAWN,
    "nn.functional.gumbel_softmax": DRAWN,
    "linalg.cholesky-of_product": ARRAYS,
    "lobpcg": ARRAYS,
    "linalg.cholesky-upper": ARRAYS,
    "linalg.eigvalsh-of_product": ARRAYS,
    "linalg.eigh-invariant": ARRAYS,
    "nn.functional.batch_norm-running": ARRAYS,
    "nn.functional.nll_loss-weights": ARRAYS,
    "Tensor.to-another device": "the device is one of ours",
    "norm_except_dim": FAILS,
    "fft.fft-empty": FAILS,
    "fft.rfft-empty": FAILS,
    "fft.irfft-empty": FAILS,
    "scatter_reduce-amax": FAILS,
    "scatter_reduce-amin": FAILS,
    "scatter_reduce-prod": "PyTorch gives no tangent",
    "logcumsumexp": FAILS,
}

every_row = pytest.mark.parametrize("case", [c for c in CASES if str(c) not in NO_FORWARD_MODE], ids=str)
compared_rows = pytest.mark.parametrize(
    "case", [c for c in CASES if str(c) not in NO_FORWARD_MODE and str(c) not in NOT_COMPARED], ids=str
)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def calls(case, dtypes):
    """Every sample in every dtype, with its arrays and a direction."""
    for dtype in dtypes:
        for sample in case.samples:
            with about(case, sample, dtype):
                arrays = case.arrays(sample, dtype)
                yield sample, arrays, some(arrays, seed=2)


def duals(xs, ts):
    return [fwd.make_dual(x, rg.Tensor(np.array(t), share=True)) for x, t in zip(xs, ts, strict=True)]


def tangent(x):
    return fwd.unpack_dual(x).tangent


def pushed(case, sample, arrays, ts):
    """The differentiable results of a row, and their tangents."""
    with fwd.dual_level():
        outs = differentiable(case.run(sample, duals([rg.Tensor(a, share=True) for a in arrays], ts)))
        return outs, [tangent(o) for o in outs]


# -- every row -----------------------------------------------------------------------------------------------------


@every_row
def test_tangents_are_what_differences_and_gradients_say(case):
    for sample, arrays, ts in calls(case, case.dtypes):
        outs, found = pushed(case, sample, arrays, ts)
        assert all(f is not None for f in found)
        assert [(f.shape, f.dtype) for f in found] == [(o.shape, o.dtype) for o in outs]
        if "numeric" not in case.excuses:
            wanted = numeric_tangent(lambda moved: forward(case, sample, moved), arrays, ts)
            for f, w in zip(found, wanted, strict=True):
                np.testing.assert_allclose(f.array, w, **CLOSE)
            gs = some([o.array for o in outs], seed=1)
            back = gradients(case, sample, arrays, gs)
            np.testing.assert_allclose(
                inner(gs, [f.array for f in found]), inner(back, ts), rtol=1e-10, atol=1e-12
            )


@compared_rows
def test_pytorch_has_the_same_tangents(torch, case):
    twin, compared = Twin(torch), 0
    for sample, arrays, ts in calls(case, case.dtypes):
        with contextlib.suppress(NotImplementedError):
            wanted = their_tangents(torch, twin, case, sample, arrays, ts)
            compared += 1
            for f, w in zip(pushed(case, sample, arrays, ts)[1], wanted, strict=True):
                np.testing.assert_allclose(f.array, w, rtol=1e-7, atol=1e-9)
    if not compared:
        pytest.skip("PyTorch does not have this one in forward mode")


def their_tangents(torch, twin, case, sample, arrays, ts):
    theirs = torch.autograd.forward_ad
    with theirs.dual_level():
        pairs = [
            [dense(torch, np.array(v, order="C")) for v in pair] for pair in zip(arrays, ts, strict=True)
        ]
        outs = twin.run(case, sample, [theirs.make_dual(*pair) for pair in pairs])
        outs = [o for o in outs if o.is_floating_point() or o.is_complex()]
        return [plain(theirs.unpack_dual(o).tangent) for o in outs]


def test_rows_not_compared_are_rows():
    assert {*NOT_COMPARED, *NO_FORWARD_MODE} <= {str(c) for c in CASES}


@every_row
def test_single_precision_stays_single(case):
    if "float32" in case.excuses:
        pytest.skip(case.excuses["float32"])
    narrow = {"float64": "float32", "complex128": "complex64"}
    for sample, arrays, ts in calls(case, [narrow[d] for d in case.dtypes]):
        outs, found = pushed(case, sample, arrays, ts)
        assert [f.dtype for f in found] == [o.dtype for o in outs]


@every_row
def test_second_derivatives_by_both_orders(case):
    """The tangent of a gradient, and the gradient of a tangent, are both a product with the same second derivative."""
    for check in ("second_order", "numeric"):
        if check in case.excuses:
            pytest.skip(case.excuses[check])
    for sample, arrays, ts in calls(case, case.dtypes):
        gs = some(forward(case, sample, arrays), seed=1)
        wanted = numeric_tangent(lambda moved: gradients(case, sample, moved, gs), arrays, ts)
        for found in second_derivatives(case, sample, arrays, ts, gs):
            for f, w in zip(found, wanted, strict=True):
                np.testing.assert_allclose(np.zeros_like(w) if f is None else f.array, w, **CLOSE)


def second_derivatives(case, sample, arrays, ts, gs):
    """Forward over reverse, and reverse over forward."""
    given = [rg.Tensor(g, share=True) for g in gs]
    with fwd.dual_level():
        xs = leaves(arrays)
        outs = differentiable(case.run(sample, duals(xs, ts)))
        first = rg.autograd.grad(outs, xs, given, retain_graph=True, materialize_grads=True)
        over_reverse = [tangent(g) for g in first]
        pairs = [(tangent(o), g) for o, g in zip(outs, given, strict=True)]
    pairs = [p for p in pairs if p[0].requires_grad]
    if not pairs:
        return over_reverse, [None] * len(xs)
    tracked, weights = zip(*pairs, strict=True)
    return over_reverse, rg.autograd.grad(tracked, xs, weights, materialize_grads=True)


@every_row
def test_tangents_have_memory_of_their_own(case):
    """A write into the result's tangent changes no other: neither an operand's, nor values."""
    for sample, arrays, ts in calls(case, case.dtypes):
        with fwd.dual_level():
            xs = duals([rg.Tensor(a.copy(), share=True) for a in arrays], ts)
            outs = differentiable(case.run(sample, xs))
            fresh = [o for o in outs if o._base is None and not any(o is x for x in xs)]
            others = [*(tangent(x).array for x in xs), *(x.array for x in xs), *(o.array for o in outs)]
            for o in fresh:
                assert not any(np.shares_memory(tangent(o).array, other) for other in others)


# -- levels --------------------------------------------------------------------------------------------------------


def a_dual(requires_grad=False):
    x = rg.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    return fwd.make_dual(x, rg.tensor([0.1, 0.2, 0.3]))


def test_without_a_level_nothing_is_special():
    assert current().special == 0
    with fwd.dual_level():
        assert current().special == LEVEL | FORWARD
        with fwd.set_fwd_grad_enabled(False):
            assert current().special == LEVEL
    assert current().special == 0


def test_bits_follow_blocks_that_cross():
    mode = rg.inference_mode()
    mode.__enter__()
    fwd.enter_dual_level()
    mode.__exit__(None, None, None)
    assert current().special == LEVEL | FORWARD
    mode.__enter__()
    fwd.exit_dual_level()
    mode.__exit__(None, None, None)
    assert current().special == 0


def test_levels_belong_to_their_thread():
    found = []
    with fwd.dual_level():
        d = a_dual()

        def other():
            found.append(tangent(d * 2))
            with fwd.dual_level():
                found.append(tangent(d * 2))
                found.append(tangent(a_dual() * 2).tolist())

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        np.testing.assert_allclose(tangent(d * 2).array, [0.2, 0.4, 0.6], rtol=1e-6)
    assert found[:2] == [None, None]
    np.testing.assert_allclose(found[2], [0.2, 0.4, 0.6], rtol=1e-6)


def test_leaving_a_level_frees_the_tangents():
    with fwd.dual_level():
        d = a_dual(requires_grad=True)
        y = d.exp().sin()
        alive = [weakref.ref(tangent(v)) for v in (d, y)]
        node = y.grad_fn
        assert node._duals
    assert node._duals is None
    assert d._tangent is None
    assert [ref() for ref in alive] == [None, None]


def test_a_level_keeps_no_tensor():
    with fwd.dual_level():
        d = a_dual()
        ref = weakref.ref(d * 2)
        assert ref() is None
        d.requires_grad_()
        ref = weakref.ref(d.exp() * d)
        gc.collect()
        assert ref() is None


def test_set_fwd_grad_enabled_decorates_and_is_at_once():
    @fwd.set_fwd_grad_enabled(False)
    def hidden(d):
        return tangent(d)

    with fwd.dual_level():
        d = a_dual()
        assert hidden(d) is None
        assert tangent(d) is not None
        fwd.set_fwd_grad_enabled(False)
        assert tangent(d) is None
        fwd.set_fwd_grad_enabled(True)
        assert tangent(d) is not None
    assert fwd._is_fwd_grad_enabled()


@pytest.mark.parametrize("wrong", [3.0, None, "text", np.ones(3)], ids=str)
def test_what_is_no_tensor_is_refused_by_type(wrong):
    with fwd.dual_level():
        with pytest.raises(TypeError, match="primal must be a Tensor"):
            fwd.make_dual(wrong, rg.ones(3))
        with pytest.raises(TypeError, match="tangent must be a Tensor"):
            fwd.make_dual(rg.ones(3), wrong)
        with pytest.raises(TypeError, match="must be Tensor"):
            fwd.unpack_dual(wrong)


def test_an_error_in_a_formula_leaves_forward_mode_on():
    with fwd.dual_level():
        d = a_dual()
        with pytest.raises(NotImplementedError, match="floor_divide"):
            d // 2
        assert current().special == LEVEL | FORWARD


# -- memory --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["strided", "transposed", "reversed"])
def test_views_of_primals_of_any_layout_are_views_of_their_tangents(layout):
    whole = np.arange(24.0).reshape(4, 6)
    primal = {"strided": whole[::2, ::3], "transposed": whole.T, "reversed": whole[::-1]}[layout]
    with fwd.dual_level():
        d = fwd.make_dual(
            rg.Tensor(primal.copy(order="K") if layout != "strided" else primal, share=True),
            rg.ones(*primal.shape),
        )
        y = d * 1
        y.t()[1].mul_(5)
        y.view_as(y)[0].add_(y[1])
        wanted = np.ones(primal.shape)
        wanted[:, 1] *= 5
        wanted[0] += wanted[1]
        np.testing.assert_array_equal(tangent(y).array, wanted)


def test_the_tangent_of_a_view_is_zero_beyond_its_base():
    memory = rg.zeros(6)
    with fwd.dual_level():
        d = fwd.make_dual(memory[:2], rg.ones(2))
        np.testing.assert_array_equal(tangent(d.as_strided((3,), (2,), 0)).array, [1, 0, 0])


def test_as_strided_shares_the_tangent():
    with fwd.dual_level():
        d = fwd.make_dual(rg.zeros(2, 3), rg.ones(2, 3)) * 1
        d.as_strided((2,), (4,)).zero_()
        np.testing.assert_array_equal(tangent(d).array, [[0, 1, 1], [1, 0, 1]])


def test_the_product_of_a_tensor_with_itself_in_place():
    with fwd.dual_level():
        d = a_dual()
        d.mul_(d)
        np.testing.assert_allclose(tangent(d).array, [0.2, 0.8, 1.8], rtol=1e-6)


def test_another_shape_in_place_takes_the_tangent_along():
    with fwd.dual_level():
        d = fwd.make_dual(rg.ones(2, 3), rg.arange(6.0).reshape(2, 3)) * 1
        d.t_().unsqueeze_(0)
        np.testing.assert_array_equal(tangent(d).array, np.arange(6.0).reshape(2, 3).T[None])
        assert tangent(d).shape == d.shape


def test_subclasses_keep_their_tangent():
    class Own(rg.Tensor):
        pass

    with fwd.dual_level():
        d = fwd.make_dual(rg.ones(2).as_subclass(Own), rg.ones(2))
        assert type(d) is Own
        assert type(d * 2) is Own
        assert tangent(d * 2).tolist() == [2.0, 2.0]
        assert tangent((d * 2)[0]).item() == 2.0


def test_integers_have_no_tangents_on_the_way():
    with fwd.dual_level():
        counts = rg.arange(3)
        y = a_dual() * counts + counts
        np.testing.assert_allclose(tangent(y).array, [0.0, 0.2, 0.6], rtol=1e-6)
        assert tangent(counts + 1) is None


def test_results_of_multiple_outputs_have_theirs_each():
    with fwd.dual_level():
        values, indices = a_dual().sort()
        assert [tangent(t) is None for t in results((values, indices))] == [False, True]


def test_anomaly_mode_and_forward_mode_go_together():
    with rg.autograd.set_detect_anomaly(True), fwd.dual_level():
        d = a_dual(requires_grad=True)
        (g,) = rg.autograd.grad(d.log().sum(), d)
        np.testing.assert_allclose(tangent(g).array, [-0.1, -0.05, -0.0333333], rtol=1e-5)


# -- a user's own --------------------------------------------------------------------------------------------------


def test_newtons_method_with_hessian_vector_products():
    """Conjugate gradients on products of the Hessian with a vector, each a forward over a reverse pass."""
    rng = np.random.default_rng(0)
    a = rg.Tensor(rng.normal(size=(6, 4)), share=True)
    x = rg.zeros(4, dtype=rg.float64, requires_grad=True)

    def loss(v):
        return (a @ v).exp().sum() + (v * v).sum()

    def product(v):
        with fwd.dual_level():
            (g,) = rg.autograd.grad(loss(fwd.make_dual(x, v)), x)
            return tangent(g)

    columns = rg.stack([product(rg.Tensor(e, share=True)) for e in np.eye(4)]).array
    scale = np.exp(a.array @ x.detach().array)
    np.testing.assert_allclose(columns, a.array.T @ (scale[:, None] * a.array) + 2 * np.eye(4), rtol=1e-12)
