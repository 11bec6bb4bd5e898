"""Parameters that are computed from others: `module.weight` becomes what modules make of a tensor kept elsewhere.

The tensor that is trained is `module.parametrizations.weight.original`; the class of the module becomes a subclass in
which `weight` is a property.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.nn.containers import ModuleDict, ModuleList
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter


class _Cache:
    """What has been computed inside of `cached()`, by module and name."""

    def __init__(self) -> None:
        self.depth = 0
        self.found: dict[tuple[int, str], Tensor] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Inside of this, a parametrized tensor is computed once, and then remembered.

    >>> import retrograd as rg
    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(2, 2))
    >>> with rg.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.found = {}


def _hold(owner: Module, name: str, tensor: Any) -> None:
    """Makes a tensor a parameter or a buffer of a module."""
    if isinstance(tensor, Parameter):
        owner.register_parameter(name, tensor)
    else:
        owner.register_buffer(name, tensor)


def _set(tensor: Tensor, value: Tensor) -> None:
    """Gives a tensor the values of another, and its shape; whoever holds it sees that."""
    if tensor.dtype != value.dtype:
        raise ValueError(
            f"The tensor assigned has dtype {value.dtype}, while the original tensor has dtype {tensor.dtype}"
        )
    tensor.data = value.data


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they compute it from: `original`, or `original0`, `original1`, …

    Args:
        modules: the parametrizations, in the order in which they are applied.
        original: the tensor that is parametrized.
        unsafe: whether shape and dtype of the result may be others than those of the tensor.
    """

    is_tensor: bool
    ntensors: int

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._inverted(original)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            with no_grad():
                original.data = new.data  # the same object, so that an optimiser may go on with it
            _hold(self, "original", original)
        else:
            self._hold_several(new, original)
        if not unsafe:
            self._check_result(shape, dtype)

    def _inverted(self, original: Any) -> Any:
        new = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then it is computed from the tensor itself
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        return new

    def _hold_several(self, tensors: Sequence[Any], original: Any) -> None:
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _hold(self, f"original{i}", tensor)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        found = self()
        if not isinstance(found, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
        for what, was, now in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
            if was != now:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {was}\nparametrized {what}: {now}"
                )

    def right_inverse(self, value: Any) -> None:
        """Gives the original such values that the parametrized tensor becomes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                _set(self.original, value)
                return
            if not isinstance(value, Sequence) or len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of {self.ntensors} tensors. Got {type(value).__name__}"
                )
            for i, tensor in enumerate(value):
                _set(getattr(self, f"original{i}"), tensor)

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        modules = list(self)
        if self.is_tensor:
            found = modules[0](self.original)
        else:
            found = modules[0](*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in modules[1:]:
            found = module(found)
        return found  # type: ignore[no-any-return]


# ---- the class of a parametrized module -----------------------------------------------------------------------------


def _new_class(module: Module) -> None:
    """Gives a module a class of its own, which properties can be put in."""
    cls = type(module)

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). Save that instead."
        )

    def deepcopied(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = memo[id(self)] = self.__new__(type(self))
            made.__setstate__(copy.deepcopy(Module.__getstate__(self), memo))
        return memo[id(self)]

    # A class whose instances can be pickled says so; what is copied deeply must not ask it.
    body = {"__getstate__": getstate, "__deepcopy__": deepcopied}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _new_property(module: Module, name: str) -> None:
    """Makes an attribute of a module's class the parametrized tensor."""

    def get(self: Any) -> Tensor:
        table = self.parametrizations[name]
        if not _cache.depth:
            return table()  # type: ignore[no-any-return]
        key = (id(self), name)
        if key not in _cache.found:
            _cache.found[key] = table()
        return _cache.found[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes a parameter or buffer of a module what `parametrization` computes from it.

    Args:
        module: whose tensor it is.
        tensor_name: the name of the parameter or buffer.
        parametrization: a module that gets a tensor and gives one. Its `right_inverse`, if there is one, says from
            what a given value is computed; then the attribute can be assigned to.
        unsafe: whether the result may have another shape or dtype.

    >>> import retrograd as rg
    >>> class Symmetric(rg.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = rg.nn.Linear(3, 3)
    >>> _ = rg.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all()), [name for name, _ in layer.named_parameters()]
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        table: Any = module.parametrizations
        table[tensor_name].append(parametrization)
        table[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _new_class(module)
        module.parametrizations = ModuleDict()
    _new_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def _check_another(module: Module, name: str, parametrization: Any) -> None:
    """Refuses a further parametrization that changes shape or dtype."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(after, what) != getattr(before, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                f"parametrization(module.{name}).{what}: {getattr(after, what)}"
            )
    if hasattr(parametrization, "right_inverse"):
        back = parametrization.right_inverse(after)
        if not isinstance(back, Tensor) or back.dtype != before.dtype or back.shape != before.shape:
            raise ValueError(
                "The tensor returned by parametrization.right_inverse must have the same dtype and shape as "
                f"module.{name}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrized tensor, or one of a name."""
    table = getattr(module, "parametrizations", None)
    if not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a parametrized tensor an ordinary one again.

    Args:
        module: whose tensor it is.
        tensor_name: its name.
        leave_parametrized: whether it keeps the value that was computed; else it becomes the original.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    table: Any = module.parametrizations
    held = table[tensor_name]
    if held.is_tensor:
        original = held.original
        if leave_parametrized:
            with no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del table[tensor_name]
    _hold(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before any of its tensors was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives a module the parametrizations of another, and the tensors that they compute from.

    Args:
        from_module: who has them.
        to_module: who gets them.
        tensor_name: the tensor to transfer, by default all that are parametrized.
    """
    if not is_parametrized(from_module):
        return to_module
    held: Any = from_module.parametrizations
    if tensor_name is not None and tensor_name not in held:
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(held):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for module in held[name]:
            register_parametrization(to_module, name, copy.deepcopy(module), unsafe=held[name].unsafe)
        target: Any = to_module.parametrizations
        for key, tensor in held[name]._parameters.items():
            setattr(target[name], key, tensor)
    return to_module
