"""Per-sample gradients: those of each sample's own loss, from code for one sample, at the price of one backward.

Note [Parameters of each sample]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A parameter that all samples share gets the sum of their gradients (Note [Levels in a graph]). Here each sample is to
have its own, of parameters that the loss function reaches by itself, as attributes of a model or as globals. So for the
time of the call each parameter's array is one of the batch's level, the same for all samples: it costs no memory,
nothing is computed twice, and every gradient that arrives has all samples in it. A hook takes each away as soon as it
is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.autograd.backward import grad as autograd_grad
from retrograd.autograd.modes import enable_grad
from retrograd.backends.batch.array import BatchedArray, Level, unpacked
from retrograd.backends.casts import maker_of
from retrograd.core.modes import current
from retrograd.core.switches import differentiating, transforming
from retrograd.core.tensor import Tensor
from retrograd.core.tree import Form, children_of, flatten, unflatten
from retrograd.func.levels import left, unshare
from retrograd.func.mapping import Batch
from retrograd.func.own import OwnOfEach, check_paths
from retrograd.func.transform import Function, name_of
from retrograd.ops.shape.join import cat

Each = Callable[[Any, Tensor], None]


def per_sample_grads(
    loss_fn: Function,
    params: Any,
    *args: Any,
    in_dims: Any = 0,
    each: Each | None = None,
    as_batch: bool = False,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Any:
    """The gradients of each sample's loss: what a loop of backwards over the samples gives, in one.

    Args:
        loss_fn: called as `loss_fn(*args)` on one sample; it returns its loss, a single number. It uses the parameters
            as any code does, by name or through a model.
        params: the parameters: tensors that require a gradient, in a list, a tuple or a dict.
        args: the batch: tensors whose samples lie along a dimension.
        in_dims: which dimension that is, as in `vmap`; None for an argument that all samples share.
        each: called as `each(key, grads)` as soon as the gradients of a parameter are complete, with its key in
            `params` (its number, if that is no dict). Then nothing is returned, and only one parameter's gradients are
            in memory at a time.
        as_batch: give the function each sample as a batch of one, for code that is written for batches.
        randomness: see `vmap`; "different" draws another dropout mask for each sample.
        chunk_size: how many samples to take at a time; `each` is then called once for each chunk.

    Returns
    -------
        The gradients in the form of `params`, each with one more dimension in front, the samples.

    >>> import retrograd as rg
    >>> w = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> x, y = rg.tensor([[1.0, 0.0], [0.0, 1.0]]), rg.tensor([0.0, 0.0])
    >>> rg.func.per_sample_grads(lambda x, y: (w @ x - y) ** 2, {"w": w}, x, y)
    {'w': tensor([[2., 0.],
            [0., 4.]])}
    """
    batch = Batch(loss_fn, in_dims, args)
    leaves, form = flatten(params)
    _check_params(leaves)
    keys = _keys(params, form)
    size = chunk_size or max(batch.size, 1)
    chunks = []
    for start in range(0, max(batch.size, 1), size):
        stop = min(start + size, batch.size)
        part = batch.leaves if stop - start == batch.size else batch.part(start, stop)
        run = _Run(loss_fn, batch, part, Level(stop - start, randomness), as_batch)
        chunks.append(run.gradients(leaves, keys, each))
    if each is not None:
        return None
    joined = [column[0] if len(column) == 1 else cat(list(column), 0) for column in zip(*chunks, strict=True)]
    return unflatten(joined, form)


def _check_params(params: Sequence[Any]) -> None:
    """Parameters are leaves that require a gradient."""
    for i, p in enumerate(params):
        if not isinstance(p, Tensor):
            raise TypeError(f"per_sample_grads: parameter {i} must be a Tensor, not {type(p).__name__}")
        node = p.grad_fn
        if not p.requires_grad or node is not None:
            what = "does not require a gradient" if node is None else f"was computed, by {node.name()}"
            raise ValueError(
                f"per_sample_grads: parameter {i}, of shape {list(p.shape)}, {what}. Give the leaves that the loss is "
                "to be differentiated by, with requires_grad=True."
            )


def _keys(params: Any, form: Form) -> list[Any]:
    """What `each` is told about each parameter: its key in a dict, else its number."""
    found = children_of(params)
    if isinstance(params, dict) and found is not None and form.count == len(found[1]):
        return list(params)
    return list(range(form.count))


class _Run:
    """One chunk of the batch."""

    def __init__(
        self, loss_fn: Function, batch: Batch, leaves: list[Any], level: Level, as_batch: bool
    ) -> None:
        self.loss_fn = loss_fn
        self.batch = batch
        self.leaves = leaves
        self.level = level
        self.as_batch = as_batch

    def gradients(self, params: list[Any], keys: list[Any], each: Each | None) -> list[Any]:
        """The gradients of all parameters; with `each`, nothing that has memory."""
        with OwnOfEach(params, self.level):
            losses = self._losses()
            check_paths(losses, params, self.level)
            handles = (
                []
                if each is None
                else [
                    p.register_hook(_Stream(each, key, self.level))
                    for p, key in zip(params, keys, strict=True)
                ]
            )
            try:
                found = self._backward(losses, params)
            finally:
                for handle in handles:
                    handle.remove()
        if each is not None:
            return []
        return [Tensor(unpacked(g.array, self.level), share=True) for g in found]

    def _losses(self) -> Any:
        """What the loss function returns: a number for each sample."""
        state = current()
        outer = state.batch_levels
        given = self.batch.entered(self.leaves, self.level)
        if self.as_batch:
            given = [x if d is None else x.unsqueeze(d) for x, d in zip(given, self.batch.dims, strict=True)]
        args = unflatten(given, self.batch.form)
        state.batch_levels = (*outer, self.level)
        try:
            with transforming(), differentiating(), enable_grad():
                loss = self.loss_fn(*args)
        finally:
            state.batch_levels = outer
            unshare(self.level)
        name = name_of(self.loss_fn)
        if not isinstance(loss, Tensor):
            raise TypeError(f"per_sample_grads: {name}() must return a Tensor, not {type(loss).__name__}")
        if loss.numel() != 1:
            raise ValueError(
                f"per_sample_grads: {name}() must return a single number for one sample, but returned a tensor of "
                f"shape {list(loss.shape)}. Reduce it, with .sum() or .mean(); for code that is written for batches, "
                "pass as_batch=True."
            )
        return loss

    def _backward(self, loss: Any, params: list[Any]) -> list[Any]:
        """One backward for all samples."""
        if not loss.requires_grad:
            found: Sequence[Any] = (None,) * len(params)
        else:
            seed = Tensor(maker_of(loss.array.dtype).ones(loss.array.shape, loss.array.dtype), share=True)
            found = autograd_grad(loss, params, seed, allow_unused=True)
        return [
            Tensor(np.zeros_like(p.array), share=True) if g is None else g
            for g, p in zip(found, params, strict=True)
        ]


class _Stream:
    """A hook that hands the gradients of one parameter over, and lets go of them."""

    def __init__(self, each: Each, key: Any, level: Level) -> None:
        self.each = each
        self.key = key
        self.level = level

    def __call__(self, g: Any) -> Any:
        kind, shape = g.array.dtype, tuple(g.array.shape)
        self.each(self.key, left(g, 0, self.level))
        # What stands for them has the shape, and the memory of one number; read-only, the engine would copy it.
        nothing = np.lib.stride_tricks.as_strided(np.zeros((), kind), (1, *shape), (0,) * (1 + len(shape)))
        return Tensor(BatchedArray(nothing, self.level), share=True)
