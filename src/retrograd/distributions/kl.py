"""The Kullback-Leibler divergence of two distributions."""

from __future__ import annotations

from retrograd.distributions import kl_across, kl_within  # noqa: F401 - they register their formulas
from retrograd.distributions.kl_registry import (
    _KL_MEMOIZE,  # noqa: F401 - PyTorch has the registers here
    _KL_REGISTRY,  # noqa: F401
    kl_divergence,
    register_kl,
)
from retrograd.distributions.kl_within import _exponential_family as _kl_expfamily_expfamily  # noqa: F401 - and this

__all__ = ["kl_divergence", "register_kl"]
