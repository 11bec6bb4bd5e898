"""The mean of parameters over the ranks of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.distributed.coalescing import messages
from retrograd.distributed.groups import default_group, rank_not_in_group
from retrograd.distributed.reductions import all_reduce
from retrograd.ops.shape.join import cat

Params = Iterable[Tensor] | Iterable[dict[str, Any]]


@no_grad()
def average_parameters(params: Iterable[Tensor], process_group: Any) -> None:
    """Makes parameters the mean of those of all ranks, which must have the same; small ones travel together."""
    group = default_group() if process_group is None else process_group
    if rank_not_in_group(group):
        return
    for message in messages(params):
        flat = cat([tensor.reshape(-1) for tensor in message]).div_(group.size())
        all_reduce(flat, group=group)
        place = 0
        for tensor in message:
            tensor.copy_(flat[place : place + tensor.numel()].view(tensor.shape))
            place += tensor.numel()


def get_params_to_average(params: Params) -> list[Tensor]:
    """Those parameters, of a list or of an optimiser's groups, that have a gradient."""
    return [param for param in _flat(params) if param.grad is not None]


def _flat(params: Params) -> Iterator[Tensor]:
    for each in params:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, dict):
            yield from each["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(each)} is not supported")


def average_parameters_or_parameter_groups(params: Params, process_group: Any) -> None:
    """Averages the parameters, of a list or of an optimiser's groups, that have a gradient."""
    average_parameters(get_params_to_average(params), process_group)
