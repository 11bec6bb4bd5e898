"""Samples become a batch: tensors are stacked, numbers become tensors, containers are gone through."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.ops.shape.join import stack
from retrograd.ops.tensor.data import as_tensor, tensor

_BAD = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers, in containers of any depth, as tensors; everything else as it is.

    >>> import numpy as np
    >>> from retrograd.utils.data import default_convert
    >>> default_convert({"x": np.ones(2), "name": "a", "n": 3})
    {'x': tensor([1., 1.], dtype=torch.float64), 'name': 'a', 'n': 3}
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if _is_named_tuple(data):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(value) for value in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """A list of samples as one batch, with a dimension more at the front.

    Tensors and arrays are stacked; numbers become a tensor; texts stay a list; of tuples, lists and dicts each item is
    collated for itself.

    >>> from retrograd.utils.data import default_collate
    >>> default_collate([{"x": 1.5, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1.5000, 2.0000], dtype=torch.float64), 'name': ['a', 'b']}
    """
    first = batch[0]
    for kind, collate in _RULES:
        if isinstance(first, kind):
            return collate(batch, first)
    raise TypeError(f"{_BAD.format(type(first))}. Give the DataLoader a collate_fn of your own.")


def _arrays(batch: Sequence[Any], first: Any) -> Any:
    if first.dtype.kind in "SUO":
        raise TypeError(_BAD.format(first.dtype))
    return stack([as_tensor(array) for array in batch], 0)


def _mappings(batch: Sequence[Any], first: Any) -> Any:
    return _mapping_like(first, {key: default_collate([sample[key] for sample in batch]) for key in first})


def _sequences(batch: Sequence[Any], first: Any) -> Any:
    if _is_named_tuple(first):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(column) for column in zip(*batch, strict=True)]
    return columns if isinstance(first, tuple) else _sequence_like(first, columns)


# The first rule whose kind the first sample is, is the one for all.
_RULES: list[tuple[Any, Callable[[Sequence[Any], Any], Any]]] = [
    (Tensor, lambda batch, _: stack(list(batch), 0)),
    (np.ndarray, _arrays),
    ((np.bool_, np.number), lambda batch, _: as_tensor(np.asarray(batch))),
    (float, lambda batch, _: tensor(list(batch), dtype=np.float64)),
    (int, lambda batch, _: tensor(list(batch))),
    ((str, bytes), lambda batch, _: batch),
    (Mapping, _mappings),
    (Sequence, _sequences),
]


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _mapping_like(model: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """A mapping with these items, of the same class if it can be made."""
    if type(model) is dict:
        return items
    try:
        if isinstance(model, MutableMapping):
            made = copy.copy(model)
            made.update(items)
            return made
        return type(model)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _sequence_like(model: Sequence[Any], items: list[Any]) -> Any:
    """A sequence with these items, of the same class if it can be made."""
    if type(model) is list:
        return items
    try:
        if isinstance(model, MutableSequence):
            made = copy.copy(model)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return type(model)(items)  # type: ignore[call-arg]
    except TypeError:
        return items
