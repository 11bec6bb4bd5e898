"""`_foreach_add` and its kin: one function on each tensor of a list, as optimisers and clipping call it.

They save PyTorch the start of many kernels. Here they are loops over the methods of the same name, whose nodes results
have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from retrograd.core.tensor import Tensor

Tensors = Sequence[Tensor]

UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "clone", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac",
    "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh",
    "sqrt", "tan", "tanh", "trunc", "zero",
)  # fmt: skip
BINARY = ("add", "clamp_max", "clamp_min", "div", "maximum", "minimum", "mul", "pow", "sub")
TERNARY = ("addcdiv", "addcmul", "lerp")
ONLY_NEW = ("clone",)  # without an in-place form
ONLY_IN_PLACE = ("zero",)
NAMES = sorted(
    {f"_foreach_{n}" for n in (*UNARY, *BINARY, *TERNARY) if n not in ONLY_IN_PLACE}
    | {f"_foreach_{n}_" for n in (*UNARY, *BINARY, *TERNARY) if n not in ONLY_NEW}
    | {f"_foreach_{n}" for n in ("copy_", "max", "mm", "norm", "powsum")}
)


def _checked(name: str, tensors: Any) -> list[Tensor]:
    """A list of tensors that is not empty."""
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"{name}(): argument 'self' must be a list or tuple of Tensors")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(tensors)


def _beside(tensors: list[Tensor], other: Any) -> Iterator[Any]:
    """What goes with each tensor: an element of a list, or the same for all."""
    if isinstance(other, (list, tuple)):
        if len(other) != len(tensors):
            counts = f"got {len(tensors)} and {len(other)}"
            if other and isinstance(other[0], Tensor):
                raise RuntimeError(f"Tensor lists must have the same number of tensors, {counts}")
            raise RuntimeError(
                f"Tensor list must have same number of elements as scalar list. They have: {counts}."
            )
        return iter(other)
    return iter([other] * len(tensors))


def _numbers(value: Any, count: int) -> Any:
    """Factors as a list if they are a tensor of as many as there are tensors."""
    if not isinstance(value, Tensor):
        return value
    if value.ndim != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.ndim} instead.")
    if len(value) != count:
        raise RuntimeError(
            f"Expected length of scalars to match input of length {count} but got {len(value)} instead."
        )
    return value.tolist()


class Each:
    """One function on each tensor of a list; what ends in `_` writes into the tensors and returns them."""

    __name__: str

    def __init__(self, method: str, call: Callable[..., list[Any]]) -> None:
        self.__name__ = self.__qualname__ = f"_foreach_{method}"
        self.__doc__ = f"`{method}` on each tensor of a list."
        self.method = method
        self.call = call

    def __call__(self, *args: Any, **named: Any) -> Any:
        spelled = {_SPELLINGS.get((self.call, name), name): value for name, value in named.items()}
        results = self.call(self.__name__, self.method, *args, **spelled)
        return list(args[0] if args else named["self"]) if self.method.endswith("_") else tuple(results)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


def _unary(name: str, method: str, self: Tensors) -> list[Any]:
    return [getattr(t, method)() for t in _checked(name, self)]


def _binary(name: str, method: str, self: Any, other: Any, **named: Any) -> list[Any]:
    if method == "pow" and not isinstance(self, (list, tuple)):
        return [self**t for t in _checked(name, other)]
    tensors = _checked(name, self)
    if method in ("maximum_", "minimum_") or (method in ("maximum", "minimum") and not _are_tensors(other)):
        method = method.replace("maximum", "clamp_min").replace("minimum", "clamp_max")
    if isinstance(other, Tensor) and other.ndim:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and {other.numel()} elements."
        )
    return [getattr(t, method)(o, **named) for t, o in zip(tensors, _beside(tensors, other), strict=True)]


def _are_tensors(other: Any) -> bool:
    listed = isinstance(other, (list, tuple)) and len(other) > 0
    return isinstance(other, Tensor) or (listed and isinstance(other[0], Tensor))


def _ternary(name: str, method: str, self: Tensors, first: Any, second: Any, value: Any = 1) -> list[Any]:
    tensors = _checked(name, self)
    columns = (
        _beside(tensors, first),
        _beside(tensors, second),
        _beside(tensors, _numbers(value, len(tensors))),
    )
    rows = zip(tensors, *columns, strict=True)
    if method.startswith("lerp"):
        return [getattr(t, method)(a, b) for t, a, b, _ in rows]
    return [getattr(t, method)(a, b, value=v) for t, a, b, v in rows]


# What PyTorch calls the arguments, which depends on what they are.
_SPELLINGS: dict[tuple[Callable[..., list[Any]], str], str] = {
    **{(_binary, name): "other" for name in ("scalar", "scalars", "exponent")},
    **{(_ternary, name): "first" for name in ("tensor1", "tensors1")},
    **{(_ternary, name): "second" for name in ("tensor2", "weight", "weights")},
    (_ternary, "scalars"): "value",
}


def _foreach_copy_(self: Tensors, src: Tensors, non_blocking: bool = False) -> list[Tensor]:
    """Copies each tensor of `src` into one of `self`."""
    tensors = _checked("_foreach_copy_", self)
    return [t.copy_(s) for t, s in zip(tensors, _beside(tensors, src), strict=True)]


def _foreach_max(self: Tensors) -> tuple[Tensor, ...]:
    """The largest element of each tensor."""
    return tuple([t.max() for t in _checked("_foreach_max", self)])


def _foreach_mm(self: Tensors, mat2: Tensors) -> tuple[Tensor, ...]:
    """The product of each matrix with one of `mat2`."""
    tensors = _checked("_foreach_mm", self)
    return tuple([t.mm(m) for t, m in zip(tensors, _beside(tensors, mat2), strict=True)])


def _foreach_norm(self: Tensors, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of each tensor."""
    return tuple([t.norm(ord, dtype=dtype) for t in _checked("_foreach_norm", self)])


def _foreach_powsum(self: Tensors, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The sum of the powers of the absolute values of each tensor."""
    return tuple([t.abs().pow(ord).sum(dtype=dtype) for t in _checked("_foreach_powsum", self)])


def __getattr__(name: str) -> Any:
    """The loops themselves, made when they are asked for."""
    method = name.removeprefix("_foreach_")
    for names, call in ((UNARY, _unary), (BINARY, _binary), (TERNARY, _ternary)):
        if name in NAMES and method.removesuffix("_") in names:
            return globals().setdefault(name, Each(method, call))
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
