"""Rows of the op table on PyTorch: the same call, with PyTorch's functions in the places of ours."""

from __future__ import annotations

import builtins
import functools
import types
import warnings
from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import Array, Sample

# Rows that cannot be run on PyTorch as they stand.
NUMPY_DTYPE = (
    "its call asks NumPy for an array of a tensor's dtype, which NumPy cannot read from PyTorch's tensors"
)
NO_TWIN = {
    "Tensor.to-another device": "the device is one of the tests",
    "linalg.cholesky-of_product": NUMPY_DTYPE,
    "linalg.cholesky-upper": NUMPY_DTYPE,
    "linalg.eigh-invariant": NUMPY_DTYPE,
    "linalg.eigvalsh-of_product": NUMPY_DTYPE,
    "lobpcg": NUMPY_DTYPE,
    "nn.functional.batch_norm-running": NUMPY_DTYPE,
    "nn.functional.nll_loss-weights": NUMPY_DTYPE,
}


class TensorOf(type):
    """Stands for `rg.Tensor` in a row's own call: wraps arrays (`share=True`), has PyTorch's methods and instances."""

    torch: Any = None

    def __call__(cls, value: Any, *, share: bool) -> Any:
        return dense(cls.torch, np.asarray(value))

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.torch.Tensor)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.torch.Tensor, name)


class Twin:
    """PyTorch under the name of retrograd."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.made: dict[Any, Any] = {}
        self.Tensor = TensorOf("Tensor", (), {"torch": torch})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def function(self, case: Case) -> Any:
        """What the row calls."""
        call = case.call
        if call is None or call.__module__.startswith("retrograd"):
            return functools.reduce(getattr, case.name.split("."), self.torch)
        return self.translated(call)

    def translated(self, value: Any) -> Any:
        """A function of the tests that calls PyTorch where it called retrograd; constants in PyTorch's terms."""
        if isinstance(value, rg.Tensor):
            return dense(self.torch, value.array)
        if type(value) in (tuple, list):
            return type(value)(self.translated(v) for v in value)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("retrograd"):
            path = value.__name__.split(".")[1:]
            return functools.reduce(getattr, path, self.torch) if path else self
        if not isinstance(value, types.FunctionType | types.BuiltinFunctionType):
            return self.object_of(value) if type(value).__module__.startswith("tests.") else value
        if value.__module__.startswith("retrograd"):
            return self.by_name(value)
        return self.rebound(value) if value.__module__.startswith("tests.") else value

    def object_of(self, value: Any) -> Any:
        """An object of the tests whose methods call PyTorch."""
        methods = {n: self.rebound(m) for n, m in vars(type(value)).items() if not n.startswith("__")}
        made = type(type(value).__name__, (), methods)()
        vars(made).update(vars(value))
        return made

    def rebound(self, function: Any) -> Any:
        """A function of the tests with other globals and cells; one that names itself finds the new one."""
        if function in self.made:
            return self.made[function]
        names: dict[str, Any] = {"__builtins__": builtins}
        cells = tuple(types.CellType(self.translated(c.cell_contents)) for c in function.__closure__ or ())
        made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        self.made[function] = made
        used = names_in(function.__code__)
        names.update({n: self.translated(v) for n, v in function.__globals__.items() if n in used})
        return made

    def by_name(self, function: Any) -> Any:
        """PyTorch's function of the name that this one has in retrograd."""
        for path in ("", "linalg", "special", "fft", "nn.functional"):
            place, theirs = (
                functools.reduce(getattr, filter(None, path.split(".")), m) for m in (rg, self.torch)
            )
            if getattr(place, function.__name__, None) is function:
                return getattr(theirs, function.__name__)
        return function

    def argument(self, value: Any) -> Any:
        """An argument that is no differentiable input, in PyTorch's terms."""
        return dense(self.torch, value) if isinstance(value, np.ndarray) else self.translated(value)

    def run(self, case: Case, sample: Sample, inputs: list[Any]) -> list[Any]:
        """All tensors the row's call returned."""
        args = [self.argument(a) for a in sample.args]
        kwargs = {k: self.argument(v) for k, v in sample.kwargs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = self.function(case)(*inputs, *args, **kwargs)
        if isinstance(made, self.torch.Tensor):
            return [made]
        return [t for t in made if isinstance(t, self.torch.Tensor)]


def names_in(code: types.CodeType) -> set[str]:
    """The global names that a function and the functions inside it use."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*(names_in(c) for c in inner))


def dense(torch: Any, array: Array) -> Any:
    """A PyTorch tensor with the strides of the array, or of its own where the array is empty or runs backwards."""
    if not array.size:
        return torch.from_numpy(np.zeros(1, array.dtype))[:0].reshape(array.shape)
    forward = all(s > 0 for s in array.strides) and array.flags.writeable
    return torch.from_numpy(array if forward else np.array(array, order="C"))


def plain(t: Any) -> Array:
    """The numbers of a PyTorch tensor, which may be a pending conjugate or zero."""
    found: Array = t.numpy(force=True)
    return found
