"""Masks of attention as functions of positions, and which blocks of keys each block of queries looks at."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from functools import reduce
from itertools import islice, product
from typing import Any, TypeAlias

from retrograd.core.tensor import Tensor
from retrograd.func.mapping import vmap
from retrograd.nn import functional as F
from retrograd.ops.tensor.create import arange, ones, zeros

# Takes the numbers of a sample, a head, a query and a key; says whether that query looks at that key.
MaskMod: TypeAlias = Callable[..., Any]
BLOCK = 128


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Tensor:
    """Every query looks at every key."""
    return ones((), dtype="bool", device=getattr(batch, "device", None))


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """What all of these masks allow."""
    _check_callable(mask_mods)

    def and_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return reduce(operator.and_, [mask(b, h, q_idx, kv_idx) for mask in (noop_mask, *mask_mods)])

    return and_mask


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """What any of these masks allows."""
    _check_callable(mask_mods)

    def or_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        allowed = [mask(b, h, q_idx, kv_idx) for mask in mask_mods]
        return reduce(operator.or_, allowed, ~noop_mask(b, h, q_idx, kv_idx))

    return or_mask


def _check_callable(mask_mods: tuple[Any, ...]) -> None:
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def at_every_position(function: Callable[..., Any], scores: bool = False) -> Callable[..., Any]:
    """A function of one position as one of all: of the numbers of samples, heads, queries and keys."""
    for place in (3, 2, 1, 0):  # keys first, samples last
        numbers = [0 if i == place else None for i in range(4)]
        function = vmap(function, (0, *numbers) if scores else tuple(numbers), randomness="different")
    return function


def positions(*sizes: int, device: Any) -> list[Tensor]:
    """The numbers of samples, heads, queries and keys."""
    return [arange(size, device=device) for size in sizes]


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """What a function of positions, a mask or a change of scores, allows: a tensor of all positions.

    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 3, device="cpu")
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    count = _count_of_arguments(mod_fn)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    numbers = positions(*sizes, device=device)
    if count == 4:
        found: Tensor = at_every_position(mod_fn)(*numbers)
        return found
    scores = at_every_position(mod_fn, scores=True)(zeros(sizes, device=device), *numbers)
    found = scores != -float("inf")
    return found


