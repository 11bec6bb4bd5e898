"""`assert_close`: whether tensors, numbers and containers of them agree.

What is compared is taken apart into pairs first; then each pair is compared, and the first that differs is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor

# How far apart two values may be, relative to the expected one and in all, by dtype; others must be equal.
_EXACT = (0.0, 0.0)
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


_OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


class Closeness(NamedTuple):
    """What `assert_close` was asked for."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


class Pair(NamedTuple):
    """Two things to compare, and where they are in what was given."""

    actual: Any
    expected: Any
    path: tuple[Any, ...]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises an AssertionError that says where two things differ by more than `atol + rtol * abs(expected)`.

    Args:
        actual: a tensor, a number, an array, None, or a sequence or mapping of such things.
        expected: what it should be.
        allow_subclasses: whether a tensor may be compared with one of another class.
        rtol, atol: how much may differ; both or none. Without them it depends on the dtypes.
        equal_nan: whether a NaN agrees with a NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must agree too.
        msg: what the error says instead, or a function that makes it of what it would say.

    >>> import retrograd as rg
    >>> rg.testing.assert_close(rg.tensor([1.0, 2.0]), rg.tensor([1.0, 2.0000001]))
    >>> rg.testing.assert_close(rg.tensor([1, 2]), rg.tensor([1, 3]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not equal!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 1 at index (1,)
    Greatest relative difference: 0.3333333432674408 at index (1,)
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, "
            f"but got no {'rtol' if rtol is None else 'atol'}."
        )
    rules = Closeness(
        rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout, check_stride
    )
    try:
        for pair in [*_pairs(Pair(actual, expected, ()), rules)]:
            _compare(pair, rules)
    except _Mismatch as mismatch:
        said = str(mismatch)
        raise AssertionError(said if msg is None else msg(said) if callable(msg) else msg) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older `assert_close`: of tensors, or what becomes one, without a look at dtypes; NaNs agree."""
    warn(
        "`torch.testing.assert_allclose()` is deprecated. Please use `torch.testing.assert_close()`.",
        FutureWarning,
    )
    pair = [v if isinstance(v, Tensor) else Tensor(np.asarray(v), share=True) for v in (actual, expected)]
    if rtol is None and atol is None:
        found = [_OLD_TOLERANCES.get(t.array.dtype.name, _EXACT) for t in pair]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    checks: Any = {"check_device": True, "check_dtype": False, "check_stride": False}
    assert_close(*pair, rtol=rtol, atol=atol, equal_nan=equal_nan, msg=msg or None, **checks)


class _Mismatch(Exception):
    """What differs, and where."""

    def __init__(self, text: str, path: tuple[Any, ...]) -> None:
        super().__init__(_located(text, path))


def _located(text: str, path: tuple[Any, ...]) -> str:
    items = "".join(f"[{key!r}]" for key in path)
    return f"{text}\n\nThe failure occurred for item {items}" if path else text


# -- taking apart --------------------------------------------------------------------------------------------------


def _pairs(pair: Pair, rules: Closeness) -> Iterator[Pair]:
    """The pairs of leaves of two things."""
    actual, expected, path = pair
    if _are(pair, Sequence, but=str):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for i in range(len(actual)):
            yield from _pairs(Pair(actual[i], expected[i], (*path, i)), rules)
    elif _are(pair, Mapping):
        _check_keys(pair)
        for key in _in_order(actual):
            yield from _pairs(Pair(actual[key], expected[key], (*path, key)), rules)
    elif _is_comparable(pair, rules):
        yield pair
    else:
        raise TypeError(
            _located(
                f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
                path,
            )
        )


def _are(pair: Pair, kind: Any, but: Any = ()) -> bool:
    return all(isinstance(v, kind) and not isinstance(v, but) for v in (pair.actual, pair.expected))


def _in_order(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        return list(mapping)


def _check_keys(pair: Pair) -> None:
    actual, expected, path = pair
    missing, additional = set(expected) - set(actual), set(actual) - set(expected)
    if missing or additional:
        raise _Mismatch(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(missing, key=str)}\n"
            f"Additional keys in the actual mapping: {sorted(additional, key=str)}",
            path,
        )


def _is_comparable(pair: Pair, rules: Closeness) -> bool:
    if pair.actual is None or pair.expected is None or _are(pair, bool) or _are(pair, _NUMBERS, but=bool):
        return True
    if not _are(pair, (Tensor, np.ndarray)) or isinstance(pair.actual, Tensor) != isinstance(
        pair.expected, Tensor
    ):
        return False
    same = type(pair.actual) is type(pair.expected)
    related = isinstance(pair.actual, type(pair.expected)) or isinstance(pair.expected, type(pair.actual))
    return same or (rules.allow_subclasses and related)


_NUMBERS = (int, float, complex, np.number)


# -- comparing -----------------------------------------------------------------------------------------------------


def _compare(pair: Pair, rules: Closeness) -> None:
    if pair.actual is None or pair.expected is None:
        if pair.actual is not pair.expected:
            raise _Mismatch(f"None mismatch: {pair.actual} is not {pair.expected}", pair.path)
    elif _are(pair, bool):
        if pair.actual is not pair.expected:
            raise _Mismatch(f"Booleans mismatch: {pair.actual} is not {pair.expected}", pair.path)
    elif _are(pair, _NUMBERS):
        _compare_numbers(pair, rules)
    else:
        _compare_tensors(pair, rules)


def _compare_numbers(pair: Pair, rules: Closeness) -> None:
    a, e = (v.item() if isinstance(v, np.number) else v for v in (pair.actual, pair.expected))
    if rules.check_dtype and type(a) is not type(e):
        raise _Mismatch(
            f"The (d)types do not match: {type(pair.actual)} != {type(pair.expected)}.", pair.path
        )
    dtypes = [
        "complex128" if isinstance(v, complex) else "float64" if isinstance(v, float) else "int64"
        for v in (a, e)
    ]
    rtol, atol = _tolerances(dtypes, rules)
    if not bool(np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)):
        _say_numbers(a, e, rtol, atol, pair.path)


def _say_numbers(a: Any, e: Any, rtol: float, atol: float, path: tuple[Any, ...]) -> None:
    difference = abs(a - e)
    relative = float("inf") if e == 0 else difference / abs(e)
    raise _Mismatch(
        f"Scalars are not {_close_or_equal(rtol, atol)}!\n\n"
        f"Expected {e} but got {a}.\n"
        f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}",
        path,
    )


def _tolerances(dtypes: Sequence[str], rules: Closeness) -> tuple[float, float]:
    """The relative and the absolute tolerance: those asked for, or the larger ones of the dtypes."""
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    found = [TOLERANCES.get(dtype, _EXACT) for dtype in dtypes]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def _close_or_equal(rtol: float, atol: float) -> str:
    return "close" if rtol or atol else "equal"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""


def _compare_tensors(pair: Pair, rules: Closeness) -> None:
    actual, expected = (
        v.detach() if isinstance(v, Tensor) else Tensor(v, share=True) for v in (pair.actual, pair.expected)
    )
    _compare_attributes(actual, expected, rules, pair.path)
    if actual.is_meta or expected.is_meta:
        return  # there are no values to compare
    rtol, atol = _tolerances([t.array.dtype.name for t in (actual, expected)], rules)
    a, e = actual.numpy(force=True), expected.numpy(force=True)
    if a.dtype != e.dtype:
        a, e = (v.astype(np.result_type(a, e)) for v in (a, e))
    with np.errstate(all="ignore"):
        close = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=rules.equal_nan) if rtol or atol else a == e
        if rules.equal_nan and a.dtype.kind in "fc":
            close |= np.isnan(a) & np.isnan(e)
        if not np.all(close):
            _say_tensors(a, e, close, (rtol, atol), pair.path)


def _compare_attributes(actual: Tensor, expected: Tensor, rules: Closeness, path: tuple[Any, ...]) -> None:
    checks = (
        (True, "shape", actual.shape, expected.shape),
        (rules.check_layout, "layout", actual.layout, expected.layout),
        (rules.check_device, "device", actual.device, expected.device),
        (rules.check_dtype, "dtype", actual.dtype, expected.dtype),
        (rules.check_stride, "stride()", actual.stride(), expected.stride()),
    )
    for wanted, name, mine, its in checks:
        if wanted and mine != its:
            raise _Mismatch(f"The values for attribute '{name}' do not match: {mine} != {its}.", path)


def _say_tensors(a: Any, e: Any, close: Any, tolerances: tuple[float, float], path: tuple[Any, ...]) -> None:
    """Raises what differs between two arrays."""
    rtol, atol = tolerances
    if a.dtype.kind in "bu":
        a, e = a.astype(np.int64), e.astype(np.int64)
    difference = np.abs(a - e)
    absolute = np.where(close, 0, difference)
    whole = absolute.dtype.kind in "iu"
    relative = np.where(close, 0, (difference.astype(np.float32) if whole else difference) / np.abs(e))
    if whole:
        relative = relative.astype(np.float32)
    if a.ndim == 0:
        _say_numbers(a.item(), e.item(), rtol, atol, path)
    count = int(close.size - close.sum())
    raise _Mismatch(
        f"Tensor-likes are not {_close_or_equal(rtol, atol)}!\n\n"
        f"Mismatched elements: {count} / {close.size} ({count / close.size:.1%})\n"
        f"Greatest absolute difference: {_greatest(absolute)}{_allowed(atol, rtol, atol)}\n"
        f"Greatest relative difference: {_greatest(relative)}{_allowed(rtol, rtol, atol)}",
        path,
    )


def _greatest(differences: Any) -> str:
    """The largest of all, NaN before all, and where it is."""
    place = np.unravel_index(np.argmax(differences), differences.shape)
    return f"{differences[place].item()} at index {tuple(int(i) for i in place)}"
