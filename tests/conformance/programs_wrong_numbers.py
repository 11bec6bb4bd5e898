"""Numbers that are out of a range, and arguments that do not fit: what PyTorch's own tests expect to be refused."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def ranges_of_random_numbers(torch: Any) -> Any:
    t, inf = torch.empty(4), float("inf")
    small = torch.empty(500, dtype=torch.int8).random_(-5, None)
    return (
        attempt("to is out of bounds for", t.uniform_, 0, 1e60),
        attempt("from is out of bounds for", t.uniform_, -inf, 0),
        attempt("uniform_ expects to-from <=", t.uniform_, -3e38, 3e38),
        attempt(
            "standard deviation to be non-complex", torch.normal, t, torch.ones(4, dtype=torch.complex64)
        ),
        attempt("n cannot be greater than 2049 for Half type", torch.randperm, 3000, dtype=torch.float16),
        (bool((small >= -5).all()), bool((small > 50).any()), torch.empty(3).random_(0, to=1)),
    )


@program()
def sizes_and_numbers_that_do_not_fit(torch: Any) -> Any:
    x, i = torch.ones(2), torch.tensor([5])
    return (
        attempt("cannot be converted to type int64_t without overflow", torch.arange, 2**63),
        attempt("inferred dtype c10::complex<float>", torch.linspace, 0, 1j, 3, dtype=torch.float32),
        attempt("unsupported memory format Preserve", torch.empty, 2, memory_format=torch.preserve_format),
        attempt("invalid dtype object", torch.set_default_dtype, "no dtype"),
        attempt("repeats can not be negative", torch.repeat_interleave, x, torch.tensor([1, -2])),
        attempt("got repeats.size\\(0\\) = 3", torch.repeat_interleave, x, torch.tensor([1, 1, 1]), 0),
        attempt("expected 'shape' to be int or sequence of ints", torch.unravel_index, i, 2.0),
        attempt("expected 'shape' sequence to only contain ints", torch.unravel_index, i, (2, 3.0)),
        attempt("argument 'dim' \\(position 1\\) must be int", x.unflatten, "A", (1, 2)),
        attempt("argument 'sizes' \\(position 2\\) must be tuple of ints", x.unflatten, 0, "a"),
        attempt("Expected dtype int32/int64 for index", torch.take_along_dim, x, x),
        attempt("received an invalid combination of arguments", torch.LongTensor, (6, 0), 1, 1, 0),
        attempt("invalid data type 'str'", torch.Tensor, "a"),
        attempt("index_add_\\(\\): self \\(Float\\) and source", x.index_add_, 0, i, torch.ones(1).double()),
        attempt("same dtype, but got \\(self\\) Float", x.index_copy_, 0, i, torch.ones(1).double()),
        attempt("got Float for the destination and", x.index_put_, (i,), torch.ones(1).double()),
        attempt("a tensor with dtype Float", torch.where, x, x, x),
        attempt("expected dtype float for `end` but got dtype double", torch.lerp, x, x.double(), 0.5),
        attempt("torch.sign is not intended to support complex numbers", torch.sign, x + 1j),
        attempt(
            "must have same number of batches", torch.ones(2, 2).addbmm, x.expand(2, 2, 2), x.expand(3, 2, 2)
        ),
        attempt("must match the size", torch.linalg.lstsq, torch.ones(2, 3, 2), torch.ones(3, 3, 2)),
        attempt("part of any ellipsis \\(\\.\\.\\.\\)", torch.einsum, "i,i->..", x, x),
        attempt("argument 'mode' \\(position 1\\) must be bool", torch.use_deterministic_algorithms, 1),
    )


@program()
def norms_of_empty_matrices(torch: Any) -> Any:
    norm, inf = torch.linalg.matrix_norm, float("inf")
    return (
        [norm(torch.ones(shape), p) for shape in ((0, 0), (2, 0, 0)) for p in (1, 2, inf, "nuc", "fro")],
        norm(torch.ones(3, 0), 1, keepdim=True),
        attempt("non-zero size", norm, torch.ones(0, 0), -1),
    )


@program()
def memory_that_nobody_has_written(torch: Any) -> Any:
    torch.use_deterministic_algorithms(True)
    try:
        return (
            torch.empty(2),
            torch.empty(2, dtype=torch.int64),
            torch.empty(1, dtype=torch.bool),
            torch.empty_like(torch.ones(2)),
            torch.ones(2).new_empty(1),
            torch.empty_strided((2,), (1,)),
            torch.empty_permuted((1, 2), (1, 0)),
            torch.ones(2).resize_(4),
        )
    finally:
        torch.use_deterministic_algorithms(False)


@program()
def overlaps_within_a_tensor(torch: Any) -> Any:
    x = torch.ones(20)
    views = (
        x, x[:1].expand(4), x.as_strided((3, 4), (4, 1)), x.as_strided((2, 3), (1, 1)), x[::2],
    )  # fmt: skip
    return [torch._debug_has_internal_overlap(v) for v in views]


@program()
def tensors_that_would_lose_their_gradient(torch: Any) -> Any:
    x, n = torch.ones(2, 2), torch.tensor(1.0, requires_grad=True)
    phrase = "must be (Number|float), not Tensor"
    return (
        attempt(phrase, torch.isclose, x, x, atol=n),
        attempt(phrase, torch.allclose, x, x, rtol=n),
        attempt(phrase, torch.norm, x, n),
        attempt(phrase, torch.linalg.vector_norm, x, n),
        attempt(phrase, torch.cdist, x, x, n),
        attempt(phrase, torch.dist, x, x, n),
        attempt(phrase, torch.histc, x, 3, 0, n),
    )


@program()
def sizes_that_are_too_large_or_negative(torch: Any) -> Any:
    x = torch.empty((), dtype=torch.float64)
    return (
        attempt("Storage size calculation overflowed", x.resize_, [2, 4, 2**29, 2**29]),
        attempt("overflow", torch.arange, 1.175494351e-38, 3.402823466e38),
        attempt("Storage size calculation overflowed", torch.empty, 2**62, 2**62),
        attempt("Stride calculation overflowed", torch.empty, 0, 4, 2**61),
        attempt("Trying to create tensor with negative dimension -1", torch.Tensor, 2, -1),
        attempt("Dimension specified as 0 but tensor has no dimensions", torch.tensor(1.0).size, 0),
        attempt("Dimension out of range", torch.ones(2).stride, 2),
        attempt("dim must be a 2-tuple. Got 0 1 2", torch.norm, torch.ones(2, 2, 2), "nuc"),
    )


@program()
def data_of_another_kind(torch: Any) -> Any:
    x, y = torch.ones(2), torch.ones(2, device="meta")
    return [attempt("have incompatible tensor type", setattr, a, "data", b) for a, b in ((x, y), (y, x))]
