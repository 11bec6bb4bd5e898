"""`Tensor.backward` and `autograd.backward`: gradients given or implied, graph retention, `inputs=`, every error."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def scalar_root_needs_no_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x).sum()
    result = y.backward()
    return result, y, x.grad


@program()
def walk_of_x_times_three_plus_five(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y + 5
    z.backward()
    return z, y, x.grad, x.grad.grad_fn


@program()
def one_element_root_of_any_rank_is_implicit(torch: Any) -> Any:
    x = torch.tensor([[3.0]], requires_grad=True)
    (x * 2).backward()
    return x.grad


@program(phrase="grad can be implicitly created only for scalar outputs")
def non_scalar_root_needs_a_gradient(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward()


@program(phrase="grad can be implicitly created only for scalar outputs")
def empty_root_needs_a_gradient(torch: Any) -> Any:
    x = torch.ones(0, requires_grad=True)
    (x * 2).backward()


@program()
def gradient_given_by_position_and_by_name(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward(torch.tensor([1.0, 10.0, 100.0]))
    (x * 2).backward(gradient=torch.tensor([1.0, 1.0, 1.0]))
    return x.grad


@program()
def gradient_of_scalar_root_scales(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    (x * x).backward(torch.tensor(0.5))
    return x.grad


@program(
    phrase=r"Mismatch in shape: grad_output\[0\] has a shape of .*2.* and output\[0\] has a shape of .*3"
)
def gradient_of_wrong_shape(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward(torch.ones(2))


@program(phrase="Mismatch in shape")
def gradient_that_would_only_broadcast(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    (x * 2).backward(torch.ones(3))


@program(phrase="Mismatch in shape")
def scalar_gradient_for_a_vector_root(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * 2).backward(torch.tensor(1.0))


@program()
def gradient_of_wrong_type(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    phrase = "gradients can be either Tensors or None, but got float"
    return [
        attempt(phrase, torch.autograd.backward, [x * 2], [1.0]),
        attempt("", (x * 2).backward, 1.0),
        x.grad,
    ]


@program(
    phrase="Mismatch in dtype: grad_output.0. has a dtype of .*complex64 and output.0. has a dtype of .*float32"
)
def complex_gradient_for_a_real_root(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * 2).backward(torch.ones(2, dtype=torch.complex64))


@program()
def gradient_of_another_float_dtype_is_cast(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * 2).backward(torch.tensor([1.0, 2.0], dtype=torch.float64))
    return x.grad


@program()
def integer_gradient_is_cast(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * 2).backward(torch.tensor([1, 2]))
    return x.grad


@program(phrase="element 0 of tensors does not require grad and does not have a grad_fn")
def root_without_history(torch: Any) -> Any:
    torch.ones(1).sum().backward()


@program(phrase="element 1 of tensors does not require grad and does not have a grad_fn")
def second_root_without_history(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    torch.autograd.backward([x.sum(), torch.tensor(1.0)])


@program(phrase="element 0 of tensors does not require grad")
def root_computed_under_no_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = (x * x).sum()
    y.backward()


@program(phrase="element 0 of tensors does not require grad")
def detached_root(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().detach().backward()


@program(phrase="grad can be implicitly created only for real scalar outputs but got")
def complex_root_needs_a_gradient(torch: Any) -> Any:
    x = torch.tensor(1.0 + 2.0j, requires_grad=True)
    (x * x).backward()


@program()
def complex_root_with_a_gradient(torch: Any) -> Any:
    x = torch.tensor(1.0 + 2.0j, requires_grad=True)
    (x * x).backward(torch.tensor(1.0 + 0.0j))
    return x.grad


@program()
def backward_of_a_leaf(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    x.backward()
    x.backward(torch.tensor(4.0))
    return x.grad


@program()
def accumulation_over_two_backwards(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    first = x.grad.clone()
    (x * x).sum().backward()
    return first, x.grad


@program()
def accumulation_keeps_the_gradient_object(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    before = x.grad
    (x * 3).sum().backward()
    return before is x.grad, before


@program()
def grad_reset_to_none_starts_again(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    x.grad = None
    (x * 5).sum().backward()
    return x.grad


@program(phrase="Trying to backward through the graph a second time")
def second_backward_over_freed_values(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


@program(phrase="retain_graph=True")
def second_backward_names_the_cure(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp().sum()
    y.backward()
    y.backward()


@program()
def second_backward_without_saved_values_is_fine(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x + x).sum()
    y.backward()
    y.backward()
    return x.grad


@program()
def retain_graph_allows_a_second_backward(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    freed = attempt("second time", y.backward)
    return x.grad, freed


@program()
def failed_second_backward_leaves_grad_alone(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    freed = attempt("second time", y.backward)
    return freed, x.grad


@program()
def shared_subgraph_is_freed_by_the_first_loss(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    shared = x * x
    first, second = shared * 3, shared * 5
    first.backward()
    return x.grad, attempt("second time", second.backward)


@program()
def two_losses_over_one_graph_with_retain(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    shared = x * x
    first, second = shared * 3, shared * 5
    first.backward(retain_graph=True)
    second.backward()
    return x.grad


@program()
def several_roots(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = (x * x).sum(), (x * 3).sum()
    torch.autograd.backward([y, z])
    return x.grad


@program()
def roots_as_a_tuple_with_mixed_gradients(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = (x * x).sum(), x * 3
    torch.autograd.backward((y, z), (None, torch.tensor([1.0, 10.0])))
    return x.grad


@program()
def single_tensor_and_single_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.autograd.backward(x * x, torch.tensor([1.0, 0.5]))
    return x.grad


@program()
def roots_from_a_generator(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.autograd.backward([(x * k).sum() for k in (1.0, 2.0, 3.0)], grad_tensors=None)
    return x.grad


@program()
def the_same_root_twice(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    torch.autograd.backward([y, y], [torch.tensor(1.0), torch.tensor(10.0)])
    return x.grad


@program()
def root_that_feeds_another_root(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    z = y * 2
    torch.autograd.backward([y, z])
    return x.grad


@program(phrase="got 2 tensors and 1 gradients")
def fewer_gradients_than_roots(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward([x * 2, x * 3], [torch.ones(2)])


@program(phrase="grad can be implicitly created only for scalar outputs")
def none_gradient_for_a_vector_root(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward([x.sum(), x * 3], [None, None])


@program(warns="`grad_variables` is deprecated. Use `grad_tensors` instead")
def deprecated_grad_variables(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward([x * 2], grad_variables=[torch.tensor([1.0, 2.0])])
    return x.grad


@program(
    phrase="`grad_tensors` and `grad_variables`.*both passed to `backward",
    warns="`grad_variables` is deprecated",
)
def grad_variables_beside_grad_tensors(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward([x * 2], grad_tensors=[torch.ones(2)], grad_variables=[torch.ones(2)])


@program()
def inputs_limits_accumulation_to_some_leaves(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    (x * y).backward(inputs=[x])
    return x.grad, y.grad


@program()
def inputs_as_a_single_tensor(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    (x * y).backward(inputs=y)
    return x.grad, y.grad


@program()
def inputs_may_be_a_tuple(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    (x * y).backward(inputs=(x, y))
    return x.grad, y.grad


@program(phrase="`inputs` argument to `backward\\(\\)` cannot be empty")
def inputs_empty(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward(inputs=[])


@program()
def inputs_non_leaf_retains_its_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    (y * 3).backward(inputs=[y])
    return y.grad, y.retains_grad, x.grad


@program()
def inputs_non_leaf_that_retains_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.retain_grad()
    (y * 3).backward(inputs=[y])
    return y.grad, x.grad


@program()
def inputs_leaf_and_retaining_non_leaf(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.retain_grad()
    (y * 3).backward(inputs=[x, y])
    return y.grad, x.grad


@program()
def inputs_unreachable_is_left_alone(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    other = torch.tensor(3.0, requires_grad=True)
    (x * x).backward(inputs=[other])
    return x.grad, other.grad


@program(phrase="can't retain_grad on Tensor that has requires_grad=False")
def inputs_without_requires_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward(inputs=[torch.tensor(1.0)])


@program()
def inputs_accumulates_on_what_is_there(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    x.grad = torch.tensor(100.0)
    (x * x).backward(inputs=[x])
    return x.grad


@program()
def inputs_named_twice(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward(inputs=[x, x])
    return x.grad


@program()
def autograd_backward_takes_inputs_too(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    torch.autograd.backward([x * y, x + y], inputs=[y])
    return x.grad, y.grad


@program(warns="Using backward\\(\\) with create_graph=True will create a reference cycle")
def create_graph_makes_grad_differentiable(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.backward()
    return first.detach(), first.requires_grad, x.grad


@program(warns="Using backward\\(\\) with create_graph=True will create a reference cycle")
def create_graph_implies_retain_graph(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward(create_graph=True)
    y.backward()
    return x.grad.detach()


@program(warns="Using backward\\(\\) with create_graph=True will create a reference cycle")
def create_graph_accumulates_out_of_place(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    x.grad = torch.tensor(10.0)
    before = x.grad
    (x * x).backward(create_graph=True)
    return before, x.grad.detach(), before is x.grad


@program()
def no_roots_is_no_work(torch: Any) -> Any:
    return torch.autograd.backward([])


@program()
def backward_twice_through_views(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.t()[0].sum()
    y.backward()
    y.backward()
    return x.grad


@program()
def backward_runs_under_no_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    with torch.no_grad():
        y.backward()
    return x.grad


@program()
def gradient_that_requires_grad_is_detached_without_create_graph(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    seed = torch.tensor(3.0, requires_grad=True)
    (x * x).backward(seed)
    return x.grad, seed.grad


@program()
def leaf_grad_does_not_alias_the_given_gradient(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    seed = torch.tensor([1.0, 2.0])
    (x + 1).backward(seed)
    x.grad.mul_(10.0)
    return seed, x.grad


@program()
def two_leaves_do_not_share_their_grads(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    (x + y).sum().backward()
    x.grad.mul_(10.0)
    return x.grad, y.grad


@program()
def grad_has_the_leafs_dtype(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
    y = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (x * y).sum().backward()
    return x.grad, y.grad
