"""How the engine calls the `backward` of a custom Function: gradients in, checked gradients out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from retrograd.backends.base import BACKENDS
from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.modes import current
from retrograd.core.node import Grads, Node
from retrograd.core.references import ALONE, references, unwrap
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError, type_name

if TYPE_CHECKING:
    from retrograd.autograd.context import BackwardCFunction


def call_backward(
    ctx: BackwardCFunction,
    backward: Callable[..., Any],
    boxed: bool,
    grads: Grads,
    tensors: bool,
    owned: bool = False,
) -> Grads:
    """Runs `backward(ctx, *grads)`; one gradient per tensor argument of `forward`. `boxed`: all grads in one list.

    `owned` says that the only gradient is ours; if it comes back, and nobody else has it, it still is.
    """
    given: list[Any] = []
    for i, grad in enumerate(grads):
        given.append(_given(ctx, i, grad, tensors))
    state = current()
    if state.task is not None:
        state.running_node = ctx
    ctx._held_ours = False
    ours = [grads[0]] if owned and not boxed and not tensors else []
    before = references(ours, 0) if ours else 0
    results = backward(ctx, given) if boxed else backward(ctx, *given)
    made = _checked(ctx, results if isinstance(results, tuple) else (results,))
    results = None
    if ours:
        last = _handed_on(ctx, made, given)
        if last >= 0 and references(made, last) == ALONE and references(ours, 0) == before:
            ctx._held_ours = True  # who reads it: `evaluate` in engine/evaluate.py
            made[last] = _Taken(made[last].array)
    if not tensors:
        for i in range(len(made)):
            if isinstance(made[i], _Taken):
                made[i] = made[i].array
            elif made[i] is not None and not unwrap(made, i):
                made[i] = made[i][...]  # a view is nobody's to write into: see Note [Ownership]
    return made


class _Taken:
    """The array that was given to `backward`, and is ours again."""

    def __init__(self, array: Any) -> None:
        self.array = array


def _handed_on(ctx: BackwardCFunction, made: list[Any], given: list[Any]) -> int:
    """Where the gradient that was given comes back, and lets go of it; -1 if nowhere.

    If it comes back several times, the last place has it and leaves before that get the copies that they would make.
    """
    if len(made) == 1:
        found = 0 if made[0] is given[0] else -1
        given.clear()
        return found
    node: Node = ctx
    places = [i for i in range(len(made)) if made[i] is given[0]]
    for i in places[:-1]:
        if not isinstance(node.edge(i).function, AccumulateGrad):
            return -1
    for i in places[:-1]:
        made[i] = Tensor(made[i].array.copy(), share=True)
    given.clear()
    return places[-1] if places else -1


def _given(ctx: BackwardCFunction, i: int, grad: Any, tensors: bool) -> Any:
    """A gradient as `backward` gets it."""
    if grad is not None:
        return grad if tensors else Tensor(grad, share=True)
    node: Node = ctx
    if not ctx.materialize_grads or node.input_dtype(i) is None or i in ctx._bare:
        return None
    xp = BACKENDS.on(node._where)
    return Tensor(xp.zeros(node.input_shape(i), node.input_dtype(i)), share=True)


def _checked(ctx: BackwardCFunction, results: Sequence[Any]) -> list[Any]:
    """One gradient per tensor argument, from one result per argument of `forward`."""
    inputs: tuple[bool, ...] = ctx.tensor_inputs
    expected = len(inputs)
    if len(results) > expected and all(r is None for r in results[expected:]):
        results = results[:expected]
    if len(results) != expected:
        raise GradientError(
            f"function {ctx.name()} returned an incorrect number of gradients (expected {expected}, got "
            f"{len(results)}). backward() returns one gradient for each argument of forward(), None for those that "
            "are not tensors."
        )
    made: list[Any] = []
    for i, result in enumerate(results):
        if result is not None and not inputs[i]:
            raise GradientError(
                f"function {ctx.name()} returned a gradient different than None at position {i + 1}, but the "
                "corresponding forward input was not a Variable"
            )
        if result is not None and not isinstance(result, Tensor):
            raise GradientError(f"expected Variable or None (got {type_name(result)}) from {ctx.name()}")
        if inputs[i]:
            made.append(result)
    _check_kinds(ctx, made)
    return made


def _check_kinds(ctx: BackwardCFunction, grads: Sequence[Any]) -> None:
    """A real input has a real gradient: what its imaginary part would be is lost on the way, so it may not be there."""
    node: Node = ctx
    for i in range(len(grads)):
        grad: Tensor | None = grads[i]
        if grad is None or grad.array.dtype.kind != "c":
            continue
        following = node.edge(i)
        dtype = None if following.function is None else following.function.input_dtype(following.input_nr)
        if dtype is not None and dtype.kind != "c":
            raise GradientError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but "
                f"got false: {ctx.name()} returned a complex gradient at index {i} for a real input. Return its real "
                "part."
            )
