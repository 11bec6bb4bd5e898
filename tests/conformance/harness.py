"""How one program is run on two libraries and what of it is compared.

A *program* is a function of one argument, the module `torch` (either library), that returns any nested structure of
tensors, nodes, dtypes, numbers, strings. `observe` runs it from a fresh state and writes down what a user could see:
the value, or the exception, and the warnings. `differences` compares two such records and says where they part.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Program = Callable[[Any], Any]

# Two libraries sum in different orders, so values agree to a few units in the last place of their dtype.
TOLERANCE: dict[str, tuple[float, float]] = {
    "float16": (4e-3, 1e-3),
    "float32": (2e-5, 1e-6),
    "complex64": (2e-5, 1e-6),
    "float64": (1e-9, 1e-11),
    "complex128": (1e-9, 1e-11),
}
SCALAR_TOLERANCE = (2e-5, 1e-6)


@dataclass(frozen=True)
class Expectation:
    """What a program declares about itself: the phrase of its exception, the phrase of its warnings."""

    phrase: str | None = None
    warns: str | None = None


@dataclass(frozen=True)
class TensorRecord:
    """What of a tensor is compared."""

    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    values: Any


@dataclass(frozen=True)
class ArrayRecord:
    """What of a NumPy array is compared."""

    shape: tuple[int, ...]
    dtype: str
    values: Any


@dataclass(frozen=True)
class Named:
    """A thing compared by its name alone: a node, a dtype, a device, a class."""

    kind: str
    name: str


@dataclass(frozen=True)
class Raised:
    """An exception: its types outside the two libraries, nearest first, its message, the phrase both must hold."""

    types: tuple[str, ...]
    message: str
    phrase: str | None = None


@dataclass(frozen=True)
class Warned:
    """A warning: its category and message."""

    category: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """All that one run of a program showed."""

    value: Any
    raised: Raised | None
    warned: tuple[Warned, ...]


REGISTRY: dict[str, tuple[Program, Expectation]] = {}


def program(phrase: str | None = None, warns: str | None = None) -> Callable[[Program], Program]:
    """Register a function as a conformance program.

    `phrase`: the program ends with an exception whose message matches this regular expression on both libraries.
    `warns`: each warning on both libraries matches this one, and there is at least one.
    """

    def register(function: Program) -> Program:
        name = f"{function.__module__.rpartition('.')[2]}:{function.__name__}"
        if name in REGISTRY:
            raise ValueError(f"two conformance programs are called {name}")
        REGISTRY[name] = (function, Expectation(phrase, warns))
        return function

    return register


def attempt(phrase: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `function`; an exception becomes a value that is compared by type and by `phrase`."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return record_exception(error, phrase)


def record_exception(error: BaseException, phrase: str | None = None) -> Raised:
    """Write down an exception; the two libraries' own classes are left out, their bases count."""
    types = [
        t.__name__
        for t in type(error).__mro__
        if t.__module__.partition(".")[0] not in ("torch", "retrograd")
    ]
    return Raised(tuple(types), str(error), phrase)


def reset(module: Any) -> None:
    """Bring the library's global state back to what a fresh interpreter has."""
    module.set_default_dtype(module.float32)
    module.set_grad_enabled(True)


def observe(function: Program, module: Any) -> Outcome:
    """Run one program on one library and write down what it showed."""
    reset(module)
    value: Any = None
    raised: Raised | None = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = normalise(function(module), module)
        except Exception as error:
            raised = record_exception(error)
        finally:
            reset(module)
    warned = tuple(Warned(w.category.__name__, str(w.message)) for w in caught)
    return Outcome(value, raised, warned)


def normalise(value: Any, module: Any) -> Any:
    """Turn what a program returned into plain, picklable, library-free records."""
    if value is None or isinstance(value, bool | int | float | complex | str | Raised):
        return value
    if isinstance(value, module.Tensor):
        return record_tensor(value)
    if isinstance(value, np.ndarray | np.generic):
        return ArrayRecord(value.shape, value.dtype.name, value.tolist())
    if isinstance(value, Mapping):
        return {normalise(k, module): normalise(v, module) for k, v in value.items()}
    if isinstance(value, tuple | list | set | frozenset | range):
        return [normalise(v, module) for v in value]
    return record_name(value, module)


def record_name(value: Any, module: Any) -> Named:
    """Name the things that have no value of their own."""
    if isinstance(value, type):
        return Named("class", value.__name__)
    if isinstance(value, np.dtype) or type(value) is type(module.float32):
        return Named("dtype", dtype_name(value))
    if isinstance(value, module.device):
        return Named("device", str(value))
    if hasattr(value, "next_functions"):
        return Named("node", node_name(value))
    raise TypeError(f"a conformance program returned a {type(value).__name__}, which cannot be compared")


def dtype_name(dtype: Any) -> str:
    """The dtype's bare name, such as 'float32'."""
    return dtype.name if isinstance(dtype, np.dtype) else str(dtype).removeprefix("torch.")


