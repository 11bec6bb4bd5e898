"""Rows of Fourier transforms, one- and many-dimensional, and through windows."""

from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import Sample, call_with

REAL = {"complex": "takes real signals only"}
COMPOSED = {"jvp": "several nodes: padding, trimming, conversion or conjugation come before or after"}
NORMS = ("backward", "ortho", "forward")


def one(name: str, **excuses: str) -> tuple[Case, Case]:
    """A one-dimensional transform: as it is, and of a signal cut or filled up to another length."""
    plain = (
        call_with((4,)), call_with((5,)), call_with((2, 3)), call_with((3, 2), dim=0),
        call_with((2, 4), layout="transposed"), call_with((2, 3), layout="strided"),
        *(call_with((2, 3), norm=norm) for norm in NORMS),
    )  # fmt: skip
    resized = (call_with((4,), n=6), call_with((5,), n=3), call_with((2, 3), n=5, dim=0, norm="ortho"))
    reference = named(getattr(np.fft, name))
    return (
        Case(f"fft.{name}", plain, reference, excuses=excuses),
        Case(f"fft.{name}", resized, reference, excuses={**excuses, **COMPOSED}, form="resized"),
    )


def several(name: str, reference: Any = None, **excuses: str) -> tuple[Case, ...]:
    """A transform over several dimensions."""
    samples = (
        call_with((2, 3)), call_with((3, 4)), call_with((2, 2, 3), dim=(0, 2)), call_with((3, 4), layout="transposed"),
        call_with((2, 3), norm="ortho"), call_with((4, 3), dim=(1, 0)), call_with((2, 3), norm="forward"),
    )  # fmt: skip
    resized = (call_with((2, 3), s=(3, 2)), call_with((2, 3), s=(3, 5)))
    function = named(reference or getattr(np.fft, name), "n" in name)
    return (
        Case(f"fft.{name}", samples, function, excuses=excuses),
        Case(f"fft.{name}", resized, function, excuses={**excuses, **COMPOSED}, form="resized"),
    )


def named(function: Any, every: bool = False) -> Any:
    """NumPy's transform, with PyTorch's names for its arguments."""

    def call(x: Any, **options: Any) -> Any:
        dim = options.pop("dim", None)
        if dim is not None:
            options["axes" if isinstance(dim, tuple) else "axis"] = dim
        elif every and "s" in options:
            options["axes"] = tuple(range(-len(options["s"]), 0))
        return function(x, **options)

    return call


