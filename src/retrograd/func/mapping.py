"""vmap: a function of one sample becomes a function of a batch. See Note [Batched arrays]."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.backends.batch.array import Level, levels_of
from retrograd.core.modes import current
from retrograd.core.switches import transforming
from retrograd.core.tensor import Tensor
from retrograd.core.tree import Form, flatten, spread_over, unflatten
from retrograd.func.levels import entered, left, unshare, written
from retrograd.func.transform import Function, P, R, name_of
from retrograd.ops.common import wrap_dim
from retrograd.ops.random.generator import get_rng_state, set_rng_state
from retrograd.ops.shape.join import cat

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[P, R],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[P, R]:
    """A function that does for all samples of a batch, at once, what `func` does for one.

    Args:
        func: takes and returns tensors, also in nested tuples, lists and dicts.
        in_dims: along which dimension of each argument the samples lie; None where all samples share it. One number
            for all arguments, or a tuple with one for each, nested as the arguments are.
        out_dims: along which dimension of the results they are to lie; None for a result that has no samples.
        randomness: whether random numbers inside are refused ("error"), drawn for each sample ("different"), or drawn
            once for all ("same").
        chunk_size: how many samples to take at a time; None takes all.

    >>> import retrograd as rg
    >>> rg.vmap(rg.dot)(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([[1.0, 1.0], [0.0, 2.0]]))
    tensor([3., 8.])
    >>> rg.vmap(lambda x, w: (x * w).sum(), in_dims=(0, None))(rg.eye(3), rg.tensor([1.0, 2.0, 3.0]))
    tensor([1., 2., 3.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def over_a_batch(*args: Any, **kwargs: Any) -> Any:
        batch = Batch(func, in_dims, args)
        if chunk_size is None:
            return run(func, batch, batch.leaves, batch.size, out_dims, randomness, kwargs)
        return _in_chunks(func, batch, chunk_size, out_dims, randomness, kwargs)

    return over_a_batch


class Batch:
    """The arguments of one call: their leaves, along which dimension of each the samples lie, how many there are."""

    def __init__(self, func: Function, in_dims: Any, args: tuple[Any, ...]) -> None:
        self.func = func
        self.in_dims = in_dims
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"{self.call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                f"inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({name_of(func)})(<inputs>): got no inputs. A function without arguments has no samples to go "
                "over; arguments given by keyword are shared by all."
            )
        self.leaves: list[Any]
        self.form: Form
        self.leaves, self.form = flatten(args)
        dims = spread_over(in_dims, self.form)
        if dims is None:
            raise ValueError(
                f"{self.call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{flatten(in_dims)[1]} but inputs has structure {self.form}."
            )
        self.dims: list[int | None] = [
            self._checked(leaf, dim) for leaf, dim in zip(self.leaves, dims, strict=True)
        ]
        self.size: int = self._size()

    @property
    def call(self) -> str:
        """What messages call it."""
        return f"vmap({name_of(self.func)}, in_dims={self.in_dims}, ...)(<inputs>)"

    def _checked(self, leaf: Any, dim: Any) -> int | None:
        """A dimension, counted from the front."""
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(
                f"{self.call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{self.call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap "
                "over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ValueError(
                f"{self.call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                f"{leaf.ndim} so expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
        if isinstance(dim, bool):
            raise TypeError(f"{self.call}: Got in_dim={dim}, but a dimension must be int, not bool")
        return dim % leaf.ndim

    def _size(self) -> int:
        sizes = [x.shape[d] for x, d in zip(self.leaves, self.dims, strict=True) if d is not None]
        if not sizes:
            raise ValueError(
                "vmap: Expected at least one Tensor to vmap over: in_dims is None for every argument, so all samples "
                "would be the same."
            )
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        return int(sizes[0])

    def entered(self, leaves: Sequence[Any], level: Level) -> list[Any]:
        """The leaves as one sample sees them."""
        return [x if d is None else entered(x, d, level) for x, d in zip(leaves, self.dims, strict=True)]

    def written(self, leaves: Sequence[Any], made: Sequence[Any], level: Level) -> None:
        """After the function has run: what it wrote in place, it wrote into the leaves."""
        for x, y, d in zip(leaves, made, self.dims, strict=True):
            if d is not None:
                written(x, y, d, level)

    def part(self, start: int, stop: int) -> list[Any]:
        """The leaves of some of the samples."""
        made = []
        for x, d in zip(self.leaves, self.dims, strict=True):
            made.append(x if d is None else x.narrow(d, start, min(stop, self.size) - start))
        return made


def run(
    func: Function,
    batch: Batch,
    leaves: Sequence[Any],
    size: int,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    """Calls `func` once, on all samples."""
    level = Level(size, randomness)
    state = current()
    outer = state.batch_levels
    made = batch.entered(leaves, level)
    args = unflatten(made, batch.form)
    state.batch_levels = (*outer, level)
    try:
        with transforming():
            outputs = func(*args, **kwargs)
        batch.written(leaves, made, level)
    finally:
        state.batch_levels = outer
        unshare(level)
    found = _finished(func, outputs, out_dims, level)
    level.close()
    return found


def _finished(func: Function, outputs: Any, out_dims: Any, level: Level) -> Any:
    """The results with all their samples."""
    leaves, form = flatten(outputs)
    dims = _checked_out_dims(func, out_dims, form)
    made = [_result(func, leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)]
    return unflatten(made, form)


def _checked_out_dims(func: Function, out_dims: Any, form: Form) -> list[Any]:
    """Where in each result the samples are to lie."""
    if type(out_dims) is int:
        return [out_dims] * form.count
    name = name_of(func)
    given, out_form = flatten(out_dims)
    if not all(d is None or isinstance(d, int) for d in given):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    dims = spread_over(out_dims, form)
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and form.kind is None:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {out_form} but outputs has structure {form}."
        )
    return dims


def _result(func: Function, leaf: Any, dim: Any, level: Level) -> Any:
    """One result with its samples along `dim`."""
    if dim is not None and isinstance(leaf, Tensor):
        return left(leaf, wrap_dim(dim, leaf.ndim + 1), level)
    name = name_of(func)
    if dim is None:
        if isinstance(leaf, Tensor) and level in levels_of(leaf.array):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: the samples' "
                "results differ, so they need a dimension."
            )
        return leaf
    raise ValueError(
        f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to set out_dims= "
        "to None for output?"
    )


def _in_chunks(
    func: Function, batch: Batch, chunk_size: int, out_dims: Any, randomness: str, kwargs: dict[str, Any]
) -> Any:
    """Takes some samples at a time, and joins the results."""
    results = []
    form: Form | None = None
    state = get_rng_state() if randomness == "same" else None
    for start in range(0, max(batch.size, 1), chunk_size):
        stop = min(start + chunk_size, batch.size)
        if state is not None:
            set_rng_state(state)  # so that the samples of all chunks see the same numbers
        found = run(func, batch, batch.part(start, stop), stop - start, out_dims, randomness, kwargs)
        leaves, form = flatten(found)
        results.append(leaves)
    assert form is not None
    dims = _checked_out_dims(func, out_dims, form)
    columns = zip(*results, strict=True)
    return unflatten([_joined(list(c), d) for c, d in zip(columns, dims, strict=True)], form)


def _joined(parts: list[Any], dim: int | None) -> Any:
    return parts[0] if dim is None or len(parts) == 1 else cat(parts, dim)


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., tuple[Any, Any]]:
    """`vmap` that also says along which dimension the samples lie in each result: 0, or None where all are the same.

    >>> import retrograd as rg
    >>> restore_vmap(lambda x, y: (x + 1, y), (0, None), 2, "error")(rg.zeros(2), rg.tensor(3.0))
    ((tensor([1., 1.]), tensor(3.)), (0, None))
    """

    def call(*args: Any, **named: Any) -> tuple[Any, Any]:
        level = Level(batch_size, randomness)
        state = current()
        outer = state.batch_levels
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        given = [a if d is None else entered(a, d, level) for a, d in zip(args, dims, strict=True)]
        state.batch_levels = (*outer, level)
        try:
            outputs, form = flatten(func(*given, **named))
        finally:
            state.batch_levels = outer
        batched = [isinstance(out, Tensor) and level in levels_of(out.array) for out in outputs]
        found = [left(out, 0, level) if b else out for out, b in zip(outputs, batched, strict=True)]
        level.close()
        return unflatten(found, form), unflatten([0 if b else None for b in batched], form)

    return call
