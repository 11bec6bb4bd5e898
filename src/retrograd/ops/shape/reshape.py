"""Shapes: the same elements under other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.casts import reinterpreted
from retrograd.backends.dtype_class import dtype as DtypeClass
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype
from retrograd.backends.shortage import SHORTAGE_TOLD, tell_shortage
from retrograd.core.apply import apply1
from retrograd.core.families import View
from retrograd.core.modes import INFERENCE, current
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.core.variant import variant
from retrograd.core.version import UNTRACKED
from retrograd.errors import OperandError, ShapeError, broadcast_error, sizes, type_name
from retrograd.ops.common import joint_shape, require_sequence, require_tensor, wrap_dim
from retrograd.ops.register import public
from retrograd.ops.tensor.convert import Clone, contiguous
from retrograd.values import Array, DType, Shape

SIZES: dict[str, str] = {"self_sym_sizes": "in_shape"}
Dims: TypeAlias = int | Sequence[int] | None  # one dimension, several, or all
DTYPES: Final[Any] = (DtypeClass, np.dtype, type)  # the classes of what `view` takes for a dtype


class Alias(View):
    """x itself, as another tensor"""

    def forward(self, xp: Backend, x: Array) -> Array:
        return x[...]

    def transpose(self, g: Any) -> Any:
        return g


class Expand(View):
    """x broadcast to a larger shape"""

    params: ClassVar[tuple[str, ...]] = ("size",)
    shown: ClassVar[dict[str, str]] = SIZES

    def __init__(self, size: Shape) -> None:
        self.size = size

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        # A broadcast array is read-only; where nothing is repeated it can stay writable.
        if x.shape == self.size:
            return x[...]
        if x.size == prod(self.size):
            return x.reshape(self.size)
        try:
            return xp.stretch(x, self.size)
        except ValueError as error:  # PyTorch has views of more elements than there are addresses
            tell_shortage(error)
            raise

    def transpose(self, g: Any) -> Any:
        return UPWARD.operators.sum_to(g, self.in_shape)


class Reshape(View):
    """the same elements in another shape, sharing memory"""

    node_name = "ViewBackward0"
    params: ClassVar[tuple[str, ...]] = ("size",)
    shown: ClassVar[dict[str, str]] = SIZES

    def __init__(self, size: Shape) -> None:
        self.size = size

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        if x.size:
            return x.reshape(self.size)
        with SHORTAGE_TOLD:  # lengths beside a 0 may be anything to PyTorch, but not to NumPy
            return x.reshape(self.size)

    def transpose(self, g: Any) -> Any:
        return g.reshape(self.in_shape)


ReshapeAlias = variant(
    Reshape, "ReshapeAliasBackward0", "a view whose elements do not lie in row-major order"
)


UnsafeView = variant(
    Reshape, "UnsafeViewBackward0", "another shape for a copy that nobody else has seen", is_view=False
)


class Squeeze(View):
    """x without its dimensions of size 1"""

    shown: ClassVar[dict[str, str]] = SIZES

    def axes(self, ndim: int) -> Sequence[int]:
        """The dimensions that may go."""
        return range(ndim)

    def forward(self, xp: Backend, x: Array) -> Array:
        self.in_shape = x.shape
        gone = tuple(d for d in self.axes(x.ndim) if x.ndim and x.shape[d] == 1)
        return x.squeeze(gone) if gone else x[...]

    def transpose(self, g: Any) -> Any:
        return g.reshape(self.in_shape)


class SqueezeDim(Squeeze):
    """x without one dimension, if its size is 1"""

    node_name = "SqueezeBackward1"
    params: ClassVar[tuple[str, ...]] = ("dim",)
    shown: ClassVar[dict[str, str]] = {"dim": "dim", **SIZES}

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def axes(self, ndim: int) -> Sequence[int]:
        return (self.dim,)


class SqueezeDims(Squeeze):
    """x without those of some dimensions whose size is 1"""

    node_name = "SqueezeBackward2"
    params: ClassVar[tuple[str, ...]] = ("dims",)
    shown: ClassVar[dict[str, str]] = {"dim": "dims", **SIZES}

    def __init__(self, dims: Shape) -> None:
        self.dims = dims

    def axes(self, ndim: int) -> Sequence[int]:
        return self.dims


class Unsqueeze(View):
    """x with a dimension of size 1 put in"""

    params: ClassVar[tuple[str, ...]] = ("dim",)
    shown: ClassVar[dict[str, str]] = {"dim": "dim"}

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: Backend, x: Array) -> Array:
        return x.reshape(x.shape[: self.dim] + (1,) + x.shape[self.dim :])

    def transpose(self, g: Any) -> Any:
        return g.squeeze(self.dim)


# -- sizes ---------------------------------------------------------------------------------------------------------


def integer(value: Any) -> int:
    """An int from whatever counts as one: NumPy's, and tensors of one integer."""
    if type(value) is int:
        return value
    if not hasattr(value, "__index__"):
        raise TypeError(f"an int is needed here, not {type_name(value)}: {value!r}")
    return int(value.__index__())


