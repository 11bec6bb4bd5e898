"""The exception tree, and helpers that word messages.

Every class derives from the exception type PyTorch raises in the same place, so `except` clauses written
for PyTorch keep working; our own names only add precision.

    RuntimeError
    ├── GradientError          a gradient that cannot be asked for, or does not fit
    │   ├── FreedGraphError    a second backward through a graph whose saved values are gone
    │   └── NonFiniteError     a gradient with NaN or Inf in it, under detect_nonfinite
    ├── InplaceError           a write that autograd cannot allow, or that destroyed a saved value
    ├── InferenceError         an inference tensor where autograd needs a normal one
    ├── LinAlgError            a matrix that has no such factorization or inverse
    ├── OutOfMemoryError       an array that there is no memory for; a MemoryError too
    ├── ShapeError             shapes that do not fit each other
    └── DtypeError             a dtype that the operation does not take
    TypeError
    └── OperandError           an argument of a type the operation does not take
        └── NoTensorError      something else where a Tensor is wanted; an AttributeError too
    IndexError
    └── DimensionError         a dimension that the tensor does not have
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


class GradientError(RuntimeError):
    """A gradient was asked for where there is none, or the one given does not fit."""


class FreedGraphError(GradientError):
    """The graph's saved values were freed by an earlier backward."""


class NonFiniteError(GradientError):
    """A gradient is NaN or infinite; says which operation was the first to make it so."""

    kind: str = ""  # "forward", "backward", "input", "gradient", "hook", "sum" or "unknown"
    node_name: str = ""  # the operation, such as `LogBackward0`
    place: Any = None  # its line, a `core.places.Place`
    trap: str = ""  # what hid the culprit's result, such as "where", if it was a trap of that kind


class InplaceError(RuntimeError):
    """An in-place write that autograd cannot allow, or that destroyed a value it had saved."""


class InferenceError(RuntimeError):
    """An inference tensor was used where autograd must track."""


class LinAlgError(RuntimeError):
    """A matrix that is singular, not positive-definite, or on which an iteration did not converge."""


class AcceleratorError(RuntimeError):
    """A GPU has failed: a kernel that was launched earlier, or the device itself."""


class OutOfMemoryError(RuntimeError, MemoryError):
    """An array that there is no memory for, or that no memory could hold: PyTorch's error and Python's own.

    >>> import retrograd as rg
    >>> try:
    ...     rg.zeros(2**60)
    ... except MemoryError as error:
    ...     print(error)
    not enough memory: a tensor of sizes [1152921504606846976] and dtype float32 needs 4.0 EiB
    """


class ShapeError(RuntimeError):
    """Shapes that do not fit each other."""


class DtypeError(RuntimeError):
    """A dtype that the operation does not take."""


class OperandError(TypeError):
    """An argument of a type the operation does not take."""


class NoCudaError(RuntimeError, AssertionError):
    """There is no GPU that computes; PyTorch's error for it is an AssertionError."""


class NoTensorError(OperandError, AttributeError):
    """Something else where a Tensor is wanted: of PyTorch's functions, those in Python find that it has no `size`."""


class DimensionError(IndexError):
    """A dimension that the tensor does not have."""


# How PyTorch's messages spell a dtype.
DTYPE_NAMES = {
    "bool": "Bool",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}

FREED_GRAPH = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). The first backward through it freed what it had saved. Specify retain_graph=True in every backward but "
    "the last, or build the shared part of the graph anew before each."
)


def type_name(value: object) -> str:
    """The type of `value` as PyTorch's messages spell it: builtins bare, the rest with their module.

    >>> type_name(1), type_name("a")
    ('int', 'str')
    """
    cls = type(value)
    if cls.__module__ in ("builtins", "retrograd.core.tensor", "torch"):
        return cls.__name__
    return f"{cls.__module__}.{cls.__name__}"


def operand_error(function: str, argument: str, position: int, value: object) -> NoTensorError:
    """`exp(): argument 'input' (position 1) must be Tensor, not list`, with the cure."""
    hint = ""
    if not isinstance(value, (str, bytes, dict)) and hasattr(value, "__len__"):
        hint = "; wrap it with retrograd.as_tensor(...) first"
    if hasattr(type(value), "__torch_function__"):  # see Note [Overriding functions]
        hint = (
            "; its class has __torch_function__: call retrograd.overrides.switch_on() once, before all else"
        )
    return NoTensorError(
        f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {type_name(value)}{hint}"
    )


def sizes(shape: Sequence[int]) -> str:
    """A shape as messages show it: `[2, 3]`."""
    return "[" + ", ".join(str(n) for n in shape) + "]"


_ADDRESSES = 2**63 - 1  # bytes that a size can count
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def out_of_memory(shape: Sequence[int], dtype: Any) -> OutOfMemoryError:
    """The error of an array that cannot be had: what it would be, and how much that is."""
    needed = dtype.itemsize * math.prod(shape)
    power = min((max(needed, 1).bit_length() - 1) // 10, len(UNITS) - 1)
    figure = f"{needed / 1024**power:.1f} {UNITS[power]}" if power else f"{needed} bytes"
    words = f"not enough memory: a tensor of sizes {sizes(shape)} and dtype {dtype.name} needs {figure}"
    if not needed:
        words = f"Stride calculation overflowed with sizes={sizes(shape)}: no array has dimensions as large"
    elif needed > _ADDRESSES:
        words = f"Storage size calculation overflowed with sizes={sizes(shape)}: {words}"
    return OutOfMemoryError(words)


def broadcast_error(a: Sequence[int], b: Sequence[int]) -> ShapeError:
    """Says which dimension of two shapes does not broadcast."""
    for back in range(1, min(len(a), len(b)) + 1):
        n, m = a[-back], b[-back]
        if n not in (1, m) and m != 1:
            dim = max(len(a), len(b)) - back
            return ShapeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton "
                f"dimension {dim}. The shapes are {sizes(a)} and {sizes(b)}; broadcasting aligns them from "
                "the right and stretches only dimensions of size 1."
            )
    return ShapeError(f"shapes {sizes(a)} and {sizes(b)} cannot be broadcast together")


def dimension_error(dim: int, ndim: int) -> DimensionError:
    """`dim` is outside of what a tensor of `ndim` dimensions has."""
    n = max(ndim, 1)
    return DimensionError(
        f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
    )


def no_forward_mode(function: str) -> NotImplementedError:
    """The error of an operation that has no forward-mode derivative."""
    return NotImplementedError(
        f"Trying to use forward AD with {function} that does not support it because it has not been implemented yet. "
        "Take its operands out of forward mode with detach(), or use another function."
    )


def unsupported_dtype(kernel: str, dtype: Any, cure: str = "") -> NotImplementedError:
    """The error for a dtype that a function does not take: `"lt_cpu" not implemented for 'ComplexFloat'`."""
    name = DTYPE_NAMES.get(getattr(dtype, "name", str(dtype)), dtype)
    return NotImplementedError(f"\"{kernel}\" not implemented for '{name}'{': ' if cure else ''}{cure}")


def add_note(error: BaseException, note: Any) -> None:
    """Attaches a line to an exception in flight, once; one that takes no notes stays as it is."""
    text = str(note)
    try:
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)
    except Exception:  # noqa: BLE001 - the error in flight counts, not this one
        return


DEEPEST = 500


def check_depth(depth: int) -> None:
    """Refuses lists in lists without an end: compiled functions know no limit of recursion, and would crash."""
    if depth > DEEPEST:
        raise RecursionError(
            f"maximum recursion depth exceeded: containers nested more than {DEEPEST} deep, or one inside of itself"
        )
