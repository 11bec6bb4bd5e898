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
`autograd.grad` has passed steps 1 and 2 if its node does not otherwise run, and no hook if it does, as in PyTorch.

Note [Claims]
~~~~~~~~~~~~~
A node that a backward will free is claimed before it runs: `freed_by` names the backward. Of two threads that run one
graph without `retain_graph`, the second to reach a node with saved values finds it claimed and gets the error of a
second backward, even while the first is still computing. Both claim nodes in the same order, so one of them wins all:
a single thread each as it comes to it, a shared backward all that are left when it becomes shared. The claim is a look
and a store without a call in between, which Python does not interrupt; an error takes it back.

Note [Hook errors]
~~~~~~~~~~~~~~~~~~
An exception keeps its type and traceback and gains a note that names the hook and the node. It leaves `execute`
through every frame in between, so nothing of the failed backward stays behind: its state lives in its GraphTask alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from retrograd.backends.base import as_array, backend_of, device_of, placed
from retrograd.backends.device import CPU
from retrograd.backends.shortage import shortage
from retrograd.core.accumulate import lock_of
from retrograd.core.anomaly import check_nan, report
from retrograd.core.hooks import call_hook, hook_name
from retrograd.core.locks import held
from retrograd.core.metadata import OWNS, fit_bits
from retrograd.core.modes import current
from retrograd.core.node import Grads, Node
from retrograd.core.observer import Observer
from retrograd.core.places import made_at
from retrograd.core.saved import freed_graph
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.core.views import is_stretched
from retrograd.engine.buffer import InputBuffer
from retrograd.engine.task import GraphTask
from retrograd.errors import AcceleratorError, GradientError, add_note, sizes, type_name

ndarray: Final[Any] = np.ndarray


def evaluate(task: GraphTask, node: Node) -> None:
    """Runs one ready node and sends its gradients on."""
    if node._stream != task.stream and node._where is not None and task.shared is None:
        task.enter_stream(node._stream, node._where)
    if not node._has_pair or node.tensor_hooks is not None or node.node_hooks is not None or task.careful:
        evaluate_with_care(task, node)
        return
    if task.exec_info is not None and not task.only_runs(node):
        evaluate_with_care(task, node)
        return
    g = node._held
    node._held = None
    first, second = _call_pair(task, node, g, node._held_ours)
    fresh = node.fresh_results and not task.tensors
    # Then g goes to one node only, and so does a view of it; unless a custom Function has said that others know it.
    ours = node._held_ours and fresh and node.next1 is None
    if node.next0 is not None and task.sends_to(node.next0):
        send(task, node, 0, node.next0, node.nr0, first, g, fresh, ours)
    if node.next1 is not None and task.sends_to(node.next1):
        send(task, node, 1, node.next1, node.nr1, second, g, fresh, False)


def evaluate_told(task: GraphTask, observer: Observer, node: Node) -> None:
    """The short way of `evaluate` for a backward that is recorded."""
    g = node._held
    node._held = None
    observer.node_starts(task, node, (g,))
    first, second = _call_pair(task, node, g, node._held_ours)
    observer.node_ends(task, node, (first, second))
    fresh = node.fresh_results and not task.tensors
    ours = node._held_ours and fresh and node.next1 is None
    if node.next0 is not None and task.sends_to(node.next0):
        _send_told(task, observer, node, 0, node.next0, node.nr0, first, g, fresh, ours)
    if node.next1 is not None and task.sends_to(node.next1):
        _send_told(task, observer, node, 1, node.next1, node.nr1, second, g, fresh, False)


def _send_told(
    task: GraphTask, observer: Observer, source: Node, i: int, node: Node, nr: int, value: Any, g: Any, fresh: bool,
    ours: bool,
) -> None:  # fmt: skip
    """`send`, with a word to the observer."""
    value, owned = _as_input(task, source, i, node, nr, value, g, fresh, ours)
    observer.sends(task, source, i, node, nr, value)
    if task.arrive(node, nr, value, owned):
        task.push(node)


