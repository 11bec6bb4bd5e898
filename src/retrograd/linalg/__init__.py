"""Linear algebra under PyTorch's names.

Written by `tools/generate.py` from the op library.
"""

from retrograd.ops.linalg import (
    matmul,
)
from retrograd.ops.statistics import (
    vector_norm,
)

__all__ = [
    "matmul",
    "vector_norm",
]