def hfftn(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """NumPy has none: complex over all dimensions but the last, then `hfft`."""
    s = s or [*(x.shape[a] for a in axes[:-1]), 2 * (x.shape[axes[-1]] - 1)]
    for a, n in zip(axes[:-1], s[:-1], strict=True):
        x = np.fft.fft(x, n, a, norm)
    return np.fft.hfft(x, s[-1], axes[-1], norm)


def ihfftn(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    s = s or [x.shape[a] for a in axes]
    found = np.fft.ihfft(x, s[-1], axes[-1], norm)
    for a, n in zip(axes[:-1], s[:-1], strict=True):
        found = np.fft.ifft(found, n, a, norm)
    return found


def real_or_complex(name: str, reference: Any = None) -> tuple[Case, ...]:
    """A transform over several dimensions that computes in complex numbers: real ones are converted first."""
    rows = several(name, reference, real="a complex signal; the row below has the real one")
    real = Case(f"fft.{name}", (call_with((2, 3)),), named(reference or getattr(np.fft, name), "n" in name),
                excuses={**COMPOSED, "complex": "the row above"}, form="real")  # fmt: skip
    return (*rows, real)


COMPLEX = {"real": "real numbers are converted first: the row below"}


def half(name: str) -> tuple[Case, ...]:
    """`irfft` and `hfft`, of half a spectrum."""
    samples = (
        call_with((4,)), call_with((3,)), call_with((2, 3)), call_with((3, 2), dim=0),
        call_with((3,), n=5), call_with((4,), n=6, norm="ortho"), call_with((2, 3), norm="forward"),
    )  # fmt: skip
    reference = named(getattr(np.fft, name))
    conjugated = COMPOSED if name == "hfft" else {}
    return (
        Case(f"fft.{name}", samples, reference, excuses={**COMPLEX, **conjugated}),
        Case(f"fft.{name}", (call_with((4,)),), reference, excuses={"complex": "the row above", **COMPOSED},
             form="real"),
        Case(f"fft.{name}", (call_with((4,), n=4), call_with((2, 2), n=7, dim=0)), reference,
             excuses={**COMPLEX, **COMPOSED}, form="resized"),
    )  # fmt: skip


def framed(
    x: Any, window: Any, hop: int, center: bool = True, onesided: bool = True, pad: str = "reflect"
) -> Any:
    """A transform through a window by NumPy."""
    n = len(window)
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n // 2, n // 2)], mode=pad)
    frames = np.lib.stride_tricks.sliding_window_view(x, n, -1)[..., ::hop, :] * window
    return np.swapaxes(np.fft.rfft(frames) if onesided else np.fft.fft(frames), -1, -2)


def through(x: Any, window: Any, hop: int, **options: Any) -> Any:
    return rg.stft(x, window.shape[0], hop, window=window, return_complex=True, **options)


def there_and_back(x: Any, window: Any, hop: int) -> Any:
    """A spectrogram changed element by element, back as a signal."""
    spectra = through(x, window, hop)
    return rg.istft(spectra * spectra.abs(), window.shape[0], hop, window=window, length=x.shape[-1])


def back_by_numpy(x: Any, window: Any, hop: int) -> Any:
    n = len(window)
    spectra = framed(x, window, hop)
    pieces = np.fft.irfft(np.swapaxes(spectra * np.abs(spectra), -1, -2), n) * window
    whole = np.zeros(n + hop * (len(pieces) - 1))
    weight = np.zeros_like(whole)
    for i, piece in enumerate(pieces):
        whole[i * hop : i * hop + n] += piece
        weight[i * hop : i * hop + n] += window**2
    return (whole / weight)[n // 2 : n // 2 + x.shape[-1]]


SIGNALS: tuple[Sample, ...] = (call_with((7,), (4,), args=(2,)), call_with((2, 6), (3,), args=(1,)))
SHIFTS = (
    call_with((4,)),
    call_with((5,)),
    call_with((2, 3)),
    call_with((2, 3), dim=1),
    call_with((3, 4), dim=(0, 1)),
)

FOURIER: tuple[Case, ...] = (
    *one("fft"), Case("fft.ifft", one("ifft")[0].samples, named(np.fft.ifft), excuses=COMPOSED),
    Case("fft.ifft", one("ifft")[1].samples, named(np.fft.ifft), excuses=COMPOSED, form="resized"),
    *one("rfft", **REAL),
    Case("fft.ihfft", one("ihfft")[0].samples, named(np.fft.ihfft), excuses={**REAL, **COMPOSED}),
    *half("irfft"), *half("hfft"),
    *real_or_complex("fft2"), *real_or_complex("ifft2"), *real_or_complex("fftn"), *real_or_complex("ifftn"),
    *several("rfft2", **REAL), *several("rfftn", **REAL), *real_or_complex("irfft2"), *real_or_complex("irfftn"),
    *(Case(c.name, c.samples, c.numpy, excuses={**c.excuses, **COMPOSED}, form=c.form)
      for name in ("hfft2", "hfftn") for c in real_or_complex(name, hfftn)),
    *(Case(c.name, c.samples, c.numpy, excuses={**c.excuses, **COMPOSED}, form=c.form)
      for name in ("ihfft2", "ihfftn") for c in several(name, ihfftn, **REAL)),
    *(Case(f"fft.{name}", (call_with((2, 0, 4)),), named(getattr(np.fft, name)), excuses=excuses, form="empty",
           call=getattr(rg.fft, name)) for name, excuses in (("fft", {}), ("rfft", REAL), ("irfft", COMPLEX))),
    Case("fft.fftshift", SHIFTS, lambda x, dim=None: np.fft.fftshift(x, dim)),
    Case("fft.ifftshift", SHIFTS, lambda x, dim=None: np.fft.ifftshift(x, dim)),
    Case("stft", SIGNALS, framed, call=through, excuses={**COMPOSED, "complex": "the row below"}),
    Case("stft", (call_with((7,), (4,), args=(2,), onesided=False),
                  call_with((6,), (4,), args=(1,), onesided=False, center=False)),
         framed, call=through, excuses=COMPOSED, form="twosided"),
    Case("istft", (call_with((7,), (4,), args=(1,)),), back_by_numpy, call=there_and_back,
         excuses={**COMPOSED, "complex": "gives a real signal"}),
)  # fmt: skip
