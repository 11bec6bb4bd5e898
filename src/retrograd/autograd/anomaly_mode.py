"""detect_anomaly and set_detect_anomaly: context managers over `core.anomaly`."""

from __future__ import annotations

from typing import Any

from retrograd.core.modes import ANOMALY, current
from retrograd.core.places import warn
from retrograd.hints import Plain


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return current().special & ANOMALY != 0


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, if on, raises on NaN."""
    return current().check_nan


def set_anomaly_enabled(enabled: Any, check_nan: Any = True) -> None:
    """Switches anomaly mode."""
    set_detect_anomaly(bool(enabled), bool(check_nan))


class set_detect_anomaly(Plain):  # noqa: N801 - torch's name
    """Switches anomaly mode at once, as a function; as a context manager it restores it afterwards.

    Args:
        mode: on or off.
        check_nan: whether a NaN that a node computes is an error.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        state = current()
        self.before: tuple[int, bool] = (state.special & ANOMALY, state.check_nan)
        state.special = (state.special | ANOMALY) if mode else (state.special & ~ANOMALY)
        state.check_nan = check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        state = current()
        bit, state.check_nan = self.before
        state.special = (state.special & ~ANOMALY) | bit


class detect_anomaly(Plain):  # noqa: N801 - torch's name
    """Inside the block, a backward that fails or computes a NaN shows the forward call that made the failing node.

    It is for debugging: every operation keeps its stack.

    Args:
        check_nan: whether a NaN that a node computes is an error.

    >>> import retrograd as rg
    >>> x = rg.tensor(0.0, requires_grad=True)
    >>> with rg.autograd.detect_anomaly():  # doctest: +SKIP
    ...     (x.sqrt() * 0).backward()
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.inner: list[Any] = []
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
        )

    def __enter__(self) -> None:
        self.inner.append(set_detect_anomaly(True, self.check_nan))

    def __exit__(self, kind: object = None, error: object = None, where: object = None) -> None:
        self.inner.pop().__exit__(kind, error, where)
