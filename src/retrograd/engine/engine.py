"""The engine: validate the roots, count dependencies, run every ready node, return what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from retrograd.backends.base import is_writable
from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.link import gradient_edge
from retrograd.core.metadata import fit_bits
from retrograd.core.modes import (
    ANOMALY,
    FORWARD,
    INFERENCE,
    RECORDED,
    SELECTED,
    WIDENED,
    ThreadState,
    current,
    lend,
)
from retrograd.core.node import Edge, GraphRoot, Identity, Node
from retrograd.core.tensor import Tensor
from retrograd.core.version import UNTRACKED
from retrograd.engine.evaluate import convert_gradient, evaluate, shown, taken
from retrograd.engine.parallel import Shared, worth_sharing
from retrograd.engine.task import ExecInfo, GraphTask
from retrograd.engine.threads import on_fresh_stack, stack_is_deep
from retrograd.engine.watch import Watch
from retrograd.errors import GradientError
from retrograd.forks import at_fork

_UNKNOWN = "No tensor with requires_grad=True took part in computing it."


class Engine:
    """Runs graphs backwards. There is one, `Variable._execution_engine`; its state lives in GraphTasks."""

    def execute(
        self,
        roots: Sequence[Edge],
        inputs: Sequence[Any],
        keep_graph: bool,
        create_graph: bool,
        accumulate_grad: bool,
        outputs: Sequence[Edge] = (),
    ) -> list[Tensor | None]:
        """Sends gradients into the graph and follows them to its leaves.

        Args:
            roots: where to begin.
            inputs: the gradient for each root, a Tensor.
            keep_graph: whether saved values survive.
            create_graph: whether the backward records itself.
            accumulate_grad: whether `outputs` get their gradient in `.grad` instead of as a result.
            outputs: the only places whose gradient is wanted; all leaves if empty.
        """
        state = current()
        outer: GraphTask | None = state.task
        # Tangents are of Tensors, and selections are asked about operations on them.
        tensors = create_graph or state.special & (FORWARD | SELECTED) != 0
        task = GraphTask(keep_graph, create_graph, tensors, outer)
        if state.special & RECORDED:
            task.observer = state.observer
        root, values = _start(task, roots, inputs)
        min_nr = _shallowest(outputs) if outputs else 0
        was_valid = state.checkpoint_valid
        running_node = state.running_node
        try:
            task.compute_dependencies(root, min_nr)
            if create_graph:
                task.watch_nodes()
            if outputs:
                task.init_to_execute(root, outputs, accumulate_grad)
                assert task.exec_info is not None
                task.exec_info.setdefault(root, ExecInfo())
            watch = Watch(task, values, min_nr) if state.nonfinite else None
            state.checkpoint_valid = self.is_checkpoint_valid()
            state.task = task
            if outer is not None and stack_is_deep(task.depth):
                apart = Apart(self, task, values)
                on_fresh_stack(apart, apart.stop)
            else:
                self._run(task, values)
            if task.observer is not None:
                task.observer.backward_ends(task, None)
            if watch is not None:
                watch.finish(state)
        except BaseException as error:
            if task.observer is not None:
                task.observer.backward_ends(task, error)
            raise
        finally:
            state.task = outer
            state.running_node = running_node
            state.checkpoint_valid = was_valid
            task.let_go()
        found: list[Tensor | None] = []
        for value in task.captured:
            found.append(_result(value, task.tensors))
        return found

    def _run(self, task: GraphTask, values: Sequence[Any]) -> None:
        """The one engine loop: runs what is ready until nothing is left, or until it is better to share the rest."""
        modes = current()
        grad_enabled = modes.grad_enabled
        alone = task.tensors or modes.special & ~(RECORDED | WIDENED) or modes.write_guard is not None
        alone = alone or not modes.multithreading
        token = None
        try:
            token = hush(QUIET)
            modes.grad_enabled = task.create_graph
            task.settle(modes.special & ANOMALY != 0, modes.special & SELECTED != 0)
            if task.observer is not None:
                task.observer.backward_starts(task, values)
            task.begin_streams()
            task.begin(values)
            while True:
                queue = task.queue
                if queue.heap and not alone and worth_sharing(task):
                    Shared(task, queue.drain()).serve()
                    break
                node = queue.pop()
                if node is None:
                    break
                evaluate(task, node)
            task.unfinished = False
            if task.callbacks:
                _run_callbacks(task)
        finally:
            # An interrupt may come after any call, so plain stores go first.
            modes.grad_enabled = grad_enabled
            if token is not None:
                unhush(token)
            if len(task.streams) > 1:
                task.end_streams()

    def run_backward(
        self,
        tensors: Sequence[Any],
        grad_tensors: Sequence[Any],
        keep_graph: bool,
        create_graph: bool,
        inputs: Sequence[Any] = (),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> tuple[Tensor | None, ...] | None:
        """`execute` for tensors and GradientEdges: finds their edges, and complains about gradients not found."""
        roots = [root_edge(t, i) for i, t in enumerate(tensors)]
        outputs = [_wanted_edge(t, i, accumulate_grad) for i, t in enumerate(inputs)]
        results = self.execute(roots, list(grad_tensors), keep_graph, create_graph, accumulate_grad, outputs)
        if accumulate_grad or not outputs:
            return None
        if not allow_unreachable:
            for i, result in enumerate(results):
                if result is None:
                    raise unused_error(i)
        return tuple(results)

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Calls `callback()` once, on the calling thread, when the running backward has finished."""
        task: GraphTask | None = current().task
        if task is None:
            raise RuntimeError(
                "Final callbacks can only be installed during backward pass. Call queue_callback from a hook or from "
                "the backward of a custom Function."
            )
        task.callbacks.append(callback)

    def current_task(self) -> GraphTask | None:
        """The backward that is running in this thread, the innermost of nested ones."""
        task: GraphTask | None = current().task
        return task

    def is_checkpoint_valid(self) -> bool:
        """Whether re-entrant checkpointing may run: not inside `autograd.grad` or `backward(inputs=...)`."""
        state = current()
        task: GraphTask | None = state.task
        return state.checkpoint_valid and (task is None or task.exec_info is None or task.capturing)


