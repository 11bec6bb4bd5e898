"""Small helpers that `torch.utils` itself has."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor

cmake_prefix_path = ""  # where CMake would find PyTorch's C++ library; there is none


def set_module(obj: Any, mod: str) -> None:
    """Has something say that it comes from a module of this name."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges the values, the gradients and the place in the graph of two leaves; each name keeps its object.

    >>> import retrograd as rg
    >>> a, b = rg.zeros(2), rg.ones(3)
    >>> swap_tensors(a, b); a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for t in (t1, t2):
        if t._node is not None or t._base is not None:
            raise RuntimeError(
                "Cannot swap t1 or t2 if they have a history: swap leaves, such as t.detach() gives."
            )
    for name in ("array", "_requires", "_grad", "_counter", "_grad_dtype"):
        first, second = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, second)
        setattr(t2, name, first)
    first_state, second_state = t1._user_state(), t2._user_state()
    for t, old, new in ((t1, first_state, second_state), (t2, second_state, first_state)):
        for name in old:
            delattr(t, name)
        vars(t).update(new)
    t1._leave_accumulator()
    t2._leave_accumulator()
