"""Convolutions of one, two and three dimensions, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.lazy_modules import LazyModuleMixin
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter, UninitializedParameter
from retrograd.nn.tuples import padding_of, repeated
from retrograd.ops.tensor.create import empty

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: their options, parameters and text."""

    dims: int
    transposed = False
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Any
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    _added_later: ClassVar[dict[str, Any]] = {"padding_mode": "zeros"}
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_channels(in_channels, out_channels, groups)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = repeated(kernel_size, self.dims)
        self.stride = repeated(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else repeated(padding, self.dims)
        self.dilation = repeated(dilation, self.dims)
        self.output_padding = (0,) * self.dims
        self.padding_mode = padding_mode
        _check_padding(self.padding, self.stride, padding_mode)
        self._reversed_padding_repeated_twice = padding_of(self._pairs())
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _pairs(self) -> list[tuple[int, int]]:
        """How much to pad before and after, by dimension."""
        if self.padding == "valid":
            return [(0, 0)] * self.dims
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [(total // 2, total - total // 2) for total in totals]
        return [(p, p) for p in self.padding]

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draws new initial values, uniform within 1 over the root of the numbers that make one output."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input and how much the convolution itself is to pad."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0

    def extra_repr(self) -> str:
        """What is printed of it."""
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * self.dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self.dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError(f"in_channels must be divisible by groups, but got {in_channels} and {groups}")
    if out_channels % groups != 0:
        raise ValueError(f"out_channels must be divisible by groups, but got {out_channels} and {groups}")


def _check_padding(padding: Any, stride: Sequence[int], mode: str) -> None:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if mode not in _MODES:
        raise ValueError(f"padding_mode must be one of {_MODES}, but got padding_mode='{mode}'")


class Conv1d(_ConvNd):
    """A convolution over signals: (N, C, L) or (C, L).

    Args:
        in_channels, out_channels: channels of the input and of the output.
        kernel_size: of the window.
        stride: steps between windows.
        padding: how much is added to both sides; "same" keeps the size, "valid" adds nothing.
        dilation: steps between elements of a window.
        groups: into how many parts the channels fall that know nothing of each other.
        bias: whether a number is added to each output channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> rg.nn.Conv1d(2, 4, kernel_size=3)(rg.ones(1, 2, 10)).shape
    torch.Size([1, 4, 8])
    """

    dims = 1

    def forward(self, input: Tensor) -> Tensor:
        """The convolved input."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """What a subclass that has another weight in mind calls or overrides."""
        input, padding = self._padded(input)
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_ConvNd):
    """A convolution over images: (N, C, H, W) or (C, H, W). The arguments are those of Conv1d; sizes may be pairs.

    >>> import retrograd as rg
    >>> rg.nn.Conv2d(3, 8, kernel_size=3, padding=1)(rg.ones(1, 3, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """

    dims = 2

    def forward(self, input: Tensor) -> Tensor:
        """The convolved input."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """What a subclass that has another weight in mind calls or overrides."""
        input, padding = self._padded(input)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_ConvNd):
    """A convolution over volumes: (N, C, D, H, W) or (C, D, H, W). The arguments are those of Conv1d.

    >>> import retrograd as rg
    >>> rg.nn.Conv3d(1, 2, kernel_size=2)(rg.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    dims = 3

    def forward(self, input: Tensor) -> Tensor:
        """The convolved input."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """What a subclass that has another weight in mind calls or overrides."""
        input, padding = self._padded(input)
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


# ---- transposes -----------------------------------------------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    """What the transposes share: the order of their arguments, and output sizes that may be asked for."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )
        self.output_padding: tuple[int, ...] = repeated(output_padding, self.dims)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What is to be added to one side of the output, so that it has the size that is wanted."""
        if output_size is None:
            return self.output_padding
        batched = 2 if input.dim() == self.dims + 2 else 1
        if len(output_size) == batched + self.dims:
            output_size = output_size[batched:]
        if len(output_size) != self.dims:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {self.dims} or "
                f"{batched + self.dims} elements (got {len(output_size)})"
            )
        least = [
            (input.shape[batched + d] - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(self.dims)
        ]
        most = [low + stride - 1 for low, stride in zip(least, self.stride, strict=True)]
        for size, low, high in zip(output_size, least, most, strict=True):
            if not low <= size <= high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                    f"input of {tuple(input.shape[2:])})"
                )
        return tuple(size - low for size, low in zip(output_size, least, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d: what its backward does with signals.

    Args:
        in_channels, out_channels: channels of the input and of the output.
        kernel_size: of the window.
        stride: steps between windows, in the output.
        padding: how much the convolution would have added to both sides of the output.
        output_padding: how much is added to one side of the output.
        groups: into how many parts the channels fall that know nothing of each other.
        bias: whether a number is added to each output channel.
        dilation: steps between elements of a window.
        padding_mode: "zeros" alone.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> rg.nn.ConvTranspose1d(4, 2, kernel_size=3, stride=2)(rg.ones(1, 4, 5)).shape
    torch.Size([1, 2, 11])
    """

    dims = 1

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The result; `output_size` chooses among the sizes that it could have."""
        extra = self._output_padding(input, output_size)
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d: what its backward does with images. The arguments are those of ConvTranspose1d.

    >>> import retrograd as rg
    >>> rg.nn.ConvTranspose2d(4, 2, kernel_size=2, stride=2)(rg.ones(1, 4, 5, 5)).shape
    torch.Size([1, 2, 10, 10])
    """

    dims = 2

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The result; `output_size` chooses among the sizes that it could have."""
        extra = self._output_padding(input, output_size)
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d: what its backward does with volumes. The arguments are those of ConvTranspose1d.

    >>> import retrograd as rg
    >>> rg.nn.ConvTranspose3d(1, 2, kernel_size=2)(rg.ones(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    dims = 3

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The result; `output_size` chooses among the sizes that it could have."""
        extra = self._output_padding(input, output_size)
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


# ---- lazy forms -----------------------------------------------------------------------------------------------------


class _LazyConv(LazyModuleMixin):
    """A convolution that learns `in_channels` from its first input."""

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, 0, kernel_size, *args, **kwargs)
        own: Any = self
        device, dtype = own.weight.device, own.weight.dtype
        own.out_channels = out_channels
        own.weight = UninitializedParameter(device=device, dtype=dtype)
        if own.bias is not None:
            own.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new initial values, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Takes `in_channels` from an input."""
        if not self.has_uninitialized_params():
            return
        own: Any = self
        if input.dim() not in (own.dims + 1, own.dims + 2):
            raise RuntimeError(
                f"Expected {own.dims + 1}D (unbatched) or {own.dims + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        self.in_channels: int = input.shape[-own.dims - 1]
        _check_channels(self.in_channels, own.out_channels, own.groups)
        own.weight.materialize(own._weight_shape())
        if own.bias is not None:
            own.bias.materialize((own.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that learns `in_channels` from its first input; the other arguments are those of Conv1d."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that learns `in_channels` from its first input; the other arguments are those of Conv2d.

    >>> import retrograd as rg
    >>> layer = rg.nn.LazyConv2d(8, 3)
    >>> layer(rg.zeros(1, 3, 5, 5)).shape
    torch.Size([1, 8, 3, 3])
    >>> layer.in_channels
    3
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that learns `in_channels` from its first input; the other arguments are those of Conv3d."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """A ConvTranspose1d that learns `in_channels` from its first input; its arguments are those of ConvTranspose1d."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """A ConvTranspose2d that learns `in_channels` from its first input; its arguments are those of ConvTranspose2d."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """A ConvTranspose3d that learns `in_channels` from its first input; its arguments are those of ConvTranspose3d."""

    cls_to_become = ConvTranspose3d
