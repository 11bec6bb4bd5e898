"""AccumulateGrad: the end of every path, where a gradient lands in a leaf's `.grad`."""

from __future__ import annotations

import threading
import weakref
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import BACKENDS, backend_of, is_writable, where_of
from retrograd.backends.layout import copied_like, lies_like
from retrograd.backends.native import add_into
from retrograd.core.collector import expose, hide
from retrograd.core.hooks import call_hook
from retrograd.core.metadata import InputMetadata, metadata_of
from retrograd.core.modes import before_write, current, is_grad_enabled
from retrograd.core.node import MAX_SEQUENCE_NR, Edge, Grads, Node
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.errors import GradientError, sizes, type_name
from retrograd.forks import at_fork
from retrograd.values import Array

# Note [Accumulation from several threads]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Backwards on several threads may end in one leaf. Reading `.grad`, adding to it and storing it is one step for the
# others: it holds the leaf's lock, one of a few that all leaves share, so that a leaf needs none of its own. Hooks run
# after the lock is given back: what a user wrote must not hold up others. Locks are re-entrant, because a finaliser
# that Python happens to run inside one may come back to it.
ndarray: Final[Any] = np.ndarray
LOCKS = tuple(threading.RLock() for _ in range(64))


def _new_locks() -> None:
    """In a forked child: threads that held a lock are not there to give it back."""
    global LOCKS
    LOCKS = tuple(threading.RLock() for _ in range(64))


at_fork(after_in_child=_new_locks)


def lock_of(leaf: Tensor) -> Any:
    """The lock for `leaf.grad`. See Note [Accumulation from several threads]."""
    return LOCKS[(id(leaf) >> 6) & 63]


class AccumulateGrad(Node):
    """Adds what arrives to `variable.grad`. Holds the leaf; the leaf refers back weakly."""

    built_in: ClassVar[bool] = True

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.ended = False  # whether the leaf is one of a transform whose function has returned
        self.outgrown = False  # whether the leaf has got data of another shape or dtype since
        self._has_pair = True
        self.sequence_nr = MAX_SEQUENCE_NR
        if type(variable.array) is not ndarray:
            self._where = where_of(variable.array)
            self._stream = BACKENDS.stream_now()
        hide(self)
        self.update()

    def update(self) -> None:
        """Takes over what has changed about the leaf."""
        variable = self.variable
        self.tensor_hooks = variable._leaf_hooks
        if self.tensor_hooks is not None or variable._post_accumulate is not None:
            expose(self)
        meta: InputMetadata = metadata_of(variable.array)
        dtype = variable._expected_grad_dtype()
        self._meta = meta if dtype is meta.dtype else InputMetadata(meta.shape, dtype, meta.device)

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        self.pair(grads[0], tensors, owned & 1 != 0)
        return ()

    def pair(self, g: Any, tensors: bool, owned: bool) -> tuple[Any, Any]:
        """Takes over, adds in place, or adds out of place. Hooks run without a gradient too, as in PyTorch."""
        variable = self.variable
        if g is not None:
            self._locked(variable, g, tensors, owned)
        if variable._post_accumulate is not None:
            self._run_hooks(variable)
        return None, None

    def _locked(self, variable: Tensor, g: Any, tensors: bool, owned: bool) -> None:
        """Accumulates with the leaf's lock. See Note [Accumulation from several threads]."""
        if self.outgrown:
            raise self._misfit()
        lock = lock_of(variable)
        try:  # Note [Locks and interrupts]; `held` would need a function made for each call
            lock.acquire()
            self._accumulate(variable, g, tensors, owned)
        finally:
            try:  # noqa: SIM105 - a call before `release` would be one more moment for an interrupt
                lock.release()
            except RuntimeError:
                pass

    def _run_hooks(self, variable: Tensor) -> None:
        """Calls the leaf's post-accumulate hooks."""
        state = current()
        if state.task is not None:  # not where somebody calls the node by hand
            state.running_node = self
        for index, hook in enumerate(list((variable._post_accumulate or {}).values())):
            found = call_hook(hook, f"post-accumulate hook {index}", self.name(), variable)
            if found is not None and found is not variable:  # `p.add_(p.grad, alpha=-lr)` gives back the leaf
                raise _something_returned(found)

    def _accumulate(self, variable: Tensor, new: Any, tensors: bool, owned: bool) -> None:
        if not variable._requires:
            return  # frozen since the forward
        if variable._node is not None:
            raise GradientError(
                "leaf variable has been moved into the graph interior: it was written in place since the graph that "
                "accumulates into it was made, and is no leaf any more. Write into a clone() of it."
            )
        old = variable._grad
        if tensors and not is_grad_enabled():
            # Forward mode: the sum has a tangent if both have one, a first gradient has none, as in PyTorch.
            variable._grad = (
                Tensor(copied_like(new.array, variable.array), share=True)
                if old is None
                else UPWARD.operators.iadd(old, new)
            )
        elif tensors:
            # The gradient may itself be part of a graph: never write into it.
            variable._grad = UPWARD.operators.clone_like(new, variable) if old is None else old + new
        elif old is None:
            # Take over an array that nobody else can see (Note [Ownership] in engine/buffer.py); copy any other.
            leaf = variable.array
            variable._grad = Tensor(
                new if owned and _may_stay(new, leaf) else copied_like(new, leaf), share=True
            )
        elif old.array.dtype == new.dtype and is_writable(old.array):
            before_write(old.array)
            try:
                if type(new) is ndarray:
                    add_into(old.array, new)
                else:
                    backend_of(new).write_sum(old.array, new)
            except ValueError:
                UPWARD.operators.iadd(old, Tensor(new, share=True))  # refuses too, in words about both shapes
            old._bump_version()
        else:
            variable._grad = Tensor(backend_of(new).asarray(old.array + new), share=True)

    def _misfit(self) -> GradientError:
        """The error for a gradient of the data that a leaf had when the graph was made."""
        now = self.variable.array
        return GradientError(
            f"the data of a leaf was replaced between forward and backward: its gradient is of shape "
            f"{sizes(self.input_shape(0))} and {self.input_dtype(0)}, but the leaf has become {sizes(now.shape)} and "
            f"{now.dtype}. Set x.data before the forward that you differentiate, or after its backward."
        )

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return ()


