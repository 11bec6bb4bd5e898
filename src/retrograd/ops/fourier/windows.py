"""Windows of a signal: their usual shapes, and Fourier transforms of a signal seen through them, one after another."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from retrograd.backends.base import backend_of
from retrograd.backends.casts import cast
from retrograd.backends.device import device as Device
from retrograd.backends.dtypes import SCALAR_NAMES, as_dtype, get_default_dtype, real_of
from retrograd.backends.shortage import SHORTAGE_TOLD
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, sizes, type_name, unsupported_dtype
from retrograd.ops.common import int_from, number_from, require_tensor
from retrograd.ops.elementwise.arithmetic import mul
from retrograd.ops.elementwise.complex_numbers import view_as_complex, view_as_real
from retrograd.ops.fourier.transform import FftC2C, FftC2R, FftR2C
from retrograd.ops.inplace.shape import squeeze_, transpose_
from retrograd.ops.nn.pad import pad
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import expand, reshape, squeeze, unsqueeze, view
from retrograd.ops.shape.split import Slice
from retrograd.ops.shape.strided import UnfoldBackward, as_strided
from retrograd.ops.shape.transpose import transpose
from retrograd.ops.tensor.convert import DeviceLike
from retrograd.ops.tensor.create import finish
from retrograd.ops.tensor.data import check_options
from retrograd.values import Array, DType

# -- shapes --------------------------------------------------------------------------------------------------------


def _points(
    function: str, window_length: Any, periodic: Any, dtype: Any, layout: Any, device: Any
) -> tuple[Array, int, DType, Device]:
    """From 0 at one end of a window to 1 at the other, how many of the points to keep, their dtype and device."""
    where = check_options(device, layout, False)
    n = int_from(function, "window_length", 1, window_length)
    if periodic is None:
        periodic = True
    elif not isinstance(periodic, bool):
        raise TypeError(
            f"{function}(): argument 'periodic' (position 2) must be bool, not {type_name(periodic)}"
        )
    target = get_default_dtype() if dtype is None else as_dtype(dtype)
    if target.kind not in "fc":
        raise DtypeError(f"{function} expects floating point dtypes, got: {SCALAR_NAMES[target]}")
    if n < 0:
        raise ShapeError(f"{function} requires non-negative window_length, got window_length={n}")
    if target.kind == "c" and n > 1:
        raise unsupported_dtype("arange_cpu", target)
    # A periodic window is one that is longer by a point, without its last.
    count = n + 1 if periodic and n > 1 else n
    with SHORTAGE_TOLD:
        points = np.linspace(0.0, 1.0, count) if count > 1 else np.full(count, 0.5)
    return points, n, target, where


def _in_turn(function: str, **given: Any) -> None:
    """Each parameter needs those before it."""
    for before, name in pairwise(given):
        if given[before] is None and given[name] is not None:
            raise TypeError(
                f"{function}() received an invalid combination of arguments: {name} needs {before} before it"
            )


@public("hann_window")
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine that is 0 at its ends.

    Args:
        periodic: leave out the last point, so that windows laid end to end go on where the one before ended.

    >>> import retrograd as rg
    >>> rg.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    at, n, target, where = _points("hann_window", window_length, periodic, dtype, layout, device)
    return finish(cast((0.5 - 0.5 * np.cos(2 * np.pi * at))[:n], target), None, requires_grad, where)


@public("hamming_window")
def hamming_window(
    window_length: int, periodic: bool | None = None, alpha: float | None = None, beta: float | None = None, *,
    dtype: DType | None = None,
    layout: object = None, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine, `alpha - beta * cos`, that is not quite 0 at its ends; 0.54 and 0.46 if they are not given."""
    _in_turn("hamming_window", periodic=periodic, alpha=alpha, beta=beta)
    at, n, target, where = _points("hamming_window", window_length, periodic, dtype, layout, device)
    a = 0.54 if alpha is None else number_from("hamming_window", "alpha", 3, alpha)
    b = 0.46 if beta is None else number_from("hamming_window", "beta", 4, beta)
    values = a - b * np.cos(2 * np.pi * at) if n != 1 else np.ones(1)
    return finish(cast(values[:n], target), None, requires_grad, where)


@public("blackman_window")
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A sum of three cosines that is 0 at its ends."""
    at, n, target, where = _points("blackman_window", window_length, periodic, dtype, layout, device)
    values = 0.42 - 0.5 * np.cos(2 * np.pi * at) + 0.08 * np.cos(4 * np.pi * at)
    return finish(cast(values[:n], target), None, requires_grad, where)


@public("bartlett_window")
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: DType | None = None, layout: object = None,
    device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A triangle that is 0 at its ends."""
    at, n, target, where = _points("bartlett_window", window_length, periodic, dtype, layout, device)
    return finish(cast((1 - np.abs(2 * at - 1))[:n], target), None, requires_grad, where)


