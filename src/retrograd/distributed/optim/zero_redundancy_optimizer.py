"""ZeroRedundancyOptimizer: each rank keeps the state of its share of the parameters, and moves those."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.autograd.modes import no_grad
from retrograd.backends.device import device
from retrograd.core.tensor import Tensor
from retrograd.distributed.agreement import verify_agreement
from retrograd.distributed.algorithms.join import DISABLED, Join, Joinable, JoinHook
from retrograd.distributed.coalescing import broadcast_all
from retrograd.distributed.groups import default_group
from retrograd.distributed.objects import gather_object
from retrograd.distributed.sharding import ShardingReducer, share_out
from retrograd.distributed.synchronization import bucket_limits, own_group
from retrograd.errors import type_name
from retrograd.ops.tensor.create import empty
from retrograd.optim.optimizer import Group, Optimizer, StateDict


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimiser whose state is shared out among the ranks: each moves its share, and sends it to the others.

    With N ranks each keeps about an N-th of the state (ZeRO stage 1); with `shard_gradients=True` of the gradients too
    (stage 2).

    Args:
        params: tensors, or groups of them; the same on all ranks.
        optimizer_class: the class of the optimiser that each rank has for its share.
        process_group: the ranks; all if None.
        parameters_as_bucket_view: let the parameters of each rank lie in one piece of memory, which is sent as it is.
        overlap_with_ddp: must be False: steps are not taken inside of backwards here.
        shard_gradients: reduce the mean of each gradient to the rank that needs it, while backward runs; the others
            have None in `.grad` afterwards. The optimiser does that itself: do not wrap the model in
            DistributedDataParallel then.
        defaults: the options of `optimizer_class`.

    >>> import retrograd as rg
    >>> from retrograd.distributed.optim import ZeroRedundancyOptimizer
    >>> rg.distributed.init_process_group()
    >>> model = rg.nn.Linear(2, 1)
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), rg.optim.Adam, lr=0.1)
    >>> model(rg.ones(1, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.consolidate_state_dict()
    >>> sorted(optimizer.state_dict()["state"])
    [0, 1]
    >>> rg.distributed.destroy_process_group()
    """

    optim: Optimizer

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        shard_gradients: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise ValueError(
                "overlap_with_ddp=True would take steps inside of a backward, before all gradients are known to be "
                "there; that is not done here. Leave it out: with shard_gradients=True the reductions overlap with "
                "backward."
            )
        self.process_group: Any = process_group or default_group()
        self.world_size: int = self.process_group.size()
        self.rank: int = self.process_group.rank()
        self._ready = False
        self._loads = [0] * self.world_size
        self._owners: dict[int, int] = {}  # by identity of the parameter
        listed = _listed(params)
        Joinable.__init__(self)
        Optimizer.__init__(self, listed, dict(defaults))
        self._all_state_dicts: list[StateDict] = []
        everything = [(f"param {i}", param) for i, param in enumerate(self._all_params())]
        verify_agreement(everything, self.process_group)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._memory: list[list[Tensor]] = []
        for group in self.param_groups:
            self._share_out(group)
        self.optim = optimizer_class(self._own_groups(), **defaults)
        self._copy_options(self.optim.param_groups, self.param_groups)
        self.shard_gradients = shard_gradients
        self.reducer: ShardingReducer | None = None
        self._ready = True
        self._rebuild()

    # -- shares ----------------------------------------------------------------------------------------------------

    def _all_params(self) -> list[Tensor]:
        return [param for group in self.param_groups for param in group["params"]]

    def _share_out(self, group: Group) -> None:
        """Gives each parameter of a group an owner."""
        owners = share_out([param.numel() for param in group["params"]], self._loads)
        for param, owner in zip(group["params"], owners, strict=True):
            self._owners[id(param)] = owner

    def owner_of(self, param: Tensor) -> int:
        """The rank of the group that moves a parameter."""
        return self._owners[id(param)]

    def _params_of(self, rank: int) -> list[Tensor]:
        return [param for param in self._all_params() if self.owner_of(param) == rank]

    def _own_groups(self) -> list[Group]:
        """The groups with the parameters of this rank alone."""
        return [self._own_group(group) for group in self.param_groups]

    def _own_group(self, group: Group) -> Group:
        options = {name: value for name, value in group.items() if name not in ("params", "param_names")}
        own = [param for param in group["params"] if self.owner_of(param) == self.rank]
        return {**options, "params": own}

    def _rebuild(self) -> None:
        """Makes what depends on the list of all parameters."""
        if self.parameters_as_bucket_view:
            self._memory = [_in_one_piece(self._params_of(rank)) for rank in range(self.world_size)]
        if self.shard_gradients:
            if self.reducer is not None:
                self.reducer.stop()
            params = [param for param in self._all_params() if param.requires_grad]
            owners = [self.owner_of(param) for param in params]
            group, limits = own_group(self.process_group), bucket_limits(None)
            self.reducer = ShardingReducer(params, owners, group, limits, self._announce)

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters, and shares them out."""
        super().add_param_group(param_group)
        if not self._ready:
            return
        group = self.param_groups[-1]
        self._share_out(group)
        self.optim.add_param_group(self._own_group(group))
        self._copy_options(self.optim.param_groups, self.param_groups)
        self._rebuild()

    @staticmethod
    def _copy_options(source: list[Group], target: list[Group]) -> None:
        """Brings the options of groups up to date: schedules change those of the whole optimiser."""
        for own, other in zip(source, target, strict=True):
            for name, value in own.items():
                if name not in ("params", "param_names"):
                    other[name] = value

    # -- steps -----------------------------------------------------------------------------------------------------

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """With `shard_gradients`: backwards in this block add to `.grad` on each rank by itself."""
        reducer = self.reducer
        if reducer is not None:
            reducer.expected = reducer.always = False
        try:
            yield
        finally:
            if reducer is not None:
                reducer.expected = reducer.always = True

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Moves the parameters of this rank, and sends them to the others."""
        if self.reducer is None:
            self._announce()
        self._copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        for rank in range(self.world_size):
            sent = self._memory[rank] if self.parameters_as_bucket_view else self._params_of(rank)
            broadcast_all(sent, self.process_group, rank)
        self._copy_options(self.optim.param_groups, self.param_groups)
        return loss

    def _announce(self) -> None:
        """Tells ranks that have no inputs left that this one begins another step."""
        Join.notify_join_context(self)

    # -- join ------------------------------------------------------------------------------------------------------

    def join_hook(self, **_kwargs: Any) -> JoinHook:
        """What a rank does that has run out of inputs: moves its share with the gradients of the others."""
        return _StepOn(self)

    @property
    def join_device(self) -> device:
        """Where the parameters are."""
        return self._all_params()[0].device

    @property
    def join_process_group(self) -> Any:
        """The ranks."""
        return self.process_group

    # -- saving ----------------------------------------------------------------------------------------------------

    def sharded_state_dict(self) -> StateDict:
        """The state of this rank's share, by the numbers that `state_dict` has: for `distributed.checkpoint`."""
        numbers = self._numbers()
        own = [param for group in self.optim.param_groups for param in group["params"]]
        local = self.optim.state_dict()["state"]
        state = {numbers[id(own[i])]: value for i, value in local.items()}
        self._copy_options(self.param_groups, self.optim.param_groups)
        return {"state": state, "param_groups": Optimizer.state_dict(self)["param_groups"]}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Brings the state of all shares to rank `to`, whose `state_dict()` then has all. All ranks call it."""
        gathered: list[Any] | None = [None] * self.world_size if self.rank == to else None
        own = self.sharded_state_dict()["state"]
        gather_object(own, gathered, group=self.process_group, group_dst=to)
        self._all_state_dicts = gathered or []

    def state_dict(self) -> StateDict:
        """The state of all parameters, as an optimiser of one process has it; after `consolidate_state_dict`."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        whole = super().state_dict()
        merged = {number: value for shard in self._all_state_dicts for number, value in shard.items()}
        whole["state"] = dict(sorted(merged.items()))
        return whole

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Takes this rank's share out of a state of all parameters, whatever number of ranks it was saved by."""
        params = self._all_params()
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        if len(saved) != len(params):
            raise ValueError(
                f"loaded state dict has {len(saved)} parameters, but this optimizer has {len(params)}: they are "
                "matched by their order"
            )
        place = {number: i for i, number in enumerate(saved)}
        own = [param for group in self.optim.param_groups for param in group["params"]]
        number_of = {id(param): i for i, param in enumerate(own)}
        state = {
            number_of[id(params[place[number]])]: value
            for number, value in state_dict["state"].items()
            if number in place and id(params[place[number]]) in number_of
        }
        local = self.optim.state_dict()["param_groups"]
        groups = [
            {**given, "params": kept["params"]}
            for given, kept in zip(state_dict["param_groups"], local, strict=True)
        ]
        for group in groups:
            group.pop("param_names", None)
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        self._copy_options(self.optim.param_groups, self.param_groups)
        self._all_state_dicts = []


