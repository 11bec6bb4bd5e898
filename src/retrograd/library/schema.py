"""What an operation takes and returns: schemas, read from text or from the annotations of a function."""

from __future__ import annotations

import ast
import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from retrograd.backends.device import device as Device
from retrograd.backends.dtype_class import dtype as Dtype
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name

REQUIRED: Any = object()
_WORDS = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    Device: "Device",
    Dtype: "ScalarType",
}
_SHOWN = {"SymInt": "int", "Scalar": "number"}
_CHECKS: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "int": (int, np.integer),
    "SymInt": (int, np.integer),
    "float": (int, float, np.floating),
    "bool": (bool,),
    "str": (str,),
    "Scalar": (int, float, complex, np.number),
    "Device": (Device, str),
    "ScalarType": (Dtype,),
}


class Argument(NamedTuple):
    """One argument: its type as it stands in the schema, without marks, and what it is if it is left out."""

    name: str
    kind: str
    default: Any = REQUIRED
    keyword_only: bool = False
    written: bool = False

    def takes(self, value: Any) -> bool:
        """Whether a value is of this type."""
        return _is_of(self.kind, value)


class Schema(NamedTuple):
    """An operation's name, arguments and the types of its results."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    text: str

    def __repr__(self) -> str:
        return self.text

    @property
    def is_mutable(self) -> bool:
        """Whether it writes into one of its arguments."""
        return any(a.written for a in self.arguments)

    def bind(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The values of positional and of keyword-only arguments, with defaults, checked."""
        name, tail = f"{self.name}()", f" Declaration: {self.text}"
        places = [a for a in self.arguments if not a.keyword_only]
        most, count = len(self.arguments), len(args) + len(named)
        if len(args) > len(places) or count > most:
            raise RuntimeError(
                f"{name} expected at most {most} argument(s) but received {count} argument(s).{tail}"
            )
        given = {**{a.name: v for a, v in zip(places, args, strict=False)}, **named}
        found = {a.name: given.pop(a.name, a.default) for a in self.arguments}
        for position, argument in enumerate(self.arguments):
            value = found[argument.name]
            if value is REQUIRED:
                raise RuntimeError(f"{name} is missing value for argument '{argument.name}'.{tail}")
            if not argument.takes(value):
                raise RuntimeError(
                    f"{name} Expected a value of type '{_shown(argument.kind)}' for argument '{argument.name}' but "
                    f"instead found type '{type_name(value)}'. Position: {position}.{tail}"
                )
        if given:
            raise RuntimeError(
                f"Unknown keyword argument '{next(iter(given))}' for operator '{self.name}'. Schema: {self.text}"
            )
        return [found[a.name] for a in places], {
            a.name: found[a.name] for a in self.arguments if a.keyword_only
        }


def _is_of(kind: str, value: Any) -> bool:
    """Whether a value is of a schema's type."""
    if kind.endswith("?"):
        return value is None or _is_of(kind[:-1], value)
    if kind.endswith("]"):
        inner = kind[: kind.index("[")]
        return isinstance(value, (list, tuple)) and all(_is_of(inner, v) for v in value)
    if kind in ("int", "SymInt", "float") and isinstance(value, Tensor):
        return value.ndim == 0 and not value.requires_grad
    return isinstance(value, _CHECKS.get(kind, (object,)))


def _shown(kind: str) -> str:
    """A type as messages write it."""
    if kind.endswith("?"):
        return f"Optional[{_shown(kind[:-1])}]"
    return f"List[{_shown(kind[:-2])}]" if kind.endswith("[]") else _SHOWN.get(kind, kind)


# -- from text ---------------------------------------------------------------------------------------------------------

_HEAD = re.compile(r"\s*([\w:]+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.*?)\s*", re.DOTALL)
_ARGUMENT = re.compile(
    r"([\w\[\]]+?)(\(\w*!?(?:\s*->\s*\w+)?\)|!)?((?:\[\d*\])?\??)\s+(\w+)\s*(?:=\s*(.*))?", re.DOTALL
)


