"""Hooks and retained gradients around in-place writes, direct ones and those through views."""

from __future__ import annotations

from typing import Any

from .harness import program


def leaf(torch: Any) -> Any:
    return torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64, requires_grad=True)


@program()
def hook_registered_before_a_write(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: seen.append(g))
    y.mul_(3)
    y.sum().backward()
    return seen, x.grad


@program()
def hook_registered_before_and_after_a_write(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: seen.append(("before", g)))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", g)))
    (y * 5).sum().backward()
    return seen, x.grad


@program()
def hook_that_replaces_before_a_write(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    y.mul_(3)
    y.sum().backward()
    return x.grad


@program()
def hook_on_a_base_before_a_write_through_a_view(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(seen.append)
    y[0].mul_(3)
    y.sum().backward()
    return seen, x.grad


@program()
def hook_on_a_base_after_a_write_through_a_view(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    y[0].mul_(3)
    y.register_hook(seen.append)
    y.sum().backward()
    return seen, x.grad


@program()
def hook_on_a_view_before_it_is_written(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    v = y[:2]
    v.register_hook(seen.append)
    v.mul_(3)
    (v.sum() + y.sum()).backward()
    return seen, x.grad


@program()
def hook_on_a_view_after_it_is_written(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    v = y[:2]
    v.mul_(3)
    v.register_hook(seen.append)
    (v.sum() + y.sum()).backward()
    return seen, x.grad


@program()
def hook_on_a_view_whose_base_was_written(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    v = y[:2]
    v.register_hook(seen.append)
    y.mul_(3)
    (v * 7).sum().backward()
    return seen, x.grad


@program()
def hook_on_a_node_before_a_write(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.mul_(3)
    y.sum().backward()
    return seen, x.grad


@program()
def retain_grad_before_a_write(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    retains = y.retains_grad
    (y * 5).sum().backward()
    return retains, y.grad, x.grad


@program()
def retain_grad_after_a_write(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    y.mul_(3)
    y.retain_grad()
    (y * 5).sum().backward()
    return y.grad, x.grad


@program()
def retain_grad_with_a_use_before_the_write(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    z = y * 4
    y.add_(1)
    (z.sum() + (y * 5).sum()).backward()
    return y.grad, x.grad


@program()
def retain_grad_of_a_base_written_through_a_view(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y[0].mul_(3)
    (y * 5).sum().backward()
    return y.retains_grad, y.grad, x.grad


@program()
def retain_grad_of_a_view_that_is_written(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    v.mul_(3)
    (v * 5).sum().backward()
    return v.retains_grad, v.grad, x.grad


@program()
def retain_grad_of_a_view_whose_base_was_written(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.mul_(3)
    (v * 5).sum().backward()
    return v.grad, x.grad


@program()
def retain_grad_with_hooks_around_a_write(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: seen.append(g))
    y.sum().backward()
    return seen, y.grad, x.grad
