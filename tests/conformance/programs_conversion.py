"""Out of and into a tensor: NumPy, Python numbers, dtypes, text, pickling, subclasses, identity."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

import numpy as np

from .harness import attempt, program


@program()
def numpy_shares_memory(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    array = x.numpy()
    array[0] = 9.0
    return array, x


@program(phrase=r"Can't call numpy\(\) on Tensor that requires grad")
def numpy_of_a_tensor_that_requires_grad(torch: Any) -> Any:
    torch.ones(2, requires_grad=True).numpy()


@program()
def numpy_after_detach_or_by_force(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x.detach().numpy(), x.numpy(force=True)


@program()
def numpy_functions_take_tensors(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return x.__array__(), x.__array__(np.float64), np.sum(x.numpy(), axis=0)


@program()
def numpy_arrays_of_a_tensor_that_requires_grad(torch: Any) -> Any:
    return attempt("Tensor that requires grad", torch.ones(2, requires_grad=True).__array__)


@program()
def numpy_where_nothing_is_recorded(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    found = []
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            found.append((x.numpy(), (x * 2).numpy(), x.__array__(), np.asarray(x), x.tolist(), x[0].item()))
    with torch.no_grad():
        x.numpy()[0] = 5.0  # still the same memory
    return found, x


@program()
def numpy_inside_of_a_forward(torch: Any) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return torch.from_numpy(x.numpy() * 2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.from_numpy(g.numpy() * 2)

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Double.apply(x)
    y.sum().backward()
    return y, x.grad


@program()
def item_of_each_kind(torch: Any) -> Any:
    data = 1, 1.5, True, 1 + 2j, [[3.0]]
    return [(torch.tensor(d).item(), type(torch.tensor(d).item())) for d in data]


@program(phrase="Tensor with 2 elements cannot be converted to Scalar")
def item_of_several_elements(torch: Any) -> Any:
    torch.ones(2).item()


@program()
def item_of_a_tensor_that_requires_grad(torch: Any) -> Any:
    return torch.tensor(2.5, requires_grad=True).item()


@program()
def tolist_of_each_rank(torch: Any) -> Any:
    return (
        torch.tensor(1.5).tolist(),
        torch.tensor([1, 2]).tolist(),
        torch.ones(2, 1).tolist(),
        torch.ones(0).tolist(),
    )


@program()
def truth_of_one_element(torch: Any) -> Any:
    return [bool(torch.tensor(d)) for d in (1.0, 0.0, True, [0.5], [[0]])]


@program(phrase="Boolean value of Tensor with more than one value is ambiguous")
def truth_of_several_elements(torch: Any) -> Any:
    bool(torch.ones(2))


@program(phrase="Boolean value of Tensor with no values is ambiguous")
def truth_of_no_elements(torch: Any) -> Any:
    bool(torch.ones(0))


@program()
def python_numbers(torch: Any) -> Any:
    return (
        float(torch.tensor(2.5)),
        int(torch.tensor(2.9)),
        complex(torch.tensor(1j)),
        float(torch.tensor([3.0])),
    )


@program()
def python_numbers_refused(torch: Any) -> Any:
    return [
        attempt("only one element tensors can be converted to Python scalars", float, torch.ones(2)),
        attempt("only one element tensors can be converted to Python scalars", int, torch.ones(2)),
    ]


@program(warns="Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior")
def float_of_a_tensor_that_requires_grad_warns(torch: Any) -> Any:
    return float(torch.tensor(2.0, requires_grad=True))


@program()
def quiet_numbers_of_a_tensor_that_requires_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    return int(x), x.item(), bool(x), x.tolist(), f"{x:.1f}"


@program()
def tensors_as_indices(torch: Any) -> Any:
    items = ["a", "b", "c"]
    refused = attempt(
        "only integer tensors of a single element can be converted to an index",
        lambda: items[torch.tensor(1.0)],
    )
    return items[torch.tensor(1)], list(range(torch.tensor(2))), refused


@program()
def length_and_iteration(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    return len(x), list(x), [row.sum().item() for row in x]


@program()
def length_and_iteration_of_zero_dim(torch: Any) -> Any:
    x = torch.tensor(1.0)
    return attempt(r"len\(\) of a 0-d tensor", len, x), attempt("iteration over a 0-d tensor", iter, x)


@program()
def shape_questions(torch: Any) -> Any:
    x = torch.ones(2, 3, 4)
    return (
        x.shape,
        x.size(),
        x.size(1),
        x.size(-1),
        x.dim(),
        x.ndim,
        x.numel(),
        x.nelement(),
        x.stride(),
        x.shape[1:],
    )


@program(phrase="Dimension out of range")
def size_of_a_missing_dim(torch: Any) -> Any:
    torch.ones(2).size(3)


@program()
def kinds_of_dtype(torch: Any) -> Any:
    x = torch.ones(2)
    return x.is_floating_point(), x.is_complex(), torch.is_tensor(x), torch.is_tensor(1), x.element_size()


@program()
def contiguity(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return x.is_contiguous(), x.t().is_contiguous(), x.t().contiguous().is_contiguous(), x.t().stride()


@program()
def casts_by_name(torch: Any) -> Any:
    x = torch.tensor([1.7, -2.2])
    return [getattr(x, n)() for n in ["float", "double", "half", "int", "long", "short", "char", "bool"]]


@program()
def to_in_its_forms(torch: Any) -> Any:
    x, other = torch.tensor([1.0, 2.0]), torch.ones(1, dtype=torch.float64)
    forms = (
        x.to(torch.float64),
        x.to("cpu"),
        x.to(torch.device("cpu"), torch.int32),
        x.to(other),
        x.to(dtype=torch.int8),
    )
    return forms, x.to("cpu") is x, x.to(x) is x, x.to(torch.float32, copy=True) is x


@program()
def to_is_differentiable(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(torch.float64) * 3).sum().backward()
    return x.grad


@program()
def to_an_integer_cuts_history(torch: Any) -> Any:
    return torch.tensor([1.5, 2.5], requires_grad=True).long()


@program()
def type_names(torch: Any) -> Any:
    x = torch.ones(2)
    return (
        x.type(),
        x.double().type(),
        x.long().type(),
        x.type(torch.float64),
        x.type_as(torch.ones(1, dtype=torch.int32)),
    )


@program()
def repr_of_plain_tensors(torch: Any) -> Any:
    data: Any = (
        1,
        1.5,
        True,
        [1.0, 2.0],
        [1.5, 2.25],
        [1, 20, 300],
        [True, False],
        [[1.0, 2.0], [3.0, 4.0]],
        [],
    )
    return [repr(torch.tensor(d)) for d in data]


@program()
def repr_of_autograd_tensors(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return repr(x), repr(x * 2), repr(x.sum()), repr(x[0]), repr(x.detach())


@program()
def repr_names_other_dtypes(torch: Any) -> Any:
    kinds = (
        torch.float64,
        torch.float16,
        torch.int32,
        torch.uint8,
        torch.complex64,
        torch.complex128,
        torch.int64,
    )
    return [repr(torch.ones(2, dtype=kind)) for kind in kinds]


@program()
def repr_of_special_values(torch: Any) -> Any:
    inf, nan = float("inf"), float("nan")
    data: Any = (
        [inf, -inf, nan],
        [1e-8, 1.0],
        [1e10, 1.0],
        [123456.0, 0.001],
        [-1.0, 10.5],
        [0.1, 0.25],
        [1e8],
        [nan],
    )
    return [repr(torch.tensor(d)) for d in data]


@program()
def repr_of_nested_and_wide_tensors(torch: Any) -> Any:
    return (
        repr(torch.arange(30)),
        repr(torch.ones(2, 2, 2)),
        repr(torch.zeros(2, 0)),
        repr(torch.arange(40.0)),
    )


@program()
def repr_summarises_large_tensors(torch: Any) -> Any:
    return repr(torch.arange(2000)), repr(torch.zeros(50, 50))


@program()
def str_is_repr(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return str(x) == repr(x), f"{x}"


@program()
def format_of_a_scalar(torch: Any) -> Any:
    x = torch.tensor(3.14159)
    return f"{x:.2f}", f"{x}", f"{x:8.3f}", f"{torch.tensor(5):04d}"


@program()
def format_of_a_vector_with_a_spec(torch: Any) -> Any:
    return attempt("unsupported format string passed to Tensor.__format__", format, torch.ones(2), ".2f")


@program()
def pickle_of_leaves(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    y = pickle.loads(pickle.dumps(x))
    return y, y is x, pickle.loads(pickle.dumps(torch.tensor([1, 2])))


@program()
def pickle_of_dtypes(torch: Any) -> Any:
    return pickle.loads(pickle.dumps(torch.float32)), pickle.loads(pickle.dumps(torch.int64)) == torch.int64


@program()
def hash_and_identity(torch: Any) -> Any:
    x, y = torch.ones(2), torch.ones(2)
    known = {x: "x"}
    return hash(x) == hash(x), len({x, y}), known.get(x), known.get(y)


@program()
def equality_is_elementwise(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return (
        x == torch.tensor([1.0, 3.0]),
        x != 1.0,
        x.eq(x),
        torch.equal(x, x.clone()),
        torch.equal(x, torch.ones(3)),
    )


@program()
def equality_with_foreign_things(torch: Any) -> Any:
    x = torch.ones(2)
    return x == None, x != None, x == "a"  # noqa: E711


@program()
def membership(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return 2.0 in x, 3.0 in x, torch.tensor(1.0) in x


@program()
def membership_of_foreign_things(torch: Any) -> Any:
    return attempt("only supports Tensor or scalar", lambda: "a" in torch.ones(2))


@program()
def comparison_operators(torch: Any) -> Any:
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 2.0, 1.0])
    return x < y, x <= y, x > y, x >= y, x == y, x != y, x < 2, x <= 2, torch.lt(x, y), x.ge(2)


@program()
def comparison_with_nan(torch: Any) -> Any:
    x = torch.tensor([float("nan"), 1.0])
    return x == x, x < 2, x != x, x.isnan(), torch.isfinite(x), torch.isinf(x)


@program()
def logical_operators(torch: Any) -> Any:
    a, b = torch.tensor([True, True, False]), torch.tensor([True, False, False])
    return a & b, a | b, a ^ b, ~a, torch.logical_and(a, b), torch.logical_not(a)


@program()
def weak_references(torch: Any) -> Any:
    x = torch.ones(2)
    reference = weakref.ref(x)
    alive = reference() is x
    del x
    return alive, reference() is None


@program()
def user_attributes(torch: Any) -> Any:
    x = torch.ones(2)
    x.label = "weights"
    return x.label, hasattr(x * 1, "label"), attempt("has no attribute", getattr, x, "missing")


@program()
def a_subclass_is_a_tensor(torch: Any) -> Any:
    class Mine(torch.Tensor):  # type: ignore[misc]
        def twice(self) -> Any:
            return self + self

    x = torch.ones(2).as_subclass(Mine)
    return isinstance(x, torch.Tensor), type(x), type(x.twice()), x.twice().tolist()


@program()
def a_subclass_of_a_leaf_gets_its_grad(torch: Any) -> Any:
    class Mine(torch.Tensor):  # type: ignore[misc]
        pass

    x = torch.tensor([1.0, 2.0], requires_grad=True).detach().as_subclass(Mine).requires_grad_()
    (x * 3).sum().backward()
    return x.grad.tolist(), x.is_leaf


@program()
def unknown_names_of_the_module(torch: Any) -> Any:
    return attempt("has no attribute", getattr, torch, "no_such_function")


@program()
def allclose_and_isclose(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return torch.allclose(x, x + 1e-9), torch.allclose(x, x + 1), torch.isclose(x, torch.tensor([1.0, 3.0]))


@program()
def tensors_of_data_ptrs(torch: Any) -> Any:
    x = torch.ones(2, 2)
    return (
        x.data_ptr() == x.detach().data_ptr(),
        x.data_ptr() == x.clone().data_ptr(),
        x.data_ptr() == x[0].data_ptr(),
    )


@program()
def views_share_memory(torch: Any) -> Any:
    x = torch.zeros(2, 3)
    x.view(6)[0] = 1.0
    x.t()[1, 1] = 2.0
    x[0].fill_(5.0)
    x.reshape(3, 2)[2, 1] = 7.0
    return x