class _StepOn(JoinHook):
    """What a rank does that has run out of inputs."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Takes a step with the others: nobody else moves this rank's share."""
        optimizer = self.optimizer
        if optimizer.reducer is not None:
            optimizer.reducer.shadow()
        config, optimizer._join_config = optimizer._join_config, DISABLED
        optimizer.step()  # without a word that this rank begins another step: it does not
        optimizer._join_config = config


def _listed(params: Any) -> list[Any]:
    """The parameters or groups as a list, if they are such."""
    if isinstance(params, Tensor):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors, but got {type_name(params)}: put it in a list"
        )
    listed = list(params)
    if not listed:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not all(isinstance(each, (Tensor, dict, tuple)) for each in listed):
        raise TypeError(
            "`params` argument should be an iterable of Tensors or dicts, but one of them is "
            f"{type_name(next(x for x in listed if not isinstance(x, (Tensor, dict, tuple))))}"
        )
    return listed


@no_grad()
def _in_one_piece(params: list[Tensor]) -> list[Tensor]:
    """Moves parameters into one piece of memory for each dtype, and returns those."""
    pieces: list[Tensor] = []
    for kind in dict.fromkeys((param.dtype, param.device) for param in params):
        same = [param for param in params if (param.dtype, param.device) == kind]
        memory = empty(sum(param.numel() for param in same), dtype=kind[0], device=kind[1])
        place = 0
        for param in same:
            view = memory[place : place + param.numel()].view(param.shape)
            view.copy_(param)
            param.data = view
            place += param.numel()
        pieces.append(memory)
    return pieces
