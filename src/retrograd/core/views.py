"""Views: how in-place writes through a view rewrite the history of its base, and of every other view.

Note [Views and in-place]
~~~~~~~~~~~~~~~~~~~~~~~~~
All views of one memory share their base's version counter. A recorded write through a view makes the base's history
`CopySlices`: the gradient of the base is taken apart into the written region, which goes through the write's own node,
and the rest, which passes. The views themselves are not touched: each remembers the version at which its `grad_fn` was
made, and when it is next asked for at another version, it becomes "that region of the base as it is now"
(AsStridedBackward0). So a write costs the same however many views there are.

Note [Views made without recording]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A view that was made under no_grad, of a base that has a history, has none itself. Still it requires a gradient, because
its base does: what is computed from it is recorded, with an edge that leads nowhere. It cannot be written where writes
are recorded, nor be brought up to date after its base was written.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.base import Backend, backend_of, extent_of, stands_for_many, whole
from retrograd.backends.casts import cast, of_bfloat16
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.mirror import behind, bits_of, mirrored, reflected
from retrograd.core.accumulate import edge_of
from retrograd.core.families import Linear, View
from retrograd.core.modes import INFERENCE, ThreadState, current
from retrograd.core.node import Edge, Grads, Node
from retrograd.core.saved import freed_graph
from retrograd.core.tensor import Tensor
from retrograd.core.traits import traits_of
from retrograd.core.upward import UPWARD
from retrograd.core.version import UNTRACKED
from retrograd.errors import InplaceError
from retrograd.values import Array, DType, Shape

# How a view came about, which decides whether it may be written in place: see `check_view_write`.
NORMAL: Final = 0
NO_GRAD_MODE: Final = 1
MULTI_OUTPUT: Final = 2
IN_CUSTOM_FUNCTION: Final = 3
INFERENCE_MODE: Final = 4
OF_A_BATCH: Final = 5

WRITTEN = "is being modified inplace"
BASE_WRITTEN = "its base or another view of its base has been modified inplace"

# -- memory --------------------------------------------------------------------------------------------------------


def is_stretched(array: Array) -> bool:
    """Whether a dimension repeats the same memory, as `expand` makes it."""
    strides: Shape = array.strides
    if 0 not in strides:
        return False
    shape: Shape = array.shape
    return 0 not in shape and any(strides[i] == 0 and shape[i] > 1 for i in range(len(shape)))


def may_overlap(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether two elements may share memory: certain only where the answer is no."""
    if 0 in shape:
        return False
    steps = [(abs(strides[i]), shape[i]) for i in range(len(shape) - 1, -1, -1) if shape[i] > 1]
    return _meet(steps, itemsize) and _meet(sorted(steps), itemsize)


def _meet(steps: list[tuple[int, int]], itemsize: int) -> bool:
    """Whether one of these strides is shorter than all that those before it reach over."""
    reach = itemsize
    for stride, n in steps:
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False


def overlap_error() -> InplaceError:
    """The error for a write to memory that several elements share."""
    return InplaceError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location: it "
        "was expanded, so a write to one element is a write to its copies. clone() the tensor first, or write to what "
        "it was expanded from."
    )


class Layout:
    """Where the elements of an array lie: in bytes, from the first byte of some memory."""

    def __init__(self, array: Array, offset: int) -> None:
        self.shape: Shape = array.shape
        self.dtype: DType = array.dtype
        self.strides: Shape = array.strides
        self.offset = offset
        self.overlaps: bool = not array.flags.c_contiguous and may_overlap(
            self.shape, self.strides, array.itemsize
        )

    def on(self, memory: Array) -> Array:
        """The array that lies there."""
        shape, strides = (*memory.shape[:-1], *self.shape), (*memory.strides[:-1], *self.strides)
        xp = backend_of(memory)
        if self.dtype is bfloat16:
            xp = of_bfloat16() if type(memory) is np.ndarray else xp.maker(bfloat16)
        return xp.strided(memory, self.dtype, self.offset, shape, strides)

    def places(self) -> Array:
        """The number of each element, counted in elements from the start of the memory."""
        found: Any = np.asarray(self.offset)
        for axis, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            line = (1,) * axis + (n,) + (1,) * (len(self.shape) - axis - 1)
            found = found + (np.arange(n) * stride).reshape(line)
        return found // self.dtype.itemsize


