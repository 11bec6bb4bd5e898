"""Names for annotations, as `torch.types`."""

from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import IO, Any, Final, TypeAlias

from retrograd.backends.device import device as _device
from retrograd.backends.dtype_class import dtype as _dtype
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.ops.random.generator import Generator
from retrograd.ops.tensor.untyped_storage import UntypedStorage as Storage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_symsize = _size
_dispatchkey: TypeAlias = str
_int_like = _int
_layout: TypeAlias = Any
Number: TypeAlias = _int | _float | _bool
PyNumber = Number
Device: TypeAlias = _device | str | _int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType = _int
FloatLikeType = _float
BoolLikeType = _bool
py_sym_types: Final = (_int, _float, _bool)
_Generator = Generator
_dtype_ = _dtype
