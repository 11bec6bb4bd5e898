"""Trees of tensors, as `torch.utils._pytree`: nested tuples, lists, dicts and classes that are registered."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from retrograd.core.tree import (
    LEAF,
    REGISTERED,
    children_of,
    flatten,
    is_made_by_namedtuple,
    kind_of,
    unflatten,
    unflatten_all,
)
from retrograd.core.tree import Form as TreeSpec
from retrograd.core.tree import spread_over as _broadcast_to_and_flatten  # noqa: F401 - PyTorch has it here
from retrograd.utils.tree_files import (  # noqa: F401 - PyTorch has them here
    SERIALIZED,
    Serialized,
    _register_namedtuple,
    treespec_dumps,
    treespec_loads,
)
from retrograd.utils.tree_paths import (  # noqa: F401 - PyTorch has them here
    WITH_KEYS,
    FlattenWithKeysFn,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    MappingKey,
    SequenceKey,
    key_get,
    keystr,
    paths_of,
)

PyTree = Any
Context = Any
PyTreeSpec = TreeSpec
Check = Callable[[Any], bool]


class NodeDef(NamedTuple):
    """How the containers of a class are taken apart, and put together again."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Any, Any], Any]


def _node(kind: Any) -> NodeDef:
    def apart(tree: Any) -> tuple[list[Any], Any]:
        context, children = children_of(tree) or (None, [])
        return children, context

    def together(children: Any, context: Any) -> Any:
        parts = list(children)
        return unflatten(parts, TreeSpec(kind, context, [flatten(0)[1]] * len(parts)))

    return NodeDef(kind, apart, together)


_CONSTANTS: set[type] = set()
# By class; named tuples, of which every one is a class of its own, are under `namedtuple`.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    kind: _node(kind) for kind in (tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque)
}


BUILTIN_TYPES = frozenset(SUPPORTED_NODES)
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


class _KindOfLeaves(type):
    def __call__(cls) -> TreeSpec:
        return LEAF

    def __instancecheck__(cls, spec: object) -> bool:
        return isinstance(spec, TreeSpec) and spec.is_leaf()


class LeafSpec(metaclass=_KindOfLeaves):
    """`LeafSpec()` is the form of a leaf, and all such forms are its instances."""


def treespec_leaf() -> TreeSpec:
    """The form of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The form of a tuple of trees of these forms."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """The form of a dict of trees of these forms."""
    parts = dict(mapping, **kwargs)
    return TreeSpec(dict, list(parts), list(parts.values()))


class _Asterisk:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A tree of this form, as Python prints it, with `*` for leaves.

    >>> treespec_pprint(tree_structure({"a": [1, 2]}))
    "{'a': [*, *]}"
    """
    return repr(unflatten([_Asterisk()] * treespec.num_leaves, treespec))


# What other classes' registrations are made of; they take instances of subclasses too.


def _dict_flatten(d: Any) -> tuple[list[Any], list[Any]]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], list[Any]]:
    return [(MappingKey(key), child) for key, child in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Iterable[Any]) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _list_flatten(d: Any) -> tuple[list[Any], None]:
    return list(d), None


def _list_unflatten(values: Iterable[Any], context: None) -> list[Any]:
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: None) -> tuple[Any, ...]:
    return tuple(values)


_tuple_flatten = _list_flatten


def is_structseq_class(cls: Any) -> bool:
    """Whether this is a class of results with names, such as `return_types.max`."""
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and all(isinstance(getattr(cls, n, None), int) for n in counts)
    )


def is_structseq_instance(obj: Any) -> bool:
    """Whether this is such a result."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether this is such a result or a class of them."""
    return is_structseq_class(obj) or is_structseq_instance(obj)


