"""Optimizer: groups of parameters with their options, the state of each parameter, and hooks around a step."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, ClassVar, TypeAlias

from retrograd.autograd.gradients import forget_gradient
from retrograd.autograd.modes import enable_grad, no_grad
from retrograd.core.hooks import HookTable, RemovableHandle, add_hook, hook_name
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.attributes import typename
from retrograd.optim.memory import new_count, with_gradients
from retrograd.optim.saved_state import misfit, pack_groups, pack_state, unpack_groups, unpack_state

Group: TypeAlias = "dict[str, Any]"
Params: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
ParamsT = Params  # PyTorch's name, in the annotations of optimisers that others write
StateDict: TypeAlias = "dict[str, Any]"

# Hooks around the steps of every optimiser there is.
_global_pre_hooks: HookTable = OrderedDict()
_global_post_hooks: HookTable = OrderedDict()


class _Required:
    """Stands for an option that has no default: every group must name it."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _Required()


class Optimizer:
    """The base of all optimisers; make one of your own by giving it a `step`.

    Args:
        params: tensors, `(name, tensor)` pairs, or dicts that each describe a group: its `params` and those options
            in which it differs from the defaults.
        defaults: the options and their values for groups that do not say otherwise.

    >>> import retrograd as rg
    >>> class SignDescent(rg.optim.Optimizer):
    ...     def step(self, closure=None):
    ...         with rg.no_grad():
    ...             for group in self.param_groups:
    ...                 for p in group["params"]:
    ...                     p -= group["lr"] * p.grad.sign()
    >>> x = rg.tensor([3.0, -4.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> SignDescent([x], {"lr": 0.5}).step()
    >>> x
    tensor([ 2.5000, -3.5000], requires_grad=True)
    """

    # Options that groups of older state dicts may lack, and what they are then.
    _absent: ClassVar[Group] = {}
    # What of a parameter's state is a count, which older state dicts have as a number.
    _counts: ClassVar[tuple[str, ...]] = ()
    _step_at_first: Any  # the `step` of this object's own, where the first schedule found one
    _opt_called: bool  # whether there was a step since the first schedule was made; unset if there is none

    def __init__(self, params: Params, defaults: Group) -> None:
        self.defaults = defaults
        self._make_hook_tables()
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{typename(params)}: put it in a list, [tensor]"
            )
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list: if it came from a generator, that was used up before"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)  # type: ignore[arg-type]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])  # type: ignore[method-assign]

    def _make_hook_tables(self) -> None:
        self._patch_step_function()
        self._optimizer_step_pre_hooks: HookTable = OrderedDict()
        self._optimizer_step_post_hooks: HookTable = OrderedDict()
        self._optimizer_state_dict_pre_hooks: HookTable = OrderedDict()
        self._optimizer_state_dict_post_hooks: HookTable = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: HookTable = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: HookTable = OrderedDict()

    def _patch_step_function(self) -> None:
        """Has `step` call the hooks: an object that only wraps an optimiser, and has tables of its own, asks for it."""
        self._calls_hooks = True

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """A `step` with the hooks around it, for classes that got theirs after they were made."""
        return _hooked(func)

    def _accelerator_graph_capture_health_check(self) -> None:
        """Nothing: there are no CUDA graphs here. Optimisers that are written after PyTorch's ask for it in `step`."""

    def _cuda_graph_capture_health_check(self) -> None:
        """The same under its old name."""
        warnings.warn("Use _accelerator_graph_capture_health_check instead", DeprecationWarning, stacklevel=2)

    # -- groups --------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters, as a dict: `params`, and options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _listed(param_group["params"])
        self._check_params(params)
        self._check_names(names)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
        self._check_repeated(params)
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        """Refuses what no step could move."""
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {typename(param)}"
                )
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise ValueError(
                    "can't optimize a non-leaf Tensor: it is computed from others, and its next value will be too. "
                    "Optimize those, or detach() it first."
                )

    def _check_names(self, names: list[str] | None) -> None:
        """Either all parameters of an optimiser have names, or none has."""
        if not self.param_groups or (names is not None) == ("param_names" in self.param_groups[0]):
            return
        raise ValueError(
            "all optimizer param groups should be with/without names. cannot add param group "
            f"{'without' if names is None else 'with'} names to the optimizer, whose other groups are not so"
        )

    def _check_repeated(self, params: list[Tensor]) -> None:
        """Refuses parameters of other groups, and warns of those that come twice."""
        new = {id(param) for param in params}
        if not new.isdisjoint(id(param) for group in self.param_groups for param in group["params"]):
            raise ValueError(
                "some parameters appear in more than one parameter group: each may be moved once per step, so leave "
                "them out of all groups but one"
            )
        if len(new) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error. "
                "Each step moves such a parameter several times.",
                UserWarning,
                stacklevel=4,
            )

    # -- steps ---------------------------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients; with `set_to_none=False` their memory is kept and filled with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                forget_gradient(param, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves the parameters once; `closure` computes the loss anew, with its gradients, and is called first."""
        raise NotImplementedError(
            f"{type(self).__name__} has no step(): a subclass of Optimizer says there how parameters move"
        )

    def _move_groups(self, closure: Callable[[], Any] | None) -> Any:
        """What the steps of our own optimisers do: the closure, then `_move` for each group."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with enable_grad() if self.defaults.get("differentiable") else no_grad():
            for group in self.param_groups:
                try:
                    self._move(group)
                except ValueError as error:
                    told = misfit(self.state, group["params"])
                    if not told:
                        raise
                    raise RuntimeError(f"{type(self).__name__}.step(): {told}") from error
        return loss

    def _move(self, group: Group) -> None:
        """Moves the parameters of one group."""
        moving, grads = with_gradients(group["params"])
        self._move_all(moving, grads, self._states_of(moving, group), group)

    def _states_of(self, params: list[Tensor], group: Group) -> list[StateDict]:
        """What is kept of earlier steps, for each parameter."""
        return [self.state[param] for param in params]

    def _move_all(
        self, params: list[Tensor], grads: list[Tensor], states: list[StateDict], rates: Group
    ) -> None:
        """Moves parameters along gradients; what is kept of earlier steps is empty before the first."""
        raise NotImplementedError(f"{type(self).__name__} has no _move_all()")

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` before each step; it may return new `(args, kwargs)` for `step`."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    # -- saving --------------------------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """What `load_state_dict` needs to go on from here: `state` by number of parameter, and `param_groups`.

        The tensors in it are the optimiser's own: copy.deepcopy() it to keep what they are now.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = self._numbers()
        saved = {
            "state": pack_state(self.state, numbers),
            "param_groups": pack_groups(self.param_groups, numbers),
        }
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, saved)
            saved = saved if replaced is None else replaced
        return saved

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Goes on where the optimiser that gave `state_dict` was; the groups must be of the same sizes."""
        saved = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, saved)
            saved = saved if replaced is None else replaced
        groups = deepcopy(saved["param_groups"])
        state = unpack_state(saved["state"], unpack_groups(self.param_groups, groups))
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _numbers(self) -> dict[int, int]:
        """The place of each parameter among all, by identity: what stands for it in a state dict."""
        params = chain.from_iterable(group["params"] for group in self.param_groups)
        return {id(param): i for i, param in enumerate(params)}

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer)` before `state_dict()` looks at anything."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` when one was made; what it returns, if not None, replaces it."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` before loading; what it returns, if not None, is loaded instead."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer)` when a state dict has been loaded."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- copies, pickles, text -----------------------------------------------------------------------------------

    def __getstate__(self) -> StateDict:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: StateDict) -> None:
        self.__dict__.update(state)
        if "_calls_hooks" not in self.__dict__:
            self._make_hook_tables()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, default in self._absent.items():
                group.setdefault(name, default)
            for kept in [self.state.get(param) or {} for param in group["params"]]:  # others may be anything
                for name in self._counts:
                    if name in kept and not isinstance(kept[name], Tensor):
                        kept[name] = new_count(float(kept[name]))

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines += ["", f"Parameter Group {i}", *options] if i else [f"Parameter Group {i}", *options]
        return "\n".join([*lines, ")"])


def functional_step(
    kind: type[Optimizer],
    params: list[Tensor],
    grads: list[Tensor],
    kept: dict[str, Any],
    rates: Group,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """A step of an optimiser whose state the caller keeps, in a list for each name: Note [Functional forms].

    Note [Functional forms]
    ~~~~~~~~~~~~~~~~~~~~~~~
    `optim.adam.adam` and its like move lists of parameters along lists of gradients, with lists of what is kept of
    earlier steps; an empty list is not used. Options have no defaults and are not checked. `foreach`, `fused`,
    `has_complex` and `has_sparse_grad` are accepted for PyTorch's sake. `grad_scale` divides the gradients, and there
    is no step if `found_inf` is not 0. A step that is recorded puts new tensors into the lists.
    """
    if found_inf is not None and found_inf.item() != 0:
        return
    if grad_scale is not None:
        grads = [grad / grad_scale for grad in grads]
    optimizer = object.__new__(kind)  # a step needs no more of it than its methods
    lists = {name: values for name, values in kept.items() if values}
    states = [{name: values[i] for name, values in lists.items()} for i in range(len(params))]
    optimizer._move_all(params, grads, states, rates)
    for name, values in lists.items():
        for i, state in enumerate(states):
            values[i] = state[name]  # a first or a recorded step makes new ones


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` before each step of any optimiser."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` after each step of any optimiser."""
    return add_hook(_global_post_hooks, hook)


