"""The context of a custom Function, which is the node that the graph gets.

Note [The context is the node]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
`ctx` in `forward` and `backward` is the graph's node itself, an instance of a class made once for each Function
(`MyFunctionBackward`). What a user hangs on it lives and dies with the node. Saved tensors are kept as values with
their version, so that saving an output makes no cycle; attributes are the user's own affair, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from retrograd.autograd.function_backward import call_backward
from retrograd.core.node import Node
from retrograd.core.places import warn
from retrograd.core.saved import SavedTensor, SavedValue, freed_graph, saved_tensor
from retrograd.core.tensor import Tensor
from retrograd.hints import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class FunctionCtx(Node):
    """What `forward` and `backward` share: saved tensors, marks, and whatever the user hangs on it."""

    # People set some of these by hand, to whatever they like.
    needs_input_grad: Any = ()
    materialize_grads: Any = True
    to_save: Any = None
    saved_for_forward: Any = None
    _materialize_non_diff_grads: Any = True  # whether that goes for outputs which have no gradient too
    non_differentiable: Any = ()
    dirty_tensors: Any = ()
    _forward_cls: ClassVar[Any] = None  # the Function this is the context of
    _saved: tuple[SavedValue | None, ...] = ()
    _taken: bool = False  # whether the saved tensors were given out for good

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for `backward`, where they are `ctx.saved_tensors`. Call it once, in `forward`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for `jvp`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                    "attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Says which inputs `forward` has written into."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Says which outputs have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing: shared memory is always tracked. Kept for old code."""
        warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked.",
            FutureWarning,
        )

    def set_materialize_grads(self, value: Any) -> None:
        """Whether a missing gradient arrives in `backward` as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        return tuple(saved_tensor(self, "", s) for s in self._saved)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`."""
        if self._taken:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                f"autograd.Function, as on {self._forward_cls.__name__}. Keep what the first access gave in a variable."
            )
        if self.saved_for_forward is not None:
            inside_jvp: tuple[Tensor | None, ...] = self.saved_for_forward
            return inside_jvp
        if self._freed:
            raise freed_graph(self)
        found: list[Tensor | None] = []
        for saved in self._saved:
            found.append(None if saved is None else saved.unpack(self))
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved, self._taken = (), True
        return tuple(found)

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


@mypyc_attr(allow_interpreted_subclasses=True)
class BackwardCFunction(FunctionCtx):
    """The node of a custom Function; a subclass of it is made for each Function."""

    tensor_inputs: tuple[bool, ...] = ()
    fresh_results: bool = True  # since `call_backward` gives views of those that others can see

    _bare: tuple[int, ...] = ()  # outputs whose missing gradient stays None, though others become zeros

    def apply(self, grads: Any, tensors: Any = None, owned: Any = None, *more: Any) -> Any:
        """Runs `backward`: `node.apply(*grads)`; the engine says with two numbers more that it is the one who calls."""
        if not isinstance(tensors, bool):
            given = (grads, tensors, owned, *more)[: max(self.num_inputs(), 3 + len(more) if more else 0)]
            return _backward_of(self._forward_cls)(self, *given)
        # Hooks that see the gradients afterwards want them all.
        alone = owned == 1 and len(grads) == 1 and (self.node_hooks is None or not self.node_hooks.post)
        backward, boxed = _backward_of(self._forward_cls), self._forward_cls.boxed_grads_call
        made = call_backward(self, backward, boxed, grads, tensors, alone)
        if alone and self._held_ours:
            grads[0] = None  # it is a result now, and ours: see `outgoing` in engine/evaluate.py
        return made

    def pair(self, g: Any, tensors: bool, owned: bool) -> tuple[Any, Any]:
        cls = self._forward_cls
        made = call_backward(self, _backward_of(cls), cls.boxed_grads_call, (g,), tensors, owned)
        return made[0], made[1] if len(made) > 1 else None

    def release(self) -> None:
        if self._saved:
            self._freed = True
            self._saved = ()

    def holds_saved(self) -> bool:
        return bool(self._saved)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"

    def maybe_clear_saved_tensors(self) -> None:
        """Frees the saved tensors."""
        self.release()


def _backward_of(cls: Any) -> Callable[..., Any]:
    """The `backward` of a Function, or its `vjp`. No method, since those of users' nodes are slow to call."""
    backward, vjp, neither = cls.backward, cls.vjp, cls._no_backward
    if backward is not neither and vjp is not neither:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed: they are two names of "
            "one thing."
        )
    found: Callable[..., Any] = backward if vjp is neither else vjp
    return found
