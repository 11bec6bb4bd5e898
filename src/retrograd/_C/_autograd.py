"""Stands for `torch._C._autograd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.core.metadata import InputMetadata as _InputMetadata
from retrograd.core.modes import SAVED_HOOKS, current
from retrograd.core.node import Node
from retrograd.core.saved import SavedTensor, SavedValue, saved_tensor
from retrograd.core.tensor import Tensor
from retrograd.engine.engine import ENGINE

__all__ = ["SavedTensor", "_InputMetadata"]


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the running backward keeps what nodes have saved; true where none is running."""
    task = ENGINE.current_task()
    return True if task is None else task.keep_graph


def _get_sequence_nr() -> int:
    """The number that the next node of this thread gets."""
    return current().sequence_nr


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Sets how often tensors were written in place; "unsafe" since backward goes by that."""
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        tensor._version_counter().show(version)


def _make_saved_tensor(tensor: Tensor, is_output: bool, is_inplace_on_view: bool = False) -> SavedTensor:
    """A tensor as a node would save it."""
    owner = Node()
    return saved_tensor(owner, "", SavedValue(tensor, is_output, owner))


def _get_data_attr(tensor: Tensor) -> Tensor:
    """`tensor.data`."""
    found: Tensor = tensor.data
    return found


# -- the innermost hooks on saved values -----------------------------------------------------------------------------


def _push_saved_tensors_default_hooks(pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
    """What entering `saved_tensors_hooks` does."""
    state = current()
    if state.saved_hooks_refused:
        raise RuntimeError(state.saved_hooks_refused)
    state.saved_hooks = (*state.saved_hooks, (pack_hook, unpack_hook))
    state.special |= SAVED_HOOKS


def _pop_saved_tensors_default_hooks() -> None:
    """What leaving it does."""
    state = current()
    state.saved_hooks = state.saved_hooks[:-1]
    if not state.saved_hooks:
        state.special &= ~SAVED_HOOKS


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> tuple[Any, Any] | None:
    """The innermost pair, or None."""
    hooks = current().saved_hooks
    return hooks[-1] if hooks else None


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether such hooks may be used here."""
    return not current().saved_hooks_refused


def _saved_tensors_hooks_enable() -> None:
    """Lets them be used again."""
    current().saved_hooks_refused = ""


def _saved_tensors_hooks_disable(message: str, fail_if_non_empty: bool = True) -> None:
    """Refuses them from now on, with this message."""
    state = current()
    if state.saved_hooks and fail_if_non_empty:
        raise RuntimeError(message)
    state.saved_hooks_refused = message


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """That message, or None."""
    return current().saved_hooks_refused or None
