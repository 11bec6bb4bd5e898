"""`gradcheck` and `gradgradcheck`: derivatives by autograd held against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from retrograd.autograd.analytic_jacobian import Subject
from retrograd.autograd.backward import grad
from retrograd.autograd.gradcheck_jacobians import Tolerance, check_backward, check_constant, check_forward
from retrograd.autograd.gradcheck_manners import (
    check_batched,
    check_batched_forward,
    check_linear,
    check_undefined,
    check_undefined_forward,
)
from retrograd.autograd.gradcheck_report import GradcheckError
from retrograd.autograd.old_jacobians import (
    _get_numerical_jacobian,  # noqa: F401 - PyTorch's own tests take these two from here
    _iter_tensors,  # noqa: F401
    get_analytical_jacobian,
    get_numerical_jacobian,
)
from retrograd.backends.base import backend_of
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.views import is_stretched
from retrograd.ops.tensor.create import zeros_like

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "gradcheck",
    "gradgradcheck",
]


class CheckPlan(NamedTuple):
    """What is to be checked, and how exactly."""

    tolerance: Tolerance
    undefined_grad: bool
    batched_grad: bool
    batched_forward_grad: bool
    forward_ad: bool
    backward_ad: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` agree with small finite differences, to `atol + rtol * |numerical|`.

    The defaults suit float64; with float32 the differences are too coarse, and a warning says so. For complex inputs
    and outputs, gradients follow PyTorch's convention.

    Args:
        func: a function of Tensors (and other things) that returns a Tensor or a sequence of them.
        inputs: what to call it with; the inputs that require a gradient are checked. Their memory is written to while
            the differences are taken, and put back.
        eps: by how much inputs are moved.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise a GradcheckError that shows what differs; else return False.
        nondet_tol: by how much two runs of the same backward may differ.
        check_undefined_grad: whether backward takes undefined gradients (None) of outputs for zeros, and forward mode
            undefined tangents of inputs.
        check_grad_dtypes: whether gradients have the dtypes of their inputs.
        check_batched_grad: whether a batch of gradients gives the same as one after the other.
        check_batched_forward_grad: whether a batch of tangents gives the same as one after the other.
        check_forward_ad: whether forward mode is right.
        check_backward_ad: whether backward mode is right.
        fast_mode: compare products with random vectors instead of whole Jacobians: one difference for each input.
        masked: for sparse tensors, which do not exist here; ignored.

    >>> import retrograd as rg
    >>> x = rg.tensor([0.5, 1.0], dtype=rg.float64, requires_grad=True)
    >>> rg.autograd.gradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    tolerance = Tolerance(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    plan = CheckPlan(
        tolerance,
        check_undefined_grad,
        check_batched_grad,
        check_batched_forward_grad,
        check_forward_ad,
        check_backward_ad,
    )
    try:
        _check(func, _as_tuple(inputs), plan)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the second derivatives of `func` are right: `gradcheck` of its gradient, in inputs and grad_outputs.

    Args:
        func: a function of Tensors (and other things) that returns a Tensor or a sequence of them.
        inputs: what to call it with; the inputs that require a gradient are checked.
        grad_outputs: the gradients of its outputs; random ones between -1 and 1, the same in each call, if not given.
        gen_non_contig_grad_outputs: make the random ones non-contiguous.
        check_fwd_over_rev: whether forward mode over the backward is right.
        check_rev_over_rev: whether backward mode over the backward is right.
        eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
            fast_mode, masked: see `gradcheck`.

    >>> import retrograd as rg
    >>> x = rg.tensor([0.5, 1.0], dtype=rg.float64, requires_grad=True)
    >>> rg.autograd.gradgradcheck(lambda x: x.sin() * x, x)
    True
    """
    _check_modes(check_fwd_over_rev, check_rev_over_rev, check_undefined_grad, check_batched_grad)
    given = _as_tuple(inputs)
    seeds = _as_tuple(grad_outputs)
    if grad_outputs is None:
        seeds = _random_gradients(Subject(func, given).differentiable(), gen_non_contig_grad_outputs)
    return gradcheck(
        _Gradient(func, given, len(seeds)),
        given + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _check_modes(forward: bool, reverse: bool, undefined_grad: bool, batched_grad: bool) -> None:
    """Refuses combinations of `gradgradcheck`'s arguments that leave nothing to check."""
    if not (forward or reverse):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", undefined_grad), ("check_batched_grad", batched_grad)):
        if asked and not reverse:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _check(func: Callable[..., Any], inputs: tuple[Any, ...], plan: CheckPlan) -> None:
    """Runs all checks; the first that fails raises."""
    _check_inputs(inputs)
    subject = Subject(func, inputs)
    if not subject.chosen:
        check_constant(subject, plan.tolerance.eps, plan.tolerance.fast)
        return
    if plan.backward_ad:
        check_backward(subject, plan.tolerance)
    if plan.forward_ad:
        check_forward(subject, plan.tolerance)
        if plan.undefined_grad:
            check_undefined_forward(subject)
        if plan.batched_forward_grad:
            check_batched_forward(subject)
    if not plan.backward_ad:
        return
    if plan.batched_grad:
        check_batched(subject)
    check_linear(subject)
    if plan.undefined_grad:
        check_undefined(subject)


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Refuses inputs that cannot be checked; warns of those that cannot be checked well."""
    wanted = [(i, x) for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True. Make them with requires_grad=True, dtype=float64."
        )
    for i, x in wanted:
        if str(x.array.dtype) not in {"float64", "complex128"}:
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex, but "
                f"{x.array.dtype}: its rounding errors hide the differences, and the check will likely fail. Use "
                "float64 or complex128, or a larger eps and tolerance.",
                UserWarning,
            )
        if is_stretched(x.array):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0: its elements share memory, so that gradcheck cannot "
                "move one of them alone. Call .contiguous() on it first."
            )


# -- the gradient as a function ------------------------------------------------------------------------------------


class _Gradient:
    """The gradient of `func` as a function of the inputs and of the gradients of its outputs."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], count: int) -> None:
        self.func = func
        self.wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self.split = len(inputs)
        if self.wanted and not count:
            raise ValueError(
                "gradgradcheck: no output of the function requires a gradient, so there is no backward to check. Was "
                "it detached, or computed under no_grad?"
            )

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        inputs, seeds = args[: self.split], args[self.split :]
        outputs = Subject(self.func, inputs).differentiable()
        pairs = list(zip(outputs, seeds, strict=False))
        found: Any = grad(
            [output for output, _ in pairs],
            [inputs[i] for i in self.wanted],
            [seed for _, seed in pairs],
            create_graph=True,
            allow_unused=True,
        )
        return tuple(g for g in found if g is not None)


def _random_gradients(outputs: Sequence[Any], non_contiguous: bool) -> tuple[Any, ...]:
    """Gradients for the outputs, the same in each call; they require gradients themselves."""
    draw = np.random.default_rng(0)
    made = []
    for output in outputs:
        values = draw.uniform(-1, 1, (*output.shape, 2))
        if output.array.dtype.kind == "c":
            values = values + 1j * draw.uniform(-1, 1, values.shape)
        like = zeros_like(output) if not non_contiguous else _every_other(output)
        like.array[...] = backend_of(like.array).asarray(values[..., 0])
        made.append(like.requires_grad_())
    return tuple(made)


def _every_other(output: Any) -> Tensor:
    """A tensor like `output` whose elements lie apart in memory."""
    apart: Tensor = output.detach().new_zeros((*output.shape, 2))[..., 0].detach()
    return apart
