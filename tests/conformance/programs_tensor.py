"""Tensor and autograd: `requires_grad`, `grad`, `retain_grad`, detach, hooks on tensors, versions."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from .harness import attempt, program


@program()
def requires_grad_rules(torch: Any) -> Any:
    x, c = torch.ones(2, requires_grad=True), torch.ones(2)
    results = x * c, c * c, x.detach(), x > 0, x.to(torch.int64), x.argmax(), x[0], c[0]
    return [(t.requires_grad, t.is_leaf) for t in results]


@program()
def requires_grad_switched_on_and_off(torch: Any) -> Any:
    x = torch.ones(2)
    states = [x.requires_grad]
    x.requires_grad = True
    states.append(x.requires_grad)
    x.requires_grad_(False)
    states.append(x.requires_grad)
    return states, x.requires_grad_() is x, x.requires_grad


@program(phrase="only Tensors of floating point .*dtype can require gradients")
def requires_grad_of_an_integer(torch: Any) -> Any:
    torch.tensor([1, 2]).requires_grad_()


@program(phrase="only Tensors of floating point .*dtype can require gradients")
def requires_grad_of_a_bool_by_assignment(torch: Any) -> Any:
    torch.tensor([True]).requires_grad = True


@program()
def requires_grad_false_is_fine_for_integers(torch: Any) -> Any:
    return torch.tensor([1, 2]).requires_grad_(False)


@program(phrase="you can only change requires_grad flags of leaf variables")
def requires_grad_of_a_non_leaf_off(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    y.requires_grad = False


@program(phrase="you can only change requires_grad flags of leaf variables")
def requires_grad_of_a_non_leaf_off_by_method(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    y.requires_grad_(False)


@program(phrase="you can only change requires_grad flags of leaf variables")
def requires_grad_of_a_non_leaf_set_again(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    y.requires_grad = True


@program()
def requires_grad_of_wrong_type(torch: Any) -> Any:
    x = torch.ones(2)
    return [
        attempt("requires_grad must be a bool", setattr, x, "requires_grad", 1),
        attempt("", x.requires_grad_, "yes"),
        x.requires_grad,
    ]


@program()
def turning_it_off_keeps_grad_and_earlier_graphs(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.requires_grad_(False)
    later = (x * x).sum()
    return y.requires_grad, later.requires_grad


@program()
def grad_is_none_at_first(torch: Any) -> Any:
    return torch.ones(2).grad, torch.ones(2, requires_grad=True).grad


@program(warns="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed")
def grad_of_a_non_leaf_warns(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 2
    y.backward()
    return y.grad


@program()
def grad_assigned(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    g = torch.tensor([5.0, 6.0])
    x.grad = g
    same = x.grad is g
    x.grad = None
    return same, x.grad


@program()
def grad_deleted(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    del x.grad
    return x.grad


@program()
def grad_assigned_to_a_tensor_without_requires_grad(torch: Any) -> Any:
    x = torch.ones(2)
    x.grad = torch.tensor([1.0, 2.0])
    return x.grad


@program(phrase="attempting to assign a gradient of size .*3.* to a tensor of size .*2")
def grad_of_wrong_shape(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).grad = torch.ones(3)


@program(phrase="can't assign Variable as its own grad")
def grad_that_is_the_tensor_itself(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad = x


@program(phrase="assigned grad expected to be a Tensor or None but got grad of type")
def grad_of_wrong_type(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).grad = 1.0


@program(phrase="attempting to assign a gradient with dtype")
def grad_of_wrong_dtype(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).grad = torch.ones(2, dtype=torch.float64)


@program()
def grad_dtype_by_default(torch: Any) -> Any:
    return torch.ones(2, requires_grad=True).grad_dtype, torch.ones(2, dtype=torch.float64).grad_dtype


@program()
def grad_dtype_assigned_changes_accumulation(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float64
    (x * 2).sum().backward()
    return x.grad_dtype, x.grad


@program()
def grad_dtype_none_accepts_any(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float64)
    return x.grad_dtype, x.grad


@program()
def grad_dtype_validates_assignment(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float64
    refused = attempt("attempting to assign a gradient with dtype", setattr, x, "grad", torch.ones(2))
    x.grad = torch.ones(2, dtype=torch.float64)
    return refused, x.grad


@program()
def grad_dtype_after_the_gradient(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2)
    return attempt("grad_dtype", setattr, x, "grad_dtype", torch.float64)


@program(phrase="grad_dtype can only be set on leaf tensors")
def grad_dtype_of_a_non_leaf(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.grad_dtype = torch.float64


@program()
def retain_grad_on_a_non_leaf(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    before = y.retains_grad
    y.retain_grad()
    (y * y).sum().backward()
    return before, y.retains_grad, y.grad, x.grad


@program()
def retain_grad_accumulates(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    (y * 2).backward(retain_graph=True)
    (y * 5).backward()
    return y.grad


@program()
def retain_grad_on_a_leaf_is_quiet(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.retain_grad()
    return x.retains_grad


@program(phrase="can't retain_grad on Tensor that has requires_grad=False")
def retain_grad_without_requires_grad(torch: Any) -> Any:
    torch.ones(2).retain_grad()


@program()
def detach_shares_memory_and_cuts_history(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    d = (x * 2).detach()
    e = x.detach()
    with torch.no_grad():
        e[0] = 9.0
    return d, e, x


@program()
def detach_in_place(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    same = y.detach_() is y
    return same, y, x.detach_()


@program(phrase="Can't detach views in-place")
def detach_in_place_of_a_view(torch: Any) -> Any:
    y = torch.ones(2, 2, requires_grad=True) * 2
    y[0].detach_()


@program()
def data_is_a_detached_alias(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    version = x._version
    x.data[0] = 7.0
    return x, x.data, x._version - version


@program()
def data_assigned(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.data = torch.tensor([3.0, 4.0])
    (x * x).sum().backward()
    return x, x.grad


@program()
def clone_is_differentiable(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    (y * 3).sum().backward()
    return y, x.grad


@program()
def version_counts_in_place_writes(torch: Any) -> Any:
    x = torch.zeros(3)
    versions = [x._version]
    x.add_(1.0)
    versions.append(x._version)
    x[0] = 5.0
    versions.append(x._version)
    x.zero_()
    versions.append(x._version)
    return versions


@program()
def version_is_shared_with_views_and_detach(torch: Any) -> Any:
    x = torch.zeros(2, 2)
    view, detached, copied = x[0], x.detach(), x.clone()
    x.add_(1.0)
    return x._version, view._version, detached._version, copied._version


@program(phrase="a leaf Variable that requires grad is being used in an in-place operation")
def in_place_on_a_leaf_that_requires_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x += 1.0


@program(phrase="a leaf Variable that requires grad")
def assignment_into_a_leaf_that_requires_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x[0] = 1.0


@program()
def in_place_under_no_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        x += 1.0
        x.mul_(3.0)
        x.sub_(torch.tensor([1.0, 2.0]))
    return x, x._version


@program()
def in_place_methods_return_the_tensor(torch: Any) -> Any:
    x = torch.tensor([4.0, 9.0])
    methods = ("add_", 1.0), ("sub_", 1.0), ("mul_", 2.0), ("div_", 2.0), ("fill_", 3.0)
    return [getattr(x, name)(value) is x for name, value in methods], x.zero_(), x.copy_(torch.ones(2))


@program(phrase="modified by an inplace operation")
def saved_value_overwritten(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    y = (x * w).sum()
    w.add_(1.0)
    y.backward()


@program()
def value_that_is_not_saved_may_be_overwritten(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0])
    y = (x + w).sum()
    w.add_(1.0)
    y.backward()
    return x.grad


@program()
def output_nr_of_outputs(torch: Any) -> Any:
    x = torch.arange(6.0, requires_grad=True)
    return [t.output_nr for t in x.split(2)], (x * 2).output_nr, x.output_nr


@program()
def deepcopy_of_leaves(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.sum().backward()
    y = copy.deepcopy(x)
    return y, y.grad, y.grad is x.grad, copy.deepcopy(torch.tensor([1, 2]))


@program(phrase="Only Tensors created explicitly by the user")
def deepcopy_of_a_result(torch: Any) -> Any:
    copy.deepcopy(torch.ones(2, requires_grad=True) * 2)


@program()
def deepcopy_keeps_sharing(torch: Any) -> Any:
    x = torch.ones(2)
    a, b = copy.deepcopy([x, x])
    return a is b, a is x


@program()
def shallow_copy(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = copy.copy(x)
    return y, y is x
