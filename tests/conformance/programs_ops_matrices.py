"""Factorizations, linear systems and functions of matrices: values, gradients, results with names, errors.

Vectors with a free sign or phase are compared by what does not depend on it.
"""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program

A3 = [[4.0, 1.0, -0.5], [2.0, 5.0, 1.5], [-1.0, 0.5, 3.0]]
C2 = [[3.0 + 1.0j, 0.5 - 0.25j], [1.0 + 0.5j, 2.0 - 1.0j]]
SPD = [[4.0, 1.0, 0.5], [1.0, 5.0, 1.5], [0.5, 1.5, 3.0]]
HERMITIAN = [[4.0, 1.0 + 0.5j], [1.0 - 0.5j, 5.0]]
TALL = [[1.0, 2.0], [-3.0, 4.0], [0.5, -0.5], [2.0, 1.0]]
WIDE = [[1.0, -3.0, 0.5], [2.0, 4.0, -0.5]]
BATCH = [[[2.0, 1.0], [0.5, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]
RIGHT = [[1.0, 2.0], [0.5, -1.0], [-2.0, 3.0]]
INF, NAN = float("inf"), float("nan")
FIELDS = """L U P Q R S V Vh LU pivots info sign logabsdet inverse result solution residuals rank singular_values
            eigenvalues eigenvectors a tau cloned_coefficient"""


def named(result: Any) -> Any:
    """A result with its fields by name, and how it begins when printed."""
    fields = [n for n in FIELDS.split() if hasattr(result, n)]
    return fields, repr(result).split("(")[0], len(result)


# -- Cholesky --------------------------------------------------------------------------------------


@program()
def cholesky_and_its_derivatives(torch: Any) -> Any:
    return [
        derivatives(torch, torch.linalg.cholesky, SPD),
        derivatives(torch, lambda a: torch.linalg.cholesky(a, upper=True), SPD),
        derivatives(torch, torch.linalg.cholesky, HERMITIAN, dtype="complex128"),
        derivatives(torch, lambda a: torch.cholesky_inverse(a.tril()), SPD),
        derivatives(torch, lambda a, b: torch.cholesky_solve(b, a), SPD, RIGHT),
        derivatives(torch, lambda a, b: torch.cholesky_solve(b, a, upper=True), SPD, RIGHT),
    ]


@program()
def cholesky_reads_one_triangle(torch: Any) -> Any:
    a = torch.tensor([[4.0, 99.0], [2.0, 5.0]], requires_grad=True)
    low = torch.linalg.cholesky(a)
    up = torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [99.0, 5.0]]), upper=True)
    return low, up, torch.autograd.grad(low.sum(), a)


@program(phrase=r"not positive-definite \(the leading minor of order 2")
def cholesky_of_what_is_not_positive(torch: Any) -> Any:
    return torch.linalg.cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))


@program()
def cholesky_errors_are_linalg_errors(torch: Any) -> Any:
    found = []
    for a in (torch.zeros(2, 2), torch.full((2, 2), NAN), torch.stack([torch.eye(2), -torch.eye(2)])):
        try:
            torch.linalg.cholesky(a)
        except torch.linalg.LinAlgError as error:
            found.append((isinstance(error, RuntimeError), "Batch element 1" in str(error)))
    low, info = torch.linalg.cholesky_ex(torch.tensor([[4.0, 2, 1], [2, 1, 1], [1, 1, 5]]))
    return (
        found,
        low,
        info,
        attempt("minor of order", torch.linalg.cholesky_ex, -torch.eye(2), check_errors=True),
    )


@program(warns="torch.cholesky is deprecated")
def older_cholesky(torch: Any) -> Any:
    a = torch.tensor(SPD, requires_grad=True)
    out = torch.cholesky(a)
    return out, torch.autograd.grad(out.sum(), a), a.cholesky(upper=True)


# -- LU and QR -------------------------------------------------------------------------------------


@program()
def lu_of_square_tall_and_wide(torch: Any) -> Any:
    return [
        [derivatives(torch, lambda a, i=i: torch.linalg.lu(a)[i], data) for i in (1, 2)]
        + [derivatives(torch, lambda a: torch.linalg.lu_factor(a).LU, data)]
        for data in (A3, TALL, WIDE, BATCH)
    ]


@program()
def lu_of_complex(torch: Any) -> Any:
    return derivatives(torch, lambda a: torch.linalg.lu_factor(a).LU, C2, dtype="complex128")


