"""What `gradcheck` says when two Jacobians differ: both of them, and the element where they differ most."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.values import Array


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` if a derivative is not what it should be."""


class JacobianBlock:
    """Which block of the Jacobian is looked at: an output, an input, and how it was come by."""

    prefix: str = ""  # which part of a complex number is looked at
    kind: str = "Jacobian mismatch"

    def __init__(self, output: int, input_: int, argument: int, out_shape: Any, in_shape: Any) -> None:
        self.output: int = output
        self.input: int = input_
        self.argument = argument  # where in the function's signature the input stands
        self.out_shape: Any = out_shape
        self.in_shape: Any = in_shape

    def headline(self) -> str:
        """PyTorch's words for it."""
        text = f"{self.kind} for output {self.output} with respect to input {self.input}"
        return f"{self.prefix}{text},"


def close(analytical: Array, numerical: Array, rtol: float, atol: float) -> bool:
    """Whether all elements agree; NaN agrees with nothing."""
    return bool(np.all(np.abs(analytical - numerical) <= atol + rtol * np.abs(numerical)))


def mismatch(
    place: JacobianBlock, numerical: Array, analytical: Array, rtol: float, atol: float
) -> GradcheckError:
    """The error for two Jacobians (rows: elements of the input) that differ."""
    return GradcheckError(
        f"{place.headline()}\nnumerical:{_shown(numerical)}\nanalytical:{_shown(analytical)}\n\n"
        f"{_worst(place, numerical, analytical, rtol, atol)}"
    )


def fast_mismatch(
    place: JacobianBlock,
    products: tuple[Any, Any],
    numerical: Array,
    analytical: Array,
    tolerances: tuple[float, float],
) -> GradcheckError:
    """The error for two products with random vectors that differ, and for the Jacobians they came from."""
    difference = np.abs(analytical - numerical)
    rtol, atol = tolerances
    return GradcheckError(
        f"{place.headline()}\nnumerical:{_shown(products[0])}\nanalytical:{_shown(products[1])}\n\n"
        "These are products of the Jacobians with random vectors, which fast mode compares. The Jacobians themselves, "
        f"as slow mode computes them:\n\nNumerical:\n{_shown(numerical)}\nAnalytical:\n{_shown(analytical)}\n\n"
        f"The max per-element difference (slow mode) is: {difference.max()}.\n"
        f"{_worst(place, numerical, analytical, rtol, atol)}"
    )


def _worst(place: JacobianBlock, numerical: Array, analytical: Array, rtol: float, atol: float) -> str:
    """Where the two differ most, by how much, and how much they may."""
    excess = np.abs(analytical - numerical) - (atol + rtol * np.abs(numerical))
    excess = np.where(np.isnan(excess), np.inf, excess)
    count = int((excess > 0).sum())
    if not count:
        return "Each element of the Jacobians agrees, but the differences add up.\n"
    i, j = np.unravel_index(int(excess.argmax()), excess.shape)
    n, a = numerical[i, j].item(), analytical[i, j].item()
    output = f"output {place.output}{_at(place.out_shape, int(j))}"
    argument = f"argument {place.argument}{_at(place.in_shape, int(i))}"
    return (
        f"{count} of {excess.size} elements differ. The worst is the derivative of {output} by {argument}: {n:.6g} "
        f"numerically, {a:.6g} analytically. They differ by {abs(a - n):.3g}; allowed is "
        f"atol + rtol * |numerical| = {atol + rtol * abs(n):.3g}.\n"
    )


def _at(shape: Any, flat: int) -> str:
    """An element's index as it is written behind a name; nothing for a single number."""
    index = np.unravel_index(flat, shape)
    return f"[{', '.join(str(int(i)) for i in index)}]" if len(shape) else ""


def _shown(value: Any) -> str:
    return (
        repr(Tensor(value, share=True)) if isinstance(value, np.ndarray) and value.ndim else str(value.item())
    )
