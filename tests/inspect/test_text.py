"""The drawing of graphs made by hand: the engine and the operations are not involved."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.inspect import graph_text
from retrograd.inspect.text import WIDEST_STEM


class FakeNode:
    """A node with a name and successors; given as nodes, as (node, output number), or None."""

    def __init__(self, name, *successors):
        self._name = name
        self.next_functions = tuple(s if isinstance(s, tuple) else (s, 0) for s in successors)

    def name(self):
        return self._name


class FakeTensor:
    def __init__(self, shape=(), grad_fn=None, requires_grad=True):
        self.shape = shape
        self.grad_fn = grad_fn
        self.requires_grad = requires_grad


class FakeLeafNode(FakeNode):
    def __init__(self, variable):
        super().__init__("torch::autograd::AccumulateGrad")
        self.variable = variable


def lines(*args, **kwargs):
    return graph_text(*args, **kwargs).splitlines()


def test_a_chain_stays_in_its_column():
    assert lines(FakeNode("A", FakeNode("B", FakeNode("C")))) == ["A", "B", "C"]


def test_branches_are_drawn_in_the_order_of_the_inputs():
    root = FakeNode(
        "A", FakeNode("B", FakeNode("C"), FakeNode("D")), FakeNode("E", FakeNode("F")), FakeNode("G")
    )
    assert lines(root) == [
        "A",
        "├─ B",
        "│  ├─ C",
        "│  └─ D",
        "├─ E",
        "│  F",
        "└─ G",
    ]


def test_inputs_without_gradient_are_left_out():
    assert lines(FakeNode("A", None, FakeNode("B", None), None)) == ["A", "B"]


def test_a_shared_node_is_drawn_once_and_numbered_from_the_top():
    low = FakeNode("Low")
    high = FakeNode("High", low)
    assert lines(FakeNode("A", high, low, high)) == [
        "A",
        "├─ [1] High",
        "│  [2] Low",
        "├─ [2] Low, above",
        "└─ [1] High, above",
    ]


def test_outputs_other_than_the_first_are_told():
    split = FakeNode("Split")
    assert lines(FakeNode("A", (split, 0), (split, 2))) == [
        "A",
        "├─ [1] Split",
        "└─ [1] Split, output 2, above",
    ]


def test_leaves_and_results_carry_their_names():
    w, b = FakeTensor((3, 2)), FakeTensor((2,))
    product = FakeNode("Mul", FakeLeafNode(w))
    total = FakeTensor((), FakeNode("Add", product, FakeLeafNode(b)))
    hidden = FakeTensor((3, 2), product)
    assert lines(total, {"w": w, "hidden": hidden}) == [
        "Add",
        "├─ hidden = Mul",
        "│  AccumulateGrad w (3, 2)",
        "└─ AccumulateGrad leaf (2,)",
    ]


def test_drawing_stops_after_max_nodes():
    node = FakeNode("End")
    for _ in range(100_000):
        node = FakeNode("Step", node)
    assert lines(node, max_nodes=3) == ["Step", "Step", "Step", "… the rest is not drawn (max_nodes=3)"]
    while node.next_functions:  # let go of the chain from the top, without recursion
        node = node.next_functions[0][0]


def test_a_graph_of_just_max_nodes_is_complete():
    assert lines(FakeNode("A", FakeNode("B")), max_nodes=2) == ["A", "B"]


def test_a_deep_chain_can_be_drawn_whole():
    node = FakeNode("End")
    for _ in range(20_000):
        node = FakeNode("Step", node)
    assert len(lines(node, max_nodes=100_000)) == 20_001


def test_what_is_far_to_the_right_is_drawn_below():
    node = FakeNode("End")
    for i in range(60):
        node = FakeNode(f"Step{i}", node, FakeNode(f"Side{i}"))
    drawn = lines(node, max_nodes=1000)
    assert max(len(line) for line in drawn) < WIDEST_STEM + 30
    sections = [line for line in drawn if line.startswith("[")]
    promises = [line.strip("├─└│ ") for line in drawn if line.endswith(", below")]
    assert sections
    assert {f"{section}, below" for section in sections} == set(promises)
    assert sum("Side" in line for line in drawn if not line.endswith(", below")) == 60


def test_a_tensor_without_history_says_so():
    leaf, constant = FakeTensor((2,)), FakeTensor((), requires_grad=False)
    assert graph_text(leaf, {"w": leaf}) == "w (2,): a leaf; no operation was recorded"
    assert graph_text(constant) == "tensor (): does not require grad; no operation was recorded"


@pytest.mark.parametrize("max_nodes", [0, -1])
def test_nothing_to_draw_is_an_error(max_nodes):
    with pytest.raises(ValueError, match="at least 1"):
        graph_text(FakeNode("A"), max_nodes=max_nodes)


def test_a_recorded_graph():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * rg.tensor(3.0)).sum()
    expected = ["loss = SumBackward0", "MulBackward0", "AccumulateGrad x (2,)"]
    assert lines(loss, {"x": x, "loss": loss}) == expected
    assert lines(loss.grad_fn, {"x": x, "loss": loss}) == expected


def test_torch_graphs_are_drawn_alike():
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle here: pip install torch==2.13.0")

    def drawn(t):
        x = t.tensor([[0.5, 2.0]], requires_grad=True)
        w = t.tensor([[1.0], [2.0]], requires_grad=True)
        hidden = t.tanh(x @ w + 1)
        return graph_text((hidden * hidden + x).mean(), {"x": x, "w": w, "hidden": hidden})

    assert drawn(rg) == drawn(torch)
