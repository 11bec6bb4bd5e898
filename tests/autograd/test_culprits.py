"""Errors name the guilty lines.

Each program marks its lines with comments: `#: saved`, `#: wrote`, `#: lost`, `#: recorded`, `#: freed`. The error must
name every marked line, and no other line of the program under the same heading.
"""

from __future__ import annotations

import _thread
import inspect
import re
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import Function
from retrograd.autograd.graph import seal_saved_tensors

Program = Callable[[], object]


def marked(program: Program, mark: str) -> list[int]:
    """The numbers of the lines that carry a mark."""
    lines, first = inspect.getsourcelines(program)
    return [first + i for i, line in enumerate(lines) if f"#: {mark}" in line]


def message(program: Program, kind: type[Exception]) -> str:
    """What the program's error says, notes included."""
    with pytest.raises(kind) as caught:
        program()
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def lines_named(text: str, heading: str) -> list[int]:
    """The line numbers that stand behind a heading of a message."""
    return [int(n) for n in re.findall(rf'{heading}.*?File "[^"]*test_culprits.py", line (\d+)', text)]


def weights() -> rg.Tensor:
    return rg.tensor([1.0, 2.0, 3.0], requires_grad=True)


# -- a saved value was overwritten -----------------------------------------------------------------------------------


def an_optimiser_step_between_two_backwards() -> None:
    w, v = weights(), weights()
    loss = (w * v).sum()  #: saved
    loss.backward(retain_graph=True)
    with rg.no_grad():
        w -= 0.1 * w.grad  #: wrote
    loss.backward()


def relu_after_exp() -> None:
    y = weights().exp()  #: saved
    y.relu_()  #: wrote
    y.sum().backward()


def adding_to_a_view() -> None:
    y = weights() * 2
    z = y * y  #: saved
    first = y[0]
    first += 1  #: wrote
    z.sum().backward()


def assigning_an_item() -> None:
    y = weights() * 2
    z = y.sin()  #: saved
    y[1] = 0.0  #: wrote
    z.sum().backward()


def writing_out() -> None:
    c = rg.ones(3)
    z = weights() * c  #: saved
    rg.add(rg.ones(3), 1, out=c)  #: wrote
    z.sum().backward()


def writing_through_a_detached_twin() -> None:
    y = weights() * 2
    z = y.cos()  #: saved
    y.detach().zero_()  #: wrote
    z.sum().backward()


def a_hidden_state_updated_in_place() -> None:
    h = weights() * 1
    total = rg.zeros(())
    for _ in range(3):
        total = total + (h * h).sum()  #: saved
        h *= 0.5  #: wrote
    total.backward()


def refilling_a_buffer() -> None:
    w, buffer = weights(), rg.zeros(3)
    losses = []
    for k in range(2):
        buffer.copy_(rg.full((3,), float(k)))  #: wrote
        losses.append((w * buffer).sum())  #: saved
    (losses[0] + losses[1]).backward()


def what_a_custom_function_saved() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    y = weights() * 1
    z = Square.apply(y)  #: saved
    y.masked_fill_(y > 1, 0.0)  #: wrote
    z.sum().backward()


def an_indexed_addition() -> None:
    y = weights() * 1
    z = y.tanh()  #: saved
    z.index_add_(0, rg.tensor([0]), rg.ones(1))  #: wrote
    z.sum().backward()


def between_two_orders_of_derivative() -> None:
    y = weights() * 1
    z = (y**3).sum()
    (g,) = rg.autograd.grad(z, y, create_graph=True)  #: saved
    with rg.no_grad():
        y.mul_(2)  #: wrote
    g.sum().backward()


OVERWRITTEN = [
    an_optimiser_step_between_two_backwards,
    relu_after_exp,
    adding_to_a_view,
    assigning_an_item,
    writing_out,
    writing_through_a_detached_twin,
    a_hidden_state_updated_in_place,
    refilling_a_buffer,
    what_a_custom_function_saved,
    an_indexed_addition,
    between_two_orders_of_derivative,
]


@pytest.mark.parametrize("program", OVERWRITTEN)
def test_both_lines_of_an_overwritten_value(program: Program) -> None:
    text = message(program, RuntimeError)
    assert "modified by an inplace operation" in text
    assert lines_named(text, "saved by") == marked(program, "saved")
    assert lines_named(text, "overwritten by") == marked(program, "wrote")


def a_write_through_numpy() -> None:
    c = rg.ones(3)
    w = weights()
    with seal_saved_tensors():
        z = w * c  #: saved
        np.asarray(c)[0] = 5.0  #: wrote
    z.sum().backward()


def a_ufunc_that_writes_into_a_saved_array() -> None:
    y = weights()
    with seal_saved_tensors():
        z = y.exp()  #: saved
        array = z.detach().numpy()
        np.add(array, 1, out=array)  #: wrote
    z.sum().backward()


@pytest.mark.parametrize("program", [a_write_through_numpy, a_ufunc_that_writes_into_a_saved_array])
def test_a_write_through_numpy_fails_on_its_line(program: Program) -> None:
    with pytest.raises(ValueError, match="read-only") as caught:
        program()
    assert lines_named("\n".join(caught.value.__notes__), "saved by") == marked(program, "saved")
    assert marked(program, "wrote")[0] in [entry.lineno + 1 for entry in caught.traceback]


