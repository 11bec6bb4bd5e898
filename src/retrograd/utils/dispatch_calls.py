"""An operation as PyTorch's dispatcher would call it: `aten.sum.dim_IntList(x, [1], True)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.backends.dtype_class import dtype_of
from retrograd.core.modes import INFERENCE, current
from retrograd.core.op import Binary, Op, Unary
from retrograd.core.saved import SavedConstant
from retrograd.core.selection import Selection, ask
from retrograd.core.tensor import Tensor
from retrograd.core.traits import traits_of
from retrograd.core.tree import flatten
from retrograd.core.upward import UPWARD
from retrograd.ops.aten import OPEN_CALLS, OpOverload, overload_of, overload_of_node
from retrograd.ops.nn.conv import Convolution, Overlap, Spread

_CONVOLUTIONS = frozenset({"convolution", "convolution_backward"})
# Operations whose tensors are one argument, a list.
_OF_LISTS = frozenset({"cat", "stack"})
# Those whose second tensor comes behind the parameters.
_SOURCE_LAST = frozenset({"index_add", "index_copy", "scatter", "scatter_add", "scatter_reduce"})
_SOFTMAXES = frozenset({"_log_softmax", "_softmax"})
# Parameters that aten takes by name, and what they are if they are not given.
_BY_NAME = {"alpha": 1, "beta": 1, "correction": 1, "rounding_mode": None}
# Fields that say how a result is computed here; aten has no parameter for them.
_INSIDE = frozenset({"function", "target", "order", "reverse"})
# Parameters that are left out at the end if they are what aten takes them to be.
_DEFAULTS = {
    "approximate": "none", "axis": None, "decimals": 0, "diagonal": 0, "keepdims": False, "largest": True,
    "negative_slope": 0.01, "padding_idx": -1, "reduction": 1, "scale_grad_by_freq": False, "sorted": True,
    "sparse": False, "step": 1, "threshold": 20.0,
}  # fmt: skip
_FIRST_DIM = frozenset({"cat", "split", "stack", "unbind"})  # whose dimension is the first if it is not given
# What NumPy's functions are called in aten.
_FUNCTIONS = {
    "equal": "eq", "greater": "gt", "greater_equal": "ge", "invert": "bitwise_not", "less": "lt", "less_equal": "le",
    "not_equal": "ne",
}  # fmt: skip
_WITH_NUMBERS = frozenset({"eq", "ge", "gt", "le", "lerp", "lt", "masked_fill", "ne", "rsub"})


def func_of(op: Op, operands: Sequence[Any]) -> OpOverload:
    """What the dispatcher calls an operation."""
    traits_of(op)  # has given the class its name
    function = getattr(op, "function", None)
    found = overload_of_node(op.name())
    if isinstance(function, str):
        found = overload_of(_FUNCTIONS.get(function, function), "default")
    name = found.overloadpacket.__name__
    if name not in _WITH_NUMBERS:
        return found
    are_tensors = len(operands) > 1 and all(isinstance(x, Tensor) for x in operands)
    return overload_of(name, "Tensor" if are_tensors and not hasattr(op, "weight") else "Scalar")


def arguments_of(op: Op, name: str, operands: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that the dispatcher would call it with: its operands, then its parameters."""
    if name in _CONVOLUTIONS:
        return _of_convolution(op, operands), {}
    values: list[Any] = [list(operands)] if name in _OF_LISTS else list(operands)
    parameters = [(field, getattr(op, field)) for field in op.params if field not in _INSIDE]
    named = {field: value for field, value in parameters if value != _BY_NAME.get(field, value)}
    placed = [(field, value) for field, value in parameters if field not in _BY_NAME]
    while placed and _is_default(name, *placed[-1]):
        placed.pop()
    shown = [_shown(value) for _, value in placed]
    if name == "where":
        values = [*[_shown(c) for c in op.constants or ()], *values]
    elif name in _SOURCE_LAST and len(values) == 2:
        return (values[0], *shown, values[1]), named
    elif name == "native_layer_norm":
        return (values[0], shown[0], *values[1:], *shown[1:]), named
    elif name == "pow":
        values, shown = ([*shown, *values], []) if "number" in op.params else (values, shown)
    elif name in _SOFTMAXES:
        shown.append(False)  # whether half numbers become floats
    elif name == "_to_copy":
        named["dtype"] = dtype_of(op.given_dtype())
    values += shown
    while values and values[-1] is None:
        values.pop()
    return tuple(values), named


