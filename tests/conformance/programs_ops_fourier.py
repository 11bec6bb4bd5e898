"""Fourier transforms: values, gradients, lengths, norms, dtypes, errors; windows and transforms through them."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .harness import attempt, program


def signal(torch: Any, *shape: int, kind: str = "float64", grad: bool = True) -> Any:
    n = math.prod(shape)
    x = (torch.arange(1, n + 1, dtype=torch.float64) * 7 % 11 - 4).reshape(shape) / 3
    if kind.startswith("complex"):
        x = torch.complex(x, x.flip(0) * 0.5)
    return x.to(getattr(torch, kind)).requires_grad_(grad)


def derivatives(torch: Any, x: Any, f: Any) -> Any:
    """Value, gradient, and gradient of the gradient's size."""
    y = f(x)
    z = y * y * y
    loss = (z.real + 0.5 * z.imag if z.is_complex() else z).sum()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    size = (first * first.conj()).real if first.is_complex() else first * first
    (second,) = torch.autograd.grad(size.sum(), x)
    return y, first.detach().resolve_conj(), second.resolve_conj()


def nodes(y: Any) -> list[Any]:
    """The names along the first edges."""
    found, node = [], y.grad_fn
    while node is not None:
        found.append(node)
        node = node.next_functions[0][0] if node.next_functions else None
    return found


ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = (
    "fft2",
    "ifft2",
    "rfft2",
    "irfft2",
    "hfft2",
    "ihfft2",
    "fftn",
    "ifftn",
    "rfftn",
    "irfftn",
    "hfftn",
    "ihfftn",
)
REAL_ONLY = ("rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn")


@program()
def transforms_of_real_signals(torch: Any) -> Any:
    x = signal(torch, 2, 6)
    return [derivatives(torch, x, getattr(torch.fft, name)) for name in (*ONE, *MANY)]


@program()
def transforms_of_complex_signals(torch: Any) -> Any:
    z = signal(torch, 2, 5, kind="complex128")
    return [derivatives(torch, z, getattr(torch.fft, n)) for n in (*ONE, *MANY) if n not in REAL_ONLY]


@program()
def graphs_of_transforms(torch: Any) -> Any:
    x, z = signal(torch, 3, 4), signal(torch, 3, 4, kind="complex128")
    found = [nodes(getattr(torch.fft, name)(x)) for name in (*ONE, *MANY)]
    return found + [nodes(getattr(torch.fft, n)(z)) for n in (*ONE, *MANY) if n not in REAL_ONLY]


@program()
def graphs_of_resized_signals(torch: Any) -> Any:
    z = signal(torch, 4, 6, kind="complex128")
    return [
        nodes(torch.fft.fft(z, n=8)),
        nodes(torch.fft.fft(z, n=3)),
        nodes(torch.fft.fftn(z, s=(8, 3))),
        nodes(torch.fft.irfft(z, n=20)),
        nodes(torch.fft.irfftn(z, s=(3, 9))),
        nodes(torch.fft.hfft(z, n=9)),
        nodes(torch.fft.fft(z, n=6)),
    ]


@program()
def what_transforms_save(torch: Any) -> Any:
    z, x = signal(torch, 2, 3, kind="complex128"), signal(torch, 2, 3)
    a, b, c = torch.fft.ifftn(z).grad_fn, torch.fft.rfft(x, norm="ortho").grad_fn, torch.fft.irfft(z).grad_fn
    return (
        (a._saved_dim, a._saved_normalization, a._saved_forward),
        (b._saved_dim, b._saved_normalization, b._saved_onesided),
        (c._saved_dim, c._saved_normalization),
    )


@program()
def lengths_even_and_odd(torch: Any) -> Any:
    x, z = signal(torch, 6), signal(torch, 4, kind="complex128")
    found = []
    for n in (1, 2, 5, 6, 7, 10):
        found += [derivatives(torch, x, lambda v, n=n, f=name: getattr(torch.fft, f)(v, n=n)) for name in ONE]
        found += [derivatives(torch, z, lambda v, n=n: torch.fft.irfft(v, n=n))]
        found += [derivatives(torch, z, lambda v, n=n: torch.fft.hfft(v, n=n))]
    return found


