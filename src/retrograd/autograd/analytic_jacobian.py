"""The function that `gradcheck` looks at, and its Jacobians as backward and forward mode give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.autograd.gradcheck_report import GradcheckError
from retrograd.backends.base import backend_of
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.ops.tensor.create import zeros_like
from retrograd.values import Array

WHOLE, REAL, IMAG = "", "real", "imaginary"  # which part of complex outputs is looked at


class Subject:
    """A function and the arguments it is called with; `wanted` are those that require a gradient."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        self.func = func
        self.inputs = inputs
        self.arguments: list[int] = [
            i for i, given in enumerate(inputs) if isinstance(given, Tensor) and given.requires_grad
        ]
        self.wanted: list[Any] = [inputs[i] for i in self.arguments]
        self.outputs: tuple[Any, ...] = self.run(inputs)
        self.chosen: list[int] = [i for i, output in enumerate(self.outputs) if output.requires_grad]

    def run(self, inputs: Any) -> tuple[Any, ...]:
        """What the function returns, as a tuple."""
        result = self.func(*inputs)
        outputs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        for i, output in enumerate(outputs):
            if not isinstance(output, Tensor):
                raise TypeError(
                    f"gradcheck: the function must return a Tensor or a sequence of them, but element {i} of what it "
                    f"returned is {type_name(output)}"
                )
        return outputs

    def differentiable(self) -> list[Any]:
        """The outputs that have a gradient."""
        return [self.outputs[i] for i in self.chosen]


class Evaluation:
    """Calls the function again; gives some of its outputs, flat, on the host."""

    def __init__(self, subject: Subject, indices: list[int], part: str = WHOLE) -> None:
        self.subject = subject
        self.indices = indices
        self.part = part

    def __call__(self) -> list[Array]:
        outputs = self.subject.run(self.subject.inputs)
        for i in self.indices:
            _check_same_kind(self.subject.outputs[i].array, outputs[i].array)
        return [flat(part_of(outputs[i], self.part)) for i in self.indices]


def _check_same_kind(before: Array, after: Array) -> None:
    """An output whose shape or dtype depends on where exactly the inputs are has no derivative to compare."""
    for what, old, new in (("shape", before.shape, after.shape), ("dtype", before.dtype, after.dtype)):
        if old != new:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed, but got: {what}s "
                f"{old} and {new}. Check it where it does not branch on values."
            )


def part_of(output: Any, part: str) -> Any:
    """The real or imaginary part of a complex tensor; any other tensor as it is."""
    if part == WHOLE or output.array.dtype.kind != "c":
        return output
    return output.real if part == REAL else output.imag


def flat(tensor: Any) -> Array:
    """The values as a flat NumPy array of their own; integers as floats, so that differences are right."""
    values = tensor.detach().cpu().numpy(force=True).reshape(-1)
    return values.astype(np.float64) if values.dtype.kind in "biu" else values.copy()


def unit_at(like: Any, j: int, value: complex = 1) -> Tensor:
    """`value` at element `j` in row-major order, zeros elsewhere."""
    made = zeros_like(like)
    made.array[np.unravel_index(j, made.array.shape)] = value
    return made


def filled_with(like: Any, values: Array) -> Tensor:
    """A tensor like another with these values."""
    made = zeros_like(like)
    made.array[...] = backend_of(made.array).asarray(values.reshape(made.array.shape))
    return made


# -- backward ------------------------------------------------------------------------------------------------------


def pulled_back(output: Any, seed: Any, wanted: list[Any], check_dtypes: bool = False) -> list[Array]:
    """The gradient of `output` weighted by `seed`, flat, zeros where there is none."""
    found: Any = grad(output, wanted, seed, retain_graph=True, allow_unused=True)
    for i, (g, x) in enumerate(zip(found, wanted, strict=True)):
        if check_dtypes and g is not None and g.dtype != x.dtype:
            raise GradcheckError(
                f"Gradient has dtype mismatch: input {i} is {x.dtype}, its gradient {g.dtype}."
            )
    return [
        np.zeros(x.array.size, x.array.dtype) if g is None else flat(g)
        for g, x in zip(found, wanted, strict=True)
    ]


def backward_jacobian(output: Any, wanted: list[Any], check_dtypes: bool = False) -> list[Array]:
    """For each input, the gradient of each element of a real output: a backward for each, in columns."""
    made = [np.zeros((x.array.size, output.array.size), x.array.dtype) for x in wanted]
    for j in range(output.array.size):
        columns = pulled_back(output, unit_at(output, j), wanted, check_dtypes)
        for jacobian, column in zip(made, columns, strict=True):
            jacobian[:, j] = column
    return made


# -- forward -------------------------------------------------------------------------------------------------------


def pushed_forward(subject: Subject, k: int, tangent: Any) -> list[Array]:
    """How the outputs change as the k-th wanted input moves along `tangent` and the others stay, flat."""
    tangents: list[Any] = [zeros_like(x) for x in subject.wanted]
    tangents[k] = tangent
    found = []
    for i, change in zip(subject.chosen, moved_along(subject, tangents), strict=True):
        output = subject.outputs[i].array
        found.append(np.zeros(output.size, output.dtype) if change is None else change)
    return found


def moved_along(subject: Subject, tangents: list[Any]) -> list[Array | None]:
    """The tangents of the outputs, flat, with those of the wanted inputs; None where there is none."""
    with forward_ad.dual_level():
        inputs = list(subject.inputs)
        for argument, x, tangent in zip(subject.arguments, subject.wanted, tangents, strict=True):
            if tangent is not None:
                inputs[argument] = forward_ad.make_dual(x, tangent)
        outputs = subject.run(inputs)
        changes = [forward_ad.unpack_dual(outputs[i]).tangent for i in subject.chosen]
        return [None if change is None else flat(change) for change in changes]


def forward_jacobian(subject: Subject, k: int, unit: complex) -> list[Array]:
    """For each output, its derivatives by each element of the k-th wanted input, moved by `unit`: in rows."""
    x = subject.wanted[k]
    rows = [pushed_forward(subject, k, unit_at(x, i, unit)) for i in range(x.array.size)]
    if not rows:
        return [np.zeros((0, output.array.size)) for output in subject.differentiable()]
    return [np.stack(column) for column in zip(*rows, strict=True)]
