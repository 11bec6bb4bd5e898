"""The words of a NonFiniteError: what happened, why, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.autograd.nan import traps
from retrograd.autograd.nan.finding import (
    BACKWARD,
    FORWARD,
    GRADIENT,
    HOOK,
    INPUT,
    SUM,
    UNKNOWN,
    Finding,
    described,
)
from retrograd.core.hooks import hook_name
from retrograd.core.node import Node
from retrograd.core.op import Op
from retrograd.core.places import Place, made_at
from retrograd.errors import NonFiniteError

_POLE = "keep its argument away from there: x.clamp(min=eps) or x + eps, before the function, not after it"
_LOG = ("log is -inf at 0, NaN below, and its slope 1 / x is infinite at 0", _POLE)
_RATIO = (
    "it divides by 0",
    "add a small number to the denominator, or replace its zeros before dividing: a / where(b == 0, 1.0, b)",
)
_OVERFLOW = (
    "the result is larger than {dtype} can hold (about {largest:.2g})",
    "scale the values down, or compute in a wider dtype",
)
_EXP = (
    "exp overflows {dtype} for arguments above {limit:.4g}",
    "subtract the maximum first, clamp(max=...) the argument, or use softmax, log_softmax, logsumexp, softplus",
)
_ROWS = (
    "a row of which every element is -inf has nothing to normalise: (-inf) - (-inf) is NaN",
    "leave such rows out, or mask with a large finite number such as -1e9",
)
_ROOT = (
    "its slope 1 / (2 * sqrt(x)) is infinite at 0, and it is NaN below",
    "add a small number: sqrt(x + eps)",
)
_EDGE = (
    "its slope is infinite at the ends of its domain, and it is NaN outside",
    "clamp its argument a little inside",
)
_SPREAD = (
    "the slope of a standard deviation is 0 / 0 where all elements are equal, and it divides by n - 1 = 0 for one",
    "add a small number under the root: sqrt(x.var() + eps)",
)
_POWER = (
    "x ** p has an infinite slope at 0 for p < 1, is infinite there for p < 0, and NaN for x < 0 and a fractional p",
    _POLE,
)
# By the name of the node, as far as it goes.
_CASES = {
    **dict.fromkeys(("Log", "Log2", "Log10", "Xlogy"), _LOG),
    "Log1P": ("log1p is -inf at -1, NaN below, and its slope is infinite there", _POLE),
    **dict.fromkeys(("Div", "Reciprocal", "Addcdiv", "Fmod", "Remainder"), _RATIO),
    **dict.fromkeys(("Sqrt", "Rsqrt"), _ROOT),
    **dict.fromkeys(("Exp", "Exp2", "Expm1", "Cosh", "Sinh"), _EXP),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Logsumexp", "LogSumExp"), _ROWS),
    **dict.fromkeys(("Acos", "Asin", "Atanh", "Acosh", "Logit", "Erfinv"), _EDGE),
    **dict.fromkeys(("Std", "Var", "StdMean", "VarMean"), _SPREAD),
    **dict.fromkeys(
        ("Norm", "LinalgVectorNorm", "Dist"), ("the slope of a norm is 0 / 0 at 0", "add eps inside")
    ),
    "Atan2": ("the slope of atan2 is 0 / 0 where both arguments are 0", "keep one of them away from 0"),
    "Pow": _POWER,
    **dict.fromkeys(
        ("Mul", "Mm", "Bmm", "Addmm", "Mv", "Dot", "Sum", "Mean", "Prod", "Cumsum", "Cumprod"), _OVERFLOW
    ),
    **dict.fromkeys(("Add", "Sub", "ToCopy", "Square"), _OVERFLOW),
}
_SOFT = {
    "Exp",
    "Exp2",
    "Expm1",
    "Cosh",
    "Sinh",
    "Acos",
    "Asin",
    "Atanh",
    "Logit",
    "Erfinv",
    "Tan",
}  # fine at 0
_FUNCTION = "look at the backward of this Function: it returned a non-finite gradient for a finite one"


def message(
    what: str, bad: Any, found: Finding | None, masker: traps.Masker | None, failure: Exception | None
) -> NonFiniteError:
    """The error."""
    text = f"detect_nonfinite: {what} is not finite: {described(bad)}.\n"
    if found is None:
        error = NonFiniteError(text + _not_found(failure))
        error.kind = UNKNOWN
    else:
        parts = [_what(found), *_at(found), *_why(found, masker)]
        if failure is not None:
            parts.append(
                f"(The backward could not be run again, so only forward values were looked at: {failure})"
            )
        error = NonFiniteError(text + "\n".join(parts))
        error.kind, error.node_name, error.place = found.kind, found.node.name(), place_of(found)
        error.trap = "" if masker is None else masker.kind
    error.__cause__ = failure
    return error


def place_of(found: Finding) -> Place | None:
    """The line to look at: the hook's own, or the one that recorded the operation."""
    if found.kind == HOOK:
        code = getattr(found.hooks[0], "__code__", None) if len(found.hooks) == 1 else None
        if code is not None:
            return Place(code, 0)
    return _made(found.node)


def _made(node: Node) -> Place | None:
    write = getattr(node, "write", None)
    return made_at(node if write is None else write)


def function(node: Node) -> str:
    """The function that made a node, as a user writes it."""
    return node.function_name() if isinstance(node, Op) else node.name().removesuffix("Backward")


# -- what ----------------------------------------------------------------------------------------------------------


