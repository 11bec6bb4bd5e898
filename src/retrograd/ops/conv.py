"""Convolution over one, two or three dimensions, and its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from retrograd.core.apply import apply_n
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DTYPE_NAMES, DtypeError, ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import require_tensor
from retrograd.ops.convolve import Convolution, ConvTbc, Geometry, batch_first
from retrograd.ops.pad import pad as padded
from retrograd.ops.shape import integer
from retrograd.ops.sliding import Sliding, ints, sliding, spread_ints
from retrograd.values import Array, Shape

# -- checks --------------------------------------------------------------------------------------------------------


class Options(NamedTuple):
    """The options of one call, as many numbers as there are dimensions."""

    stride: Shape
    padding: Shape
    dilation: Shape
    output_padding: Shape
    groups: int
    transposed: bool


def _tensor(function: str, name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got {type_name(value)} for '{name}', but "
            "expected (Tensor input, Tensor weight, Tensor bias = None, …)"
        )
    return value


def _numbers(function: str, name: str, value: Any, n: int) -> Shape:
    if type(value) is int:
        return (value,) * n
    try:
        given = ints(function, name, 4, value)
    except TypeError:
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got {type_name(value)} for '{name}', but "
            "expected an int or a tuple of ints"
        ) from None
    message = (
        f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, "
        f"but got {name}={sizes(given)}"
    )
    return spread_ints(given, n, message)


def _check_options(o: Options, w: Array) -> None:
    if o.groups <= 0:
        raise ShapeError("non-positive groups is not supported")
    if min(o.stride) <= 0:
        raise ShapeError(f"non-positive stride is not supported, got {sizes(o.stride)}")
    if min(o.padding) < 0:
        raise ShapeError(f"negative padding is not supported, got {sizes(o.padding)}")
    if min(o.output_padding) < 0:
        raise ShapeError(f"negative output_padding is not supported, got {sizes(o.output_padding)}")
    if min(o.dilation) <= 0:
        raise ShapeError(f"dilation should be greater than zero, but got {sizes(o.dilation)}")
    if len(w) < o.groups:
        raise ShapeError(
            f"Given groups={o.groups}, expected weight to be at least {o.groups} at dimension 0, but got weight of "
            f"size {sizes(w.shape)} instead"
        )
    if len(w) % o.groups:
        raise ShapeError(
            f"Given groups={o.groups}, expected weight to be divisible by {o.groups} at dimension 0, but got weight of "
            f"size {sizes(w.shape)} instead"
        )
    if min(w.shape[2:]) < 1:
        raise ShapeError(
            f"a kernel needs an element in each dimension, but got weight of size {sizes(w.shape)}"
        )


def _check_shapes(o: Options, x: Array, w: Array, b: Array | None) -> None:
    kind = "transposed=1" if o.transposed else f"groups={o.groups}"
    wanted = len(w) if o.transposed else w.shape[1] * o.groups
    if x.shape[1] != wanted:
        raise ShapeError(
            f"Given {kind}, weight of size {sizes(w.shape)}, expected input{sizes(x.shape)} to have {wanted} channels, "
            f"but got {x.shape[1]} channels instead"
        )
    outputs = w.shape[1] * o.groups if o.transposed else len(w)
    if b is not None and b.shape != (outputs,):
        raise ShapeError(
            f"Given {'transposed=1, ' if o.transposed else ''}weight of size {sizes(w.shape)}, expected bias to be "
            f"1-dimensional with {outputs} elements, but got bias of size {sizes(b.shape)} instead"
        )
    if 0 in x.shape[2:] and x.size == 0 and (o.transposed or max(o.padding) > 0):
        raise ShapeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {sizes(x.shape)}"
        )


def _check_dtypes(x: Array, w: Array, b: Array | None) -> None:
    if x.dtype.kind == "b":
        raise unsupported_dtype("slow_conv2d_cpu", x.dtype, "convert it with .float()")
    for name, other in (("weight", w), ("bias", b)):
        if other is not None and other.dtype != x.dtype:
            mine, its = DTYPE_NAMES[str(x.dtype)], DTYPE_NAMES[str(other.dtype)]
            raise DtypeError(
                f"Input type ({mine.lower()}) and {name} type ({its.lower()}) should be the same: expected scalar type "
                f"{mine} but found {its}. Convert one with .to(dtype)."
            )


def _by(numbers: Sequence[int]) -> str:
    return "(" + " x ".join([str(n) for n in numbers]) + ")"


def _forward_geometry(o: Options, x: Array, w: Array) -> Geometry:
    windows = sliding(x.shape[2:], w.shape[2:], o.stride, o.padding, o.dilation)
    room = [n + 2 * p for n, p in zip(windows.size, o.padding, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(o.dilation, windows.kernel, strict=True)]
    if any(r > n for r, n in zip(reach, room, strict=True)):
        raise ShapeError(
            f"Calculated padded input size per channel: {_by(room)}. Kernel size: {_by(reach)}. Kernel size can't be "
            "greater than actual input size. Pad the input, or take a smaller kernel or dilation."
        )
    return Geometry(windows, o.groups)


def _transposed_geometry(o: Options, x: Array, w: Array) -> Geometry:
    size = []
    for n, k, s, p, d, extra in zip(
        x.shape[2:], w.shape[2:], o.stride, o.padding, o.dilation, o.output_padding, strict=True
    ):
        if extra >= max(s, d):
            raise ShapeError(
                "output padding must be smaller than either stride or dilation, but got output_padding: "
                f"{sizes(o.output_padding)} stride: {sizes(o.stride)} dilation: {sizes(o.dilation)}"
            )
        size.append((n - 1) * s - 2 * p + d * (k - 1) + extra + 1)
    if min(size) < 1:
        raise ShapeError(
            f"Given input size per channel: {_by(x.shape[2:])}. Calculated output size per channel: {_by(size)}. "
            "Output size is too small"
        )
    return Geometry(Sliding(tuple(size), w.shape[2:], o.stride, o.padding, o.dilation, x.shape[2:]), o.groups)


def _convolved(x: Tensor, w: Tensor, b: Tensor | None, o: Options) -> Any:
    a, weight, bias = x.array, w.array, None if b is None else b.array
    _check_options(o, weight)
    if a.ndim != weight.ndim:
        raise ShapeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {sizes(weight.shape)}, but "
            f"got {a.ndim}-dimensional input of size {sizes(a.shape)} instead"
        )
    _check_shapes(o, a, weight, bias)
    _check_dtypes(a, weight, bias)
    geometry = _transposed_geometry(o, a, weight) if o.transposed else _forward_geometry(o, a, weight)
    return apply_n(Convolution(geometry, o.transposed, o.output_padding), (x, w, b))


def _convolve(
    function: str,
    n: int,
    operands: tuple[Any, Any, Any],
    stride: Any,
    padding: Any,
    dilation: Any,
    output_padding: Any,
    groups: Any,
    transposed: bool,
) -> Any:
    """A convolution over the last `n` dimensions, of a batch or of one sample."""
    x, w = _tensor(function, "input", operands[0]), _tensor(function, "weight", operands[1])
    b = None if operands[2] is None else _tensor(function, "bias", operands[2])
    if x.array.ndim not in (n + 1, n + 2):
        raise ShapeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {function}, but got input of size: "
            f"{sizes(x.array.shape)}"
        )
    if w.array.ndim < 3:
        raise ShapeError(f"weight should have at least three dimensions, got {sizes(w.array.shape)}")
    single = x.array.ndim == n + 1
    x = x.unsqueeze(0) if single else x
    kernel = w.array.shape[2:]
    steps, gaps = _numbers(function, "stride", stride, n), _numbers(function, "dilation", dilation, n)
    if len(kernel) != n:  # a weight of another rank is reported as PyTorch does
        _numbers(function, "stride", steps, len(kernel))
    if isinstance(padding, str):
        x, border = _named_padding(x, padding, kernel, steps, gaps)
    else:
        border = _numbers(function, "padding", padding, n)
    more = _numbers(function, "output_padding", output_padding, n)
    out = _convolved(x, w, b, Options(steps, border, gaps, more, integer(groups), transposed))
    return out.squeeze(0) if single else out


def _named_padding(x: Any, padding: str, kernel: Shape, stride: Shape, dilation: Shape) -> tuple[Any, Shape]:
    """The border of padding='same' or 'valid'; one of odd width is put around the input here."""
    if padding == "valid":
        return x, (0,) * len(kernel)
    if padding != "same":
        raise ShapeError(f"Invalid padding string: '{padding}'. It can be 'same', 'valid' or numbers.")
    if max(stride) > 1:
        raise ShapeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(t % 2 for t in total):
        warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created",
            UserWarning,
        )
        x = padded(x, [width for t in reversed(total) for width in (0, t % 2)])
    return x, tuple([t // 2 for t in total])


# -- functions -----------------------------------------------------------------------------------------------------


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Any = 1,
) -> Any:
    """The convolution of a signal [batch, channel, length] with a weight [output, channel / groups, length].

    Args:
        bias: one number per output channel, or None.
        stride: how far apart the windows begin.
        padding: how many zeros to put at both ends, or "valid" (none), or "same" (the output as long as the input).
        dilation: how far apart the elements of a window are.
        groups: into how many independent convolutions the channels are divided.

    >>> import retrograd as rg
    >>> rg.conv1d(rg.tensor([[[1.0, 2.0, 4.0]]]), rg.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 2.]]])
    """
    return _convolve("conv1d", 1, (input, weight, bias), stride, padding, dilation, 0, groups, False)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Any = 1,
) -> Any:
    """The convolution of images [batch, channel, height, width]; see conv1d.

    >>> import retrograd as rg
    >>> rg.conv2d(rg.ones(1, 3, 32, 32), rg.ones(16, 3, 3, 3), padding=1).shape
    torch.Size([1, 16, 32, 32])
    """
    return _convolve("conv2d", 2, (input, weight, bias), stride, padding, dilation, 0, groups, False)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: Any = 1,
) -> Any:
    """The convolution of volumes [batch, channel, depth, height, width]; see conv1d."""
    return _convolve("conv3d", 3, (input, weight, bias), stride, padding, dilation, 0, groups, False)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv1d, for a weight [channel, output / groups, length].

    Args:
        stride, padding, dilation, groups: those of the convolution that this is the transpose of.
        output_padding: what to add to the length of the output, which `stride` leaves open.

    >>> import retrograd as rg
    >>> rg.conv_transpose1d(rg.tensor([[[1.0, 2.0]]]), rg.tensor([[[1.0, 1.0, 1.0]]]), stride=2)
    tensor([[[1., 1., 3., 2., 2.]]])
    """
    operands = (input, weight, bias)
    return _convolve("conv_transpose1d", 1, operands, stride, padding, dilation, output_padding, groups, True)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv2d; see conv_transpose1d."""
    operands = (input, weight, bias)
    return _convolve("conv_transpose2d", 2, operands, stride, padding, dilation, output_padding, groups, True)


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of conv3d; see conv_transpose1d."""
    operands = (input, weight, bias)
    return _convolve("conv_transpose3d", 3, operands, stride, padding, dilation, output_padding, groups, True)


