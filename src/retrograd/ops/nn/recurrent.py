"""Recurrent networks and their cells: layers and directions, and sequences of different length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, overload

from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.core.apply import apply_n
from retrograd.core.autocast import autocasting, autocasting_on_gpu, lowered
from retrograd.core.tensor import Tensor
from retrograd.errors import (
    DimensionError,
    DtypeError,
    OperandError,
    ShapeError,
    sizes,
    type_name,
)
from retrograd.ops.common import number_from, optional_tensor, require_tensor
from retrograd.ops.nn.activation import dropout as drop
from retrograd.ops.nn.recurrent_layer import GruLayer, LstmLayer, RnnReluLayer, RnnTanhLayer
from retrograd.ops.register import public
from retrograd.ops.shape.join import cat
from retrograd.ops.shape.reshape import integer

PADDED = (
    "input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first",
)  # fmt: skip
PACKED = ("data", "batch_sizes", *PADDED[1:-1])


class RecurrentNetwork(NamedTuple):
    """A recurrent network apart from its tensors."""

    function: str
    layer: Any  # the class of a layer
    has_biases: bool
    directions: int
    num_layers: int
    dropout: float
    train: bool

    def states(self, hx: Any) -> list[Tensor]:
        """The first states: the hidden one, and an LSTM's cell."""
        wanted = 2 if self.layer is LstmLayer else 1
        found = list(hx) if wanted == 2 else [hx]
        if len(found) != wanted:
            raise RuntimeError(f"{self.function} expects two hidden states")
        for state in found:
            if require_tensor(self.function, "hx", 2, state).array.ndim != 3:
                raise DimensionError(
                    f"{self.function}: states have three dimensions (layers times directions, batch, features), but "
                    f"one of shape {sizes(state.array.shape)} was given"
                )
        return found

    def weights(self, params: Sequence[Any], is_projected: bool) -> list[list[Any]]:
        """(weight_ih, weight_hh, bias_ih, bias_hh, weight_hr) for each layer and direction; None for missing ones."""
        each, wanted = (4 if self.has_biases else 2) + is_projected, self.num_layers * self.directions
        if len(params) != each * wanted:
            raise RuntimeError(
                f"{self.function}: got an incorrect number of RNN parameters: {len(params)}, where {wanted} layers and "
                f"directions have {each} each"
            )
        groups = [list(params[i * each : (i + 1) * each]) for i in range(wanted)]
        biases = [] if self.has_biases else [None, None]
        return [[*g[:2], *biases, *g[2:], *([] if is_projected else [None])] for g in groups]

    def run(self, data: Tensor, counts: tuple[int, ...], hx: Any, params: Any) -> tuple[Any, ...]:
        """The outputs of the last layer, and the last states of all layers and directions."""
        states, total = self.states(hx), self.num_layers * self.directions
        h, c = states[0], states[-1]
        groups = self.weights(params, h.array.shape[2] != c.array.shape[2])
        for state in states:
            if state.array.shape[:2] != (total, counts[0]):
                raise ShapeError(
                    f"{self.function}: Expected hidden states of {total} layers times directions and {counts[0]} "
                    f"samples, but got one of shape {sizes(state.array.shape)}"
                )
        ends: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if self.dropout and layer:
                data = drop(data, self.dropout, self.train)
            outs = []
            for direction in range(self.directions):
                i = layer * self.directions + direction
                before = states if total == 1 else [s.narrow(0, i, 1) for s in states]
                out, *end = recurrence(
                    self.function, self.layer(counts, direction == 1), data, before, groups[i]
                )
                outs.append(out)
                ends.append(tuple(end))
            data = outs[0] if len(outs) == 1 else cat(outs, -1)
        if total == 1:
            return data, *ends[0]
        return data, *[cat(parts) for parts in zip(*ends, strict=True)]


