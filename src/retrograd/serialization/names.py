"""The names that a file may use, and what each stands for here. All others are refused, by name."""

from __future__ import annotations

import builtins
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from retrograd.backends.device import device
from retrograd.backends.dtype_class import BY_NAME
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.forks import at_fork
from retrograd.serialization import rebuild
from retrograd.serialization.storages import KINDS, UNTYPED

# Things that can be called, and what is called in their place.
_CALLABLE: Final[list[tuple[str, Any, Callable[..., Any]]]] = [
    ("builtins.bytearray", bytearray, rebuild.make_bytearray),
    ("builtins.bytes", bytes, rebuild.make_bytes),
    ("builtins.complex", complex, rebuild.make_complex),
    ("builtins.frozenset", frozenset, rebuild.make_frozenset),
    ("builtins.range", range, rebuild.make_range),
    ("builtins.set", set, rebuild.make_set),
    ("builtins.slice", slice, rebuild.make_slice),
    ("collections.Counter", Counter, rebuild.make_counter),
    ("collections.OrderedDict", OrderedDict, rebuild.make_ordered_dict),
    ("collections.defaultdict", defaultdict, rebuild.make_defaultdict),
    ("collections.deque", deque, rebuild.make_deque),
    ("torch.Size", Size, rebuild.make_size),
    ("torch.device", device, rebuild.make_device),
    ("retrograd.core.plain.Size", Size, rebuild.make_size),
    ("retrograd.backends.device.device", device, rebuild.make_device),
    ("numpy.dtype", np.dtype, rebuild.make_dtype_shell),
]
# Functions, and those of ours that take their place.
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "_codecs.encode": rebuild.encode,
    "torch._utils._rebuild_tensor": rebuild.rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild.rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": rebuild.rebuild_tensor_v3,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild.rebuild_meta_tensor,
    "torch._utils._rebuild_parameter": rebuild.rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild.rebuild_parameter,
    "torch._tensor._rebuild_from_type_v2": rebuild.rebuild_from_type,
    "torch.serialization._get_layout": rebuild.layout,
    "retrograd.core.tensor.rebuild_leaf": rebuild.leaf_of_old_file,
    "retrograd.backends.dtype_class._named": rebuild.named_dtype,
    **{f"numpy.{core}.multiarray._reconstruct": rebuild.make_array_shell for core in ("_core", "core")},
    **{f"numpy.{core}.multiarray.scalar": rebuild.number_from for core in ("_core", "core")},
    **{f"numpy.{core}.numeric._frombuffer": rebuild.array_from for core in ("_core", "core")},
}
# Things that are only mentioned: classes as default factories, kinds of storages, dtypes.
_VALUES: Final[dict[str, Any]] = {
    **{f"builtins.{t.__name__}": t for t in (bool, dict, float, int, list, str, tuple)},
    **{f"torch.{name}": kind for name, kind in KINDS.items()},
    **{f"torch.cuda.{name}": kind for name, kind in KINDS.items()},
    **{f"torch.{name}": kind for name, kind in BY_NAME.items()},
    "torch.storage.UntypedStorage": UNTYPED,
    "torch.Tensor": Tensor,
    "torch._tensor.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Tensor,
    "retrograd.core.tensor.Tensor": Tensor,
    "numpy.ndarray": np.ndarray,
}

KNOWN: Final[dict[str, Any]] = {
    **{name: thing for name, thing, _ in _CALLABLE},
    **_FUNCTIONS,
    **_VALUES,
}
# By identity: what a file can call is one of these very objects.
MAKERS: Final[dict[int, Callable[..., Any]]] = {
    **{id(thing): make for _, thing, make in _CALLABLE},
    **{id(function): function for function in _FUNCTIONS.values()},
}
_OLD_MODULES: Final = {"__builtin__": "builtins", "copy_reg": "copyreg", "__builtins__": "builtins"}


def full_name(module: str, name: str) -> str:
    """The name of a global as Python 3 has it."""
    module = _OLD_MODULES.get(module, module)
    if (module, name) == ("builtins", "xrange"):
        name = "range"
    return f"{module}.{name}"


# -- what users add --------------------------------------------------------------------------------------------------

# By name, what a user has declared harmless. The lock is held while it is replaced, never while it is read.
_added: dict[str, Any] = {}
_lock = threading.Lock()


def _new_lock() -> None:
    """In a forked child: the thread that held the lock is not there to give it back."""
    global _lock
    _lock = threading.Lock()


at_fork(after_in_child=_new_lock)


def added() -> dict[str, Any]:
    """What the user lets files name, beside what every file may."""
    return _added


def _named(thing: Any) -> tuple[str, Any]:
    """The name of what a user adds: its own, or the one given with it."""
    if isinstance(thing, builtins.tuple):
        if len(thing) != 2 or not isinstance(thing[1], str):
            raise ValueError(
                f"add_safe_globals(): expected a class or function, or a pair of one and its full name, got {thing!r}"
            )
        return thing[1], thing[0]
    return f"{thing.__module__}.{thing.__qualname__}", thing


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Lets files that are loaded with `weights_only` name these classes and functions too.

    Args:
        safe_globals: classes and functions, or pairs of one and the full name that files have for it. A file can call
            them with arguments of its choice: add only what does no harm then.

    >>> import io
    >>> import retrograd as rg
    >>> from fractions import Fraction
    >>> file = io.BytesIO()
    >>> rg.save(Fraction(1, 3), file)
    >>> with rg.serialization.safe_globals([Fraction]):
    ...     _ = file.seek(0)
    ...     rg.load(file)
    Fraction(1, 3)
    """
    global _added
    new = dict(_named(thing) for thing in safe_globals)
    with _lock:
        _added = {**_added, **new}


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has added."""
    return [
        thing if name == f"{thing.__module__}.{thing.__qualname__}" else (thing, name)
        for name, thing in _added.items()
    ]


def clear_safe_globals() -> None:
    """Forgets what `add_safe_globals` has added."""
    global _added
    with _lock:
        _added = {}


@contextmanager
def safe_globals(safe_globals: Sequence[Any]) -> Iterator[None]:
    """`add_safe_globals` for the time of a `with` block."""
    global _added
    before = _added
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        with _lock:
            _added = before