def evaluate_with_care(task: GraphTask, node: Node) -> None:
    """`evaluate` for nodes with hooks or many edges, and for backwards that want more than gradients of leaves."""
    observer = task.observer
    if observer is not None and task.is_plain(node):
        evaluate_told(task, observer, node)
        return
    buffer = task.taken(node)
    results = run_node(task, node, buffer)
    if results is None:
        return
    given = buffer.values
    if node.next0 is not None:
        _send_with_care(task, node, 0, node.next0, node.nr0, results, given)
    if node.next1 is not None:
        _send_with_care(task, node, 1, node.next1, node.nr1, results, given)
    if node.more_edges is not None:
        for i, edge in enumerate(node.more_edges, 2):
            if edge.function is not None:
                _send_with_care(task, node, i, edge.function, edge.input_nr, results, given)


def _send_with_care(
    task: GraphTask, source: Node, i: int, node: Node, nr: int, results: Grads, given: Grads
) -> None:
    """Delivers result `i` of `source`, if gradients go to `node` at all."""
    if task.sends_to(node):
        value, owned = outgoing(task, source, i, node, nr, results[i], given)
        if task.arrive(node, nr, value, owned):
            task.push(node)


def _call_pair(task: GraphTask, node: Node, g: Any, owned: bool) -> tuple[Any, Any]:
    """`call_node` for a node of one input and at most two edges."""
    claimed = node._freed_by
    try:
        if not task.keep_graph:
            claim(task, node)
        pair = node.pair(g, task.tensors, owned)
    except BaseException as error:
        _failed(task, node, claimed, error)
        raise
    if task.frees:
        node.release()
        if node._witness is not None:
            node._witness = None
    return pair if node.node_hooks is None else _posthooked(task, node, g, pair)


def send(
    task: GraphTask, source: Node, i: int, node: Node, nr: int, value: Any, g: Any, fresh: bool, ours: bool
) -> None:
    """Delivers result `i` of `source` to input `nr` of `node`; the last gradient to arrive makes it ready.

    Nearly every gradient fits as it is; the rest takes the long way. `fresh` says that the result may be ours, `ours`
    that g was, and that nobody but `node` gets anything of it.
    """
    value, owned = _as_input(task, source, i, node, nr, value, g, fresh, ours)
    if task.arrive(node, nr, value, owned):
        task.push(node)


def _as_input(
    task: GraphTask, source: Node, i: int, node: Node, nr: int, value: Any, g: Any, fresh: bool, ours: bool
) -> tuple[Any, bool]:
    """A gradient as input `nr` of `node` takes it, and whether it is ours to write into."""
    owned = False
    if value is not None:
        fit = 0
        if nr == 0 and not task.tensors and node._meta is not None:
            fit = fit_bits(value, node._meta)
        if fit:
            owned = fresh and fit & OWNS != 0 and value is not g
        else:
            value = match_receiver(source, i, node, nr, value, task.tensors)
            owned = fresh and value.base is None and value is not g
        if ours and not owned:  # g itself, or all of it seen in another shape
            owned = value is g or (value.base is g and value.size == g.size)
    return value, owned


def run_node(task: GraphTask, node: Node, buffer: InputBuffer) -> Grads | None:
    """Hooks, formula, hooks: the gradients of the node's inputs; None if only what arrived was wanted."""
    observer = task.observer
    if observer is None:
        return _run_node(task, node, buffer)
    observer.node_starts(task, node, buffer.values)
    results = _run_node(task, node, buffer)
    observer.node_ends(task, node, results)
    return results


