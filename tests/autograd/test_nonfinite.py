"""detect_nonfinite: the first cause is named, the `where` trap is recognised, and nothing else changes.

The programs mark their culprit with a comment, `first cause`; its line must be the one that the error names.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import threading
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import detect_nonfinite
from retrograd.core.modes import current
from retrograd.errors import GradientError, NonFiniteError
from retrograd.nn.functional import log_softmax

NAN, INF = float("nan"), float("inf")


def marked_line(function, mark="first cause"):
    lines, start = inspect.getsourcelines(function)
    (found,) = [start + i for i, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    return found


def failure(program, *args, **mode):
    with pytest.raises(NonFiniteError) as caught, detect_nonfinite(**mode):
        program(*args)
    return caught.value


def positive(rng, *shape):
    """Numbers that no function below has trouble with."""
    return rng.uniform(0.2, 0.8, shape)


def spoilt(rng, value, *shape):
    """Such numbers with one other among them, anywhere."""
    array = positive(rng, *shape)
    array[tuple(int(rng.integers(n)) for n in shape)] = value
    return array


def weights(rng, *shape):
    return rg.tensor(positive(rng, *shape), requires_grad=True)


# ---- programs that fail -------------------------------------------------------------------------------------------


class Spiteful(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad / 0


def log_of_zero(rng):
    x = rg.tensor(spoilt(rng, 0.0, 3, 4), requires_grad=True)
    h = rg.tanh(x @ weights(rng, 4, 4)) + 1
    y = x.log()  # first cause
    (h * y).mean().backward()


def zero_over_zero_in_second_order(rng):
    x = rg.tensor(spoilt(rng, 0.0, 5), requires_grad=True)
    y = (x * x).sin() * 2
    (slope,) = rg.autograd.grad((x.abs() ** 1.5 + y).sum(), x, create_graph=True)  # first cause
    (slope * slope).sum().backward()


def quotient_in_second_order(rng):
    x = rg.tensor(positive(rng, 3), requires_grad=True)
    (slope,) = rg.autograd.grad((x**2).sum(), x, create_graph=True)
    zero = slope - slope.detach()
    ratio = zero / zero  # first cause
    ratio.sum().backward()


def exp_overflow_under_a_mask(rng):
    x = rg.tensor(spoilt(rng, 5000.0, 2, 3), requires_grad=True)
    h = x * weights(rng, 2, 3)
    large = h.exp()  # first cause
    rg.where(h < 50, large * 2, h).sum().backward()


def root_of_zero(rng):
    x = rg.tensor(spoilt(rng, 0.0, 6), requires_grad=True)
    y = x * 3
    z = rg.sqrt(y)  # first cause
    (z + 1).sum().backward()


def power_of_zero(rng):
    x = rg.tensor(spoilt(rng, 0.0, 2, 2), requires_grad=True)
    y = (x * 1.5) ** 0.5  # first cause
    y.exp().sum().backward()


def division_by_zero(rng):
    a, b = weights(rng, 4), rg.tensor(spoilt(rng, 0.0, 4), requires_grad=True)
    ratio = (a * 2) / b  # first cause
    (ratio + a).sum().backward()


def edge_of_a_domain(rng):
    x = rg.tensor(spoilt(rng, 1.0, 4), requires_grad=True)
    y = rg.acos(x)  # first cause
    (y + x).sum().backward()


def rows_of_nothing(rng):
    scores = rg.tensor(positive(rng, 3, 4), requires_grad=True)
    mask = np.zeros((3, 4))
    mask[int(rng.integers(3))] = -INF
    masked = scores + rg.tensor(mask)
    chances = log_softmax(masked, -1)  # first cause
    chances.mean().backward()


def data_with_a_hole(rng):
    data = rg.tensor(spoilt(rng, NAN, 4, 3))
    hidden = data @ weights(rng, 3, 2)  # first cause
    rg.tanh(hidden).sum().backward()


def target_with_a_hole(rng):
    target = rg.tensor(spoilt(rng, NAN, 4, 2))
    w = weights(rng, 3, 2)
    output = rg.tensor(positive(rng, 4, 3)) @ w
    error = output - target  # first cause
    (error + 1).square().mean().backward()


def parameter_with_a_hole(rng):
    w = rg.tensor(spoilt(rng, NAN, 3, 2), requires_grad=True)
    y = rg.tensor(positive(rng, 4, 3)) @ w  # first cause
    y.sigmoid().log().sum().backward()


def hook_that_spoils(rng):
    x = weights(rng, 3)
    y = x * 2

    def spoil(grad):  # first cause
        return grad * NAN

    y.register_hook(spoil)
    (y * y).sum().backward()


def custom_backward(rng):
    x = weights(rng, 3)
    y = Spiteful.apply(x * 2)  # first cause
    y.sin().sum().backward()


def inf_minus_inf(rng):
    x = rg.tensor(spoilt(rng, 800.0, 5), requires_grad=True)
    a = x.exp()  # first cause
    b = a * 2
    (a - b).sum().backward()


def inverse_root_of_zero(rng):
    x = rg.tensor(spoilt(rng, 0.0, 4), requires_grad=True)
    s = (x * 0.5).rsqrt()  # first cause
    (s * 3).sum().backward()


def overwritten_in_place(rng):
    x = rg.tensor(spoilt(rng, 0.0, 3), requires_grad=True)
    y = x * 2
    y.log_()  # first cause
    y.mul_(0.5).add_(1.0)
    (y * x).sum().backward()


def written_through_a_view(rng):
    x = rg.tensor(positive(rng, 4), requires_grad=True)
    y = x * 1.0
    y[1:3].sub_(x[1:3]).log_()  # first cause
    y.exp().cos().sum().backward()


PROGRAMS = {
    log_of_zero: ("forward", "LogBackward0"),
    zero_over_zero_in_second_order: ("backward", "PowBackward0"),
    quotient_in_second_order: ("forward", "DivBackward0"),
    exp_overflow_under_a_mask: ("forward", "ExpBackward0"),
    root_of_zero: ("backward", "SqrtBackward0"),
    power_of_zero: ("backward", "PowBackward0"),
    division_by_zero: ("forward", "DivBackward0"),
    edge_of_a_domain: ("backward", "AcosBackward0"),
    rows_of_nothing: ("forward", "LogSoftmaxBackward0"),
    data_with_a_hole: ("input", "MmBackward0"),
    target_with_a_hole: ("input", "SubBackward0"),
    parameter_with_a_hole: ("input", "MmBackward0"),
    hook_that_spoils: ("hook", "MulBackward0"),
    custom_backward: ("backward", "SpitefulBackward"),
    inf_minus_inf: ("forward", "ExpBackward0"),
    inverse_root_of_zero: ("forward", "RsqrtBackward0"),
    overwritten_in_place: ("forward", "LogBackward0"),
    written_through_a_view: ("forward", "LogBackward0"),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_first_cause_is_named(program, seed):
    error = failure(program, np.random.default_rng(seed))
    assert (error.kind, error.node_name) == PROGRAMS[program], error
    assert error.place.line() == marked_line(program), error
    assert str(error.place) in str(error)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_without_the_mode_nothing_is_raised(program, seed):
    program(np.random.default_rng(seed))


def test_the_message_has_three_beats():
    text = str(failure(log_of_zero, np.random.default_rng(0)))
    assert text.startswith(
        "detect_nonfinite: the gradient of a leaf of shape [3, 4] is not finite: NaN and Inf at"
    )
    assert "LogBackward0 got finite values and gave Inf at 1 of 12 elements" in text
    assert "input = 0.0, result = -inf" in text
    assert "y = x.log()" in text
    assert "Why: log is -inf at 0" in text
    assert "What to do: keep its argument away from there" in text


def test_a_backward_cause_shows_what_came_in():
    x = rg.tensor([4.0, 0.0], requires_grad=True)
    with pytest.raises(NonFiniteError, match=r"output = 0.0, incoming gradient = 3.0, result = inf"):
        detect_nonfinite()(lambda: (x.sqrt() * 3).sum().backward())()


# ---- the where trap -----------------------------------------------------------------------------------------------


def trapped_by_where(x):
    y = x.log()  # first cause
    rg.where(x > 0, y, 0.0).sum().backward()  # masked


def trapped_by_masked_fill(x):
    y = rg.sqrt(x)  # first cause
    z = y * 2
    z.masked_fill(x == 0, 0.0).sum().backward()  # masked


def trapped_by_a_product(x):
    y = x.reciprocal()  # first cause
    z = y * (x > 0).float()  # masked
    z.sum().backward()


def trapped_far_away(x):
    y = rg.ones(2) / x  # first cause
    z = y * y
    chosen = rg.where((x > 0)[None, :], z.expand(2, 2), rg.zeros(2, 2))  # masked
    (chosen.sum(0) * 3).sum().backward()


def trapped_by_an_index(x):
    y = x.log()  # first cause
    chosen = y[x > 0]  # masked
    chosen.sum().backward()


def trapped_by_a_clamp(x):
    y = x.log()  # first cause
    low = y.clamp(min=-10)  # masked
    low.sum().backward()


def trapped_by_an_assignment(x):
    y = x.log()  # first cause
    z = y * 1.0
    z[x == 0] = 0.0  # masked
    z.sum().backward()


TRAPS = {
    trapped_by_where: ("where", "log(safe)"),
    trapped_by_masked_fill: ("masked_fill", "sqrt(safe)"),
    trapped_by_a_product: ("mask", "1 / safe"),
    trapped_far_away: ("where", "a / safe"),
    trapped_by_an_index: ("selection", "log(x[mask])"),
    trapped_by_a_clamp: ("clamp", "log(x.clamp(min=eps))"),
    trapped_by_an_assignment: ("write", "log(safe)"),
}


@pytest.mark.parametrize("program", TRAPS, ids=lambda p: p.__name__)
def test_the_where_trap_is_recognised(program):
    error = failure(program, rg.tensor([0.0, 2.0], requires_grad=True))
    trap, rewrite = TRAPS[program]
    text = str(error)
    assert error.trap == trap, text
    assert error.place.line() == marked_line(program), text
    assert "`where` trap" in text
    assert f"line {marked_line(program, 'masked')}" in text.partition("masked by")[2]
    assert rewrite in text


def test_the_rewrite_works():
    x = rg.tensor([0.0, 2.0], requires_grad=True)
    with detect_nonfinite():
        mask = x > 0
        safe = rg.where(mask, x, 1.0)
        rg.where(mask, rg.log(safe), 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.5]


def test_a_zero_gradient_without_a_mask_is_no_trap():
    x = rg.tensor([0.0, 2.0], requires_grad=True)
    error = failure(lambda: (x.sqrt() * 0.0).sum().backward())
    assert (error.node_name, error.trap) == ("SqrtBackward0", "")
    assert "trap" not in str(error)


def test_a_selected_element_is_no_trap():
    x = rg.tensor([0.0, 2.0], requires_grad=True)
    error = failure(lambda: rg.where(x >= 0, x.sqrt(), 0.0).sum().backward())
    assert (error.node_name, error.trap) == ("SqrtBackward0", "")


def test_a_where_on_another_path_is_no_trap():
    x = rg.tensor([0.0, 2.0], requires_grad=True)
    error = failure(lambda: (x.sqrt() * 0.0 + rg.where(x > 0, x, 0.0)).sum().backward())
    assert (error.node_name, error.trap) == ("SqrtBackward0", "")


def test_what_did_no_harm_is_not_blamed():
    x = rg.tensor([0.0, 2.0], requires_grad=True)

    def program():
        scores = x.masked_fill(x == 0, -INF)  # as attention does
        y = (scores.softmax(0) + rg.where(x > 0, rg.log(x.detach()), 0.0)).sum()
        return (y + x.sqrt().sum()).backward()

    error = failure(program)
    assert (error.kind, error.node_name, error.trap) == ("backward", "SqrtBackward0", "")


# ---- random programs: a culprit somewhere between layers that do no harm, masked or not -----------------------------

HARMLESS = [
    lambda h: rg.tanh(h),
    lambda h: h * 0.7 + rg.full((3, 3), 0.1, dtype=rg.float64),
    lambda h: (h * h + 1).sqrt(),
    lambda h: h.reshape(-1).t().reshape(3, 3),
    lambda h: h - h.mean(),
    lambda h: rg.softmax(h, -1),
    lambda h: h @ rg.eye(3, dtype=rg.float64),
    lambda h: rg.where(h > 0, h, h * 0.1),
    lambda h: h.clone().mul_(0.5),
    lambda h: rg.cat([h[:1], h[1:]], 0),
]
CULPRITS = {
    "LogBackward0": lambda z: z.log(),
    "SqrtBackward0": lambda z: z.sqrt(),
    "ReciprocalBackward0": lambda z: z.reciprocal(),
    "PowBackward0": lambda z: z**0.3,
    "AcosBackward0": lambda z: (1 - z).acos(),
    "DivBackward0": lambda z: rg.ones(3, 3, dtype=rg.float64) / z,
    "ExpBackward0": lambda z: (1e4 * (z == 0).double() + z).exp(),
}
MASKS = {
    "": lambda y, mask: y * 2,
    "where": lambda y, mask: rg.where(mask, y, 0.0),
    "masked_fill": lambda y, mask: y.masked_fill(~mask, 0.0),
    "mask": lambda y, mask: y * mask.double(),
}


def some_layers(rng, h):
    for _ in range(rng.integers(4)):
        h = HARMLESS[rng.integers(len(HARMLESS))](h)
    return h


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("culprit", CULPRITS)
def test_random_programs(culprit, mask):
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def program():
            zero = rg.tensor(spoilt(rng, 0.0, 3, 3), requires_grad=True)
            h = some_layers(rng, weights(rng, 3, 3))
            bad = CULPRITS[culprit](zero * 1.0 + h * 0.0)
            h = h * 0.1 + MASKS[mask](bad, zero != 0)
            some_layers(rng, rg.tanh(h)).mean().backward()

        error = failure(program)
        assert (error.node_name, error.trap) == (culprit, mask), f"seed {seed}: {error}"


# ---- no false alarms, nothing else changes ------------------------------------------------------------------------


def network(seed=0):
    rng = np.random.default_rng(seed)
    sizes = [6, 5, 4, 3]
    ws = [rg.tensor(rng.standard_normal((a, b)), requires_grad=True) for a, b in itertools.pairwise(sizes)]
    bs = [rg.tensor(rng.standard_normal(b), requires_grad=True) for b in sizes[1:]]
    h = rg.tensor(rng.standard_normal((7, 6)))
    for w, b in zip(ws, bs, strict=True):
        h = rg.tanh(h @ w + b)
    return [*ws, *bs], (h * h).mean()


def test_gradients_are_the_same_bits():
    plain, loss = network()
    loss.backward()
    with detect_nonfinite():
        watched, loss = network()
        loss.backward()
    for a, b in zip(plain, watched, strict=True):
        assert a.grad.array.tobytes() == b.grad.array.tobytes()


def test_large_finite_gradients_are_no_alarm():
    x = rg.tensor([1.0, 2.0], requires_grad=True)  # the squares of these overflow float32
    with detect_nonfinite():
        (x * 1e30).sum().backward()
    assert x.grad.tolist() == [rg.tensor(1e30).item()] * 2


@pytest.mark.parametrize("dtype", [rg.float16, rg.float32, rg.float64, rg.complex64, rg.complex128])
def test_every_dtype(dtype):
    x = rg.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    with detect_nonfinite():
        (x * x).sum().backward(rg.tensor(1.0, dtype=dtype))
    error = failure(lambda: (x / 0).sum().backward(rg.tensor(1.0, dtype=dtype)))
    assert error.node_name == "DivBackward0"


def test_a_nan_that_does_not_reach_a_leaf_is_no_alarm():
    x = rg.tensor([-1.0, 2.0], requires_grad=True)
    with detect_nonfinite():
        rg.where(x > 0, rg.log(x), 0.0).sum().backward()  # log(-1) is NaN, its slope is not
        rg.where(x > 0, x, rg.tensor(NAN)).sum().backward()
        (x * 1).max().backward()
    assert np.isfinite(x.grad.array).all()


def test_a_hook_may_mend_a_gradient():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    x.register_hook(lambda g: rg.where(g == INF, 0.0, g))
    with detect_nonfinite():
        x.sqrt().sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_empty_leaves_and_missing_gradients():
    x = rg.zeros(0).requires_grad_()
    y = rg.ones(2).requires_grad_()
    with detect_nonfinite():
        (x.sum() + y.sum()).backward()
        assert rg.autograd.grad(y.sum(), (x, y), allow_unused=True)[0] is None


def test_saved_values_are_freed_and_the_backward_that_did_it_is_known():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with detect_nonfinite():
        y = x.exp()
        z = y * x + 1.0
        loss = z.sum()
        loss.backward()
        assert (y.grad_fn._freed, z.grad_fn.next_functions[0][0]._freed) == (True, True)
        assert z.grad_fn._witness is None
        with pytest.raises(RuntimeError, match=r"second time(.|\n)*freed by .*loss\.backward\(\)"):
            loss.backward()


def test_retain_graph_keeps_everything():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with detect_nonfinite():
        loss = (x.exp() * 2.0).sum()
        loss.backward(retain_graph=True)
        once = x.grad.clone()
        loss.backward()
    assert x.grad.tolist() == (once * 2).tolist()


def test_forward_inside_and_backward_outside_leaves_nothing_behind():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with detect_nonfinite():
        y = x + rg.ones(2)
        loss = y.sum()
    assert y.grad_fn._witness is not None
    loss.backward()
    assert y.grad_fn._witness is None


def test_the_mode_may_come_on_after_the_forward_pass():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    loss = (x.log() * 2).sum()
    assert failure(loss.backward).node_name == "LogBackward0"


def test_graphs_die_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        with detect_nonfinite():
            for backward in (False, True):
                x = rg.tensor([1.0, 2.0], requires_grad=True)
                y = Spiteful.apply(x) + rg.ones(2)
                y.mul_(rg.ones(2))
                node = weakref.ref(y.grad_fn)
                if backward:
                    with pytest.raises(NonFiniteError):
                        y.sum().backward()
                del x, y
                assert node() is None
    finally:
        gc.enable()


def test_the_error_does_not_hold_the_graph():
    x = rg.tensor([0.0, 2.0], requires_grad=True)
    y = x.log()
    node = weakref.ref(y.grad_fn)
    error = failure(y.sum().backward)
    del y
    error.__traceback__ = None
    gc.collect()
    assert node() is None
    assert error.node_name == "LogBackward0"


# ---- after a failure ----------------------------------------------------------------------------------------------


def test_gradients_stay_as_without_the_mode_and_the_graph_is_freed():
    x, w = rg.tensor([0.0, 4.0], requires_grad=True), rg.tensor([1.0, 2.0], requires_grad=True)
    w.grad = rg.ones(2)
    loss = (x.sqrt() * w).sum()
    failure(loss.backward)
    assert w.grad.tolist() == [1.0, 3.0]  # once, although the backward ran twice
    assert x.grad.tolist() == [INF, 0.5]
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_a_retained_graph_is_there_after_a_failure():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    loss = x.sqrt().sum()
    failure(lambda: loss.backward(retain_graph=True))
    loss.backward()


def test_the_modes_are_put_back():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    failure(lambda: x.sqrt().sum().backward())
    state = current()
    assert (state.nonfinite, state.replaying, state.grad_enabled, state.special) == (0, False, True, 0)


def test_retained_gradients_and_callbacks_come_once():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    y = x.sqrt()
    y.retain_grad()
    calls = []
    y.register_hook(lambda g: rg.autograd.Variable._execution_engine.queue_callback(lambda: calls.append(1)))
    failure(y.sum().backward)
    assert y.grad.tolist() == [1.0, 1.0]
    assert calls == [1]


def test_a_gradient_that_was_bad_before():
    x = rg.tensor([1.0, 4.0], requires_grad=True)
    x.grad = rg.tensor([NAN, 0.0])
    error = failure((x * 2).sum().backward)
    assert error.kind == "unknown"
    assert "`.grad` was not finite before this backward" in str(error)


def test_an_optimiser_in_the_backward():
    x = rg.tensor([1.0, 0.0], requires_grad=True)

    def step(p):
        with rg.no_grad():
            p.sub_(p.grad)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    error = failure(lambda: (x.log() * x).sum().backward())
    assert error.node_name == "LogBackward0"
    assert "could not be run again" in str(error)


def test_a_function_that_cannot_run_twice():
    class Once(rg.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad / (x - x)

    x = rg.tensor([1.0], requires_grad=True)
    error = failure(lambda: Once.apply(x).backward())
    assert error.kind == "unknown"
    assert "only be accessed once" in str(error)
    assert isinstance(error.__cause__, RuntimeError)


# ---- where it works -----------------------------------------------------------------------------------------------


def test_autograd_grad():
    x, y = rg.tensor([0.0, 4.0], requires_grad=True), rg.tensor([1.0, 1.0], requires_grad=True)

    def program():
        z = x.sqrt() * y  # first cause
        return rg.autograd.grad(z.sum(), (y, x))

    error = failure(program)
    assert "the gradient for input 1 of autograd.grad" in str(error)
    assert error.place.line() == marked_line(program)
    with detect_nonfinite():
        assert rg.autograd.grad((x.sqrt() * y).sum(), y)[0].tolist() == [0.0, 2.0]


def test_backward_with_inputs_looks_only_at_them():
    x, y = rg.tensor([0.0, 4.0], requires_grad=True), rg.tensor([1.0, 1.0], requires_grad=True)
    with detect_nonfinite():
        (x.sqrt() * y).sum().backward(inputs=[y])
    assert x.grad is None
    assert failure(lambda: (x.sqrt() * y).sum().backward(inputs=[x])).node_name == "SqrtBackward0"


def test_several_roots():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    error = failure(lambda: rg.autograd.backward([x.sum(), x.sqrt().sum(), (x * x).sum()]))
    assert (error.kind, error.node_name) == ("backward", "SqrtBackward0")


def test_create_graph():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    error = failure(lambda: rg.autograd.grad(x.sqrt().sum(), x, create_graph=True))
    assert (error.kind, error.node_name) == ("backward", "SqrtBackward0")
    with detect_nonfinite():
        (slope,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
        slope.sum().backward()
    assert x.grad.tolist() == [0.0, 24.0]


def test_the_given_gradient_is_named():
    x = rg.tensor([1.0, 4.0], requires_grad=True)
    error = failure(lambda: (x * 2).backward(rg.tensor([1.0, NAN])))
    assert error.kind == "gradient"
    assert "started with" in str(error)


def test_a_sum_that_overflows_is_named():
    x = rg.tensor([1.0], requires_grad=True)
    y = x * 1.0
    error = failure(lambda: (y * 3e38 + y * 3e38).sum().backward())
    assert (error.kind, error.node_name) == ("sum", "MulBackward0")


def test_node_hooks():
    x = rg.tensor([1.0, 4.0], requires_grad=True)

    def before(grads):
        return (grads[0] * INF,)

    def after(grad_inputs, grad_outputs):
        return (grad_inputs[0] * INF, *grad_inputs[1:])

    for register, hook in (("register_prehook", before), ("register_hook", after)):
        y = x * 2
        getattr(y.grad_fn, register)(hook)
        error = failure(y.sum().backward)
        assert (error.kind, error.node_name) == ("hook", "MulBackward0")
        assert hook.__name__ in str(error)


def test_nan_and_inf_are_switched_apart():
    def inf():
        rg.tensor([0.0], requires_grad=True).sqrt().sum().backward()

    def nan():
        (rg.tensor([0.0], requires_grad=True).sqrt() * 0).sum().backward()

    with detect_nonfinite(inf=False):
        inf()
    with detect_nonfinite(nan=False):
        nan()
    assert failure(inf, nan=False).node_name == failure(nan, inf=False).node_name == "SqrtBackward0"
    with pytest.raises(ValueError, match="nothing to look for"):
        detect_nonfinite(nan=False, inf=False)


def test_nesting_and_decorating():
    x = rg.tensor([0.0], requires_grad=True)

    @detect_nonfinite(inf=False)
    def program():
        x.sqrt().sum().backward()
        with detect_nonfinite():
            assert failure(x.sqrt().sum().backward).kind == "backward"
        x.sqrt().sum().backward()

    program()
    assert current().nonfinite == 0
    with pytest.raises(TypeError, match="called first"):
        detect_nonfinite(program)


def test_the_setting_is_the_threads_own():
    found = []

    def work():
        x = rg.tensor([0.0], requires_grad=True)
        x.sqrt().sum().backward()
        found.append(x.grad.item())

    with detect_nonfinite():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [INF]


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_anomaly_mode_speaks_first():
    x = rg.tensor([0.0], requires_grad=True)
    with detect_nonfinite(), rg.autograd.detect_anomaly():
        with pytest.raises(GradientError, match="returned nan values"):
            (x.sqrt() * 0).backward()
        with pytest.raises(NonFiniteError):
            x.sqrt().backward()


def test_a_backward_inside_a_hook_leaves_its_gradients_once():
    x, w = rg.tensor([0.0, 4.0], requires_grad=True), rg.tensor(2.0, requires_grad=True)
    y = x.sqrt()

    def inner(grad):
        with rg.enable_grad():
            (w * w).backward()

    y.register_hook(inner)
    error = failure(y.sum().backward)
    assert error.node_name == "SqrtBackward0"
    assert w.grad.item() == 4.0


def test_an_error_of_an_inner_backward_comes_through():
    x, w = rg.tensor([1.0, 4.0], requires_grad=True), rg.tensor(0.0, requires_grad=True)
    y = x * 2

    def inner(grad):
        with rg.enable_grad():
            w.sqrt().backward()  # first cause

    y.register_hook(inner)
    error = failure(y.sum().backward)
    assert error.place.line() == marked_line(inner)
    assert any("tensor hook 0" in note for note in error.__notes__)


def test_a_user_error_passes_through():
    x = rg.tensor([1.0, 4.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with detect_nonfinite(), pytest.raises(ZeroDivisionError):
        y.sum().backward()


def test_a_long_chain():
    x = rg.tensor([0.5], requires_grad=True)
    with pytest.raises(NonFiniteError) as caught, detect_nonfinite():
        y = x
        for _ in range(20_000):
            y = y + 0.0
        (y - 0.5).log().sum().backward()
    assert caught.value.node_name == "LogBackward0"


def test_checkpointed_code():
    from retrograd.utils.checkpoint import checkpoint

    x = rg.tensor([0.0, 4.0], requires_grad=True)

    def block(v):
        return v.sqrt()

    error = failure(lambda: checkpoint(block, x * 1, use_reentrant=False).sum().backward())
    assert error.node_name == "SqrtBackward0"


def test_a_search_leaves_no_running_node():
    class Root(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sqrt()

        @staticmethod
        def backward(ctx, g):
            return g / (2 * ctx.saved_tensors[0].sqrt())

    with pytest.raises(RuntimeError), rg.autograd.detect_nonfinite():
        (Root.apply(rg.zeros(2, requires_grad=True)) * 1).sum().backward()
    assert current().running_node is None
