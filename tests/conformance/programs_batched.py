"""`is_grads_batched=True`: one call gives a row of results per row of `grad_outputs`."""

from __future__ import annotations

from typing import Any

from .harness import program


@program()
def rows_of_the_jacobian(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return torch.autograd.grad(x * x, x, torch.eye(3), is_grads_batched=True)


@program()
def as_many_rows_as_the_batch_has(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seeds = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
    return torch.autograd.grad(x.exp(), x, seeds, is_grads_batched=True)


@program()
def several_inputs(torch: Any) -> Any:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = torch.tensor([5.0, 6.0], requires_grad=True)
    return torch.autograd.grad(a @ b, [a, b], torch.eye(2), is_grads_batched=True)


@program()
def several_outputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seeds = [torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, 10.0])]
    return torch.autograd.grad([x * x, x.sum()], x, seeds, is_grads_batched=True)


@program()
def through_broadcasting(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor([1.0, 2.0, 3.0])
    return torch.autograd.grad(x * w, x, torch.eye(3), is_grads_batched=True)


@program()
def through_views_and_reductions(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    y = (x.t() * 2.0).reshape(2, 3).sum(0)
    return torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)


@program()
def through_softmax(torch: Any) -> Any:
    x = torch.tensor([0.5, -0.5, 1.0], requires_grad=True)
    return torch.autograd.grad(torch.softmax(x, 0), x, torch.eye(3), is_grads_batched=True)


@program()
def through_cat_and_indexing(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.cat([x[1:], x * 3.0])
    return torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)


@program()
def through_a_reduction_to_a_scalar(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.grad((x * x).sum(), x, torch.tensor([1.0, 2.0, 3.0]), is_grads_batched=True)


@program()
def unused_input_stays_none(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    other = torch.ones(2, requires_grad=True)
    return torch.autograd.grad(x * x, [x, other], torch.eye(2), is_grads_batched=True, allow_unused=True)


@program(phrase="is_grads_batched=True")
def rows_of_wrong_shape(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.autograd.grad(x * x, x, torch.ones(3, 3), is_grads_batched=True)


@program()
def second_order_in_one_call(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return torch.autograd.grad(first, x, torch.eye(3), is_grads_batched=True)


@program()
def create_graph_makes_the_rows_differentiable(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (rows,) = torch.autograd.grad(x**3, x, torch.eye(2), is_grads_batched=True, create_graph=True)
    return rows.detach(), rows.requires_grad, torch.autograd.grad(rows.sum(), x)


@program()
def leaves_grad_fields_alone(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.autograd.grad(x * x, x, torch.eye(2), is_grads_batched=True)
    return x.grad


@program()
def dict_of_inputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.grad(x * x, {"x": x}, torch.eye(2), is_grads_batched=True)
