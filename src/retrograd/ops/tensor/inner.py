"""What tools read off a tensor though it is none of their business: its hooks, and names from the time of Python 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from retrograd.backends.mirror import bits_of
from retrograd.core.hooks import HookTable
from retrograd.core.node import Node
from retrograd.core.tensor import Tensor
from retrograd.ops.common import require_tensor
from retrograd.ops.elementwise.complex_numbers import view_as_complex, view_as_real
from retrograd.ops.elementwise.conjugate import neg_view
from retrograd.ops.register import public, public_property


def _table(x: Tensor) -> HookTable | None:
    """The hooks on a tensor; None where there have never been any."""
    node = x.grad_fn
    hooks = x._leaf_hooks if node is None else node.tensor_hooks
    return None if hooks is None else hooks.tables.get(0 if node is None else x.output_nr)


def _set_hooks(x: Tensor, value: Mapping[int, Any] | None) -> None:
    """Puts hooks in the place of those that there are."""
    table = _table(x) if value is None else x._hook_table()
    if table is not None:
        table.clear()
        table.update(value or {})


def _kept(name: str) -> Callable[[Tensor], None]:
    """What refuses to delete the hooks of this name."""

    def refuse(_: Tensor) -> None:
        raise RuntimeError(
            f"Deletion of {name} not allowed! Assign None to it, or remove() the handles of the hooks."
        )

    return refuse


@public_property("Tensor._backward_hooks", setter=_set_hooks, deleter=_kept("_backwards_hooks"))
def _backward_hooks(self: Tensor) -> HookTable | None:
    """The hooks that `register_hook` has put on this tensor, by number; None before the first."""
    return _table(self)


@public_property("Tensor._post_accumulate_grad_hooks", deleter=_kept("_post_accumulate_grad_hooks"))
def _post_accumulate_grad_hooks(self: Tensor) -> HookTable | None:
    """The hooks that are called when `.grad` has been updated, by number; None before the first."""
    return self._post_accumulate


def _forget_node(x: Tensor, value: Any) -> None:
    """Makes a tensor a leaf, as `detach_` does."""
    if value is not None:
        raise RuntimeError("_grad_fn can be only set to None")
    x.detach_()


def _keep_node(_: Tensor) -> None:
    raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")


@public_property("Tensor._grad_fn", setter=_forget_node, deleter=_keep_node)
def _grad_fn(self: Tensor) -> Node | None:
    """`grad_fn`; None may be put in its place."""
    return self.grad_fn


@public("Tensor._view_func")
def _view_func(self: Tensor, new_base: Tensor) -> Tensor | None:
    """The same view of another base; None if this is no view, or the other base lies otherwise in memory."""
    base, other = self._base, require_tensor("_view_func", "new_base", 1, new_base)
    if base is None or (other.shape, other.stride()) != (base.shape, base.stride()):
        return None
    return _seen_in(self, base, other)


@public("Tensor._view_func_unsafe")
def _view_func_unsafe(self: Tensor, new_base: Tensor) -> Tensor | None:
    """`_view_func`, whatever the other base looks like."""
    other = require_tensor("_view_func_unsafe", "new_base", 1, new_base)
    return None if self._base is None else _seen_in(self, self._base, other)


def _seen_in(view: Tensor, base: Tensor, other: Any) -> Tensor | None:
    """What `view` shows of `base`, of another tensor; None if it shows the bytes as another kind of number."""
    kinds = base.array.dtype.kind + view.array.dtype.kind
    if kinds in ("cf", "fc"):
        other = view_as_real(other) if kinds == "cf" else view_as_complex(other)
    elif view.array.dtype != base.array.dtype:
        return None
    of_view, of_base = bits_of(view.array), bits_of(base.array)
    if of_view[0] != of_base[0]:
        other = other.conj()
    if of_view[1] != of_base[1]:
        other = neg_view(other)
    found: Tensor = other.as_strided(view.size(), view.stride(), view.storage_offset())
    return found


@public_property("Tensor.name")
def name(self: Tensor) -> None:
    """None: tensors have no names."""


@public("Tensor.__div__")
def divided_by(self: Tensor, other: Any) -> Any:
    """`self / other`."""
    return self / other


@public("Tensor.__rdiv__")
def divides(self: Tensor, other: Any) -> Any:
    """`other / self`."""
    return other / self


@public("Tensor.__idiv__")
def divide_in_place(self: Tensor, other: Any) -> Any:
    """`self /= other`."""
    return self.div_(other)


@public("Tensor.__nonzero__")
def truth_of(self: Tensor) -> bool:
    """`bool(self)`."""
    return bool(self)


@public("Tensor.__long__")
def whole_number_of(self: Tensor) -> int:
    """`int(self)`."""
    return int(self)