def _something_returned(found: Any) -> Exception:
    """The error for a post-accumulate hook that returns anything but the leaf."""
    if isinstance(found, Tensor):
        return RuntimeError("Tensor post accumulate grad hooks should return None.")
    return TypeError(
        f"expected Variable, but hook returned '{type_name(found)}'; these hooks should return None."
    )


def _may_stay(new: Array, leaf: Array) -> bool:
    """Whether a gradient can be `.grad` as it is: one that may be written into, in the leaf's layout."""
    if type(new) is not ndarray:
        xp = backend_of(new)
        if xp.lies_in_rows(new) and xp.lies_in_rows(leaf):
            return xp.is_writable(new)
        return xp.is_writable(new) and (lies_like(new, leaf) or not current().grad_layout)
    flags = new.flags
    if flags.c_contiguous and leaf.flags.c_contiguous:
        return bool(flags.writeable)
    return is_writable(new) and (lies_like(new, leaf) or not current().grad_layout)


def edge_of(tensor: Tensor) -> Edge:
    """Where the gradient of a tensor that requires one arrives; a view must be up to date."""
    return Edge(tensor._node or grad_accumulator(tensor), tensor.output_nr)


def grad_accumulator(leaf: Tensor) -> AccumulateGrad:
    """The leaf's accumulator: the living one if some graph still holds it, else a new one."""
    while True:
        ref = leaf._accumulator
        found: AccumulateGrad | None = None if ref is None else ref()
        if found is not None:
            return found
        found = AccumulateGrad(leaf)
        new = weakref.ref(found)
        # A leaf has one accumulator, so that hooks and captures meet. Another thread may have made it in the meantime:
        # this is a look and a store without a call in between, which Python does not interrupt.
        if leaf._accumulator is ref:
            leaf._accumulator = new
            return found
