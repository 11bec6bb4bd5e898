"""Whole Jacobians and Hessians: jacrev row by row, jacfwd column by column, each in one batched pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.backends.base import backend_of
from retrograd.core.tensor import Tensor
from retrograd.core.tree import Form, flatten, unflatten
from retrograd.func.forward import jvp
from retrograd.func.grads import vjp
from retrograd.func.mapping import vmap
from retrograd.func.transform import Function, P, checked_argnums, picked, replaced, with_aux


def jacrev(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[P, Any]:
    """A function that computes the Jacobian of `func` in reverse mode: a backward for each element of the output.

    The result has the output's shape followed by the input's; for trees, a tree of the output's form with trees of the
    input's form for leaves. All rows are computed in one backward on a batch of gradients.

    Args:
        func: returns a Tensor, or a tree of them.
        argnums: the number of the argument to differentiate by, or a tuple of numbers.
        has_aux: `func` returns `(output, aux)`, and the result is `(jacobian, aux)`.
        chunk_size: how many rows to compute at a time; None computes all.

    >>> import retrograd as rg
    >>> rg.func.jacrev(lambda x: x ** 2)(rg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        _refuse_complex("jacrev", args, "inputs")
        checked_argnums(argnums, len(args))

        def of_chosen(*chosen: Any) -> Any:
            values = chosen if isinstance(argnums, tuple) else chosen[0]
            return func(*replaced(args, argnums, values), **kwargs)

        chosen = picked(args, argnums)
        primals = chosen if isinstance(argnums, tuple) else (chosen,)
        found = vjp(of_chosen, *primals, has_aux=has_aux)
        _refuse_complex("jacrev", found[0], "outputs")
        rows = _rows(found[0], found[1], primals, isinstance(argnums, tuple), chunk_size)
        return (rows, found[2]) if has_aux else rows

    return jacobian


def _refuse_complex(call: str, tree: Any, what: str) -> None:
    """Jacobians are of real functions."""
    for i, leaf in enumerate(flatten(tree)[0]):
        if isinstance(leaf, Tensor) and leaf.array.dtype.kind == "c":
            raise RuntimeError(
                f"{call}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}. Take "
                "real and imaginary parts apart with torch.view_as_real()."
            )


def _rows(output: Any, vjp_fn: Function, primals: Any, several: bool, chunk_size: int | None) -> Any:
    """The Jacobian of each output."""
    outputs, out_form = flatten(output)
    inputs, in_form = flatten(primals)
    seeds = [Tensor(s, share=True) for s in standard_basis(outputs)]
    pulled = vmap(_Pull(vjp_fn, out_form), chunk_size=chunk_size, randomness="same")(*seeds)
    columns = flatten(pulled)[0]
    trees, at = [], 0
    for out in outputs:
        size = out.numel()
        blocks = [
            c.narrow(0, at, size).reshape((*out.shape, *x.shape))
            for c, x in zip(columns, inputs, strict=True)
        ]
        tree = unflatten(blocks, in_form)
        trees.append(tree if several else tree[0])
        at += size
    return unflatten(trees, out_form)


class _Pull:
    """`vjp_fn` of the leaves of its cotangents."""

    def __init__(self, vjp_fn: Function, form: Form) -> None:
        self.vjp_fn = vjp_fn
        self.form = form

    def __call__(self, *seeds: Any) -> Any:
        return self.vjp_fn(unflatten(seeds, self.form))


def standard_basis(tensors: list[Any]) -> list[Any]:
    """For tensors that together have N elements, N directions: in each, one element is 1 and all others are 0."""
    total = sum(t.numel() for t in tensors)
    found, at = [], 0
    for t in tensors:
        size = t.numel()
        xp = backend_of(t.array).inner
        block = xp.zeros((total, size), t.dtype)
        block[at : at + size] = xp.eye(size, dtype=t.dtype)
        found.append(block.reshape((total, *t.shape)))
        at += size
    return found


def jacfwd(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[P, Any]:
    """A function that computes the Jacobian of `func` in forward mode: a pass for each element of the input.

    The result is that of `jacrev`. This one is faster where there are more outputs than inputs.

    Args:
        func: returns a Tensor, or a tree of them.
        argnums: the number of the argument to differentiate by, or a tuple of numbers.
        has_aux: `func` returns `(output, aux)`, and the result is `(jacobian, aux)`.
        randomness: see `vmap`.

    >>> import retrograd as rg
    >>> rg.func.jacfwd(lambda x: rg.stack([x.sum(), x.prod()]))(rg.tensor([2.0, 3.0]))
    tensor([[1., 1.],
            [3., 2.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        _refuse_complex("jacfwd", args, "inputs")
        checked_argnums(argnums, len(args))
        chosen = picked(args, argnums)
        inputs, in_form = flatten(chosen)
        kept: list[Any] = []

        def pushed(*directions: Any) -> Any:
            def of_chosen(*leaves: Any) -> Any:
                return func(*replaced(args, argnums, unflatten(leaves, in_form)), **kwargs)

            found = jvp(of_chosen, tuple(inputs), tuple(directions), has_aux=has_aux)
            leaves, form = flatten(found[0])
            kept[:] = [leaves, form]
            return (flatten(found[1])[0], found[2]) if has_aux else flatten(found[1])[0]

        _check_inputs(inputs)
        seeds = [Tensor(s, share=True) for s in standard_basis(inputs)]
        out_dims: Any = (-1, None) if has_aux else -1
        found = vmap(pushed, out_dims=out_dims, randomness=randomness)(*seeds)
        changes, aux = with_aux(found, has_aux, "jacfwd")
        _refuse_complex("jacfwd", changes, "outputs")
        result = _columns(changes, kept[1], inputs, in_form)
        return (result, aux) if has_aux else result

    return jacobian


def _check_inputs(inputs: list[Any]) -> None:
    for x in inputs:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected primals to only contain Tensors, got {type(x)}"
            )
        if x.array.dtype.kind not in "fc":
            raise ValueError(
                f"Expected primal to be floating point or complex, but got: torch.{x.array.dtype}. Convert it first: "
                "t.float()."
            )


def _columns(changes: list[Any], out_form: Form, inputs: list[Any], in_form: Form) -> Any:
    """The Jacobian of each output, from its changes along all directions, which lie along the last dimension."""
    trees = []
    for change in changes:
        blocks, at = [], 0
        for x in inputs:
            size = x.numel()
            block = change.narrow(-1, at, size)
            blocks.append(block.reshape((*change.shape[:-1], *x.shape)))
            at += size
        trees.append(unflatten(blocks, in_form))
    return unflatten(trees, out_form)


def hessian(func: Callable[P, Any], argnums: int | tuple[int, ...] = 0) -> Callable[P, Any]:
    """A function that computes the Hessian of `func`: forward mode over reverse mode.

    >>> import retrograd as rg
    >>> rg.func.hessian(lambda x: (x ** 3).sum())(rg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