def recurrence(function: str, op: Any, data: Tensor, states: Sequence[Tensor], weights: Sequence[Any]) -> Any:
    """What a layer makes of its input, states and weights, whose shapes and dtypes are looked at here."""
    h, c = states[0], states[1] if len(states) == 2 else None
    xs = (data, h, c, *weights)
    _check_shapes(function, op, xs)
    if autocasting():
        return op.run(xs)[0]  # a formula that records itself, whose products are in lower precision
    dtype = data.array.dtype
    for x in xs:
        if x is not None and x.array.dtype is not dtype and x.array.dtype != dtype:
            raise DtypeError(
                f"{function}: mat1 and mat2 must have the same dtype, but got {SCALAR_NAMES[dtype]} and "
                f"{SCALAR_NAMES[x.array.dtype]}. Convert one of them."
            )
    if dtype.char in "fd":
        return apply_n(op, xs)
    if dtype.kind not in "fc" and op.count > 1:
        raise DtypeError(
            f"{function}: result type Float can't be cast to the desired output type {SCALAR_NAMES[dtype]}"
        )
    return op.run(xs)[0]  # half precision and complex numbers: a formula that records itself


def _check_shapes(function: str, op: Any, xs: Sequence[Any]) -> None:
    shapes: list[Any] = [None if x is None else x.array.shape for x in xs]
    data, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = shapes
    width = h[-1] if c is None else c[-1]
    wanted = {
        "weight_ih": (w_ih, (op.count * width, data[-1])),
        "weight_hh": (w_hh, (op.count * width, h[-1])),
        "bias_ih": (b_ih, (op.count * width,)),
        "bias_hh": (b_hh, (op.count * width,)),
        "weight_hr": (w_hr, (h[-1], width)),
    }
    for name, (found, shape) in wanted.items():
        if found is not None and found != shape:
            raise ShapeError(
                f"{function}: {name} of shape {sizes(found)} does not fit: for an input of {data[-1]} features and "
                f"a state of {width} it has shape {sizes(shape)}"
            )


def _arguments(
    function: str, args: Sequence[Any], options: dict[str, Any], hx_is_tensor: bool
) -> dict[str, Any]:
    """The arguments by name. Sequences of different length are known by `batch_sizes`, a tensor in the second place."""
    place = 2 if hx_is_tensor else 1  # where a tensor stands only if `batch_sizes` was put before it
    is_packed = "batch_sizes" in options or (len(args) > place and isinstance(args[place], Tensor))
    names = PACKED if is_packed else PADDED
    found = dict(zip(names, args, strict=False))
    if len(args) == len(names) and not options:
        return found
    if len(args) > len(names) or found.keys() & options.keys() or {*found, *options} != {*names}:
        given = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in options.items()])
        raise OperandError(
            f"{function}() received an invalid combination of arguments - got ({given}), but expected "
            f"({', '.join(PADDED)}) or ({', '.join(PACKED)})"
        )
    return {**found, **options}


def _network(function: str, layer: Any, args: Sequence[Any], options: dict[str, Any]) -> tuple[Any, ...]:
    """What the functions below have in common."""
    if autocasting() and (layer is LstmLayer or (args and autocasting_on_gpu(args[0]))):
        return lowered(_network, function, layer, args, options)
    given = _arguments(function, args, options, layer is not LstmLayer)
    hx, params = given["hx"], given["params"]
    if isinstance(hx, Tensor) == (layer is LstmLayer) or not isinstance(params, (tuple, list)):
        wanted = "tuple of Tensors" if layer is LstmLayer else "Tensor"
        raise OperandError(
            f"{function}(): argument 'hx' must be {wanted} and 'params' tuple of Tensors, not {type_name(hx)} and "
            f"{type_name(params)}"
        )
    p = float(number_from(function, "dropout", 6, given["dropout"]))
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    directions, count = 2 if given["bidirectional"] else 1, integer(given["num_layers"])
    if count < 1:
        raise RuntimeError(f"{function}: Expected one layer or more, got num_layers={count}")
    network = RecurrentNetwork(
        function, layer, bool(given["has_biases"]), directions, count, p, bool(given["train"])
    )
    if "data" in given:
        return _packed(network, given["data"], given["batch_sizes"], hx, params)
    x = require_tensor(function, "input", 1, given["input"])
    if x.array.ndim != 3:
        raise ShapeError(
            f"{function}: the input has three dimensions (times, batch, features), but one of shape "
            f"{sizes(x.array.shape)} was given"
        )
    x = x.transpose(0, 1) if given["batch_first"] else x
    times, batch = x.array.shape[:2]
    if not times:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    out, *states = network.run(x, (batch,) * times, hx, params)
    return out.transpose(0, 1) if given["batch_first"] else out, *states


