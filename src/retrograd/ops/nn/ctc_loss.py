"""Connectionist temporal classification: the probability of a sequence, summed over all ways to time it.

Note [The lattice of CTC]
~~~~~~~~~~~~~~~~~~~~~~~~~
The states of a target are its labels with a blank before, between and behind them. At each time a path stays in its
state, goes to the next, or skips a blank between two different labels. `alpha` is the logarithm of the probability of
all paths up to a state, `beta` of all paths from it on; both contain the state's own probability. Their product
over it is the probability of all paths through the state, whose sum by label is the derivative of the logarithm of
the whole. All steps are ops, so that this derivative can be differentiated again.

LOWEST stands for the logarithm of 0, because -inf - -inf would be NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, ClassVar

import numpy as np

from retrograd.backends.base import Backend
from retrograd.backends.pieces import look
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting_on_cpu, in_float32
from retrograd.core.saved import constant_of
from retrograd.core.tensor import Tensor
from retrograd.core.upward import UPWARD
from retrograd.errors import OperandError, ShapeError, type_name, unsupported_dtype
from retrograd.ops.common import differ, plain, require_tensor
from retrograd.ops.constants import WithConstants
from retrograd.ops.elementwise.choose import Clamp, Where
from retrograd.ops.elementwise.exponential import Exp
from retrograd.ops.index.gather import Gather, GatherAdjoint
from retrograd.ops.nn.difference_loss import MEAN, reduced, reduction_code
from retrograd.ops.nn.host import as_constant, library_of, on_host
from retrograd.ops.reduce.running_sums import Shift
from retrograd.ops.reduce.sums import Logsumexp
from retrograd.ops.register import public
from retrograd.ops.shape.join import Stack
from retrograd.values import Array

LOWEST = -1e30


def log_mask(allowed: Array, like: Any) -> Any:
    """0 where something is allowed, else the logarithm of nothing."""
    return as_constant(np.where(allowed, 0, LOWEST).astype(like.dtype), like)


class CtcLoss(WithConstants):
    """minus the log-probability of each target, for log-probabilities of shape (time, batch, classes)"""

    params: ClassVar[tuple[str, ...]] = (
        "targets",
        "input_lengths",
        "target_lengths",
        "blank",
        "zero_infinity",
    )
    array_params: ClassVar[tuple[str, ...]] = ("targets", "input_lengths", "target_lengths")
    shown: ClassVar[dict[str, str]] = {
        "blank": "blank", "zero_infinity": "zero_infinity", "log_probs": "x:0", "targets": "constant:0",
    }  # fmt: skip

    def __init__(
        self, targets: Array, input_lengths: Array, target_lengths: Array, blank: int, zero_infinity: bool
    ) -> None:
        self.targets = targets
        self.input_lengths = input_lengths
        self.target_lengths = target_lengths
        self.blank = blank
        self.zero_infinity = zero_infinity
        self.states = np.full((len(targets), 2 * targets.shape[1] + 1), blank)
        self.states[:, 1::2] = targets

    def emitted(self, logs: Any) -> Any:
        """The log-probability of each state's label at each time; of states behind the target's end, nothing."""
        index = self.index(logs)
        there = np.arange(self.states.shape[1]) <= 2 * self.target_lengths[:, None]
        return Clamp(LOWEST, None).on(Gather(2, index).on(logs)) + log_mask(there, logs)

    def index(self, logs: Any) -> Array:
        """The label of each state at each time, where `logs` lie."""
        xp = library_of(logs)
        return xp.broadcast_to(xp.asarray(self.states), (logs.shape[0], *self.states.shape))

    def reached(self, time: Any, lengths: Array, like: Any) -> Array:
        """Which samples are not over yet, as a column where `like` lies."""
        return library_of(like).asarray(time < lengths)[..., None]

    def skips(self) -> Array:
        """The states that may be reached from the last but one: labels that differ from the label before."""
        found = np.zeros(self.states.shape, bool)
        found[:, 2:] = (self.states[:, 2:] != self.blank) & (self.states[:, 2:] != self.states[:, :-2])
        return found

    def last(self) -> Array:
        """The states in which a path may end: the last label and the blank behind it."""
        behind = 2 * self.target_lengths[:, None] - np.arange(self.states.shape[1])
        return (behind == 0) | (behind == 1)

    def alphas(self, e: Any) -> list[Any]:
        """The log-probability of all paths up to each state, at each time up to the input's end."""
        first, skip = np.zeros(self.states.shape, bool), log_mask(self.skips(), e)
        first[:, :2] = True
        found = [e[0] + log_mask(first, e)]
        for t in range(1, e.shape[0]):
            look()
            a = found[-1]
            one = Shift(1, 1, LOWEST).on(a)
            moved = Stack(0).on(a, one, Shift(1, 1, LOWEST).on(one) + skip)
            step = Logsumexp((0,), False).on(moved) + e[t]
            found.append(Where().on(self.reached(t, self.input_lengths, a), step, a))
        return found

    def betas(self, e: Any) -> list[Any]:
        """The log-probability of all paths from each state on, at each time before the input's end."""
        end, skip = log_mask(self.last(), e), log_mask(self.skips(), e)
        found = [e[e.shape[0] - 1] + end]
        for t in range(e.shape[0] - 2, -1, -1):
            look()
            b = found[-1]
            one = Shift(1, -1, LOWEST).on(b)
            moved = Stack(0).on(b, one, Shift(1, -1, LOWEST).on(Shift(1, -1, LOWEST).on(b + skip)))
            more = self.reached(t, self.input_lengths - 1, b)
            step = Where().on(more, Logsumexp((0,), False).on(moved), end)
            found.append(step + e[t])
        return found[::-1]

    def total(self, alpha: Any) -> Any:
        """The log-probability of all paths, which may be LOWEST."""
        return Logsumexp((1,), False).on(alpha + log_mask(self.last(), alpha))

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        logs = xs[0]
        if logs.dtype.kind != "f" or logs.dtype.itemsize < 4:
            raise unsupported_dtype("ctc_loss_cpu", logs.dtype)
        found = -self.total(self.alphas(self.emitted(logs))[-1])
        of_nothing = xp.asarray(np.where(self.target_lengths == 0, -0.0, np.inf))
        found = xp.where(xp.asarray(self.input_lengths == 0), of_nothing, found)
        return xp.where(found > -LOWEST / 2, np.inf, found).astype(logs.dtype)

    def slopes(self, logs: Any) -> Any:
        """The derivatives as PyTorch has them: those by the logits of which `logs` is the log_softmax."""
        e = self.emitted(logs)
        alphas, betas = self.alphas(e), self.betas(e)
        total = self.total(alphas[-1])
        through = Exp().on(Stack(0).on(*alphas) + Stack(0).on(*betas) - e - total.reshape((1, -1, 1)))
        found = Exp().on(logs) - GatherAdjoint(2, self.index(logs), tuple(logs.shape)).on(through)
        impossible = plain(total) < LOWEST / 2
        if impossible.any():
            found = Where().on(impossible[:, None], 0.0 if self.zero_infinity else np.nan, found)
        within = self.reached(np.arange(logs.shape[0])[:, None], self.input_lengths, logs)
        return Where().on(within, found, 0.0)

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        return [self.slopes(xs[0]) * gs[0].reshape((1, -1, 1))]

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        return (self.slopes(xs[0]) * ts[0]).sum(axis=(0, 2))


