"""An operation that a program has defined: its kernels, its gradient, and what a call does.

Note [Calls of defined operations]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
PyTorch goes through layers: autograd's, then the device's. So does a call here. A kernel for "Autograd" or for all
layers ("CompositeImplicitAutograd") gets the call as it is. Otherwise the device's kernel computes: unrecorded, behind
one node, if the operation is one of `custom_op` or has a gradient of its own; recorded, with a warning in backward, if
it is a bare schema with a kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from retrograd.autograd.function import Function
from retrograd.autograd.graph import increment_version
from retrograd.autograd.modes import set_grad_enabled
from retrograd.core.modes import is_grad_enabled
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.tree import Form, flatten, unflatten
from retrograd.func.by_sample import by_sample
from retrograd.func.custom_function import by_own_rule
from retrograd.library.schema import Schema
from retrograd.ops.aten import OpOverload, OpOverloadPacket
from retrograd.ops.common import differ

AUTOGRAD, IMPLICIT, EXPLICIT = "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd"


class _Below(threading.local):
    """Whether calls of this thread go past autograd's layer."""

    on = False


_BELOW = _Below()


@contextmanager
def below_autograd() -> Iterator[None]:
    """A context in which a kernel for "Autograd" can call its own operation: `torch._C._AutoDispatchBelowAutograd`."""
    before, _BELOW.on = _BELOW.on, True
    try:
        yield
    finally:
        _BELOW.on = before


class Packet(OpOverloadPacket):
    """A defined operation in all its forms: `torch.ops.mylib.myop`."""

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(name, namespace)
        self.namespace = namespace
        self.forms: dict[str, Operator] = {}

    def overloads(self) -> list[str]:
        """The names of its forms."""
        return list(self.forms)

    def __getattr__(self, overload: str) -> Operator:
        if overload.startswith("__"):
            raise AttributeError(overload)
        if overload not in self.forms:
            raise AttributeError(
                f"The underlying op of '{self.namespace}.{self.__name__}' has no overload name '{overload}'"
            )
        return self.forms[overload]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The first form that takes these arguments."""
        forms = list(self.forms.values())
        for form in forms[:-1]:
            try:
                form._schema.bind(args, named)
            except RuntimeError:
                continue
            return form(*args, **named)
        return forms[-1](*args, **named)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


def _wanted(tensors: list[Tensor]) -> bool:
    """Whether gradients through a call are wanted."""
    return is_grad_enabled() and not _BELOW.on and any(t.requires_grad for t in tensors)


class _Call(NamedTuple):
    """What the node of a call must know beside its tensors."""

    operator: Operator
    form: Form
    results: list[Form]


class Operator(OpOverload):
    """One form of a defined operation: `torch.ops.mylib.myop.default`."""

    def __init__(self, packet: Packet, schema: Schema) -> None:
        super().__init__(packet, schema.overload)
        self._schema = schema
        self.kernels: dict[str, Callable[..., Any]] = {}  # by device or layer
        self.off: set[str] = set()  # devices whose kernel is switched off
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.fake: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        self.gives_arguments = False  # those that it has written into, as in-place operations do
        self.definition: Any = None  # the CustomOpDef, if it is one's
        self._function: Any = type(
            f"GeneratedBackwardFor_{packet.namespace}_{packet.__name__}_{schema.overload}", (_Node,), {}
        )

    def name(self) -> str:
        ending = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self._schema.name}{ending}"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Note [Calls of defined operations]"""
        places, words = self._schema.bind(args, named)
        tensors = [t for t in flatten((places, words))[0] if isinstance(t, Tensor)]
        if differ(*tensors) and IMPLICIT not in self.kernels:
            return self._of_samples(places, words, tensors)
        if AUTOGRAD in self.kernels and not _BELOW.on:
            return self.kernels[AUTOGRAD](*places, **words)
        if IMPLICIT in self.kernels:
            return self.kernels[IMPLICIT](*places, **words)
        if self._has_node(tensors):
            return self._recorded(places, words)
        result = self.computed(places, words, tensors)
        if _wanted(tensors) and not self._is_apart():
            self._warn_in_backward(result)
        return result

    def _of_samples(self, places: list[Any], words: dict[str, Any], tensors: list[Tensor]) -> Any:
        """What a call inside of `vmap` gives: by the rule, if there is one; the gradient is that of `backward`."""
        if self.vmap is None:
            return by_sample(self, *places, **words)
        return self._recorded(places, words) if self._has_node(tensors) else by_own_rule(self, places, words)

    def _is_apart(self) -> bool:
        """Whether what its kernel does is never recorded."""
        return self.definition is not None or self.backward is not None

    def _has_node(self, tensors: list[Tensor]) -> bool:
        """Whether a call is behind one node."""
        return self._is_apart() and not self._schema.is_mutable and _wanted(tensors)

    def _recorded(self, places: list[Any], words: dict[str, Any]) -> Any:
        """The result, behind one node."""
        leaves, form = flatten((places, words))
        call = _Call(self, form, [])
        found = self._function.apply(*leaves, call)
        return unflatten(list(found) if isinstance(found, tuple) else [found], call.results[0])

    def computed(self, places: list[Any], words: dict[str, Any], tensors: list[Tensor]) -> Any:
        """What the kernel of the tensors' device gives; what it writes into counts as written."""
        if self.vmap is not None and differ(*tensors):
            return by_own_rule(self, places, words)
        device = next((t.device.type for t in tensors), "cpu")
        versions = [t._version for t in tensors]
        with set_grad_enabled(is_grad_enabled() and self.definition is None):
            result = self.kernel_for(device)(*places, **words)
        written = flatten(
            [v for a, v in zip(self._schema.arguments, [*places, *words.values()], strict=True) if a.written]
        )[0]
        for tensor, before in zip(tensors, versions, strict=True):
            if tensor._version == before and any(tensor is w for w in written):
                increment_version(tensor)
        if self.definition is not None:
            self._check_results(result, tensors)
        return result

    def kernel_for(self, device: str) -> Callable[..., Any]:
        """What computes on a device."""
        if device == "meta" and self.fake is not None:
            return self.fake
        if device == "meta" and self.definition is not None:
            raise RuntimeError(
                f"There was no fake impl registered for {self.definition}: its `register_fake` adds one, which says "
                "what shape and dtype the results have."
            )
        own = None if device in self.off else self.kernels.get(device)
        found = own or self.kernels.get(EXPLICIT)
        if found is None:
            raise NotImplementedError(
                f"Could not run '{self.name()}' with arguments from the '{device.upper()}' backend: it has kernels for "
                f"{sorted(self.kernels)}. `torch.library.impl` adds one."
            )
        return found

    def _check_results(self, result: Any, tensors: list[Tensor]) -> None:
        """Results lie in memory of their own."""
        known = {t.untyped_storage()._cdata for t in tensors if t.numel()}
        for made in flatten(result)[0]:
            if not isinstance(made, Tensor) or not (made.numel() or any(made is t for t in tensors)):
                continue
            if self.gives_arguments and any(made is t for t in tensors):
                continue
            place = made.untyped_storage()._cdata
            if place in known:
                raise RuntimeError(
                    f"{self.overloadpacket.__name__}: The output of this custom operator (1) must not also be an input "
                    "to this custom operator and (2) may not alias any inputs to this custom operator or other "
                    "returns. Return a copy: `x.clone()`."
                )
            known.add(place)

    def _warn_in_backward(self, result: Any) -> None:
        """A gradient that passes here comes of the kernel's own operations, by luck."""

        def tell(_: Tensor) -> None:
            warn(
                f"{self.name()}: an autograd kernel was not registered to the Autograd key(s) but we are trying to "
                "backprop through it. Register a gradient by torch.library.register_autograd.",
                UserWarning,
            )

        for made in flatten(result)[0]:
            if isinstance(made, Tensor) and made.requires_grad:
                made.register_hook(tell)


