"""What modules say about how their parameters are made."""

from __future__ import annotations

from typing import Any

_KEYS = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The options for making tensors, from keyword arguments that may have some of them in `factory_kwargs`.

    >>> factory_kwargs({"factory_kwargs": {"dtype": "float64"}, "device": "cpu"})
    {'dtype': 'float64', 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    unknown = set(kwargs) - {*_KEYS, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for key in _KEYS:
        if key in kwargs:
            if key in found:
                raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
            found[key] = kwargs[key]
    return found
