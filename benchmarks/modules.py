"""What a module costs beyond the function that it calls, and its step beside that of PyTorch's module.

A step is a call, the sum of what it gives, and its backward; a training step is a call, a loss, its backward, and that
of the optimiser. All programs run in turns, and the best time counts.

    python benchmarks/modules.py [--only WORD] [--seconds S] [--threads N]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from measuring import clock
from measuring.report import duration

Call = Callable[[Any], Any]


class Case(NamedTuple):
    """A module, the shape of its input, and the function that the module stands for."""

    make: Callable[[Any], Any]
    shape: tuple[int, ...]
    function: Callable[[Any, Any], Call] | None


def of_mlp(lib: Any, m: Any) -> Call:
    F, (w1, b1, w2, b2) = lib.nn.functional, m.parameters()
    return lambda x: F.linear(F.linear(x, w1, b1).tanh(), w2, b2)


def of_linear(lib: Any, m: Any) -> Call:
    linear, w, b = lib.nn.functional.linear, m.weight, m.bias
    return lambda x: linear(x, w, b)


def of_conv(lib: Any, m: Any) -> Call:
    conv, w, b = lib.nn.functional.conv2d, m.weight, m.bias
    return lambda x: conv(x, w, b, (1, 1), (1, 1), (1, 1), 1)


def of_layer_norm(lib: Any, m: Any) -> Call:
    norm, w, b = lib.nn.functional.layer_norm, m.weight, m.bias
    return lambda x: norm(x, (8,), w, b, 1e-5)


def of_batch_norm(lib: Any, m: Any) -> Call:
    norm, args = (
        lib.nn.functional.batch_norm,
        (m.running_mean, m.running_var, m.weight, m.bias, True, 0.1, 1e-5),
    )
    return lambda x: norm(x, *args)


def of_relu(lib: Any, m: Any) -> Call:
    return lib.nn.functional.relu


def recurrent(name: str) -> Callable[[Any, Any], Call]:
    """The function of a recurrent network that begins with zeros."""

    def of(lib: Any, m: Any) -> Call:
        function, weights = getattr(lib, name), list(m.parameters())

        def call(x: Any) -> Any:
            h = x.new_zeros((1, x.shape[1], m.hidden_size))
            hx = (h, h) if name == "lstm" else h
            return function(x, hx, weights, True, 1, 0.0, True, False, False)

        return call

    return of


CASES = {
    "ReLU, 4 × 8": Case(lambda nn: nn.ReLU(), (4, 8), of_relu),
    "Linear, 4 × 8 → 8": Case(lambda nn: nn.Linear(8, 8), (4, 8), of_linear),
    "Linear, 64 × 256 → 256": Case(lambda nn: nn.Linear(256, 256), (64, 256), of_linear),
    "LayerNorm, 4 × 8": Case(lambda nn: nn.LayerNorm(8), (4, 8), of_layer_norm),
    "BatchNorm1d, 4 × 8 (which also counts batches)": Case(
        lambda nn: nn.BatchNorm1d(8), (4, 8), of_batch_norm
    ),
    "Conv2d, 2 × 3 × 8 × 8": Case(lambda nn: nn.Conv2d(3, 8, 3, padding=1), (2, 3, 8, 8), of_conv),
    "Linear, Tanh, Linear, 4 × 8": Case(
        lambda nn: nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)), (4, 8), of_mlp
    ),
    "RNN, 20 times of 4 × 8 → 16": Case(lambda nn: nn.RNN(8, 16), (20, 4, 8), recurrent("rnn_tanh")),
    "GRU, 20 times of 4 × 8 → 16": Case(lambda nn: nn.GRU(8, 16), (20, 4, 8), recurrent("gru")),
    "LSTM, 20 times of 4 × 8 → 16": Case(lambda nn: nn.LSTM(8, 16), (20, 4, 8), recurrent("lstm")),
    "LSTM, 64 times of 32 × 256 → 256": Case(lambda nn: nn.LSTM(256, 256), (64, 32, 256), recurrent("lstm")),
    "GRU, 64 times of 32 × 256 → 256": Case(lambda nn: nn.GRU(256, 256), (64, 32, 256), recurrent("gru")),
    "TransformerEncoderLayer, 16 × 4 × 32": Case(
        lambda nn: nn.TransformerEncoderLayer(32, 4, 64), (16, 4, 32), None
    ),
}


class Last:
    """The prediction that a recurrent network makes after the last time."""

    def __init__(self, lib: Any) -> None:
        self.network, self.head = lib.nn.LSTM(8, 16), lib.nn.Linear(16, 1)

    def __call__(self, x: Any) -> Any:
        return self.head(self.network(x)[0][-1])

    def parameters(self) -> list[Any]:
        return [*self.network.parameters(), *self.head.parameters()]


def mlp(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))


# Models that are trained, and the shapes of their inputs.
MODELS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "MLP, 4 × 8 → 16 → 1": (mlp, (4, 8)),
    "LSTM and Linear, 20 times of 4 × 8 → 16 → 1": (Last, (20, 4, 8)),
}


def training(lib: Any, make: Callable[[Any], Any], optimizer: str, array: Any) -> Callable[[], None]:
    """A training step."""
    model, x, y = make(lib), lib.tensor(array), lib.zeros((4, 1))
    optimise, loss = getattr(lib.optim, optimizer)(model.parameters(), lr=1e-3), lib.nn.MSELoss()

    def run() -> None:
        optimise.zero_grad()
        loss(model(x), y).backward()
        optimise.step()

    return run


def measure_training(name: str, optimizer: str, seconds: float) -> None:
    """Prints one row."""
    import torch

    import retrograd

    make, shape = MODELS[name]
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    programs = [training(lib, make, optimizer, array) for lib in (retrograd, torch)]
    ours, theirs = clock.best_times(programs, seconds, 4)
    print(
        f"  {f'{name}, {optimizer}':70}{duration(ours):>11}{duration(theirs):>11}{theirs / ours:>8.2f}×",
        flush=True,
    )


def step(call: Call, x: Any) -> Callable[[], None]:
    def run() -> None:
        out = call(x)
        (out[0] if isinstance(out, tuple) else out).sum().backward()

    return run


def measure(name: str, case: Case, seconds: float) -> None:
    """Prints one row."""
    import torch

    import retrograd

    array = np.random.default_rng(0).standard_normal(case.shape).astype(np.float32)
    module, theirs = case.make(retrograd.nn), case.make(torch.nn)
    programs = [
        step(module, retrograd.tensor(array, requires_grad=True)),
        step(theirs, torch.tensor(array, requires_grad=True)),
    ]
    if case.function is not None:
        programs.append(step(case.function(retrograd, module), retrograd.tensor(array, requires_grad=True)))
    ours, pytorch, *function = clock.best_times(programs, seconds, 4)
    beside = f"{duration(function[0]):>11}{ours / function[0]:>8.2f}×" if function else f"{'':>20}"
    print(
        f"  {name:50}{duration(ours):>11}{beside}{duration(pytorch):>11}{pytorch / ours:>8.2f}×", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Modules, the functions they call, and PyTorch's modules.")
    parser.add_argument("--only", default="", help="rows whose names have this in them")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each row")
    parser.add_argument("--threads", type=int, default=1, help="threads of both libraries")
    args = parser.parse_args()
    import torch

    import retrograd

    torch.set_num_threads(args.threads)
    retrograd.set_num_threads(args.threads)
    print(f"{'A step of':52}{'module':>11}{'function':>11}{'cost':>9}{'PyTorch':>11}{'ratio':>9}")
    for name, case in CASES.items():
        if args.only in name:
            measure(name, case, args.seconds)
    print(f"\n{'A training step of':72}{'module':>11}{'PyTorch':>11}{'ratio':>9}")
    for name in MODELS:
        for optimizer in ("SGD", "Adam"):
            if args.only in name:
                measure_training(name, optimizer, args.seconds)


if __name__ == "__main__":
    main()
