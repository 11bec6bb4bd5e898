"""A backward graph as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

WIDEST_STEM = 60
"""Columns of branches after which a subtree is drawn further down, from the left edge."""


@runtime_checkable
class GraphNode(Protocol):
    """What the drawing asks of a node. PyTorch's nodes answer it too, so both can be drawn and compared."""

    def name(self) -> str: ...

    @property
    def next_functions(self) -> Sequence[tuple[GraphNode | None, int]]: ...


class GraphTensor(Protocol):
    """What the drawing asks of a tensor."""

    @property
    def shape(self) -> Sequence[int]: ...

    @property
    def requires_grad(self) -> bool: ...

    @property
    def grad_fn(self) -> GraphNode | None: ...


def printable(text: Any) -> str:
    r"""A text without what a terminal, or a program that reads it, would obey.

    >>> printable("a\x1b[31m b")
    'a?[31m b'
    """
    return "".join([c if c.isprintable() or c in "\n\t" else "?" for c in str(text)])


def graph_text(
    root: GraphTensor | GraphNode,
    names: Mapping[str, GraphTensor] | None = None,
    max_nodes: int = 200,
) -> str:
    """Draw the graph that `backward()` would run from `root`, one node a line, in the order of its inputs.

    What a node passes its gradients to stands under it: a single successor in the same column, several as branches. A
    node that is reached again carries a number, `[1]`, and is drawn once; a subtree too far to the right is moved
    below in the same way. `names` gives names to leaves and to the nodes that made other tensors. Drawing stops
    after `max_nodes` lines, so a graph of any size can be asked about.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x.exp()
    >>> print(graph_text((y * x + y).sum(), names={"x": x, "y": y}))
    SumBackward0
    AddBackward0
    ├─ MulBackward0
    │  ├─ [1] y = ExpBackward0
    │  │  [2] AccumulateGrad x (2,)
    │  └─ [2] AccumulateGrad x (2,), above
    └─ [1] y = ExpBackward0, above
    """
    if max_nodes < 1:
        raise ValueError(f"graph_text: max_nodes={max_nodes} leaves nothing to draw; it must be at least 1")
    node = root if isinstance(root, GraphNode) else root.grad_fn
    if node is None:
        assert not isinstance(root, GraphNode)
        return _without_history(root, names or {})
    return _Drawing(names or {}, max_nodes).of(node)


def _without_history(tensor: GraphTensor, names: Mapping[str, GraphTensor]) -> str:
    name = next((name for name, named in names.items() if named is tensor), "tensor")
    kind = "a leaf" if tensor.requires_grad else "does not require grad"
    return f"{name} {_shape(tensor)}: {kind}; no operation was recorded"


def _shape(tensor: GraphTensor) -> str:
    return str(tuple(tensor.shape))


class _Line(NamedTuple):
    stem: str
    text: str
    node: int
    """The id of the node it draws or points at; 0 for an empty line."""


class _Branch(NamedTuple):
    node: GraphNode
    output_nr: int
    """Which output of `node` the gradient arriving by this branch belongs to."""
    stem: str
    """What stands before the node on its own line."""
    below: str
    """What stands before the lines under it."""


class _Drawing:
    """The lines so far, and what is still to be drawn. Walks with a stack of its own: graphs can be deep."""

    def __init__(self, names: Mapping[str, GraphTensor], max_nodes: int) -> None:
        self.max_nodes = max_nodes
        self.leaf_names = {id(tensor): name for name, tensor in names.items()}
        self.made = [(tensor.grad_fn, name) for name, tensor in names.items() if tensor.grad_fn is not None]
        self.node_names = {id(node): name for node, name in self.made}
        self.lines: list[_Line] = []
        self.drawn: dict[int, GraphNode] = {}  # by id; holds the nodes, so that no id is used twice
        self.moved: dict[int, GraphNode] = {}
        self.shared: set[int] = set()

    def of(self, root: GraphNode) -> str:
        """The whole drawing."""
        complete = self.draw(root)
        while complete and self.moved:
            node = self.moved.pop(next(iter(self.moved)))
            if id(node) not in self.drawn:
                self.lines.append(_Line("", "", 0))
                complete = self.draw(node)
        text = self.numbered()
        if not complete:
            text.append(f"… the rest is not drawn (max_nodes={self.max_nodes})")
        return "\n".join(text)

    def draw(self, root: GraphNode) -> bool:
        """Draw `root` and what is under it from the left edge; False if the lines ran out."""
        stack = [_Branch(root, 0, "", "")]
        while stack:
            if len(self.lines) >= self.max_nodes:
                return False
            branch = stack.pop()
            key = id(branch.node)
            if key in self.drawn:
                self.refer(branch, "above")
            elif len(branch.stem) > WIDEST_STEM:
                self.moved[key] = branch.node
                self.refer(branch, "below")
            else:
                self.drawn[key] = branch.node
                self.lines.append(_Line(branch.stem, self.describe(branch), key))
                stack.extend(_branches(branch))
        return True

    def refer(self, branch: _Branch, where: str) -> None:
        """A line that points at another one."""
        self.shared.add(id(branch.node))
        self.lines.append(_Line(branch.stem, f"{self.describe(branch)}, {where}", id(branch.node)))

    def describe(self, branch: _Branch) -> str:
        """A node's name; for a leaf also its own name, if it has one, and its shape."""
        leaf: GraphTensor | None = getattr(branch.node, "variable", None)
        if leaf is not None:
            return f"AccumulateGrad {self.leaf_names.get(id(leaf), 'leaf')} {_shape(leaf)}"
        # PyTorch puts the C++ namespace before the names of some nodes.
        text = branch.node.name().rpartition("::")[2]
        if id(branch.node) in self.node_names:
            text = f"{self.node_names[id(branch.node)]} = {text}"
        return f"{text}, output {branch.output_nr}" if branch.output_nr else text

    def numbered(self) -> list[str]:
        """The lines as text, the nodes that several lines speak of numbered from the top."""
        numbers: dict[int, int] = {}
        text = []
        for stem, line, node in self.lines:
            if node in self.shared:
                line = f"[{numbers.setdefault(node, len(numbers) + 1)}] {line}"
            text.append(stem + line)
        return text


def _branches(branch: _Branch) -> list[_Branch]:
    """What `branch` leads to, the first to be drawn last. Inputs that need no gradient lead nowhere."""
    edges = [(node, number) for node, number in branch.node.next_functions if node is not None]
    below = branch.below
    if len(edges) == 1:
        return [_Branch(*edges[0], below, below)]
    branches = [_Branch(*edge, below + "├─ ", below + "│  ") for edge in edges]
    if branches:
        branches[-1] = _Branch(*edges[-1], below + "└─ ", below + "   ")
    return branches[::-1]
