"""Every public function with random arguments, as its signature has them: PyTorch takes the same, and gives the same.

A call is a line of text, so that what is found can be pasted into a shell. Three things are counted apart: other values
(or dtypes, shapes), calls that only one library takes, and errors of another type.
"""

from __future__ import annotations

import importlib
import inspect
import random
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import retrograd
from tests.ops.test_single_numbers import at, functions
from tests.ops.test_sweep import flat

from . import apart
from .execute import outside
from .overloads import overloads

SECONDS = 20  # for one call
# Whose results are random or not written at all, who change settings, and who take what a signature does not tell.
LEFT_OUT = {
    "svd_lowrank", "pca_lowrank", "lobpcg", "set_deterministic_debug_mode", "set_default_tensor_type", "einsum",
    "custom_gradient", "register_post_accumulate_grad_hook", "set_warn_always", "use_deterministic_algorithms",
    "fractional_max_pool2d", "fractional_max_pool3d", "fractional_max_pool2d_with_indices", "native_dropout", "new",
    "fractional_max_pool3d_with_indices", "resize", "alpha_dropout_", "dropout_", "feature_alpha_dropout_", "binomial",
    "feature_dropout_", "set_flush_denormal", "from_file", "set_num_interop_threads", "as_strided_", "retain_grad",
    "scaled_dot_product_attention", "multi_head_attention_forward", "rrelu_with_noise", "triplet_margin_with_distance_loss",
    "get_num_threads", "to_dlpack", "register_hook", "data_ptr", "new_empty_strided", "svd", "eig", "eigh", "cond", "untyped_storage", "storage_offset", "const_data_ptr", "element_size", "why_no_grad",
}  # fmt: skip
# There is one of each, or PyTorch has it at a few of the functions only.
NOT_GIVEN = {
    "out",
    "layout",
    "pin_memory",
    "inplace",
    "return_indices",
    "memory_format",
    "device",
    "axis",
    "last",
}
SHAPES = ("", "3", "2, 3", "2, 3", "3, 3", "1, 3", "0, 3", "2, 3, 3", "2, 2, 4, 4")
NUMBERS = {
    "float32": "[0.5, -1.5, 2.0, 1.25, -0.75, 3.0, 0.3, -2.2, 0.9, 1.7, -0.1]",
    "float64": "[0.25, 1.5, -0.5, 2.5, 0.75, -1.0, 0.6, 1.9, -2.3, 0.2, 3.1]",
    "complex64": "[0.5+1j, -1.5, 2j, 1-2j, 0.25, 0.3+0.7j, -1j]", "float16": "[0.5, 2.0, -1.0, 1.5, 0.75, -2.5, 3.0]",
    "int64": "[1, 0, 2, 1, 2, 0, 1]", "int32": "[2, 1, 0, 1, 2]", "uint8": "[1, 2, 0, 2, 1]", "bool": "[True, False, True, True, False]",
}  # fmt: skip
DTYPES = ["float32"] * 5 + [
    "float64",
    "float64",
    "int64",
    "int64",
    "bool",
    "complex64",
    "int32",
    "uint8",
    "float16",
]


class Finding(NamedTuple):
    """A call whose outcome differs."""

    kind: str
    call: str
    words: str

    def __str__(self) -> str:
        return f"# {self.kind}: {self.words}\n{self.call}\n"


def tensor(rng: random.Random, dtype: str, shape: str) -> str:
    """A tensor as text; now and then one that does not lie in rows."""
    count = int(np.prod([int(n) for n in shape.split(", ")] if shape else [], dtype=int))
    made = f"torch.tensor({NUMBERS[dtype]} * {count}, dtype=torch.{dtype})[:{count}].reshape({shape or '()'})"
    if rng.random() < 0.15 and shape.count(",") == 1:
        made += ".t()"
    if rng.random() < 0.1 and dtype in {"float32", "float64", "complex64"}:
        made += ".requires_grad_()"
    return made