def test_several_writes_are_counted() -> None:
    y = weights().exp()
    for _ in range(3):
        y.add_(1)
    with pytest.raises(RuntimeError, match="the last of 3 writes"):
        y.sum().backward()


def test_sealed_arrays_open_when_backward_has_freed_them() -> None:
    c, w = rg.ones(4), weights()
    with seal_saved_tensors():
        first, second = w * c[:3], w.sum() * c
    assert not c.array.flags.writeable
    first.sum().backward()
    assert not c.array.flags.writeable
    second.sum().backward()
    assert c.array.flags.writeable
    c.add_(1)


def test_operations_called_straight_from_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread's first function has no Python frame below it, and so no line."""
    failures: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    before = _thread._count()
    _thread.start_new_thread(rg.exp, (weights(),))
    _thread.start_new_thread(rg.mul, (weights(), 2.0))
    time.sleep(0.1)  # until they are counted
    while _thread._count() > before:
        time.sleep(0.001)
    assert not failures


# -- no gradient -----------------------------------------------------------------------------------------------------


def under_no_grad() -> rg.Tensor:
    with rg.no_grad():
        y = weights() * 2  #: lost
    return (y + 1).sum()


def detached() -> rg.Tensor:
    y = weights().exp()
    return (y.detach() * 3).sum()  #: lost


def through_data() -> rg.Tensor:
    y = weights().data  #: lost
    return y.mean()


def converted_to_integers() -> rg.Tensor:
    y = weights().long()  #: lost
    return y.float().sum()


def by_argmax() -> rg.Tensor:
    best = weights().argmax()  #: lost
    return best.float()


def by_a_comparison() -> rg.Tensor:
    hits = weights() > 1  #: lost
    return hits.float().mean()


def left_through_numpy() -> rg.Tensor:
    values = np.exp(weights().detach().numpy())
    y = rg.from_numpy(values)  #: lost
    return y.sum()


def through_item() -> rg.Tensor:
    loss = weights().sum()
    return rg.tensor(loss.item()) * 2  #: lost


def copied_by_tensor() -> rg.Tensor:
    w = weights()
    with warnings.catch_warnings(
        action="ignore", category=UserWarning
    ):  # as in PyTorch, where it says no more
        return rg.tensor([w[0], w[1]]).sum()  #: lost


def all_constant() -> rg.Tensor:
    x = rg.randn(3)  #: lost
    return (x * 2).sum()


def in_inference_mode() -> rg.Tensor:
    with rg.inference_mode():
        return weights().sum()  #: lost


def grad_mode_switched_off() -> rg.Tensor:
    with rg.set_grad_enabled(False):
        y = weights().exp()  #: lost
    return y.sum()


def frozen() -> rg.Tensor:
    w = weights()
    w.requires_grad_(False)  #: lost
    return (w * 2).sum()


UNTRACKED = [
    under_no_grad,
    detached,
    through_data,
    converted_to_integers,
    by_argmax,
    by_a_comparison,
    left_through_numpy,
    through_item,
    copied_by_tensor,
    all_constant,
    in_inference_mode,
    grad_mode_switched_off,
    frozen,
]

CAUSES = {
    under_no_grad: "no_grad",
    detached: r"detach\(\)",
    through_data: r"\.data",
    converted_to_integers: "int64",
    by_argmax: "argmax",
    by_a_comparison: "no derivative",
    left_through_numpy: "numpy",
    through_item: "item",
    copied_by_tensor: r"tensor\(\)",
    all_constant: "No tensor with requires_grad=True",
    in_inference_mode: "inference_mode",
    grad_mode_switched_off: "grad mode off",
    frozen: "switched off",
}


@pytest.mark.parametrize("program", UNTRACKED)
def test_the_line_where_tracking_was_lost(program: Callable[[], rg.Tensor]) -> None:
    loss = program()
    text = message(loss.backward, RuntimeError)
    assert "does not require grad" in text
    assert re.search(CAUSES[program], text)
    assert lines_named(text.replace("\n", " "), "grad_fn") == marked(program, "lost")


@pytest.mark.parametrize("turned", [False, True])
def test_notes_do_not_pile_up_in_a_loop_of_constants(turned: bool) -> None:
    total = rg.zeros(2)
    for _ in range(50):
        total = total + rg.ones(2) if turned else rg.ones(2) + total
    note: Any = total._lost
    assert 0 < len(note.more) < 50
    assert not any(other.more for other in note.more)


# -- a second backward -----------------------------------------------------------------------------------------------


def twice() -> None:
    loss = weights().exp().sum()  #: recorded
    loss.backward()  #: freed
    loss.backward()


def built_before_the_loop() -> None:
    w = weights()
    features = w.exp()  #: recorded
    for k in range(2):
        (features * k).sum().backward()  #: freed


def two_losses_of_one_trunk() -> None:
    trunk = weights().sigmoid()  #: recorded
    trunk.sum().backward()  #: freed
    trunk.mean().backward()


