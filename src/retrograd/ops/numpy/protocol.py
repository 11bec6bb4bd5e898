"""NumPy's functions on Tensors: `np.sin(t)` records like `t.sin()`.

NumPy hands calls that involve a Tensor to the two methods here. A function that has a counterpart is computed, and
recorded, by it; one that has none is NumPy's own for tensors without a gradient, and an error for those with one.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from retrograd.backends.dtypes import python_number
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError, check_depth
from retrograd.ops.common import deliver
from retrograd.ops.elementwise.choose import where as where_
from retrograd.ops.linalg.matmul import matmul
from retrograd.ops.numpy.functions import FILLED as HANDLERS
from retrograd.ops.numpy.table import NoCounterpart, library, refusal, tensor_of
from retrograd.ops.register import public

# Ufuncs whose function here has another name; the others are called alike.
RENAMED = {
    "power": "pow", "conjugate": "conj", "rint": "round", "fabs": "abs", "degrees": "rad2deg", "radians": "deg2rad",
    "equal": "eq", "not_equal": "ne", "invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}  # fmt: skip
# Ufuncs whose function takes Python numbers: as either operand, or as the second.
EITHER_NUMBER = frozenset(("add", "subtract", "multiply", "divide", "power"))
SECOND_NUMBER = EITHER_NUMBER | {"remainder", "floor_divide"}
# `ufunc.reduce` and `ufunc.accumulate`.
REDUCTIONS: dict[str, Any] = {
    "add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min, "logical_and": np.all,
    "logical_or": np.any,
}  # fmt: skip
ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
NUMBERS = (bool, int, float, complex)
KNOWN = (Tensor, np.ndarray, np.generic, list, tuple, *NUMBERS)
IGNORED = ("order", "subok", "casting")  # arguments that do not change what a Tensor holds


@public("Tensor.__array_ufunc__")
def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What NumPy calls for `np.sin(t)`, `np.add.reduce(t)`, `array * t`."""
    targets = kwargs.pop("out", None)
    out = targets[0] if targets else None
    if not all(isinstance(v, KNOWN) for v in (*inputs, *(targets or ()))):
        return NotImplemented
    name = ufunc.__name__
    for ignored in IGNORED:
        kwargs.pop(ignored, None)
    call = {"__call__": _called, "reduce": _reduced, "accumulate": _accumulated, "outer": _outer}.get(method)
    found = None if call is None else call(name, inputs, kwargs)
    if found is None:
        if tracked(inputs):
            raise refusal(name if method == "__call__" else f"{name}.{method}")
        given = {"out": tuple(bare(v) for v in targets)} if targets else {}
        result = getattr(ufunc, method)(*[bare(v) for v in inputs], **given, **kwargs)
        for written in (*inputs[:1], *(targets or ())) if method == "at" or targets else ():
            if isinstance(written, Tensor):
                written._bump_version()
        return result
    mask = kwargs.pop("where", True)
    if kwargs:
        raise TypeError(f"np.{name} of a Tensor: the argument '{next(iter(kwargs))}' is not known here")
    return _into(name, found, out, mask)


def tracked(value: Any, depth: int = 0) -> bool:
    """Whether there is a gradient to lose."""
    check_depth(depth)
    if isinstance(value, Tensor):
        return value.requires_grad and current().grad_enabled
    return isinstance(value, (tuple, list)) and any(tracked(v, depth + 1) for v in value)


def bare(value: Any, depth: int = 0) -> Any:
    """The arrays behind tensors, in lists and tuples too."""
    check_depth(depth)
    if isinstance(value, Tensor):
        return value.array
    return type(value)(bare(v, depth + 1) for v in value) if type(value) in (tuple, list) else value