def _packed(network: RecurrentNetwork, data: Any, batch_sizes: Any, hx: Any, params: Any) -> tuple[Any, ...]:
    """Sequences of different length: see Note [Recurrent layers]."""
    x = require_tensor(network.function, "data", 1, data)
    counted = require_tensor(network.function, "batch_sizes", 2, batch_sizes)
    if counted.dtype.itemsize != 8 or counted.array.dtype.kind != "i":
        raise DtypeError(
            f"{network.function}: expected scalar type Long but found {SCALAR_NAMES[counted.array.dtype]} "
            "for batch_sizes"
        )
    counts = tuple(counted.reshape(-1).tolist())
    if not counts:
        raise ValueError(f"{network.function}: batch_sizes is empty: there is no time to run over")
    if counts[-1] < 0 or any(n < more for n, more in pairwise(counts)):
        raise RuntimeError(f"{network.function}: batch_sizes must not grow, but they are {list(counts)}")
    total = sum(counts)
    if x.array.ndim != 2 or x.array.shape[0] < total:
        raise ShapeError(
            f"{network.function}: batch_sizes are those of {total} rows, but data has shape {sizes(x.array.shape)}"
        )
    return network.run(x if x.array.shape[0] == total else x.narrow(0, 0, total), counts, hx, params)


# -- functions -----------------------------------------------------------------------------------------------------


@overload
def lstm(
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]: ...


@overload
def lstm(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]: ...


@public("lstm")
def lstm(*args: Any, **options: Any) -> tuple[Tensor, Tensor, Tensor]:
    """A network with long and short memory: its outputs, and its last hidden state and cell.

    Called as `lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or, for
    sequences of different length, as `lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional)`, where `data` and `batch_sizes` are those of a `PackedSequence`. `nn.LSTM` is handier.

    Args:
        input: of shape (times, batch, features), or (batch, times, features) if `batch_first`.
        hx: the first hidden state and cell, of shape (layers times directions, batch, features).
        params: weight_ih, weight_hh and, if `has_biases`, bias_ih and bias_hh, for each layer and direction; where the
            hidden state has other features than the cell, also weight_hr, by which it is projected.
        dropout: the probability with which elements between layers are zeroed, if `train`.

    >>> import retrograd as rg
    >>> w, v, h = rg.zeros(8, 3), rg.zeros(8, 2), rg.ones(1, 1, 2)
    >>> out, h, c = rg.lstm(rg.ones(4, 1, 3), (h, h), (w, v), False, 1, 0.0, False, False, False)
    >>> out.shape, c
    (torch.Size([4, 1, 2]), tensor([[[0.0625, 0.0625]]]))
    """
    out, h, c = _network("lstm", LstmLayer, args, options)
    return out, h, c


@overload
def gru(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]: ...


@overload
def gru(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor]: ...


@public("gru")
def gru(*args: Any, **options: Any) -> tuple[Tensor, Tensor]:
    """A network with gates that say what of the state is reset and kept: its outputs, and its last state.

    The arguments are those of `lstm`, but `hx` is one tensor, and there are no projections.

    >>> import retrograd as rg
    >>> w, v, h = rg.zeros(6, 3), rg.zeros(6, 2), rg.ones(1, 1, 2)
    >>> rg.gru(rg.ones(4, 1, 3), h, (w, v), False, 1, 0.0, False, False, False)[1]
    tensor([[[0.0625, 0.0625]]])
    """
    out, h = _network("gru", GruLayer, args, options)
    return out, h


@overload
def rnn_tanh(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]: ...


@overload
def rnn_tanh(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor]: ...


@public("rnn_tanh")
def rnn_tanh(*args: Any, **options: Any) -> tuple[Tensor, Tensor]:
    """A plain recurrent network, h = tanh(W x + V h + b): its outputs, and its last state.

    The arguments are those of `gru`.
    """
    out, h = _network("rnn_tanh", RnnTanhLayer, args, options)
    return out, h


@overload
def rnn_relu(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]: ...


@overload
def rnn_relu(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor]: ...