def _add(table: HookTable, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    """Adds a hook behind the others, or before them."""
    handle = add_hook(table, hook)
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def _listed(params: Any) -> tuple[list[Any], list[Any] | None]:
    """The parameters of a group as a list, and their names, if they came as pairs, as another."""
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    params = [params] if isinstance(params, Tensor) else list(params)
    named = [isinstance(param, tuple) for param in params]
    if not any(named):
        return params, None
    if not all(named):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing: give (name, tensor) "
            "pairs only, or tensors only"
        )
    return [pair[1] for pair in params], [pair[0] for pair in params]


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with the hooks around it. One that a subclass's step calls is a part of that, and calls none.

    Nor does that of an object which wraps an optimiser and never was initialised as one.
    """

    @functools.wraps(step)
    def wrapped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not wrapped or not hasattr(self, "_calls_hooks"):
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            args, kwargs = _replaced(hook, hook(self, args, kwargs), args, kwargs)
        result = step(*args, **kwargs)
        if hasattr(self, "_opt_called"):  # a schedule wants to know
            self._opt_called = True
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    return wrapped


def _replaced(hook: Any, returned: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments of a step after a hook has seen them."""
    if returned is None:
        return args, kwargs
    if isinstance(returned, tuple) and len(returned) == 2:
        return returned
    raise RuntimeError(
        f"{hook_name(hook)} must return None or a tuple of (new_args, new_kwargs), but got {returned}. It is a hook "
        "before the step, and what it returns takes the place of the step's arguments."
    )