def sizes_of(function: str, argument: str, given: Sequence[Any]) -> Shape:
    """The ints of `f(2, 3)`, `f((2, 3))` or `f(size)`."""
    if not given or given[0] is None:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    try:
        return tuple([integer(n) for n in given])
    except TypeError:
        raise TypeError(f"{function}(): argument '{argument}' must be tuple of ints, not {given!r}") from None


def listed(function: str, argument: str, given: Any) -> Shape:
    """The ints of `f(x, (2, 3))`: a function, other than a method, takes them as one argument."""
    if given is not None and not isinstance(given, (tuple, list)):
        raise TypeError(
            f"{function}(): argument '{argument}' (position 2) must be tuple of ints, not {type_name(given)}"
        )
    return sizes_of(function, argument, (given,))


def inferred_shape(size: Shape, count: int) -> Shape:
    """A shape with its -1 filled in, checked against the number of elements."""
    known, unknown = known_size(size, count)
    if not _fills(known, unknown, count):
        raise ShapeError(f"shape '{sizes(size)}' is invalid for input of size {count}")
    return tuple([count // known if n == -1 else n for n in size]) if unknown else size


def known_size(size: Shape, count: int) -> tuple[int, bool]:
    """The product of the sizes that are given, and whether one is not: it is -1. Complains about what is no shape."""
    known, unknown = 1, 0
    for i, n in enumerate(size):
        if n < -1:
            raise ShapeError(f"invalid shape dimension {n} at index {i} of shape {sizes(size)}")
        if n == -1:
            unknown += 1
        else:
            known *= n
    if unknown > 1:
        raise ShapeError("only one dimension can be inferred")
    if unknown and known == 0 and count == 0:
        raise ShapeError(
            f"cannot reshape tensor of 0 elements into shape {sizes(size)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    return known, unknown == 1


def _fills(known: int, unknown: bool, count: int) -> bool:
    """Whether `count` elements fill a shape of which `known` and `unknown` are as `known_size` says."""
    return known != 0 and count % known == 0 if unknown else known == count


def broadcasts_to(shape: Shape, size: Shape) -> bool:
    """Whether a shape broadcasts to a size."""
    extra = len(size) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, size[extra:], strict=True))


def broadcasts_together(a: Shape, b: Shape) -> bool:
    """Whether two shapes broadcast to one."""
    return all(n in (1, m) or m == 1 for n, m in zip(reversed(a), reversed(b), strict=False))


def expanded_shape(x: Array, size: Shape) -> Shape:
    """The shape `x` is expanded to: -1 keeps a size, and only sizes of 1 are stretched."""
    extra = len(size) - x.ndim
    if extra < 0:
        kind = f"torch.{SCALAR_NAMES[x.dtype]}Tensor"
        raise ShapeError(
            f"expand({kind}{{{sizes(x.shape)}}}, size={sizes(size)}): the number of sizes provided ({len(size)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({x.ndim})"
        )
    found = list(size)
    for i, n in enumerate(size):
        if n == -1 and i >= extra:
            found[i] = x.shape[i - extra]
        elif n < 0:
            reason = (
                "isn't allowed in a leading, non-existing dimension"
                if n == -1
                else "is negative at dimension"
            )
            raise ShapeError(f"The expanded size of the tensor ({n}) {reason} {i}")
        elif i >= extra and x.shape[i - extra] not in (1, n):
            raise ShapeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({x.shape[i - extra]}) at "
                f"non-singleton dimension {i}.  Target sizes: {sizes(size)}.  Tensor sizes: {sizes(x.shape)}"
            )
    return tuple(found)


