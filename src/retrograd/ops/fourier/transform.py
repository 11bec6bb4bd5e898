"""Discrete Fourier transforms, one- and many-dimensional, of complex and of real signals.

Three ops do all of them: complex to complex, real to complex, complex to real. Each is the adjoint of another, up to
weights: a transform of a real signal is its own mirror image, so half of it stands for two halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from retrograd.backends.base import Backend, backend_of
from retrograd.backends.dtypes import SCALAR_NAMES, complex_of, get_default_dtype, real_of
from retrograd.core.apply import apply1
from retrograd.core.autocast import autocasting, in_float32
from retrograd.core.families import Linear
from retrograd.core.tensor import Tensor
from retrograd.errors import DimensionError, DtypeError, ShapeError
from retrograd.ops.common import as_value, deliver, int_from, plain, require_tensor, require_word, wrap_dim
from retrograd.ops.elementwise.conjugate import conj, conj_physical
from retrograd.ops.nn.pad import ConstantPadNd
from retrograd.ops.register import public
from retrograd.ops.shape.reshape import sizes_of
from retrograd.ops.shape.split import Slice
from retrograd.ops.tensor.convert import convert
from retrograd.values import Array, Shape

Dims: TypeAlias = int | Sequence[int] | None

# NumPy's names for: not scaled, by 1/sqrt(n), by 1/n. Forwards and backwards they differ.
SCALES = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


def mirrored(v: Any, dim: int, length: int, weight: float) -> Any:
    """Half a spectrum with a weight on those elements that have a mirror image in the other half."""
    weights = np.ones(length // 2 + 1, real_of(plain(v).dtype))
    weights[1 : (length + 1) // 2] = weight
    shape = [1] * v.ndim
    shape[dim] = -1
    return v * as_value(backend_of(plain(v)).asarray(weights.reshape(shape)), v)


class FftC2C(Linear):
    """the Fourier transform over some dimensions, or its inverse"""

    in_rows: ClassVar[bool] = True
    laborious: ClassVar[bool] = True
    node_name = "FftC2CBackward0"
    params: ClassVar[tuple[str, ...]] = ("dims", "norm", "ahead")
    shown: ClassVar[dict[str, str]] = {"dim": "dims", "normalization": "norm", "forward": "ahead"}

    def __init__(self, dims: Shape, norm: int, ahead: bool) -> None:
        self.dims = dims
        self.norm = norm
        self.ahead = ahead

    def forward(self, xp: Backend, x: Array) -> Array:
        if not self.dims:
            return x.copy()
        function = xp.fft.fftn if self.ahead else xp.fft.ifftn
        return function(x, axes=self.dims, norm=SCALES[self.ahead][self.norm])

    def transpose(self, g: Any) -> Any:
        return FftC2C(self.dims, self.norm, not self.ahead).on(g)


class FftR2C(Linear):
    """the Fourier transform of real x, all of it or the half of it that says everything"""

    in_rows: ClassVar[bool] = True
    laborious: ClassVar[bool] = True
    node_name = "FftR2CBackward0"
    params: ClassVar[tuple[str, ...]] = ("dims", "norm", "onesided")
    shown: ClassVar[dict[str, str]] = {"dim": "dims", "normalization": "norm", "onesided": "onesided"}

    def __init__(self, dims: Shape, norm: int, onesided: bool) -> None:
        self.dims = dims
        self.norm = norm
        self.onesided = onesided

    def forward(self, xp: Backend, x: Array) -> Array:
        self.length = x.shape[self.dims[-1]]
        function = xp.fft.rfftn if self.onesided else xp.fft.fftn
        return function(x, axes=self.dims, norm=SCALES[True][self.norm])

    def transpose(self, g: Any) -> Any:
        if not self.onesided:
            return FftC2C(self.dims, self.norm, False).on(g).real
        return FftC2R(self.dims, self.norm, self.length).on(mirrored(g, self.dims[-1], self.length, 0.5))


class FftC2R(Linear):
    """the real signal of some length whose Fourier transform has x as its first half"""

    in_rows: ClassVar[bool] = True
    laborious: ClassVar[bool] = True
    node_name = "FftC2RBackward0"
    params: ClassVar[tuple[str, ...]] = ("dims", "norm", "length")
    shown: ClassVar[dict[str, str]] = {"dim": "dims", "normalization": "norm"}

    def __init__(self, dims: Shape, norm: int, length: int) -> None:
        self.dims = dims
        self.norm = norm
        self.length = length

    def forward(self, xp: Backend, x: Array) -> Array:
        size = [*[x.shape[d] for d in self.dims[:-1]], self.length]
        return xp.fft.irfftn(x, size, axes=self.dims, norm=SCALES[False][self.norm])

    def transpose(self, g: Any) -> Any:
        return mirrored(FftR2C(self.dims, self.norm, True).on(g), self.dims[-1], self.length, 2.0)


# -- arguments -----------------------------------------------------------------------------------------------------


def scale_of(norm: Any, ahead: bool) -> int:
    """0 where a transform is not scaled, 1 for 1/sqrt(n), 2 for 1/n."""
    if norm is None or norm == "backward":
        return 0 if ahead else 2
    if norm == "forward":
        return 2 if ahead else 0
    if norm == "ortho":
        return 1
    require_word("fft", "norm", norm)
    raise RuntimeError(f'Invalid normalization mode: "{norm}". It is "backward", "ortho" or "forward".')


def signal(function: str, input: Any) -> Tensor:
    """The input in a dtype that can be transformed."""
    x = require_tensor(f"fft_{function}", "input", 1, input)
    if x.array.dtype.kind == "f" and x.array.dtype.itemsize == 2:
        raise DtypeError(
            f"Unsupported dtype {SCALAR_NAMES[x.array.dtype]}: convert the tensor with .float() first."
        )
    return x if x.array.dtype.kind in "fc" else convert(x, get_default_dtype())


def complex_signal(function: str, input: Any) -> Tensor:
    """The input as complex numbers."""
    x = signal(function, input)
    return convert(x, complex_of(x.array.dtype))


def real_signal(function: str, input: Any, complaint: str) -> Tensor:
    """The input, which must be real."""
    x = signal(function, input)
    if x.array.dtype.kind == "c":
        raise DtypeError(f"{complaint} {SCALAR_NAMES[x.array.dtype]}. Transform it with fft, or pass x.real.")
    return x


def check_length(n: int) -> int:
    """A transform has at least one point."""
    if n < 1:
        raise ShapeError(f"Invalid number of data points ({n}) specified")
    return n


def one_axis(
    function: str, x: Tensor, n: Any, dim: Any, numpy: dict[str, Any], half: bool = False
) -> tuple[int, int]:
    """The dimension and the length of a one-dimensional transform; `half` where x is half a spectrum."""
    dim = numpy.pop("axis", dim)
    if numpy:
        raise TypeError(f"fft_{function}() got an unexpected keyword argument '{next(iter(numpy))}'")
    if x.array.ndim == 0:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, x.array.ndim)
    size = x.array.shape[d]
    length = 2 * (size - 1) if half else size
    return d, check_length(length if n is None else int_from(f"fft_{function}", "n", 2, n))


def axes_and_sizes(
    function: str, x: Tensor, s: Any, dim: Any, numpy: dict[str, Any], half: bool = False
) -> tuple[Shape, Shape]:
    """The dimensions and lengths of a transform over several; the last of x is half a spectrum where `half`."""
    dim = numpy.pop("axis", dim)
    if numpy:
        raise TypeError(f"fft_{function}() got an unexpected keyword argument '{next(iter(numpy))}'")
    shape = x.array.shape
    given = None if s is None else sizes_of(f"fft_{function}", "s", (s if _several(s) else (s,),))
    if dim is not None:
        listed = sizes_of(f"fft_{function}", "dim", (dim if _several(dim) else (dim,),))
        if listed and not shape:
            raise DimensionError(f"Dimension specified as {listed[0]} but tensor has no dimensions")
        dims = tuple([wrap_dim(d, len(shape)) for d in listed])
        if len(set(dims)) < len(dims):
            raise ShapeError("FFT dims must be unique")
        if given is not None and len(given) != len(dims):
            raise ShapeError("When given, dim and shape arguments must have the same length")
    else:
        count = len(shape) if given is None else len(given)
        if count > len(shape):
            raise ShapeError(
                f"Got shape with {count} values but input tensor only has {len(shape)} dimensions."
            )
        dims = tuple(range(len(shape) - count, len(shape)))
    lengths = [-1] * len(dims) if given is None else list(given)
    for i, d in enumerate(dims):
        if lengths[i] == -1:
            lengths[i] = 2 * (shape[d] - 1) if half and i == len(dims) - 1 else shape[d]
        check_length(lengths[i])
    return dims, tuple(lengths)


def _several(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def resized(x: Tensor, dims: Sequence[int], lengths: Sequence[int]) -> Tensor:
    """X cut, or filled with zeros, at the end of some dimensions."""
    ndim = x.array.ndim
    widths = [0] * (2 * ndim)
    for d, n in zip(dims, lengths, strict=True):
        size = x.array.shape[d]
        if size > n:
            x = apply1(Slice(d, 0, n), x)
        elif size < n:
            widths[2 * (ndim - 1 - d) + 1] = n - size
    if not any(widths):
        return x
    padded: Tensor = apply1(ConstantPadNd(tuple(widths), 0), x)
    return padded


def delivered(function: str, result: Any, out: Any) -> Tensor:
    """The result, in `out` if that is of the kind of the result."""
    kind = result.array.dtype.kind
    if isinstance(out, Tensor) and out.array.dtype.kind != kind:
        wanted = "complex" if kind == "c" else "floating point"
        raise DtypeError(
            f"{function} expects a {wanted} output tensor, but got {SCALAR_NAMES[out.array.dtype]}"
        )
    return deliver(result, out)


# -- what the functions share --------------------------------------------------------------------------------------


def _full(
    function: str, input: Any, n: Any, dim: Any, norm: Any, out: Any, numpy: dict[str, Any], ahead: bool
) -> Tensor:
    """`fft` and `ifft`."""
    x = signal(function, input)
    d, length = one_axis(function, x, n, dim, numpy)
    x, scale = resized(x, (d,), (length,)), scale_of(norm, ahead)
    if x.array.dtype.kind == "c":
        result = apply1(FftC2C((d,), scale, ahead), x)
    else:
        result = apply1(FftR2C((d,), scale, False), x)
        result = result if ahead else conj(result)
    return delivered(function, result, out)


def _full_n(
    function: str, input: Any, s: Any, dim: Any, norm: Any, out: Any, numpy: dict[str, Any], ahead: bool
) -> Tensor:
    """`fftn` and `ifftn`."""
    x = complex_signal(function, input)
    dims, lengths = axes_and_sizes(function, x, s, dim, numpy)
    scale = scale_of(norm, ahead)
    return delivered(function, apply1(FftC2C(dims, scale, ahead), resized(x, dims, lengths)), out)


def _half(
    function: str, input: Any, n: Any, dim: Any, norm: Any, out: Any, numpy: dict[str, Any], ahead: bool
) -> Tensor:
    """`rfft` and `ihfft`: half a spectrum of a real signal."""
    x = real_signal(function, input, f"{function} expects a real input tensor, but got")
    d, length = one_axis(function, x, n, dim, numpy)
    result = apply1(FftR2C((d,), scale_of(norm, ahead), True), resized(x, (d,), (length,)))
    return delivered(function, result if ahead else conj(result), out)


def _real(
    function: str, input: Any, n: Any, dim: Any, norm: Any, out: Any, numpy: dict[str, Any], ahead: bool
) -> Tensor:
    """`irfft` and `hfft`: the real signal of half a spectrum."""
    x = complex_signal(function, input)
    d, length = one_axis(function, x, n, dim, numpy, half=True)
    x = resized(x, (d,), (length // 2 + 1,))
    return delivered(
        function, apply1(FftC2R((d,), scale_of(norm, ahead), length), conj(x) if ahead else x), out
    )


def some_axes(function: str, dims: Shape) -> None:
    """Halving a spectrum takes a dimension to halve."""
    if not dims:
        raise ShapeError(f"{function} must transform at least one axis")


# -- one dimension -------------------------------------------------------------------------------------------------


@public("fft.fft")
def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The discrete Fourier transform along one dimension.

    Args:
        n: the length of the signal, which is cut or filled with zeros to it.
        norm: "backward" (not scaled; the default), "ortho" (by 1/sqrt(n)) or "forward" (by 1/n).

    >>> import retrograd as rg
    >>> rg.fft.fft(rg.tensor([1.0, 0.0, -1.0, 0.0]))
    tensor([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j])
    """
    if autocasting():
        return in_float32(fft, input, n, dim, norm, out=out, **numpy)
    return _full("fft", input, n, dim, norm, out, numpy, True)


