"""How a random program is run on one library, what of it is written down, and where two runs part."""

from __future__ import annotations

import copy
import functools
import importlib
import math
import pickle
import re
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import CodeType
from typing import Any

import numpy as np

TOLERANCE = {
    "float16": 2e-2,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float64": 1e-9,
    "complex128": 1e-9,
    "bfloat16": 1e-1,
}
NODES = 12  # of the graph behind a tensor
# What makes gradients: of them only what they say is compared, not how an engine came by them.
GRADIENTS = re.compile(
    r"grad\(|\.grad\b|register_|torch\.(?:func|optim|nn)\.|functional\.[jhv]|def backward|forward_ad|create_graph"
)
NAMES = re.compile(r"\b[tmo]_?\w*\d+\b")
NUMBERS = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[+-]?\d+)?")  # with a point: others are sizes and names
TARGETS = re.compile(r"^\s*([\w ,*]+?) = ", re.MULTILINE)


@functools.lru_cache(4096)
def compiled(statement: str) -> CodeType:
    return compile(statement, "<program>", "exec")


class Log(list[Any]):
    """What a program writes down: tensors as they are at that moment, whoever writes into them later."""

    def append(self, value: Any) -> None:
        super().append(kept(value))


def kept(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [kept(v) for v in value]
    return value.detach().clone() if hasattr(value, "detach") else value


class Run:
    """A program on one library: its names, and the exception of each statement, if it raised one."""

    def __init__(self, library: Any) -> None:
        reset(library)
        checkpoint = importlib.import_module(f"{library.__name__}.utils.checkpoint").checkpoint
        self.library = library
        self.names: dict[str, Any] = {
            "torch": library, "log": Log(), "math": math, "copy": copy, "pickle": pickle,
            "checkpoint": checkpoint, "ThreadPoolExecutor": ThreadPoolExecutor,
        }  # fmt: skip
        self.given = set(self.names) - {"log"} | {"__builtins__"}
        self.raised: list[BaseException | None] = []
        self.dtypes: set[str] = set()  # of all tensors that ever had a name
        # Which object has each name, and its version when it got it: later writes count.
        self.born: dict[str, tuple[int, int]] = {}
        self.torn: set[str] = (
            set()
        )  # names in statements that have raised: PyTorch may have written something first
        self.gradients = {"log"}  # names that hold gradients, or what was made of some

    def step(self, statement: str) -> None:
        """One statement; what it raises is written down, and the program goes on."""
        self.note_gradients(statement)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compiled(statement), self.names)
                self.raised.append(None)
            except Exception as error:
                # Without its frames, which would hold the tensors of a program that has ended.
                self.raised.append(error.with_traceback(None))
                self.torn |= set(NAMES.findall(statement))
                self.library.manual_seed(0)  # it may have drawn before it raised

        self.born = {name: born for name, born in self.born.items() if name in self.names}
        for name in self.names.keys() - self.given:
            value = self.names[name]
            if name not in self.born or self.born[name][0] != id(value):
                version = attempt(HISTORY["version"], value)
                self.born[name] = id(value), version if isinstance(version, int) else 0
                self.dtypes |= set(dtypes(value))

    def note_gradients(self, statement: str) -> None:
        mentioned = set(NAMES.findall(statement))
        if self.torn and mentioned & self.sharing(self.torn):
            self.torn |= mentioned
            if "backward(" in statement:  # the gradients of leaves are made of what was written
                leaves = {n for n, v in self.names.items() if attempt(FLAGS["is_leaf"], v) is True}
                self.torn |= leaves | {n for n in self.names if n[0] == "m" and n[1:].isdigit()}
        if mentioned & self.gradients:
            self.gradients |= mentioned
        elif GRADIENTS.search(statement):
            self.gradients |= {name for found in TARGETS.findall(statement) for name in NAMES.findall(found)}

    def finish(self) -> dict[str, Any]:
        """What each name holds in the end."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gradients, torn = self.sharing(self.gradients), self.sharing(self.torn)
            found: dict[str, Any] = {
                n: record(
                    v, self.library, {} if n[0] != "t" else FLAGS if n in gradients else FLAGS | HISTORY
                )
                for n, v in list(self.names.items())  # a warning puts a name there
                if n not in self.given and not n.startswith("__") and n not in torn
            }
        for name, value in found.items():
            if isinstance(value, dict) and isinstance(value.get("version"), int):
                value["version"] -= self.born[name][1] if name in self.born else 0
        reset(self.library)
        return found

    def sharing(self, some: set[str]) -> set[str]:
        """These names, and those of tensors in the same memory."""
        places = {place(self.names.get(name)) for name in some} - {None}
        return some | {n for n, v in self.names.items() if places and place(v) in places}


def run(library: Any, statements: list[str]) -> Run:
    done = Run(library)
    for statement in statements:
        done.step(statement)
    return done


def reset(library: Any) -> None:
    library.set_grad_enabled(True)
    library.autograd.set_detect_anomaly(False)
    library.set_default_dtype(library.float32)
    library.manual_seed(0)  # the same seed gives both the same random numbers


# -- what is written down ----------------------------------------------------------------------------------------------


def place(value: Any) -> int | None:
    """Where the memory of a tensor begins."""
    try:
        return int(value.untyped_storage().data_ptr())
    except (AttributeError, TypeError, RuntimeError):  # no tensor, a class of some, one without memory
        return None


def record(value: Any, library: Any, more: dict[str, Any]) -> Any:
    """What can be compared of a value: of tensors what they hold, and `more`; of other objects their class."""
    if isinstance(value, library.Tensor):
        found = {name: attempt(read, value) for name, read in (FIELDS | more).items()}
        return found | {"grad": attempt(lambda t: record(t.grad, library, FLAGS), value) if more else None}
    if isinstance(value, library.nn.Module):
        held = [
            *value.named_parameters(remove_duplicate=False),
            *value.named_buffers(),
            ("training", value.training),
        ]
        return {name: record(v, library, FLAGS) for name, v in held}
    if isinstance(value, list | tuple):
        return [record(v, library, {} if more is not FLAGS else FLAGS) for v in value]
    if isinstance(value, dict):
        return {str(k): record(v, library, more) for k, v in value.items()}
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    if hasattr(value, "next_functions") and not isinstance(value, type):
        return graph(value) if "graph" in more else None
    return str(value) if type(value) is type(library.float32) else None


FIELDS = {
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: tuple(t.shape),
    "values": lambda t: t.detach().resolve_conj().resolve_neg().clone().tolist(),
}
FLAGS = {
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "is_inference": lambda t: t.is_inference(),
}
HISTORY = {
    "strides": lambda t: strides(t),
    "offset": lambda t: t.storage_offset() if t.numel() else None,
    "is_conj": lambda t: t.is_conj(),
    "is_neg": lambda t: t.is_neg(),
    "retains_grad": lambda t: t.retains_grad,
    "version": lambda t: t._version,
    "output_nr": lambda t: t.output_nr,
    "graph": lambda t: graph(t.grad_fn),
}


def attempt(read: Any, tensor: Any) -> Any:
    try:
        return read(tensor)
    except Exception as error:
        return f"raises {outside(error).__name__}"


def strides(t: Any) -> tuple[int, ...] | None:
    """The strides that say where elements lie: not those of dimensions of one element, nor of nothing."""
    return tuple(s for n, s in zip(t.shape, t.stride(), strict=True) if n > 1) if t.numel() else None


def rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, as above, of what lies in rows."""
    return tuple(math.prod(shape[i + 1 :]) for i, n in enumerate(shape) if n > 1)