def _run_node(task: GraphTask, node: Node, buffer: InputBuffer) -> Grads | None:
    if task.exec_info is not None and not _captures_or_runs(task, node, buffer):
        return None
    if node.tensor_hooks is not None or node.node_hooks is not None:
        current().running_node = node
        run_tensor_hooks(node, buffer, task.tensors)
        _store_retained(node, buffer, task.tensors)
        run_prehooks(node, buffer, task.tensors)
    given = buffer.values
    results = call_node(task, node, given, buffer.owned)
    if node.node_hooks is not None and node.node_hooks.post:
        current().running_node = node  # the formula may have had a backward of its own
        results = run_posthooks(node, match_receivers(node, results, task.tensors), given, task.tensors)
    return results


def _posthooked(task: GraphTask, node: Node, g: Any, pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """The results of a node that had no hooks, until its formula unpacked a saved value by a hook that registers one.

    They are copies, since the hook may have kept what it saw.
    """
    assert node.node_hooks is not None
    if not node.node_hooks.post:
        return pair
    current().running_node = node
    results = match_receivers(node, pair[: node.edge_count], task.tensors)
    found: list[Any] = list(run_posthooks(node, results, (g,), task.tensors))
    if not task.tensors:
        found = [_own(v) for v in found]
    return found[0], found[1] if len(found) > 1 else None


def _own(v: Any) -> Any:
    return None if v is None else v.copy()


def results_are_ours(task: GraphTask, node: Node) -> bool:
    """Whether results may be arrays that nobody else can see; see Note [Ownership]."""
    if task.tensors or not node.fresh_results:
        return False
    return node.node_hooks is None or not node.node_hooks.post


def outgoing(
    task: GraphTask, source: Node, i: int, node: Node, nr: int, value: Any, given: Grads
) -> tuple[Any, bool]:
    """Result `i` of `source` as input `nr` of `node` takes it, and whether it is ours to write into."""
    if value is not None:
        value = match_receiver(source, i, node, nr, value, task.tensors)
    if task.observer is not None:
        task.observer.sends(task, source, i, node, nr, value)
    if value is None:
        return None, False
    return value, results_are_ours(task, source) and value.base is None and _not_in(value, given)


def call_node(task: GraphTask, node: Node, given: Grads, owned: int) -> Grads:
    """Runs the node's own formula; one result per next edge."""
    if task.named:
        current().running_node = node
    claimed = node._freed_by
    try:
        if not task.keep_graph:
            claim(task, node)
        results = node.apply(given, task.tensors, owned)
        if task.anomaly and current().check_nan:
            if task.frees:
                node.release()  # it has run, whatever is found
            check_nan(node, results)
    except BaseException as error:
        _failed(task, node, claimed, error)
        raise
    if task.frees:
        node.release()
        if node._witness is not None:
            node._witness = None
    return results if node.edge_count == len(results) else _checked_count(node, results)


def _failed(task: GraphTask, node: Node, claimed: Any, error: BaseException) -> None:
    """Takes the claim back and says where the error came from; raises it anew if it is NumPy's, of memory."""
    if node._freed_by is task.place and not node._freed:
        node._freed_by = claimed
    told = shortage(error)
    error = error if told is None else told
    add_note(error, f"raised by {node.name()} during backward")
    if isinstance(error, AcceleratorError):
        add_note(
            error, f"whose forward was called at {made_at(node)}; a node that ran before it may be to blame"
        )
    if task.anomaly:
        report(node, error)
    if told is not None:
        raise told from None


def claim(task: GraphTask, node: Node) -> bool:
    """Claims a node that this backward will free; whether there was something to claim. See Note [Claims]."""
    claimed = node._freed_by
    if node._freed:
        return False
    if claimed is not None and claimed is not task.place and node.holds_saved():
        raise freed_graph(node)
    node._freed_by = task.place
    return True


def _not_in(value: Any, given: Grads) -> bool:
    """Whether a result is another array than those that went in."""
    if len(given) == 1:
        return value is not given[0]
    return all(value is not g for g in given)


# -- making gradients fit ------------------------------------------------------------------------------------------


def match_receiver(source: Node, i: int, node: Node, nr: int, value: Any, tensors: bool) -> Any:
    """A gradient as its receiver expects it; nearly always it fits already."""
    if tensors:
        array = value.array
    else:
        array = value = as_array(value)
    if type(array) is not ndarray or node._where is not None:
        if nr == 0 and not tensors and node._meta is not None and fit_bits(array, node._meta):
            return value
        xp = backend_of(array)
        if xp.fits(array, node.input_shape(nr), node.input_dtype(nr)):
            return value
        value = _at_home(source, i, node, nr, value, array)
        array = value.array if tensors else value
        if xp.stands_for_many:
            value = UPWARD.leave_levels(value, array, source, node.input_shape(nr))
            array = value.array if tensors else value
    if array.shape == node.input_shape(nr) and array.dtype is node.input_dtype(nr):
        return value
    return convert_gradient(value, node, nr, i, source)


def _at_home(source: Node, i: int, node: Node, nr: int, value: Any, array: Any) -> Any:
    """A gradient where its tensor lives: that of a single number, which operations take from anywhere, is moved."""
    home = CPU if node._where is None else node._where
    if nr != 0 or device_of(array) == home:
        return value
    if node.input_shape(nr) == ():
        return placed(value.sum(), home) if value is array else value.sum().to(home)
    raise GradientError(
        f"{_origin(i, source)} - expected device {home} but got {device_of(array)}. Move it with .to(device)."
    )


def match_receivers(node: Node, results: Grads, tensors: bool) -> Grads:
    """All results as their receivers expect them: what post-hooks see."""
    made: list[Any] = []
    for i, value in enumerate(results):
        edge = node.edge(i)
        succ = edge.function
        made.append(
            value
            if value is None or succ is None
            else match_receiver(node, i, succ, edge.input_nr, value, tensors)
        )
    return made


def _checked_count(node: Node, results: Grads) -> Grads:
    """A node may return more gradients than it has inputs only if the rest are None."""
    if len(results) < node.edge_count or any(r is not None for r in results[node.edge_count :]):
        raise GradientError(
            f"Function {node.name()} returned an incorrect number of gradients (expected {node.edge_count}, "
            f"got {len(results)})"
        )
    return results[: node.edge_count]


def convert_gradient(value: Any, node: Node, nr: int, i: int, source: Node | None = None) -> Any:
    """Sums over broadcast dimensions, drops the imaginary part of a real tensor's gradient, converts the dtype.

    The gradient is result `i` of `source`, or root `i`.
    """
    shape = node.input_shape(nr)
    if tuple(value.shape) != tuple(shape):
        if not _expands_to(shape, value.shape):
            raise GradientError(
                f"{_origin(i, source)} - got {sizes(value.shape)} but expected shape compatible with {sizes(shape)}"
            )
        value = UPWARD.operators.sum_to(value, shape)
    dtype = node.input_dtype(nr)
    if dtype is None or value.dtype == dtype:
        return value
    if dtype.kind not in "fc":
        raise GradientError(f"{_origin(i, source)} - expected type {dtype} but got {value.dtype}")
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = value.real
    return value if value.dtype == dtype else UPWARD.operators.cast(value, dtype)


def _origin(i: int, source: Node | None) -> str:
    """How messages call a gradient that does not fit."""
    what = f"invalid gradient at index {i}"
    return what if source is None else f"Function {source.name()} returned an {what}"


def _expands_to(shape: Any, wide: Any) -> bool:
    """Whether a tensor of `shape` could have been broadcast to `wide`."""
    extra = len(wide) - len(shape)
    for i, n in enumerate(shape):
        if extra < 0 or (n != 1 and n != wide[extra + i]):
            return False
    return True


# -- hooks ---------------------------------------------------------------------------------------------------------


def shown(value: Any, tensors: bool) -> Any:
    """A gradient as a person sees it: a Tensor, or None."""
    return value if tensors or value is None else Tensor(value, share=True)


def taken(value: Any, tensors: bool) -> Any:
    """A gradient as the engine carries it, from what a person gave."""
    return value if tensors or value is None else value.array


def _written_out(value: Any, tensors: bool) -> Any:
    """A gradient that a hook may write into: what was expanded, as that of a mean is, is copied."""
    if value is None or not is_stretched(value.array if tensors else value):
        return value
    return value.clone() if tensors else value.copy()


def run_tensor_hooks(node: Node, buffer: InputBuffer, tensors: bool) -> None:
    """Step 1: each tensor hook may replace its tensor's gradient."""
    if node.tensor_hooks is None:
        return
    for nr, table in list(node.tensor_hooks.tables.items()):
        if not table:
            continue
        box = [shown(_written_out(buffer.values[nr], tensors), tensors)]
        for index, hook in enumerate(list(table.values())):
            new = call_hook(hook, f"tensor hook {index}", node.name(), box[0])
            if new is not None:
                check_replacement(hook, new, box[0])
                box[0] = new
            new = None
        buffer.replace(nr, box, tensors)


def check_replacement(hook: Any, new: Any, old: Any) -> None:
    """What a hook returns in place of a gradient must be a tensor of the same kind."""
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type_name(new)}'")
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    name = hook_name(hook).rpartition(".")[2]
    if new.array.dtype != old.array.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {old._type_string()} got {new._type_string()})"
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
        if tensor is not None and value is not None:
            held(lock_of(tensor), partial(_retain, tensor, value, tensors))


