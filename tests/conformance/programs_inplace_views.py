"""Every in-place operation through a view: the base's graph and derivatives. Then `out=` and aliasing of gradients."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program
from .programs_graph_names import tree

MATRIX = [[0.25, 0.5, 0.75], [0.4, 0.6, 0.8]]
VECTOR = [2.0, 3.0, 0.5]


def through(torch: Any, write: Any, *others: Any, view: Any = None) -> Any:
    """The graph of a base after `write(view, *others)`, and its derivatives to the base and to the others."""
    look = view or (lambda y: y[0])
    base = torch.tensor(MATRIX, dtype=torch.float64, requires_grad=True)
    given = [torch.tensor(o, dtype=torch.float64, requires_grad=True) for o in others]
    y = base.clone()
    write(look(y), *given)

    def run(x: Any, *others: Any) -> Any:
        y = x * x
        write(look(y), *others)
        return y * y

    return tree(y), derivatives(torch, run, MATRIX, *others)


@program()
def elementwise_functions(torch: Any) -> Any:
    names = "exp_ log_ sqrt_ rsqrt_ reciprocal_ square_ sin_ cos_ tanh_ sigmoid_ relu_ abs_ neg_ expm1_ log1p_ erf_"
    return {n: through(torch, lambda v, n=n: getattr(v, n)()) for n in names.split()}


@program()
def arithmetic(torch: Any) -> Any:
    names = "add_ sub_ mul_ div_ pow_"
    return {n: through(torch, lambda v, o, n=n: getattr(v, n)(o), VECTOR) for n in names.split()}


@program()
def arithmetic_with_numbers(torch: Any) -> Any:
    names = "add_ sub_ mul_ div_ pow_ clamp_min_ clamp_max_ fill_"
    return {n: through(torch, lambda v, n=n: getattr(v, n)(0.3)) for n in names.split()}


@program()
def arithmetic_with_a_number_that_requires_grad(torch: Any) -> Any:
    names = "add_ sub_ mul_ div_ pow_ fill_ copy_"
    return {n: through(torch, lambda v, o, n=n: getattr(v, n)(o), 2.0) for n in names.split()}


@program()
def alpha(torch: Any) -> Any:
    return (
        through(torch, lambda v, o: v.add_(o, alpha=3), VECTOR),
        through(torch, lambda v, o: v.sub_(o, alpha=3), VECTOR),
    )


@program()
def clamp_by_numbers(torch: Any) -> Any:
    return through(torch, lambda v: v.clamp_(0.1, 0.4))


@program()
def clamp_by_tensors(torch: Any) -> Any:
    return through(torch, lambda v, lo, hi: v.clamp_(lo, hi), [0.1, 0.1, 0.1], [0.05, 0.3, 0.4])


@program()
def addcmul(torch: Any) -> Any:
    return through(torch, lambda v, a, b: v.addcmul_(a, b, value=2), VECTOR, VECTOR)


@program()
def addcdiv(torch: Any) -> Any:
    return through(torch, lambda v, a, b: v.addcdiv_(a, b, value=2), VECTOR, VECTOR)


@program()
def lerp_by_a_number(torch: Any) -> Any:
    return through(torch, lambda v, a: v.lerp_(a, 0.25), VECTOR)


@program()
def lerp_by_a_tensor(torch: Any) -> Any:
    return through(torch, lambda v, a, w: v.lerp_(a, w), VECTOR, [0.25, 0.5, 0.75])


@program()
def masked_fill(torch: Any) -> Any:
    mask = torch.tensor([True, False, True])
    return through(torch, lambda v: v.masked_fill_(mask, 2.0)), through(
        torch, lambda v, c: v.masked_fill_(mask, c), 2.0
    )


@program()
def index_add(torch: Any) -> Any:
    return through(torch, lambda v, s: v.index_add_(0, torch.tensor([0, 2, 0]), s), VECTOR)


@program()
def index_copy_and_fill(torch: Any) -> Any:
    i = torch.tensor([2, 0])
    return (
        through(torch, lambda v, s: v.index_copy_(0, i, s), [5.0, 6.0]),
        through(torch, lambda v: v.index_fill_(0, i, 5.0)),
        through(torch, lambda v, c: v.index_fill_(0, i, c), 5.0),
    )


@program()
def index_put(torch: Any) -> Any:
    i = (torch.tensor([2, 0]),)
    return (
        through(torch, lambda v, s: v.index_put_(i, s), [5.0, 6.0]),
        through(torch, lambda v, s: v.index_put_(i, s, accumulate=True), [5.0, 6.0]),
    )


@program()
def scatter(torch: Any) -> Any:
    i = torch.tensor([2, 0])
    return (
        through(torch, lambda v, s: v.scatter_(0, i, s), [5.0, 6.0]),
        through(torch, lambda v: v.scatter_(0, i, 5.0)),
        through(torch, lambda v, s: v.scatter_add_(0, i, s), [5.0, 6.0]),
    )


@program()
def masked_scatter(torch: Any) -> Any:
    mask = torch.tensor([True, False, True])
    return through(torch, lambda v, s: v.masked_scatter_(mask, s), VECTOR)


@program()
def cumulative_sums_and_products(torch: Any) -> Any:
    return through(torch, lambda v: v.cumsum_(0)), through(torch, lambda v: v.cumprod_(0))


@program()
def triangles(torch: Any) -> Any:
    square = lambda y: y[:, :2]  # noqa: E731
    return through(torch, lambda v: v.tril_(), view=square), through(torch, lambda v: v.triu_(1), view=square)


@program()
def diagonal_filled(torch: Any) -> Any:
    return through(torch, lambda v: v.fill_diagonal_(2.0), view=lambda y: y[:, 1:])


@program()
def matrix_product_added(torch: Any) -> Any:
    m = [[1.0, 2.0], [3.0, 4.0]]
    return through(torch, lambda v, a, b: v.addmm_(a, b, beta=0.5), m, m, view=lambda y: y[:, :2])


@program()
def matrix_vector_product_added(torch: Any) -> Any:
    return through(torch, lambda v, a, b: v.addmv_(a, b), [[1.0], [2.0], [3.0]], [4.0])


@program()
def copy_with_broadcast_and_cast(torch: Any) -> Any:
    y = torch.zeros(2, 3)
    w = torch.tensor([[1.5], [2.5]], dtype=torch.float64, requires_grad=True)
    y[:, 1:].copy_(w)
    (y * y).sum().backward()
    return y, tree(y), w.grad


@program()
def wider_operand_through_a_view(torch: Any) -> Any:
    x = torch.tensor(MATRIX, requires_grad=True)
    w = torch.tensor(VECTOR, dtype=torch.float64, requires_grad=True)
    y = x * 1
    y[0].mul_(w)
    y[1] += w
    (y * y).sum().backward()
    return y, x.grad, w.grad


@program()
def wider_factor_that_requires_grad(torch: Any) -> Any:
    x = torch.tensor(VECTOR, requires_grad=True)
    w = torch.tensor(VECTOR, dtype=torch.float64, requires_grad=True)
    y = x * 1
    y.mul_(w).sum().backward()
    return y, x.grad, w.grad


@program()
def narrower_factor_that_requires_grad(torch: Any) -> Any:
    x = torch.tensor(VECTOR, dtype=torch.float64, requires_grad=True)
    w = torch.tensor(VECTOR, requires_grad=True)
    y = x * 1
    y.div_(w)
    y[1:].mul_(w[1:])
    y.sum().backward()
    return y, x.grad, w.grad


@program()
def integer_operands(torch: Any) -> Any:
    x = torch.tensor(VECTOR, requires_grad=True)
    y = x * 1
    y.mul_(torch.tensor([2, 3, 4])).add_(torch.tensor([True, False, True])).pow_(2)
    return y, torch.autograd.grad((y * 1).sum(), x)


@program()
def remainder(torch: Any) -> Any:
    return through(torch, lambda v: v.remainder_(0.2))


@program()
def shape_of_a_base_changed_after_its_view(torch: Any) -> Any:
    x = torch.tensor(MATRIX, requires_grad=True)
    y = x * 2
    v = y[0]
    y.unsqueeze_(0)
    v.mul_(3)
    (y * y).sum().backward()
    return y, v, x.grad


@program()
def base_turned_after_its_view(torch: Any) -> Any:
    x = torch.tensor(MATRIX, requires_grad=True)
    y = x * 2
    v = y[0]
    y.t_()
    v.mul_(3)
    y[0] = 5.0
    (y * y).sum().backward()
    return y, v, x.grad


@program()
def base_that_is_not_contiguous(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x.t() * 1
        y[0].mul_(3)
        y[:, 1].exp_()
        return y * y

    return derivatives(torch, run, MATRIX)


@program()
def view_of_a_view_under_another_name(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * 1
        a = y.view(6)
        b = a[::2]
        c = y.t()
        b.mul_(3)
        c[1].add_(a[5])
        a[0] = b[1] * 2
        return y * y

    return derivatives(torch, run, MATRIX)


@program()
def out_argument_bumps_the_version(torch: Any) -> Any:
    a, y = torch.tensor([1.0, 2.0]), torch.zeros(2)
    same = torch.add(a, 1, out=y) is y
    torch.exp(a, out=y)
    return same, y, y._version


@program()
def out_argument_writes_through_a_view(torch: Any) -> Any:
    a, y = torch.tensor([1.0, 2.0]), torch.zeros(2, 2)
    torch.mul(a, 10, out=y[1])
    return y, y._version


@program()
def out_argument_and_gradients(torch: Any) -> Any:
    x, y = torch.ones(2, requires_grad=True), torch.zeros(2)
    leaf = torch.zeros(2, requires_grad=True)
    phrase = "don't support automatic differentiation, but one of the arguments requires grad"
    found = [
        attempt(phrase, lambda: torch.add(x, 1, out=y)),
        attempt(phrase, lambda: torch.add(torch.ones(2), 1, out=leaf)),
        attempt(phrase, lambda: torch.exp(x, out=x * 1)),
    ]
    with torch.no_grad():
        torch.add(x, 1, out=y)
    return found, y, leaf


@program()
def gradients_do_not_share_memory_with_the_seed(torch: Any) -> Any:
    found = []
    for view in (lambda x: x[:], lambda x: x + 0, lambda x: x * 1, lambda x: x[0], lambda x: x.clone()):
        x = torch.ones(2, 2, requires_grad=True)
        y = view(x)
        seed = torch.ones_like(y.detach())
        y.backward(seed)
        x.grad.mul_(10)
        found.append((seed, x.grad))
    return found


@program()
def gradients_do_not_share_memory_with_each_other(torch: Any) -> Any:
    x, y = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    (x + y).t().sum().backward()
    x.grad[0] = 7.0
    (x.view(-1) + y.view(-1)).sum().backward()
    return x.grad, y.grad


@program()
def gradient_views_written_between_backwards(torch: Any) -> Any:
    x = torch.ones(2, 2, requires_grad=True)
    x.sum().backward()
    row = x.grad[0]
    row.zero_()
    (x * 2).sum().backward()
    return row, x.grad


@program()
def seed_written_after_backward(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    seed = torch.tensor([1.0, 2.0, 3.0])
    y = x * 2
    y.backward(seed, retain_graph=True)
    seed.zero_()
    return x.grad, seed
