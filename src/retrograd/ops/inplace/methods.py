"""In-place methods: `t.add_(1)`, `t.zero_()`, `t.copy_(other)`, `t.t_()`.

Most are the method of the same name followed by a move; see Note [In-place is out of place plus a move]. Those that
optimisers call write straight into memory where nothing is recorded.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from retrograd.backends.quiet import QUIET, hush, unhush
from retrograd.core.apply import apply1, apply_n
from retrograd.core.inplace import check_writable, write_back
from retrograd.core.modes import FORWARD, current
from retrograd.core.op import Linear, Variadic
from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.core.views import is_stretched
from retrograd.errors import DtypeError, ShapeError, broadcast_error, operand_error, sizes
from retrograd.ops.common import require_tensor, wrap_dim, wrap_dims, zero_like
from retrograd.ops.elementwise.addcmul import addcdiv, addcmul, lerp
from retrograd.ops.elementwise.arithmetic import add, div, mul, sub
from retrograd.ops.elementwise.exponential import abs as absolute
from retrograd.ops.shape.reshape import Squeeze, SqueezeDim, SqueezeDims, Unsqueeze
from retrograd.ops.shape.transpose import T, Transpose
from retrograd.ops.tensor.create import filled, number_from
from retrograd.values import Array, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


class Constant(Linear):
    """something that does not depend on x"""

    def transpose(self, g: Any) -> Any:
        return zero_like(g)

    def jvp(self, t: Any, x: Any, out: Any) -> Any:
        return zero_like(t)


class Replaced(Constant):
    """given values in place of x"""

    params = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def forward(self, xp: Any, x: Array) -> Array:
        return self.values


class Zero(Constant):
    """zeros in place of x"""

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.zeros_like(x)


class Fill(Constant):
    """a number in place of x"""

    params = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def forward(self, xp: Any, x: Array) -> Array:
        return xp.full_like(x, self.number)


class FillInPlace(Fill):
    """a number in place of x, in its own memory"""

    node_name = "FillBackward2"


class Taken(Variadic):
    """y in place of x, in the shape and dtype of x"""

    def forward(self, xp: Any, xs: Any) -> Any:
        x, y = xs
        if y.dtype.kind == "c" and x.dtype.kind != "c":
            y = y.real
        return xp.stretch(y, x.shape).astype(x.dtype)

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        return [zero_like(gs[0]) if self.needs(0) else None, gs[0] if self.needs(1) else None]

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        return zero_like(ts[0]) if ts[1] is None else Taken().on(xs[0], ts[1])


class Copied(Taken):
    """y copied over x"""

    node_name = "CopyBackwards"

    def name(self) -> str:
        return "torch::autograd::CopyBackwards"


class FillTensor(Taken):
    """a 0-dim y in place of x"""

    node_name = "FillBackward1"


class FillTensorInPlace(Taken):
    """a 0-dim y in place of x, in its own memory"""

    node_name = "FillBackward3"


class TInPlace(T):
    """a matrix turned round, where it stands"""

    node_name = "TBackward1"
    is_view: ClassVar[bool] = False


class TransposeInPlace(Transpose):
    """two dimensions swapped, where they stand"""

    node_name = "TransposeBackward1"
    is_view: ClassVar[bool] = False


class SqueezeInPlace(Squeeze):
    """x without its dimensions of size 1, where it stands"""

    node_name = "SqueezeBackward3"
    is_view: ClassVar[bool] = False


class SqueezeDimInPlace(SqueezeDim):
    """x without one dimension, where it stands"""

    node_name = "SqueezeBackward4"
    is_view: ClassVar[bool] = False


class SqueezeDimsInPlace(SqueezeDims):
    """x without some dimensions, where it stands"""

    node_name = "SqueezeBackward5"
    is_view: ClassVar[bool] = False


class UnsqueezeInPlace(Unsqueeze):
    """x with one more dimension, where it stands"""

    node_name = "UnsqueezeBackward1"
    is_view: ClassVar[bool] = False


# -- the move ------------------------------------------------------------------------------------------------------


def write(x: Tensor, result: Tensor) -> Tensor:
    """`write_back`, also for results without a derivative."""
    if result._node is None and x.requires_grad and current().grad_enabled:
        result = apply1(Replaced(result.array.astype(x.array.dtype)), x)
    return write_back(x, result)


# Writes that PyTorch lets overwrite expanded memory, which most may not; some of them say that they should not.
ON_EXPANDED = {"masked_fill": True, "index_fill": True, "index_put": True, "tril": False, "triu": False}


def in_place(name: str) -> Any:
    """The in-place form of the method `name`."""
    stretched = name in ON_EXPANDED

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        x = require_tensor(f"{name}_", "input", 1, self)
        check_writable(x, stretched)
        if stretched and ON_EXPANDED[name] and is_stretched(x.array):
            warn(
                f"Use of {name}_ on expanded tensors is deprecated: elements that share memory change together. "
                "clone() the tensor first.",
                UserWarning,
            )
        return write(x, getattr(x, name)(*args, **kwargs))

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"`{name}`, in place."
    return method


# -- straight into memory ------------------------------------------------------------------------------------------


def bare(x: Any, other: Any) -> Any:
    """`other` as NumPy can take it for a write into `x.array` that needs no record; None if there is more to do."""
    if type(x) is not Tensor or x.array.dtype.kind != "f":
        return None
    state = current()
    recording = state.grad_enabled
    if (recording and (x._requires or x._base is not None)) or state.special & FORWARD:
        return None
    if type(other) is float or type(other) is int:
        return other
    if type(other) is not Tensor or (recording and other.requires_grad):
        return None
    a = other.array
    return a if a.dtype == x.array.dtype and (a.shape == x.array.shape or a.ndim == 0) else None


def _into(ufunc: Any, x: Tensor, other: Any) -> Tensor:
    """Writes `ufunc(x, other)` into the memory of `x`."""
    token = hush(QUIET)
    try:
        ufunc(x.array, other, out=x.array)
    finally:
        unhush(token)
    x.bump_version()
    return x


def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self + alpha * other`, in place."""
    check_writable(self)
    b = bare(self, other)
    if b is None:
        return write(self, add(self, other, alpha=alpha))
    return _into(np.add, self, b if alpha == 1 else b * alpha)


