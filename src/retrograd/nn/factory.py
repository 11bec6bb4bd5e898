"""`factory_kwargs`: what a module hands on to those that make its parameters."""

from __future__ import annotations

from typing import Any


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments `device`, `dtype` and `memory_format` out of those that a module got, and of its `factory_kwargs`.

    >>> factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": "float32"}})
    {'dtype': 'float32', 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    names = {"device", "dtype", "memory_format"}
    if not set(kwargs) <= names | {"factory_kwargs"}:
        raise TypeError(f"unexpected kwargs {set(kwargs) - names - {'factory_kwargs'}}")
    found = dict(kwargs.get("factory_kwargs", {}))
    if not set(found) <= names:
        raise TypeError(f"unexpected kwargs {set(found) - names}")
    for name in names & set(kwargs):
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
    return {
        **found,
        **{name: kwargs[name] for name in ("device", "dtype", "memory_format") if name in kwargs},
    }
