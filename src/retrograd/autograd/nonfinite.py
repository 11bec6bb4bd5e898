"""detect_nonfinite: raise on a NaN or Inf in a gradient, and name its first cause."""

from __future__ import annotations

from typing import Any

from retrograd.autograd.modes import ModeContext
from retrograd.core.modes import current
from retrograd.core.upward import UPWARD
from retrograd.engine.watch import INF, NAN


class detect_nonfinite(ModeContext):  # noqa: N801 - like detect_anomaly
    """Inside, a backward whose gradients hold NaN or Inf raises a NonFiniteError that names the first cause.

    Meant to stay on: put it around forward and backward of every training step. It looks at the final gradients only;
    when one of them is not finite it runs the backward once more (hooks and custom Functions too; `.grad` is not
    touched again) and computes the forward pass again, to find the first operation with finite inputs and a non-finite
    result, and the line that called it. A NaN that comes of a masked branch (the `where` trap) is recognised.

    The price is that saved values are freed at the end of the backward instead of on its way, and one reduction per
    leaf. Use as a context manager or, called, as a decorator: `@detect_nonfinite()`. The setting is the thread's own.

    Args:
        nan: raise on NaN.
        inf: raise on infinities.

    >>> import retrograd as rg
    >>> x = rg.tensor([0.0, 4.0], requires_grad=True)
    >>> with rg.autograd.detect_nonfinite():
    ...     rg.where(x > 0, x.sqrt(), 0.0).sum().backward()
    Traceback (most recent call last):
    retrograd.errors.NonFiniteError: detect_nonfinite: the gradient of a leaf of shape [2] is not finite: NaN at 1 of 2
    elements, first at [0].
    First cause, in the backward pass: SqrtBackward0 got finite gradients and gave NaN at 1 of 2 elements, ...
    Why: this is the `where` trap: the branch that where() does not select still takes part in the backward pass. ...
    What to do: mask the argument too, so that the function never sees those elements:
        safe = where(mask, x, 1.0)
        y = where(mask, sqrt(safe), other)
    """

    def __init__(self, nan: Any = True, inf: Any = True) -> None:
        if callable(nan):
            raise TypeError("detect_nonfinite as a decorator is called first: @detect_nonfinite()")
        if not (nan or inf):
            raise ValueError("detect_nonfinite: with nan=False and inf=False there is nothing to look for")
        self.nan = nan
        self.inf = inf
        self.previous: list[int] = []

    def __enter__(self) -> None:
        state = current()
        self.previous.append(state.nonfinite)
        state.nonfinite = (NAN if self.nan else 0) | (INF if self.inf else 0)

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        current().nonfinite = self.previous.pop()

    def clone(self) -> ModeContext:
        return type(self)(self.nan, self.inf)


def _find(watch: Any, engine: Any, what: str, array: Any) -> Exception:
    """The error for a gradient that is not finite; the search is loaded when there is something to look for."""
    from retrograd.autograd.nan.search import search

    return search(watch, engine, what, array)


UPWARD.find_nonfinite = _find
