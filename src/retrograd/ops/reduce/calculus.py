"""Calculus of samples: differences, integrals by trapezoids, and numerical gradients. All are made of other ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.backends.dtypes import python_number
from retrograd.core.apply import apply2
from retrograd.core.tensor import Tensor
from retrograd.core.variant import variant
from retrograd.errors import DimensionError, DtypeError, ShapeError, type_name
from retrograd.ops.common import deliver, int_from, require_tensor, wrap_dim, wrap_dims, zeros_beside
from retrograd.ops.elementwise.arithmetic import Div, Mul, add, div, mul, neg, sub
from retrograd.ops.elementwise.compare import logical_xor
from retrograd.ops.inplace.fill import copy_
from retrograd.ops.reduce.running_sums import cumsum, one_dim
from retrograd.ops.reduce.sums import sum
from retrograd.ops.register import public
from retrograd.ops.shape.join import cat
from retrograd.ops.shape.reshape import Dims, reshape
from retrograd.ops.shape.split import narrow, select
from retrograd.values import Number, Shape

# -- by numbers ----------------------------------------------------------------------------------------------------


Scaled = variant(Mul, "MulBackward1", "x times a number, under the name of PyTorch's own code for it")


Divided = variant(Div, "DivBackward1", "x divided by a number, under the name of PyTorch's own code for it")


def times(x: Any, number: Any) -> Tensor:
    """`x * number`."""
    found: Tensor = apply2(Scaled(), x, number)
    return found


def over(x: Any, number: Any) -> Tensor:
    """`x / number`."""
    found: Tensor = apply2(Divided(), x, number)
    return found


# -- differences ---------------------------------------------------------------------------------------------------


@public("diff", method=True)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
    **numpy: Any,
) -> Tensor:
    """The differences of neighbours along `dim`, taken `n` times.

    Args:
        prepend, append: values to put before and behind along `dim` first.

    >>> import retrograd as rg
    >>> rg.diff(rg.tensor([1, 5, 2]))
    tensor([ 4, -3])
    """
    x = require_tensor("diff", "input", 1, input)
    times = int_from("diff", "n", 2, n)
    if not x.array.ndim:
        raise ShapeError("diff expects input to be at least one-dimensional")
    d = one_dim("diff", dim, x.array.ndim, numpy)
    if times < 0:
        raise RuntimeError(f"order must be non-negative but got {times}")
    for more in (prepend, append):
        _check_more(x.array.shape, more, d)
    given = [v for v in (prepend, x, append) if v is not None]
    if times == 0:
        return deliver(copy_(Tensor(backend_of(x.array).empty_like(x.array), share=True), x), out)
    found = cat(given, d) if len(given) > 1 else x
    for _ in range(min(times, found.array.shape[d])):
        found = _neighbours(logical_xor if found.array.dtype.kind == "b" else sub, found, d)
    return deliver(found, out)


def _neighbours(operation: Any, x: Any, dim: int) -> Any:
    """An operation on each element and the one before it."""
    count = max(x.array.shape[dim] - 1, 0)
    first = min(x.array.shape[dim], 1)
    return operation(narrow(x, dim, first, count), narrow(x, dim, 0, count))


def _check_more(shape: Shape, more: Any, dim: int) -> None:
    if more is None:
        return
    given = require_tensor("diff", "prepend", 4, more).array.shape
    if len(given) != len(shape):
        raise ShapeError("diff expects prepend or append to be the same dimension as input")
    for i, (a, b) in enumerate(zip(shape, given, strict=True)):
        if i != dim and a != b:
            raise ShapeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({i}) = {a}, but got tensor.size({i}) = {b}"
            )


# -- integrals -----------------------------------------------------------------------------------------------------


@public("trapezoid")
def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Number | Tensor = 1, dim: int = -1, axis: int | None = None
) -> Tensor:
    """The integral of samples `y` along `dim` by the trapezoidal rule, at places `x` or at steps of `dx`.

    >>> import retrograd as rg
    >>> rg.trapezoid(rg.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    dim = dim if axis is None else axis
    samples, d = _samples("trapezoid", y, x, dx, dim)
    if samples.array.ndim == 0:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    count = samples.array.shape[d]
    if count == 0:
        shape = samples.array.shape
        found: Tensor = zeros_beside(samples, shape[:d] + shape[d + 1 :])
        return found
    if x is not None:
        areas = _areas(samples, _steps(x, samples, d), d)
        return over(sum(areas, d), 2.0)
    ends = times(add(select(samples, d, 0), select(samples, d, -1)), 0.5)
    step: Any = dx  # which is a real number: that was looked at
    return times(sub(sum(samples, d), ends), float(step))


@public("trapz")
def trapz(
    y: Tensor, x: Tensor | None = None, *, dx: Number | Tensor = 1.0, dim: int = -1, axis: int | None = None
) -> Tensor:
    """Another name of `trapezoid`."""
    return trapezoid(y, x, dx=_step(dx), dim=dim, axis=axis)


def _step(dx: Any) -> Any:
    """A truth value as the number that `trapz`, unlike `trapezoid`, takes it for."""
    truth = (
        dx.array.dtype.kind == "b" and dx.array.size == 1 if isinstance(dx, Tensor) else isinstance(dx, bool)
    )
    return float(dx) if truth else dx


@public("cumulative_trapezoid")
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Number | Tensor = 1, dim: int = -1, axis: int | None = None
) -> Tensor:
    """The integral of samples `y` up to each sample along `dim`, by the trapezoidal rule.

    >>> import retrograd as rg
    >>> rg.cumulative_trapezoid(rg.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    samples, d = _samples("cumulative_trapezoid", y, x, dx, dim if axis is None else axis)
    if samples.array.ndim == 0:
        raise DimensionError("slice() cannot be applied to a 0-dim tensor.")
    if x is not None:
        return over(cumsum(_areas(samples, _steps(x, samples, d), d), d), 2.0)
    step: Any = dx
    return cumsum(times(_neighbours(add, samples, d), float(step) / 2.0), d)


def _samples(function: str, y: Any, x: Any, dx: Any, dim: Any) -> tuple[Any, int]:
    """The samples and the dimension to integrate along."""
    samples = require_tensor(function, "y", 1, y)
    dx = dx.array.item() if isinstance(dx, Tensor) and dx.array.size == 1 else python_number(dx)
    is_number = isinstance(dx, (int, float, complex))
    if not is_number or (x is not None and (not isinstance(x, Tensor) or dx != 1)):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - it takes (Tensor y, Tensor x) or "
            f"(Tensor y, Number dx), not x of {type_name(x)} and dx of {type_name(dx)}"
        )
    for name, v in (("`x` or `y`", x), ("`y`", samples)):
        if v is not None and (
            v.array.dtype.kind == "b" or (x is not None and samples.array.dtype.kind == "b")
        ):
            raise DtypeError(f"{function}: received a bool input for {name}, but bool is not supported")
    d = wrap_dim(dim, samples.array.ndim)
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{function}: Currently, we only support dx as a real number.")
    if x is not None and x.array.ndim == 1 and samples.array.ndim and x.array.size != samples.array.shape[d]:
        raise RuntimeError(
            f"{function}: There must be one `x` value for each sample point: there are {x.array.size} and "
            f"{samples.array.shape[d]}"
        )
    return samples, d


def _steps(x: Any, samples: Any, dim: int) -> Any:
    """The distances of the places along the samples' dimension."""
    ndim = samples.array.ndim
    if x.array.ndim == 1:
        x = reshape(x, (-1,) + (1,) * (ndim - dim - 1)) if ndim - dim > 1 else x
        return _neighbours(sub, x, 0)
    if x.array.ndim < ndim:
        x = reshape(x, (1,) * (ndim - x.array.ndim) + x.array.shape)
    return _neighbours(sub, x, dim)