# -- functions -----------------------------------------------------------------------------------------------------


def _check_kinds(lengths: Sequence[Any], blank: Any, zero_infinity: Any) -> None:
    """Both lengths must be tensors, or both sequences of ints; the blank an int."""
    if not isinstance(zero_infinity, (bool, np.bool_)):
        raise _wrong("zero_infinity", "bool", zero_infinity)
    if isinstance(blank, bool) or not hasattr(blank, "__index__"):
        raise _wrong("blank", "int", blank)
    if all(isinstance(given, Tensor) for given in lengths):
        return
    for name, given in zip(("input_lengths", "target_lengths"), lengths, strict=True):
        if not isinstance(given, (list, tuple)) or not all(hasattr(n, "__index__") for n in given):
            raise _wrong(name, "tuple of ints, or a Tensor as the other lengths are", given)


def _wrong(name: str, wanted: str, given: Any) -> TypeError:
    return OperandError(
        "ctc_loss() received an invalid combination of arguments - "
        f"argument '{name}' must be {wanted}, not {type_name(given)}"
    )


def _lengths(name: str, given: Any, batch: int) -> Array:
    """Lengths, given as a tensor or a sequence of ints."""
    if isinstance(given, Tensor):
        if given.array.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral, not {given.array.dtype}")
        found = on_host(given).reshape(-1).astype(np.int64)
    else:
        found = np.array([index(n) for n in given], np.int64)
    if found.size != batch:
        raise ShapeError(f"{name} must be of size batch_size: there are {found.size} for {batch} samples")
    return found