def _what(found: Finding) -> str:
    name = found.node.name()
    numbers = f" ({found.numbers})"
    if found.kind == FORWARD:
        source = (
            f"got infinities, which {found.inside}() had put in," if found.inside else "got finite values"
        )
        hedge = "" if found.sure else " (as far as they are known)"
        return f"First cause, in the forward pass: {name} {source}{hedge} and gave {found.what}{numbers}."
    if found.kind == BACKWARD:
        gave = f"gave {found.what} as the gradient of its input {found.i}"
        return f"First cause, in the backward pass: {name} got finite gradients and {gave}{numbers}."
    if found.kind == INPUT:
        kind = "a constant" if found.constant else "a leaf"
        return f"First cause: operand {found.i} of {name} is {kind} that is itself not finite: {found.what}."
    if found.kind == GRADIENT:
        return f"First cause: the gradient that this backward was started with is itself not finite: {found.what}."
    if found.kind == SUM:
        return f"First cause: finite gradients that meet at {name} have a sum that is not: {found.what}."
    names = ", ".join(hook_name(h) for h in found.hooks)
    return f"First cause: hook {names} of {name} got a finite gradient and gave {found.what}."


def _at(found: Finding) -> list[str]:
    lines = []
    made = _made(found.node)
    if made is not None:
        lines.append(f"  {'used by ' if found.kind == INPUT else 'recorded by'}  {made}")
    place = place_of(found)
    if found.kind == HOOK and place is not None and place is not made:
        lines.append(f"  the hook is  {place}")
    return lines


# -- why, and what to do -------------------------------------------------------------------------------------------


def _why(found: Finding, masker: traps.Masker | None) -> list[str]:
    if masker is not None:
        return _trap(found, masker)
    if found.kind == INPUT:
        return [
            "Why: what is not finite going in stays so. "
            + ("What to do: look at where this data comes from." if found.constant else _LEAF)
        ]
    if found.kind == GRADIENT:
        return ["What to do: look at what was given as `gradient` or `grad_outputs`."]
    if found.kind == HOOK:
        return ["What to do: look at what the hook returns; it gets a finite gradient."]
    if found.kind == SUM:
        return [_case(_OVERFLOW, found.dtype)]
    name = traps.stem(found.node)
    if found.inside and name not in ("Softmax", "LogSoftmax", "Logsumexp", "LogSumExp"):
        return [
            "Why: inf - inf, 0 * inf and inf / inf are NaN. What to do: use a large finite number for the mask."
        ]
    if name in _CASES:
        return [_case(_CASES[name], found.dtype)]
    if not isinstance(found.node, Op) and found.kind == BACKWARD:
        return [f"What to do: {_FUNCTION}."]
    return [_OTHERWISE]


_OTHERWISE = (
    "Why: an overflow, a division by zero, or a point where the function has no derivative. What to do: look at the "
    "values above, and keep the arguments away from them."
)
_LEAF = (
    "What to do: find the step that wrote it: an optimiser step with a bad gradient (from a backward outside of "
    "detect_nonfinite), or the initial values."
)


def _case(case: tuple[str, str], dtype: Any) -> str:
    kind = dtype if dtype is not None and dtype.kind in "fc" else np.dtype("float32")
    largest = float(np.finfo(kind).max)
    why = case[0].format(dtype=kind, largest=largest, limit=float(np.log(largest)))
    return f"Why: {why}. What to do: {case[1]}."


_DROPPED = {
    traps.WHERE: "the branch that where() does not select",
    traps.FILL: "what masked_fill() replaces",
    traps.PRODUCT: "what a mask multiplies by 0",
    traps.SELECTION: "what an index or a reduction does not select",
    traps.CLAMP: "what a clamp cuts off",
    traps.WRITE: "what an assignment overwrites",
}


def _trap(found: Finding, masker: traps.Masker) -> list[str]:
    """The explanation of a masked result, and the rewrite."""
    made = _made(masker.node)
    title = (
        "the `where` trap"
        if masker.kind in (traps.WHERE, traps.FILL, traps.PRODUCT)
        else "a relative of the `where` trap"
    )
    why = (
        f"Why: this is {title}: {_DROPPED[masker.kind]} still takes part in the backward pass. Its gradient is "
        "exactly 0, the slope there is infinite (or NaN), and 0 * inf is NaN."
    )
    lines = [why]
    if made is not None:
        lines.append(f"  masked by    {made}")
    name = traps.stem(found.node)
    safe = "0.0" if name in _SOFT else "1.0"
    if masker.kind == traps.SELECTION:
        lines.append(f"What to do: select first and compute then: {_call(found.node, 'x[mask]')}")
    elif masker.kind == traps.CLAMP:
        lines.append(
            f"What to do: limit the argument instead of the result: {_call(found.node, 'x.clamp(min=eps)')}"
        )
    else:
        lines.append("What to do: mask the argument too, so that the function never sees those elements:")
        lines.append(f"    safe = where(mask, x, {safe})")
        lines.append(f"    y = where(mask, {_call(found.node, 'safe')}, other)")
    return lines


def _call(node: Node, argument: str) -> str:
    """How a user writes the call."""
    name = traps.stem(node)
    if name == "Div":
        return f"a / {argument}"
    if name == "Reciprocal":
        return f"1 / {argument}"
    if name == "Pow":
        return f"{argument} ** p"
    return f"{function(node)}({argument})"


def _not_found(failure: Exception | None) -> str:
    if failure is not None:
        return (
            f"Its cause could not be found: the backward could not be run again ({type(failure).__name__}: {failure}). "
            "Keep what it needs, or use detect_anomaly, which looks at every node while it runs."
        )
    return (
        "A second run of the same backward gave finite gradients. Either `.grad` was not finite before this backward "
        "(an earlier one, or an assignment): set it to None; or finite gradients overflowed when they were added to "
        "it; or a post-accumulate hook wrote it; or a hook or custom Function does not do the same twice."
    )
