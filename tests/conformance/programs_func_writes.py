"""Programs that write in place, and register hooks, inside of functions that several transforms differentiate."""

from __future__ import annotations

from typing import Any

from tests.conformance.harness import program


def matrix(torch: Any) -> Any:
    return torch.tensor([[-0.01, 1.8], [-1.11, -1.19]], dtype=torch.float64)


@program()
def turned_in_place_under_two_tangents(torch: Any) -> Any:
    x, outer = matrix(torch), torch.arange(4.0, dtype=torch.float64).reshape(2, 2)

    def twice(change: Any) -> Any:
        def function(a: Any) -> Any:
            v = a.clone()
            change(v)
            return -v * v

        return torch.func.jvp(lambda z: torch.func.jvp(function, (z,), (torch.ones_like(z),)), (x,), (outer,))

    return [
        twice(change)
        for change in (
            lambda v: v.t_(),
            lambda v: v.transpose_(0, 1),
            lambda v: v.unsqueeze_(0),
            lambda v: v.unsqueeze_(1).squeeze_(),
        )
    ]


@program()
def a_view_made_before_its_base_is_turned(torch: Any) -> Any:
    def function(a: Any) -> Any:
        v = a.clone()
        before = v.unsqueeze(0)
        v.unsqueeze_(0)
        v.mul_(a.cos())
        return before, v

    x = torch.tensor([0.5, -1.2, 0.8], dtype=torch.float64)
    return torch.func.jvp(function, (x,), (torch.ones_like(x),))


def written(torch: Any) -> dict[str, Any]:
    def whole(a: Any) -> Any:
        v = a.clone()
        first = v[..., 0]
        v.sin_()
        return (v * v).sum() + first.sum()

    def part(a: Any) -> Any:
        v = a * 2
        part = v.view(-1)[1:]
        part.mul_(a[..., :1])
        return v * v.sum() + part.sum()

    def masked(a: Any) -> Any:
        v = a.clone()
        v.masked_fill_(a > 1, 0.0)
        return v.abs() * a

    def moved(a: Any) -> Any:
        v = a.clone()
        before = v.unsqueeze(0)
        v.unsqueeze_(0)
        v.mul_(a.cos())
        return v + before.sum()

    return {"whole": whole, "part": part, "masked": masked, "moved": moved}


@program()
def writes_inside_of_a_batch_of_jacobians(torch: Any) -> Any:
    x, func = matrix(torch), torch.func
    return [
        [func.vmap(func.jacfwd(f))(x), func.vmap(func.hessian(lambda a, f=f: f(a).sum()), chunk_size=1)(x)]
        for f in written(torch).values()
    ]


@program()
def hooks_belong_to_the_derivative_they_were_registered_in(torch: Any) -> Any:
    x = torch.tensor([-0.69, 1.75, -0.24], dtype=torch.float64, requires_grad=True)
    calls: list[int] = []

    def function(a: Any) -> Any:
        a.register_hook(lambda g: g * 2)
        middle = a * 3
        middle.register_hook(lambda g: calls.append(1))
        middle.grad_fn.register_hook(lambda gi, go: tuple(None if g is None else g * 5 for g in gi))
        return (middle**3).sum()

    first = torch.func.grad(function)(x)
    first.sum().backward()
    second = torch.func.hessian(function)(x.detach())
    output, product = torch.func.vjp(function, x)
    third = [product(torch.ones_like(output))[0] for _ in range(2)]
    third[1].sum().backward()
    return first, second, third, x.grad, len(calls) > 0


@program()
def hooks_on_what_comes_from_outside(torch: Any) -> Any:
    x, leaf = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    outside = leaf * 1

    def function(a: Any) -> Any:
        outside.register_hook(lambda g: g * 5)
        return ((a * outside) ** 2).sum()

    found = torch.func.grad(function)(x)
    found.sum().backward()
    return found, leaf.grad