class Caller:
    """Makes calls of one function: tensors that fit together, and what else its signature asks for."""

    def __init__(self, rng: random.Random, path: str) -> None:
        self.rng, self.path = rng, path
        self.dtype, self.shape = rng.choice(DTYPES), rng.choice(SHAPES)

    def signature(self) -> inspect.Signature:
        """Our own, or one of PyTorch's."""
        theirs = overloads(self.path)
        if self.rng.random() < 0.5 or not theirs or theirs[0].parameters.keys() <= {"args", "kwargs"}:
            return inspect.signature(at(retrograd, self.path))
        return self.rng.choice(theirs)

    def text(self) -> str:
        parameters = list(self.signature().parameters.values())
        given: list[str] = []
        positional = True
        for p in parameters:
            if p.kind is p.VAR_KEYWORD or p.name in NOT_GIVEN:
                continue
            if p.kind is p.VAR_POSITIONAL:
                given += [self.argument(p) for _ in range(self.rng.randrange(3))] if positional else []
                break  # what may come after it says the same by a name
            if p.default is not p.empty and self.rng.random() < 0.6:
                positional = False  # what comes after something left out goes by its name
                continue
            named = (
                not positional
                or p.kind is p.KEYWORD_ONLY
                or (p.default is not p.empty and self.rng.random() < 0.3)
            )
            positional = positional and not named
            given.append(f"{p.name}={self.argument(p)}" if named else self.argument(p))
        if self.path.startswith("Tensor.") and given and "=" not in given[0].partition("(")[0]:
            return f"{given[0]}{self.path.removeprefix('Tensor')}({', '.join(given[1:])})"
        return f"torch.{self.path}({', '.join(given)})"

    def argument(self, p: inspect.Parameter) -> str:
        """What a parameter might get."""
        pick = self.rng.choice
        kind = str(p.annotation)
        if self.rng.random() < 0.03:
            return str(pick(["None", "'x'", "2.5", "(1, 2)", "[]", "object()", "-1", "True"]))
        if p.name in {"index", "indices", "target", "labels"} and "Tensor" in kind:
            return tensor(self.rng, "int64", self.shape if self.rng.random() < 0.6 else "3")
        if p.name in {"mask", "condition"} and "Tensor" in kind:
            return tensor(self.rng, "bool", self.shape)
        if p.name in {
            "dim",
            "axis",
            "dim0",
            "dim1",
            "start_dim",
            "end_dim",
            "dims",
            "n",
        } and "int" in kind.lower() + "int" * ("Dims" in kind):
            return str(
                pick(["0", "-1", "1", "0", "-1", "2"] + ["(0, 1)"] * ("Sequence" in kind or "Dims" in kind))
            )
        if kind.startswith("Sequence[Tensor]") or "Sequence[Tensor" in kind:
            return f"[{', '.join(self.tensor() for _ in range(pick([1, 2, 2, 3])))}]"
        if "Tensor" in kind and ("Number" not in kind or self.rng.random() < 0.6):
            return self.tensor()
        if kind in {"<class 'inspect._empty'>", "Any", "Data"}:
            return self.tensor() if self.rng.random() < 0.6 else str(pick(["0", "1", "2.5", "-1"]))
        for word, options in OPTIONS.items():
            if word in kind:
                return str(pick(options))
        return str(pick(["0", "1", "None"]))

    def tensor(self) -> str:
        """Mostly like the others."""
        same = self.rng.random() < 0.85
        return tensor(
            self.rng,
            self.dtype if same else self.rng.choice(DTYPES),
            self.shape if self.rng.random() < 0.8 else self.rng.choice(SHAPES),
        )


OPTIONS = {
    "DType": ["torch.float32", "torch.float64", "torch.int64", "torch.complex64", "None"],
    "Device": ["None", "'cpu'"],
    "MemoryFormat": ["torch.contiguous_format", "torch.preserve_format"],
    "bool": ["True", "False"],
    "Sequence[int]": ["(2, 3)", "(0, 1)", "(3,)", "(-1,)", "(1, 0)", "[2, 2]", "()", "1"],
    "Ints": ["1", "2", "(1,)", "(2, 1)", "3"],
    "Sizes": ["1", "2", "(2, 2)", "(1, None)"],
    "Dims": ["0", "-1", "(0, 1)", "None"],
    "int": ["0", "1", "2", "-1", "3"],
    "float": ["0.5", "1.0", "2.0", "0.0", "-1.5", "1"],
    "Number": ["2", "0.5", "-1", "1", "2.5", "1j"],
    "str": ["'mean'", "'sum'", "'none'", "'reflect'", "'floor'", "'amax'", "'linear'", "'x'", "None"],
}


def outcome(library: Any, call: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return flat(eval(call, {"torch": library}))
        except Exception as error:
            return error.with_traceback(None)


def difference(hers: Any, mine: Any, call: str) -> Finding | None:
    """What of an outcome differs, if something does."""
    there, here = isinstance(hers, Exception), isinstance(mine, Exception)
    if there and here:
        same = isinstance(mine, outside(hers))
        return None if same else Finding("error type", call, f"{hers!r:.120} there, {mine!r:.120} here")
    if there or here:
        return Finding(
            "raises only there" if there else "raises only here", call, f"{hers if there else mine!r:.200}"
        )
    if len(hers) != len(mine):
        return Finding("values", call, f"{len(hers)} results there, {len(mine)} here")
    found = next(filter(None, map(unlike, hers, mine)), "")
    return Finding("values", call, found) if found else None


def unlike(hers: Any, mine: Any) -> str:
    if not hasattr(hers, "is_contiguous"):
        same = not isinstance(hers, int | float | complex | str) or hers == mine or mine != mine
        return "" if same else f"{hers!r:.80} there, {mine!r:.80} here"
    facts = [(str(t.dtype), tuple(t.shape), t.requires_grad) for t in (hers, mine)]
    if facts[0] != facts[1]:
        return f"{facts[0]} there, {facts[1]} here"
    found, wanted = [np.asarray(t.detach().resolve_conj().resolve_neg().numpy()) for t in (mine, hers)]
    rough = 2e-2 if wanted.dtype == np.float16 else 1e-3
    if np.allclose(found, wanted, rtol=rough, atol=rough * 0.1, equal_nan=True):
        return ""
    return f"{wanted.tolist()!r:.150} there, {found.tolist()!r:.150} here"


def explore(count: int, seed: int) -> Iterator[Finding]:
    """What is found in so many calls."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    paths = [p for p in functions() if p.rpartition(".")[2] not in LEFT_OUT and exists(torch, p)]
    yield from apart.each(partial(examine, torch, paths), seed, count, SECONDS)


def examine(torch: Any, paths: list[str], number: int) -> Finding | None:
    """What is found in a call."""
    rng = random.Random(number)
    call = Caller(rng, rng.choice(paths)).text()
    return difference(outcome(torch, call), outcome(retrograd, call), call)


def exists(library: Any, path: str) -> bool:
    try:
        return callable(at(library, path))
    except AttributeError:
        return False
