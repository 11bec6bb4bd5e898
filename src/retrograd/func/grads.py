"""Gradients of functions: grad, grad_and_value, vjp.

Note [Transforms without levels]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A transform differentiates by tensors of its own: the argument itself, as a fresh leaf, or as a view if the argument is
part of a graph outside. So each nested transform finds its own gradients, and what it returns is part of the graphs
around it. Its backward is recorded only if there is such a graph: if an argument has one, or if a tensor from outside
that requires a gradient takes part. A leaf of a transform inside, whose function has returned, is none: nobody can
differentiate by it any more. Inside a vmap each sample has a fresh tensor: see Note [Levels in a graph].
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.backward import grad as autograd_grad
from retrograd.autograd.modes import enable_grad
from retrograd.backends.base import backend_of
from retrograd.backends.dtypes import is_differentiable
from retrograd.core.accumulate import AccumulateGrad, edge_of, grad_accumulator
from retrograd.core.hooks import Differentiation
from retrograd.core.modes import current
from retrograd.core.node import Node
from retrograd.core.switches import differentiating
from retrograd.core.tangent import hand_tangents
from retrograd.core.tensor import Tensor
from retrograd.core.tree import Form, flatten, tree_map, unflatten
from retrograd.func.levels import own_of_each
from retrograd.func.transform import (
    Function,
    P,
    R,
    checked_argnums,
    picked,
    replaced,
    require_tensors,
    with_aux,
)
from retrograd.ops.tensor.create import zeros_like

# -- arguments to differentiate by ---------------------------------------------------------------------------------


def fresh(x: Any) -> Any:
    """A tensor of the transform's own, in the place of an argument. See Note [Transforms without levels]."""
    if not isinstance(x, Tensor):
        raise ValueError(
            f"Thing passed to transform API must be Tensor, got {type(x)}. Make it one with torch.tensor(), or leave "
            "it out of argnums."
        )
    if x.requires_grad:
        own = own_of_each(x)
        return own if own is not x else x.view_as(x)
    leaf: Any = Tensor(x.array, share=True) if x.is_inference() else x.detach()
    leaf._lost = None
    hand_tangents(x, leaf)
    leaf = own_of_each(leaf)
    leaf._set_requires_grad(True)
    return leaf


def end(leaves: Sequence[Any]) -> None:
    """Notes that nobody outside differentiates by a transform's own tensors any more."""
    for x in leaves:
        node = edge_of(x).function
        if isinstance(node, AccumulateGrad):
            node.ended = True


def reaches_others(outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Whether a graph leads to anything that requires a gradient besides `inputs`."""
    own = {edge_of(x).function for x in inputs}
    waiting: list[Node] = [
        o.grad_fn or grad_accumulator(o) for o in outputs if isinstance(o, Tensor) and o.requires_grad
    ]
    seen: set[Node] = set(waiting)
    while waiting:
        node = waiting.pop()
        if node in own or (isinstance(node, AccumulateGrad) and node.ended):
            continue
        if node.edge_count == 0:
            return True
        for succ in node.successors():
            if succ not in seen:
                seen.add(succ)
                waiting.append(succ)
    return False


class RecordedCall:
    """A function called on fresh tensors, under grad mode: its results, and whether somebody outside may want more."""

    def __init__(
        self, call: str, func: Function, args: Any, argnums: Any, kwargs: dict[str, Any], has_aux: bool
    ) -> None:
        state = current()
        self.outside: bool = state.grad_enabled  # whether what comes of this is recorded around it
        chosen = args if argnums is None else picked(args, argnums)
        self.form: Form
        self.output: Any
        self.aux: Any
        given, self.form = flatten(chosen)
        self.own = Differentiation(state.sequence_nr)
        outer, state.differentiation = state.differentiation, self.own
        try:
            with differentiating(), enable_grad():
                self.inputs: list[Any] = [fresh(x) for x in given]
                self.own.inputs = self.inputs
                mine = unflatten(self.inputs, self.form)
                every = mine if argnums is None else replaced(args, argnums, mine)
                self.output, self.aux = with_aux(func(*every, **kwargs), has_aux, call)
        finally:
            state.differentiation, self.own.active, self.own.inputs = outer, False, []
        end(self.inputs)
        self.attached: bool = self.outside and any(x.requires_grad for x in given)

    def recorded(self, outputs: Sequence[Any]) -> bool:
        """Whether the derivatives of `outputs` are part of a graph outside."""
        return self.outside and (self.attached or reaches_others(outputs, self.inputs))

    def gradients(
        self, outputs: Sequence[Any], seeds: Sequence[Any], retain: bool, create: bool
    ) -> list[Any]:
        """The gradients of outputs by the inputs. The function's own hooks are called: Note [Hooks of a transform]."""
        self.own.active = True
        try:
            return gradients(outputs, self.inputs, seeds, retain, create)
        finally:
            self.own.active = False

    def released(self, tree: Any) -> Any:
        """Results as the caller gets them: without the transform's own graph."""
        return tree_map(self._released, tree)

    def _released(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.requires_grad or self.recorded([value]):
            return value
        apart = value.detach()
        hand_tangents(value, apart)
        return apart


def gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], seeds: Sequence[Any], retain: bool, create: bool
) -> list[Any]:
    """The gradients of some outputs, zeros where there are none."""
    pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
    if not pairs or not inputs:
        return [own_of_each(zeros_like(x.detach())) for x in inputs]
    found = autograd_grad(
        [o for o, _ in pairs],
        inputs,
        [s for _, s in pairs],
        retain_graph=retain,
        create_graph=create,
        allow_unused=True,
    )
    # Each sample has a gradient of its own, which may be written, though all may be the same.
    return [
        own_of_each(zeros_like(x.detach()) if g is None else g) for g, x in zip(found, inputs, strict=True)
    ]


