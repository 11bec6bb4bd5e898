"""Losses: how far an output is from what was wanted.

All have a `reduction`: "mean" and "sum" give one number, "none" gives one for each element or sample. `size_average`
and `reduce` are how PyTorch once said the same.
"""

from __future__ import annotations

from typing import Any

from retrograd.core.places import warn
from retrograd.core.tensor import Tensor
from retrograd.errors import ShapeError
from retrograd.nn import functional as F
from retrograd.nn.linear import Linear
from retrograd.nn.module import Module
from retrograd.ops.nn.difference_loss import reduction_name


class _Loss(Module):
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        is_old = size_average is not None or reduce is not None
        self.reduction = reduction_name(size_average, reduce) if is_old else reduction


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# ---- differences ----------------------------------------------------------------------------------------------------


class L1Loss(_Loss):
    """The absolute difference of input and target.

    >>> import retrograd as rg
    >>> rg.nn.L1Loss()(rg.tensor([1.0, 4.0]), rg.tensor([1.0, 2.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference of input and target.

    >>> import retrograd as rg
    >>> rg.nn.MSELoss()(rg.tensor([1.0, 4.0]), rg.tensor([1.0, 2.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """The absolute difference; where it is smaller than `beta`, a parabola."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half of the squared difference; where that is larger than `delta`, a line.

    >>> import retrograd as rg
    >>> rg.nn.HuberLoss()(rg.tensor([0.5, 4.0]), rg.zeros(2))
    tensor(1.8125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


# ---- probabilities --------------------------------------------------------------------------------------------------


class NLLLoss(_WeightedLoss):
    """The negative logarithm of the probability of the right class; the input are logarithms.

    Args:
        weight: of each class.
        ignore_index: a target that does not count.
        reduction: "mean", "sum" or "none".

    >>> import retrograd as rg
    >>> rg.nn.NLLLoss()(rg.tensor([[0.25, 0.75]]).log(), rg.tensor([1]))
    tensor(0.2877)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss for images."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead, which takes images too.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The negative logarithm of the softmax of the right class.

    Args:
        weight: of each class.
        ignore_index: a target that does not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: how much of the target is spread over all classes.

    >>> import retrograd as rg
    >>> rg.nn.CrossEntropyLoss()(rg.zeros(2, 3), rg.tensor([0, 2]))
    tensor(1.0986)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyOptions:
    """How PyTorch cuts the work of LinearCrossEntropyLoss to save memory; here there is one way, and it is ignored."""

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype: Any = None,
    ) -> None:
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy = acc_policy
        self.acc_dtype = acc_dtype


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of what a linear layer of its own makes of the input.

    Args:
        in_features: the size of the last dimension of the input.
        num_classes: how many classes there are.
        out_features: sizes of further dimensions of the target.
        bias: whether the layer has one.
        device, dtype: of the layer's parameters.
        weight, reduction, ignore_index, label_smoothing: as CrossEntropyLoss has them.
        options: ignored here.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        rows = num_classes
        for size in out_features:
            rows *= size
        self.linear: Linear = Linear(in_features, rows, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.view((*shape, self.in_features)),
            target,
            linear_bias=None if bias is None else bias.view(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        """What is printed of it."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class BCELoss(_WeightedLoss):
    """The cross entropy of probabilities and targets between 0 and 1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """BCELoss of the sigmoid of the input, computed so that nothing overflows.

    Args:
        weight: of each element.
        reduction: "mean", "sum" or "none".
        pos_weight: of targets that are 1, by class.

    >>> import retrograd as rg
    >>> rg.nn.BCEWithLogitsLoss()(rg.tensor([0.0, 100.0]), rg.tensor([1.0, 1.0]))
    tensor(0.3466)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """How much the distribution `target` differs from the one whose logarithm is the input.

    Args:
        reduction: also "batchmean": the sum over the number of samples, which is what mathematics calls so.
        log_target: whether the target is a logarithm too.

    >>> import retrograd as rg
    >>> rg.nn.KLDivLoss(reduction="batchmean")(rg.tensor([[0.5, 0.5]]).log(), rg.tensor([[0.25, 0.75]]))
    tensor(0.1308)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """The negative log likelihood of counts under Poisson distributions.

    Args:
        log_input: whether the input is the logarithm of the rates.
        full: whether the constant that does not depend on the input is approximated and added.
        eps: what keeps the logarithm from 0.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """The negative log likelihood of numbers under normal distributions.

    Args:
        full: whether the constant is added.
        eps: what the variance is at least.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """The loss."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class CTCLoss(_Loss):
    """The negative logarithm of the probability of a sequence that is shorter than the input, at any places of it.

    Args:
        blank: the class that stands for nothing.
        reduction: "mean", "sum" or "none".
        zero_infinity: make losses that are infinite 0.

    >>> import retrograd as rg
    >>> likelihoods = rg.full((5, 1, 3), 1 / 3).log()
    >>> rg.nn.CTCLoss()(likelihoods, rg.tensor([[1, 2]]), (5,), (2,))
    tensor(0.9689)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """The loss."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
