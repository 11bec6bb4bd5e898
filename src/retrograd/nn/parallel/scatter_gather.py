"""Inputs in one part for each device, and outputs of all devices together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.backends.device import device
from retrograd.core.tensor import Tensor
from retrograd.ops.shape.join import cat


def as_device(where: Any) -> device:
    """A device; a number is that of a GPU, and -1 is the CPU."""
    if isinstance(where, int):
        return device("cpu") if where < 0 else device("cuda", where)
    return device(where)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Cuts the tensors in `inputs` into one part for each device; other things go to all.

    >>> import retrograd as rg
    >>> rg.nn.parallel.scatter((rg.arange(4), "all"), ["cpu", "cpu"])
    [(tensor([0, 1]), 'all'), (tensor([2, 3]), 'all')]
    """
    devices = [as_device(where) for where in target_gpus]
    if isinstance(inputs, Tensor):
        return [part.to(where) for part, where in zip(inputs.chunk(len(devices), dim), devices, strict=False)]
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return [
            type(inputs)(*each) for each in zip(*(scatter(x, devices, dim) for x in inputs), strict=False)
        ]
    if isinstance(inputs, (list, tuple)) and inputs:
        parts = zip(*(scatter(each, devices, dim) for each in inputs), strict=False)
        return [tuple(each) if isinstance(inputs, tuple) else list(each) for each in parts]
    if isinstance(inputs, dict) and inputs:
        values = zip(*(scatter(each, devices, dim) for each in inputs.values()), strict=False)
        return [type(inputs)(zip(inputs, each, strict=True)) for each in values]
    return [inputs for _ in devices]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` for the arguments of a call, in as many parts as there are devices with something to do."""
    scattered = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(scattered), len(named))
    scattered += [()] * (count - len(scattered))
    named += [{} for _ in range(count - len(named))]
    return tuple(scattered), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Joins the outputs of several devices on one; the other way round than `scatter`.

    >>> import retrograd as rg
    >>> rg.nn.parallel.gather([rg.zeros(1), rg.ones(2)], "cpu")
    tensor([0., 1., 1.])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        where = as_device(target_device)
        parts = [each.to(where) for each in outputs]
        return cat([each.reshape(1) if each.dim() == 0 else each for each in parts], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)(
            (key, gather([each[key] for each in outputs], target_device, dim)) for key in first
        )
    joined = [gather(each, target_device, dim) for each in zip(*outputs, strict=True)]
    return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)
