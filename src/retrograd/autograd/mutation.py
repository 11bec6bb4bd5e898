"""Writing where PyTorch's rules forbid it: over values that a graph has saved, and without counting the write.

Note [Mutation of saved values]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Inside `allow_mutation_on_saved_tensors` the pack hook puts a `Kept` into the graph: the saved array itself, not a copy.
Every in-place write passes `before_write` first (`check_writable`, `write_back`, AccumulateGrad), which finds the Kepts
of that memory and gives those that overlap with the write a copy. So only what is overwritten is copied, once for all
that saved it, and whatever way the write takes: through the tensor, a view, `detach()`, `.data` or `out=`.

The graph's nodes own the Kepts; the block knows them weakly, by the memory they look at, and empties them at its end.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from retrograd.autograd.modes import ModeContext
from retrograd.autograd.saved_hooks import saved_tensors_hooks
from retrograd.backends.mirror import behind, bits_of
from retrograd.core.modes import current
from retrograd.core.tensor import Tensor
from retrograd.hints import Plain
from retrograd.values import Array


class Kept(Plain):
    """One saved value: the original array, or its copy once the original is overwritten; None after the block."""

    def __init__(self, array: Array, neighbours: Any) -> None:
        self.array: Array | None = array
        self.neighbours = neighbours  # the others on this memory; so their table lives as long as they
        self.is_copy = False


class MutationContext(Plain):
    """What `allow_mutation_on_saved_tensors` yields: the values saved inside the block."""

    def __init__(self) -> None:
        self._kept: WeakSet[Kept] = WeakSet()
        # The owner of the memory → where in it a value lies → the value that has not been overwritten yet.
        self._memories: WeakValueDictionary[int, WeakValueDictionary[Any, Kept]] = WeakValueDictionary()

    @property
    def original(self) -> dict[Kept, Tensor]:
        """The saved values that nothing has overwritten."""
        return {k: Tensor(k.array, share=True) for k in self._kept if not k.is_copy}

    @property
    def cloned(self) -> dict[Kept, Tensor]:
        """The saved values that had to be copied."""
        return {k: Tensor(k.array, share=True) for k in self._kept if k.is_copy}

    @property
    def tid_to_weakhandle(self) -> dict[int, Kept]:
        """All saved values, by a number for each."""
        return {id(kept): kept for kept in self._kept}

    def clear(self) -> None:
        """Forgets every saved value: backward through what was recorded so far is an error from now on."""
        for kept in self._kept:
            kept.array = None
        self._kept.clear()
        self._memories.clear()

    def pack(self, tensor: Tensor) -> Kept:
        """The pack hook. One array saved by several operations is one Kept."""
        array = tensor.array
        owner = _owner(array)
        neighbours = self._memories.get(owner)
        if neighbours is None:
            neighbours = self._memories[owner] = WeakValueDictionary()
        shown = behind(array)
        # An array that stands for all samples of a vmap has no address: it is known by itself.
        address = shown.__array_interface__["data"][0] if isinstance(shown, np.ndarray) else owner
        place = (address, array.shape, array.strides, array.dtype, bits_of(array))
        kept = neighbours.get(place)
        if kept is None:
            kept = neighbours[place] = Kept(array, neighbours)
            self._kept.add(kept)
        return kept

    def unpack(self, kept: Kept) -> Tensor:
        """The unpack hook."""
        if kept.array is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded (or after its clear()). The saved values are gone: call backward() inside it."
            )
        return Tensor(kept.array, share=True)

    def before_write(self, array: Array) -> None:
        """Copies the saved values that lie where `array` is about to be written."""
        neighbours = self._memories.get(_owner(array))
        if neighbours is None:
            return
        for place, kept in list(neighbours.items()):
            if kept.array is not None and np.may_share_memory(kept.array, array):
                kept.array, kept.is_copy = kept.array.copy(), True
                del neighbours[place]


def _owner(array: Any) -> int:
    """The identity of the object that owns an array's memory; it lives at least as long as the array."""
    array = behind(array)
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return id(array)


class allow_mutation_on_saved_tensors(ModeContext):  # noqa: N801 - torch's name
    """Inside the block, tensors that a graph has saved may be overwritten; backward uses the values they had.

    A saved value is copied when it is first overwritten, and not before. Run `backward()` inside the block: at its end
    the values are gone. What was saved before the block is not covered.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> with rg.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     loss = (y * y).sum()
    ...     _ = y.zero_()
    ...     loss.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self) -> None:
        self.context: MutationContext = MutationContext()
        self.hooks: saved_tensors_hooks = saved_tensors_hooks(self.context.pack, self.context.unpack)

    def __enter__(self) -> MutationContext:
        state = current()
        if state.write_guard is not None:
            raise RuntimeError(
                "allow_mutation_on_saved_tensors contexts cannot be nested. The outer block covers the inner code "
                "already."
            )
        self.hooks.__enter__()
        state.write_guard = self.context
        return self.context

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        current().write_guard = None
        self.hooks.__exit__()
        self.context.clear()


class _unsafe_preserve_version_counter:  # noqa: N801 - torch's name
    """Writes inside the block do not count: afterwards the tensors have the versions they had before.

    "Unsafe" because it takes the guard away: backward uses whatever value a saved tensor has then.

    >>> import retrograd as rg
    >>> x = rg.ones(2)
    >>> with rg.autograd._unsafe_preserve_version_counter(x):
    ...     _ = x.add_(1)
    >>> x._version
    0
    """

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError(
                f"Expected tensors to be a tuple (or one Tensor), got {type(tensors).__name__}"
            )
        self.versions = tuple(t._version for t in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            tensor._version_counter().show(version)
