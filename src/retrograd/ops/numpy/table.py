"""The table from NumPy's functions to ours, and how to look into it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from retrograd import public_names
from retrograd.backends.dtypes import get_default_dtype
from retrograd.core.tensor import Tensor
from retrograd.lazy import Loaded
from retrograd.ops.shape import reshape as shapes
from retrograd.ops.tensor.data import as_tensor

# By NumPy's function: ours, or the name of ours where it is called alike.
HANDLERS: dict[Any, Any] = {}


class NoCounterpart(Exception):
    """There is no function of that name here."""


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function the one that stands for NumPy's."""

    def register(handler: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


@cache
def library() -> Loaded:
    """Every function of the op library by name, those of `linalg` and `fft` under `linalg.<name>`, `fft.<name>`."""
    return Loaded(public_names.FUNCTIONS, linalg=public_names.LINALG, fft=public_names.FFT)


def ours(name: str) -> Any:
    """The function of the library of that name."""
    found = library().get(name)
    if found is None:
        raise NoCounterpart(name)
    return found


def tensor_of(value: Any) -> Tensor:
    """A tensor from whatever NumPy would take for an array."""
    return value if isinstance(value, Tensor) else as_tensor(value)


def flat(a: Any) -> Any:
    """`a` as a vector."""
    return shapes.ravel(tensor_of(a))


def floating(a: Any) -> Any:
    """`a`, integers as floating-point numbers."""
    x = tensor_of(a)
    return x if x.array.dtype.kind in "fc" else x.to(get_default_dtype())


def axes(axis: Any, a: Any) -> Any:
    """All dimensions where no axis is given."""
    return tuple(range(a.array.ndim)) if axis is None else axis


def refusal(name: str) -> TypeError:
    """The error for a function of NumPy's that would lose the gradient."""
    hint = f"retrograd.{name}(…), or " if name in library() else ""
    return TypeError(
        f"np.{name} of a Tensor that requires grad: there is no recorded counterpart, and NumPy's own would lose the "
        f"gradient. Use {hint}NumPy's on t.detach().numpy() if no gradient is wanted."
    )
