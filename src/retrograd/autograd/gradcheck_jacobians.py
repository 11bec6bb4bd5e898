"""The first part of `gradcheck`: Jacobians by autograd and by differences are the same.

Note [Fast mode]
~~~~~~~~~~~~~~~~
A Jacobian of n inputs and m outputs takes n differences and m backwards. Fast mode compares one number, u · J · v, for
random unit vectors u and v with positive elements: one difference along v and one backward weighted by u. Errors of the
size `atol` in each element add up to at most `atol` times the sums of u and v, which is what is allowed then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from retrograd.autograd.analytic_jacobian import (
    IMAG,
    REAL,
    WHOLE,
    Evaluation,
    Subject,
    backward_jacobian,
    filled_with,
    forward_jacobian,
    part_of,
    pulled_back,
    pushed_forward,
)
from retrograd.autograd.gradcheck_report import GradcheckError, JacobianBlock, close, fast_mismatch, mismatch
from retrograd.autograd.numeric_jacobian import difference, numeric_jacobian, wirtinger
from retrograd.backends.dtypes import is_differentiable
from retrograd.values import Array


class Tolerance(NamedTuple):
    """How inputs are moved, and what may differ by how much."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_dtypes: bool
    fast: bool


def check_constant(subject: Subject, eps: float, fast: bool) -> None:
    """No output requires a gradient: then none may depend on an input. Whole numbers may jump, except in fast mode."""
    outputs = [i for i, out in enumerate(subject.outputs) if fast or is_differentiable(out.array.dtype)]
    evaluate = Evaluation(subject, outputs)
    for k, x in enumerate(subject.wanted):
        for i, block in zip(outputs, wirtinger(evaluate, x.array, eps), strict=True):
            if block.any():
                raise GradcheckError(
                    f"Numerical gradient for function expected to be zero: no output requires a gradient, but output "
                    f"{i} changes with argument {subject.arguments[k]}. Was it detached, or computed under no_grad?"
                )


# -- backward mode -------------------------------------------------------------------------------------------------


def check_backward(subject: Subject, t: Tolerance) -> None:
    """Backward mode against differences; of complex outputs first the imaginary part, then the real."""
    complex_ones = [i for i in subject.chosen if subject.outputs[i].array.dtype.kind == "c"]
    check = _fast_backward if t.fast else _slow_backward
    if complex_ones:
        check(subject, t, complex_ones, IMAG)
    check(subject, t, subject.chosen, REAL if complex_ones else WHOLE)


def _slow_backward(subject: Subject, t: Tolerance, indices: list[int], part: str) -> None:
    """Whole Jacobians."""
    evaluate = Evaluation(subject, indices, part)
    numerical = [wirtinger(evaluate, x.array, t.eps) for x in subject.wanted]
    for position, i in enumerate(indices):
        output = part_of(subject.outputs[i], part)
        analytical = backward_jacobian(output, subject.wanted, t.check_dtypes)
        _check_repeatable(analytical, backward_jacobian(output, subject.wanted), t.nondet_tol)
        for k, found in enumerate(analytical):
            wanted = numerical[k][position]
            if not close(found, wanted, t.rtol, t.atol):
                raise mismatch(_place(subject, i, k, part), wanted, found, t.rtol, t.atol)


def _fast_backward(subject: Subject, t: Tolerance, indices: list[int], part: str) -> None:
    """Products with random vectors. See Note [Fast mode]."""
    draw = np.random.default_rng(0)
    evaluate = Evaluation(subject, indices, part)
    vs = [_direction(draw, x) for x in subject.wanted]
    numerical = [_along(evaluate, x.array, v, t.eps) for x, v in zip(subject.wanted, vs, strict=True)]
    for position, i in enumerate(indices):
        output = part_of(subject.outputs[i], part)
        u = _unit_vector(draw, output.array.size)
        seed = filled_with(output, u)
        rows = pulled_back(output, seed, subject.wanted, t.check_dtypes)
        _check_repeatable(rows, pulled_back(output, seed, subject.wanted), t.nondet_tol)
        for k, (row, v) in enumerate(zip(rows, vs, strict=True)):
            wanted = np.asarray(numerical[k][position] @ u)
            found = np.asarray(_dot(row, v))
            if not close(found, wanted, t.rtol, t.atol * _weight(v) * float(u.sum())):
                x, place = subject.wanted[k], _place(subject, i, k, part)
                slow = wirtinger(evaluate, x.array, t.eps)[position]
                whole = backward_jacobian(output, [x])[0]
                raise fast_mismatch(place, (wanted, found), slow, whole, (t.rtol, t.atol))


