"""Arrays of which there is one for every sample of a batch: what `vmap` computes with. See array.py."""

from retrograd.backends.batch.array import BatchedArray, Level, Verdict
from retrograd.backends.batch.shape import BatchedShape, DataDependent, DynamicShape, Unbatchable

__all__ = ["BatchedArray", "BatchedShape", "DataDependent", "DynamicShape", "Level", "Unbatchable", "Verdict"]
