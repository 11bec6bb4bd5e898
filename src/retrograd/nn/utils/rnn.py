"""Sequences of different length: padded to one size, or packed without gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from retrograd.core.tensor import Tensor
from retrograd.ops.shape.join import cat
from retrograd.ops.tensor.create import arange, empty_like
from retrograd.ops.tensor.data import tensor


class _PackedFields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_PackedFields):
    """Sequences of different length, packed: the first elements of all, then the second ones of those that have any, …

    They are sorted by length, the longest first. `pack_padded_sequence` and `pack_sequence` make them; recurrent
    networks take and give them.

    Attributes
    ----------
        data: the elements.
        batch_sizes: how many sequences have a first element, a second, and so on.
        sorted_indices: which sequence stands where; None if they were sorted before.
        unsorted_indices: the opposite.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("PackedSequence takes data and batch_sizes, or a pair of them")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with other data: the arguments are those of `Tensor.to`."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        where = {key: value for key, value in kwargs.items() if key in ("device", "non_blocking")}
        where.setdefault("device", data.device)
        return type(self)(
            data,
            self.batch_sizes,
            None if self.sorted_indices is None else self.sorted_indices.to(**where),
            None if self.unsorted_indices is None else self.unsorted_indices.to(**where),
        )

    def cpu(self) -> PackedSequence:
        """The same in the memory of the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same on a GPU."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to("cuda", **kwargs)

    def double(self) -> PackedSequence:
        """The same in float64."""
        return self.to(self.data.double().dtype)

    def float(self) -> PackedSequence:
        """The same in float32."""
        return self.to(self.data.float().dtype)

    def half(self) -> PackedSequence:
        """The same in float16."""
        return self.to(self.data.half().dtype)

    def long(self) -> PackedSequence:
        """The same in int64."""
        return self.to(self.data.long().dtype)

    def int(self) -> PackedSequence:
        """The same in int32."""
        return self.to(self.data.int().dtype)

    def short(self) -> PackedSequence:
        """The same in int16."""
        return self.to(self.data.short().dtype)

    def char(self) -> PackedSequence:
        """The same in int8."""
        return self.to(self.data.char().dtype)

    def byte(self) -> PackedSequence:
        """The same in uint8."""
        return self.to(self.data.byte().dtype)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.device.type == "cuda"

    def is_pinned(self) -> bool:
        """Whether the data lies in memory that a GPU copies from quickly."""
        return self.data.is_pinned()

    def pin_memory(self) -> PackedSequence:
        """The same data in memory that a GPU copies from quickly."""
        data, batch_sizes, *orders = self
        pinned = [None if order is None else order.pin_memory() for order in orders]
        return type(self)(data.pin_memory(), batch_sizes, *pinned)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The order that undoes another one."""
    if permutation is None:
        return None
    found = empty_like(permutation)
    found.scatter_(0, permutation, arange(permutation.numel(), device=permutation.device))
    return found


def _rows(sizes: Sequence[Any], batch: int) -> list[int]:
    """Where the packed elements lie in a padded tensor (time, batch, …) whose first two dimensions are one."""
    return [time * batch + i for time, size in enumerate(sizes) for i in range(size)]


def _check_lengths(lengths: list[Any], batch: int, enforce_sorted: bool) -> None:
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})"
        )
    if any(length <= 0 for length in lengths):
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if enforce_sorted and lengths != sorted(lengths, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence: then they are sorted for you."
        )


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences that were padded to one length.

    Args:
        input: of shape (time, batch, …).
        lengths: how long each really is, as a tensor or a list.
        batch_first: whether the input is (batch, time, …).
        enforce_sorted: whether they must be sorted by length, the longest first; else they are sorted here.

    >>> import retrograd as rg
    >>> padded = rg.tensor([[1, 2, 0], [3, 4, 5]])
    >>> packed = rg.nn.utils.rnn.pack_padded_sequence(padded, [2, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([3, 1, 4, 2, 5]), tensor([2, 2, 1]))
    """
    if isinstance(lengths, Tensor) and lengths.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu tensor of {lengths.dtype}"
        )
    given = [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    order: Tensor | None = None
    if not enforce_sorted:
        _check_lengths(given, input.shape[0 if batch_first else 1], False)
        order = tensor(sorted(range(len(given)), key=lambda i: -given[i]), device=input.device)
        given = [given[i] for i in order.tolist()]
        input = input.index_select(0 if batch_first else 1, order)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    input = input.transpose(0, 1) if batch_first else input
    times, batch = input.shape[0], input.shape[1]
    _check_lengths(given, batch, enforce_sorted)
    if given[0] > times:
        raise RuntimeError(
            f"Expected lengths of at most {times}, which is the size of the input, but got {given[0]}"
        )
    sizes = [sum(length > time for length in given) for time in range(given[0])]
    flat = input.reshape((times * batch, *input.shape[2:]))
    data = flat.index_select(0, tensor(_rows(sizes, batch), device=input.device))
    return PackedSequence(data, tensor(sizes), order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Sequences as they were before they were packed, and their lengths.

    Args:
        sequence: what was packed.
        batch_first: whether the result is (batch, time, …), not (time, batch, …).
        padding_value: what is put behind the ends.
        total_length: the size of the dimension of time, by default the longest length.
    """
    sizes = sequence.batch_sizes.tolist()
    times, batch = len(sizes), sizes[0]
    if total_length is not None:
        if total_length < times:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {times}"
            )
        times = total_length
    data = sequence.data
    blank = data.new_full((times * batch, *data.shape[1:]), padding_value)
    padded = blank.index_copy(0, tensor(_rows(sizes, batch), device=data.device), data)
    padded = padded.view((times, batch, *data.shape[1:]))
    lengths = tensor([sum(size > i for size in sizes) for i in range(batch)])
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Puts sequences side by side; the shorter ones are filled up.

    Args:
        sequences: tensors that differ in their first dimension alone.
        batch_first: whether the result is (batch, time, …), not (time, batch, …).
        padding_value: what is filled in.
        padding_side: "right" or "left".

    >>> import retrograd as rg
    >>> rg.nn.utils.rnn.pad_sequence([rg.ones(1), rg.ones(3)], batch_first=True)
    tensor([[1., 0., 0.],
            [1., 1., 1.]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest, rows = max(s.shape[0] for s in sequences), []
    for s in sequences:
        fill = s.new_full((longest - s.shape[0], *s.shape[1:]), padding_value)
        parts = [s, fill] if padding_side == "right" else [fill, s]
        rows.append(cat(parts).unsqueeze(0 if batch_first else 1))
    return cat(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences that `pad_sequence` put side by side, by their lengths."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    given = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [row[:length] for row, length in zip(padded_sequences.unbind(0), given, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences.

    >>> import retrograd as rg
    >>> rg.nn.utils.rnn.pack_sequence([rg.tensor([1, 2, 3]), rg.tensor([4, 5])]).data
    tensor([1, 4, 2, 5, 3])
    """
    lengths = tensor([s.shape[0] for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed, as a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
