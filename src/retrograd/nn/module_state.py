"""State dicts of modules: all parameters and buffers by name, out and in."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from retrograd.__future__ import get_swap_module_params_on_conversion
from retrograd.autograd.modes import no_grad
from retrograd.core.hooks import HookTable, RemovableHandle, add_hook
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.nn.conversion import parameter_like, swap_in
from retrograd.nn.parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"
StateDict = dict[str, Any]


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found amiss: keys that the state dict lacks, and keys that the module does not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class SavedState:
    """The part of Module that saves and loads."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: HookTable
    _state_dict_pre_hooks: HookTable
    _load_state_dict_pre_hooks: HookTable
    _load_state_dict_post_hooks: HookTable

    def get_extra_state(self) -> Any:
        """What else belongs into the state dict; a subclass that overrides this overrides `set_extra_state` too."""
        raise RuntimeError(
            "Module.get_extra_state() is for subclasses to override: a module has no extra state of its own."
        )

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` gave."""
        raise RuntimeError(
            "Module.set_extra_state() is for subclasses to override: a module has no extra state of its own."
        )

    # -- out -----------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by their names, of this module and all below it.

        Args:
            destination: a dict to put them in, in the place of a new one.
            prefix: what the names begin with.
            keep_vars: give the parameters themselves, not detached tensors of their memory.

        >>> import retrograd as rg
        >>> list(rg.nn.Sequential(rg.nn.Linear(2, 3), rg.nn.ReLU()).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=…, prefix=…, "
                "keep_vars=…)",
                FutureWarning,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination", destination)
            prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            found = hook(self, destination, prefix, metadata)
            if getattr(hook, "_from_public_api", False):
                if found is not None:
                    raise RuntimeError(
                        "state_dict post-hook must return None: it changes the dict that it gets"
                    )
            elif found is not None:
                destination = found
        return destination  # type: ignore[no-any-return]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Puts the module's own state, without that of submodules, into a dict."""
        for name, tensor in self._own_state():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Any]]:
        kept = (
            (name, b) for name, b in self._buffers.items() if name not in self._non_persistent_buffers_set
        )
        return chain(self._parameters.items(), kept)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before `state_dict()` looks at this module."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after; it may change the dict."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but what the hook returns replaces the dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was registered"
            )
        return add_hook(self._state_dict_hooks, hook)

    # -- in ------------------------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies the values of a state dict into the module and all below it.

        Args:
            state_dict: tensors by name.
            strict: refuse it if its names are not exactly those of this module.
            assign: put the tensors themselves into the module, in the place of its own.

        >>> import retrograd as rg
        >>> layer = rg.nn.Linear(1, 2, bias=False)
        >>> layer.load_state_dict({"weight": rg.tensor([[1.0], [2.0]])})
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        load = _Load(OrderedDict(state_dict), getattr(state_dict, "_metadata", None), strict, assign)
        load.into(self, load.state, "")
        if strict:
            load.complain()
        if load.errors:
            text = "\n\t".join(load.errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return IncompatibleKeys(load.missing, load.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes the module's own state, without that of submodules, from a dict; notes what does not fit."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = {name: tensor for name, tensor in self._own_state() if tensor is not None}
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                error = _take(self, name, key, tensor, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if _overrides(self, "set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys += [
                key for key in state_dict if key != extra and self._is_foreign(key, prefix, own)
            ]

    def _is_foreign(self, key: str, prefix: str, own: dict[str, Any]) -> bool:
        if not key.startswith(prefix):
            return False
        first, dot, _ = key[len(prefix) :].partition(".")
        return first not in (self._modules if dot else own)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`.

        It is called before the module's own state is loaded.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """As `register_load_state_dict_pre_hook`, without the module unless asked for."""
        return add_hook(self._load_state_dict_pre_hooks, _WrappedHook(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` when this module's state has been loaded; it may change the keys."""
        return add_hook(self._load_state_dict_post_hooks, hook)


class _WrappedHook:
    """A hook that gets its module first. The module holds it, and so it refers to the module weakly."""

    with_module = True

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args)

    def __reduce__(self) -> Any:
        return _wrapped, (self.hook,), self.module()

    def __setstate__(
        self, module: Any
    ) -> None:  # apart from the rest, since the module has this hook among its own
        self.module = weakref.ref(module)


def _wrapped(hook: Callable[..., Any]) -> _WrappedHook:
    made = _WrappedHook.__new__(_WrappedHook)
    made.hook = hook
    return made


class _Load:
    """One call of `load_state_dict`."""

    def __init__(self, state: StateDict, metadata: Any, strict: bool, assign: bool) -> None:
        self.state = state
        self.metadata = metadata
        self.strict = strict
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]

    def into(self, module: Any, state: StateDict, prefix: str) -> None:
        """Loads a module and those below it; `state` is what begins with the prefix."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                self.into(child, {k: v for k, v in state.items() if k.startswith(inner)}, inner)
        keys = IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values: change incompatible_keys in place."
                )

    def complain(self) -> None:
        """Makes errors of the keys that are missing or unexpected."""
        for kind, keys in (("Unexpected", self.unexpected), ("Missing", self.missing)):
            if keys:
                quoted = ", ".join(f'"{key}"' for key in keys)
                self.errors.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")


def _take(module: Any, name: str, key: str, tensor: Any, value: Any, assign: bool) -> str | None:
    """Puts a value from a state dict into a tensor, or in its place; what is wrong with it, if anything."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(value)}"
        )
    lazy = is_lazy(tensor)
    if not lazy and not is_lazy(value):
        if len(tensor.shape) == 0 and tuple(value.shape) == (1,):
            value = value[0]  # what old versions saved of a single number
        if tuple(value.shape) != tuple(tensor.shape):
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                f"current model is {tensor.shape}."
            )
    swap = get_swap_module_params_on_conversion()
    try:
        with no_grad():
            if swap:
                swap_in(tensor, value, assign)
            elif assign:
                setattr(
                    module, name, parameter_like(tensor, value) if isinstance(tensor, Parameter) else value
                )
            else:
                if tensor.is_meta and not value.is_meta:
                    warn(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                        "current model, which is a no-op. (Did you mean to pass `assign=True`?)"
                    )
                if not (lazy and is_lazy(value)):  # neither has anything to copy
                    tensor.copy_(value)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told with the others
        verb = "swapping" if swap else "copying"
        return (
            f'While {verb} the parameter named "{key}", whose dimensions in the model are {tensor.shape} and whose '
            f"dimensions in the checkpoint are {value.shape}, an exception occurred : {error.args}."
        )
    return None


def _overrides(module: Any, method: str) -> bool:
    return getattr(type(module), method) is not getattr(SavedState, method)
