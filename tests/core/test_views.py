"""Views and writes through them: random programs of both, the same on retrograd and on PyTorch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as rg

VIEWS: dict[str, Any] = {
    "slice": lambda t: t[0:1],
    "rest": lambda t: t[1:],
    "select": lambda t: t[0],
    "columns": lambda t: t[..., ::2],
    "transpose": lambda t: t.transpose(0, -1),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "view": lambda t: t.view(-1),
    "detach": lambda t: t.detach(),
}
RESULTS: dict[str, Any] = {
    "sin": lambda t, u: t.sin(),
    "add": lambda t, u: t + u,
    "mul": lambda t, u: t * u,
    "clone": lambda t, u: t.clone(),
    "reshape": lambda t, u: t.reshape(-1),
}
WRITES: dict[str, Any] = {
    "mul_": lambda t, u: t.mul_(u),
    "mul_ by a number": lambda t, u: t.mul_(0.5),
    "add_": lambda t, u: t.add_(u),
    "sin_": lambda t, u: t.sin_(),
    "exp_": lambda t, u: t.tanh_(),
    "zero_": lambda t, u: t.zero_(),
    "copy_": lambda t, u: t.copy_(u),
    "setitem": lambda t, u: t.__setitem__(0, u),
    "setitem of a number": lambda t, u: t.__setitem__((Ellipsis, 0), 0.25),
}


class Step(NamedTuple):
    kind: str
    name: str
    first: int
    second: int
    recorded: bool


def step_of(kind: str, table: dict[str, Any]) -> st.SearchStrategy[Step]:
    """Writes may also be made under no_grad."""
    place = st.integers(0, 12)
    recorded = st.sampled_from([True, True, False] if kind == "write" else [True])
    return st.builds(Step, st.just(kind), st.sampled_from(sorted(table)), place, place, recorded)


steps = st.one_of(step_of("view", VIEWS), step_of("result", RESULTS), step_of("write", WRITES))
programs = st.lists(steps, min_size=2, max_size=12)


def run(lib: Any, program: list[Step]) -> list[Any]:
    """What a user sees of the program: values, flags, versions, errors; last the derivatives."""
    values = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    leaf, other = (
        lib.tensor((values + k).tolist(), dtype=lib.float64, requires_grad=True) for k in (0.0, 0.3)
    )
    pool = [leaf * 1, other * 1, lib.tensor(values.tolist(), dtype=lib.float64)]
    seen: list[Any] = []
    for step in program:
        t, u = pool[step.first % len(pool)], pool[step.second % len(pool)]
        if step.kind == "write" and np.shares_memory(t.detach().numpy(), u.detach().numpy()):
            u = u.detach().clone()  # what a write into its own operand means is another subject
        try:
            with lib.set_grad_enabled(step.recorded):
                if step.kind == "view":
                    pool.append(VIEWS[step.name](t))
                elif step.kind == "result":
                    pool.append(RESULTS[step.name](t, u))
                else:
                    WRITES[step.name](t, u)
        except (RuntimeError, IndexError) as error:
            seen.append("RuntimeError" if isinstance(error, RuntimeError) else "IndexError")
        seen.append([described(t) for t in pool])
    return [*seen, derivatives(lib, pool, [leaf, other])]


def derivatives(lib: Any, pool: list[Any], leaves: list[Any]) -> list[Any]:
    """First and second derivatives of a function of all tensors, by the leaves."""
    try:
        total = sum(t.sin().sum() for t in pool)
        first = lib.autograd.grad(total, leaves, create_graph=True, materialize_grads=True)
        second = lib.autograd.grad(sum((f * f).sum() for f in first), leaves, materialize_grads=True)
    except RuntimeError:
        return ["RuntimeError"]
    return [[t.tolist() for t in first], [t.tolist() for t in second]]


def described(t: Any) -> Any:
    """A view that lost its place in the graph refuses to say where it is."""
    facts = [t.detach().tolist(), t._version, t._is_view()]
    try:
        return [*facts, t.is_leaf, t.requires_grad, None if t.grad_fn is None else t.grad_fn.name()]
    except RuntimeError:
        return [*facts, "RuntimeError"]


def flat(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from flat(v)
    else:
        yield value


@settings(max_examples=150)
@given(program=programs)
def test_programs_of_views_and_writes_do_what_they_do_in_pytorch(torch, program):
    theirs, ours = list(flat(run(torch, program))), list(flat(run(rg, program)))
    assert len(ours) == len(theirs)
    for found, wanted in zip(ours, theirs, strict=True):
        if isinstance(wanted, float):
            assert found == np.float64(wanted) or abs(found - wanted) < 1e-9 * max(1.0, abs(wanted))
        else:
            assert found == wanted
