"""The arguments that poolings share: sizes, windows, and whether indices are wanted."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from retrograd.core.apply import apply_n
from retrograd.core.modes import FORWARD, current
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes, unsupported_dtype
from retrograd.ops.constants import share_version
from retrograd.ops.nn.sliding import LARGE, Sliding, ints, sliding, spread_ints
from retrograd.values import Shape

WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


def numbers(function: str, name: str, position: int, value: Any, rank: int) -> Shape:
    """As many ints as there are dimensions."""
    if type(value) is int and -LARGE < value < LARGE:
        return (value,) * rank
    given = ints(function, name, position, value)
    omitted = "omitted, " if name == "stride" else ""
    either = "" if function == "avg_pool3d" else "either "
    message = f"{function}: {name} must {either}be {omitted}a single int, or a tuple of {WORDS[rank]}"
    if rank == 1:
        message = (
            f"{function}() {name} must be an int, list of ints, or tuple of ints of size 1 but got size {len(given)}: "
            f"argument '{name}' should contain one int (got {len(given)})"
        )
    return spread_ints(given, rank, message)


def check_rank(function: str, x: Tensor, rank: int) -> None:
    """Complains about an input that is neither a sample nor a batch of samples, or has an empty one."""
    shape = x.array.shape
    if len(shape) not in (rank + 1, rank + 2):
        low, high = rank + 1, rank + 2
        text = (
            f"{function}: Expected {low}D or {high}D (batch mode) tensor with optional 0 dim batch size for input: a "
            f"non-empty {low}D or {high}D (batch mode) tensor expected for input (Expected {low} to {high} "
            f"dimensions), but got:{sizes(shape)}"
        )
        raise ShapeError(text)
    if 0 in shape[len(shape) - rank - 1 :]:
        raise ShapeError(
            f"{function}: Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{sizes(shape)}. Expected input's non-batch dimensions to have positive length."
        )


def _check_numbers(function: str, kernel: Shape, step: Shape, border: Shape, gap: Shape) -> None:
    """Complains about windows of no size, that do not move, or mostly beyond the border."""
    several = len(kernel) > 1  # of one dimension PyTorch says the number alone
    if several and min(step) == 0:
        raise ShapeError(f"{function}() stride must be greater than zero: stride should not be zero")
    for name, given in (("kernel_size", kernel), ("stride", step), ("dilation", gap)):
        if min(given) < 1:
            why = f": {name} should be greater than zero" if name == "dilation" and several else ""
            shown = sizes(given) if several else given[0]
            raise ShapeError(f"{function}() {name} must be greater than zero{why}, but got {shown}")
    for p, k, d in zip(border, kernel, gap, strict=True):
        if p < 0:
            raise ShapeError(
                f"{function}() padding must be non-negative: pad must be non-negative, but got pad: {p}"
            )
        if p > (d * (k - 1) + 1) // 2:
            raise ShapeError(
                f"{function}() padding should be at most half of kernel size: pad should be at most half of effective "
                f"kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )


def pool_windows(
    function: str,
    x: Tensor,
    rank: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil: bool,
) -> Sliding:
    """The windows of one call, checked."""
    kernel = numbers(function, "kernel_size", 2, kernel_size, rank)
    omitted = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    step = kernel if omitted else numbers(function, "stride", 3, stride, rank)
    border = numbers(function, "padding", 4, padding, rank)
    gap = numbers(function, "dilation", 5, dilation, rank)
    _check_once(function, kernel, step, border, gap)
    check_rank(function, x, rank)
    found: Sliding = _known(function, x.array.shape[-rank - 1 :], kernel, step, border, gap, ceil)
    return found


def _windows(
    function: str, shape: Shape, kernel: Shape, step: Shape, border: Shape, gap: Shape, ceil: bool
) -> Sliding:
    """The windows over all dimensions of a shape but its first, the channels."""
    windows = sliding(shape[1:], kernel, step, border, gap, ceil)
    if min(windows.number) < 1:
        channels = str(shape[0])
        before, after = (
            "x".join([channels, *map(str, windows.size)]),
            "x".join([channels, *map(str, windows.number)]),
        )
        raise ShapeError(
            f"{function}() Invalid computed output size: {min(windows.number)}. Given input size: ({before}). "
            f"Calculated output size: ({after}). Output size is too small: the padded input is smaller than kernel size"
        )
    return windows


# Networks ask for the same windows in every step.
_check_once: Final[Any] = lru_cache(maxsize=256)(_check_numbers)
_known: Final[Any] = lru_cache(maxsize=256)(_windows)


def check_kind(kernel: str, x: Tensor, kinds: str) -> None:
    """Complains about a dtype whose kind is not among these; int64 is 'l' where only it is taken."""
    dtype = x.array.dtype
    if dtype.kind not in kinds and not ("l" in kinds and dtype == "int64"):
        raise unsupported_dtype(kernel, dtype, "convert it with .float()")


def indices_wanted(x: Tensor, asked: bool) -> bool:
    """Whether somebody needs to know where the largest elements are."""
    state = current()
    return asked or (state.grad_enabled and x.requires_grad) or state.special & FORWARD != 0


def both(op: Any, x: Tensor) -> tuple[Any, Any]:
    """The largest elements and their positions; the op watches the positions for changes."""
    values, indices = apply_n(op, (x,))
    share_version(op, indices)
    return values, indices