@program()
def lu_results(torch: Any) -> Any:
    a = torch.tensor(A3, requires_grad=True)
    p, low, up = torch.linalg.lu(a)
    factors = torch.linalg.lu_factor(a)
    unpacked = torch.lu_unpack(*factors)
    return (
        p,
        low,
        up,
        factors,
        named(factors),
        unpacked,
        named(unpacked),
        torch.linalg.lu_factor_ex(torch.zeros(2, 2)),
    )


@program()
def lu_solve_in_all_directions(torch: Any) -> Any:
    pivots = torch.tensor([2, 3, 3], dtype=torch.int32)
    left = [
        derivatives(torch, lambda a, b, t=t: torch.linalg.lu_solve(a, pivots, b, adjoint=t), A3, RIGHT)
        for t in (True, False)
    ]
    right = [
        derivatives(
            torch, lambda a, b, t=t: torch.linalg.lu_solve(a, pivots, b.mT, left=False, adjoint=t), A3, RIGHT
        )
        for t in (True, False)
    ]
    return left, right


@program(warns="torch.lu(_solve)? is deprecated")
def older_lu(torch: Any) -> Any:
    a = torch.tensor(A3)
    lu, pivots = torch.lu(a)
    return lu, pivots, torch.lu_solve(torch.tensor(RIGHT), lu, pivots), a.lu(get_infos=True)


@program()
def lu_errors(torch: Any) -> Any:
    eye, pivots = torch.eye(3), torch.tensor([1, 2, 3], dtype=torch.int32)
    return [
        attempt(r"U\[1,1\] is zero", torch.linalg.lu_factor, torch.zeros(2, 2)),
        attempt("2 or more dimensions", torch.linalg.lu, torch.ones(3)),
        attempt("without pivoting", torch.linalg.lu_factor, eye, pivot=False),
        attempt("Incompatible shapes of A and B", torch.linalg.lu_solve, eye, pivots, torch.ones(2, 2)),
        attempt("torch.int32", torch.linalg.lu_solve, eye, pivots.long(), torch.ones(3, 2)),
        attempt("must be between 1 and", torch.lu_unpack, eye, pivots + 5),
        attempt("not implemented for 'Long'", torch.linalg.lu, torch.ones(2, 2, dtype=torch.int64)),
    ]


@program()
def qr_of_square_tall_and_wide(torch: Any) -> Any:
    return [
        [derivatives(torch, lambda a, i=i: torch.linalg.qr(a)[i], data) for i in (0, 1)]
        for data in (A3, TALL, WIDE, BATCH)
    ]


@program()
def qr_of_complex(torch: Any) -> Any:
    return [derivatives(torch, lambda a, i=i: torch.linalg.qr(a)[i], C2, dtype="complex128") for i in (0, 1)]


@program()
def qr_modes(torch: Any) -> Any:
    a = torch.tensor(TALL, requires_grad=True)
    complete, only_r = torch.linalg.qr(a, "complete"), torch.linalg.qr(a, mode="r")
    return [
        [t.detach().abs() for t in complete], only_r, named(only_r),
        attempt("not differentiable when mode='complete'", complete.R.sum().backward),
        attempt("depends on Q", only_r.R.sum().backward),
        attempt("unrecognized mode", torch.linalg.qr, a, "x"),
    ]  # fmt: skip


@program()
def reflections(torch: Any) -> Any:
    tau = [0.5, -0.75]
    return [
        derivatives(torch, torch.linalg.householder_product, TALL, tau),
        derivatives(torch, lambda a, t, c: torch.ormqr(a, t, c), TALL, tau, TALL),
        derivatives(torch, lambda a, t, c: a.ormqr(t, c.mT, left=False, transpose=True), TALL, tau, TALL),
        torch.geqrf(torch.tensor(TALL)), named(torch.geqrf(torch.tensor(TALL))),
    ]  # fmt: skip


@program(phrase="derivative for 'geqrf' is not implemented")
def geqrf_has_no_derivative(torch: Any) -> Any:
    torch.geqrf(torch.tensor(TALL, requires_grad=True)).a.sum().backward()


# -- eigenvalues and singular values ---------------------------------------------------------------


