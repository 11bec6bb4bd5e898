"""Other parameters and state for an optimiser, for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.optim.optimizer import Optimizer, StateDict


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, Tensor], swapin_optim_state: StateDict
) -> Iterator[None]:
    """Lets an optimiser move other parameters, with another state, inside of a `with` block.

    Args:
        optimizer: whose parameters, options and state are put back at the end.
        swapin_parameters: the tensors to move, by name, in the order of the optimiser's own.
        swapin_optim_state: their state and options, as `state_dict()` gives them; tensors in it are written into.

    >>> import retrograd as rg
    >>> w, other = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
    >>> optimizer = rg.optim.SGD([w], lr=0.5)
    >>> other.grad = rg.ones(2)
    >>> swap = rg.optim.swap_in_optimizer_params_and_state
    >>> with swap(optimizer, {"w": other}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> w, other
    (tensor([1., 1.], requires_grad=True), tensor([0.5000, 0.5000], requires_grad=True))
    """
    new = list(swapin_parameters.values())
    own = list(chain.from_iterable(group["params"] for group in optimizer.param_groups))
    if len(new) != len(own):
        raise ValueError(
            f"swap_in_optimizer_params_and_state(): got {len(new)} parameters for an optimizer of {len(own)}"
        )
    before = optimizer.param_groups, optimizer.state
    numbers = list(chain.from_iterable(group["params"] for group in swapin_optim_state["param_groups"]))
    by_number = dict(zip(numbers, new, strict=True))
    optimizer.param_groups = [
        {**group, "params": [by_number[number] for number in group["params"]]}
        for group in swapin_optim_state["param_groups"]
    ]
    states: dict[Any, Any] = {
        by_number.get(key, key): dict(value) if isinstance(value, dict) else value
        for key, value in swapin_optim_state["state"].items()
    }
    optimizer.state = defaultdict(dict, states)
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = before
