"""Complex numbers with PyTorch's conjugate convention: value, gradient and second-order gradient."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program

Z = [1.0 + 2.0j, -0.5 + 0.25j, 0.75 - 1.5j]
W = [0.5 - 1.0j, 2.0 + 0.5j, -1.0 + 0.25j]
M = [[1.0 + 1.0j, 2.0 - 1.0j], [0.5j, -1.0 + 0.25j]]


def on_complex(torch: Any, function: Any, *data: Any) -> Any:
    return derivatives(torch, function, *data, dtype="complex128")


@program()
def arithmetic(torch: Any) -> Any:
    forms = lambda z, w: z + w, lambda z, w: z - w, lambda z, w: z * w, lambda z, w: z / w
    return [on_complex(torch, f, Z, W) for f in forms]


@program()
def arithmetic_with_scalars(torch: Any) -> Any:
    forms = (
        lambda z: z * (1 + 2j),
        lambda z: 2j + z,
        lambda z: 1j / z,
        lambda z: z / (2 - 1j),
        lambda z: z - 1,
    )
    return [on_complex(torch, f, Z) for f in forms]


@program()
def exp_and_log(torch: Any) -> Any:
    return on_complex(torch, torch.exp, Z), on_complex(torch, torch.log, Z)


@program()
def exp_backward_conjugates_its_result(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j], requires_grad=True)
    z.exp().backward(torch.ones(1, dtype=torch.complex64))
    return z.grad, z.exp().detach().conj()


@program()
def trigonometric(torch: Any) -> Any:
    return [on_complex(torch, getattr(torch, n), Z) for n in ("sin", "cos", "sinh", "cosh", "tanh")]


@program()
def sqrt_and_powers(torch: Any) -> Any:
    forms = torch.sqrt, torch.square, lambda z: z**3, lambda z: z**0.5, lambda z: z**-1, torch.reciprocal
    return [on_complex(torch, f, Z) for f in forms]


@program()
def sigmoid(torch: Any) -> Any:
    return on_complex(torch, torch.sigmoid, Z)


@program()
def absolute_value(torch: Any) -> Any:
    return on_complex(torch, torch.abs, Z)


@program()
def absolute_value_at_zero(torch: Any) -> Any:
    z = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    z.abs().sum().backward()
    return z.grad


@program()
def angle_and_sgn(torch: Any) -> Any:
    z = torch.tensor(Z, dtype=torch.complex128)
    return torch.angle(z), torch.sgn(z)


@program()
def conjugate(torch: Any) -> Any:
    return (
        on_complex(torch, torch.conj, Z),
        on_complex(torch, lambda z: z * z.conj(), Z),
        torch.tensor([1.0, 2.0]).conj(),
    )


@program()
def real_and_imaginary_parts(torch: Any) -> Any:
    return on_complex(torch, lambda z: z.real * z.imag, Z), on_complex(torch, torch.real, Z)


@program()
def from_real_and_imaginary_parts(torch: Any) -> Any:
    return derivatives(torch, lambda a, b: torch.complex(a, b) ** 2, [1.0, -2.0], [0.5, 3.0])


@program(phrase="imag is not implemented for tensors with non-complex dtypes")
def imag_of_a_real_tensor(torch: Any) -> Any:
    return torch.ones(2).imag


@program()
def real_of_a_real_tensor(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    return x.real


@program()
def products(torch: Any) -> Any:
    return (
        on_complex(torch, lambda a, b: a @ b, M, M),
        on_complex(torch, torch.dot, Z, W),
        on_complex(torch, torch.mv, M, Z[:2]),
    )


@program()
def reductions(torch: Any) -> Any:
    return [
        on_complex(torch, f, M)
        for f in (torch.sum, torch.mean, torch.prod, lambda z: z.cumsum(0), lambda z: z.norm())
    ]


@program()
def variance_is_real(torch: Any) -> Any:
    z = torch.tensor(Z, dtype=torch.complex128, requires_grad=True)
    v = z.var()
    v.backward()
    return v.detach(), z.grad


@program()
def views_and_indexing(torch: Any) -> Any:
    i = torch.tensor([0, 0, 1])
    forms = (
        lambda z: z.t(),
        lambda z: z[i],
        lambda z: z.reshape(4),
        lambda z: torch.cat([z, z * 2]),
        lambda z: z.diagonal(),
    )
    return [on_complex(torch, f, M) for f in forms]


@program()
def where_and_masks(torch: Any) -> Any:
    mask = torch.tensor([True, False, True])
    return on_complex(torch, lambda z, w: torch.where(mask, z, w), Z, W)


@program()
def real_leaf_of_a_complex_result(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = (x * 1j).exp()
    y.backward(torch.tensor([1.0 + 1.0j, 2.0], dtype=torch.complex128))
    return y.detach(), x.grad


@program()
def complex_constant_times_real_leaf(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    c = torch.tensor([1.0 + 2.0j, 3.0 - 1.0j], dtype=torch.complex128)
    (x * c).abs().sum().backward()
    return x.grad


@program()
def to_complex_and_back(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = x.to(torch.complex64) * (1 + 1j)
    z.real.sum().backward()
    return z.detach(), x.grad


@program(warns="Casting complex values to real discards the imaginary part")
def cast_to_real_warns(torch: Any) -> Any:
    return torch.tensor([1.0 + 2.0j]).to(torch.float32)


@program()
def comparisons(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j, 1.0])
    return z == 1.0, z != z, attempt("not implemented for 'ComplexFloat'", lambda: z < z)


@program()
def refused_functions(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j])
    refused = torch.floor, torch.relu, torch.max, torch.argmax
    return (
        [attempt("", f, z) for f in refused],
        attempt("clamp", z.clamp, 0, 1),
        attempt("", lambda: torch.maximum(z, z)),
    )


@program()
def gradient_descent_direction(torch: Any) -> Any:
    z = torch.tensor([3.0 + 4.0j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    with torch.no_grad():
        step = z - 0.25 * z.grad
    return z.grad, step


@program()
def repr_and_conversion(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j, -0.5j])
    return (
        repr(z),
        z.tolist(),
        z[0].item(),
        z.is_complex(),
        z.real.dtype,
        torch.tensor(1 + 2j, dtype=torch.complex128),
    )
