"""One layer of a recurrent network, in one direction: a step for each time, over batches that may shrink.

Sequences of different length lie as PackedSequence has them: `data` holds the rows of all samples of the first time,
then those of the samples that are still going at the second, and so on; `sizes` says how many they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.ops.shape.join import cat

State = tuple[Tensor, ...]  # what is kept from time to time: the hidden state, and an LSTM's cell


class Weights(NamedTuple):
    """The parameters of one layer in one direction, under PyTorch's names; None for those that are not there."""

    ih: Any
    hh: Any
    bias_ih: Any = None
    bias_hh: Any = None
    hr: Any = None


Step = Callable[[Tensor, State, Weights], State]


def tanh_step(x: Tensor, state: State, w: Weights) -> State:
    """A step of a plain network; `x` is the projected input."""
    return ((x + F.linear(state[0], w.hh, w.bias_hh)).tanh(),)


def relu_step(x: Tensor, state: State, w: Weights) -> State:
    """A step of a plain network that rectifies."""
    return ((x + F.linear(state[0], w.hh, w.bias_hh)).relu(),)


def lstm_step(x: Tensor, state: State, w: Weights) -> State:
    """A step of an LSTM: gates for what comes in, what is forgotten, what is new, and what goes out."""
    h, c = state
    i, f, g, o = (x + F.linear(h, w.hh, w.bias_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w.hr is None else F.linear(h, w.hr)), c


def gru_step(x: Tensor, state: State, w: Weights) -> State:
    """A step of a GRU: gates for what is reset and what is kept."""
    (h,) = state
    x_reset, x_keep, x_new = x.chunk(3, -1)
    h_reset, h_keep, h_new = F.linear(h, w.hh, w.bias_hh).chunk(3, -1)
    keep = (x_keep + h_keep).sigmoid()
    new = (x_new + (x_reset + h_reset).sigmoid() * h_new).tanh()
    return ((h - new) * keep + new,)


STEPS: dict[str, Step] = {"RNN_TANH": tanh_step, "RNN_RELU": relu_step, "LSTM": lstm_step, "GRU": gru_step}


def one_step(mode: str, input: Tensor, state: State, w: Weights) -> State:
    """A step from the input itself: what a cell does."""
    return STEPS[mode](F.linear(input, w.ih, w.bias_ih), state, w)


def run_forward(
    mode: str, data: Tensor, sizes: Sequence[int], state: State, w: Weights
) -> tuple[Tensor, State]:
    """The hidden states of all times, and the last state of each sample, from the first time to the last."""
    step, outs = STEPS[mode], []
    ended: list[State] = []  # the last states of samples that have ended, those of the shortest first
    for x in F.linear(data, w.ih, w.bias_ih).split(list(sizes)):
        size, going = x.shape[0], state[0].shape[0]
        if size < going:
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(x, state, w)
        outs.append(state[0])
    if ended:
        state = tuple(cat(parts) for parts in zip(state, *reversed(ended), strict=True))
    return cat(outs), state


def run_backward(
    mode: str, data: Tensor, sizes: Sequence[int], state: State, w: Weights
) -> tuple[Tensor, State]:
    """The same from the last time to the first: the shorter a sample, the later it begins."""
    step, outs, first = STEPS[mode], [], state
    state = tuple(s[: sizes[-1]] for s in first)
    for x in reversed(F.linear(data, w.ih, w.bias_ih).split(list(sizes))):
        size, going = x.shape[0], state[0].shape[0]
        if size > going:
            state = tuple(cat([s, f[going:size]]) for s, f in zip(state, first, strict=True))
        state = step(x, state, w)
        outs.append(state[0])
    return cat(outs[::-1]), state
