"""Small modules that both libraries can build, with the same values in them."""

from __future__ import annotations

from typing import Any


def fill(torch: Any, module: Any) -> Any:
    """Gives all parameters and floating buffers values that depend on their place alone."""
    with torch.no_grad():
        for i, tensor in enumerate([*module.parameters(), *module.buffers()]):
            if tensor.is_floating_point():
                count = torch.arange(tensor.numel(), dtype=torch.float64)
                tensor.copy_(count.add(i + 1).sin().reshape(tensor.shape))
    return module


def linear(torch: Any, *sizes: int, **options: Any) -> Any:
    return fill(torch, torch.nn.Linear(*sizes, **options))


def mlp(torch: Any) -> Any:
    nn = torch.nn
    return fill(torch, nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 1)))


def ramp(torch: Any, *shape: int, **options: Any) -> Any:
    count = 1
    for n in shape:
        count *= n
    return (
        torch.arange(float(count))
        .mul(0.25)
        .reshape(shape)
        .requires_grad_(options.get("requires_grad", False))
    )
