"""Noting the order in which nodes run."""

from __future__ import annotations

from typing import Any


def watch(log: list[str], **tensors: Any) -> None:
    """Note the moment at which each tensor's node runs."""
    for name, tensor in tensors.items():
        tensor.grad_fn.register_prehook(lambda grads, name=name: log.append(name))
