"""nn.init: gains, fans, values that are no matter of chance, bounds and spreads of those that are, errors."""

from __future__ import annotations

import math
from typing import Any

from .harness import attempt, program


@program()
def gains(torch: Any) -> Any:
    gain = torch.nn.init.calculate_gain
    names = (
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose2d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    )
    return [
        *(gain(name) for name in names),
        gain("leaky_relu", 0.2),
        gain("leaky_relu", 1),
        attempt("not a valid number", gain, "leaky_relu", True),
        attempt("Unsupported nonlinearity", gain, "gelu"),
    ]


@program()
def values_that_are_no_matter_of_chance(torch: Any) -> Any:
    init = torch.nn.init
    w = torch.empty(3, 2, requires_grad=True)
    return [
        init.constant_(torch.empty(2), 0.5),
        init.ones_(torch.empty(2)),
        init.zeros_(torch.empty(2)),
        init.eye_(torch.empty(2, 3)),
        init.dirac_(torch.empty(4, 2, 3)),
        init.dirac_(torch.empty(4, 2, 3, 3), groups=2),
        init.dirac_(torch.empty(2, 3, 1, 2, 3)),
        init.ones_(w) is w,
        w.is_leaf,
        w.requires_grad,
    ]


def spread(t: Any) -> tuple[float, ...]:
    """What can be said of random numbers: roughly their mean and spread, and whether they keep to a bound."""
    t = t.detach()
    return round(float(t.mean()) * 5) / 5, round(math.log2(float(t.std())) * 4) / 4


@program()
def spreads(torch: Any) -> Any:
    init = torch.nn.init
    torch.manual_seed(0)

    def big() -> Any:
        return torch.empty(200, 300)

    return [
        spread(init.uniform_(big(), -3, 5)),
        spread(init.normal_(big(), 1.0, 3.0)),
        spread(init.trunc_normal_(big(), 0.0, 1.0, -1.0, 2.0)),
        float(init.trunc_normal_(big(), std=2.0, a=-1.0, b=1.0).abs().max()) <= 1,
        spread(init.xavier_uniform_(big(), gain=2.0)),
        spread(init.xavier_normal_(big())),
        spread(init.kaiming_uniform_(big())),
        spread(init.kaiming_uniform_(big(), a=1.0, mode="fan_out", nonlinearity="tanh")),
        spread(init.kaiming_normal_(big(), nonlinearity="relu")),
        spread(init.kaiming_normal_(torch.empty(20, 30, 4, 4), mode="fan_out")),
        [int((init.sparse_(torch.empty(10, 4), 0.35) == 0).sum(0)[i]) for i in range(4)],
    ]


@program()
def orthogonal_matrices(torch: Any) -> Any:
    init, seen = torch.nn.init, []
    for shape in ((3, 3), (2, 5), (5, 2), (4, 2, 3)):
        w = init.orthogonal_(torch.empty(*shape, dtype=torch.float64), gain=2.0).reshape(shape[0], -1)
        seen.append(w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w)
    return [t.round(decimals=6) + 0.0 for t in seen]


@program()
def first_values_of_layers(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    layers = [
        nn.Linear(400, 100), nn.Bilinear(40, 30, 20), nn.Conv1d(30, 40, 5), nn.Conv2d(30, 40, 3, groups=2),
        nn.ConvTranspose2d(30, 40, 3), nn.Embedding(300, 40), nn.EmbeddingBag(300, 40), nn.LSTM(50, 60),
        nn.GRUCell(50, 60), nn.MultiheadAttention(64, 4), nn.MultiheadAttention(64, 4, kdim=32, vdim=16),
        nn.Transformer(32, 2, 1, 1, 128, batch_first=True),
    ]  # fmt: skip
    seen = []
    for layer in layers:
        for name, p in layer.named_parameters():
            if p.numel() > 1500:
                bound = float(p.detach().abs().max() / p.detach().std())
                seen.append((name, spread(p), bound > 2.5))
    constants = [nn.BatchNorm1d(2), nn.LayerNorm(2), nn.GroupNorm(1, 2), nn.PReLU(2), nn.RMSNorm(2)]
    return (
        seen,
        [list(layer.state_dict().values()) for layer in constants],
        nn.Embedding(3, 2, padding_idx=1).weight[1],
    )


@program(warns="zero-element")
def empty_weights(torch: Any) -> Any:
    return torch.nn.init.kaiming_uniform_(torch.empty(0, 3)), torch.nn.init.kaiming_normal_(torch.empty(3, 0))


@program(warns="more than 2 std")
def a_mean_far_away(torch: Any) -> Any:
    return float(torch.nn.init.trunc_normal_(torch.empty(5), mean=9.0).max()) <= 2


@program(warns="is now deprecated in favor of")
def old_names(torch: Any) -> Any:
    init = torch.nn.init
    return [
        init.constant(torch.empty(2), 3.0), init.eye(torch.empty(2, 2)), init.dirac(torch.empty(1, 1, 1)),
        init.uniform(torch.empty(2)).shape[0], init.xavier_normal(torch.empty(2, 2)).shape[0],
    ]  # fmt: skip


@program()
def errors(torch: Any) -> Any:
    init, v, m = torch.nn.init, torch.empty(3), torch.empty(2, 2)
    return [
        attempt("fewer than 2 dimensions", init.xavier_uniform_, v),
        attempt("fewer than 2 dimensions", init.xavier_normal_, v),
        attempt("fewer than 2 dimensions", init.kaiming_uniform_, v),
        attempt("not supported, please use one of", lambda: init.kaiming_normal_(m, mode="fan")),
        attempt("Unsupported nonlinearity", lambda: init.kaiming_normal_(m, nonlinearity="q")),
        attempt("2 or more dimensions", init.orthogonal_, v),
        attempt("2 dimensions", init.eye_, v),
        attempt("2 dimensions", init.sparse_, v, 0.5),
        attempt("3, 4, or 5 dimensions", init.dirac_, m),
        attempt("divisible by groups", lambda: init.dirac_(torch.empty(3, 2, 2), groups=2)),
    ]
