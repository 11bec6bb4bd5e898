"""What all transforms share: arguments by number, results with an extra value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from retrograd.core.tensor import Tensor
from retrograd.errors import type_name


def name_of(function: Any) -> str:
    """What messages call a function."""
    name: str = getattr(function, "__name__", repr(function))
    return name


def checked_argnums(argnums: Any, count: int) -> tuple[int, ...]:
    """The numbers of the arguments to differentiate by, counted from the front."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(isinstance(n, int) for n in numbers):
        kind = (
            type(argnums) if not isinstance(argnums, tuple) else f"a tuple with {type_name(numbers[0])} in it"
        )
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {kind}")
    if not numbers:
        raise RuntimeError("argnums must be non-empty: it says which arguments to differentiate by.")
    for n in numbers:
        if not -count <= n < count:
            raise RuntimeError(
                f"Got argnum={n}, but only {count} positional inputs. Arguments given by keyword are not counted."
            )
    found = tuple([n % count for n in numbers])
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found


def picked(args: tuple[Any, ...], argnums: Any) -> Any:
    """The arguments that `argnums` names: one, or a tuple."""
    numbers = checked_argnums(argnums, len(args))
    return tuple([args[n] for n in numbers]) if isinstance(argnums, tuple) else args[numbers[0]]


def replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> tuple[Any, ...]:
    """The arguments with others in the place of those that `argnums` names."""
    numbers = checked_argnums(argnums, len(args))
    made = list(args)
    for n, value in zip(numbers, values if isinstance(argnums, tuple) else (values,), strict=True):
        made[n] = value
    return tuple(made)


def with_aux(output: Any, has_aux: bool, call: str) -> tuple[Any, Any]:
    """What a function returned, and the extra value beside it if there is to be one."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True. It is "
            f"{type_name(output)}."
        )
    return output


def require_tensors(leaves: list[Any], message: str) -> None:
    """Refuses a tree with anything but tensors in it."""
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(message.format(type(leaf)))


Function = Callable[..., Any]
P = ParamSpec("P")  # what the function takes
R = TypeVar("R")  # and what it returns
