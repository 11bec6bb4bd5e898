"""Helpers of the distributions: numbers as tensors of one shape, probabilities and their logarithms, triangles."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, overload

from retrograd.autograd.modes import enable_grad
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import get_default_dtype
from retrograd.backends.limits import finfo
from retrograd.core.tensor import Tensor
from retrograd.lazy import load
from retrograd.ops.nn.softmax import functional_softmax
from retrograd.ops.random.sampling import normal
from retrograd.ops.shape.diagonals import tril_indices
from retrograd.ops.tensor.create import ones, zeros
from retrograd.ops.tensor.data import tensor
from retrograd.overrides.protocol import overrides
from retrograd.values import DType

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant: Final = 0.57721566490153286060
Given = Tensor | float  # a parameter, as a user may give it
Owner = TypeVar("Owner")
Found = TypeVar("Found")


def broadcast_all(*values: Given) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape. Numbers take the dtype and the device of the first tensor.

    >>> import retrograd as rg
    >>> broadcast_all(1, rg.tensor([2.0, 3.0]))
    (tensor([1., 1.]), tensor([2., 3.]))
    """
    given: tuple[Any, ...] = values  # which may be of a class that overrides functions
    if not all(isinstance(v, (Tensor, int, float, complex)) or overrides(type(v)) for v in given):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    dtype: DType = get_default_dtype()
    device: Device | None = None
    first = next((v for v in values if isinstance(v, Tensor)), None)
    if first is not None:
        dtype, device = first.dtype, first.device
    numbers = (int, float, complex)
    found = [tensor(v, dtype=dtype, device=device) if isinstance(v, numbers) else v for v in values]
    public_form: Any = load("retrograd").broadcast_tensors  # which asks what overrides functions
    return cast("tuple[Tensor, ...]", public_form(*found))


def _standard_normal(shape: tuple[int, ...], dtype: DType, device: Device) -> Tensor:
    """Normal numbers with mean 0 and deviation 1."""
    return normal(zeros(shape, dtype=dtype, device=device), ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over so many dimensions on the right."""
    return value if dim == 0 else value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


# ---- probabilities and their logarithms -----------------------------------------------------------------------------


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds if it is about yes and no, otherwise of logarithms along the last dimension."""
    return logits.sigmoid() if is_binary else functional_softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities that are neither 0 nor 1, but as near as the dtype allows."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds of probabilities if it is about yes and no, otherwise their logarithms; none is infinite."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property(Generic[Owner, Found]):  # noqa: N801 - torch's name
    """A property that is computed when it is first read, and is a plain attribute from then on.

    >>> class Circle:
    ...     def __init__(self, radius):
    ...         self.radius = radius
    ...     @lazy_property
    ...     def area(self):
    ...         return 3 * self.radius**2
    >>> circle = Circle(2)
    >>> circle.area, vars(circle)
    (12, {'radius': 2, 'area': 12})
    """

    __name__: str

    def __init__(self, wrapped: Callable[[Owner], Found]) -> None:
        self.wrapped = wrapped
        update_wrapper(cast(Any, self), wrapped)

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[Owner, Found]: ...
    @overload
    def __get__(self, instance: Owner, owner: Any = None) -> Found: ...
    def __get__(self, instance: Owner | None, owner: Any = None) -> Found | lazy_property[Owner, Found]:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value

    if (
        TYPE_CHECKING
    ):  # an object may be given the value instead; there is no such method, or the value would not be read

        def __set__(self, instance: Owner, value: Found) -> None: ...


# ---- triangles of matrices ------------------------------------------------------------------------------------------


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries of a square matrix on and below a diagonal, row by row.

    >>> import retrograd as rg
    >>> tril_matrix_to_vec(rg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 3., 4.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A square matrix with these entries on and below a diagonal, row by row, and zeros above.

    >>> import retrograd as rg
    >>> vec_to_tril_matrix(rg.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.shape[-1]
    n = (-(1 + 2 * diag) + math.sqrt((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1))) / 2
    if abs(n - round(n)) > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    size = round(n)
    mat = zeros((*vec.shape[:-1], size, size), dtype=vec.dtype, device=vec.device)
    rows, columns = tril_indices(size, size, diag)
    mat[..., rows, columns] = vec
    return mat


# ---- what several distributions do alike ----------------------------------------------------------------------------


def either(probs: Any, logits: Any) -> tuple[str, Any]:
    """The one of two parameters that was given, after its name."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


def listed(values: Tensor, batch_shape: tuple[int, ...], expand: bool) -> Tensor:
    """All values of a support along a new first dimension, with one entry for a batch, or with as many as it has."""
    found = values.reshape((-1, *(1,) * len(batch_shape)))
    return found.expand((-1, *batch_shape)) if expand else found
