"""`gradcheck` and `gradgradcheck`: what the comparison with PyTorch does not cover."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import gradcheck, gradgradcheck
from retrograd.autograd.gradcheck import GradcheckError
from retrograd.autograd.numeric_jacobian import difference, numeric_jacobian, wirtinger


class WrongAt(rg.autograd.Function):
    """Twice the input, with a gradient that is wrong at one element."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        g[1, 2] = g[1, 2] * 2.5
        return g * 2


def matrix():
    return rg.arange(6, dtype=rg.float64).reshape(2, 3).requires_grad_()


@pytest.mark.parametrize("fast", [False, True])
def test_the_worst_element_is_shown(fast):
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda n, x: WrongAt.apply(x), (3, matrix()), fast_mode=fast)
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert "1 of 36 elements differ" in text
    assert "output 0[1, 2] by argument 1[1, 2]: 2 numerically, 5 analytically. They differ by 3;" in text
    assert "atol + rtol * |numerical| = 0.00201" in text


def test_fast_mode_says_when_only_the_product_is_wrong():
    signs = rg.tensor([1.0, -1.0], dtype=rg.float64)

    class Slightly(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x * signs).sum()

        @staticmethod
        def backward(ctx, g):
            return g * rg.tensor([1.0009, -1.0], dtype=rg.float64)

    x = rg.ones(2, dtype=rg.float64, requires_grad=True)
    assert gradcheck(Slightly.apply, x, atol=1e-8)
    with pytest.raises(
        GradcheckError, match="Each element of the Jacobians agrees, but the differences add up"
    ):
        gradcheck(Slightly.apply, x, atol=1e-8, fast_mode=True)


def test_the_name_is_a_function_and_a_module():
    from retrograd.autograd.gradcheck import gradcheck as found

    assert found is gradcheck is rg.autograd.gradcheck
    assert issubclass(GradcheckError, RuntimeError)


def test_inputs_are_put_back_when_the_function_fails():
    x = matrix()
    before = x.array.copy()

    def fails(x):
        if x[0, 0].item() > 0:
            raise ValueError("moved")
        return x * 2

    for fast in (False, True):
        with pytest.raises(ValueError, match="moved"):
            gradcheck(fails, x, fast_mode=fast)
        np.testing.assert_array_equal(x.array, before)


def test_results_do_not_depend_on_the_callers_random_state():
    rg.manual_seed(3)
    first = rg.rand(4)
    rg.manual_seed(3)
    assert gradgradcheck(rg.sin, matrix(), fast_mode=True)
    assert rg.rand(4).tolist() == first.tolist()


def test_the_gradients_of_gradgradcheck_lie_apart_if_asked():
    seen = []

    class Watched(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(g.is_contiguous())
            return g * 2

    assert gradgradcheck(Watched.apply, matrix(), gen_non_contig_grad_outputs=True)
    assert not seen[0]


def test_fast_mode_calls_the_function_twice_for_each_input():
    calls = []
    gradcheck(lambda x, y: (calls.append(1), x * y)[1], (matrix(), matrix()), fast_mode=True)
    assert len(calls) == 5


def test_an_output_that_is_no_tensor_is_named():
    with pytest.raises(TypeError, match="element 1 of what it returned is str"):
        gradcheck(lambda x: (x * 2, "two"), matrix())


def test_gradgradcheck_without_an_output_to_differentiate():
    with pytest.raises(ValueError, match="no output of the function requires a gradient"):
        gradgradcheck(lambda x: x.detach(), matrix())


def test_dtypes_of_gradients_are_compared():
    class Narrow(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return (g * 2).float()

    x = matrix()
    x.grad_dtype = None  # takes gradients of any dtype
    with pytest.raises(
        GradcheckError, match="dtype mismatch: input 0 is torch.float64, its gradient torch.float32"
    ):
        gradcheck(Narrow.apply, x, check_grad_dtypes=True)
    assert gradcheck(Narrow.apply, x)


def test_a_type_error_for_an_undefined_gradient_is_explained():
    class Careless(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(TypeError) as caught:
        gradcheck(Careless.apply, matrix())
    assert any("check_undefined_grad" in note for note in caught.value.__notes__)
    assert gradcheck(Careless.apply, matrix(), check_undefined_grad=False)


def test_batched_gradients_that_differ_are_found():
    class Counting(rg.autograd.Function):
        runs = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            Counting.runs += 1
            return g * (2 if Counting.runs < 15 else 3)

    with pytest.raises(GradcheckError, match="failed while testing batched gradient computation"):
        gradcheck(Counting.apply, matrix(), check_batched_grad=True)


def test_the_imaginary_part_is_checked_first():
    class Conjugated(rg.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z * 2

        @staticmethod
        def backward(ctx, g):
            return g.conj() * 2

    z = rg.tensor([1 + 2j], dtype=rg.complex128, requires_grad=True)
    with pytest.raises(GradcheckError, match="^While considering the imaginary part of complex outputs only"):
        gradcheck(Conjugated.apply, z)


# -- differences ------------------------------------------------------------------------------------------------------


def test_differences_of_a_cube():
    x = np.array([[1.0, 2.0], [3.0, 4.0]]).T

    def cubes():
        return [(x**3).reshape(-1), np.array([x.sum()])]

    diagonal, ones = numeric_jacobian(cubes, x, 1e-6)
    np.testing.assert_allclose(diagonal, np.diag(3 * x.reshape(-1) ** 2), rtol=1e-8)
    np.testing.assert_allclose(ones, np.ones((4, 1)), rtol=1e-8)


def test_difference_along_a_direction():
    x = np.array([1.0, 2.0])
    (found,) = difference(lambda: [x * x], x, ..., 1e-6 * np.array([1.0, 10.0]), 1e-6)
    np.testing.assert_allclose(found, [2.0, 40.0], rtol=1e-8)


def test_the_gradient_of_a_complex_number_is_that_of_both_parts():
    z = np.array([3 + 4j])
    (found,) = wirtinger(lambda: [abs(z)], z, 1e-6)
    np.testing.assert_allclose(found, [[0.6 + 0.8j]], rtol=1e-8)


def test_differences_by_nothing_are_empty():
    x = np.zeros((0, 3))
    assert [block.shape for block in numeric_jacobian(lambda: [np.ones(2)], x, 1e-6)] == [(0, 2)]
