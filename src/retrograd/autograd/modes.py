"""no_grad, enable_grad, set_grad_enabled, inference_mode: context managers that decorate too."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Self, TypeVar, overload

from retrograd.core.modes import current
from retrograd.core.places import warn
from retrograd.core.switches import FieldSwitch, GradSwitch, InferenceSwitch

F = TypeVar("F", bound=Callable[..., Any])


class ModeContext:
    """A context manager that also wraps functions, generators and coroutines, and can be entered many times.

    Subclasses give `clone()` (the same mode, not yet entered); a switch gives `__enter__` and `__exit__`.
    """

    def __enter__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} says neither what entering nor what leaving it does"
        )

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} says neither what entering nor what leaving it does"
        )

    def clone(self) -> ModeContext:
        """The same mode, not yet entered."""
        return type(self)()

    def __call__(self, func: F) -> F:
        """Decorates `func` so that its body runs in this mode."""
        wrapped: F = self._wrap(func)
        return wrapped

    def _wrap(self, func: Any) -> Any:
        import inspect  # slow to load, and needed by decorators only

        if isinstance(func, type):
            warn(
                "Decorating classes is deprecated: only the making of instances runs in this mode. Decorate the "
                "methods that should, __init__ among them.",
                FutureWarning,
            )
            return _wrap_function(self, func)
        if inspect.isasyncgenfunction(func):
            return _wrap_async_generator(self, func)
        if inspect.isgeneratorfunction(func):
            return _wrap_generator(self, func)
        if inspect.iscoroutinefunction(func):
            return _wrap_coroutine(self, func)
        return _wrap_function(self, func)


def _wrap_function(mode: ModeContext, func: Any) -> Any:
    @functools.wraps(func, updated=() if isinstance(func, type) else ("__dict__",))
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with mode.clone():
            return func(*args, **kwargs)

    return wrapped


class _InMode:
    """Drives a coroutine or generator so that its body runs in a mode while its caller does not."""

    def __init__(self, mode: ModeContext, inner: Any) -> None:
        self.mode = mode
        self.inner = inner

    def __await__(self) -> Any:
        return self.steps()

    def steps(self) -> Generator[Any, Any, Any]:
        """Each resumption of the body is wrapped by itself: between them the caller's own mode holds."""
        send, value = self.inner.send, None
        while True:
            try:
                with self.mode.clone():
                    item = send(value)
            except StopIteration as stop:
                return stop.value
            try:
                send, value = self.inner.send, (yield item)
            except GeneratorExit:
                with self.mode.clone():
                    self.inner.close()
                raise
            except BaseException as error:  # noqa: BLE001 - the body decides what to do with it
                send, value = self.inner.throw, error


def _wrap_generator(mode: ModeContext, func: Any) -> Any:
    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with mode.clone():
            inner = func(*args, **kwargs)
        return (yield from _InMode(mode, inner).steps())

    return wrapped


def _wrap_coroutine(mode: ModeContext, func: Any) -> Any:
    @functools.wraps(func)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        return await _InMode(mode, func(*args, **kwargs))

    return wrapped


def _wrap_async_generator(mode: ModeContext, func: Any) -> Any:
    @functools.wraps(func)
    async def wrapped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = func(*args, **kwargs)
        value: Any = None
        try:
            while True:
                try:
                    item = await _InMode(mode, inner.asend(value))
                except StopAsyncIteration:
                    return
                value = yield item
        finally:
            await inner.aclose()

    return wrapped


class _BareDecorator(GradSwitch, ModeContext):
    """A mode that also decorates without parentheses: `@no_grad` is `@no_grad()`."""

    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


class no_grad(_BareDecorator):  # noqa: N801 - torch's name
    """Nothing inside is recorded. Use as `with no_grad():` or as a decorator, with or without parentheses.

    >>> import retrograd as rg
    >>> x = rg.tensor(1.0, requires_grad=True)
    >>> with rg.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, orig_func: Any = None) -> None:
        self.mode = False


class enable_grad(_BareDecorator):  # noqa: N801 - torch's name
    """Records again inside `no_grad`. Use as `with enable_grad():` or as a decorator."""

    def __init__(self, orig_func: Any = None) -> None:
        self.mode = True


class set_grad_enabled(GradSwitch, ModeContext):  # noqa: N801 - torch's name
    """Sets grad mode at once, as a function; as a context manager or decorator it restores it afterwards."""

    def __init__(self, mode: bool) -> None:
        self.mode: bool = bool(mode)
        self.applied: bool = True
        super().__enter__()

    def __enter__(self) -> None:
        if self.applied:
            self.applied = False  # the call itself has already switched
        else:
            super().__enter__()

    def __call__(self, func: F) -> F:
        if self.applied:
            self.applied = False
            self.put_back()
        return super().__call__(func)

    def clone(self) -> ModeContext:
        return set_grad_enabled(self.mode)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class _Setting(FieldSwitch, ModeContext):
    """Sets a field of the thread's state at once, and puts it back at the end of a block."""

    name: str  # of the field

    def __init__(self, mode: bool) -> None:
        self.field: str = self.name
        self.mode: bool = bool(mode)
        self.before: bool = getattr(current(), self.name)
        self.put(self.mode)

    def __call__(self, func: F) -> F:
        self.put(self.before)
        return super().__call__(func)

    def clone(self) -> ModeContext:
        return type(self)(self.mode)


class set_multithreading_enabled(_Setting):  # noqa: N801 - torch's name
    """Whether backwards called in this thread may use other threads; at once, and as a context manager for a while.

    Results are the same to the last bit either way.

    >>> import retrograd as rg
    >>> with rg.autograd.set_multithreading_enabled(False):
    ...     pass  # backward() here runs on this thread alone
    """

    name = "multithreading"


def is_multithreading_enabled() -> bool:
    """Whether backwards called in this thread may use other threads."""
    return current().multithreading


class enforce_grad_layout_policy(_Setting):  # noqa: N801 - torch's name
    """Whether `.grad` must lie in memory as its leaf does; at once, and as a context manager for a while.

    It does so by default, if the leaf is dense. Without the policy a gradient that nobody else can see becomes `.grad`
    as it is, which saves a copy.

    >>> import retrograd as rg
    >>> x = rg.ones(3, 2).t().requires_grad_()
    >>> with rg.autograd.enforce_grad_layout_policy(False):
    ...     x.sum().backward()
    """

    name = "grad_layout"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class _force_original_view_tracking(_Setting):  # noqa: N801 - torch's name
    """Says that views of what was written are to be made again by the functions that made them first.

    It is remembered, and nothing more: such a view has its history by its place in memory, which gives the same
    gradients.
    """

    name = "view_replay"


def is_view_replay_enabled() -> bool:
    """What `_force_original_view_tracking` says."""
    return current().view_replay


class inference_mode(InferenceSwitch, ModeContext):  # noqa: N801 - torch's name
    """Like `no_grad`, and tensors made inside can never be recorded later; a little faster.

    >>> import retrograd as rg
    >>> with rg.inference_mode():
    ...     y = rg.ones(2)
    >>> y.is_inference()
    True
    """

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> ModeContext:
        return type(self)(self.mode)
