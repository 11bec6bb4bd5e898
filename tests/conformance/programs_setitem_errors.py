"""Assignments that are refused: the exception, and that nothing was written and no version counted."""

from __future__ import annotations

import operator
from typing import Any

from .harness import attempt, program


def refused(torch: Any, *cases: Any, size: Any = (2, 3)) -> Any:
    """Each case is (phrase, index, value), tried on a constant and on a computed tensor."""
    found = []
    for requires_grad in (False, True):
        x = torch.ones(size, requires_grad=requires_grad)
        y = x * 1
        errors = [attempt(phrase, y.__setitem__, index, value) for phrase, index, value in cases]
        found.append((errors, y, y._version))
    return found


@program()
def integers_out_of_bounds(torch: Any) -> Any:
    return refused(
        torch,
        ("index 2 is out of bounds for dimension 0 with size 2", 2, 0.0),
        ("index -3 is out of bounds for dimension 0 with size 2", -3, 0.0),
        ("index 3 is out of bounds for dimension 1 with size 3", (0, 3), 0.0),
    )


@program()
def too_many_indices(torch: Any) -> Any:
    return refused(
        torch,
        ("too many indices for tensor of dimension 2", (0, 0, 0), 0.0),
        ("too many indices for tensor of dimension 2", (slice(None), slice(None), slice(None)), 0.0),
    )


@program()
def index_tensors_out_of_bounds(torch: Any) -> Any:
    # torch may have written the elements before the bad one, so the values are not compared.
    found = refused(
        torch,
        ("index 5 is out of bounds for dimension 0 with size 2", torch.tensor([5, 0]), 0.0),
        ("index 7 is out of bounds for dimension", (slice(None), [7]), 0.0),
    )
    return [(errors, version) for errors, _, version in found]


@program()
def index_tensors_of_wrong_dtype(torch: Any) -> Any:
    return refused(torch, ("tensors used as indices must be", torch.tensor([0.5]), 0.0))


@program()
def index_tensors_that_do_not_broadcast(torch: Any) -> Any:
    return refused(
        torch, ("shape mismatch: indexing tensors could not be broadcast", ([0, 1], [0, 1, 2]), 0.0)
    )


@program()
def masks_of_wrong_shape(torch: Any) -> Any:
    phrase = "The shape of the mask .* does not match the shape of the indexed tensor"
    return refused(
        torch,
        (phrase, torch.ones(3, dtype=torch.bool), 0.0),
        (phrase, torch.ones(2, 2, dtype=torch.bool), 0.0),
    )


@program()
def steps_backwards(torch: Any) -> Any:
    return refused(torch, ("step must be greater than zero", slice(None, None, -1), 0.0))


@program()
def indices_of_no_kind(torch: Any) -> Any:
    return refused(torch, ("only integers, slices", 1.5, 0.0), ("only integers, slices", (0, 2j), 0.0))


@program()
def values_of_wrong_shape(torch: Any) -> Any:
    four = torch.ones(4)
    return refused(
        torch,
        (r"expanded size of the tensor \(3\) must match the existing size \(4\)", 0, four),
        (r"expanded size of the tensor \(3\) must match the existing size \(4\)", slice(None), four),
        (r"expanded size of the tensor \(2\) must match the existing size \(4\)", (slice(None), 0), four),
    )


@program()
def values_of_too_many_dimensions(torch: Any) -> Any:
    phrase = r"the number of sizes provided \(.\) must be greater or equal to the number of dimensions in the tensor"
    return refused(torch, (phrase, 0, torch.ones(2, 3)), (phrase, (0, 0), torch.ones(2)))


@program()
def values_of_wrong_shape_at_index_tensors(torch: Any) -> Any:
    phrase = "shape mismatch: value tensor of shape .* cannot be broadcast to indexing result of shape"
    mask = torch.tensor([[True, True, True], [False, False, False]])
    return refused(
        torch, (phrase, [0], torch.ones(4)), (phrase, mask, torch.ones(2)), (phrase, (0, [1]), torch.ones(2))
    )


@program()
def values_that_are_not_numbers(torch: Any) -> Any:
    return refused(
        torch,
        ("can't assign a list to a torch.FloatTensor", 0, [1.0, 2.0, 3.0]),
        ("can't assign a str to a torch.FloatTensor", 0, "1"),
        ("can't assign a NoneType to a torch.FloatTensor", 0, None),
        ("can't assign a tuple to a torch.FloatTensor", [0], (1.0,)),
    )


@program()
def dtypes_that_do_not_match_at_index_tensors(torch: Any) -> Any:
    phrase = "Index put requires the source and destination dtypes match"
    double = torch.ones(3, dtype=torch.float64)
    mask = torch.tensor([True, False])
    return refused(torch, (phrase, [0], double), (phrase, mask, double), (phrase, (0, [1]), torch.tensor(1)))


@program()
def complex_value_into_a_real_tensor(torch: Any) -> Any:
    return refused(torch, ("value cannot be converted to type float without overflow", 0, 1j))


