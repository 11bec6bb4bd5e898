"""The methods of an array that are functions of NumPy: each hands itself to the function of its name."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from retrograd.backends.batch.shape import DataDependent

NUMPY: Any = np  # its stubs do not know that classes with its protocols are arrays

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "because each sample has another number there. Compute with tensors throughout, or call it outside of vmap."
)
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet: samples may differ, and all take one path. Use where(condition, a, b) instead of if."
)
NO_STORAGE = (
    "Cannot access data pointer of Tensor that doesn't have storage: inside of vmap it stands for all samples at once. "
    "Use tensor operations, or do this outside of vmap."
)


class ArrayMethods(NDArrayOperatorsMixin):
    """What a class needs besides NumPy's protocols to be used as an array: operators and methods.

    It stays an ordinary class where the rest is compiled: NumPy's is one, and no compiled one can have `__index__`.
    """

    __array_priority__: ClassVar[int] = 500
    __hash__ = object.__hash__

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        sizes = shape[0] if len(shape) == 1 else shape
        return NUMPY.reshape(self, sizes, order=order, copy=copy)

    def transpose(self, *axes: Any) -> Any:
        order: Any = (
            None if not axes else axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        )
        return NUMPY.transpose(self, order)

    def ravel(self, order: Any = "C") -> Any:
        return self.reshape(-1)

    def flatten(self, order: Any = "C") -> Any:
        return self.reshape(-1).copy()

    def any(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.any(self, *args, **kwargs)

    def all(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.all(self, *args, **kwargs)

    def nonzero(self) -> Any:
        return NUMPY.nonzero(self)

    def prod(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.prod(self, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.mean(self, *args, **kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.max(self, *args, **kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.min(self, *args, **kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.argmax(self, *args, **kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.argmin(self, *args, **kwargs)

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.argsort(self, *args, **kwargs)

    def cumsum(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.cumsum(self, *args, **kwargs)

    def cumprod(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.cumprod(self, *args, **kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.var(self, *args, **kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.std(self, *args, **kwargs)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return NUMPY.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Any:
        return NUMPY.squeeze(self, axis)

    def diagonal(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.diagonal(self, *args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.trace(self, *args, **kwargs)

    def take(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.take(self, *args, **kwargs)

    def repeat(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.repeat(self, *args, **kwargs)

    def clip(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.clip(self, *args, **kwargs)

    def round(self, *args: Any, **kwargs: Any) -> Any:
        return NUMPY.round(self, *args, **kwargs)

    def dot(self, other: Any) -> Any:
        return NUMPY.dot(self, other)

    # -- what only one sample has: a Python number -----------------------------------------------------------------

    def item(self, *args: Any) -> Any:
        raise DataDependent(ITEM)

    def tolist(self) -> Any:
        raise DataDependent(NO_STORAGE)

    def tobytes(self, order: str = "C") -> Any:
        raise DataDependent(NO_STORAGE)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise DataDependent(NO_STORAGE)

    @property
    def __array_interface__(self) -> Any:
        raise DataDependent(NO_STORAGE)

    def __bool__(self) -> bool:
        raise DataDependent(CONTROL_FLOW)

    def __int__(self) -> int:
        raise DataDependent(ITEM)

    def __float__(self) -> float:
        raise DataDependent(ITEM)

    def __complex__(self) -> complex:
        raise DataDependent(ITEM)

    def __index__(self) -> int:
        raise DataDependent(ITEM)
