"""What the fragments of code on a page take for granted: names that a reader understands without their definition."""

from __future__ import annotations

EVERYWHERE = "import numpy as np\nimport retrograd as rg\n"

BY_PAGE = {
    "docs/guide/transforms.md": """
from retrograd.func import per_sample_grads

x, xs, ys = rg.randn(3), rg.randn(6, 3), rg.randn(6, 2)
a, b = rg.randn(4, 3), rg.randn(5, 3, requires_grad=True)
w = rg.randn(2, 3, requires_grad=True)
params = {"w": w, "b": b}

def f(x):
    return (x**3).sum()

def distance(a, b):
    return (a - b).norm()

def loss(*args):  # of parameters alone, of a sample, or of both
    if len(args) == 1:
        return (args[0]["a"] - 2) ** 2 + (args[0]["w"] ** 2).sum()
    weights = params if len(args) == 2 else args[0]
    return ((weights["w"] @ args[-2] - args[-1]) ** 2).sum() + weights["b"].sum()
""",
    "docs/guide/nan.md": """
w = rg.randn(3, requires_grad=True)
data = [rg.randn(3) for _ in range(2)]
optimiser = rg.optim.SGD([w], lr=0.1)

def model(batch):
    return (w * batch).sum()
""",
}
