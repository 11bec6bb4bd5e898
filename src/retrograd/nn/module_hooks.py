"""What runs around a module's `forward`: the hooks of the module, and those of all modules.

A call that has no hooks goes straight to `forward`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

from retrograd.core.hooks import HookTable, RemovableHandle, hook_name
from retrograd.core.places import warn
from retrograd.nn.backward_hooks import BackwardHooks, add_non_full_hooks

Hook: TypeAlias = "Callable[..., Any]"
Flags: TypeAlias = "OrderedDict[int, bool]"  # of which hooks something holds, by number


class GlobalHooks:
    """Hooks around the calls of all modules. `any` has each of them once more: one look says that there are none."""

    def __init__(self) -> None:
        self.any: HookTable = OrderedDict()
        self.forward_pre: HookTable = OrderedDict()
        self.forward: HookTable = OrderedDict()
        self.forward_with_kwargs: Flags = OrderedDict()
        self.forward_always_called: Flags = OrderedDict()
        self.backward_pre: HookTable = OrderedDict()
        self.backward: HookTable = OrderedDict()
        self.backward_is_full: bool | None = None

    def replace(self, field: str, value: Any) -> None:
        """Puts another table in the place of one: programs take an empty one to be rid of all hooks."""
        setattr(self, field, value)
        tables = (self.forward_pre, self.forward, self.backward_pre, self.backward)
        left = [item for table in tables for item in table.items()]
        self.any.clear()
        self.any.update(left)


GLOBAL = GlobalHooks()
_any_global = GLOBAL.any

# The tables as names of `nn.modules.module`.
GLOBAL_NAMES = {
    "_global_forward_pre_hooks": "forward_pre",
    "_global_forward_hooks": "forward",
    "_global_forward_hooks_with_kwargs": "forward_with_kwargs",
    "_global_forward_hooks_always_called": "forward_always_called",
    "_global_backward_pre_hooks": "backward_pre",
    "_global_backward_hooks": "backward",
    "_global_is_full_backward_hook": "backward_is_full",
}


class HookedModules(ModuleType):
    """A Python module in which the tables of hooks of all modules can be assigned."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in GLOBAL_NAMES:
            GLOBAL.replace(GLOBAL_NAMES[name], value)
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in GLOBAL_NAMES:
            return getattr(GLOBAL, GLOBAL_NAMES[name])
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)


# Called with (module, name, what) when a module gets something; what they return, if not None, is taken instead.
ON_MODULE: HookTable = OrderedDict()
ON_PARAMETER: HookTable = OrderedDict()
ON_BUFFER: HookTable = OrderedDict()


