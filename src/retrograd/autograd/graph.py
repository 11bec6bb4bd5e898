"""The graph's public face: Node, GradientEdge, hooks over several tensors, and the logged way into the engine."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from retrograd.autograd.logs import LISTENER, logs
from retrograd.autograd.mutation import allow_mutation_on_saved_tensors
from retrograd.autograd.saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from retrograd.autograd.seal import seal_saved_tensors
from retrograd.core.hooks import RemovableHandle
from retrograd.core.link import gradient_edge
from retrograd.core.node import Node
from retrograd.core.tensor import Tensor
from retrograd.engine.engine import ENGINE
from retrograd.errors import GradientError, type_name

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "seal_saved_tensors",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class GradientEdge(NamedTuple):
    """The place in a graph where a tensor's gradient arrives; can stand for the tensor in `backward` and `grad`."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge at which the gradient of `tensor` arrives. Keeping it does not keep the tensor.

    >>> import retrograd as rg
    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> edge = rg.autograd.graph.get_gradient_edge(y)
    >>> rg.autograd.grad(edge, x)
    (tensor(6.),)
    """
    if not tensor.requires_grad:
        raise GradientError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    edge = gradient_edge(tensor)
    assert edge.function is not None
    return GradientEdge(edge.function, edge.input_nr)


def _get_grad_fn_or_grad_acc(t: Tensor | GradientEdge) -> Node:
    """The node at which the gradient of a tensor arrives: its `grad_fn`, or the accumulator of a leaf."""
    return t.node if isinstance(t, GradientEdge) else get_gradient_edge(t).node


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Says that the memory of a tensor (or of several) was written by other means, so that saved values notice."""
    if not isinstance(tensor, (Tensor, Iterable)):
        raise RuntimeError(f"increment_version expect a Iterable[Tensor] as input, not {type_name(tensor)}")
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(t, Tensor):
            raise RuntimeError(
                f"increment_version expects each element of the iterable to be a tensor, not {type_name(t)}"
            )
        t._bump_version()


class _MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Calls `fn` when gradients of several tensors have been computed in one backward.

    Args:
        tensors: tensors that require gradients.
        fn: with mode "all", called with the list of all gradients (None for those that got none) once the last has
            arrived; with mode "any", called with the first gradient that arrives.
        mode: "all" or "any".

    >>> import retrograd as rg
    >>> a = rg.tensor(1.0, requires_grad=True); b = rg.tensor(2.0, requires_grad=True)
    >>> handle = rg.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print(len(grads)))
    >>> (a * b).backward()
    2
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    if mode == "any":
        tensors = tuple(t for t in tensors if t.requires_grad)  # of the others no gradient will come
    for i, tensor in enumerate(tensors):
        if not tensor.requires_grad:
            raise AssertionError(
                f"Expected gradient function to be set: tensor {i} of register_multi_grad_hook does not require grad"
            )
    watch: Any = _AllGrads(tensors, fn) if mode == "all" else _AnyGrad(fn)
    return _MultiHandle([t.register_hook(_Arrival(watch, i)) for i, t in enumerate(tensors)])


class _Arrival:
    """The hook on one of the tensors: tells the watcher which one it was."""

    def __init__(self, watch: Any, index: int) -> None:
        self.watch = watch
        self.index = index

    def __call__(self, grad: Tensor) -> None:
        task = ENGINE.current_task()
        assert task is not None, "expected this hook to be called inside a backward call"
        self.watch.arrive(task, self.index, grad)


class _AllGrads:
    """Collects one backward's gradients and calls `fn` when those that will come have come."""

    def __init__(self, tensors: tuple[Tensor, ...], fn: Callable[[list[Tensor | None]], None]) -> None:
        self.fn = fn
        self.nodes = [gradient_edge(t).function for t in tensors]
        self.lock = threading.Lock()
        self.task: Any = None
        self.grads: list[Tensor | None] = []
        self.expected = 0

    def arrive(self, task: Any, index: int, grad: Tensor) -> None:
        with self.lock:
            if self.task is not task:
                self.task = task
                self.grads = [None] * len(self.nodes)
                self.expected = sum(task.will_run(node) for node in self.nodes)
            self.grads[index] = grad
            self.expected -= 1
            complete = self.expected == 0
            grads = self.grads
            if complete:
                self.task, self.grads = None, []
        if complete:
            self.fn(grads)


class _AnyGrad:
    """Calls `fn` with the first gradient of each backward."""

    def __init__(self, fn: Callable[[Tensor], None]) -> None:
        self.fn = fn
        self.lock = threading.Lock()
        self.seen: Any = None

    def arrive(self, task: Any, index: int, grad: Tensor) -> None:
        with self.lock:
            first = self.seen is not task
            self.seen = task
        if first:
            self.fn(grad)


def _engine_run_backward(t_outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    """Calls the engine; at DEBUG level every node of the graph logs its run."""
    unregister = _register_logging_hooks_on_whole_graph(t_outputs) if logs() else None
    try:
        return ENGINE.run_backward(t_outputs, *args, **kwargs)
    finally:
        if unregister is not None:
            unregister()


def _nodes_of(outputs: Sequence[Any]) -> Iterator[Node]:
    """Every node reachable from the outputs, once, breadth first."""
    seen: set[Node] = set()
    queue: deque[Node] = deque()
    for output in outputs:
        node = output.node if isinstance(output, GradientEdge) else gradient_edge(output).function
        if node is not None:
            queue.append(node)
    while queue:
        node = queue.popleft()
        if node in seen:
            continue
        seen.add(node)
        yield node
        queue.extend(node.successors())


def _kinds(grads: Sequence[Any]) -> str:
    """Gradients as a log line shows them: `float32[2, 3]`, or None."""
    shown = ("None" if g is None else f"{g.dtype.abbr}{list(g.shape)}" for g in grads)
    return f"[{', '.join(shown)}]"


class _LogRun:
    """A pre-hook that logs that its node runs, with what."""

    def __init__(self, node_name: str) -> None:
        self.node_name = node_name

    def __call__(self, grad_outputs: Sequence[Any]) -> None:
        LISTENER.log.debug("Executing: %s with grad_outputs: %s", self.node_name, _kinds(grad_outputs))


def _register_logging_hooks_on_whole_graph(t_outputs: Sequence[Any]) -> Callable[[], None]:
    """Puts a logging pre-hook on every node; call the result to take them off."""
    tracked = [o for o in t_outputs if isinstance(o, GradientEdge) or o.requires_grad]
    handles = _MultiHandle([node.register_prehook(_LogRun(repr(node))) for node in _nodes_of(tracked)])
    return handles.remove


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn of gradients that arrive on another stream than their leaf's: the engine waits for them here."""
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type_name(enabled)}")


def region_activation_memory_budget(budget: float) -> None:
    """A setting of PyTorch's compiler, which there is none of: it raises, as it does there outside of what is compiled.

    Use `utils.checkpoint` to have values computed again instead of kept.
    """
    what = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"{what}: expects a float, got {type(budget).__name__}")
    if not 0 <= budget <= 1:
        raise ValueError(f"{what}: must be in [0, 1], got {budget}")
    raise RuntimeError(
        f"{what} can only be used inside a torch.compile region; it has no effect in eager mode. Nothing is compiled "
        "here: use torch.utils.checkpoint."
    )
