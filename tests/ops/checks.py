"""How a row is run and differentiated, and the numbers it is compared with.

Everything is about the real function  h(x) = Re <g, f(x)>  with  <a,
b> = sum(conj(a) * b).  A gradient is right when
d h = Re <gradient, d x>  for real and complex x alike: that is PyTorch's convention.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import retrograd as rg
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.op import Binary, Op, Unary, Variadic
from tests.ops.case import Case
from tests.ops.samples import Array, Sample

STEP = 1e-6
CLOSE = {"rtol": 2e-6, "atol": 2e-7}


@contextlib.contextmanager
def about(case: Case, sample: Sample, dtype: str = "") -> Iterator[None]:
    """Says in a failure which sample it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in row {case}, sample {sample} {dtype}")
        raise


def leaves(arrays: Sequence[Array]) -> list[rg.Tensor]:
    return [rg.Tensor(a, share=True).requires_grad_() for a in arrays]


def results(value: Any) -> list[rg.Tensor]:
    """All tensors a function returned."""
    return [value] if isinstance(value, rg.Tensor) else [t for t in value if isinstance(t, rg.Tensor)]


def differentiable(value: Any) -> list[rg.Tensor]:
    """Those of them that can have a gradient."""
    return [t for t in results(value) if t.dtype.kind in "fc"]


def some(arrays: Sequence[Array], seed: int) -> list[Array]:
    """Fixed numbers of order 1 in the shapes and dtypes of `arrays`."""
    rng = np.random.default_rng(seed)
    made = []
    for a in arrays:
        v = rng.uniform(0.5, 1.5, a.shape) * rng.choice([-1.0, 1.0], a.shape)
        if a.dtype.kind == "c":
            v = v + 1j * rng.uniform(-1.0, 1.0, a.shape)
        made.append(np.asarray(v).astype(a.dtype))
    return made


def inner(a: Sequence[Array], b: Sequence[Array]) -> float:
    """Re <a, b>."""
    return float(sum(np.sum(np.conj(x) * y).real for x, y in zip(a, b, strict=True)))


# -- the op, and its derivatives as the library gives them -----------------------------------------


def forward(case: Case, sample: Sample, arrays: Sequence[Array]) -> list[Array]:
    """The differentiable results, as arrays."""
    with rg.no_grad():
        return [t.array for t in differentiable(case.run(sample, [rg.Tensor(a, share=True) for a in arrays]))]


def gradients(
    case: Case, sample: Sample, arrays: Sequence[Array], gs: Sequence[Array], create_graph: bool = False
) -> list[Array]:
    """The gradient of h for each input; zeros where an output does not depend on it."""
    xs = leaves(arrays)
    outs = differentiable(case.run(sample, xs))
    found = rg.autograd.grad(
        outs,
        xs,
        [rg.Tensor(g, share=True) for g in gs],
        create_graph=create_graph,
        allow_unused=True,
        materialize_grads=True,
    )
    return [f.array for f in found]


# -- the same by central differences ---------------------------------------------------------------


def numeric_gradients(h: Callable[[list[Array]], float], arrays: Sequence[Array]) -> list[Array]:
    """The gradient of a real function of arrays, an element (and its imaginary part) at a time."""
    found = []
    for i, array in enumerate(arrays):
        gradient = np.zeros(array.shape, array.dtype)
        for index in np.ndindex(array.shape):
            for unit in (1, 1j) if array.dtype.kind == "c" else (1,):
                ends = []
                for step in (STEP, -STEP):
                    moved = [np.array(a) for a in arrays]
                    moved[i][index] += step * unit
                    ends.append(h(moved))
                gradient[index] += unit * (ends[0] - ends[1]) / (2 * STEP)
        found.append(gradient)
    return found


def numeric_tangent(
    f: Callable[[list[Array]], list[Array]], arrays: Sequence[Array], ts: Sequence[Array]
) -> list[Array]:
    """The directional derivative of `f` along `ts`."""
    ends = [f([np.asarray(a + s * t) for a, t in zip(arrays, ts, strict=True)]) for s in (STEP, -STEP)]
    return [(a - b) / (2 * STEP) for a, b in zip(*ends, strict=True)]


# -- forward mode: the formula of a single node ----------------------------------------------------


def only_node(outs: Sequence[rg.Tensor], xs: Sequence[rg.Tensor]) -> Op | None:
    """The node that computed all outputs directly from the inputs, if there is one."""
    node = outs[0].grad_fn
    if not isinstance(node, Op) or any(o.grad_fn is not node for o in outs):
        return None
    direct = all(isinstance(n, AccumulateGrad) for n in node.successors())
    return node if direct else None


def tangents(node: Op, xs: Sequence[rg.Tensor], ts: Sequence[Array], outs: Sequence[Array]) -> list[Array]:
    """What the node's forward-mode formula makes of the inputs' tangents."""
    given: list[Any] = []
    values: list[Any] = []
    for i, edge in enumerate(node.next_edges()):
        leaf = edge.function.variable if isinstance(edge.function, AccumulateGrad) else None
        place = next((j for j, x in enumerate(xs) if x is leaf), None)
        given.append(None if place is None else ts[place])
        values.append(saved(node, i) if place is None else xs[place].array)
    if isinstance(node, Variadic) and node.xs is not None:
        # Constant inputs may come without an edge.
        values += node.xs[len(values) :]
        given += [None] * (len(values) - len(given))
    if isinstance(node, Unary):
        return [np.asarray(node.jvp(given[0], values[0], outs[0]))]
    if isinstance(node, Binary):
        return [np.asarray(node.jvp(*given, *values, outs[0]))]
    assert isinstance(node, Variadic)
    found = node.jvp(given, values, outs)
    found = found if isinstance(found, (tuple, list)) else (found,)
    return [np.asarray(t) for t in found if t is not None]  # indices have no tangent


def saved(node: Op, i: int) -> Any:
    """What the node kept of an operand that has no gradient: a number, or an array."""
    if isinstance(node, Variadic):
        return None if node.xs is None else node.xs[i]
    return (node.x, getattr(node, "y", None))[i]


# -- graphs ----------------------------------------------------------------------------------------


def nodes_of(tensors: Sequence[rg.Tensor]) -> set[Any]:
    """Every node behind these tensors."""
    seen: set[Any] = set()
    waiting = [t.grad_fn for t in tensors if t.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(node.successors())
    return seen
