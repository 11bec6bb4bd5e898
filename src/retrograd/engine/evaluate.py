"""One node of one backward: hooks, the formula, validation, and the way to the next nodes.

Note [Hook order]
~~~~~~~~~~~~~~~~~
For each node that runs:
1. tensor hooks (`Tensor.register_hook`), in the order of registration;
2. retained gradients (`Tensor.retain_grad`) are stored, whatever the order of registration;
3. node pre-hooks (`Node.register_prehook`);
4. the node's own formula;
5. its results are checked and made to fit (shape, dtype) the inputs they belong to;
6. node post-hooks (`Node.register_hook`).
A leaf's post-accumulate hooks run inside step 4 of its AccumulateGrad, after `.grad` is set. A gradient captured for
`autograd.grad` has passed step 1 if its node does not otherwise run, and no hook if it does; this is what PyTorch does.

Note [Hook errors]
~~~~~~~~~~~~~~~~~~
An exception keeps its type and traceback and gains a note that names the hook and the node. It leaves `execute`
through every frame in between, so nothing of the failed backward stays behind: its state lives in its GraphTask alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.backends.cpu import as_array
from retrograd.core.node import Grads, Node
from retrograd.core.operators import SOCKET
from retrograd.core.tensor import Tensor
from retrograd.engine.buffer import InputBuffer
from retrograd.engine.ready import NodeTask
from retrograd.engine.task import GraphTask
from retrograd.errors import GradientError, add_note, sizes, type_name

ndarray = np.ndarray


def evaluate(item: NodeTask) -> None:
    """Runs one ready node and sends its gradients on."""
    task, node, buffer = item.task, item.node, item.buffer
    if task.exec_info is not None and not _captures_or_runs(task, node, buffer):
        return
    results = call_node(task, node, buffer)
    if not task.keep_graph:
        node.release()
    arity = node.arity
    if arity == 0:
        return
    # Only then may a result be ours to write into; see Note [Ownership].
    fresh = node.fresh_results and not task.tensors and (node.node_hooks is None or not node.node_hooks.post)
    given = buffer.values
    if node.next0 is not None:
        send(task, node.next0, node.nr0, results[0], given, fresh)
    if arity >= 2 and node.next1 is not None:
        send(task, node.next1, node.nr1, results[1], given, fresh)
    for i in range(2, arity):
        succ, nr = node.edge(i)
        if succ is not None:
            send(task, succ, nr, results[i], given, fresh)


def send(task: GraphTask, node: Node, nr: int, value: Any, given: Grads, fresh: bool) -> None:
    """Delivers one gradient; the last one makes the node ready."""
    buffer = task.not_ready.get(node)
    if buffer is None:
        if task.exec_info is not None:
            info = task.exec_info.get(node)
            if info is None or not info.should_execute():
                return
        buffer = InputBuffer(node.num_inputs())
        left = task.dependencies[node] - 1
        if left:
            task.not_ready[node] = buffer
    else:
        left = task.dependencies[node] - 1
        if not left:
            del task.not_ready[node]
    task.dependencies[node] = left
    if value is not None:
        owned = fresh and value.base is None and all(value is not g for g in given)
        buffer.add(nr, value, owned, task.tensors)
    if not left:
        task.cpu_queue.push(NodeTask(task, node, buffer))


def call_node(task: GraphTask, node: Node, buffer: InputBuffer) -> Grads:
    """Steps 1 to 6 of Note [Hook order]."""
    hooked = node.tensor_hooks is not None or node.node_hooks is not None
    if hooked:
        run_tensor_hooks(node, buffer, task.tensors)
        _store_retained(node, buffer, task.tensors)
        _run_prehooks(node, buffer, task.tensors)
    results = node.apply(buffer.values, task.tensors, buffer.owned)
    if node.arity:
        results = fitted(node, results, task.tensors)
    if hooked and node.node_hooks is not None and node.node_hooks.post:
        results = _run_posthooks(node, results, buffer.values, task.tensors)
    return results


# -- making gradients fit ------------------------------------------------------------------------------------------


def fitted(node: Node, results: Grads, tensors: bool) -> Grads:
    """The results as the next nodes expect them; the same sequence when all fit already, as they nearly always do."""
    if len(results) != node.arity:
        results = _checked_count(node, results)
    changed: list[Any] | None = None
    for i in range(node.arity):
        value: Any = results[i]
        if value is None:
            continue
        succ = node.next0 if i == 0 else node.next1 if i == 1 else node.edge(i).function
        if succ is None:
            continue
        nr = node.nr0 if i == 0 else node.nr1 if i == 1 else node.edge(i).input_nr
        if not tensors and type(value) is not ndarray:
            value = as_array(value)
        if value.shape != succ.input_shape(nr) or value.dtype is not succ.input_dtype(nr):
            value = fit(value, succ, nr, f"Function {node.name()} returned an invalid gradient at index {i}")
        if value is not results[i]:
            if changed is None:
                changed = list(results)
            changed[i] = value
    return results if changed is None else changed


def _checked_count(node: Node, results: Grads) -> Grads:
    """A node may return more gradients than it has inputs only if the rest are None."""
    if len(results) < node.arity or any(r is not None for r in results[node.arity :]):
        raise GradientError(
            f"Function {node.name()} returned an incorrect number of gradients (expected {node.arity}, got {len(results)})"
        )
    return results[: node.arity]


def fit(value: Any, node: Node, nr: int, what: str) -> Any:
    """Sums over broadcast dimensions, drops the imaginary part of a real tensor's gradient, converts the dtype."""
    shape = node.input_shape(nr)
    if tuple(value.shape) != tuple(shape):
        if not _expands_to(shape, value.shape):
            raise GradientError(f"{what} - got {sizes(value.shape)} but expected shape compatible with {sizes(shape)}")
        value = SOCKET.operators.sum_to(value, shape)
    dtype = node.input_dtype(nr)
    if dtype is None or value.dtype == dtype:
        return value
    if dtype.kind not in "fc":
        raise GradientError(f"{what} - expected type {dtype} but got {value.dtype}")
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = value.real
    return value if value.dtype == dtype else SOCKET.operators.cast(value, dtype)