def shares_memory_as(x: Array, size: Shape) -> bool:
    """Whether `x` can take another shape without a copy: each run of dense dimensions must become whole ones."""
    if x.flags.c_contiguous or not x.size:
        return True
    wanted = iter([n for n in size if n != 1])
    for run in _dense_runs(x):
        filled = 1
        while filled < run:
            filled *= next(wanted)
        if filled != run:
            return False
    return True


def _dense_runs(x: Array) -> list[int]:
    """How many elements dimensions have together that follow each other in memory as those of a dense array do."""
    runs: list[int] = []
    end = 0  # the stride that a dimension must have to go on with the run
    for n, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        if n == 1:
            continue
        if runs and stride == end:
            runs[-1] *= n
        else:
            runs.append(n)
        end = stride * n
    return runs[::-1]


# -- functions -----------------------------------------------------------------------------------------------------


@public("reshape", method=True)
def reshape(input: Tensor, *given: int | Sequence[int], shape: Sequence[int] | None = None) -> Tensor:
    """The same elements in another shape; one size may be -1, to be inferred. A view where memory allows, else a copy.

    >>> import retrograd as rg
    >>> rg.arange(6).reshape(2, -1).shape
    torch.Size([2, 3])
    """
    x = require_tensor("reshape", "input", 1, input)
    return reshaped(x, inferred_shape(sizes_of("reshape", "shape", given or (shape,)), x.array.size))


def reshaped(x: Tensor, size: Shape) -> Tensor:
    """`x` in a shape that is known to fit."""
    if x.array.flags.c_contiguous:
        found: Tensor = apply1(Reshape(size), x)
    elif shares_memory_as(x.array, size):
        found = apply1(ReshapeAlias(size), x)
    else:
        found = apply1(UnsafeView(size), apply1(Clone("C"), x))
    return found


