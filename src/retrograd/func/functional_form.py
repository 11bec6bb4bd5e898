"""functionalize, which PyTorch has for programs that are traced; and debug_unwrap, a look behind a transform."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from retrograd.backends.base import stands_for_many, whole
from retrograd.core.tensor import Tensor

__all__ = ["debug_unwrap", "functionalize"]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself: writes in place are removed from programs that are traced, and nothing is traced here.

    >>> import retrograd as rg
    >>> rg.func.functionalize(lambda x: x.clone().add_(1))(rg.zeros(2))
    tensor([1., 1.])
    """

    @wraps(func)
    def same(*args: Any, **named: Any) -> Any:
        if remove not in ("mutations", "mutations_and_views"):
            raise RuntimeError(
                f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options "
                "are: remove='mutations' and remove='mutations_and_views'."
            )
        return func(*args, **named)

    return same


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What is behind a tensor inside of `vmap`: that of all samples; with `recurse`, of all batches around too.

    >>> import retrograd as rg
    >>> rg.func.debug_unwrap(rg.ones(2)).shape
    torch.Size([2])
    """
    array = tensor.array
    while stands_for_many(array):
        array = whole(array)
        if not recurse:
            break
    return tensor if array is tensor.array else Tensor(array, share=True)
