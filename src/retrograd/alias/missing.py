"""Stand-ins for what PyTorch has and retrograd has not, and the sentences they raise when they are used.

Note [What is missing]
~~~~~~~~~~~~~~~~~~~~~~
A program may name what it never uses: `from torch.onnx import export` at its top, `torch.per_tensor_affine` in a table.
So in a program that runs under the alias, a name that is missing is a stand-in. It raises when it is called, when a
class that derives from it is instantiated, and when anything else is done with it. Nothing is an instance of it.

A program that asks whether a name is there is told the truth: `hasattr(torch, "x")` is False, `getattr(torch, "x", 1)`
is 1, and in a `try` with an `except ImportError`, an `import` raises. What it has prepared for that case then runs.
`callers.py` tells the two apart.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NoReturn

from retrograd.alias.callers import wants_the_thing

_DEVICES = (
    "There is no such device here: tensors live on the CPU. Run this part only if is_available() says so."
)
_TRACES = "Functions are not traced or compiled here: call them as they are."
_QUANTISED = "There are no quantised numbers here: compute in float32."
_SPARSE = "There are no sparse or nested tensors here: use dense ones."
_NET = "Nothing is fetched from the net: download the file yourself and read it by torch.load(path)."

# What to do instead, by the beginning of the name.
ADVICE = {
    "torch.ao": _QUANTISED,
    "torch.cuda": _DEVICES,
    "torch.distributed": "Ranks hold whole models here: use nn.parallel.DistributedDataParallel.",
    "torch.distributed.fsdp": (
        "Each rank holds the whole model here. For less memory use distributed.optim.ZeroRedundancyOptimizer with "
        "shard_gradients=True, and nn.parallel.DistributedDataParallel otherwise."
    ),
    "torch.distributed.rpc": "Ranks call no functions of each other here: send objects by torch.distributed.",
    "torch.export": _TRACES,
    "torch.fx": _TRACES,
    "torch.hub": _NET,
    "torch.jit": _TRACES,
    "torch.mps": _DEVICES,
    "torch.mtia": _DEVICES,
    "torch.nested": _SPARSE,
    "torch.nn.intrinsic": _QUANTISED,
    "torch.nn.parallel": "There is one device here: leave it out, and call the module itself.",
    "torch.nn.qat": _QUANTISED,
    "torch.nn.quant": _QUANTISED,
    "torch.onnx": "Nothing here writes ONNX: save the weights by torch.save, and export them where PyTorch is.",
    "torch.ops": "Operations are called by their public names, as torch.add.",
    "torch.package": "Use torch.save for weights, and Python's own packages for code.",
    "torch.q": _QUANTISED,
    "torch.sparse": _SPARSE,
    "torch.utils.cpp_extension": "No C++ is compiled here: write it in Python, with torch.autograd.Function.",
    "torch.xpu": _DEVICES,
}
_OTHERWISE = "Write it with the functions there are, or run this part where PyTorch is; docs/differences.md has a list."


def sentence(name: str) -> str:
    """What to say of a name that is missing.

    >>> sentence("torch.hub.load")
    'torch.hub.load is not in retrograd. Nothing is fetched from the net: download the file yourself and read it by ...'
    """
    found = [advice for start, advice in ADVICE.items() if name.startswith(start)]
    return f"{name} is not in retrograd. {found[-1] if found else _OTHERWISE}"


def missing(name: str, frame: FrameType | None) -> Any:
    """What a name that is not there gives to a frame that asks for it: a stand-in, or an AttributeError."""
    if name.rpartition(".")[2].startswith("__") or not wants_the_thing(frame):
        raise AttributeError(sentence(name), name=name.rpartition(".")[2])
    return _stand_in(name)


class StandIn:
    """Stands for something that is missing, and says so when it is used."""

    __slots__ = ("_stands_for",)

    _stands_for: str
    __all__ = ()  # of a module: it offers nothing

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_stands_for", name)

    def __setattr__(self, name: str, value: object) -> None:
        """Nothing: what is changed here, as tools do to watch it, is never used."""

    def __reduce__(self) -> Any:
        return _stand_in, (self._stands_for,)  # copies are the thing itself

    @property
    def __name__(self) -> str:  # by which PyTorch's lists of classes name their tests
        return self._stands_for.rpartition(".")[2]

    def __str__(self) -> str:
        return self._stands_for

    def __repr__(self) -> str:
        return f"<{self._stands_for}, which is not in retrograd>"

    def __getattr__(self, name: str) -> Any:
        return missing(f"{self._stands_for}.{name}", sys._getframe(1))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (type(self._stands_for.rpartition(".")[2], (Refuses,), {"stands_for": self._stands_for}),)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __bool__(self) -> bool:
        if not self._stands_for.startswith("torch.ops."):  # those are functions, which are true
            _refuse(self)
        return True

    def __or__(self, other: object) -> object:
        return Any  # in annotations: `torch.x | None`

    __ror__ = __or__


_STAND_INS: dict[str, StandIn] = {}


def _stand_in(name: str) -> StandIn:
    """The one for a name, so that `torch.qscheme in (torch.qscheme, torch.Stream)` is true."""
    return _STAND_INS.setdefault(name, StandIn(name))


class Refuses:
    """The base of classes that derive from something missing: they cannot be instantiated."""

    stands_for: str

    def __new__(cls, *args: object, **named: object) -> NoReturn:
        raise NotImplementedError(sentence(cls.stands_for))


def _refuse(self: StandIn, *args: object, **named: object) -> NoReturn:
    raise NotImplementedError(sentence(self._stands_for))


_USES = (
    "call", "getitem", "setitem", "delitem", "iter", "next", "len", "contains", "enter", "exit", "int", "float",
    "index", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul", "rmatmul", "pow", "neg",
    "abs", "lt", "le", "gt", "ge", "and", "invert",
)  # fmt: skip
for _use in _USES:
    setattr(StandIn, f"__{_use}__", _refuse)
