"""Type promotion: every pair of dtypes, scalars, 0-d tensors, division, comparison, reductions."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program

REAL_KINDS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
KINDS = [*REAL_KINDS, "complex64", "complex128"]
# Half precision with a complex scalar is torch's complex32, which NumPy does not have.
KINDS_WITHOUT_HALF = [kind for kind in KINDS if kind != "float16"]


def of_each_kind(torch: Any, *shape: int, kinds: list[str] = KINDS) -> Any:
    return [torch.ones(shape, dtype=getattr(torch, kind)) for kind in kinds]


@program()
def tensor_with_tensor(torch: Any) -> Any:
    return [[(a + b).dtype for b in of_each_kind(torch, 1)] for a in of_each_kind(torch, 1)]


@program()
def tensor_with_zero_dim_tensor(torch: Any) -> Any:
    tensors = of_each_kind(torch, 2, kinds=KINDS_WITHOUT_HALF)
    return [[(a * b).dtype for b in of_each_kind(torch)] for a in tensors]


@program()
def half_stays_half_with_real_scalars(torch: Any) -> Any:
    x = torch.ones(2, dtype=torch.float16)
    return [(x * b).dtype for b in of_each_kind(torch)[:9]], (x * 2).dtype, (2.5 * x).dtype, (x / 3).dtype


@program()
def zero_dim_with_zero_dim(torch: Any) -> Any:
    return [[(a * b).dtype for b in of_each_kind(torch)] for a in of_each_kind(torch)]


@program()
def tensor_with_python_scalar(torch: Any) -> Any:
    tensors = of_each_kind(torch, 2, kinds=KINDS_WITHOUT_HALF)
    return [[(a * s).dtype for s in (True, 2, 2.5, 1j)] for a in tensors]


@program()
def zero_dim_with_python_scalar(torch: Any) -> Any:
    tensors = of_each_kind(torch, kinds=KINDS_WITHOUT_HALF)
    return [[(a * s).dtype for s in (True, 2, 2.5, 1j)] for a in tensors]


@program()
def python_scalar_reflected(torch: Any) -> Any:
    tensors = of_each_kind(torch, 2, kinds=KINDS_WITHOUT_HALF)
    return [[(s * a).dtype for s in (True, 2, 2.5, 1j)] for a in tensors]


@program()
def true_division(torch: Any) -> Any:
    return [[(a / b).dtype for b in of_each_kind(torch, 1)] for a in of_each_kind(torch, 1)]


@program()
def true_division_by_python_scalar(torch: Any) -> Any:
    tensors = of_each_kind(torch, 2, kinds=KINDS_WITHOUT_HALF)
    return [[(a / s).dtype for s in (2, 2.5, 1j)] for a in tensors]


@program()
def comparison_is_bool(torch: Any) -> Any:
    return [[(a == b).dtype for b in of_each_kind(torch, 1)] for a in of_each_kind(torch, 1)]


@program()
def power(torch: Any) -> Any:
    kinds = of_each_kind(torch, 2)[1:]
    return [[(a**b).dtype for b in kinds] for a in kinds], [[(a**s).dtype for s in (2, 0.5)] for a in kinds]


@program()
def float_functions_of_integers(torch: Any) -> Any:
    return [
        [f(a) for f in (torch.exp, torch.sqrt, torch.sin, torch.sigmoid)] for a in of_each_kind(torch, 1)[:6]
    ]


@program()
def float_functions_follow_the_default_dtype(torch: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    x = torch.tensor([1, 2])
    return x.exp(), x / 2, x * 2.5, x.sqrt()


@program()
def sums_of_integers_are_int64(torch: Any) -> Any:
    return [a.sum() for a in of_each_kind(torch, 3)], [a.prod() for a in of_each_kind(torch, 3)]


@program()
def cumsum_of_integers_is_int64(torch: Any) -> Any:
    return [a.cumsum(0) for a in of_each_kind(torch, 3)]


@program()
def sum_with_a_dtype(torch: Any) -> Any:
    x = torch.ones(3, dtype=torch.float16)
    return x.sum(dtype=torch.float64), torch.ones(3, dtype=torch.int32).sum(dtype=torch.float32)


@program()
def mean_of_integers(torch: Any) -> Any:
    x = torch.ones(3, dtype=torch.int64)
    return attempt("must be either a floating point or complex dtype", x.mean)


@program()
def mean_with_a_dtype(torch: Any) -> Any:
    return torch.tensor([1, 2]).mean(dtype=torch.float64)


@program()
def result_type_function(torch: Any) -> Any:
    x = torch.ones(2, dtype=torch.int32)
    return torch.result_type(x, 1.0), torch.result_type(x, torch.tensor(1.0)), torch.result_type(1, 1.5)


@program()
def promote_types_function(torch: Any) -> Any:
    return torch.promote_types(torch.uint8, torch.int8), torch.promote_types(torch.int64, torch.float16)


@program()
def can_cast_function(torch: Any) -> Any:
    pairs = (torch.float64, torch.float32), (torch.float32, torch.int64), (torch.complex64, torch.float64)
    return [torch.can_cast(a, b) for a, b in pairs]


@program()
def where_promotes(torch: Any) -> Any:
    mask = torch.tensor([True, False])
    i, f = torch.tensor([1, 2]), torch.tensor([1.5, 2.5])
    return (
        torch.where(mask, i, f),
        torch.where(mask, i, 0.5),
        torch.where(mask, 1.0, f),
        torch.where(mask, 1, 2),
    )


@program()
def cat_and_stack_promote(torch: Any) -> Any:
    i, f = torch.tensor([1, 2]), torch.tensor([1.5, 2.5], dtype=torch.float64)
    return torch.cat([i, f]), torch.stack([i, f])


@program()
def maximum_promotes(torch: Any) -> Any:
    i, f = torch.tensor([1, 2]), torch.tensor([1.5, 1.5])
    return torch.maximum(i, f), torch.minimum(f, i)


@program(phrase="expected m1 and m2 to have the same dtype")
def matmul_does_not_promote(torch: Any) -> Any:
    return torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)


@program()
def clamp_promotes(torch: Any) -> Any:
    x = torch.tensor([1, 5])
    return x.clamp(max=2.5), x.clamp(0, 3), torch.tensor([1.0, 5.0]).clamp(max=2)


@program()
def gradients_return_to_each_inputs_dtype(torch: Any) -> Any:
    a = torch.ones(2, dtype=torch.float16, requires_grad=True)
    b = torch.ones(2, dtype=torch.float64, requires_grad=True)
    c = torch.tensor(2.0, requires_grad=True)
    out = a * b * c
    out.sum().backward()
    return out, a.grad, b.grad, c.grad


@program()
def real_times_complex_gives_a_real_gradient(torch: Any) -> Any:
    a = torch.ones(2, requires_grad=True)
    z = torch.tensor([1.0 + 1.0j, 2.0 - 1.0j], requires_grad=True)
    out = a * z
    out.abs().sum().backward()
    return out, a.grad, z.grad


@program()
def integers_and_bools(torch: Any) -> Any:
    b = torch.tensor([True, False])
    return [
        b + b, b * b, b & b, b | ~b, b ^ b,
        attempt("Subtraction, the `-` operator, with two bool tensors is not supported", lambda: b - b),
        attempt("Negation, the `-` operator, on a bool tensor is not supported", lambda: -b),
    ]  # fmt: skip


@program()
def integer_division_and_remainder(torch: Any) -> Any:
    x = torch.tensor([7, -7, 5])
    return x // 2, x % 3, torch.tensor([7.5, -7.5]) // 2, torch.tensor([7.5, -7.5]) % 2, x / 2


@program()
def integer_powers(torch: Any) -> Any:
    x = torch.tensor([2, 3])
    return x**2, x**0.5, 2**x, attempt("Integers to negative integer powers are not allowed", lambda: x**-1)


@program()
def numbers_scaled_by_alpha_stay_weak(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    half = torch.tensor([1.0], dtype=torch.float16)
    return (
        torch.add(x, 1, alpha=2),
        torch.sub(x, 1, alpha=0.5),
        torch.rsub(x, 1, alpha=2),
        torch.add(half, 1.5, alpha=2).dtype,
        torch.add(torch.tensor([1]), torch.tensor([2]), alpha=3),
    )
