"""In-place forms of operations: value, node, version, gradient and second-order gradient."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program

VECTOR = [0.25, 0.5, 0.75]
OTHER = [2.0, -3.0, 0.5]
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]


def forms(torch: Any, names: str, *args: Any, data: Any = VECTOR) -> Any:
    """Each in-place method on a copy of a leaf: is it the same object, what it became, the leaf's gradient."""
    return {name: form(torch, name, *args, data=data) for name in names.split()}


def form(torch: Any, name: str, *args: Any, data: Any = VECTOR, **kwargs: Any) -> Any:
    x = torch.tensor(data, dtype=torch.float64, requires_grad=True)
    y = x.clone()
    same = getattr(y, name)(*args, **kwargs) is y
    (grad,) = torch.autograd.grad(y.sum(), x, materialize_grads=True)
    return same, y, y._version, y.grad_fn.next_functions, grad


def leaf(torch: Any, data: Any) -> Any:
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


@program()
def exponentials_and_logarithms(torch: Any) -> Any:
    return forms(torch, "exp_ exp2_ expm1_ log_ log2_ log10_ log1p_ sqrt_ rsqrt_ reciprocal_ square_")


@program()
def trigonometry(torch: Any) -> Any:
    return forms(torch, "sin_ cos_ tan_ asin_ acos_ atan_ sinh_ cosh_ tanh_")


@program()
def activations(torch: Any) -> Any:
    return forms(torch, "sigmoid_ relu_ tanh_ erf_ erfc_", data=[-1.0, 0.0, 2.0])


@program()
def signs_and_rounding(torch: Any) -> Any:
    return forms(torch, "neg_ negative_ abs_ sign_ floor_ ceil_ round_ trunc_ frac_", data=[-1.5, 0.25, 2.75])


@program()
def second_derivatives_of_functions(torch: Any) -> Any:
    names = "exp_ log_ sqrt_ rsqrt_ tanh_ sigmoid_ sin_ reciprocal_ square_ log1p_ expm1_ neg_"
    return {
        name: derivatives(torch, lambda x, name=name: getattr(x.clone(), name)(), VECTOR)
        for name in names.split()
    }


@program()
def arithmetic_with_numbers(torch: Any) -> Any:
    return forms(torch, "add_ sub_ mul_ div_ pow_ multiply_ subtract_ divide_ true_divide_", 3)


@program()
def arithmetic_with_a_constant_tensor(torch: Any) -> Any:
    return forms(torch, "add_ sub_ mul_ div_ pow_", torch.tensor(OTHER, dtype=torch.float64))


@program()
def arithmetic_with_a_number_held_by_a_tensor(torch: Any) -> Any:
    return forms(torch, "add_ sub_ mul_ div_ pow_", torch.tensor(2.0))


@program()
def second_derivatives_of_arithmetic(torch: Any) -> Any:
    names = ("add_", "sub_", "mul_", "div_", "pow_")
    return {
        name: derivatives(torch, lambda x, y, name=name: getattr(x.clone(), name)(y), VECTOR, OTHER)
        for name in names
    }


@program()
def arithmetic_with_itself(torch: Any) -> Any:
    def squared(x: Any, name: str) -> Any:
        y = x.clone()
        return getattr(y, name)(y)

    return [derivatives(torch, lambda x, name=name: squared(x, name), VECTOR) for name in ("add_", "sub_")]


@program()
def alpha_of_add_and_sub(torch: Any) -> Any:
    return (
        derivatives(torch, lambda x, y: x.clone().add_(y, alpha=3), VECTOR, OTHER),
        derivatives(torch, lambda x, y: x.clone().sub_(y, alpha=-2), VECTOR, OTHER),
        form(torch, "add_", 2, alpha=5),
    )


@program()
def broadcast_of_the_operand(torch: Any) -> Any:
    return [
        derivatives(torch, lambda x, y, name=name: getattr(x.clone(), name)(y), MATRIX, OTHER)
        for name in ("add_", "mul_", "div_", "copy_")
    ]


@program()
def powers(torch: Any) -> Any:
    return [
        form(torch, "pow_", 2), form(torch, "pow_", 0), form(torch, "pow_", 1), form(torch, "pow_", 0.5),
        form(torch, "pow_", -1), form(torch, "square_"),
    ]  # fmt: skip


@program()
def clamp_forms(torch: Any) -> Any:
    data = [-2.0, 0.5, 3.0]
    return [
        form(torch, "clamp_", -1, 1, data=data), form(torch, "clamp_", min=0, data=data),
        form(torch, "clamp_", max=0.5, data=data), form(torch, "clamp_min_", 0.5, data=data),
        form(torch, "clamp_max_", 0.5, data=data), form(torch, "clip_", -1, 1, data=data),
    ]  # fmt: skip


@program()
def division_with_rounding(torch: Any) -> Any:
    return (
        form(torch, "div_", 0.4, rounding_mode="floor"),
        form(torch, "div_", 0.4, rounding_mode="trunc"),
        form(torch, "remainder_", 0.4),
    )


