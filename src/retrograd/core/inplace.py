"""In-place writes: a result computed out of place takes the place of the tensor's value and history.

Note [In-place is out of place plus a move]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
`y.mul_(w)` runs the ordinary op on `y`, copies the result into `y`'s memory, bumps the version and moves the result's
node to `y`. Saved values follow: an input that would be overwritten is kept as a copy, a saved output becomes `y`'s own
memory, so that a later write to `y` is noticed. Every check comes before the first write.
"""

from __future__ import annotations

import weakref

from retrograd.backends.base import backend_of, is_writable, owner_of, stands_for_many
from retrograd.backends.casts import cast
from retrograd.backends.dtypes import SCALAR_NAMES, keeps_category
from retrograd.backends.native import copy_over, is_open
from retrograd.core.metadata import metadata_of
from retrograd.core.modes import FORWARD, INFERENCE, SAVED_HOOKS, before_write, current
from retrograd.core.op import Binary, Op, Unary, Variadic
from retrograd.core.tangent import overwrite
from retrograd.core.tensor import Tensor
from retrograd.core.version import LOOSE, PACKED, UNTRACKED, VersionCounter
from retrograd.core.views import (
    NORMAL,
    OF_A_BATCH,
    WRITTEN,
    check_view_write,
    is_stretched,
    overlap_error,
    rebase_history,
    view_error,
)
from retrograd.errors import DtypeError, InferenceError, InplaceError, ShapeError, sizes
from retrograd.values import Array


def check_writable(x: Tensor, stretched: bool = False) -> None:
    """Refuses writes that autograd or the memory cannot take; `stretched` says that expanded memory will do."""
    state = current()
    if state.grad_enabled:
        check_recordable(x)
    check_not_inference(x)
    if not is_open(x.array):
        if not x.array.flags.c_contiguous and not stretched and is_stretched(x.array):
            raise overlap_error()
        if not is_writable(x.array):
            _unlock(x)
    if state.special & (SAVED_HOOKS | FORWARD):
        state.overwriting, state.overwriting_version = weakref.ref(x.array), x._version_counter().version
    if state.write_guard is not None:
        state.write_guard.before_write(x.array)


def check_not_inference(x: Tensor) -> None:
    """Refuses writes outside of inference mode to what was made in it."""
    if x._version_counter() is UNTRACKED and x._view_kind != LOOSE and not current().special & INFERENCE:
        raise InferenceError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. Write to a clone() of it instead."
        )


def check_recordable(x: Tensor) -> None:
    """Refuses writes that autograd could not follow."""
    base = x._base
    if base is not None:
        of_leaf = base._node is None and x.requires_grad
        if not of_leaf or x._view_kind != OF_A_BATCH:
            check_view_write(x)
        if of_leaf:
            raise InplaceError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation. Write under "
                "no_grad(), or into a clone() of the leaf."
            )
    if x._requires and x._node is None:
        raise InplaceError(
            "a leaf Variable that requires grad is being used in an in-place operation. Update it under no_grad() "
            "(as an optimiser does), or compute a new tensor instead."
        )


def is_followed(x: Tensor) -> bool:
    """Whether a write to `x` changes a history, or a tangent."""
    state = current()
    return (state.grad_enabled and (x._requires or x._base is not None)) or state.special & FORWARD != 0


def _unlock(x: Tensor) -> None:
    """Lets an expanded tensor be written. NumPy's flag guards its copies against writes that nobody has checked."""
    if not is_writable(owner_of(x.array)):
        raise InplaceError(
            "the memory of the written-to tensor is read-only: it belongs to a NumPy array whose flags say so. clone() "
            "the tensor first."
        )
    x.array = backend_of(x.array).unlocked(x.array)


def write_back(x: Tensor, result: Tensor) -> Tensor:
    """Makes `x` what `result` is. The caller has called `check_writable` before it computed."""
    array, state, node = x.array, current(), result._node
    if node is None and not state.special and state.write_guard is None and copy_over(array, result.array):
        x._bump_version()
        return x
    if result.array.shape != array.shape:
        raise ShapeError(
            f"output with shape {sizes(array.shape)} doesn't match the broadcast shape {sizes(result.array.shape)}"
        )
    if not keeps_category(result.array.dtype, array.dtype):
        raise DtypeError(
            f"result type {SCALAR_NAMES[result.array.dtype]} can't be cast to the desired output type "
            f"{SCALAR_NAMES[array.dtype]}"
        )
    if node is not None and x._base is not None and x._view_kind != NORMAL:
        raise view_error(x, WRITTEN)
    if isinstance(node, Op):
        _keep_inputs(node, array, x._version_counter())
    before_write(array)  # once more after check_writable: the op itself may have saved what lies there
    if stands_for_many(result.array) and state.transforms > len(state.batch_levels):
        backend_of(result.array).share(x, result.array)
        array = x.array
    put_values(array, result.array)
    x._bump_version()
    if state.special & FORWARD:
        overwrite(x, result, state)
    if node is None:
        return x
    if result.array.dtype is not array.dtype and result.output_nr == 0:
        node._meta = metadata_of(array)  # computed in a wider dtype than that of what was written
    if isinstance(node, (Unary, Binary)) and node.out is not None and node.out_counter is not PACKED:
        counter = x._version_counter()
        node.out, node.out_counter, node.out_version = array, counter, counter.version
    if x._base is not None:
        rebase_history(x, node)
    else:
        x._move_to(node, result.output_nr)
    return x


def put_values(array: Array, values: Array) -> None:
    """Writes values into memory. Of elements that share memory, one that changes is what stays."""
    if copy_over(array, values):
        return
    if array.flags.c_contiguous or not is_stretched(array):
        backend_of(array).copyto(array, values, casting="unsafe")
        return
    values = cast(values, array.dtype)
    changed = values != array
    array[changed] = values[changed]


def _unshared(saved: Array, array: Array) -> bool:
    """Whether a saved value is a converted copy, which a write into the original does not touch."""
    return owner_of(saved) is not owner_of(array)


def _keep_inputs(node: Op, array: Array, counter: VersionCounter) -> None:
    """Saved inputs that are about to be overwritten become copies."""
    if isinstance(node, Variadic):
        for i, saved in enumerate(node.xs or ()):
            if saved is array:
                node.xs[i], node.x_counters[i], node.x_versions[i] = array.copy(), VersionCounter(), 0  # type: ignore[index]
        return
    if isinstance(node, (Unary, Binary)) and node.x_counter is counter and _unshared(node.x, array):
        node.x_counter, node.x_version = VersionCounter(), 0
    if isinstance(node, Binary) and node.y_counter is counter and _unshared(node.y, array):
        node.y_counter, node.y_version = VersionCounter(), 0
    if isinstance(node, (Unary, Binary)) and node.x is array:
        node.x, node.x_counter, node.x_version = array.copy(), VersionCounter(), 0
    if isinstance(node, Binary) and node.y is array:
        node.y, node.y_counter, node.y_version = array.copy(), VersionCounter(), 0
