"""Backward hooks of modules: nodes around a module's call that see the gradients of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.function import Function
from retrograd.core.hooks import hook_name
from retrograd.core.modes import current
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor

Gradients = tuple[Any, ...]


class BackwardHookFunction(Function):
    """Hands tensors on as they are, and has a node: a place for hooks."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The arguments."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(_: Any, *grads: Any) -> Any:
        """The gradients."""
        return grads


class BackwardHooks:
    """The hooks of one call of a module: made before `forward`, told of its arguments and of its result.

    The gradients of the outputs arrive at a node behind the module: the pre-hooks run there. Those of the inputs arrive
    at a node before it: the hooks run there; or at the first one, if no input wants a gradient.
    """

    input_count: int

    def __init__(
        self, module: Any, hooks: Sequence[Callable[..., Any]], pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.inputs: list[int] | None = None  # which of the arguments have the node
        self.input_count = 0
        self.grad_outputs: Gradients | None = None

    def of_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments behind a node, at which the hooks run."""
        self.input_count = len(args)
        node, self.inputs, args = _behind_node(args)
        if node is not None:
            node.register_hook(self._at_inputs)
        return args

    def of_outputs(self, result: Any) -> Any:
        """The result behind a node, at which the pre-hooks run."""
        if not isinstance(result, Tensor | tuple):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                UserWarning,
            )
        whole = result if isinstance(result, tuple) else (result,)
        node, places, found = _behind_node(whole)
        if node is None:
            return result
        assert places is not None
        node.register_hook(lambda _, grads: self._at_outputs(_spread(places, grads, len(whole)), places))
        return found if isinstance(result, tuple) else found[0]

    def _at_outputs(self, grads: Gradients, places: list[int]) -> Gradients:
        for hook in self.pre_hooks:
            found = hook(self.module, grads)
            if found is not None:
                grads = _checked(hook, found, len(grads), "Backward pre hook", "grad_output")
        self.grad_outputs = grads
        if self.inputs is None:
            self._without_inputs(grads)
        return tuple(grads[i] for i in places)

    def _without_inputs(self, grads: Gradients) -> None:
        """The hooks of a call none of whose arguments wants a gradient."""
        if self.hooks:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients.",
                UserWarning,
            )
        nothing = (None,) * self.input_count
        for hook in self.hooks:
            found = hook(self.module, nothing, grads)
            if found is not None and not (isinstance(found, tuple) and all(g is None for g in found)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    f"all gradients. {hook_name(hook)} returned something else."
                )
        self.grad_outputs = None

    def _at_inputs(self, grads: Gradients, _: Any) -> Gradients | None:
        if self.grad_outputs is None:
            return None  # a backward that did not come through the module's outputs
        assert self.inputs is not None
        found = _spread(self.inputs, grads, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module, found, self.grad_outputs)
            if replaced is not None:
                found = _checked(hook, replaced, len(found), "Backward hook", "grad_input")
        self.grad_outputs = None
        return tuple(found[i] for i in self.inputs)


def _behind_node(args: tuple[Any, ...]) -> tuple[Any, list[int] | None, tuple[Any, ...]]:
    """The tensors among `args` behind one new node, that node, and their places; no node if none wants a gradient."""
    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    state = current()
    if state.transforms and state.differentiation is None:
        return None, None, args  # vmap and forward mode alone: no gradient is computed inside
    if not state.grad_enabled or not any(args[i].requires_grad for i in places):
        return None, None, args
    made = BackwardHookFunction.apply(*[args[i] for i in places])
    if len(made) == 0:
        raise RuntimeError("Cannot set Module backward hook for a Module with no input Tensors.")
    node = next(t.grad_fn for t in made if t.grad_fn is not None)
    whole = list(args)
    for i, tensor in zip(places, made, strict=True):
        whole[i] = tensor
    kind = type(args)
    return node, places, kind._make(whole) if hasattr(kind, "_make") else tuple(whole)


def _spread(places: list[int], values: Sequence[Any], count: int) -> Gradients:
    """`values` at their places among `count`, None at the others."""
    found: list[Any] = [None] * count
    for i, value in zip(places, values, strict=True):
        found[i] = value
    return tuple(found)


def _checked(hook: Any, found: Any, count: int, kind: str, what: str) -> Gradients:
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != count:
        raise RuntimeError(
            f"{kind} returned an invalid number of {what}, got {len(found)}, but expected {count}. "
            f"It is {hook_name(hook)}: return None, or a tuple with one for each."
        )
    return tuple(found)


def add_non_full_hooks(module: Any, hooks: Sequence[Callable[..., Any]], args: Any, result: Any) -> None:
    """Gives the node of a result the hooks of `register_backward_hook`: they see the last operation alone."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next(value for value in first.values() if isinstance(value, Tensor))
        else:
            first = first[0]
    node: Any = first.grad_fn
    if node is None:
        return
    missed = _missed(args, result, node)
    if missed is not None:
        warn(
            f"{missed} is deprecated and will be removed in future versions: the hook will not see all gradients. "
            "Please use register_full_backward_hook.",
            FutureWarning,
        )
    for hook in hooks:
        node.register_hook(lambda grads_in, grads_out, hook=hook: hook(module, grads_in, grads_out))


def _missed(args: tuple[Any, ...], result: Any, node: Any) -> str | None:
    """Why hooks of one node do not see all that a module's gradients are."""
    outputs = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(t, Tensor) for t in outputs):
        return "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors"
    if not all(isinstance(t, Tensor) for t in args):
        return "Using non-full backward hooks on a Module that does not take a single Tensor or a tuple of Tensors"
    if {t.grad_fn for t in outputs} != {node}:
        return "Using a non-full backward hook when outputs are generated by different autograd Nodes"
    before = {edge[0] for edge in node.next_functions}
    if before != {t.grad_fn for t in args if t.grad_fn is not None}:
        return "Using a non-full backward hook when the forward contains multiple autograd Nodes"
    return None
