"""Linear algebra under PyTorch's names.

Written by `tools/generate.py` from the op library.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily
from retrograd.public_names import LINALG as _LINALG

if _typing.TYPE_CHECKING:
    from retrograd.errors import (
        LinAlgError,
    )
    from retrograd.ops.linalg.eigenvalues import (
        eig,
        eigh,
        eigvals,
        eigvalsh,
        svdvals,
    )
    from retrograd.ops.linalg.eigenvalues import (
        linalg_svd_of as svd,
    )
    from retrograd.ops.linalg.factorizations import (
        cholesky_ex,
    )
    from retrograd.ops.linalg.factorizations import (
        linalg_cholesky as cholesky,
    )
    from retrograd.ops.linalg.factorizations import (
        linalg_qr_of as qr,
    )
    from retrograd.ops.linalg.householder import (
        householder_product,
    )
    from retrograd.ops.linalg.ldl import (
        ldl_factor,
        ldl_factor_ex,
        ldl_solve,
    )
    from retrograd.ops.linalg.least_squares import (
        lstsq,
        pinv,
    )
    from retrograd.ops.linalg.lu import (
        linalg_lu_of as lu,
    )
    from retrograd.ops.linalg.lu import (
        linalg_lu_solve as lu_solve,
    )
    from retrograd.ops.linalg.lu import (
        lu_factor,
        lu_factor_ex,
    )
    from retrograd.ops.linalg.matmul import (
        matmul,
    )
    from retrograd.ops.linalg.matrix_functions import (
        linalg_cross as cross,
    )
    from retrograd.ops.linalg.matrix_functions import (
        linalg_diagonal as diagonal,
    )
    from retrograd.ops.linalg.matrix_functions import (
        linalg_matrix_exp as matrix_exp,
    )
    from retrograd.ops.linalg.matrix_functions import (
        linalg_vander as vander,
    )
    from retrograd.ops.linalg.matrix_functions import (
        matrix_power,
        multi_dot,
        tensorinv,
        tensorsolve,
        vecdot,
    )
    from retrograd.ops.linalg.matrix_norm import (
        cond,
        matrix_norm,
        matrix_rank,
    )
    from retrograd.ops.linalg.matrix_norm import (
        linalg_norm as norm,
    )
    from retrograd.ops.linalg.solve import (
        inv,
        inv_ex,
        solve,
        solve_ex,
    )
    from retrograd.ops.linalg.solve import (
        linalg_det as det,
    )
    from retrograd.ops.linalg.solve import (
        linalg_slogdet_of as slogdet,
    )
    from retrograd.ops.linalg.triangular import (
        solve_triangular,
    )
    from retrograd.ops.reduce.statistics import (
        vector_norm,
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
