"""The second part of `gradcheck`: backward treats zero, missing and batched gradients as it should."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.autograd.analytic_jacobian import Subject, filled_with, flat
from retrograd.autograd.backward import grad
from retrograd.autograd.gradcheck_report import GradcheckError
from retrograd.autograd.graph import _engine_run_backward
from retrograd.core.places import warn
from retrograd.errors import add_note
from retrograd.ops.shape.join import stack
from retrograd.ops.tensor.create import zeros_like


def check_linear(subject: Subject) -> None:
    """Gradients of zero give gradients of zero."""
    outputs = subject.differentiable()
    zeros = [zeros_like(output) for output in outputs]
    found: Any = grad(outputs, subject.wanted, zeros, retain_graph=True, allow_unused=True)
    for k, g in enumerate(found):
        if not _is_zero(g):
            raise GradcheckError(
                f"backward not multiplied by grad_output: with gradients of zero for all outputs, input {k} got a "
                "gradient that is not zero. Multiply by the gradients that backward is given."
            )


def check_undefined(subject: Subject) -> None:
    """Undefined gradients, of all outputs and of each, are taken for zeros."""
    outputs = subject.differentiable()
    zeros = [zeros_like(output) for output in outputs]
    _run_undefined(subject, [None] * len(outputs))
    if len(outputs) > 1:
        for i in range(len(outputs)):
            _run_undefined(subject, [*zeros[:i], None, *zeros[i + 1 :]])


def _run_undefined(subject: Subject, seeds: list[Any]) -> None:
    outputs = subject.differentiable()
    try:
        found = _engine_run_backward(
            outputs, seeds, True, False, subject.wanted, allow_unreachable=True, accumulate_grad=False
        )
    except RuntimeError as error:
        _warn_about_undefined()
        raise GradcheckError(
            "Expected backward function to handle undefined output grads: an output that was not used arrives as None "
            f"if gradients are not materialized, and stands for zeros. Backward raised {type(error).__name__}: {error}"
        ) from error
    except Exception as error:
        add_note(error, "gradcheck ran backward with None for some gradients; see check_undefined_grad.")
        raise
    for k, g in enumerate(found):
        if not _is_zero(g):
            _warn_about_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero, but "
                f"that of input {k} is not. Backward must take None for zeros."
            )


def _warn_about_undefined() -> None:
    warn(
        'gradcheck tests whether backward supports undefined gradients. "check_undefined_grad=False" leaves that out.',
        UserWarning,
    )


def check_batched(subject: Subject) -> None:
    """Two gradients in a batch give the same as one after the other."""
    draw = np.random.default_rng(0)
    for i in subject.chosen:
        output = subject.outputs[i]
        seeds = [filled_with(output, draw.uniform(-1, 1, output.array.size)) for _ in range(2)]
        single = [
            grad(output, subject.wanted, seed, retain_graph=True, allow_unused=True, materialize_grads=True)
            for seed in seeds
        ]
        batched = _batched(output, subject.wanted, stack(seeds))
        for k, both in enumerate(zip(*single, strict=True)):
            expected = stack(both)
            found = zeros_like(expected) if batched[k] is None else batched[k]
            if not np.allclose(flat(found), flat(expected), rtol=1e-5, atol=1e-8):
                raise GradcheckError(
                    f"For output {i} and input {k}:\nin a batch: {found!r}\none by one: {expected!r}\n{BATCHED}"
                )


BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation (is_grads_batched=True). "
    "check_batched_grad=False leaves that out."
)


def _batched(output: Any, wanted: list[Any], seeds: Any) -> Any:
    try:
        return grad(output, wanted, seeds, retain_graph=True, is_grads_batched=True, allow_unused=True)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{BATCHED}") from error


def _is_zero(gradient: Any) -> bool:
    return gradient is None or not flat(gradient).any()