@program()
def numbers_that_do_not_fit(torch: Any) -> Any:
    i = torch.zeros(2, dtype=torch.int8)
    return (
        attempt("value cannot be converted to type int8_t without overflow", i.__setitem__, 0, 1000),
        attempt("int64_t without overflow", torch.zeros(2, dtype=torch.int64).__setitem__, 0, float("nan")),
        i,
        i._version,
    )


@program()
def leaf_that_requires_grad(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    phrase = "leaf Variable that requires grad is being used in an in-place operation"
    mask = torch.tensor([True, False])
    indices = (0, (0, 0), slice(None), ..., [0], mask, (0, [1]), (slice(None), [0]), None)
    return [attempt(phrase, x.__setitem__, i, 5.0) for i in indices], x, x._version


@program()
def leaf_that_requires_grad_and_a_value_that_does(torch: Any) -> Any:
    x, w = torch.ones(3, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    phrase = "leaf Variable that requires grad is being used in an in-place operation"
    return [attempt(phrase, x.__setitem__, i, w) for i in (0, slice(1), [0], x > 0)], x, x._version


@program(phrase="modified by an inplace operation")
def saved_tensor_assigned_to(torch: Any) -> Any:
    y = torch.ones(3, requires_grad=True) * 2
    z = y.log()
    y[0] = 5.0
    z.sum().backward()


@program(phrase="modified by an inplace operation")
def saved_tensor_assigned_to_at_an_index_tensor(torch: Any) -> Any:
    y = torch.ones(3, requires_grad=True) * 2
    z = y.log()
    y[[0]] = 5.0
    z.sum().backward()


@program()
def row_of_an_unbound_tensor_assigned_to(torch: Any) -> Any:
    y = torch.ones(2, 3, requires_grad=True) * 2
    a, _ = y.unbind()
    phrase = "is a view and is being modified inplace"
    return attempt(phrase, a.__setitem__, 0, 5.0), attempt(phrase, a.__setitem__, [0], 5.0), y, y._version


@program()
def view_made_under_no_grad_assigned_to(torch: Any) -> Any:
    y = torch.ones(2, 3, requires_grad=True) * 2
    with torch.no_grad():
        v = y[0]
    phrase = "created in no_grad mode and is being modified inplace with grad mode enabled"
    return attempt(phrase, v.__setitem__, 0, 5.0), attempt(phrase, v.__setitem__, [0], 5.0), y, y._version


@program()
def inference_tensor_assigned_to(torch: Any) -> Any:
    with torch.inference_mode():
        x = torch.ones(3)
        x[0] = 5.0
    phrase = "Inplace update to inference tensor outside InferenceMode is not allowed"
    return attempt(phrase, x.__setitem__, 1, 6.0), attempt(phrase, x.__setitem__, [1], 6.0)


@program()
def expanded_tensor_assigned_to(torch: Any) -> Any:
    x = torch.tensor([[1.0], [2.0]])
    e = x.expand(2, 3)
    phrase = "more than one element of the written-to tensor refers to a single memory location"
    return attempt(phrase, e.__setitem__, slice(None), torch.ones(2, 3)), x, x._version


@program(phrase="Trying to backward through the graph a second time")
def second_backward_through_assignment(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y = y * y
    y[0] = 5.0
    y.sum().backward()
    y.sum().backward()


@program()
def item_deletion(torch: Any) -> Any:
    x = torch.ones(3)
    return attempt("does not support deleting items", operator.delitem, x, 0), x


@program()
def indices_beyond_64_bits_and_of_single_numbers(torch: Any) -> Any:
    x, number = torch.ones(2, 3), torch.tensor(3.0)
    overflow = "Overflow when unpacking long long"
    return [
        *[attempt(overflow, lambda t=t, i=i: t[i]) for t in (x, number) for i in (2**63, -(2**70))],
        attempt("invalid index of a 0-dim tensor", lambda: number[0]),
        attempt("index -1 is out of bounds for dimension 0 with size 0", lambda: number[-1]),
        attempt("step must be greater than zero", lambda: number[::-1]),
        attempt("cannot be applied to a 0-dim tensor", lambda: number[1:]),
        attempt("index is out of bounds for dimension with size 0", lambda: torch.zeros(0, 3)[[0]]),
        attempt("index is out of bounds for dimension with size 0", lambda: torch.zeros(2, 0)[0, [1]]),
        attempt("shape mismatch: value tensor of shape .4.", x.__setitem__, torch.tensor([5]), torch.ones(4)),
        attempt("INDICES element is out of DATA bounds", torch.index_select, x, 1, torch.tensor([5])),
        attempt("index out of range in self", torch.index_select, x, 0, torch.tensor([5])),
        attempt("same scalar type", torch.index_add, x[0], 0, torch.tensor([0, 1]), torch.tensor(1)),
    ]


@program()
def nothing_is_written_where_false_is_the_index(torch: Any) -> Any:
    w = torch.ones(2, 3, requires_grad=True)
    x = w * 2
    x[False] = torch.ones(4)
    x[False] = 7.0
    (x * x).sum().backward()
    return x, w.grad, attempt("can't assign a str", x.__setitem__, False, "a")
