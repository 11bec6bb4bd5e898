"""Recurrent networks: RNN, LSTM, GRU, with layers, both directions, and sequences of different length."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from retrograd.core.autocast import autocasting
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.nn import init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.nn.utils.rnn import PackedSequence
from retrograd.ops.nn.recurrent import gru, lstm, rnn_relu, rnn_tanh
from retrograd.ops.tensor.create import empty

State = tuple[Tensor, ...]  # what is kept from time to time: the hidden state, and an LSTM's cell

_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
_FUNCTIONS: dict[str, Any] = {"RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu, "LSTM": lstm, "GRU": gru}


class RNNBase(Module):
    """What recurrent networks share: their parameters, and how layers and directions are put together.

    The parameters of layer k are `weight_ih_l{k}`, `weight_hh_l{k}`, `bias_ih_l{k}`, `bias_hh_l{k}` and, with
    projections, `weight_hr_l{k}`; those of the other direction end in `_reverse`.
    """

    mode: str
    _added_later: ClassVar[dict[str, Any]] = {"proj_size": 0}

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_options(mode, dropout, num_layers)
        _check_type("bias", bias, bool)
        _check_type("batch_first", batch_first, bool)
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        for layer in range(num_layers):
            for suffix in self._suffixes():
                for name, shape in self._shapes(layer).items():
                    made = Parameter(empty(shape, device=device, dtype=dtype))
                    setattr(self, f"{name}_l{layer}{suffix}", made)
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _suffixes(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The parameters of a layer in one direction."""
        rows, out = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        width = self.input_size if layer == 0 else out * len(self._suffixes())
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
        if self.bias:
            shapes.update(bias_ih=(rows,), bias_hh=(rows,))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def reset_parameters(self) -> None:
        """Draws new initial values, uniform within 1 over the root of the hidden size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """PyTorch moves the weights together for the GPU; there is nothing to do here."""

    @property
    def _all_weights(self) -> list[list[str]]:
        return [
            [f"{name}_l{layer}{suffix}" for name in self._shapes(layer)]
            for layer in range(self.num_layers)
            for suffix in self._suffixes()
        ]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    def extra_repr(self) -> str:
        """What is printed of it."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    # -- the computation -----------------------------------------------------------------------------------------

    def _run(self, input: Any, states: State | None) -> tuple[Any, State]:
        """The outputs of the last layer, and the last states of all layers and directions."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, states)
        if input.dim() not in (2, 3):
            what = "tensor " if self.mode.startswith("RNN") else ""
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D {what}instead"
            )
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            states = None if states is None else tuple(s.unsqueeze(1) for s in states)
        states = self._zeros(input, None) if states is None else states
        self.check_forward_args(input, self._as_hx(states), None)
        out, *last = self._call(input, *self._arguments(states), self.batch_first)
        if batched:
            return out, tuple(last)
        return out.squeeze(0 if self.batch_first else 1), tuple(s.squeeze(1) for s in last)

    def _run_packed(self, packed: PackedSequence, states: State | None) -> tuple[PackedSequence, State]:
        data, sizes = packed.data, packed.batch_sizes
        if states is None:
            states = self._zeros(data, sizes)
        else:
            states = self._permuted(states, packed.sorted_indices)
        self.check_forward_args(data, self._as_hx(states), sizes)
        out, *last = self._call(data, sizes, *self._arguments(states))
        outputs = PackedSequence(out, sizes, packed.sorted_indices, packed.unsorted_indices)
        return outputs, self._permuted(tuple(last), packed.unsorted_indices)

    def _call(self, *args: Any) -> Any:
        return _FUNCTIONS[self.mode](*args)

    def _arguments(self, states: State) -> tuple[Any, ...]:
        """Those that the function has in both of its forms."""
        return (
            self._as_hx(states),
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )

    def _as_hx(self, states: State) -> Any:
        """States as a program gives them: a tensor, or an LSTM's two."""
        return states if self.mode == "LSTM" else states[0]

    def _permuted(self, states: State, order: Tensor | None) -> State:
        found = self.permute_hidden(self._as_hx(states), order)
        return found if self.mode == "LSTM" else (found,)

    def _zeros(self, input: Tensor, batch_sizes: Tensor | None) -> State:
        """The first states, if none are given."""
        shapes = [self.get_expected_hidden_size(input, batch_sizes)]
        if self.mode == "LSTM":
            shapes.append(self.get_expected_cell_size(input, batch_sizes))
        return tuple(input.new_zeros(shape) for shape in shapes)

    # -- checks, by PyTorch's names, under which subclasses call and override them ---------------------------------

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden states."""
        count, batch, size = self.get_expected_cell_size(input, batch_sizes)
        return count, batch, self.proj_size or size

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of an LSTM's cells."""
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuses an input of another dtype, rank or number of features."""
        dtype, rank = self.weight_ih_l0.dtype, 3 if batch_sizes is None else 2
        if input.dtype != dtype and not autocasting():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, ...], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Refuses a state of another shape."""
        if hx.shape != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuses an input and states that do not fit."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if self.mode == "LSTM":
            self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
            expected = self.get_expected_cell_size(input, batch_sizes)
            self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")
        else:
            self.check_hidden_size(hidden, expected)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """States in another order of their samples."""
        if permutation is None:
            return hx
        if self.mode == "LSTM":
            return tuple(state.index_select(1, permutation) for state in hx)
        return hx.index_select(1, permutation)

    def _check_unbatched(self, input: Any, states: State, names: str) -> None:
        if isinstance(input, PackedSequence):
            return
        wanted, kind = (3, "batched 3-D") if input.dim() == 3 else (2, "unbatched 2-D")
        if any(s.dim() != wanted for s in states):
            found = ", ".join(f"{s.dim()}-D" for s in states)
            what = f"{found} tensor" if len(states) == 1 else f"({found}) tensors"
            raise RuntimeError(f"For {kind} input, {names} should also be {wanted}-D but got {what}")


