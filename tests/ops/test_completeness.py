"""The op table is complete: every operation has a row, every row is real, every exception has a reason."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import retrograd as rg
import retrograd.ops
from retrograd.backends.base import is_array
from retrograd.core.op import Binary, Op, Unary, Variadic
from retrograd.ops.register import DECLARED
from tests.ops.case import EXCUSES, Case, find
from tests.ops.cases import CASES
from tests.ops.checks import differentiable, leaves, nodes_of
from tests.ops.exempt import EXEMPT_FUNCTIONS, EXEMPT_OPS

every_row = pytest.mark.parametrize("case", CASES, ids=str)
for found in pkgutil.walk_packages(retrograd.ops.__path__, "retrograd.ops."):
    importlib.import_module(found.name)


# -- rows ------------------------------------------------------------------------------------------


@every_row
def test_the_function_of_a_row_exists(case):
    assert find(case.name) is not None


def test_each_row_is_written_once():
    names = [str(case) for case in CASES]
    assert sorted(names) == sorted(set(names))


@every_row
def test_every_excuse_is_known_and_has_a_reason(case):
    assert case.excuses.keys() <= EXCUSES.keys()
    assert all(case.excuses.values())
    assert (case.numpy is None) == ("numpy" in case.excuses)
    assert case.samples


# -- op classes ------------------------------------------------------------------------------------


def concrete_ops() -> Iterator[type[Op]]:
    """Every differentiable op class of the library that can be applied."""
    waiting: list[type[Op]] = [Op]
    while waiting:
        cls = waiting.pop()
        waiting.extend(cls.__subclasses__())
        own = getattr(cls, "forward", None) not in (None, Unary.forward, Binary.forward, Variadic.forward)
        if own and cls.differentiable and cls.__module__.startswith("retrograd.ops.") and not abstract(cls):
            yield cls


def abstract(cls: type[Op]) -> bool:
    """Whether a class only serves as a base: it has subclasses and no row makes a node of it."""
    return bool(cls.__subclasses__()) and cls.__dict__.get("node_name", "") == "" and cls not in exercised()


@cache
def exercised() -> frozenset[type]:
    """The classes of all nodes that the table's forward and recorded backward passes make."""
    return frozenset(type(node) for node in made())


@cache
def made() -> list[Any]:
    """One node or more of each class."""
    seen: list[Any] = []
    for case in CASES:
        for sample in case.samples:
            for dtype in case.dtypes:
                with contextlib.suppress(Exception):  # a row that fails says so elsewhere
                    seen += nodes_of(with_gradients(case, case.arrays(sample, dtype), sample))
    return seen


def with_gradients(case: Case, arrays: Any, sample: Any) -> list[Any]:
    """The results of a call, their recorded gradients, and the gradients of those."""
    wanted, level = leaves(arrays), []
    outs = [o for o in differentiable(case.run(sample, wanted)) if o.requires_grad]
    while outs and len(level) < 3:
        level.append(outs)
        gs = leaves([o.detach().array for o in outs])
        found = rg.autograd.grad(outs, wanted, gs, create_graph=True, allow_unused=True)
        outs = [f for f in found if f is not None and f.requires_grad]
        wanted = [*wanted, *gs]
    return [t for outs in level for t in outs]


def test_parameters_that_hold_arrays_are_declared():
    """Under vmap they may stand for all samples, so the backend is chosen by them too."""
    wrong = {
        f"{op_name(type(node))}({name})"
        for node in made()
        for name in set(getattr(node, "params", ())) - set(getattr(node, "array_params", ()))
        if holds_array(getattr(node, name))
    }
    assert not wrong, f"not in array_params: {', '.join(sorted(wrong))}"


def holds_array(value: Any) -> bool:
    return is_array(value) or (isinstance(value, tuple | list) and any(holds_array(v) for v in value))


def test_every_op_is_exercised_by_a_row():
    missing = {op_name(c) for c in concrete_ops() if c not in exercised()}
    unexplained = sorted(missing - EXEMPT_OPS.keys())
    assert not unexplained, f"no row of tests/ops/cases.py makes these nodes: {', '.join(unexplained)}"
    needless = sorted(EXEMPT_OPS.keys() - missing)
    assert not needless, f"these have rows and need no exemption: {', '.join(needless)}"


def op_name(cls: type) -> str:
    source = vars(cls).get("same_as", cls)
    name = cls.__qualname__ if source is cls else vars(cls)["node_name"]
    return f"{source.__module__.removeprefix('retrograd.ops.')}.{name}"


# -- functions -------------------------------------------------------------------------------------


def last(path: str) -> str:
    return path.rpartition(".")[2]


ROWS = {last(case.name) for case in CASES}


def public_functions() -> dict[str, Any]:
    """What the op modules offer, by the path under which the table would name it."""
    # A method that is a function too goes by the function's name.
    return {
        name: form
        for name, form in DECLARED.items()
        if not (name.startswith("Tensor.") and DECLARED.get(last(name)) is form)
    }


def test_every_public_function_has_a_row():
    functions = public_functions()
    tested = {id(f) for name, f in functions.items() if last(name) in ROWS}
    missing = {n for n, f in functions.items() if id(f) not in tested}
    # An in-place form is tested with the row of its function; see test_in_place.py.
    missing -= {n for n in missing if n.endswith("_") and covered(last(n)[:-1], functions, tested)}
    unexplained = sorted(missing - EXEMPT_FUNCTIONS.keys())
    assert not unexplained, (
        f"no row in tests/ops/cases.py, and no reason in exempt.py: {', '.join(unexplained)}"
    )


def covered(name: str, functions: dict[str, Any], tested: set[int]) -> bool:
    return name in ROWS or name in EXEMPT_FUNCTIONS or id(functions.get(name)) in tested


def test_every_exemption_is_needed_and_has_a_reason():
    functions = public_functions()
    for name, reason in EXEMPT_FUNCTIONS.items():
        assert reason
        assert last(name) not in ROWS, f"{name} has a row and needs no exemption"
        assert name in functions, f"{name} is no function of the library: remove its exemption"
