"""Views by strides and windows: as_strided, unfold, and tensors that change their memory: set_, resize_."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def matrix(torch: Any, requires_grad: bool = True) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64, requires_grad=requires_grad)


def derivatives(torch: Any, f: Any) -> Any:
    """Value, first and second derivative of the sum of squares of f at a matrix."""
    x = matrix(torch)
    out = f(x * 1)
    (first,) = torch.autograd.grad((out * out * out).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return out, first.detach(), second


# -- as_strided ----------------------------------------------------------------------------------------------------


@program()
def as_strided_shows_any_elements(torch: Any) -> Any:
    x = matrix(torch, False)
    return [
        torch.as_strided(x, (2, 2), (1, 2)),
        x.as_strided((3,), (2,), 1),
        x.as_strided((), (), 4),
        x.as_strided((2, 3), (0, 1)),
        x.as_strided(size=(2,), stride=(3,), storage_offset=2),
    ]


@program()
def as_strided_of_a_part_begins_where_it_does(torch: Any) -> Any:
    x = matrix(torch, False)
    part = x[1:, 1:]
    return part.as_strided((2,), (1,)), part.as_strided((2,), (1,), 0), part.storage_offset()


@program()
def as_strided_is_a_view(torch: Any) -> Any:
    y = matrix(torch) * 1
    v = y.as_strided((2, 2), (1, 2))
    w = y[1:].as_strided((2,), (1,))
    return v._is_view(), v._base is y, w._base is y, v.grad_fn, w.grad_fn.next_functions[0][0], v._version


@program()
def as_strided_shows_its_arguments(torch: Any) -> Any:
    node = (matrix(torch) * 1).as_strided((2, 2), (1, 2), 1).grad_fn
    return node._saved_size, node._saved_stride, node._saved_storage_offset


@program()
def as_strided_gradient(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.as_strided((2, 2), (1, 3)))


@program()
def as_strided_gradient_of_overlapping_elements(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.as_strided((3, 3), (1, 1)))


@program()
def as_strided_gradient_of_stretched_elements(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.as_strided((4, 2), (0, 2), 1))


@program()
def as_strided_gradient_of_a_part(torch: Any) -> Any:
    return derivatives(torch, lambda y: y[1:].as_strided((2, 2), (1, 1)))


@program()
def as_strided_gradient_outside_of_the_tensor_is_dropped(torch: Any) -> Any:
    return derivatives(torch, lambda y: y[1:].as_strided((4,), (1,), 1))


@program()
def as_strided_gradient_of_an_expanded_tensor(torch: Any) -> Any:
    return derivatives(torch, lambda y: y[:1].expand(4, 3).as_strided((2, 2), (1, 1)))


@program()
def as_strided_gradient_of_a_transposed_tensor(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.t().as_strided((2, 2), (1, 3), 1))


@program()
def as_strided_of_as_strided(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.as_strided((2, 2), (1, 2)).as_strided((2,), (3,)))


@program()
def writes_through_as_strided(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    v = y.as_strided((2, 2), (1, 3))
    v.mul_(10)
    names = y.grad_fn, v.grad_fn, y._version
    (y * y).sum().backward()
    return names, y, v, x.grad


@program()
def as_strided_sees_writes_to_its_base(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    v = y.as_strided((2, 2), (1, 1))
    y.mul_(3)
    (v * v).sum().backward()
    return v.grad_fn, x.grad


@program()
def as_strided_fill_of_overlapping_elements(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    y.as_strided((2, 2), (1, 1)).fill_(7)
    (y * y).sum().backward()
    return y, x.grad


@program()
def as_strided_errors(torch: Any) -> Any:
    x = matrix(torch, False)
    return [
        attempt("out of bounds for storage", x.as_strided, (7,), (1,)),
        attempt("out of bounds for storage", x.as_strided, (2,), (1,), 5),
        attempt("Negative strides are not supported", x.as_strided, (2,), (-1,)),
        attempt("mismatch in length of strides and shape", x.as_strided, (2,), (1, 1)),
        attempt("invalid storage offset", x.as_strided, (2,), (1,), -1),
        attempt("Storage size calculation overflowed", x.as_strided, (-2,), (1,)),
        attempt("must be", torch.as_strided, 3, (1,), (1,)),
        attempt("", x.as_strided, ("a",), (1,)),
    ]


@program()
def as_strided_of_nothing(torch: Any) -> Any:
    return [torch.zeros(3).as_strided((0,), (100,)), torch.zeros(0).as_strided((0, 2), (2, 1))]


@program()
def as_strided_in_place(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    out = y.as_strided_((2, 2), (1, 3))
    (y * y).sum().backward()
    return out is y, y, y._version, y.grad_fn.next_functions[0][0], x.grad


@program()
def as_strided_in_place_on_a_view(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    v = y[:, 1:]
    v.as_strided_((2,), (3,))
    (v * v).sum().backward()
    return v.grad_fn, v.grad_fn.next_functions[0][0], y.grad_fn, v._base is y, x.grad


@program()
def as_strided_in_place_as_a_function(torch: Any) -> Any:
    x = torch.arange(6.0)
    return torch.as_strided_(x, (2, 2), (3, 1)) is x, x


@program(phrase="a leaf Variable that requires grad is being used in an in-place operation")
def as_strided_in_place_of_a_leaf(torch: Any) -> Any:
    return matrix(torch).as_strided_((2,), (1,))


@program()
def as_strided_scatter_and_copy(torch: Any) -> Any:
    x, src = matrix(torch), torch.ones(2, dtype=torch.float64, requires_grad=True)
    out = torch.as_strided_scatter(x * 1, src, (2,), (3,), 1)
    copy = torch.as_strided_copy(x * 1, (2,), (1,))
    (gradient,) = torch.autograd.grad((out * out).sum(), src)
    return out, gradient, out._is_view(), copy, copy._is_view()


@program(phrase="expected src to have a size equal to the slice of self")
def as_strided_scatter_of_another_size(torch: Any) -> Any:
    return torch.as_strided_scatter(matrix(torch), torch.ones(3, dtype=torch.float64), (2,), (1,))


# -- unfold --------------------------------------------------------------------------------------------------------


@program()
def unfold_shows_windows(torch: Any) -> Any:
    x = torch.arange(12.0).view(3, 4)
    found = [
        x.unfold(0, 2, 1),
        x.unfold(1, 2, 2),
        x.unfold(-1, 3, 1),
        x[0].unfold(0, 4, 1),
        x.t().unfold(0, 2, 1),
    ]
    return found, [t.stride() for t in found]


@program()
def unfold_of_numbers_and_of_nothing(torch: Any) -> Any:
    number = torch.tensor(3.0)
    return [
        number.unfold(0, 1, 1),
        number.unfold(0, 0, 1),
        torch.zeros(3, 0).unfold(0, 2, 1),
        torch.zeros(3).unfold(0, 0, 1),
    ]


@program()
def unfold_is_a_view(torch: Any) -> Any:
    y = matrix(torch) * 1
    v = y.unfold(1, 2, 1)
    node = v.grad_fn
    return (
        v._is_view(),
        v._base is y,
        node,
        node._saved_dimension,
        node._saved_size,
        node._saved_step,
        node._saved_self_sym_sizes,
    )


@program()
def unfold_gradient(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.unfold(1, 2, 1))


@program()
def unfold_gradient_of_windows_apart(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.t().unfold(0, 1, 2))


@program()
def unfold_gradient_of_long_windows(torch: Any) -> Any:
    return derivatives(torch, lambda y: y.reshape(-1).unfold(0, 5, 1))


@program()
def unfold_of_a_number_has_a_gradient(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    x.unfold(0, 1, 1).mul(2).sum().backward()
    return x.grad


@program()
def unfold_backward_has_a_name(torch: Any) -> Any:
    y = matrix(torch) * 1
    v = y.unfold(1, 2, 1)
    g = torch.ones_like(v, requires_grad=True)
    (found,) = torch.autograd.grad(v, y, g, create_graph=True)
    return found.grad_fn, found, torch.autograd.grad((found * found).sum(), g)


@program()
def unfold_sees_writes_to_its_base(torch: Any) -> Any:
    x = matrix(torch)
    y = x * 1
    v = y.unfold(1, 2, 1)
    y.mul_(2)
    (v * v).sum().backward()
    return v.grad_fn, v, x.grad


@program()
def unfold_of_windows_that_do_not_overlap_can_be_written(torch: Any) -> Any:
    x = torch.arange(7.0, requires_grad=True)
    y = x * 1
    y.unfold(0, 2, 3).mul_(10)
    (y * y).sum().backward()
    return y, y._version, x.grad


@program()
def unfold_filled(torch: Any) -> Any:
    y = torch.zeros(5)
    y.unfold(0, 2, 1)[1:3].fill_(4)
    return y


@program()
def unfold_errors(torch: Any) -> Any:
    x = matrix(torch, False)
    return [
        attempt("maximum size for tensor at dimension 0 is 2 but size is 3", x.unfold, 0, 3, 1),
        attempt("step is 0 but must be > 0", x.unfold, 0, 1, 0),
        attempt("size is -1 but must be >= 0", x.unfold, 0, -1, 1),
        attempt("Dimension out of range", x.unfold, 2, 1, 1),
        attempt("maximum size", torch.tensor(1.0).unfold, 0, 2, 1),
    ]


@program()
def unfold_of_complex_numbers(torch: Any) -> Any:
    x = torch.tensor([1 + 1j, 2j, 3 - 1j], requires_grad=True)
    v = x.unfold(0, 2, 1)
    (v * v.conj()).real.sum().backward()
    return v, x.grad


# -- other memory --------------------------------------------------------------------------------------------------


@program()
def set_empties(torch: Any) -> Any:
    x = torch.ones(3)
    return x.set_() is x, x, x._version


@program()
def set_shares_memory(torch: Any) -> Any:
    x, memory = torch.ones(3), torch.zeros(2, 2)
    x.set_(memory)
    x.add_(1)
    return x, memory, x._version, x._is_view(), x.data_ptr() == memory.data_ptr()


@program()
def set_to_a_part(torch: Any) -> Any:
    x, memory = torch.ones(3), torch.arange(6.0)
    x.set_(memory, 1, (2, 2), (1, 3))
    return x


@program()
def set_of_a_leaf_under_no_grad(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        x.set_(torch.zeros(2))
    return x, x._version


@program(phrase="a leaf Variable that requires grad is being used in an in-place operation")
def set_of_a_leaf(torch: Any) -> Any:
    return torch.ones(3, requires_grad=True).set_(torch.zeros(2))


@program(phrase="Could not set tensor of type")
def set_to_another_dtype(torch: Any) -> Any:
    return torch.ones(3).set_(torch.zeros(2, dtype=torch.float64))


@program(phrase="derivative for .*set_ is not implemented")
def set_has_no_gradient(torch: Any) -> Any:
    y = torch.ones(3, requires_grad=True) * 1
    y.set_(torch.zeros(2))
    y.sum().backward()


@program()
def resize_within_its_memory(torch: Any) -> Any:
    x = torch.arange(6.0)
    found = x.resize_(2, 2)
    return found is x, x, x._version, x.stride(), torch.arange(6.0).view(2, 3).t().resize_((3, 2))


@program()
def resize_beyond_its_memory_keeps_what_was_there(torch: Any) -> Any:
    x = torch.arange(4.0)
    x.resize_(6)
    return x.shape, x[:4], x._version


@program()
def resize_to_the_same_size_writes_nothing(torch: Any) -> Any:
    x = torch.arange(6.0)
    x.resize_(6)
    return x._version, x


@program()
def resize_as_another(torch: Any) -> Any:
    x = torch.arange(6.0)
    return x.resize_as_(torch.zeros(3, 1)), x._version


@program()
def resize_of_what_requires_grad(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        kept = attempt("cannot resize variables that require grad", x.resize_, 2)
    return kept, attempt("cannot resize variables that require grad", (x * 1).resize_, 2), x