def is_namedtuple_class(cls: Any) -> bool:
    """Whether this is a class of named tuples."""
    return isinstance(cls, type) and is_made_by_namedtuple(cls)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether this is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether this is a named tuple or a class of them."""
    return is_namedtuple_class(obj) or is_namedtuple_instance(obj)


_is_namedtuple_instance = is_namedtuple_instance


def _get_node_type(tree: Any) -> Any:
    """The class under which `SUPPORTED_NODES` has the container, if it has it."""
    return namedtuple if is_namedtuple_instance(tree) and type(tree) not in SUPPORTED_NODES else kind_of(tree)


def tree_is_leaf(tree: Any, is_leaf: Check | None = None) -> bool:
    """Whether nothing of it is taken apart."""
    return (is_leaf is not None and is_leaf(tree)) or children_of(tree) is None


_is_leaf = tree_is_leaf


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Makes a class one of those that trees consist of.

    Args:
        cls: the class.
        flatten_fn: gives the children of an instance, and what else it consists of.
        unflatten_fn: makes an instance of children and the rest.
        serialized_type_name: what `treespec_dumps` calls the class; without it, it cannot write its forms.
        to_dumpable_context, from_dumpable_context: the rest as JSON can hold it, and back.
        flatten_with_keys_fn: as `flatten_fn`, with pairs of a key and a child: for `tree_flatten_with_path`.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node. Register each class once.")
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    REGISTERED[cls] = (flatten_fn, unflatten_fn)
    SUPPORTED_NODES[cls] = _node(cls)
    SERIALIZED[cls] = Serialized(serialized_type_name, to_dumpable_context, from_dumpable_context)
    if flatten_with_keys_fn is not None:
        WITH_KEYS[cls] = flatten_with_keys_fn


_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    """Makes instances of a class leaves again."""
    del SUPPORTED_NODES[cls], REGISTERED[cls], SERIALIZED[cls]
    WITH_KEYS.pop(cls, None)


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:  # fmt: skip
    """Makes a dataclass one of the classes that trees consist of: its fields are the children.

    Args:
        cls: a class of `dataclasses`; another one needs `field_names`.
        field_names: the fields that are children; all if it is left out.
        drop_field_names: the fields that are left out, and have their defaults when an instance is made again.
        serialized_type_name: PyTorch's, without an effect.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Pair:
    ...     first: int
    ...     second: int
    >>> register_dataclass(Pair)
    >>> tree_map(lambda x: x + 1, [Pair(1, 2)])
    [Pair(first=2, second=3)]
    """
    dropped = frozenset(drop_field_names or ())
    if is_dataclass(cls):
        own = [field.name for field in fields(cls) if field.init and field.name not in dropped]
        _check_field_names(own, field_names)
    elif field_names is None:
        raise ValueError(
            "field_names must be specified with a list of all fields used to initialize "
            f"{cls}, as it is not a dataclass."
        )
    names = own if field_names is None else [name for name in field_names if name not in dropped]

    def there(tree: Any) -> tuple[list[Any], list[str]]:
        filled = [name for name in names if getattr(tree, name) is not None]
        empty = [name for name in names if getattr(tree, name) is None]
        return [getattr(tree, name) for name in filled], [filled, empty]  # type: ignore[list-item]

    def back(children: Iterable[Any], context: Any) -> Any:
        filled, empty = context
        return cls(**dict(zip(filled, children, strict=True)), **dict.fromkeys(empty))

    def keyed(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = there(tree)
        return [(GetAttrKey(name), child) for name, child in zip(context[0], children, strict=True)], context

    register_pytree_node(cls, there, back, flatten_with_keys_fn=keyed)


def _check_field_names(own: list[str], given: list[str] | None) -> None:
    """Refuses names that are not those of a dataclass's fields, or not all of them."""
    for name, found in {
        "Missing": set(own) - set(own if given is None else given),
        "Unexpected": set(given or ()) - set(own),
    }.items():
        if found:
            raise ValueError(
                f"field_names does not include all dataclass fields.\n{name} fields in `field_names`: {found}. Name "
                "every field in either `field_names` or `drop_field_names`."
            )


def is_constant_class(cls: type) -> bool:
    """Whether instances of a class have no leaves: see `register_constant`."""
    return cls in _CONSTANTS


