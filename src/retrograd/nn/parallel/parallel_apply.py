"""Several modules, each with inputs of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.nn.module import Module


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The output of each module for its inputs. GPUs compute at the same time: a call only gives them work.

    >>> import retrograd as rg
    >>> rg.nn.parallel.parallel_apply([rg.nn.ReLU(), rg.nn.Tanh()], [(rg.ones(1),), (rg.zeros(1),)])
    [tensor([1.]), tensor([0.])]
    """
    named = kwargs_tup or [{} for _ in modules]
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **kwargs)
        for module, given, kwargs in zip(modules, inputs, named, strict=True)
    ]
