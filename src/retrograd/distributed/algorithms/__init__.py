"""What stands on the collectives: uneven inputs, and other ways of reducing gradients."""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.distributed.algorithms import ddp_comm_hooks as ddp_comm_hooks
    from retrograd.distributed.algorithms import join as join
    from retrograd.distributed.algorithms import model_averaging as model_averaging
    from retrograd.distributed.algorithms.join import Join, Joinable, JoinHook
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.distributed.algorithms.ddp_comm_hooks": "ddp_comm_hooks=",
            "retrograd.distributed.algorithms.join": "join= Join JoinHook Joinable",
            "retrograd.distributed.algorithms.model_averaging": "model_averaging=",
        },
    )

__all__ = ["Join", "JoinHook", "Joinable"]
