"""What the hot paths ask about op classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retrograd.backends.fused import attach

if TYPE_CHECKING:
    from retrograd.core.op import Op


class Traits:
    """What the hot paths ask about an op class, gathered on first use: class attributes are slow to look up."""

    def __init__(self, cls: Any) -> None:
        name_class(cls)
        self.keeps: int = getattr(cls, "keeps", 0)
        self.keeps0: int = getattr(cls, "keeps0", 0)
        self.keeps1: int = getattr(cls, "keeps1", 0)
        self.tracked: int = getattr(cls, "tracked", 0)
        self.floats: bool = cls.floats
        self.differentiable: bool = cls.differentiable
        self.is_view: bool = cls.is_view
        # Whether the result may have fewer elements than an operand.
        self.may_reduce: bool = not (cls.is_view or cls.elementwise)
        self.called: str = ""  # the function as messages call it; empty: ask the op
        # Kernels of the native pack belong to the very class that they were made from, not to those derived from it.
        self.forward: Any = vars(cls).get("forward_kernel")
        self.vjp: Any = vars(cls).get("vjp_kernel")
        self.laborious: bool = cls.laborious


def name_class(cls: Any) -> None:
    """Gives an op class the name of PyTorch's node (`type(y.grad_fn).__name__`), and its fused kernels.

    `__qualname__` stays as the source has it.
    """
    cls.__name__ = vars(cls).get("node_name") or f"{cls.__qualname__.rpartition('.')[2]}Backward0"
    source = vars(cls).get("same_as", cls)
    attach(cls, f"{source.__module__.removeprefix('retrograd.ops.')}.{source.__qualname__}")


TRAITS: Final[dict[type[Op], Traits]] = {}


def traits_of(op: Op) -> Traits:
    """The traits of an op's class."""
    traits = TRAITS.get(type(op))
    if traits is None:
        traits = TRAITS[type(op)] = Traits(type(op))
    return traits


def called(op: Op, traits: Traits) -> str:
    """The public function as messages call it: `exp()`. It may depend on an op's parameters, if it has any."""
    if traits.called:
        return traits.called
    name = f"{op.function_name()}()"
    if not op.params:
        traits.called = name
    return name
