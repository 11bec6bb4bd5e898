"""rearrange: dimensions split, exchanged and joined as a pattern says that names them."""

from __future__ import annotations

import keyword
import math
import re
import warnings
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops.shape.join import stack

DOTS = "..."
_TOKEN = re.compile(r"\s+|\.+|\w+|.")
# A side of a pattern: the names that are one dimension together, one after the other; None for `...` as it stands,
# which inside of parentheses is a name.
Side = list[list[str] | None]
Groups = list[list[str]]


class DimensionBindError(Exception):
    """Sizes of names that do not fit the tensor, as `functorch.dim` calls it."""


def rearrange(
    tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int
) -> Tensor:
    """Splits, exchanges and joins dimensions; `pattern` names those of the tensor and says how they are to lie.

    Args:
        tensor: or several, which are stacked along a first dimension.
        pattern: `"a b -> b a"`. Names in parentheses are one dimension together, `...` stands for all other
            dimensions, `1` or `()` for one of size 1.
        axes_lengths: sizes of names, as many as are needed to split what is in parentheses.

    >>> import retrograd as rg
    >>> rg.func.rearrange(rg.arange(6), "(h w) -> w h", h=2)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    >>> rg.func.rearrange(rg.zeros(2, 3, 4, 5), "n c ... -> n (...) c").shape
    torch.Size([2, 20, 3])
    """
    x: Tensor = tensor if isinstance(tensor, Tensor) else stack(tensor)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    given, wanted = _parsed(sides[0]), _parsed(sides[1])
    _check(given, wanted, pattern, axes_lengths)
    if x.ndim == 0:
        return x
    rest = _rest(given, x.ndim)
    left, right = _spread(given, rest), _spread(wanted, rest)
    found: dict[str, int] = {}
    for group, size in zip(left, x.shape, strict=True):
        found.update(_split(group, size, axes_lengths))
    places = {name: i for i, name in enumerate(found)}
    apart = x.reshape(list(found.values())).permute([places[name] for group in right for name in group])
    return apart.reshape([math.prod([found[name] for name in group]) for group in right])


# -- patterns ------------------------------------------------------------------------------------------------------


def _parsed(text: str) -> Side:
    """One side of a pattern."""
    side: Side = []
    inside: list[str] | None = None
    for word in _TOKEN.findall(text):
        if word.isspace():
            continue
        if word == "(":
            if inside is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
        elif word == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            side.append(inside)
            inside = None
        elif inside is not None:
            inside += _names(word)
        else:
            side.append(None if word == DOTS else _names(word))
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return side


def _names(word: str) -> list[str]:
    """A name, or nothing for a dimension of size 1."""
    if word[0] == ".":
        if word != DOTS:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
    elif word.isdecimal():
        if word != "1":
            raise ValueError("rearrange only supports unnamed axes of size 1")
        return []
    elif not (word[0].isalnum() or word[0] == "_"):
        raise ValueError(f"Unknown character '{word}'")
    elif not word.isidentifier():
        raise ValueError(f"Invalid axis identifier: {word}\nnot a valid python identifier")
    elif word[0] == "_" or word[-1] == "_":
        raise ValueError(
            f"Invalid axis identifier: {word}\naxis name should not start or end with underscore"
        )
    elif keyword.iskeyword(word):
        warnings.warn(f"It is discouraged to use axes names that are keywords: {word}", RuntimeWarning, 4)
    return [word]


def _check(given: Side, wanted: Side, pattern: str, lengths: dict[str, Any]) -> None:
    """Each name, and `...`, stands once on both sides; lengths are numbers of names."""
    left, right = _all_names(given), _all_names(wanted)
    if DOTS in right and DOTS not in left:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if DOTS in left and None not in given:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for value in lengths.values():
        if not isinstance(value, int):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(value)}")
    if left ^ right:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {left ^ right}"
        )
    if unknown := set(lengths) - left:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def _all_names(side: Side) -> set[str]:
    found: set[str] = set()
    for name in [name for group in side for name in ([DOTS] if group is None else group)]:
        if name in found:
            raise ValueError(
                "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
                if name == DOTS
                else f"Indexing expression contains duplicate dimension '{name}'"
            )
        found.add(name)
    return found


# -- sizes ---------------------------------------------------------------------------------------------------------


def _rest(given: Side, ndim: int) -> list[str]:
    """Names for the dimensions that `...` stands for."""
    count = sum(group is not None for group in given)
    if count > ndim or (count < ndim and None not in given):
        most = "less than or equal to" if None in given else "equal to"
        raise ValueError(
            f"Number of dimensions in pattern ({count}) must be {most} the number of dimensions in the tensor ({ndim})"
        )
    return [f"{DOTS}{i}" for i in range(ndim - count)]


def _spread(side: Side, rest: list[str]) -> Groups:
    """A side with the names of `rest` in the place of `...`."""
    groups: Groups = []
    for group in side:
        if group is None:
            groups += [[name] for name in rest]
        else:
            groups.append([n for name in group for n in (rest if name == DOTS else [name])])
    return groups


def _split(group: list[str], size: int, lengths: dict[str, int]) -> dict[str, int]:
    """The size of each name of one dimension."""
    unknown = [name for name in group if name not in lengths]
    known = math.prod([lengths[name] for name in group if name in lengths])
    if len(unknown) > 1 and not unknown[0].startswith(DOTS):
        raise DimensionBindError(
            f"cannot infer the sizes of two dimensions at once {unknown[0]} and {unknown[1]}: say one of them, as "
            f"{unknown[0]}=2."
        )
    if unknown and (known == 0 or size % known):
        shape = tuple(["?" if name in unknown else lengths[name] for name in group])
        raise DimensionBindError(
            f"inferred dimension does not evenly fit into larger dimension: {size} vs {shape}"
        )
    if not unknown and known != size:
        raise DimensionBindError(
            f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack {tuple(group)}"
        )
    return {name: lengths[name] if name in lengths else size // known for name in group}
