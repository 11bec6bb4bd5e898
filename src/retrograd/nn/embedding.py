"""Tables of vectors: Embedding looks rows up, EmbeddingBag adds them up."""

from __future__ import annotations

from typing import Any, Self

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.tensor.create import empty


class _Table(Module):
    """What both share: a row for each number, one of which may stand for nothing."""

    weight: Any

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool

    def _make_weight(self, given: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if given is None:
            self.weight = Parameter(empty(shape, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
            return
        if tuple(given.shape) != shape:
            raise AssertionError(
                f"Shape of weight does not match num_embeddings and embedding_dim: {tuple(given.shape)} and {shape}"
            )
        self.weight = Parameter(given, requires_grad=not freeze)

    def _check_padding_idx(self, padding_idx: int | None) -> int | None:
        """The row that stands for nothing, counted from the begin."""
        rows = self.num_embeddings
        if padding_idx is None:
            return None
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"Padding_idx must be within num_embeddings, which is {rows}, but is {padding_idx}"
            )
        return padding_idx % rows

    def reset_parameters(self) -> None:
        """Draws new initial values, normal ones; the row that stands for nothing is 0."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def _of(cls, embeddings: Tensor, freeze: bool, **options: Any) -> Self:
        """A table of given rows."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(rows, columns, _weight=embeddings, **options)
        made.weight.requires_grad = not freeze
        return made


class Embedding(_Table):
    """A table of vectors, of which numbers choose rows.

    Args:
        num_embeddings: how many rows there are.
        embedding_dim: how long they are.
        padding_idx: a row that stands for nothing: it begins as 0 and gets no gradient.
        max_norm: rows that are looked up and longer are made as long.
        norm_type: p of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it was looked up.
        sparse: there are no sparse gradients here; they are dense.
        device, dtype: of the table.

    >>> import retrograd as rg
    >>> table = rg.nn.Embedding(10, 3)
    >>> table(rg.tensor([[1, 2, 4], [0, 0, 9]])).shape
    torch.Size([2, 3, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx: int | None = self._check_padding_idx(padding_idx)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_weight(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The rows."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """What is printed of it."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse is not False:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """A table of given rows, which stay as they are unless `freeze` is False."""
        return cls._of(
            embeddings,
            freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_Table):
    """A table of vectors, of which bags of numbers choose rows to add up, to average or to take the largest of.

    Args:
        num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse: as Embedding has them.
        mode: "sum", "mean" or "max".
        include_last_offset: whether the offsets end with the number of all.
        padding_idx: a row that stands for nothing, and does not count.
        device, dtype: of the table.

    >>> import retrograd as rg
    >>> table = rg.nn.EmbeddingBag(10, 3, mode="sum")
    >>> table(rg.tensor([1, 2, 4, 5]), rg.tensor([0, 3])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx: int | None = self._check_padding_idx(padding_idx)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make_weight(_weight, False, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """A row for each bag."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """What is printed of it."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A table of given rows, which stay as they are unless `freeze` is False."""
        return cls._of(
            embeddings,
            freeze,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
