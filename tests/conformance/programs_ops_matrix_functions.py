"""Functions of matrices: exponentials, powers, norms, products of several kinds, and forms of calling them."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program

A3 = [[4.0, 1.0, -0.5], [2.0, 5.0, 1.5], [-1.0, 0.5, 3.0]]
C2 = [[3.0 + 1.0j, 0.5 - 0.25j], [1.0 + 0.5j, 2.0 - 1.0j]]
TALL = [[1.0, 2.0], [-3.0, 4.0], [0.5, -0.5], [2.0, 1.0]]
WIDE = [[1.0, -3.0, 0.5], [2.0, 4.0, -0.5]]
BATCH = [[[2.0, 1.0], [0.5, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]
INF, NAN = float("inf"), float("nan")


@program()
def exponentials(torch: Any) -> Any:
    return [
        derivatives(torch, torch.linalg.matrix_exp, [[0.1, 0.2], [-0.3, 0.4]]),
        derivatives(torch, torch.matrix_exp, A3),
        derivatives(torch, torch.matrix_exp, C2, dtype="complex128"),
        derivatives(torch, torch.matrix_exp, BATCH),
        torch.matrix_exp(torch.ones(0, 0)), torch.matrix_exp(torch.full((2, 2), NAN)),
        torch.matrix_exp(torch.tensor([[0.0, 1e-30], [0.0, 0.0]])),
        attempt("Got Long", torch.matrix_exp, torch.ones(2, 2, dtype=torch.int64)),
    ]  # fmt: skip


@program()
def powers(torch: Any) -> Any:
    a = torch.tensor(A3, requires_grad=True)
    zeroth = torch.matrix_power(a, 0)
    return [
        *(derivatives(torch, lambda a, n=n: torch.linalg.matrix_power(a, n), A3) for n in (-3, -1, 1, 2, 3, 5)),
        zeroth, torch.autograd.grad(zeroth.sum(), a), torch.matrix_power(torch.tensor([[1, 1], [0, 1]]), 7),
        attempt("must be int, not float", torch.matrix_power, a, 1.5),
        attempt("Got Long", torch.matrix_power, torch.eye(2, dtype=torch.int64), -1),
        attempt("singular", torch.matrix_power, torch.zeros(2, 2), -1),
    ]  # fmt: skip


@program()
def matrix_norms(torch: Any) -> Any:
    return [
        derivatives(torch, lambda a, o=o, k=keep: torch.linalg.matrix_norm(a, o, keepdim=k), data)
        for o in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
        for keep, data in ((False, TALL), (True, BATCH))
    ]


@program()
def norms_of_vectors_and_matrices(torch: Any) -> Any:
    a, cube = torch.tensor(A3), torch.tensor(BATCH)
    return [
        torch.linalg.norm(a), torch.linalg.norm(a, 2), torch.linalg.norm(a, "nuc"), torch.linalg.norm(a, dim=0),
        torch.linalg.norm(cube), torch.linalg.norm(cube, 1, dim=(2, 0)), torch.linalg.norm(a[0], INF),
        torch.norm(a, "nuc"), torch.norm(cube, "nuc", dim=(0, 2), keepdim=True),
        torch.linalg.matrix_norm(torch.ones(0, 0)),
        torch.linalg.matrix_norm(a, dtype=torch.float64), torch.linalg.norm(a + 1j, 1),
        attempt("Order 3 not supported", torch.linalg.matrix_norm, a, 3),
        attempt("dims must be different", torch.linalg.matrix_norm, a, dim=(0, 0)),
        attempt("must be a 2-tuple", torch.linalg.matrix_norm, a, dim=(0,)),
        attempt("must be 1D or 2D", torch.linalg.norm, cube, 2),
        attempt("length 1 or 2", torch.linalg.norm, cube, 2, (0, 1, 2)),
        attempt("without narrowing", torch.linalg.matrix_norm, a.double(), dtype=torch.float32),
        attempt("real for real", torch.linalg.matrix_norm, a, dtype=torch.complex64),
    ]  # fmt: skip


@program()
def conditions_and_ranks(torch: Any) -> Any:
    a, singular = torch.tensor(A3), torch.stack([torch.eye(2), torch.zeros(2, 2)])
    return [
        *(torch.linalg.cond(a, p) for p in (None, "fro", "nuc", 1, -1, 2, -2, INF, -INF)),
        derivatives(torch, torch.linalg.cond, A3),
        derivatives(torch, lambda a: torch.linalg.cond(a, "nuc"), A3),
        torch.linalg.cond(torch.tensor(TALL)), torch.linalg.cond(singular, 1),
        torch.linalg.cond(torch.ones(0, 0)),
        torch.linalg.matrix_rank(a), torch.linalg.matrix_rank(singular),
        torch.linalg.matrix_rank(torch.ones(3, 0)),
        torch.linalg.matrix_rank(torch.diag(torch.tensor([1.0, 0.4, 0.2])), rtol=0.3),
        torch.linalg.matrix_rank(torch.diag(torch.tensor([1.0, -0.4])), atol=0.5, hermitian=True),
        attempt("invalid norm type", torch.linalg.cond, a, 3),
        attempt("square matrices", torch.linalg.cond, torch.ones(2, 3), 1),
    ]  # fmt: skip


@program()
def cross_products(torch: Any) -> Any:
    x, y = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], [[-1.0, 0.0, 2.0], [1.0, 1.0, 1.0]]
    return [
        derivatives(torch, torch.linalg.cross, x, y),
        derivatives(torch, lambda a, b: torch.cross(a, b, 1), x, y[:1]),
        derivatives(torch, lambda a, b: torch.linalg.cross(a * (1 + 2j), b), x, y, dtype="complex128"),
        attempt("must have length 3", torch.linalg.cross, torch.ones(4), torch.ones(4)),
        attempt("same number of dimensions", torch.linalg.cross, torch.ones(3), torch.ones(1, 3)),
    ]  # fmt: skip


@program(warns="without specifying the dim arg is deprecated")
def cross_without_a_dimension(torch: Any) -> Any:
    return torch.cross(torch.tensor(A3)[:, :2], torch.ones(3, 2)), attempt(
        "no dimension of size 3", torch.cross, torch.ones(2), torch.ones(2)
    )


@program()
def kronecker_products(torch: Any) -> Any:
    return [
        derivatives(torch, torch.kron, TALL, WIDE), derivatives(torch, torch.kron, [1.0, 2.0], WIDE),
        torch.kron(torch.tensor([1, 2]), torch.tensor([0.5])), torch.kron(torch.ones(0, 2), torch.ones(2, 2)),
    ]  # fmt: skip


@program()
def products_of_several(torch: Any) -> Any:
    v, w = torch.ones(4), torch.ones(2)
    return [
        derivatives(torch, lambda *t: torch.linalg.multi_dot(t), TALL, WIDE, A3),
        derivatives(torch, lambda *t: torch.linalg.multi_dot(t), [1.0, 2.0, 3.0, 4.0], TALL, [1.0, -1.0]),
        torch.linalg.multi_dot([v, torch.tensor(TALL), w]).shape,
        attempt("at least 2 tensors", torch.linalg.multi_dot, [v]),
        attempt("cannot be multiplied", torch.linalg.multi_dot, [torch.eye(2), torch.eye(3)]),
        attempt("tensor 1 must be 2D", torch.linalg.multi_dot, [torch.eye(2), w, torch.eye(2)]),
        derivatives(torch, torch.linalg.vecdot, TALL, TALL),
        derivatives(torch, torch.linalg.vecdot, C2, C2, dtype="complex128"),
        attempt("Got Long", torch.linalg.vecdot, torch.ones(2).long(), torch.ones(2).long()),
    ]  # fmt: skip


@program(warns="torch.chain_matmul is deprecated")
def chains(torch: Any) -> Any:
    return (
        derivatives(torch, torch.chain_matmul, TALL, WIDE, A3),
        torch.chain_matmul(torch.eye(2)),
        attempt("expected 2", torch.chain_matmul, torch.ones(2)),
    )


@program()
def tensors_as_matrices(torch: Any) -> Any:
    a = (
        torch.arange(36.0, dtype=torch.float64).sin() + 4 * torch.eye(6, dtype=torch.float64).ravel()
    ).tolist()
    return [
        derivatives(torch, lambda x: torch.linalg.tensorinv(x.reshape(6, 2, 3), 1), a),
        derivatives(torch, lambda x, b: torch.linalg.tensorsolve(x.reshape(2, 3, 6), b), a, WIDE),
        torch.linalg.tensorsolve(torch.tensor(a).reshape(2, 6, 3), torch.ones(6), dims=(0, 2)),
        attempt("strictly positive", torch.linalg.tensorinv, torch.ones(2, 2), 0),
        attempt("prod", torch.linalg.tensorinv, torch.ones(5, 2, 3), 1),
        attempt("prod", torch.linalg.tensorsolve, torch.ones(2, 3, 5), torch.ones(2, 3)),
    ]  # fmt: skip


@program()
def powers_of_vectors(torch: Any) -> Any:
    v = [2.0, -0.5, 3.0]
    return [
        derivatives(torch, torch.linalg.vander, v),
        derivatives(torch, lambda x: torch.linalg.vander(x, N=5), v),
        torch.linalg.vander(torch.tensor([[1, 2], [3, 4]]), N=3), torch.vander(torch.tensor(v)),
        torch.vander(torch.tensor([1, 2, 3]), 2, increasing=True), torch.vander(torch.tensor(v), 0),
        attempt("N must be greater than 1", torch.linalg.vander, torch.ones(3), N=1),
        attempt("one-dimensional", torch.vander, torch.ones(2, 2)),
    ]  # fmt: skip


@program()
def results_into_given_tensors(torch: Any) -> Any:
    a = torch.tensor(A3)
    out, low, info = torch.empty(0), torch.empty(0), torch.empty(0, dtype=torch.int32)
    given = torch.linalg.inv(a, out=out)
    torch.linalg.cholesky_ex(a, out=(low, info))
    return (
        given is out,
        out,
        low,
        info,
        attempt("out=... arguments don't support", torch.linalg.inv, a.requires_grad_(), out=torch.empty(0)),
    )


@program()
def precision_and_layout(torch: Any) -> Any:
    a = torch.tensor(A3).mT
    batch = torch.tensor(A3).expand(2, 3, 3)
    return [
        torch.linalg.inv(a), torch.linalg.det(batch), torch.linalg.lu_factor(a),
        torch.linalg.cholesky(a @ a.mT),
        torch.linalg.solve(a, a[:, 0]), torch.linalg.svdvals(batch),
        torch.linalg.slogdet(a.to(torch.complex64)),
        torch.linalg.eigvalsh(a.to(torch.complex64)).dtype, torch.linalg.eigvals(a).dtype,
        torch.linalg.diagonal(batch, offset=1),
    ]  # fmt: skip


@program()
def method_forms(torch: Any) -> Any:
    a = torch.tensor(A3)
    return [
        a.det(), a.slogdet(), a.logdet(), a.inverse(), a.pinverse(), a.matrix_power(2), a.matrix_exp(), a.kron(a[:1]),
        a.cross(a, 0), a.geqrf(), a.orgqr(a[0]), a.cholesky_inverse(), a.cholesky_solve(a), a.trace(),
    ]  # fmt: skip
