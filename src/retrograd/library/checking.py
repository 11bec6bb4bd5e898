"""`opcheck`: whether an operation keeps what its schema and its registrations promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.core.tree import flatten, unflatten
from retrograd.library.libraries import find
from retrograd.library.operator import Operator


class OpCheckError(Exception):
    """A check has failed."""


def _check_schema(operator: Operator, args: Any, named: dict[str, Any]) -> None:
    """Nothing is written but what the schema says, and results lie in memory of their own."""
    places, words = operator._schema.bind(args, named)
    tensors = [t for t in flatten((places, words))[0] if isinstance(t, Tensor)]
    before = [t.detach().clone() for t in tensors]
    arguments = list(zip(operator._schema.arguments, [*places, *words.values()], strict=True))
    names = [a.name for a, value in arguments for t in flatten(value)[0] if isinstance(t, Tensor)]
    written = flatten([value for a, value in arguments if a.written])[0]
    operator(*args, **named)
    for name, tensor, copy in zip(names, tensors, before, strict=True):
        same = bool(((tensor.detach() == copy) | (tensor.detach() != tensor.detach())).all())
        if not same and not any(tensor is w for w in written):
            raise OpCheckError(
                f"{operator.name()}: Argument {name} is not defined as mutable but was mutated"
            )


def _check_autograd(operator: Operator, args: Any, named: dict[str, Any]) -> None:
    """What has a gradient by itself must not be recorded by its kernel alone."""
    tensors = [t for t in flatten((args, named))[0] if isinstance(t, Tensor)]
    if any(t.requires_grad for t in tensors) and operator.definition is None and operator.backward is None:
        layers = {"Autograd", "CompositeImplicitAutograd"}
        if not layers & set(operator.kernels):
            raise OpCheckError(
                f"{operator.name()} has no gradient: register one by torch.library.register_autograd"
            )


def _check_fake(operator: Operator, args: Any, named: dict[str, Any]) -> None:
    """What `register_fake` says of shapes and dtypes is so."""
    if operator.fake is None:
        return
    real = flatten(operator(*args, **named))[0]
    leaves, form = flatten((list(args), named))
    moved = [t.detach().to("meta") if isinstance(t, Tensor) else t for t in leaves]
    places, words = unflatten(moved, form)
    fake = flatten(operator(*places, **words))[0]
    for r, f in zip(real, fake, strict=True):
        if isinstance(r, Tensor) and (r.shape, r.dtype) != (f.shape, f.dtype):
            raise OpCheckError(
                f"{operator.name()}: its fake says {f.shape} {f.dtype}, the result is {r.shape} {r.dtype}"
            )


_CHECKS: dict[str, Callable[[Operator, Any, dict[str, Any]], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
}


def opcheck(
    op: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None, *,
    test_utils: str | Sequence[str] = tuple(_CHECKS), raise_exception: bool = True, atol: Any = None, rtol: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Tries an operation with these arguments; says "SUCCESS" for each check, or raises an OpCheckError.

    Args:
        op: the operation.
        args: its arguments.
        kwargs: those given by name.
        test_utils: which checks: test_schema, test_autograd_registration, test_faketensor.
        raise_exception: whether a failure raises, or is given back.
        atol: is not needed.
        rtol: is not needed.
    """
    results: dict[str, Any] = {}
    for name in (test_utils,) if isinstance(test_utils, str) else test_utils:
        try:
            if name in _CHECKS:
                _CHECKS[name](find(op), args, kwargs or {})
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results
