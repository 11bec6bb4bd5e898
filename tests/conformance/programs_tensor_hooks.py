"""Hooks on tensors: order, replacement, removal, wrong results, post-accumulate hooks."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def hook_sees_the_gradient(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(seen.append)
    x.register_hook(seen.append)
    (y * y).sum().backward()
    return seen


@program()
def hook_replaces_the_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda grad: grad * 10)
    (x * 3).sum().backward()
    return x.grad


@program()
def hooks_run_in_order_of_registration(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    x.register_hook(lambda grad: grad + 1)
    x.register_hook(lambda grad: grad * 10)
    (x * 3).backward()
    return x.grad


@program()
def hook_that_returns_none_changes_nothing(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    x.register_hook(lambda grad: None)
    x.register_hook(lambda grad: grad * 2)
    (x * 3).backward()
    return x.grad


@program()
def hook_removed(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    handle = x.register_hook(lambda grad: grad * 10)
    x.register_hook(lambda grad: grad + 1)
    (x * 3).backward()
    handle.remove()
    (x * 3).backward()
    return x.grad


@program()
def hook_removed_from_inside(torch: Any) -> Any:
    calls = []
    x = torch.tensor(1.0, requires_grad=True)

    def hook(grad: Any) -> None:
        calls.append(grad.item())
        handle.remove()

    handle = x.register_hook(hook)
    (x * 3).backward()
    (x * 3).backward()
    return calls


@program()
def hook_as_a_decorator_returns_a_handle(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)

    @x.register_hook  # type: ignore[untyped-decorator]
    def handle(grad: Any) -> Any:
        return grad * 2

    (x * 3).backward()
    handle.remove()
    return x.grad


@program(phrase="cannot register a hook on a tensor that doesn't require gradient")
def hook_on_a_constant(torch: Any) -> Any:
    torch.ones(2).register_hook(print)


@program()
def hook_results_of_wrong_kind(torch: Any) -> Any:
    def backward_with(hook: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        x.register_hook(hook)
        return attempt("", (x * 3).sum().backward), x.grad

    return [
        backward_with(lambda grad: 1.0),
        backward_with(lambda grad: torch.ones(3)),
        backward_with(lambda grad: (grad,)),
    ]


@program(phrase="hook .* has changed the size of value")
def hook_that_changes_the_shape(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: torch.ones(3))
    (x * 3).sum().backward()


@program(phrase="hook .* has changed the type of value")
def hook_that_changes_the_dtype(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad.double())
    (x * 3).sum().backward()


@program(phrase="expected Variable, but hook returned 'int'")
def hook_that_returns_a_number(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: 1)
    (x * 3).sum().backward()


@program()
def hook_on_a_tensor_used_twice_sees_the_sum(torch: Any) -> Any:
    seen = []
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.item()))
    (y * 3 + y * 5).backward()
    return seen


@program()
def hook_registered_after_use_still_runs(torch: Any) -> Any:
    seen = []
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    z = y * 3
    y.register_hook(lambda grad: seen.append(grad.item()))
    z.backward()
    return seen


@program()
def hook_outlives_its_tensor(torch: Any) -> Any:
    seen = []
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.item()))
    z = y * 3
    del y
    z.backward()
    return seen


@program()
def hook_on_the_root(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad * 5)
    y.backward()
    return x.grad


@program()
def hook_does_not_see_create_graph_by_default(torch: Any) -> Any:
    seen = []
    x = torch.tensor(2.0, requires_grad=True)
    x.register_hook(lambda grad: seen.append((grad.requires_grad, torch.is_grad_enabled())))
    y = x * x * x
    torch.autograd.grad(y, x, retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    return seen


@program()
def hook_with_create_graph_is_differentiated(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    x.register_hook(lambda grad: grad * grad)
    (first,) = torch.autograd.grad(x * x, x, create_graph=True)
    return first.detach(), torch.autograd.grad(first, x)


@program()
def hook_runs_for_grad_of_an_inner_tensor(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: grad * 10)
    return torch.autograd.grad(y * y, [y, x])


@program()
def hook_of_a_pruned_tensor_does_not_run(torch: Any) -> Any:
    seen = []
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    a, b = x * 2, y * 2
    a.register_hook(lambda grad: seen.append("a"))
    b.register_hook(lambda grad: seen.append("b"))
    torch.autograd.grad(a * b, x)
    return seen


@program()
def hook_clips_a_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 20.0, -30.0], requires_grad=True)
    x.register_hook(lambda grad: grad.clamp(-1.0, 1.0))
    (x * x).sum().backward()
    return x.grad


@program()
def hook_exceptions_keep_their_type(torch: Any) -> Any:
    class Boom(Exception):
        pass

    def hook(grad: Any) -> None:
        raise Boom("from the hook")

    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook(hook)
    failure = attempt("from the hook", (x * 3).sum().backward)
    handle.remove()
    (x * 3).sum().backward()
    return failure, x.grad


@program()
def hooks_stay_with_the_tensor_when_copied(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 10)
    y = x.detach().clone().requires_grad_()
    (x.sum() + y.sum()).backward()
    return x.grad, y.grad


@program()
def post_accumulate_hook_sees_the_tensor_with_its_grad(torch: Any) -> Any:
    seen = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.clone())))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    return seen


@program()
def post_accumulate_hook_may_take_the_grad_away(torch: Any) -> Any:
    taken = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def hook(p: Any) -> None:
        taken.append(p.grad)
        p.grad = None

    x.register_post_accumulate_grad_hook(hook)
    (x * 3).sum().backward()
    (x * 5).sum().backward()
    return taken, x.grad


@program()
def post_accumulate_hooks_in_order_and_removed(torch: Any) -> Any:
    seen = []
    x = torch.tensor(1.0, requires_grad=True)
    first = x.register_post_accumulate_grad_hook(lambda p: seen.append("first"))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("second"))
    (x * 3).backward()
    first.remove()
    (x * 3).backward()
    return seen


@program(phrase="post accumulate grad hooks cannot be registered on non-leaf tensors")
def post_accumulate_hook_on_a_non_leaf(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    y.register_post_accumulate_grad_hook(print)


@program(phrase="cannot register a hook on a tensor that doesn't require gradient")
def post_accumulate_hook_on_a_constant(torch: Any) -> Any:
    torch.ones(2).register_post_accumulate_grad_hook(print)


@program()
def post_accumulate_hook_that_returns_something(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: p.grad * 2)
    return attempt("hooks should return None", (x * 3).sum().backward)


@program()
def post_accumulate_hook_is_silent_in_autograd_grad(torch: Any) -> Any:
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: seen.append("called"))
    torch.autograd.grad((x * 3).sum(), x)
    return seen


@program()
def post_accumulate_hook_steps_an_optimiser(torch: Any) -> Any:
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step(p: Any) -> None:
        with torch.no_grad():
            p -= 0.1 * p.grad
        p.grad = None

    w.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        (w * w).sum().backward()
    return w