class Region:
    """Where a view lies in its base, and how to lay values out as the two are; in a batch, in each sample."""

    def __init__(self, view: Array, base: Array) -> None:
        # What one of them shows of the same memory and the other does not: see Note [Mirrors].
        of_view, of_base = bits_of(view), bits_of(base)
        self.conj: bool = of_view[0] != of_base[0]
        self.neg: bool = of_view[1] != of_base[1]
        view, base = backend_of(view).sample(view), backend_of(base).sample(base)
        base_start, low, high = extent_of(base)
        view_start, view_low, view_high = extent_of(view)
        if view.size:
            low, high = min(low, view_low), max(high, view_high)
        self.nbytes: int = high - low
        self.base: Layout = Layout(base, base_start - low)
        self.view: Layout = Layout(view, view_start - low)
        self.stretched: bool = is_stretched(view)
        self.empty: bool = bool(base.size == 0 or view.size == 0)
        # Whether a copy of the base that lies as usual is all the memory there is.
        self.dense: bool = bool(base.flags.c_contiguous) and self.nbytes == base.nbytes and not self.empty

    def be_of(self, dtype: DType) -> None:
        """Has view and base hold numbers of a dtype, where bits of the same size were looked at: Note [bfloat16]."""
        self.view.dtype = self.base.dtype = dtype

    def seen(self, values: Array) -> Array:
        """Values of the base as the view shows them, and the other way round."""
        return reflected(values, self.conj, self.neg) if self.conj or self.neg else values

    def is_simple(self, array: Array) -> bool:
        """Whether the region can be found in `array` itself, once its elements lie as usual."""
        return (
            self.dense
            and type(array) is np.ndarray
            and array.shape == self.base.shape
            and array.dtype is self.base.dtype
        )

    def laid_out(self, array: Array) -> tuple[Array, Array]:
        """A copy of `array` in the base's own layout, and the view's region of it."""
        if self.is_simple(array):
            base = array.copy("C")
            return base, self.view.on(base.reshape(-1))
        base, part = self.zeros(backend_of(array))
        base[...] = array
        return base, part

    def zeros(self, xp: Backend) -> tuple[Array, Array]:
        """Arrays of a backend in the base's own layout, and the view's region of it."""
        inner, lead = xp.inner, xp.lead
        if self.empty:
            base = cast(inner.zeros((*lead, *self.base.shape), np.uint8), self.base.dtype)
            part = cast(inner.zeros((*lead, *self.view.shape), np.uint8), self.view.dtype)
        else:
            memory = inner.zeros((*lead, self.nbytes), np.uint8)
            base, part = self.base.on(memory), self.view.on(memory)
        return xp.of_whole(base), xp.of_whole(part)

    def summed(self, source: Layout, target: Layout, x: Array) -> Array:
        """`x`, laid out as `source`, as what lies at `target`: elements that share memory are summed.

        Where the base's own elements share memory, each gets an equal part of the sum.
        """
        count = self.nbytes // source.dtype.itemsize
        outer, x = backend_of(x), whole(x)
        xp, lead = outer.inner, x.shape[: len(outer.lead)]
        flat = xp.zeros((*lead, count), np.float32 if source.dtype is bfloat16 else source.dtype)
        values = xp.broadcast_to(x, (*lead, *source.shape)).reshape((*lead, -1) if x.size else (*lead, 0))
        everywhere: Any = (..., xp.asarray(source.places().reshape(-1)))
        xp.add.at(flat, everywhere, values)
        if self.base.overlaps and self.base.dtype == source.dtype:
            times = np.bincount(self.base.places().reshape(-1), minlength=count)
            flat /= xp.asarray(np.maximum(times, 1).astype(flat.real.dtype))
        flat = cast(flat, source.dtype, copy=False)
        return outer.of_whole(target.on(flat).copy("K"))


