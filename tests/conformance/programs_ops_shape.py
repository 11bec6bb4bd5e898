"""Operations that move entries about: value, gradient and second-order gradient."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program

VECTOR = [1.0, -2.0, 3.0, 0.5, 4.0]
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
SQUARE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
CUBE = [[[1.0, 2.0], [3.0, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]


@program()
def reshape(torch: Any) -> Any:
    forms = (
        lambda x: x.reshape(3, 2), lambda x: x.reshape(-1), lambda x: x.reshape((2, -1, 1)),
        lambda x: torch.reshape(x, (6,)), lambda x: x.t().reshape(6), lambda x: x.reshape_as(torch.ones(3, 2)),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def view(torch: Any) -> Any:
    forms = (
        lambda x: x.view(3, 2),
        lambda x: x.view(-1),
        lambda x: x.view((1, 2, 3)),
        lambda x: x.view(2, 3, 1),
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def transpose(torch: Any) -> Any:
    forms = lambda x: x.transpose(0, 2), lambda x: torch.transpose(x, -1, 1), lambda x: x.mT
    return [derivatives(torch, f, CUBE) for f in forms], derivatives(torch, lambda x: x.T, MATRIX)


@program()
def t_of_each_rank(torch: Any) -> Any:
    return [derivatives(torch, lambda x: x.t(), d) for d in (2.0, VECTOR, MATRIX)]


@program()
def permute(torch: Any) -> Any:
    forms = (
        lambda x: x.permute(2, 0, 1),
        lambda x: x.permute((1, -1, 0)),
        lambda x: torch.permute(x, (0, 2, 1)),
    )
    return [derivatives(torch, f, CUBE) for f in forms]


@program()
def squeeze_and_unsqueeze(torch: Any) -> Any:
    forms = (
        lambda x: x.unsqueeze(0), lambda x: x.unsqueeze(-1), lambda x: x.unsqueeze(1).squeeze(1),
        lambda x: x[None, :, None].squeeze(), lambda x: x.squeeze(0), lambda x: x[None, :, None].squeeze((0, 2)),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def expand(torch: Any) -> Any:
    forms = (
        lambda x: x.expand(4, 2, 3), lambda x: x.unsqueeze(1).expand(-1, 2, -1),
        lambda x: x[:, :1].expand(2, 5), lambda x: x.expand_as(torch.ones(2, 2, 3)),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def broadcast_to(torch: Any) -> Any:
    return derivatives(torch, lambda x: torch.broadcast_to(x, (2, 2, 3)), MATRIX), derivatives(
        torch, lambda x: x.broadcast_to((3,)), 2.0
    )


@program()
def broadcast_several(torch: Any) -> Any:
    a, b = torch.broadcast_tensors(torch.ones(2, 1), torch.zeros(3))
    return a, b, torch.broadcast_shapes((2, 1), (3,), (1, 1, 1))


@program()
def flatten(torch: Any) -> Any:
    forms = (
        lambda x: x.flatten(),
        lambda x: x.flatten(1),
        lambda x: x.flatten(0, 1),
        lambda x: torch.flatten(x, -2, -1),
    )
    return (
        [derivatives(torch, f, CUBE) for f in forms],
        torch.tensor(1.0).flatten(),
        torch.tensor(CUBE).ravel(),
    )


@program()
def cat(torch: Any) -> Any:
    return [
        derivatives(torch, lambda a, b: torch.cat([a, b]), MATRIX, SQUARE),
        derivatives(torch, lambda a: torch.cat((a, a * 2), dim=1), MATRIX),
        derivatives(torch, lambda a, b: torch.cat([a, b], -1), VECTOR, [1.0]),
        derivatives(torch, lambda a, b: torch.concat([a, b]), VECTOR, []),
    ]


@program()
def stack(torch: Any) -> Any:
    forms = (
        lambda a, b: torch.stack([a, b]),
        lambda a, b: torch.stack((a, b), dim=1),
        lambda a, b: torch.stack([a, b, a], -1),
    )
    return [derivatives(torch, f, MATRIX, MATRIX) for f in forms], derivatives(
        torch, lambda a: torch.stack([a, a * a]), 2.0
    )


@program()
def split(torch: Any) -> Any:
    x = torch.tensor(VECTOR)
    return [
        x.split(2), x.split([1, 3, 1]), torch.split(x, 5), x.split(10), x.reshape(5, 1).split(3, dim=0),
        derivatives(torch, lambda x: x.split(2)[1] * 3, VECTOR),
        derivatives(torch, lambda x: x.split([2, 1], dim=1)[0] * x.split([2, 1], 1)[1], MATRIX),
    ]  # fmt: skip


@program()
def chunk(torch: Any) -> Any:
    x = torch.tensor(VECTOR)
    return [
        x.chunk(2), x.chunk(4), torch.chunk(x, 10), x.chunk(1),
        derivatives(torch, lambda x: x.chunk(3, dim=1)[2] ** 2, MATRIX),
    ]  # fmt: skip


@program()
def unbind(torch: Any) -> Any:
    return torch.tensor(MATRIX).unbind(1), derivatives(
        torch, lambda x: x.unbind(0)[1] * x.unbind(0)[0], MATRIX
    )


@program()
def flip(torch: Any) -> Any:
    forms = (
        lambda x: x.flip(0),
        lambda x: x.flip((0, 1)),
        lambda x: torch.flip(x, [-1]),
        lambda x: x.flip(1, 0),
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def roll(torch: Any) -> Any:
    forms = (
        lambda x: x.roll(1), lambda x: x.roll(2, 1), lambda x: torch.roll(x, (1, -1), (0, 1)), lambda x: x.roll(-7, 0),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def pad_with_constants(torch: Any) -> Any:
    pad = torch.nn.functional.pad
    forms = (
        lambda x: pad(x, (1, 2)), lambda x: pad(x, (0, 1, 2, 0)), lambda x: pad(x, (1, 1), value=5.0),
        lambda x: pad(x, (-1, 1)), lambda x: pad(x, (1, 1), "constant", 2.0),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def tril_and_triu(torch: Any) -> Any:
    forms = lambda x: x.tril(), lambda x: x.triu(), lambda x: torch.tril(x, 1), lambda x: x.triu(diagonal=-1)
    return [derivatives(torch, f, SQUARE) for f in forms], torch.tensor(CUBE).tril()


@program()
def diagonal(torch: Any) -> Any:
    forms = (
        lambda x: x.diagonal(),
        lambda x: torch.diagonal(x, 1),
        lambda x: x.diagonal(-1),
        lambda x: x.diagonal(offset=2),
    )
    return [derivatives(torch, f, SQUARE) for f in forms], derivatives(
        torch, lambda x: x.diagonal(0, 1, 2), CUBE
    )


@program()
def clone_and_contiguous(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.clone() * x, MATRIX), derivatives(
        torch, lambda x: x.t().contiguous(), MATRIX
    )


@program()
def to_dtype(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.to(torch.float32), [1.0, 0.25]), derivatives(
        torch, lambda x: x.float().double() ** 2, VECTOR
    )


@program()
def views_of_views(torch: Any) -> Any:
    return derivatives(
        torch, lambda x: x.transpose(0, 1).reshape(4, 2).t()[1].unsqueeze(0).expand(2, 4), CUBE
    )


@program()
def shapes_of_zero_size(torch: Any) -> Any:
    x = torch.ones(0, 3)
    return (
        x.reshape(3, 0),
        x.view(-1, 3),
        x.t(),
        x.flatten(),
        torch.cat([x, torch.ones(1, 3)]),
        x.unsqueeze(1),
        x.expand(2, 0, 3),
    )


@program()
def strides_of_views(torch: Any) -> Any:
    x = torch.ones(2, 3, 4)
    views = x.permute(2, 0, 1), x.transpose(0, 1), x[:, 1], x[:, ::2], x.expand(5, 2, 3, 4), x.diagonal()
    return [(v.shape, v.stride(), v.is_contiguous()) for v in views]


@program()
def in_place_writes_show_through_views(torch: Any) -> Any:
    x = torch.zeros(2, 3)
    v, e = x.t(), x.view(6)
    x[0, 1] = 5.0
    e[5] = 7.0
    return x, v, e, x.reshape(6)
