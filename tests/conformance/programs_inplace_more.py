"""More in-place writes: every form a method, a function or `inplace=True` gives them; comparisons; expanded memory."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def numbers(torch: Any, requires_grad: bool = True) -> Any:
    return torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64, requires_grad=requires_grad)


def column(torch: Any, requires_grad: bool = False) -> Any:
    return torch.tensor([[1.0], [2.0]], requires_grad=requires_grad)


# -- functions -----------------------------------------------------------------------------------------------------

FUNCTIONS = (
    "abs_", "acos_", "asin_", "atan_", "ceil_", "cos_", "cosh_", "erf_", "erfc_", "exp_", "exp2_", "expm1_", "floor_",
    "frac_", "log_", "log10_", "log1p_", "log2_", "neg_", "negative_", "reciprocal_", "relu_", "round_", "rsqrt_",
    "sigmoid_", "sin_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "fix_", "zero_",
)  # fmt: skip


@program()
def functions_in_place_are_methods(torch: Any) -> Any:
    found = {}
    for name in FUNCTIONS:
        x = numbers(torch)
        y = x * 1
        out = getattr(torch, name)(y)
        (y * y).sum().backward()
        found[name] = out is y, y, y._version, x.grad
    return found


@program()
def functions_in_place_with_arguments(torch: Any) -> Any:
    x = numbers(torch, False)
    torch.clamp_(x, 0.3, 0.6)
    torch.clamp_min_(x, 0.4)
    torch.clamp_max_(x, 0.55)
    torch.clip_(x, max=0.5)
    torch.fill_(x, 2)
    torch.index_put_(x, (torch.tensor([0]),), torch.tensor(5.0, dtype=torch.float64))
    return x, x._version


@program()
def functions_in_place_want_a_tensor(torch: Any) -> Any:
    return [attempt("must be Tensor", getattr(torch, name), 1.5) for name in ("exp_", "relu_", "zero_")]


@program()
def detach_as_a_function(torch: Any) -> Any:
    y = numbers(torch) * 1
    return torch.detach_(y) is y, y


# -- activations ---------------------------------------------------------------------------------------------------


def activated(torch: Any, name: str, *args: float, **options: Any) -> Any:
    x = torch.tensor([-1.5, -0.5, 0.2, 8.0], requires_grad=True)
    y = x * 1
    out = getattr(torch.nn.functional, name)(y, *args, **options)
    (y * y).sum().backward()
    return out is y, y._version, y.detach(), x.grad


@program()
def activations_in_place(torch: Any) -> Any:
    names = (
        "relu",
        "relu6",
        "elu",
        "selu",
        "celu",
        "leaky_relu",
        "hardtanh",
        "silu",
        "mish",
        "hardsigmoid",
        "hardswish",
    )
    return {name: activated(torch, name, inplace=True) for name in names}


@program()
def activations_with_a_trailing_underscore(torch: Any) -> Any:
    return {
        name: activated(torch, name)
        for name in ("relu_", "elu_", "selu_", "celu_", "leaky_relu_", "hardtanh_")
    }


@program()
def activations_with_a_trailing_underscore_have_nodes(torch: Any) -> Any:
    found = {}
    for name in ("relu_", "elu_", "selu_", "celu_", "leaky_relu_", "hardtanh_"):
        found[name] = getattr(torch.nn.functional, name)(numbers(torch) * 1).grad_fn
    return found, torch.nn.functional.threshold_(numbers(torch) * 1, 0.3, 2.0)


@program()
def activations_with_arguments(torch: Any) -> Any:
    return [
        activated(torch, "threshold_", 0.1, 3.0),
        activated(torch, "celu_", 2.0),
        activated(torch, "elu_", 0.5),
        activated(torch, "leaky_relu_", 0.2),
        activated(torch, "hardtanh_", -0.7, 0.7),
    ]


@program()
def activations_in_place_refuse_a_leaf(torch: Any) -> Any:
    phrase = "a leaf Variable that requires grad"
    return [
        attempt(phrase, getattr(torch.nn.functional, name), numbers(torch))
        for name in ("relu_", "elu_", "celu_", "selu_", "leaky_relu_", "hardtanh_")
    ]


@program()
def activations_of_torch_itself(torch: Any) -> Any:
    x, y, z = (numbers(torch) * 1 for _ in range(3))
    return torch.celu_(x), torch.selu_(y), torch.threshold_(z, 0.3, 1.0)


@program()
def dropout_in_place(torch: Any) -> Any:
    x, y = numbers(torch, False), numbers(torch, False)
    torch.nn.functional.dropout(x, 1.0, inplace=True)
    torch.dropout_(y, 1.0, True)
    return x, x._version, y, torch.nn.functional.dropout(y, 0.5, False, True) is y


@program()
def activations_through_a_view(torch: Any) -> Any:
    x = torch.tensor([-2.0, -1.0, 1.0], requires_grad=True)
    y = x * 1
    torch.nn.functional.elu_(y[:2])
    (y * y).sum().backward()
    return y, x.grad


# -- comparisons and logic -----------------------------------------------------------------------------------------

COMPARISONS = ("eq_", "ne_", "lt_", "le_", "gt_", "ge_", "less_", "greater_", "less_equal_", "greater_equal_",
               "not_equal_")  # fmt: skip


@program()
def comparisons_with_a_number(torch: Any) -> Any:
    found = {}
    for name in COMPARISONS:
        x = numbers(torch)
        y = x * 1
        getattr(y, name)(0.5)
        (y + 1).sum().backward()
        found[name] = y, y._version, x.grad
    return found


@program()
def comparisons_with_a_tensor(torch: Any) -> Any:
    found = {}
    for name in COMPARISONS:
        x, other = numbers(torch), torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        y = x * 1
        getattr(y, name)(other)
        (y + 1).sum().backward()
        found[name] = y, [f is None for f, _ in y.grad_fn.next_functions], x.grad, other.grad
    return found


@program()
def comparisons_of_a_constant_with_a_tracked_tensor(torch: Any) -> Any:
    y = numbers(torch, False)
    y.lt_(numbers(torch) + 0.1)
    return y, y.grad_fn.next_functions[0][0]


@program()
def comparisons_through_a_view(torch: Any) -> Any:
    x = numbers(torch)
    y = x * 1
    v = y[1:]
    v.ge_(0.6)
    (y * y).sum().backward()
    return y, v, x.grad


@program()
def comparisons_keep_the_dtype(torch: Any) -> Any:
    return torch.tensor([1, 2, 3]).gt_(1), torch.tensor([True, False]).eq_(False)


@program()
def comparisons_that_do_not_fit(torch: Any) -> Any:
    x = numbers(torch, False)
    return [
        attempt("doesn't match the broadcast shape", x.lt_, torch.zeros(2, 3)),
        attempt("The size of tensor a", x.lt_, torch.zeros(2)),
        attempt("a leaf Variable that requires grad", numbers(torch).eq_, 1),
        x,
        x._version,
    ]


@program()
def logic_takes_no_notice_of_autograd(torch: Any) -> Any:
    x, y = numbers(torch), numbers(torch) * 1
    x.logical_not_()
    y[1:].logical_and_(torch.tensor([0.0, 1.0], dtype=torch.float64))
    y.logical_or_(x)
    return x, x._version, y, y._version


# -- others --------------------------------------------------------------------------------------------------------


@program()
def conj_physical_of_real_numbers(torch: Any) -> Any:
    x = numbers(torch)
    y = x * 1
    y[1:].conj_physical_()
    y.conj_physical_()
    (y * y).sum().backward()
    return y, y._version, x.grad


@program()
def conj_physical_of_complex_numbers(torch: Any) -> Any:
    x = torch.tensor([1 + 2j, 3j], requires_grad=True)
    y = x * 1
    torch.conj_physical_(y)
    (y * (1 + 1j)).real.sum().backward()
    return y, x.grad


@program()
def float_power_in_place(torch: Any) -> Any:
    x, exponent = numbers(torch), torch.tensor([2.0, 1.0, 3.0], requires_grad=True)
    y, z = x * 1, x * 1
    y.float_power_(2)
    z.float_power_(exponent)
    (y.sum() + z.sum()).backward()
    return y, z, x.grad, exponent.grad


@program()
def float_power_in_place_of_what_cannot_hold_it(torch: Any) -> Any:
    phrase = "the base given to float_power_ has dtype"
    return [
        attempt(phrase, torch.ones(2).float_power_, 2),
        attempt(phrase, torch.ones(2, dtype=torch.int64).float_power_, 2),
        attempt(phrase, torch.ones(2, dtype=torch.float64).float_power_, 2j),
    ]


@program()
def fill_diagonal_is_a_write_through_a_view(torch: Any) -> Any:
    found = []
    for shape, wrap in (
        ((3, 3), False),
        ((2, 3), False),
        ((7, 2), False),
        ((7, 2), True),
        ((3, 2), True),
        ((2, 2, 2), True),
    ):
        x = torch.ones(*shape, requires_grad=True)
        y = x * 1
        y.fill_diagonal_(5, wrap)
        (y * y).sum().backward()
        found.append((y, y._version, y.grad_fn.next_functions[0][0], x.grad))
    return found


@program()
def fill_diagonal_of_a_view(torch: Any) -> Any:
    x = torch.ones(3, 4, requires_grad=True)
    y = x * 1
    v = y[:, 1:]
    v.fill_diagonal_(0)
    return y, v, torch.ones(2, 2, dtype=torch.int64).fill_diagonal_(1.5)


@program()
def fill_diagonal_errors(torch: Any) -> Any:
    return [
        attempt("dimensions must larger than 1", torch.ones(2).fill_diagonal_, 1),
        attempt("all dimensions of input must be of equal length", torch.ones(2, 3, 2).fill_diagonal_, 1),
        attempt("a view of a leaf Variable", torch.ones(2, 2, requires_grad=True).fill_diagonal_, 1),
    ]


# -- another shape, on views ---------------------------------------------------------------------------------------

TURNS = {
    "t_": lambda v: v.t_(),
    "transpose_": lambda v: v.transpose_(0, 1),
    "swapaxes_": lambda v: v.swapaxes_(0, 1),
    "swapdims_": lambda v: v.swapdims_(0, 1),
    "squeeze_": lambda v: v.squeeze_(),
    "squeeze_ one": lambda v: v.squeeze_(0),
    "squeeze_ some": lambda v: v.squeeze_((0,)),
    "unsqueeze_": lambda v: v.unsqueeze_(1),
}


def row(torch: Any) -> Any:
    x = torch.arange(6.0, dtype=torch.float64).add(1).view(2, 3).clone().requires_grad_()
    return x, x * 1


@program()
def turning_a_view_keeps_its_history(torch: Any) -> Any:
    found = {}
    for name, turn in TURNS.items():
        x, y = row(torch)
        v = y[:1]
        turn(v)
        (v * v).sum().backward()
        found[name] = v, v.grad_fn.next_functions[0][0], y.grad_fn, v._version, v._base is y, x.grad
    return found


@program()
def turning_a_view_then_writing_its_base(torch: Any) -> Any:
    found = {}
    for name, turn in TURNS.items():
        x, y = row(torch)
        v = y[:1]
        turn(v)
        y.mul_(2)
        (v * v).sum().backward()
        found[name] = v, v.grad_fn.next_functions[0][0], x.grad
    return found


@program()
def turning_a_view_then_writing_it(torch: Any) -> Any:
    found = {}
    for name, turn in TURNS.items():
        x, y = row(torch)
        v = y[:1]
        turn(v)
        v.mul_(2)
        (y * y).sum().backward()
        found[name] = v, y, x.grad
    return found


@program()
def turning_a_view_under_no_grad(torch: Any) -> Any:
    found = {}
    for name, turn in TURNS.items():
        x, y = row(torch)
        v = y[:1]
        with torch.no_grad():
            turn(v)
        (v * v).sum().backward()
        found[name] = v, v._version, x.grad
    return found


@program()
def turning_one_of_several_views(torch: Any) -> Any:
    phrase = (
        "is a view and is being modified inplace. This view is the output of a function that returns multiple"
    )
    return [attempt(phrase, turn, row(torch)[1].chunk(2)[0]) for turn in TURNS.values()]


@program()
def turning_an_expanded_tensor(torch: Any) -> Any:
    v = column(torch).expand(2, 3)
    return v.t_(), v.unsqueeze_(0), v._version


@program()
def a_retained_gradient_follows_a_turn(torch: Any) -> Any:
    x, y = row(torch)
    y.retain_grad()
    y.t_()
    (y * y).sum().backward()
    return y.grad, x.grad


# -- expanded memory -----------------------------------------------------------------------------------------------

REFUSED = "more than one element of the written-to tensor refers to a single memory location"


@program()
def expanded_memory_is_refused(torch: Any) -> Any:
    wide = torch.ones(2, 3)
    writes = {
        "add_": lambda t: t.add_(1),
        "mul_": lambda t: t.mul_(wide),
        "copy_": lambda t: t.copy_(wide),
        "sin_": lambda t: t.sin_(),
        "clamp_": lambda t: t.clamp_(0, 1),
        "fill_ with a tensor": lambda t: t.fill_(torch.tensor(1.0)),
        "lt_": lambda t: t.lt_(1),
        "logical_not_": lambda t: t.logical_not_(),
        "cumsum_": lambda t: t.cumsum_(0),
        "addmm_": lambda t: t.addmm_(torch.ones(2, 2), wide),
        "index_add_": lambda t: t.index_add_(0, torch.tensor([0]), wide[:1]),
        "scatter_": lambda t: t.scatter_(0, torch.tensor([[0]]), 1.0),
        "uniform_": lambda t: t.uniform_(),
        "iadd": lambda t: t.__iadd__(1),
        "lerp_": lambda t: t.lerp_(wide, 0.5),
        "relu_": lambda t: torch.relu_(t),
        "addcmul_": lambda t: t.addcmul_(wide, wide),
    }
    found = {}
    for name, write in writes.items():
        t = column(torch)
        found[name] = attempt(REFUSED, write, t.expand(2, 3)), t, t._version
    return found


@program()
def expanded_memory_can_be_filled(torch: Any) -> Any:
    t, u, v = column(torch), column(torch), column(torch)
    t.expand(2, 3).fill_(5)
    u.expand(2, 3).zero_()
    v.expand(2, 3)[:, 1:].fill_(7)
    return t, u, v, t._version


@program(warns="Use of (masked_fill_|index_fill_) on expanded tensors is deprecated")
def expanded_memory_with_a_warning(torch: Any) -> Any:
    t, u = column(torch), column(torch)
    t.expand(2, 3).masked_fill_(torch.tensor([True, False, False]), 9.0)
    u.expand(2, 3).index_fill_(0, torch.tensor([1]), 4.0)
    return t, u


@program()
def what_is_expanded_by_nothing_can_be_written(torch: Any) -> Any:
    x = column(torch, True)
    y = x * 1
    y.expand(1, 2, 1).mul_(3)
    y.expand(2, 1).add_(1)
    (y * y).sum().backward()
    return y, y._version, x.grad


@program()
def one_copy_of_expanded_memory_can_be_written(torch: Any) -> Any:
    x = column(torch, True)
    y = x * 1
    wide = y.expand(2, 3)
    wide[:, 0].mul_(10)
    wide[:, 2:].add_(1)
    (wide * wide).sum().backward()
    return y, wide, y._version, x.grad


@program()
def one_copy_of_a_constant_can_be_written(torch: Any) -> Any:
    t = column(torch)
    wide = t.expand(2, 3)
    wide.select(1, 1).add_(1)
    wide.narrow(1, 0, 1).mul_(2)
    wide.detach()[:, 1].sub_(0.5)
    wide.data[:, 1].sub_(0.5)
    return t, wide, t._version


@program(phrase=REFUSED)
def a_recorded_fill_of_expanded_memory_has_no_gradient(torch: Any) -> Any:
    y = column(torch, True) * 1
    y.expand(2, 3).fill_(2)
    y.sum().backward()


@program()
def a_tracked_value_meets_expanded_memory(torch: Any) -> Any:
    t, w = column(torch), torch.ones(2, 3, requires_grad=True)
    return attempt(REFUSED, t.expand(2, 3).copy_, w), t, t.requires_grad


@program()
def broadcast_tensors_are_expanded(torch: Any) -> Any:
    a, b = torch.broadcast_tensors(column(torch), torch.zeros(3))
    return attempt(REFUSED, a.add_, 1), a.fill_(3), b
