"""The second part of `gradcheck`: zero, missing and batched gradients and tangents are treated as they should be."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.autograd import forward_ad
from retrograd.autograd.analytic_jacobian import Subject, filled_with, flat, moved_along
from retrograd.autograd.backward import grad
from retrograd.autograd.gradcheck_report import GradcheckError
from retrograd.autograd.graph import _engine_run_backward
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
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
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default: gradcheck "
        'runs backward with None for some gradients. "check_undefined_grad=False" leaves that out.',
        UserWarning,
    )


def check_undefined_forward(subject: Subject) -> None:
    """An input without a tangent counts as one whose tangent is zero."""
    draw = np.random.default_rng(0)
    seeds: list[Any] = [filled_with(x, draw.uniform(-1, 1, x.array.size)) for x in subject.wanted]
    for k, x in enumerate(subject.wanted):
        zero = moved_along(subject, [*seeds[:k], zeros_like(x), *seeds[k + 1 :]])
        none = moved_along(subject, [*seeds[:k], None, *seeds[k + 1 :]])
        for i, a, b in zip(subject.chosen, zero, none, strict=True):
            if a is not None and b is not None and not np.allclose(a, b, rtol=1e-5, atol=1e-8):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {i} when input: {k} has an undefined tangent "
                    f"value. Got: {b} but expected: {a}. jvp must take a tangent of None for zeros."
                )


class _Pushed:
    """The tangents of the outputs as a function of one input's tangent."""

    def __init__(self, subject: Subject, k: int) -> None:
        self.subject = subject
        self.k = k

    def __call__(self, tangent: Any) -> tuple[Any, ...]:
        subject = self.subject
        inputs = [x.detach() if isinstance(x, Tensor) else x for x in subject.inputs]
        with forward_ad.dual_level():
            argument = subject.arguments[self.k]
            inputs[argument] = forward_ad.make_dual(inputs[argument], tangent)
            outputs = [forward_ad.unpack_dual(output) for output in subject.run(inputs)]
            return tuple([zeros_like(o.primal) if o.tangent is None else o.tangent for o in outputs])


def check_batched_forward(subject: Subject) -> None:
    """Two tangents in a batch give the same as one after the other."""
    from retrograd.func.mapping import vmap

    draw = np.random.default_rng(0)
    for k, x in enumerate(subject.wanted):
        pushed = _Pushed(subject, k)
        tangents = [filled_with(x, draw.uniform(-1, 1, x.array.size)) for _ in range(2)]
        single = [pushed(tangent) for tangent in tangents]
        try:
            batched = vmap(pushed)(stack(tangents))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{BATCHED_FORWARD}"
            ) from error
        for i, (found, both) in enumerate(zip(batched, zip(*single, strict=True), strict=True)):
            if not np.allclose(flat(found), flat(stack(both)), rtol=1e-5, atol=1e-8):
                raise GradcheckError(
                    f"For output {i} and input {k}:\nin a batch: {found!r}\none by one: {stack(both)!r}\n"
                    f"{BATCHED_FORWARD}"
                )


BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation of forward mode (vmap over a function that makes dual "
    "tensors). check_batched_forward_grad=False leaves that out."
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
