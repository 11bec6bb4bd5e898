"""`autograd.functional`: products with Jacobians and Hessians, strictness, and arguments that do not fit."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def vec(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0, 3.0])


def mat(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0], [3.0, -4.0]])


def num(torch: Any) -> Any:
    return torch.tensor(2.0)


def comp(torch: Any) -> Any:
    return torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)


def cubes(x: Any) -> Any:
    return (x**3).sum()


def both(x: Any, y: Any) -> Any:
    return (x**3).sum() * y**3


# -- vjp ---------------------------------------------------------------------------------------------------------------


@program()
def vjp_of_a_vector_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: a.exp(), x, x)


@program()
def vjp_of_a_number_needs_no_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(cubes, x)


@program()
def vjp_of_one_element_needs_no_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: cubes(a).reshape(1, 1), x)


@program()
def vjp_of_two_inputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.vjp(lambda a, b: a * b, (x, s), x)


@program()
def vjp_of_two_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: (a * 2, a.sum()), x, (x, num(torch)))


@program()
def vjp_of_a_tuple_of_one(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: (a * a,), (x,), (x,))


@program()
def vjp_of_a_tuple_of_one_with_a_bare_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: (a * a,), (x,), x)


@program()
def vjp_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.vjp(lambda a, b: a.exp(), (x, s), x)


@program()
def vjp_of_a_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: torch.ones(2), x, torch.ones(2))


@program()
def vjp_with_a_graph(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: a**3, x, x, create_graph=True)


@program()
def vjp_with_a_graph_can_be_differentiated(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    _, g = F.vjp(cubes, x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)


@program()
def vjp_without_a_graph_is_detached(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    return F.vjp(cubes, x)


@program()
def vjp_is_differentiable_in_its_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    v = vec(torch).requires_grad_()
    _, g = F.vjp(lambda a: a**3, vec(torch), v, create_graph=True)
    return torch.autograd.grad(g.sum(), v)


@program()
def vjp_of_the_identity(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: a, x, x), F.vjp(lambda a: a, x, x, create_graph=True)


@program()
def vjp_works_under_no_grad(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    with torch.no_grad():
        result = F.vjp(cubes, x)
    return result


@program()
def vjp_of_a_function_under_no_grad(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(torch.no_grad()(lambda a: a**3), x, x)


@program()
def vjp_of_complex_numbers(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.vjp(lambda a: a * a, c, c)


@program()
def vjp_casts_its_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: a**3, x, x.double())


@program(phrase="vector v can only be None if the user-provided function returns a single Tensor")
def vjp_needs_a_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: a * 2, x)


@program(phrase="vector v can only be None")
def vjp_of_two_outputs_needs_a_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: (a.sum(), a.sum()), x)


# -- jvp ---------------------------------------------------------------------------------------------------------------


@program()
def jvp_of_a_vector_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jvp(lambda a: a.exp(), x, x)


@program()
def jvp_of_a_number_needs_no_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    return F.jvp(lambda a: torch.stack([a, a**2, a**3]), num(torch))


@program()
def jvp_of_two_inputs_and_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jvp(lambda a, b: (a * b, a.sum()), (x, s), (x, s))


@program()
def jvp_of_a_matrix_product(torch: Any) -> Any:
    F = torch.autograd.functional
    m = mat(torch)
    return F.jvp(lambda a: a @ a, m, m.t())


@program()
def jvp_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jvp(lambda a, b: a.exp(), (x, s), (x, s))


@program()
def jvp_where_an_output_is_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jvp(lambda a: (a * 2, torch.ones(2)), x, x)


@program()
def jvp_with_a_graph_can_be_differentiated(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    _, t = F.jvp(lambda a: a**3, x, vec(torch), create_graph=True)
    return torch.autograd.grad(t.sum(), x)


@program()
def jvp_of_complex_numbers(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.jvp(lambda a: a * a, c, c)


@program()
def jvp_from_real_to_complex(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jvp(lambda a: a * (1 + 2j), x, x)


@program()
def jvp_from_complex_to_real(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.jvp(lambda a: a.abs(), c, c)


@program()
def jvp_of_the_identity(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jvp(lambda a: a, x, x)


@program(phrase="vector v can only be None if the input to the user-provided function is a single")
def jvp_needs_a_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jvp(cubes, x)


@program(phrase="can require gradients")
def jvp_of_integers_out(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jvp(lambda a: (a * 2, a.argmax()), x, x)


# -- vhp and hvp -------------------------------------------------------------------------------------------------------


@program()
def vhp_of_one_input(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vhp(cubes, x, x)


@program()
def vhp_of_two_inputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.vhp(both, (x, s), (x, s))


@program()
def vhp_of_a_number_needs_no_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    return F.vhp(lambda a: a**4, num(torch))


@program()
def vhp_of_a_linear_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vhp(lambda a: a.sum(), x, x)


@program()
def vhp_of_a_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vhp(lambda a: torch.tensor(1.0), x, x)


@program()
def vhp_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.vhp(lambda a, b: cubes(a), (x, s), (x, s))


@program()
def vhp_where_an_input_is_linear(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.vhp(lambda a, b: cubes(a) + b, (x, s), (x, s))


@program()
def vhp_with_a_graph_can_be_differentiated(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    _, h = F.vhp(cubes, x, vec(torch), create_graph=True)
    return torch.autograd.grad(h.sum(), x)


@program()
def vhp_of_complex_numbers(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.vhp(lambda a: (a.abs() ** 2).sum(), c, c)


@program(phrase="should contain a single element")
def vhp_of_several_elements(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vhp(lambda a: a * 2, x, x)


@program(phrase="should return a single Tensor")
def vhp_of_several_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vhp(lambda a: (a.sum(), a.sum()), x, x)


@program(phrase="vector v can only be None")
def vhp_needs_a_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vhp(cubes, x)


@program()
def hvp_of_one_input(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hvp(cubes, x, x)


@program()
def hvp_of_two_inputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hvp(both, (x, s), (x, s))


@program()
def hvp_of_a_number_needs_no_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    return F.hvp(lambda a: a**4, num(torch))


@program()
def hvp_of_a_linear_function(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hvp(lambda a: a.sum(), x, x)


@program()
def hvp_of_a_constant(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hvp(lambda a: torch.tensor(1.0), x, x)


@program()
def hvp_where_an_input_is_not_used(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hvp(lambda a, b: cubes(a), (x, s), (x, s))


@program()
def hvp_where_an_input_is_linear(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.hvp(lambda a, b: cubes(a) + b, (x, s), (x, s))


@program()
def hvp_with_a_graph_can_be_differentiated(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch).requires_grad_()
    _, h = F.hvp(cubes, x, vec(torch), create_graph=True)
    return torch.autograd.grad(h.sum(), x)


@program()
def hvp_of_complex_numbers(torch: Any) -> Any:
    F = torch.autograd.functional
    c = comp(torch)
    return F.hvp(lambda a: (a.abs() ** 2).sum(), c, c)


@program(phrase="should contain a single element")
def hvp_of_several_elements(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hvp(lambda a: a * 2, x, x)


@program(phrase="should return a single Tensor")
def hvp_of_several_outputs(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hvp(lambda a: (a.sum(), a.sum()), x, x)


@program(phrase="vector v can only be None")
def hvp_needs_a_vector(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.hvp(cubes, x)


# -- strict ------------------------------------------------------------------------------------------------------------


@program()
def strict_products_of_a_cube(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return [f(cubes, x, x, strict=True) for f in (F.jvp, F.vhp, F.hvp)]


@program()
def strict_jacobian_and_hessian_of_a_cube(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.jacobian(cubes, x, strict=True), F.hessian(cubes, x, strict=True)


@program()
def strict_with_a_graph_of_a_cube(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return [f(cubes, x, x, strict=True, create_graph=True)[1].detach() for f in (F.jvp, F.vhp, F.hvp)]


ONE_INPUT = ("vjp", "jvp", "vhp", "hvp", "jacobian", "hessian")


def tried(
    torch: Any, phrase: str, func: Any, inputs: Any, names: Any = ONE_INPUT, **options: Any
) -> dict[str, Any]:
    """What each function makes of the same arguments."""
    found = {}
    for name in names:
        function = getattr(torch.autograd.functional, name)
        v = (inputs,) if name in {"jvp", "vhp", "hvp"} else ()
        found[name] = attempt(phrase, function, func, inputs, *v, **options)
    return found


@program()
def strict_refuses_a_constant(torch: Any) -> Any:
    return tried(torch, "does not require gradients", lambda a: torch.tensor(1.0), vec(torch), strict=True)


@program()
def strict_refuses_an_output_of_other_tensors(torch: Any) -> Any:
    w = torch.tensor(1.0, requires_grad=True)
    return tried(torch, "is independent of (input 0|the input)", lambda a: w * 2, vec(torch), strict=True)


@program()
def strict_refuses_an_input_that_is_not_used(torch: Any) -> Any:
    return tried(
        torch,
        "independent of (input 1|the input)",
        lambda a, b: cubes(a),
        (vec(torch), num(torch)),
        strict=True,
    )


@program()
def strict_refuses_the_hessian_of_a_linear_function(torch: Any) -> Any:
    names = ("vhp", "hvp", "hessian")
    return tried(
        torch,
        "jacobian of the user-provided .* independent",
        lambda a: a.sum(),
        vec(torch),
        names,
        strict=True,
    )


@program()
def strict_refuses_a_hessian_through_other_tensors(torch: Any) -> Any:
    w = torch.tensor(2.0, requires_grad=True)
    names = ("vhp", "hvp", "hessian")
    return tried(
        torch, "independent of (input|entry) 0", lambda a: a.sum() * w, vec(torch), names, strict=True
    )


@program(phrase="independent of entry 1 in the grad_outputs")
def strict_refuses_a_jvp_through_other_tensors(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    w = torch.tensor(2.0, requires_grad=True)
    return F.jvp(lambda a: (a * 2, w * 3), x, x, strict=True)


@program()
def strict_refuses_a_graph_of_a_constant_jacobian(torch: Any) -> Any:
    names = ("vjp", "jvp", "jacobian")
    return tried(
        torch, "when create_graph=True", lambda a: a.sum(), vec(torch), names, strict=True, create_graph=True
    )


@program()
def strict_refuses_a_graph_of_a_constant_hessian(torch: Any) -> Any:
    names = ("vhp", "hessian")
    return tried(
        torch,
        "when create_graph=True",
        lambda a: (a * a).sum(),
        vec(torch),
        names,
        strict=True,
        create_graph=True,
    )


@program(phrase="Output 0 of the user-provided function is independent of input 1")
def strict_jacobian_names_the_output(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jacobian(lambda a, b: (a * 2, b * 2), (x, s), strict=True)


# -- arguments ---------------------------------------------------------------------------------------------------------


@program()
def inputs_that_are_no_tensor(torch: Any) -> Any:
    return tried(torch, "inputs given to .* must be either a Tensor or a tuple of Tensors", cubes, 3)


@program()
def inputs_in_a_list(torch: Any) -> Any:
    return tried(
        torch, "inputs given to .* must be either a Tensor or a tuple of Tensors", cubes, [vec(torch)]
    )


@program()
def inputs_with_a_string(torch: Any) -> Any:
    return tried(torch, "value at index 1 has type", cubes, (vec(torch), "a"))


@program()
def outputs_that_are_no_tensor(torch: Any) -> Any:
    return tried(torch, "outputs of the user-provided function given to", lambda a: None, vec(torch))


@program()
def outputs_in_a_list(torch: Any) -> Any:
    return tried(torch, "outputs of the user-provided function given to", lambda a: [a], vec(torch))


@program()
def outputs_with_a_string(torch: Any) -> Any:
    return tried(torch, "value at index 1 has type", lambda a: (a, "a"), vec(torch))


@program()
def integers_in(torch: Any) -> Any:
    return tried(torch, "only Tensors of floating point", cubes, torch.tensor([1, 2]))


@program()
def vectors_that_do_not_fit(torch: Any) -> Any:
    F = torch.autograd.functional
    x, m = vec(torch), mat(torch)
    found = []
    for function in (F.vjp, F.jvp, F.vhp, F.hvp):
        found += [
            attempt("v has invalid size", function, cubes, x, m),
            attempt("should contain a single Tensor", function, cubes, x, (x, x)),
            attempt("v given to .* must be either a Tensor or a tuple", function, cubes, x, 3.0),
            attempt("value at index 0 has type", function, cubes, x, (3.0,)),
        ]
    return found


@program(phrase="must be either a Tensor or a tuple")
def vectors_in_a_list(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: (a, a), x, [x, x])


@program(phrase="tuple of invalid length: should be 2 but got 1")
def vectors_of_the_wrong_number(torch: Any) -> Any:
    F = torch.autograd.functional
    x = vec(torch)
    return F.vjp(lambda a: (a, a), x, (x,))


@program(phrase="Entry 0 in v has invalid size")
def vector_of_the_wrong_size_in_a_tuple(torch: Any) -> Any:
    F = torch.autograd.functional
    x, s = vec(torch), num(torch)
    return F.jvp(lambda a, b: a * b, (x, s), (s, s))


@program()
def plans_that_are_not_supported(torch: Any) -> Any:
    F = torch.autograd.functional
    found = []
    for function, name in ((F.jacobian, "strategy"), (F.hessian, "outer_jacobian_strategy")):
        forward = {name: "forward-mode"}
        found += [
            attempt("Expected strategy to be either", function, cubes, vec(torch), **{name: "sideways"}),
            attempt("only implemented for `vectorize=True`", function, cubes, vec(torch), **forward),
            attempt("not supported together", function, cubes, vec(torch), create_graph=True, **forward),
            attempt("not supported together", function, cubes, vec(torch), strict=True, **forward),
            attempt("not supported together", function, cubes, vec(torch), strict=True, vectorize=True),
        ]
    return found


@program()
def a_vectorised_function_that_is_not_strict(torch: Any) -> Any:
    """What is wrong with the function is said before that the two options do not go together."""
    options: dict[str, Any] = {"strict": True, "vectorize": True}
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    return [
        attempt("Output 0 of the .* does not require", jacobian, lambda x: torch.ones(2), vec(torch), **options),
        attempt("Output 1 of the .* does not require", jacobian, lambda x: (x, torch.ones(2)), vec(torch), **options),
        attempt("outputs .* given to jacobian must be", jacobian, lambda x: "a", vec(torch), **options),
        attempt("The inputs given to jacobian must be", jacobian, lambda x: x, "a", **options),
        attempt("is independent of the input", hessian, lambda x: x.sum(), vec(torch), **options),
        attempt("should contain a single element", hessian, lambda x: x, vec(torch), **options),
        attempt("not supported together", hessian, cubes, vec(torch), **options),
    ]  # fmt: skip
