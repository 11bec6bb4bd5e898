"""Sealing saved values: NumPy itself then refuses writes that no version counter could see.

Note [Sealing]
~~~~~~~~~~~~~~
A write through NumPy (`t.numpy()[0] = 1`) counts for nobody, and backward would use the wrong value. While values are
sealed, the arrays that the graph has saved, and the arrays they are views of, are read-only: the guilty line fails.
Each saved value holds a `Seal`; the last one of an array to die makes it writable again, base first, because NumPy
allows a writable view only of a writable base.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

import numpy as np

from retrograd.autograd.saved_hooks import saved_tensors_hooks
from retrograd.backends.mirror import behind
from retrograd.core.places import Place, here
from retrograd.core.tensor import Tensor
from retrograd.errors import InplaceError, add_note, sizes
from retrograd.values import Array


class Sealed:
    """An array made read-only, how many saved values need it so, and the line that saved it first."""

    def __init__(self, array: Array, place: Place) -> None:
        self.array = array
        self.place = place
        self.holders = 0


class SealTable:
    """The arrays that one `seal_saved_tensors` has made read-only, by id."""

    def __init__(self) -> None:
        self.entries: dict[int, Sealed] = {}
        self.waiting: list[int] = []  # not needed any more, but views of an array that still is
        self.lock: threading.Lock = threading.Lock()

    def hold(self, array: Array) -> list[int]:
        """Seals an array and what it is a view of; the keys to let go of later, the array's own first."""
        keys = []
        place = here()
        with self.lock:
            for part in _chain(array):
                if part.flags.writeable:
                    self.entries[id(part)] = Sealed(part, place)
                    part.flags.writeable = False
                if id(part) in self.entries:
                    self.entries[id(part)].holders += 1
                    keys.append(id(part))
        return keys

    def let_go(self, keys: list[int]) -> None:
        """Opens what nobody needs sealed any more, base first."""
        with self.lock:
            for key in keys:
                self.entries[key].holders -= 1
            self.waiting += [key for key in keys if not self.entries[key].holders]
            for key in reversed(list(self.waiting)):
                sealed = self.entries[key]
                base = sealed.array.base
                if sealed.holders == 0 and not (isinstance(base, np.ndarray) and not base.flags.writeable):
                    sealed.array.flags.writeable = True
                    del self.entries[key]
            self.waiting = [key for key in self.waiting if key in self.entries]

    def saved(self, array: Array) -> Place | None:
        """The line that saved this array or one that it is a view of."""
        for part in _chain(array):
            if id(part) in self.entries:
                return self.entries[id(part)].place
        return None


class Seal:
    """One saved value: keeps its arrays read-only while it lives, and knows what they were."""

    def __init__(self, table: SealTable, array: Array) -> None:
        self.array = array
        self.facts: Any = _facts(array)
        self.table = table
        self.keys: list[int] = table.hold(array)

    def __del__(self) -> None:
        self.table.let_go(self.keys)

    def check(self) -> None:
        """Refuses to give back an array that is read otherwise than when it was saved."""
        (dtype, shape, _), (now, other, _) = self.facts, _facts(self.array)
        if self.facts != _facts(self.array):
            raise InplaceError(
                "one of the variables needed for gradient computation has got another dtype or shape: it was saved as "
                f"{dtype} {sizes(shape)} and is {now} {sizes(other)} now. `t.array.dtype = ...` and its like "
                "change the array that the graph has saved; use t.array.view(...), which makes another."
            )


def _facts(array: Array) -> Any:
    """How the memory of an array is read."""
    return array.dtype, array.shape, array.strides


def _chain(array: Array) -> list[Array]:
    """The array and the arrays it is a view of."""
    found = [behind(array)]
    while isinstance(found[-1].base, np.ndarray):
        found.append(found[-1].base)
    return found


class seal_saved_tensors(saved_tensors_hooks):  # noqa: N801 - named as its siblings are
    """Values saved inside the block are read-only until backward frees them, also for NumPy.

    A write to one, by any road, fails on the line that tries it; the error names the line that saved the value. Views
    that NumPy made before the value was saved are out of reach.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> try:
    ...     with rg.autograd.graph.seal_saved_tensors():
    ...         y = x.exp()
    ...         y.detach().numpy()[0] = 0.0
    ... except ValueError as error:
    ...     print(error)
    assignment destination is read-only
    """

    def __init__(self) -> None:
        self.table: SealTable = SealTable()
        super().__init__(self._seal, _unsealed)

    def _seal(self, tensor: Tensor) -> Seal:
        return Seal(self.table, tensor.array)

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        error = exc[1]
        if isinstance(
            error, (ValueError, RuntimeError)
        ):  # NumPy refuses a write by one of them, and much else too
            saved = self._named_in(exc[2])
            if saved is not None:
                add_note(
                    error, f"sealed here, so read-only until backward has used it: the value saved by {saved}"
                )

    def _named_in(self, trace: TracebackType | None) -> Place | None:
        """The line that saved an array which a frame of the traceback has at hand; the innermost frame counts."""
        found = None
        while trace is not None:
            names: Any = (
                trace.tb_frame.f_locals
            )  # no dictionary since Python 3.13, which compiled code would insist on
            for value in (*names.values(), *_globals_used(trace)):
                array = value.array if isinstance(value, Tensor) else value
                if isinstance(array, np.ndarray):
                    found = self.table.saved(array) or found
            trace = trace.tb_next
        return found


def _globals_used(trace: TracebackType) -> list[Any]:
    """The globals that a frame's function uses."""
    frame = trace.tb_frame
    return [frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals]


def _unsealed(seal: Seal) -> Tensor:
    seal.check()
    return Tensor(seal.array, share=True)