def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: Any,
) -> Any:
    """A convolution of any rank, or its transpose, of a batch; all options must be given."""
    x, w = (
        require_tensor("convolution", "input", 1, input),
        require_tensor("convolution", "weight", 2, weight),
    )
    b = None if bias is None else require_tensor("convolution", "bias", 3, bias)
    n = w.array.ndim - 2
    if n < 1:
        raise ShapeError(f"weight should have at least three dimensions, got {sizes(w.array.shape)}")
    o = Options(
        _numbers("convolution", "stride", stride, n),
        _numbers("convolution", "padding", padding, n),
        _numbers("convolution", "dilation", dilation, n),
        _numbers("convolution", "output_padding", output_padding, n),
        integer(groups),
        bool(transposed),
    )
    return _convolved(x, w, b, o)


def conv_tbc(input: Any, weight: Any, bias: Any, pad: Any = 0) -> Any:
    """A convolution of [time, batch, channel] with a weight [place, channel, output channel]."""
    x, w = require_tensor("conv_tbc", "input", 1, input), require_tensor("conv_tbc", "weight", 2, weight)
    b = require_tensor("conv_tbc", "bias", 3, bias)
    if x.array.ndim != 3:
        raise ShapeError(
            f"Input must have 3 dims: time, batch, in_channel, but it is of size {sizes(x.array.shape)}"
        )
    if w.array.ndim != 3:
        raise ShapeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels, but it is of size "
            f"{sizes(w.array.shape)}"
        )
    if b.array.ndim != 1:
        raise ShapeError(f"Bias must be 1-D, but it is of size {sizes(b.array.shape)}")
    if x.array.shape[2] != w.array.shape[1]:
        raise ShapeError(
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor: they are "
            f"{x.array.shape[2]} and {w.array.shape[1]}"
        )
    if b.array.shape[0] != w.array.shape[2]:
        raise ShapeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    _check_dtypes(x.array, w.array, b.array)
    o = Options((1,), (integer(pad),), (1,), (0,), 1, False)
    geometry = _forward_geometry(o, batch_first(x.array), w.array.swapaxes(0, 2))
    return apply_n(ConvTbc(geometry, False, (0,)), (x, w, b))


NOT_METHODS: tuple[Any, ...] = (
    conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, convolution, conv_tbc,
)  # fmt: skip
FUNCTIONAL: dict[str, Any] = {f.__name__: f for f in NOT_METHODS if f is not convolution}