class HookedCalls:
    """The part of Module that calls `forward`, with the hooks around it."""

    forward: Callable[..., Any]
    _forward_hooks: HookTable
    _forward_hooks_with_kwargs: Flags
    _forward_hooks_always_called: Flags
    _forward_pre_hooks: HookTable
    _forward_pre_hooks_with_kwargs: Flags
    _backward_hooks: HookTable
    _backward_pre_hooks: HookTable
    _is_full_backward_hook: bool | None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _any_global
        ):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    _call_impl = _wrapped_call_impl = __call__  # PyTorch's names, which wrappers of modules call

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()  # the hooks of `always_call` that have run
        try:
            return self._hooked(args, kwargs, called)
        except Exception:
            self._call_the_rest(args, kwargs, called)
            raise

    def _hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
        args, kwargs = self._after_pre_hooks(args, kwargs)
        full, others, pre = self._backward_hooks_now()
        around = BackwardHooks(self, full, pre) if full or pre else None
        if around is not None:
            args = around.of_inputs(args)
        result = self.forward(*args, **kwargs)
        for hook, number, with_kwargs in self._forward_hooks_now():
            called.add(number)
            found = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if found is not None:
                result = found
        if around is not None:
            result = around.of_outputs(result)
        if others:
            add_non_full_hooks(self, others, args, result)
        return result

    def _after_pre_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The arguments as the pre-hooks leave them."""
        every = [(hook, False) for hook in GLOBAL.forward_pre.values()]
        flags = self._forward_pre_hooks_with_kwargs
        for hook, with_kwargs in every + [(h, n in flags) for n, h in self._forward_pre_hooks.items()]:
            if not with_kwargs:
                found = hook(self, args)
                if found is not None:
                    args = found if isinstance(found, tuple) else (found,)
                continue
            found = hook(self, args, kwargs)
            if found is not None:
                if not isinstance(found, tuple) or len(found) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}. "
                        f"It is {hook_name(hook)}, registered with with_kwargs=True."
                    )
                args, kwargs = found
        return args, kwargs

    def _forward_hooks_now(self) -> list[tuple[Hook, int, bool]]:
        """The forward hooks in their order, with their numbers and whether they take keyword arguments."""
        everywhere = [(h, n, n in GLOBAL.forward_with_kwargs) for n, h in GLOBAL.forward.items()]
        return everywhere + [
            (h, n, n in self._forward_hooks_with_kwargs) for n, h in self._forward_hooks.items()
        ]

    def _backward_hooks_now(self) -> tuple[list[Hook], list[Hook], list[Hook]]:
        """The full backward hooks, those that are not full, and the pre-hooks."""
        full: list[Hook] = []
        others: list[Hook] = []
        (full if GLOBAL.backward_is_full is True else others).extend(GLOBAL.backward.values())
        (full if self._is_full_backward_hook is True else others).extend(self._backward_hooks.values())
        return full, others, [*GLOBAL.backward_pre.values(), *self._backward_pre_hooks.values()]

    def _call_the_rest(self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> None:
        """After an error, the hooks of `always_call` that have not run; what they raise is a warning."""
        always = {*GLOBAL.forward_always_called, *self._forward_hooks_always_called} - called
        for hook, number, with_kwargs in self._forward_hooks_now():
            if number not in always:
                continue
            try:
                _ = hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            except Exception as error:  # noqa: BLE001 - the first error is the one to tell
                warn(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}",
                    UserWarning,
                )

    # -- registration --------------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before each `forward`; what it returns, if not None, are the new arguments.

        Args:
            hook: the function.
            prepend: whether it runs before the hooks that are there already.
            with_kwargs: call it as `hook(module, args, kwargs)`; it may then return a pair of new ones.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return _register(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after each `forward`; what it returns, if not None, is the new output.

        Args:
            hook: the function.
            prepend: whether it runs before the hooks that are there already.
            with_kwargs: call it as `hook(module, args, kwargs, output)`.
            always_call: call it, with None for the output, also when `forward` raises.

        >>> import retrograd as rg
        >>> layer = rg.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> layer(rg.tensor([-1.0, 2.0]))
        tensor([1., 3.])
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        flags += [self._forward_hooks_always_called] if always_call else []
        return _register(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_output)` when the gradients of the outputs are known; it may return new ones."""
        return _register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        Both are tuples; what the hook returns, if not None, takes the place of `grad_input`.

        >>> import retrograd as rg
        >>> layer = rg.nn.ReLU()
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
        >>> x = rg.tensor([-1.0, 2.0], requires_grad=True)
        >>> layer(x).sum().backward(); x.grad
        tensor([ 0., 10.])
        """
        self._choose_kind(full=True)
        return _register(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Calls a hook that sees the gradients of the last operation alone; prefer `register_full_backward_hook`."""
        self._choose_kind(full=False)
        return _register(self._backward_hooks, hook, False)

    def _choose_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them; the full ones see the gradients of all inputs."
            )
        self._is_full_backward_hook = full


def _register(
    table: HookTable, hook: Hook, prepend: bool, flags: list[Flags] | None = None
) -> RemovableHandle:
    """Adds a hook to a table, behind the others or before them; its number is in `flags` as long."""
    handle = RemovableHandle(table, extra_dict=flags or None)
    table[handle.id] = hook
    for flag in flags or ():
        flag[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _register_everywhere(table: HookTable, hook: Hook, flags: list[Flags] | None = None) -> RemovableHandle:
    every: Any = GLOBAL.any
    return _register(table, hook, False, [every, *(flags or [])])


# ---- hooks of all modules -----------------------------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, args)` before the `forward` of any module."""
    return _register_everywhere(GLOBAL.forward_pre, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls `hook(module, args, output)` after the `forward` of any module, before the module's own hooks."""
    flags = [GLOBAL.forward_with_kwargs] if with_kwargs else []
    flags += [GLOBAL.forward_always_called] if always_call else []
    return _register_everywhere(GLOBAL.forward, hook, flags)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, grad_output)` for any module, before its own pre-hooks."""
    return _register_everywhere(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` for any module, before its own hooks."""
    _choose_global_kind(full=True)
    return _register_everywhere(GLOBAL.backward, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """As `Module.register_backward_hook`, for any module; prefer `register_module_full_backward_hook`."""
    _choose_global_kind(full=False)
    return _register_everywhere(GLOBAL.backward, hook)


def _choose_global_kind(full: bool) -> None:
    if GLOBAL.backward_is_full is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    GLOBAL.backward_is_full = full


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, submodule)` when a module gets another one; it may return one to take instead."""
    return _register(ON_MODULE, hook, False)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, param)` when a module gets a parameter; it may return one to take instead."""
    return _register(ON_PARAMETER, hook, False)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, buffer)` when a module gets a buffer; it may return one to take instead."""
    return _register(ON_BUFFER, hook, False)


def after_registration_hooks(table: HookTable, module: Any, name: str, value: Any) -> Any:
    """What is to be registered, after the hooks have seen it."""
    for hook in table.values():
        found = hook(module, name, value)
        if found is not None:
            value = found
    return value
