"""Functions, methods and operators in the form that asks its arguments first."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from types import MethodType, NoneType
from typing import Any

from retrograd.backends.dtype_class import dtype
from retrograd.core.plain import MethodForm, Size
from retrograd.core.tensor import Tensor
from retrograd.ops.operators import TensorArithmetic
from retrograd.overrides.protocol import ask, relevant, values_to_ask
from retrograd.overrides.state import ALL, STATE

# Functions that take values of any kind: only modes are asked about them.
_OF_VALUES = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.scalar_tensor"})
_BUILT_IN = ("fft", "linalg", "special")
# Types of arguments that have no say. The others are looked at more closely.
SILENT = frozenset({Tensor, int, float, bool, complex, str, NoneType, slice, dtype, Size})


class AskingFunction:
    """A function, or method of Tensor, that asks the classes of its arguments, and modes, before it computes.

    It stands for the function in dictionaries: it equals it, and has its hash.
    """

    form: Any

    def __init__(self, name: str, function: Any, of_class: bool = False) -> None:
        self.torch_name = name
        # Whether `torch.Tensor.name` is the function, so that it is what is asked about.
        self._of_class = of_class
        package, _, short = name.removeprefix("torch.").rpartition(".")
        if package in _BUILT_IN:
            short = f"{package}_{short}"  # as PyTorch's are called
        self.__name__ = self.__qualname__ = short
        self.form = function  # or what finds it
        self._keeps_names = name.startswith("torch.nn.functional.")
        self._of_values = name in _OF_VALUES

    @property
    def __wrapped__(self) -> Any:
        """The function itself, loaded if it was not."""
        if isinstance(self.form, MethodForm):
            self.form = self.form.find()
        return self.form

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.__wrapped__.__doc__

    @property
    def __module__(self) -> Any:  # type: ignore[override]
        return self.__wrapped__.__module__

    @property
    def __kwdefaults__(self) -> Any:
        """The defaults of its keywords, which programs ask for to see what a version can do; None if it tells none."""
        return getattr(self.__wrapped__, "__kwdefaults__", None)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        if STATE.off < ALL:
            silent = STATE.off or self._of_values or (not named and _are_silent(args))
            found = [] if silent else values_to_ask(relevant(args, named))
            if found or STATE.modes:
                func = self.form if self._of_class else self
                return ask(func, found, args, named or ({} if self._keeps_names else None))
        return self.__wrapped__(*args, **named)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __eq__(self, other: object) -> bool:
        return self is other or other is self.__wrapped__

    def __hash__(self) -> int:
        wrapped = self.__wrapped__
        return id(wrapped) if type(wrapped).__hash__ is None else hash(wrapped)  # compiled methods have none

    def __repr__(self) -> str:
        return f"<function {self.torch_name}>"

    def __reduce__(self) -> Any:
        return _by_name, (self.torch_name,)


def _by_name(name: str) -> Any:
    """What unpickling calls."""
    return attrgetter(name.removeprefix("torch."))(import_module("retrograd"))


def _are_silent(args: tuple[Any, ...]) -> bool:
    for value in args:
        if type(value) not in SILENT:
            return False
    return True


# What operators are called when somebody is asked: a method of Tensor each.
_METHODS = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "floordiv": "__floordiv__", "mod": "remainder",
    "pow": "__pow__", "matmul": "matmul", "eq": "__eq__", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "and_": "__and__", "or_": "__or__", "xor": "__xor__", "lshift": "__lshift__", "rshift": "__rshift__",
    "rsub": "__rsub__", "rdiv": "__rtruediv__", "rfloordiv": "__rfloordiv__", "rmod": "__rmod__", "rpow": "__rpow__",
    "rmatmul": "__rmatmul__", "rlshift": "__rlshift__", "rrshift": "__rrshift__", "iadd": "add_", "isub": "sub_",
    "imul": "mul_", "idiv": "div_", "ifloordiv": "__ifloordiv__", "imod": "remainder_", "ipow": "__ipow__",
    "iand": "__iand__", "ior": "__ior__", "ixor": "__ixor__", "ilshift": "__ilshift__", "irshift": "__irshift__",
    "neg": "neg", "pos": "positive", "abs": "abs", "invert": "__invert__", "unbind": "unbind",
    "getitem": "__getitem__", "setitem": "__setitem__",
}  # fmt: skip


def _operator(name: str, method: str) -> Any:
    """An operator that asks first."""
    plain = getattr(TensorArithmetic, name)

    indexes = name in ("getitem", "setitem")

    def call(self: Any, *args: Any) -> Any:
        if STATE.off < ALL:
            asked = (*args, *args[1]) if indexes and type(args[1]) in (tuple, list) else args
            found = [] if STATE.off or _are_silent(asked) else values_to_ask(asked)
            if found or STATE.modes:
                return ask(getattr(Tensor, method), found, args, None)
        return plain(self, *args)

    call.__name__ = name
    return call


def asking_operators() -> Any:
    """What Python's operators do once somebody may be asked."""
    methods = {name: _operator(name, method) for name, method in _METHODS.items()}
    return type("AskingArithmetic", (TensorArithmetic,), methods)()