@program()
def eigenvalues_of_symmetric(torch: Any) -> Any:
    return [
        derivatives(torch, torch.linalg.eigvalsh, SPD),
        derivatives(torch, lambda a: torch.linalg.eigvalsh(a, UPLO="U"), SPD),
        derivatives(torch, lambda a: torch.linalg.eigh(a).eigenvectors ** 2, SPD),
        derivatives(torch, lambda a: torch.linalg.eigh(a).eigenvectors.abs(), HERMITIAN, dtype="complex128"),
        derivatives(torch, torch.linalg.eigvalsh, HERMITIAN, dtype="complex128"),
    ]


@program()
def eigh_reads_one_triangle(torch: Any) -> Any:
    a = torch.tensor([[1.0, 99.0], [2.0, 3.0]], requires_grad=True)
    values = torch.linalg.eigh(a).eigenvalues
    (grad,) = torch.autograd.grad(values[0], a)
    return values, grad, torch.linalg.eigvalsh(a.detach(), "U"), named(torch.linalg.eigh(a))


@program()
def eigenvalues_of_any_square(torch: Any) -> Any:
    turn = [[1.0, -2.0], [2.0, 1.5]]
    return [
        derivatives(torch, lambda a: (torch.linalg.eigvals(a) ** 3).sum(), A3),
        derivatives(torch, lambda a: (torch.linalg.eig(a).eigenvalues ** 3).sum(), C2, dtype="complex128"),
        derivatives(torch, lambda a: torch.linalg.eig(a).eigenvectors.abs().sum(-1), turn),
        named(torch.linalg.eig(torch.eye(2))), torch.linalg.eigvals(torch.eye(2)),
    ]  # fmt: skip


@program()
def losses_that_depend_on_phases_are_refused(torch: Any) -> Any:
    a = torch.tensor(C2, dtype=torch.complex128, requires_grad=True)
    u = torch.linalg.svd(a).U
    v = torch.linalg.eig(a).eigenvectors
    w = torch.linalg.eigh(a + a.mH).eigenvectors
    return [
        attempt("specified up to multiplication by e", torch.autograd.grad, (u * u[0, 0]).imag.sum(), a),
        attempt("specified up to multiplication by e", torch.autograd.grad, (v * (2 + 1j)).imag.sum(), a),
        attempt("specified up to multiplication by e", torch.autograd.grad, (w * (2 + 1j)).imag.sum(), a),
    ]


@program()
def singular_values(torch: Any) -> Any:
    return [
        [
            derivatives(torch, torch.linalg.svdvals, data),
            derivatives(torch, lambda a: torch.linalg.svd(a, full_matrices=False).U.square(), data),
            derivatives(torch, lambda a: torch.linalg.svd(a, full_matrices=False).Vh.square(), data),
        ]
        for data in (A3, TALL, WIDE, BATCH)
    ]


@program()
def singular_values_of_complex(torch: Any) -> Any:
    def polar(a: Any) -> Any:
        u, s, vh = torch.linalg.svd(a)
        return (u * s.square()) @ vh

    return derivatives(torch, polar, C2, dtype="complex128"), derivatives(
        torch, lambda a: torch.linalg.svd(a).U.abs(), C2, dtype="complex128"
    )


@program()
def full_singular_vectors_have_the_gradient_of_the_first(torch: Any) -> Any:
    a = torch.tensor(TALL, dtype=torch.float64, requires_grad=True)
    u, s, vh = torch.linalg.svd(a)
    return [t.shape for t in (u, s, vh)], torch.autograd.grad(u[:, :2].square().sum(0)[0] + (s * 2).sum(), a)


@program()
def older_svd(torch: Any) -> Any:
    a = torch.tensor(TALL, dtype=torch.float64, requires_grad=True)
    u, s, v = a.svd()
    empty = torch.svd(a, compute_uv=False)
    return (u * s) @ v.mT, v.grad_fn, named(torch.svd(a)), empty, torch.autograd.grad(s.sum(), a)


@program()
def spectra_of_nothing_and_of_nan(torch: Any) -> Any:
    bad = torch.full((2, 2), NAN)
    return [
        torch.linalg.svd(torch.ones(0, 3)), torch.linalg.eigh(torch.ones(0, 0)),
        torch.linalg.eig(torch.ones(0, 2, 2)),
        attempt("non-finite values", torch.linalg.svd, bad),
        attempt("failed to converge", torch.linalg.eigh, torch.full((3, 3), NAN)),
        attempt("infs or NaNs", torch.linalg.eig, bad), attempt("'L' or 'U'", torch.linalg.eigh, bad, "x"),
        attempt("square matrices", torch.linalg.eig, torch.ones(2, 3)),
        attempt("driver", torch.linalg.svd, torch.eye(2), driver="gesvd"),
    ]  # fmt: skip


