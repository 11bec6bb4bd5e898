"""Mirror: an array seen through a conjugation or a change of sign.

Note [Mirrors]
~~~~~~~~~~~~~~
`z.conj()` shares the memory of `z`: what is written into one is read, conjugated, from the other. Its array is a
`Mirror`, which holds the array of `z` and what is done to each element on the way out and, since both undo themselves,
on the way in. No other part of the library has a flag for it. A mirror is one more kind of array with a backend of its
own (Note [Backends]); operands that are NumPy's own never meet it.

- An op whose result shares memory (a view) is applied to the array behind the mirror, and its result is a mirror too.
- For every other op, and every function of the array library, operands come out of their mirrors first, as copies.
- What is written into a mirror goes through it into the memory behind. A mirror in a mirror is none, or another one.

Inside of `vmap` there are no mirrors: conjugates are copies there, and arguments come out of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from retrograd.backends.base import (
    Backend,
    backend_of,
    common_backend,
    device_of,
    extent_of,
    is_array,
    register,
)
from retrograd.backends.device import device
from retrograd.backends.native import CPU_BACKEND
from retrograd.values import Array, Shape

ndarray: Final[Any] = np.ndarray
# Functions that ask about memory, which behind a mirror is what it is; and those that write into their first argument.
_OF_MEMORY: Final = frozenset({np.may_share_memory, np.shares_memory})
_WRITERS: Final = frozenset({np.put_along_axis, np.put, np.place, np.putmask, np.fill_diagonal})


class Mirror(NDArrayOperatorsMixin):
    """See Note [Mirrors]. Make one with `mirrored`, which knows what a mirror in a mirror is."""

    __array_priority__: ClassVar[int] = 600
    __hash__ = object.__hash__

    def __init__(self, behind: Any, conj: bool, neg: bool) -> None:
        self.behind = behind
        self.conj_bit = conj
        self.neg_bit = neg

    def through(self, values: Any) -> Any:
        """Values of any kind as they are on the other side, in memory of their own or as they are."""
        if self.neg_bit and getattr(values, "dtype", None) == np.bool_:
            values = values.astype(self.dtype)  # truth values have no sign
        return reflected(values, self.conj_bit, self.neg_bit)

    def resolved(self, order: str = "K") -> Any:
        """What is seen, as an array with memory of its own."""
        found = self.behind.copy(order)
        if self.conj_bit:
            found = backend_of(found).conjugate(found)
        if self.neg_bit:
            found = -found
        return (
            np.asarray(found) if isinstance(found, np.generic) else found
        )  # one number, which NumPy takes out

    def _like(self, behind: Any) -> Any:
        """Another part of the memory, through the same mirror; single numbers come out of it."""
        if isinstance(behind, np.generic):
            return self.through(behind)
        return Mirror(behind, self.conj_bit, self.neg_bit)

    def __reduce__(self) -> Any:
        return Mirror, (self.behind, self.conj_bit, self.neg_bit)

    def __repr__(self) -> str:
        return f"Mirror({self.resolved()!r})"

    # -- facts: those of the memory ----------------------------------------------------------------------------------

    @property
    def shape(self) -> Any:
        return self.behind.shape

    @property
    def ndim(self) -> int:
        return self.behind.ndim  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.behind.dtype

    @property
    def itemsize(self) -> int:
        return self.behind.itemsize  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.behind.size  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return self.behind.nbytes  # type: ignore[no-any-return]

    @property
    def strides(self) -> Any:
        return self.behind.strides

    @property
    def flags(self) -> Any:
        return self.behind.flags

    @property
    def base(self) -> Any:
        """Never None: nobody may write into it unasked."""
        return self

    def __len__(self) -> int:
        return len(self.behind)

    # -- parts of the same memory ------------------------------------------------------------------------------------

    @property
    def real(self) -> Any:
        return mirrored(self.behind.real, False, self.neg_bit)

    @real.setter
    def real(self, values: Any) -> None:
        self.real[...] = values

    @property
    def imag(self) -> Any:
        return mirrored(self.behind.imag, False, self.neg_bit != self.conj_bit)

    @imag.setter
    def imag(self, values: Any) -> None:
        self.imag[...] = values

    @property
    def T(self) -> Any:
        return self._like(self.behind.T)

    def __getitem__(self, key: Any) -> Any:
        return self._like(self.behind[out_of_mirrors(key)])

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return self._like(self.behind.reshape(*shape, **options))

    def transpose(self, *axes: Any) -> Any:
        return self._like(self.behind.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return self._like(self.behind.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> Any:
        return self._like(self.behind.squeeze(axis))

    def view(self, dtype: Any = None) -> Any:
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return self.resolved("C").view(dtype)
        return self._like(self.behind.view())

    # -- writes, which go through ------------------------------------------------------------------------------------

    def __setitem__(self, key: Any, values: Any) -> None:
        self.behind[out_of_mirrors(key)] = self.through(values)

    def fill(self, number: Any) -> None:
        self.behind[...] = self.through(number)

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        found = self.resolved()
        found.sort(axis=axis, kind=kind)
        self[...] = found

    # -- values, which come out --------------------------------------------------------------------------------------

    def astype(self, dtype: Any, order: Any = "K", **options: Any) -> Any:
        if not options.get("copy", True) and self.dtype == dtype:
            return self
        return self.resolved(order).astype(dtype, order, **{**options, "copy": False})

    def copy(self, order: Any = "C") -> Any:
        return self.resolved(order)

    def conj(self) -> Any:
        return reflected(self.behind.copy("K"), not self.conj_bit, self.neg_bit)

    def conjugate(self) -> Any:
        return self.conj()

    def __getattr__(self, name: str) -> Any:
        # Every other method of an array: `sum`, `item`, `tolist`, ... None of those writes.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.resolved(), name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.resolved(), dtype)

    def __bool__(self) -> bool:
        return bool(self.resolved())

    def __int__(self) -> int:
        return int(self.resolved())

    def __float__(self) -> float:
        return float(self.resolved())

    def __complex__(self) -> complex:
        return complex(self.resolved())

    def __index__(self) -> int:
        return self.resolved().__index__()  # type: ignore[no-any-return]

    # -- NumPy's protocols -------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "at":
            return _written(inputs[0], lambda target: ufunc.at(target, *out_of_mirrors(inputs[1:])))
        targets = options.pop("out", None)
        function = getattr(ufunc, method)
        if targets is None:
            return function(*out_of_mirrors(inputs), **out_of_mirrors(options))
        return _into(targets, function, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in _OF_MEMORY:
            return function(*[behind(a) for a in args], **options)
        if function is np.copyto:
            return _copyto(*args, **options)
        if function in _WRITERS and isinstance(args[0], Mirror):
            return _written(args[0], lambda target: function(target, *out_of_mirrors(args[1:]), **options))
        target = options.pop("out", None)
        if target is None:
            return function(*out_of_mirrors(args), **out_of_mirrors(options))
        return _into((target,), function, args, options)


def mirrored(array: Any, conj: bool, neg: bool) -> Any:
    """An array seen conjugated, or with its sign changed, or both: of the same memory."""
    if isinstance(array, Mirror):
        array, conj, neg = array.behind, conj != array.conj_bit, neg != array.neg_bit
    return Mirror(array, conj, neg) if conj or neg else array


def reflected(values: Any, conj: bool, neg: bool) -> Any:
    """Values of any kind conjugated, or with their sign changed, or both; not the same memory, unless neither."""
    found = out_of_mirrors(values)
    if conj:
        found = found.conjugate() if hasattr(found, "conjugate") else np.conjugate(found)
    return -found if neg else found


def bits_of(array: Any) -> tuple[bool, bool]:
    """Whether an array is seen conjugated, and whether with its sign changed."""
    return (array.conj_bit, array.neg_bit) if type(array) is Mirror else (False, False)


def behind(array: Any) -> Any:
    """The array behind a mirror; any other as it is."""
    return array.behind if type(array) is Mirror else array


def out_of_mirrors(value: Any) -> Any:
    """Nested values with copies of arrays in the place of their mirrors."""
    if type(value) is Mirror:
        return value.resolved()
    if type(value) is tuple or type(value) is list:
        return type(value)([out_of_mirrors(v) for v in value])
    if type(value) is dict:
        return {key: out_of_mirrors(v) for key, v in value.items()}
    return value


def _written(target: Any, write: Any) -> None:
    """Lets a function write into what a mirror shows."""
    found = target.resolved() if type(target) is Mirror else target
    write(found)
    if found is not target:
        target[...] = found


def _into(targets: Any, function: Any, args: Any, options: Any) -> Any:
    """A function of an array library with `out=`, which may be mirrors."""
    room = tuple([t.resolved() if type(t) is Mirror else t for t in targets])
    function(*out_of_mirrors(args), out=room if len(room) > 1 else room[0], **out_of_mirrors(options))
    for target, found in zip(targets, room, strict=True):
        if found is not target:
            target[...] = found
    return targets if len(targets) > 1 else targets[0]


def _copyto(target: Any, values: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`copyto`, into a mirror or out of one."""
    values = out_of_mirrors(values)
    if type(target) is Mirror:
        target, values = target.behind, target.through(values)
    backend_of(target).copyto(target, values, casting=casting, where=where)