@program()
def norms(torch: Any) -> Any:
    x = signal(torch, 3, 4)
    return [
        derivatives(torch, x, lambda v, f=name, norm=norm: getattr(torch.fft, f)(v, norm=norm))
        for name in (*ONE, "fftn", "irfftn", "hfft2", "ihfft2")
        for norm in ("backward", "ortho", "forward")
    ]


@program()
def sizes_and_dims(torch: Any) -> Any:
    x = signal(torch, 2, 3, 4)
    options = [
        {"dim": (0, 2)}, {"dim": (2, 0)}, {"s": (3,)}, {"s": (2, 5)}, {"s": (-1, 3), "dim": (0, 1)}, {"dim": 1},
        {"s": 3, "dim": (1,)},
    ]  # fmt: skip
    names = ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
    return [
        derivatives(torch, x, lambda v, f=f, o=o: getattr(torch.fft, f)(v, **o))
        for f in names
        for o in options
    ]


@program()
def dims_by_number(torch: Any) -> Any:
    x = signal(torch, 3, 4)
    return [torch.fft.fft(x, 5, 0, "ortho"), torch.fft.rfft(x, dim=0), torch.fft.fft(input=x, axis=0)]


@program()
def precision_stays(torch: Any) -> Any:
    found = []
    for kind in ("float32", "complex64", "float64", "complex128"):
        z = signal(torch, 5, kind=kind)
        found += [torch.fft.fft(z).dtype, torch.fft.irfft(z).dtype, torch.fft.fftn(z).dtype]
    return found


@program()
def integers_become_floats(torch: Any) -> Any:
    i = torch.arange(5)
    return [torch.fft.fft(i), torch.fft.rfft(i > 2), torch.fft.irfft(i.to(torch.uint8)), torch.fft.ihfft(i)]


@program()
def empty_dims_transform_nothing(torch: Any) -> Any:
    return torch.fft.fftn(signal(torch, 2, 3), dim=()), torch.fft.fftn(torch.tensor(2.0))


@program()
def results_into_out(torch: Any) -> Any:
    x = signal(torch, 4, grad=False)
    out = torch.empty(0, dtype=torch.complex128)
    same = torch.fft.fft(x, out=out) is out
    return same, out, torch.fft.irfft(out, out=torch.empty(6, dtype=torch.float64))


@program()
def frequencies(torch: Any) -> Any:
    fft = torch.fft
    return [fft.fftfreq(5), fft.fftfreq(4, 0.5), fft.rfftfreq(5), fft.rfftfreq(4, d=2.0, dtype=torch.float64),
            fft.fftfreq(0), fft.fftfreq(1), fft.fftfreq(3, requires_grad=True)]  # fmt: skip


@program()
def shifts(torch: Any) -> Any:
    x = signal(torch, 3, 4)
    found = [torch.fft.fftshift, torch.fft.ifftshift]
    return (
        [derivatives(torch, x, f) for f in found]
        + [f(x, dim=1) for f in found]
        + [f(x, (0, -1)) for f in found]
    )


@program()
def wrong_lengths_and_dims(torch: Any) -> Any:
    x = signal(torch, 3, 4)
    return [
        attempt("Invalid number of data points \\(0\\)", torch.fft.fft, x, n=0),
        attempt("Invalid number of data points \\(-2\\)", torch.fft.rfft, x, n=-2),
        attempt("Invalid number of data points", torch.fft.irfft, x[:, :1]),
        attempt("Dimension out of range", torch.fft.fft, x, dim=2),
        attempt("Dimension out of range", torch.fft.fft2, x[0]),
        attempt("tensor has no dimensions", torch.fft.fft, torch.tensor(1.0)),
        attempt("same length", torch.fft.fftn, x, s=(2,), dim=(0, 1)),
        attempt("only has 2 dimensions", torch.fft.fftn, x, s=(2, 2, 2)),
        attempt("unique", torch.fft.fftn, x, dim=(0, -2)),
        attempt("must transform at least one axis", torch.fft.rfftn, x, dim=()),
        attempt("must transform at least one axis", torch.fft.irfftn, x, dim=()),
        attempt("must be int, not float", torch.fft.fft, x, n=2.0),
    ]


