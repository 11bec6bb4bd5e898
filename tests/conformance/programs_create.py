"""Creation functions: shapes, inferred dtypes, `requires_grad=`, bad arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import attempt, program

REAL_KINDS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
KINDS = [*REAL_KINDS, "complex64", "complex128"]


@program()
def tensor_infers_its_dtype(torch: Any) -> Any:
    data = [1, 1.0, True, 1j, [1, 2], [1, 2.5], [True, False], [True, 2], [1.0, 2j], [], [[1], [2]]]
    return [torch.tensor(d) for d in data]


@program()
def tensor_follows_the_default_dtype(torch: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    return torch.tensor(1.0), torch.tensor(1j), torch.tensor(1), torch.ones(1), torch.get_default_dtype()


@program()
def default_dtype_must_be_floating(torch: Any) -> Any:
    return attempt(
        "only floating-point types are supported as the default type", torch.set_default_dtype, torch.int64
    )


@program()
def tensor_with_an_explicit_dtype(torch: Any) -> Any:
    kinds = torch.float16, torch.float32, torch.float64, torch.int32, torch.uint8, torch.bool, torch.complex64
    return [torch.tensor([0, 1, 2], dtype=kind) for kind in kinds]


@program()
def tensor_of_tensors_and_arrays(torch: Any) -> Any:
    return [
        torch.tensor(np.array([1.0, 2.0])),
        torch.tensor(np.array([1, 2], dtype=np.int32)),
        torch.tensor([np.float64(1.5), np.float64(2.5)]),
        torch.tensor(np.float32(3.0)),
        torch.tensor([torch.tensor(1.0), torch.tensor(2.0)]),
    ]


@program()
def tensor_copies_its_array(torch: Any) -> Any:
    array = np.zeros(2, dtype=np.float32)
    copied, shared = torch.tensor(array), torch.from_numpy(array)
    array[0] = 5.0
    return copied, shared


@program()
def as_tensor_shares_when_it_can(torch: Any) -> Any:
    array = np.zeros(2, dtype=np.float32)
    shared, cast = torch.as_tensor(array), torch.as_tensor(array, dtype=torch.float64)
    x = torch.ones(2)
    array[0] = 5.0
    return shared, cast, torch.as_tensor(x) is x, torch.as_tensor([1, 2]), torch.asarray([1.0, 2.0])


@program(warns="To copy construct from a tensor")
def tensor_of_a_tensor_warns(torch: Any) -> Any:
    return torch.tensor(torch.ones(2))


@program()
def ragged_and_foreign_data(torch: Any) -> Any:
    return [
        attempt("expected sequence of length 2 at dim 1", torch.tensor, [[1, 2], [3]]),
        attempt("invalid data type 'str'", torch.tensor, "abc"),
        attempt("Could not infer dtype of NoneType", torch.tensor, [None]),
        attempt("Could not infer dtype of object", torch.tensor, object()),
        attempt("Could not infer dtype of dict", torch.tensor, {"a": 1}),
    ]


@program()
def from_numpy_refuses_other_things(torch: Any) -> Any:
    return [
        attempt(r"expected np\.ndarray \(got list\)", torch.from_numpy, [1, 2]),
        attempt(
            "can't convert np.ndarray of type numpy.(str_|object_)", torch.from_numpy, np.array(["a", "b"])
        ),
    ]


@program()
def from_numpy_keeps_the_dtype(torch: Any) -> Any:
    names = [
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    ]
    return [torch.from_numpy(np.zeros(2, dtype=name)).dtype for name in names]


@program()
def filled(torch: Any) -> Any:
    return [
        torch.zeros(2, 3), torch.zeros((2, 3)), torch.zeros([2]), torch.ones(2, dtype=torch.int64),
        torch.full((2,), 7), torch.full((2,), 7.5), torch.full((2,), True), torch.full((), 1, dtype=torch.float64),
        torch.eye(2), torch.eye(2, 3), torch.zeros(()), torch.ones(0), torch.empty(2, 3).shape,
    ]  # fmt: skip


@program()
def ranges(torch: Any) -> Any:
    return [
        torch.arange(4), torch.arange(1, 4), torch.arange(0, 1, 0.25), torch.arange(5, 0, -2), torch.arange(3.0),
        torch.arange(2, dtype=torch.float64), torch.linspace(0, 1, 5), torch.linspace(3, -3, 4),
        torch.linspace(0.0, 1.0, 1),
    ]  # fmt: skip


@program()
def bad_ranges(torch: Any) -> Any:
    return [
        attempt("step must be nonzero", torch.arange, 0, 3, 0),
        attempt("inconsistent with step sign", torch.arange, 3, 0, 1),
        attempt("number of steps must be non-negative", torch.linspace, 0, 1, -1),
    ]


@program()
def alike(torch: Any) -> Any:
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    return [
        torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 2.5), torch.empty_like(x).shape,
        torch.zeros_like(x, dtype=torch.int32), torch.ones_like(x, requires_grad=True),
        x.new_zeros(2), x.new_ones(1, 2), x.new_full((2,), 3.0), x.new_tensor([1.0, 2.0]),
    ]  # fmt: skip


@program()
def random_shapes_and_dtypes(torch: Any) -> Any:
    torch.manual_seed(0)
    results = [
        torch.rand(2, 3),
        torch.randn(2),
        torch.randint(0, 5, (3,)),
        torch.randint(5, (2,)),
        torch.randperm(4),
    ]
    results += [torch.rand_like(torch.ones(2)), torch.randn_like(torch.ones(2, dtype=torch.float64))]
    return [(r.shape, r.dtype, r.requires_grad) for r in results]


@program()
def random_values_stay_in_range(torch: Any) -> Any:
    torch.manual_seed(0)
    u, i, p = torch.rand(1000), torch.randint(2, 5, (1000,)), torch.randperm(50)
    return (
        bool((u >= 0).all() and (u < 1).all()),
        sorted(set(i.tolist())),
        sorted(p.tolist()) == list(range(50)),
    )


@program()
def the_seed_repeats_the_values(torch: Any) -> Any:
    torch.manual_seed(3)
    first = torch.rand(4)
    torch.manual_seed(3)
    second, third = torch.rand(4), torch.rand(4)
    return torch.equal(first, second), torch.equal(second, third)


@program()
def a_generator_is_a_stream_of_its_own(torch: Any) -> Any:
    def stream(seed: int) -> Any:
        return torch.rand(3, generator=torch.Generator().manual_seed(seed))

    return torch.equal(stream(1), stream(1)), torch.equal(stream(1), stream(2))


@program()
def requires_grad_at_creation(torch: Any) -> Any:
    makers = torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty
    made = [make(2, requires_grad=True) for make in makers]
    made += [torch.full((2,), 1.0, requires_grad=True), torch.eye(2, requires_grad=True)]
    made += [torch.linspace(0, 1, 3, requires_grad=True), torch.arange(3.0, requires_grad=True)]
    return [(t.requires_grad, t.is_leaf, t.grad, t.grad_fn) for t in made]


@program(phrase="Only Tensors of floating point and complex dtype can require gradients")
def integers_cannot_require_grad(torch: Any) -> Any:
    torch.tensor([1, 2], requires_grad=True)


@program(phrase="Only Tensors of floating point and complex dtype can require gradients")
def integer_zeros_cannot_require_grad(torch: Any) -> Any:
    torch.zeros(2, dtype=torch.int64, requires_grad=True)


@program()
def bad_sizes(torch: Any) -> Any:
    return [
        attempt("must be non-negative", torch.zeros, -1),
        attempt("argument 'size'", torch.zeros, "2"),
        attempt("argument 'size'", torch.zeros, 2.5),
        attempt("n must be greater or equal to 0, got -1", torch.eye, -1),
    ]


@program()
def devices_by_name_and_by_object(torch: Any) -> Any:
    x = torch.ones(1, device="cpu")
    return x.device, str(x.device), x.device == torch.device("cpu"), x.device.type, x.device.index, x.is_cuda


@program()
def device_names(torch: Any) -> Any:
    d = torch.device("cuda:1")
    return str(d), d.type, d.index, d == torch.device("cuda", 1), torch.device("cuda") == d


@program()
def unknown_device(torch: Any) -> Any:
    return attempt(
        "Expected one of cpu, cuda, .*device type at start of device string: tpu", torch.device, "tpu"
    )


@program()
def dtypes_have_names_and_kinds(torch: Any) -> Any:
    kinds = [
        "float32",
        "float64",
        "float16",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    ]
    return [
        (getattr(torch, k), getattr(torch, k).itemsize, torch.zeros(1, dtype=getattr(torch, k)).is_complex())
        for k in kinds
    ]


@program()
def dtype_aliases(torch: Any) -> Any:
    pairs = "float float32,double float64,half float16,int int32,long int64,short int16,cfloat complex64"
    return [getattr(torch, a) is getattr(torch, b) for a, b in (p.split() for p in pairs.split(","))]


@program()
def the_old_constructor_makes_the_default_dtype_of_arrays(torch: Any) -> Any:
    arrays = [np.ones((2, 3), kind) for kind in REAL_KINDS]
    arrays += [np.array(2.5), np.zeros((2, 0)), np.arange(6.0).reshape(2, 3).T]
    found = [torch.Tensor(a) for a in arrays]
    torch.set_default_dtype(torch.float64)
    return [*found, torch.Tensor(np.ones(2, "float32"))]


@program()
def the_old_constructor_shares_memory_of_its_own_dtype(torch: Any) -> Any:
    same, other = np.zeros(3, "float32"), np.zeros(3)
    x, y = torch.Tensor(same), torch.Tensor(other)
    same[0], other[0] = 5, 5
    return x, y


@program()
def the_old_constructor_takes_sizes_as_numpys_integers(torch: Any) -> Any:
    made = [torch.Tensor(np.int64(3)), torch.Tensor(np.array(3)), torch.Tensor(np.uint8(2), 3)]
    return [list(t.shape) for t in made]


@program()
def the_old_constructor_refuses_what_is_no_sequence_of_numbers(torch: Any) -> Any:
    wrong = [np.float64(3), np.bool_(True), True, 1.5, {1: 2}, {1, 2}, object()]
    found = [attempt("data must be a sequence", torch.Tensor, data) for data in wrong]
    return found, attempt("can't convert np.ndarray", torch.Tensor, np.array(["a"]))


@program()
def old_constructors_read_values_as_tensor_does(torch: Any) -> Any:
    one = torch.tensor([1])
    return [
        torch.LongTensor([one, one]),
        torch.FloatTensor(range(3)),
        torch.ByteTensor(bytearray(b"ab")),
        torch.FloatTensor([2**64, 1.0]),
        torch.ones(1).new([torch.tensor(1.5)]),
        attempt("must be real number, not complex", torch.FloatTensor, [1, 1j]),
        attempt("without overflow", torch.IntTensor, [2**40]),
        attempt("must be a sequence", torch.FloatTensor, np.float64(2)),
        attempt("only one element tensors", torch.FloatTensor, [torch.ones(2), torch.ones(2)]),
        attempt("", torch.LongTensor, [float("nan"), 1]),
    ]


@program()
def what_is_no_number(torch: Any) -> Any:
    return [
        attempt("Could not infer dtype of NoneType", torch.tensor, [None]),
        attempt("must be real number, not NoneType", torch.tensor, [None], dtype=torch.float32),
        attempt("'set' object cannot be interpreted as an integer", torch.tensor, {1}, dtype=torch.int64),
        attempt("too many dimensions 'str'", torch.tensor, ["a"]),
        attempt("invalid data type 'str'", torch.tensor, "a"),
        attempt("only integer tensors of a single element", torch.tensor, [torch.tensor([1, 2])] * 2),
        attempt("only one element tensors", torch.tensor, [torch.tensor([1.0, 2])] * 2),
        attempt("only integer tensors", torch.tensor, [torch.tensor(1.5)], dtype=torch.int64),
        torch.tensor([1, 1j], dtype=torch.bool),
    ]


@program()
def a_device_that_is_not_there(torch: Any) -> Any:
    return [
        attempt("Torch not compiled with CUDA enabled", torch.zeros, 2, device="cuda"),
        attempt("Torch not compiled with CUDA enabled", torch.ones(2).to, "cuda:0"),
        attempt("Torch not compiled with CUDA enabled", torch.ones(2).cuda),
        attempt("must not be negative", torch.device, "cuda", -1),
    ]
