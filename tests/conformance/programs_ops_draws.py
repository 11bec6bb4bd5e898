"""Random numbers: what is compared is their shape, dtype, range, graph, generator and errors, not the numbers."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def about(x: Any) -> Any:
    """What of a drawn tensor does not depend on luck."""
    return tuple(x.shape), x.dtype, x.requires_grad, x.grad_fn, x.is_leaf


def repeats(torch: Any, draw: Any) -> Any:
    """Whether a generator of its own makes the same numbers again, and leaves the default one alone."""
    before = torch.get_rng_state()
    g = torch.Generator().manual_seed(3)
    a, b = draw(g), draw(g)
    again = draw(torch.Generator().manual_seed(3))
    return bool((a == again).all()), bool((a == b).all()), bool((before == torch.get_rng_state()).all())


def gradient(torch: Any, f: Any, *values: Any) -> Any:
    xs = [torch.tensor(v, requires_grad=True) for v in values]
    y = f(*xs)
    return about(y), torch.autograd.grad(y.sum(), xs, allow_unused=True)


@program()
def draws_with_a_generator(torch: Any) -> Any:
    n = 200
    big, half = torch.full((n,), 50.0), torch.full((n,), 0.5)
    return [
        repeats(torch, lambda g: torch.rand(n, generator=g)),
        repeats(torch, lambda g: torch.randn(n, generator=g)),
        repeats(torch, lambda g: torch.randint(1000, (n,), generator=g)),
        repeats(torch, lambda g: torch.randperm(n, generator=g)),
        repeats(torch, lambda g: torch.normal(half, half, generator=g)),
        repeats(torch, lambda g: torch.bernoulli(half, generator=g)),
        repeats(torch, lambda g: torch.poisson(big, generator=g)),
        repeats(torch, lambda g: torch.binomial(big, half, generator=g)),
        repeats(torch, lambda g: torch.multinomial(big, n // 2, generator=g)),
        repeats(torch, lambda g: half.clone().cauchy_(generator=g)),
        repeats(torch, lambda g: half.clone().log_normal_(generator=g)),
        repeats(torch, lambda g: half.clone().geometric_(0.1, generator=g)),
        repeats(torch, lambda g: half.clone().exponential_(generator=g)),
        repeats(torch, lambda g: half.clone().uniform_(generator=g)),
        repeats(torch, lambda g: half.clone().normal_(generator=g)),
        repeats(torch, lambda g: half.clone().random_(1000, generator=g)),
    ]


@program()
def normal_by_tensors_has_no_reparametrised_gradient(torch: Any) -> Any:
    return [
        gradient(torch, torch.normal, [1.0, 2.0], [1.0, 2.0]),
        gradient(torch, lambda m: torch.normal(m, 1.0), [1.0, 2.0]),
        gradient(torch, lambda s: torch.normal(0.0, s), [1.0, 2.0]),
        gradient(torch, torch.bernoulli, [0.2, 0.9]),
        gradient(torch, torch.poisson, [0.2, 0.9]),
    ]


@program()
def shapes_and_dtypes_of_normal(torch: Any) -> Any:
    t = torch.ones(3)
    return [
        about(torch.normal(t, torch.ones(2, 3))),
        about(torch.normal(t, torch.ones(3, dtype=torch.int64))),
        about(torch.normal(t.to(torch.complex64), 1.0)),
        about(torch.normal(1.0, 2.0, (2, 3))),
        about(torch.normal(1.0, 2.0, size=(2,), dtype=torch.float64)),
        about(torch.normal(mean=t, std=t, out=torch.empty(3))),
    ]


@program()
def wrong_normal(torch: Any) -> Any:
    t = torch.ones(3)
    return [
        attempt("std >= 0.0, but found std -1", torch.normal, t, -1.0),
        attempt("all elements of std >= 0.0", torch.normal, t, -t),
        attempt("invalid combination", torch.normal, 1.0, 2.0),
        attempt("must match the size of tensor b", torch.normal, t, torch.ones(2)),
        attempt("not implemented for 'Long'", torch.normal, t.long(), 1.0),
    ]


@program()
def binomial_counts(torch: Any) -> Any:
    n, p = torch.tensor([0.0, 5.0, 7.0]), torch.tensor([0.5, 0.0, 1.0])
    many = torch.binomial(torch.full((1000,), 10.0), torch.full((1000,), 0.5))
    return [
        torch.binomial(n, p),
        about(torch.binomial(torch.ones(2, 3), p)),
        bool(((many >= 0) & (many <= 10) & (many == many.round())).all()),
        bool((many.mean() - 5).abs() < 0.5),
        attempt("floating-point dtypes for count, got: Long", torch.binomial, n.long(), p),
        attempt("must be Tensor, not float", torch.binomial, n, 0.5),
        attempt("must match the size of tensor b", torch.binomial, n, p[:2]),
    ]


@program("derivative for aten::binomial is not implemented")
def binomial_counts_have_no_derivative(torch: Any) -> Any:
    return gradient(torch, torch.binomial, [10.0, 3.0], [0.5, 0.2])


@program()
def filled_in_place(torch: Any) -> Any:
    found = []
    for fill in ("cauchy_", "log_normal_", "exponential_", "uniform_", "normal_"):
        x = torch.ones(4, requires_grad=True)
        y = x * 1
        same = getattr(y, fill)() is y
        y.sum().backward()
        found.append((same, about(y), y._version, x.grad))
    return found


@program()
def geometric_numbers(torch: Any) -> Any:
    x = torch.ones(1000, requires_grad=True)
    y = (x * 1).geometric_(0.5)
    y.sum().backward()
    whole = torch.ones(1000, dtype=torch.int64).geometric_(0.5)
    return (
        about(y),
        x.grad.abs().sum(),
        whole.dtype,
        int(whole.min()),
        bool((whole.double().mean() - 2).abs() < 0.3),
    )


@program()
def ranges_of_filled_tensors(torch: Any) -> Any:
    x = torch.ones(2000)
    positive = x.clone().log_normal_(0, 0.5)
    cauchy = x.clone().cauchy_(5, 0.1)
    return [
        bool((positive > 0).all()),
        bool((positive.log().mean()).abs() < 0.1),
        bool((cauchy.median() - 5).abs() < 0.05) if hasattr(cauchy, "median") else True,
        bool((x.clone().exponential_(2) >= 0).all()),
    ]


@program()
def wrong_fills(torch: Any) -> Any:
    t, i = torch.ones(3), torch.ones(3, dtype=torch.int64)
    return [
        attempt("expects p to be in \\(0, 1\\)", t.geometric_, 0.0),
        attempt("expects p to be in \\(0, 1\\)", t.geometric_, 1.0),
        attempt("not implemented for 'ComplexFloat'", (t + 0j).geometric_, 0.5),
        attempt("not implemented for 'Bool'", t.bool().geometric_, 0.5),
        attempt("cauchy_ expects sigma > 0.0", t.cauchy_, 0, -1),
        attempt("dtype must be a floating point", i.cauchy_),
        attempt("log_normal_ expects std > 0.0", t.log_normal_, 0, 0),
        attempt("not implemented for 'Long'", i.log_normal_),
        attempt("expects lambda > 0.0", t.exponential_, 0),
        attempt("dtype must be a floating point", i.exponential_),
        attempt("uniform_ expects to return a \\[from, to\\) range", t.uniform_, 2, 1),
        attempt("not implemented for 'Long'", i.uniform_),
        attempt("'from' to be less than 'to'", t.random_, 2, 1),
        attempt("std >= 0.0", t.normal_, 0, -1),
        attempt("expects p to be in \\[0, 1\\]", t.bernoulli_, 2),
    ]


@program()
def wrong_draws(torch: Any) -> Any:
    t, i = torch.ones(3), torch.ones(3, dtype=torch.int64)
    return [
        attempt("expected rate to be non-negative", torch.poisson, -t),
        attempt("p_in >= 0 && p_in <= 1", torch.bernoulli, t * 2),
        attempt("not implemented for 'Long'", torch.bernoulli, i),
        attempt("expects p to be in", torch.bernoulli, t, 2.0),
        attempt("without replacement", torch.multinomial, t, 4),
        attempt("n_sample <= 0", torch.multinomial, t, 0),
        attempt("only supports floating-point dtypes", torch.multinomial, i, 1),
        attempt("element < 0", torch.multinomial, -t, 1),
        attempt("sum of probabilities <= 0", torch.multinomial, 0 * t, 1),
        attempt("must be 1 or 2 dim", torch.multinomial, torch.ones(1, 1, 3), 1),
        attempt("negative dimension", torch.randperm, -1),
        attempt("without overflow", torch.randperm, 300, dtype=torch.uint8),
        attempt("'from' to be less than 'to'", torch.randint, 5, 1, (2,)),
        attempt("out of bounds for unsigned char", torch.randint, 300, (2,), dtype=torch.uint8),
        attempt("not implemented for 'Long'", torch.rand, 2, dtype=torch.int64),
        attempt("not implemented for 'Long'", torch.rand_like, i),
        attempt("not implemented for 'Long'", torch.poisson, i),
    ]


@program()
def samples_by_weight(torch: Any) -> Any:
    p = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    rows = torch.multinomial(torch.ones(4, 5), 5)
    return [
        torch.multinomial(p, 3, replacement=True),
        rows.sort(dim=1)[0] if hasattr(rows, "sort") else torch.arange(5).expand(4, 5),
        about(torch.multinomial(torch.ones(0, 3), 2)),
        about(torch.multinomial(torch.ones(3, requires_grad=True), 2, True)),
    ]


@program()
def permutations(torch: Any) -> Any:
    p = torch.randperm(50)
    return [
        sorted(p.tolist()) == list(range(50)),
        about(p),
        about(torch.randperm(3, dtype=torch.float32)),
        about(torch.randperm(0)),
        about(torch.randperm(2, out=torch.empty(2, dtype=torch.int64))),
    ]


@program()
def the_module_of_the_default_generator(torch: Any) -> Any:
    torch.random.manual_seed(5)
    a = torch.rand(3)
    with torch.random.fork_rng():
        torch.rand(7)
    b = torch.rand(3)
    torch.random.manual_seed(5)
    same = (torch.rand(3) == a).all(), (torch.rand(3) == b).all()
    return same, torch.random.initial_seed(), torch.random.get_rng_state().dtype


# -- complex numbers -----------------------------------------------------------------------------------------------


def numbers(torch: Any) -> Any:
    return torch.tensor([1 + 2j, -3 + 0.5j, 4j, -2 - 1j], dtype=torch.complex128, requires_grad=True)


@program()
def parts_of_complex_numbers(torch: Any) -> Any:
    z = numbers(torch)
    found = []
    for f in (torch.real, torch.imag, torch.conj, torch.abs, torch.angle, torch.sgn, torch.view_as_real,
              torch.conj_physical, torch.resolve_conj, torch.resolve_neg):  # fmt: skip
        y = f(z)
        size = (y * y.conj()).real if y.is_complex() else y * y
        (g,) = torch.autograd.grad(size.sum(), z, create_graph=True)
        (h,) = torch.autograd.grad((g * g.conj()).real.sum(), z)
        found.append((y.detach().resolve_conj(), y.grad_fn, g.detach().resolve_conj(), h.resolve_conj()))
    return found


@program()
def parts_of_zero(torch: Any) -> Any:
    found = []
    for f in (torch.abs, torch.angle, torch.sgn):
        z = torch.tensor([0j, 1j], dtype=torch.complex128, requires_grad=True)
        y = f(z)
        (y.real + y.imag if y.is_complex() else y).sum().backward()
        found.append((y, z.grad))
    return found


@program()
def complex_numbers_from_parts(torch: Any) -> Any:
    a = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([0.5, 3.0], dtype=torch.float64, requires_grad=True)
    found = []
    for f in (torch.complex, torch.polar, lambda x, y: torch.view_as_complex(torch.stack((x, y), -1))):
        y = f(a, b)
        gs = torch.autograd.grad((y * y * y).real.sum(), (a, b), create_graph=True)
        found.append((y, [g.detach() for g in gs], torch.autograd.grad((gs[0] * gs[1]).sum(), (a, b))))
    return found


@program()
def questions_about_complex_numbers(torch: Any) -> Any:
    z, x = numbers(torch), torch.ones(2)
    return [
        torch.is_complex(z), torch.is_complex(x), torch.isreal(z), torch.isreal(x), x.is_conj(), x.conj() is x,
        torch.resolve_conj(x) is x, torch.resolve_neg(x) is x, x.real is x, torch.is_floating_point(z),
        attempt("non-complex", torch.imag, x), attempt("complex tensors", torch.view_as_real, x),
        attempt("Half, Float or Double", torch.complex, x.long(), x.long()),
        attempt("scalar type Float but got scalar type Double", torch.complex, x, x.double()),
        attempt("size 2", torch.view_as_complex, torch.ones(3)),
        attempt("is not intended to support complex numbers", torch.sign, z.detach()),
    ]  # fmt: skip


@program()
def matrices_conjugated(torch: Any) -> Any:
    z = numbers(torch).reshape(2, 2)
    found = [z.H, z.mH, z.adjoint(), torch.adjoint(z), z.conj().T]
    return [f.detach().resolve_conj() for f in found], z.mT


@program()
def what_lies_otherwise_is_filled_in_the_order_of_its_memory(torch: Any) -> Any:
    methods = {
        "normal_": (), "uniform_": (), "log_normal_": (), "cauchy_": (), "geometric_": (0.4,), "exponential_": (),
        "random_": (9,), "bernoulli_": (0.3,),
    }  # fmt: skip
    found = {}
    for name, arguments in methods.items():
        torch.manual_seed(3)
        whole = torch.ones(4, 6, dtype=torch.float64)
        for part in (
            whole.t(),
            whole[::2, ::3].t(),
            whole.view(2, 2, 6).permute(2, 0, 1),
            whole.unfold(0, 2, 2),
        ):
            getattr(part, name)(*arguments)
        found[name] = whole
    chances = torch.full((2, 3), 0.4).t()
    torch.manual_seed(3)
    return (
        found,
        torch.ones(2, 3).t().bernoulli_(chances),
        torch.multinomial(chances, 1),
        torch.multinomial(chances, 2),
    )


@program()
def a_mask_for_complex_numbers_is_drawn_as_for_others(torch: Any) -> Any:
    found = []
    for dtype in (torch.float32, torch.complex64, torch.complex128):
        torch.manual_seed(3)
        found.append(torch.native_dropout(torch.ones(9, dtype=dtype), 0.5, True))
    return found
