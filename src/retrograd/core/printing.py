"""How a tensor looks as text: ``tensor([1.0000, 2.5000], dtype=torch.float64)``.

Three steps: cut a large array down to its edges, write every number that is left in one common style, lay the
words out in brackets. The result equals PyTorch's text letter by letter, its small oddities included. Only
NumPy arrays are known here; `Tensor.__repr__` passes what it wants to see behind the numbers as suffixes.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, SupportsFloat, SupportsIndex

import numpy as np

__all__ = [
    "PrintOptions",
    "format_scalar",
    "format_tensor",
    "get_printoptions",
    "in_html",
    "printoptions",
    "set_printoptions",
]

# Outside these bounds fixed-point text would hide digits or grow too long, so scientific notation takes over.
_LARGEST_FIXED = 1e8
_SMALLEST_FIXED = 1e-4
_WIDEST_RATIO = 1000.0


class PrintOptions(NamedTuple):
    """The settings behind `set_printoptions`; `sci_mode=None` lets the numbers decide."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}

# One setting for all threads, as in PyTorch: it is about the terminal, not about the computation.
_options = _PROFILES["default"]


def set_printoptions(
    precision: SupportsIndex | None = None,
    threshold: SupportsFloat | None = None,
    edgeitems: SupportsIndex | None = None,
    linewidth: SupportsFloat | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed from now on.

    Args:
        precision: digits after the decimal point (4).
        threshold: tensors with more elements than this are shown by their edges only (1000).
        edgeitems: how many elements an edge has, per dimension (3).
        linewidth: characters per line before a row is broken (80).
        profile: a set of the values above, ``"default"``, ``"short"`` or ``"full"``; other arguments win over
            it, other names change nothing.
        sci_mode: always (True) or never (False) write ``1.0000e+00``. Unlike the others it is reset to None,
            the automatic choice, by every call that leaves it out.

    >>> set_printoptions(precision=2)
    >>> format_tensor(np.array([1.25, 2.5]), default_dtype=np.dtype("float64"))
    'tensor([1.25, 2.50])'
    >>> set_printoptions(profile="default")
    """
    global _options
    base = _options if profile is None else _PROFILES.get(profile, _options)
    _options = PrintOptions(
        precision=base.precision if precision is None else _count("precision", precision),
        threshold=base.threshold if threshold is None else float(threshold),
        edgeitems=base.edgeitems if edgeitems is None else _count("edgeitems", edgeitems),
        linewidth=base.linewidth if linewidth is None else _columns(float(linewidth)),
        sci_mode=sci_mode,
    )


def _count(name: str, value: SupportsIndex) -> int:
    """`value` as a plain int; refused here, because while printing nobody would know where it came from."""
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(
            f"set_printoptions: {name}={value!r} is not a number of digits or elements. "
            f"Pass a whole number that is 0 or larger."
        )
    return count


def _columns(linewidth: float) -> int:
    """Whole columns that fit in `linewidth`; an infinite line has more of them than any text."""
    return math.floor(linewidth) if math.isfinite(linewidth) else sys.maxsize


def get_printoptions() -> dict[str, Any]:
    """The current settings by name; ``set_printoptions(**get_printoptions())`` changes nothing.

    >>> get_printoptions()["precision"]
    4
    """
    return _options._asdict()


@contextmanager
def printoptions(
    precision: SupportsIndex | None = None,
    threshold: SupportsFloat | None = None,
    edgeitems: SupportsIndex | None = None,
    linewidth: SupportsFloat | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> Iterator[None]:
    """Like `set_printoptions`, for the length of a ``with`` block.

    >>> with printoptions(sci_mode=True):
    ...     format_tensor(np.array([1.5, 20.0]), default_dtype=np.dtype("float64"))
    'tensor([1.5000e+00, 2.0000e+01])'
    """
    global _options
    before = _options
    set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)
    try:
        yield
    finally:
        _options = before


def format_tensor(
    array: np.ndarray[Any, Any],
    *,
    default_dtype: np.dtype[Any],
    suffixes: Sequence[str] = (),
    prefix: str = "tensor(",
    dtype_prefix: str = "torch.",
    device: str = "",
) -> str:
    """The whole text of a tensor that holds `array`.

    The shape is added when the brackets do not show it, the dtype when the numbers do not tell it, then
    `suffixes` such as ``requires_grad=True``. A `device` like ``"cuda:0"`` is named before all of them.

    >>> print(format_tensor(np.arange(4.0).reshape(2, 2), default_dtype=np.dtype("float32")))
    tensor([[0., 1.],
            [2., 3.]], dtype=torch.float64)
    >>> format_tensor(np.zeros((0, 3)), default_dtype=np.dtype("float64"), suffixes=["requires_grad=True"])
    'tensor([], size=(0, 3), requires_grad=True)'
    """
    words = [f"device='{device}'"] if device else []
    if not _shape_is_evident(array):
        words.append(f"size={array.shape}")
    if not _dtype_is_evident(array, default_dtype):
        words.append(f"dtype={dtype_prefix}{array.dtype.name}")
    words.extend(suffixes)
    return _append(prefix + _body(array, len(prefix)), words, len(prefix))


def format_shape(
    array: Any,
    *,
    default_dtype: np.dtype[Any],
    suffixes: Sequence[str],
    prefix: str,
    dtype_prefix: str = "torch.",
) -> str:
    """The text of a tensor whose elements cannot be read. The first of `suffixes` is its device."""
    words = [suffixes[0], f"size={tuple(array.shape)}"]
    if array.dtype not in (default_dtype, np.dtype(bool)):
        words.append(f"dtype={dtype_prefix}{array.dtype.name}")
    return _append(prefix + "...", [*words, *suffixes[1:]], len(prefix))


def format_scalar(array: np.ndarray[Any, Any], spec: str) -> str:
    """``f"{t:spec}"`` of a tensor with one element: its number under Python's own formatting.

    >>> format_scalar(np.array(2.5), ".2f")
    '2.50'
    """
    return format(array.item(), spec)


def _shape_is_evident(array: np.ndarray[Any, Any]) -> bool:
    """Whether the brackets tell the shape; with no edge items at all PyTorch names it even where they do."""
    return array.ndim == 1 if array.size == 0 else _options.edgeitems > 0


def _dtype_is_evident(array: np.ndarray[Any, Any], default: np.dtype[Any]) -> bool:
    """Whether reading the text back as a tensor would give this dtype."""
    name = array.dtype.name
    if name == default.name:
        return True
    if array.size == 0:
        return False
    return name in ("int64", "bool", np.result_type(default, np.complex64).name)


def _append(text: str, words: list[str], indent: int) -> str:
    """Put `words` behind `text` and close the bracket; a word that does not fit starts a line of its own."""
    # PyTorch counts the line break and the closing bracket in: two columns more than are visible.
    used = len(text) - text.rfind("\n") + 1
    parts = [text]
    for word in words:
        if used + len(word) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + word)
            used = indent + len(word)
        else:
            parts.append(", " + word)
            used += len(word) + 2
    return "".join(parts) + ")"


def _body(array: np.ndarray[Any, Any], indent: int) -> str:
    """The numbers in their brackets; `indent` is the column of the first bracket."""
    if array.size == 0:
        return "[]"
    is_cut = [False] * array.ndim
    if array.size > _options.threshold and array.ndim > 0:
        if _options.edgeitems == 0:
            return "[...]"
        is_cut = [size > 2 * _options.edgeitems for size in array.shape]
        array = _edges(array, is_cut)
    words, width = _words(array.reshape(-1))
    return _layout(words, width, array.shape, is_cut, indent) if array.ndim else words[0]


def _edges(array: np.ndarray[Any, Any], is_cut: list[bool]) -> np.ndarray[Any, Any]:
    """The first and last `edgeitems` entries along every cut dimension."""
    edge = _options.edgeitems
    keep = [
        [*range(edge), *range(size - edge, size)] if cut else list(range(size))
        for size, cut in zip(array.shape, is_cut, strict=True)
    ]
    # One gather, so the rest is never copied. NumPy gathers along 63 dimensions at most: those of size 1 stay out.
    edges: np.ndarray[Any, Any] = array.squeeze()[np.ix_(*(part for part in keep if len(part) > 1))]
    return edges.reshape([len(part) for part in keep])


def _layout(words: list[str], width: int, shape: tuple[int, ...], is_cut: list[bool], indent: int) -> str:
    """Fold a flat list of words into nested brackets, from the innermost dimension outwards."""
    last = len(shape) - 1
    room = _options.linewidth - indent - last
    for dim in range(last, -1, -1):
        margin = " " * (indent + dim + 1)
        folded = []
        for start in range(0, len(words), shape[dim]):
            group = words[start : start + shape[dim]]
            if is_cut[dim]:
                group.insert(_options.edgeitems, " ..." if dim == last else "...")
            if dim == last:
                group = _lines(group, width, room)
            folded.append("[" + ("," + "\n" * max(1, last - dim) + margin).join(group) + "]")
        words = folded
    return words[0]


def _lines(words: list[str], width: int, room: int) -> list[str]:
    """Break one row into lines of as many cells of `width` as `room` allows, at least one."""
    cell = width + 2
    per_line = max(1, room // cell)
    return [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]


def _words(flat: np.ndarray[Any, Any]) -> tuple[list[str], int]:
    """Every number of `flat` as text, padded to a common width where PyTorch pads, and that width."""
    if flat.dtype.kind == "c":
        return _complex_words(flat)
    if flat.dtype.kind in "fV":  # bfloat16 is no kind that NumPy knows
        words, width = _float_words(flat)
    else:
        words = [str(value) for value in flat.tolist()]
        width = max(map(len, words))
    return [word.rjust(width) for word in words], width


def _complex_words(flat: np.ndarray[Any, Any]) -> tuple[list[str], int]:
    """Real parts are padded to a column, imaginary parts hang on them ragged."""
    reals, real_width = _float_words(flat.real)
    imags, imag_width = _float_words(flat.imag)
    words = [
        real.rjust(real_width) + ("" if imag.startswith("-") else "+") + imag + "j"
        for real, imag in zip(reals, imags, strict=True)
    ]
    return words, real_width + imag_width + 1


def _float_words(flat: np.ndarray[Any, Any]) -> tuple[list[str], int]:
    """Floats in one style for all, not padded yet, and the width of the column they ask for.

    Zeros, infinities and NaNs have no say in the style nor in the width, as in PyTorch.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN
        values = flat.astype(np.float64)
    decides = np.isfinite(values) & (values != 0)
    sizes = np.abs(values[decides])
    is_whole = bool(np.all(sizes == np.floor(sizes)))
    if _wants_sci(sizes, is_whole):
        spec, point = f".{_options.precision}e", ""
    elif is_whole:
        spec, point = ".0f", "."
    else:
        spec, point = f".{_options.precision}f", ""
    words = [format(v, spec) + (point if math.isfinite(v) else "") for v in values.tolist()]
    width = max((len(words[i]) for i in np.flatnonzero(decides).tolist()), default=1)
    return words, width


def _wants_sci(sizes: np.ndarray[Any, Any], is_whole: bool) -> bool:
    """Whether magnitudes `sizes` need scientific notation to be read."""
    if sizes.size == 0:
        return False
    if _options.sci_mode is not None:
        return _options.sci_mode
    low, high = float(sizes.min()), float(sizes.max())
    return high / low > _WIDEST_RATIO or high > _LARGEST_FIXED or (not is_whole and low < _SMALLEST_FIXED)


def in_html(title: str, text: str) -> str:
    """A text with a title, for notebooks; whatever it says, it is shown as text.

    >>> in_html("Tensor", "<AddBackward0>")
    '<div><small>Tensor</small><pre>&lt;AddBackward0&gt;</pre></div>'
    """
    return f"<div><small>{_escaped(title)}</small><pre>{_escaped(text)}</pre></div>"


def _escaped(text: str) -> str:
    """By hand: Python's module for it is large, and every program would load it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
