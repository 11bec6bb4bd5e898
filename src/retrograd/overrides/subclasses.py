"""Subclasses of Tensor with a `__torch_function__`, a `__new__` or an `__init__` of their own."""

from __future__ import annotations

from functools import partial
from typing import Any

from retrograd.core.tensor import Tensor, bare
from retrograd.overrides.forms import AskingFunction
from retrograd.overrides.protocol import ask
from retrograd.overrides.state import STATE, disabled
from retrograd.overrides.switch import PROPERTIES, switch_on

# What the class Tensor has itself, and not through the op library.
_ATTRIBUTES = PROPERTIES | frozenset({
    "data", "device", "dtype", "grad", "grad_dtype", "grad_fn", "is_cpu", "is_cuda", "is_leaf", "is_sparse",
    "itemsize", "nbytes", "ndim", "requires_grad", "retains_grad", "shape", "_version",
})  # fmt: skip
_METHODS = frozenset({
    "backward", "detach", "detach_", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_",
    "retain_grad", "item", "numpy", "tolist", "data_ptr", "dim", "element_size", "get_device", "is_complex",
    "is_conj", "is_contiguous", "is_floating_point", "is_inference", "is_neg", "is_signed", "ndimension", "nelement",
    "numel", "size", "storage_offset", "stride", "__array__", "__bool__", "__complex__", "__contains__", "__float__",
    "__deepcopy__", "__dir__", "__format__", "__int__", "__len__", "__reduce_ex__", "__repr__",
})  # fmt: skip


def complete(cls: Any) -> None:
    """Makes a new subclass of Tensor ask, and be made, as its author has written."""
    own = vars(cls)
    if "array" in own:  # PyTorch's tensors have nothing of that name; all that is computed here goes by ours
        del cls.array
    makes, begins = (
        isinstance(own.get("__new__"), staticmethod),
        "__init__" in own,
    )  # neither need call Tensor's
    if (makes and super(cls, cls).__new__ is bare) or (begins and Tensor in cls.__bases__):
        around = cls.__bases__ if Tensor in cls.__bases__ else (*cls.__bases__, Tensor)
        cls.__bases__ = tuple(TakesValues if base is Tensor else base for base in around)
    if "__torch_function__" not in own:
        return
    cls._asks = True  # what core.apply goes by: results are plain Tensors, of which the class makes its own
    if cls.__torch_function__ is not disabled:
        switch_on()
        for name in _METHODS:
            if not _defines(cls, name):
                setattr(
                    cls, name, AskingFunction(f"torch.Tensor.{name}", getattr(Tensor, name), of_class=True)
                )
        for name in _ATTRIBUTES:
            if not _defines(cls, name):
                setattr(cls, name, _attribute(name))


def _defines(cls: Any, name: str) -> bool:
    """Whether a class, or one of its bases short of Tensor, has a name."""
    for base in cls.__mro__:
        if base is Tensor:
            return False
        if name in vars(base):
            return True
    return False


# -- attributes -----------------------------------------------------------------------------------------------------


def _attribute(name: str) -> property:
    """An attribute of Tensor as one that asks."""
    plain: Any = getattr(Tensor, name)
    change = {
        "fset": partial(_set, plain) if getattr(plain, "fset", True) is not None else None,
        "fdel": partial(_delete, plain) if getattr(plain, "fdel", True) is not None else None,
    }
    return property(partial(_get, plain), **change, doc=plain.__doc__)


def _get(plain: Any, self: Any) -> Any:
    return plain.__get__(self) if STATE.off else ask(plain.__get__, [self], (self,), None)


def _set(plain: Any, self: Any, value: Any) -> None:
    if STATE.off:
        plain.__set__(self, value)
    else:
        ask(plain.__set__, [self], (self, value), None)


def _delete(plain: Any, self: Any) -> None:
    if STATE.off:
        plain.__delete__(self)
    else:
        ask(plain.__delete__, [self], (self,), None)


# -- making instances ------------------------------------------------------------------------------------------------


class TakesValues(Tensor):
    """Stands between Tensor and a class with its own `__new__` or `__init__`: makes what Tensor's `__init__` would."""

    def __new__(cls, data: Any = (), *size: int, requires_grad: bool = False) -> Any:
        made: Any = bare(cls)
        made._take_place(Tensor(data, *size))
        made._requires = made._requires or requires_grad
        return made

    def __init__(self, *args: Any, **named: Any) -> None:
        pass  # __new__ has done it


def make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Any:
    """`Tensor._make_subclass`: the values of a tensor as an instance of a subclass, a leaf."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"_make_subclass(): cls must be a subclass of Tensor, not {cls!r}")
    made = data.detach()._in_class(cls)
    Tensor.requires_grad_(made, require_grad)  # which asks no class
    return made
