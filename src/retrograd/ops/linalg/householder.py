"""Products of Householder reflections: what `geqrf` leaves of an orthogonal matrix.

Reflection i is H_i = I - tau_i * v_i @ v_i^H, where v_i is column i of a matrix below a one on its diagonal. Everything
here is the product Q = H_1 @ H_2 @ … applied to something; Q itself is Q applied to the unit matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.modes import current
from retrograd.core.op import OUT, Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, ShapeError
from retrograd.ops.common import (
    as_value,
    deliver_castable,
    deliver_exact,
    outputs,
    plain,
    zeros_beside,
)
from retrograd.ops.linalg import lapack
from retrograd.ops.linalg.checks import (
    check_batches,
    check_kernel,
    check_same_dtype,
    matrix_argument,
    plus,
)
from retrograd.ops.linalg.matmul import adjoint
from retrograd.ops.register import public
from retrograd.ops.returns import geqrf_result
from retrograd.ops.shape.join import Cat

# -- reflections, of arrays and Tensors alike ----------------------------------------------------------------------


def vector(a: Any, i: int) -> Any:
    """v_i, as a matrix of one column."""
    m = a.shape[-2]
    place = backend_of(plain(a)).arange(m)[:, None]
    dtype = plain(a).dtype
    below, one = as_value((place > i).astype(dtype), a), as_value((place == i).astype(dtype), a)
    return a[..., :, i : i + 1] * below + one


def factor(tau: Any, i: int) -> Any:
    """tau_i, ready to multiply matrices."""
    return tau[..., i : i + 1].reshape((*tau.shape[:-1], 1, 1))


def reflected(v: Any, t: Any, c: Any) -> Any:
    """One reflection of c."""
    return c - (v * t) @ (adjoint(v) @ c)


def steps(a: Any, tau: Any, c: Any, turned: bool) -> list[Any]:
    """C after none, one, … and all reflections of Q @ c, or of Q^H @ c if `turned`."""
    found = [c]
    for i in order(tau, turned):
        t = factor(tau, i)
        found.append(reflected(vector(a, i), t.conj() if turned else t, found[-1]))
    return found


def order(tau: Any, turned: bool) -> list[int]:
    """Which reflection comes first: the last one of Q, the first one of Q^H."""
    places = list(range(tau.shape[-1]))
    return places if turned else places[::-1]


def reflections_gradient(g: Any, a: Any, tau: Any, c: Any, turned: bool) -> tuple[Any, Any, Any]:
    """The gradients of the columns, of tau and of c, from that of Q @ c (or Q^H @ c)."""
    before = steps(a, tau, c, turned)
    places = order(tau, turned)
    columns: dict[int, Any] = {}
    factors: dict[int, Any] = {}
    for step in range(len(places) - 1, -1, -1):
        i = places[step]
        v, t, x = vector(a, i), factor(tau, i), before[step]
        t = t.conj() if turned else t
        seen, back = adjoint(x) @ v, adjoint(g) @ v
        gt = -(adjoint(v) @ g @ seen)
        factors[i] = gt.conj() if turned else gt
        columns[i] = -(g @ seen) * t.conj() - (x @ back) * t
        g = reflected(v, t.conj(), g)
    return columns_gradient(columns, a, g), factors_gradient(factors, tau, g), g


def columns_gradient(found: dict[int, Any], a: Any, g: Any) -> Any:
    """Gradients of single columns as that of the matrix: only what is below the diagonal was used."""
    shape = (*g.shape[:-2], a.shape[-2])
    if not a.shape[-1]:
        return zeros_beside(g, (*shape, 0))
    below = as_value(backend_of(plain(g)).tri(a.shape[-2], a.shape[-1], -1, dtype=plain(g).dtype), g)
    blank = zeros_beside(g, (*shape, 1))
    return Cat(g.ndim - 1).on(*[found.get(i, blank) for i in range(a.shape[-1])]) * below


def factors_gradient(found: dict[int, Any], tau: Any, g: Any) -> Any:
    """Gradients of single factors as that of the vector."""
    if not found:
        return zeros_beside(g, tau.shape)
    return Cat(g.ndim - 1).on(*[found[i] for i in range(tau.shape[-1])])[..., 0, :]


def reflections_tangent(ta: Any, tt: Any, tc: Any, a: Any, tau: Any, c: Any, turned: bool) -> Any:
    """The tangent of Q @ c (or Q^H @ c); missing tangents are None."""
    moved = tc
    before = steps(a, tau, c, turned)
    for i, x in zip(order(tau, turned), before, strict=False):
        v, t = vector(a, i), factor(tau, i)
        t = t.conj() if turned else t
        moved = None if moved is None else reflected(v, t, moved)
        if tt is not None:
            dt = factor(tt, i)
            moved = plus(moved, -((v * (dt.conj() if turned else dt)) @ (adjoint(v) @ x)))
        if ta is not None:
            dv = vector(ta, i) - vector(ta * 0, i)
            moved = plus(moved, -((dv * t) @ (adjoint(v) @ x)) - (v * t) @ (adjoint(dv) @ x))
    return c * 0 if moved is None else moved


# -- ops -----------------------------------------------------------------------------------------------------------


class LinalgHouseholderProduct(Variadic):
    """the first columns of Q, as many as there are in the matrix that holds the reflections"""

    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {"input": "x:0", "tau": "x:1", "result": "out:0"}

    def forward(self, xp: Backend, xs: Any) -> Any:
        return steps(xs[0], xs[1], self.columns(xs[0]), False)[-1]

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return list(reflections_gradient(gs[0], xs[0], xs[1], self.columns(xs[0]), False)[:2])

    def columns(self, a: Any) -> Any:
        """The first columns of the unit matrix, for each matrix of a batch."""
        xp = backend_of(plain(a))
        one = xp.eye(*a.shape[-2:], dtype=plain(a).dtype)
        return as_value(xp.broadcast_to(one, tuple(a.shape)).copy(), a)

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        return reflections_tangent(ts[0], ts[1], None, xs[0], xs[1], self.columns(xs[0]), False)


class Ormqr(Variadic):
    """Q @ C, Q^H @ C, C @ Q or C @ Q^H"""

    params: ClassVar[tuple[str, ...]] = ("left", "turned")
    keeps: ClassVar[int] = X | OUT
    shown: ClassVar[dict[str, str]] = {
        "left": "left", "transpose": "turned", "self": "x:0", "input2": "x:1", "input3": "x:2", "result": "out:0",
    }  # fmt: skip

    def __init__(self, left: bool, turned: bool) -> None:
        self.left = left
        self.turned = turned

    def flipped(self, v: Any) -> Any:
        """What Q is applied to from the left: C @ Q is the adjoint of Q^H @ C^H."""
        return v if self.left or v is None else adjoint(v)

    def forward(self, xp: Backend, xs: Any) -> Any:
        a, tau, c = xs
        return self.flipped(steps(a, tau, self.flipped(c), self.left == self.turned)[-1])

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        a, tau, c = xs
        turned = self.left == self.turned
        ga, gt, gc = reflections_gradient(self.flipped(gs[0]), a, tau, self.flipped(c), turned)
        return [ga, gt, self.flipped(gc)]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        (ta, tt, tc), (a, tau, c) = ts, xs
        turned = self.left == self.turned
        return self.flipped(reflections_tangent(ta, tt, self.flipped(tc), a, tau, self.flipped(c), turned))


class Geqrf(Variadic):
    """R with the reflections below it, and their factors; PyTorch does not differentiate it"""

    def forward(self, xp: Backend, xs: Any) -> Any:
        return lapack.geqrf(xp, xs[0])

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        raise NotImplementedError(
            "the derivative for 'geqrf' is not implemented. Differentiate linalg.qr instead."
        )


# -- functions -----------------------------------------------------------------------------------------------------


def _check_reflections(function: str, a: Tensor, tau: Tensor) -> None:
    if a.array.ndim < 2:
        raise ShapeError(f"{function}: input must have at least 2 dimensions.")
    m, n = a.array.shape[-2:]
    if m < n:
        raise ShapeError(f"{function}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.array.ndim == 0:
        raise DimensionError(
            "Dimension specified as -1 but tensor has no dimensions: tau is a vector, or several"
        )
    if n < tau.array.shape[-1]:
        raise ShapeError(f"{function}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if a.array.ndim - tau.array.ndim != 1:
        raise ShapeError(
            f"{function}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{tau.array.ndim} and input.ndim is equal to {a.array.ndim}"
        )
    if a.array.shape[:-2] != tau.array.shape[:-1]:
        raise ShapeError(
            f"{function}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.array.shape[:-1])}"
        )
    if a.array.dtype != tau.array.dtype:
        raise DtypeError(
            f"{function}: tau dtype {SCALAR_NAMES[tau.array.dtype]} does not match input dtype "
            f"{SCALAR_NAMES[a.array.dtype]}"
        )


@public("linalg.householder_product")
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of the reflections that `geqrf` found.

    >>> import retrograd as rg
    >>> a = rg.tensor([[3.0], [4.0]])
    >>> rg.linalg.householder_product(*rg.geqrf(a)).abs()
    tensor([[0.6000],
            [0.8000]])
    """
    if autocasting_on_cpu():
        return in_float32(householder_product, input, tau, out=out)
    a = matrix_argument("linalg.householder_product", input, "input")
    t = matrix_argument("linalg.householder_product", tau, "tau", 2)
    _check_reflections("torch.linalg.householder_product", a, t)
    check_kernel("orgqr_cpu", a)
    return deliver_castable(
        "torch.linalg.householder_product", apply_n(LinalgHouseholderProduct(), (a, t)), out
    )


