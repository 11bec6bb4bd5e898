"""Rows of recurrent networks and their cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import retrograd as rg
from tests.ops.case import Case
from tests.ops.cases_network import near
from tests.ops.samples import call_with, distinct, positive

EXCUSES = {
    "complex": "a composition of other ops; see tests/nn/test_recurrent.py",
    "name": "PyTorch's has a node for each time, or one of oneDNN",
}
CELL = {**EXCUSES, "jvp": "its node is that of a layer, and gives the outputs of all times, too"}
sigmoid = scipy.special.expit
SIZES = np.array([2, 2, 1])
Step = Callable[..., Any]


def lstm_step(x: Any, state: Any, w: Any, v: Any, b: Any, d: Any, r: Any = None) -> Any:
    h, c = state
    i, f, g, o = np.split(x @ w.T + b + h @ v.T + d, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (h if r is None else h @ r.T), c


def gru_step(x: Any, state: Any, w: Any, v: Any, b: Any, d: Any) -> Any:
    (h,) = state
    (xr, xk, xn), (hr, hk, hn) = np.split(x @ w.T + b, 3, -1), np.split(h @ v.T + d, 3, -1)
    keep, new = sigmoid(xk + hk), np.tanh(xn + sigmoid(xr + hr) * hn)
    return ((1 - keep) * new + keep * h,)


def tanh_step(x: Any, state: Any, w: Any, v: Any, b: Any, d: Any) -> Any:
    return (np.tanh(x @ w.T + b + state[0] @ v.T + d),)


def relu_step(x: Any, state: Any, w: Any, v: Any, b: Any, d: Any) -> Any:
    return (np.maximum(x @ w.T + b + state[0] @ v.T + d, 0),)


def by_time(step: Step, x: Any, state: tuple[Any, ...], weights: Any) -> tuple[Any, tuple[Any, ...]]:
    """The outputs of all times, and the last states; x is a list of what comes in at each time."""
    outs = []
    for each in x:
        n = len(each)
        new = step(each, [s[0, :n] for s in state], *weights)
        state = tuple(np.concatenate([a, s[0, n:]])[None] for a, s in zip(new, state, strict=True))
        outs.append(new[0])
    return np.concatenate(outs), state


def in_rows(step: Step, count: int, x: Any, *rest: Any) -> Any:
    """The results of a network with so many states."""
    out, states = by_time(step, list(x), rest[:count], rest[count:])
    return out.reshape(*x.shape[:2], -1), *states


def in_packs(x: Any, *rest: Any) -> Any:
    """Those of an LSTM for sequences of different length."""
    out, states = by_time(lstm_step, np.split(x, np.cumsum(SIZES)[:-1]), rest[:2], rest[2:])
    return out, *states


def both_ways(x: Any, h: Any, *weights: Any) -> Any:
    out, last = in_rows(gru_step, 1, x, h[:1], *weights[:4])
    back, first = in_rows(gru_step, 1, x[::-1], h[1:], *weights[4:])
    return np.concatenate([out, back[::-1]], -1), np.concatenate([last, first])


def weights(gates: int, out: int = 2, features: int = 3) -> tuple[tuple[int, ...], ...]:
    return ((2 * gates, features), (2 * gates, out), (2 * gates,), (2 * gates,))


X, H = (3, 2, 3), (1, 2, 2)
ONE = (True, 1, 0.0, False, False)  # with biases, one layer, no dropout, not training, one direction
BOTH = (True, 1, 0.0, False, True)

RECURRENT = (
    Case("lstm", (call_with(X, H, H, *weights(4)), call_with((1, 2, 3), H, H, *weights(4)),
                  call_with(X, H, H, *weights(4), layout="transposed")),
         lambda *xs: in_rows(lstm_step, 2, *xs), distinct, EXCUSES,
         lambda x, h, c, *w: rg.lstm(x, (h, c), w, *ONE, False)),
    Case("lstm", (call_with((5, 3), (1, 2, 1), H, *weights(4, 1), (1, 2)),),
         in_packs, distinct, EXCUSES,
         lambda x, h, c, *w: rg.lstm(x, near(SIZES, x), (h, c), w, *ONE), "packed, projected"),
    Case("gru", (call_with(X, H, *weights(3)), call_with((1, 2, 3), H, *weights(3))),
         lambda *xs: in_rows(gru_step, 1, *xs), distinct, EXCUSES,
         lambda x, h, *w: rg.gru(x, h, w, *ONE, False)),
    Case("gru", (call_with((2, 2, 3), (2, 2, 2), *weights(3), *weights(3)),), both_ways, distinct,
         {**EXCUSES, "jvp": "a node for each direction"},
         lambda x, h, *w: rg.gru(x, h, w, *BOTH, False), "both directions"),
    Case("rnn_tanh", (call_with(X, H, *weights(1)),), lambda *xs: in_rows(tanh_step, 1, *xs), distinct, EXCUSES,
         lambda x, h, *w: rg.rnn_tanh(x, h, w, *ONE, False)),
    Case("rnn_relu", (call_with(X, H, *weights(1)),), lambda *xs: in_rows(relu_step, 1, *xs), positive, EXCUSES,
         lambda x, h, *w: rg.rnn_relu(x, h, w, *ONE, False)),
    Case("lstm_cell", (call_with((2, 3), (2, 2), (2, 2), *weights(4)),),
         lambda x, h, c, *w: lstm_step(x, (h, c), *w), distinct, CELL,
         lambda x, h, c, *w: rg.lstm_cell(x, (h, c), *w)),
    Case("gru_cell", (call_with((2, 3), (2, 2), *weights(3)),), lambda x, h, *w: gru_step(x, (h,), *w)[0], distinct,
         CELL),
    Case("rnn_tanh_cell", (call_with((2, 3), (2, 2), *weights(1)),), lambda x, h, *w: tanh_step(x, (h,), *w)[0],
         distinct, CELL),
    Case("rnn_relu_cell", (call_with((2, 3), (2, 2), *weights(1)),), lambda x, h, *w: relu_step(x, (h,), *w)[0],
         positive, CELL),
)  # fmt: skip
