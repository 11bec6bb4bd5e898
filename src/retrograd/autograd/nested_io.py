"""Tensors inside lists, tuples and dicts: found, replaced, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.errors import check_depth


def _refused(value: Any) -> ValueError:
    return ValueError(
        f"Auto nesting doesn't know how to process an input object of type {type(value).__name__}. Accepted types: "
        "Tensors, or lists/tuples of them"
    )


def iter_tensors(nested: Any, depth: int = 0) -> Iterator[Tensor]:
    """The tensors of a nested structure, in order; None is passed over."""
    check_depth(depth)
    if isinstance(nested, Tensor):
        yield nested
    elif isinstance(nested, (list, tuple)):
        for item in nested:
            yield from iter_tensors(item, depth + 1)
    elif isinstance(nested, dict):
        for item in nested.values():
            yield from iter_tensors(item, depth + 1)
    elif nested is not None:
        raise _refused(nested)


def form_of(nested: Any) -> Any:
    """The structure without its tensors: each is replaced by True."""
    if isinstance(nested, Tensor):
        return True
    if isinstance(nested, (list, tuple)):
        return type(nested)(form_of(item) for item in nested)
    if isinstance(nested, dict):
        return {key: form_of(item) for key, item in nested.items()}
    if nested is None:
        return None
    raise _refused(nested)


def flattened_like(nested: Any, form: Any) -> Iterator[Any]:
    """What `nested` has at the places of the tensors of `form`; None where it has None for a whole part."""
    if isinstance(form, (list, tuple, dict)):
        parts = list(form.values() if isinstance(form, dict) else form)
        given = (
            [None] * len(parts) if nested is None else nested.values() if isinstance(nested, dict) else nested
        )
        for item, part in zip(given, parts, strict=False):
            yield from flattened_like(item, part)
    elif form is not None:
        yield nested


def unflatten(flat: Sequence[Any], form: Any) -> Any:
    """The structure `form` with its places filled from `flat`, in order."""
    return _filled(iter(flat), form)


def _filled(values: Iterator[Any], form: Any) -> Any:
    if form is None:
        return None
    if isinstance(form, (list, tuple)):
        return type(form)(_filled(values, item) for item in form)
    if isinstance(form, dict):
        return {key: _filled(values, item) for key, item in form.items()}
    return next(values)
