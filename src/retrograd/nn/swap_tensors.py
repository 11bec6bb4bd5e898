"""Two tensors change places: each object stays, with the other's values, class and attributes."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any, NoReturn

from retrograd.core.tensor import Tensor

# All that a tensor is, but for the accumulator that graphs know, and for tangents.
_OWN = (
    "array", "output_nr", "_requires", "_node", "_grad", "_counter", "_base", "_view_version", "_view_kind",
    "_leaf_hooks", "_post_accumulate", "_lost", "_reduced", "_forward_base", "_grad_dtype", "_keeps_class",
)  # fmt: skip


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges all that two tensors are: values, gradients, classes, attributes. Each name keeps its object.

    A graph that was made with one of them as a leaf cannot be gone through any more.

    >>> import retrograd as rg
    >>> a, b = rg.zeros(2), rg.ones(3)
    >>> swap_tensors(a, b); a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    slots = _check(t1, t2)
    for t in (t1, t2):
        _poison(t)
    first_state, second_state = t1._user_state(), t2._user_state()
    for name in (*_OWN, *slots):
        _exchange(t1, t2, name)
    t1.__class__, t2.__class__ = type(t2), type(t1)
    for t, old, new in ((t1, first_state, second_state), (t2, second_state, first_state)):
        for name in old:
            delattr(t, name)
        vars(t).update(new)


def _check(t1: Tensor, t2: Tensor) -> set[str]:
    """The names of the slots that both have; raises where the two cannot be exchanged."""
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(
                f"Cannot swap {name} because it has weakref associated with it, which would show the other tensor"
            )
        if t._tangent is not None:
            raise RuntimeError(f"Cannot swap {name} because it has a tangent: leave the dual level first")
    slots: set[str] = set(copyreg._slotnames(type(t1)))  # type: ignore[attr-defined]
    if slots != set(copyreg._slotnames(type(t2))):  # type: ignore[attr-defined]
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    return slots


def _exchange(t1: Tensor, t2: Tensor, name: str) -> None:
    """Exchanges an attribute that either may lack."""
    values = [(getattr(t, name), True) if hasattr(t, name) else (None, False) for t in (t2, t1)]
    for t, (value, there) in zip((t1, t2), values, strict=True):
        if there:
            setattr(t, name, value)
        elif hasattr(t, name):
            delattr(t, name)


def _poison(t: Tensor) -> None:
    """Has graphs that lead to a leaf say in backward that it is another one by now."""
    accumulator: Any = t._accumulator() if t._accumulator is not None else None
    if accumulator is not None:
        accumulator.register_prehook(_refuse)
    t._leave_accumulator()


def _refuse(grads: Any) -> NoReturn:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: since the forward, a leaf has "
        "changed places with another tensor. Under torch.__future__.set_swap_module_params_on_conversion(True), "
        "change the dtype or device of a module before forward, or after backward."
    )
