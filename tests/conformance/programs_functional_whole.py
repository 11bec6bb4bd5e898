"""`autograd.functional`: whole Jacobians and Hessians, row by row, vectorized and in forward mode."""

from __future__ import annotations

import warnings
from typing import Any

from .harness import attempt, program
from .programs_functional import both, comp, cubes, mat, num, vec

FORWARD: dict[str, Any] = {"vectorize": True, "strategy": "forward-mode"}
OUTER: dict[str, Any] = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}


def quietly(function: Any, *args: Any, **options: Any) -> Any:
    """Calls `function`. In the first forward pass of a process torch warns of a function that it itself uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return function(*args, **options)


# -- jacobian ----------------------------------------------------------------------------------------------------------


@program()
def jacobian_of_a_vector_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: a**2, x)


@program()
def jacobian_of_a_number(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(cubes, x)


@program()
def jacobian_of_a_matrix_function(torch: Any) -> Any:
    F = torch.autograd.functional
    m = mat(torch)
    return F.jacobian(lambda a: a @ a, m)


@program()
def jacobian_of_two_inputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: a * b, (x, s))


@program()
def jacobian_of_two_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: (a.sum(), a * 2), x)


@program()
def jacobian_of_two_inputs_and_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: (a * b, a.sum() * b), (x, s))


@program()
def jacobian_of_tuples_of_one(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: (a * 2,), (x,))


@program()
def jacobian_of_the_same_tensor_twice(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a, b: a * b, (x, x))


@program()
def jacobian_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: a * 2, (x, s))


@program()
def jacobian_of_a_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: torch.ones(2), x)


@program()
def jacobian_with_an_integer_output(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: (a.sum(), torch.tensor([1, 2])), x)


@program()
def jacobian_of_inputs_of_two_dtypes(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a, b: a * b, (x, x.double()))


@program()
def jacobian_of_outputs_of_two_dtypes(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: (a * 2, a.double()), x)


@program()
def jacobian_of_an_empty_input(torch: Any) -> Any:
    F = torch.autograd.functional
    return F.jacobian(lambda a: a.sum(), torch.zeros(0))


@program()
def jacobian_from_complex_to_real(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.jacobian(lambda a: a.abs(), c)


@program(phrase="only for real scalar outputs")
def jacobian_of_complex_outputs_row_by_row(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.jacobian(lambda a: a * a, c)


@program()
def jacobian_with_a_graph(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: (a * b, a.sum() * b), (x, s), create_graph=True)


@program()
def jacobian_with_a_graph_can_be_differentiated(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    j = F.jacobian(lambda a: a**3, x, create_graph=True)
    return j, torch.autograd.grad(j.sum(), x)


@program()
def jacobian_of_a_linear_function_with_a_graph(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: a * 2, x, create_graph=True)


@program()
def jacobian_without_a_graph_leaves_grad_alone(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    j = F.jacobian(lambda a: a**3, x)
    return j, x.grad


@program()
def jacobian_under_no_grad(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    with torch.no_grad():
        result = F.jacobian(lambda a: a**3, x, create_graph=True)
    return result


@program()
def jacobian_through_a_copy_written_in_place(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: a.clone().mul_(a), x)


@program(phrase="a leaf Variable that requires grad is being used in an in-place operation")
def jacobian_of_a_write_into_the_input(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: a.mul_(2), x)


@program()
def jacobian_shows_its_function_a_leaf(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    seen = []
    F.jacobian(lambda a: (seen.append((a.is_leaf, a.requires_grad)), a)[1], x)
    F.jacobian(lambda a: (seen.append((a.is_leaf, a.requires_grad)), a)[1], x, create_graph=True)
    return seen


@program()
def jacobian_with_a_graph_shows_its_function_a_view(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    seen = []
    F.jacobian(lambda a: (seen.append((a.is_leaf, a.grad_fn)), a)[1], x, create_graph=True)
    return seen


@program()
def jacobian_of_a_module(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    layer = torch.nn.functional.linear
    w = mat(torch).repeat(2, 2)[:, :3].requires_grad_()
    return F.jacobian(lambda a: layer(a, w), x)


@program()
def jacobian_takes_keywords(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(func=cubes, inputs=x, vectorize=False)


@program()
def jacobian_lets_the_functions_error_through(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return attempt("division by zero", F.jacobian, lambda a: 1 / 0, x)


# -- jacobian, vectorized and in forward mode --------------------------------------------------------------------------


@program()
def vectorized_jacobian_of_a_vector_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: a**2, x, vectorize=True)


@program()
def vectorized_jacobian_of_a_matrix_function(torch: Any) -> Any:
    F = torch.autograd.functional
    m = mat(torch)
    return F.jacobian(lambda a: a @ a, m, vectorize=True)


@program()
def vectorized_jacobian_of_two_inputs_and_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: (a * b, a.sum() * b), (x, s), vectorize=True)


@program()
def vectorized_jacobian_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: a * 2, (x, s), vectorize=True)


@program()
def vectorized_jacobian_of_a_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: torch.ones(2), x, vectorize=True)


@program()
def vectorized_jacobian_of_complex_numbers(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.jacobian(lambda a: a * a, c, vectorize=True)


@program()
def vectorized_jacobian_from_real_to_complex(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: a * (1 + 2j), x, vectorize=True)


@program()
def vectorized_jacobian_of_outputs_of_two_dtypes(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(lambda a: (a * 2, a.double()), x, vectorize=True)


@program()
def forward_jacobian_of_a_vector_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return quietly(F.jacobian, lambda a: a**2, x, **FORWARD)


@program()
def forward_jacobian_of_a_matrix_function(torch: Any) -> Any:
    F = torch.autograd.functional
    m = mat(torch)
    return quietly(F.jacobian, lambda a: a @ a, m, **FORWARD)


@program()
def forward_jacobian_of_two_inputs_and_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return quietly(F.jacobian, lambda a, b: (a * b, a.sum() * b), (x, s), **FORWARD)


@program()
def forward_jacobian_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return quietly(F.jacobian, lambda a, b: a * 2, (x, s), **FORWARD)


@program()
def forward_jacobian_of_a_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return quietly(F.jacobian, lambda a: torch.ones(2), x, **FORWARD)


@program()
def forward_jacobian_of_complex_numbers(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return quietly(F.jacobian, lambda a: a * a, c, **FORWARD)


@program()
def forward_jacobian_from_real_to_complex(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return quietly(F.jacobian, lambda a: a * (1 + 2j), x, **FORWARD)


@program()
def forward_jacobian_of_outputs_of_two_dtypes(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return quietly(F.jacobian, lambda a: (a * 2, a.double()), x, **FORWARD)


@program()
def vectorized_jacobian_with_a_graph(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: (a * b, a.sum() * b), (x, s), create_graph=True, vectorize=True)


@program()
def vectorized_jacobian_can_be_differentiated(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    j = F.jacobian(lambda a: a**3, x, create_graph=True, vectorize=True)
    return torch.autograd.grad(j.sum(), x)


# -- hessian -----------------------------------------------------------------------------------------------------------


@program()
def hessian_of_one_input(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hessian(cubes, x)


@program()
def hessian_of_two_inputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hessian(both, (x, s))


@program()
def hessian_of_a_tuple_of_one(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hessian(cubes, (x,))


@program()
def hessian_of_a_matrix(torch: Any) -> Any:
    F = torch.autograd.functional
    m = mat(torch)
    return F.hessian(lambda a: (a @ a).sum(), m)


@program()
def hessian_of_one_element(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hessian(lambda a: cubes(a).reshape(1, 1), x)


@program()
def hessian_of_a_linear_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hessian(lambda a: a.sum(), x)


@program()
def hessian_of_a_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hessian(lambda a: torch.tensor(1.0), x)


@program()
def hessian_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hessian(lambda a, b: cubes(a), (x, s))


@program()
def hessian_with_a_graph(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hessian(both, (x, s), create_graph=True)


@program()
def hessian_with_a_graph_can_be_differentiated(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    h = F.hessian(lambda a: (a**4).sum(), x, create_graph=True)
    return torch.autograd.grad(h.sum(), x)


@program()
def hessian_vectorized(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hessian(both, (x, s), vectorize=True)


@program()
def hessian_vectorized_with_a_graph(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hessian(both, (x, s), vectorize=True, create_graph=True)


@program()
def hessian_forward_over_reverse(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    hessian = quietly(F.hessian, both, (x, s), **OUTER)
    return [[block.detach() for block in row] for row in hessian]


@program()
def hessian_forward_over_reverse_of_a_linear_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return quietly(F.hessian, lambda a: a.sum(), x, **OUTER)


@program()
def hessian_shows_its_function_a_view(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    seen = []
    F.hessian(lambda a: (seen.append((a.is_leaf, a.grad_fn)), cubes(a))[1], x)
    return seen


@program(phrase="should contain a single element")
def hessian_of_several_elements(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hessian(lambda a: a * 2, x)


@program(phrase="should return a single Tensor")
def hessian_of_several_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hessian(lambda a: (a.sum(), a.sum()), x)


@program(phrase="only for real scalar outputs")
def hessian_of_complex_numbers(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.hessian(lambda a: (a.abs() ** 2).sum(), c)