# -- grad ----------------------------------------------------------------------------------------------------------


def grad(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[P, Any]:
    """A function that computes the gradient of `func`, which returns a single number.

    Args:
        func: returns a Tensor of no dimensions; with `has_aux`, a tuple of it and anything else.
        argnums: the number of the argument to differentiate by, or a tuple of numbers. Arguments may be nested tuples,
            lists and dicts of tensors; gradients are nested likewise.
        has_aux: return `(gradient, anything else)`.

    >>> import retrograd as rg
    >>> rg.func.grad(lambda x: x ** 3)(rg.tensor(2.0))
    tensor(12.)
    >>> rg.func.grad(rg.func.grad(lambda x: x ** 3))(rg.tensor(2.0))
    tensor(12.)
    """

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(
    func: Callable[P, R], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[P, tuple[Any, R]]:
    """A function that computes the gradient of `func`, and what `func` returns: `(gradient, value)`.

    With `has_aux` the value is a tuple, `(value, anything else)`; for the rest see `grad`.

    >>> import retrograd as rg
    >>> rg.func.grad_and_value(lambda x: (x * x).sum())(rg.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return gradient_and_value


def _grad_and_value(
    func: Function, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    call = "grad_and_value(f)(*args)"
    checked_argnums(argnums, len(args))
    run = RecordedCall(call, func, args, argnums, kwargs, has_aux)
    output = run.output
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.ndim:
        raise RuntimeError(
            f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe you "
            "wanted to use the vjp or jacrev APIs instead? A gradient is of one number: reduce it, with .sum() or "
            ".mean()."
        )
    if output.requires_grad and output.array.dtype.kind != "f":
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got torch.{output.array.dtype}"
        )
    create = run.recorded([output])
    found = run.gradients(
        [output],
        [Tensor(backend_of(output.array).inner.ones((), output.array.dtype), share=True)],
        create,
        create,
    )
    value = run.released(output)
    if has_aux:
        aux_leaves = flatten(run.aux)[0]
        require_tensors(
            aux_leaves, "Expected tensors, got unsupported type {}: what is beside the output must be, too."
        )
        value = (value, run.released(run.aux))
    return unflatten(found, run.form), value


# -- vjp -----------------------------------------------------------------------------------------------------------


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """What `func` returns, and a function that multiplies its Jacobian from the left: `(output, vjp_fn)`.

    `vjp_fn(cotangents)` gives a tuple with the product for each primal. It may be called many times, and inside other
    transforms. With `has_aux`, `func` returns `(output, aux)` and the result is `(output, vjp_fn, aux)`.

    >>> import retrograd as rg
    >>> output, vjp_fn = rg.func.vjp(lambda x, y: x * y, rg.tensor(2.0), rg.tensor(3.0))
    >>> output, vjp_fn(rg.tensor(1.0))
    (tensor(6.), (tensor(3.), tensor(2.)))
    """
    call = "vjp(f, *primals)"
    run = RecordedCall(call, func, primals, None, {}, has_aux)
    leaves, form = flatten(run.output)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(
            f"{call}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    require_tensors(leaves, call + ": expected f(*primals) to return only tensors, got unsupported type {}")
    _check_differentiable(leaves)
    recorded, in_form = run.recorded(leaves), run.form

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, seed_form = flatten(cotangents)
        if seed_form != form:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {seed_form}, primal output: {form}"
            )
        if create_graph is None:
            create_graph = current().grad_enabled
        # Without this the products would have a history that ends in here.
        wanted = recorded or any(isinstance(s, Tensor) and s.requires_grad for s in seeds)
        return unflatten(run.gradients(leaves, seeds, retain_graph, create_graph and wanted), in_form)

    output = run.released(run.output)
    if not has_aux:
        return output, vjp_fn
    require_tensors(
        flatten(run.aux)[0],
        "Expected tensors, got unsupported type {}: what is beside the output must be, too.",
    )
    return output, vjp_fn, run.released(run.aux)


def _check_differentiable(outputs: list[Tensor]) -> None:
    """A product with the Jacobian is of outputs that have one."""
    for out in outputs:
        if not is_differentiable(out.array.dtype):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"torch.{out.array.dtype}. Return it beside the others, with has_aux=True, or convert it: t.float()."
            )