def _expands_to(shape: Any, wide: Any) -> bool:
    """Whether a tensor of `shape` could have been broadcast to `wide`."""
    if len(shape) > len(wide):
        return False
    return all(n in (1, m) for n, m in zip(reversed(shape), reversed(wide), strict=False))


# -- hooks ---------------------------------------------------------------------------------------------------------


def shown(value: Any, tensors: bool) -> Any:
    """A gradient as a person sees it: a Tensor, or None."""
    return value if tensors or value is None else Tensor(value)


def taken(value: Any, tensors: bool) -> Any:
    """A gradient as the engine carries it, from what a person gave."""
    return value if tensors or value is None else value.array


def _hook_name(hook: Any) -> str:
    return getattr(hook, "__qualname__", None) or type(hook).__name__


def _call(hook: Any, index: int, kind: str, node: Node, *args: Any) -> Any:
    """Calls a user's hook; see Note [Hook errors]."""
    try:
        return hook(*args)
    except BaseException as error:
        add_note(error, f"raised in {kind} {index} ({_hook_name(hook)}) of {node.name()} during backward")
        raise


def run_tensor_hooks(node: Node, buffer: InputBuffer, tensors: bool) -> None:
    """Step 1: each tensor hook may replace its tensor's gradient."""
    if node.tensor_hooks is None:
        return
    for nr, table in list(node.tensor_hooks.tables.items()):
        if not table or buffer.values[nr] is None:
            continue
        grad = shown(buffer.values[nr], tensors)
        for index, hook in enumerate(list(table.values())):
            new = _call(hook, index, "tensor hook", node, grad)
            if new is not None:
                check_replacement(hook, new, grad)
                grad = new
        values = list(buffer.values)
        values[nr] = taken(grad, tensors)
        buffer.replace(values)


def check_replacement(hook: Any, new: Any, old: Any) -> None:
    """What a hook returns in place of a gradient must be a tensor of the same kind."""
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type_name(new)}'")
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    name = _hook_name(hook)
    if new.array.dtype != old.array.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {old.type_string()} got {new.type_string()})"
        )
    if new.array.shape != old.array.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: it was {sizes(old.array.shape)} and became "
            f"{sizes(new.array.shape)}. A hook must return a gradient of the same shape, or None."
        )


def _store_retained(node: Node, buffer: InputBuffer, tensors: bool) -> None:
    """Step 2: `.grad` of non-leaf tensors that asked for it."""
    if node.tensor_hooks is None:
        return
    for nr, ref in list(node.tensor_hooks.retains.items()):
        tensor: Tensor | None = ref()
        value = buffer.values[nr]
        if tensor is None or value is None:
            continue
        old = tensor._grad
        if tensors:
            tensor._grad = SOCKET.operators.clone(value) if old is None else old + value
        else:
            tensor._grad = Tensor(value.copy() if old is None else as_array(old.array + value))


def _run_prehooks(node: Node, buffer: InputBuffer, tensors: bool) -> None:
    """Step 3: each pre-hook sees all gradients of the node's outputs and may replace them."""
    if node.node_hooks is None or not node.node_hooks.pre:
        return
    grads = tuple(shown(v, tensors) for v in buffer.values)
    for index, hook in enumerate(list(node.node_hooks.pre.values())):
        new = _call(hook, index, "pre-hook", node, grads)
        if new is not None:
            grads = _replaced(hook, new, grads)
    buffer.replace([taken(g, tensors) for g in grads])


def _run_posthooks(node: Node, results: Grads, given: Grads, tensors: bool) -> Grads:
    """Step 6: each post-hook sees the gradients of the inputs and of the outputs, and may replace the former."""
    assert node.node_hooks is not None
    inputs = tuple(shown(r, tensors) for r in results)
    outputs = tuple(shown(g, tensors) for g in given)
    for index, hook in enumerate(list(node.node_hooks.post.values())):
        new = _call(hook, index, "hook", node, inputs, outputs)
        if new is not None:
            inputs = _replaced(hook, new, inputs)
    return [taken(i, tensors) for i in inputs]


def _replaced(hook: Any, new: Any, old: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a node hook returned, checked against what it got."""
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(old):
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has returned an incorrect number of values (got {len(new)}, but expected {len(old)})"
        )
    for a, b in zip(new, old, strict=True):
        if a is not None:
            check_replacement(hook, a, b)
    return new


def _captures_or_runs(task: GraphTask, node: Node, buffer: InputBuffer) -> bool:
    """Stores captured gradients; whether the node must run besides."""
    assert task.exec_info is not None
    info = task.exec_info.get(node)
    if info is None:
        return False
    if not info.needed:
        run_tensor_hooks(node, buffer, task.tensors)
    for capture in info.captures:
        task.captured[capture.index] = buffer.values[capture.input_nr]
    if info.captures:
        buffer.owned = 0
    return info.needed