class MirrorBackend(Backend):
    """What computes on mirrors: the backend of what is behind them, on what comes out of them."""

    device_type = ""
    # Not so in truth, but it has other backends leave operands that are mirrors to this one: see `joined`.
    dynamic_shapes = False

    def __init__(self, over: Backend) -> None:
        self.over = over  # the backend of what is behind

    def of(self, array: Array) -> MirrorBackend:
        over = backend_of(behind(array))
        if over is self.over:
            return self
        return _OVER_OTHERS.setdefault(over, MirrorBackend(over))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Through(self.over, (name,))

    def joined(self, other: Backend) -> Backend:
        return self

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        if not (op.is_view or op.moves_memory):
            values = out_of_mirrors(list(xs))
            return common_backend(values).forward(op, values)
        conj, neg = bits_of(xs[0])
        operands = [behind(xs[0]), *xs[1:]]
        found = common_backend(operands).forward(op, operands)
        if type(found) is tuple:
            return tuple([mirrored(v, conj, neg) for v in found])
        return mirrored(found, conj, neg)

    def copyto(self, target: Any, values: Any, casting: Any = "same_kind", where: Any = True) -> None:
        """Writes values into an array, through its mirror if it has one."""
        _copyto(target, values, casting, where)

    # -- memory: that behind the mirror ------------------------------------------------------------------------------

    def device_of(self, array: Array) -> device:
        return device_of(behind(array))

    def bring(self, array: Array, where: device) -> Array:
        return backend_of(behind(array)).bring(out_of_mirrors(array), where)

    def numpy(self, array: Array) -> Array:
        found = out_of_mirrors(array)
        return backend_of(found).numpy(found)

    def sample(self, array: Array) -> Array:
        return behind(array)

    def supports(self, dtype: Any) -> bool:
        return True

    def is_writable(self, array: Array) -> bool:
        return backend_of(behind(array)).is_writable(behind(array))

    def set_writable(self, array: Array, writable: bool) -> None:
        backend_of(behind(array)).set_writable(behind(array), writable)

    def unlocked(self, array: Array) -> Array:
        return mirrored(backend_of(behind(array)).unlocked(behind(array)), *bits_of(array))

    def owner_of(self, array: Array) -> Array:
        return backend_of(behind(array)).owner_of(behind(array))

    def extent_of(self, array: Array) -> tuple[int, int, int]:
        return extent_of(behind(array))

    def may_share_memory(self, a: Array, b: Array) -> bool:
        """Whether two arrays may lie in the same memory."""
        return bool(backend_of(behind(a)).may_share_memory(behind(a), behind(b)))

    def stretch(self, x: Array, shape: Shape) -> Array:
        return mirrored(backend_of(behind(x)).stretch(behind(x), shape), *bits_of(x))


class Through:
    """A function of the array library, by its name, of what comes out of mirrors."""

    def __init__(self, over: Backend, path: tuple[str, ...]) -> None:
        self.over = over  # for functions of no array, or of one of the host: `xp.zeros`, `xp.asarray`
        self.path = path

    def __getattr__(self, name: str) -> Any:
        return Through(self.over, (*self.path, name))  # `xp.linalg.solve`, `xp.add.at`

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.path[-1] == "at":
            return _written(args[0], lambda target: self._found((target,))(target, *out_of_mirrors(args[1:])))
        target = options.pop("out", None)
        function = self._found((*args, *options.values()))
        if target is None:
            return function(*out_of_mirrors(args), **out_of_mirrors(options))
        return _into(target if type(target) is tuple else (target,), function, args, options)

    def _found(self, values: Sequence[Any]) -> Any:
        """The function that takes these values."""
        found: Any = common_backend([behind(v) for v in values if is_array(v)])
        found = self.over if found is CPU_BACKEND else found
        for name in self.path:
            found = getattr(found, name)
        return found


_OVER_OTHERS: Final[dict[Backend, MirrorBackend]] = {}
register(MirrorBackend(CPU_BACKEND), Mirror)
