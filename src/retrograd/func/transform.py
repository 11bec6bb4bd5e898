"""What all transforms share: that one is running, arguments by number, results with an extra value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from retrograd.core.modes import INFERENCE, current, update_forward
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name


class transforming:  # noqa: N801 - a context manager, as `no_grad` is
    """While a function runs inside a transform, some of what PyTorch's own graphs allow is refused."""

    def __enter__(self) -> None:
        current().transforms += 1

    def __exit__(self, *error: object) -> None:
        current().transforms -= 1


class differentiating(transforming):  # noqa: N801
    """The same for one that differentiates: inference mode and a forward mode that is off end at its door."""

    def __init__(self, forward: bool = False) -> None:
        self.forward = forward

    def __enter__(self) -> None:
        state = current()
        self.inference: int = state.special & INFERENCE
        self.enabled: bool = state.forward_enabled
        state.special &= ~INFERENCE
        state.forward_enabled = self.enabled or self.forward
        update_forward(state)
        super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        state = current()
        state.special |= self.inference
        state.forward_enabled = self.enabled
        update_forward(state)


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
