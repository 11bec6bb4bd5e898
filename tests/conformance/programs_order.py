"""The order contract of a backward pass: nodes, leaves, hooks, captures."""

# mypy: disable-error-code=func-returns-value
from __future__ import annotations

from typing import Any

from .harness import program
from .watching import watch


@program()
def later_nodes_run_first(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    a = x * 2
    b = a * 3
    c = b * 4
    watch(log, a=a, b=b, c=c)
    c.backward()
    return log


@program()
def branches_by_creation_order(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    a, b, c = x * 2, x * 3, x * 4
    total = a + b + c
    watch(log, a=a, b=b, c=c, total=total)
    total.backward()
    return log


@program()
def branches_by_creation_order_not_by_argument_order(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    late_argument = x * 2
    early_argument = x * 3
    total = early_argument + late_argument
    watch(log, first_made=late_argument, second_made=early_argument)
    total.backward()
    return log


@program()
def interleaved_branches(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    a1 = x * 2
    b1 = x * 3
    a2 = a1 * 2
    b2 = b1 * 3
    a3 = a2 * 2
    watch(log, a1=a1, b1=b1, a2=a2, b2=b2, a3=a3)
    (b2 + a3).backward()
    return log


@program()
def a_node_waits_for_all_its_gradients(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    shared = x * 2
    other = x * 3
    left = shared * other
    right = shared * 5
    watch(log, shared=shared, other=other, left=left, right=right)
    (left + right).backward()
    return log


@program()
def several_roots_by_creation_order(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    first, second, third = x * 2, x * 3, x * 4
    watch(log, first=first, second=second, third=third)
    torch.autograd.backward([second, first, third])
    return log


@program()
def leaves_are_accumulated_as_soon_as_they_are_ready(torch: Any) -> Any:
    log: list[str] = []
    x, y, z = (torch.tensor(1.0, requires_grad=True) for _ in range(3))
    a = x * 2
    b = a * y
    c = b * z
    for name, leaf in (("x", x), ("y", y), ("z", z)):
        leaf.register_hook(lambda grad, name=name: log.append(name))
    watch(log, a=a, b=b, c=c)
    c.backward()
    return log


@program()
def leaves_of_one_node_follow_their_edges(torch: Any) -> Any:
    log: list[str] = []
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    for name, leaf in (("x", x), ("y", y)):
        leaf.register_hook(lambda grad, name=name: log.append(name))
    (y * x).backward()
    return log


@program()
def order_on_a_small_network(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor([[1.0, 2.0]])
    w1 = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    w2 = torch.tensor([[1.0], [2.0]], requires_grad=True)
    b = torch.tensor([0.5], requires_grad=True)
    product = x @ w1
    hidden = product.tanh()
    output = hidden @ w2
    shifted = output + b
    loss = shifted.pow(2).sum()
    for name, leaf in (("w1", w1), ("w2", w2), ("b", b)):
        leaf.register_hook(lambda grad, name=name: log.append(name))
    watch(log, product=product, hidden=hidden, output=output, shifted=shifted, loss=loss)
    loss.backward()
    return log


@program()
def all_hooks_of_an_inner_tensor(torch: Any) -> Any:
    log: list[Any] = []
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: log.append(("post", go[0].item())))
    y.grad_fn.register_prehook(lambda go: log.append(("pre", go[0].item())))
    y.register_hook(lambda grad: log.append(("tensor", grad.item())) or grad * 10)
    y.retain_grad()
    y.register_hook(lambda grad: log.append(("tensor again", grad.item())) or grad + 1)
    (y * 3).backward()
    return log, y.grad, x.grad


@program()
def retained_grad_sees_hooks_registered_after_it(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.grad_fn.register_prehook(lambda go: (go[0] * 7,))
    (y * 3).backward()
    return y.grad, x.grad


@program()
def all_hooks_of_a_leaf(torch: Any) -> Any:
    log: list[Any] = []
    x = torch.tensor(1.0, requires_grad=True)
    node = torch.autograd.graph.get_gradient_edge(x).node
    x.register_post_accumulate_grad_hook(lambda p: log.append(("post accumulate", p.grad.item())))
    node.register_hook(lambda gi, go: log.append(("node post", x.grad.item())))
    node.register_prehook(lambda go: log.append(("node pre", x.grad is None)))
    x.register_hook(lambda grad: log.append(("tensor", x.grad is None)))
    (x * 3).backward()
    return log


@program()
def hooks_of_two_outputs_of_one_node(torch: Any) -> Any:
    log: list[str] = []
    x = torch.arange(4.0, requires_grad=True)
    a, b = x.split(2)
    b.register_hook(lambda grad: log.append("b"))
    a.register_hook(lambda grad: log.append("a"))
    (a * b).sum().backward()
    return log


@program()
def capture_of_a_leaf_sees_its_hooks(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    x.register_hook(lambda grad: grad * 10)
    return torch.autograd.grad(x * x, x)


@program()
def capture_of_an_inner_tensor_sees_its_hooks(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: grad * 10)
    return torch.autograd.grad(y * y, y)


@program()
def capture_of_an_inner_tensor_that_is_also_passed_through(torch: Any) -> Any:
    calls = []
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: calls.append("hook") or grad * 10)
    return torch.autograd.grad(y * y, [x, y]), calls


@program()
def capture_does_not_see_node_hooks_of_its_own_node(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.grad_fn.register_prehook(lambda go: log.append("pre") or (go[0] * 10,))
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    return torch.autograd.grad(y * y, y), log


@program()
def capture_and_retain_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    result = torch.autograd.grad(y * y, [x, y])
    return result, y.grad, x.grad


@program()
def capture_alone_and_retain_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    return torch.autograd.grad(y * y, y), y.grad


@program()
def grad_runs_only_the_nodes_it_needs(torch: Any) -> Any:
    log: list[str] = []
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    a, b = x * 2, w * 2
    c = a * b
    watch(log, a=a, b=b, c=c)
    torch.autograd.grad(c, x)
    return log


@program()
def grad_of_an_inner_tensor_does_not_run_its_node(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(2.0, requires_grad=True)
    a = x * 2
    b = a * a
    watch(log, a=a, b=b)
    torch.autograd.grad(b, a)
    return log


@program()
def backward_with_inputs_runs_only_the_nodes_it_needs(torch: Any) -> Any:
    log: list[str] = []
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    a, b = x * 2, w * 2
    c = a * b
    watch(log, a=a, b=b, c=c)
    c.backward(inputs=[w])
    return log, x.grad, w.grad


@program()
def hook_registered_during_backward_on_a_later_node(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    a = x * 2
    b = a * 3
    b.register_hook(lambda grad: log.append("b") or (a.register_hook(lambda grad: log.append("a")) and None))
    b.backward()
    return log


@program()
def multi_grad_hook_runs_when_the_last_gradient_is_ready(torch: Any) -> Any:
    log: list[str] = []
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    a = x * 2
    b = a * y
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: log.append("both"))
    watch(log, a=a, b=b)
    x.register_hook(lambda grad: log.append("x"))
    y.register_hook(lambda grad: log.append("y"))
    (b * 3).backward()
    return log


@program()
def create_graph_runs_in_the_same_order(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    a, b = x.exp(), x.sin()
    c = a * b
    watch(log, a=a, b=b, c=c)
    torch.autograd.grad(c, x, create_graph=True)
    return log


@program()
def current_node_is_gone_between_backwards(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    for k in range(3):
        y = x * float(k)
        y.register_hook(lambda grad, k=k: log.append(k))
        y.backward()
    return log, x.grad
