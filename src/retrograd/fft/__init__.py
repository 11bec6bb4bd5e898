"""Fourier transforms under PyTorch's names.

Written by `tools/generate.py` from the op library.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily
from retrograd.public_names import FFT as _FFT

if _typing.TYPE_CHECKING:
    from retrograd.ops.fourier.frequencies import (
        fftfreq,
        fftshift,
        ifftshift,
        rfftfreq,
    )
    from retrograd.ops.fourier.transform import (
        fft,
        fft2,
        fftn,
        hfft,
        hfft2,
        hfftn,
        ifft,
        ifft2,
        ifftn,
        ihfft,
        ihfft2,
        ihfftn,
        irfft,
        irfft2,
        irfftn,
        rfft,
        rfft2,
        rfftn,
    )
else:
    __getattr__, __dir__ = _lazily(__name__, _FFT)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