def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self - alpha * other`, in place."""
    check_writable(self)
    b = bare(self, other)
    if b is None:
        return write(self, sub(self, other, alpha=alpha))
    return _into(np.subtract, self, b if alpha == 1 else b * alpha)


def mul_(self: Tensor, other: Any) -> Tensor:
    """`self * other`, in place."""
    check_writable(self)
    b = bare(self, other)
    return write(self, mul(self, other)) if b is None else _into(np.multiply, self, b)


def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`self / other`, in place."""
    check_writable(self)
    b = bare(self, other) if rounding_mode is None else None
    return (
        write(self, div(self, other, rounding_mode=rounding_mode))
        if b is None
        else _into(np.true_divide, self, b)
    )


def addcmul_(self: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """`self + value * tensor1 * tensor2`, in place."""
    check_writable(self)
    a, b = bare(self, tensor1), bare(self, tensor2)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return write(self, addcmul(self, tensor1, tensor2, value=value))
    return _into(np.add, self, a * b if value == 1 else a * value * b)


def addcdiv_(self: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """`self + value * tensor1 / tensor2`, in place."""
    check_writable(self)
    a, b = bare(self, tensor1), bare(self, tensor2)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return write(self, addcdiv(self, tensor1, tensor2, value=value))
    token = hush(QUIET)
    try:
        quotient = (a if value == 1 else a * value) / b
    finally:
        unhush(token)
    return _into(np.add, self, quotient)


def lerp_(self: Tensor, end: Any, weight: Any) -> Tensor:
    """`self + weight * (end - self)`, in place."""
    check_writable(self)
    b = bare(self, end)
    if not isinstance(b, np.ndarray) or type(weight) is not float or abs(weight) >= 0.5:
        return write(self, lerp(self, end, weight))
    return _into(np.add, self, (b - self.array) * weight)


def abs_(self: Tensor) -> Tensor:
    """`abs`, in place."""
    if self.array.dtype.kind == "c":
        raise DtypeError("In-place abs is not supported for complex tensors. Their absolute values are real.")
    check_writable(self)
    return write(self, absolute(self))


def _recorded(x: Tensor) -> bool:
    """Whether a write to `x` changes a history, or a tangent."""
    state = current()
    return (state.grad_enabled and (x._requires or x._base is not None)) or state.special & FORWARD != 0


def zero_(self: Tensor) -> Tensor:
    """Fills with zeros."""
    check_writable(require_tensor("zero_", "input", 1, self), stretched=True)
    if _recorded(self):
        return write(self, apply1(Zero(), self))
    self.array.fill(0)
    self.bump_version()
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Fills with one number; a 0-dim tensor gets its gradient."""
    check_writable(require_tensor("fill_", "input", 1, self), stretched=not isinstance(value, Tensor))
    if isinstance(value, Tensor):
        return write(self, apply_n(FillTensorInPlace(), (self, _number_tensor("fill_", value))))
    number = filled((), number_from("fill_", "value", 1, value), self.array.dtype)
    if _recorded(self):
        return write(self, apply1(FillInPlace(number), self))
    self.array.fill(number)
    self.bump_version()
    return self


def _number_tensor(function: str, value: Tensor) -> Tensor:
    if value.array.ndim:
        raise ShapeError(
            f"{function} only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions."
        )
    return value


def fill(input: Any, value: Any) -> Any:
    """One number in the shape and dtype of `input`."""
    x = require_tensor("fill", "input", 1, input)
    if isinstance(value, Tensor):
        return apply_n(FillTensor(), (x, _number_tensor("fill", value)))
    return apply1(Fill(filled((), number_from("fill", "value", 2, value), x.array.dtype)), x)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Copies the elements of `src`, broadcast to the shape and converted to the dtype of this tensor.

    >>> import retrograd as rg
    >>> rg.zeros(2, 2).copy_(rg.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    check_writable(self)
    if isinstance(src, (bool, int, float, complex)):
        src = Tensor(np.asarray(src))
    if not isinstance(src, Tensor):
        raise operand_error("copy_", "other", 1, src)
    if src.array.shape != self.array.shape:
        _check_fits(src.array.shape, self.array.shape)
    if src.array.dtype.kind == "c" and self.array.dtype.kind != "c":
        warn("Casting complex values to real discards the imaginary part", UserWarning)
    if _recorded(self) or (src.requires_grad and current().grad_enabled):
        return write(self, apply_n(Copied(), (self, src)))
    token = hush(QUIET)
    try:
        np.copyto(self.array, src.array if self.array.dtype.kind == "c" else src.array.real, casting="unsafe")
    finally:
        unhush(token)
    self.bump_version()
    return self


def _check_fits(shape: Shape, target: Shape) -> None:
    """Raises unless a source of this shape broadcasts to the shape of the target."""
    try:
        whole = np.broadcast_shapes(target, shape)
    except ValueError:
        raise broadcast_error(target, shape) from None
    if whole != target:
        raise ShapeError(
            f"output with shape {sizes(target)} doesn't match the broadcast shape {sizes(whole)}"
        )


# -- another shape, where it stands --------------------------------------------------------------------------------


def move_in_place(x: Tensor, op: Linear) -> Tensor:
    """Gives `x` the shape and the history of the op's result; the memory stays."""
    check_writable(x, stretched=True)
    result: Tensor = apply1(op, x)
    x.array = result.array
    x.bump_version()
    if result._tangent is not None:
        result._tangent.level.give(x, result._tangent.value)
    if result._node is not None:
        # A retained gradient stays where it was asked for, as in PyTorch: `move_to` would take it along.
        x._node, x.output_nr, x._requires = result._node, result.output_nr, True
        x._view_version = x.counter().version
    return x


def t_(self: Tensor) -> Tensor:
    """`t()`, in place."""
    if self.array.ndim > 2:
        raise ShapeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.array.ndim}D")
    return move_in_place(self, TInPlace())


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose(dim0, dim1)`, in place."""
    ndim = self.array.ndim
    return move_in_place(self, TransposeInPlace(wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)))


def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """`squeeze(dim)`, in place."""
    if dim is None:
        return move_in_place(self, SqueezeInPlace())
    if isinstance(dim, (tuple, list)):
        dims = wrap_dims(dim, self.array.ndim)
        return move_in_place(self, SqueezeDimsInPlace(dims if isinstance(dims, tuple) else ()))
    return move_in_place(self, SqueezeDimInPlace(wrap_dim(dim, self.array.ndim)))


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze(dim)`, in place."""
    return move_in_place(self, UnsqueezeInPlace(wrap_dim(dim, self.array.ndim + 1)))


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Fills the main diagonal; with `wrap`, that of a tall matrix begins anew after each end."""
    shape = require_tensor("fill_diagonal_", "input", 1, self).array.shape
    if len(shape) < 2:
        raise ShapeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError("all dimensions of input must be of equal length")
    stride, start = self.stride(), self.storage_offset()
    self.as_strided((min(shape),), (sum(stride),), start).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        width = shape[1]
        more = -(-self.numel() // (width + 1)) - width
        self.as_strided((more,), (sum(stride),), start + stride[0] * (width + 1)).fill_(fill_value)
    return self


# Methods whose in-place form is the method itself followed by a move.
NAMES = (
    "neg", "negative", "reciprocal", "square", "sqrt", "rsqrt", "exp", "exp2", "expm1",
    "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "arcsinh", "arccosh", "arctanh", "sigmoid", "relu",
    "erf", "erfc", "sign", "sgn", "floor", "ceil", "round", "trunc", "fix", "frac", "pow",
    "remainder", "floor_divide", "multiply", "subtract", "divide", "true_divide", "clamp", "clip", "clamp_min",
    "clamp_max", "bitwise_not", "bitwise_and",
    "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "addmm", "addmv", "addr",
    "baddbmm", "addbmm", "cumsum", "cumprod", "tril", "triu", "masked_fill", "masked_scatter", "index_add",
    "index_copy", "index_fill", "index_put", "scatter", "scatter_add",
    "arctan2", "atan2", "copysign", "deg2rad", "digamma", "erfinv", "fmod", "gcd", "heaviside", "hypot", "i0", "igamma",
    "igammac", "index_reduce", "lcm", "ldexp", "lgamma", "logit", "mvlgamma", "nan_to_num", "nextafter", "put",
    "rad2deg", "renorm", "scatter_reduce", "sinc", "xlogy",
)  # fmt: skip

FUNCTIONS: tuple[Any, ...] = ()
NOT_METHODS: tuple[Any, ...] = (fill,)
METHODS: dict[str, Any] = {
    **{f"{name}_": in_place(name) for name in NAMES},
    "abs_": abs_,
    "absolute_": abs_,
    "add_": add_,
    "sub_": sub_,
    "mul_": mul_,
    "div_": div_,
    "addcmul_": addcmul_,
    "addcdiv_": addcdiv_,
    "lerp_": lerp_,
    "zero_": zero_,
    "fill_": fill_,
    "copy_": copy_,
    "t_": t_,
    "transpose_": transpose_,
    "swapaxes_": transpose_,
    "swapdims_": transpose_,
    "squeeze_": squeeze_,
    "unsqueeze_": unsqueeze_,
    "fill_diagonal_": fill_diagonal_,
}
