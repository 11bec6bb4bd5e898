"""Pooling: maxima, means and norms of windows, of fixed size or as many as wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.module import Module
from retrograd.nn.tuples import repeated


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Any = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _options(self) -> dict[str, Any]:
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "ceil_mode": self.ceil_mode,
            "return_indices": self.return_indices,
        }

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of a signal.

    Args:
        kernel_size: of the window.
        stride: steps between windows, by default the size of one.
        padding: how much of minus infinity is added to both sides.
        dilation: steps between elements of a window.
        return_indices: give where the largest elements are, too; `MaxUnpool1d` wants to know.
        ceil_mode: whether a window may begin inside and end outside.

    >>> import retrograd as rg
    >>> rg.nn.MaxPool1d(2)(rg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.max_pool1d(input, self.kernel_size, **self._options())


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of an image. The arguments are those of MaxPool1d; sizes may be pairs.

    >>> import retrograd as rg
    >>> rg.nn.MaxPool2d(2)(rg.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.max_pool2d(input, self.kernel_size, **self._options())


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of a volume. The arguments are those of MaxPool1d."""

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.max_pool3d(input, self.kernel_size, **self._options())


class _MaxUnpoolNd(Module):
    dims: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size: tuple[Any, ...] = repeated(kernel_size, self.dims)
        self.stride: tuple[Any, ...] = repeated(kernel_size if stride is None else stride, self.dims)
        self.padding: tuple[Any, ...] = repeated(padding, self.dims)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts what MaxPool1d found back where it was, with zeros around.

    Args:
        kernel_size: of the window that was pooled.
        stride: steps between windows, by default the size of one.
        padding: what had been added.

    >>> import retrograd as rg
    >>> pooled, indices = rg.nn.MaxPool1d(2, return_indices=True)(rg.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    >>> rg.nn.MaxUnpool1d(2)(pooled, indices)
    tensor([[[0., 3., 2., 0.]]])
    """

    dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The elements at their places."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts what MaxPool2d found back where it was. The arguments are those of MaxUnpool1d."""

    dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The elements at their places."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts what MaxPool3d found back where it was. The arguments are those of MaxUnpool1d."""

    dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The elements at their places."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of a signal.

    Args:
        kernel_size: of the window.
        stride: steps between windows, by default the size of one.
        padding: how many zeros are added to both sides.
        ceil_mode: whether a window may begin inside and end outside.
        count_include_pad: whether the zeros count.

    >>> import retrograd as rg
    >>> rg.nn.AvgPool1d(2)(rg.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size: Any = repeated(kernel_size, 1)
        self.stride: Any = repeated(kernel_size if stride is None else stride, 1)
        self.padding: Any = repeated(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of an image.

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad: as AvgPool1d has them.
        divisor_override: what sums are divided by, in the place of the size of the window.

    >>> import retrograd as rg
    >>> rg.nn.AvgPool2d(2)(rg.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Any = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _options(self) -> tuple[Any, ...]:
        return self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool2d(input, self.kernel_size, *self._options())


class AvgPool3d(AvgPool2d):
    """The mean of each window of a volume. The arguments are those of AvgPool2d."""

    _added_later: ClassVar[dict[str, Any]] = {"padding": 0, "ceil_mode": False, "count_include_pad": True}

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool3d(input, self.kernel_size, *self._options())


class _FractionalMaxPoolNd(Module):
    dims: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size: tuple[Any, ...] = repeated(kernel_size, self.dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size: tuple[Any, ...] | None = (
            None if output_size is None else repeated(output_size, self.dims)
        )
        self.output_ratio: tuple[Any, ...] | None = (
            None if output_ratio is None else repeated(output_ratio, self.dims)
        )
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _options(self) -> dict[str, Any]:
        return {
            "output_size": self.output_size,
            "output_ratio": self.output_ratio,
            "return_indices": self.return_indices,
            "_random_samples": self._random_samples,
        }


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element of each of windows that are laid at random, so that there are as many as wanted.

    Args:
        kernel_size: of the window.
        output_size: how many windows there are.
        output_ratio: as a share of the input's size.
        return_indices: give where the largest elements are, too.

    >>> import retrograd as rg
    >>> rg.nn.FractionalMaxPool2d(2, output_size=3)(rg.ones(1, 7, 7)).shape
    torch.Size([1, 3, 3])
    """

    dims = 2

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.fractional_max_pool2d(input, self.kernel_size, **self._options())


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """As FractionalMaxPool2d, for volumes."""

    dims = 3

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.fractional_max_pool3d(input, self.kernel_size, **self._options())


class _LPPoolNd(Module):
    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of a signal.

    Args:
        norm_type: p.
        kernel_size: of the window.
        stride: steps between windows, by default the size of one.
        ceil_mode: whether a window may begin inside and end outside.

    >>> import retrograd as rg
    >>> rg.nn.LPPool1d(2, 2)(rg.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of an image. The arguments are those of LPPool1d."""

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of a volume. The arguments are those of LPPool1d."""

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


# ---- as many windows as wanted --------------------------------------------------------------------------------------


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element of each of as many windows of a signal as wanted.

    Args:
        output_size: how many windows there are; in a tuple, None is as many as there are elements.
        return_indices: give where the largest elements are, too.

    >>> import retrograd as rg
    >>> rg.nn.AdaptiveMaxPool1d(2)(rg.arange(6.0).reshape(1, 6))
    tensor([[2., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """As AdaptiveMaxPool1d, for images."""

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """As AdaptiveMaxPool1d, for volumes."""

    def forward(self, input: Tensor) -> Any:
        """The largest elements."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of as many windows of a signal as wanted.

    Args:
        output_size: how many windows there are; in a tuple, None is as many as there are elements.

    >>> import retrograd as rg
    >>> rg.nn.AdaptiveAvgPool1d(2)(rg.arange(6.0).reshape(1, 6))
    tensor([[1., 4.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """As AdaptiveAvgPool1d, for images.

    >>> import retrograd as rg
    >>> rg.nn.AdaptiveAvgPool2d(1)(rg.tensor([[[1.0, 3.0], [5.0, 7.0]]]))
    tensor([[[4.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """As AdaptiveAvgPool1d, for volumes."""

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.adaptive_avg_pool3d(input, self.output_size)
