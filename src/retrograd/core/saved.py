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
    source = "" if node is None or node.arity == 0 else f", which is output {nr} of {node.name()},"
    return InplaceError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{SCALAR_NAMES[array.dtype]}Tensor {sizes(array.shape)}]{source} is at version {counter.version}; "
        f"expected version {expected} instead. Hint: compute out of place (y = y + 1, not y += 1), or clone() the "
        "tensor before it is written."
    )


def inference_error() -> InferenceError:
    """The error of saving an inference tensor."""
    return InferenceError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
        "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
        "in autograd, or use `retrograd.no_grad()` instead of `retrograd.inference_mode()`."
    )


def check_version(array: Any, counter: VersionCounter | None, version: int, node: Node | None, nr: int) -> None:
    """Raises unless the saved array is as it was when it was saved."""
    if counter is not None and counter.version != version:
        raise version_error(array, counter, version, node, nr)