def _check_lengths(lengths: Array, time: int) -> None:
    for wrong, bound in ((lengths > time, f"at most {time}"), (lengths < 0, "at least 0")):
        if wrong.any():
            raise RuntimeError(
                f"Expected input_lengths to have value {bound}, but got value {lengths[wrong][0]} (while checking "
                "arguments for ctc_loss)"
            )


def _rows(targets: Array, lengths: Array, classes: int) -> Array:
    """The targets as rows of equal length, filled up with zeros."""
    if (lengths < 0).any():
        raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {lengths.min()}")
    if targets.ndim not in (1, 2):
        raise ShapeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' (while "
            "checking arguments for ctc_loss)"
        )
    longest = int(lengths.max()) if lengths.size else 0
    there = np.arange(longest) < lengths[:, None]
    if targets.ndim == 1:
        if targets.size != lengths.sum():
            raise ShapeError(
                f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size {targets.size} for "
                "argument #2 'targets' (while checking arguments for ctc_loss)"
            )
        rows = np.zeros(there.shape, np.int64)
        rows[there] = targets
    elif targets.shape[0] != len(lengths):
        raise ShapeError(
            f"Expected tensor to have size {len(lengths)} at dimension 0, but got size {targets.shape[0]} for "
            "argument #2 'targets' (while checking arguments for ctc_loss)"
        )
    elif targets.shape[1] < longest:
        raise ShapeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for "
            "argument #2 'targets' (while checking arguments for ctc_loss)"
        )
    else:
        rows = np.where(there, targets[:, :longest], 0).astype(np.int64)
    if ((rows < 0) | (rows >= classes)).any():
        raise RuntimeError(f"targets must be classes from 0 to {classes - 1}")
    return rows


@public("ctc_loss")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss` with a number for `reduction`."""
    if autocasting_on_cpu():
        return in_float32(
            ctc_loss, log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
        )
    if differ(targets, input_lengths, target_lengths):
        lengths = input_lengths, target_lengths
        found: Tensor = UPWARD.by_sample(
            ctc_loss, log_probs, targets, *lengths, blank, reduction, zero_infinity
        )
        return found
    logs = require_tensor("ctc_loss", "log_probs", 1, log_probs)
    t = on_host(require_tensor("ctc_loss", "targets", 2, targets))
    _check_kinds((input_lengths, target_lengths), blank, zero_infinity)
    single = logs.array.ndim == 2
    logs = logs.unsqueeze(1) if single else logs
    _check_logs(logs.array, blank)
    time, batch, classes = logs.array.shape
    sizes = _lengths("input_lengths", input_lengths, batch)
    target_sizes = _lengths("target_lengths", target_lengths, batch)
    rows = _rows(t, target_sizes, classes)
    _check_lengths(sizes, time)
    op = CtcLoss(rows, sizes, target_sizes, blank, bool(zero_infinity))
    # The formula has its own form of the targets, but to overwrite them is as wrong as in PyTorch.
    op.constants = (constant_of(targets),)
    losses = apply_n(op, (logs,))
    if zero_infinity:
        losses = Where().on(losses.array == np.inf, 0.0, losses)
    if reduction == MEAN:
        losses = losses / as_constant(np.maximum(target_sizes, 1).astype(losses.array.dtype), losses)
    result: Tensor = losses.squeeze(0) if single and not reduction else reduced(losses, reduction)
    return result


def _check_logs(logs: Array, blank: Any) -> None:
    """There are classes at every time of every sequence, and the blank is one of them."""
    if logs.ndim != 3:
        raise ShapeError(
            f"Expected 3-dimensional tensor, but got {logs.ndim}-dimensional tensor for argument #1 'log_probs' "
            "(while checking arguments for ctc_loss)"
        )
    if not logs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    classes = logs.shape[2]
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, from 0 to {classes - 1}, not {blank}")


@public("nn.functional.ctc_loss")
def functional_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of label sequences, summed over all alignments with the input.

    Args:
        log_probs: logarithms of probabilities, of shape (T, N, C) or (T, C): the result of `log_softmax`.
        targets: labels, of shape (N, S), or all in one line.
        input_lengths, target_lengths: how much of each row counts.
        blank: the class that stands for no label.
        reduction: "mean" divides each loss by the length of its target first.
        zero_infinity: whether losses of targets that do not fit into their input are 0.

    >>> import retrograd as rg
    >>> logs = rg.full((2, 1, 3), 1 / 3).log()
    >>> rg.nn.functional.ctc_loss(logs, rg.tensor([[1]]), (2,), (1,), reduction="none")
    tensor([1.0986])
    """
    code = reduction_code(reduction)
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, code, zero_infinity)
