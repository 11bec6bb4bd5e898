"""Gradients on graphs of every shape: diamonds, fans, shared parts, outputs that nobody uses, gradient edges."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def diamond(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    top = x * 3
    left, right = top.exp(), top.sin()
    (left * right).backward()
    return x.grad


@program()
def ladder_of_diamonds(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20):
        y = y * 0.5 + y * 0.5
    y.backward()
    return x.grad


@program()
def sum_of_two_paths(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    short, long = x * 2, (x * 3).exp().log()
    (short + long).sum().backward()
    return x.grad


@program()
def tensor_used_many_times(torch: Any) -> Any:
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    total = torch.zeros((), dtype=torch.float64)
    for k in range(500):
        total = total + x * float(k)
    total.backward()
    return total, x.grad


@program()
def one_operation_takes_the_same_tensor_twice(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (x @ x).sum().backward()
    return x.grad


@program()
def deep_chain(torch: Any) -> Any:
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * 1.001
    y.backward()
    return x.grad


@program()
def long_and_short_branch_meet_once(torch: Any) -> Any:
    calls: list[Any] = []
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    y.register_hook(calls.append)
    long = y
    for _ in range(5):
        long = long * 2
    (long + y).backward()
    return calls, x.grad


@program()
def some_outputs_of_a_node_are_unused(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    _, second, _ = x.split([1, 2, 1])
    (second * second).sum().backward()
    return x.grad


@program()
def all_outputs_of_a_node_are_used(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a, b = x
    (a * b * b).sum().backward()
    return x.grad, a.output_nr, b.output_nr


@program()
def values_of_max_but_not_indices(torch: Any) -> Any:
    x = torch.tensor([[1.0, 5.0], [7.0, 4.0]], requires_grad=True)
    values, indices = x.max(dim=1)
    values.sum().backward()
    return values, indices, x.grad


@program()
def branch_that_does_not_require_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    constant = torch.tensor(3.0) * 2
    y = x * constant
    y.backward()
    return constant, x.grad


@program()
def detached_branch_is_constant(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    (y * y.detach()).backward()
    return x.grad


@program()
def no_grad_branch_is_constant(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    with torch.no_grad():
        c = x * x
    (c * x).backward()
    return c, x.grad


@program()
def integer_branch_is_constant(torch: Any) -> Any:
    x = torch.tensor([1.6, 2.4], requires_grad=True)
    index = x.to(torch.int64)
    (x * index).sum().backward()
    return index, x.grad


@program()
def comparison_cuts_the_graph(torch: Any) -> Any:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    mask = x > 0
    return mask, (mask * 2.0).requires_grad


@program()
def two_roots_share_a_stem(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    stem = x.exp()
    torch.autograd.backward([stem.sum(), (stem * stem).sum()])
    return x.grad


@program()
def roots_of_disjoint_graphs(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    torch.autograd.backward([x * x, y**3])
    return x.grad, y.grad


@program()
def broadcast_gradients_are_summed_back(torch: Any) -> Any:
    row = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    column = torch.tensor([[1.0], [2.0]], requires_grad=True)
    scalar = torch.tensor(2.0, requires_grad=True)
    (row * column * scalar).sum().backward()
    return row.grad, column.grad, scalar.grad


@program()
def zero_sized_leaf(torch: Any) -> Any:
    x = torch.ones(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    return x.grad


@program()
def edge_of_a_leaf_and_of_a_result(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    a, b = torch.autograd.graph.get_gradient_edge(x), torch.autograd.graph.get_gradient_edge(y)
    return a.node, a.output_nr, b.node, b.output_nr, b.node is y.grad_fn


@program()
def edge_of_a_later_output(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x.split(2)[1])
    return edge.node, edge.output_nr


@program(phrase="get the gradient edge for a Tensor that does not require grad")
def edge_of_a_constant(torch: Any) -> Any:
    torch.autograd.graph.get_gradient_edge(torch.tensor(1.0))


@program()
def edge_as_input_of_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    leaf = torch.autograd.graph.get_gradient_edge(x)
    inner = torch.autograd.graph.get_gradient_edge(y)
    return torch.autograd.grad(y * y, [leaf, inner])


@program()
def edge_beside_a_tensor_as_inputs(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    inner = torch.autograd.graph.get_gradient_edge(y)
    return torch.autograd.grad(y * y, [x, inner])


@program()
def edge_outlives_its_tensor(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    edge = torch.autograd.graph.get_gradient_edge(y)
    z = y * y
    del y
    return torch.autograd.grad(z, edge)


@program()
def edge_as_root_with_a_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x * x)
    torch.autograd.backward(edge, torch.tensor([1.0, 10.0]))
    return x.grad


@program()
def scalar_edge_as_root_is_implicit(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge((x * x).sum())
    return torch.autograd.grad(edge, x)


@program()
def edge_as_output_of_grad(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x * x)
    return torch.autograd.grad([edge], [x], [torch.tensor([1.0, 10.0])])


@program()
def edge_among_inputs_of_backward(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x)
    outcome = attempt("", torch.autograd.backward, x * y, inputs=[edge])
    return outcome, x.grad, y.grad


@program(phrase="grad can be implicitly created only for scalar outputs")
def vector_edge_as_root_needs_a_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x * x)
    torch.autograd.backward(edge)


@program()
def gradient_arrives_once_per_node(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    seen = []
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append(grads[0].item()))
    (y + y * 3 + y * 5).backward()
    return seen, x.grad