class AsStrided(View):
    """the region of the base that a view shows"""

    node_name = "AsStridedBackward0"
    params: ClassVar[tuple[str, ...]] = ("region",)
    is_view: ClassVar[bool] = False  # made to take a view's place, not to make a new one

    def __init__(self, region: Region) -> None:
        self.region = region

    def forward(self, xp: Backend, x: Array) -> Array:
        region = self.region
        if region.is_simple(x):
            return region.seen(region.view.on(xp.ascontiguousarray(x).reshape(-1)).copy())
        if region.base.overlaps and not region.empty:
            return region.seen(region.summed(region.base, region.view, x))
        return region.seen(region.laid_out(x)[1].copy())

    def transpose(self, g: Any) -> Any:
        if 0 in self.region.view.shape and isinstance(g, Tensor):
            g = g.detach()  # zeros, which depend on nothing
        return Placed(self.region).on(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return AsStrided(self.region).on(t)


class AsReal(AsStrided):
    """complex numbers as pairs of real ones, of a base that was written since"""

    node_name = "ViewAsRealBackward0"


class AsComplex(AsStrided):
    """pairs of real numbers as complex ones, of a base that was written since"""

    node_name = "ViewAsComplexBackward0"


class AsConjugate(AsStrided):
    """the complex conjugates, of a base that was written since"""

    node_name = "ConjBackward0"


class AsNegative(AsStrided):
    """the negatives, of a base that was written since"""

    node_name = "NegViewBackward0"


class Placed(Linear):
    """zeros in the shape of the base, with x in the region that a view shows"""

    node_name = "AsStridedScatterBackward0"
    params: ClassVar[tuple[str, ...]] = ("region",)

    def __init__(self, region: Region) -> None:
        self.region = region

    def forward(self, xp: Backend, x: Array) -> Array:
        region, x = self.region, self.region.seen(x)
        if (region.view.overlaps or region.base.overlaps) and not region.empty:
            return region.summed(region.view, region.base, x)
        base, part = region.zeros(backend_of(x))
        part[...] = x
        return base

    def transpose(self, g: Any) -> Any:
        return AsStrided(self.region).on(g)


class Outside(Linear):
    """x with zeros in the region that a view shows"""

    node_name = "AsStridedScatterBackward1"
    params: ClassVar[tuple[str, ...]] = ("region",)

    def __init__(self, region: Region) -> None:
        self.region = region

    def forward(self, xp: Backend, x: Array) -> Array:
        base, part = self.region.laid_out(x)
        part[...] = 0
        return base

    def transpose(self, g: Any) -> Any:
        return Outside(self.region).on(g)


# -- writes --------------------------------------------------------------------------------------------------------


class CopySlices(Node):
    """The history of a base after a recorded write through one of its views. `write` is the write's own node."""

    fresh_results: bool = False

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
        if self._freed:
            raise freed_graph(self)
        part = AsStrided(self.region).on(g)
        # A recorded backward may put the write's node into its own graph: a twin of it, which is freed by itself.
        write = copy.copy(self.write) if tensors else self.write
        results = write.apply([part], tensors, 0)
        if self.next0 is None:
            return [None, *results[1:]]
        if self.region.stretched:
            raise overlap_error()  # which of the copies' gradients would be the one of their common memory?
        inside: Any = results[0] if self.write.needs(0) else None
        if tensors or stands_for_many(g) or stands_for_many(inside):
            rest = Outside(self.region).on(g)
            return [rest if inside is None else rest + Placed(self.region).on(inside), *results[1:]]
        rest, hole = self.region.laid_out(g)
        inside = None if inside is None else self.region.seen(inside)
        hole[...] = 0 if inside is None else inside.real if hole.dtype.kind == "f" else inside
        return [rest, *results[1:]]

    def release(self) -> None:
        self._freed = True  # what was written counts as saved, whatever it was
        self.write.release()

    def holds_saved(self) -> bool:
        return not self._freed

    def name(self) -> str:
        return "torch::autograd::CopySlices"


def rebase_history(view: Tensor, node: Node) -> None:
    """After a recorded write through `view`: the base gets CopySlices, the view is regenerated when asked."""
    base = view._base
    assert base is not None
    region = Region(view.array, base.array)
    base._move_to(CopySlices(base, region, node), 0)
    view._view_version = -1
    refresh_view(view, region)


def check_view_write(view: Tensor) -> None:
    """Refuses to record a write through a view that cannot take it."""
    if view._view_kind != NORMAL and view._base is not None and (view._requires or view._base._requires):
        raise view_error(view, WRITTEN)


# -- a view's place in the graph -----------------------------------------------------------------------------------


def mark_view(out: Tensor, x: Tensor, state: ThreadState, kind: int) -> None:
    """Makes `out` a view of what `x` is a view of. See Note [Views and in-place]."""
    base = x if x._base is None else x._base
    counter = base._version_counter()
    if counter is UNTRACKED:
        out._counter = UNTRACKED  # no versions, and so no views that could be out of date
        return
    out._base = base
    out._view_version = counter.version
    if state.grad_enabled:
        out._view_kind = x._view_kind if kind == NORMAL or x._view_kind == INFERENCE_MODE else kind
    else:
        out._view_kind = INFERENCE_MODE if state.special & INFERENCE else NO_GRAD_MODE


def refresh_view(view: Tensor, region: Region | None = None) -> None:
    """Brings a view's place in the graph up to date with its base. See Note [Views and in-place].

    `region` is where it lies in its base, if that is known already.
    """
    base = view._base
    if base is None or (view._node is None and not base._requires):
        return
    counter = base._version_counter()
    version = counter.version
    if version == view._view_version or version < 0:
        return
    if counter.detaches and counter.unwritten_since(view._view_version):
        view._view_version = version
        return
    if view._view_kind != NORMAL:
        raise view_error(view, BASE_WRITTEN)
    edge, source = edge_of(base) if base._requires else Edge(None, 0), base.array
    for cls, array in _stations(view, base.array):
        known = region is not None and array is view.array and source is base.array
        op = cls(region if region is not None and known else Region(array, source))
        traits_of(op)  # which names its class
        op.set_next_edges([edge])
        op.sequence_nr = current().next_sequence_nr()
        op.add_input(array)
        edge, source = Edge(op, 0), array
    assert edge.function is not None
    view._move_to(edge.function, 0)
    view._view_version = version


UPWARD.refresh_view = refresh_view


def _stations(view: Tensor, base: Array) -> list[tuple[type[AsStrided], Array]]:
    """The arrays on the way from a base to its view, each with the op that leads there: one, unless values differ."""
    array = view.array
    conj, neg = bits_of(array)
    if (conj, neg) != bits_of(base):
        return _through_mirrors(view, base)
    if array.dtype.kind == base.dtype.kind or not array.size:
        return [(AsStrided, array)]
    conversion: type[AsStrided] = AsReal if base.dtype.kind == "c" else AsComplex
    last = type(view._node).__name__  # what the view was before, or nothing
    made_of = _converted(array, base.dtype) if view._node is None or last == conversion.node_name else None
    if made_of is None:
        whole = _converted(base, array.dtype)
        return [(AsStrided, array)] if whole is None else [(conversion, whole), (AsStrided, array)]
    if made_of.shape == base.shape and made_of.strides == base.strides:
        return [(conversion, array)]
    return [(AsStrided, made_of), (conversion, array)]


def _through_mirrors(view: Tensor, base: Array) -> list[tuple[type[AsStrided], Array]]:
    """The same where only one of the two shows conjugates, or negatives, which may be done first or last."""
    found: list[tuple[type[AsStrided], Array]] = []
    array, source = view.array, base
    if array.dtype.kind != base.dtype.kind:
        source = _converted(behind(base), array.dtype)
        if source is None:
            return [(AsStrided, array)]
        found.append((AsReal if base.dtype.kind == "c" else AsComplex, source))
    conj, neg = bits_of(array)[0] != bits_of(source)[0], bits_of(array)[1] != bits_of(source)[1]
    part = mirrored(array, conj, neg)
    whole = part.shape == source.shape and part.strides == source.strides
    last = view._node is None or type(view._node).__name__ in (AsConjugate.node_name, AsNegative.node_name)
    if last and not whole:
        found.append((AsStrided, part))
        source = part
    if conj:
        source = mirrored(source, True, False)
        found.append((AsConjugate, source))
    if neg:
        source = mirrored(source, False, True)
        found.append((AsNegative, source))
    if not last and not whole:
        found.append((AsStrided, array))
    return found


def _converted(array: Array, dtype: Any) -> Any:
    """Complex numbers as pairs, or pairs as complex numbers, of the same memory; None where it is not made of pairs."""
    if dtype.kind != "c":
        return array[..., None].view(dtype)
    if array.ndim == 0 or array.shape[-1] != 2 or array.strides[-1] != array.itemsize:
        return None
    return array.view(dtype)[..., 0]


class Nowhere(Node):
    """Stands where the graph of a view made without recording would begin."""

    topological_nr: int = -1


NOWHERE: Final = Nowhere()


def recorded(x: Tensor) -> Tensor:
    """`x` brought up to date; or, for a view made without recording, what stands for it in the graph.

    See Note [Views made without recording].
    """
    refresh_view(x)
    if x._requires or x._base is None or not x._base._requires:
        return x
    found = Tensor(x.array, share=True)
    found._counter = x._version_counter()
    found._node, found._requires = NOWHERE, True
    found._tangent, found._forward_base = x._tangent, x._base if x._forward_base is None else x._forward_base
    return found


# -- errors --------------------------------------------------------------------------------------------------------


def view_error(view: Tensor, what: str) -> InplaceError:
    """The error for a view of a special kind."""
    kind, node = view._view_kind, view._node
    source = "" if node is None else f"Output {view.output_nr} of {node.spoken_name()} is a view"
    if node is None or kind in (NO_GRAD_MODE, INFERENCE_MODE):
        text = "A view was created in " if node is None else f"{source} of a view which was created in "
        text += (
            f"inference mode and {what} in normal mode."
            if kind == INFERENCE_MODE
            else f"no_grad mode and {what} with grad mode enabled."
        )
    else:
        text = f"{source} and {what}."
    return InplaceError(f"{text} {_REASONS[kind]}")


_REASONS = {
    NO_GRAD_MODE: "Whether the write should be recorded cannot be told. Move the view and the write both inside the "
    "no_grad block, where nothing is recorded, or both outside.",
    INFERENCE_MODE: "Whether the write should be recorded cannot be told. Move the view and the write both inside the "
    "inference_mode block, where nothing is recorded, or both outside.",
    MULTI_OUTPUT: "This view is the output of a function that returns multiple views, which cannot be modified "
    "inplace. Use an out-of-place operation, or clone() the view first.",
    IN_CUSTOM_FUNCTION: "This view was created inside a custom Function (or because an input was returned as-is), "
    "which cannot be modified inplace. Use an out-of-place operation, or clone() the view first.",
    OF_A_BATCH: "This view shows the samples of an argument of vmap, whose history is outside. Use an out-of-place "
    "operation, or clone() the argument first.",
}
