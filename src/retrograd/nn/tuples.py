"""Sizes that are given once for all dimensions, or one by one; `torch.nn.modules.utils` to programs that import it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """A tuple as it is; a number as often as there are dimensions.

    >>> repeated(3, 2), repeated([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def padding_of(pairs: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """What `pad` takes: the pairs from the last dimension to the first, in a row."""
    return tuple(side for pair in reversed(list(pairs)) for side in pair)


# ---- what programs import of PyTorch's -------------------------------------------------------------------------------


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of `n` of a number, and leaves a tuple as it is.

    >>> _ntuple(3)(2)
    (2, 2, 2)
    """

    def parse(x: Any) -> tuple[Any, ...]:
        return repeated(x, n)

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The elements from the last to the first, each `n` times.

    >>> _reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(x for x in reversed(list(t)) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """The sizes that are asked for; where one is None, the default that is as far from the end.

    >>> _list_with_default([None, 3], [1, 4, 5])
    [4, 3]
    """
    if isinstance(out_size, int):
        return out_size
    count = len(out_size)
    if count >= len(defaults):
        raise ValueError(f"Input dimension should be at least {count + 1}")
    return [last if size is None else size for size, last in zip(out_size, defaults[-count:], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix, as the "module." of a parallel module, off the keys of a state dict and of its metadata.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [key for key in metadata if key and f"{key}.".startswith(prefix)]:
        metadata[key.removeprefix(prefix) if key.startswith(prefix) else ""] = metadata.pop(key)
