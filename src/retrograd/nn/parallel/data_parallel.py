"""DataParallel: PyTorch's older way of using several GPUs from one process, which here uses one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from retrograd.backends.base import open_device
from retrograd.nn.module import Module
from retrograd.nn.parallel.replicate import ONE_DEVICE
from retrograd.nn.parallel.scatter_gather import as_device, scatter_kwargs

T = TypeVar("T", bound=Module)


class DataParallel(Module, Generic[T]):
    """Runs a module on its one device; state dicts have the names that PyTorch's wrapper gives them.

    Without a GPU it only passes its inputs on, as PyTorch's does. With one it moves them there first. For several use
    DistributedDataParallel, which is also what PyTorch advises.

    Args:
        module: the module.
        device_ids: the GPU; more than one is an error.
        output_device, dim: accepted for PyTorch's sake.

    >>> import retrograd as rg
    >>> model = rg.nn.DataParallel(rg.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self, module: T, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids: list[Any] = []
        if not _has_gpu():
            return
        self.device_ids = [0] if device_ids is None else list(device_ids)
        if len(self.device_ids) > 1:
            count = len(self.device_ids)
            raise RuntimeError(f"DataParallel got {count} devices, but {ONE_DEVICE.format(count=count)}")
        if not self.device_ids:
            raise RuntimeError("no available devices were found")
        self.output_device: Any = self.device_ids[0] if output_device is None else output_device
        self.src_device_obj: Any = as_device(self.device_ids[0])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for held in (*self.module.parameters(), *self.module.buffers()):
            if held.device != self.src_device_obj:
                raise RuntimeError(
                    "module must have its parameters and buffers on device "
                    f"{self.src_device_obj} (device_ids[0]) but found one of them on device: {held.device}"
                )
        moved, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
        return self.module(*moved[0], **named[0]) if moved else self.module()


def _has_gpu() -> bool:
    try:
        return open_device("cuda")
    except RuntimeError:  # CuPy is there, and finds none
        return False


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`DataParallel(module)(*inputs)`: the module's output, computed on its one device."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
