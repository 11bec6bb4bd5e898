"""One step of a recurrent network: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.nn import init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.nn.recurrent import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from retrograd.ops.tensor.create import empty

State = tuple[Tensor, ...]  # what is kept from time to time: the hidden state, and an LSTM's cell


class RNNCellBase(Module):
    """What cells share: their parameters `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih: Any = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh: Any = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values, uniform within 1 over the root of the hidden size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """What is printed of it."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _next(self, cell: Any, input: Tensor, states: State | None) -> State:
        """What the function `cell` makes of the input and the states before, which are zeros by default."""
        name, is_lstm = type(self).__name__, cell is lstm_cell
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                which = f"hx[{i}]" if is_lstm else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        if states is None:
            states = (input.new_zeros((*input.shape[:-1], self.hidden_size)),) * (2 if is_lstm else 1)
        if not batched:
            input, states = input.unsqueeze(0), tuple(s.unsqueeze(0) for s in states)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        found = cell(input, states, *weights) if is_lstm else (cell(input, states[0], *weights),)
        return found if batched else tuple(s.squeeze(0) for s in found)


class RNNCell(RNNCellBase):
    """A step of a plain recurrent network: tanh(W_ih x + b_ih + W_hh h + b_hh).

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> rg.nn.RNNCell(3, 4)(rg.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        cell = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}.get(self.nonlinearity, self._unknown)
        return self._next(cell, input, None if hx is None else (hx,))[0]

    def _unknown(self, *inputs: Any) -> Any:
        raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """A step of an LSTM. The arguments are those of RNNCell.

    >>> import retrograd as rg
    >>> h, c = rg.nn.LSTMCell(3, 4)(rg.ones(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        """The next hidden state and cell."""
        if isinstance(hx, Tensor):
            if input.dim() == 2:
                raise TypeError(
                    "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor"
                )
            hx = hx.unbind()
        h, c = self._next(lstm_cell, input, hx)
        return h, c


class GRUCell(RNNCellBase):
    """A step of a GRU. The arguments are those of RNNCell.

    >>> import retrograd as rg
    >>> rg.nn.GRUCell(3, 4)(rg.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        return self._next(gru_cell, input, None if hx is None else (hx,))[0]