class _Node(Function):
    """The node of a call whose kernel is not recorded. Its last argument is the call itself."""

    _traceable = True

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Any:
        *leaves, call = given
        operator = call.operator
        places, words = unflatten(leaves, call.form)
        result = operator.computed(places, words, [t for t in leaves if isinstance(t, Tensor)])
        made, form = flatten(result)
        call.results.append(form)
        ctx.call = call
        if operator.setup_context is not None:
            inputs = {"inputs": tuple(places), "output": result}
            if words:
                inputs["keyword_only_inputs"] = words
            operator.setup_context(ctx=ctx, **inputs)
        return tuple(made) if len(made) != 1 or form.kind is not None else made[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call = ctx.call
        operator = call.operator
        if operator.backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        given = unflatten(list(grads), call.results[0])
        parts = given if call.results[0].kind is tuple else (given,)
        found = operator.backward(ctx, *parts)
        found = found if isinstance(found, tuple) else (found,)
        return (*_spread(found, call.form.parts[0]), *[None] * call.form.parts[1].count, None)


def _spread(found: tuple[Any, ...], form: Form) -> list[Any]:
    """Gradients by argument as gradients by leaf: None for a list is None for each of its tensors."""
    if len(found) != len(form.parts):
        raise RuntimeError(
            f"expected {len(form.parts)} gradients from backward, one for each positional argument, but got "
            f"{len(found)}"
        )
    spread: list[Any] = []
    for gradient, place in zip(found, form.parts, strict=True):
        if place.kind is None:
            spread.append(gradient)
        else:
            spread += [None] * place.count if gradient is None else list(gradient)
    return spread
