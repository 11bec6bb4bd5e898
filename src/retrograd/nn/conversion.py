"""What `Module.to` is asked for, and what becomes of a module's tensors, there and in `load_state_dict`.

The rules are those of `torch.__future__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.__future__ import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from retrograd.autograd.modes import no_grad
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import as_dtype
from retrograd.backends.memory_format import memory_format as MemoryFormat
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.nn.parameter import Parameter, is_lazy
from retrograd.nn.swap_tensors import swap_tensors

# What may be given by place or by name, in one of these orders.
_FORMS = (
    ("device", "dtype", "non_blocking", "copy"),
    ("dtype", "non_blocking", "copy"),
    ("tensor", "non_blocking", "copy"),
)


def _is_device(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, (str, Device))
        or (isinstance(value, int) and not isinstance(value, bool))
    )


def _is_dtype(value: Any) -> bool:
    try:
        return value is None or as_dtype(value) is not None
    except TypeError:
        return False


_FITS: dict[str, Callable[[Any], bool]] = {
    "device": _is_device,
    "dtype": _is_dtype,
    "tensor": lambda value: isinstance(value, Tensor),
    "non_blocking": lambda value: isinstance(value, bool),
    "copy": lambda value: isinstance(value, bool),
    "memory_format": lambda value: value is None or isinstance(value, MemoryFormat),
}


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `to` by name; a TypeError if they are none that it takes.

    >>> import retrograd as rg
    >>> parse_to(("cpu", rg.float64), {"non_blocking": True})
    {'device': 'cpu', 'dtype': torch.float64, 'non_blocking': True}
    """
    for names in _FORMS:
        given = dict(zip(names, args, strict=False))
        allowed = {*names, "memory_format"}
        if len(args) > len(names) or given.keys() & kwargs.keys() or not kwargs.keys() <= allowed:
            continue
        given.update(kwargs)
        if names is not _FORMS[0] and given.get(names[0]) is None:
            continue  # None stands for a device or a dtype that is left out
        if all(_FITS[name](value) for name, value in given.items()):
            if given.pop("copy", False):
                raise RuntimeError(".to() does not accept copy argument: a module is changed in place")
            like = given.pop("tensor", None)
            return given if like is None else {**given, "device": like.device, "dtype": like.dtype}
    kinds = [type_name(value) for value in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()]
    raise TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected to(device, "
        "dtype), to(dtype) or to(tensor), non_blocking and memory_format"
    )


def convert(param: Any, fn: Callable[[Tensor], Tensor], name: str) -> Any:
    """The parameter that a module has after a conversion, with its gradient; `name` is for the error."""
    if is_lazy(param):
        param.convert(fn)
        return param
    with no_grad():
        if get_swap_module_params_on_conversion():
            return _swapped(param, fn, name)
        changed = fn(param)
        if get_overwrite_module_params_on_conversion() or changed.is_meta != param.is_meta:
            return _new(param, changed, fn)
        _give_memory(param, changed)
        if param.grad is not None:
            _give_memory(param.grad, fn(param.grad))
        return param


def _give_memory(tensor: Tensor, changed: Tensor) -> None:
    """Gives a tensor that of another one; whoever holds it sees that."""
    if changed is not tensor:
        tensor.data = changed.detach()


def _new(param: Any, changed: Tensor, fn: Callable[[Tensor], Tensor]) -> Parameter:
    """Another parameter in its place, with a gradient of its own."""
    made = Parameter(changed, requires_grad=param.requires_grad)
    if param.grad is not None:
        made.grad = fn(param.grad).requires_grad_(param.grad.requires_grad)
    return made


def _swapped(param: Any, fn: Callable[[Tensor], Tensor], name: str) -> Any:
    """The parameter itself after it has changed places with another one, and its gradient with another."""
    grad = param.grad
    made = Parameter(fn(param), requires_grad=param.requires_grad)
    param.grad = None
    try:
        swap_tensors(param, made)
    except Exception as error:
        param.grad = grad
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error
    if grad is not None:
        swap_tensors(grad, fn(grad).requires_grad_(grad.requires_grad))
        param.grad = grad
    return param


def swap_in(tensor: Any, value: Any, assign: bool) -> None:
    """Has a tensor of a module change places with what its `module_load` makes of a value from a state dict."""
    made = tensor.module_load(value, assign=assign)
    if made is value or made is tensor:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in "
            "module_load"
        )
    if isinstance(tensor, Parameter):
        made = parameter_like(tensor, made)
    swap_tensors(tensor, made)


def parameter_like(param: Any, value: Any) -> Any:
    """A value as a parameter that requires a gradient as another one does."""
    if isinstance(value, Parameter):
        return value.requires_grad_(param.requires_grad)
    return Parameter(value, requires_grad=param.requires_grad)
