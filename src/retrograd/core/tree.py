"""Trees: tensors in nested tuples, lists, dicts and named tuples, taken apart and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from retrograd.errors import check_depth


class Form:
    """What a tree is without its leaves: the container at its root, and the forms of what is inside."""

    def __init__(self, kind: Any, context: Any, parts: list[Form]) -> None:
        self.kind = context if kind is namedtuple else kind  # the container's class; None for a leaf
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
        """The container's class, `namedtuple` for all of those that it makes; None for a leaf."""
        return _type_of(self.kind)

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

    @property
    def children_specs(self) -> list[Form]:
        """The forms of its parts, by an older name."""
        return self.parts

    def is_leaf(self) -> bool:
        """Whether there is nothing but a leaf."""
        return self.kind is None

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What a tree has in the places of this form's leaves."""
        return flatten_up_to(self, tree)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this form with these leaves."""
        return unflatten_all(leaves, self)

    def __repr__(self) -> str:
        return _text(self, 2)


LEAF = Form(None, None, [])
# Classes that users have added: what takes an instance apart, and what puts it together of children and context.
REGISTERED: dict[Any, tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {}

_DICTS = frozenset({dict, OrderedDict, defaultdict})

# Classes of this library that a tree takes for one of Python's: a module's tables of members are dicts.
COUNTS_AS: dict[Any, Any] = {}


def kind_of(tree: Any) -> Any:
    """The class of a container, as a tree tells containers apart."""
    return COUNTS_AS.get(type(tree), type(tree))


def _text(form: Form, indent: int) -> str:
    """A form as PyTorch prints it: each part but the first on a line of its own."""
    if form.kind is None:
        return "*"
    context = list(form.context) if form.kind is defaultdict else form.context
    inside = (",\n" + " " * indent).join([_text(part, indent + 2) for part in form.parts])
    return f"TreeSpec({form.type.__name__}, {context}, [{inside}])"


def _keys(form: Form) -> list[Any]:
    keys: list[Any] = form.context[1] if form.kind is defaultdict else form.context
    return keys


def _is_named(kind: Any) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _type_of(kind: Any) -> Any:
    if kind is None or kind in REGISTERED:
        return kind
    return namedtuple if is_made_by_namedtuple(kind) else kind


def is_made_by_namedtuple(kind: Any) -> bool:
    """Whether a class is one that `namedtuple` makes; those of results such as `max` have a number of fields."""
    return _is_named(kind) and hasattr(kind, "_make") and not hasattr(kind, "n_fields")


def children_of(tree: Any) -> tuple[Any, list[Any]] | None:
    """The context and the children of a container; None for a leaf."""
    kind = kind_of(tree)
    if kind is dict or kind is OrderedDict:
        return list(tree), list(tree.values())
    if kind is defaultdict:
        return (tree.default_factory, list(tree)), list(tree.values())
    if kind is tuple or kind is list:
        return None, list(tree)
    if _is_named(kind):
        return kind if is_made_by_namedtuple(kind) else None, list(tree)
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


def unflatten_all(leaves: Iterable[Any], form: Form) -> Any:
    """`unflatten` for a user's call, which may give too many leaves or too few."""
    found = list(leaves)
    if len(found) != form.count:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(found)} but the spec refers to a pytree that holds "
            f"{form.count} items ({form})."
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


def flatten_up_to(form: Form, tree: Any) -> list[Any]:
    """What a tree has in the places of a form's leaves, which may be trees again."""
    if form.kind is None:
        return [tree]
    found: list[Any] = []
    for part, child in zip(form.parts, _fitting(form, tree), strict=True):
        found.extend(flatten_up_to(part, child))
    return found


def _fitting(form: Form, tree: Any) -> list[Any]:
    """The children of a container that should be as the root of a form; dicts of all kinds are alike."""
    wanted, kind = form.type, _type_of(kind_of(tree))
    as_dicts = wanted in _DICTS and kind in _DICTS
    if not as_dicts and kind is not wanted:
        raise ValueError(f"Node type mismatch; expected {wanted!r}, but got {kind!r}.")
    context, children = children_of(tree) or (None, [])
    if len(children) != len(form.parts):
        raise ValueError(f"Node arity mismatch; expected {len(form.parts)}, but got {len(children)}.")
    if not as_dicts:
        if kind is not deque and context != form.context:
            raise ValueError(
                f"Node context mismatch for {kind!r}; expected {form.context!r}, but got {context!r}."
            )
        return children
    keys = _keys(form)
    missing, extra = set(keys).difference(tree), set(tree).difference(keys)
    if missing or extra:
        raise ValueError(f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}.")
    return [tree[key] for key in keys]


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
