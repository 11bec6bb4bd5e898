"""How a function becomes public: one declaration where it is defined, which packages, Tensor and tools go by.

    @public("digamma", "special.psi", "digamma_", method=True)
    def digamma(input, *, out=None): ...

declares `rg.digamma`, `rg.special.psi` and `rg.digamma_`, and the first and the last as methods of Tensor. Each string
is a public name in full, without the `rg.` before it. See Note [Loaded on demand] for how the names are found.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial, wraps
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Self, TypeVar

from retrograd import public_names
from retrograd.core.plain import MethodForm, TensorMethods
from retrograd.lazy import load
from retrograd.ops.inplace.write import compute_in_place

F = TypeVar("F", bound=Callable[..., Any])

# What has been declared so far, by its name in full: a function, a property or an in-place form.
DECLARED: dict[str, Any] = {}


def public(*names: str, method: bool = False) -> Callable[[F], F]:
    """Declares a function under these names; with `method`, each that is a function of `rg` is a method of Tensor too.

    A name that ends in `_`, of a function whose own does not, is its in-place form.
    """

    def declare(function: F) -> F:
        if isinstance(function, FunctionType):  # neither a class nor compiled
            function = judged(function)
        forms: dict[str, InPlaceForm] = {}
        for name in names:
            short = name.rpartition(".")[2]
            form: Any = function
            if _is_in_place(short) and not _is_in_place(function.__name__):
                form = forms.setdefault(short, InPlaceForm(short, function))
            _record(name, form)
            if method and short == name:
                _record(f"Tensor.{name}", form)
        return function

    return declare


def judged(function: F) -> F:
    """An interpreted function that tells a wrong type before other faults. See Note [Types first]."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except (TypeError, MemoryError):
            raise
        except Exception:
            judge = load("retrograd.ops.refusals")
            error = judge.refusal(function.__module__, function.__name__, args, named)
            if error is None:
                raise
            raise error from None

    return call  # type: ignore[return-value]


def public_property(*names: str, setter: Any = None, deleter: Any = None) -> Callable[[F], F]:
    """Declares a function as what computes these attributes of Tensor; the others are called where one is changed."""

    def declare(function: F) -> F:
        for name in names:
            _record(name, property(function, setter, deleter))
        return function

    return declare


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _record(name: str, form: Any) -> None:
    DECLARED[name] = form
    of_tensor, _, short = name.rpartition(".")
    # A method that `public_names` lists has a placeholder, and comes when it is asked for: its module is complete then.
    if of_tensor == "Tensor" and short not in vars(TensorMethods):
        setattr(TensorMethods, short, _as_method(form))


class InPlaceForm(partial[Any]):
    """`exp_`, made from `exp`: computes, then moves the result into the tensor."""

    def __new__(cls, name: str, function: Callable[..., Any]) -> Self:
        return super().__new__(cls, compute_in_place, name, function)

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = self.__qualname__ = name
        self.__module__ = function.__module__
        self.__doc__ = f"`{name[:-1]}`, in place."

    def __get__(self, instance: Any, owner: Any = None) -> Any:  # which makes it a method to `help`
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<in-place form {self.__name__}>"

    @property
    def __signature__(self) -> Any:
        """That of the function, without the arguments that say where the result goes."""
        from inspect import Parameter, signature

        whole = signature(self.function)
        _, *others = whole.parameters.values()
        kept = [p for p in others if p.name not in ("out", "inplace")]
        return whole.replace(parameters=[Parameter("input", Parameter.POSITIONAL_OR_KEYWORD), *kept])


# -- the methods of Tensor -----------------------------------------------------------------------------------------


def _place_methods() -> None:
    """Puts a placeholder for every method where Tensor finds it. See Note [Loaded on demand]."""
    for module, names in public_names.METHODS.items():
        for name in names.split():
            setattr(TensorMethods, name, MethodForm(name, partial(_loaded, module, name)))


def _loaded(module: str, name: str) -> Any:
    """A method, of a module that is imported now if it was not; None if the module has none of that name."""
    load(module)
    form = DECLARED.get(f"Tensor.{name}")
    return None if form is None else _as_method(form)


def _as_method(form: Any) -> Any:
    """A function as a class can hold it: what is not Python's own kind would not bind `self` by itself."""
    return _instance_method(form) if isinstance(form, (BuiltinFunctionType, InPlaceForm)) else form


_instance_method = ctypes.pythonapi.PyInstanceMethod_New
_instance_method.restype = ctypes.py_object
_instance_method.argtypes = [ctypes.py_object]

_place_methods()
