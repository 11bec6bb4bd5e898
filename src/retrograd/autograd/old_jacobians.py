"""`get_numerical_jacobian` and `get_analytical_jacobian`: old tools of gradcheck that scripts still call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from retrograd.autograd.backward import grad
from retrograd.autograd.nested_io import iter_tensors
from retrograd.autograd.numeric_jacobian import wirtinger
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.values import Array


def _check(name: str, grad_out: float, outputs: list[Tensor]) -> None:
    """What both functions refuse, and that they are old."""
    warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. For a Jacobian, use "
        "autograd.functional.jacobian; to check one, use gradcheck.",
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")
    if any(output.array.dtype.kind == "c" for output in outputs):
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return complex outputs."
        )


class _Outputs:
    """Calls a function and gives its outputs, flat."""

    def __init__(self, fn: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        self.fn = fn
        self.inputs = inputs

    def tensors(self) -> list[Tensor]:
        """The outputs."""
        found = self.fn(*self.inputs)
        return list(found) if isinstance(found, (tuple, list)) else [found]

    def __call__(self) -> list[Array]:
        return [t.array.reshape(-1).copy() for t in self.tensors()]


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Tensor]:
    """The tensors of a nested structure, in order."""
    return (t for t in iter_tensors(x) if t.requires_grad or not only_requiring_grad)


def _get_numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Any,
    outputs: Any = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Tensor, ...]]:
    """By each tensor of `target` that requires a gradient, the derivatives of all outputs of `fn(*inputs)`."""
    evaluate = _Outputs(fn, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,))
    if any(t.array.dtype.kind == "c" for t in evaluate.tensors()) and not is_forward_ad:
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return "
            "complex outputs."
        )
    wanted = _iter_tensors(inputs if target is None else target, True)
    return [tuple([Tensor(part, share=True) for part in wirtinger(evaluate, t.array, eps)]) for t in wanted]


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The derivatives of the first output of `fn(inputs)` by differences. Old: see `autograd.functional.jacobian`.

    Args:
        fn: a function of `inputs`.
        inputs: a tensor, or nested tuples of them.
        target: which of them to go by; all that require a gradient unless given.
        eps: how far each element is moved.
        grad_out: must be 1.

    >>> import retrograd as rg, warnings
    >>> from retrograd.autograd.gradcheck import get_numerical_jacobian
    >>> x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     (found,) = get_numerical_jacobian(lambda a: a[0] * 3, (x,))
    >>> found.shape
    torch.Size([2, 2])
    """
    _check("get_numerical_jacobian", grad_out, [])
    found = _get_numerical_jacobian(lambda *_: fn(inputs), inputs, None, target, eps)
    return tuple([jacobians[0] for jacobians in found])


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The derivatives of `output` by backward. Old: see `autograd.functional.jacobian`.

    Gives the Jacobians by the inputs that require a gradient, whether a second run gave the same to `nondet_tol`, and
    whether gradients had the sizes and the dtypes of their inputs.
    """
    _check("get_analytical_jacobian", grad_out, [output])
    wanted = [t for t in iter_tensors(inputs) if t.requires_grad]
    first, sizes_fit, types_fit = _by_backward(wanted, output)
    second, _, _ = _by_backward(wanted, output)
    same = all(np.all(np.abs(a - b) <= nondet_tol) for a, b in zip(first, second, strict=True))
    return tuple([Tensor(a, share=True) for a in first]), bool(same), sizes_fit, types_fit


def _by_backward(wanted: list[Tensor], output: Tensor) -> tuple[list[Array], bool, bool]:
    """A column for each element of the output, and whether sizes and dtypes of gradients are right."""
    found = [np.zeros((t.array.size, output.array.size), t.array.dtype) for t in wanted]
    sizes_fit = types_fit = True
    for i in range(output.array.size):
        seed = np.zeros(output.array.shape, output.array.dtype)
        seed.reshape(-1)[i] = 1
        gradients: Any = grad(output, wanted, Tensor(seed, share=True), retain_graph=True, allow_unused=True)
        for jacobian, t, g in zip(found, wanted, gradients, strict=True):
            if g is not None:
                sizes_fit = sizes_fit and g.array.shape == t.array.shape
                types_fit = types_fit and g.array.dtype == t.array.dtype
                jacobian[:, i] = g.array.reshape(-1)
    return found, sizes_fit, types_fit
