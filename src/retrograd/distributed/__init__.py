"""Training by several processes, on one machine or on many, under PyTorch's names: over MPI, and NCCL on GPUs.

Start a script by `mpirun -n 4 python train.py`, or `retrograd launch -n 4 train.py`; docs/guide/distributed.md.
"""

from typing import TYPE_CHECKING

from retrograd.lazy import lazily as _lazily

if TYPE_CHECKING:
    from retrograd.distributed import algorithms, checkpoint, nn, optim, tensor
    from retrograd.distributed.agreement import verify_agreement
    from retrograd.distributed.availability import (
        get_node_local_rank,
        is_available,
        is_gloo_available,
        is_mpi_available,
        is_nccl_available,
        is_torchelastic_launched,
        is_ucc_available,
        is_xccl_available,
    )
    from retrograd.distributed.backend_names import (
        Backend,
        get_default_backend_for_device,
        is_backend_available,
    )
    from retrograd.distributed.barriers import barrier, monitored_barrier
    from retrograd.distributed.buckets import GradBucket
    from retrograd.distributed.debug import (
        DebugLevel,
        get_debug_level,
        set_debug_level,
        set_debug_level_from_env,
    )
    from retrograd.distributed.device_mesh import DeviceMesh, init_device_mesh
    from retrograd.distributed.errors import (
        DistBackendError,
        DistError,
        DistNetworkError,
        DistStoreError,
        QueueEmptyError,
    )
    from retrograd.distributed.groups import (
        GroupMember,
        ProcessGroup,
        default_pg_timeout,
        get_backend,
        get_backend_config,
        get_global_rank,
        get_group_rank,
        get_pg_count,
        get_process_group_ranks,
        get_rank,
        get_world_size,
        group,
        is_initialized,
    )
    from retrograd.distributed.messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
    from retrograd.distributed.movements import (
        all_gather,
        all_gather_coalesced,
        all_gather_into_tensor,
        all_gather_single,
        all_to_all,
        all_to_all_single,
        broadcast,
        gather,
        scatter,
    )
    from retrograd.distributed.objects import (
        all_gather_object,
        broadcast_object_list,
        gather_object,
        recv_object_list,
        scatter_object_list,
        send_object_list,
    )
    from retrograd.distributed.operation_options import (
        AllgatherOptions,
        AllreduceCoalescedOptions,
        AllreduceOptions,
        AllToAllOptions,
        BarrierOptions,
        BroadcastOptions,
        GatherOptions,
        ReduceOptions,
        ReduceScatterOptions,
        ScatterOptions,
    )
    from retrograd.distributed.reduce_op import ReduceOp, supports_complex
    from retrograd.distributed.reduce_op import premul_sum as _make_nccl_premul_sum  # noqa: F401
    from retrograd.distributed.reductions import (
        all_reduce,
        all_reduce_coalesced,
        reduce,
        reduce_scatter,
        reduce_scatter_single,
        reduce_scatter_tensor,
    )
    from retrograd.distributed.starting import (
        destroy_process_group,
        init_process_group,
        new_group,
        new_subgroups,
        new_subgroups_by_enumeration,
        split_group,
    )
    from retrograd.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore
    from retrograd.distributed.synchronization import synchronized
    from retrograd.distributed.work import Work

NAMES = {
    "retrograd.distributed.agreement": "verify_agreement",
    "retrograd.distributed.algorithms": "algorithms=",
    "retrograd.distributed.availability": (
        "get_node_local_rank is_available is_gloo_available is_mpi_available is_nccl_available "
        "is_torchelastic_launched is_ucc_available is_xccl_available"
    ),
    "retrograd.distributed.backend_names": "Backend get_default_backend_for_device is_backend_available",
    "retrograd.distributed.barriers": "barrier monitored_barrier",
    "retrograd.distributed.buckets": "GradBucket",
    "retrograd.distributed.checkpoint": "checkpoint=",
    "retrograd.distributed.coalescing": "_coalescing_manager=coalescing_manager",
    "retrograd.distributed.debug": "DebugLevel get_debug_level set_debug_level set_debug_level_from_env",
    "retrograd.distributed.device_mesh": "device_mesh= DeviceMesh init_device_mesh",
    "retrograd.distributed.distributed_c10d": "distributed_c10d=",
    "retrograd.distributed.errors": "DistBackendError DistError DistNetworkError DistStoreError QueueEmptyError",
    "retrograd.distributed.groups": (
        "GroupMember ProcessGroup _rank_not_in_group=rank_not_in_group default_pg_timeout get_backend "
        "get_backend_config get_global_rank get_group_rank "
        "get_pg_count get_process_group_ranks get_rank get_world_size group is_initialized"
    ),
    "retrograd.distributed.messages": "P2POp batch_isend_irecv irecv isend recv send",
    "retrograd.distributed.movements": (
        "_all_gather_base=all_gather_single all_gather all_gather_coalesced all_gather_into_tensor all_gather_single "
        "all_to_all all_to_all_single broadcast gather scatter"
    ),
    "retrograd.distributed.objects": (
        "all_gather_object broadcast_object_list gather_object recv_object_list scatter_object_list send_object_list"
    ),
    "retrograd.distributed.nn": "nn=",
    "retrograd.distributed.optim": "optim=",
    "retrograd.distributed.operation_options": (
        "AllToAllOptions AllgatherOptions AllreduceCoalescedOptions AllreduceOptions BarrierOptions BroadcastOptions "
        "GatherOptions ReduceOptions ReduceScatterOptions ScatterOptions"
    ),
    "retrograd.distributed.reduce_op": (
        "ReduceOp _make_nccl_premul_sum=premul_sum reduce_op=ReduceOp supports_complex"
    ),
    "retrograd.distributed.reductions": (
        "_reduce_scatter_base=reduce_scatter_single all_reduce all_reduce_coalesced reduce reduce_scatter "
        "reduce_scatter_single reduce_scatter_tensor"
    ),
    "retrograd.distributed.starting": (
        "destroy_process_group init_process_group new_group new_subgroups new_subgroups_by_enumeration split_group"
    ),
    "retrograd.distributed.stores": "FileStore HashStore PrefixStore Store TCPStore",
    "retrograd.distributed.synchronization": "synchronized",
    "retrograd.distributed.tensor": "tensor=",
    "retrograd.distributed.work": "Work",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazily(__name__, NAMES)

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "Backend",
    "BarrierOptions",
    "BroadcastOptions",
    "DebugLevel",
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GatherOptions",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "Store",
    "TCPStore",
    "Work",
    "algorithms",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "checkpoint",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "nn",
    "optim",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "split_group",
    "supports_complex",
    "synchronized",
    "tensor",
    "verify_agreement",
]
