"""Random programs: statements of Python, one after the other, each chosen for the tensors that there are by then.

A program is grown while it runs on PyTorch, so that most statements make sense; some are meant not to. Whoever reads a
program needs to know only these names: `torch`, `log` (a list), `math`, `copy`, `pickle`, `ThreadPoolExecutor`,
`checkpoint`. Tensors are named `t3`, modules `m3`, optimisers `o3`, hooks `h3`.
"""

from __future__ import annotations

import random
from typing import Any

from . import vocabulary
from .execute import Run, place

Statements = list[str]


class Grower:
    """A program so far: its statements, what they have made, and what the next one may be made of."""

    def __init__(self, torch: Any, rng: random.Random) -> None:
        self.torch, self.rng, self.run = torch, rng, Run(torch)
        self.statements: Statements = []
        self.count = 0

    def add(self, statement: str) -> None:
        self.statements.append(statement)
        self.run.step(statement)

    # -- choices ---------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def number(self) -> str:
        """A number as people write it, small and never close to a point where a function jumps."""
        return self.pick("2", "0.5", "-1.5", "3", "1", "-2", "0.25")

    def new(self) -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"t{self.count}"

    # -- what there is -----------------------------------------------------------------------------------------------

    @property
    def tensors(self) -> dict[str, Any]:
        return {n: v for n, v in self.run.names.items() if n[0] == "t" and isinstance(v, self.torch.Tensor)}

    def tensor(self, *wanted: str) -> str:
        """The name of a tensor, rather a late one, of a kind that `KINDS` knows; of any kind, if there is none."""
        found = list(self.tensors.items())
        if "int" in wanted or "bool" in wanted or "written" in wanted or not self.chance(0.01):
            good = [(n, v) for n, v in found if self.suits(v, wanted)]
            found = good or (found if not {"int", "bool", "written"} & {*wanted} else [])
        if not found:
            return "torch.tensor([0])"
        return found[-1 - int(len(found) * self.rng.random() ** 1.6)][0]

    def suits(self, tensor: Any, wanted: tuple[str, ...]) -> bool:
        """Whether a tensor is of all these kinds; one whose history is in disorder (it says so) is of none."""
        try:
            return all(KINDS[kind](self.torch, tensor) for kind in wanted)
        except RuntimeError:
            return False

    def other(self, letter: str) -> str:
        """The name of something else: a module (m), an optimiser (o), a hook (h); None, if there is none."""
        found = [n for n in self.run.names if n[0] == letter and n[1:].isdigit()]
        return self.rng.choice(found[-2:]) if found else "None"

    def beside(self, name: str, *wanted: str) -> str:
        """A tensor that has no memory in common with another: of what overlaps, docs/differences.md tells."""
        target = self.tensors.get(name)
        where = place(target)
        found = [
            n
            for n, v in self.tensors.items()
            if place(v) != where
            and (target is None or kind_of(v) == kind_of(target))
            and (target is None or v.shape == target.shape or v.dim() == 0 or self.chance(0.02))
            and self.suits(v, wanted)
        ]
        return self.rng.choice(found) if found else self.number()

    def shape(self, name: str) -> tuple[int, ...]:
        found = self.tensors.get(name)
        return () if found is None else tuple(found.shape)

    def dim(self, name: str) -> int:
        """A dimension of a tensor, from either end; now and then none."""
        n = max(len(self.shape(name)), 1)
        return self.rng.randrange(-n, n) if not self.chance(0.004) else n


def kind_of(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


KINDS: dict[str, Any] = {
    "grad": lambda torch, t: t.requires_grad,
    "node": lambda torch, t: t.grad_fn is not None,
    "leaf": lambda torch, t: t.is_leaf and t.requires_grad,
    "plain": lambda torch, t: not t.requires_grad,
    "float": lambda torch, t: t.is_floating_point(),
    "smooth": lambda torch, t: t.is_floating_point() or t.is_complex(),
    "complex": lambda torch, t: t.is_complex(),
    "int": lambda torch, t: t.dtype == torch.int64,
    "bool": lambda torch, t: t.dtype == torch.bool,
    "dims": lambda torch, t: t.dim() > 0 and t.numel() > 0,
    "matrix": lambda torch, t: t.dim() == 2,
    "vector": lambda torch, t: t.dim() == 1,
    # What may be written: overlaps are undefined there, and of an inference tensor PyTorch writes before it refuses.
    "written": lambda torch, t: torch._debug_has_internal_overlap(t) == 0 and not t.is_inference(),
}


def grow(torch: Any, seed: int) -> tuple[Statements, Run]:
    """A program, and its run on PyTorch."""
    rng = random.Random(seed)
    grower = Grower(torch, rng)
    for _ in range(rng.choice((1, 2, 2, 3))):
        grower.add(vocabulary.leaf(grower))
    makers = vocabulary.makers(rng)
    if vocabulary.module in makers:
        grower.add(vocabulary.module(grower))
    for _ in range(rng.randrange(4, 18)):
        grower.add(vocabulary.one_of(grower, makers))
    if rng.random() < 0.7:
        grower.add(vocabulary.backward(grower))
    return grower.statements, grower.run
