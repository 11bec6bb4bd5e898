"""A strict device: arrays of another class, in ordinary memory, that refuse what CuPy's refuse, and NumPy's functions.

What computes on `strict:0` must go through the backend that a formula is given. NumPy's functions, `np.asarray`, an
operand of NumPy's class or a look at memory that a GPU would not allow raise a TypeError here: so nothing falls back to
NumPy unseen. The device is registered as a third party would: `retrograd.backends.register`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from retrograd.backends import NumpyBackend, device, register
from retrograd.backends.base import BACKENDS, backend_of

NUMBERS = (bool, int, float, complex, np.generic)
IN_PLACE = {"iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor"}
BINARY = {
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
    "eq", "ne", "lt", "le", "gt", "ge",
}  # fmt: skip
REFLECTED = BINARY - {"eq", "ne", "lt", "le", "gt", "ge"}
UNARY = ("neg", "pos", "abs", "invert")
METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "choose", "clip", "conj", "conjugate", "copy", "cumprod",
    "cumsum", "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape",
    "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var", "view",
)  # fmt: skip


class Flags:
    """What CuPy's flags say, and no more."""

    def __init__(self, flags: Any) -> None:
        self.c_contiguous = flags.c_contiguous
        self.f_contiguous = flags.f_contiguous
        self.owndata = flags.owndata


