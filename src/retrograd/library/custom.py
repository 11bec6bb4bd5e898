"""`custom_op`: a function with annotations becomes an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.backends.device import device as Device
from retrograd.library.libraries import define_operator, layer_of
from retrograd.library.operator import EXPLICIT, Operator
from retrograd.library.registering import register_autograd, register_fake, register_vmap
from retrograd.library.schema import infer_schema
from retrograd.library.tags import Tag
from retrograd.ops.namespaces import NAMESPACES


class CustomOpDef:
    """An operation that `custom_op` has made of a function. Calling it calls the operation."""

    def __init__(self, operator: Operator, function: Callable[..., Any]) -> None:
        self._opoverload = operator
        self._init_fn = function
        self._qualname = operator._schema.name
        self._namespace, _, self._name = self._qualname.partition("::")
        operator.definition = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._opoverload(*args, **named)

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """A kernel for devices; None is all of them. Also a decorator."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for kind in device_types if isinstance(device_types, (list, tuple)) else (device_types,):
                self._opoverload.kernels[EXPLICIT if kind is None else layer_of(kind)] = function
            return function

        return register if fn is None else register(fn)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A context in which the kernel for a device is used, or the one for all devices in its place."""
        off, kind = self._opoverload.off, Device(device_type).type
        before = set(off)
        if enabled:
            off.discard(kind)
        else:
            off.add(kind)
        try:
            yield
        finally:
            self._opoverload.off = before

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Says what shape and dtype the results have."""
        register_fake(self, fn)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Gives the operation its gradient: see `library.register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Says what the operation does to a batch: see `library.register_vmap`."""
        return register_vmap(self, func)


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
    device_types: Any = None, schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """Makes an operation of a function whose parameters are annotated. Also a decorator.

    Args:
        name: "namespace::name", by which it is found as `torch.ops.namespace.name`.
        fn: computes the result; nothing in it is recorded.
        mutates_args: the names of the arguments that it writes into, or "unknown".
        device_types: the devices that `fn` computes on; None is all of them.
        schema: of the operation, if the annotations do not say it.
        tags: `torch.Tag.inplace` or `torch.Tag.out` of one that gives back the argument that it has written into.

    >>> import retrograd as rg
    >>> @custom_op("a_page::cube", mutates_args=())
    ... def cube(x: rg.Tensor) -> rg.Tensor:
    ...     return x**3
    >>> cube.register_autograd(
    ...     lambda ctx, g: 3 * g * ctx.x**2, setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0])
    ... )
    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> rg.autograd.grad(rg.ops.a_page.cube(x), x)
    (tensor(12.),)
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        words = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        space, found, own = name.partition("::")
        if not found or not own:
            raise ValueError(f"custom_op(name, ...): expected a name like 'namespace::name', got {name!r}")
        if space in NAMESPACES and own in NAMESPACES[space].operations:
            NAMESPACES[space].operations.pop(own)  # a cell of a notebook is run again
        made = CustomOpDef(define_operator(space, f"{own}{words}"), function)
        made.register_kernel(device_types, function)
        given = tags if isinstance(tags, (list, tuple)) else (tags,)
        made._opoverload.gives_arguments = Tag.inplace in given or Tag.out in given
        return made

    return make if fn is None else make(fn)
