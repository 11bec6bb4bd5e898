"""PyTorch's table of its own operations, which its wheel carries: what each is called by, and with what arguments.

Only the table is used, at the time of the test, as one would use a list of calls; nothing of it is kept here. What is
called here is what has the same name; of a function that the table wrote for itself, the same function with `torch`
standing for this library.
"""

from __future__ import annotations

import functools
import importlib
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import retrograd as rg

DTYPES = (
    "float32", "float64", "complex64", "complex128", "int64", "int32", "uint8", "bool", "float16", "bfloat16",
)  # fmt: skip
# Operations on sparse or quantised tensors, on other devices, and PyTorch's own halves of others.
NOT_FOR_US = (
    "jiterator", "sparse", "torch.", "chalf", "_segment_reduce", "_softmax_backward_data", "_chunk_cat",
    "_native_batch", "_batch_norm_with", "_upsample_bil", "max_pool2d_with_indices_backward", "_unsafe_",
    "native_dropout_backward", "hash_tensor", "item", "to_sparse",
)  # fmt: skip
# Of these only dtype and shape can be compared.
RANDOM = {
    "cauchy", "exponential", "geometric", "log_normal", "uniform", "normal", "bernoulli", "multinomial", "rand_like",
    "randn", "randn_like", "randint", "randint_like", "poisson", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "empty",
    "nn.functional.rrelu", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "svd_lowrank", "pca_lowrank",
    "resize_", "resize_as_", "nn.functional.multi_head_attention_forward", "nn.functional.scaled_dot_product_attention",
}  # fmt: skip


class NoCounterpart(Exception):
    """What has no like of itself in this library: a sparse tensor, complex numbers of half precision, …"""


class Form(NamedTuple):
    """A way to call an operation, of both libraries."""

    name: str
    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    writes: bool = False  # into its first argument


def operations() -> list[Any]:
    """The rows of PyTorch's table that make sense on dense tensors."""
    if "expecttest" not in sys.modules:
        try:
            importlib.import_module("expecttest")
        except ImportError:  # a package of helpers for PyTorch's own tests, of which the table needs a name
            sys.modules["expecttest"] = stand_in = types.ModuleType("expecttest")
            stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
    table = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    return [row for row in table if not row.name.startswith(NOT_FOR_US) and row.name != "slice"]


def title(row: Any) -> str:
    return f"{row.name}.{row.variant_test_name}" if row.variant_test_name else str(row.name)


def forms(row: Any) -> Iterator[Form]:
    """All ways to call an operation: as a function, as a method, in place, and by its other names."""
    yield Form("function", row.op, counterpart(row.op, row.name))
    for kind, function, writes in _variants(row):
        name = getattr(function, "__name__", "")
        if name and getattr(importlib.import_module("torch").Tensor, name, None) is function:
            yield Form(kind, function, at(rg.Tensor, name), writes)
    for alias in row.aliases:
        yield Form(f"alias {alias.name}", alias.op, at(rg, alias.name.removeprefix("torch.")))


def _variants(row: Any) -> Iterator[tuple[str, Any, bool]]:
    yield "method", row.method_variant, False
    yield "in place", row.inplace_variant, True


def at(module: Any, path: str) -> Any:
    """What has this name; if nothing does, what says so when it is called."""
    try:
        return functools.reduce(getattr, path.split("."), module)
    except AttributeError as error:
        words = str(error)

        def missing(*args: Any, **named: Any) -> Any:
            raise AttributeError(words)

        return missing


def counterpart(function: Any, name: str) -> Any:
    """What is called here where PyTorch calls `function`."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch.testing"):
        return rebound(function)
    if name.startswith("__") or type(function).__name__ == "method_descriptor":
        return at(rg.Tensor, name)
    return at(rg, name)


def rebound(function: types.FunctionType) -> types.FunctionType:
    """A function of the table's own, with this library in the place of PyTorch."""
    cells = function.__closure__ and tuple(
        types.CellType(_inside(c.cell_contents)) for c in function.__closure__
    )
    names = {**function.__globals__, "torch": rg, "F": rg.nn.functional}
    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _inside(value: Any) -> Any:
    own = isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing")
    return rebound(value) if own else value