@public("orgqr", method=True)
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`linalg.householder_product` under LAPACK's name."""
    if autocasting_on_cpu():
        return in_float32(orgqr, input, input2, out=out)
    matrix_argument("orgqr", input, "input")
    return householder_product(input, input2, out=out)


@public("ormqr", method=True)
def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False, *,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of the orthogonal matrix that `geqrf` found, given by `input` and tau `input2`, with `input3`.

    Args:
        left: whether the orthogonal matrix is the left factor.
        transpose: take its adjoint instead.
    """
    if autocasting_on_cpu():
        return in_float32(ormqr, input, input2, input3, left, transpose, out=out)
    a, t = matrix_argument("ormqr", input, "input"), matrix_argument("ormqr", input2, "tau", 2)
    c = matrix_argument("ormqr", input3, "other", 3)
    check_same_dtype("torch.ormqr", a, t, "input tau")
    check_same_dtype("torch.ormqr", a, c, "input other")
    for name, v in (("input", a), ("other", c)):
        if v.array.ndim < 2:
            raise ShapeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    if t.array.ndim != a.array.ndim - 1:
        raise ShapeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{t.array.ndim} and input.ndim is equal to {a.array.ndim}"
        )
    rows, side = a.array.shape[-2], -2 if left else -1
    if c.array.shape[side] < t.array.shape[-1]:
        raise ShapeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if c.array.shape[side] != rows:
        raise ShapeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if t.array.shape[-1] != min(rows, a.array.shape[-1]):
        raise ShapeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    check_batches(a.array.shape, c.array.shape)
    check_kernel("ormqr_cpu", a)
    return deliver_exact(
        apply_n(Ormqr(bool(left), bool(transpose)), (a, t, c)),
        out,
        "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{wanted} and result has "
        "dtype {given}",
    )


@public("geqrf", method=True)
def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> geqrf_result:
    """A QR factorization as LAPACK leaves it: R with the reflections below its diagonal, and their factors tau."""
    if autocasting_on_cpu():
        return in_float32(geqrf, input, out=out)
    x = matrix_argument("geqrf", input, "input")
    if x.array.ndim < 2:
        raise ShapeError("torch.geqrf: input must have at least 2 dimensions.")
    check_kernel("geqrf_cpu", x)
    if x.array.dtype.kind == "c" and x.requires_grad and current().grad_enabled:
        raise RuntimeError("geqrf does not support automatic differentiation for outputs with complex dtype.")
    a, tau = apply_n(Geqrf(), (x,))
    if out is None:
        return geqrf_result(a, tau)
    first, second = outputs(out, 2)
    tau = deliver_castable("torch.geqrf", tau, second, "tau")
    return geqrf_result(deliver_castable("torch.geqrf", a, first, "a"), tau)
