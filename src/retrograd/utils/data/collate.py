"""Samples become a batch: tensors are stacked, numbers become tensors, containers are gone through."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, TypeAlias

import numpy as np

from retrograd.core.tensor import Tensor
from retrograd.ops.shape.join import stack
from retrograd.ops.tensor.data import as_tensor, tensor

Rules: TypeAlias = dict[type | tuple[type, ...], Callable[..., Any]]

# Texts and objects, which are no numbers, as NumPy's `dtype.str` tells them; programs ask for it by this name.
np_str_obj_array_pattern = re.compile(r"[SaUO]")

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers, in containers of any depth, as tensors; everything else as it is.

    >>> import numpy as np
    >>> from retrograd.utils.data import default_convert
    >>> default_convert({"x": np.ones(2), "name": "a", "n": 3})
    {'x': tensor([1., 1.], dtype=torch.float64), 'name': 'a', 'n': 3}
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return data if np_str_obj_array_pattern.search(data.dtype.str) else as_tensor(data)
    return of_items(default_convert, data)


def pinned(data: Any) -> Any:
    """A batch whose tensors lie in memory that a GPU copies from quickly; objects may say how themselves."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    found = of_items(pinned, data)
    return data.pin_memory() if found is data and hasattr(data, "pin_memory") else found


def of_items(function: Callable[[Any], Any], data: Any) -> Any:
    """A container like `data` of what a function makes of its items; `data` itself if it is none."""
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: function(value) for key, value in data.items()})
    if _is_named_tuple(data):
        return type(data)(*(function(value) for value in data))
    if isinstance(data, tuple):
        return [function(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [function(value) for value in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """A list of samples as one batch, with a dimension more at the front.

    Tensors and arrays are stacked; numbers become a tensor; texts stay a list; of tuples, lists and dicts each item is
    collated for itself.

    >>> from retrograd.utils.data import default_collate
    >>> default_collate([{"x": 1.5, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1.5000, 2.0000], dtype=torch.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Any:
    """As `default_collate`, by other rules: a function for each class, called with the samples and all rules.

    >>> rules = {str: lambda batch, *, collate_fn_map: " ".join(batch)}
    >>> collate([(1, "a"), (2, "b")], collate_fn_map={**default_collate_fn_map, **rules})
    [tensor([1, 2]), 'a b']
    """
    first = batch[0]
    rules: Rules = collate_fn_map or {}
    rule = rules.get(type(first))
    if rule is None:  # the first one whose class the first sample is
        rule = next((found for kind, found in rules.items() if isinstance(first, kind)), None)
    if rule is not None:
        return rule(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        items = {key: [sample[key] for sample in batch] for key in first}
        return _mapping_like(first, {k: collate(v, collate_fn_map=collate_fn_map) for k, v in items.items()})
    if isinstance(first, Sequence):
        return _sequences(batch, first, collate_fn_map)
    raise TypeError(
        f"{default_collate_err_msg_format.format(type(first))}. Give the DataLoader a collate_fn of your own."
    )


def _sequences(batch: Sequence[Any], first: Sequence[Any], rules: Rules | None) -> Any:
    if not _is_named_tuple(first) and any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [collate(column, collate_fn_map=rules) for column in zip(*batch, strict=False)]
    if _is_named_tuple(first):
        return type(first)(*columns)
    return columns if isinstance(first, tuple) else _sequence_like(first, columns)


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Tensor:
    """Tensors are stacked."""
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Tensor:
    """Arrays are stacked; those of texts and objects are refused."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return stack([as_tensor(array) for array in batch], 0)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Tensor:
    """NumPy's numbers become a tensor of their dtype."""
    return as_tensor(np.asarray(batch))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Tensor:
    """Python's floats become a tensor of float64."""
    return tensor(list(batch), dtype=np.float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Tensor:
    """Whole numbers and truth values become a tensor."""
    return tensor(list(batch))


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Sequence[Any]:
    """Texts stay what they are."""
    return batch


# How samples of a class are collated; programs add classes of their own.
default_collate_fn_map: Rules = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


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
