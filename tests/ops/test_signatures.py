"""Every public function takes its arguments under PyTorch's names and in PyTorch's order.

What PyTorch has is read from the stubs and schemas that its wheel carries: tests/fuzz/overloads.py. Of an overloaded
function all names are taken; the order is that of the overload in which they come first.
"""

from __future__ import annotations

import inspect
from inspect import Parameter
from typing import Any

import pytest

import retrograd as rg
from retrograd.ops.refusals import IN_PYTHON, declarations
from tests.fuzz.overloads import overloads
from tests.ops.test_single_numbers import at, functions

# Names for which there is nothing to ask for here: one layout, one kind of memory, no names of dimensions; products of
# half precision in another dtype, on GPUs alone; and what PyTorch's own compiler passes.
NOT_HERE = {"layout", "pin_memory", "names", "out_dtype", "out", "self"}
STUBS = "PyTorch's stub has what its parser refuses"
OLD = "numbers before tensors, which is deprecated: taken, and told by the number of arguments"
NAMES = "one parameter stands for those of several overloads, which are taken by name too"
BY_TYPE = "the type of an argument says which overload is meant"
EXCEPTIONS = {
    **dict.fromkeys(("Tensor.contiguous", "Tensor.cpu", "tensor", "as_tensor", "Tensor.new_tensor"), STUBS),
    **dict.fromkeys(("nn.functional.gelu", "nn.functional.scaled_dot_product_attention"), STUBS),
    **dict.fromkeys(("add", "sub", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addmv_", "addr", "baddbmm"), OLD),
    **dict.fromkeys(("subtract", "Tensor.subtract", "Tensor.subtract_"), OLD),
    **dict.fromkeys(("tensor_split", "Tensor.tensor_split"), NAMES),
    **dict.fromkeys(("isin", "result_type", "where"), NAMES),
    **dict.fromkeys((f"{place}{name}" for place in ("", "Tensor.") for name in ("max", "min", "scatter")), BY_TYPE),
    **dict.fromkeys((f"{place}{name}" for place in ("", "Tensor.") for name in ("std", "var")), BY_TYPE),
    **dict.fromkeys(("std_mean", "var_mean", "nuclear_norm", "view_copy", "searchsorted", "Tensor.scatter_"), BY_TYPE),
    "Tensor.new": "made by what the arguments are",
}  # fmt: skip
PLACED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def paths(torch: Any) -> list[str]:
    """The functions that both libraries have, and whose parameters PyTorch tells."""
    found = []
    for path in functions():
        try:
            theirs = overloads(path) if callable(at(torch, path)) else []
        except AttributeError:
            continue
        if theirs and not theirs[0].parameters.keys() <= {"args", "kwargs"}:
            found.append(path)
    return found


def wrong_names(path: str) -> list[str]:
    """The names of parameters that are not taken."""
    own = inspect.signature(at(rg, path)).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in own.values()):
        return []
    asked = {
        p.name
        for s in overloads(path)
        for p in [*s.parameters.values()][1:]
        if p.kind is not p.VAR_POSITIONAL
    }
    return sorted(asked - own.keys() - NOT_HERE)


def wrong_places(path: str) -> list[str]:
    """The parameters that come by position and stand elsewhere than in PyTorch."""
    own = [*inspect.signature(at(rg, path)).parameters.values()]
    placed = [p.name for p in own if p.kind in PLACED]
    found = []
    for theirs in overloads(path):
        wanted = [p.name for p in theirs.parameters.values() if p.kind in PLACED and p.name != "out_dtype"][
            1:
        ]
        found += [
            f"{i}: {a}, {b} here"
            for i, (a, b) in enumerate(zip(wanted, placed[1:], strict=False), 1)
            if a != b
        ]
        more = any(p.kind is p.VAR_POSITIONAL for p in own)
        found += [] if more else [f"{name} by name alone" for name in wanted[len(placed) - 1 :]]
    return found


def test_names_and_places_are_pytorchs(torch: Any) -> None:
    wrong = {
        path: found
        for path in paths(torch)
        if path not in EXCEPTIONS and (found := wrong_names(path) + wrong_places(path))
    }
    assert not wrong, "\n".join(f"{path}: {', '.join(found)}" for path, found in wrong.items())


def test_exceptions_are_needed(torch: Any) -> None:
    known = set(paths(torch))
    idle = [p for p in EXCEPTIONS if p not in known or not wrong_names(p) + wrong_places(p)]
    assert not idle, idle


@pytest.mark.parametrize(
    "path", ["cummax", "flip", "softmax", "logsumexp", "unsqueeze", "split", "reshape", "range"]
)
def test_what_pytorch_asks_for_must_be_given(torch: Any, path: str) -> None:
    for library in (torch, rg):
        with pytest.raises(TypeError):
            at(library, path)(library.ones(2, 2))


# What a declaration that takes the one takes as well: see Note [Types first].
TAKEN = {"float": {"Number", "complex", "int", "bool"}, "Number": {"float", "complex", "int", "bool"}}
KINDS = {"Tensor", "int", "float", "bool", "str", "Number", "complex", "Sequence[int]", "Sequence[Tensor]"}


def refused_kinds(path: str) -> list[str]:
    """The kinds of arguments that PyTorch takes and a declaration does not, which would be told as a wrong type."""
    own: Any = at(rg, path)
    own = inspect.unwrap(getattr(own, "function", own))
    module = getattr(own, "__module__", None)  # methods of compiled classes have none
    declaration = declarations(module).get(own.__name__) if module else None
    if (
        declaration is None
        or own.__name__ in IN_PYTHON
        or (declaration.rest and declaration.rest.name == "old")
    ):
        return []
    found = []
    for theirs in overloads(path):
        for i, p in enumerate(theirs.parameters.values()):
            placed = p.kind in PLACED and i < len(declaration.positional)
            mine = declaration.positional[i] if placed else declaration.named.get(p.name)
            if mine is None or not mine.kinds or p.name == "out" or p.kind is p.VAR_POSITIONAL:
                continue
            taken = set(mine.kinds).union(*(TAKEN.get(kind, set()) for kind in mine.kinds))
            asked = {
                kind.strip() for kind in str(p.annotation).replace("Ints", "int | Sequence[int]").split("|")
            }
            found += [f"{mine.name} of {kind}" for kind in sorted((asked & KINDS) - taken)]
    return found


def test_what_pytorch_takes_is_never_told_as_a_wrong_type(torch: Any) -> None:
    built_in = [path for path in paths(torch) if not inspect.isfunction(at(torch, path))]
    wrong = {path: found for path in built_in if (found := refused_kinds(path))}
    assert not wrong, "\n".join(f"{path}: {', '.join(found)}" for path, found in wrong.items())
