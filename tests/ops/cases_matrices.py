"""Rows of factorizations, linear systems, determinants and other functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.cases_linalg import quiet
from tests.ops.samples import Array, Domain, Sample, call_with, each, nonzero

# -- matrices that are far from singular, and functions that do not depend on signs and phases ----------------------


def dominant(n: int) -> Domain:
    """Square matrices of side n with a large diagonal: invertible, and positive-definite if read as Hermitian."""

    def domain(rng: np.random.Generator, count: int) -> Array:
        values = nonzero(rng, count) * 0.5
        return (
            values
            if count % (n * n)
            else (values.reshape(-1, n, n) + 4 * np.diag(1.0 + np.arange(n))).ravel()
        )

    return domain


def mh(a: Array) -> Array:
    return a.swapaxes(-2, -1).conj()


def positive_definite(a: Any) -> Any:
    """A Hermitian matrix of any square one."""
    return a @ a.mH + rg.Tensor(np.eye(a.shape[-1], dtype=a.dtype), share=True).to(a.device)


def triangle(a: Array, upper: bool, unit: bool = False) -> Array:
    a = np.triu(a) if upper else np.tril(a)
    eye = np.eye(a.shape[-1], dtype=bool)
    return np.where(eye, 1, a) if unit else a


SQUARE = (call_with((3, 3)), call_with((2, 3, 3)), call_with((0, 0)), call_with((0, 3, 3)),
          call_with((3, 3), layout="transposed"))  # fmt: skip
ANY = (call_with((3, 3)), call_with((4, 2)), call_with((2, 4)), call_with((2, 3, 2)), call_with((0, 2)))
BIG = dominant(3)
HERMITIAN = {"numeric": "the gradient is that of a Hermitian matrix, though one triangle is read"}
COMPOSED = {"jvp": "made of several operations"}
OTHER_SIGNS = {"numpy": "signs and phases are a matter of choice", **COMPOSED}
PHASES = {"complex": "the gradient of single elements is refused: phases are a matter of choice"}


# -- Cholesky --------------------------------------------------------------------------------------


def cholesky_np(a: Array, upper: bool = False) -> Array:
    return np.linalg.cholesky(a, upper=upper)


CHOLESKY = (
    Case("linalg.cholesky", (*SQUARE, call_with((3, 3), upper=True)), cholesky_np, BIG, HERMITIAN),
    Case("linalg.cholesky", SQUARE, lambda a: np.linalg.cholesky(a @ mh(a) + np.eye(a.shape[-1])), form="of_product",
         call=lambda a: rg.linalg.cholesky(positive_definite(a)), excuses=COMPOSED),
    Case("linalg.cholesky", SQUARE, lambda a: mh(np.linalg.cholesky(a @ mh(a) + np.eye(a.shape[-1]))), form="upper",
         call=lambda a: rg.linalg.cholesky(positive_definite(a), upper=True), excuses=COMPOSED),
    Case("linalg.cholesky_ex", SQUARE, lambda a: (np.linalg.cholesky(a), np.zeros(a.shape[:-2])), BIG, HERMITIAN),
    Case("cholesky", SQUARE, cholesky_np, BIG, HERMITIAN, call=quiet(rg.cholesky)),
    Case("cholesky_inverse", (*SQUARE, call_with((3, 3), upper=True)),
         lambda a, upper=False: np.linalg.inv(mh(np.triu(a)) @ np.triu(a) if upper else np.tril(a) @ mh(np.tril(a))),
         BIG, {**HERMITIAN, "jvp": "PyTorch's gradient is that of a full matrix",
               "complex": "the diagonal of a factor is real"}),
    Case("cholesky_inverse", SQUARE, lambda a: np.linalg.inv(np.tril(a) @ mh(np.tril(a))), BIG,
         {**COMPOSED, "complex": "the diagonal of a factor is real"}, form="of_triangle",
         call=lambda a: rg.cholesky_inverse(a.tril())),
    Case("cholesky_solve", (call_with((3, 2), (3, 3)), call_with((2, 3, 1), (3, 3)), call_with((0, 2), (0, 0))),
         lambda b, a: np.linalg.solve(np.tril(a) @ mh(np.tril(a)), b), (nonzero, BIG), form="of_triangle",
         call=lambda b, a: rg.cholesky_solve(b, a.tril()), excuses=COMPOSED),
    Case("cholesky_solve", (call_with((3, 2), (3, 3), upper=True),),
         lambda b, a, upper: np.linalg.solve(mh(np.triu(a)) @ np.triu(a), b), (nonzero, BIG),
         {"numeric": "PyTorch's gradient is that of a full matrix", "jvp": "and so is the tangent"}, form="upper"),
)  # fmt: skip

# -- LU and QR -------------------------------------------------------------------------------------


def factored(x: rg.Tensor) -> Any:
    """A matrix as if it held L and U, with pivots."""
    n = x.shape[-1]
    pivots = np.broadcast_to(np.array([2, 3, 3], np.int32)[:n], (*x.shape[:-2], n))
    return x, rg.Tensor(pivots.copy(), share=True).to(x.device)


def product(a: Array) -> Array:
    """The matrix whose L, U and pivots are in `a`."""
    n = a.shape[-1]
    order = np.array([2, 0, 1])[:n]  # where rows 0, 1, 2 come from by the pivots 2, 3, 3
    whole = (np.tril(a, -1) + np.eye(n)) @ np.triu(a)
    return whole[..., order, :] if n == 3 else whole


def solved(b: Array, a: Array, left: bool = True, adjoint: bool = False) -> Array:
    a = mh(product(a)) if adjoint else product(a)
    return np.linalg.solve(a, b) if left else mh(np.linalg.solve(mh(a), mh(b)))


NOT_NUMPY = {"numpy": "NumPy has none"}
LU = (
    Case("linalg.lu", ANY, call=lambda a: rg.linalg.lu(a)[1:],
         excuses={**NOT_NUMPY, "jvp": "the formula needs the pivots, which are not among the results; see lu_factor"}),
    Case("linalg.lu_factor", ANY, excuses=NOT_NUMPY),
    Case("linalg.lu_factor_ex", ANY, excuses=NOT_NUMPY),
    Case("lu", ANY, call=quiet(rg.lu), excuses=NOT_NUMPY),
    Case("lu_unpack", (call_with((3, 3)), call_with((2, 3, 3))), lambda a: (np.tril(a, -1) + np.eye(3), np.triu(a)),
         call=lambda a: rg.lu_unpack(*factored(a))[1:]),
    *(Case("linalg.lu_solve", (call_with((3, 2) if left else (2, 3), (3, 3)), call_with((2, 3, 3), (3, 3)),
                               call_with((3, 3), (2, 3, 3))),
           lambda b, a, left=left, turned=turned: solved(b, a, left, turned), (nonzero, BIG),
           {"jvp": "the pivots are an input without a tangent"},
           call=lambda b, a, left=left, turned=turned: rg.linalg.lu_solve(*factored(a), b, left=left, adjoint=turned),
           form=f"{'left' if left else 'right'}{'_adjoint' if turned else ''}")
      for left in (True, False) for turned in (True, False)),
    Case("lu_solve", (call_with((3, 2), (3, 3)),), solved, (nonzero, BIG),
         {"jvp": "the pivots are an input without a tangent"}, call=quiet(lambda b, a: rg.lu_solve(b, *factored(a)))),
)  # fmt: skip

QR = (
    Case("linalg.qr", ANY, lambda a: tuple(np.linalg.qr(a)), call=lambda a: rg.linalg.qr(a)),
    Case("linalg.qr", (call_with((3, 3)), call_with((2, 4))), lambda a: tuple(np.linalg.qr(a, "complete")),
         call=lambda a: rg.linalg.qr(a, "complete"), form="complete"),
    Case("qr", ANY, lambda a: tuple(np.linalg.qr(a)), call=quiet(rg.qr)),
    Case("linalg.householder_product", (call_with((3, 3), (3,)), call_with((4, 2), (2,)), call_with((4, 3), (2,)),
                                        call_with((2, 3, 2), (2, 2)), call_with((3, 0), (0,))), excuses=NOT_NUMPY),
    Case("orgqr", (call_with((4, 2), (2,)),), excuses=NOT_NUMPY),
    *(Case("ormqr", (call_with((4, 2), (2,), (4, 3) if left else (3, 4), left=left, transpose=turned),
                     call_with((2, 3, 3), (2, 3), (2, 3, 3), left=left, transpose=turned)), excuses=NOT_NUMPY,
           form=f"{'left' if left else 'right'}{'_adjoint' if turned else ''}")
      for left in (True, False) for turned in (True, False)),
)  # fmt: skip

# -- eigenvalues and singular values ---------------------------------------------------------------


def eigh_invariant(a: Any) -> Any:
    values, vectors = rg.linalg.eigh(positive_definite(a))
    return values, vectors.abs() ** 2, (vectors * values.sqrt().unsqueeze(-2)) @ vectors.mH


def eig_invariant(a: Any) -> Any:
    values, vectors = rg.linalg.eig(a)
    return (values**2).sum(-1), vectors.abs().sum(-1), (vectors.mH @ vectors).abs().sum((-2, -1))


def lobpcg_invariant(a: Any) -> Any:
    values, vectors = rg.lobpcg(positive_definite(a))
    return values, vectors.abs() ** 2


def svd_invariant(a: Any, full: bool = False) -> Any:
    u, s, vh = rg.linalg.svd(a, full)
    u, vh = u[..., :, : s.shape[-1]], vh[..., : s.shape[-1], :]
    return s, u.abs() ** 2, u @ vh, (u * (s**2).unsqueeze(-2)) @ vh


def old_svd(a: Any) -> Any:
    u, s, v = rg.svd(a)
    return (u * s.unsqueeze(-2) ** 3) @ v.mH


def drawn(function: Any, *args: Any) -> Any:
    """`whole` of a function that draws at random: always the same numbers, so that differences of it are smooth."""
    rg.manual_seed(0)
    return whole(function(*args))


def whole(factors: Any) -> Any:
    """The matrix that has these singular vectors and values."""
    u, s, v = factors
    return (u * s.unsqueeze(-2)) @ v.mH


FULL = tuple(s for s in ANY if 0 not in s.shapes[0])
SPECTRAL = (
    Case("linalg.eigvalsh", (*SQUARE, *each(SQUARE[:1], {"UPLO": "U"})),
         lambda a, UPLO="L": np.linalg.eigvalsh(a, UPLO), BIG, {**HERMITIAN, "jvp": "one of two outputs"}),
    Case("linalg.eigvalsh", SQUARE, lambda a: np.linalg.eigvalsh(a @ mh(a) + np.eye(a.shape[-1])), form="of_product",
         call=lambda a: rg.linalg.eigvalsh(positive_definite(a)), excuses=COMPOSED),
    Case("linalg.eigh", SQUARE, lambda a: tuple(np.linalg.eigh(a)), BIG, {**HERMITIAN, **PHASES},
         call=lambda a: rg.linalg.eigh(a)),
    Case("linalg.eigh", SQUARE[:2], call=eigh_invariant, excuses=OTHER_SIGNS, form="invariant"),
    Case("linalg.eig", SQUARE[:2], call=eig_invariant, excuses=OTHER_SIGNS, form="invariant"),
    Case("linalg.eigvals", SQUARE, lambda a: (np.linalg.eigvals(a) ** 3).sum(-1), excuses=COMPOSED,
         call=lambda a: (rg.linalg.eigvals(a) ** 3).sum(-1)),
    Case("linalg.svdvals", ANY, lambda a: np.linalg.svd(a, compute_uv=False),
         excuses={"jvp": "one of three outputs"}),
    Case("linalg.svd", FULL, lambda a: tuple(np.linalg.svd(a, False)), excuses=PHASES,
         call=lambda a: rg.linalg.svd(a, False)),
    Case("linalg.svd", FULL, call=svd_invariant, excuses=OTHER_SIGNS, form="invariant"),
    Case("linalg.svd", FULL, call=lambda a: svd_invariant(a, True), excuses=OTHER_SIGNS, form="full"),
    Case("svd", FULL, call=old_svd, excuses=OTHER_SIGNS),
    Case("lobpcg", SQUARE[:2], call=lobpcg_invariant, excuses=OTHER_SIGNS),
    Case("svd_lowrank", FULL, lambda a: a, call=lambda a: drawn(rg.svd_lowrank, a, min(a.shape[-2:])), excuses=COMPOSED),
    Case("pca_lowrank", (call_with((4, 2)), call_with((2, 4, 3))), lambda a: a - a.mean(-2, keepdims=True),
         call=lambda a: drawn(rg.pca_lowrank, a), excuses=COMPOSED),
)  # fmt: skip

# -- systems, inverses, determinants ---------------------------------------------------------------


def solve_np(a: Array, b: Array, left: bool = True) -> Array:
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b) if left else np.swapaxes(np.linalg.solve(np.swapaxes(a, -2, -1),
                                                                          np.swapaxes(b, -2, -1)), -2, -1)  # fmt: skip


def solve_triangle_np(
    a: Array, b: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    return solve_np(triangle(a, upper, unitriangular), b, left)


def lstsq_np(a: Array, b: Array) -> tuple[Array, Array]:
    x = np.linalg.pinv(a) @ b
    return x, (np.abs(a @ x - b) ** 2).sum(-2)


SYSTEMS = (call_with((3, 3), (3, 2)), call_with((3, 3), (3,)), call_with((2, 3, 3), (3, 1)), call_with((0, 0), (0, 2)),
           call_with((3, 3), (2, 3, 1)), call_with((2, 3, 3), (2, 3)))  # fmt: skip
TALL = (call_with((4, 2), (4, 3)), call_with((2, 3, 2), (2, 3, 1)))
SOLVE = (
    Case("linalg.solve", (*SYSTEMS, call_with((3, 3), (2, 3), left=False)), solve_np, (BIG, nonzero)),
    Case("linalg.solve_ex", SYSTEMS, lambda a, b: (solve_np(a, b), np.zeros(a.shape[:-2])), (BIG, nonzero)),
    *(Case("linalg.solve_triangular", (call_with((3, 3), (3, 2), upper=upper, unitriangular=unit),
                                       call_with((2, 3, 3), (1, 3), upper=upper, unitriangular=unit, left=False),
                                       call_with((0, 0), (0, 2), upper=upper)), solve_triangle_np, (BIG, nonzero),
           form=f"{'upper' if upper else 'lower'}{'_unit' if unit else ''}")
      for upper in (True, False) for unit in (True, False)),
    *(Case("triangular_solve", (call_with((3, 2), (3, 3)), call_with((2, 3, 1), (2, 3, 3))),
           lambda b, a, turned=turned: (np.linalg.solve(np.swapaxes(np.triu(a), -2, -1) if turned else np.triu(a), b),
                                        a), (nonzero, BIG),
           call=quiet(lambda b, a, turned=turned: rg.triangular_solve(b, a, transpose=turned)),
           form="transposed" if turned else "plain")
      for turned in (True, False)),
    Case("linalg.inv", SQUARE, np.linalg.inv, BIG),
    Case("inverse", SQUARE, np.linalg.inv, BIG),
    Case("linalg.inv_ex", SQUARE, lambda a: (np.linalg.inv(a), np.zeros(a.shape[:-2])), BIG),
    Case("linalg.det", (*SQUARE, call_with((1, 1))), np.linalg.det),
    Case("det", SQUARE, np.linalg.det),
    Case("linalg.det", (call_with((3, 3)), call_with((2, 2, 2))), lambda a: 0 * a[..., 0, 0], form="singular",
         call=lambda a: rg.linalg.det(a * rg.arange(a.shape[-1]).unsqueeze(-1).to(a.device)),
         excuses=COMPOSED),
    Case("linalg.slogdet", SQUARE, lambda a: tuple(np.linalg.slogdet(a)), BIG),
    Case("slogdet", SQUARE, lambda a: tuple(np.linalg.slogdet(a)), BIG),
    Case("logdet", SQUARE, lambda a: np.log(np.linalg.det(a)), BIG, COMPOSED),
    Case("linalg.pinv", ANY, np.linalg.pinv),
    Case("linalg.pinv", SQUARE, lambda a: np.linalg.inv(a + mh(a)), BIG, COMPOSED, form="hermitian",
         call=lambda a: rg.linalg.pinv(a + a.mH, hermitian=True)),
    Case("pinverse", ANY, np.linalg.pinv),
    Case("linalg.lstsq", TALL, lstsq_np, call=lambda a, b: rg.linalg.lstsq(a, b, driver="gels")[:2]),
    Case("linalg.lstsq", (*TALL, call_with((2, 4), (2, 1))), lambda a, b: np.linalg.pinv(a) @ b, form="solution",
         call=lambda a, b: rg.linalg.lstsq(a, b).solution, excuses={"jvp": "one of two outputs"}),
    Case("linalg.lstsq", (call_with((4, 2), (4,)),), lambda a, b: np.linalg.pinv(a) @ b, form="vector",
         call=lambda a, b: rg.linalg.lstsq(a, b).solution, excuses={"jvp": "one of two outputs"}),
)  # fmt: skip

# -- functions of matrices -------------------------------------------------------------------------


def exponential(a: Array) -> Array:
    """The exponential by its series, on matrices that are small."""
    term = total = np.broadcast_to(np.eye(a.shape[-1]), a.shape).astype(a.dtype)
    for k in range(1, 60):
        term = term @ a / k
        total = total + term
    return total


def vander_np(x: Array, N: int | None = None) -> Array:
    return x[..., None] ** np.arange(x.shape[-1] if N is None else N)


def multi_np(*xs: Array) -> Array:
    found = xs[0]
    for x in xs[1:]:
        found = found @ x
    return found


def cross_np(x: Array, y: Array, dim: int = -1) -> Array:
    return np.cross(x, y, axis=dim)


MATRIX = (
    Case("linalg.matrix_exp", SQUARE, exponential, lambda rng, count: nonzero(rng, count) * 0.7),
    Case("matrix_exp", SQUARE[:1], exponential, lambda rng, count: nonzero(rng, count) * 3,
         {"float32": "the result is too large"}, form="scaled"),
    *(Case("linalg.matrix_power", SQUARE, lambda a, p=p: np.linalg.matrix_power(a, p), BIG, COMPOSED,
           call=lambda a, p=p: rg.linalg.matrix_power(a, p), form=f"n={p}") for p in (-2, -1, 1, 2, 3, 6)),
    Case("linalg.cross", (call_with((3,), (3,)), call_with((2, 3), (1, 3)), call_with((3, 2), (3, 2), dim=0),
                          call_with((0, 3), (0, 3))), cross_np),
    Case("cross", (call_with((2, 3), (2, 3), dim=1), call_with((3, 3), (3, 3), dim=0)), cross_np),
    Case("kron", (call_with((2, 3), (3, 2)), call_with((2,), (3,)), call_with((2,), (2, 3)), call_with((), (3,)),
                  call_with((0, 2), (2, 2))), np.kron, excuses=COMPOSED),
    Case("linalg.vecdot", (call_with((3,), (3,)), call_with((2, 3), (3,)), call_with((2, 3), (2, 3), dim=0),
                           call_with((2, 0), (2, 0))),
         lambda x, y, dim=-1: (x.conj() * y).sum(dim), excuses=COMPOSED),
    Case("linalg.multi_dot", (call_with((2, 3), (3, 4)), call_with((2, 3), (3, 1), (1, 2)), call_with((3,), (3, 2), (2,)),
                              call_with((2, 3), (3, 4), (4, 1), (1, 2)), call_with((2, 0), (0, 3), (3, 1))),
         multi_np, call=lambda *xs: rg.linalg.multi_dot(xs), excuses=COMPOSED),
    Case("linalg.tensorinv", (call_with((6, 2, 3), ind=1),), lambda a, ind: np.linalg.tensorinv(a, ind),
         dominant(6), {**COMPOSED, "name": "PyTorch's inverse lies in memory column by column"}),
    Case("linalg.tensorsolve", (call_with((2, 3, 6), (2, 3)), call_with((2, 6, 3), (6,), dims=(0, 2))),
         lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims), (dominant(6), nonzero), COMPOSED),
    Case("linalg.diagonal", (call_with((3, 3)), call_with((2, 3, 4), offset=1), call_with((0, 3))),
         lambda a, offset=0: np.diagonal(a, offset, -2, -1)),
    Case("linalg.vander", (call_with((3,)), call_with((2, 3), N=2), call_with((3,), N=5)), vander_np,
         excuses=COMPOSED),
    Case("vander", (call_with((3,)), call_with((3,), args=(4, True))),
         lambda x, N=None, up=False: np.vander(x, N, up), call=lambda x, *args: rg.vander(x, *args), excuses=COMPOSED),
)  # fmt: skip


def norm_np(x: Array, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Array:
    return np.linalg.norm(x, ord, dim, keepdim)


MATRICES_TO_MEASURE: tuple[Sample, ...] = (call_with((3, 2)), call_with((2, 3, 3)), call_with((2, 3), keepdim=True),
                                           call_with((2, 3, 2), dim=(2, 0)))  # fmt: skip
NORMS = (
    *(Case("linalg.matrix_norm", tuple(Sample(s.shapes, s.layout, (o,), s.kwargs) for s in MATRICES_TO_MEASURE),
           norm_np, excuses=COMPOSED, form=f"ord={o}") for o in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)),
    Case("linalg.norm", (call_with((3, 2)), call_with((3,), args=(3,)), call_with((3, 3), args=(2,)),
                         call_with((3, 3), args=("nuc",)), call_with((2, 3), dim=1),
                         call_with((2, 3, 2), args=(1,), dim=(0, 1))),
         lambda x, ord=None, dim=None: np.linalg.norm(x, ord, dim), excuses=COMPOSED),
    Case("norm", (call_with((3, 2), args=("nuc",)), call_with((2, 3, 2), args=("nuc", (0, 2)))),
         lambda x, p, dim=None: np.linalg.norm(x, p, dim), excuses=COMPOSED, form="nuclear"),
    Case("nuclear_norm", (call_with((3, 2)), call_with((2, 3, 2))), lambda x: np.linalg.norm(x, "nuc", (-2, -1)),
         call=quiet(rg.nuclear_norm), excuses=COMPOSED),
    *(Case("linalg.cond", SQUARE[:2], lambda a, p=p: np.linalg.cond(a, p), BIG, COMPOSED,
           call=lambda a, p=p: rg.linalg.cond(a, p), form=f"p={p}")
      for p in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)),
)  # fmt: skip

MATRICES = (*CHOLESKY, *LU, *QR, *SPECTRAL, *SOLVE, *MATRIX, *NORMS)
