"""What is registered for an operation beside its kernels: gradient, shapes, what it does to a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.library.libraries import find, impl
from retrograd.ops.namespaces import REFUSED_LIBRARIES, namespace


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """Gives an operation its gradient.

    Args:
        op: the operation, or its name.
        backward: `backward(ctx, *grads)` returns a gradient for each positional argument.
        setup_context: `setup_context(ctx, inputs, output)` keeps what that needs; with `keyword_only_inputs` if there
            are such arguments.
        lib: is not needed.
    """
    operator = find(op)
    if operator._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator.definition or operator} with "
            f"schema {operator._schema}. Please create a functional operator and register an autograd formula for that."
        )
    operator.backward, operator.setup_context = backward, setup_context


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, **_: Any) -> Any:
    """Says what shape and dtype the results have: a function that is called for tensors on the device `meta`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if _is_there(op):
            find(op).fake = function
        return function

    return register if func is None else register(func)


def _is_there(op: Any) -> bool:
    """Whether a named operation exists. It must, unless a library that may have it was refused (`load_library`)."""
    if not isinstance(op, str) or "::" not in op:
        return True
    space, _, name = op.partition("::")
    if name.partition(".")[0] in namespace(space).operations:
        return True
    if not REFUSED_LIBRARIES:
        raise RuntimeError(f"operator {op} does not exist: define it first, then say what its results are")
    return False


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Says what the operation does to a batch: `func(info, in_dims, *args)` returns results and their dimensions."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        find(op).vmap = function
        return function

    return register if func is None else register(func)


def register_kernel(
    op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Gives an operation a kernel for devices; None is all of them. Also a decorator."""
    given = impl(find(op).name(), "default" if device_types is None else device_types, func)
    return func if func is not None else given


def get_ctx() -> Any:
    """What a function of `register_fake` asks for sizes that depend on values: there are none on `meta`."""
    raise RuntimeError(
        "get_ctx() can only be called inside of torch.export or torch.compile, which trace functions"
    )
