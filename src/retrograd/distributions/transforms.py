"""Transforms: maps of random numbers that know their inverse and how they stretch volumes.

>>> import retrograd as rg
>>> from retrograd.distributions.transforms import ExpTransform
>>> x = rg.tensor([0.0, 2.0])
>>> y = ExpTransform()(x)
>>> y, ExpTransform().inv(y), ExpTransform().log_abs_det_jacobian(x, y)
(tensor([1.0000, 7.3891]), tensor([0., 2.]), tensor([0., 2.]))
"""

from __future__ import annotations

from retrograd.distributions.joint_transforms import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    StackTransform,
    identity_transform,
)
from retrograd.distributions.number_transforms import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from retrograd.distributions.transform import (
    Transform,
    _InverseTransform,  # noqa: F401 - PyTorch has it here, and packages tell it from others
)
from retrograd.distributions.vector_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
