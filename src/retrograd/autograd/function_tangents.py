"""Forward mode through a custom Function: `jvp` is called after `forward`, and what it returns is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrograd.backends.base import backend_of, stands_for_many
from retrograd.core.modes import FORWARD, ThreadState
from retrograd.core.tangent import (
    DualLevel,
    laid_out,
    remember_base,
    set_where_it_stands,
    step_down,
    step_up,
    tangent_of,
)
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError, ShapeError, type_name

if TYPE_CHECKING:
    from retrograd.autograd.context import BackwardCFunction


def carry_through(
    ctx: BackwardCFunction,
    args: tuple[Any, ...],
    raw: tuple[Any, ...],
    outputs: tuple[Any, ...],
    state: ThreadState,
) -> None:
    """Gives the outputs of a Function their tangents. `raw` is what `forward` returned."""
    for given, out in zip(raw, outputs, strict=True):
        if out is not given and isinstance(out, Tensor):
            remember_base(out, given)
    if not state.special & FORWARD:
        return
    if state.level.outer is not None:
        level = step_down(state)
        try:
            carry_through(ctx, args, raw, outputs, state)
        finally:
            step_up(state, level)
    tangents = [tangent_of(a, state) if isinstance(a, Tensor) else None for a in args]
    if all(t is None for t in tangents):
        return
    level = step_down(state)
    try:
        versions = [None if t is None else t._version for t in tangents]
        found = _called(ctx, args, tangents, len(outputs))
        results = _Results(ctx, args, tangents, versions, level)
        for i, (given, out, tangent) in enumerate(zip(raw, outputs, found, strict=True)):
            results.take(i, given, out, tangent)
        if results.made:
            level.remember(ctx, results.made)
    finally:
        step_up(state, level)


def _called(
    ctx: BackwardCFunction, args: tuple[Any, ...], tangents: list[Any], count: int
) -> tuple[Any, ...]:
    """What `jvp` returned, one tangent per output of `forward`."""
    cls = ctx._forward_cls
    if ctx.materialize_grads:
        tangents = [_filled(a, t) for a, t in zip(args, tangents, strict=True)]
    if ctx.saved_for_forward is None:
        ctx.saved_for_forward = ()
    found = cls.jvp(ctx, *tangents)
    made = found if isinstance(found, tuple) else (found,)
    if len(made) != count:
        raise GradientError(
            f"Function's jvp returned an invalid number of forward gradients (expected {count} but got {len(made)}): "
            f"{cls.__name__}.jvp() returns one for each output of forward(), None for those that have none."
        )
    return made


def _filled(arg: Any, tangent: Tensor | None) -> Tensor | None:
    """A missing tangent of a tensor that could have one as zeros."""
    if tangent is not None or not isinstance(arg, Tensor) or arg.array.dtype.kind not in "fc":
        return tangent
    return Tensor(backend_of(arg.array).zeros(arg.array.shape, arg.array.dtype), share=True)


class _Results:
    """Takes what `jvp` returned, one output after the other."""

    def __init__(
        self,
        ctx: BackwardCFunction,
        args: tuple[Any, ...],
        tangents: list[Any],
        versions: list[int | None],
        level: DualLevel,
    ) -> None:
        self.ctx = ctx
        self.name = f"{ctx._forward_cls.__name__}.jvp()"
        self.args = args
        self.tangents = tangents
        self.versions = versions  # of the tangents, before `jvp` got them
        self.level = level
        self.made: dict[int, Tensor] = {}  # by the number of the output

    def take(self, i: int, given: Any, out: Any, tangent: Any) -> None:
        """Output `i`, which `forward` returned as `given`, gets its tangent."""
        if tangent is not None and not isinstance(tangent, Tensor):
            raise GradientError(
                f"expected Variable or None (got {type_name(tangent)}) for grad output {i}. ({self.name} must return "
                "tensors.)"
            )
        if not self._differentiable(out):
            if tangent is not None:
                raise GradientError(
                    f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not "
                    f"a differentiable Tensor. You should return None at that position instead. ({self.name})"
                )
            return
        tangent = self._check(i, out, tangent)
        if any(given is d for d in self.ctx.dirty_tensors):
            self._take_written(out, given, tangent)
        else:
            shared = any(tangent is t for t in self.tangents)
            viewed = self._check_view(given, out, tangent)
            self.level.give(out, tangent if viewed else laid_out(tangent, out.array, shared))
        if out._tangent is not None:
            self.made[i] = out._tangent.at(self.level)

    def _differentiable(self, out: Any) -> bool:
        if not isinstance(out, Tensor) or out.array.dtype.kind not in "fc":
            return False
        return not any(out.array is n.array for n in self.ctx.non_differentiable)

    def _check(self, i: int, out: Tensor, tangent: Any) -> Tensor:
        """The tangent, if it is there and of a kind and shape that tangents have."""
        if tangent is None or tangent.array.dtype.kind not in "fc":
            found = "None" if tangent is None else f"a tensor of dtype {tangent.array.dtype}"
            raise GradientError(
                f"Expected both tensor and its forward grad to be floating point or complex, but {self.name} returned "
                f"{found} for output {i}. An output that has no tangent is marked with mark_non_differentiable()."
            )
        if tangent.array.shape != out.array.shape:
            raise ShapeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(out.array.shape)} while the given forward gradient is of size "
                f"{list(tangent.array.shape)}: {self.name} returned it for output {i}."
            )
        checked: Tensor = tangent
        return checked

    def _take_written(self, out: Tensor, given: Any, tangent: Tensor) -> None:
        """An input that was written in place: so must its tangent be."""
        place = next((i for i, a in enumerate(self.args) if a is given), None)
        before = None if place is None else self.tangents[place]
        if place is None or before is None:
            set_where_it_stands(out, tangent, self.level)
        elif before is not tangent or before._version == self.versions[place]:
            raise GradientError(
                "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace. "
                f"Let {self.name} write into the tangent it is given, and return that one."
            )

    def _check_view(self, given: Any, out: Tensor, tangent: Tensor) -> bool:
        """Whether the output is a view of an input that has a tangent; then its tangent must be a view of that."""
        source = next((t for a, t in self._sources() if given is a or _is_view_of(given, a)), None)
        if source is None:
            return False
        whole = source if source._base is None else source._base
        if tangent._base is not whole and stands_for_many(tangent.array):
            return False  # a `vmap` of its own has made it, of all samples
        if tangent._base is not whole:
            what = "'s forward is returning a view (or an input as-is) but the jvp is not returning a view"
            if tangent._base is not None:
                of = "given grad input" if source._base is None else "same base as the given grad input"
                what = f" is returning a view but the jvp is not returning a view of the {of}"
            raise GradientError(
                f"A custom Function{what}. Let {self.name} return the same view of the tangent: `t.view_as(t)` for an "
                "input as it is."
            )
        return True

    def _sources(self) -> list[tuple[Tensor, Tensor]]:
        return [(a, t) for a, t in zip(self.args, self.tangents, strict=True) if t is not None]


def _is_view_of(view: Tensor, x: Tensor) -> bool:
    """Whether `view` shows memory of `x`."""
    base = x if x._base is None else x._base
    return view._base is base and bool(backend_of(x.array).may_share_memory(view.array, x.array))
