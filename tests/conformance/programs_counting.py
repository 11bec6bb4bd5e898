"""FLOP counts, and trees with the way to each leaf."""

from __future__ import annotations

import collections
import importlib
from dataclasses import dataclass
from typing import Any

from .harness import attempt, program


def counter(torch: Any, **options: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.flop_counter").FlopCounterMode(
        **{"display": False, **options}
    )


def counts(flops: Any) -> Any:
    return sorted(
        (name, str(op), n) for name, ops in flops.get_flop_counts().items() for op, n in ops.items()
    )


@program()
def flops_of_modules(torch: Any) -> Any:
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Sequential(nn.Linear(144, 10)))
    with counter(torch) as flops:
        net(torch.ones(2, 3, 8, 8)).sum().backward()
    total, found = flops.get_total_flops(), counts(flops)
    with flops:
        pass
    return found, total, flops.get_total_flops()


@program()
def flops_of_functions(torch: Any) -> Any:
    nn, ones = torch.nn, torch.ones
    with counter(torch, custom_mapping={torch.ops.aten.mul: lambda a, b, **_: 7}) as flops:
        (ones(3, 4, requires_grad=True) @ ones(4, 5)).sum().backward()
        torch.bmm(ones(2, 3, 4), ones(2, 4, 5, requires_grad=True)).sum().backward()
        torch.baddbmm(ones(2, 3, 5), ones(2, 3, 4), ones(2, 4, 5))
        nn.ConvTranspose1d(2, 3, 2)(ones(1, 2, 5, requires_grad=True)).sum().backward()
        nn.ConvTranspose2d(4, 4, 3, groups=2, stride=2)(ones(1, 4, 9, 9))
        nn.Conv1d(4, 6, 3, groups=2)(ones(1, 4, 9))
        nn.Linear(4, 5)(ones(2, 3, 4))
        ones(2) * ones(2)
    return counts(flops)


def total(torch: Any, function: Any) -> int:
    with counter(torch) as flops:
        function()
    return int(flops.get_total_flops())


@program()
def flops_of_contractions(torch: Any) -> Any:
    def ones(*shape: int) -> Any:
        return torch.ones(shape, requires_grad=True)

    contractions = {
        "ab,bc->ac": [(4, 5), (5, 6)], "bhqd,bhkd->bhqk": [(2, 3, 4, 5), (2, 3, 6, 5)],
        "ij,jkl->ik": [(4, 5), (5, 2, 3)], "ab,bc,cd->ad": [(4, 5), (5, 6), (6, 7)], "i,j->ij": [(4,), (5,)],
        "ij,ij->": [(4, 5), (4, 5)], "ij->i": [(4, 5)],
        "ij,kl->i": [(4, 5), (2, 3)], "ij,kj->ik": [(4, 1), (2, 1)], "ij,ij->ij": [(4, 5), (4, 5)],
    }  # fmt: skip
    return (
        [
            total(torch, lambda e=e: torch.einsum(e, *[ones(*shape) for shape in contractions[e]]))
            for e in contractions
        ],
        total(torch, lambda: torch.einsum("ab,bc->ac", ones(4, 5), ones(5, 6)).sum().backward()),
        total(torch, lambda: torch.vmap(torch.mm)(ones(2, 3, 4), ones(2, 4, 5)).sum().backward()),
        total(torch, lambda: torch.vmap(torch.vmap(torch.mm), (None, 0))(ones(2, 3, 4), ones(5, 2, 4, 6))),
    )


@program()
def flops_of_recurrent_networks(torch: Any) -> Any:
    nn, x = torch.nn, torch.ones(5, 2, 3)
    lengths = torch.tensor([3, 1])
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
    return (
        [total(torch, lambda cell=cell: cell(3, 4)(x[0])) for cell in (nn.RNNCell, nn.GRUCell, nn.LSTMCell)],
        total(torch, lambda: nn.GRU(3, 4, 2, bidirectional=True)(x)),
        total(torch, lambda: nn.RNN(3, 4)(x)),
        total(torch, lambda: nn.RNN(3, 4, nonlinearity="relu")(packed)),
    )


@program()
def trees_with_paths(torch: Any) -> Any:
    trees = importlib.import_module(f"{torch.__name__}.utils._pytree")
    pair = collections.namedtuple("pair", "a b")
    tree = {"a": (1, [2]), "b": pair(3, {"c": 4})}
    ways, spec = trees.tree_flatten_with_path(tree)
    doubled = trees.tree_map_with_path(lambda way, x, y: (trees.keystr(way), x + y), tree, tree)
    return (
        [(trees.keystr(way), leaf, trees.key_get(tree, way)) for way, leaf in ways],
        [repr(way) for way, _ in ways],
        doubled,
        (spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf(), spec.type, spec.context),
        [child.num_leaves for child in spec.children()],
        spec.child(0).unflatten([5, 6]),
        attempt("has length 1", spec.unflatten, [1]),
        [trees._get_node_type(x).__name__ for x in ([], (), {}, pair(1, 2), 1)],
        [trees._get_node_type(x) in trees.SUPPORTED_NODES for x in ([], (), {}, pair(1, 2), 1)],
        [trees.tree_is_leaf(x) for x in (1, None, [], {})],
        trees.tree_leaves_with_path([1, (2,)], is_leaf=lambda x: isinstance(x, tuple))[1][1],
        [trees.is_namedtuple(x) for x in (pair, pair(1, 2), (1,))],
        trees._broadcast_to_and_flatten({"a": 1, "b": 2}, spec),
    )


@program()
def classes_with_keys_of_their_own(torch: Any) -> Any:
    trees = importlib.import_module(f"{torch.__name__}.utils._pytree")

    class Point:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    keys = (trees.GetAttrKey("x"), trees.GetAttrKey("y"))
    trees.register_pytree_node(
        Point,
        lambda p: ([p.x, p.y], None),
        lambda children, _: Point(*children),
        flatten_with_keys_fn=lambda p: (list(zip(keys, (p.x, p.y), strict=True)), None),
    )
    return [(trees.keystr(way), leaf) for way, leaf in trees.tree_leaves_with_path([Point(1, [2])])]


@program()
def what_does_not_exist_has_no_shapes(torch: Any) -> Any:
    library = torch.library
    library.define("counting::into", "(Tensor x, Tensor! out) -> ()")
    return (
        attempt("operator counting::nothing does not exist", library.register_fake, "counting::nothing", len),
        torch.ops.counting.into.default._schema.is_mutable,
    )


@program()
def classes_that_are_trees(torch: Any) -> Any:
    trees = importlib.import_module(f"{torch.__name__}.utils._pytree")

    @dataclass
    class Point:
        x: Any
        y: Any = None

    @dataclass(frozen=True)
    class Setting:
        name: str

    trees.register_dataclass(Point)
    trees.register_constant(Setting)
    tree = [Point(torch.ones(2), torch.zeros(1)), Point(torch.ones(1)), Setting("a")]
    made = trees.tree_map(lambda x: x + 1, tree)
    names = [trees.keystr(path) for path, _ in trees.tree_flatten_with_path(tree)[0]]
    leaves, form = trees.tree_flatten(Setting("b"))
    return (
        (made[0].x, made[0].y, made[1].x, made[1].y),
        made[2].name,
        names,
        leaves,
        form == trees.tree_flatten(Setting("b"))[1],
    )