def _is_default(name: str, field: str, value: Any) -> bool:
    """Whether a parameter need not be told."""
    if field == "dim" and name in _FIRST_DIM:
        return bool(value == 0)
    return value is None or (field in _DEFAULTS and bool(value == _DEFAULTS[field]))


def _shown(value: Any) -> Any:
    """A parameter as a program would give it."""
    if isinstance(value, SavedConstant):
        return Tensor(value.array, share=True) if value.is_value() else None
    if isinstance(value, tuple):
        return [_shown(v) for v in value]
    return (
        Tensor(value, share=True) if hasattr(value, "__array__") and not isinstance(value, Tensor) else value
    )


def _of_convolution(op: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
    """`aten.convolution`'s arguments, or those of one part of `aten.convolution_backward`."""
    windows, groups = op.geometry.windows, op.geometry.groups
    sizes = [list(windows.stride), list(windows.padding), list(windows.dilation)]
    unpadded = [0] * len(windows.size)
    if isinstance(op, Convolution):
        x, weight, bias = (*operands, None)[:3]
        return x, weight, bias, *sizes, op.transposed, list(op.output_padding), groups
    first, second = operands
    if isinstance(op, Spread):
        return first, None, second, None, *sizes, False, unpadded, groups, [True, False, False]
    if isinstance(op, Overlap):
        return second, first, None, None, *sizes, False, unpadded, groups, [False, True, False]
    return first, None, second, None, *sizes, True, unpadded, groups, [True, False, False]


class OpenCall:
    """One call that a mode is asked about. Calling its `func` with its arguments computes it."""

    was_computed: bool

    def __init__(
        self, func: OpOverload, args: Any, named: Any, compute: Callable[..., Any], operands: Any = ()
    ) -> None:
        self.func = func
        self.args = args
        self.named = named
        self.compute = compute  # of operands
        self.operands = operands
        self.was_computed = False

    def run(self, args: Any, named: Any) -> Any:
        """What `func(*args, **named)` gives inside of the mode."""
        operands = self._operands_in(args, named)
        if operands is None:
            return self.func.overloadpacket(*args, **named)
        same = all(a is b for a, b in zip(operands, self.operands, strict=True))
        again = self.was_computed or not same
        self.was_computed = self.was_computed or same
        return self.compute(operands, again)

    def _operands_in(self, args: Any, named: Any) -> list[Any] | None:
        """Those of a call that differs from this one in its operands alone; None if it differs in more."""
        (mine, form), (others, other_form) = flatten((self.args, self.named)), flatten((args, named))
        if form != other_form:
            return None
        places = [i for i, operand in enumerate(self.operands) if isinstance(operand, Tensor)]
        found = list(self.operands)
        for value, other in zip(mine, others, strict=True):
            place = next((i for i in places if self.operands[i] is value), None)
            if place is not None:
                places.remove(place)
                found[place] = other
            elif value is not other and (isinstance(value, Tensor) or value != other):
                return None
        return found


def asked(handler: Any, call: OpenCall, outer: Selection | None, records: bool = False) -> Any:
    """What a mode's `__torch_dispatch__` says that a call gives, with the mode off; unrecorded unless `records`."""
    state = current()
    selection, special, grad_enabled = state.selection, state.special, state.grad_enabled
    OPEN_CALLS.calls.append(call)
    try:
        if not records:
            state.special, state.grad_enabled = special & INFERENCE, False
        ask(outer)
        return handler(call.func, (), call.args, call.named)
    finally:
        OPEN_CALLS.calls.pop()
        state.selection, state.special, state.grad_enabled = selection, special, grad_enabled


def applied(op: Any, operands: Sequence[Any]) -> Any:
    """The result of an op, however many operands it takes."""
    if isinstance(op, Unary):
        return UPWARD.apply1(op, operands[0])
    return UPWARD.apply2(op, *operands) if isinstance(op, Binary) else UPWARD.apply_n(op, operands)