# -- systems ---------------------------------------------------------------------------------------


@program()
def solve_systems(torch: Any) -> Any:
    return [
        derivatives(torch, torch.linalg.solve, A3, RIGHT),
        derivatives(torch, torch.linalg.solve, A3, [1.0, 2.0, 3.0]),
        derivatives(torch, lambda a, b: torch.linalg.solve(a, b.mT, left=False), A3, RIGHT),
        derivatives(torch, torch.linalg.solve, BATCH, [[1.0, 2.0], [3.0, 4.0]]),
        derivatives(torch, torch.linalg.solve, BATCH, [[[1.0], [2.0]]]),
        derivatives(torch, torch.linalg.solve, C2, C2, dtype="complex128"),
    ]


@program()
def solve_results_and_errors(torch: Any) -> Any:
    eye, zero = torch.eye(3), torch.zeros(3, 3)
    return [
        torch.linalg.solve_ex(eye, eye), named(torch.linalg.solve_ex(eye, eye)),
        torch.linalg.solve_ex(zero, eye).info,
        torch.linalg.solve(torch.ones(0, 0), torch.ones(0, 2)),
        attempt("matrix is singular", torch.linalg.solve, zero, eye),
        attempt("Batch element 1.*singular", torch.linalg.solve, torch.stack([eye, zero]), eye),
        attempt("Incompatible shapes of A and B for the equation AX = B", torch.linalg.solve, eye, torch.ones(2, 2)),
        attempt("XA = B", torch.linalg.solve, eye, torch.ones(3, 2), left=False),
        attempt("same dtype", torch.linalg.solve, eye, eye.double()),
        attempt("at least 2 dimensions", torch.linalg.solve, torch.ones(3), eye),
        attempt("must match the size", torch.linalg.solve, eye.expand(2, 3, 3), torch.ones(4, 3, 2)),
    ]  # fmt: skip


@program()
def triangular_systems(torch: Any) -> Any:
    def solved(a: Any, b: Any, upper: bool, unit: bool) -> Any:
        return torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)

    kinds = [(upper, unit) for upper in (True, False) for unit in (True, False)]
    return [
        *(derivatives(torch, lambda a, b, k=k: solved(a, b, *k), A3, RIGHT) for k in kinds),
        derivatives(
            torch, lambda a, b: torch.linalg.solve_triangular(a, b.mT, upper=True, left=False), A3, RIGHT
        ),
    ]


@program(warns="torch.triangular_solve is deprecated")
def older_triangular_systems(torch: Any) -> Any:
    b, a = torch.tensor(RIGHT), torch.tensor(A3)
    x = torch.triangular_solve(b, a)
    return (
        x,
        named(x),
        b.triangular_solve(a, transpose=True),
        torch.triangular_solve(b, a, False, unitriangular=True),
    )


@program()
def singular_triangular_systems_divide_by_zero(torch: Any) -> Any:
    a = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    return torch.linalg.solve_triangular(a, torch.ones(2, 1) * 2, upper=False), attempt(
        "at least 2 dimensions", torch.linalg.solve_triangular, a, torch.ones(2), upper=False
    )


@program()
def inverses(torch: Any) -> Any:
    return [
        derivatives(torch, torch.linalg.inv, A3), derivatives(torch, torch.inverse, BATCH),
        derivatives(torch, torch.linalg.inv, C2, dtype="complex128"),
        torch.linalg.inv_ex(torch.eye(2)), named(torch.linalg.inv_ex(torch.eye(2))),
        torch.linalg.inv_ex(torch.zeros(2, 2)).info, torch.linalg.inv(torch.ones(0, 0)),
        attempt("diagonal element 2 is zero.*singular", torch.linalg.inv, torch.ones(2, 2)),
        attempt("square matrices, but they are 2 by 3", torch.inverse, torch.ones(2, 3)),
        attempt("floating point or complex tensor.*Long", torch.linalg.inv, torch.ones(2, 2, dtype=torch.int64)),
        attempt("Low precision", torch.linalg.inv, torch.eye(2).half()),
    ]  # fmt: skip


