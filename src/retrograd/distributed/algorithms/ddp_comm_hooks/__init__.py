"""Ways of reducing gradients that can be given to `DistributedDataParallel.register_comm_hook`."""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.distributed.algorithms.ddp_comm_hooks import debugging_hooks as debugging_hooks
    from retrograd.distributed.algorithms.ddp_comm_hooks import default_hooks as default_hooks
    from retrograd.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post_localSGD_hook
    from retrograd.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD_hook
    from retrograd.distributed.algorithms.ddp_comm_hooks.registration import (
        DDPCommHookType,
        register_ddp_comm_hook,
    )
else:
    _HERE = "retrograd.distributed.algorithms.ddp_comm_hooks"
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            f"{_HERE}.debugging_hooks": "debugging_hooks= debugging=",
            f"{_HERE}.default_hooks": "default_hooks= default=",
            f"{_HERE}.post_localSGD_hook": "post_localSGD_hook= post_localSGD=",
            f"{_HERE}.powerSGD_hook": "powerSGD_hook= powerSGD=",
            f"{_HERE}.registration": "DDPCommHookType register_ddp_comm_hook",
        },
    )

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]
