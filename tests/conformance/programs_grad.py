"""`autograd.grad`: what it returns, what it leaves alone, unused inputs, higher order, every error."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

from .harness import attempt, program


@program()
def returns_a_tuple_and_leaves_grad_alone(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = torch.autograd.grad((x * x).sum(), x)
    return type(result) is tuple, result, x.grad


@program()
def several_inputs_in_their_order(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    return torch.autograd.grad(x * x * y, [y, x])


@program()
def non_leaf_input(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    return torch.autograd.grad(y * y * 3, y)


@program()
def leaf_and_non_leaf_inputs_together(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    z = y * y
    return torch.autograd.grad(z * x, [x, y, z])


@program()
def root_as_its_own_input(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    return torch.autograd.grad(y, [y, x], torch.tensor(5.0))


@program()
def leaf_root_as_its_own_input(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    return torch.autograd.grad(x, x), x.grad


@program()
def the_same_input_twice(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    return torch.autograd.grad(x * x, [x, x])


@program()
def several_outputs_are_summed(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.grad([(x * x).sum(), (x * 3).sum()], x)


@program()
def grad_outputs_single_list_and_none(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    one = torch.autograd.grad(x * x, x, torch.tensor([1.0, 10.0]))
    listed = torch.autograd.grad([x * x], [x], grad_outputs=[torch.tensor([1.0, 10.0])])
    mixed = torch.autograd.grad([x * x, x.sum()], [x], grad_outputs=[torch.tensor([1.0, 10.0]), None])
    return one, listed, mixed


@program(phrase="grad can be implicitly created only for scalar outputs")
def vector_output_needs_grad_outputs(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad(x * 2, x)


@program(phrase="Mismatch in shape: grad_output.0. has a shape of")
def grad_outputs_of_wrong_shape(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad(x * 2, x, torch.ones(3))


@program(phrase="got 2 tensors and 1 gradients")
def grad_outputs_of_wrong_length(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad([x * 2, x * 3], x, [torch.ones(2)])


@program(phrase="gradients can be either Tensors or None, but got int")
def grad_outputs_of_wrong_type(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad([x.sum()], x, [1])


@program()
def grad_outputs_are_cast_to_the_outputs_dtype(torch: Any) -> Any:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.float32))


@program(phrase="at index 1 appears to not have been used in the graph")
def unused_input(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    other = torch.tensor(3.0, requires_grad=True)
    torch.autograd.grad(x * x, [x, other])


@program(phrase="allow_unused=True")
def unused_input_names_the_cure(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    other = torch.tensor(3.0, requires_grad=True)
    torch.autograd.grad(x * x, other)


@program(phrase="One of the differentiated Tensors does not require grad")
def input_without_requires_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    torch.autograd.grad(x * x, [x, torch.tensor(1.0)])


@program(phrase="One of the differentiated Tensors does not require grad")
def input_without_requires_grad_is_wrong_even_if_unused_is_allowed(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    torch.autograd.grad(x * x, [torch.tensor(1.0)], allow_unused=True)


@program()
def unused_input_allowed(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    other = torch.tensor(3.0, requires_grad=True)
    return torch.autograd.grad(x * x, [other, x], allow_unused=True)


@program()
def unused_non_leaf_input_allowed(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    branch = x * 5
    return torch.autograd.grad(x * x, [branch, x], allow_unused=True)


@program()
def later_tensor_is_unused_by_an_earlier_one(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    z = y * 3
    return torch.autograd.grad(y, [z, x], allow_unused=True)


@program()
def leaf_used_under_no_grad_only_is_unused(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        c = w * w
    return torch.autograd.grad(x * c, [x, w], allow_unused=True)


@program()
def materialize_grads_gives_zeros(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    other = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad((x * x).sum(), [other, x], materialize_grads=True)


@program()
def materialize_grads_with_create_graph_requires_grad(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    other = torch.ones(2, requires_grad=True)
    zeros, _ = torch.autograd.grad((x * x).sum(), [other, x], materialize_grads=True, create_graph=True)
    return zeros


@program(phrase="Expected allow_unused to be True or not passed when materialize_grads=True")
def materialize_grads_forbids_allow_unused_false(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    torch.autograd.grad(x * x, x, materialize_grads=True, allow_unused=False)


@program(phrase="materialize_grads cannot be used when the given input is a GradientEdge")
def materialize_grads_cannot_fill_an_edge(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    other = torch.tensor(3.0, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(other)
    torch.autograd.grad(x * x, [edge], materialize_grads=True)


@program(phrase=r"`inputs` argument to `grad\(\)` cannot be empty")
def inputs_empty(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    torch.autograd.grad(x * x, [])


@program(phrase="element 0 of tensors does not require grad and does not have a grad_fn")
def output_without_history(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    torch.autograd.grad(torch.tensor(1.0), x)


@program(warns="only_inputs argument is deprecated and is ignored now")
def only_inputs_is_deprecated(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    return torch.autograd.grad(x * x, x, only_inputs=False)


@program()
def dict_of_inputs_gives_a_dict(torch: Any) -> Any:
    params = {"w": torch.tensor(2.0, requires_grad=True), "b": torch.tensor(3.0, requires_grad=True)}
    result = torch.autograd.grad(params["w"] * 5 + params["b"], params)
    return type(result) is dict, result


@program()
def dict_of_inputs_with_unused_ones(torch: Any) -> Any:
    params = {"w": torch.tensor(2.0, requires_grad=True), "b": torch.tensor(3.0, requires_grad=True)}
    loss = params["w"] * 5
    missing = attempt("appears to not have been used", torch.autograd.grad, loss, params, retain_graph=True)
    allowed = torch.autograd.grad(loss, params, allow_unused=True, retain_graph=True)
    zeros = torch.autograd.grad(loss, params, materialize_grads=True)
    return missing, allowed, zeros


@program(phrase="must be a dict, not mappingproxy")
def other_mappings_are_refused(torch: Any) -> Any:
    w = torch.tensor(2.0, requires_grad=True)
    torch.autograd.grad(w * w, MappingProxyType({"w": w}))


@program(phrase="must be a dict, not OrderedDict")
def subclasses_of_dict_are_refused(torch: Any) -> Any:
    w = torch.tensor(2.0, requires_grad=True)
    torch.autograd.grad(w * w, OrderedDict(w=w))


@program(phrase="cannot be empty")
def empty_dict_of_inputs(torch: Any) -> Any:
    w = torch.tensor(2.0, requires_grad=True)
    torch.autograd.grad(w * w, {})


@program()
def backward_takes_a_dict_of_inputs_too(torch: Any) -> Any:
    w = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    torch.autograd.backward(w * b, inputs={"w": w})
    return w.grad, b.grad


@program(phrase="Trying to backward through the graph a second time")
def graph_is_freed_afterwards(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    torch.autograd.grad(y, x)
    torch.autograd.grad(y, x)


@program()
def retain_graph_keeps_it(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    return torch.autograd.grad(y, x, retain_graph=True), torch.autograd.grad(y, x)


@program()
def pruned_part_of_the_graph_is_not_freed(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    z = y.exp()
    first = torch.autograd.grad(z, y)
    return first, torch.autograd.grad(y, x)


@program()
def create_graph_to_third_order(torch: Any) -> Any:
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(x.sin() * x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    return first.detach(), first.requires_grad, second.detach(), third


@program()
def create_graph_to_sixth_order(torch: Any) -> Any:
    x = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    y = torch.tanh(x)
    orders = []
    for _ in range(6):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        orders.append(y.detach())
    return orders


@program(phrase="element 0 of tensors does not require grad and does not have a grad_fn")
def second_order_needs_create_graph(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x)
    torch.autograd.grad(first, x)


@program()
def first_gradient_without_create_graph_is_a_leaf(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, retain_graph=True)
    return first


@program()
def create_graph_without_retain_frees_the_graph(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x * x
    (first,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return first.detach(), attempt("second time", torch.autograd.grad, y, x)


@program()
def gradient_with_respect_to_grad_outputs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seed = torch.tensor([3.0, 4.0], requires_grad=True)
    (first,) = torch.autograd.grad(x * x, x, seed, create_graph=True)
    return torch.autograd.grad(first.sum(), [x, seed])


@program()
def mixed_second_derivative(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    (dx,) = torch.autograd.grad(x**2 * y**3, x, create_graph=True)
    return torch.autograd.grad(dx, [y, x])


@program()
def create_graph_of_a_linear_function_has_no_second_order(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x * 3, x, create_graph=True)
    return first.detach(), first.requires_grad


@program()
def inputs_that_are_no_tensors(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    return [
        attempt(
            "all inputs have to be Tensors or GradientEdges, but got NoneType", torch.autograd.grad, y, [None]
        ),
        attempt("all inputs have to be Tensors or GradientEdges, but got str", torch.autograd.grad, y, ["x"]),
        attempt("", torch.autograd.grad, y, 3.0),
    ]


@program()
def an_expanded_leaf_sums(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    e = x.expand(3, 2)
    return torch.autograd.grad((e * e).sum(), [x, e])


@program()
def complex_input_of_a_real_output(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j, 3.0 - 1.0j], requires_grad=True)
    return torch.autograd.grad(z.abs().sum(), z)


@program()
def real_input_of_a_complex_path(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x * (1.0 + 2.0j)
    return torch.autograd.grad((z * z.conj()).real.sum(), x)
