"""`TorchDispatchMode`: a context that sees every operation, below autograd.

Note [Dispatch modes]
~~~~~~~~~~~~~~~~~~~~~
PyTorch calls modes where its dispatcher has left autograd: `func` is an operation of `torch.ops.aten`, operands are
tensors, and what the mode returns becomes the result, with the node that the operation has anyway. There is no
dispatcher here. A mode is a Selection (core/selection.py): each op asks for its result before it computes. While one is
on, a backward runs on Tensors, so that its operations are seen too. Functions that have no op, such as `zeros`, are
seen as the program calls them, by a TorchFunctionMode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from retrograd.core.modes import SELECTED, current
from retrograd.core.selection import Selection, ask, switch_on
from retrograd.core.tensor import Tensor
from retrograd.ops.aten import overload_of
from retrograd.overrides.listing import resolve_name
from retrograd.overrides.modes import TorchFunctionMode
from retrograd.overrides.protocol import method_of
from retrograd.utils.dispatch_calls import OpenCall, applied, arguments_of, asked, func_of

# Functions that have no op.
_WITHOUT_OP = frozenset({
    "arange", "argwhere", "bartlett_window", "bernoulli", "blackman_window", "empty", "empty_like", "eye", "full",
    "full_like", "hamming_window", "hann_window", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf",
    "kaiser_window", "linspace", "logspace", "multinomial", "new_empty", "new_full", "new_ones", "new_zeros", "nonzero",
    "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
    "scalar_tensor", "signbit", "tril_indices", "triu_indices", "zeros", "zeros_like",
})  # fmt: skip
_OF_SIZES = frozenset({"empty", "ones", "rand", "randn", "zeros"})
# Their overloads, and those of methods that write, which are not `default`.
_OVERLOADS = {
    "empty": "memory_format", "randint": "low", **dict.fromkeys(("add_", "sub_", "mul_", "div_", "pow_"), "Tensor"),
    "bernoulli_": "float", "fill_": "Scalar", "masked_fill_": "Scalar", "scatter_": "src",
}  # fmt: skip


class TorchDispatchMode:
    """A context whose `__torch_dispatch__` is called in place of every operation, those of backward included.

    Inside of it the mode itself is off, so that it can call `func`, and nothing is recorded.

    >>> import retrograd as rg
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = rg.ones(2, 3, requires_grad=True)
    >>> with Names():
    ...     y = (x * 2).sum(1)
    aten.mul.Tensor
    aten.sum.dim_IntList
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._entered: list[_Entered] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no __torch_dispatch__: define what it does to a call"
        )

    def __enter__(self) -> Self:
        entered = _Entered(self)
        vars(self).setdefault("_entered", []).append(entered)  # a subclass may have left __init__ out
        entered.functions.__enter__()
        switch_on(entered)
        return self

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        entered = self._entered.pop()
        ask(entered.outer)
        entered.functions.__exit__()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """An instance, as older programs make one."""
        return cls(*args, **kwargs)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _Entered(Selection):
    """A mode that is on. See Note [Dispatch modes]."""

    def __init__(self, mode: TorchDispatchMode) -> None:
        self.mode = mode
        self.functions = _Functions(self)

    def result_of(self, op: Any, operands: Sequence[Any]) -> tuple[Any, Any]:
        func = func_of(op, operands)
        args, named = arguments_of(op, func.overloadpacket.__name__, operands)
        call = OpenCall(func, args, named, partial(_compute, op), operands)
        found = asked(method_of(self.mode, "__torch_dispatch__"), call, self.outer)
        if not call.was_computed:
            asked(
                lambda *_: applied(op, operands), call, None
            )  # for what its forward notes, which backward needs
        if isinstance(found, Tensor):
            return op, found.array
        if isinstance(found, (tuple, list)) and all(isinstance(f, Tensor) for f in found):
            return op, tuple(f.array for f in found)
        raise TypeError(
            f"{type(self.mode).__name__}.__torch_dispatch__ must return tensors for {call.func}, not {found!r}"
        )


def _compute(op: Any, operands: Sequence[Any], again: bool) -> Any:
    return applied(op.fresh() if again else op, operands)


class _Functions(TorchFunctionMode):
    """Sees the functions that have no op."""

    def __init__(self, entered: _Entered) -> None:
        super().__init__()
        self.entered = entered

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = (resolve_name(func) or "").removeprefix("torch.").removeprefix("Tensor.")
        writes = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
        if not (writes or name in _WITHOUT_OP) or not _is_on(self.entered):
            return func(*args, **(kwargs or {}))
        overload = overload_of(name, _OVERLOADS.get(name, "default"))
        if name in _OF_SIZES and all(isinstance(a, int) for a in args):
            args = (list(args),)  # `zeros(2, 3)`
        call = OpenCall(overload, args, kwargs or {}, lambda *_: func(*args, **(kwargs or {})))
        handler = method_of(self.entered.mode, "__torch_dispatch__")
        return asked(handler, call, self.entered.outer, records=True)


def _is_on(entered: _Entered) -> bool:
    return any(known is entered for known in _selections())


def _selections() -> Iterator[Selection]:
    """Those that are on in this thread, the innermost first."""
    state = current()
    found: Selection | None = state.selection if state.special & SELECTED else None
    while found is not None:
        yield found
        found = found.outer


# -- the modes as a stack --------------------------------------------------------------------------------------------


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes that are on, the outermost first."""
    return [found.mode for found in _selections() if isinstance(found, _Entered)][::-1]


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode that is on."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None


def _len_torch_dispatch_stack() -> int:
    """How many modes are on."""
    return len(_get_current_dispatch_mode_stack())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is on; there are no modes of the infrastructure."""
    return _get_current_dispatch_mode() is not None


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """A context in which no mode is asked."""
    modes = _get_current_dispatch_mode_stack()
    before = next(_selections(), None)
    ask(None)
    try:
        yield modes
    finally:
        ask(before)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor is made of others, which it can be taken apart into: none is here."""
    return False