@program()
def wrong_kinds(torch: Any) -> Any:
    z = signal(torch, 3, 4, kind="complex64")
    return [
        attempt("rfft expects a real input tensor, but got ComplexFloat", torch.fft.rfft, z),
        attempt("ihfft expects a real input", torch.fft.ihfft, z),
        attempt("rfftn expects a real-valued input tensor", torch.fft.rfft2, z),
        attempt("Only supports floating-point dtypes", torch.fft.ihfftn, z),
        attempt("Unsupported dtype Half", torch.fft.fft, torch.ones(3, dtype=torch.float16)),
        attempt('Invalid normalization mode: "x"', torch.fft.fft, z, norm="x"),
        attempt("must be Tensor, not list", torch.fft.fft, [1.0]),
        attempt("requires a floating point", torch.fft.fftfreq, 3, dtype=torch.int64),
        attempt("negative dimension", torch.fft.fftfreq, -1),
    ]


@program()
def transforms_of_infinite_and_huge_numbers(torch: Any) -> Any:
    huge = torch.tensor([1e300, -1e300, 1e-310, 0.0], dtype=torch.float64)
    return torch.fft.fft(huge), torch.fft.rfft(torch.tensor([float("nan"), 1.0])).isnan().any()


@program()
def a_convolution_by_transforms(torch: Any) -> Any:
    x, y = signal(torch, 6), signal(torch, 6, grad=False).roll(1)
    return derivatives(torch, x, lambda v: torch.fft.irfft(torch.fft.rfft(v) * torch.fft.rfft(y), n=6))


@program()
def a_spectrum_fitted_by_gradient(torch: Any) -> Any:
    x = signal(torch, 8)
    target = torch.fft.rfft(signal(torch, 8, grad=False).flip(0)).abs()
    for _ in range(5):
        loss = ((torch.fft.rfft(x).abs() - target) ** 2).sum()
        (g,) = torch.autograd.grad(loss, x)
        x = (x - 0.01 * g).detach().requires_grad_()
    return x, loss


# -- windows -------------------------------------------------------------------------------------------------------

SHAPES = ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")


@program()
def shapes_of_windows(torch: Any) -> Any:
    return [getattr(torch, name)(n, periodic, dtype=torch.float64)
            for name in SHAPES for n in (0, 1, 2, 5, 8) for periodic in (True, False)]  # fmt: skip


@program()
def parameters_of_windows(torch: Any) -> Any:
    return [
        torch.hamming_window(6, True, 0.5, 0.5),
        torch.hamming_window(6, False, alpha=0.6),
        torch.kaiser_window(6, True, 5.0),
        torch.kaiser_window(6, False, beta=0.0),
        torch.hann_window(3, requires_grad=True),
    ]


@program()
def wrong_windows(torch: Any) -> Any:
    return [
        item
        for name in SHAPES
        for item in (
            attempt("requires non-negative window_length", getattr(torch, name), -1),
            attempt("expects floating point dtypes", getattr(torch, name), 3, dtype=torch.int64),
            attempt("must be int, not float", getattr(torch, name), 2.5),
            attempt("not implemented for 'ComplexFloat'", getattr(torch, name), 3, dtype=torch.complex64),
        )
    ]


def through(torch: Any, x: Any, **options: Any) -> Any:
    window = torch.hann_window(options.get("win_length", 8), dtype=torch.float64) + 0.1
    return torch.stft(x, 8, window=window, return_complex=True, **options)


@program()
def transforms_through_windows(torch: Any) -> Any:
    x = signal(torch, 20)
    options = [{}, {"hop_length": 3}, {"center": False}, {"normalized": True}, {"onesided": False},
               {"win_length": 6}, {"pad_mode": "constant"}, {"center": False, "align_to_window": True}]  # fmt: skip
    found = [derivatives(torch, x, lambda v, o=o: through(torch, v, **o)) for o in options]
    return found, nodes(through(torch, x)), nodes(through(torch, signal(torch, 2, 20), hop_length=3))


@program()
def transforms_of_complex_signals_through_windows(torch: Any) -> Any:
    z = signal(torch, 16, kind="complex128")
    return derivatives(torch, z, lambda v: through(torch, v, hop_length=4)), z.stft(
        8, window=torch.ones(8, dtype=torch.float64)
    )