class Apart:
    """A backward that runs on a stack of its own, with its caller's modes: a deep nesting continues there."""

    def __init__(self, engine: Engine, task: GraphTask, values: Sequence[Any]) -> None:
        self.engine = engine
        self.task = task
        self.values = values
        self.modes: ThreadState = current()

    def __call__(self) -> None:
        # The caller waits, so its state can be lent as it is.
        lend(self.modes)
        self.engine._run(self.task, self.values)

    def stop(self, interrupt: BaseException) -> None:
        """The caller was interrupted: the innermost backward ends, and those around it."""
        innermost: GraphTask | None = self.modes.task
        if innermost is not None:
            innermost.stop(interrupt)


def _stop_after_fork() -> None:
    """In a child that was forked in the middle of a backward: that one is its parent's, others begin anew."""
    state = current()
    task: GraphTask | None = state.task
    state.task = None
    around = task
    while around is not None:
        if around.shared is not None:
            around.shared.after_fork()
        around = around.outer
    if task is not None:
        task.stop(
            RuntimeError(
                "fork() happened in the middle of a backward: the child has none of the threads that serve it, so it "
                "cannot go on. Fork before or after backward(), or start processes with spawn or forkserver."
            )
        )


at_fork(after_in_child=_stop_after_fork)


def unused_error(index: int) -> GradientError:
    """The error for a requested gradient that no path leads to."""
    return GradientError(
        f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set allow_unused=True "
        "if this is the desired behavior. (Either the output does not depend on it, or the path was cut by detach(), "
        "no_grad or an operation without a derivative.)"
    )


def _shallowest(outputs: Sequence[Edge]) -> int:
    """The least topological number of the nodes whose gradients are wanted: nothing below can lead to one."""
    return min([edge.function.topological_nr for edge in outputs if edge.function is not None])


def _start(task: GraphTask, roots: Sequence[Edge], grads: Sequence[Any]) -> tuple[Node, Sequence[Any]]:
    """The node to begin with, and what arrives at it: the root itself if there is one, else a GraphRoot for all."""
    values: list[Any] = []
    for i, edge in enumerate(roots):
        values.append(_root_value(edge, grads[i], i, task.tensors))
    if len(roots) == 1:
        node = roots[0].function
        assert node is not None
        if node.num_inputs() > 1:
            given: list[Any] = [None] * node.num_inputs()
            given[roots[0].input_nr] = values[0]
            return node, given
        return node, values
    return GraphRoot(roots, values, current().next_sequence_nr()), ()


def _root_value(edge: Edge, grad: Any, i: int, tensors: bool) -> Any:
    if grad is None:
        return None
    node, nr = edge.function, edge.input_nr
    assert node is not None
    value = taken(grad, tensors)
    if nr == 0 and not tensors and node._meta is not None and fit_bits(value, node._meta):
        return value
    return convert_gradient(value, node, nr, i)


def root_edge(output: Any, i: int) -> Edge:
    """The edge of an output: a tensor, or a GradientEdge."""
    if not isinstance(output, Tensor):
        return Edge(output.node, output.output_nr)
    # A view that was made without recording requires a gradient as its base does, and has no history.
    found = gradient_edge(output) if output.requires_grad else None
    if found is None or (output._node is None and not output._requires):
        raise GradientError(
            f"element {i} of tensors does not require grad and does not have a grad_fn. "
            + (_UNKNOWN if output._lost is None else output._lost.text())
        )
    return found


def _wanted_edge(wanted: Any, i: int, accumulate_grad: bool) -> Edge:
    """The edge at which a requested gradient arrives; an Identity nobody leads to where there is no graph."""
    if not isinstance(wanted, Tensor):
        return Edge(wanted.node, wanted.output_nr)
    if accumulate_grad:
        wanted.retain_grad()
    if not wanted.requires_grad:
        raise GradientError(
            f"One of the differentiated Tensors does not require grad (the one at index {i}). Set requires_grad=True "
            "on it before the computation."
        )
    if wanted._base is not None:
        wanted._refresh()  # of a view whose base was written since, no graph made before knows the place
    node: Node | None = wanted._node
    if node is None and wanted._accumulator is not None:
        found: AccumulateGrad | None = wanted._accumulator()
        node = found
    return Edge(Identity() if node is None else node, wanted.output_nr)


def _run_callbacks(task: GraphTask) -> None:
    """Runs the final callbacks; one that queues another sees it run too."""
    done = 0
    while done < len(task.callbacks):
        task.callbacks[done]()
        done += 1


def _result(value: Any, tensors: bool) -> Tensor | None:
    """A captured gradient as a Tensor that may be written into."""
    if not tensors and value is not None and not is_writable(value):
        value = value.copy()
    result: Tensor | None = shown(value, tensors)
    if result is not None and not tensors and current().special & INFERENCE:
        result._counter = UNTRACKED
    return result


ENGINE: Final = Engine()
