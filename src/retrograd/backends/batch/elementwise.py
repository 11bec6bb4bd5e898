"""Rules for ufuncs and their methods, and for other functions of one element at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.batch.array import (
    IN_PLACE,
    RULES,
    BatchedArray,
    Level,
    Verdict,
    aligned,
    alike,
    all_axes,
    all_samples,
    in_front,
    is_on,
    lead,
    widened,
    wrapped,
)
from retrograd.backends.batch.library import lib, on
from retrograd.backends.batch.shape import Unbatchable

# -- ufuncs --------------------------------------------------------------------------------------------------------


def call(ufunc: Any, level: Level, inputs: Any, kwargs: Any) -> Any:
    """`ufunc(*inputs)`."""
    if ufunc.signature is not None:
        rule = RULES.functions.get(ufunc)
        if rule is None:
            raise Unbatchable(f"vmap: there is no rule for {ufunc.__name__}")
        return into(kwargs.pop("out", None), rule(ufunc, level, inputs, kwargs), level)
    out, where = kwargs.pop("out", None), kwargs.pop("where", True)
    result = wrapped(on(ufunc)(*aligned(inputs, level), **kwargs), level)
    if where is True:
        return into(out, result, level)
    target = out[0] if isinstance(out, tuple) else out
    return into(out, lib.where(where, result, target), level)


def into(out: Any, result: Any, level: Level) -> Any:
    """The result, written into `out=` if that is given."""
    if out is None:
        return result
    targets = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    for target, made in zip(targets, results, strict=True):
        if target is not None:
            store(target, made, level)
    written = [r if t is None else t for t, r in zip(targets, results, strict=True)]
    return tuple(written) if len(written) > 1 else written[0]


def store(target: Any, values: Any, level: Level) -> None:
    """Writes into an array, which must have room for every sample."""
    if not is_on(target, level):
        raise Unbatchable(IN_PLACE)
    made = widened(lead(values, level), target.ndim)
    if made.ndim > target.ndim + 1:
        made = made.reshape(made.shape[:1] + target.shape)
    if made.shape[0] > target.value.shape[0]:
        if not alike(made):
            raise Unbatchable(IN_PLACE)
        made = made[:1]  # an op that copied an array made room for every sample, and did not need it
    lib.copyto(target.value, made, casting="unsafe")


def reduce(ufunc: Any, level: Level, inputs: Any, kwargs: Any) -> Any:
    """`ufunc.reduce(x, axis, …)`."""
    x, *rest = inputs
    names = ("axis", "dtype", "out", "keepdims", "initial", "where")
    options = {**dict(zip(names, rest, strict=False)), **kwargs}
    out = options.pop("out", None)
    options["axis"] = all_axes(options.get("axis", 0), x.ndim)
    if is_on(options.get("where"), level):
        options["where"] = widened(options["where"].value, x.ndim)
    return into(out, wrapped(on(ufunc).reduce(lead(x, level), **options), level), level)


def accumulate(ufunc: Any, level: Level, inputs: Any, kwargs: Any) -> Any:
    """`ufunc.accumulate(x, axis, dtype, out)`."""
    x, *rest = inputs
    options = {**dict(zip(("axis", "dtype", "out"), rest, strict=False)), **kwargs}
    out = options.pop("out", None)
    options["axis"] = in_front(options.get("axis", 0), x.ndim)
    return into(out, wrapped(on(ufunc).accumulate(lead(x, level), **options), level), level)


def reduceat(ufunc: Any, level: Level, inputs: Any, kwargs: Any) -> Any:
    """`ufunc.reduceat(x, indices, axis)`, for indices that all samples share."""
    x, indices, *rest = inputs
    if isinstance(indices, BatchedArray):
        raise Unbatchable(f"vmap: {ufunc.__name__}.reduceat with indices that differ between samples")
    axis = rest[0] if rest else kwargs.get("axis", 0)
    return wrapped(on(ufunc).reduceat(lead(x, level), indices, in_front(axis, x.ndim)), level)


def outer(ufunc: Any, level: Level, inputs: Any, kwargs: Any) -> Any:
    """`ufunc.outer(x, y)`."""
    x, y = inputs
    return on(ufunc)(x[(..., *[None] * y.ndim)], y, **kwargs)


RULES.methods.update(__call__=call, reduce=reduce, accumulate=accumulate, reduceat=reduceat, outer=outer)


# -- functions -----------------------------------------------------------------------------------------------------


def each(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """A function of elements: all arguments broadcast against each other."""
    out = kwargs.pop("out", None)
    names = list(kwargs)
    operands = aligned((*args, *kwargs.values()), level)
    named = dict(zip(names, operands[len(args) :], strict=True))
    return into(out, wrapped(on(function)(*operands[: len(args)], **named), level), level)


def facts(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """A question about the dtype, or the shape of one sample."""
    x = args[0]
    if function is np.shape:
        return tuple(x.shape)
    if function is np.ndim:
        return x.ndim
    if function is np.size:
        return x.size if len(args) == 1 else x.shape[args[1]]
    return on(function)(np.empty(0, x.dtype))


def result_type(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """The dtype of a result of samples: a sample of no dimensions is weak as it is without a batch."""
    return on(function)(
        *[np.empty((0,) * a.ndim, a.dtype) if isinstance(a, BatchedArray) else a for a in args]
    )


def verdict(function: Any, level: Level, args: Any, kwargs: Any) -> Any:
    """`any` and `all`: see Verdict."""
    x, *rest = args
    options = {**dict(zip(("axis", "out", "keepdims"), rest, strict=False)), **kwargs}
    ufunc = np.logical_or if function is np.any else np.logical_and
    options.setdefault("axis", None)
    options = {k: v for k, v in options.items() if k != "keepdims" or v is not np._NoValue}
    found = reduce(ufunc, level, (x,), options)
    return Verdict(found.value, found.level, function is np.all)


def copyto(function: Any, level: Level, args: Any, kwargs: Any) -> None:
    """`copyto(target, values, casting, where)`."""
    target, values, *rest = args
    options = {**dict(zip(("casting", "where"), rest, strict=False)), **kwargs}
    where = options.get("where", True)
    if where is not True:
        values = lib.where(where, values, target)
    store(target, values, level)


def allclose(function: Any, level: Level, args: Any, kwargs: Any) -> bool:
    """`allclose(x, y, …)`, in all samples."""
    return bool(lib.all(lib.isclose(*args, **kwargs)))


def may_share_memory(function: Any, level: Level, args: Any, kwargs: Any) -> bool:
    """`may_share_memory(x, y)`, of all samples."""
    return bool(on(function)(all_samples(args[0]), all_samples(args[1])))


EACH: tuple[Any, ...] = (
    np.where, np.clip, np.nan_to_num, np.isclose, np.angle, np.real, np.imag, np.sinc, np.i0, np.round, np.around,
    np.isposinf, np.isneginf, np.fix, np.real_if_close, np.isreal, np.iscomplex, np.unwrap,
)  # fmt: skip
RULES.functions.update(dict.fromkeys(EACH, each))
RULES.functions.update(dict.fromkeys((np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj), facts))
RULES.functions.update({np.allclose: allclose, np.may_share_memory: may_share_memory})
RULES.functions.update({np.any: verdict, np.all: verdict, np.copyto: copyto, np.result_type: result_type})
