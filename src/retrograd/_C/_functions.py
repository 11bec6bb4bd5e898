"""Stands for `torch._C._functions`: classes of nodes, by PyTorch's names."""

from __future__ import annotations

from retrograd.core.accumulate import AccumulateGrad
from retrograd.core.views import CopySlices

__all__ = ["AccumulateGrad", "CopySlices"]
