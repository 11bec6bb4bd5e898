"""Communication hooks by name."""

from __future__ import annotations

from enum import Enum
from typing import Any

from retrograd.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)


class DDPCommHookType(Enum):
    """The hooks there are, as a function that gives a model one of them."""

    ALLREDUCE = (default_hooks.allreduce_hook,)
    FP16_COMPRESS = (default_hooks.fp16_compress_hook,)
    BF16_COMPRESS = (default_hooks.bf16_compress_hook,)
    POST_LOCAL_SGD = (post_localSGD_hook.post_localSGD_hook,)
    POWER_SGD = (powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = (powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = (powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = (powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = (debugging_hooks.noop_hook,)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Gives a DistributedDataParallel model one of the hooks; `state` is the process group."""
    hook, *rank = comm_hook_type.value
    if rank:
        state = powerSGD_hook.PowerSGDState(process_group=state, matrix_approximation_rank=rank[0])
    model.register_comm_hook(state=state, hook=hook)