class StrictArray:
    """An array on the strict device; `held` is where its elements really are."""

    __array_ufunc__ = None
    __array_priority__ = 100
    __hash__ = object.__hash__

    def __init__(self, held: Any, index: int = 0) -> None:
        self.held = held
        self.index = index

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion of a strict array to a NumPy array is not allowed")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"numpy.{function.__name__} was called on a strict array: use the backend's")

    shape = property(lambda self: self.held.shape)
    dtype = property(lambda self: self.held.dtype)
    ndim = property(lambda self: self.held.ndim)
    size = property(lambda self: self.held.size)
    itemsize = property(lambda self: self.held.itemsize)
    nbytes = property(lambda self: self.held.nbytes)
    strides = property(lambda self: self.held.strides)
    flags = property(lambda self: Flags(self.held.flags))
    T = property(lambda self: StrictArray(self.held.T, self.index))

    @property
    def base(self) -> Any:
        base = self.held.base
        return StrictArray(base, self.index) if isinstance(base, np.ndarray) else None

    @property
    def real(self) -> Any:
        return StrictArray(self.held.real, self.index)

    @real.setter
    def real(self, value: Any) -> None:
        self.held.real = taken(value)

    @property
    def imag(self) -> Any:
        return StrictArray(self.held.imag, self.index)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.held.imag = taken(value)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return StrictArray(
            np.asarray(self.held[taken(key)]) if not _is_view(key) else self.held[taken(key)], self.index
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held[taken(key)] = taken(value)

    def item(self, *args: Any) -> Any:
        return self.held.item(*args)

    def tolist(self) -> Any:
        return self.held.tolist()

    def fill(self, value: Any) -> None:
        self.held.fill(taken(value))

    def diagonal(self, *args: Any) -> Any:
        view = self.held.diagonal(*args)
        view.flags.writeable = self.held.flags.writeable  # NumPy's diagonals alone are read-only
        return StrictArray(view, self.index)

    def sort(self, axis: int = -1) -> None:
        self.held.sort(axis=axis)

    def __bool__(self) -> bool:
        return bool(self.held)

    def __int__(self) -> int:
        return int(self.held)

    def __float__(self) -> float:
        return float(self.held)

    def __complex__(self) -> complex:
        return complex(self.held)

    def __index__(self) -> int:
        return self.held.__index__()

    def __repr__(self) -> str:
        return f"StrictArray({self.held!r})"


def _is_view(key: Any) -> bool:
    """Whether an index takes a view, which must stay one."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(p is Ellipsis or isinstance(p, slice) for p in parts) and not any(
        isinstance(p, (StrictArray, list)) for p in parts
    )


def _operator(name: str) -> Any:
    def method(self: Any, *others: Any) -> Any:
        if not all(isinstance(o, (StrictArray, *NUMBERS)) for o in others):
            if any(isinstance(o, np.ndarray) for o in others):
                raise TypeError("Unsupported type <class 'numpy.ndarray'>: an operand of another library")
            return NotImplemented
        return given(getattr(self.held, name)(*taken(others)), self.index)

    return method


def _in_place(name: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        getattr(self.held, name)(taken(other))
        return self

    return method


def _function(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return given(getattr(self.held, name)(*taken(args), **taken(kwargs)), self.index)

    return method


def _define() -> None:
    """Gives the class its operators and methods."""
    for name in (*BINARY, *UNARY):
        setattr(StrictArray, f"__{name}__", _operator(f"__{name}__"))
    for name in REFLECTED:
        setattr(StrictArray, f"__r{name}__", _operator(f"__r{name}__"))
    for name in IN_PLACE:
        setattr(StrictArray, f"__{name}__", _in_place(f"__{name}__"))
    for name in METHODS:
        setattr(StrictArray, name, _function(name))


_define()


def taken(value: Any) -> Any:
    """Arguments as NumPy gets them; an array of NumPy's among them is refused."""
    if isinstance(value, StrictArray):
        return value.held
    if isinstance(value, np.ndarray):
        raise TypeError(
            "Unsupported type <class 'numpy.ndarray'>: bring it to the device first, with xp.asarray"
        )
    if isinstance(value, (tuple, list)):
        parts = [taken(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: taken(v) for k, v in value.items()}
    return value


def given(value: Any, index: int = 0) -> Any:
    """Results as arrays of the device; NumPy's scalars are its arrays of no dimensions."""
    if isinstance(value, (np.ndarray, np.generic)):
        return StrictArray(np.asarray(value), index)
    if isinstance(value, (tuple, list)):
        parts = [given(v, index) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


class StrictFunction:
    """A function of the array library: takes and gives arrays of the device. Ufuncs have their methods, too."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return given(self.function(*taken(args), **taken(kwargs)))

    def __getattr__(self, name: str) -> Any:
        return StrictFunction(getattr(self.function, name))


def library(module: ModuleType) -> dict[str, Any]:
    """The names of a module of NumPy's, for the strict device."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        if isinstance(value, type) or not callable(value):
            found[name] = value
        else:
            found[name] = StrictFunction(value)
    return found


class Names:
    """A part of the library, such as `xp.linalg`."""

    def __init__(self, module: ModuleType) -> None:
        vars(self).update(library(module))


class Strides:
    """`xp.lib.stride_tricks`, of which formulas use one function."""

    as_strided = staticmethod(StrictFunction(np.lib.stride_tricks.as_strided))


class Tools:
    """`xp.lib`."""

    stride_tricks = Strides()


def asarray(value: Any, dtype: Any = None, **options: Any) -> Any:
    """An array of the device: the explicit way from NumPy to it."""
    held = value.held if isinstance(value, StrictArray) else _plain(value)
    made = np.asarray(held, dtype, **{k: v for k, v in options.items() if k != "subok"})
    return value if isinstance(value, StrictArray) and made is held else StrictArray(made)


def array(value: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", **options: Any) -> Any:
    """A copy on the device."""
    held = value.held if isinstance(value, StrictArray) else _plain(value)
    return StrictArray(np.array(held, dtype, copy=copy, order=order))


def _plain(value: Any) -> Any:
    """Numbers and sequences of them, also of arrays of the device."""
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else getattr(value, "held", value)


class StrictBackend(NumpyBackend):
    """Computes on strict arrays with the kernels that every backend inherits."""

    device_type = "strict"
    is_plain = False

    def __init__(self) -> None:
        self.adopt({"asarray": asarray, "array": array, "asanyarray": asarray})
        self.adopt({"linalg": Names(np.linalg), "fft": Names(np.fft), "lib": Tools()})
        self.adopt({k: v for k, v in library(np).items() if k not in vars(self)})

    def device_of(self, array: Any) -> device:
        return device("strict", array.index)

    def bring(self, array: Any, where: device) -> Any:
        return StrictArray(np.array(backend_of(array).numpy(array), copy=True), where.index or 0)

    def set_writable(self, array: Any, writable: bool) -> None:
        array.held.flags.writeable = writable

    def numpy(self, array: Any) -> Any:
        return array.held.copy()

    def owner_of(self, array: Any) -> Any:
        return StrictArray(BACKENDS.cpu.owner_of(array.held), array.index)

    def memory_of(self, array: Any) -> Any:
        return StrictArray(BACKENDS.cpu.memory_of(array.held), array.index)

    def extent_of(self, array: Any) -> tuple[int, int, int]:
        return BACKENDS.cpu.extent_of(array.held)

    def strided(self, memory: Any, dtype: Any, offset: int, shape: Any, strides: Any) -> Any:
        return StrictArray(BACKENDS.cpu.strided(memory.held, dtype, offset, shape, strides), memory.index)

    def at_address(self, owner: Any, address: int, dtype: Any, shape: Any, strides: Any) -> Any:
        return StrictArray(BACKENDS.cpu.at_address(owner.held, address, dtype, shape, strides), owner.index)

    def new_stream(self, seed: int) -> Any:
        return StrictStream(super().new_stream(seed))

    def stream_state(self, stream: Any) -> bytes:
        return super().stream_state(stream.stream)

    def restore_stream(self, stream: Any, state: bytes) -> None:
        super().restore_stream(stream.stream, state)


class StrictStream:
    """Random numbers that are drawn on the device."""

    bit_generator = None

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return StrictFunction(getattr(self.stream, name))


def install() -> None:
    """Lets `tensor.to("strict:0")` work."""
    if "strict" not in BACKENDS.by_device:
        register(StrictBackend(), StrictArray)
