"""`torch.ops.aten`: operations under the names that PyTorch's dispatcher has for them.

There is no dispatcher here. The names serve those who choose operations by them (`utils.checkpoint`), and can be called
where there is a public function of that name.
"""

from __future__ import annotations

import re
import threading
from functools import cache
from importlib import import_module
from typing import Any, Self

from retrograd.ops.aten_calls import OWN, function_of

# Names that do not follow from those of nodes.
_NAMES = {
    "log1_p": "log1p",
    "log_softmax": "_log_softmax",
    "nll_loss": "nll_loss_forward",
    "scaled_dot_product_flash_attention_for_cpu": "_scaled_dot_product_flash_attention_for_cpu",
    "softmax": "_softmax",
    "to_copy": "_to_copy",
    "unique2": "_unique2",
    "unsafe_view": "_unsafe_view",
    "vector_norm": "linalg_vector_norm",
}
# Overloads that are not `default`, by the node, or by the operation.
_OVERLOADS = {
    "MaxBackward0": "dim", "MeanBackward1": "dim", "MinBackward0": "dim", "PowBackward0": "Tensor_Scalar",
    "PowBackward1": "Tensor_Tensor", "PowBackward2": "Scalar", "ProdBackward1": "dim_int", "SqueezeBackward1": "dim",
    "SqueezeBackward2": "dims", "SumBackward1": "dim_IntList", "add": "Tensor", "div": "Tensor", "fmod": "Tensor",
    "index": "Tensor", "mul": "Tensor", "remainder": "Tensor", "rsub": "Tensor", "scatter": "src", "select": "int",
    "slice": "Tensor", "split": "Tensor", "std": "correction", "std_mean": "correction",
    "sub": "Tensor", "transpose": "int", "unbind": "int",
    "var": "correction", "var_mean": "correction", "where": "self",
}  # fmt: skip


class _OpenCalls(threading.local):
    """The operations that dispatch modes of this thread are being asked about, the innermost last."""

    def __init__(self) -> None:
        self.calls: list[Any] = []


OPEN_CALLS = _OpenCalls()


class _Only:
    """There is one object for each operation: a copy is the thing itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class OpOverloadPacket(_Only):
    """An operation in all its forms: `torch.ops.aten.mm`."""

    def __init__(self, name: str, namespace: str = "aten") -> None:
        self.__name__ = name
        self._qualified_op_name = f"{namespace}::{name}"

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return overload_of(self.__name__, overload)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The public function of that name."""
        return function_of(self.__name__)(*args, **named)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    __repr__ = __str__


class OpOverload(_Only):
    """One form of an operation: `torch.ops.aten.mm.default`."""

    namespace = "aten"

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._overloadname = overload
        self.__name__: str = f"{packet.__name__}.{overload}"

    def name(self) -> str:
        """`aten::mm`, `aten::mul.Tensor`."""
        ending = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"aten::{self.overloadpacket.__name__}{ending}"

    def __call__(self, *args: Any, **named: Any) -> Any:
        if OPEN_CALLS.calls and OPEN_CALLS.calls[-1].func is self:
            return OPEN_CALLS.calls[-1].run(args, named)
        return self.overloadpacket(*args, **named)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


@cache
def packet_of(name: str) -> OpOverloadPacket:
    """The operation of that name, whether or not there is one."""
    return OpOverloadPacket(name)


@cache
def overload_of(name: str, overload: str) -> OpOverload:
    """One of its forms."""
    return OpOverload(packet_of(name), overload)


@cache
def overload_of_node(node: str) -> OpOverload:
    """What the dispatcher calls the operation that has this node.

    >>> print(overload_of_node("MmBackward0"), overload_of_node("MaxPool2DWithIndicesBackward0"))
    aten.mm.default aten.max_pool2d_with_indices.default
    """
    words = re.sub(r"(\d)D", r"\1d", re.sub(r"Backward\d*$", "", node))
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()
    overload = _OVERLOADS.get(node) or _OVERLOADS.get(name, "default")
    return overload_of(_NAMES.get(name, name), overload)


def __getattr__(name: str) -> OpOverloadPacket:
    library = import_module("retrograd")
    places = (library, library.Tensor, library.nn.functional)
    families = ("_", "fft_", "linalg_", "native_", "special_", "upsample_")
    known = name in OWN or any(hasattr(p, name) for p in places)
    if name.startswith("__") or not (name.startswith(families) or known):
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
    return packet_of(name)
