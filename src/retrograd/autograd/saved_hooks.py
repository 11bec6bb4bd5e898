"""Hooks on saved values: what a graph keeps for its backward can be moved, compressed or recomputed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.autograd.modes import ModeContext
from retrograd.backends.base import BACKENDS, accelerator, placed
from retrograd.backends.device import CPU, device
from retrograd.core.modes import SAVED_HOOKS, current
from retrograd.core.tensor import Tensor
from retrograd.hints import Plain, mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class saved_tensors_hooks(Plain):  # noqa: N801 - torch's name
    """Values saved inside the block go through `pack_hook`, and through `unpack_hook` when backward needs them.

    Args:
        pack_hook: takes the tensor that is saved, returns anything.
        unpack_hook: takes what `pack_hook` returned, returns a tensor of the same content.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> with rg.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), rg.tensor):
    ...     y = x.exp()
    >>> y.sum().backward(); x.grad
    tensor([2.7183, 7.3891])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[tuple[int, Any]] = []  # for each block that is open, what was in force around it

    def __enter__(self) -> None:
        for hook in (self.pack_hook, self.unpack_hook):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks: a hook must be callable, not {type(hook).__name__}")
        state = current()
        if state.saved_hooks_refused:
            raise RuntimeError(state.saved_hooks_refused)
        inside = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))
        self._before.append((state.special & SAVED_HOOKS, state.saved_hooks))
        state.saved_hooks = inside
        state.special |= SAVED_HOOKS

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        state = current()
        # Inside a pack hook those of the block around it are off, and stay so.
        flag, state.saved_hooks = self._before.pop()
        state.special = (state.special & ~SAVED_HOOKS) | flag


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - torch's name
    """Values saved inside the block are kept in the host's memory until backward needs them on their device again.

    Args:
        pin_memory: whether that memory is locked, from which a GPU copies more quickly.
        device_type: accepted as PyTorch does; the device of each value is known.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_packed_pinned if pin_memory else _packed, _unpacked)


def _packed(tensor: Tensor) -> tuple[device, Tensor]:
    """A value in the host's memory, and where it was."""
    return tensor.device, Tensor(placed(tensor.array, CPU), share=True)


def _packed_pinned(tensor: Tensor) -> tuple[device, Tensor]:
    """The same in locked memory, where there is something to lock it for."""
    where, value = _packed(tensor)
    to = accelerator()
    return where, value if to is None else Tensor(BACKENDS.on(to).pin(value.array), share=True)


def _unpacked(packed: tuple[device, Tensor]) -> Tensor:
    """The value where it was."""
    where, value = packed
    return Tensor(placed(value.array, where), share=True)


class disable_saved_tensors_hooks(ModeContext):  # noqa: N801 - torch's name
    """Inside the block, or the function it decorates, `saved_tensors_hooks` raises a RuntimeError with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self.before: str = ""

    def __enter__(self) -> None:
        state = current()
        if state.saved_hooks:
            raise RuntimeError(self.error_message)
        self.before = state.saved_hooks_refused
        state.saved_hooks_refused = self.error_message

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        current().saved_hooks_refused = self.before

    def clone(self) -> ModeContext:
        return type(self)(self.error_message)
