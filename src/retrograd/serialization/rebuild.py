"""What a checkpoint is made of: functions that build each kind of thing from checked plain parts.

No class of the file's choice is asked to build itself, and nothing of NumPy's or PyTorch's own unpickling runs. Sizes
are compared with the bytes there are before memory is taken.
"""

from __future__ import annotations

import importlib
import math
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, Final

import numpy as np

from retrograd.backends.device import device
from retrograd.backends.dtype_class import BY_NAME, dtype
from retrograd.backends.meta import META
from retrograd.backends.mirror import mirrored
from retrograd.core.plain import Size
from retrograd.core.tensor import TENSOR_FIELDS, Tensor, rebuild_leaf
from retrograd.errors import DTYPE_NAMES
from retrograd.ops.tensor.buffers import empty_strided
from retrograd.serialization.storages import (
    LARGEST,
    refused,
    shown,
    tensor_in,
    unknown_kind,
    whole,
    whole_numbers,
)
from retrograd.values import Array, DType

# -- tensors ---------------------------------------------------------------------------------------------------------


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    """A tensor of PyTorch's oldest form."""
    return tensor_in(storage, offset, size, stride, False)


def rebuild_tensor_v2(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Tensor:
    """A tensor. Hooks are no part of a file."""
    return _seen(tensor_in(storage, offset, size, stride, requires_grad), metadata)


def rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    kind: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor in a storage of mere bytes."""
    if not isinstance(kind, dtype):
        raise refused("a tensor has no dtype")
    if kind.held is None:
        raise unknown_kind(repr(kind))
    return _seen(tensor_in(storage, offset, size, stride, requires_grad, kind.held), metadata)


def rebuild_meta_tensor(kind: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor on the device meta, which has no values."""
    sizes, strides = whole_numbers(tuple(size), "size"), whole_numbers(tuple(stride), "stride")
    if not isinstance(kind, dtype) or kind.held is None or requires_grad not in (True, False):
        raise refused("a tensor on the device meta has no dtype, or neither requires a gradient nor does not")
    if len(sizes) != len(strides) or math.prod(sizes) * kind.itemsize > LARGEST:
        raise refused(f"a tensor on the device meta has the sizes {sizes} and the strides {strides}")
    return empty_strided(sizes, strides, dtype=kind, device=META, requires_grad=requires_grad)


def _seen(tensor: Tensor, metadata: Any) -> Tensor:
    """A tensor that is seen conjugated, or with its sign changed, if the file says so."""
    if not isinstance(metadata, dict):
        return tensor
    conj = metadata.get("conj") is True and tensor.array.dtype.kind == "c"
    array = mirrored(tensor.array, conj, metadata.get("neg") is True)
    return tensor if array is tensor.array else rebuild_leaf(Tensor, array, tensor.requires_grad, None, {})


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Tensor:
    """A parameter: of the class `nn.Parameter` where there is one, else a leaf that requires a gradient."""
    if not isinstance(data, Tensor) or requires_grad not in (True, False):
        raise refused("a parameter has no tensor")
    kind = getattr(importlib.import_module("retrograd.nn"), "Parameter", None)
    if kind is None:
        return _with_state(rebuild_leaf(Tensor, data.array, requires_grad, None, {}), state)
    return _with_state(kind(data, requires_grad), state)


def rebuild_from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor with attributes that its user hung on it, perhaps of a class of the user's."""
    if function not in TENSOR_MAKERS or not isinstance(args, tuple):
        raise refused("a tensor is to be made of something else")
    made = function(*args)
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise refused("what should be a class of tensors is none")
    if kind is not Tensor:
        made = rebuild_leaf(kind, made.array, made.requires_grad, None, {})
    return _with_state(made, state)


def _with_state(made: Tensor, state: Any) -> Tensor:
    """A tensor with the attributes that a file gives it: none that is a tensor's own."""
    if state is None:
        return made
    if isinstance(state, tuple) and len(state) == 2:  # what `__slots__` held comes second
        state = {**(state[0] or {}), **(state[1] or {})}
    for name, value in plain_state(state).items():
        if name in TENSOR_FIELDS or hasattr(type(made), name):
            raise refused(f"a tensor is to have another {name!r:.40}")
        setattr(made, name, value)
    return made


def plain_state(state: Any) -> dict[str, Any]:
    """The attributes of an object, as a file names them."""
    if not isinstance(state, dict) or not all(type(name) is str and name[:2] != "__" for name in state):
        raise refused("the attributes of an object are no dict of names")
    return state


TENSOR_MAKERS: Final = (
    rebuild_tensor,
    rebuild_tensor_v2,
    rebuild_tensor_v3,
    rebuild_parameter,
    rebuild_meta_tensor,
)


def leaf_of_old_file(kind: Any, array: Any, requires_grad: Any, grad_dtype: Any, state: Any) -> Any:
    """A tensor as `save` wrote it before it wrote PyTorch's format."""
    if not (isinstance(kind, type) and issubclass(kind, Tensor)) or not isinstance(array, np.ndarray):
        raise refused("a tensor has no array")
    made = rebuild_leaf(kind, array, False, None, {})
    return _with_state(made.requires_grad_() if requires_grad is True else made, state or None)


# -- values ----------------------------------------------------------------------------------------------------------


def make_size(sizes: Any = ()) -> Size:
    """A `Size`."""
    return Size(whole_numbers(tuple(sizes) if isinstance(sizes, (list, tuple)) else None, "Size"))


def make_device(kind: Any, index: Any = None) -> device:
    """A `device`; there need be none such here."""
    return device(kind, index)


def named_dtype(name: Any) -> dtype:
    """A dtype by its name."""
    if type(name) is not str or name not in BY_NAME:
        raise refused(f"there is no dtype {shown(name)}")
    return BY_NAME[name]


def layout(name: Any) -> str:
    """A layout. Tensors are strided here."""
    if name != "torch.strided":
        raise pickle.UnpicklingError(f"load(): there are no tensors of layout {shown(name)} here")
    return "strided"


def encode(text: Any, encoding: Any) -> bytes:
    """Bytes, which old pickles write as text."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise refused("bytes are written in an unknown way")
    return text.encode("latin1")


def make_bytes() -> bytes:
    """Empty bytes, which old pickles write so."""
    return b""


def make_bytearray(data: Any = b"", encoding: Any = None) -> bytearray:
    """A bytearray of given bytes: not of a size, which would cost nothing to write and much to load."""
    if type(data) is str:
        data = encode(data, encoding)
    if type(data) is not bytes:
        raise refused("a bytearray has no bytes")
    return bytearray(data)


def make_complex(real: Any, imag: Any) -> complex:
    """A complex number."""
    if type(real) is not float or type(imag) is not float:
        raise refused("the parts of a complex number are no numbers")
    return complex(real, imag)


def make_slice(*parts: Any) -> slice:
    """A slice."""
    return slice(*(None if part is None else _integer(part) for part in parts))


def make_range(*parts: Any) -> range:
    """A range."""
    return range(*(_integer(part) for part in parts))


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise refused("a bound is no whole number")
    return value


# -- containers ------------------------------------------------------------------------------------------------------


def check_key(key: Any, depth: int = 8) -> Any:
    """Refuses keys whose hash runs a stranger's code, or goes so deep that it ends the process."""
    if isinstance(key, (tuple, frozenset)):
        if depth == 0:
            raise refused("a key of a dict is nested too deeply")
        for part in key:
            check_key(part, depth - 1)
    elif key is not None and not isinstance(key, _KEYS):
        raise refused(f"a {type(key).__name__} is to be a key of a dict")
    return key


_KEYS: Final = (str, bytes, int, float, complex, Tensor, dtype, device, np.generic, np.dtype, type)


def _items(items: Any) -> list[Any]:
    """The items of a container that is made from a list."""
    if not isinstance(items, (list, tuple)):
        raise refused("a container is to be made of something that is no list")
    return list(items)


def make_set(items: Any = ()) -> set[Any]:
    """A set."""
    return {check_key(item) for item in _items(items)}


def make_frozenset(items: Any = ()) -> frozenset[Any]:
    """A frozenset."""
    return frozenset(check_key(item) for item in _items(items))


def make_ordered_dict(pairs: Any = ()) -> OrderedDict[Any, Any]:
    """An OrderedDict; Python 2 gave the pairs along, later ones set the items afterwards."""
    return OrderedDict((check_key(key), value) for key, value in _items(pairs))


def make_counter(counts: Any = None) -> Counter[Any]:
    """A Counter."""
    if counts is not None and not isinstance(counts, dict):
        raise refused("a Counter is to be made of something that is no dict")
    return Counter(counts)


def make_defaultdict(factory: Any = None) -> defaultdict[Any, Any]:
    """A defaultdict of plain values."""
    if factory not in (None, bool, bytes, dict, float, int, list, set, str, tuple, OrderedDict):
        raise refused(f"a defaultdict is to call {shown(factory)}")
    return defaultdict(factory)


def make_deque(items: Any = (), maxlen: Any = None) -> deque[Any]:
    """A deque."""
    return deque(_items(items), None if maxlen is None else whole(maxlen, "the length of a deque"))


# -- NumPy's arrays and numbers --------------------------------------------------------------------------------------


class Shell:
    """What stands for a thing whose state a pickle gives only after it has referred to it."""

    def __init__(self) -> None:
        self.keys: list[int] = []  # where the memo of the unpickler has it

    def built(self, state: Any) -> Any:
        """The thing itself."""
        raise NotImplementedError


class ArrayShell(Shell):
    """An array of NumPy's before its state is known."""

    def built(self, state: Any) -> Array:
        if not isinstance(state, tuple) or len(state) != 5:
            raise refused("an array of NumPy's has no state")
        _, shape, kind, by_columns, data = state
        return array_from(data, kind, shape, "F" if by_columns is True else "C")


class DtypeShell(Shell):
    """A dtype of NumPy's before its byte order is known."""

    def __init__(self, kind: DType) -> None:
        super().__init__()
        self.kind = kind

    def built(self, state: Any) -> DType:
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        if order not in ("<", ">", "=", "|"):
            raise refused("a dtype of NumPy's has no byte order")
        return self.kind.newbyteorder(order)


def make_array_shell(kind: Any, shape: Any = None, code: Any = None) -> ArrayShell:
    """What NumPy's `_reconstruct` stands for."""
    if kind is not np.ndarray:
        raise refused("an array is to be of another class than NumPy's")
    return ArrayShell()


def make_dtype_shell(code: Any, align: Any = False, copy: Any = False) -> DtypeShell:
    """A dtype by the short name that NumPy gives it in pickles: `f4`, `i8`, `b1`."""
    for name in DTYPE_NAMES:
        if name != "bfloat16" and np.dtype(name).str[1:] == code:
            return DtypeShell(np.dtype(name))
    raise pickle.UnpicklingError(
        f"Weights only load failed: arrays of NumPy's dtype {shown(code)} are not loaded. If you trust the author of "
        "the file with your machine, load it with weights_only=False."
    )


def array_from(data: Any, kind: Any, shape: Any, order: Any = "C") -> Array:
    """An array of NumPy's from its bytes."""
    sizes = whole_numbers(shape, "shape")
    if not isinstance(kind, np.dtype) or type(data) not in (bytes, bytearray) or order not in ("C", "F"):
        raise refused("an array of NumPy's has no bytes, or no plain dtype")
    if math.prod(sizes) * kind.itemsize != len(data):
        raise refused(f"an array of shape {sizes} and dtype {kind} has {len(data)} bytes")
    found = np.frombuffer(data, kind).reshape(sizes, order=order)
    return found.astype(kind.newbyteorder("="), order=order)


def number_from(kind: Any, data: Any) -> Any:
    """A number of NumPy's from its bytes."""
    return array_from(data, kind, ())[()]
