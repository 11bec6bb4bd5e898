"""A module on several devices, which here is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.nn.module import Module

ONE_DEVICE = (
    "one process uses one device here. Start a process for each device, with DistributedDataParallel in each: "
    "`retrograd launch -n {count} train.py`"
)


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """The module itself, as the only one of its copies; more devices than one are an error."""
    if len(devices) > 1:
        raise RuntimeError(
            f"replicate() got {len(devices)} devices, but {ONE_DEVICE.format(count=len(devices))}"
        )
    return [network]
