"""Elementwise operations: value, gradient and second-order gradient."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program

REAL = [-1.5, -0.25, 0.5, 2.0]
POSITIVE = [0.25, 0.5, 1.5, 3.0]
UNIT = [-0.75, -0.25, 0.25, 0.5]
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
ROW = [2.0, -1.0, 0.5]
COLUMN = [[1.5], [-2.0]]


@program()
def add_with_broadcasting(torch: Any) -> Any:
    return derivatives(torch, lambda x, y: x + y, MATRIX, ROW), derivatives(torch, torch.add, COLUMN, ROW)


@program()
def add_with_alpha(torch: Any) -> Any:
    return derivatives(torch, lambda x, y: torch.add(x, y, alpha=3), MATRIX, ROW)


@program()
def sub_with_broadcasting(torch: Any) -> Any:
    return derivatives(torch, lambda x, y: x - y, ROW, MATRIX), derivatives(torch, torch.sub, COLUMN, 2.0)


@program()
def mul_with_broadcasting(torch: Any) -> Any:
    return derivatives(torch, lambda x, y: x * y, MATRIX, COLUMN), derivatives(torch, torch.mul, 3.0, MATRIX)


@program()
def div_with_broadcasting(torch: Any) -> Any:
    return derivatives(torch, lambda x, y: x / y, MATRIX, ROW), derivatives(torch, torch.div, ROW, COLUMN)


@program()
def div_with_rounding_mode(torch: Any) -> Any:
    x, y = torch.tensor([7.0, -7.0, 5.5]), torch.tensor([2.0, 2.0, -2.0])
    return torch.div(x, y, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc"), x // y, x % y


@program()
def scalar_on_the_right(torch: Any) -> Any:
    forms = (lambda x: x + 2, lambda x: x - 2.5, lambda x: x * 3, lambda x: x / 4)
    return [derivatives(torch, f, REAL) for f in forms]


@program()
def scalar_on_the_left(torch: Any) -> Any:
    forms = (lambda x: 2 + x, lambda x: 2.5 - x, lambda x: 3 * x, lambda x: 4 / x)
    return [derivatives(torch, f, REAL) for f in forms]


@program()
def neg_pos_abs_operators(torch: Any) -> Any:
    return [derivatives(torch, f, REAL) for f in (lambda x: -x, lambda x: +x * 1, abs, torch.neg, torch.abs)]


@program()
def abs_at_zero(torch: Any) -> Any:
    return derivatives(torch, torch.abs, [-1.0, 0.0, 1.0])


@program()
def pow_tensor_scalar(torch: Any) -> Any:
    return [derivatives(torch, lambda x, p=p: x**p, POSITIVE) for p in (2, 3, 0.5, -1, -2.5, 1, 0)]


@program()
def pow_negative_base_integer_exponent(torch: Any) -> Any:
    return [derivatives(torch, lambda x, p=p: x**p, REAL) for p in (2, 3, -1)]


@program()
def pow_scalar_tensor(torch: Any) -> Any:
    return [derivatives(torch, lambda x, b=b: b**x, REAL) for b in (2, 0.5, 1.0)]


@program()
def pow_tensor_tensor(torch: Any) -> Any:
    return derivatives(torch, lambda x, y: x**y, POSITIVE, REAL), derivatives(torch, torch.pow, POSITIVE, 2.0)


@program()
def pow_gradient_at_zero(torch: Any) -> Any:
    x = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    (x**2 + x**1 + x**0).sum().backward()
    y = torch.tensor([0.0, 2.0], requires_grad=True)
    (torch.tensor([0.0, 0.0]) ** y).sum().backward()
    return x.grad, y.grad


@program()
def square_and_reciprocal(torch: Any) -> Any:
    return derivatives(torch, torch.square, REAL), derivatives(torch, torch.reciprocal, REAL)


@program()
def exp(torch: Any) -> Any:
    return derivatives(torch, torch.exp, REAL)


@program()
def log(torch: Any) -> Any:
    return derivatives(torch, torch.log, POSITIVE)


@program()
def log2_and_log10(torch: Any) -> Any:
    return derivatives(torch, torch.log2, POSITIVE), derivatives(torch, torch.log10, POSITIVE)


@program()
def log1p(torch: Any) -> Any:
    return derivatives(torch, torch.log1p, UNIT)


@program()
def expm1(torch: Any) -> Any:
    return derivatives(torch, torch.expm1, REAL)


@program()
def sqrt(torch: Any) -> Any:
    return derivatives(torch, torch.sqrt, POSITIVE)


@program()
def rsqrt(torch: Any) -> Any:
    return derivatives(torch, torch.rsqrt, POSITIVE)


@program()
def sin_and_cos(torch: Any) -> Any:
    return derivatives(torch, torch.sin, REAL), derivatives(torch, torch.cos, REAL)


@program()
def tan(torch: Any) -> Any:
    return derivatives(torch, torch.tan, UNIT)


@program()
def asin_and_acos(torch: Any) -> Any:
    return derivatives(torch, torch.asin, UNIT), derivatives(torch, torch.acos, UNIT)


@program()
def atan(torch: Any) -> Any:
    return derivatives(torch, torch.atan, REAL)


@program()
def sinh_and_cosh(torch: Any) -> Any:
    return derivatives(torch, torch.sinh, REAL), derivatives(torch, torch.cosh, REAL)


@program()
def tanh(torch: Any) -> Any:
    return derivatives(torch, torch.tanh, REAL)


@program()
def sigmoid(torch: Any) -> Any:
    return derivatives(torch, torch.sigmoid, REAL)


@program()
def sigmoid_far_out(torch: Any) -> Any:
    x = torch.tensor([-200.0, -50.0, 50.0, 200.0], requires_grad=True)
    y = torch.sigmoid(x)
    y.sum().backward()
    return y, x.grad


@program()
def relu(torch: Any) -> Any:
    return derivatives(torch, torch.relu, [-1.0, 0.0, 2.0])


@program()
def piecewise_constant_functions(torch: Any) -> Any:
    return [
        derivatives(torch, getattr(torch, n), [-1.5, -0.2, 0.5, 1.5, 2.5]) for n in ("sign", "floor", "round")
    ]


@program()
def ceil_and_trunc(torch: Any) -> Any:
    x = torch.tensor([-1.5, -0.2, 0.5, 2.5], requires_grad=True)
    y = torch.ceil(x) + torch.trunc(x)
    y.sum().backward()
    return y.detach(), x.grad


@program()
def round_with_decimals(torch: Any) -> Any:
    return torch.round(torch.tensor([1.2345, 2.5, -3.75]), decimals=2), torch.tensor([0.5, 1.5, 2.5]).round()


@program()
def clamp_with_scalars(torch: Any) -> Any:
    forms = (
        lambda x: x.clamp(-1.0, 1.0),
        lambda x: x.clamp(min=0.0),
        lambda x: x.clamp(max=0.0),
        lambda x: torch.clamp(x, -1, 1),
    )
    return [derivatives(torch, f, [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]) for f in forms]


@program()
def clamp_with_tensors(torch: Any) -> Any:
    low, high = torch.tensor([-1.0, 0.0, 0.25], dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
    return derivatives(torch, lambda x: torch.clamp(x, low, high), [-2.0, 0.5, 3.0])


@program()
def clamp_with_crossed_bounds(torch: Any) -> Any:
    return torch.tensor([0.0, 1.0, 2.0]).clamp(2.0, 1.0)


@program()
def where(torch: Any) -> Any:
    mask = torch.tensor([[True, False, True], [False, True, False]])
    return derivatives(torch, lambda x, y: torch.where(mask, x, y), MATRIX, ROW)


@program()
def where_with_scalars_and_as_method(torch: Any) -> Any:
    mask = torch.tensor([True, False, True, False])
    return derivatives(torch, lambda x: torch.where(mask, x, 0.0), REAL), derivatives(
        torch, lambda x: x.where(mask, x * 2), REAL
    )


@program()
def where_hides_nan_in_the_value_but_not_in_the_gradient(torch: Any) -> Any:
    x = torch.tensor([-1.0, 4.0], requires_grad=True)
    y = torch.where(x > 0, torch.sqrt(x), torch.zeros(()))
    y.sum().backward()
    return y.detach(), x.grad


@program()
def maximum_and_minimum(torch: Any) -> Any:
    return derivatives(torch, torch.maximum, MATRIX, ROW), derivatives(torch, torch.minimum, COLUMN, ROW)


@program()
def maximum_and_minimum_at_ties(torch: Any) -> Any:
    return [derivatives(torch, f, [1.0, 2.0, 3.0], [1.0, 5.0, 3.0]) for f in (torch.maximum, torch.minimum)]


@program()
def maximum_with_nan(torch: Any) -> Any:
    nan = float("nan")
    a, b = torch.tensor([nan, 1.0]), torch.tensor([1.0, nan])
    return torch.maximum(a, b), torch.minimum(a, b)


@program()
def composition_of_many(torch: Any) -> Any:
    return derivatives(torch, lambda x: (x.sin() * x.exp() + 1 / (1 + x * x)).tanh().pow(2), REAL)


@program()
def functions_as_methods(torch: Any) -> Any:
    x = torch.tensor([0.25, 0.5])
    names = "exp log log1p expm1 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh sigmoid relu abs sign floor round"
    return {name: getattr(x, name)() for name in names.split()}


@program()
def aliases_of_functions(torch: Any) -> Any:
    x, y = torch.tensor([0.25, 0.5]), torch.tensor([2.0, 4.0])
    unary = [getattr(torch, n)(x) for n in ("arcsin", "arccos", "arctan", "absolute", "negative")]
    return unary, torch.multiply(x, y), torch.divide(x, y), torch.subtract(x, y), torch.true_divide(x, y)


@program()
def edge_values(torch: Any) -> Any:
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([inf, -inf, nan, 0.0])
    names = ["exp", "tanh", "sigmoid", "relu", "abs", "sign", "floor", "sqrt", "log"]
    return {name: getattr(torch, name)(x) for name in names}, x / 0, 1 / x, x - x


@program()
def gradients_at_singular_points(torch: Any) -> Any:
    results = []
    for name in ("sqrt", "log", "rsqrt", "reciprocal"):
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        getattr(torch, name)(x).sum().backward()
        results.append(x.grad)
    return results


@program()
def zero_dim_and_empty(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.exp() * x, 0.5), derivatives(torch, lambda x: x.exp() * x, [])


@program()
def half_precision(torch: Any) -> Any:
    x = torch.tensor([0.5, 1.5], dtype=torch.float16, requires_grad=True)
    y = (x * x + x.exp()).sum()
    y.backward()
    return y.detach(), x.grad


@program()
def integer_arithmetic(torch: Any) -> Any:
    x, y = torch.tensor([7, -3, 5]), torch.tensor([2, 2, -3])
    return x + y, x - y, x * y, x / y, -x, abs(x), x.sign(), x.clamp(-1, 6), torch.maximum(x, y)


@program()
def non_contiguous_inputs(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.t().exp() * x.t(), MATRIX), derivatives(
        torch, lambda x: x[:, ::2].sin(), MATRIX
    )


@program()
def infinities_become_the_largest_numbers_of_their_dtype(torch: Any) -> Any:
    inf, nan = float("inf"), float("nan")
    found = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32):
        values = [3, 0, -1] if dtype == torch.int32 else [nan, inf, -inf, -0.0, 1.5]
        x = torch.tensor(values, dtype=dtype)
        found += [
            x.nan_to_num(),
            x.nan_to_num(2.0, 7.0),
            torch.nan_to_num(x[::2], nan, None, -3.0),
            x[0].nan_to_num(),
        ]
    return [t.float() for t in found]


@program()
def only_elements_have_an_address(torch: Any) -> Any:
    x = torch.arange(12.0).reshape(3, 4)
    return (
        x[:0].data_ptr(),
        torch.empty(0).data_ptr(),
        x[1].data_ptr() - x.data_ptr(),
        x.t()[2].data_ptr() - x.data_ptr(),
    )


@program()
def neighbours_of_bfloat16(torch: Any) -> Any:
    x = torch.tensor([0.50390625, 1.0, 0.0, -2.0, float("inf")], dtype=torch.bfloat16)
    y = torch.tensor([0.0, 2.0, 1.0, -3.0, 0.0], dtype=torch.bfloat16, requires_grad=True)
    return (
        torch.nextafter(x, y),
        torch.nextafter(x, torch.tensor(5.0, dtype=torch.bfloat16)),
        torch.nextafter(x, y.detach().float()),
        torch.autograd.grad(torch.nextafter(y, x).sum(), y),
        torch.func.vmap(torch.nextafter)(x, y.detach()),
    )
