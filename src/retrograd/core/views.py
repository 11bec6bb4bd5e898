"""Views: how in-place writes through a view rewrite the history of its base, and of every other view.

Note [Views and in-place]
~~~~~~~~~~~~~~~~~~~~~~~~~
All views of one memory share their base's version counter. A recorded write through a view makes the base's history
`CopySlices`: the gradient of the base is taken apart into the written region, which goes through the write's own node,
and the rest, which passes. The views themselves are not touched: each remembers the version at which its `grad_fn` was
made, and when it is next asked for at another version, it becomes "that region of the base as it is now"
(AsStridedBackward0). So a write costs the same however many views there are.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from retrograd.core.accumulate import edge_of
from retrograd.core.modes import current
from retrograd.core.node import Edge, Grads, Node
from retrograd.core.op import Linear, View
from retrograd.core.tensor import Tensor
from retrograd.errors import InplaceError
from retrograd.values import Array, Shape

# How a view came about, which decides whether it may be written in place: see `check_view_write`.
NORMAL, NO_GRAD_MODE, MULTI_OUTPUT, IN_CUSTOM_FUNCTION = 0, 1, 2, 3


class Region:
    """Where a view lies in its base: shapes and byte strides, relative to the base's first byte."""

    def __init__(self, view: Array, base: Array) -> None:
        low, high = np.lib.array_utils.byte_bounds(base)
        self.base_shape: Shape = base.shape
        self.base_dtype = base.dtype
        self.base_strides: Shape = base.strides
        self.base_offset = base.__array_interface__["data"][0] - low
        self.nbytes = high - low
        self.shape: Shape = view.shape
        self.dtype = view.dtype
        self.strides: Shape = view.strides
        self.offset = view.__array_interface__["data"][0] - low
        self.overlaps = any(s == 0 and n > 1 for s, n in zip(view.strides, view.shape, strict=True))

    def laid_out(self, array: Array | None) -> tuple[Array, Array]:
        """A copy of `array` (zeros if None) in the base's own layout, and the view's region of it."""
        if 0 in self.base_shape:
            return np.zeros(self.base_shape, self.base_dtype), np.zeros(self.shape, self.dtype)
        memory = np.zeros(self.nbytes, np.uint8)
        base = np.ndarray(self.base_shape, self.base_dtype, memory, self.base_offset, self.base_strides)
        if array is not None:
            base[...] = array
        return base, np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)


class AsStrided(View):
    """the region of the base that a view shows"""

    node_name = "AsStridedBackward0"
    params = ("region",)
    is_view: ClassVar[bool] = False  # made to take a view's place, not to make a new one

    def __init__(self, region: Region) -> None:
        self.region = region

    def forward(self, xp: Any, x: Array) -> Array:
        return self.region.laid_out(x)[1].copy()

    def transpose(self, g: Any) -> Any:
        return Placed(self.region).on(g)


class Placed(Linear):
    """zeros in the shape of the base, with x in the region that a view shows"""

    node_name = "AsStridedScatterBackward0"
    params = ("region",)

    def __init__(self, region: Region) -> None:
        self.region = region

    def forward(self, xp: Any, x: Array) -> Array:
        base, part = self.region.laid_out(None)
        if not self.region.overlaps:
            part[...] = x
            return base
        first, seen = self.region.laid_out(np.arange(base.size).reshape(base.shape))
        flat = np.zeros(base.size, base.dtype)
        np.add.at(flat, seen.astype(np.int64).reshape(-1), np.broadcast_to(x, seen.shape).reshape(-1))
        return flat.reshape(first.shape)

    def transpose(self, g: Any) -> Any:
        return AsStrided(self.region).on(g)


class CopySlices(Node):
    """The history of a base after a recorded write through one of its views. `write` is the write's own node."""

    fresh_results: ClassVar[bool] = False

    def __init__(self, base: Tensor, region: Region, write: Node) -> None:
        self.region = region
        self.write = write
        base_edge = edge_of(base) if base._requires else Edge(None, 0)
        self.set_next_edges([base_edge, *write.next_edges()[1:]])
        self.sequence_nr = current().next_sequence_nr()
        self.add_input(base.array)

    def apply(self, grads: Grads, tensors: bool, owned: int) -> Grads:
        g: Any = grads[0]
        if g is None:
            return [None] * self.edge_count
        part = AsStrided(self.region).on(g)
        # A recorded backward may put the write's node into its own graph: a twin of it, which is freed by itself.
        write = copy.copy(self.write) if tensors else self.write
        results = write.apply([part], tensors, 0)
        if self.next0 is None:
            return [None, *results[1:]]
        inside: Any = results[0] if self.write.needs(0) else None
        if tensors:
            rest = self._outside(g, part)
            return [rest if inside is None else rest + Placed(self.region).on(inside), *results[1:]]
        rest, hole = self.region.laid_out(g)
        hole[...] = 0 if inside is None else inside.real if hole.dtype.kind == "f" else inside
        return [rest, *results[1:]]

    def _outside(self, g: Any, part: Any) -> Any:
        """The gradient with the written region taken out, recorded."""
        if self.region.dtype != self.region.base_dtype:
            return g - Placed(self.region).on(part)  # the region is half of each element: a real part
        mask = Placed(self.region).forward(np, np.ones(self.region.shape, self.region.dtype)) == 0
        return g * Tensor(mask.astype(g.array.dtype))

    def release(self) -> None:
        self.write.release()

    def name(self) -> str:
        return "torch::autograd::CopySlices"


def rebase_history(view: Tensor, node: Node) -> None:
    """After a recorded write through `view`: the base gets CopySlices, the view is regenerated when asked."""
    base = view._base
    assert base is not None
    made = CopySlices(base, Region(view.array, base.array), node)
    base.move_to(made, 0)
    view._view_version = -1
    refresh_view(view)


def refresh_view(view: Tensor) -> None:
    """Brings a view's place in the graph up to date with its base. See Note [Views and in-place]."""
    base = view._base
    if base is None or (view._node is None and not base._requires):
        return
    version = base.counter().version
    if version == view._view_version or version < 0:
        return
    _check_regeneration(view)
    op = AsStrided(Region(view.array, base.array))
    op.set_next_edges([edge_of(base)])
    op.sequence_nr = current().next_sequence_nr()
    op.add_input(view.array)
    view.move_to(op, 0)
    view._view_version = version


def _check_regeneration(view: Tensor) -> None:
    if view._view_kind != NORMAL:
        raise view_error(view, "its base or another view of its base has been modified inplace")


def check_view_write(view: Tensor) -> None:
    """Refuses to record a write through a view that cannot take it."""
    if view._view_kind != NORMAL and view._base is not None and (view._requires or view._base._requires):
        raise view_error(view, "is being modified inplace")


def view_error(view: Tensor, what: str) -> InplaceError:
    """The error for a view of a special kind."""
    if view._view_kind == NO_GRAD_MODE:
        return InplaceError(
            f"A view was created in no_grad mode and {what} with grad mode enabled. Whether the write should be "
            "recorded cannot be told. Make the view and write to it both inside no_grad, where nothing is recorded, or "
            "both outside."
        )
    name = (
        "a node"
        if view._node is None
        else type(view._node).__name__.rstrip("0123456789").removesuffix("Backward")
    )
    source = (
        "created inside a custom Function (or because an input was returned as-is)"
        if view._view_kind == IN_CUSTOM_FUNCTION
        else "the output of a function that returns multiple views"
    )
    return InplaceError(
        f"Output {view.output_nr} of {name} is a view and {what}. This view is {source}, which cannot be modified "
        "inplace. Use an out-of-place operation, or clone() the view first."
    )