def graph(node: Any) -> list[str]:
    """The names of nodes, from a node on, each with how far behind it is."""
    found, stack = [], [(node, 0)]
    while stack and len(found) < NODES:
        node, depth = stack.pop()
        if node is None:
            found.append(f"{depth} -")
            continue
        found.append(f"{depth} {node.name().rpartition('::')[2]}")
        known = "NotImplemented" not in found[-1]  # such a node has edges here for operands that need none
        stack.extend((n, depth + 1) for n, _ in reversed(node.next_functions) if n is not None or known)
    return found


# -- where two runs part -----------------------------------------------------------------------------------------------


def differences(hers: Run, mine: Run) -> Iterator[tuple[str, str]]:
    """What kind of difference, and the words for it; nothing if the runs agree."""
    for place, (a, b) in enumerate(zip(hers.raised, mine.raised, strict=True)):
        if (a is None) != (b is None):
            what = "raises only there" if b is None else "raises only here"
            yield what, f"{what}, in statement {place}: {(a or b)!r:.300}"
        elif a is not None and b is not None and not isinstance(b, outside(a)):
            yield "error type", f"statement {place}: {a!r:.150} there, {b!r:.150} here"
    mine.gradients |= hers.gradients
    hers.torn |= mine.torn
    mine.torn |= hers.torn
    there, here = hers.finish(), mine.finish()
    # Numbers that a program has written down may be of any of its tensors, also of those that are no longer there.
    tolerance = max((TOLERANCE.get(name, 0.0) for name in hers.dtypes), default=0.0) or TOLERANCE["float32"]
    for name in sorted(there.keys() & here.keys()):
        yield from parts(there[name], here[name], name, tolerance)