@public("kaiser_window")
def kaiser_window(
    window_length: int, periodic: bool | None = None, beta: float | None = None, *, dtype: DType | None = None,
    layout: object = None, device: DeviceLike = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A Bessel function's bell, the narrower the larger `beta`, which is 12 if it is not given."""
    _in_turn("kaiser_window", periodic=periodic, beta=beta)
    at, n, target, where = _points("kaiser_window", window_length, periodic, dtype, layout, device)
    width = 12.0 if beta is None else number_from("kaiser_window", "beta", 3, beta)
    values = np.i0(width * np.sqrt(np.maximum(1 - (2 * at - 1) ** 2, 0))) / np.i0(width)
    return finish(cast(np.atleast_1d(values)[:n], target), None, requires_grad, where)


# -- transforms through a window -----------------------------------------------------------------------------------


def _warn_without_window(advice: str) -> None:
    warn(
        f"A window was not provided. A rectangular window will be applied, {advice}",
        UserWarning,
    )


def _centred(window: Any, win_length: int, n_fft: int, like: Tensor) -> Any:
    """The window in the middle of `n_fft` points; a rectangle if there is none, None if that covers all of them."""
    if window is None:
        if win_length == n_fft:
            return None
        window = _rectangle(win_length, like)
    before = (n_fft - win_length) // 2
    return window if win_length == n_fft else pad(window, (before, n_fft - win_length - before))


def _rectangle(length: int, like: Tensor) -> Tensor:
    """A window of ones for a signal."""
    return Tensor(backend_of(like.array).ones(length, real_of(like.array.dtype)), share=True)


@public("stft", method=True)
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Fourier transforms of `n_fft` points each of a signal, taken every `hop_length` points: (frequency, time).

    Args:
        hop_length: the distance of transforms; a quarter of `n_fft` unless given.
        window: what each piece of the signal is multiplied by, of `win_length` points (`n_fft` unless given).
        center: put the middle of each piece at its time, with the signal padded in mode `pad_mode`.
        normalized: divide by sqrt(n_fft).
        onesided: give non-negative frequencies only; the default for a real signal.
        return_complex: complex numbers; False gives pairs of real ones in a last dimension.

    >>> import retrograd as rg
    >>> rg.stft(rg.ones(8), 4, window=rg.hann_window(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if autocasting():
        return in_float32(
            stft, input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
            return_complex, align_to_window,
        )  # fmt: skip
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    x = require_tensor("stft", "input", 1, input)
    if window is not None:
        require_tensor("stft", "window", 5, window)
    points = int_from("stft", "n_fft", 2, n_fft)
    hop = points // 4 if hop_length is None else int_from("stft", "hop_length", 3, hop_length)
    length = points if win_length is None else int_from("stft", "win_length", 4, win_length)
    kinds = {v.array.dtype.kind for v in (x, window) if v is not None}
    x = _with_ends(x, points // 2, pad_mode) if center and x.array.ndim <= 2 else x
    if return_complex is None and "c" not in kinds:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs: True for complex numbers, False for "
            "pairs of real ones."
        )
    _check_stft(x, points, hop, length, window)
    if window is None:
        _warn_without_window(
            "which is known to cause spectral leakage: pass window=hann_window(win_length), say."
        )
    frames = _framed(x, points, hop, length, window, bool(align_to_window))
    found: Tensor = _spectra(frames, 1 if normalized else 0, onesided)
    transpose_(found, 1, 2)
    if x.array.ndim == 1:
        squeeze_(found, 0)
    if return_complex or return_complex is None:
        return found
    warn(
        "stft with return_complex=False is deprecated: ask for complex numbers, and view_as_real() them if need be.",
        UserWarning,
    )
    pairs: Tensor = view_as_real(found)
    return pairs


def _with_ends(x: Tensor, width: int, mode: Any) -> Tensor:
    """Signals with so many more points at both ends, as `pad` makes them: it wants three dimensions for that."""
    ones = (1,) * (3 - x.array.ndim)
    wide = pad(view(x, (*ones, *x.array.shape)), (width, width), mode)
    return view(wide, wide.array.shape[len(ones) :])


def _check_stft(x: Tensor, points: int, hop: int, length: int, window: Any) -> None:
    shape = x.array.shape
    what = f"stft(input={sizes(shape)}, n_fft={points}, hop_length={hop}, win_length={length})"
    if x.array.dtype.kind not in "fc":
        raise DtypeError(f"{what} : expected a tensor of floating point or complex values")
    if x.array.dtype.itemsize == 2:
        raise DtypeError(f"{what} : FFT doesn't support tensors of type: {SCALAR_NAMES[x.array.dtype]}")
    if len(shape) not in (1, 2):
        raise ShapeError(f"{what} : expected a 1D or 2D tensor")
    if not 0 < points <= shape[-1]:
        raise ShapeError(f"{what} : expected 0 < n_fft < {shape[-1]}, but got n_fft={points}")
    if hop <= 0:
        raise ShapeError(f"{what} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= points:
        raise ShapeError(f"{what} : expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and window.array.shape != (length,):
        raise ShapeError(
            f"{what} : expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{sizes(window.array.shape)}"
        )


def _framed(x: Tensor, points: int, hop: int, length: int, window: Any, align: bool) -> Any:
    """The pieces of the signal, each seen through the window."""
    if x.array.ndim == 1:
        x = unsqueeze(x, 0)
    if align:
        before = (points - length) // 2
        x = pad(x, (before, points - length - before))
    count = 1 + (x.array.shape[1] - points) // hop
    rows, along = x.stride()
    frames = as_strided(x, (x.array.shape[0], count, points), (rows, hop * along, along))
    shape = _centred(window, length, points, x)
    return frames if shape is None else mul(frames, shape)


def _spectra(frames: Any, scale: int, onesided: Any) -> Any:
    """The transform of each piece."""
    if frames.array.dtype.kind == "c":
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        return apply1(FftC2C((2,), scale, True), frames)
    return apply1(FftR2C((2,), scale, onesided is None or bool(onesided)), frames)


@public("istft", method=True)
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal of which `input` is the `stft`: pieces are overlapped, added, and divided by the windows' sum.

    Args:
        length: the signal's length; unless given, as much as the pieces cover.

    >>> import retrograd as rg
    >>> x, w = rg.arange(8.0), rg.hann_window(4)
    >>> rg.istft(rg.stft(x, 4, window=w, return_complex=True), 4, window=w)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    x = require_tensor("istft", "input", 1, input)
    if window is not None:
        require_tensor("istft", "window", 5, window)
    points = int_from("istft", "n_fft", 2, n_fft)
    hop = points // 4 if hop_length is None else int_from("istft", "hop_length", 3, hop_length)
    width = points if win_length is None else int_from("istft", "win_length", 4, win_length)
    half = _check_istft(x, points, hop, width, window, onesided, bool(return_complex))
    if window is None:
        _warn_without_window("which inverts stft only if that was called without one too.")
        window = _rectangle(width, x)
    shape = _centred(window, width, points, x)
    frames = _signals(x, points, 1 if normalized else 2, half, bool(return_complex))
    count = frames.array.shape[1]
    whole = points + hop * (count - 1)
    sums = apply1(
        UnfoldBackward((frames.array.shape[0], whole), 1, points, hop),
        mul(frames, reshape(shape, (1, 1, points))),
    )
    weights = expand(shape**2, (1, count, points))
    weights = apply1(UnfoldBackward((1, whole), 1, points, hop), weights)
    start = points // 2 if center else 0
    end = start + int_from("istft", "length", 9, length) if length is not None else whole - start
    sums, weights = (apply1(Slice(1, start, end), v) for v in (sums, weights))
    cover = abs(weights.array)
    if not (cover > 1e-11).all():
        least = cover.min().item()
        raise RuntimeError(
            f"istft: window overlap add min: {least}. Where all windows are zero the signal cannot be known: overlap "
            "them more, or choose center=True."
        )
    found: Tensor = sums / weights
    found = squeeze(found, 0) if x.array.ndim == 2 else found
    return found if end <= whole else _lengthened(found, end - whole)


def _lengthened(found: Tensor, missing: int) -> Tensor:
    warn(
        "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
        "Check center and hop_length.",
        UserWarning,
    )
    longer: Tensor = pad(found, (0, missing))
    return longer


def _check_istft(
    x: Tensor, points: int, hop: int, width: int, window: Any, onesided: Any, return_complex: bool
) -> bool:
    """Complains, or says whether the input holds half of each spectrum."""
    shape = x.array.shape
    what = f"istft(input={sizes(shape)}, n_fft={points}, hop_length={hop}, win_length={width})"
    if x.array.dtype.kind != "c":
        raise DtypeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if x.array.size == 0:
        raise ShapeError(f"{what} : input tensor cannot be empty.")
    if len(shape) not in (2, 3):
        raise ShapeError(f"{what} : expected a tensor with 3 or 4 dimensions, but got {len(shape) + 1}")
    half = shape[-2] != points if onesided is None else bool(onesided)
    wanted = points // 2 + 1 if half else points
    if shape[-2] != wanted:
        raise ShapeError(
            f"{what} : expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{'n_fft / 2 + 1' if half else 'n_fft'} when onesided={half}, but got {shape[-2]}"
        )
    if not 0 < hop <= width:
        raise ShapeError(f"{what} : expected 0 < hop_length <= win_length")
    if not 0 < width <= points:
        raise ShapeError(f"{what} : expected 0 < win_length <= n_fft")
    if window is not None and window.array.shape != (width,):
        raise ShapeError(f"{what} : Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.array.dtype.kind == "c":
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    return half


def _signals(x: Tensor, points: int, scale: int, half: bool, return_complex: bool) -> Any:
    """The pieces of the signal, from their spectra."""
    pairs = view_as_real(x.resolve_conj())
    if x.array.ndim == 2:
        pairs = unsqueeze(pairs, 0)
    spectra = view_as_complex(transpose(pairs, 1, 2))
    if return_complex:
        return apply1(FftC2C((2,), scale, False), spectra)
    if not half:
        spectra = apply1(Slice(2, 0, points // 2 + 1), spectra)
    return apply1(FftC2R((2,), scale, points), spectra)
