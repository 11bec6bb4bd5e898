"""SciPy's optimisers on functions of tensors: exact gradients, Hessian-vector products and Jacobians in float64.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.optimize.minimizers import Constraint, constraint, least_squares, minimize
    from retrograd.optimize.objective import Objective, Residuals
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.optimize.minimizers": "Constraint constraint least_squares minimize",
            "retrograd.optimize.objective": "Objective Residuals",
        },
    )

__all__ = ["Constraint", "Objective", "Residuals", "constraint", "least_squares", "minimize"]