@public("fft.ifft")
def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The inverse of `fft`; `norm="backward"` scales by 1/n.

    >>> import retrograd as rg
    >>> rg.fft.ifft(rg.fft.fft(rg.tensor([1.0, 2.0]))).real
    tensor([1., 2.])
    """
    if autocasting():
        return in_float32(ifft, input, n, dim, norm, out=out, **numpy)
    return _full("ifft", input, n, dim, norm, out, numpy, False)


@public("fft.rfft")
def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The Fourier transform of a real signal: its `n // 2 + 1` elements of non-negative frequency.

    >>> import retrograd as rg
    >>> rg.fft.rfft(rg.tensor([1.0, 0.0, -1.0, 0.0]))
    tensor([0.+0.j, 2.+0.j, 0.+0.j])
    """
    if autocasting():
        return in_float32(rfft, input, n, dim, norm, out=out, **numpy)
    return _half("rfft", input, n, dim, norm, out, numpy, True)


@public("fft.irfft")
def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The inverse of `rfft`. The signal's length `n` is even unless given: half a spectrum does not tell.

    >>> import retrograd as rg
    >>> rg.fft.irfft(rg.fft.rfft(rg.tensor([1.0, 2.0, 3.0])), n=3)
    tensor([1., 2., 3.])
    """
    if autocasting():
        return in_float32(irfft, input, n, dim, norm, out=out, **numpy)
    return _real("irfft", input, n, dim, norm, out, numpy, False)


@public("fft.hfft")
def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The Fourier transform, which is real, of a signal that is its own conjugate mirror image; half of it is given."""
    if autocasting():
        return in_float32(hfft, input, n, dim, norm, out=out, **numpy)
    return _real("hfft", input, n, dim, norm, out, numpy, True)


