"""In-place writes and what was recorded before: saved values, leaves, no_grad, operands that overlap."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .programs_graph_names import tree

VECTOR = [0.25, 0.5, 0.75]
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(torch: Any) -> Any:
    return torch.tensor(VECTOR, dtype=torch.float64, requires_grad=True)


def overwritten(torch: Any, function: Any, write: Any) -> Any:
    """The gradient, or the error, after the input of a function was written to, and after its output was."""
    found = []
    for which in (0, 1):
        x = leaf(torch)
        y = x * 1
        z = function(y)
        write((y, z)[which])
        found.append(attempt(MODIFIED, torch.autograd.grad, z.sum(), x))
    return found


def add_one(t: Any) -> None:
    t.add_(1)


@program()
def functions_that_save_their_input(torch: Any) -> Any:
    names = "log sin cos abs square log1p log2 erf asin atan"
    return {n: overwritten(torch, lambda y, n=n: getattr(torch, n)(y), add_one) for n in names.split()}


@program()
def functions_that_save_their_output(torch: Any) -> Any:
    names = "exp sqrt tanh sigmoid rsqrt reciprocal relu expm1 tan exp2"
    return {n: overwritten(torch, lambda y, n=n: getattr(torch, n)(y), add_one) for n in names.split()}


@program()
def functions_that_save_nothing(torch: Any) -> Any:
    functions = (
        lambda y: y + 1, lambda y: y - 2, lambda y: -y, lambda y: y * 3, lambda y: y / 2, lambda y: y.clone(),
        lambda y: torch.floor(y), lambda y: torch.cat([y, y]), lambda y: torch.stack([y, y]), lambda y: y.flip(0),
    )  # fmt: skip
    return [overwritten(torch, f, add_one) for f in functions]


@program()
def arithmetic_that_saves_its_operands(torch: Any) -> Any:
    functions = (
        lambda y: y * y, lambda y: y**3, lambda y: y**2, lambda y: 1 / y, lambda y: y / (y + 1),
    )  # fmt: skip
    return [overwritten(torch, f, add_one) for f in functions]


@program()
def reductions_and_what_they_save(torch: Any) -> Any:
    functions = (
        lambda y: y.sum(), lambda y: y.mean(), lambda y: y.prod(), lambda y: y.max(), lambda y: y.max(0)[0],
        lambda y: y.norm(), lambda y: y.var(), lambda y: y.logsumexp(0), lambda y: y.cumsum(0), lambda y: y.cumprod(0),
    )  # fmt: skip
    return [overwritten(torch, f, add_one) for f in functions]


@program()
def activations_and_what_they_save(torch: Any) -> Any:
    functional = torch.nn.functional
    functions = (
        lambda y: y.softmax(0), lambda y: y.log_softmax(0), lambda y: functional.relu(y), lambda y: functional.gelu(y),
        lambda y: functional.silu(y), lambda y: functional.leaky_relu(y), lambda y: functional.elu(y),
        lambda y: functional.softplus(y),
    )  # fmt: skip
    return [overwritten(torch, f, add_one) for f in functions]


@program()
def products_and_what_they_save(torch: Any) -> Any:
    m = torch.ones(3, 3, dtype=torch.float64)
    functions = (lambda y: m @ y, lambda y: y @ y, lambda y: torch.outer(y, y), lambda y: (y * m) @ (y * m))
    return [overwritten(torch, f, add_one) for f in functions]


@program()
def choices_and_what_they_save(torch: Any) -> Any:
    mask = torch.tensor([True, False, True])
    functions = (
        lambda y: torch.where(mask, y, 0.0), lambda y: y.masked_fill(mask, 0.0), lambda y: y.clamp(0.3, 0.6),
        lambda y: torch.maximum(y, y.flip(0)), lambda y: y[mask], lambda y: y[[0, 0]],
    )  # fmt: skip
    return [overwritten(torch, f, add_one) for f in functions]


@program()
def second_factor_is_saved_only_for_the_first(torch: Any) -> Any:
    x, c = leaf(torch), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    y = x * 1
    z = y * c
    y.add_(1)
    unharmed = torch.autograd.grad(z.sum(), x, retain_graph=True)
    c.add_(1)
    return unharmed, attempt(MODIFIED, torch.autograd.grad, z.sum(), x)


@program(phrase=r"is at version 2; expected version 0 instead")
def message_counts_versions(torch: Any) -> Any:
    y = leaf(torch) * 1
    z = y.log()
    y.add_(1).add_(1)
    z.sum().backward()


@program(
    phrase=r"\[(torch.)?FloatTensor \[2, 3\]\], which is output 0 of .*, is at version 1; expected version 0"
)
def message_names_the_tensor(torch: Any) -> Any:
    y = torch.ones(2, 3, requires_grad=True) * 1
    z = y.log()
    y.add_(1)
    z.sum().backward()


@program(phrase=MODIFIED)
def saved_leaf_written_under_no_grad(torch: Any) -> Any:
    x = leaf(torch)
    z = x * x
    with torch.no_grad():
        x.add_(1)
    z.sum().backward()


@program(phrase=MODIFIED)
def saved_base_written_through_a_view(torch: Any) -> Any:
    y = leaf(torch) * 1
    z = y.log()
    y[0].add_(1)
    z.sum().backward()


@program(phrase=MODIFIED)
def saved_view_overwritten_through_another_view(torch: Any) -> Any:
    y = leaf(torch) * 1
    z = y[:1].log()
    y[1:].add_(1)
    z.sum().backward()


@program(phrase=MODIFIED)
def saved_output_overwritten_by_a_chain(torch: Any) -> Any:
    leaf(torch).clone().exp_().neg_().sum().backward()


@program(phrase=MODIFIED)
def saved_constant_overwritten(torch: Any) -> Any:
    x, c = leaf(torch), torch.ones(3, dtype=torch.float64)
    z = x * c
    c.zero_()
    z.sum().backward()


@program()
def error_comes_before_any_gradient_is_written(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch)
    y = x * 1
    z = (w * 2).sum() + y.log().sum()
    y.add_(1)
    error = attempt(MODIFIED, z.backward)
    return error, x.grad


@program()
def unneeded_branch_with_a_modified_tensor(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch)
    y = x * 1
    z = y.log().sum() + (w * w).sum()
    y.add_(1)
    return torch.autograd.grad(z, w)


@program()
def write_after_backward_is_free(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    z = y.log()
    z.sum().backward()
    y.add_(1)
    return y, x.grad


@program(phrase=MODIFIED)
def write_between_two_backwards(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    z = y.log()
    z.sum().backward(retain_graph=True)
    y.add_(1)
    z.sum().backward()


@program(phrase=MODIFIED)
def optimiser_step_between_two_backwards(torch: Any) -> Any:
    w = leaf(torch)
    loss = (w**2).sum()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        w -= 0.1 * w.grad
    loss.backward()


@program(phrase=MODIFIED)
def write_after_a_recorded_backward(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    y.mul_(2)
    g.sum().backward()


@program(phrase=MODIFIED)
def saved_value_read_after_a_write(torch: Any) -> Any:
    y = leaf(torch) * 1
    node = y.log().grad_fn
    y.add_(1)
    return node._saved_self


@program()
def write_that_changes_nothing_still_counts(torch: Any) -> Any:
    y = leaf(torch) * 1
    z = y.log()
    y.mul_(1)
    return attempt(MODIFIED, z.sum().backward), y._version


@program()
def failed_writes_do_not_count(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    z = y.log()
    errors = (
        attempt("must match the size", y.add_, torch.ones(4, dtype=torch.float64)),
        attempt("doesn't match the broadcast shape", y.mul_, torch.ones(2, 3, dtype=torch.float64)),
        attempt("can't be cast", y.add_, 1j),
        attempt("out of bounds", y.__setitem__, 7, 1.0),
        attempt("not str", y.add_, "1"),
    )
    z.sum().backward()
    return errors, y, y._version, y.grad_fn, x.grad


@program()
def constant_that_becomes_a_result(torch: Any) -> Any:
    w = leaf(torch)
    y = torch.zeros(3, dtype=torch.float64)
    y.add_(w)
    y.retain_grad()
    (y * y).sum().backward()
    return y.is_leaf, y.grad, w.grad, tree(y)


@program()
def leaf_updated_under_no_grad_keeps_its_accumulator(torch: Any) -> Any:
    w = leaf(torch)
    z = w * 2
    with torch.no_grad():
        w.mul_(10)
    z.sum().backward()
    (w * 3).sum().backward()
    return w, w.is_leaf, w._version, w.grad


@program()
def in_place_under_no_grad_on_a_result_keeps_its_node(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    node = y.grad_fn
    with torch.no_grad():
        y.mul_(100)
    y.sum().backward()
    return y, y.grad_fn is node, x.grad


@program()
def in_place_under_no_grad_with_a_tensor_that_requires_grad(torch: Any) -> Any:
    w, y = leaf(torch), torch.zeros(3, dtype=torch.float64)
    with torch.no_grad():
        y.add_(w)
        y[0] = w[1]
        y[1:].copy_(w[1:] * 2)
    return y, y.requires_grad, y.grad_fn, y._version


@program()
def gradient_zeroed_in_place(torch: Any) -> Any:
    x = leaf(torch)
    (x * 2).sum().backward()
    kept = x.grad
    x.grad.zero_()
    (x * 3).sum().backward()
    return kept is x.grad, kept, x.grad._version


@program()
def training_by_hand(torch: Any) -> Any:
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    x, t = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([1.0, 2.0, 3.0])
    for _ in range(5):
        loss = (x @ w + b - t).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.01 * p.grad
                p.grad.zero_()
    return w, b, loss.detach(), w._version, b._version


@program()
def write_inside_a_hook(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g.clone().mul_(10))
    y.sum().backward()
    return x.grad


@program()
def result_and_operand_are_one_tensor(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    y.add_(y)
    y.sub_(y * 0.25)
    y.sum().backward()
    return y, x.grad


@program()
def operand_that_is_the_whole_target(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    y.add_(y.view_as(y))
    y[:2].add_(y[:2])
    y.sum().backward()
    return y, x.grad


@program()
def operand_is_written_after_the_write(torch: Any) -> Any:
    x, w = leaf(torch), leaf(torch)
    y, v = x * 1, w * 1
    y.mul_(v)
    v.add_(1)
    return attempt(MODIFIED, y.sum().backward), x.grad, w.grad
