"""Weights and data that do not depend on a library's random numbers."""

import torch


def set_weights(model, scale):
    """The same weights under every library: a sine of each element's place."""
    with torch.no_grad():
        for n, (name, p) in enumerate(model.named_parameters()):
            if "bias" in name:
                p.zero_()
            elif p.dim() > 1:
                p.copy_(
                    torch.sin(torch.arange(p.numel(), dtype=torch.float64) * (n + 1.37)).view(p.shape) * scale
                )


def waves(n, size, seed=0):
    """Rows of numbers that look random and are not."""
    return (
        torch.sin(torch.arange(n * size, dtype=torch.float64) * 12.9898 + seed)
        .mul(43758.5453)
        .frac()
        .view(n, size)
        .float()
    )
