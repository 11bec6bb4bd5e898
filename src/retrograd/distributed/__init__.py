"""Training by several processes, on one machine or on many, under PyTorch's names: over MPI, and NCCL on GPUs."""

from typing import TYPE_CHECKING

from retrograd.lazy import lazily as _lazily

if TYPE_CHECKING:
    from retrograd.distributed.availability import (
        is_available,
        is_gloo_available,
        is_mpi_available,
        is_nccl_available,
        is_torchelastic_launched,
        is_ucc_available,
        is_xccl_available,
    )
    from retrograd.distributed import algorithms, checkpoint, optim
    from retrograd.distributed.buckets import GradBucket
    from retrograd.distributed.collectives import (
        all_gather,
        all_gather_into_tensor,
        all_reduce,
        barrier,
        broadcast,
        reduce,
        reduce_scatter_tensor,
    )
    from retrograd.distributed.groups import (
        GroupMember,
        ProcessGroup,
        default_pg_timeout,
        get_backend,
        get_global_rank,
        get_group_rank,
        get_pg_count,
        get_process_group_ranks,
        get_rank,
        get_world_size,
        group,
        is_initialized,
    )
    from retrograd.distributed.objects import all_gather_object, broadcast_object_list
    from retrograd.distributed.reduce_op import ReduceOp
    from retrograd.distributed.starting import destroy_process_group, init_process_group, new_group
    from retrograd.distributed.synchronization import synchronized
    from retrograd.distributed.work import Work
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.distributed.availability": (
                "is_available is_gloo_available is_mpi_available is_nccl_available is_torchelastic_launched "
                "is_ucc_available is_xccl_available"
            ),
            "retrograd.distributed.algorithms": "algorithms=",
            "retrograd.distributed.buckets": "GradBucket",
            "retrograd.distributed.checkpoint": "checkpoint=",
            "retrograd.distributed.optim": "optim=",
            "retrograd.distributed.synchronization": "synchronized",
            "retrograd.distributed.collectives": (
                "all_gather all_gather_into_tensor all_reduce barrier broadcast reduce reduce_scatter_tensor"
            ),
            "retrograd.distributed.groups": (
                "GroupMember ProcessGroup default_pg_timeout get_backend get_global_rank get_group_rank get_pg_count "
                "get_process_group_ranks get_rank get_world_size group is_initialized"
            ),
            "retrograd.distributed.objects": "all_gather_object broadcast_object_list",
            "retrograd.distributed.reduce_op": "ReduceOp",
            "retrograd.distributed.starting": "destroy_process_group init_process_group new_group",
            "retrograd.distributed.work": "Work",
        },
    )