def _areas(samples: Any, steps: Any, dim: int) -> Any:
    """Twice the areas between neighbours."""
    return mul(_neighbours(add, samples, dim), steps)


# -- gradients of samples ------------------------------------------------------------------------------------------


@public("gradient")
def gradient(
    input: Tensor,
    *,
    spacing: Number | Tensor | Sequence[Number | Tensor] | None = None,
    dim: Dims = None,
    edge_order: int = 1,
    axis: Dims = None,
) -> tuple[Tensor, ...]:
    """The derivative of samples along each dimension, or those in `dim`, by central differences.

    Args:
        spacing: the distance of neighbours, one for each dimension, or for each dimension a tensor of coordinates.
        edge_order: 1 or 2, the order of the one-sided differences at the edges.

    >>> import retrograd as rg
    >>> rg.gradient(rg.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    x = require_tensor("gradient", "input", 1, input)
    dim = axis if dim is None else dim
    dims = tuple(range(x.array.ndim)) if dim is None else _dims(dim, x.array.ndim)
    spacings = _spacings(spacing, dims, dim is not None, x.array.ndim)
    if x.array.dtype == np.uint8:
        raise DtypeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if x.array.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1, but dimension "
                f"{d} has size {x.array.shape[d]}"
            )
    found = []
    for d, s in zip(dims, spacings, strict=True):
        along = _by_coordinates if isinstance(s, Tensor) else _by_steps
        found.append(along(x, d, s, edge_order))
    return tuple(found)


def _dims(dim: Any, ndim: int) -> Shape:
    """The dimensions in the order in which they were given."""
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    wrap_dims(tuple(given), ndim)  # raises if one appears twice
    return tuple([wrap_dim(d, ndim) for d in given])


def _spacings(spacing: Any, dims: Shape, chosen: bool, ndim: int) -> list[Any]:
    """A number or a tensor of coordinates for each dimension."""
    if isinstance(spacing, Tensor) and spacing.array.ndim:
        raise TypeError(
            "gradient() received an invalid combination of arguments - put coordinates into a tuple"
        )
    if spacing is None or not isinstance(spacing, (tuple, list)):
        one = 1.0 if spacing is None else spacing.item() if isinstance(spacing, Tensor) else spacing
        return [one] * len(dims)
    if len(spacing) != len(dims):
        what = "torch.gradient expected spacing to be unspecified, a scalar"
        raise RuntimeError(
            f"{what} or it's spacing and dim arguments to have the same length, but got a spacing argument of length "
            f"{len(spacing)} and a dim argument of length {len(dims)}."
            if chosen
            else f"{what}, or a list of length equal to 'self.dim() = {ndim}', since dim argument was not given, but "
            f"got a list of length {len(spacing)}"
        )
    for s in spacing:
        if isinstance(s, Tensor) and s.array.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{s.array.ndim} dimensions!"
            )
    devices = {str(s.device) for s in spacing if isinstance(s, Tensor)}
    if len(devices) > 1:
        named = " and ".join(sorted(devices))
        raise RuntimeError(
            f"torch.gradient expected each tensor to be on the same device, but got devices {named}!"
        )
    return list(spacing)


def _at(x: Any, dim: int, start: int, count: int = 1) -> Any:
    """`count` elements along a dimension; a negative start counts from its end."""
    return narrow(x, dim, start % x.array.shape[dim], count)


def _by_steps(x: Any, dim: int, step: Any, edge_order: int) -> Any:
    """The derivative along a dimension of samples with equal distances."""
    inner = max(x.array.shape[dim] - 2, 0)
    middle = over(
        over(sub(narrow(x, dim, min(2, x.array.shape[dim]), inner), narrow(x, dim, 0, inner)), 2.0), step
    )
    if edge_order == 1:
        first = over(sub(_at(x, dim, 1), _at(x, dim, 0)), step)
        last = over(sub(_at(x, dim, -1), _at(x, dim, -2)), step)
    else:
        falling = sub(
            add(times(_at(x, dim, 0), -1.5), times(_at(x, dim, 1), 2.0)), times(_at(x, dim, 2), 0.5)
        )
        rising = add(
            sub(times(_at(x, dim, -1), 1.5), times(_at(x, dim, -2), 2.0)), times(_at(x, dim, -3), 0.5)
        )
        first, last = over(falling, step), over(rising, step)
    return cat([first, middle, last], dim)


def _by_coordinates(x: Any, dim: int, places: Any, edge_order: int) -> Any:
    """The derivative along a dimension of samples at given coordinates: of the parabola through three of them."""
    line = (-1,) + (1,) * (x.array.ndim - dim - 1)
    steps = _neighbours(sub, places, 0)
    count = steps.array.shape[0] - 1
    a, b = narrow(steps, 0, 0, count), narrow(steps, 0, min(1, count + 1), count)
    weights = (
        div(neg(b), mul(a, add(a, b))),
        div(sub(b, a), mul(a, b)),
        div(a, mul(b, add(a, b))),
    )
    samples = [narrow(x, dim, min(i, x.array.shape[dim]), count) for i in range(3)]
    middle = _weighted([reshape(w, line) for w in weights], samples)
    if edge_order == 1:
        first = div(sub(_at(x, dim, 1), _at(x, dim, 0)), select(steps, 0, 0))
        last = div(sub(_at(x, dim, -1), _at(x, dim, -2)), select(steps, 0, -1))
    else:
        a, b = select(steps, 0, 0), select(steps, 0, 1)
        weights = (
            div(neg(add(times(a, 2.0), b)), mul(a, add(a, b))),
            div(add(a, b), mul(a, b)),
            div(neg(a), mul(b, add(a, b))),
        )
        first = _weighted(weights, [_at(x, dim, i) for i in range(3)])
        a, b = select(steps, 0, -2), select(steps, 0, -1)
        weights = (
            div(b, mul(a, add(a, b))),
            div(neg(add(a, b)), mul(a, b)),
            div(add(a, times(b, 2.0)), mul(b, add(a, b))),
        )
        last = _weighted(weights, [_at(x, dim, i) for i in (-3, -2, -1)])
    return cat([first, middle, last], dim)


def _weighted(weights: Any, samples: Any) -> Any:
    """The sum of three samples, each times its weight."""
    return add(add(mul(weights[0], samples[0]), mul(weights[1], samples[1])), mul(weights[2], samples[2]))
