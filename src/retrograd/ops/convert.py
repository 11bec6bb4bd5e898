"""Copies and conversions: clone, contiguous, to, float, double, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.base import BACKENDS, CPU, device, device_of, reachable_device
from retrograd.backends.dtypes import SCALAR_NAMES, SHORT_NAMES, as_dtype
from retrograd.core.apply import apply1
from retrograd.core.lost import NO_DERIVATIVE, cut
from retrograd.core.op import Linear
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.values import Array, DType


class Clone(Linear):
    """a copy"""

    params = ("order",)

    def __init__(self, order: str = "K") -> None:
        self.order = order

    def forward(self, xp: Any, x: Array) -> Array:
        # A broadcast array has overlapping memory: its copy is dense.
        return xp.array(x, order=self.order if x.flags.writeable or x.flags.c_contiguous else "C", copy=True)

    def transpose(self, g: Any) -> Any:
        return g


class ToCopy(Linear):
    """a copy in another dtype"""

    params = ("target",)

    def __init__(self, target: DType) -> None:
        self.target = target

    def forward(self, xp: Any, x: Array) -> Array:
        self.source = x.dtype
        if x.dtype.kind == "c" and self.target.kind != "c":
            x = (x != 0) if self.target.kind == "b" else x.real
        return x.astype(self.target)

    def transpose(self, g: Any) -> Any:
        if g.dtype.kind == "c" and self.source.kind != "c":
            g = g.real
        return g if g.dtype == self.source else ToCopy(self.source).on(g)


class ToDevice(Linear):
    """a copy in the memory of another device"""

    node_name = "ToCopyBackward0"
    params = ("target",)

    def __init__(self, target: device) -> None:
        self.target = target
        self.source = CPU

    def forward(self, xp: Any, x: Array) -> Array:
        self.source = device_of(x)
        return BACKENDS[self.target.type].take(x, self.target)

    def transpose(self, g: Any) -> Any:
        return ToDevice(self.source).on(g)


def convert(x: Tensor, dtype: Any) -> Tensor:
    """`x` in `dtype`: itself if it has it already."""
    target = as_dtype(dtype)
    if x.array.dtype == target:
        return x
    if x.array.dtype.kind == "c" and target.kind not in "cb":
        warn("Casting complex values to real discards the imaginary part", UserWarning)
    if target.kind in "fc":
        result: Tensor = apply1(ToCopy(target), x)
        return result
    result = apply1(ToCopy(target), x.detach())  # integers have no gradient
    if x.requires_grad:
        result._lost = cut(x, NO_DERIVATIVE, f"the conversion to {target}")
    return result


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy of `input`; gradients pass through to it."""
    return apply1(Clone(), input)


def contiguous(input: Any, memory_format: Any = None) -> Any:
    """`input` itself if its elements lie in row-major order, else a copy where they do."""
    return input if input.array.flags.c_contiguous else apply1(Clone("C"), input)


def to(input: Tensor, *args: Any, **kwargs: Any) -> Any:
    """`input` in another dtype or on another device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.

    >>> import retrograd as rg
    >>> rg.tensor([1, 2]).to(rg.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    names = ["device", "dtype", "non_blocking", "copy", "memory_format"]
    given: dict[str, Any] = {}
    position = list(args)
    if position and isinstance(position[0], Tensor):
        other = position.pop(0)
        given.update(dtype=other.array.dtype, device=other.device)
        names = names[2:]
    elif position and not isinstance(position[0], (str, device)) and position[0] is not None:
        names = names[1:]
    given.update(zip(names, position, strict=False))
    given.update(kwargs)
    if "other" in given:
        other = given.pop("other")
        given.update(dtype=other.array.dtype, device=other.device)
    unknown = set(given) - {"device", "dtype", "non_blocking", "copy", "memory_format"}
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{unknown.pop()}'")
    where = input.device if given.get("device") is None else reachable_device(given["device"])
    dtype = given.get("dtype")
    result = input if dtype is None else convert(input, dtype)
    if where != result.device:
        return apply1(ToDevice(where), result)
    return clone(result) if given.get("copy") and result is input else result


def type_as(input: Tensor, other: Tensor) -> Any:
    """`input` in the dtype of `other`."""
    return convert(input, other.array.dtype)


def type(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type name, or `input` converted to a dtype."""
    if dtype is None:
        return input.type_string()
    if isinstance(dtype, str) and dtype.startswith("torch."):
        wanted = dtype.removeprefix("torch.").removesuffix("Tensor")
        dtype = next((d for d, name in SCALAR_NAMES.items() if name == wanted), dtype)
    return convert(input, dtype)


def cpu(input: Tensor) -> Any:
    """`input` in the host's memory."""
    return to(input, "cpu")


def _as(dtype: DType) -> Any:
    def method(input: Tensor, memory_format: Any = None) -> Any:
        return convert(input, dtype)

    method.__doc__ = f"`input` as {dtype}."
    return method


# float(), double(), half(), long(), … : one method per dtype name.
DTYPE_METHODS: dict[str, Any] = {
    name: _as(dtype)
    for name, dtype in {
        **SHORT_NAMES,
        "bool": np.dtype("bool"),
        "byte": np.dtype("uint8"),
        "char": np.dtype("int8"),
    }.items()
}


FUNCTIONS = (clone, contiguous, to, type_as, type, cpu)
