"""The Kullback-Leibler divergence of two distributions."""

from __future__ import annotations

from retrograd.distributions import kl_across, kl_within  # noqa: F401 - they register their formulas
from retrograd.distributions.kl_registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
