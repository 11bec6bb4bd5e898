"""Parameters of which each sample has its own: see Note [Parameters of each sample] in per_sample.py."""

from __future__ import annotations

from typing import Any

from retrograd.backends.batch.array import Level, constant
from retrograd.core.accumulate import grad_accumulator
from retrograd.core.node import Node
from retrograd.func.levels import shape_levels


class OwnOfEach:
    """While it is open, parameters are ones that each sample of a level has for itself."""

    def __init__(self, params: list[Any], level: Level) -> None:
        self.params = params
        self.level = level
        self.arrays: list[Any] = [p.array for p in params]
        self.nodes: list[Node] = [
            grad_accumulator(p) for p in params
        ]  # kept alive: the tensors only know them weakly

    def __enter__(self) -> None:
        levels = (self.level,)
        try:
            for p in self.params:
                p.array = constant(p.array, levels)
                p._update_accumulator()
        except BaseException:
            self.restore()
            raise

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        self.restore()

    def restore(self) -> None:
        """Gives the parameters their arrays back."""
        for p, array in zip(self.params, self.arrays, strict=True):
            p.array = array
            p._update_accumulator()


def check_paths(loss: Any, params: list[Any], level: Level) -> None:
    """Refuses a parameter that is used through a tensor computed before: there its gradients would be summed."""
    wanted: dict[Node, int] = {grad_accumulator(p): i for i, p in enumerate(params)}
    first: Node | None = loss.grad_fn
    if first is None:
        return
    waiting: list[Node] = [first]
    seen: set[Node] = {first}
    while waiting:
        node = waiting.pop()
        for succ in node.successors():
            if succ in wanted and level not in shape_levels(node.out_shape):
                raise ValueError(
                    f"per_sample_grads: parameter {wanted[succ]} is used through a tensor that was computed from it "
                    f"before, by {node.name()}: all samples share that one. Compute it inside of the loss function."
                )
            if succ not in seen:
                seen.add(succ)
                waiting.append(succ)
