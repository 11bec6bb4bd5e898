"""States of models and optimisers by the names of parameters, alike with and without DistributedDataParallel.

The state of an optimiser has numbers for parameters, in the order in which it got them; here it has their names in the
model, so that it can be loaded into one that got them in another order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.core.tree import tree_map
from retrograd.distributed.groups import get_rank, is_initialized
from retrograd.distributed.objects import broadcast_object_list
from retrograd.nn.module import Module
from retrograd.nn.module_state import IncompatibleKeys
from retrograd.nn.parallel.distributed import DistributedDataParallel
from retrograd.ops.tensor.create import zeros_like
from retrograd.optim.optimizer import Optimizer

State = dict[str, Any]
Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """What a state is to have.

    Args:
        full_state_dict: the whole state, which each rank has here in any case.
        cpu_offload: tensors on the CPU; with full_state_dict, on the first rank alone.
        ignore_frozen_params: no parameters that require no gradient.
        strict: whether a model refuses a state with other names.
        broadcast_from_rank0: take the state that the first rank has.
        keep_submodule_prefixes, flatten_optimizer_state_dict: must be what they are.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False

    def __post_init__(self) -> None:
        if self.flatten_optimizer_state_dict or not self.keep_submodule_prefixes:
            raise ValueError(
                "states are nested here, and have whole names: leave out flatten_optimizer_state_dict and "
                "keep_submodule_prefixes"
            )
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> State:
    """The state of a model, with the names that it has without DistributedDataParallel."""
    options = _checked(submodules, options)
    inner = _inner(model)
    frozen = {name for name, param in inner.named_parameters() if not param.requires_grad}
    left_out = frozen if options.ignore_frozen_params else set()
    return _offloaded({k: v for k, v in inner.state_dict().items() if k not in left_out}, options)


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizers, *, submodules: Any = None, options: StateDictOptions | None = None
) -> State:
    """The state of optimisers by the names of parameters. One that has made no step gets its first state, of zeros."""
    options = _checked(submodules, options)
    names = {param: name for name, param in _inner(model).named_parameters()}
    state: State = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _begin(optimizer)
        params = [param for group in optimizer.param_groups for param in group["params"]]
        own = optimizer.state_dict()
        for number, values in own["state"].items():
            state["state"][names[params[number]]] = values
        for group in own["param_groups"]:
            group["params"] = [names[params[number]] for number in group["params"]]
            state["param_groups"].append(group)
    return _offloaded(state, options)


def get_state_dict(
    model: Module, optimizers: Optimizers, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[State, State]:
    """The states of a model and of its optimisers, by names.

    >>> import retrograd as rg
    >>> model = rg.nn.Linear(2, 1)
    >>> of_model, of_optimizer = get_state_dict(model, rg.optim.SGD(model.parameters(), momentum=0.9))
    >>> list(of_model), of_optimizer["param_groups"][0]["params"]
    (['weight', 'bias'], ['weight', 'bias'])
    """
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_model_state_dict(
    model: Module, model_state_dict: State, *, options: StateDictOptions | None = None
) -> Any:
    """Gives a model a state of `get_model_state_dict`; the names that were missing, and those of nothing.

    An empty state, which a rank may have, changes nothing.
    """
    options = options or StateDictOptions()
    given = _given(model_state_dict, options)
    return _inner(model).load_state_dict(given, strict=options.strict) if given else IncompatibleKeys([], [])


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizers, optim_state_dict: State, *, options: StateDictOptions | None = None
) -> None:
    """Gives optimisers a state of `get_optimizer_state_dict`; an empty one changes nothing."""
    given = _given(optim_state_dict, options or StateDictOptions())
    if not given:
        return
    names = {param: name for name, param in _inner(model).named_parameters()}
    groups_of = {name: group for group in given["param_groups"] for name in group["params"]}
    for optimizer in _listed(optimizers):
        state: State = {"state": {}, "param_groups": []}
        number = 0
        for group in optimizer.param_groups:
            own = [names[param] for param in group["params"]]
            missing = [name for name in own if name not in groups_of]
            if missing:
                raise RuntimeError(f"the optimiser's state has no parameter {missing[0]!r} of the model")
            places = list(range(number, number := number + len(own)))
            state["param_groups"].append({**groups_of[own[0]], "params": places} if own else group)
            for place, name in zip(places, own, strict=True):
                if name in given["state"]:
                    state["state"][place] = given["state"][name]
        optimizer.load_state_dict(state)


def set_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    model_state_dict: State,
    optim_state_dict: State,
    options: StateDictOptions | None = None,
) -> Any:
    """Gives a model and its optimisers the states of `get_state_dict`."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


def _checked(submodules: Any, options: StateDictOptions | None) -> StateDictOptions:
    if submodules is not None:
        raise ValueError("states are those of whole models here: leave submodules out")
    return options or StateDictOptions()


def _inner(model: Module) -> Module:
    while isinstance(model, DistributedDataParallel):
        model = model.module
    return model


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _begin(optimizer: Optimizer) -> None:
    """Has an optimiser make its state, by a step of length zero along gradients of zeros."""
    params = [param for group in optimizer.param_groups for param in group["params"]]
    if optimizer.state or any(param.grad is not None for param in params):
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * 0.0
    for param in params:
        if param.requires_grad:
            param.grad = zeros_like(param)
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


@no_grad()
def _offloaded(state: State, options: StateDictOptions) -> State:
    if not options.cpu_offload:
        return state
    if options.full_state_dict and is_initialized() and get_rank() != 0:
        return {}
    return dict(tree_map(lambda value: value.cpu() if isinstance(value, Tensor) else value, state))


def _given(state: State, options: StateDictOptions) -> State:
    """The state to be loaded: this rank's, or that of the first."""
    shared: list[Any] = [state]
    if options.broadcast_from_rank0 and is_initialized():
        broadcast_object_list(shared, 0)
    return dict(shared[0])
