"""The recorded graph of each operation: names of nodes, edges in order, constants without an edge."""

from __future__ import annotations

from typing import Any

from .harness import program


def tree(tensor: Any) -> Any:
    """The graph under a tensor, as nested lists: node, output number, then its next functions."""
    return [branch(tensor.grad_fn), tensor.output_nr]


def branch(node: Any) -> Any:
    if node is None:
        return None
    return [node, *([branch(n), number] for n, number in node.next_functions)]


def leaf(torch: Any, *shape: int) -> Any:
    return torch.ones(*shape, requires_grad=True)


@program()
def arithmetic_between_tensors(torch: Any) -> Any:
    x, y = leaf(torch, 2), leaf(torch, 2)
    return [tree(t) for t in (x + y, x - y, x * y, x / y, x**y, -x, +x, x @ y)]


@program()
def arithmetic_with_a_constant_tensor(torch: Any) -> Any:
    x, c = leaf(torch, 2), torch.ones(2)
    return [tree(t) for t in (x + c, c + x, x - c, c - x, x * c, c * x, x / c, c / x, x**c, c**x)]


@program()
def arithmetic_with_python_scalars(torch: Any) -> Any:
    x = leaf(torch, 2)
    return [tree(t) for t in (x + 1, x - 1, x * 2, x / 2, x**2, x**0.5)]


@program()
def arithmetic_reflected(torch: Any) -> Any:
    x = leaf(torch, 2)
    return [tree(t) for t in (1 + x, 1 - x, 2 * x, 2**x)]


@program()
def scalar_over_tensor_is_a_product_with_the_reciprocal(torch: Any) -> Any:
    return tree(2 / leaf(torch, 2))


@program()
def elementwise_functions(torch: Any) -> Any:
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    names = "exp log log1p expm1 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh sigmoid relu abs sign floor round"
    return {name: tree(getattr(torch, name)(x)) for name in names.split()}


@program()
def more_elementwise_functions(torch: Any) -> Any:
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    return {
        name: tree(getattr(torch, name)(x))
        for name in ("log2", "log10", "exp2", "reciprocal", "square", "ceil")
    }


@program()
def clamp_forms(torch: Any) -> Any:
    x, low = leaf(torch, 2), torch.zeros(2)
    forms = x.clamp(0, 1), x.clamp(min=0), x.clamp(max=1), x.clamp(low, None), x.clamp_min(0), x.clamp_max(1)
    return [tree(t) for t in forms]


@program()
def where_maximum_minimum(torch: Any) -> Any:
    x, y = leaf(torch, 2), leaf(torch, 2)
    mask = torch.tensor([True, False])
    results = torch.where(mask, x, y), torch.where(mask, x, 0.0), torch.maximum(x, y), torch.minimum(x, y)
    return [tree(t) for t in results]


@program()
def sum_and_mean_forms(torch: Any) -> Any:
    x = leaf(torch, 2, 3)
    forms = x.sum(), x.sum(0), x.sum((0, 1)), x.sum(1, keepdim=True), x.mean(), x.mean(1), x.mean((0, 1))
    return [tree(t) for t in forms]


@program()
def other_reductions(torch: Any) -> Any:
    x = leaf(torch, 2, 3)
    forms = (
        x.prod(), x.prod(1), x.var(), x.var(1), x.std(), x.std(1), x.cumsum(1),
        x.logsumexp(1), x.norm(), x.norm(dim=1), x.amax(1), x.amin(1),
    )  # fmt: skip
    return [tree(t) for t in forms]


@program()
def max_and_min_forms(torch: Any) -> Any:
    x, y = leaf(torch, 2, 3), leaf(torch, 2, 3)
    forms = x.max(), x.max(1).values, x.max(y), x.min(), x.min(0).values, x.min(y), torch.max(x, 1)[0]
    return [tree(t) for t in forms]


@program()
def indices_have_no_graph(torch: Any) -> Any:
    x = leaf(torch, 2, 3)
    return x.argmax(), x.argmin(1), x.max(1).indices, x > 0, x == x, x.isnan(), x.any(), x.all(dim=1)


@program()
def matmul_by_rank(torch: Any) -> Any:
    v, m = leaf(torch, 2), leaf(torch, 2, 2)
    return {"vector vector": tree(v @ v), "matrix matrix": tree(m @ m), "matrix vector": tree(m @ v)}


@program()
def matmul_of_vector_and_matrix(torch: Any) -> Any:
    return tree(leaf(torch, 2) @ leaf(torch, 2, 3))


@program()
def matmul_of_batches(torch: Any) -> Any:
    return tree(leaf(torch, 3, 2, 2) @ leaf(torch, 3, 2, 2)), tree(leaf(torch, 3, 2, 2) @ leaf(torch, 2, 2))


@program()
def matmul_of_batch_and_vector(torch: Any) -> Any:
    return tree(leaf(torch, 3, 2, 2) @ leaf(torch, 2)), tree(leaf(torch, 2) @ leaf(torch, 3, 2, 2))


@program()
def matmul_named_forms(torch: Any) -> Any:
    v, m, b = leaf(torch, 2), leaf(torch, 2, 2), leaf(torch, 3, 2, 2)
    return [tree(t) for t in (torch.mm(m, m), torch.mv(m, v), torch.dot(v, v), torch.bmm(b, b))]


@program()
def outer_is_a_broadcast_product(torch: Any) -> Any:
    return tree(torch.outer(leaf(torch, 2), leaf(torch, 3)))


