"""`Library`, and the functions that define an operation by its schema and give it kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from retrograd.backends.device import device as Device
from retrograd.library.operator import AUTOGRAD, EXPLICIT, IMPLICIT, Operator, Packet
from retrograd.library.schema import Schema, parse
from retrograd.ops.namespaces import NAMESPACES, namespace

_RESERVED = ("prim",)
_OWNED: set[str] = set()  # namespaces that a Library of kind DEF has
_LAYERS = {AUTOGRAD, IMPLICIT, EXPLICIT}


def fallthrough_kernel() -> None:
    """Given as a kernel for "Autograd": calls go past autograd's layer. It is not to be called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def define_operator(space: str, schema: str) -> Operator:
    """A new operation `torch.ops.space.name`."""
    parsed = parse(schema)
    name = parsed.name.rpartition("::")[2]
    text = f"{space}::{parsed.text.removeprefix(f'{space}::')}"
    packet = namespace(space).operations.setdefault(name, Packet(space, name))
    if parsed.overload in packet.forms:
        raise RuntimeError(
            f"Tried to register an operator ({text}) with the same name and overload name multiple times. Each "
            "overload's schema should only be registered with a single call to def()."
        )
    full = Schema(f"{space}::{name}", parsed.overload, parsed.arguments, parsed.returns, text)
    made = packet.forms[parsed.overload] = Operator(packet, full)
    return made


def find(op: Any) -> Operator:
    """The operation that a name, an object of `torch.ops` or a CustomOpDef stands for."""
    if isinstance(op, Operator):
        return op
    if isinstance(op, Packet):
        return next(iter(op.forms.values()))
    if hasattr(op, "_opoverload"):
        found: Operator = op._opoverload
        return found
    if not isinstance(op, str) or "::" not in op:
        raise ValueError(f"an operation is named like 'namespace::name', not {op!r}")
    space, _, rest = op.partition("::")
    name, _, overload = rest.partition(".")
    return (
        getattr(getattr(namespace(space), name), overload)
        if overload
        else find(getattr(namespace(space), name))
    )


def layer_of(key: str) -> str:
    """The device, or the layer, that a dispatch key means."""
    if key in ("", "default"):
        return IMPLICIT if key == "" else EXPLICIT
    if key in _LAYERS:
        return key
    if key.startswith(AUTOGRAD):
        return AUTOGRAD
    return Device(key.lower()).type


class Library:
    """Defines operations of a namespace ("DEF", or "FRAGMENT" for some of them), or adds kernels to them ("IMPL").

    >>> import retrograd as rg
    >>> library = Library("a_page", "FRAGMENT")
    >>> library.define("double(Tensor x) -> Tensor")
    'double'
    >>> library.impl("double", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> rg.ops.a_page.double(rg.ones(2))
    tensor([2., 2.])
    """

    ns: str
    dispatch_key: str

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}. It is DEF, FRAGMENT or IMPL.")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if kind == "DEF" and ns in _OWNED:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}. A FRAGMENT adds to it."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[Operator] = []
        self._added: list[tuple[Operator, str]] = []
        namespace(ns)
        if kind == "DEF":
            _OWNED.add(ns)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operation, without a kernel yet, and gives its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        made = define_operator(self.ns, schema)
        self._defined.append(made)
        ending = "" if made._overloadname == "default" else f".{made._overloadname}"
        return f"{made.overloadpacket.__name__}{ending}"

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Gives an operation a kernel for a device ("CPU", "CUDA", "Meta"), or for a layer ("Autograd", …)."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name if isinstance(op_name, str) else find(op_name).name()
        operator = find(name if "::" in name else f"{self.ns}::{name}")
        key = layer_of(dispatch_key or self.dispatch_key)
        if fn is not fallthrough_kernel:
            operator.kernels[key] = fn
            self._added.append((operator, key))

    def _register_fake(self, op_name: str, fn: Callable[..., Any], **_: Any) -> None:
        """Says what shape and dtype the results of an operation have."""
        find(op_name if "::" in op_name else f"{self.ns}::{op_name}").fake = fn

    def _destroy(self) -> None:
        """Takes away what this library has defined and added."""
        for operator, key in self._added:
            operator.kernels.pop(key, None)
        for operator in self._defined:
            packet: Any = operator.overloadpacket
            packet.forms.pop(operator._overloadname, None)
            if not packet.forms:
                NAMESPACES[self.ns].operations.pop(packet.__name__, None)
        if self.kind == "DEF":
            _OWNED.discard(self.ns)


@contextmanager
def _scoped_library(*args: Any, **named: Any) -> Iterator[Library]:
    """A library whose operations are gone after the block."""
    library = Library(*args, **named)
    try:
        yield library
    finally:
        library._destroy()


def _added_by(
    library: Library, name: str, dispatch_key: str, function: Callable[..., Any]
) -> Callable[..., Any]:
    """A kernel, after a library has added it."""
    library.impl(name, function, dispatch_key)
    return function


def define(qualname: str, schema: str | None = None, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Defines an operation, as `define("mylib::sin", "(Tensor x) -> Tensor")`."""
    space, found, name = qualname.partition("::")
    if not found:
        raise ValueError(
            f"define(qualname, ...): expected qualname to be 'namespace::name', got {qualname!r}"
        )
    if schema is None:
        raise ValueError("define(qualname, schema): the schema is missing; it is like '(Tensor x) -> Tensor'")
    if lib is None:
        define_operator(space, f"{name}{schema}")
    else:
        lib.define(f"{name}{schema}")


def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Gives an operation a kernel for devices: "cpu", "cuda", or "default" for all of them. Also a decorator.

    In its older form, `impl(library, name, dispatch_key)`, it is a decorator only.
    """
    if isinstance(qualname, Library):
        return partial(_added_by, qualname, str(types), func or "")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in (types,) if isinstance(types, str) else types:
            find(qualname).kernels[layer_of(kind)] = function
        return function

    return register if func is None else (register(func), None)[1]
