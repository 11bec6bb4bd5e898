"""What the hot paths ask about op classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from retrograd.backends.native import CPU_BACKEND

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
        self.elementwise: bool = cls.elementwise
        self.in_rows: bool = cls.in_rows
        # Whether the result may have fewer elements than an operand.
        self.may_reduce: bool = not (cls.is_view or cls.elementwise)
        self.called: str = ""  # the function as messages call it; empty: ask the op
        # Whether that depends on an op's parameters: those that say so have a method of their own beside Op's.
        self.names_itself: bool = sum("function_name" in vars(c) for c in cls.__mro__) > 1
        # Compiled formulas belong to the very class that they were made from, not to those derived from it.
        self.forward: Any = vars(cls).get("forward_kernel") or compiled_formula(cls, "forward")
        self.vjp: Any = compiled_formula(cls, "vjp")
        self.laborious: bool = cls.laborious
        self.widened: bool = cls.widened
        # Whether it is recorded even of inference tensors alone: see Note [Nothing but inference tensors].
        self.leads_out: bool = getattr(cls, "leads_out", False)


def name_class(cls: Any) -> None:
    """Gives an op class the name of PyTorch's node, `type(y.grad_fn).__name__`; `__qualname__` is the source's."""
    cls.__name__ = vars(cls).get("node_name") or f"{cls.__qualname__.rpartition('.')[2]}Backward0"


def compiled_formula(cls: Any, method: str) -> Any:
    """What `forward` or `vjp` of a class was compiled to, None if it was not."""
    source = vars(cls).get("same_as", cls)  # see `variant`
    found = CPU_BACKEND.formula(
        f"{source.__module__.removeprefix('retrograd.ops.')}.{source.__qualname__}.{method}"
    )
    return None if found is None else found.bind(cls)


TRAITS: Final[dict[type[Op], Traits]] = {}


def traits_of(op: Op) -> Traits:
    """The traits of an op's class."""
    traits = TRAITS.get(type(op))
    if traits is None:
        traits = TRAITS[type(op)] = Traits(type(op))
    return traits


def called(op: Op, traits: Traits) -> str:
    """The public function as messages call it: `exp()`."""
    if traits.called:
        return traits.called
    name = f"{op.function_name()}()"
    if not traits.names_itself:
        traits.called = name
    return name
