"""AccumulateGrad: the end of every path, where a gradient lands in a leaf's `.grad`."""

from __future__ import annotations

from typing import Any

from retrograd.backends.base import namespace_of
from retrograd.core.hooks import call_hook
from retrograd.core.modes import before_write
from retrograd.core.node import MAX_SEQUENCE_NR, Edge, Grads, Node
from retrograd.core.operators import SOCKET
from retrograd.core.tensor import Tensor
from retrograd.values import Array


class AccumulateGrad(Node):
    """Adds what arrives to `variable.grad`. Holds the leaf; the leaf refers back weakly."""

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.sequence_nr = MAX_SEQUENCE_NR
        self.tensor_hooks = variable._leaf_hooks
        self.out_shape = variable.array.shape
        self.out_dtype = variable.expected_grad_dtype()

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        """Takes over, adds in place, or adds out of place."""
        new: Any = grads[0]
        if new is None:
            return ()
        variable = self.variable
        old = variable._grad
        if tensors:
            # The gradient may itself be part of a graph: never write into it.
            variable._grad = SOCKET.operators.clone(new) if old is None else old + new
        elif old is None:
            # Take over an array that nobody else can see (Note [Ownership] in engine/buffer.py); copy any other.
            variable._grad = Tensor(new if owned & 1 and _is_dense(new) else _dense_copy(new))
        elif old.array.dtype == new.dtype and old.array.flags.writeable:
            before_write(old.array)
            namespace_of(new).add(old.array, new, out=old.array)
            old.bump_version()
        else:
            variable._grad = Tensor(namespace_of(new).asarray(old.array + new))
        hooks = variable._post_accumulate
        if hooks is not None:
            for index, hook in enumerate(list(hooks.values())):
                if call_hook(hook, f"post-accumulate hook {index}", self.name(), variable) is not None:
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        return ()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return ()


def _is_dense(array: Array) -> bool:
    return bool(array.flags.c_contiguous and array.flags.writeable)


def _dense_copy(array: Array) -> Array:
    return namespace_of(array).array(array, order="C", copy=True)


def edge_of(tensor: Tensor) -> Edge:
    """Where the gradient of a tensor that requires one arrives; a view must be up to date."""
    return Edge(tensor._node or grad_accumulator(tensor), tensor.output_nr)


def grad_accumulator(leaf: Tensor) -> AccumulateGrad:
    """The leaf's accumulator: the living one if some graph still holds it, else a new one."""
    ref = leaf._accumulator
    if ref is not None:
        found: AccumulateGrad | None = ref()
        if found is not None:
            return found
    made = AccumulateGrad(leaf)
    leaf.remember_accumulator(made)
    return made
