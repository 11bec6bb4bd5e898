"""The questions people ask of a backward: each is answered by name and line."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.inspect import questions


def test_which_line_made_the_first_nan_forward():
    x = rg.tensor([1.0, -1.0], requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * 2
        z = y.log()
        (z * 3).sum().backward()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith("Log made NaN in the forward pass")
    assert answer.text.endswith("z = y.log()")


def test_which_line_made_the_first_nan_backward():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    with rg.inspect.record() as recording:
        length = x.sqrt()
        (length * length).sum().backward()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith(
        "SqrtBackward0 made NaN in its gradient 0, for AccumulateGrad x (2,), from finite"
    )
    assert answer.text.endswith("length = x.sqrt()")


def one_in_a_million(value, dtype=rg.float32, elsewhere=1.0):
    """Equal numbers, and one that differs where no sample looks."""
    x = rg.full((1000, 1000), elsewhere, dtype=dtype)
    x[317, 211] = value
    return x.requires_grad_()


@pytest.mark.parametrize("dtype", [rg.float32, rg.float64, rg.float16, rg.complex64])
def test_one_element_of_a_million_is_the_first_nan(dtype):
    x = one_in_a_million(0.0, dtype)
    with rg.inspect.record() as recording:
        y = x * 2
        z = y / x
        z.sum().abs().backward()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith("Div made NaN in the forward pass")
    assert answer.text.endswith("z = y / x")


def test_one_element_of_a_million_is_the_first_infinity_in_a_view():
    x = one_in_a_million(float("inf"))
    with rg.inspect.record() as recording:
        y = x.T[:, 1:]
        y.sum().backward()
    assert questions.first_nonfinite(recording.document).text.endswith("y = x.T[:, 1:]")


def test_one_element_of_a_million_becomes_infinite_in_place():
    x = rg.ones(1000, 1000)
    with rg.inspect.record() as recording:
        y = x * 2
        y[317].mul_(rg.ones(1000) * 1e38).mul_(3.0)
    assert questions.first_nonfinite(recording.document).text.endswith(
        "y[317].mul_(rg.ones(1000) * 1e38).mul_(3.0)"
    )


@pytest.mark.parametrize(
    "make", [lambda d: d.sqrt(), lambda d: d.T.sqrt().T, lambda d: d.sqrt().expand(2, -1, -1)]
)
def test_one_element_of_a_million_is_the_first_infinite_gradient(make):
    x = one_in_a_million(0.0)
    with rg.inspect.record() as recording:
        length = make(x * 1.0)
        (length * 0.5).sum().backward()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith("SqrtBackward0 made an infinity in its gradient 0")


@pytest.fixture(params=[1, 4])
def threads(request):
    """Workers have flags of their own."""
    before = rg.get_num_threads()
    rg.set_num_threads(request.param)
    yield
    rg.set_num_threads(before)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x * x,
        lambda x: x + x,
        lambda x: x - (-x),
        lambda x: x * 1e30,
        lambda x: rg.add(x, x, alpha=2),
        lambda x: (x * 0.1).tanh() + x.neg() * rg.sigmoid(x) * 3.0,
        lambda x: x.T * 2.0,
        lambda x: x * rg.full((1000, 1), 2.0),
        lambda x: x.clone().mul_(2.0),
        lambda x: x.clone().add_(x),
    ],
)
def test_the_operation_that_makes_one_infinity_is_named(compute, threads):
    x = one_in_a_million(3e38)
    with rg.inspect.record() as recording:
        compute(x)
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.split()[1:5] == ["made", "an", "infinity", "in"]


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_what_comes_of_a_number_that_is_not_finite_is_not(number):
    x = rg.ones(1000, 1000, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * number
    assert questions.first_nonfinite(recording.document).text.endswith("y = x * number")
    assert y.requires_grad
    with rg.inspect.record() as recording:
        z = x * rg.tensor(number)
    assert questions.first_nonfinite(recording.document).text.endswith("z = x * rg.tensor(number)")
    assert z.requires_grad


def test_the_gradient_that_becomes_infinite_is_named(threads):
    x = rg.ones(1000, 1000, requires_grad=True)
    y = one_in_a_million(3e38).detach()
    with rg.inspect.record() as recording:
        product = x * y
        (product * 1e-20 * 2.0).backward(rg.full((1000, 1000), 1e20))
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith("MulBackward0 made an infinity in its gradient 0, for AccumulateGrad x")
    assert answer.text.endswith("product = x * y")


def test_a_sum_of_gradients_that_becomes_infinite_is_named(threads):
    x = rg.ones(1000, 1000, requires_grad=True)
    g = one_in_a_million(3e38).detach()
    with rg.inspect.record() as recording:
        ((x + 1.0) + (x - 1.0)).backward(g)
    answer = questions.first_nonfinite(recording.document)
    assert answer.text == "AccumulateGrad x (1000, 1000) got an infinity as the sum of its gradients"
    assert rg.isinf(x.grad).sum() == 1


def test_a_gradient_that_becomes_infinite_in_grad_is_named():
    x = rg.ones(1, requires_grad=True)
    x.grad = rg.full((1,), 3e38)
    with rg.inspect.record() as recording:
        (x * 2e38).sum().backward()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text == "AccumulateGrad x (1,) made an infinity when it added a gradient to .grad"


def test_a_backward_may_be_given_a_nan():
    x = rg.ones(3, requires_grad=True)
    with rg.inspect.record() as recording:
        (x * 2).backward(rg.tensor([1.0, float("nan"), 1.0]))
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith("The backward was given NaN to begin with: ")
    assert answer.text.endswith('(x * 2).backward(rg.tensor([1.0, float("nan"), 1.0]))')


def test_the_first_nan_is_the_first_in_time():
    x = rg.tensor([0.0, 4.0], requires_grad=True)
    optimizer = rg.optim.SGD([x], lr=1.0)
    with rg.inspect.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            length = x.sqrt()
            length.sum().backward()
            optimizer.step()
    answer = questions.first_nonfinite(recording.document)
    assert answer.text.startswith("SqrtBackward0 made an infinity in its gradient 0")


def test_parameters_that_an_optimiser_has_spoilt_are_seen_again():
    x = rg.ones(1000, 1000, requires_grad=True)
    y = one_in_a_million(1e30).detach()
    optimizer = rg.optim.SGD([x], lr=1e30)
    with rg.inspect.record() as recording:
        product = x * y
        product.sum().backward()
        optimizer.step()
        again = x + 1.0
    assert rg.isinf(x).sum() == 1
    assert questions.first_nonfinite(recording.document).text.endswith("again = x + 1.0")
    assert again.requires_grad


def test_numbers_whose_squares_are_too_large_are_finite():
    x = one_in_a_million(1e200, rg.float64, 1e200)
    with rg.inspect.record() as recording:
        (x * 2).mean().backward()
    assert questions.first_nonfinite(recording.document) is None


def test_which_node_holds_the_most_memory():
    x = rg.ones(1000, requires_grad=True)
    with rg.inspect.record() as recording:
        small = x[:10].exp()
        large = x.exp()
        (small.sum() + large.sum()).backward()
    answer = questions.most_memory(recording.document)
    assert answer.text.startswith("ExpBackward0 kept 3.9 KiB")
    assert answer.text.endswith("large = x.exp()")


def test_why_has_w_no_gradient():
    w = rg.ones(2, requires_grad=True)
    b = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        hidden = w.exp().detach()
        loss = (hidden * b).sum()
        loss.backward()
    (answer,) = questions.without_gradient(recording.document)
    assert answer.text.startswith("w (2,): No gradient reaches the parameter.")
    assert "hidden = w.exp().detach()" in answer.text


def test_which_order_did_the_engine_run_in():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * 2
        loss = (y + x).sum()
        loss.backward()
    assert questions.order(recording.document) == [
        "loss = SumBackward0",
        "AddBackward0",
        "y = MulBackward0",
        "AccumulateGrad x (2,)",
    ]


def test_what_made_the_peak():
    x = rg.ones(1000, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x.exp()
        z = y.sin()
        z.sum().backward()
    peak = questions.peak(recording.document)
    rows = questions.makers(recording.document, peak.blocks)
    lines = {recording.document["places"][place]["text"].strip() for _, place, _ in rows if place >= 0}
    assert {"y = x.exp()", "z = y.sin()"} <= lines
    assert peak.bytes >= 3 * 4000


def test_the_largest_gradient():
    x = rg.ones(2, requires_grad=True)
    with rg.inspect.record() as recording:
        y = x * 1000.0
        y.sum().backward()
    assert questions.largest_gradient(recording.document).text.endswith("y = x * 1000.0")


@pytest.mark.parametrize(
    "question", [questions.first_nonfinite, questions.largest_gradient, questions.most_memory]
)
def test_an_empty_recording_has_no_answers(question):
    with rg.inspect.record() as recording:
        pass
    assert question(recording.document) is None
