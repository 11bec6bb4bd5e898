"""Module: the base of all layers and models. It knows the parameters, buffers and modules in its attributes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, ClassVar, Self, TypeVar

from retrograd.autograd.gradients import forget_gradient
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import as_dtype, bfloat16, float16, float32, float64
from retrograd.compiler import say_once
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.nn.conversion import convert, parse_to
from retrograd.nn.members import TABLES, Members
from retrograd.nn.module_hooks import (
    ON_BUFFER,
    ON_MODULE,
    ON_PARAMETER,
    HookedCalls,
    HookedModules,
    after_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from retrograd.nn.module_state import IncompatibleKeys as _IncompatibleKeys  # noqa: F401 - programs import it
from retrograd.nn.module_state import SavedState
from retrograd.nn.parameter import Buffer, Parameter, is_lazy
from retrograd.ops.tensor.attributes import typename
from retrograd.ops.tensor.create import empty_like

M = TypeVar("M", bound="Module")
_global_module_registration_hooks = ON_MODULE
_global_parameter_registration_hooks = ON_PARAMETER
_global_buffer_registration_hooks = ON_BUFFER

# What every module has from its __init__ on, by what makes it. The order is that in which it is copied and pickled.
_FIELDS: dict[str, Callable[[], Any]] = {
    "training": lambda: True,
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": lambda: None,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}


def _no_forward(self: Module, *args: Any) -> Any:
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function: define forward(self, ...)'
    )


class Module(HookedCalls, SavedState):
    """The base class of layers and models.

    A model is a subclass that makes its layers and parameters in `__init__` and computes in `forward`. What is assigned
    to an attribute is known to the module: a Parameter, a Buffer, another Module.

    >>> import retrograd as rg
    >>> class Affine(rg.nn.Module):
    ...     def __init__(self, size):
    ...         super().__init__()
    ...         self.scale = rg.nn.Parameter(rg.ones(size))
    ...         self.inner = rg.nn.Linear(size, 1)
    ...     def forward(self, x):
    ...         return self.inner(x * self.scale)
    >>> model = Affine(2)
    >>> [name for name, _ in model.named_parameters()]
    ['scale', 'inner.weight', 'inner.bias']
    >>> model(rg.zeros(3, 2)).shape
    torch.Size([3, 1])
    """

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    # Attributes that pickles of old versions do not have, and what they were.
    _added_later: ClassVar[dict[str, Any]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        fields = self.__dict__  # past __setattr__, which needs them
        for name, make in _FIELDS.items():
            fields[name] = make()
        self._make_tables()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def _make_tables(self) -> None:
        """Gives the module tables of its members: Note [Members of a module]."""
        fields = self.__dict__
        for table in TABLES:
            members = dict(fields[table])
            for name, member in members.items():
                if name in fields and fields[name] is member:
                    del fields[name]
            fields[table] = (
                Members(self, members) if type(self).__getattr__ is Module.__getattr__ else members
            )

    forward: Callable[..., Any] = _no_forward

    # -- what is in it -------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is not trained, such as a running mean; it moves and is saved with the module.

        Args:
            name: by which the buffer is an attribute.
            tensor: the buffer; None keeps the place free.
            persistent: whether it is a part of `state_dict()`.
        """
        self._check_name("buffer", "_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = after_registration_hooks(ON_BUFFER, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(
            name
        )

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter: what `self.name = param` does too; None keeps the place free."""
        self._check_name("parameter", "_parameters", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                    "required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To have '{name}' depend on another tensor, compute it in forward()."
                )
            param = after_registration_hooks(ON_PARAMETER, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule: what `self.name = module` does too; None keeps the place free."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_name("module", "_modules", name)
        self._modules[name] = after_registration_hooks(ON_MODULE, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, table: str, name: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def __getattr__(self, name: str) -> Any:  # where Python finds nothing: see Note [Members of a module]
        for table in TABLES:
            members = self.__dict__.get(table)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        params = fields.get("_parameters")
        if isinstance(value, Parameter):
            self._make_room(name, "parameters", "_parameters")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(_cannot_assign(value, "parameter", name, "torch.nn.Parameter"))
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._make_room(name, "module", "_modules")
            self._modules[name] = after_registration_hooks(ON_MODULE, self, name, value)
        elif params is not None and name in fields["_modules"]:
            if value is not None:
                raise TypeError(_cannot_assign(value, "child module", name, "torch.nn.Module"))
            self._modules[name] = after_registration_hooks(ON_MODULE, self, name, value)
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self._assign_buffer(name, value)
        elif params is not None and name in fields["_buffers"]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(_cannot_assign(value, "buffer", name, "torch.nn.Buffer, torch.Tensor"))
            self._buffers[name] = after_registration_hooks(ON_BUFFER, self, name, value)
        elif name in TABLES:
            members = dict(value)
            fields[name].clear()
            fields[name].update(members)
        else:
            object.__setattr__(self, name, value)
            if name == "__class__" and params is not None:
                self._make_tables()

    def _assign_buffer(self, name: str, buffer: Any) -> None:
        """Registers a Buffer that is assigned; a subclass's `register_buffer` may not know of `persistent`."""
        own = type(self).register_buffer
        if own is Module.register_buffer or "persistent" in signature(own).parameters:
            self.register_buffer(name, buffer, buffer.persistent)
        elif buffer.persistent:
            self.register_buffer(name, buffer)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                "the persistent argument is not supported: let it take persistent=True."
            )

    def _make_room(self, name: str, kind: str, table: str) -> None:
        """Takes a name from whatever had it, but for the table that is to have it."""
        fields = self.__dict__
        if "_parameters" not in fields:
            raise AttributeError(
                f"cannot assign {kind} before Module.__init__() call: begin with super().__init__()"
            )
        for other in TABLES:
            if other != table:
                fields[other].pop(name, None)
        if name not in fields[table]:
            fields.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self.__dict__[table] for table in TABLES):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())

    # -- finding things by name ----------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module of a name with dots in it, as `named_modules()` gives it; "" is this one."""
        module: Module = self
        for part in target.split(".") if target else ():
            module = _part(module, part, "an nn.Module")
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module in the place of the one that has a name with dots in it.

        Args:
            target: the name.
            module: what to put there.
            strict: refuse a name that there is no module of yet.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a name with dots in it."""
        path, _, name = target.rpartition(".")
        found: Parameter = _part(self.get_submodule(path), name, "an nn.Parameter")
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a name with dots in it."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found: Tensor = _part(module, name, "a buffer")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # -- walking through it --------------------------------------------------------------------------------------

    def _named_members(
        self,
        get: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """The members that `get` gives as pairs, of this module and those below it, each once."""
        seen: set[Any] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules if recurse else [(prefix, self)]:
            for name, member in get(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, of the modules below too unless `recurse` is False: what an optimiser is given.

        >>> import retrograd as rg
        >>> [p.shape for p in rg.nn.Linear(2, 3).parameters()]
        [torch.Size([3, 2]), torch.Size([3])]
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names.

        Args:
            prefix: what the names begin with.
            recurse: whether those of the modules below are among them.
            remove_duplicate: whether one that has several names comes once.
        """
        yield from self._named_members(_parameters_of, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, of the modules below too unless `recurse` is False."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names; the arguments are those of `named_parameters`."""
        yield from self._named_members(_buffers_of, prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The modules in the attributes of this one."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules in the attributes of this one, with their names."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their names; this one's is the prefix.

        >>> import retrograd as rg
        >>> [name for name, _ in rg.nn.Sequential(rg.nn.ReLU(), rg.nn.Sequential(rg.nn.Tanh())).named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Calls `fn` with every module below this one and then with this one, to set initial values for example."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- dtypes and devices --------------------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Changes the memory of all parameters, their gradients and all buffers by a function."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._parameters[name] = convert(param, fn, f"{type(self).__name__}.{name}")
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                buffer.convert(fn)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves everything to a device, a floating dtype or both, in place: `to(dtype)`, `to(device)`, `to(tensor)`.

        Integers keep their dtype. A `memory_format` is for what has 4 or 5 dimensions.

        >>> import retrograd as rg
        >>> rg.nn.Linear(2, 2).to(rg.float64).weight.dtype
        torch.float64
        """
        wanted = parse_to(args, kwargs)
        device, memory_format = wanted.get("device"), wanted.get("memory_format")
        dtype = None if wanted.get("dtype") is None else as_dtype(wanted["dtype"])
        if dtype is not None:
            if dtype.kind not in "fc":
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                    f"dtype={dtype_of(dtype)}"
                )
            if dtype.kind == "c":
                warn(
                    "Complex modules are a new feature: whether a layer can compute with complex numbers depends on "
                    "its function.",
                    UserWarning,
                )

        def convert(t: Tensor) -> Tensor:
            layout = (
                {"memory_format": memory_format} if memory_format is not None and t.dim() in (4, 5) else {}
            )
            return t.to(device, dtype if t.is_floating_point() or t.is_complex() else None, **layout)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Gives all parameters and buffers a dtype, integers too."""
        return self._apply(lambda t: t.type(dst_type))

    def _to_floating(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Makes all floating parameters and buffers float32."""
        return self._to_floating(float32)

    def double(self) -> Self:
        """Makes all floating parameters and buffers float64."""
        return self._to_floating(float64)

    def half(self) -> Self:
        """Makes all floating parameters and buffers float16."""
        return self._to_floating(float16)

    def bfloat16(self) -> Self:
        """Makes all floating parameters and buffers bfloat16."""
        return self._to_floating(bfloat16)

    def cpu(self) -> Self:
        """Moves everything into the memory of the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Moves everything to a GPU."""
        return self._apply(lambda t: t.to("cuda" if device is None else device))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: modules are left as they are, and a warning says so once. The arguments are PyTorch's."""
        say_once("Module.compile")

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Gives all parameters and buffers new memory on a device; the values are lost."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def share_memory(self) -> Self:
        """Moves parameters and buffers to memory that processes share: what one of them writes, the others see."""
        for t in (*self.parameters(), *self.buffers()):
            if is_lazy(t):
                t.share_memory_()  # says that there is nothing to share yet
        return self._apply(lambda t: t.share_memory_())

    # -- training ------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Makes the module and all below it train: dropout drops, batch norm takes the statistics of the batch."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The opposite of `train()`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Says of all parameters whether they get gradients; False freezes the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters; with `set_to_none=False` they are filled with zeros."""
        for param in self.parameters():
            forget_gradient(param, set_to_none)

    # -- text and pickles ----------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What is printed between the brackets, before the submodules; for subclasses to override."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        name = self._get_name()
        if len(lines) == 1 and not children:
            return f"{name}({lines[0]})"
        if not lines and not children:
            return f"{name}()"
        return f"{name}(\n  " + "\n  ".join([*lines, *children]) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        members = {name for table in TABLES for name in self.__dict__[table]}
        return {name: value for name, value in self.__dict__.items() if name not in members}

    def __setstate__(self, state: dict[str, Any]) -> None:
        fields = self.__dict__
        fields.update(state)
        for name, make in _FIELDS.items():
            fields.setdefault(name, make())
        for name, value in self._added_later.items():
            fields.setdefault(name, value)
        self._make_tables()

    def _replicate_for_data_parallel(self) -> Self:
        """A module like this one that has no parameters yet: tensors that have a history may take their places."""
        made = self.__new__(type(self))
        members = {name for table in TABLES for name in self.__dict__[table]}
        made.__dict__.update({name: value for name, value in self.__dict__.items() if name not in members})
        made.__dict__.update(
            _parameters={}, _buffers=dict(self._buffers), _modules=dict(self._modules), _is_replica=True
        )
        made._make_tables()
        return made


def _cannot_assign(value: Any, kind: str, name: str, wanted: str) -> str:
    return f"cannot assign '{typename(value)}' as {kind} '{name}' ({wanted} or None expected)"


def _part(module: Module, name: str, wanted: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`, which should be {wanted}")
    return getattr(module, name)


def _parameters_of(module: Module) -> Any:
    return module._parameters.items()


def _buffers_of(module: Module) -> Any:
    return module._buffers.items()


def _addindent(text: str, spaces: int) -> str:
    """Lines after the first, further to the right. Programs import it, by PyTorch's name."""
    return text.replace("\n", "\n" + " " * spaces)


sys.modules[__name__].__class__ = HookedModules

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