@public("Tensor.view")
def view(
    input: Tensor,
    *given: int | Sequence[int] | DType,
    size: Sequence[int] | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The same memory in another shape, or read as another dtype: `view(2, 3)`, `view(rg.int32)`.

    >>> import retrograd as rg
    >>> rg.zeros(4).view(2, 2).shape
    torch.Size([2, 2])
    """
    x = require_tensor("view", "input", 1, input)
    kind = dtype if dtype is not None else given[0] if len(given) == 1 else None
    if kind is not None and type(kind) is not int and isinstance(kind, DTYPES):
        return _viewed_as(x, as_dtype(kind))
    shape = inferred_shape(sizes_of("view", "size", given or (size,)), x.array.size)
    if not shares_memory_as(x.array, shape):
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    found: Tensor = apply1(Reshape(shape), x)
    return found


def _viewed_as(x: Tensor, dtype: Any) -> Tensor:
    """The same bytes as another dtype, which no gradient passes."""
    a = x.array
    if x.is_conj():
        raise RuntimeError(
            "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype. Call "
            "resolve_conj() first."
        )
    if a.dtype.itemsize != dtype.itemsize:
        _check_memory_as(x, dtype)
    twin = Tensor(reinterpreted(a, dtype), share=True)
    twin._counter = x._version_counter() if not current().special & INFERENCE else UNTRACKED
    return twin


def _check_memory_as(x: Tensor, dtype: Any) -> None:
    """Refuses to view memory as elements of another size where they would not lie one behind the other."""
    a, steps, offset = x.array, x.stride(), x.storage_offset()
    old, new = a.dtype.itemsize, dtype.itemsize
    what = f"to view {SCALAR_NAMES[a.dtype]} as {SCALAR_NAMES[dtype]} (different element sizes)"
    if a.ndim == 0:
        raise ShapeError(f"self.dim() cannot be 0 {what}")
    if steps[-1] != 1:
        raise ShapeError(f"self.stride(-1) must be 1 {what}, but got {steps[-1]}")
    if new < old:
        return
    ratio = new // old
    found = [("size(-1)", a.shape[-1]), ("storage_offset()", offset)]
    found += [(f"stride({i})", step) for i, step in enumerate(steps[:-1])]
    for name, number in found:
        if number % ratio:
            raise ShapeError(f"self.{name} must be divisible by {ratio} {what}, but got {number}")


@public("Tensor.as_subclass")
def as_subclass(self: Tensor, cls: type[Tensor]) -> Any:
    """A view of this tensor that is an instance of `cls`, a subclass of Tensor.

    >>> import retrograd as rg
    >>> class Metres(rg.Tensor): ...
    >>> rg.ones(2).as_subclass(Metres)
    Metres([1., 1.])
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
            f"your class inherits from Tensor: {cls!r}"
        )
    return apply1(Alias(), self)._in_class(cls)


@public("Tensor.view_as")
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` viewed in the shape of `other`."""
    return view(input, require_tensor("view_as", "other", 2, other).array.shape)


@public("Tensor.reshape_as")
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` reshaped to the shape of `other`."""
    return reshape(input, require_tensor("reshape_as", "other", 2, other).array.shape)


@public("Tensor.expand")
def expand(
    input: Tensor, *given: int | Sequence[int], size: Sequence[int] | None = None, implicit: bool = False
) -> Tensor:
    """A view with dimensions of size 1 stretched and new ones in front; -1 leaves a size as it is.

    >>> import retrograd as rg
    >>> rg.ones(3, 1).expand(2, -1, 4).shape
    torch.Size([2, 3, 4])
    """
    x = require_tensor("expand", "input", 1, input)
    found: Tensor = apply1(Expand(expanded_shape(x.array, sizes_of("expand", "size", given or (size,)))), x)
    return found


@public("Tensor.expand_as")
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` expanded to the shape of `other`."""
    return expand(input, require_tensor("expand_as", "other", 2, other).array.shape)


