"""`TorchFunctionMode`: a context that sees every call."""

from __future__ import annotations

from typing import Any, Self

from retrograd.overrides.state import STATE
from retrograd.overrides.switch import switch_for_a_mode


class TorchFunctionMode:
    """A context whose `__torch_function__` is called in place of every function, method and operator of the library.

    Inside of it the mode itself is off, so that it can call `func`. What the class Tensor has itself, as `t.shape` or
    `t.item()`, is not seen.

    >>> import retrograd as rg
    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(rg.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = rg.ones(2) + 1
    torch.ones
    torch.Tensor.add
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no __torch_function__: define what it does to a call"
        )

    def __enter__(self) -> Self:
        switch_for_a_mode(True)
        STATE.modes.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        STATE.modes.pop()
        switch_for_a_mode(False)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """An instance, as older programs make one."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))
