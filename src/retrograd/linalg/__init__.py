"""Linear algebra under PyTorch's names.

Written by `tools/generate.py` from the op library.
"""

import typing as _typing

from retrograd.contents import LINALG as _LINALG
from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.errors import (
        LinAlgError,
    )
    from retrograd.ops.factor import (
        cholesky_ex,
    )
    from retrograd.ops.factor import (
        linalg_cholesky as cholesky,
    )
    from retrograd.ops.factor import (
        linalg_qr_of as qr,
    )
    from retrograd.ops.ldl import (
        ldl_factor,
        ldl_factor_ex,
        ldl_solve,
    )
    from retrograd.ops.linalg import (
        matmul,
    )
    from retrograd.ops.lstsq import (
        lstsq,
        pinv,
    )
    from retrograd.ops.lu import (
        linalg_lu_of as lu,
    )
    from retrograd.ops.lu import (
        linalg_lu_solve as lu_solve,
    )
    from retrograd.ops.lu import (
        lu_factor,
        lu_factor_ex,
    )
    from retrograd.ops.matrix import (
        linalg_cross as cross,
    )
    from retrograd.ops.matrix import (
        linalg_diagonal as diagonal,
    )
    from retrograd.ops.matrix import (
        linalg_matrix_exp as matrix_exp,
    )
    from retrograd.ops.matrix import (
        linalg_vander as vander,
    )
    from retrograd.ops.matrix import (
        matrix_power,
        multi_dot,
        tensorinv,
        tensorsolve,
        vecdot,
    )
    from retrograd.ops.matrix_norm import (
        cond,
        matrix_norm,
        matrix_rank,
    )
    from retrograd.ops.matrix_norm import (
        linalg_norm as norm,
    )
    from retrograd.ops.reflect import (
        householder_product,
    )
    from retrograd.ops.solve import (
        inv,
        inv_ex,
        solve,
        solve_ex,
    )
    from retrograd.ops.solve import (
        linalg_det as det,
    )
    from retrograd.ops.solve import (
        linalg_slogdet_of as slogdet,
    )
    from retrograd.ops.spectral import (
        eig,
        eigh,
        eigvals,
        eigvalsh,
        svdvals,
    )
    from retrograd.ops.spectral import (
        linalg_svd_of as svd,
    )
    from retrograd.ops.statistics import (
        vector_norm,
    )
    from retrograd.ops.triangular import (
        solve_triangular,
    )
else:
    __getattr__, __dir__ = _lazily(__name__, _LINALG)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