def a_state_carried_over() -> None:
    w, h = weights(), rg.ones(3)
    for _ in range(2):
        h = (w * h).tanh()  #: recorded
        h.sum().backward()  #: freed


def grad_and_then_backward() -> None:
    w = weights()
    loss = (w * w).sum()  #: recorded
    rg.autograd.grad(loss, w)  #: freed
    loss.backward()


def looking_at_a_saved_value() -> None:
    y = weights().exp()  #: recorded
    y.sum().backward()  #: freed
    print(y.grad_fn._saved_result)


FREED = [
    twice,
    built_before_the_loop,
    two_losses_of_one_trunk,
    a_state_carried_over,
    grad_and_then_backward,
    looking_at_a_saved_value,
]


@pytest.mark.parametrize("program", FREED)
def test_the_backward_that_freed_the_graph(program: Program) -> None:
    text = message(program, RuntimeError)
    assert "a second time" in text
    assert lines_named(text, "recorded by") == marked(program, "recorded")
    assert lines_named(text, "freed by") == marked(program, "freed")


@pytest.mark.parametrize("program", FREED)
def test_a_loop_is_called_a_loop(program: Program) -> None:
    loops = program in (built_before_the_loop, a_state_carried_over)
    assert ("stands in a loop" in message(program, RuntimeError)) == loops


# -- a flag that silences the error ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program", [under_no_grad, detached, by_a_comparison, all_constant, left_through_numpy]
)
def test_a_lost_loss_that_was_made_a_leaf_warns(program: Callable[[], rg.Tensor]) -> None:
    loss = program()
    loss.requires_grad = True
    with pytest.warns(UserWarning, match="nothing will train") as caught:
        loss.backward()
    assert f"line {marked(program, 'lost')[0]}" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_making_leaves_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rg.tensor(2.0).requires_grad_()
        (rg.randn(3) * 0.1).requires_grad_()
        rg.tensor(0.1).log().requires_grad_()
        rg.tensor([1.0, 2.0])[0].requires_grad_()
        weights().sum().detach().requires_grad_()
        with rg.no_grad():
            moved = weights() + 1
            total = weights().sum()
        moved.requires_grad_()
        (total.detach().requires_grad_() * 2).backward()


# -- why_no_grad -----------------------------------------------------------------------------------------------------


def why(output: rg.Tensor, parameter: rg.Tensor | None, capsys: pytest.CaptureFixture[str]) -> str:
    """The text, which is both printed and returned."""
    text = rg.why_no_grad(output, parameter)
    assert capsys.readouterr().out == text + "\n"
    return text


def test_why_follows_the_path_through_a_cut(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = weights(), weights()
    features = b.exp()
    cut = features.detach()
    loss = (a * cut).sum()
    text = why(loss, b, capsys)
    assert "is cut" in text
    assert "detach()" in text
    assert "cut = features.detach()" in text
    assert "came back as a constant in MulBackward0" in text
    assert "loss = (a * cut).sum()" in text
    assert "There is a path" in why(loss, a, capsys)


def test_why_crosses_several_cuts(capsys: pytest.CaptureFixture[str]) -> None:
    w = weights()
    first = w.exp()
    with rg.no_grad():
        second = first.sin()
    other = weights()
    third = second * other
    loss = (third.detach() * other).sum()
    text = why(loss, w, capsys)
    assert text.index("third.detach()") < text.index("second = first.sin()")


def test_why_of_a_leaf_that_was_only_used_under_no_grad(capsys: pytest.CaptureFixture[str]) -> None:
    w = weights()
    with rg.no_grad():
        scale = w * 2
    loss = (weights() * scale).sum()
    assert "scale = w * 2" in why(loss, w, capsys)


def test_why_names_each_of_several_detached_operands(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = weights(), weights()
    loss = rg.cat([a.detach(), b.detach()]).sum()
    for parameter in (a, b):
        assert "is cut" in why(loss, parameter, capsys)


@pytest.mark.parametrize(
    ("make", "phrase"),
    [
        (lambda: (weights().sum(), weights()), "Nothing the output was computed from"),
        (lambda: (weights().sum(), rg.ones(3)), "requires_grad=False"),
        (lambda: ((weights().exp().detach() * 2).sum(), weights()), "cut off from a graph here"),
        (lambda: (rg.ones(3).sum(), weights()), "No tensor with requires_grad=True"),
        (lambda: (weights().sum(), None), "requires grad"),
        (lambda: (weights().detach(), None), "detach()"),
    ],
)
def test_why_in_other_cases(make: Any, phrase: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert phrase in why(*make(), capsys)


def test_why_of_a_tensor_that_is_no_leaf(capsys: pytest.CaptureFixture[str]) -> None:
    hidden = weights() * 2
    assert "retain_grad" in why(hidden.sum(), hidden, capsys)


@pytest.mark.parametrize("arguments", [(1.0,), (rg.ones(1), [1.0])])
def test_why_refuses_what_is_no_tensor(arguments: Any) -> None:
    with pytest.raises(TypeError, match="why_no_grad"):
        rg.why_no_grad(*arguments)