def register_constant(cls: type) -> None:
    """Makes a class one whose instances have no leaves: they belong to the form of a tree, and must be comparable."""
    if "__eq__" not in {name for base in cls.__mro__[:-1] for name in vars(base)} or cls.__hash__ is None:
        raise TypeError(
            f"register_constant(cls): {cls} must have __eq__ and __hash__ of its own, as forms are compared"
        )
    register_pytree_node(
        cls, lambda tree: ([], tree), lambda _, context: context, flatten_with_keys_fn=lambda tree: ([], tree)
    )
    _CONSTANTS.add(cls)


def tree_flatten(tree: Any, is_leaf: Check | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its form; what `is_leaf` says of is not taken apart.

    >>> leaves, spec = tree_flatten({"a": (1, 2), "b": [3]})
    >>> leaves, tree_unflatten([x * 10 for x in leaves], spec)
    ([1, 2, 3], {'a': (10, 20), 'b': [30]})
    """
    if is_leaf is None:
        return flatten(tree)
    leaves, form = flatten(_sealed(tree, is_leaf))
    return [leaf.value if isinstance(leaf, _Sealed) else leaf for leaf in leaves], form


class _Sealed:
    """A part of a tree that is not taken apart."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _sealed(tree: Any, is_leaf: Check) -> Any:
    """The tree with everything sealed that `is_leaf` is true of."""
    if is_leaf(tree):
        return _Sealed(tree)
    found = children_of(tree)
    if found is None:
        return tree
    context, children = found
    seals = [_sealed(child, is_leaf) for child in children]
    shallow = TreeSpec(kind_of(tree), context, [flatten(0)[1]] * len(seals))
    return unflatten(seals, shallow)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this form with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    return unflatten_all(leaves, treespec)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Check | None = None) -> Any:
    """The tree with `func` of each leaf, and of what is at its place in other trees, instead.

    >>> tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, form = tree_flatten(tree, is_leaf)
    others = [form.flatten_up_to(rest) for rest in rests]
    return unflatten([func(*row) for row in zip(leaves, *others, strict=True)], form)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Check | None = None) -> Any:
    """Calls `func` on each leaf; gives the tree as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_flatten_with_path(
    tree: Any, is_leaf: Check | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with the way to each of them, and the form of the tree.

    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return paths_of(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Check | None = None) -> list[tuple[KeyPath, Any]]:
    """The leaves with the way to each of them."""
    return paths_of(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Check | None = None) -> Any:
    """The tree with `func` of the way to each leaf, of the leaf, and of those at its place in other trees, instead."""
    ways, form = tree_flatten_with_path(tree, is_leaf)
    rows = zip(ways, *[form.flatten_up_to(rest) for rest in rests], strict=True)
    return unflatten([func(way, leaf, *more) for (way, leaf), *more in rows], form)


def tree_map_only(kind: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Check | None = None) -> Any:
    """The tree with `func` of those leaves that are of a kind: a class, several, or a condition."""
    fits = _condition(kind)
    return tree_map(lambda leaf: func(leaf) if fits(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(kind: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Check | None = None) -> Any:
    """Calls `func` on those leaves that are of a kind; gives the tree as it was."""
    tree_map_only(kind, func, tree, is_leaf)
    return tree


def _condition(kind: Any) -> Check:
    if isinstance(kind, (type, tuple)):
        return lambda leaf: isinstance(leaf, kind)
    if not callable(kind):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return lambda leaf: bool(kind(leaf))


def tree_leaves(tree: Any, is_leaf: Check | None = None) -> list[Any]:
    """The leaves of a tree from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_iter(tree: Any, is_leaf: Check | None = None) -> Iterable[Any]:
    """The leaves of a tree, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Check | None = None) -> TreeSpec:
    """The form of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Check | None = None) -> bool:
    """Whether a condition holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Check | None = None) -> bool:
    """Whether a condition holds for one of the leaves."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Check | None = None) -> bool:
    """Whether a condition holds for all leaves of a kind."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if _condition(kind)(leaf))


def tree_any_only(kind: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Check | None = None) -> bool:
    """Whether a condition holds for one of the leaves of a kind."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if _condition(kind)(leaf))
