"""Training by several processes, on one machine or on many, under PyTorch's names: over MPI, and NCCL on GPUs.

Start a script by `mpirun -n 4 python train.py`, or `retrograd launch -n 4 train.py`; docs/guide/distributed.md.
"""

from typing import TYPE_CHECKING

from retrograd.lazy import lazily as _lazily

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
    "retrograd.distributed.debug": "DebugLevel get_debug_level set_debug_level set_debug_level_from_env",
    "retrograd.distributed.errors": "DistBackendError DistError DistNetworkError DistStoreError QueueEmptyError",
    "retrograd.distributed.groups": (
        "GroupMember ProcessGroup default_pg_timeout get_backend get_backend_config get_global_rank get_group_rank "
        "get_pg_count get_process_group_ranks get_rank get_world_size group is_initialized"
    ),
    "retrograd.distributed.messages": "P2POp batch_isend_irecv irecv isend recv send",
    "retrograd.distributed.movements": (
        "all_gather all_gather_coalesced all_gather_into_tensor all_gather_single all_to_all all_to_all_single "
        "broadcast gather scatter"
    ),
    "retrograd.distributed.objects": (
        "all_gather_object broadcast_object_list gather_object recv_object_list scatter_object_list send_object_list"
    ),
    "retrograd.distributed.optim": "optim=",
    "retrograd.distributed.reduce_op": "ReduceOp _make_nccl_premul_sum=premul_sum",
    "retrograd.distributed.reductions": (
        "all_reduce all_reduce_coalesced reduce reduce_scatter reduce_scatter_single reduce_scatter_tensor"
    ),
    "retrograd.distributed.starting": (
        "destroy_process_group init_process_group new_group new_subgroups new_subgroups_by_enumeration split_group"
    ),
    "retrograd.distributed.synchronization": "synchronized",
    "retrograd.distributed.work": "Work",
}

__getattr__, __dir__ = _lazily(__name__, NAMES)
