"""Questions about a tensor: its kind, memory and device; and old methods that call Python for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from retrograd.backends.base import backend_of, device_of
from retrograd.backends.layout_class import strided
from retrograd.backends.memory_format import memory_format as MemoryFormat
from retrograd.backends.shared_memory import is_shared as is_shared_array
from retrograd.backends.shared_memory import shared_copy
from retrograd.core.apply import apply1
from retrograd.core.inplace import check_writable
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError, broadcast_error, type_name
from retrograd.ops.common import deliver, require_tensor, wrap_dims
from retrograd.ops.linalg.checks import check_floating
from retrograd.ops.linalg.distance import Norm
from retrograd.ops.register import public, public_property
from retrograd.ops.tensor.convert import DeviceLike, to

# -- kinds ---------------------------------------------------------------------------------------------------------


@public("is_tensor")
def is_tensor(obj: object) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


@public("is_nonzero", method=True)
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero."""
    x = require_tensor("is_nonzero", "input", 1, input)
    if x.array.size != 1:
        count = "no" if x.array.size == 0 else "more than one"
        raise RuntimeError(
            f"Boolean value of Tensor with {count} value{'s' if x.array.size == 0 else ''} is ambiguous"
        )
    return bool(x)


@public("is_inference")
def is_inference(input: Tensor) -> bool:
    """Whether `input` was made in inference mode."""
    return require_tensor("is_inference", "input", 1, input).is_inference()


@public("is_signed")
def is_signed(input: Tensor) -> bool:
    """Whether the dtype can hold negative numbers."""
    return require_tensor("is_signed", "input", 1, input).is_signed()


@public("is_neg")
def is_neg(input: Tensor) -> bool:
    """Whether `input` shows what lies in its memory with the sign changed, as `z.conj().imag` does."""
    return require_tensor("is_neg", "input", 1, input).is_neg()


@public("typename")
def typename(obj: object) -> str:
    """The type of an object, or the name of a class or a function, with its module; of a tensor its dtype's type.

    >>> import retrograd as rg
    >>> rg.typename(rg.tensor([1])), rg.typename(1.5)
    ('torch.LongTensor', 'float')
    """
    if isinstance(obj, Tensor):
        return obj._type_string()
    named = obj if isinstance(obj, type) or (callable(obj) and hasattr(obj, "__qualname__")) else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


# -- memory and devices --------------------------------------------------------------------------------------------


@public("get_device")
def get_device(input: Tensor) -> int:
    """The GPU's number, or -1 on the CPU."""
    return require_tensor("get_device", "input", 1, input).get_device()


@public_property(
    *(
        "Tensor.is_ipu",
        "Tensor.is_maia",
        "Tensor.is_mkldnn",
        "Tensor.is_mps",
        "Tensor.is_mtia",
    ),
    *("Tensor.is_nested", "Tensor.is_quantized", "Tensor.is_sparse_csr", "Tensor.is_vulkan", "Tensor.is_xla"),
    "Tensor.is_xpu",
)
def _never(self: Tensor) -> bool:
    """Always false: every tensor is a dense NumPy array in the CPU's memory."""
    return False


@public_property("Tensor.is_meta")
def _is_meta(self: Tensor) -> bool:
    """Whether it has a shape and no values: whether its device is "meta"."""
    return not backend_of(self.array).has_values


@public_property("Tensor.layout")
def _layout(self: Tensor) -> str:
    """How elements lie in memory: always `strided`."""
    return strided


@public("Tensor.cuda")
def cuda(
    self: Tensor,
    device: DeviceLike = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Copies to a GPU, the current one unless another is named; itself if it is there already."""
    if isinstance(device, bool):
        raise TypeError("cuda(): argument 'device' (position 1) must be torch.device, not bool")
    where: Any = "cuda" if device is None else device
    return to(self, device=where, non_blocking=non_blocking, memory_format=memory_format)


@public("Tensor.share_memory_")
def share_memory_(self: Tensor) -> Tensor:
    """Moves the elements to memory that processes share: what one of them writes, the others see.

    Other tensors over the same memory stay where they are. A tensor on a GPU is left alone.

    >>> import retrograd as rg
    >>> weight = rg.zeros(2).share_memory_()
    >>> weight.is_shared(), rg.zeros(2).is_shared()
    (True, False)
    """
    array: Any = self.array
    if device_of(array).type != "cpu":
        return self
    if type(array) is not ndarray:
        raise RuntimeError(
            f"share_memory_(): tensors of {self.dtype} that processes share are not there. Convert it, as to float32."
        )
    if not is_shared_array(array):
        self.data = Tensor(shared_copy(array), share=True)
    return self


@public("Tensor.is_shared")
def is_shared(self: Tensor) -> bool:
    """Whether other processes see the memory."""
    array: Any = self.array
    return device_of(array).type != "cpu" or is_shared_array(array)


@public("Tensor.const_data_ptr")
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading."""
    return self.data_ptr()


# -- Python for each element ---------------------------------------------------------------------------------------


def _write_each(function: str, x: Tensor, others: tuple[Any, ...], call: Any) -> Tensor:
    """Replaces each element by what Python says about it and its partners."""
    if x.requires_grad or any(isinstance(t, Tensor) and t.requires_grad for t in others):
        raise GradientError(
            f"Can't call {function}() on Variable that requires grad. Use var.detach().{function}() instead."
        )
    arrays = [x.array]
    for i, other in enumerate(others):
        t = require_tensor(function, "other", i + 1, other)
        if t.array.dtype != x.array.dtype:
            raise TypeError(
                f"{function}: expected {x._type_string()} for 'other' (got {t._type_string()}). Convert it with .to()."
            )
        arrays.append(_stretched(t.array, x.array.shape))
    check_writable(x)
    if not callable(call):
        raise TypeError(f"'{type_name(call)}' object is not callable")
    values = [
        _number(call(*numbers), x.array.dtype.kind)
        for numbers in zip(*(a.ravel().tolist() for a in arrays), strict=True)
    ]
    x.array[...] = backend_of(x.array).asarray(values, x.array.dtype).reshape(x.array.shape)
    x._bump_version()
    return x


def _number(value: Any, kind: str) -> Any:
    """What a function returned, as a number of the kind that the tensor holds."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"'{type_name(value)}' object cannot be interpreted as a number")
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[kind](value)


def _stretched(a: Any, shape: Any) -> Any:
    try:
        return backend_of(a).broadcast_to(a, shape)
    except ValueError:
        raise broadcast_error(a.shape, shape) from None


@public("Tensor.apply_")
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces each element by what a Python function makes of it. Slow: for each one Python is called.

    >>> import retrograd as rg
    >>> rg.tensor([1.0, 2.0]).apply_(lambda v: v * v + 1)
    tensor([2., 5.])
    """
    return _write_each("apply_", self, (), callable)


@public("Tensor.map_")
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """The same with the elements of another tensor."""
    return _write_each("map_", self, (tensor,), callable)


@public("Tensor.map2_")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """The same with the elements of two other tensors."""
    return _write_each("map2_", self, (x, y), callable)


# -- an old norm ---------------------------------------------------------------------------------------------------


@public("frobenius_norm")
def frobenius_norm(
    input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The root of the sum of squares along `dim`, one dimension or two."""
    x = require_tensor("frobenius_norm", "input", 1, input)
    check_floating("linalg.vector_norm", x)
    axis = wrap_dims(dim, x.array.ndim)  # which lets a single number have a dimension 0
    return deliver(apply1(Norm(2.0, axis if x.array.ndim else None, bool(keepdim)), x), out)