def _called(name: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.sin(t)`, `np.add(t, 1)`."""
    if name == "matmul":
        return matmul(*[tensor_of(v) for v in inputs])
    if name == "divmod":
        return None
    function = library().get(RENAMED.get(name, name))
    if function is None:
        return None
    return function(*_operands(name, inputs, kwargs.pop("dtype", None)))


def _operands(name: str, inputs: tuple[Any, ...], dtype: Any) -> list[Any]:
    """Numbers stay numbers where ours take them, everything else becomes a Tensor, in the dtype asked for."""
    found: list[Any] = []
    for i, v in enumerate(inputs):
        number = python_number(v)
        if isinstance(number, NUMBERS) and name in (SECOND_NUMBER if i else EITHER_NUMBER):
            found.append(number)
        else:
            x = tensor_of(number)
            found.append(x if dtype is None else x.to(dtype))
    return found


def _reduced(name: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.add.reduce(t)`, along axis 0 unless told otherwise."""
    function = HANDLERS.get(REDUCTIONS.get(name))
    if function is None or kwargs.get("initial") is not None:
        return None
    kwargs.pop("initial", None)
    given = {k: kwargs.pop(k) for k in ("dtype", "keepdims", "where") if k in kwargs}
    return function(tensor_of(inputs[0]), axis=kwargs.pop("axis", 0), **given)


def _accumulated(name: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.add.accumulate(t)`."""
    function = library().get(ACCUMULATIONS.get(name, ""))
    if function is None:
        return None
    x = tensor_of(inputs[0])
    dtype = kwargs.pop("dtype", None)
    found = function(x if dtype is None else x.to(dtype), kwargs.pop("axis", 0))
    return found if isinstance(found, Tensor) else found[0]


def _outer(name: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.multiply.outer(t, u)`: every element with every element."""
    x, y = (tensor_of(v) for v in inputs)
    return _called(name, (x.reshape((*x.array.shape, *(1,) * y.array.ndim)), y), kwargs)


def _into(name: str, found: Any, out: Any, mask: Any) -> Any:
    """The result, or `out` with the result in it where `where=` holds."""
    if out is None:
        if mask is not True:
            raise TypeError(
                f"np.{name} with where= and without out= leaves elements undefined. Use retrograd.where(condition, "
                "result, other)."
            )
        return found
    if isinstance(out, Tensor):
        return deliver(found if mask is True else where_(tensor_of(mask), found, out), out)
    if found.requires_grad:
        raise GradientError(
            f"np.{name}: Can't write the result of a Tensor that requires grad into a NumPy array, which keeps no "
            "gradient. Use tensor.detach(), or leave out= away."
        )
    np.copyto(out, found.array, casting="same_kind", where=bare(mask))
    return out


@public("Tensor.__array_function__")
def array_function(self: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy calls for `np.concatenate([t, u])`, `np.sum(t, axis=0)`."""
    if not all(issubclass(t, (Tensor, np.ndarray)) for t in types):
        return NotImplemented
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    handler = HANDLERS.get(function)
    if isinstance(handler, str):
        handler = library().get(handler)
    if handler is not None:
        try:
            return _handled(name, handler, args, kwargs)
        except NoCounterpart:
            pass
    if tracked(args) or tracked(list(kwargs.values())):
        raise refusal(name)
    return function(*[bare(v) for v in args], **{k: bare(v) for k, v in kwargs.items()})


def _handled(name: str, handler: Any, args: Any, kwargs: Any) -> Any:
    """The result by our function; in an array, if one was given as `out`."""
    given = [Tensor(v, share=True) if type(v) is np.ndarray else v for v in args]
    target = kwargs.get("out")
    named = {k: v for k, v in kwargs.items() if v is not target or target is None}
    if isinstance(target, Tensor):
        named["out"] = target
    try:
        inspect.signature(handler).bind(*given, **named)
    except TypeError as error:
        raise TypeError(f"np.{name} of a Tensor: {error}") from None
    found = handler(*given, **named)
    return _into(name, found, target, True) if isinstance(target, np.ndarray) else found
