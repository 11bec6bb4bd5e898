"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes that spends little on the rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from retrograd.core.tensor import Tensor
from retrograd.nn import functional as F
from retrograd.nn.containers import ModuleList, Sequential
from retrograd.nn.linear import Linear
from retrograd.nn.module import Module
from retrograd.ops.shape.join import cat


# The name that the result has in PyTorch is a part of how it prints.
class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log likelihood of classes that are sorted by how frequent they are.

    The frequent ones are in the head; the others fall into clusters, each of which has one place in the head and a
    smaller layer of its own.

    Args:
        in_features: the size of the input.
        n_classes: how many classes there are.
        cutoffs: where the head ends and the clusters begin.
        div_value: by how much each cluster's layer is smaller than the one before.
        head_bias: whether the head has a shift.
        device, dtype: of the parameters.

    >>> import retrograd as rg
    >>> layer = rg.nn.AdaptiveLogSoftmaxWithLoss(16, 100, [10, 40])
    >>> layer.log_prob(rg.ones(2, 16)).shape
    torch.Size([2, 100])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs: list[int] = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size: int = self.cutoffs[0]
        self.n_clusters: int = len(self.cutoffs) - 1
        self.head_size: int = self.shortlist_size + self.n_clusters
        self.head: Linear = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail: ModuleList = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, False, device, dtype),
                    Linear(width, size, False, device, dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        """The log likelihood of each target, and the mean of their negatives: `output` and `loss`."""
        batched = target_.dim() > 0
        _check_sizes(input_, target_, batched)
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        _check_targets(target, self.n_classes)
        output = input.new_zeros(len(target))
        places = target.clone()  # of the targets in the head: their own, or those of their clusters
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            places = places.index_fill(0, rows, self.shortlist_size + i)
            inside = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            chosen = inside.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, chosen)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """The log likelihood of all classes, from what the head gives."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            inside = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(inside + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log likelihood of all classes, for each row."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each row; the layers of clusters are asked only where it is in one."""
        head = self.head(input)
        found: Tensor = head.argmax(dim=1)
        outside = found >= self.shortlist_size
        if not bool(outside.any()):
            return found
        if bool(outside.all()):
            return self._get_full_log_prob(input, head).argmax(dim=1)
        full: Tensor = self._get_full_log_prob(input[outside], head[outside])
        found = found.clone()
        found[outside] = full.argmax(dim=1)
        return found


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(cutoffs) and len(set(cutoffs)) == len(cutoffs)
    whole = all(int(cutoff) == cutoff for cutoff in cutoffs)
    if not rising or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or not whole:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
            f"is between 1 and n_classes-1, but they are {cutoffs}"
        )


def _check_sizes(input: Tensor, target: Tensor, batched: bool) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if batched and input.shape[0] != target.shape[0]:
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if batched and input.dim() != 2:
        raise RuntimeError(
            "1D target tensor expects 2D input tensors, but found inputs with size", input.shape
        )
    if not batched and input.dim() != 1:
        raise RuntimeError(
            "0D target tensor expects 1D input tensors, but found inputs with size", input.shape
        )


def _check_targets(target: Tensor, n_classes: int) -> None:
    if target.numel() and not (int(target.min()) >= 0 and int(target.max()) < n_classes):
        raise RuntimeError(
            f"Target values should be in [0, {n_classes - 1}], but values in range [{int(target.min())}, "
            f"{int(target.max())}] were found. "
        )


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
