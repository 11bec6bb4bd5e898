"""What AccumulateGrad does with what arrives: takes it over, copies it, or makes a node for it."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def tenfold(leaf: Any) -> None:
    """A post-accumulate hook that writes."""
    leaf.grad.mul_(10)


def chain(node: Any) -> list[Any]:
    """The names of a node and of those behind it."""
    found, todo = [], [node]
    while todo:
        n = todo.pop()
        found.append("None" if n is None else str(n.name()))
        todo += [f for f, _ in reversed(n.next_functions)] if n is not None else []
    return found


@program()
def a_gradient_of_a_custom_backward_is_taken_over(torch: Any) -> Any:
    made = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            grad = g * 2
            made.append(grad.data_ptr())
            return grad

    x = torch.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    first = x.grad.data_ptr() == made[0]
    Twice.apply(x).sum().backward()
    return first, x.grad.data_ptr() == made[0], x.grad


@program()
def a_gradient_that_the_backward_keeps_is_copied(torch: Any) -> Any:
    kept = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            kept.append(g * 2)
            return kept[-1]

    x = torch.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    Twice.apply(x).sum().backward()
    return x.grad.data_ptr() == kept[0].data_ptr(), kept, x.grad


@program()
def a_gradient_for_two_leaves_is_shared_by_none(torch: Any) -> Any:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            grad = g * 1
            return grad, grad

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    Both.apply(x, y).sum().backward()
    x.grad.mul_(10)
    return x.grad, y.grad, x.grad.data_ptr() == y.grad.data_ptr()


@program()
def a_gradient_that_a_tensor_hook_made(torch: Any) -> Any:
    made = []

    def hook(g: Any) -> Any:
        new = g * 3
        made.append(new.data_ptr())
        return new

    x = torch.ones(2, requires_grad=True)
    x.register_hook(hook)
    (x * 2).sum().backward()
    first = x.grad.data_ptr() == made[0]
    return first, x.grad


@program()
def a_gradient_that_a_tensor_hook_saw(torch: Any) -> Any:
    seen, kept = [], []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append(g.data_ptr()))
    (x * 2).sum().backward()
    y = torch.ones(2, requires_grad=True)
    y.register_hook(lambda g: kept.append(g))
    (y * 2).sum().backward()
    y.grad.mul_(10)
    return x.grad.data_ptr() == seen[0], kept, y.grad


@program()
def a_gradient_that_a_prehook_made(torch: Any) -> Any:
    made = []

    def hook(gs: Any) -> Any:
        new = gs[0] * 3
        made.append(new.data_ptr())
        return (new,)

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(hook)
    y.sum().backward()
    return x.grad.data_ptr() == made[0], x.grad


@program()
def a_post_hook_sees_what_a_post_accumulate_hook_wrote(torch: Any) -> Any:
    found = []
    for kind in ("plain", "custom", "hook", "prehook", "own"):

        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        x = torch.ones(2, requires_grad=True)
        y = Twice.apply(x) if kind in ("custom", "own") else x * 2
        node = y.grad_fn.next_functions[0][0]
        if kind == "hook":
            x.register_hook(lambda g: g * 3)
        if kind == "prehook":
            node.register_prehook(lambda gs: (gs[0] * 3,))
        x.register_post_accumulate_grad_hook(tenfold)
        seen: list[Any] = []
        node.register_hook(lambda gin, gout, seen=seen: seen.append((gin, gout[0].clone())))
        y.sum().backward()
        found.append((kind, seen, x.grad))
    return found


@program()
def a_post_hook_when_a_gradient_is_there_already(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(tenfold)
    seen: list[Any] = []
    node.register_hook(lambda gin, gout: seen.append(gout[0].clone()))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return seen, x.grad


@program(warns="reference cycle")
def the_node_of_a_first_gradient_that_is_recorded(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x * x).sum().backward(create_graph=True)
    first = chain(x.grad.grad_fn)
    again = (x * x).sum()
    again.backward(create_graph=True)
    second = chain(x.grad.grad_fn)
    x.grad, found = None, (x.grad, first, second)
    return found


@program(warns="reference cycle")
def the_node_of_a_constant_gradient_that_is_recorded(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    g = torch.ones(2)
    (x * 3).backward(g, create_graph=True)
    first, second = x.grad, x.grad.data_ptr() == g.data_ptr()
    x.grad = None
    x.backward(g, create_graph=True)
    third, fourth = x.grad, x.grad.data_ptr() == g.data_ptr()
    x.grad = None
    h = torch.ones(2, requires_grad=True)
    x.backward(h, create_graph=True)
    fifth = x.grad
    x.grad = None
    return first, second, third, fourth, fifth


@program(warns="reference cycle")
def the_node_of_a_gradient_with_hooks_that_is_recorded(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g * x)
    (x * x * x).sum().backward(create_graph=True)
    found = x.grad, chain(x.grad.grad_fn)
    x.grad = None
    return found


@program(warns="reference cycle")
def the_error_node_of_once_differentiable(torch: Any) -> Any:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, n: Any, z: Any) -> Any:
            ctx.save_for_backward(x, y, z)
            return x * y * z * n

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            x, y, z = ctx.saved_tensors
            return g * y * z, g * x * z, None, g * x * y

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    z = torch.ones(2)
    out = Product.apply(x, y, 2, z)
    out.backward(torch.ones(2, requires_grad=True), create_graph=True)
    found = []
    for t in (x, y):
        node = t.grad.grad_fn.next_functions[1][0]
        found.append((chain(t.grad.grad_fn), node.next_functions[0][1], len(node.next_functions)))
    x.grad = y.grad = None
    return found


@program()
def a_gradient_that_is_handed_on_is_taken_over(torch: Any) -> Any:
    seen: list[int] = []

    class Passing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(grad.data_ptr())
            return grad, grad

    x, y = (torch.ones(5, 6, requires_grad=True) for _ in "xy")
    Passing.apply(x, y)[1][0].backward()
    places = [x.grad.data_ptr(), y.grad.data_ptr()]
    return places[0] != places[1], seen[0] in places, x.grad, y.grad


@program()
def a_gradient_that_is_handed_on_and_kept(torch: Any) -> Any:
    kept: list[Any] = []

    class Passing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            kept.append(grad)
            return grad

    class Looking(Passing):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            kept.append(grad.view(-1))
            return grad

    def run(function: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        (function.apply(x) * 3).sum().backward()
        x.grad.zero_()
        return kept.pop()

    return run(Passing), run(Looking)


@program()
def hooks_after_accumulation_run_without_a_gradient_too(torch: Any) -> Any:
    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> None:
            return None

    x = torch.ones(2, requires_grad=True)
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(None if p.grad is None else p.grad.clone()))
    Silent.apply(x).sum().backward()
    Silent.apply(x * 2).sum().backward()
    ((x * 2).sum() + Silent.apply(x).sum()).backward()
    torch.autograd.grad(Silent.apply(x).sum(), [x], allow_unused=True)
    return seen, x.grad


@program()
def a_hook_after_accumulation_may_give_back_the_leaf(torch: Any) -> Any:
    """As `lambda p: p.add_(p.grad, alpha=-lr)` does, the example of PyTorch's documentation."""

    def after(hook: Any) -> Any:
        x = torch.zeros(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(hook)
        x.backward(torch.tensor([1.0, 2.0, 3.0]))
        return x

    def step(p: Any) -> Any:
        with torch.no_grad():
            return p.add_(p.grad, alpha=-0.5)

    return (
        after(step),
        after(lambda p: p),
        attempt("should return None", after, lambda p: p.grad),
        attempt("should return None", after, lambda p: p.detach()),
        attempt("expected Variable, but hook returned 'int'", after, lambda p: 3),
    )