@program()
def views_of_one_tensor(torch: Any) -> Any:
    x = leaf(torch, 2, 3)
    forms = (
        x.view(6), x.reshape(3, 2), x.flatten(), x.t(), x.T, x.transpose(0, 1), x.permute(1, 0),
        x.unsqueeze(0), x.unsqueeze(0).squeeze(0), x.unsqueeze(0).squeeze(), x.expand(4, 2, 3),
        x.broadcast_to(4, 2, 3), x.diagonal(),
    )  # fmt: skip
    return [tree(t) for t in forms]


@program()
def reshape_of_a_transpose_copies(torch: Any) -> Any:
    x = leaf(torch, 2, 3)
    return tree(x.t().reshape(6)), tree(x.t().contiguous()), tree(x.contiguous())


@program()
def views_that_change_nothing(torch: Any) -> Any:
    x = leaf(torch, 2)
    return x.contiguous() is x, x.to(torch.float32) is x, x.float() is x, tree(x.view(2)), tree(x.reshape(2))


@program()
def basic_indexing(torch: Any) -> Any:
    x = leaf(torch, 3, 4)
    return [tree(t) for t in (x[0], x[-1], x[1:3], x[:, 1], x[..., 0], x[None], x[0, 1], x[::2, 1:], x[:])]


@program()
def advanced_indexing(torch: Any) -> Any:
    x = leaf(torch, 3, 4)
    rows, mask = torch.tensor([0, 2]), torch.tensor([True, False, True])
    return [tree(t) for t in (x[rows], x[rows, rows], x[mask], x[:, rows], x[[0, 1]], x[0, rows])]


@program()
def gathering_functions(torch: Any) -> Any:
    x = leaf(torch, 2, 3)
    index = torch.tensor([[0], [2]])
    rows = torch.tensor([1, 0])
    return [tree(t) for t in (x.gather(1, index), x.index_select(0, rows), x.take(rows), torch.take(x, rows))]


@program()
def joining(torch: Any) -> Any:
    x, y, c = leaf(torch, 2), leaf(torch, 2), torch.ones(2)
    return [tree(t) for t in (torch.cat([x, y]), torch.stack([x, y]), torch.cat([x, c, y]))]


@program()
def splitting(torch: Any) -> Any:
    x = leaf(torch, 5)
    parts = x.split(2)[2], x.split([1, 4])[1], x.chunk(2)[1], torch.unbind(x)[3]
    return [tree(t) for t in parts]


@program()
def rearranging(torch: Any) -> Any:
    x = leaf(torch, 2, 2)
    forms = x.flip(0), x.roll(1), x.tril(), x.triu(), torch.nn.functional.pad(x, (1, 1)), x.clone()
    return [tree(t) for t in forms]


@program()
def changing_dtype(torch: Any) -> Any:
    x = leaf(torch, 2)
    return [tree(t) for t in (x.to(torch.float64), x.double(), x.half(), x.type(torch.float64))]


@program()
def mixed_dtypes_cast_first(torch: Any) -> Any:
    x, y = leaf(torch, 2), torch.ones(2, dtype=torch.float64, requires_grad=True)
    return tree(x * y), tree(x + y)


@program()
def softmax_and_losses(torch: Any) -> Any:
    x, target = leaf(torch, 2, 3), torch.tensor([0, 2])
    f = torch.nn.functional
    forms = (
        x.softmax(1), torch.log_softmax(x, 1), f.cross_entropy(x, target), f.nll_loss(x, target),
        f.mse_loss(x, torch.zeros(2, 3)), f.mse_loss(x, leaf(torch, 2, 3)),
    )  # fmt: skip
    return [tree(t) for t in forms]


@program()
def linear_forms(torch: Any) -> Any:
    x, w, b = leaf(torch, 4, 3), leaf(torch, 2, 3), leaf(torch, 2)
    f = torch.nn.functional
    return tree(f.linear(x, w)), tree(f.linear(x, w, b))


@program()
def complex_parts(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j], requires_grad=True)
    return [tree(t) for t in (z.abs(), z * z, z.exp(), torch.conj(z))]


@program()
def real_and_imag_select_from_a_real_view(torch: Any) -> Any:
    z = torch.tensor([1.0 + 2.0j], requires_grad=True)
    return tree(z.real), tree(z.imag)


@program()
def constants_record_nothing(torch: Any) -> Any:
    c = torch.ones(2)
    return (c * 2).grad_fn, c.sum().grad_fn, c.exp().requires_grad


@program()
def no_grad_records_nothing(torch: Any) -> Any:
    x = leaf(torch, 2)
    with torch.no_grad():
        y = x * 2
    return y.grad_fn, y.requires_grad, y.is_leaf


@program()
def leaf_has_no_grad_fn(torch: Any) -> Any:
    x = leaf(torch, 2)
    return x.grad_fn, x.is_leaf, x.output_nr, (x * 1).grad_fn.next_functions[0][0].variable is x


@program()
def one_accumulator_per_leaf(torch: Any) -> Any:
    x = leaf(torch, 2)
    y = x * x
    (first, _), (second, _) = y.grad_fn.next_functions
    third = (x + 1).grad_fn.next_functions[0][0]
    return first is second, first is third


@program()
def grad_fn_is_one_object(torch: Any) -> Any:
    y = leaf(torch, 2) * 2
    return y.grad_fn is y.grad_fn, (y * 2).grad_fn.next_functions[0][0] is y.grad_fn


@program()
def walk_of_the_whole_graph(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    return tree(((x * 3 + 5) * w).sigmoid().log())
