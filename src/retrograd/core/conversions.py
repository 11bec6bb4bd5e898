"""A tensor turned into something else: Python numbers, lists, NumPy arrays, text, copies and pickles."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from retrograd.backends.dtypes import get_default_dtype
from retrograd.core.facts import TensorFacts
from retrograd.core.modes import current
from retrograd.core.printing import format_tensor
from retrograd.errors import GradientError
from retrograd.values import Array


class TensorConversions(TensorFacts):
    """The outgoing half of a Tensor."""

    _requires: bool = False

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.array.size} elements cannot be converted to Scalar. Reduce it first (sum, mean, "
                "…) or pick an element; tolist() gives all of them."
            )
        return self.array.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a 0-dim tensor gives its number."""
        return self.array.tolist()

    def numpy(self, *, force: bool = False) -> Array:
        """The NumPy array itself, sharing memory.

        Args:
            force: detach (and copy from another device) where needed instead of refusing.
        """
        if self._requires and not force:
            raise GradientError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
                "(NumPy would lose track of the gradient; tensor.array is the bare array if that is what you want.)"
            )
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self._requires and current().grad_enabled:
            self.numpy()  # refuses, and says why
        return np.array(self.array, dtype=dtype, copy=copy)

    def __bool__(self) -> bool:
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
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first.",
                UserWarning,
                stacklevel=3,
            )
        return self._number()

    def __float__(self) -> float:
        return float(self._real_number())

    def __int__(self) -> int:
        return int(self._number())

    def __complex__(self) -> complex:
        return complex(self._real_number())

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.array.item())

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self.array.shape[0])

    def __format__(self, spec: str) -> str:
        if self.array.ndim == 0 and type(self).keeps_class:
            return format(self.array.item(), spec)
        return object.__format__(self, spec)

    keeps_class: bool = True

    def __repr__(self) -> str:
        return format_tensor(self.array, default_dtype=get_default_dtype(), suffixes=self._suffixes())

    def _suffixes(self) -> list[str]:
        """What follows the numbers in the printed form."""
        node = getattr(self, "grad_fn", None)
        if node is not None:
            return [f"grad_fn=<{type(node).__name__}>"]
        return ["requires_grad=True"] if self._requires else []

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is not None:
            return found
        if getattr(self, "_node", None) is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment. Copy its value with t.detach().clone(), or keep the graph with t.clone()."
            )
        made = rebuild_leaf(type(self), self.array.copy(order="K"), self._requires, None, None)
        memo[id(self)] = made
        made._grad = copy.deepcopy(getattr(self, "_grad", None), memo)
        made.set_user_state(copy.deepcopy(self.user_state(), memo))
        return made

    def __copy__(self) -> Any:
        return rebuild_leaf(type(self), self.array, self._requires, None, self.user_state())

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild_leaf, (
            type(self),
            self.array,
            self._requires,
            getattr(self, "_grad_dtype", ""),
            self.user_state(),
        )

    def user_state(self) -> dict[str, Any]:
        """The attributes a user has hung on this tensor."""
        return {k: v for k, v in self.__dict__.items() if k not in TENSOR_FIELDS}

    def set_user_state(self, state: dict[str, Any]) -> None:
        """Hangs a user's attributes on this tensor."""
        self.__dict__.update(state)


# Fields that belong to Tensor itself: in the interpreted build they sit in the same __dict__ as a user's attributes.
TENSOR_FIELDS = frozenset(
    (
        "array",
        "output_nr",
        "_requires",
        "_node",
        "_grad",
        "_counter",
        "_base",
        "_view_version",
        "_view_kind",
        "_accumulator",
        "_leaf_hooks",
        "_post_accumulate",
        "_grad_dtype",
    )
)


def rebuild_leaf(
    cls: Any, array: Array, requires_grad: bool, grad_dtype: Any, state: dict[str, Any] | None
) -> Any:
    """A leaf tensor of class `cls` over `array`: what unpickling and copying call."""
    made = cls.__new__(cls)
    made.array = array
    made._requires = requires_grad
    if grad_dtype is not None:
        made._grad_dtype = grad_dtype
    if state:
        made.set_user_state(state)
    return made
