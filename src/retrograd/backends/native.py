"""NativeBackend: the kernel pack where it serves, and NumPy where it does not.

A function of the pack looks at its operands before it touches them, and answers None or NotImplemented to those that it
does not serve. That is seen here and nowhere else: a kernel of the backend always answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from retrograd.backends.base import BACKENDS, register
from retrograd.backends.kernels.along_axis import lonely_axis
from retrograd.backends.native_mersenne import NativeMersenne
from retrograd.backends.numpy_backend import NUMPY, NumpyBackend
from retrograd.backends.pack import PACK
from retrograd.hints import mypyc_attr
from retrograd.values import Array, Axis, Shape

ndarray: Final[Any] = np.ndarray
# Functions by names of their own: to look them up would take as long as a small product.
_layout: Final[Any] = None if PACK is None else PACK.layout
_addmm: Final[Any] = None if PACK is None else PACK.addmm
_matmul_nt: Final[Any] = None if PACK is None else PACK.matmul_nt
_matmul_tn: Final[Any] = None if PACK is None else PACK.matmul_tn
_stretched: Final[Any] = None if PACK is None else PACK.stretched


@mypyc_attr(allow_interpreted_subclasses=True)
class NativeBackend(NumpyBackend):
    """NumPy's arrays on the CPU, with the pack's kernels."""

    def __init__(self) -> None:
        super().__init__()
        own = {name: value for name, value in vars(PACK).items() if hasattr(np, name)}
        self.adopt(own)  # functions of NumPy's names, which hand to NumPy what they do not serve
        self.compiled: dict[str, Any] = PACK.fused_kernels()

    def formula(self, key: str) -> Any:
        return self.compiled.get(key)

    # -- arrays ----------------------------------------------------------------------------------------------------

    def extent_of(self, array: Array) -> tuple[int, int, int]:
        found = PACK.extent_of(array)
        if found is NotImplemented:
            return super().extent_of(array)
        extent: tuple[int, int, int] = found
        return extent

    def ones_like(self, array: Array) -> Array:
        """Ones in the shape and dtype of an array."""
        made = PACK.ones_of(array)
        return np.ones_like(array) if made is NotImplemented else made

    def stretch(self, x: Array, shape: Shape) -> Array:
        view = _stretched(x, shape)
        return super().stretch(x, shape) if view is NotImplemented else view

    def join(self, op: Any, xs: Sequence[Any]) -> Any:
        found = PACK.join(xs, op.dim, op.is_new)
        return op.computed(self, xs) if found is None else found

    def memory_stats(self) -> dict[str, int]:
        found: dict[str, int] = PACK.memory_stats()
        return found

    def empty_cache(self) -> None:
        PACK.empty_cache()

    def special(self, name: str, plain: Any, x: Array, y: Array | None = None) -> Array:
        found = PACK.special(name, x) if y is None else PACK.special(name, x, y)
        return super().special(name, plain, x, y) if found is None else found

    def by_kernel(self, name: str, plain: Any, *args: Any) -> Any:
        found = getattr(PACK, name)(*args)
        return plain(self, *args) if found is None else found

    # -- sums ------------------------------------------------------------------------------------------------------

    def add_into(self, target: Array, other: Array) -> Array:
        return add_into(target, other)

    def running_sum(self, a: Array, axis: int, reverse: bool) -> Array:
        found = PACK.scan(a, axis, reverse, False)
        return super().running_sum(a, axis, reverse) if found is None else found

    def running_product(self, a: Array, axis: int, reverse: bool) -> Array:
        found = PACK.scan(a, axis, reverse, True)
        return super().running_product(a, axis, reverse) if found is None else found

    def softmax(self, x: Array, axis: int | None) -> Array:
        found = PACK.softmax(x, _from_front(axis, x))
        return super().softmax(x, axis) if found is None else found

    def log_softmax(self, x: Array, axis: int | None) -> Array:
        found = PACK.log_softmax(x, _from_front(axis, x))
        return super().log_softmax(x, axis) if found is None else found

    def logsumexp(self, x: Array, axis: Axis) -> Array:
        found = PACK.logsumexp(x, _single(axis))
        return super().logsumexp(x, axis) if found is None else found

    def softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        found = PACK.softmax_backward(g, out, op.axis)
        return op.formula(g, out) if found is None else found

    def log_softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        found = PACK.log_softmax_backward(g, out, op.axis)
        return op.formula(g, out) if found is None else found

    def logsumexp_backward(self, op: Any, g: Any, x: Any, out: Any) -> Any:
        found = PACK.logsumexp_backward(g, x, out, _single(op.axis))
        return op.formula(g, x, out) if found is None else found

    def variance(self, op: Any, x: Any) -> Any:
        found = PACK.variance(x, op.axis, op.correction, op.keepdims, op.root)
        return op.computed(self, x) if found is None else found

    def variance_backward(self, op: Any, g: Any, x: Any) -> Any:
        freedom = op.freedom()
        found = PACK.variance_backward(g, x, op.axis, 2 / freedom) if freedom > 0 else None
        return op.formula(g, x) if found is None else found

    # -- normalisation ---------------------------------------------------------------------------------------------

    def layer_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        found = PACK.layer_norm(xs[0], xs[1], xs[2], op.eps, op.axes[0])
        return super().layer_norm(op, xs) if found is None else found

    def layer_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found = PACK.layer_norm_backward(g, xs[0], xs[1], op.moments, op.axes[0], wanted)
        return super().layer_norm_backward(op, g, xs, wanted) if found is None else found

    def group_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        found = PACK.group_norm(xs[0], xs[1], xs[2], op.eps, op.group)
        return super().group_norm(op, xs) if found is None else found

    def group_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found = PACK.group_norm_backward(g, xs[0], xs[1], op.moments, op.group, wanted)
        return super().group_norm_backward(op, g, xs, wanted) if found is None else found

    def batch_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        mean, var = (None, None) if op.training else (xs[3], xs[4])
        found = PACK.batch_norm(xs[0], xs[1], xs[2], mean, var, op.eps)
        return super().batch_norm(op, xs) if found is None else found

    def batch_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        found = PACK.batch_norm_backward(g, xs[0], xs[1], op.moments, op.training, wanted)
        return super().batch_norm_backward(op, g, xs, wanted) if found is None else found

    # -- windows ---------------------------------------------------------------------------------------------------

    def conv_correlate(self, op: Any, x: Any, w: Any, b: Any) -> Any:
        found = PACK.conv_correlate(x, w, b, op.geometry.windows, op.geometry.groups)
        return op.computed(self, x, w, b) if found is None else found

    def conv_spread(self, op: Any, y: Any, w: Any, b: Any) -> Any:
        found = PACK.conv_spread(y, w, b, op.geometry.windows, op.geometry.groups)
        return op.computed(self, y, w, b) if found is None else found

    def conv_overlap(self, op: Any, x: Any, y: Any) -> Any:
        found = PACK.conv_overlap(x, y, op.geometry.windows, op.geometry.groups)
        return op.computed(self, x, y, None) if found is None else found

    def channel_sums(self, g: Any) -> Any:
        found = PACK.conv_channel_sums(g)
        return super().channel_sums(g) if found is None else found

    def max_pool(self, op: Any, x: Any) -> Any:
        found = PACK.max_pool(x, op.windows, op.wanted)
        return op.computed(self, x) if found is None else found

    def max_cover(self, op: Any, x: Any) -> Any:
        found = PACK.max_cover(x, op.covers)
        return op.computed(self, x) if found is None else found

    def max_pool_backward(self, op: Any, g: Any) -> Any:
        found = PACK.max_pool_back(g, op.positions.array, op.in_shape, op.rank)
        return op.formula(g) if found is None else found

    def avg_pool(self, op: Any, x: Any) -> Any:
        found = None
        if x.dtype.kind == "f":
            found = PACK.avg_pool(x, op.windows, np.asarray(op.divisors(x.dtype), x.dtype))
        return op.computed(self, x) if found is None else found

    def avg_pool_backward(self, op: Any, g: Any) -> Any:
        pool = op.pool
        found = PACK.avg_pool_back(g, pool.windows, np.asarray(pool.divisors(g.dtype), g.dtype))
        return op.computed(self, g) if found is None else found

    # -- attention, recurrent layers, losses -------------------------------------------------------------------------

    def attention(self, op: Any, xs: Sequence[Any]) -> Any:
        q, k, v, mask = xs
        found = PACK.attention(q, k, v, mask, op.is_causal, float(op.scale))
        return op.computed(self, xs) if found is None else found

    def attention_backward(self, op: Any, g: Any, xs: Sequence[Any], out: Any, wanted: int) -> Sequence[Any]:
        q, k, v, mask = xs
        found = PACK.attention_back(
            np.ascontiguousarray(g), q, k, v, mask, op.is_causal, float(op.scale), wanted
        )
        return super().attention_backward(op, g, xs, out, wanted) if found is None else found

    def recurrence(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        found = PACK.recurrence(op.kind, op.sizes, op.reverse, xs)
        return super().recurrence(op, xs) if found is None else found

    def recurrence_backward(self, op: Any, gs: Sequence[Any], xs: Sequence[Any]) -> Sequence[Any]:
        wanted = sum([1 << i for i in range(len(xs)) if op.needs(i)])
        found = PACK.recurrence_backward(op.kind, op.sizes, op.reverse, xs, gs, op.notes, wanted)
        return super().recurrence_backward(op, gs, xs) if found is None else found

    def loss(self, op: Any, x: Any, target: Any) -> Any:
        found = PACK.loss(op.kind, x, target, op.parameter(), op.reduction)
        return op.computed(self, x, target) if found is None else found

    def loss_backward(self, op: Any, i: int, g: Any, x: Any, target: Any) -> Any:
        share = op.share()
        found = PACK.loss_backward(op.kind, g, x, target, op.parameter(), -share if i else share)
        return op.formula(i, g, x, target) if found is None else found

    def nll(self, op: Any, xs: Sequence[Any]) -> Any:
        found = PACK.nll(xs[0], xs[1], xs[2], op.reduction, op.ignore_index)
        return op.computed(self, xs) if found is None else found

    def nll_backward(self, op: Any, g: Any, xs: Sequence[Any]) -> Any:
        found = PACK.nll_backward(g, xs[1], xs[2], op.reduction, op.ignore_index, op.in_shape)
        return op.formula(g, xs) if found is None else found

    def within_0_1(self, x: Array) -> bool:
        found = PACK.within_0_1(x)
        return super().within_0_1(x) if found is None else bool(found)

    # -- products --------------------------------------------------------------------------------------------------

    def layout_of(self, x: Array, y: Array) -> int:
        found: int = _layout(x, y)
        return found or super().layout_of(x, y)

    def mm_backward(self, op: Any, i: int, turned: bool, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            found = _matmul_nt(y, g) if turned else _matmul_nt(g, y)
        else:
            found = _matmul_tn(g, x) if turned else _matmul_tn(x, g)
        if found is None:
            return op.formula(i, g, x, y)
        return found.swapaxes(0, 1) if turned else found

    def bmm_backward(self, op: Any, i: int, g: Any, x: Any, y: Any) -> Any:
        found = _matmul_nt(g, y) if i == 0 else _matmul_tn(x, g)
        return op.formula(i, g, x, y) if found is None else found

    def mv_backward(self, op: Any, g: Any, x: Any) -> Any:
        found = _matmul_tn(x, g)
        return op.formula(1, g, x, None) if found is None else found

    def addmm(self, op: Any, x: Any, y: Any, z: Any) -> Any:
        found = _addmm(x, y, z)
        return op.computed(self, x, y, z) if found is None else found

    # -- indices ---------------------------------------------------------------------------------------------------

    def take_along(self, x: Array, index: Array, dim: int) -> Array:
        found = PACK.take_along(x, index, dim)
        return super().take_along(x, index, dim) if found is None else found

    def put_along(self, out: Array, index: Array, dim: int, values: Array) -> None:
        if PACK.put_along(out, index, dim, values) is None:
            super().put_along(out, index, dim, values)

    def add_along(self, out: Array, index: Array, dim: int, values: Array) -> None:
        if PACK.add_along(out, index, dim, values) is None:
            super().add_along(out, index, dim, values)

    def add_at(self, out: Array, key: tuple[Any, ...], x: Array) -> Array:
        axis = lonely_axis(key)
        if axis >= 0 and PACK.add_rows(out, axis, key[axis], x) is not None:
            return out
        return super().add_at(out, key, x)

    def outside(self, index: Array, low: int, high: int) -> Any:
        found = PACK.outside(index, low, high)
        return super().outside(index, low, high) if found is NotImplemented else found

    def embedding_backward(self, op: Any, g: Any) -> Any:
        found = PACK.sum_rows(g, op.indices.array, op.count, op.padding_idx, op.scale_grad_by_freq)
        return op.computed(self, g) if found is None else found

    # -- random numbers, optimisers --------------------------------------------------------------------------------

    def new_stream(self, seed: int) -> Any:
        return NativeMersenne(seed)

    def noise(self, stream: Any, like: Array, p: float, scale: Any) -> Array:
        # Inside of vmap each sample may draw for itself, by another class.
        if type(stream) is not NativeMersenne or not like.flags.c_contiguous or like.dtype.char not in "fd":
            return super().noise(stream, like, p, scale)
        return stream.choices(like.shape, like.dtype, 1 - p, float(scale))

    def sgd_steps(self, rows: list[Any], rates: Any) -> None:
        super().sgd_steps(PACK.sgd_steps(rows, rates), rates)

    def adam_steps(self, rows: list[Any], rates: Any) -> None:
        super().adam_steps(PACK.adam_steps(rows, rates), rates)

    def formula_steps(self, rows: list[Any], optimizer: Any) -> None:
        rule = optimizer.rule(rows[0].rates) if rows else -1
        super().formula_steps(rows if rule < 0 else PACK.rule_steps(rule, rows), optimizer)


def _from_front(axis: int | None, x: Array) -> int | None:
    """An axis counted from the front."""
    return axis if axis is None or axis >= 0 else axis + x.ndim


def _single(axis: Axis) -> int | None:
    """An axis given alone or as a tuple of one; None for any other."""
    if isinstance(axis, tuple):
        return axis[0] if len(axis) == 1 else None
    return axis


# What computes on NumPy's own arrays in this process.
CPU_BACKEND: Final[NumpyBackend] = NUMPY if PACK is None else NativeBackend()
add_into: Final[Any] = CPU_BACKEND.add_into if PACK is None else PACK.add_into


def _unserved(*args: Any) -> Any:
    return NotImplemented


def _unknown(*arrays: Any) -> int:
    return 0


def _is_not(*arrays: Any) -> bool:
    return False


# Whether an array is NumPy's own, lies in rows and may be written to. False says nothing: somebody must look closer.
is_open: Final[Any] = _is_not if PACK is None else PACK.is_open
# Copies the elements of one small array over another of its dtype, or truths over numbers; whether it has.
copy_over: Final[Any] = _is_not if PACK is None else PACK.copy_over
# `x @ y` of two small matrices, NotImplemented for others; it stands for a compiled formula, see `Traits.forward`.
small_product: Final[Any] = _unserved if PACK is None else PACK.mm
# The sum or the mean of an array of floats over some axes, NotImplemented for all else; see `Traits.forward`.
quick_sum: Final[Any] = _unserved if PACK is None else PACK.sum_of
quick_mean: Final[Any] = _unserved if PACK is None else PACK.mean_of
# `layout_of` for float matrices of one dtype whose sizes fit, and a vector that their rows take, if one is given; 0 for
# everything else: somebody must look closer.
quick_layout: Final[Any] = _unknown if PACK is None else PACK.layout
BACKENDS.cpu = CPU_BACKEND
register(CPU_BACKEND, np.ndarray)
