"""A tensor turned into Python numbers, lists and NumPy arrays."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from retrograd.backends.base import backend_of, device_of
from retrograd.backends.device import CPU
from retrograd.backends.mirror import bits_of
from retrograd.core.facts import TensorFacts
from retrograd.core.modes import current
from retrograd.core.places import warn
from retrograd.errors import GradientError
from retrograd.hints import mypyc_attr

ndarray: Final[Any] = np.ndarray


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorConversions(TensorFacts):
    """The outgoing half of a Tensor."""

    _requires: bool = False

    def item(self) -> Any:
        """The only element, as a Python number.

        >>> import retrograd as rg
        >>> rg.tensor([2.5]).item()
        2.5
        """
        if self.array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.array.size} elements cannot be converted to Scalar. Reduce it first (sum, mean, "
                "…) or pick an element; tolist() gives all of them."
            )
        return self.array.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a 0-dim tensor gives its number.

        >>> import retrograd as rg
        >>> rg.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self.array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The NumPy array itself, sharing memory; of a tensor that requires grad only where nothing is recorded.

        Args:
            force: detach (and copy from another device) where needed instead of refusing.
        """
        if not force and current().grad_enabled and (self._requires or self._base_requires()):
            raise GradientError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
                "(NumPy would lose track of the gradient; tensor.array is the bare array if that is what you want.)"
            )
        array: Any = self.array
        if type(array) is ndarray:
            return cast("np.ndarray[Any, Any]", array)
        conj, neg = bits_of(array)
        if (conj or neg) and not force:
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {'conjugate' if conj else 'negative'} bit set. Use "
                f"tensor.resolve_{'conj' if conj else 'neg'}().numpy() instead: NumPy would read the memory, where the "
                "numbers have another sign."
            )
        where = device_of(array)
        if where is not CPU and not force:
            raise TypeError(
                f"can't convert {where} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )
        return cast("np.ndarray[Any, Any]", backend_of(array).numpy(array))

    def _base_requires(self) -> bool:
        """Whether this is a view of a tensor that requires a gradient."""
        return False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._requires or type(self.array) is not ndarray or self._base_requires():
            self.numpy()  # refuses where gradients are recorded or memory would be misread, and says why
        return np.array(self.array, dtype=dtype, copy=copy)

    def __bool__(self) -> bool:
        if type(self.array) is not np.ndarray:
            backend_of(self.array).check_condition(self.array)
        if self.array.size == 1:
            return bool(self.array.item())
        if self.array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError(
            "Boolean value of Tensor with more than one value is ambiguous. Use t.any() or t.all(), or compare numbers."
        )

    def _number(self) -> Any:
        """The only element for float(), int(), complex()."""
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.array.item()

    def _real_number(self) -> Any:
        """The only element for float() and complex(), which leave the graph without a word otherwise."""
        if self._requires:
            warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first.",
                UserWarning,
            )
        return self._number()

    def __float__(self) -> float:
        return float(_real(self._real_number(), "double"))

    def __int__(self) -> int:
        return int(_real(self._number(), "int64_t"))

    def __complex__(self) -> complex:
        return complex(self._real_number())

    def _index(self) -> int:
        """What `__index__` gives, which stands in a base class because a compiled class cannot have one."""
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.array.item())

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self.array.shape[0])


def _real(number: Any, kind: str) -> Any:
    """A number for float() and int(), which a complex one is only without an imaginary part."""
    if not isinstance(number, complex):
        return number
    if number.imag:
        raise RuntimeError(
            f"value cannot be converted to type {kind} without overflow: {number} has an imaginary part. Take t.real."
        )
    return number.real
