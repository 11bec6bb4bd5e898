"""Forward mode: tensors that carry a tangent, and results that get theirs with it. See Note [Tangents].

>>> import retrograd as rg
>>> from retrograd.autograd import forward_ad
>>> x, direction = rg.tensor([1.0, 2.0]), rg.tensor([1.0, 0.0])
>>> with forward_ad.dual_level():
...     y = forward_ad.make_dual(x, direction) ** 3
...     forward_ad.unpack_dual(y).tangent
tensor([3., 0.])
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from retrograd.autograd.modes import ModeContext
from retrograd.backends.base import Backend, backend_of
from retrograd.backends.mirror import bits_of
from retrograd.core.apply import apply1
from retrograd.core.families import View
from retrograd.core.modes import FORWARD, INFERENCE, current, update_forward
from retrograd.core.tangent import DualLevel, laid_out, step_down, step_up, tangent_of, zeros_laid_out
from retrograd.core.tensor import Tensor
from retrograd.errors import NoTensorError, ShapeError, type_name
from retrograd.ops.shape.reshape import Reshape
from retrograd.values import Array

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "set_fwd_grad_enabled",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent; None if it has none."""

    primal: Tensor
    tangent: Tensor | None


class Primal(View):
    """the same memory and history, without a tangent"""

    node_name = "Identity"

    fresh_results: bool = False

    def forward(self, xp: Backend, x: Array) -> Array:
        return x[...]

    def transpose(self, g: Any) -> Any:
        return g

    def name(self) -> str:
        return "torch::autograd::Identity"


# -- levels --------------------------------------------------------------------------------------------------------

_current_level = -1  # the number of the level that was opened last, in whichever thread, as PyTorch has it


def _note_level(level: DualLevel | None) -> None:
    global _current_level
    _current_level = -1 if level is None else 0


def enter_dual_level() -> int:
    """Opens a level, in which tensors may have tangents, and gives its number. There can be one at a time."""
    state = current()
    if state.level is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: a dual level is open in this thread already. Leave "
            "it first, with exit_dual_level(); for a second derivative take autograd.grad() inside one level."
        )
    _push_level()
    return 0


class inner_level:  # noqa: N801 - a context manager, as `dual_level` is
    """A level inside those that are open: transforms nest, and so do theirs. See Note [Leaving a mode]."""

    def __enter__(self) -> None:
        _push_level()

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        _pop_level()


def _push_level() -> None:
    state = current()
    outer = state.level
    try:
        state.level = DualLevel(outer)
        update_forward(state)
        _note_level(state.level)
    except BaseException:  # there is no memory left, or somebody has pressed Ctrl-C
        state.level = outer
        raise


def _pop_level() -> None:
    """Leaves the innermost level."""
    state = current()
    closing = state.level
    state.level = closing.outer
    update_forward(state)
    _note_level(state.level)
    closing.close()


def exit_dual_level(*, level: int | None = None) -> None:
    """Leaves the level; all tangents go with it."""
    state = current()
    last = -1 if state.level is None else 0
    if level is not None and level != last:
        which = "No level is open" if state.level is None else "The open level is 0"
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported. "
            f"{which}, and {level} was to be left."
        )
    if state.level is None:
        raise RuntimeError("Dual level must be a positive number. (No dual level is open: enter one first.)")
    _pop_level()