@program()
def determinants(torch: Any) -> Any:
    return [
        derivatives(torch, torch.linalg.det, A3), derivatives(torch, torch.det, BATCH),
        derivatives(torch, torch.linalg.det, C2, dtype="complex128"),
        derivatives(torch, lambda a: torch.linalg.slogdet(a).logabsdet, A3),
        derivatives(torch, lambda a: torch.slogdet(a)[0], C2, dtype="complex128"),
        derivatives(torch, torch.logdet, SPD), derivatives(torch, torch.logdet, C2, dtype="complex128"),
    ]  # fmt: skip


@program()
def determinants_of_special_matrices(torch: Any) -> Any:
    kinds = torch.zeros(2, 2), torch.full((2, 2), NAN), torch.ones(0, 0), torch.ones(0, 2, 2), -torch.eye(3)
    return [(torch.linalg.det(a), torch.linalg.slogdet(a), torch.logdet(a)) for a in kinds], named(
        torch.slogdet(torch.eye(2))
    )


@program()
def a_singular_determinant_has_a_gradient(torch: Any) -> Any:
    a = torch.diag(torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64)).requires_grad_()
    (first,) = torch.autograd.grad(torch.linalg.det(a), a, create_graph=True)
    return first.detach(), torch.autograd.grad(first.sum(), a)


@program()
def pseudo_inverses(torch: Any) -> Any:
    return [
        *(derivatives(torch, torch.linalg.pinv, data) for data in (A3, TALL, WIDE, BATCH)),
        derivatives(torch, torch.linalg.pinv, C2, dtype="complex128"),
        derivatives(torch, lambda a: torch.linalg.pinv(a, hermitian=True), SPD),
        derivatives(torch, torch.pinverse, TALL),
        torch.linalg.pinv(torch.diag(torch.tensor([1.0, 0.4, 0.2])), rtol=0.3),
        torch.linalg.pinv(torch.eye(2).expand(2, 2, 2), atol=torch.tensor([0.0, 3.0])),
        attempt("2 or more dimensions of float", torch.linalg.pinv, torch.ones(2, 2, dtype=torch.int64)),
    ]  # fmt: skip


@program()
def least_squares(torch: Any) -> Any:
    def residuals(a: Any, b: Any) -> Any:
        return torch.linalg.lstsq(a, b, driver="gels").residuals

    a, b = torch.tensor(TALL, dtype=torch.float64), torch.tensor(TALL, dtype=torch.float64).flip(0)
    return [
        derivatives(torch, lambda a, b: torch.linalg.lstsq(a, b).solution, TALL, TALL),
        derivatives(torch, lambda a, b: torch.linalg.lstsq(a, b).solution, WIDE, [1.0, 2.0]),
        derivatives(torch, residuals, TALL, [[1.0], [2.0], [-1.0], [0.5]]),
        [torch.linalg.lstsq(a, b, driver=d) for d in (None, "gels", "gelsd", "gelss", "gelsy")],
        named(torch.linalg.lstsq(a, b)),
        attempt("driver. should be one of", torch.linalg.lstsq, a, b, driver="x"),
        attempt("should match other.size", torch.linalg.lstsq, a, b[:2]),
        attempt("same dtype", torch.linalg.lstsq, a, b.float()),
    ]  # fmt: skip


@program()
def a_few_eigenvalues(torch: Any) -> Any:
    q = torch.tensor(
        [[((3 * i + 5 * j * j) % 7) / 7.0 + (i == j) * (i + 1) for j in range(9)] for i in range(9)]
    )
    q = q.double()
    a = (q @ q.T).requires_grad_()
    b = torch.eye(9, dtype=torch.float64) * torch.arange(1.0, 10.0).double()
    torch.manual_seed(0)
    found = []
    for options in (
        {"k": 2},
        {"k": 2, "largest": False},
        {"k": 2, "B": b},
        {"X": torch.eye(9).double()[:, :3]},
        {},
    ):
        values, vectors = torch.lobpcg(a, niter=1000, tol=1e-12, **options)
        found.append((values.detach(), vectors.detach().abs()))
    values, vectors = torch.lobpcg(a, k=2, niter=1000, tol=1e-12)
    (values.sum() + (vectors**2)[0].sum()).backward()
    words = "is not applicable when the number of A rows"
    return (
        found,
        (a.grad + a.grad.T) / 2,
        attempt(words, torch.lobpcg, a, k=5),
        attempt("square", torch.lobpcg, q[:4]),
    )