def _check_options(mode: str, dropout: Any, num_layers: Any) -> None:
    if mode not in _GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")
    if isinstance(dropout, bool) or not 0 <= float(dropout) <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if float(dropout) > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            UserWarning,
        )


def _check_type(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")


def _check_sizes(input_size: int, hidden_size: int, num_layers: int, proj_size: int) -> None:
    for name, size in (
        ("input_size", input_size),
        ("hidden_size", hidden_size),
        ("num_layers", num_layers),
    ):
        _check_type(name, size, int)
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _only_lstm_projects(options: dict[str, Any]) -> None:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """A recurrent network: h = tanh(W_ih x + b_ih + W_hh h + b_hh), from time to time.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: how many networks are stacked, each on the outputs of the one before.
        nonlinearity: "tanh" or "relu".
        bias: whether there are biases.
        batch_first: whether the input is (batch, time, feature), not (time, batch, feature).
        dropout: of the outputs between layers.
        bidirectional: whether there is a second network that begins at the end.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> out, h = rg.nn.RNN(3, 4, num_layers=2)(rg.ones(5, 1, 3))
    >>> out.shape, h.shape
    (torch.Size([5, 1, 4]), torch.Size([2, 1, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        _only_lstm_projects(options)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
            **options,
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The outputs of all times, and the last state; `hx` is the first one, by default zeros."""
        if hx is not None:
            self._check_unbatched(input, (hx,), "hx")
        out, last = self._run(input, None if hx is None else (hx,))
        return out, last[0]


class LSTM(RNNBase):
    """A network with long and short memory: gates say what comes in, what is forgotten and what goes out.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype: as RNN has them.
        proj_size: to how many features the outputs are projected; 0 for no projection.

    >>> import retrograd as rg
    >>> out, (h, c) = rg.nn.LSTM(3, 4, bidirectional=True)(rg.ones(5, 2, 3))
    >>> out.shape, h.shape, c.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 2, 4]), torch.Size([2, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """The outputs of all times, and the last hidden state and cell; `hx` are the first ones, by default zeros."""
        if hx is not None:
            self._check_unbatched(input, hx, "hx and cx")
        out, last = self._run(input, hx)
        return out, (last[0], last[1])


class GRU(RNNBase):
    """A network with gates that say what of the state is reset and what is kept.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype: as RNN has them.

    >>> import retrograd as rg
    >>> out, h = rg.nn.GRU(3, 4, batch_first=True)(rg.ones(2, 5, 3))
    >>> out.shape, h.shape
    (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        _only_lstm_projects(options)
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
            **options,
        )

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The outputs of all times, and the last state; `hx` is the first one, by default zeros."""
        if hx is not None:
            self._check_unbatched(input, (hx,), "hx")
        out, last = self._run(input, None if hx is None else (hx,))
        return out, last[0]
