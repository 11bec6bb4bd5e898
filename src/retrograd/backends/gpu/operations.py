"""Ops that have kernels of their own on a GPU: each method here serves what it can, and leaves the rest to CuPy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.casts import of_bfloat16
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.gpu.attention import Attention
from retrograd.backends.gpu.faults import Faults
from retrograd.backends.gpu.fused_attention import FusedAttention
from retrograd.backends.gpu.indices import Indices
from retrograd.backends.gpu.kernels import THREADS, Kernels, blocks_for, empty, letter, pack_of, serves, types
from retrograd.backends.gpu.losses import Losses
from retrograd.backends.gpu.norms import Norms
from retrograd.backends.gpu.products import Products
from retrograd.backends.gpu.random import CudaStream
from retrograd.backends.gpu.reductions import Reductions, axes_of
from retrograd.backends.gpu.rows import Rows
from retrograd.backends.numpy_backend import NumpyBackend
from retrograd.hints import mypyc_attr
from retrograd.values import Array, Axis


@mypyc_attr(allow_interpreted_subclasses=True)
class KernelBackend(NumpyBackend):
    """A backend of CuPy's arrays with the kernels of this folder."""

    fuses_rms_norm: ClassVar[bool] = True
    cupy: Any
    narrow: Any = None  # the backend of bfloat16, once somebody has used it

    def open_kernels(self, cupy: Any) -> None:
        """Makes the kernels known; they are compiled when they are first needed."""
        self.kernels: Kernels = Kernels(cupy)
        self.faults: Faults = Faults(cupy)
        self.rows: Rows = Rows(self.kernels)
        self.reductions: Reductions = Reductions(self.kernels)
        self.norms: Norms = Norms(self.kernels, self.reductions)
        self.losses: Losses = Losses(self.kernels, self.faults)
        self.picks: Indices = Indices(self.kernels, self.faults)
        self.products: Products = Products(cupy)
        self.attentions: Attention = Attention(self.kernels, self.products, self.reductions)
        self.fused_attentions: FusedAttention = FusedAttention(self.kernels)

    # -- bfloat16 --------------------------------------------------------------------------------------------------

    def of_bfloat16(self) -> Any:
        """The backend of bfloat16 on GPUs, loaded when somebody first wants it."""
        if self.narrow is None:
            of_bfloat16()  # that of the CPU, to which arrays go back
            self.narrow = importlib.import_module("retrograd.backends.gpu.bfloat16").install(self)
        return self.narrow

    def maker(self, dtype: Any) -> Any:
        return self.of_bfloat16() if dtype == bfloat16 else self

    def as_bfloat16(self, array: Array, order: Any) -> Any:
        return self.of_bfloat16().cast(array, order)

    def seen_as_bfloat16(self, array: Array) -> Any:
        return self.of_bfloat16().of_bits(array.view("uint16"))

    def copyto(self, target: Array, values: Any, casting: str = "same_kind", where: Any = None) -> None:
        """Writes values into an array; CuPy would take those of bfloat16 for whole numbers."""
        if getattr(values, "dtype", None) == bfloat16:
            values = self.of_bfloat16().widened(values)
        self.cupy.copyto(target, values, casting, where)

    # -- reductions ------------------------------------------------------------------------------------------------

    def sum(
        self, x: Array, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Array:
        """The sum over axes."""
        if out is None and self.reductions.serves(x, axis) and (dtype is None or _is_as_wide(dtype, x.dtype)):
            return self._reduced("Sum", x, axis, keepdims, dtype, 1.0)
        return self.by_library("sum", x, axis, dtype, out, keepdims)

    def average(self, x: Array, axis: Axis, keepdims: bool, count: int) -> Array:
        if count and self.reductions.serves(x, axis):
            return self._reduced("Sum", x, axis, keepdims, None, 1 / count)
        return super().average(x, axis, keepdims, count)

    def mean(
        self, x: Array, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Array:
        """The mean over axes."""
        if out is None and dtype is None and self.reductions.serves(x, axis):
            count = prod(x.shape[a] for a in axes_of(axis, x.ndim))
            return self._reduced("Sum", x, axis, keepdims, None, 1 / count)
        return self.by_library("mean", x, axis, dtype, out, keepdims)

    def max(self, x: Array, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Array:
        """The largest elements over axes."""
        if out is None and self.reductions.serves(x, axis):
            return self._reduced("Max", x, axis, keepdims, None, 1.0)
        return self.by_library("max", x, axis, out, keepdims)

    def min(self, x: Array, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Array:
        """The smallest elements over axes."""
        if out is None and self.reductions.serves(x, axis):
            return self._reduced("Min", x, axis, keepdims, None, 1.0)
        return self.by_library("min", x, axis, out, keepdims)

    def by_library(self, name: str, x: Array, *args: Any) -> Array:
        """What CuPy makes of an array."""
        found: Array = getattr(self.cupy, name)(x, *args)
        return found

    def _reduced(self, how: str, x: Array, axis: Axis, keepdims: bool, dtype: Any, factor: float) -> Array:
        # No default: where an interpreted class had derived from this one, compiled code came here with a factor of 0.
        return self.reductions.reduce(how, x, axes_of(axis, x.ndim), dtype, factor, keepdims=keepdims)

    def variance(self, op: Any, x: Any) -> Any:
        axes = axes_of(op.axis, x.ndim)
        found = None
        if self.reductions.serves(x, op.axis) and not op.root:
            found = self.reductions.variance(x, axes, op.correction)
        if found is None:
            return super().variance(op, x)
        shape = found.shape if op.keepdims else tuple(n for i, n in enumerate(x.shape) if i not in axes)
        return found.reshape(shape)

    def top(self, x: Array, axis: Axis) -> Array:
        if x.size:
            return self.max(x, axis, keepdims=True)
        return self.full(x.sum(axis=axis, keepdims=True).shape, -np.inf, x.dtype)

    def channel_sums(self, g: Any) -> Any:
        return self.sum(g, (0, *range(2, g.ndim)))

    # -- softmax ---------------------------------------------------------------------------------------------------

    def softmax(self, x: Array, axis: int | None) -> Array:
        found = self._by_rows("softmax", axis, x)
        return super().softmax(x, axis) if found is None else found

    def log_softmax(self, x: Array, axis: int | None) -> Array:
        found = self._by_rows("log_softmax", axis, x)
        return super().log_softmax(x, axis) if found is None else found

    def logsumexp(self, x: Array, axis: Axis) -> Array:
        axes = axes_of(axis, x.ndim)
        if x.size and serves(x) and axes and axes == tuple(range(x.ndim - len(axes), x.ndim)):
            shape = (*x.shape[: x.ndim - len(axes)], *(1 for _ in axes))
            return self.rows.each("logsumexp", prod(x.shape[axes[0] :]), (x,), shape)
        return super().logsumexp(x, axis)

    def softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        found = self._by_rows("softmax_backward", op.axis, g, out)
        return op.formula(g, out) if found is None else found

    def log_softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        found = self._by_rows("log_softmax_backward", op.axis, g, out)
        return op.formula(g, out) if found is None else found

    def _by_rows(self, name: str, axis: int | None, *arrays: Any) -> Any:
        """What a kernel makes of rows; None where it does not serve."""
        x = arrays[0]
        if not x.ndim or not x.size or (axis is not None and axis % x.ndim != x.ndim - 1):
            return None
        if not serves(*arrays) or any(a.dtype != x.dtype or a.shape != x.shape for a in arrays):
            return None
        return self.rows.each(name, x.shape[-1], arrays, x.shape)

    # -- normalisation ---------------------------------------------------------------------------------------------

    def layer_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        x, weight, bias = xs
        if not self._norm_serves(x, weight, bias):
            return super().layer_norm(op, xs)
        return self.norms.rows(x, weight, bias, float(op.eps), prod(x.shape[op.axes[0] :]))

    def layer_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        x, weight = xs[:2]
        found = None
        if op.moments is not None and self._norm_serves(x, weight) and serves(g) and g.dtype == x.dtype:
            found = self.norms.rows_backward(g, x, weight, op.moments, x.shape[op.axes[0] :], wanted)
        return super().layer_norm_backward(op, g, xs, wanted) if found is None else found

    def rms_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        x, weight = xs[:2]
        if not self._norm_serves(x, weight):
            return super().rms_norm(op, xs)
        return self.norms.rows(x, weight, None, float(op.eps), prod(x.shape[op.axes[0] :]), centred=0)

    def rms_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        x, weight = xs[:2]
        found = None
        if op.moments is not None and self._norm_serves(x, weight) and serves(g) and g.dtype == x.dtype:
            shape = x.shape[op.axes[0] :]
            found = self.norms.rows_backward(g, x, weight, op.moments, shape, wanted, centred=0)
        return super().rms_norm_backward(op, g, xs, wanted) if found is None else found

    def group_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        x, weight, bias = xs
        if not self._norm_serves(x, weight, bias):
            return super().group_norm(op, xs)
        n, inner = x.size // (x.shape[0] * op.group), prod(x.shape[2:])
        return self.norms.rows(x, weight, bias, float(op.eps), n, inner, op.group)

    def group_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        x, weight = xs[:2]
        if op.moments is None or not self._norm_serves(x, weight) or not serves(g) or g.dtype != x.dtype:
            return super().group_norm_backward(op, g, xs, wanted)
        return self.norms.groups_backward(g, x, weight, op.moments, op.group, wanted)

    def batch_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        x, weight, bias, *running = xs
        if not self._norm_serves(x, weight, bias, *running):
            return super().batch_norm(op, xs)
        op.followed = op.training
        return self.norms.channels(
            x, weight, bias, (running[0], running[1]), op.training, float(op.momentum), float(op.eps)
        )

    def batch_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        x, weight = xs[:2]
        if op.moments is None or not self._norm_serves(x, weight) or not serves(g) or g.dtype != x.dtype:
            return super().batch_norm_backward(op, g, xs, wanted)
        return self.norms.channels_backward(g, x, weight, op.moments, op.training, wanted)

    def _norm_serves(self, x: Any, *parameters: Any) -> bool:
        """Whether there are kernels: for arrays in rows, with parameters of one dtype."""
        dtypes = {letter(p.dtype) for p in parameters if p is not None}
        return x is not None and x.size > 0 and serves(x, *parameters) and len(dtypes) < 2

    # -- losses, attention, products -------------------------------------------------------------------------------

    def nll(self, op: Any, xs: Sequence[Any]) -> Any:
        return self.losses.nll(op, xs) if self.losses.serves(*xs) else super().nll(op, xs)

    def nll_backward(self, op: Any, g: Any, xs: Sequence[Any]) -> Any:
        served = op.total is not None or op.reduction != 1
        if served and serves(g) and self.losses.serves(None, xs[1], xs[2]):
            return self.losses.nll_backward(op, g, xs[1], xs[2])
        return super().nll_backward(op, g, xs)

    def attention(self, op: Any, xs: Sequence[Any]) -> Any:
        if self.fused_attentions.serves(*xs):
            out, op.logs = self.fused_attentions.forward(op, xs)
            return out
        return self.attentions.forward(op, xs) if self.attentions.serves(xs) else super().attention(op, xs)

    def attention_backward(self, op: Any, g: Any, xs: Sequence[Any], out: Any, wanted: int) -> Sequence[Any]:
        if op.logs is not None and g.dtype == xs[0].dtype and self.fused_attentions.serves(*xs):
            return self.fused_attentions.backward(op, g, xs, out, wanted)
        if self.attentions.serves(xs) and self.attentions.serves((g, *xs[1:])):
            return self.attentions.backward(op, g, xs, wanted)
        return super().attention_backward(op, g, xs, out, wanted)

    def product(self, x: Array, y: Array) -> Array:
        return self.products.product(x, y) if self.products.serves(x, y) else super().product(x, y)

    def add_into(self, target: Array, other: Array) -> Array:
        return target if self._write_sum(target, other) else super().add_into(target, other)

    def write_sum(self, target: Array, other: Array) -> None:
        if not self._write_sum(target, other):
            super().write_sum(target, other)

    def addmm(self, op: Any, x: Any, y: Any, z: Any) -> Any:
        if not self.products.serves(y, z) or y.ndim != 2 or x.dtype != y.dtype:
            return super().addmm(op, x, y, z)
        return self.add_into(self.products.product(y, z), x)

    def _write_sum(self, target: Array, other: Array) -> bool:
        """Adds an array to another of its shape, or to all its rows, by a kernel; says whether there is one."""
        n = other.size
        rows = other.shape == target.shape[-1:]
        if (
            not (rows or other.shape == target.shape)
            or not serves(target, other)
            or target.dtype != other.dtype
        ):
            return False
        if n:
            v = pack_of(n, target, other)
            kernel = self.kernels.get("additions.cu", "add_to_rows", *types(target.dtype), ("V", v))
            packs = target.size // v
            kernel.launch(blocks_for(packs), THREADS, (target, other, n, packs))
        return True

    def mm_backward(self, op: Any, i: int, turned: bool, g: Any, x: Any, y: Any) -> Any:
        if i == 0:
            a, b = (y, g.swapaxes(0, 1)) if turned else (g, y.swapaxes(0, 1))
        else:
            a, b = (g.swapaxes(0, 1), x) if turned else (x.swapaxes(0, 1), g)
        if not self.products.serves(a, b):
            return op.formula(i, g, x, y)
        # No view of another array: the engine takes such a gradient over without a copy.
        return self.products.product(a, b, turned=turned)

    # -- indices ---------------------------------------------------------------------------------------------------

    def outside(self, index: Array, low: int, high: int) -> Any:
        """None: the GPU is asked, and answers later. See Note [Faults on a GPU]."""
        return None if self.picks.check(index, low, high) else super().outside(index, low, high)

    def take_along(self, x: Array, index: Array, dim: int) -> Array:
        if self.picks.serves(x, index, dim):
            return self.picks.take_along(x, index, dim)
        return super().take_along(x, index, dim)

    def add_along(self, out: Array, index: Array, dim: int, values: Array) -> None:
        fits = values.shape == index.shape and values.dtype == out.dtype and values.flags.c_contiguous
        if not (
            fits and self.picks.serves(out, index, dim) and self.picks.add_along(out, index, dim, values)
        ):
            super().add_along(out, index, dim, values)

    def embedding_backward(self, op: Any, g: Any) -> Any:
        index = op.indices.array
        if not serves(g) or not g.size or not index.flags.c_contiguous:
            return super().embedding_backward(op, g)
        order = self.cupy.argsort(index.reshape(-1))
        return self.picks.sum_rows(g, index, order, op.count, op.padding_idx, op.scale_grad_by_freq)

    # -- optimisers ------------------------------------------------------------------------------------------------

    def adam_steps(self, rows: list[Any], rates: Any) -> None:
        super().adam_steps([row for row in rows if not self._adam(row, rates)], rates)

    def _adam(self, row: Any, rates: Any) -> bool:
        """A step of Adam for one parameter, if its arrays are of one dtype and lie in rows; says whether."""
        param, grad, mean, square, largest, step = row
        arrays = [a for a in (param, grad, mean, square, largest) if a is not None]
        if not serves(*arrays) or any(a.dtype != param.dtype for a in arrays):
            return False
        lr, beta1, beta2, eps, decay, decoupled, maximize = (float(r) for r in rates)
        numbers = (lr, lr / (1 - beta1**step), beta1, beta2, sqrt(1 - beta2**step), eps, decay)
        kernel = self.kernels.get("conversions.cu", "adam", *types(param.dtype), ("O", "float"))
        args = (param, grad, mean, square, largest, *numbers, int(decoupled), int(maximize), param.size)
        if param.size:
            kernel.launch(blocks_for(param.size), THREADS, args)
        return True

    # -- random numbers --------------------------------------------------------------------------------------------

    def noise(self, stream: Any, like: Array, p: float, scale: Any) -> Array:
        if type(stream) is not CudaStream or not serves(like):
            return super().noise(stream, like, p, scale)
        out = empty(like.shape, like.dtype)
        if out.size:
            place, stream.place = stream.place, stream.place + blocks_for(out.size, 4)
            kernel = self.kernels.get("noise.cu", "noise", *types(like.dtype))
            key = stream.seed - (1 << 64) if stream.seed >= 1 << 63 else stream.seed  # as 64 bits with a sign
            args = (out, key, place, float(p), float(scale), out.size)
            kernel.launch(blocks_for(out.size, 4 * THREADS), THREADS, args)
        return out


def _is_as_wide(wanted: Any, dtype: Any) -> bool:
    """Whether the kernel of a dtype may compute a sum in another: it is not wider than what that computes with."""
    return letter(wanted) == letter(dtype) or (letter(dtype) in ("e", "bf") and letter(wanted) == "f")
