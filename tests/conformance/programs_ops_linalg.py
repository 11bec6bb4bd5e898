"""Products of vectors, matrices and batches: value, gradient and second-order gradient."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program

VECTOR = [1.0, -2.0, 3.0]
OTHER = [0.5, 4.0, -1.5]
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
SQUARE = [[1.0, 2.0], [-3.0, 4.0]]
TALL = [[1.0, 2.0], [-3.0, 4.0], [0.5, -0.5]]
BATCH = [[[1.0, 2.0], [3.0, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]


@program()
def matmul_vector_vector(torch: Any) -> Any:
    return derivatives(torch, torch.matmul, VECTOR, OTHER), derivatives(torch, torch.dot, VECTOR, OTHER)


@program()
def matmul_matrix_matrix(torch: Any) -> Any:
    return derivatives(torch, lambda a, b: a @ b, MATRIX, TALL), derivatives(torch, torch.mm, MATRIX, TALL)


@program()
def matmul_matrix_vector(torch: Any) -> Any:
    return derivatives(torch, lambda a, b: a @ b, MATRIX, VECTOR), derivatives(
        torch, torch.mv, MATRIX, VECTOR
    )


@program()
def matmul_vector_matrix(torch: Any) -> Any:
    return derivatives(torch, lambda a, b: a @ b, VECTOR, TALL)


@program()
def matmul_batch_batch(torch: Any) -> Any:
    return derivatives(torch, lambda a, b: a @ b, BATCH, BATCH), derivatives(torch, torch.bmm, BATCH, BATCH)


@program()
def matmul_batch_matrix(torch: Any) -> Any:
    return derivatives(torch, torch.matmul, BATCH, SQUARE), derivatives(torch, torch.matmul, SQUARE, BATCH)


@program()
def matmul_batch_vector(torch: Any) -> Any:
    return derivatives(torch, torch.matmul, BATCH, [1.0, -2.0]), derivatives(
        torch, torch.matmul, [1.0, -2.0], BATCH
    )


@program()
def matmul_broadcasts_batches(torch: Any) -> Any:
    return derivatives(torch, lambda a, b: a.unsqueeze(1) @ b.unsqueeze(0), BATCH, BATCH)


@program()
def matmul_of_empty(torch: Any) -> Any:
    return torch.ones(2, 0) @ torch.ones(0, 3), torch.ones(0, 2) @ torch.ones(2, 3)


@program()
def matmul_of_integers(torch: Any) -> Any:
    return torch.tensor([[1, 2], [3, 4]]) @ torch.tensor([5, 6]), torch.dot(
        torch.tensor([1, 2]), torch.tensor([3, 4])
    )


@program()
def matmul_reflected_with_an_array_like(torch: Any) -> Any:
    x = torch.tensor(SQUARE)
    return x.matmul(x), x.mm(x), x.mv(x[0]), x[0].dot(x[1]), x.__rmatmul__(x)


@program()
def outer(torch: Any) -> Any:
    return derivatives(torch, torch.outer, VECTOR, [1.0, 2.0]), derivatives(torch, torch.ger, VECTOR, OTHER)


@program()
def einsum_products(torch: Any) -> Any:
    return [
        derivatives(torch, lambda a, b: torch.einsum("ij,jk->ik", a, b), MATRIX, TALL),
        derivatives(torch, lambda a, b: torch.einsum("i,j->ij", a, b), VECTOR, OTHER),
        derivatives(torch, lambda a, b: torch.einsum("i,i", a, b), VECTOR, OTHER),
        derivatives(torch, lambda a, b: torch.einsum("bij,bjk->bik", a, b), BATCH, BATCH),
        derivatives(torch, lambda a, b: torch.einsum("ij,ij->j", a, b), MATRIX, MATRIX),
    ]


@program()
def einsum_of_one_operand(torch: Any) -> Any:
    return [
        derivatives(torch, lambda a: torch.einsum("ij->ji", a), MATRIX),
        derivatives(torch, lambda a: torch.einsum("ij->", a), MATRIX),
        derivatives(torch, lambda a: torch.einsum("ij->i", a), MATRIX),
        derivatives(torch, lambda a: torch.einsum("ii->i", a), SQUARE),
        derivatives(torch, lambda a: torch.einsum("ii", a), SQUARE),
    ]


@program()
def einsum_with_ellipsis_and_three_operands(torch: Any) -> Any:
    return [
        derivatives(torch, lambda a, b: torch.einsum("...ij,...jk->...ik", a, b), BATCH, SQUARE),
        derivatives(torch, lambda a, b, c: torch.einsum("i,ij,j->", a, b, c), [1.0, 2.0], MATRIX, VECTOR),
    ]


@program()
def einsum_implicit_output(torch: Any) -> Any:
    a, b = torch.tensor(SQUARE), torch.tensor(SQUARE)
    return torch.einsum("ij,jk", a, b), torch.einsum("ba", a), torch.einsum(" i j , j k -> i k ", a, b)


@program()
def linear(torch: Any) -> Any:
    f = torch.nn.functional
    return [
        derivatives(torch, f.linear, MATRIX, [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]),
        derivatives(torch, f.linear, MATRIX, [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], [0.1, -0.2]),
        derivatives(torch, f.linear, BATCH, SQUARE, [0.1, -0.2]),
        derivatives(torch, f.linear, VECTOR, MATRIX, [0.1, -0.2]),
    ]


@program()
def addition_to_products(torch: Any) -> Any:
    return derivatives(torch, lambda c, a, b: c + a @ b, SQUARE, MATRIX, TALL)


@program()
def quadratic_form(torch: Any) -> Any:
    return derivatives(torch, lambda x, a: x @ a @ x, [1.0, -2.0], SQUARE)


@program()
def transposed_products(torch: Any) -> Any:
    return derivatives(torch, lambda a: a.t() @ a, MATRIX), derivatives(torch, lambda a: a @ a.T, MATRIX)


@program()
def chain_of_products(torch: Any) -> Any:
    return derivatives(torch, lambda a, b: a @ b @ a, MATRIX, TALL)
