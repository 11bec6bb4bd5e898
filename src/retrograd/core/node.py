"""Node and Edge: the graph that the forward pass writes and the engine reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import BACKENDS, where_of
from retrograd.backends.device import device
from retrograd.core.collector import expose
from retrograd.core.hooks import NodeHooks, RemovableHandle, TensorHooks, add_hook
from retrograd.core.metadata import InputMetadata, metadata_of
from retrograd.core.modes import current
from retrograd.core.plain import PlainNode
from retrograd.core.upward import UPWARD
from retrograd.hints import mypyc_attr
from retrograd.values import Array, DType, Shape, Value

ndarray: Final[Any] = np.ndarray

# AccumulateGrad runs before everything else that is ready, so its priority is the largest there is.
MAX_SEQUENCE_NR = (1 << 64) - 1

Grads = Sequence[Value | None]


class Edge:
    """Where a gradient goes: input number `input_nr` of `function`. An empty edge (None, 0) drops it."""

    def __init__(self, function: Node | None, input_nr: int) -> None:
        self.function = function
        self.input_nr = input_nr


@mypyc_attr(allow_interpreted_subclasses=True, serializable=True)
class Node(PlainNode):
    """One recorded operation: takes the gradients of its outputs, gives the gradients of its inputs.

    A node's *inputs* are gradients, one per output of the forward operation; its *next edges* say where the gradients
    it computes go, one per input of the forward operation. The first two edges and the first input live in plain
    fields, because almost every node has no more. So does what a running backward needs to know about the node: see
    Note [Counts on nodes] in engine/task.py.
    """

    # Whether apply() returns arrays of its own, `g` itself or views, and no others.
    fresh_results: bool = False
    built_in: ClassVar[bool] = False  # whether apply() is ours, so that it may run on any thread
    multiplies: ClassVar[bool] = False  # whether it is made of matrix products, which use all threads already
    _has_pair: bool = False  # whether `pair` serves instead of `apply`
    sequence_nr: int = 0
    topological_nr: int = 0
    _where: device | None = None  # the device whose queue the node waits in; None is the CPU
    _stream: int = 0  # the GPU's queue that the forward's work went into: see Note [Streams]
    edge_count: int = 0  # number of next edges
    next0: Node | None = None
    nr0: int = 0
    next1: Node | None = None
    nr1: int = 0
    more_edges: list[Edge] | None = None
    _meta: InputMetadata | None = None  # of the first forward output, whose gradient is input 0
    more_inputs: list[InputMetadata] | None = None
    tensor_hooks: TensorHooks | None = None
    node_hooks: NodeHooks | None = None
    user_metadata: dict[Any, Any] | None = None
    _made: Any = None  # the line that made the node: see Note [Places]
    _freed: bool = False  # whether what the node had saved is gone
    _freed_by: Any = None  # the Place of the backward that freed it
    _witness: Any = None  # under detect_nonfinite: see core/witness.py
    _duals: Any = None  # tangents of saved values, by their slots: see core/tangent.py
    _record: Any = None  # what a recording knows of the node: see Note [Recording]
    _lost: Any = None  # why a constant operand has no gradient, if it was cut off: see core/lost.py
    _used: bool = False  # whether another node has an edge to it
    _watched: bool = True  # whether the cyclic collector sees it: see Note [Nodes and the collector]
    _counted_by: int = 0  # the number of the backward that the next three fields belong to
    _missing: int = 0  # gradients still to come
    _held: Any = None  # the gradient at input 0 so far; an InputBuffer if there are more inputs
    _held_ours: bool = (
        False  # see Note [Ownership] in engine/buffer.py; once it ran: whether that is handed on
    )

    # -- what subclasses give ------------------------------------------------------------------------------------

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        """The gradients of the inputs, one per next edge. With `tensors` they are Tensors, else bare arrays."""
        raise NotImplementedError(f"{self.name()} has no apply()")

    def pair(self, g: Any, tensors: bool, owned: bool) -> tuple[Any, Any]:
        """What `apply` does, for a node of one input and at most two next edges: the engine's short way."""
        raise NotImplementedError(f"{self.name()} has no pair()")

    def release(self) -> None:
        """Frees the saved values; the node cannot run again."""

    def holds_saved(self) -> bool:
        """Whether there are saved values that `release` would free."""
        return False

    def saved_value(self, name: str) -> Any:
        """The value PyTorch shows as `_saved_<name>`; raises KeyError where there is none."""
        raise KeyError(name)

    def raw_saved(self, name: str) -> Any:
        """What PyTorch shows as `_raw_saved_<name>`; raises KeyError where there is none."""
        raise KeyError(name)

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object: a graph is not copied")

    def saved_names(self) -> tuple[list[str], list[str]]:
        """What `saved_value` has a value for, and what `raw_saved` has one for."""
        return [], []

    def name(self) -> str:
        """The name that PyTorch gives this node, such as `MulBackward0`."""
        return type(self).__name__

    def operation(self) -> str:
        """The operation that made the node, as messages call it: `Mul` of MulBackward0."""
        return type(self).__name__.rstrip("0123456789").removesuffix("Backward")

    def spoken_name(self) -> str:
        """What messages call the node: `Mul` for MulBackward0, `Sum1` for SumBackward1."""
        operation = self.operation()
        number = type(self).__name__.removeprefix(f"{operation}Backward")
        return operation + number if number.isdigit() and number != "0" else operation

    # -- edges and inputs ----------------------------------------------------------------------------------------

    def num_inputs(self) -> int:
        """How many gradients the node takes."""
        return 1 if self.more_inputs is None else 1 + len(self.more_inputs)

    @property
    def out_shape(self) -> Shape:
        """The shape of the first forward output."""
        return () if self._meta is None else self._meta.shape

    @property
    def out_dtype(self) -> DType:
        """The dtype of the first forward output; None where any will do."""
        return None if self._meta is None else self._meta.dtype

    def input_shape(self, nr: int) -> Shape:
        """The shape of the gradient at input `nr`."""
        if nr == 0 or self.more_inputs is None:
            return self.out_shape
        return self.more_inputs[nr - 1].shape

    def input_dtype(self, nr: int) -> DType:
        """The dtype of the gradient at input `nr`; None takes any."""
        if nr == 0 or self.more_inputs is None:
            return self.out_dtype
        return self.more_inputs[nr - 1].dtype

    def add_input(self, array: Array) -> None:
        """Registers one more forward output that gradients will arrive for."""
        meta = metadata_of(array)
        if type(array) is not ndarray:
            self._where = where_of(array)
            self._stream = BACKENDS.stream_now()
        if self._meta is None:
            self._meta = meta
        elif self.more_inputs is None:
            self.more_inputs = [meta]
        else:
            self.more_inputs.append(meta)

    def edge(self, i: int) -> Edge:
        """Next edge number `i`."""
        if i == 0:
            return Edge(self.next0, self.nr0)
        if i == 1:
            return Edge(self.next1, self.nr1)
        assert self.more_edges is not None
        return self.more_edges[i - 2]

    def next_edges(self) -> list[Edge]:
        """All next edges, empty ones included."""
        return [self.edge(i) for i in range(self.edge_count)]

    def set_next_edges(self, edges: Sequence[Edge]) -> None:
        """Lays the edges and numbers the node after its deepest successor."""
        self.edge_count = self.topological_nr = 0
        for i, edge in enumerate(edges):
            put_edge(self, i, edge.function, edge.input_nr)

    def successors(self) -> Iterator[Node]:
        """The nodes that gradients go to, in edge order; a node may come twice."""
        for i in range(self.edge_count):
            node = self.successor(i)
            if node is not None:
                yield node

    def successor(self, i: int) -> Node | None:
        """The node at next edge number `i`."""
        if i == 0:
            return self.next0
        if i == 1:
            return self.next1
        return self.edge(i).function

    def needs(self, i: int) -> bool:
        """Whether anybody wants the gradient of input `i`."""
        return i < self.edge_count and self.successor(i) is not None

    # -- what people see -----------------------------------------------------------------------------------------

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The next edges as `(node, input_nr)` pairs."""
        return tuple((e.function, e.input_nr) for e in self.next_edges())

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whatever a user wants to remember with the node."""
        if self.user_metadata is None:
            self.user_metadata = {}
            expose(self)
        return self.user_metadata

    @property
    def requires_grad(self) -> bool:
        """Always true: a node exists only where a gradient is wanted."""
        return True

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        first = InputMetadata((), None) if self._meta is None else self._meta
        return (first, *(self.more_inputs or ()))

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        self.sequence_nr = sequence_nr

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_inputs, grad_outputs)` after each run; a tuple it returns replaces `grad_inputs`."""
        return add_hook(self._hooks().post, self._own_hook(fn))

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_outputs)` before each run; a tuple it returns replaces `grad_outputs`."""
        return add_hook(self._hooks().pre, self._own_hook(fn))

    def _own_hook(self, fn: Any) -> Any:
        inside = current().differentiation
        return fn if inside is None else inside.own(fn, self.sequence_nr)

    def _register_hook_dict(self, tensor: Any) -> None:
        """Nothing but a check: what is in `tensor._backward_hooks` is called, whatever is there then."""
        if not isinstance(tensor, UPWARD.tensor):
            raise TypeError("_register_hook_dict expected a variable")

    def _hooks(self) -> NodeHooks:
        if self.node_hooks is None:
            self.node_hooks = NodeHooks()
            expose(self)
        return self.node_hooks

    def __call__(self, *grads: Any) -> Any:
        """Runs the node by hand: gradients of the outputs in, gradients of the inputs out."""
        if len(grads) != self.num_inputs():
            raise TypeError(f"expected {self.num_inputs()} arguments, got {len(grads)} instead")
        for i, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, UPWARD.tensor):
                raise TypeError(f"argument {i} is not a Variable: {self.name()} takes Tensors, and None")
        results = self.apply(grads, True, 0)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


def put_edge(node: Node, i: int, function: Node | None, input_nr: int) -> None:
    """Lays next edge number `i`, after those before it, and numbers the node after its deepest successor.

    A function, since methods of users' nodes are slow to call.
    """
    if function is not None:
        function._used = True
        if function.topological_nr >= node.topological_nr:
            node.topological_nr = function.topological_nr + 1
    if i == 0:
        node.next0, node.nr0 = function, input_nr
    elif i == 1:
        node.next1, node.nr1 = function, input_nr
    elif i == 2 or node.more_edges is None:
        node.more_edges = [Edge(function, input_nr)]
    else:
        node.more_edges.append(Edge(function, input_nr))
    # Last: making an Edge may start the collector, before which `collector._watch_all` reads the edges of all nodes.
    node.edge_count = i + 1


UPWARD.node = Node


class GraphRoot(Node):
    """The node behind a backward with several roots: hands each root its gradient."""

    built_in: ClassVar[bool] = True

    def __init__(self, edges: Sequence[Edge], grads: Grads, sequence_nr: int) -> None:
        self.grads: Grads = grads
        self.set_next_edges(edges)
        self.sequence_nr = sequence_nr

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        return self.grads

    def num_inputs(self) -> int:
        return 0

    def name(self) -> str:
        return "torch::autograd::GraphRoot"


class Identity(Node):
    """Stands for an input that no graph leads to, so that asking for its gradient finds nothing."""

    built_in: ClassVar[bool] = True

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        return grads

    def name(self) -> str:
        return "torch::autograd::Identity"