@public("rnn_relu")
def rnn_relu(*args: Any, **options: Any) -> tuple[Tensor, Tensor]:
    """A plain recurrent network that rectifies, h = relu(W x + V h + b): its outputs, and its last state.

    The arguments are those of `gru`.
    """
    out, h = _network("rnn_relu", RnnReluLayer, args, options)
    return out, h


# -- cells ---------------------------------------------------------------------------------------------------------


def _cell(
    function: str, layer: Any, input: Any, states: Sequence[Any], weights: Sequence[Any]
) -> tuple[Tensor, ...]:
    """The states after one time."""
    if autocasting_on_gpu(input):
        return lowered(_cell, function, layer, input, states, weights)
    x = require_tensor(function, "input", 1, input)
    for state in states:
        require_tensor(function, "hx", 2, state)
    for weight, name in zip(weights[:2], ("w_ih", "w_hh"), strict=True):
        require_tensor(function, name, 3, weight)
    for i, bias in enumerate(weights[2:]):
        optional_tensor(function, ("b_ih", "b_hh")[i], 5 + i, bias)
    if any(v.array.ndim == 0 for v in (x, *states, *weights[:2])):
        raise DimensionError(
            f"Dimension specified as 1 but tensor has no dimensions: {function} takes an input, states and weights of "
            "two dimensions each"
        )
    if x.array.ndim == 1:
        raise DimensionError(
            f"{function}: the input has two dimensions (batch, features), but it is a vector. "
            "Give it a batch of one: input.unsqueeze(0)"
        )
    _check_cell(x.array.shape, [s.array.shape for s in states], [w.array.shape for w in weights[:2]], layer)
    results = recurrence(function, layer((x.array.shape[0],), False), x, states, (*weights, None))
    found: tuple[Tensor, ...] = results[1:]
    return found


def _check_cell(x: Any, states: Any, weights: Any, layer: Any) -> None:
    (w_ih, w_hh) = weights
    if len(w_ih) != 2 or x[1] != w_ih[1]:
        raise ShapeError(f"input has inconsistent input_size: got {x[1]} expected {w_ih[-1]}")
    for i, state in enumerate(states):
        if state[0] != x[0] or len(state) != 2:
            raise ShapeError(f"Input batch size {x[0]} doesn't match hidden{i} batch size {state[0]}")
        if state[1] != w_hh[-1]:
            raise ShapeError(f"hidden{i} has inconsistent hidden_size: got {state[1]}, expected {w_hh[-1]}")
    if w_ih[0] != layer.count * w_hh[-1]:
        raise ShapeError(
            f"weight_ih first dim must be {layer.count} * hidden_size = {layer.count * w_hh[-1]}, but got {w_ih[0]}"
        )


@public("lstm_cell")
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the next hidden state and cell.

    Args:
        input: of shape (batch, features).
        hx: the hidden state and the cell before, of shape (batch, features of the state).
        w_ih, w_hh, b_ih, b_hh: the weights, four blocks of rows one above the other; biases may be left out.

    >>> import retrograd as rg
    >>> h, c = rg.lstm_cell(rg.ones(1, 3), (rg.ones(1, 2), rg.ones(1, 2)), rg.zeros(8, 3), rg.zeros(8, 2))
    >>> c
    tensor([[0.5000, 0.5000]])
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    h, c = _cell("lstm_cell", LstmLayer, input, hx, (w_ih, w_hh, b_ih, b_hh))
    return h, c


@public("gru_cell")
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a GRU: the next state. The arguments are those of `lstm_cell`, but `hx` is one tensor."""
    return _cell("gru_cell", GruLayer, input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]


@public("rnn_tanh_cell")
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a plain recurrent network: tanh(w_ih input + b_ih + w_hh hx + b_hh), the arguments being as above.

    >>> import retrograd as rg
    >>> rg.rnn_tanh_cell(rg.ones(1, 3), rg.zeros(1, 2), rg.ones(2, 3), rg.zeros(2, 2))
    tensor([[0.9951, 0.9951]])
    """
    return _cell("rnn_tanh_cell", RnnTanhLayer, input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]


@public("rnn_relu_cell")
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a plain recurrent network: relu(w_ih input + b_ih + w_hh hx + b_hh), the arguments being as above."""
    return _cell("rnn_relu_cell", RnnReluLayer, input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]