def node_name(node: Any) -> str:
    """The node's name without the C++ namespace that torch puts before some of them."""
    return str(node.name()).rpartition("::")[2]


def record_tensor(tensor: Any) -> TensorRecord:
    """Write down a tensor; reading its values leaves no trace on it."""
    node = tensor.grad_fn
    return TensorRecord(
        shape=tuple(tensor.shape),
        dtype=dtype_name(tensor.dtype),
        requires_grad=tensor.requires_grad,
        is_leaf=tensor.is_leaf,
        grad_fn=None if node is None else node_name(node),
        values=tensor.detach().clone().tolist(),  # torch's symbolic zeros have values only once copied
    )


def broken_promises(outcome: Outcome, expected: Expectation) -> Iterator[str]:
    """Where a single run does not show what its program declares (checked on each library alone)."""
    if outcome.raised is not None:
        shown = f"{outcome.raised.types[0]}: {outcome.raised.message}"
        if expected.phrase is None:
            yield f"raised {shown}"
        elif not re.search(expected.phrase, outcome.raised.message):
            yield f"the message does not match {expected.phrase!r}: {shown}"
    elif expected.phrase is not None:
        yield f"no exception, expected one matching {expected.phrase!r}"
    for warning in outcome.warned:
        if expected.warns is None or not re.search(expected.warns, warning.message):
            yield f"warned {warning.category}: {warning.message}"
    if expected.warns is not None and not outcome.warned:
        yield f"no warning, expected one matching {expected.warns!r}"


def differences(oracle: Outcome, ours: Outcome) -> list[str]:
    """Every place in which our outcome is not the oracle's; empty when they agree."""
    found = [f"exception: {d}" for d in compare_raised(oracle.raised, ours.raised)]
    categories = [[w.category for w in o.warned] for o in (oracle, ours)]
    if categories[0] != categories[1]:
        found.append(f"warnings: {categories[0]} on torch, {categories[1]} here")
    return found + list(compare(oracle.value, ours.value, "value"))


def compare_raised(oracle: Raised | None, ours: Raised | None) -> Iterator[str]:
    """Compare exceptions: ours must be an instance of torch's type, and both must hold the phrase."""
    if oracle is None or ours is None:
        if oracle is not ours:
            yield f"{oracle} on torch, {ours} here"
        return
    if oracle.types[0] not in ours.types:
        yield f"{oracle.types[0]} ({oracle.message}) on torch, {ours.types[0]} ({ours.message}) here"
    if oracle.phrase is not None:
        for side, raised in (("torch", oracle), ("here", ours)):
            if not re.search(oracle.phrase, raised.message):
                yield f"{side} the message does not match {oracle.phrase!r}: {raised.message}"


def compare(oracle: Any, ours: Any, path: str) -> Iterator[str]:
    """Compare two normalised values, naming the path to each difference."""
    if isinstance(oracle, Raised) and isinstance(ours, Raised):
        yield from (f"{path}: {d}" for d in compare_raised(oracle, ours))
    elif isinstance(oracle, TensorRecord | ArrayRecord) and type(oracle) is type(ours):
        for field in vars(oracle):
            if field != "values" and getattr(oracle, field) != getattr(ours, field):
                yield f"{path}.{field}: {getattr(oracle, field)!r} on torch, {getattr(ours, field)!r} here"
        if oracle.shape == ours.shape and oracle.dtype == ours.dtype:
            yield from compare_arrays(oracle, ours, path)
    elif isinstance(oracle, dict) and isinstance(ours, dict) and list(oracle) == list(ours):
        for key in oracle:
            yield from compare(oracle[key], ours[key], f"{path}[{key!r}]")
    elif isinstance(oracle, list) and isinstance(ours, list) and len(oracle) == len(ours):
        for i, (a, b) in enumerate(zip(oracle, ours, strict=True)):
            yield from compare(a, b, f"{path}[{i}]")
    elif type(oracle) is not type(ours) or not same_scalar(oracle, ours):
        yield f"{path}: {oracle!r} on torch, {ours!r} here"


def compare_arrays(
    oracle: TensorRecord | ArrayRecord, ours: TensorRecord | ArrayRecord, path: str
) -> Iterator[str]:
    """Compare the numbers of two records of equal shape and dtype; NaN equals NaN."""
    a, b = np.asarray(oracle.values), np.asarray(ours.values)
    rtol, atol = TOLERANCE.get(oracle.dtype, (0.0, 0.0))
    if a.shape != b.shape or not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
        yield f"{path}: {oracle.values} on torch, {ours.values} here"


def same_scalar(oracle: Any, ours: Any) -> bool:
    """Equality, with a tolerance for Python floats and with NaN equal to itself."""
    if isinstance(oracle, complex):
        return same_scalar(oracle.real, ours.real) and same_scalar(oracle.imag, ours.imag)
    if isinstance(oracle, float):
        rtol, atol = SCALAR_TOLERANCE
        return math.isclose(oracle, ours, rel_tol=rtol, abs_tol=atol) or (
            math.isnan(oracle) and math.isnan(ours)
        )
    return bool(oracle == ours)
