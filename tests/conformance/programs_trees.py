"""Forms of trees: how they are printed, compared, mapped over others, made by hand and written into files."""

from __future__ import annotations

import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from typing import Any

from .harness import attempt, program

Point = namedtuple("Point", "x y")
Vector = namedtuple("Vector", "x y")


def module(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils._pytree")


@program()
def forms_as_text(torch: Any) -> Any:
    trees = module(torch)
    nested = [0, {"a": (1, [2, None])}, OrderedDict(b=3), deque([4], maxlen=2), Point(5, ())]
    return (
        [repr(trees.tree_structure(tree)) for tree in (*nested, nested)],
        repr(trees.tree_structure(defaultdict(None, a=1))),
        repr(trees.tree_structure(torch.max(torch.ones(1, 1), 0))),
        trees.treespec_pprint(trees.tree_structure(nested)),
    )


@program()
def forms_of_named_tuples(torch: Any) -> Any:
    trees = module(torch)
    _, form = trees.tree_flatten(Point(1, [2]))
    result = torch.max(torch.ones(1, 1), 0)
    by_hand = trees.TreeSpec(namedtuple, Point, [trees.tree_structure(1), trees.tree_structure([2])])
    return (
        form.type is namedtuple, form.context is Point, form == by_hand, trees.tree_unflatten([3, 4], by_hand),
        trees.is_namedtuple(result), trees.is_structseq(result), trees.is_structseq(type(result)),
        trees.tree_structure(result).type is type(result), trees.is_structseq(Point(1, 2)),
    )  # fmt: skip


@program()
def maps_over_what_lies_at_the_leaves(torch: Any) -> Any:
    trees = module(torch)

    def mapped(first: Any, *others: Any) -> Any:
        return trees.tree_map(lambda *args: args, first, *others)

    return (
        mapped([1, {"a": 2}], [(10, 20), {"a": [30]}]),
        mapped({"a": 1, "b": 2}, OrderedDict(b=20, a=10), defaultdict(list, b=200, a=100)),
        list(mapped(deque([1], maxlen=2), deque([2]))),
        trees.tree_map_with_path(lambda way, x, y: (trees.keystr(way), x, y), [1, (2,)], [[3], (4,)]),
        trees.tree_structure([1, [2]]).flatten_up_to([{}, [None]]),
        attempt("Node arity mismatch; expected 2, but got 1", mapped, [1, 2], [1]),
        attempt("Node type mismatch", mapped, [1, 2], (1, 2)),
        attempt("Node type mismatch", mapped, {"a": 1}, [1]),
        attempt(r"missing key\(s\): {'a'}; extra key\(s\): {'b'}", mapped, {"a": 1}, {"b": 1}),
        attempt("Node context mismatch", mapped, Point(1, 2), Vector(1, 2)),
    )


@program()
def forms_made_by_hand(torch: Any) -> Any:
    trees = module(torch)
    leaf = trees.treespec_leaf()
    return (
        leaf == trees.tree_structure(1),
        trees.treespec_tuple([leaf, leaf]) == trees.tree_structure((1, 2)),
        trees.treespec_dict({"a": leaf}, b=leaf) == trees.tree_structure({"a": 1, "b": 2}),
        len(trees.BUILTIN_TYPES), {dict, OrderedDict, defaultdict} == trees.STANDARD_DICT_TYPES,
        trees._dict_flatten(OrderedDict(a=1)), trees._dict_unflatten([1], ["a"]), trees._list_flatten((1, 2)),
        trees._tuple_flatten([1]), trees._tuple_unflatten([1], None), trees._list_unflatten((1,), None),
        [(trees.keystr((key,)), child) for key, child in trees._dict_flatten_with_keys({"a": 1})[0]],
        attempt("to be an instance of PyTreeSpec but got item of type", trees.tree_unflatten, [1], 2),
        attempt("has length 2 but the spec refers to a pytree that holds 1", trees.tree_unflatten, [1, 2], leaf),
        attempt("must be a type, a tuple of types, or a callable", trees.tree_map_only, [1], len, [1]),
    )  # fmt: skip


@program()
def forms_in_files(torch: Any) -> Any:
    trees = module(torch)
    nested = [
        0,
        {"a": (1, [2])},
        OrderedDict(b=3),
        deque([4], maxlen=2),
        defaultdict(list, c=5),
        Vector(5, None),
    ]
    unnamed = attempt(
        "Can't serialize TreeSpec of namedtuple", trees.treespec_dumps, trees.tree_structure(nested)
    )
    trees._register_namedtuple(Vector, serialized_type_name="tests.Vector")
    text = trees.treespec_dumps(trees.tree_structure(nested))
    return (
        unnamed, text, trees.treespec_loads(text) == trees.tree_structure(nested),
        attempt("Unable to serialize context", trees.treespec_dumps, trees.tree_structure({torch.float32: 1})),
        attempt("Unknown protocol -1", trees.treespec_dumps, trees.tree_structure(1), -1),
        attempt("Unknown protocol -1", trees.treespec_loads, "[-1, {}]"),
        attempt("is not registered", trees.treespec_loads, '[1, {"type": "a", "context": "0", "children_spec": []}]'),
        attempt("to be an instance of PyTreeSpec", trees.treespec_dumps, 1),
    )  # fmt: skip


@program()
def classes_in_files(torch: Any) -> Any:
    trees = module(torch)

    class Named:
        def __init__(self, value: Any, unit: Any) -> None:
            self.value, self.unit = value, unit

    def register(cls: Any, **options: Any) -> None:
        trees.register_pytree_node(
            cls, lambda d: ([d.value], d.unit), lambda parts, unit: Named(*parts, unit), **options
        )

    half = attempt("must be None or registered", register, type("Other", (), {}), to_dumpable_context=str)
    register(
        Named,
        serialized_type_name="tests.Named",
        to_dumpable_context=str,
        from_dumpable_context=lambda text: text,
    )
    form = trees.tree_structure([Named(1, 5)])
    text = trees.treespec_dumps(form)
    trees._deregister_pytree_node(Named)
    left = repr(trees.tree_structure([Named(1, 5)]))
    register(Named)
    return (
        half, text, left, attempt("No registered serialization name", trees.treespec_dumps, form),
        attempt("Did not find a flatten_with_keys_fn for type", trees.tree_flatten_with_path, Named(1, 2)),
        attempt("already registered", register, dict),
    )  # fmt: skip


@program()
def fields_of_classes(torch: Any) -> Any:
    trees = module(torch)

    @dataclass
    class Pair:
        first: Any
        second: Any = 2

    class Plain:
        def __init__(self, value: Any) -> None:
            self.value = value

    @dataclass(frozen=True)
    class Setting:
        name: str

    register = trees.register_dataclass
    refused = (
        attempt("Missing fields in `field_names`: {'second'}", register, Pair, field_names=["first"]),
        attempt(
            "Unexpected fields in `field_names`: {'z'}", register, Pair, field_names=["first", "second", "z"]
        ),
        attempt("field_names must be specified", register, Plain),
    )
    register(Pair, field_names=["first"], drop_field_names=["second"])
    register(Plain, field_names=["value"])
    trees.register_constant(Setting)
    made = trees.tree_map(lambda x: x + 1, [Pair(1, 5), Plain(3), Setting("a")])
    return refused, (made[0].first, made[0].second), made[1].value, trees.is_constant_class(Setting)
