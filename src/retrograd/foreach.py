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
            kind = "Tensor lists" if other and isinstance(other[0], Tensor) else "Tensor list and scalar list"
            raise RuntimeError(
                f"{kind} must have the same number of tensors, got {len(tensors)} and {len(other)}"
            )
        return iter(other)
    return iter([other] * len(tensors))


def _numbers(value: Any) -> Any:
    """Factors as a list if they are a tensor of several."""
    return value.tolist() if isinstance(value, Tensor) else value


class Each:
    """One function on each tensor of a list; what ends in `_` writes into the tensors and returns them."""

    def __init__(self, method: str, call: Callable[..., list[Any]]) -> None:
        self.__name__ = self.__qualname__ = f"_foreach_{method}"
        self.__doc__ = f"`{method}` on each tensor of a list."
        self.method = method
        self.call = call

    def __call__(self, *args: Any, **named: Any) -> Any:
        results = self.call(self.__name__, self.method, *args, **named)
        return list(args[0] if args else named["self"]) if self.method.endswith("_") else tuple(results)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


def _unary(name: str, method: str, self: Tensors) -> list[Any]:
    return [getattr(t, method)() for t in _checked(name, self)]


def _binary(name: str, method: str, self: Any, other: Any, **named: Any) -> list[Any]:
    if method == "pow" and not isinstance(self, (list, tuple)):
        return [self**t for t in _checked(name, other)]
    tensors = _checked(name, self)
    if method.rstrip("_") in ("maximum", "minimum") and not _are_tensors(other):
        method = method.replace("maximum", "clamp_min").replace("minimum", "clamp_max")
    return [getattr(t, method)(o, **named) for t, o in zip(tensors, _beside(tensors, other), strict=True)]


def _are_tensors(other: Any) -> bool:
    return isinstance(other, Tensor) or (isinstance(other, (list, tuple)) and isinstance(other[0], Tensor))


def _ternary(name: str, method: str, self: Tensors, first: Any, second: Any, value: Any = 1) -> list[Any]:
    tensors = _checked(name, self)
    columns = (_beside(tensors, first), _beside(tensors, second), _beside(tensors, _numbers(value)))
    rows = zip(tensors, *columns, strict=True)
    if method.startswith("lerp"):
        return [getattr(t, method)(a, b) for t, a, b, _ in rows]
    return [getattr(t, method)(a, b, value=v) for t, a, b, v in rows]


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