@program(phrase="derivative for .*floor_divide.* is not implemented")
def floor_division_in_place_has_no_derivative(torch: Any) -> Any:
    x = leaf(torch, VECTOR)
    y = x.clone().floor_divide_(0.4)
    torch.autograd.grad(y.sum(), x)


@program()
def zero_and_fill_cut_the_gradient(torch: Any) -> Any:
    return form(torch, "zero_"), form(torch, "fill_", 3), form(torch, "fill_", torch.tensor(2.0))


@program()
def fill_with_a_number_that_requires_grad(torch: Any) -> Any:
    x, c = leaf(torch, VECTOR), leaf(torch, 2.0)
    y = x.clone().fill_(c)
    y.backward(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    return y, y.grad_fn.next_functions, x.grad, c.grad


@program()
def fill_of_a_constant_with_a_number_that_requires_grad(torch: Any) -> Any:
    c = leaf(torch, 2.0)
    y = torch.zeros(3, dtype=torch.float64).fill_(c)
    y.sum().backward()
    return y, y.grad_fn.next_functions, c.grad


@program(phrase="only supports 0-dimension value tensor but got tensor with 1 dimensions")
def fill_with_a_vector(torch: Any) -> Any:
    torch.zeros(2).fill_(torch.ones(2))


@program()
def copy_from_a_tensor_that_requires_grad(torch: Any) -> Any:
    x, s = leaf(torch, VECTOR), leaf(torch, OTHER)
    y = x.clone().copy_(s)
    (y * y).sum().backward()
    return y, y.grad_fn.next_functions, x.grad, s.grad


@program()
def copy_into_a_constant_makes_it_require_grad(torch: Any) -> Any:
    s = leaf(torch, OTHER)
    y = torch.zeros(3, dtype=torch.float64)
    before = y.requires_grad, y.is_leaf
    y.copy_(s)
    (y * y).sum().backward()
    return before, y, y.grad_fn.next_functions, s.grad


@program()
def copy_casts_and_broadcasts(torch: Any) -> Any:
    s = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(3, 2, dtype=torch.float64).copy_(s)
    y.sum().backward()
    return y, s.grad, torch.zeros(2, dtype=torch.int64).copy_(torch.tensor([1.7, -1.7]))


@program()
def copy_of_itself(torch: Any) -> Any:
    x = leaf(torch, VECTOR)
    y = x.clone()
    y.copy_(y)
    y.sum().backward()
    return y, y._version, x.grad


@program()
def masked_fill_with_a_number_and_a_tensor(torch: Any) -> Any:
    mask = torch.tensor([True, False, True])
    c = leaf(torch, 5.0)
    y = leaf(torch, VECTOR).clone().masked_fill_(mask, c)
    y.sum().backward()
    return form(torch, "masked_fill_", mask, -1.0), y, y.grad_fn.next_functions, c.grad


@program()
def masked_fill_with_a_broadcast_mask(torch: Any) -> Any:
    mask = torch.tensor([[True], [False]])
    return derivatives(torch, lambda x: x.clone().masked_fill_(mask, 0.0), MATRIX)


@program()
def index_add_in_place(torch: Any) -> Any:
    i = torch.tensor([0, 2, 0])
    return (
        derivatives(torch, lambda x, s: x.clone().index_add_(0, i, s), VECTOR, OTHER),
        derivatives(torch, lambda x, s: x.clone().index_add_(0, i, s, alpha=2), VECTOR, OTHER),
    )


@program()
def index_copy_and_index_fill_in_place(torch: Any) -> Any:
    i = torch.tensor([2, 0])
    return (
        derivatives(torch, lambda x, s: x.clone().index_copy_(0, i, s), VECTOR, [5.0, 6.0]),
        derivatives(torch, lambda x: x.clone().index_fill_(0, i, 7.0), VECTOR),
        derivatives(torch, lambda x, c: x.clone().index_fill_(0, i, c), VECTOR, 2.0),
    )


@program()
def scatter_in_place(torch: Any) -> Any:
    i = torch.tensor([[2, 0]])
    return (
        derivatives(torch, lambda x, s: x.clone().scatter_(1, i, s), MATRIX, [[5.0, 6.0]]),
        derivatives(torch, lambda x: x.clone().scatter_(1, i, 9.0), MATRIX),
        derivatives(torch, lambda x, s: x.clone().scatter_add_(1, i, s), MATRIX, [[5.0, 6.0]]),
    )


@program()
def index_put_in_place(torch: Any) -> Any:
    i = (torch.tensor([0, 0, 2]),)
    return (
        derivatives(torch, lambda x, s: x.clone().index_put_(i, s, accumulate=True), VECTOR, OTHER),
        derivatives(torch, lambda x, c: x.clone().index_put_((torch.tensor([1]),), c), VECTOR, 2.0),
    )


@program()
def masked_scatter_in_place(torch: Any) -> Any:
    mask = torch.tensor([True, False, True])
    return derivatives(torch, lambda x, s: x.clone().masked_scatter_(mask, s), VECTOR, [5.0, 6.0, 7.0])


@program()
def fill_diagonal_in_place(torch: Any) -> Any:
    return (
        form(torch, "fill_diagonal_", 9.0, data=MATRIX),
        derivatives(torch, lambda x: x.clone().fill_diagonal_(2.0), [[1.0, 2.0], [3.0, 4.0]]),
    )


@program()
def fill_diagonal_that_wraps(torch: Any) -> Any:
    tall = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
    return derivatives(torch, lambda x: x.clone().fill_diagonal_(2.0, wrap=True), tall)


@program()
def triangles_and_cumulative_sums(torch: Any) -> Any:
    return [
        form(torch, "tril_", data=MATRIX), form(torch, "triu_", 1, data=MATRIX),
        form(torch, "cumsum_", 1, data=MATRIX), form(torch, "cumprod_", 0, data=MATRIX),
    ]  # fmt: skip


@program()
def fused_forms(torch: Any) -> Any:
    a, b = [2.0, 3.0, 4.0], [0.5, 0.25, 2.0]
    return (
        derivatives(torch, lambda x, a, b: x.clone().addcmul_(a, b, value=2), VECTOR, a, b),
        derivatives(torch, lambda x, a, b: x.clone().addcdiv_(a, b, value=2), VECTOR, a, b),
        derivatives(torch, lambda x, a: x.clone().lerp_(a, 0.25), VECTOR, a),
        derivatives(torch, lambda x, a, b: x.clone().lerp_(a, b), VECTOR, a, b),
    )


@program()
def matrix_products_added_in_place(torch: Any) -> Any:
    a, b = [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.25]]
    return (
        derivatives(torch, lambda x, a, b: x.clone().addmm_(a, b, beta=2, alpha=3), a, a, b),
        derivatives(torch, lambda x, a, v: x.clone().addmv_(a, v), [1.0, 2.0], a, [3.0, 4.0]),
        derivatives(torch, lambda x, v, w: x.clone().addr_(v, w), a, [1.0, 2.0], [3.0, 4.0]),
    )