def parse(text: str) -> Schema:
    """The schema that a text like `ns::name.overload(Tensor x, int n=2) -> Tensor` describes."""
    head = _HEAD.fullmatch(text)
    if head is None:
        only = "Tried to parse a function schema but only the operator name was given"
        raise RuntimeError(
            f"{only if '(' not in text else 'a schema is like `name(Tensor x) -> Tensor`'}: {text!r}"
        )
    name, overload, inside, returns = head.groups()
    arguments: list[Argument] = []
    keyword_only = False
    for part in _parts(inside):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only))
    kinds = _parts(returns[1:-1]) if returns.startswith("(") else [returns]
    bare = tuple(re.sub(r"\(\w*!?\)", "", kind).split()[0] for kind in kinds)
    return Schema(name, overload or "default", tuple(arguments), bare, text.strip())


def _argument(part: str, keyword_only: bool) -> Argument:
    """One argument of a schema's text."""
    found = _ARGUMENT.fullmatch(part)
    if found is None:
        raise RuntimeError(f"this is no argument of a schema: {part!r}. One is like `Tensor x` or `int n=2`.")
    kind, mark, ending, name, default = found.groups()
    kind = re.sub(r"\[\d+\]", "[]", kind + ending)
    value = REQUIRED if default is None else _constant(default.strip())
    return Argument(name, kind, value, keyword_only, mark is not None and "!" in mark)


def _constant(text: str) -> Any:
    """A default value."""
    known = {"None": None, "True": True, "False": False}
    return known[text] if text in known else ast.literal_eval(text)


def _parts(text: str) -> list[str]:
    """What stands between commas that are not inside of brackets or quotes."""
    parts, depth, quoted, current = [], 0, False, ""
    for letter in text:
        quoted ^= letter == '"'
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth and not quoted:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    return [*parts, current.strip()] if current.strip() else parts


# -- from a function ---------------------------------------------------------------------------------------------------


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: Iterable[str] | str,
    op_name: str | None = None,
) -> str:
    """The schema of a function whose parameters are annotated.

    >>> import retrograd as rg
    >>> def scale(x: rg.Tensor, by: float = 2.0) -> rg.Tensor: ...
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    hints = typing.get_type_hints(prototype_function)
    signature = inspect.signature(prototype_function)
    got = f" Got func with signature {signature})"
    unknown = mutates_args == "unknown"
    written = set() if unknown else set(mutates_args)
    if written - set(signature.parameters):
        raise ValueError(
            f"infer_schema(func): {written - set(signature.parameters)} in mutates_args were not found in the custom "
            f"op's signature. Name what it writes into, or say 'unknown'.{got}"
        )
    parts: list[str] = []
    for i, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(
                f"infer_schema(func): We do not support positional-only args, varargs, or varkwargs.{got}"
            )
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation.{got}")
        word = _word(hints[name], f"Parameter {name}", got)
        if name in written or (unknown and word.startswith("Tensor")):
            word = word.replace("Tensor", f"Tensor(a{i}!)", 1)
        default = "" if parameter.default is parameter.empty else f"={_literal(parameter.default)}"
        parts.append(f"{word} {name}{default}")
    if "return" not in hints:
        raise ValueError(f"infer_schema(func): No return type annotation was provided. Please add one.{got}")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(hints['return'], got)}"


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).removeprefix("torch.")


def _returned(hint: Any, got: str) -> str:
    """The results of a function, as a schema says them."""
    if hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        return f"({', '.join(_word(h, 'Return', got) for h in typing.get_args(hint))})"
    return _word(hint, "Return", got)


def _word(hint: Any, what: str, got: str) -> str:
    """The schema's word for an annotation."""
    if hint in _WORDS:
        return _WORDS[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if set(inner) == {int, float, bool}:
            return "Scalar"
        others = [h for h in inner if h is not type(None)]
        if len(others) == 1 and len(inner) == 2:
            return f"{_word(others[0], what, got)}?"
    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        return f"{_word(inner[0], what, got)}[]"
    raise ValueError(
        f"infer_schema(func): {what} has unsupported type {hint}. The valid types are tensors, numbers, strings, "
        f"devices, dtypes, lists of them, and None beside them.{got}"
    )