class dual_level(ModeContext):  # noqa: N801 - torch's name
    """A level of forward mode as a `with` block or decorator: inside, tensors may have tangents.

    >>> import retrograd as rg
    >>> with rg.autograd.forward_ad.dual_level():
    ...     dual = rg.autograd.forward_ad.make_dual(rg.tensor(2.0), rg.tensor(1.0))
    ...     dual * dual
    tensor(4., tangent=tensor(4.))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        exit_dual_level()


class set_fwd_grad_enabled(ModeContext):  # noqa: N801 - as set_grad_enabled
    """Whether tangents are seen and computed; at once, and as a context manager or decorator for a while."""

    def __init__(self, mode: bool) -> None:
        state = current()
        self.mode: bool = bool(mode)
        self.before: bool = state.forward_enabled
        state.forward_enabled = self.mode
        update_forward(state)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        state = current()
        state.forward_enabled = self.before
        update_forward(state)

    def __call__(self, func: Any) -> Any:
        self.__exit__()
        return super().__call__(func)

    def clone(self) -> ModeContext:
        return type(self)(self.mode)


_set_fwd_grad_enabled = set_fwd_grad_enabled


def _is_fwd_grad_enabled() -> bool:
    return current().forward_enabled


# -- duals ---------------------------------------------------------------------------------------------------------


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that has `tangent`. Results computed from it have tangents until the level is left.

    Args:
        tensor: floating-point or complex; it stays as it is.
        tangent: of the same shape. Its memory is shared where it is laid out as that of `tensor`: writes to the dual
            in place write into it.
        level: the number that `enter_dual_level` gave.

    >>> import retrograd as rg
    >>> with rg.autograd.forward_ad.dual_level():
    ...     rg.autograd.forward_ad.make_dual(rg.tensor([0.0]), rg.tensor([5.0])).sin()
    tensor([0.], tangent=tensor([5.]))
    """
    state = current()
    if state.level is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first. "
            "Levels belong to the thread that entered them."
        )
    _check_kind("primal", tensor)
    _check_kind("tangent", tangent)
    if level:
        raise RuntimeError(f"Invalid level given to _make_dual: there is level 0 only, not {level}")
    _check_dual(tensor, tangent)
    dual: Tensor = apply1(Reshape(tensor.array.shape), tensor)
    dual._forward_base = False
    if state.special & INFERENCE:
        return dual
    innermost = step_down(state) if state.special & FORWARD else None
    try:
        given = tangent if _same_memory(tensor, tangent) else _copy_laid_out(tangent, tensor.array)
    finally:
        if innermost is not None:
            step_up(state, innermost)
    state.level.give(dual, given)
    return dual


def _check_kind(what: str, value: Any) -> None:
    """Only floating-point and complex tensors can be part of a dual."""
    if not isinstance(value, Tensor):
        raise NoTensorError(f"make_dual(): the {what} must be a Tensor, not {type_name(value)}")
    if value.array.dtype.kind not in "fc":
        raise ValueError(
            f"Expected {what} to be floating point or complex, but got: torch.{value.array.dtype}. Convert it first: "
            "t.float()."
        )


def _check_dual(tensor: Tensor, tangent: Tensor) -> None:
    """Both are without a tangent so far, and of one shape."""
    state = current()
    if tangent_of(tensor, state) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported. Take its primal first: unpack_dual(t).primal."
        )
    if tangent_of(tangent, state) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported. There are "
            "no tangents of tangents: take unpack_dual(t).primal."
        )
    if tangent.array.shape != tensor.array.shape:
        raise wrong_size("make_dual()", tensor.array, tangent.array)


def wrong_size(where: str, primal: Array, tangent: Array) -> ShapeError:
    """The error of a tangent that does not have the shape of its tensor."""
    return ShapeError(
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        f"supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
        f"{list(tangent.shape)}. (In {where}.) Expand or reshape the tangent."
    )


def _same_memory(tensor: Tensor, tangent: Tensor) -> bool:
    """Whether a tangent lies in its memory as the tensor in its own, so that views of both are alike."""
    a, b = tensor.array, tangent.array
    if a.strides != b.strides and a.size:
        return False
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return bits_of(a) == bits_of(b)
    return tensor.storage_offset() == tangent.storage_offset() and _storage_size(a) == _storage_size(b)


def _storage_size(array: Any) -> int:
    """How many elements the memory behind an array has room for."""
    size: int = getattr(backend_of(array).memory_of(array), "nbytes", 0) // array.itemsize
    return size


def _copy_laid_out(tangent: Tensor, array: Array) -> Any:
    """A copy of a tangent in the layout of a tensor."""
    if tangent.array.dtype != array.dtype:
        return laid_out(tangent, array, True)
    made: Any = zeros_laid_out(backend_of(tangent.array), array, array.dtype)
    return made.copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A view of `tensor` without its tangent, and the tangent; None if it has none.

    >>> import retrograd as rg
    >>> fwd = rg.autograd.forward_ad
    >>> with fwd.dual_level():
    ...     fwd.unpack_dual(fwd.make_dual(rg.tensor(1.0), rg.tensor(2.0)))
    UnpackedDualTensor(primal=tensor(1.), tangent=tensor(2.))
    """
    state = current()
    if state.level is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual(): argument 'tensor' must be Tensor, not {type_name(tensor)}")
    tangent = tangent_of(tensor, state)
    if level and tangent is not None:
        raise RuntimeError(f"Invalid level given to _fw_primal: there is level 0 only, not {level}")
    innermost = step_down(state) if state.special & FORWARD else None
    try:
        primal: Any = apply1(Primal(), tensor)
    finally:
        if innermost is not None:
            step_up(state, innermost)
    primal._forward_base = False
    return UnpackedDualTensor(primal, tangent)