@program()
def shapes_changed_in_place(torch: Any) -> Any:
    return [
        form(torch, "t_", data=MATRIX), form(torch, "transpose_", 0, 1, data=MATRIX),
        form(torch, "unsqueeze_", 1, data=MATRIX), form(torch, "squeeze_", data=[VECTOR]),
        form(torch, "squeeze_", 0, data=[VECTOR]), form(torch, "swapaxes_", 0, 1, data=MATRIX),
    ]  # fmt: skip


@program()
def derivatives_of_shapes_changed_in_place(torch: Any) -> Any:
    def turned(x: Any) -> Any:
        y = (x * x).t_()
        return y.unsqueeze_(0).transpose_(0, 2).squeeze_()

    return derivatives(torch, turned, MATRIX)


@program()
def shape_changed_in_place_is_not_a_view(torch: Any) -> Any:
    y = leaf(torch, MATRIX).clone()
    y.t_()
    return y._is_view(), y.shape, y._version, tuple(y.stride())


@program()
def in_place_on_complex_tensors(torch: Any) -> Any:
    def run(x: Any, w: Any) -> Any:
        y = x.clone()
        y *= w
        y.add_(1j).exp_()
        return y

    return derivatives(torch, run, [1 + 1j, 0.5 - 1j], [0.5j, 1 - 0.25j], dtype="complex128")


@program()
def comparisons_and_logic_in_place(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0])
    return (
        x.clone().eq_(2), x.clone().lt_(2), x.clone().ge_(2), x.clone().logical_not_(),
        torch.tensor([True, False]).logical_or_(torch.tensor([False, False])), torch.tensor([5, 6]).bitwise_and_(4),
    )  # fmt: skip


@program()
def comparison_in_place_cuts_the_gradient(torch: Any) -> Any:
    def gradient(name: str) -> Any:
        x = leaf(torch, VECTOR)
        y = getattr(x.clone(), name)(0.5)
        return torch.autograd.grad(y.sum(), x), y.detach(), y._version

    return {name: gradient(name) for name in ("eq_", "lt_", "ge_", "ne_")}


@program()
def random_fills_cut_the_gradient(torch: Any) -> Any:
    def gradient(name: str) -> Any:
        x = leaf(torch, VECTOR)
        y = x.clone()
        getattr(y, name)()
        return torch.autograd.grad(y.sum(), x)[0], y.grad_fn, y._version

    return {name: gradient(name) for name in ("uniform_", "normal_", "bernoulli_", "exponential_")}


@program()
def methods_chain(torch: Any) -> Any:
    x = leaf(torch, VECTOR)
    y = x.clone().mul_(2).add_(1).tanh_()
    y.sum().backward()
    return y, y._version, x.grad


@program()
def activations_with_inplace_true(torch: Any) -> Any:
    functional = torch.nn.functional
    calls = (
        lambda y: functional.relu(y, inplace=True), lambda y: functional.leaky_relu(y, 0.1, inplace=True),
        lambda y: functional.elu(y, inplace=True), lambda y: functional.hardtanh(y, inplace=True),
        lambda y: functional.silu(y, inplace=True), lambda y: functional.relu6(y, inplace=True),
    )  # fmt: skip
    return [derivatives(torch, lambda x, f=f: f(x.clone()), [-1.0, 0.5, 2.0]) for f in calls]
