"""The signatures that PyTorch has for a function, one for each overload, read from the stubs that its wheel carries.

Functions that have no stubs (`linalg`, `special`, `fft`) have schemas; those written in Python say it themselves.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from collections import defaultdict
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

from tests.ops.test_single_numbers import at

Overloads = dict[str, list[Signature]]
PREFIXES = ("linalg_", "special_", "fft_")
# What stubs and schemas call a kind of argument, and what our own signatures do.
KINDS = {
    r"_(int|float|bool|complex)\b": r"\1", r"torch\.Tensor|<class 'torch.Tensor'>": "Tensor",
    r"<class '(\w+)'>": r"\1", r"\b_size\b|List\[int\]|list\[int\]": "Sequence[int]", r"\b_dtype\b": "DType",
    r"DeviceLikeType|\b_device\b": "Device", r"\b(torch\.)?memory_format\b": "MemoryFormat", r"\bnumber\b": "Number",
    r"(tuple|list)\[Tensor, \.\.\.\]|List\[Tensor\]|list\[Tensor\]": "Sequence[Tensor]",
    r" \| (torch\.)?Sym(Int|Float)\b": "", r"Optional\[(.*)\]": r"\1 | None", r"int \| Sequence\[int\]": "Ints",
}  # fmt: skip


def overloads(path: str) -> list[Signature]:
    """All signatures of `torch.<path>`; none if PyTorch does not tell."""
    torch = importlib.import_module("torch")
    function = at(torch, path)
    place, _, name = path.rpartition(".")
    if inspect.isfunction(function):
        return [_renamed(inspect.signature(function))]
    if place == "Tensor":
        return _stubs("__init__.pyi", "TensorBase").get(name, [])
    if f"{place}_" in PREFIXES:
        return _schemas().get(f"{place}_{name}", [])
    own = _stubs("_nn.pyi").get(name) if place == "nn.functional" else None
    return own or _stubs("_VariableFunctions.pyi").get(name, [])


@functools.cache
def _stubs(file: str, of_class: str = "") -> Overloads:
    """What a stub file declares, by name."""
    torch = importlib.import_module("torch")
    folder = Path(torch.__file__).parent / "_C"
    body: list[ast.stmt] = ast.parse((folder / file).read_text()).body
    if of_class:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == of_class).body
    found: Overloads = defaultdict(list)
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found[node.name].append(_declared(node.args))
    return found


def _declared(args: ast.arguments) -> Signature:
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + [*args.defaults]
    found = [_parameter(a, d, Parameter.POSITIONAL_OR_KEYWORD) for a, d in zip(plain, defaults, strict=True)]
    if args.vararg:
        found.append(_parameter(args.vararg, None, Parameter.VAR_POSITIONAL))
    found += [
        _parameter(a, d, Parameter.KEYWORD_ONLY)
        for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    return Signature(found)


def _parameter(arg: ast.arg, default: ast.expr | None, kind: Any) -> Parameter:
    hint = "Tensor" if arg.annotation is None else kind_of(ast.unparse(arg.annotation))
    return Parameter(
        arg.arg, kind, default=Parameter.empty if default is None else ast.unparse(default), annotation=hint
    )


def kind_of(hint: str) -> str:
    """A kind of argument as our own signatures call it.

    >>> kind_of("_int | _size"), kind_of("Optional[List[int]]")
    ('Ints', 'Sequence[int] | None')
    """
    for pattern, instead in KINDS.items():
        hint = re.sub(pattern, instead, hint).strip()
    return hint


def _renamed(signature: Signature) -> Signature:
    """A signature of Python's, with our names of kinds."""
    kept = [p.replace(annotation=kind_of(str(p.annotation))) for p in signature.parameters.values()]
    return Signature(kept)


@functools.cache
def _schemas() -> Overloads:
    """What the dispatcher knows, by name. The results that `out=` gives names to are no arguments in Python."""
    torch = importlib.import_module("torch")
    found: Overloads = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if not name.startswith(PREFIXES) or any(a.is_out for a in schema.arguments):
            continue
        parameters = [
            Parameter(
                "input" if a.name == "self" else a.name,
                Parameter.KEYWORD_ONLY if a.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD,
                default=a.default_value if a.has_default_value() else Parameter.empty,
                annotation="DType | None" if a.name == "dtype" else kind_of(str(a.type)),
            )
            for a in schema.arguments
        ]
        found[name].append(Signature(parameters))
    return found