def _count_of_arguments(function: Callable[..., Any]) -> int:
    """How many arguments without a default a function takes by place."""
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in by_place and p.default is inspect.Parameter.empty for p in parameters)


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK, _compile: bool = False, separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """The blocks that a mask allows something in.

    Args:
        mask_mod: says, for the numbers of a sample, a head, a query and a key, whether that query looks at that key.
        B, H: how many samples and heads the mask tells apart; None if it is the same for all.
        Q_LEN, KV_LEN: how many queries and keys there are.
        device: where the mask is.
        BLOCK_SIZE: how many queries and keys make a block.
        separate_full_blocks: whether blocks in which everything is allowed are kept apart.

    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 8, 8, device="cpu", BLOCK_SIZE=4)
    >>> mask.kv_num_blocks, mask.full_kv_num_blocks
    (tensor([[[1, 1]]], dtype=torch.int32), tensor([[[0, 1]]], dtype=torch.int32))
    """
    if not callable(mask_mod):
        raise TypeError(f"{mask_mod!r} is not a callable object")
    rows, columns = _pair(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = F.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    blocks = mask.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).transpose(-3, -2)
    count = blocks.sum((-2, -1))
    full = (count == rows * columns) if separate_full_blocks else count < 0
    partial = (count > 0) & ~full
    num_blocks, indices = _in_order(partial)
    full_num_blocks, full_indices = _in_order(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        num_blocks, indices, full_num_blocks, full_indices, (rows, columns), mask_mod, (Q_LEN, KV_LEN)
    )


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def _in_order(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of a row there are, and which: those that are there first."""
    order = blocks.int().argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1).int(), order.int()


def _dense(num_blocks: Tensor | None, indices: Tensor | None) -> Any:
    """Which blocks there are, as a table: the opposite of `_in_order`."""
    if num_blocks is None or indices is None:
        return 0
    columns = indices.shape[-1]
    named = arange(columns, device=indices.device) < num_blocks.unsqueeze(-1)
    table = indices.new_zeros((*indices.shape[:-1], columns + 1))
    return table.scatter(-1, indices.masked_fill(~named, columns).long(), 1)[..., :columns]


def _sliced_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    raise RuntimeError(
        "this BlockMask is a part of another one, and its mask_mod would be told other positions than the other's: set "
        "mask_mod to a function that adds what was cut off"
    )


class BlockMask:
    """Which blocks of keys each block of queries looks at, and at which of their keys: `create_block_mask` makes it.

    Attributes
    ----------
        kv_num_blocks, kv_indices: how many blocks of keys each block of queries looks at in part, and which.
        full_kv_num_blocks, full_kv_indices: those of which it looks at everything; None if they are not told apart.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same, by blocks of keys.
        BLOCK_SIZE: how many queries and keys make a block.
        mask_mod: whether a query looks at a key.
        seq_lengths: how many queries and keys there are.
    """

    kv_num_blocks: Any
    kv_indices: Any
    full_kv_num_blocks: Any
    full_kv_indices: Any
    q_num_blocks: Any
    q_indices: Any
    full_q_num_blocks: Any
    full_q_indices: Any

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_blocks: tuple[Any, Any, Any, Any],
        q_blocks: tuple[Any, Any, Any, Any],
        BLOCK_SIZE: tuple[int, int],
        mask_mod: MaskMod,
    ) -> None:
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices = kv_blocks
        self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices = q_blocks
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = BLOCK,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask of blocks that are given by rows: how many, and which."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = _pair(BLOCK_SIZE)
        parts = kv_num_blocks, kv_indices
        full = full_kv_num_blocks, full_kv_indices
        q_parts: tuple[Any, Any] = (None, None)
        q_full: tuple[Any, Any] = (None, None)
        if compute_q_blocks:
            q_parts = _in_order(_dense(*parts).transpose(-2, -1))
            q_full = (None, None) if full_kv_indices is None else _in_order(_dense(*full).transpose(-2, -1))
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(lengths, (*parts, *full), (*q_parts, *q_full), size, mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of samples and heads, then how many queries and keys there are."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many positions there are."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """The blocks as a table with a 1 for each that is looked at."""
        found: Tensor = _dense(self.kv_num_blocks, self.kv_indices) + _dense(
            self.full_kv_num_blocks, self.full_kv_indices
        )
        return found.int()

    def sparsity(self) -> float:
        """How many percent of all positions lie in blocks that nobody looks at."""
        computed = int(self.to_dense().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def covers(self) -> Tensor:
        """Which positions lie in blocks that are looked at."""
        rows, columns = self.BLOCK_SIZE
        blocks = self.to_dense().bool().repeat_interleave(rows, -2).repeat_interleave(columns, -1)
        return blocks[..., : self.seq_lengths[0], : self.seq_lengths[1]]

    def to(self, device: Any) -> BlockMask:
        """The same on another device."""
        return self._each(lambda blocks: blocks.to(device), self.mask_mod)

    def _each(self, change: Callable[[Tensor], Tensor], mask_mod: MaskMod) -> BlockMask:
        kv_blocks: Any = [None if blocks is None else change(blocks) for blocks in self.as_tuple()[2:6]]
        q_blocks: Any = [None if blocks is None else change(blocks) for blocks in self.as_tuple()[6:10]]
        return BlockMask(self.seq_lengths, kv_blocks, q_blocks, self.BLOCK_SIZE, mask_mod)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Its attributes in a row; lengths and sizes of blocks as pairs unless `flatten`."""
        blocks = (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices,
            self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices,
        )  # fmt: skip
        if flatten:
            return (*self.seq_lengths, *blocks, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *blocks, self.BLOCK_SIZE, self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """Some of the samples, heads and blocks of queries; no dimension goes away."""
        given = index if isinstance(index, tuple) else (index,)
        part = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in given)
        kv: list[Any] = [None if blocks is None else blocks[part] for blocks in self.as_tuple()[2:6]]
        has_q = self.q_indices is not None
        return BlockMask.from_kv_blocks(
            kv[0], kv[1], kv[2], kv[3], self.BLOCK_SIZE, _sliced_mask, self.seq_lengths, has_q
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of each table: full where all blocks of a cell are looked at, dotted where some are."""
        table = self.to_dense()
        lead = table.shape[:-2]
        pictures = []
        for place in islice(product(*map(range, lead)), limit):
            pictures.append(f"{place}\n{_picture(table[place].tolist(), grid_size)}")
        more = math.prod(lead) - len(pictures)
        if more:
            pictures.append(f"...\n{more} more: to_string(limit=N) shows N of them, mask[sample, head] one\n")
        return "\n".join(pictures)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string()})"

    def __repr__(self) -> str:
        shown = (
            "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
            "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
        )  # fmt: skip
        values = {name: getattr(self, name) for name in shown}
        lines = [f"{name}={None if value is None else value.shape}" for name, value in values.items()]
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        lines.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n" + ",\n".join(f"    {line}" for line in lines) + "\n)"


def _picture(blocks: list[list[int]], grid: int | tuple[int, int]) -> str:
    """A table of blocks as text, at most so many lines high and so many cells wide; -1 for as many as there are."""
    height, width = (len(blocks), len(blocks[0])) if grid == -1 else _pair(grid)
    tall, wide = -(-len(blocks) // min(height, len(blocks))), -(-len(blocks[0]) // min(width, len(blocks[0])))
    lines = []
    for top in range(0, len(blocks), tall):
        line = ""
        for left in range(0, len(blocks[0]), wide):
            cell = [n for row in blocks[top : top + tall] for n in row[left : left + wide]]
            line += "  " if not any(cell) else "██" if all(cell) else "░░"
        lines.append(line + "\n")
    return "".join(lines)