def outside(error: BaseException) -> type:
    """The nearest class of an exception that is not a library's own."""
    return next(
        t for t in type(error).__mro__ if t.__module__.partition(".")[0] not in {"torch", "retrograd"}
    )


def dtypes(value: Any) -> Iterator[str]:
    """The names of the dtypes of a tensor, or of those in a list."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from dtypes(item)
    elif hasattr(value, "parameters") and not isinstance(value, type):
        yield from dtypes(list(value.parameters()))
    elif hasattr(value, "dtype"):
        yield str(value.dtype).removeprefix("torch.")


def parts(
    hers: Any, mine: Any, path: str, tolerance: float, kind: str = "value"
) -> Iterator[tuple[str, str]]:
    if isinstance(hers, dict) and isinstance(mine, dict):
        for key in hers.keys() & mine.keys():  # a gradient there may be known for one here only
            if key == "strides" and mine[key] == rows(mine["shape"]):
                continue  # more is contiguous here than there: docs/differences.md
            if key != "values":
                yield from parts(
                    hers[key], mine[key], f"{path}.{key}", tolerance, key if "dtype" in hers else kind
                )
            elif (hers["dtype"], hers["shape"]) == (mine["dtype"], mine["shape"]) and not close(
                hers[key], mine[key], tolerance
            ):
                yield "values", f"{path}: {hers[key]} there, {mine[key]} here"
    elif kind != "graph" and isinstance(hers, list) and isinstance(mine, list) and len(hers) == len(mine):
        for i, (a, b) in enumerate(zip(hers, mine, strict=True)):
            yield from parts(a, b, f"{path}[{i}]", tolerance, kind)
    elif hers != mine and not (
        same_text(hers, mine, tolerance)
        if isinstance(hers, str)
        else isinstance(hers, float | complex) and close(hers, mine, tolerance)
    ):
        yield kind, f"{path}: {hers} there, {mine} here"


def same_text(hers: str, mine: Any, tolerance: float) -> bool:
    """Whether two texts, such as printed tensors, say the same but for the last digits of their numbers."""
    if not isinstance(mine, str) or NUMBERS.sub("", hers) != NUMBERS.sub("", mine):
        return False
    a, b = ([float(number) for number in NUMBERS.findall(text)] for text in (hers, mine))
    return len(a) == len(b) and close(a, b, max(tolerance, 1e-4))  # four digits are printed


def close(hers: Any, mine: Any, tolerance: float) -> bool:
    """Whether numbers agree to what two orders of summation may differ by."""
    if isinstance(hers, str) or isinstance(mine, str):
        return bool(hers == mine)
    a, b = np.asarray(hers), np.asarray(mine)
    finite = np.abs(a[np.isfinite(a)]) if a.size else a
    scale = min(max(float(finite.max()), 1.0), 1e6) if finite.size else 1.0
    with np.errstate(all="ignore"):
        return a.shape == b.shape and bool(
            np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        )
