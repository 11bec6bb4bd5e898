"""Saved values: the version check on the way out, and a Tensor put back into its place in the graph.

Note [Saved values]
~~~~~~~~~~~~~~~~~~~
An op saves bare arrays with the version they had, never Tensors: an output that its own node kept as a Tensor would be
a reference cycle, and a kept input would outlive its owner. A saved input's place in the graph is the node's own next
edge of that number, a saved output's is the node itself; so a Tensor can be rebuilt when a formula must be recorded.
"""

from __future__ import annotations

from typing import Any

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.node import Node
from retrograd.core.tensor import Tensor
from retrograd.core.version import VersionCounter
from retrograd.errors import FREED_GRAPH, FreedGraphError, InferenceError, InplaceError, sizes
from retrograd.values import Array


def freed_graph(node: Node) -> FreedGraphError:
    """The error of a second backward, naming the node that noticed."""
    return FreedGraphError(f"{FREED_GRAPH} (noticed at {node.name()})")


def version_error(
    array: Array, counter: VersionCounter, expected: int, node: Node | None, nr: int
) -> InplaceError:
    """The error of a saved value that was overwritten since."""
    source = "" if node is None or node.edge_count == 0 else f", which is output {nr} of {node.name()},"
    return InplaceError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{SCALAR_NAMES[array.dtype]}Tensor {sizes(array.shape)}]{source} is at version {counter.version}; "
        f"expected version {expected} instead. Hint: compute out of place (y = y + 1, not y += 1), or clone() the "
        "tensor before it is written."
    )


def inference_error() -> InferenceError:
    """The error of saving an inference tensor."""
    return InferenceError(
        "Inference tensors cannot be saved for backward. This one was made under inference_mode(), which promises that "
        "no gradient will ever be asked for. clone() it outside, or use no_grad() where it was made."
    )


def check_version(
    array: Any, counter: VersionCounter | None, version: int, node: Node | None, nr: int
) -> None:
    """Raises unless the saved array is as it was when it was saved."""
    if counter is not None and counter.version != version:
        raise version_error(array, counter, version, node, nr)


def restored(node: Node | None, nr: int, array: Any, counter: VersionCounter | None) -> Any:
    """A saved array as a Tensor at output `nr` of `node`; numbers stay numbers. See Note [Saved values]."""
    if counter is None:
        return array
    if node is None:
        tensor = Tensor(array)
    elif node.edge_count == 0 and hasattr(node, "variable"):
        leaf: Tensor = node.variable
        if leaf.array is array:
            return leaf
        tensor = Tensor(array)
        tensor._node, tensor._requires = node, True
    else:
        tensor = Tensor(array)
        tensor._node, tensor.output_nr, tensor._requires = node, nr, True
    tensor._counter = counter
    return tensor


class SavedTensor:
    """A tensor saved by a custom Function: its array, its version and its place in the graph."""

    def __init__(self, tensor: Tensor, is_output: bool) -> None:
        self.array = tensor.array
        self.counter = tensor.counter()
        self.version = self.counter.version
        if self.version < 0:
            raise inference_error()
        self.is_output = is_output
        self.output_nr = tensor.output_nr
        # An output's place is the node that saves it: holding it here would be a cycle.
        self.node: Node | None = None if is_output else tensor.grad_fn
        self.leaf: Tensor | None = tensor if not is_output and tensor.is_leaf else None

    def unpack(self, owner: Node) -> Tensor:
        """The tensor again, unless it has been overwritten."""
        node = owner if self.is_output else self.node
        check_version(self.array, self.counter, self.version, node, self.output_nr)
        if self.leaf is not None:
            return self.leaf
        found: Tensor = restored(node, self.output_nr, self.array, self.counter)
        return found
