"""Writes through views: how they rewrite the history of the base and of every other view of it."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program
from .programs_graph_names import tree

MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
VECTOR = [1.0, 2.0, 3.0]


def matrix(torch: Any) -> Any:
    return torch.tensor(MATRIX, dtype=torch.float64, requires_grad=True)


def written(torch: Any, view: Any, write: Any) -> Any:
    """The graph of a base and of its view after a write through the view, and the derivatives of both."""
    y = matrix(torch).clone()
    v = view(y)
    write(v)

    def whole(x: Any) -> Any:
        y = x * x
        write(view(y))
        return y

    def part(x: Any) -> Any:
        v = view(x * x)
        write(v)
        return v

    return tree(y), tree(v), derivatives(torch, whole, MATRIX), derivatives(torch, part, MATRIX)


@program()
def product_through_a_row(torch: Any) -> Any:
    return written(torch, lambda y: y[0], lambda v: v.mul_(3))


@program()
def sum_through_a_slice(torch: Any) -> Any:
    return written(torch, lambda y: y[:, 1:], lambda v: v.add_(3))


@program()
def function_through_a_strided_slice(torch: Any) -> Any:
    return written(torch, lambda y: y[:, ::2], lambda v: v.sqrt_())


@program()
def function_through_a_transpose(torch: Any) -> Any:
    return written(torch, lambda y: y.t(), lambda v: v.log_())


@program()
def power_through_a_reshape(torch: Any) -> Any:
    return written(torch, lambda y: y.view(3, 2), lambda v: v.pow_(2))


@program()
def zero_through_a_diagonal(torch: Any) -> Any:
    return written(torch, lambda y: y.diagonal(), lambda v: v.zero_())


@program()
def fill_through_an_element(torch: Any) -> Any:
    return written(torch, lambda y: y[1, 1], lambda v: v.fill_(7))


@program()
def tanh_through_a_view_of_a_view(torch: Any) -> Any:
    return written(torch, lambda y: y.view(3, 2).t()[1, 1:].unsqueeze(0), lambda v: v.tanh_())


@program()
def clamp_through_a_permutation(torch: Any) -> Any:
    return written(torch, lambda y: y.unsqueeze(0).permute(2, 0, 1)[0], lambda v: v.clamp_(max=2))


@program()
def masked_fill_through_a_column(torch: Any) -> Any:
    return written(torch, lambda y: y[:, 1], lambda v: v.masked_fill_(v > 5, 0.0))


@program()
def two_writes_through_one_view(torch: Any) -> Any:
    def write(v: Any) -> None:
        v.mul_(3)
        v.add_(1)

    return written(torch, lambda y: y[0], write)


@program()
def write_through_the_whole(torch: Any) -> Any:
    return written(torch, lambda y: y.view_as(y), lambda v: v.exp_())


@program()
def write_with_a_tensor_that_requires_grad(torch: Any) -> Any:
    def run(x: Any, w: Any) -> Any:
        y = x * x
        y[0].mul_(w)
        return y

    y, w = matrix(torch).clone(), torch.tensor(VECTOR, dtype=torch.float64, requires_grad=True)
    y[0].mul_(w)
    return tree(y), derivatives(torch, run, MATRIX, VECTOR)


@program()
def write_with_a_broadcast_tensor(torch: Any) -> Any:
    def run(x: Any, w: Any) -> Any:
        y = x * x
        y[:, 1:].div_(w)
        return y

    return derivatives(torch, run, MATRIX, [[2.0], [4.0]])


@program()
def copy_into_a_view(torch: Any) -> Any:
    def run(x: Any, s: Any) -> Any:
        y = x * x
        y.t()[1].copy_(s * s)
        return y * y

    y, s = matrix(torch).clone(), torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y.t()[1].copy_(s)
    return tree(y), derivatives(torch, run, MATRIX, [7.0, 8.0])


@program()
def copy_into_a_view_of_a_constant(torch: Any) -> Any:
    w = torch.tensor(VECTOR, requires_grad=True)
    y = torch.zeros(2, 3)
    v = y[1]
    v.copy_(w)
    y.pow(2).sum().backward()
    return y, tree(y), tree(v), w.grad


@program()
def base_of_a_constant_begins_to_require_grad(torch: Any) -> Any:
    w = torch.tensor(VECTOR, requires_grad=True)
    y = torch.zeros(2, 3)
    other = y[0]
    before = y.requires_grad, other.requires_grad
    y[1].add_(w)
    return before, y.requires_grad, other.requires_grad, y.is_leaf, other.is_leaf, tree(other)


@program()
def other_views_follow_a_write(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    a, b = y[0], y[:, 0]
    before = a.grad_fn, b.grad_fn
    a.mul_(10)
    grads = torch.autograd.grad(b.sum(), x, retain_graph=True), torch.autograd.grad(y.sum(), x)
    return before, tree(a), tree(b), grads


@program()
def view_follows_a_write_to_its_base(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    v = y[0]
    before = tree(v)
    y.mul_(5)
    return before, tree(v), tree(y), torch.autograd.grad(v.sum(), x)


@program()
def view_of_a_view_follows_a_write_to_its_base(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    v = y.t()[1:]
    w = v.reshape(2, 2)[0]
    y.mul_(5)
    return (
        tree(v),
        tree(w),
        torch.autograd.grad(v.sum(), x, retain_graph=True),
        torch.autograd.grad(w.sum(), x),
    )


@program()
def view_is_regenerated_once_per_version(torch: Any) -> Any:
    y = matrix(torch) * 2
    v = y[0]
    first = v.grad_fn
    y.mul_(5)
    second = v.grad_fn
    again = v.grad_fn
    y.add_(1)
    return first is second, second is again, v.grad_fn is second


@program()
def views_made_before_and_after_a_write(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    before = y[0]
    y.mul_(3)
    after = y[0]
    return tree(before), tree(after), before, torch.autograd.grad((before * after).sum(), x)


@program()
def use_of_a_view_before_the_write_keeps_its_history(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    v = y[0]
    used = v + 1
    v.mul_(10)
    (used.sum() + y.sum()).backward()
    return tree(used), x.grad


@program()
def writes_through_two_views_that_overlap(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        row, column = y[0], y[:, 0]
        row.mul_(3)
        column.mul_(5)
        row.add_(column[1])
        return y

    return derivatives(torch, run, MATRIX)


@program()
def writes_alternate_between_base_and_views(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * 1
        y[0].mul_(2)
        y.add_(1)
        y[:, 1].mul_(y[:, 2] * 1)
        y.t().mul_(3)
        return y

    return derivatives(torch, run, MATRIX)


@program()
def chain_of_copy_slices(torch: Any) -> Any:
    y = matrix(torch) * 1
    for k in range(3):
        y[0, k].mul_(k + 2)
    nodes, node = [], y.grad_fn
    while node is not None:
        nodes.append(node)
        node = node.next_functions[0][0] if node.next_functions else None
    return nodes


@program()
def write_through_a_view_with_another_view_of_the_same_base(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        y[0].copy_(y[1] * 2)
        y[1].add_(y[0] * 1)
        return y

    return derivatives(torch, run, MATRIX)


@program()
def cumulative_sum_by_hand(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        for k in range(1, 4):
            y[k] += y[k - 1]
        return y

    return derivatives(torch, run, [1.0, 2.0, 3.0, 4.0])


@program()
def view_is_the_result(torch: Any) -> Any:
    x = matrix(torch)
    v = (x * 2)[0]
    v.mul_(v.detach().clone())
    v.sum().backward()
    return v, tree(v), x.grad


@program()
def base_kept_alive_by_its_view(torch: Any) -> Any:
    x = matrix(torch)
    v = (x * 2).t()[0]
    base = v._base
    v.neg_()
    return base, tree(base), torch.autograd.grad(base.sum(), x)


@program()
def leaf_view_under_no_grad_then_used(torch: Any) -> Any:
    x = matrix(torch)
    v = x[0]
    with torch.no_grad():
        x.mul_(10)
    (v * v).sum().backward()
    return v, tree(v), x.grad


@program()
def view_of_a_leaf_used_after_an_optimiser_step(torch: Any) -> Any:
    w = torch.tensor(VECTOR, requires_grad=True)
    half = w[:2]
    for _ in range(3):
        w.grad = None
        half.pow(2).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return w, half, w.grad, half.grad_fn


@program()
def gradient_of_a_base_with_respect_to_its_view(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    v = y[0]
    v.mul_(3)
    return torch.autograd.grad(y.sum(), v, allow_unused=True), torch.autograd.grad((v * 2).sum(), y)


@program()
def second_order_through_a_write(torch: Any) -> Any:
    x = matrix(torch)
    y = x**3
    y[0].mul_(x[1])
    (first,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    return first.detach(), second.detach(), third


@program()
def reductions_of_a_rewritten_view(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        a, b = y[0], y[1]
        a += b
        return a.sum() * b.mean() + y.prod()

    return derivatives(torch, run, MATRIX)


@program()
def complex_views(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        y[0].mul_(2 + 1j)
        y.t()[1].add_(1j)
        return y

    return derivatives(torch, run, [[1 + 1j, 2 - 1j], [0.5j, 3.0 + 0j]], dtype="complex128")


@program()
def real_part_written(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        y.real.mul_(3)
        y.imag.add_(1)
        return y

    return derivatives(torch, run, [1 + 1j, 2 - 1j], dtype="complex128")


@program()
def view_as_real_written(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        torch.view_as_real(y)[..., 0].zero_()
        return y

    return derivatives(torch, run, [1 + 1j, 2 - 1j], dtype="complex128")


@program()
def view_as_complex_written(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * x
        torch.view_as_complex(y).mul_(1j)
        return y

    return derivatives(torch, run, [[1.0, 2.0], [3.0, 4.0]])


@program()
def in_place_unsqueeze_of_a_view(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    v = y[0]
    v.unsqueeze_(0)
    v.mul_(3)
    y.sum().backward()
    return v.shape, v._is_view(), y.shape, tree(y), x.grad


@program()
def detach_in_place_of_a_base_with_views(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    v = y[0]
    y.detach_()
    return y.requires_grad, y.is_leaf, v.grad_fn, v.requires_grad


@program()
def requires_grad_of_a_base_switched_on_before_a_write(torch: Any) -> Any:
    b = torch.zeros(2, 2)
    c = b * 1
    v = c[0]
    w = torch.ones(2, requires_grad=True)
    v += w
    v += w
    c.sum().backward()
    return c, w.grad, c.grad_fn.next_functions


@program()
def empty_views_written(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 2
    y[5:].mul_(3)
    y[:, 1:1].zero_()
    y.sum().backward()
    return y, y._version, x.grad


@program()
def write_through_a_view_frees_with_the_graph(torch: Any) -> Any:
    x = matrix(torch)
    y = x * x
    y[0].mul_(x[1])
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad


@program(phrase="Trying to backward through the graph a second time")
def second_backward_through_a_write(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    y[0].mul_(x[1])
    y.sum().backward()
    y.sum().backward()


@program()
def only_the_written_operand_requires_grad(torch: Any) -> Any:
    c, w = torch.ones(2, 3), torch.tensor(VECTOR, requires_grad=True)
    y = c * 1
    y[0].mul_(w)
    y[1].add_(y[0])
    y.sum().backward()
    return y, tree(y), w.grad


@program()
def dtype_of_the_operand_is_the_bases(torch: Any) -> Any:
    y = matrix(torch) * 1
    w = torch.tensor(VECTOR, dtype=torch.float32, requires_grad=True)
    y[0].mul_(w)
    y.sum().backward()
    return y, w.grad
