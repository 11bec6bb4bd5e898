"""DistributedDataParallel: a module that each rank trains on its own data, with gradients averaged over the ranks."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from retrograd.backends.device import device
from retrograd.core.modes import is_grad_enabled
from retrograd.core.tensor import Tensor
from retrograd.core.tree import tree_map
from retrograd.distributed.agreement import verify_agreement
from retrograd.distributed.algorithms.join import Join, Joinable, JoinHook
from retrograd.distributed.buckets import GradBucket
from retrograd.distributed.coalescing import broadcast_all
from retrograd.distributed.errors import DistBackendError
from retrograd.distributed.groups import default_group
from retrograd.distributed.reduce_op import ReduceOp
from retrograd.distributed.reducer import Reducer
from retrograd.distributed.reductions import all_reduce
from retrograd.distributed.synchronization import bucket_limits, own_group
from retrograd.nn.module import Module
from retrograd.nn.parameter import is_lazy
from retrograd.ops.tensor.create import full

_NOT_PICKLED = ("process_group", "reducer", "device_mesh")


class DistributedDataParallel(Module, Joinable):
    """A module of which every rank has a copy; `backward` leaves the mean of all ranks' gradients in `.grad`.

    Gradients travel in buckets, while the rest of the backward still runs. Parameters that a forward does not use need
    no flag; they may differ between ranks and from step to step, and those that no rank has used keep the `.grad` they
    had.

    Args:
        module: the module. Ranks that have built another one are told so here.
        device_ids: the one GPU that the module is on, to which inputs are moved; None on the CPU.
        output_device, dim: accepted for PyTorch's sake.
        broadcast_buffers: the old name of forward_sync_buffers, for init_sync too.
        init_sync: give all ranks the parameters and buffers of the first one, now.
        process_group: the ranks; all if None.
        bucket_cap_mb: gradients travel in messages of about so many MiB; None is 25, and 1 for the first.
        find_unused_parameters, static_graph: accepted for PyTorch's sake; nothing depends on them.
        check_reduction: accepted for PyTorch's sake.
        gradient_as_bucket_view: let `.grad` be a part of the message itself, which saves memory and copies.
        bucket_cap_mb_list: the sizes of the first messages, one by one; the last one is that of all further ones.
        forward_sync_buffers: give all ranks the buffers of the first one before each forward (yes).
        device_mesh: the ranks, as a DeviceMesh of one dimension.
        delay_all_reduce_named_params, mixed_precision: must be left out.
        param_to_hook_all_reduce, skip_all_reduce_unused_params, batched_grad_copy: accepted for PyTorch's sake.

    >>> import retrograd as rg
    >>> rg.distributed.init_process_group()
    >>> model = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(2, 1, bias=False))
    >>> model(rg.ones(3, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[3., 3.]])
    >>> list(model.state_dict())
    ['module.weight']
    >>> rg.distributed.destroy_process_group()
    """

    device_ids: list[Any] | None
    output_device: Any
    static_graph: bool
    require_backward_grad_sync: bool
    require_forward_param_sync: bool
    reducer: Reducer

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        _refuse(delay_all_reduce_named_params, "delay_all_reduce_named_params", "leave it out")
        _refuse(mixed_precision, "mixed_precision", "compute the forward under autocast")
        _warn_of_old_name(broadcast_buffers)
        self.device_mesh = device_mesh
        self.process_group: Any = _ranks(device_mesh, process_group)
        self.parameters_to_ignore: set[str] = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.module = module
        _check_module(module, self._trained())
        self.device_ids, self.output_device = _checked_devices(module, device_ids, output_device)
        self.device: device = next(param.device for _, param in self._trained())
        self.device_type: str = self.device.type
        self.is_multi_device_module = False
        self.dim = dim
        self.broadcast_buffers: bool = broadcast_buffers is not False
        self.forward_sync_buffers: bool = (
            self.broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        )
        self.bucket_cap_mb = bucket_cap_mb
        self.bucket_cap_mb_list = bucket_cap_mb_list
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self._has_buffers = bool(self._buffers_to_send())
        self._divide_by_initial_world_size = True
        _check_same_model(self._trained(), self.process_group)
        if init_sync:
            broadcast_all(
                self._state() if self.broadcast_buffers else self._params_to_send(), self.process_group
            )
        self.reducer = self._make_reducer()

    def _trained(self) -> list[tuple[str, Tensor]]:
        """The parameters that gradients are averaged for."""
        return [
            (name, param)
            for name, param in self.module.named_parameters()
            if param.requires_grad and name not in self.parameters_to_ignore
        ]

    def _buffers_to_send(self) -> list[Tensor]:
        named = self.module.named_buffers()
        return [buffer for name, buffer in named if name not in self.parameters_to_ignore]

    def _state(self) -> list[Tensor]:
        """Everything that is the same on all ranks in the beginning."""
        return self._params_to_send() + self._buffers_to_send()

    def _params_to_send(self) -> list[Tensor]:
        named = self.module.named_parameters()
        return [param for name, param in named if name not in self.parameters_to_ignore]

    def _make_reducer(self) -> Reducer:
        params = [param for _, param in self._trained()]
        limits = bucket_limits(self.bucket_cap_mb_list or self.bucket_cap_mb)
        return Reducer(params, own_group(self.process_group), limits, as_views=self.gradient_as_bucket_view)

    # -- forward ---------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output; backwards through it average gradients, unless this is in a `no_sync` block."""
        self._before_forward()
        if self.device_ids:
            inputs, kwargs = tree_map(self._moved, (inputs, kwargs))
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = is_grad_enabled() and self.require_backward_grad_sync
        if self.require_forward_param_sync:
            self.reducer.expected = True
            self.reducer.watch(_tensors(output))
        return output

    def _moved(self, value: Any) -> Any:
        """A tensor on the module's device; anything else as it is."""
        return value.to(self.device) if isinstance(value, Tensor) else value

    def _before_forward(self) -> None:
        joining = self._join_config.enable
        work = Join.notify_join_context(self)
        if work is not None and not self._divide_by_initial_world_size:
            work.wait()
            self.reducer.divisor = int(work.result()[0].item())
        if self.will_sync_module_buffers():
            self._sync_buffers()
        if joining:
            self._agree_on_reduction(joined=False)

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward begins by giving all ranks the buffers of one."""
        return self._has_buffers and self.forward_sync_buffers and self.require_forward_param_sync

    def _sync_buffers(self, joined: bool = False) -> None:
        source = self._find_source(not joined) if self._join_config.enable else 0
        broadcast_all(self._buffers_to_send(), self.process_group, source)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backwards of what is computed in this block add to `.grad` without the other ranks.

        The next backward outside averages all that has come together.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # -- what programs use although PyTorch has not documented it ---------------------------------------------------

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Iterable[str]
    ) -> None:
        """Has a module that is to be wrapped keep some parameters and buffers, by name, for each rank alone."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self) -> None:
        """Says that all steps have the same graph, on which nothing depends here."""
        self.static_graph = True

    def _set_ddp_runtime_logging_sample_rate(self, sample_rate: int) -> None:
        """Sets in which steps times are taken; here they are in all."""
        if sample_rate < 1:
            raise ValueError("DDP runtime logging sample rate should be equal or greater than 1")

    def _remove_autograd_hooks(self) -> None:
        """Has gradients no longer averaged."""
        self.reducer.stop()

    # -- hooks -----------------------------------------------------------------------------------------------------

    def register_comm_hook(self, state: object, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Has `hook(state, bucket)` reduce each bucket in place of an all_reduce.

        The hook returns a Future of a tensor that is as long as `bucket.buffer()`: the gradients to be used.
        `distributed.algorithms.ddp_comm_hooks` has some.
        """
        _check_hook(hook)
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.hook_state = hook, state

    # -- join ------------------------------------------------------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A block in which ranks may have different numbers of inputs.

        Args:
            divide_by_initial_world_size: divide sums of gradients by the number of all ranks; otherwise by the number
                of those that still have inputs.
            enable: False to switch it off.
            throw_on_early_termination: raise an error on all ranks as soon as one has run out of inputs.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank does that has run out of inputs: takes part in the reductions of the others."""
        return _Accompany(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> device:
        """Where the parameters are."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The ranks."""
        return self.process_group

    def _agree_on_reduction(self, joined: bool) -> bool:
        """Whether the ranks that still have inputs reduce in this iteration, which those that have none learn so."""
        wanted = 0.0 if joined or not self.require_backward_grad_sync else 1.0
        flag = full((1,), wanted, device=self.device)
        all_reduce(flag, group=self.process_group)
        return bool(flag.item())

    def _find_source(self, usable: bool) -> int:
        """The highest rank that still has inputs, or of those that say that they can be used."""
        own = self.process_group.rank() if usable else -1
        found = full((1,), float(own), device=self.device)
        all_reduce(found, ReduceOp.MAX, group=self.process_group)
        rank = int(found.item())
        if rank < 0:
            raise ValueError("BUG! Expected at least one rank to be usable as the source of buffers")
        return rank

    # -- copies and pickles ----------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = copy.copy(self.__dict__)
        for name in _NOT_PICKLED:
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The group of a copy is the one of all ranks; all of them make the copy."""
        super().__setstate__(state)
        self.__dict__.setdefault("require_forward_param_sync", True)
        self.__dict__.setdefault("require_backward_grad_sync", True)
        self.process_group = default_group()
        self.reducer = self._make_reducer()

    # -- figures ---------------------------------------------------------------------------------------------------

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Figures of the model and of the last reduction; times in seconds."""
        reducer = self.reducer
        params = reducer.params
        times = reducer.times
        data = {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "dtypes": ", ".join(sorted({str(param.dtype).removeprefix("torch.") for param in params})),
            "num_parameter_tensors": len(params),
            "total_parameter_size_bytes": sum(param.numel() * param.element_size() for param in params),
            "bucket_sizes": ", ".join(
                str(bucket.length * bucket.params[0].element_size()) for bucket in reducer.buckets
            ),
            "broadcast_buffers": self.forward_sync_buffers,
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
            "comm_hook": ""
            if reducer.hook is None
            else getattr(reducer.hook, "__qualname__", str(reducer.hook)),
        }
        if "reduced" in times and "begin" in times:
            data["backward_compute_time"] = times["end"] - times["begin"]
            data["backward_comm_time"] = times["reduced"] - times["launch"][0]
            data["backward_compute_comm_overlap_time"] = max(0.0, times["end"] - times["launch"][0])
        return data


class _Accompany(JoinHook):
    """What a rank does that has run out of inputs."""

    def __init__(self, model: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.model = model
        self.own: list[Tensor | None] | None = None  # gradients that this rank had at its end
        model._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        """Takes part in the collectives of one forward and backward."""
        model = self.model
        if model.will_sync_module_buffers():
            model._sync_buffers(joined=True)
        reduces = model._agree_on_reduction(joined=True)
        model.require_forward_param_sync = reduces
        if reduces:
            if self.own is None:
                self.own = [param.grad for param in model.reducer.params]
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Gives all ranks the parameters and buffers of one that was there to the end."""
        model = self.model
        source = model._find_source(is_last_joiner)
        broadcast_all(model._state(), model.process_group, source)
        for param, grad in zip(model.reducer.params, self.own or (), strict=False):
            param.grad = grad
        model.reducer.divisor = model.process_group.size()


def _warn_of_old_name(broadcast_buffers: bool | None) -> None:
    if broadcast_buffers is not None:
        warnings.warn(
            "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` for the buffers in each forward, and "
            "`init_sync` for those in the beginning.",
            FutureWarning,
            stacklevel=3,
        )


def _ranks(mesh: Any, group: Any) -> Any:
    """The group of a model, which may be given as a mesh."""
    if mesh is None:
        return group or default_group()
    if group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if mesh.ndim != 1:
        raise RuntimeError(
            f"Only 1D device mesh is supported, but got {mesh}. Give the part of it whose ranks have copies of the "
            "model, as mesh['data']."
        )
    return mesh.get_group(0)


def _check_module(module: Module, trained: list[tuple[str, Tensor]]) -> None:
    if any(is_lazy(param) for param in module.parameters()):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward "
            "pass to correctly initialize the modules"
        )
    if not trained:
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
        )
    kinds = {param.device.type for _, param in trained}
    if len(kinds) > 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but input module parameters "
            f"locate in {kinds}."
        )


def _refuse(value: Any, name: str, advice: str) -> None:
    if value is not None:
        raise ValueError(f"DistributedDataParallel does not take {name} here: {advice}.")


def _check_same_model(trained: list[tuple[str, Tensor]], group: Any) -> None:
    """Raises on all ranks if their parameters differ, with the first difference of both sides."""
    try:
        verify_agreement(trained, group)
    except DistBackendError as error:
        raise RuntimeError(f"DDP expects same model across all ranks, but {error}") from None


def _checked_devices(module: Module, device_ids: Any, output_device: Any) -> tuple[list[Any] | None, Any]:
    """The devices that a module is on, if they were given as they should be."""
    if device_ids and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    found = {param.device for param in module.parameters()}
    if not device_ids and output_device is None:
        return None, None
    if len(found) != 1 or next(iter(found)).type == "cpu":
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with single-device/"
            f"multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, output_device "
            f"{output_device}, and module parameters {found}."
        )
    ids = list(device_ids or [next(iter(found))])
    return ids, ids[0] if output_device is None else output_device


def _check_hook(hook: Any) -> None:
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature = inspect.signature(hook)
    bucket = signature.parameters.get("bucket")
    given = inspect.Parameter.empty if bucket is None else bucket.annotation
    if given not in (inspect.Parameter.empty, GradBucket) and not isinstance(given, str):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    returned = signature.return_annotation
    if returned is not inspect.Signature.empty and "Future" not in str(returned):
        raise ValueError(
            "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
        )


def _tensors(output: Any) -> list[Tensor]:
    """The tensors in what a module has returned, however it is packed."""
    found: list[Tensor] = []
    pending = [output]
    while pending:
        value = pending.pop()
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, (list, tuple, set)):
            pending.extend(value)
        elif is_dataclass(value) and not isinstance(value, type):
            pending.extend(getattr(value, field.name) for field in fields(value))
    return found
