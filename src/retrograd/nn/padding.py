"""Padding: something around a signal, an image or a volume."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.module import Module
from retrograd.nn.tuples import repeated


class _PadNd(Module):
    """What all paddings share: how much there is on each side, from the last dimension to the first."""

    dims: int
    mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding: tuple[Any, ...] = repeated(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        """The input with its padding."""
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input with its padding."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """What is printed of it."""
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class _CircularPadNd(_PadNd):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """The input with its padding."""
        if input.dim() - self.dims not in (1, 2):
            raise ValueError(
                f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)"
            )
        return F.pad(input, self.padding, self.mode)


class ConstantPad1d(_ConstantPadNd):
    """A signal with a value on both sides.

    Args:
        padding: how much on each side: one number, or one for each side, the last dimension first.
        value: what is put there.

    >>> import retrograd as rg
    >>> rg.nn.ConstantPad1d((1, 2), 9.0)(rg.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2., 9., 9.]])
    """

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """An image with a value around it. The arguments are those of ConstantPad1d."""

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """A volume with a value around it. The arguments are those of ConstantPad1d."""

    dims = 3


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """A signal with zeros on both sides.

    >>> import retrograd as rg
    >>> rg.nn.ZeroPad1d(1)(rg.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """An image with zeros around it.

    >>> import retrograd as rg
    >>> rg.nn.ZeroPad2d(1)(rg.ones(1, 1, 1))
    tensor([[[0., 0., 0.],
             [0., 1., 0.],
             [0., 0., 0.]]])
    """


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """A volume with zeros around it."""


class ReflectionPad1d(_ReflectionPadNd):
    """A signal with its own mirror image on both sides.

    >>> import retrograd as rg
    >>> rg.nn.ReflectionPad1d(1)(rg.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """An image with its own mirror image around it."""

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """A volume with its own mirror image around it."""

    dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """A signal whose first and last elements are repeated.

    >>> import retrograd as rg
    >>> rg.nn.ReplicationPad1d(1)(rg.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 2., 2.]])
    """

    dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """An image whose border is repeated around it."""

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """A volume whose border is repeated around it."""

    dims = 3


class CircularPad1d(_CircularPadNd):
    """A signal that goes on at its other end.

    >>> import retrograd as rg
    >>> rg.nn.CircularPad1d(1)(rg.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    dims = 1


class CircularPad2d(_CircularPadNd):
    """An image that goes on at its other side."""

    dims = 2


class CircularPad3d(_CircularPadNd):
    """A volume that goes on at its other side."""

    dims = 3
