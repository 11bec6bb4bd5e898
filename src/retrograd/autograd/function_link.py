"""What `Function.apply` does after `forward`: the node gets its edges and saved values, the outputs their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrograd.autograd.function_tangents import carry_through
from retrograd.backends.base import BACKENDS, where_of
from retrograd.backends.dtypes import is_differentiable
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.anomaly import remember_origin
from retrograd.core.inplace import check_recordable
from retrograd.core.link import gradient_node
from retrograd.core.metadata import InputMetadata, metadata_of
from retrograd.core.modes import ANOMALY, LEVEL, current
from retrograd.core.node import Node, put_edge
from retrograd.core.places import mark, warn
from retrograd.core.saved import SavedValue
from retrograd.core.tensor import Tensor
from retrograd.core.views import IN_CUSTOM_FUNCTION, MULTI_OUTPUT, rebase_history
from retrograd.core.witness import remember_results
from retrograd.errors import GradientError, InplaceError, type_name

if TYPE_CHECKING:
    from retrograd.autograd.context import BackwardCFunction


def finished(ctx: BackwardCFunction, args: tuple[Any, ...], output: Any, recorded: bool) -> Any:
    """Links the node behind the outputs and saves what was asked for."""
    several = isinstance(output, tuple)
    raw: tuple[Any, ...] = output if several else (output,)
    state = current()
    node: Node = ctx
    if ctx.dirty_tensors:
        _check_dirty(ctx, args, raw)
    if recorded:
        _check_marks(ctx, raw)
        ctx.tensor_inputs = _lay_edges(node, args)
        node.sequence_nr = state.next_sequence_nr()
        mark(node)
        if state.special & ANOMALY:
            remember_origin(node, state)
    outputs = _all_linked(ctx, args, raw, recorded)
    if state.special & LEVEL:
        carry_through(ctx, args, raw, outputs, state)
    ctx.saved_for_forward = None
    if recorded:
        # backward() gets one gradient per output, also of those that have none.
        node._meta = _metadata(outputs[0]) if outputs else None
        node._where = _place(outputs)
        node._stream = BACKENDS.stream_now()
        # Of two leaves, one may get the very gradient that `backward` got: see `_handed_on` in function_backward.py.
        leaves = node.edge_count == 2 and isinstance(node.next0, AccumulateGrad)
        node._has_pair = len(outputs) == 1 and 1 <= node.edge_count <= 2 and not leaves
        if len(outputs) > 1:
            node.more_inputs = [_metadata(out) for out in outputs[1:]]
        if not ctx._materialize_non_diff_grads:
            ctx._bare = tuple(
                [i for i, out in enumerate(outputs) if not (isinstance(out, Tensor) and out._requires)]
            )
        ctx._saved = _saved_values(ctx, outputs)
        if state.nonfinite:
            remember_results(ctx, args, outputs)
    ctx.to_save = None
    ctx.dirty_tensors = ctx.non_differentiable = ()
    return outputs if several else outputs[0]


def _place(outputs: tuple[Any, ...]) -> Any:
    """The device of the first tensor among the outputs, None for the CPU."""
    for out in outputs:
        if isinstance(out, Tensor):
            return where_of(out.array)
    return None


def _lay_edges(node: Node, args: tuple[Any, ...]) -> tuple[bool, ...]:
    """Gives the node an edge per tensor among the arguments; which of them are tensors."""
    are_tensors: list[bool] = []
    count = 0
    for arg in args:
        are_tensors.append(isinstance(arg, Tensor))
        if not isinstance(arg, Tensor):
            continue
        if arg.requires_grad:
            put_edge(node, count, gradient_node(arg), arg.output_nr)
        else:
            put_edge(node, count, None, 0)
        count += 1
    return tuple(are_tensors)


def _to_save(ctx: BackwardCFunction) -> tuple[Any, ...]:
    """What `save_for_backward` was given, or somebody has put there by hand."""
    given: Any = ctx.to_save
    return given if type(given) is tuple else tuple(given or ())


def _saved_values(ctx: BackwardCFunction, outputs: tuple[Any, ...]) -> tuple[SavedValue | None, ...]:
    """What `save_for_backward` was given, with its version and place."""
    values: list[SavedValue | None] = []
    for tensor in _to_save(ctx):
        values.append(None if tensor is None else SavedValue(tensor, _is_own(ctx, tensor, outputs), ctx))
    return tuple(values)


def _is_own(ctx: BackwardCFunction, tensor: Tensor, outputs: tuple[Any, ...]) -> bool:
    """Whether a saved tensor is a result of the node, which a view that was written has behind its base."""
    if not _among(tensor, outputs):
        return False
    return tensor._node is ctx or (
        tensor._base is not None and tensor._requires and _among(tensor, ctx.dirty_tensors)
    )


def _among(thing: Any, things: tuple[Any, ...]) -> bool:
    """Whether the very object is there."""
    for one in things:
        if one is thing:
            return True
    return False


def _check_dirty(ctx: BackwardCFunction, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """What `forward` wrote into must be an input, and must come back."""
    for tensor in ctx.dirty_tensors:
        if not isinstance(tensor, Tensor):
            raise GradientError(f"mark_dirty can only accept variables, but got {type_name(tensor)}")
        tensor._bump_version()
        if not any(tensor is a for a in args):
            warn(
                "mark_dirty() received a tensor that was not an input: only inputs can have been written in place",
                UserWarning,
            )
        elif not any(tensor is out for out in outputs):
            raise GradientError(
                "Some elements marked as dirty during the forward method were not returned as output. Return each "
                "input that forward() has written into."
            )


def _check_marks(ctx: BackwardCFunction, outputs: tuple[Any, ...]) -> None:
    """What else `forward` has said on ctx must be about tensors that a node can have."""
    for tensor in _to_save(ctx):
        if not isinstance(tensor, Tensor) and tensor is not None:
            place = [thing is tensor for thing in ctx.to_save].index(True)
            raise TypeError(
                f"save_for_backward can only save variables, but argument {place} is of type {type_name(tensor)}. Keep "
                "other things as attributes of ctx."
            )
    if not ctx.dirty_tensors and not ctx.non_differentiable:
        return
    for tensor in ctx.dirty_tensors:
        if tensor._base is not None and _among(tensor, outputs) and len(outputs) > 1:
            raise GradientError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                "return more than one Tensor. Write into a clone(), or return that one alone."
            )
    for tensor in ctx.non_differentiable:
        if not isinstance(tensor, Tensor):
            raise GradientError(
                f"mark_non_differentiable only accepts variable arguments, but got {type_name(tensor)}"
            )


def _metadata(out: Any) -> InputMetadata:
    """What the gradient of an output looks like; of something that is no tensor, there is none."""
    if not isinstance(out, Tensor):
        return InputMetadata((), None)
    found: InputMetadata = metadata_of(out.array)
    return found


def _all_linked(
    ctx: BackwardCFunction, args: tuple[Any, ...], raw: tuple[Any, ...], recorded: bool
) -> tuple[Any, ...]:
    """The outputs with their places in the graph."""
    made: list[Any] = []
    for i, out in enumerate(raw):
        made.append(_linked(ctx, args, out, i, recorded) if isinstance(out, Tensor) else out)
    mine = [out for out in made if isinstance(out, Tensor) and out._node is ctx]
    if len(mine) > 1:
        for out in mine:
            if out._view_kind == IN_CUSTOM_FUNCTION:
                out._view_kind = MULTI_OUTPUT
    return tuple(made)


def _linked(
    ctx: BackwardCFunction, args: tuple[Any, ...], out: Tensor, number: int, recorded: bool
) -> Tensor:
    """Output `number` with its place in the graph."""
    if out._node is ctx:
        out.output_nr = number  # returned twice: the last place counts
        return out
    dirty = _among(out, ctx.dirty_tensors)
    apart = not recorded or _among(out, ctx.non_differentiable)
    if dirty:
        if recorded and out._requires and out._node is None:
            raise InplaceError("a leaf Variable that requires grad has been used in an in-place operation.")
        if recorded and not apart and out._base is not None:
            check_recordable(out)
        if apart and (out._requires or (out._base is not None and out._base._requires)):
            out = out.detach()
    elif out._requires or _among(out, args):
        # An input handed back as it is: a new tensor on the same memory, which the node can call its own.
        if not (apart and out._requires):
            _check_not_saved(ctx, out)
        out = out.detach() if apart and (out.requires_grad or recorded) else alias(out)
    elif apart and recorded and out.requires_grad and current().transforms:
        out = out.detach()  # a view of what the transform differentiates by
    if out._base is not None and not dirty:
        out._view_kind, out._view_version = IN_CUSTOM_FUNCTION, out._version_counter().version
    if apart or not is_differentiable(out.array.dtype):
        return out
    if dirty and out._base is not None:
        rebase_history(out, ctx)
        return out
    out._node, out.output_nr, out._requires = ctx, number, True
    return out


def _check_not_saved(ctx: BackwardCFunction, out: Tensor) -> None:
    """Which of the two would `setup_context` have saved: the input, or the output, which is another tensor?"""
    cls = ctx._forward_cls
    if cls.setup_context is cls._no_setup_context:
        return
    if _among(out, ctx.to_save or ()) or _among(out, ctx.saved_for_forward or ()):
        raise GradientError(
            "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
            f"override setup_context. Let the forward of {cls.__name__} return a view of the input, x.view_as(x), "
            "and save that, or do in forward(ctx, ...) what setup_context does."
        )


def alias(x: Tensor) -> Tensor:
    """The same memory as a view that belongs to no graph yet."""
    made = Tensor(x.array, share=True)
    made._base = x if x._base is None else x._base
    made._view_version = made._version_counter().version
    return made
