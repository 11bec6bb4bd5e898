"""Initial values of parameters: functions that fill a tensor in place, without a trace in the graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from retrograd.autograd.modes import no_grad
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.ops.elementwise.choose import where
from retrograd.ops.linalg.factorizations import linalg_qr_of
from retrograd.ops.random.generator import Generator
from retrograd.ops.random.sampling import randperm
from retrograd.ops.shape.diagonals import diagonal
from retrograd.ops.tensor.create import empty_like

_LINEAR = {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much the spread of a layer's weights makes up for what a nonlinearity takes.

    Args:
        nonlinearity: the name of the function in `nn.functional`.
        param: the negative slope of `leaky_relu`, by default 0.01.

    >>> calculate_gain("leaky_relu", 0.0) == 2 ** 0.5
    True
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many numbers go into one output of a layer with this weight, and into how many outputs one number goes."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions: a weight has one for "
            "outputs and one for inputs"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fans = _calculate_fan_in_and_fan_out(tensor)
    return fans[mode == "fan_out"]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with numbers that are uniform between `a` and `b`."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fills with normal numbers of a mean and a standard deviation."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fills with normal numbers of which those outside of `a` to `b` are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            UserWarning,
        )

    def below(x: float) -> float:
        """The share of the normal distribution below x."""
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    with no_grad():
        if tensor.is_meta:
            return tensor
        if below((b - mean) / std) - below((a - mean) / std) > _ENOUGH:
            return tensor.copy_(_normal_between(tensor, mean, std, a, b, generator))
        return tensor.copy_(_uniform_accepted(tensor, mean, std, a, b, generator))


_ENOUGH = 0.3  # the share of normal numbers between two bounds from which it pays to draw normal numbers


def _normal_between(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Normal numbers, drawn again as long as some are not between the bounds."""
    low, high = like.new_tensor(a).item(), like.new_tensor(b).item()
    found = empty_like(like).normal_(mean, std, generator=generator)
    while (outside := (found < low) | (found > high)).any():
        found = where(outside, empty_like(found).normal_(mean, std, generator=generator), found)
    return found


def _uniform_accepted(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Uniform numbers, of which each is accepted with the chance that its density has beside the highest."""
    peak = ((max(a, min(mean, b)) - mean) / std) ** 2

    def draw() -> tuple[Tensor, Tensor]:
        drawn = empty_like(like).uniform_(a, b, generator=generator)
        chances = -0.5 * (((drawn - mean) / std) ** 2 - peak)
        return drawn, empty_like(like).uniform_(generator=generator).log_() > chances

    found, refused = draw()
    while refused.any():
        drawn, misses = draw()
        found = where(refused, drawn, found)
        refused &= misses
    return found


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with one value.

    >>> import retrograd as rg
    >>> rg.nn.init.constant_(rg.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with 0."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Makes a matrix the identity, as far as it goes.

    >>> import retrograd as rg
    >>> rg.nn.init.eye_(rg.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_()
        diagonal(tensor).fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes the weight of a convolution one that hands its channels on.

    Args:
        tensor: of 3, 4 or 5 dimensions.
        groups: in how many groups of the convolution.
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    out_channels = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(out_channels, tensor.shape[1])):
                tensor[(group * out_channels + channel, channel, *middle)] = 1
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with uniform numbers that keep the spread of values and gradients alike from layer to layer."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """As `xavier_uniform_`, with normal numbers."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warn("Initializing zero-element tensors is a no-op", UserWarning)
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fills with uniform numbers whose spread makes up for a rectifier after the layer.

    Args:
        tensor: a weight.
        a: the negative slope of `leaky_relu`.
        mode: "fan_in" keeps the spread of values, "fan_out" that of gradients.
        nonlinearity: the name of the function that follows.
        generator: of the random numbers.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """As `kaiming_uniform_`, with normal numbers."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Makes the rows of a weight, or its columns if it has fewer, orthogonal to each other.

    Args:
        tensor: of two dimensions at least; those after the first count as one.
        gain: what the result is multiplied with.
        generator: of the random numbers.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = linalg_qr_of(flat.t() if rows < columns else flat)
        q = q * diagonal(r, 0).sign()  # so that all orthogonal matrices are equally likely
        q = q.t() if rows < columns else q
        tensor.copy_(q.reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fills a matrix with normal numbers, and a share of each column with 0.

    Args:
        tensor: the matrix.
        sparsity: the share of zeros.
        std: the standard deviation of the others.
        generator: of the random numbers.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function under its old name, without the underscore."""
    old, new = function.__name__[:-1], function.__name__

    def renamed(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = old
    renamed.__doc__ = f"The old name of `{new}`."
    return renamed


# PyTorch's names of what fills without recording, which programs call: the functions above record nothing either.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_

uniform: Final = _deprecated(uniform_)
normal: Final = _deprecated(normal_)
constant: Final = _deprecated(constant_)
eye: Final = _deprecated(eye_)
dirac: Final = _deprecated(dirac_)
xavier_uniform: Final = _deprecated(xavier_uniform_)
xavier_normal: Final = _deprecated(xavier_normal_)
kaiming_uniform: Final = _deprecated(kaiming_uniform_)
kaiming_normal: Final = _deprecated(kaiming_normal_)
orthogonal: Final = _deprecated(orthogonal_)
sparse: Final = _deprecated(sparse_)

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]
