"""Modules that give their input another shape: flat, folded, shuffled, enlarged."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.module import Module


class Flatten(Module):
    """Makes several dimensions one.

    Args:
        start_dim: the first of them.
        end_dim: the last of them.

    >>> import retrograd as rg
    >>> rg.nn.Flatten()(rg.ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input in another shape."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes one dimension several.

    Args:
        dim: which one.
        unflattened_size: the sizes of those it becomes.

    >>> import retrograd as rg
    >>> rg.nn.Unflatten(1, (3, 4))(rg.ones(2, 12)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size: Any = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input in another shape."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Fold(Module):
    """Adds windows, which are columns, up to images.

    Args:
        output_size: of the images.
        kernel_size: of the windows.
        dilation: steps between elements of a window.
        padding: how much of the images' surroundings the windows cover.
        stride: steps between windows.

    >>> import retrograd as rg
    >>> rg.nn.Fold((3, 3), (2, 2))(rg.ones(1, 4, 4))[0, 0]
    tensor([[1., 2., 1.],
            [2., 4., 2.],
            [1., 2., 1.]])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The images."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The windows of images, as columns.

    Args:
        kernel_size: of the windows.
        dilation: steps between elements of a window.
        padding: how many zeros are put around.
        stride: steps between windows.

    >>> import retrograd as rg
    >>> rg.nn.Unfold(2)(rg.ones(1, 3, 4, 5)).shape
    torch.Size([1, 12, 12])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The windows."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class PixelShuffle(Module):
    """Makes channels pixels: (C * r * r, H, W) becomes (C, H * r, W * r).

    >>> import retrograd as rg
    >>> rg.nn.PixelShuffle(2)(rg.ones(1, 8, 3, 3)).shape
    torch.Size([1, 2, 6, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The larger images."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Makes pixels channels: the opposite of PixelShuffle.

    >>> import retrograd as rg
    >>> rg.nn.PixelUnshuffle(2)(rg.ones(1, 2, 6, 6)).shape
    torch.Size([1, 8, 3, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The smaller images."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Deals the channels of groups out, one of each group in turn.

    >>> import retrograd as rg
    >>> rg.nn.ChannelShuffle(2)(rg.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The channels in another order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"groups={self.groups}"


class Upsample(Module):
    """Gives signals, images or volumes another size.

    Args:
        size: the new size, or
        scale_factor: by how much it changes.
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: whether the corners stay where they are.
        recompute_scale_factor: take the factor that the rounded size has.

    >>> import retrograd as rg
    >>> rg.nn.Upsample(scale_factor=2)(rg.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    _added_later: ClassVar[dict[str, Any]] = {"recompute_scale_factor": True}

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name: str = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The input in another size."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """What is printed of it."""
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Gives images another size; each pixel is the nearest one of the input."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Gives images another size; each pixel is a mean of four, and corners stay where they are."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
