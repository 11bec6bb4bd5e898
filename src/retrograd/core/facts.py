"""What a tensor says about its array: sizes, strides, dtype, device."""

from __future__ import annotations

from typing import Any, Final, overload

from retrograd.backends.base import backend_of, device_of
from retrograd.backends.device import device
from retrograd.backends.dtype_class import dtype as DtypeClass
from retrograd.backends.dtype_class import dtype_of
from retrograd.backends.dtypes import SCALAR_NAMES
from retrograd.backends.memory_format import check_format, lies_in
from retrograd.backends.memory_format import memory_format as MemoryFormat
from retrograd.backends.mirror import behind, bits_of
from retrograd.backends.pack import PACK
from retrograd.core.plain import Size, TensorMethods
from retrograd.core.upward import tell_pack
from retrograd.errors import DimensionError, dimension_error
from retrograd.hints import mypyc_attr
from retrograd.values import Array


def _size(shape: tuple[int, ...]) -> Size:
    """The shape of an array as a Size: its numbers need no look."""
    return tuple.__new__(Size, shape)


tell_pack("size_class", Size)
size_of: Final[Any] = _size if PACK is None else PACK.size_of


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorFacts(TensorMethods):
    """The read-only half of a Tensor: nothing here touches the graph."""

    array: Array

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        found: Size = size_of(self.array.shape)
        return found

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    @property
    def dtype(self) -> DtypeClass:
        """What the elements are: `t.dtype == rg.float32`, `t.dtype.is_floating_point`."""
        return dtype_of(self.array.dtype)

    @property
    def device(self) -> device:
        """Where the memory lives."""
        return device_of(self.array)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return int(self.array.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the memory is the host's."""
        return self.device.type == "cpu"

    @property
    def is_sparse(self) -> bool:
        """Always false: every tensor here is dense."""
        return False

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension.

        >>> import retrograd as rg
        >>> rg.zeros(2, 3).size(), rg.zeros(2, 3).size(-1)
        (torch.Size([2, 3]), 3)
        """
        if dim is None:
            return self.shape
        if not -self.array.ndim <= dim < self.array.ndim:
            raise _no_such_dimension(dim, self.array.ndim)
        return self.array.shape[dim]

    def dim(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    def ndimension(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    def numel(self) -> int:
        """The number of elements."""
        return int(self.array.size)

    def nelement(self) -> int:
        """The number of elements."""
        return int(self.array.size)

    def element_size(self) -> int:
        """Bytes per element."""
        return int(self.array.itemsize)

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours in each dimension, in elements.

        >>> import retrograd as rg
        >>> rg.zeros(2, 3).stride()
        (3, 1)
        """
        if self.array.size == 0:
            # NumPy's strides of empty arrays are arbitrary; PyTorch's are those of a dense one.
            steps = [1]
            for n in self.array.shape[:0:-1]:
                steps.append(steps[-1] * max(n, 1))
            strides = tuple(reversed(steps[: self.array.ndim]))
        else:
            strides = tuple(s // self.array.itemsize for s in self.array.strides)
        if dim is None:
            return strides
        if not -len(strides) <= dim < len(strides):
            raise _no_such_dimension(dim, len(strides))
        return strides[dim]

    def data_ptr(self) -> int:
        """The address of the first element; 0 if there is none."""
        array = behind(self.array)
        xp = backend_of(array)
        if xp.stands_for_many:
            return int(array.__array_interface__["data"][0])  # an error: samples have no common address
        return int(xp.extent_of(array)[0]) if array.size and xp.has_values else 0

    def storage_offset(self) -> int:
        """How many elements into its owner's memory the tensor begins."""
        array = backend_of(self.array).sample(self.array)
        xp = backend_of(array)
        start = xp.extent_of(xp.memory_of(array))[0]
        return int(xp.extent_of(array)[0] - start) // int(array.itemsize)

    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> bool:
        """Whether the elements lie in memory without gaps, in row-major order or in that of a memory format."""
        wanted = check_format("is_contiguous", memory_format)
        return bool(self.array.flags.c_contiguous) if wanted is None else lies_in(self.array, wanted)

    def is_floating_point(self) -> bool:
        """Whether the dtype is float16, float32 or float64."""
        return bool(self.array.dtype.kind == "f")

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return bool(self.array.dtype.kind == "c")

    def is_signed(self) -> bool:
        """Whether the dtype can hold negative numbers."""
        return bool(self.array.dtype.kind in "ifc")

    def is_conj(self) -> bool:
        """Whether this tensor shows the conjugates of what lies in its memory, as `z.conj()` does."""
        return bits_of(self.array)[0]

    def is_neg(self) -> bool:
        """Whether this tensor shows what lies in its memory with the sign changed, as `z.conj().imag` does."""
        return bits_of(self.array)[1]

    def get_device(self) -> int:
        """The GPU's number, or -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    def _type_string(self) -> str:
        """The legacy type name, such as `torch.FloatTensor`."""
        return f"torch.{SCALAR_NAMES[self.array.dtype]}Tensor"


def _no_such_dimension(dim: int, ndim: int) -> DimensionError:
    if ndim == 0:
        return DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return dimension_error(dim, ndim)
