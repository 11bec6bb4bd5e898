"""One layer of a recurrent network in one direction, all times of it, as an op.

Note [Recurrent layers]
~~~~~~~~~~~~~~~~~~~~~~~
The rows of a layer's input lie as PackedSequence has them: those of all samples of the first time, then those of the
samples that are still going at the second, and so on; `sizes` says how many they are, and they never grow. A layer that
runs backwards begins with the last time. In either direction the state has a row for each sample, and a time moves the
first so many of them: the others have ended, or have not begun.

A time is the product of the state with a weight, and a few functions of single elements, the cell. A class owes the
cell, its vjp and its jvp; the loops over times are written once. The products with the input, and those that give the
gradients of weights, are one for all times.

What the backward wants to know of the forward is noted on the op, as arrays. Where a backward is recorded, it is
computed again, from the operands, so that it is part of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

from retrograd.backends.base import Backend, common_backend
from retrograd.core.families import added
from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.ops.common import plain, zero_like, zeros_beside
from retrograd.ops.elementwise.choose import Where
from retrograd.ops.elementwise.exponential import Sigmoid
from retrograd.ops.elementwise.trigonometry import Tanh
from retrograd.ops.linalg.addmm import linear
from retrograd.ops.nn.activation import Relu
from retrograd.ops.reduce.sums import SumDim
from retrograd.ops.shape.join import Cat


class Notes(NamedTuple):
    """What the backward wants to know of some rows; None what a kind of network does not have."""

    h: Any  # the state before
    c: Any  # the cell before
    gates: Any  # side by side
    curve: Any  # the tanh of the cell


class RecurrentLayer(Variadic):
    """a layer of a recurrent network in one direction: see Note [Recurrent layers]

    The inputs are (data, h, c, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr), the results (out, h) or (out, h, c).
    """

    keeps: ClassVar[int] = X
    params: ClassVar[tuple[str, ...]] = ("sizes", "reverse")
    kind: ClassVar[int] = 0  # which of the pack's it is
    count: ClassVar[int] = 1  # of the blocks of rows that the weights have
    notes: Notes | None = None

    def __init__(self, sizes: tuple[int, ...], reverse: bool) -> None:
        self.sizes = sizes
        self.reverse = reverse

    # -- the cell ------------------------------------------------------------------------------------------------

    def cell(self, x: Any, q: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        """The state and the cell after a time, its gates and its curve; `x` and `q` are products with weights."""
        raise NotImplementedError(f"{self.name()} has no cell()")

    def cell_vjp(self, g: Any, gc: Any, at: Notes) -> tuple[Any, Any, Any, Any]:
        """The gradients of x, q, h (None if only q has it) and c; an LSTM's `g` is None if only c has a gradient."""
        raise NotImplementedError(f"{self.name()} has no cell_vjp()")

    def cell_jvp(self, tx: Any, tq: Any, th: Any, tc: Any, at: Notes) -> tuple[Any, Any]:
        """The tangents of the state and the cell after a time."""
        raise NotImplementedError(f"{self.name()} has no cell_jvp()")

    # -- all times -----------------------------------------------------------------------------------------------

    def times(self) -> list[slice]:
        """The rows of each time, in the order in which they are computed."""
        found = [slice(end - n, end) for n, end in zip(self.sizes, accumulate(self.sizes), strict=True)]
        return found[::-1] if self.reverse else found

    def in_place(self, parts: list[Any]) -> Any:
        """What was computed time after time, as rows."""
        return Cat(0).on(*(parts[::-1] if self.reverse else parts))

    def forward(self, xp: Backend, xs: Sequence[Any]) -> Any:
        results, noted = xp.recurrence(self, xs)
        self.notes = Notes(*noted)
        return results

    def run(self, xs: Sequence[Any]) -> tuple[tuple[Any, ...], Notes]:
        """The results, and what the backward wants to know."""
        data, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = xs
        x, outs, notes = affine(rows_of(data), w_ih, b_ih), [], []
        h, c = rows_of(h), None if c is None else rows_of(c)
        for time in self.times():
            n = time.stop - time.start
            before, cell = first(h, n), first(c, n)
            new, c_new, gates, curve = self.cell(x[time], affine(before, w_hh, b_hh), before, cell)
            if w_hr is not None:
                new = affine(new, w_hr, None)
            outs.append(new)
            notes.append(Notes(before, cell, gates, curve))
            h, c = followed(new, h, n), followed(c_new, c, n)
        out = self.in_place(outs).reshape((*data.shape[:-1], h.shape[-1]))
        states = [v.reshape(x.shape) for v, x in ((h, xs[1]), (c, xs[2])) if v is not None]
        return (out, *states), Notes(*[self._noted(parts) for parts in zip(*notes, strict=True)])

    def _noted(self, parts: Sequence[Any]) -> Any:
        return None if parts[0] is None else self.in_place(list(parts))

    def noted(self, xp: Backend, xs: Sequence[Any]) -> Notes:
        """What the forward noted, in the form that a formula wants on operands of `xp`."""
        notes = self.notes
        return notes if xp.is_plain and notes is not None else self.run(xs)[1]

    def release(self) -> None:
        super().release()
        self.notes = None

    def vjp(self, gs: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        found: Sequence[Any] = common_backend((*gs, *xs)).recurrence_backward(self, gs, xs)
        return found

    def formula(self, gs: Sequence[Any], xs: Sequence[Any], notes: Notes) -> Sequence[Any]:
        """The gradients of the inputs, from the last time to the first."""
        data, h, c, w_ih, w_hh, _, _, w_hr = xs
        states: list[Any] = [None if g is None else rows_of(g) for g in (*gs, None)[:3]]
        out, gh, gc = states
        given = next(g for g in gs if g is not None)
        nothing = gh is None and out is None  # but for the cell's; 0 would make NaN of infinite numbers
        gh = zeros_beside(given, rows_of(h).shape) if gh is None else gh
        gc = zeros_beside(given, rows_of(c).shape) if gc is None and c is not None else gc
        dxs, dqs, dps = [], [], []
        for time in self.times()[::-1]:
            n = time.stop - time.start
            g = first(gh, n) if out is None else first(gh, n) + out[time]
            dps.append(g)
            up = None if nothing else g if w_hr is None else g @ w_hr
            dx, dq, dh, dc = self.cell_vjp(up, first(gc, n), at(notes, time))
            nothing = False
            gh, gc = followed(added(dh, dq @ w_hh), gh, n), followed(dc, gc, n)
            dxs.append(dx)
            dqs.append(dq)
        dx, dq = self.in_place(dxs[::-1]), self.in_place(dqs[::-1])
        return [
            (dx @ w_ih).reshape(data.shape) if self.needs(0) else None,
            gh.reshape(h.shape) if self.needs(1) else None,
            gc.reshape(c.shape) if self.needs(2) else None,
            dx.swapaxes(0, 1) @ rows_of(data) if self.needs(3) else None,
            dq.swapaxes(0, 1) @ notes.h if self.needs(4) else None,
            SumDim((0,)).on(dx) if self.needs(5) else None,
            SumDim((0,)).on(dq) if self.needs(6) else None,
            self.in_place(dps[::-1]).swapaxes(0, 1) @ self.unprojected(notes) if self.needs(7) else None,
        ]

    def unprojected(self, notes: Notes) -> Any:
        """The states before they are projected."""
        raise NotImplementedError(f"{self.name()} has no projection")

    def jvp(self, ts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Any:
        data, h, c, w_ih, w_hh, _, _, w_hr = xs
        given = next(t for t in ts if t is not None)
        notes = self.noted(common_backend((*ts, *xs)), xs)
        t_data, th, tc, t_ih, t_hh, t_b_ih, t_b_hh, t_hr = [
            zeros_beside(given, x.shape) if t is None and x is not None else t
            for t, x in zip(ts, xs, strict=True)
        ]
        tx = affine(rows_of(t_data), w_ih, t_b_ih) + affine(rows_of(data), t_ih, None)
        th, tc, t_outs = rows_of(th), None if tc is None else rows_of(tc), []
        for time in self.times():
            n, known = time.stop - time.start, at(notes, time)
            tq = affine(first(th, n), w_hh, t_b_hh) + affine(known.h, t_hh, None)
            new, tc_new = self.cell_jvp(tx[time], tq, first(th, n), first(tc, n), known)
            if w_hr is not None:
                new = affine(new, w_hr, None) + affine(self.unprojected(known), t_hr, None)
            t_outs.append(new)
            th, tc = followed(new, th, n), followed(tc_new, tc, n)
        t_out = self.in_place(t_outs).reshape((*data.shape[:-1], h.shape[-1]))
        return (
            (t_out, th.reshape(h.shape)) if tc is None else (t_out, th.reshape(h.shape), tc.reshape(c.shape))
        )


class RnnTanhLayer(RecurrentLayer):
    """a layer of a plain recurrent network: h = tanh(W x + V h + b)"""

    def curve(self, x: Any) -> Any:
        """What becomes of a sum of products."""
        return Tanh().on(x)

    def slope(self, v: Any, out: Any) -> Any:
        """`v` times the derivative of `curve`, where that has given `out`."""
        return v * (1 - out * out)

    def cell(self, x: Any, q: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        out = self.curve(x + q)
        return out, None, out, None

    def cell_vjp(self, g: Any, gc: Any, at: Notes) -> tuple[Any, Any, Any, Any]:
        d = self.slope(g, at.gates)
        return d, d, None, None

    def cell_jvp(self, tx: Any, tq: Any, th: Any, tc: Any, at: Notes) -> tuple[Any, Any]:
        return self.slope(tx + tq, at.gates), None


class RnnReluLayer(RnnTanhLayer):
    """the same with relu instead of tanh"""

    kind: ClassVar[int] = 1

    def curve(self, x: Any) -> Any:
        return Relu().on(x)

    def slope(self, v: Any, out: Any) -> Any:
        return Where().on(~(plain(out) <= 0), v, 0.0)  # NaN passes


class LstmLayer(RecurrentLayer):
    """a layer of an LSTM: gates say what comes in, what is forgotten, what is new and what goes out"""

    kind: ClassVar[int] = 2
    count: ClassVar[int] = 4

    def cell(self, x: Any, q: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        i, f, g, o = blocks(x + q, 4)
        i, f, g, o = Sigmoid().on(i), Sigmoid().on(f), Tanh().on(g), Sigmoid().on(o)
        c = f * c + i * g
        curve = Tanh().on(c)
        return o * curve, c, Cat(1).on(i, f, g, o), curve

    def cell_vjp(self, g: Any, gc: Any, at: Notes) -> tuple[Any, Any, Any, Any]:
        i, f, new, o = blocks(at.gates, 4)
        gc = gc if g is None else gc + g * o * (1 - at.curve * at.curve)
        d_o = zero_like(gc) if g is None else g * at.curve * (o * (1 - o))
        d_new = gc * i * (1 - new * new)
        d = Cat(1).on(gc * new * (i * (1 - i)), gc * at.c * (f * (1 - f)), d_new, d_o)
        return d, d, None, gc * f

    def cell_jvp(self, tx: Any, tq: Any, th: Any, tc: Any, at: Notes) -> tuple[Any, Any]:
        i, f, new, o = blocks(at.gates, 4)
        ti, tf, t_new, to = blocks(tx + tq, 4)
        tc = f * tc + tf * at.c * (f * (1 - f)) + ti * new * (i * (1 - i)) + t_new * i * (1 - new * new)
        return to * at.curve * (o * (1 - o)) + tc * o * (1 - at.curve * at.curve), tc

    def unprojected(self, notes: Notes) -> Any:
        return blocks(notes.gates, 4)[3] * notes.curve


class GruLayer(RecurrentLayer):
    """a layer of a GRU: gates say what of the state is reset and what is kept"""

    kind: ClassVar[int] = 3
    count: ClassVar[int] = 3

    def cell(self, x: Any, q: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        (x_reset, x_keep, x_new), (q_reset, q_keep, q_new) = blocks(x, 3), blocks(q, 3)
        reset, keep = Sigmoid().on(x_reset + q_reset), Sigmoid().on(x_keep + q_keep)
        new = Tanh().on(x_new + reset * q_new)
        return (h - new) * keep + new, None, Cat(1).on(reset, keep, new, q_new), None

    def cell_vjp(self, g: Any, gc: Any, at: Notes) -> tuple[Any, Any, Any, Any]:
        reset, keep, new, q_new = blocks(at.gates, 4)
        d_new = (g - g * keep) * (1 - new * new)
        d_reset, d_keep = d_new * q_new * (reset * (1 - reset)), g * (at.h - new) * (keep * (1 - keep))
        dx, dq = Cat(1).on(d_reset, d_keep, d_new), Cat(1).on(d_reset, d_keep, d_new * reset)
        return dx, dq, g * keep, None

    def cell_jvp(self, tx: Any, tq: Any, th: Any, tc: Any, at: Notes) -> tuple[Any, Any]:
        reset, keep, new, q_new = blocks(at.gates, 4)
        (tx_reset, tx_keep, tx_new), (tq_reset, tq_keep, tq_new) = blocks(tx, 3), blocks(tq, 3)
        t_reset = (tx_reset + tq_reset) * (reset * (1 - reset))
        t_keep = (tx_keep + tq_keep) * (keep * (1 - keep))
        t_new = (tx_new + t_reset * q_new + reset * tq_new) * (1 - new * new)
        return (th - t_new) * keep + (at.h - new) * t_keep + t_new, None


def rows_of(v: Any) -> Any:
    """All dimensions but the last as one."""
    return v if v.ndim == 2 else v.reshape((-1, v.shape[-1]))


def affine(x: Any, weight: Any, bias: Any) -> Any:
    """The product with a weight transposed, plus a bias."""
    if isinstance(x, Tensor):
        return linear(x, weight, bias)
    product = x @ weight.swapaxes(0, 1)
    return product if bias is None else product + bias


def first(v: Any, n: int) -> Any:
    """The first n rows of a state, if there is one."""
    return v if v is None or v.shape[0] == n else v[:n]


def followed(new: Any, v: Any, n: int) -> Any:
    """A state whose first n rows are new."""
    return new if v is None or v.shape[0] == n else Cat(0).on(new, v[n:])


def blocks(v: Any, count: int) -> list[Any]:
    """Columns as several blocks of the same width."""
    width = v.shape[1] // count
    return [v[:, i * width : (i + 1) * width] for i in range(count)]


def at(notes: Notes, time: slice) -> Notes:
    """Those of the rows of a time."""
    return Notes(*[None if v is None else v[time] for v in notes])
