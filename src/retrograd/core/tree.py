"""Trees: tensors in nested tuples, lists, dicts and named tuples, taken apart and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from retrograd.errors import check_depth


class Form:
    """What a tree is without its leaves: the container at its root, and the forms of what is inside."""

    def __init__(self, kind: Any, context: Any, parts: list[Form]) -> None:
        self.kind = kind  # the container's class; None for a leaf
        self.context = context  # keys, or what else the container needs to be made again
        self.parts = parts
        self.count: int = 1 if kind is None else sum(c.count for c in parts)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Form)
            and self.kind is other.kind
            and self.context == other.context
            and self.parts == other.parts
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.count))

    # -- PyTorch's names ----------------------------------------------------------------------------------------------

    @property
    def type(self) -> Any:
        """The container's class; None for a leaf."""
        return self.kind

    @property
    def num_leaves(self) -> int:
        """How many leaves the tree has."""
        return self.count

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves it has."""
        return 1 + sum([part.num_nodes for part in self.parts])

    @property
    def num_children(self) -> int:
        """How many parts the container at its root has."""
        return len(self.parts)

    def children(self) -> list[Form]:
        """The forms of its parts."""
        return list(self.parts)

    def child(self, index: int) -> Form:
        """The form of one part."""
        return self.parts[index]

    def is_leaf(self) -> bool:
        """Whether there is nothing but a leaf."""
        return self.kind is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this form with these leaves."""
        return unflatten_all("treespec.unflatten(leaves)", leaves, self)

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        inside = [repr(c) for c in self.parts]
        if issubclass(self.kind, dict):
            keys = _keys(self)
            return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(keys, inside, strict=True)) + "}"
        if self.kind is tuple:
            return "(" + ", ".join(inside) + ("," if len(inside) == 1 else "") + ")"
        if self.kind is list:
            return "[" + ", ".join(inside) + "]"
        return f"{self.kind.__name__}({', '.join(inside)})"


LEAF = Form(None, None, [])
# Classes that users have added: what takes an instance apart, and what puts it together of children and context.
REGISTERED: dict[Any, tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {}

# Classes of this library that a tree takes for one of Python's: a module's tables of members are dicts.
COUNTS_AS: dict[Any, Any] = {}


def kind_of(tree: Any) -> Any:
    """The class of a container, as a tree tells containers apart."""
    return COUNTS_AS.get(type(tree), type(tree))


def _keys(form: Form) -> list[Any]:
    keys: list[Any] = form.context[1] if form.kind is defaultdict else form.context
    return keys


def _is_named(kind: Any) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def children_of(tree: Any) -> tuple[Any, list[Any]] | None:
    """The context and the children of a container; None for a leaf."""
    kind = kind_of(tree)
    if kind is dict or kind is OrderedDict:
        return list(tree), list(tree.values())
    if kind is defaultdict:
        return (tree.default_factory, list(tree)), list(tree.values())
    if kind is tuple or kind is list or _is_named(kind):
        return None, list(tree)
    if kind is deque:
        return tree.maxlen, list(tree)
    if kind in REGISTERED:
        children, context = REGISTERED[kind][0](tree)
        return context, list(children)
    return None


def flatten(tree: Any, depth: int = 0) -> tuple[list[Any], Form]:
    """The leaves of a tree from left to right, and its form. `depth` counts the containers around it."""
    check_depth(depth)
    found = children_of(tree)
    if found is None:
        return [tree], LEAF
    context, children = found
    leaves: list[Any] = []
    forms = []
    for child in children:
        inner, form = flatten(child, depth + 1)
        leaves.extend(inner)
        forms.append(form)
    return leaves, Form(kind_of(tree), context, forms)


def unflatten(leaves: Sequence[Any], form: Form) -> Any:
    """The tree of this form with these leaves."""
    if form.kind is None:
        return leaves[0]
    children, at = [], 0
    for child in form.parts:
        children.append(unflatten(leaves[at : at + child.count], child))
        at += child.count
    return _made(form, children)


def unflatten_all(call: str, leaves: Iterable[Any], form: Form) -> Any:
    """`unflatten` for a user's call, which may give too many leaves or too few."""
    found = list(leaves)
    if len(found) != form.count:
        raise ValueError(
            f"{call}: `leaves` has length {len(found)} but the spec refers to a pytree that holds {form.count} items "
            f"({form})."
        )
    return unflatten(found, form)


def _made(form: Form, children: list[Any]) -> Any:
    kind: Any = form.kind
    if kind in REGISTERED:
        return REGISTERED[kind][1](children, form.context)
    if kind is defaultdict:
        factory, keys = form.context
        return defaultdict(factory, zip(keys, children, strict=True))
    if issubclass(kind, dict):
        return kind(zip(form.context, children, strict=True))
    if kind is deque:
        return deque(children, maxlen=form.context)
    return kind(*children) if _is_named(kind) else kind(children)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with `function` of each leaf in its place."""
    leaves, form = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], form)


def spread_over(prefix: Any, form: Form) -> list[Any] | None:
    """The leaves of `prefix`, each repeated for all that a tree of `form` has in its place; None if it does not fit."""
    found = children_of(prefix)
    if found is None:
        return [prefix] * form.count
    context, children = found
    if form.kind is not kind_of(prefix) or len(children) != len(form.parts) or context != form.context:
        return None
    spread: list[Any] = []
    for child, inner in zip(children, form.parts, strict=True):
        part = spread_over(child, inner)
        if part is None:
            return None
        spread.extend(part)
    return spread
