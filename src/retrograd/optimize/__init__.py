"""SciPy's optimisers on functions of tensors: exact gradients, Hessian-vector products and Jacobians in float64."""

from retrograd.optimize.minimizers import Constraint, constraint, least_squares, minimize
from retrograd.optimize.objective import Objective, Residuals

__all__ = ["Constraint", "Objective", "Residuals", "constraint", "least_squares", "minimize"]
