"""Calls of NumPy's that take seconds, made so that Ctrl-C is answered at once.

Note [Long calls]
~~~~~~~~~~~~~~~~~
NumPy and LAPACK hear of no signal before they are done: a sort of many elements or the factors of a large matrix would
hold Ctrl-C back for minutes. The main thread, which alone gets signals, lets another one make such a call and waits. If
it is interrupted, what the other finds is thrown away; its arrays live until then, and loops of the pack end where they
look for signals. Short calls are made where they are.

Ops whose operands are large (`begin` says so) compute as a whole in the other thread: their formulas call NumPy many
times, and between the lines of compiled code no signal is heard. What takes long for other reasons calls `look` now and
then. Nothing that writes into a caller's arrays is done by another thread.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from retrograd.backends.pack import PACK
from retrograd.backends.quiet import QUIET, VARIABLE, hush, unhush

ndarray: Final[Any] = np.ndarray
MANY: Final = 4_000_000  # elements that take long to sort
MUCH: Final = 100_000_000  # elements of a matrix times its columns, from which its factors take long
LARGE: Final = 1 << 25  # elements of an operand from which any op may take long
SORTS: Final = ("sort", "argsort", "partition", "argpartition")


class LongCall:
    """A call that another thread makes, and what came of it."""

    def __init__(self, function: Callable[..., Any], args: Any, options: Any) -> None:
        self.function = function
        self.args = args
        self.options = options
        self.result: Any = None
        self.error: BaseException | None = None
        self.abandoned = bytearray(1)
        self.done: Any = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        """In the other thread."""
        try:
            _heed(self.abandoned)
            self.result = self.function(*self.args, **self.options)
        except BaseException as error:  # noqa: BLE001 - raised again where the call is waited for
            self.error = error
        finally:
            _heed(None)
            self.done.release()

    def wait(self) -> Any:
        """In the main thread: what the function gives, or raises."""
        try:
            self.done.acquire()
        except BaseException:
            self.abandoned[0] = 1
            raise
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # which holds this frame
        return self.result


def apart(function: Callable[..., Any], args: Any, options: Any = None) -> Any:
    """Calls a function so that a signal is answered while it runs. See Note [Long calls]."""
    options = options or {}
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **options)
    call = LongCall(function, args, options)
    context = contextvars.copy_context()  # what NumPy is to say about errors
    thread = threading.Thread(target=context.run, args=(call.run,), name="retrograd-long-call", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # there may be no more threads
        return function(*args, **options)
    except BaseException:  # an interrupt, while it was starting
        call.abandoned[0] = 1
        raise
    return call.wait()


def compute_apart(function: Callable[..., Any], *args: Any) -> Any:
    """Computes an op as `apart` does, with NumPy kept quiet."""
    return apart(_quietly, (function, *args))


def _quietly(function: Callable[..., Any], *args: Any) -> Any:
    token = hush(QUIET)
    try:
        return function(*args)
    finally:
        unhush(token)


def _begin(*operands: Any) -> Any:
    """`hush(QUIET)` for an op on these operands or lists of them; None, and nothing done, if it may take long."""
    for x in operands:
        for a in x if type(x) is list else (x,):
            if type(a) is ndarray and a.size > LARGE:
                return None
    return hush(QUIET)


def _ignore(flag: bytearray | None) -> None:
    """Without the pack there are no loops that could look at it."""


if PACK is not None and VARIABLE is not None:
    PACK.set_quiet(VARIABLE, QUIET, LARGE)
begin: Final[Any] = _begin if PACK is None or VARIABLE is None else PACK.begin
_heed: Final[Any] = _ignore if PACK is None else PACK.heed


def _sorting(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, *args: Any, **options: Any) -> Any:
        if type(a) is ndarray and a.size > MANY:
            return apart(function, (a, *args), options)
        return function(a, *args, **options)

    return call


def _factoring(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, *args: Any, **options: Any) -> Any:
        if type(a) is ndarray and a.ndim > 1 and a.size * a.shape[-1] > MUCH:
            return apart(function, (a, *args), options)
        return function(a, *args, **options)

    return call


def _wrapped(module: Any, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
    """A module's functions, wrapped; its classes are as they are."""
    found = {name: getattr(module, name) for name in module.__all__}
    return SimpleNamespace(**{n: f if isinstance(f, type) else wrap(f) for n, f in found.items()})


def long_calls() -> dict[str, Any]:
    """Those names of NumPy's whose calls may take long."""
    sorts = {name: _sorting(getattr(np, name)) for name in SORTS}
    return {
        **sorts,
        "linalg": _wrapped(np.linalg, _factoring),
        "fft": _wrapped(np.fft, _sorting),
    }
