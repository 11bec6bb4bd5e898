"""How many of the public names of torch.distributions are here: all of them."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from operator import attrgetter

import pytest

import retrograd as rg

SPACES = (
    "distributions",
    *(
        f"distributions.{name}"
        for name in ("constraints", "transforms", "kl", "utils", "constraint_registry")
    ),
)


def wanted(torch):
    return {f"{space}.{name}" for space in SPACES for name in attrgetter(space)(torch).__all__}


def there(name):
    space, _, short = name.rpartition(".")
    return hasattr(attrgetter(space)(rg), short)


def test_every_name_is_there(torch):
    names = wanted(torch)
    assert len(names) > 130
    assert sum(map(there, names)) / len(names) >= 0.98
    assert {name for name in names if not there(name)} == set()


def test_every_module_is_there(torch):
    modules = {m.name for m in pkgutil.iter_modules(torch.distributions.__path__)}
    for name in modules:
        ours = import_module(f"retrograd.distributions.{name}")
        theirs = import_module(f"torch.distributions.{name}")
        missing = {n for n in getattr(theirs, "__all__", ()) if not hasattr(ours, n)}
        assert missing == set(), name


def kinds(torch):
    for space in ("distributions", "distributions.transforms"):
        for name in attrgetter(space)(torch).__all__:
            theirs = getattr(attrgetter(space)(torch), name)
            if inspect.isclass(theirs):
                yield name, getattr(attrgetter(space)(rg), name), theirs


def test_classes_take_pytorchs_arguments(torch):
    for name, ours, theirs in kinds(torch):
        expected, found = (inspect.signature(kind.__init__).parameters for kind in (theirs, ours))
        assert list(found) == list(expected), name
        defaults = [[p.default is inspect.Parameter.empty for p in v.values()] for v in (found, expected)]
        assert defaults[0] == defaults[1], name


def test_classes_have_pytorchs_methods(torch):
    for name, ours, theirs in kinds(torch):
        missing = {n for n in dir(theirs) if not n.startswith("_") and not hasattr(ours, n)}
        if name in ("AbsTransform", "Transform") or name.endswith("Transform"):
            missing -= {"domain", "codomain"}
        assert missing == set(), name


def test_methods_take_pytorchs_arguments(torch):
    for name, ours, theirs in kinds(torch):
        for method, function in inspect.getmembers(theirs, inspect.isfunction):
            if not method.startswith("_"):
                expected, found = (
                    list(inspect.signature(f).parameters) for f in (function, getattr(ours, method))
                )
                assert found == expected, f"{name}.{method}"


def test_every_class_is_described():
    for name in rg.distributions.__all__:
        value = getattr(rg.distributions, name)
        if inspect.isclass(value):
            assert value.__doc__, name


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Binormal'"):
        rg.distributions.Binormal  # noqa: B018
