"""Nodes as objects: names, metadata, sequence numbers, saved values, hooks on nodes, direct calls."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def name_of_a_node(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    return y.grad_fn.name(), type(y.grad_fn).__name__


@program()
def repr_of_a_node(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    accumulate = y.grad_fn.next_functions[0][0]
    return repr(y.grad_fn).startswith("<MulBackward0 object at 0x"), repr(accumulate).startswith(
        "<AccumulateGrad object"
    )


@program()
def node_is_an_instance_of_the_abstract_class(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    accumulate = y.grad_fn.next_functions[0][0]
    return [isinstance(n, torch.autograd.graph.Node) for n in (y.grad_fn, accumulate, y)]


@program()
def metadata_is_a_dict_of_the_node(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    empty = dict(y.grad_fn.metadata)
    y.grad_fn.metadata["key"] = "value"
    return empty, dict(y.grad_fn.metadata), (y * 2).grad_fn.next_functions[0][0].metadata["key"]


@program()
def next_functions_is_a_tuple_of_pairs(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    functions = (x * x).grad_fn.next_functions
    return type(functions) is tuple, [type(pair) is tuple for pair in functions], functions


@program()
def sequence_numbers_rise_by_one(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    a = x * 2
    b = a.exp()
    c = b + 1
    first = a.grad_fn._sequence_nr()
    return [t.grad_fn._sequence_nr() - first for t in (a, b, c)]


@program()
def sequence_numbers_follow_creation_not_depth(torch: Any) -> Any:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    deep = (x * 2).exp().log()
    shallow = y * 3
    return shallow.grad_fn._sequence_nr() > deep.grad_fn._sequence_nr()


@program()
def accumulate_grad_has_the_highest_sequence_number(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    return y.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


@program()
def constants_consume_no_sequence_number(torch: Any) -> Any:
    x, c = torch.ones(2, requires_grad=True), torch.ones(2)
    a = x * 2
    (c * 2).exp().sum()
    b = x * 3
    return b.grad_fn._sequence_nr() - a.grad_fn._sequence_nr()


@program()
def saved_operands_of_a_product(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    node = (x * y).grad_fn
    return node._saved_self, node._saved_other, node._saved_self is x


@program()
def saved_operands_are_only_the_needed_ones(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    c = torch.tensor([3.0, 4.0])
    return (x * c).grad_fn._saved_self, (x * c).grad_fn._saved_other, (c * x).grad_fn._saved_self


@program()
def saved_scalar_operand(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return (x * 3).grad_fn._saved_other, (x / 4).grad_fn._saved_other


@program()
def saved_exponent(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    node = (x**3).grad_fn
    return node._saved_self, node._saved_exponent


@program()
def saved_result_knows_its_node(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    return saved, saved.grad_fn is y.grad_fn


@program()
def saved_results_of_activations(torch: Any) -> Any:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    return [f(x).grad_fn._saved_result.detach() for f in (torch.tanh, torch.sigmoid, torch.relu)]


@program()
def saved_input_of_elementwise(torch: Any) -> Any:
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    return [getattr(torch, f)(x).grad_fn._saved_self for f in ("log", "sin", "cos", "abs", "asin")]


@program()
def saved_sizes_and_dims(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    total, row = x.sum().grad_fn, x.sum(1, keepdim=True).grad_fn
    return total._saved_self_sym_sizes, row._saved_dim, row._saved_keepdim, row._saved_self_sym_sizes


@program()
def saved_dim_of_softmax(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    node = x.softmax(1).grad_fn
    return node._saved_dim, node._saved_result.detach()


@program()
def saved_matrices(torch: Any) -> Any:
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 1, requires_grad=True)
    node = torch.mm(a, b).grad_fn
    return (
        node._saved_self is a,
        node._saved_mat2 is b,
        node._saved_self_sym_sizes,
        node._saved_mat2_sym_sizes,
    )


@program(phrase="saved tensors after they have already been freed")
def saved_values_are_freed_by_backward(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    node = y.grad_fn.next_functions[0][0]
    y.backward()
    return node._saved_self


@program()
def saved_values_survive_with_retain_graph(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.sum().backward(retain_graph=True)
    return y.grad_fn._saved_self


@program()
def add_saves_no_tensors(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    node = (x + x).grad_fn
    return hasattr(node, "_saved_self"), hasattr(node, "_saved_other"), node._saved_alpha


@program()
def node_hook_sees_inputs_and_outputs(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append((grad_inputs, grad_outputs)))
    y.sum().backward()
    return seen, type(seen[0][0]) is tuple


@program()
def node_hook_replaces_its_results(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 100, None))
    y.sum().backward()
    return x.grad


@program()
def node_hooks_chain_in_order(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x.exp().log()
    y.grad_fn.register_hook(lambda gi, go: (gi[0] + 1,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10,))
    y.backward()
    return x.grad


@program()
def node_hook_removed(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 3
    handle = y.grad_fn.register_hook(lambda gi, go: seen.append("post"))
    pre = y.grad_fn.register_prehook(lambda go: seen.append("pre"))
    y.backward(retain_graph=True)
    handle.remove()
    y.backward(retain_graph=True)
    pre.remove()
    y.backward()
    return seen


@program()
def handle_removed_twice_is_quiet(torch: Any) -> Any:
    y = torch.tensor(1.0, requires_grad=True) * 3
    handle = y.grad_fn.register_hook(lambda gi, go: None)
    return handle.remove(), handle.remove()


@program()
def handle_as_a_context_manager(torch: Any) -> Any:
    seen: list[Any] = []
    y = torch.tensor(1.0, requires_grad=True) * 3
    with y.grad_fn.register_hook(lambda gi, go: seen.append("called")):
        y.backward(retain_graph=True)
    y.backward()
    return seen


@program()
def node_prehook_replaces_the_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 100,))
    y.sum().backward()
    return x.grad


@program()
def node_prehooks_chain_in_order(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda go: (go[0] + 1,))
    y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
    y.backward()
    return x.grad


@program()
def node_prehook_sees_missing_gradients_as_none(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    first, _ = x.split(2)
    first.grad_fn.register_prehook(seen.append)
    first.sum().backward()
    return seen


@program()
def hooks_of_accumulate_grad(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    accumulate = torch.autograd.graph.get_gradient_edge(x).node
    accumulate.register_prehook(lambda grads: seen.append(("pre", grads, x.grad)))
    accumulate.register_hook(lambda gi, go: seen.append(("post", gi, go, x.grad)))
    (x * 3).sum().backward()
    return seen


@program()
def prehook_of_accumulate_grad_replaces(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    accumulate = torch.autograd.graph.get_gradient_edge(x).node
    accumulate.register_prehook(lambda grads: (grads[0] * -1,))
    (x * 3).sum().backward()
    return x.grad


@program()
def node_hook_with_a_wrong_number_of_results(torch: Any) -> Any:
    y = torch.tensor(1.0, requires_grad=True).exp()
    y.grad_fn.register_hook(lambda gi, go: (gi[0], gi[0]))
    return attempt("incorrect number of values", y.backward)


@program()
def node_prehook_with_a_wrong_number_of_results(torch: Any) -> Any:
    y = torch.tensor(1.0, requires_grad=True).exp()
    y.grad_fn.register_prehook(lambda go: (go[0], go[0]))
    return attempt("incorrect number of values", y.backward)


@program()
def node_hook_with_a_wrong_type(torch: Any) -> Any:
    y = torch.tensor(1.0, requires_grad=True).exp()
    y.grad_fn.register_hook(lambda gi, go: (1.0,))
    return attempt("hook returned", y.backward)


@program(phrase="callable")
def node_hook_that_is_not_callable(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_hook(3)
    y.backward()


@program()
def node_called_directly(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    result = (x * y).grad_fn(torch.tensor([1.0, 10.0]))
    return [r.detach() for r in result], x.grad


@program()
def unary_node_called_directly_gives_a_tensor(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    total, exp = x.sum(), x.exp()
    with torch.no_grad():
        return total.grad_fn(torch.tensor(1.0)), exp.grad_fn(torch.ones(2))


@program()
def accumulate_grad_called_directly(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    node = torch.autograd.graph.get_gradient_edge(x).node
    result = node(torch.tensor([5.0, 6.0]))
    return result, x.grad


@program()
def variable_of_accumulate_grad(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.graph.get_gradient_edge(x).node.variable is x


@program()
def multi_grad_hook_waits_for_all(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    handle = torch.autograd.graph.register_multi_grad_hook((x, y), seen.append)
    (x * y * 3).backward()
    handle.remove()
    (x * y * 3).backward()
    return seen


@program()
def multi_grad_hook_gives_none_for_what_takes_no_part(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook((x, y), seen.append)
    (x * 3).backward()
    return seen


@program()
def multi_grad_hook_on_inner_tensors(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor(1.0, requires_grad=True)
    a, b = x * 2, x * 3
    torch.autograd.graph.register_multi_grad_hook([a, b], seen.append)
    (a * b).backward()
    return seen


@program()
def multi_grad_hook_any_fires_once_per_backward(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook((x, y), seen.append, mode="any")
    (x * 2 + y * 2).backward()
    (x * 5).backward()
    return seen


@program()
def multi_grad_hook_of_one_tensor_twice(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor(1.0, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook((x, x), seen.append)
    (x * 3).backward()
    return seen


@program(phrase="Expects mode to be one of")
def multi_grad_hook_with_an_unknown_mode(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook((x,), lambda grads: None, mode="some")


@program()
def multi_grad_hook_called_for_each_backward(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook(
        (x, y), lambda grads: seen.append([g.item() for g in grads])
    )
    for scale in (1.0, 2.0, 3.0):
        (x * y * scale).backward()
    return seen