@program(warns="A window was not provided|return_complex=False is deprecated")
def transforms_without_a_window(torch: Any) -> Any:
    x = signal(torch, 16)
    return torch.stft(x, 8, return_complex=True), torch.stft(x, 8, return_complex=False)


@program()
def back_from_transforms_through_windows(torch: Any) -> Any:
    x = signal(torch, 20)
    window = torch.hann_window(8, dtype=torch.float64)

    def there_and_back(v: Any, **options: Any) -> Any:
        spectra = torch.stft(v, 8, 2, window=window, return_complex=True)
        return torch.istft(spectra * spectra.abs(), 8, 2, window=window, **options)

    spectra = torch.stft(x, 8, 2, window=window, return_complex=True)
    return [
        derivatives(torch, x, there_and_back),
        derivatives(torch, x, lambda v: there_and_back(v, length=15)),
        derivatives(torch, x, lambda v: there_and_back(v, normalized=True)),
        nodes(torch.istft(spectra, 8, 2, window=window)),
        torch.istft(spectra, 8, 2, window=window),
    ]


@program(warns="Result is being padded with zeros")
def a_signal_longer_than_its_spectra(torch: Any) -> Any:
    window = torch.hann_window(8, dtype=torch.float64)
    spectra = torch.stft(signal(torch, 20), 8, 2, window=window, return_complex=True)
    return torch.istft(spectra, 8, 2, window=window, length=40)


@program()
def complex_signals_there_and_back(torch: Any) -> Any:
    z = signal(torch, 16, kind="complex128")
    window = torch.hann_window(8, dtype=torch.float64)
    spectra = torch.stft(z, 8, 2, window=window, return_complex=True)
    return [
        torch.istft(spectra, 8, 2, window=window, return_complex=True),
        torch.istft(spectra, 8, 2, window=window, onesided=False),
    ]


@program()
def wrong_transforms_through_windows(torch: Any) -> Any:
    x = signal(torch, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            attempt("requires the return_complex parameter", torch.stft, x, 8),
            attempt("expected 0 < n_fft", torch.stft, x, 0, return_complex=True),
            attempt("expected 0 < n_fft", torch.stft, x, 30, center=False, return_complex=True),
            attempt("expected hop_length > 0", torch.stft, x, 8, hop_length=0, return_complex=True),
            attempt("expected 0 < win_length <= n_fft", torch.stft, x, 8, win_length=9, return_complex=True),
            attempt("expected a 1D window tensor of size", torch.stft, x, 8, window=x, return_complex=True),
            attempt("expected a 1D or 2D tensor", torch.stft, x.reshape(2, 2, 5), 8, return_complex=True),
            attempt(
                "floating point or complex",
                torch.stft,
                torch.arange(20),
                8,
                center=False,
                return_complex=True,
            ),
            attempt(
                "should only be set when center", torch.stft, x, 8, align_to_window=True, return_complex=True
            ),
            attempt("Cannot have onesided output", torch.stft, x * 1j, 8, onesided=True),
            attempt("Padding size should be less", torch.stft, x[:3], 8, return_complex=True),
        ]


@program()
def wrong_ways_back(torch: Any) -> Any:
    window = torch.hann_window(8, dtype=torch.float64)
    s = torch.stft(signal(torch, 20), 8, 2, window=window, return_complex=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            attempt("requires a complex-valued input", torch.istft, s.real, 8),
            attempt("input tensor cannot be empty", torch.istft, s[:, :0], 8),
            attempt("expected the frequency dimension", torch.istft, s, 10),
            attempt("expected 0 < hop_length <= win_length", torch.istft, s, 8, 9),
            attempt("expected 0 < win_length <= n_fft", torch.istft, s, 8, 2, 9),
            attempt("Invalid window shape", torch.istft, s, 8, 2, window=window[:6]),
            attempt("window overlap add min", torch.istft, s, 8, 2, window=window, center=False),
            attempt("Complex windows are incompatible", torch.istft, s, 8, 2, window=window * (1 + 0j)),
            attempt("Cannot have onesided output", torch.istft, s, 8, 2, window=window, return_complex=True),
            attempt("3 or 4 dimensions", torch.istft, s[None, None], 8, 2),
        ]