def _retain(tensor: Tensor, value: Any, tensors: bool) -> None:
    old = tensor._grad
    if tensors:
        tensor._grad = UPWARD.operators.clone(value) if old is None else old + value
    else:
        tensor._grad = Tensor(value.copy() if old is None else as_array(old.array + value), share=True)


def run_prehooks(node: Node, buffer: InputBuffer, tensors: bool) -> None:
    """Step 3: each pre-hook sees all gradients of the node's outputs and may replace them."""
    if node.node_hooks is None or not node.node_hooks.pre:
        return
    grads = tuple(shown(v, tensors) for v in buffer.values)
    for index, hook in enumerate(list(node.node_hooks.pre.values())):
        new = call_hook(hook, f"pre-hook {index}", node.name(), grads)
        if new is not None:
            grads = _replaced(hook, new, grads)
        new = None
    box = list(grads)
    grads = ()
    buffer.replace_all(box, tensors)


def run_posthooks(node: Node, results: Grads, given: Grads, tensors: bool) -> Grads:
    """Step 6: each post-hook sees the gradients of the inputs and of the outputs, and may replace the former."""
    assert node.node_hooks is not None
    inputs = tuple(shown(r, tensors) for r in results)
    outputs = tuple(shown(g, tensors) for g in given)
    for index, hook in enumerate(list(node.node_hooks.post.values())):
        new = call_hook(hook, f"hook {index}", node.name(), inputs, outputs)
        if new is not None:
            inputs = _replaced(hook, new, inputs)
    return [taken(i, tensors) for i in inputs]


def _replaced(hook: Any, new: Any, old: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a node hook returned, checked against what it got."""
    if not isinstance(new, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type_name(new)}'")
    if len(new) != len(old):
        raise RuntimeError(
            f"hook '{hook_name(hook).rpartition('.')[2]}' has returned an incorrect number of values (got {len(new)}, "
            f"but expected {len(old)})"
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
    if not info.needed and node.tensor_hooks is not None:
        task.capturing = True
        current().running_node = node
        run_tensor_hooks(node, buffer, task.tensors)
        _store_retained(node, buffer, task.tensors)
        task.capturing = False
    for capture in info.captures:
        task.captured[capture.index] = buffer.values[capture.input_nr]
    if info.captures:
        buffer.owned = 0
    return info.needed