@public("broadcast_to")
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`input` expanded to `size`."""
    return expand(input, listed("broadcast_to", "size", size))


@public("Tensor.broadcast_to")
def broadcast_method(self: Tensor, *given: int | Sequence[int], size: Sequence[int] | None = None) -> Tensor:
    """The tensor expanded to `size`."""
    return expand(self, *given, size=size)


@public("broadcast_shapes")
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that all `shapes` broadcast to.

    >>> broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    found: Shape = ()
    for place, given in enumerate(shapes):
        if not isinstance(given, (int, tuple, list)):
            raise RuntimeError(
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {given}"
            )
        shape = (given,) if isinstance(given, int) else tuple(given)
        if shape and min(shape) < 0:
            raise ValueError(
                f"Attempting to broadcast a dimension with negative length! The shape is {shape}"
            )
        try:
            found = joint_shape(found, shape)
        except ValueError:
            pairs = zip(reversed(found), reversed(shape), strict=False)
            at = next(i for i, (a, b) in enumerate(pairs, 1) if a != b and 1 not in (a, b))
            raise ShapeError(
                f"Attempting to broadcast a dimension of length {shape[-at]} at -{at}! Mismatching argument at index "
                f"{place} had {shape}; but expected shape should be broadcastable to {list(found)}"
            ) from None
    return Size(found)


@public("broadcast_tensors")
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Each tensor expanded to the shape they all broadcast to.

    >>> import retrograd as rg
    >>> [t.shape for t in rg.broadcast_tensors(rg.zeros(2, 1), rg.zeros(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    shape: Shape = ()
    for t in tensors:
        try:
            shape = joint_shape(shape, t.array.shape)
        except ValueError:
            raise broadcast_error(shape, t.array.shape) from None
    return tuple(t if t.array.shape == shape else apply1(Expand(shape), t) for t in tensors)


@public("squeeze", method=True)
def squeeze(input: Tensor, *dims: int | Sequence[int], dim: Dims = None, axis: Dims = None) -> Tensor:
    """A view without dimensions of size 1: all of them, or those among `dim` (`axis` is accepted too).

    >>> import retrograd as rg
    >>> rg.ones(1, 3, 1).squeeze().shape, rg.ones(1, 3, 1).squeeze(0).shape
    (torch.Size([3]), torch.Size([3, 1]))
    """
    x = require_tensor("squeeze", "input", 1, input)
    given = dims[0] if len(dims) == 1 else dims or (axis if dim is None else dim)
    if given is None:
        found: Tensor = apply1(Squeeze(), x)
        return found
    ndim = x.array.ndim
    if not isinstance(given, (tuple, list)):
        found = apply1(SqueezeDim(wrap_dim(given, ndim)), x)
        return found
    axes = tuple([wrap_dim(d, ndim) for d in given])
    for d in axes:
        if axes.count(d) > 1:
            raise ShapeError(f"dim {d} appears multiple times in the list of dims")
    found = apply1(SqueezeDims(axes), x)
    return found


@public("unsqueeze", method=True)
def unsqueeze(input: Tensor, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """A view with a dimension of size 1 put in at `dim` (`axis` is accepted too).

    >>> import retrograd as rg
    >>> rg.unsqueeze(rg.zeros(3), 1).shape
    torch.Size([3, 1])
    """
    x = require_tensor("unsqueeze", "input", 1, input)
    if dim is None:
        dim = axis
        if axis is None:
            raise TypeError('unsqueeze() missing 1 required positional argument: "dim"')
    found: Tensor = apply1(Unsqueeze(wrap_dim(dim, x.array.ndim + 1)), x)
    return found


@public("flatten", method=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one; a view where memory allows."""
    x = require_tensor("flatten", "input", 1, input)
    shape = x.array.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshaped(x, (1,))
    if start == end:
        return x
    return reshaped(x, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


@public("unflatten", method=True)
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension as several; one of `sizes` may be -1."""
    x = require_tensor("unflatten", "input", 1, input)
    if not hasattr(dim, "__index__"):
        raise OperandError(f"unflatten(): argument 'dim' (position 1) must be int, not {type_name(dim)}")
    if not require_sequence("unflatten", "sizes", 2, sizes):
        raise ShapeError("unflatten: sizes must be non-empty")
    shape = x.array.shape
    d = wrap_dim(dim, len(shape))
    if not shape:
        raise ShapeError(f"unflatten: dimension {dim} of a tensor that has no dimensions cannot be split")
    wanted = sizes_of("unflatten", "sizes", (sizes,))
    if not _fills(*known_size(wanted, shape[d]), shape[d]):
        raise ShapeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the "
            "input tensor"
        )
    parts = inferred_shape(wanted, shape[d])
    return view(x, (*shape[:d], *parts, *shape[d + 1 :]))


@public("ravel", method=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension; a view where memory allows."""
    x = require_tensor("ravel", "input", 1, input)
    found: Tensor = apply1(Reshape((x.array.size,)), contiguous(x))
    return found


@public("numel")
def numel(input: Tensor) -> int:
    """The number of elements."""
    return int(require_tensor("numel", "input", 1, input).array.size)


@public("is_same_size", method=True)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    x, y = (
        require_tensor("is_same_size", "input", 1, input),
        require_tensor("is_same_size", "other", 2, other),
    )
    return bool(x.array.shape == y.array.shape)
