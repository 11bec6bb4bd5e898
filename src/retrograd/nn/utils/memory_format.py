"""Layouts of the weights of convolutions."""

from __future__ import annotations

from typing import Any

from retrograd.nn.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from retrograd.nn.module import Module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lays out the weights of all 2d convolutions of a module anew, in place.

    >>> import retrograd as rg
    >>> conv = convert_conv2d_weight_memory_format(rg.nn.Conv2d(3, 4, 2), rg.channels_last)
    >>> conv.weight.is_contiguous(memory_format=rg.channels_last)
    True
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lays out the weights of all 3d convolutions of a module anew, in place."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: Module, memory_format: Any, kinds: tuple[type, ...]) -> Module:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module
