"""What the operations of `torch.ops.aten` compute: public functions, and a few that only the dispatcher has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from retrograd.core.tensor import Tensor

_FAMILIES = ("fft_", "linalg_", "special_")


@cache
def function_of(name: str) -> Callable[..., Any]:
    """What an operation computes: the public function, or the method, of its name."""
    own = OWN.get(name)
    if own is not None:
        return own
    library = import_module("retrograd")
    family = name.partition("_")[0]
    inside = [getattr(library, family)] if name.startswith(_FAMILIES) else []
    for place in (library, *inside, library.nn.functional, Tensor):
        for known in (name, name.removeprefix("_"), name.removeprefix(f"{family}_")):
            found = getattr(place, known, None)
            if callable(found):
                return found  # type: ignore[no-any-return]
    raise NotImplementedError(f"torch.ops.aten.{name} cannot be called here: use a public function of torch.")


def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return self[(slice(None),) * (dim % self.ndim) + (slice(start, end, step),)]


def _softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    return self.softmax(dim)


def _log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    return self.log_softmax(dim)


def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """The softmax, and zeros where all is minus infinity."""
    none = (self == -float("inf")).all(dim, keepdim=True)
    return self.softmax(dim, dtype=dtype).masked_fill(none, 0.0)


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    return grad_output * mask * scale


def _max_pool2d_with_indices(
    self: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    pool = import_module("retrograd.nn.functional").max_pool2d
    return pool(self, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True)


def _max_pool2d_with_indices_backward(
    grad_output: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Any,
) -> Any:
    """Gradients added where the largest elements were."""
    lead = self.shape[:-2]
    flat = grad_output.new_zeros((*lead, self.shape[-2] * self.shape[-1]))
    return flat.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(self.shape)


def _upsampled(mode: str, antialias: bool = False) -> Callable[..., Any]:
    """`interpolate` in the way of the dispatcher's operation: a size, and then scales."""

    def upsample(input: Any, output_size: Any, *more: Any, **named: Any) -> Any:
        corners = more[0] if mode != "nearest" and more else named.get("align_corners")
        options = {} if mode == "nearest" else {"align_corners": corners, "antialias": antialias}
        given: Any = named.get("scale_factors")
        sizes: Sequence[int] | None = output_size
        resize = import_module("retrograd.nn.functional").interpolate
        return resize(input, size=sizes, scale_factor=given if sizes is None else None, mode=mode, **options)

    return upsample


def _sym_size(self: Any, dim: int) -> int:
    return int(self.shape[dim])


OWN: dict[str, Callable[..., Any]] = {
    "_log_softmax": _log_softmax,
    "_safe_softmax": _safe_softmax,
    "_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward_data,
    "_upsample_bicubic2d_aa": _upsampled("bicubic", antialias=True),
    "_upsample_bilinear2d_aa": _upsampled("bilinear", antialias=True),
    "max_pool2d_with_indices": _max_pool2d_with_indices,
    "max_pool2d_with_indices_backward": _max_pool2d_with_indices_backward,
    "native_dropout_backward": _native_dropout_backward,
    "slice": _slice,
    "sym_size": _sym_size,
    "upsample_bicubic2d": _upsampled("bicubic"),
    "upsample_bilinear2d": _upsampled("bilinear"),
    "upsample_nearest1d": _upsampled("nearest"),
    "upsample_nearest2d": _upsampled("nearest"),
    "upsample_nearest3d": _upsampled("nearest"),
}
