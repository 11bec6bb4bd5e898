"""`torch.autograd._functions`."""

from __future__ import annotations

import math
from typing import Any

from retrograd.autograd.function import Function
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError, sizes


class Reshaped(Function):
    """A tensor in another shape of as many elements: `Resize.apply(x, (2, 3))`."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes_: Any) -> Tensor:
        """The tensor in that shape."""
        if math.prod(sizes_) != tensor.numel():
            raise ShapeError(
                f"requested resize to {sizes(sizes_)} ({math.prod(sizes_)} elements in total), but the given tensor "
                f"has a size of {sizes(tensor.shape)} ({tensor.numel()} elements). autograd's resize can only change "
                "the shape of a given tensor, while preserving the number of elements."
            )
        ctx.input_sizes = tensor.shape
        return tensor.clone().reshape(sizes_)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        """The gradient in the shape of the input."""
        return grad_output.reshape(ctx.input_sizes), None


Resize = Reshaped