@public("fft.ihfft")
def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The inverse of `hfft`."""
    if autocasting():
        return in_float32(ihfft, input, n, dim, norm, out=out, **numpy)
    return _half("ihfft", input, n, dim, norm, out, numpy, False)


# -- several dimensions --------------------------------------------------------------------------------------------


@public("fft.fftn")
def fftn(
    input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The Fourier transform over several dimensions, all unless `dim` (or `s`, for the last ones) is given."""
    if autocasting():
        return in_float32(fftn, input, s, dim, norm, out=out, **numpy)
    return _full_n("fftn", input, s, dim, norm, out, numpy, True)


@public("fft.ifftn")
def ifftn(
    input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The inverse of `fftn`."""
    if autocasting():
        return in_float32(ifftn, input, s, dim, norm, out=out, **numpy)
    return _full_n("ifftn", input, s, dim, norm, out, numpy, False)


@public("fft.rfftn")
def rfftn(
    input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The Fourier transform of a real signal over several dimensions; the last of them is halved."""
    if autocasting():
        return in_float32(rfftn, input, s, dim, norm, out=out, **numpy)
    x = real_signal("rfftn", input, "rfftn expects a real-valued input tensor, but got")
    dims, lengths = axes_and_sizes("rfftn", x, s, dim, numpy)
    some_axes("rfftn", dims)
    return delivered(
        "rfftn", apply1(FftR2C(dims, scale_of(norm, True), True), resized(x, dims, lengths)), out
    )


@public("fft.irfftn")
def irfftn(
    input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The inverse of `rfftn`."""
    if autocasting():
        return in_float32(irfftn, input, s, dim, norm, out=out, **numpy)
    x = complex_signal("irfftn", input)
    dims, lengths = axes_and_sizes("irfftn", x, s, dim, numpy, half=True)
    some_axes("irfftn", dims)
    x = resized(x, dims, (*lengths[:-1], lengths[-1] // 2 + 1))
    return delivered("irfftn", apply1(FftC2R(dims, scale_of(norm, False), lengths[-1]), x), out)


@public("fft.hfftn")
def hfftn(
    input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`hfft` over several dimensions; the last of them is halved."""
    if autocasting():
        return in_float32(hfftn, input, s, dim, norm, out=out, **numpy)
    x = complex_signal("hfftn", input)
    dims, lengths = axes_and_sizes("hfftn", x, s, dim, numpy, half=True)
    some_axes("hfftn", dims)
    x, scale = resized(x, dims, (*lengths[:-1], lengths[-1] // 2 + 1)), scale_of(norm, True)
    if len(dims) > 1:
        x = apply1(FftC2C(dims[:-1], scale, True), x)
    return delivered("hfftn", apply1(FftC2R(dims[-1:], scale, lengths[-1]), conj(x)), out)


@public("fft.ihfftn")
def ihfftn(
    input: Tensor, s: Dims = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """The inverse of `hfftn`."""
    if autocasting():
        return in_float32(ihfftn, input, s, dim, norm, out=out, **numpy)
    x = real_signal("ihfftn", input, "Only supports floating-point dtypes, but found:")
    dims, lengths = axes_and_sizes("ihfftn", x, s, dim, numpy)
    some_axes("ihfftn", dims)
    scale = scale_of(norm, False)
    half = apply1(FftR2C(dims[-1:], scale, True), resized(x, dims, lengths))
    if len(dims) == 1:
        return delivered("ihfftn", conj(half), out)
    return delivered("ihfftn", apply1(FftC2C(dims[:-1], scale, False), conj_physical(half)), out)


@public("fft.fft2")
def fft2(
    input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`fftn` over the last two dimensions."""
    if autocasting():
        return in_float32(fft2, input, s, dim, norm, out=out, **numpy)
    return _full_n("fftn", input, s, dim, norm, out, numpy, True)


@public("fft.ifft2")
def ifft2(
    input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`ifftn` over the last two dimensions."""
    if autocasting():
        return in_float32(ifft2, input, s, dim, norm, out=out, **numpy)
    return _full_n("ifftn", input, s, dim, norm, out, numpy, False)


@public("fft.rfft2")
def rfft2(
    input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`rfftn` over the last two dimensions."""
    if autocasting():
        return in_float32(rfft2, input, s, dim, norm, out=out, **numpy)
    return rfftn(input, s, dim, norm, out=out, **numpy)


@public("fft.irfft2")
def irfft2(
    input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`irfftn` over the last two dimensions."""
    if autocasting():
        return in_float32(irfft2, input, s, dim, norm, out=out, **numpy)
    return irfftn(input, s, dim, norm, out=out, **numpy)


@public("fft.hfft2")
def hfft2(
    input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`hfftn` over the last two dimensions."""
    if autocasting():
        return in_float32(hfft2, input, s, dim, norm, out=out, **numpy)
    return hfftn(input, s, dim, norm, out=out, **numpy)


@public("fft.ihfft2")
def ihfft2(
    input: Tensor, s: Dims = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None,
    **numpy: Any
) -> Tensor:  # fmt: skip
    """`ihfftn` over the last two dimensions."""
    if autocasting():
        return in_float32(ihfft2, input, s, dim, norm, out=out, **numpy)
    return ihfftn(input, s, dim, norm, out=out, **numpy)