def _along(evaluate: Evaluation, array: Array, v: Array, eps: float) -> list[Array]:
    """The change of each output along v; of a complex v, along its real part plus i times that along its imaginary."""
    v = v.reshape(array.shape)
    changes = difference(evaluate, array, ..., eps * v.real, eps)
    if array.dtype.kind != "c":
        return changes
    turned = difference(evaluate, array, ..., 1j * eps * v.imag, eps)
    return [x + 1j * y for x, y in zip(changes, turned, strict=True)]


def _dot(row: Array, v: Array) -> Any:
    """The product of a gradient with v, real and imaginary parts apart."""
    if v.dtype.kind != "c":
        return row @ v
    return row.real @ v.real + 1j * (row.imag @ v.imag)


def _check_repeatable(first: list[Array], second: list[Array], tolerance: float) -> None:
    """The same backward twice gives the same."""
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.size and np.abs(a - b).max() > tolerance:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                f"gives different values: those for input {k} differ by {np.abs(a - b).max():.3g}. "
                f"The tolerance for nondeterminism was {tolerance}. If that much is to be expected, raise nondet_tol; "
                "else look for state that backward changes, such as a gradient written in place."
            )


# -- forward mode --------------------------------------------------------------------------------------------------


def check_forward(subject: Subject, t: Tolerance) -> None:
    """Forward mode against differences; complex inputs are moved first along the imaginary axis, then the real."""
    check = _fast_forward if t.fast else _slow_forward
    for k, x in enumerate(subject.wanted):
        if x.array.dtype.kind == "c":
            check(subject, t, k, 1j, "While considering the imaginary part of complex inputs only, ")
    for k, x in enumerate(subject.wanted):
        is_complex = x.array.dtype.kind == "c"
        check(
            subject, t, k, 1, "While considering the real part of complex inputs only, " if is_complex else ""
        )


def _slow_forward(subject: Subject, t: Tolerance, k: int, unit: complex, prefix: str) -> None:
    """Whole Jacobians."""
    evaluate = Evaluation(subject, subject.chosen)
    numerical = numeric_jacobian(evaluate, subject.wanted[k].array, t.eps, unit)
    analytical = forward_jacobian(subject, k, unit)
    for i, wanted, found in zip(subject.chosen, numerical, analytical, strict=True):
        if not close(found, wanted, t.rtol, t.atol):
            raise mismatch(_forward_place(subject, i, k, prefix), wanted, found, t.rtol, t.atol)


def _fast_forward(subject: Subject, t: Tolerance, k: int, unit: complex, prefix: str) -> None:
    """The change of the outputs along one random vector."""
    x = subject.wanted[k]
    evaluate = Evaluation(subject, subject.chosen)
    v = _unit_vector(np.random.default_rng(0), x.array.size).astype(x.array.dtype) * unit
    parts = 2 if x.array.dtype.kind == "c" else 1  # the tolerance is that of a step along both
    numerical = difference(evaluate, x.array, ..., t.eps * v.reshape(x.array.shape), t.eps)
    analytical = pushed_forward(subject, k, filled_with(x, v))
    for position, (wanted, found) in enumerate(zip(numerical, analytical, strict=True)):
        if not close(found, wanted, t.rtol, t.atol * parts * float(np.abs(v).sum())):
            place = _forward_place(subject, subject.chosen[position], k, prefix)
            slow = numeric_jacobian(evaluate, x.array, t.eps, unit)[position]
            whole = forward_jacobian(subject, k, unit)[position]
            raise fast_mismatch(place, (wanted, found), slow, whole, (t.rtol, t.atol))


# -- random vectors, and names for what differs --------------------------------------------------------------------


def _unit_vector(draw: np.random.Generator, size: int) -> Array:
    """A random vector of length 1 whose elements are positive, so that errors do not cancel."""
    values = draw.uniform(0.1, 1, size)
    return values / np.linalg.norm(values) if size else values


def _direction(draw: np.random.Generator, x: Any) -> Array:
    """A random vector to move an input along."""
    values = _unit_vector(draw, x.array.size)
    return values + 1j * _unit_vector(draw, x.array.size) if x.array.dtype.kind == "c" else values


def _weight(v: Array) -> float:
    """What errors of 1 in each element may add up to: those of both parts do."""
    return float(v.real.sum() + v.imag.sum())


def _place(subject: Subject, i: int, k: int, part: str) -> JacobianBlock:
    output, x = subject.outputs[i], subject.wanted[k]
    place = JacobianBlock(subject.chosen.index(i), k, subject.arguments[k], output.shape, x.shape)
    if part != WHOLE and output.array.dtype.kind == "c":
        place.prefix = f"While considering the {part} part of complex outputs only, "
    return place


def _forward_place(subject: Subject, i: int, k: int, prefix: str) -> JacobianBlock:
    place = _place(subject, i, k, WHOLE)
    place.kind, place.prefix = "Jacobian computed with forward mode mismatch", prefix
    return place