# -- arguments -------------------------------------------------------------------------------------------------------


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Nested arguments with each leaf changed."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(v, change) for v in value))
    if type(value) is list or type(value) is tuple:
        return type(value)(mapped(v, change) for v in value)
    if type(value) is dict:
        return {k: mapped(v, change) for k, v in value.items()}
    return change(value)


def flat(value: Any) -> list[Any]:
    """All leaves of nested results."""
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in flat(part)]
    return [leaf for part in value.values() for leaf in flat(part)] if isinstance(value, dict) else [value]


def tensors(value: Any) -> list[Any]:
    return [v for v in flat(value) if hasattr(v, "requires_grad")]


def copied(value: Any) -> Any:
    """An argument for PyTorch in memory of its own, lying as it did: the table may use it again."""
    torch = importlib.import_module("torch")
    if not isinstance(value, torch.Tensor):
        return value
    bare = _bare(value)
    memory = bare.untyped_storage().clone()
    made = torch.empty(0, dtype=bare.dtype).set_(memory, bare.storage_offset(), bare.shape, bare.stride())
    return _dressed(made, value)


def ours(value: Any) -> Any:
    """The same argument for this library: a tensor lies in its memory as PyTorch's does."""
    torch = importlib.import_module("torch")
    if isinstance(value, torch.Tensor):
        return _dressed(_tensor(_bare(value)), value)
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        try:
            return getattr(rg, str(value).removeprefix("torch."))
        except AttributeError:
            raise NoCounterpart(str(value)) from None
    if isinstance(value, torch.Generator | torch.nn.Module):
        raise NoCounterpart(type(value).__name__)
    return rebound(value) if isinstance(value, types.FunctionType) else value


def _bare(value: Any) -> Any:
    """A tensor of PyTorch's without history and without a conjugation in between."""
    torch = importlib.import_module("torch")
    if value.layout is not torch.strided or value.device.type != "cpu" or value.ndim > 64:
        raise NoCounterpart(f"{value.layout} on {value.device}")
    bare = value.detach()
    bare = bare.conj() if bare.is_conj() else bare
    return bare._neg_view() if bare.is_neg() else bare


def _dressed(made: Any, like: Any) -> Any:
    made = made._neg_view() if like.is_neg() else made
    made = made.conj() if like.is_conj() else made
    return made.requires_grad_() if like.requires_grad else made


def _tensor(bare: Any) -> Any:
    torch = importlib.import_module("torch")
    dtype = str(bare.dtype).removeprefix("torch.")
    if dtype not in DTYPES and dtype not in {"int8", "int16", "uint16", "uint32", "uint64"}:
        raise NoCounterpart(dtype)
    memory = bare.untyped_storage()
    line = torch.empty(0, dtype=bare.dtype).set_(memory, 0, (memory.nbytes() // bare.element_size(),), (1,))
    bits = line.view(torch.int16) if dtype == "bfloat16" else line
    array = bits.numpy().copy()
    made = rg.from_numpy(array.view(rg.bfloat16.dtype) if dtype == "bfloat16" else array)
    return made.as_strided(tuple(bare.shape), bare.stride(), bare.storage_offset()).detach()


def told(args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Arguments in a line: of tensors their shape, dtype and layout, and of small ones what they hold."""
    parts = [str(mapped(a, _Word)) for a in args] + [f"{k}={mapped(v, _Word)}" for k, v in named.items()]
    return ", ".join(parts)[:400]


class _Word:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        t = self.value
        if not hasattr(t, "is_contiguous"):
            return repr(t)
        strides = "" if t.is_contiguous() else f" strides {t.stride()}"
        held = f" {t.tolist()}" if t.numel() <= 6 and not t.is_sparse else ""
        grad = ", requires_grad" if t.requires_grad else ""
        return f"<{str(t.dtype).removeprefix('torch.')}{list(t.shape)}{strides}{grad}{held}>"


def numbers(t: Any) -> Any:
    """The numbers of a tensor of either library, as NumPy has them."""
    t = t.detach().resolve_conj().resolve_neg()
    t = t.float() if str(t.dtype) == "torch.bfloat16" else t
    return np.asarray(t.numpy(force=True))
