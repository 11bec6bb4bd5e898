"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from retrograd.core.tensor import Tensor
from retrograd.ops.shape.join import cat
from retrograd.ops.tensor.attributes import typename


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in one vector.

    >>> import retrograd as rg
    >>> rg.nn.utils.parameters_to_vector([rg.ones(2), rg.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    parts: list[Tensor] = []
    for param in parameters:
        _check_device(param, parts[0] if parts else param)
        parts.append(param.reshape(-1))
    return cat(parts)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Gives parameters the elements of a vector, in their order, as their data.

    >>> import retrograd as rg
    >>> layer = rg.nn.Linear(2, 1)
    >>> rg.nn.utils.vector_to_parameters(rg.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.bias
    Parameter containing:
    tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for param in parameters:
        _check_device(param, vec)
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end


def _check_device(param: Tensor, other: Tensor) -> None:
    if param.device != other.device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
