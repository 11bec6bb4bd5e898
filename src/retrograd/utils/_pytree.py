"""Trees of tensors, as `torch.utils._pytree`: nested tuples, lists, dicts and classes that are registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from retrograd.core.tree import REGISTERED, flatten, unflatten
from retrograd.core.tree import Form as TreeSpec

PyTree = Any
Context = Any
Check = Callable[[Any], bool]


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    **more: Any,
) -> None:
    """Makes a class one of those that trees consist of.

    Args:
        cls: the class.
        flatten_fn: gives the children of an instance, and what else it consists of.
        unflatten_fn: makes an instance of children and the rest.
        more: PyTorch's, without an effect.
    """
    if cls in REGISTERED:
        raise ValueError(f"{cls} is already registered as pytree node. Register each class once.")
    REGISTERED[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


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
    from retrograd.core.tree import children_of

    if is_leaf(tree):
        return _Sealed(tree)
    found = children_of(tree)
    if found is None:
        return tree
    context, children = found
    seals = [_sealed(child, is_leaf) for child in children]
    shallow = TreeSpec(type(tree), context, [flatten(0)[1]] * len(seals))
    return unflatten(seals, shallow)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this form with these leaves."""
    found = list(leaves)
    if len(found) != treespec.count:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(found)} but the spec refers to a pytree that "
            f"holds {treespec.count} items ({treespec})."
        )
    return unflatten(found, treespec)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Check | None = None) -> Any:
    """The tree with `func` of each leaf, and of those at its place in other trees, instead.

    >>> tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, form = tree_flatten(tree, is_leaf)
    others = []
    for rest in rests:
        found, its = tree_flatten(rest, is_leaf)
        if its != form:
            raise ValueError(f"tree_map(): the trees have different forms, {form} and {its}")
        others.append(found)
    return unflatten([func(*row) for row in zip(leaves, *others, strict=True)], form)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Check | None = None) -> Any:
    """Calls `func` on each leaf; gives the tree as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Check | None = None) -> Any:
    """The tree with `func` of those leaves that are of a kind: a class, several, or a condition."""
    fits = _condition(kind)
    return tree_map(lambda leaf: func(leaf) if fits(leaf) else leaf, tree, is_leaf=is_leaf)


def _condition(kind: Any) -> Check:
    if isinstance(kind, (type, tuple)):
        return lambda leaf: isinstance(leaf, kind)
    return lambda leaf: bool(kind(leaf))


def tree_leaves(tree: Any, is_leaf: Check | None = None) -> list[Any]:
    """The leaves of a tree from left to right."""
    return tree_flatten(tree, is_leaf)[0]


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
