"""Which backward runs in this thread, and in which modes."""

from __future__ import annotations

from itertools import count
from typing import Any

from retrograd.autograd.forward_ad import set_fwd_grad_enabled
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.modes import current
from retrograd.core.node import GraphRoot, Node
from retrograd.engine.engine import ENGINE
from retrograd.engine.ready import ReadyQueue
from retrograd.engine.task import GraphTask
from retrograd.errors import type_name

_TASK_IDS = count()


def _running(asker: str) -> GraphTask:
    """The backward that is running here."""
    task = ENGINE.current_task()
    if task is None:
        raise RuntimeError(f"{asker} should only be called during the backward pass")
    return task


def _current_graph_task_id() -> int:
    """A number for the backward that is running in this thread, another for each; -1 where there is none."""
    task = ENGINE.current_task()
    if task is None:
        return -1
    if task.asked_id < 0:
        task.asked_id = next(_TASK_IDS)
    return task.asked_id


def _current_autograd_node() -> Node | None:
    """The node whose hook, `backward` or unpack hook is running in this thread; any that runs, to a dispatch mode."""
    state = current()
    node: Node | None = None if state.task is None else state.running_node
    return node


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward runs a node, or has run it."""
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type_name(node)}")
    task = _running("_get_should_execute_nodes")
    info = None if task.exec_info is None else task.exec_info.get(node)
    if isinstance(node, AccumulateGrad) and info is not None and info.captures:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
            "A leaf's gradient is handed out there, and its node does not run."
        )
    return task.will_run(node)


def _current_graph_task_execution_order() -> list[Node]:
    """The nodes of the running backward in the order in which one thread runs them."""
    task = _running("_current_graph_task_execution_order")
    if current().multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled: call it inside of `with autograd.set_multithreading_enabled(False):`"
        )
    assert task.root is not None
    missing: dict[Node, int] = {}
    nodes = [n for n in (task.root, *task.nodes) if n is task.root or task.will_run(n)]
    for node in nodes:
        for succ in node.successors():
            missing[succ] = missing.get(succ, 0) + 1
    queue, order = ReadyQueue(), []
    queue.push(task.root)
    wanted = set(nodes)
    while (node_ := queue.pop()) is not None:
        if not isinstance(node_, GraphRoot):
            order.append(node_)
        for succ in node_.successors():
            missing[succ] -= 1
            if missing[succ] == 0 and succ in wanted:
                queue.push(succ)
    return order


def _is_fwd_grad_enabled() -> bool:
    """Whether forward mode computes tangents."""
    return current().forward_enabled


def _set_fwd_grad_enabled(enabled: bool) -> None:
    """Switches forward mode on or off."""
    set_fwd_grad_enabled(enabled)


def _set_grad_enabled(enabled: bool) -> None:
    """Switches recording on or off."""
    current().grad_enabled = enabled


def _is_multithreading_enabled() -> bool:
    """Whether backwards called here may use other threads."""
    return current().multithreading


def _set_multithreading_enabled(enabled: bool) -> None:
    """Sets whether backwards called here may use other threads."""
    current().multithreading = enabled


def _is_view_replay_enabled() -> bool:
    """What `_force_original_view_tracking` says."""
    return current().view_replay


def _set_view_replay_enabled(enabled: bool) -> None:
    """Sets it."""
    current().view_replay = enabled


def _is_grad_layout_enforcement_enabled() -> bool:
    """What `enforce_grad_layout_policy` says."""
    return current().grad_layout


def _set_grad_layout_enforcement_enabled(enabled: bool) -> None:
    """Sets it."""
    current().grad_layout = enabled


def _get_graph_exec_group() -> Any:
    """The GraphExecGroup around, or None."""
    return current().graph_group


def _set_graph_exec_group(group: Any) -> None:
    """Sets it."""
    current().graph_group = group
