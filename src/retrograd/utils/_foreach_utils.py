"""`torch.utils._foreach_utils`: lists of tensors by device and dtype, for optimisers that take many at once."""

from __future__ import annotations

from typing import Any, TypeAlias

from retrograd.core.tensor import Tensor

Lists: TypeAlias = "list[list[Tensor | None]]"


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices, beside the CPU, where functions of lists are one kernel."""
    return ["cuda"]


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices


def _device_has_foreach_support(device: Any) -> bool:
    """Whether functions of lists can be used on a device: they can everywhere."""
    return True


def _has_foreach_support(tensors: list[Tensor], device: Any) -> bool:
    """Whether functions of lists take these tensors."""
    return all(isinstance(tensor, Tensor) for tensor in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Lists, with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[Lists, list[int]]]:
    """Lists of equal lengths, cut into those whose first tensors share a device and a dtype.

    >>> import retrograd as rg
    >>> groups = _group_tensors_by_device_and_dtype([[rg.ones(1), rg.ones(2).double(), rg.ones(3)]], with_indices=True)
    >>> [(str(dtype), indices) for (_, dtype), (_, indices) in groups.items()]
    [('torch.float32', [0, 2]), ('torch.float64', [1])]
    """
    groups: dict[tuple[Any, Any], tuple[Lists, list[int]]] = {}
    for i, first in enumerate(tensorlistlist[0]):
        key = (None, None) if first is None else (first.device, first.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for own, given in zip(lists, tensorlistlist, strict=True):
            if given:
                own.append(given[i])
        if with_indices:
            indices.append(i)
    return groups
