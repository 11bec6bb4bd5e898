"""Leaves made of values that were computed without a graph: allowed, and nothing to warn about."""

from __future__ import annotations

from typing import Any

from .harness import program


@program()
def leaves_of_computed_values(torch: Any) -> Any:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        total = (w * w).sum()
    found = []
    for t in (total.detach().requires_grad_(), total.clone().requires_grad_(), total.requires_grad_(True)):
        out = t * t
        out.backward()
        found.append((t, t.grad))
    return found


@program()
def an_adjoint_of_detached_states(torch: Any) -> Any:
    def slope(t: Any, y: Any) -> Any:
        return -y * t

    y = torch.tensor([1.0, 2.0], requires_grad=True)
    t = torch.tensor(0.5)
    with torch.no_grad():
        step = y + slope(t, y) * 0.1
        norm = step.abs().max()
    with torch.enable_grad():
        t = (t * norm).detach().requires_grad_(True)
        state = step.detach().requires_grad_(True)
        found = torch.autograd.grad(slope(t, state), (t, state), torch.ones(2), allow_unused=True)
    return found
