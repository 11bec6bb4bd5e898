"""Functions of tensors as SciPy wants them: of one float64 vector, with derivatives as float64 arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.autograd.modes import no_grad
from retrograd.core.tensor import Tensor
from retrograd.core.tree import Form, flatten, unflatten
from retrograd.func.grads import grad, grad_and_value, vjp
from retrograd.func.jacobians import hessian, jacfwd, jacrev
from retrograd.values import Array

Function = Callable[..., Any]


class Vector:
    """Parameters, tensors or numbers in nested lists and dicts, as one vector of float64 numbers and back."""

    def __init__(self, params: Any) -> None:
        self.form: Form
        leaves, self.form = flatten(params)
        self.arrays: list[Array] = [_as_array(leaf, i) for i, leaf in enumerate(leaves)]
        self.size: int = sum(a.size for a in self.arrays)

    @property
    def start(self) -> Array:
        """The parameters' own values."""
        if not self.arrays:
            return np.empty(0)
        return np.concatenate([a.reshape(-1) for a in self.arrays])

    def tensors(self, x: Any) -> Any:
        """A vector as parameters: float64 tensors in their form. Works on arrays, and on tensors with a graph."""
        leaves, at = [], 0
        for a in self.arrays:
            part = x[at : at + a.size]
            leaves.append(
                part.reshape(a.shape)
                if isinstance(x, Tensor)
                else Tensor(np.array(part).reshape(a.shape), share=True)
            )
            at += a.size
        return unflatten(leaves, self.form)


def _as_array(leaf: Any, i: int) -> Array:
    """A parameter's values as float64."""
    if isinstance(leaf, Tensor):
        leaf = leaf.detach().array
    found = np.asarray(leaf)
    if found.dtype.kind not in "biuf":
        raise TypeError(
            f"optimize: parameter {i} must be a real tensor, array or number, but its dtype is {found.dtype}. Optimise "
            "real and imaginary parts apart (view_as_real)."
        )
    return found.astype(np.float64)


class Cached:
    """Remembers what was computed at the last point: SciPy asks for a value, then for derivatives at the same one."""

    def __init__(self) -> None:
        self.point: Array | None = None
        self.found: dict[str, Any] = {}

    def at(self, x: Array) -> dict[str, Any]:
        """What is known at `x`."""
        if self.point is None or not np.array_equal(self.point, x):
            self.point, self.found = np.array(x, np.float64), {}
        return self.found


class Problem:
    """A function of tensors as a function of one vector, and what is known of it at the last point."""

    def __init__(self, function: Function, params: Any) -> None:
        self.function = function
        self.vector: Vector = Vector(params)
        self._cache = Cached()

    @property
    def start(self) -> Array:
        """Where to start: the vector of all parameters."""
        return self.vector.start

    def params(self, x: Array) -> Any:
        """The parameters at `x`, as the function gets them."""
        return self.vector.tensors(np.asarray(x, np.float64))


class Objective(Problem):
    """A function of tensors that returns a single number, as `scipy.optimize.minimize` takes it.

    Args:
        function: called as `function(params)` with float64 tensors in the form of `params`.
        params: where to start: tensors, arrays or numbers, alone or in nested lists, tuples and dicts.

    >>> import retrograd as rg, scipy.optimize
    >>> problem = rg.optimize.Objective(lambda p: (p["a"] - 1) ** 2 + (p["b"] ** 2).sum(), {"a": 0.0, "b": rg.ones(2)})
    >>> found = scipy.optimize.minimize(
    ...     problem.value_and_grad, problem.start, jac=True, hessp=problem.hessp, method="trust-ncg"
    ... )
    >>> problem.params(found.x)["a"]
    tensor(1., dtype=torch.float64)
    """

    def _of_vector(self, x: Any) -> Any:
        value = self.function(self.vector.tensors(x))
        if not isinstance(value, Tensor) or value.numel() != 1:
            what = (
                f"a tensor of shape {list(value.shape)}"
                if isinstance(value, Tensor)
                else type(value).__name__
            )
            raise TypeError(
                f"optimize: the objective must return a tensor with a single number, not {what}. Reduce it, with "
                ".sum() or .mean()."
            )
        return value.reshape(()).double()

    def value(self, x: Array) -> float:
        """The value at `x`."""
        known = self._cache.at(x)
        if "value" not in known:
            with no_grad():
                known["value"] = float(self._of_vector(Tensor(np.array(x, np.float64), share=True)).array)
        found: float = known["value"]
        return found

    def grad(self, x: Array) -> Array:
        """The gradient at `x`."""
        return self.value_and_grad(x)[1].copy()

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Both, in one pass: for `minimize(..., jac=True)`."""
        known = self._cache.at(x)
        if "grad" not in known:
            slope, value = grad_and_value(self._of_vector)(Tensor(np.array(x, np.float64), share=True))
            known["value"], known["grad"] = float(value.array), slope.array
        return known["value"], known["grad"]

    def hessp(self, x: Array, v: Array) -> Array:
        """The product of the Hessian at `x` with `v`. The graph is kept, so each further `v` costs one backward."""
        known = self._cache.at(x)
        if "product" not in known:
            known["product"] = vjp(grad(self._of_vector), Tensor(np.array(x, np.float64), share=True))[1]
        found: Array = known["product"](Tensor(np.array(v, np.float64), share=True))[0].array
        return found

    def hess(self, x: Array) -> Array:
        """The whole Hessian at `x`."""
        known = self._cache.at(x)
        if "hess" not in known:
            known["hess"] = hessian(self._of_vector)(Tensor(np.array(x, np.float64), share=True)).array
        found: Array = known["hess"]
        return found


class Residuals(Problem):
    """A function of tensors that returns a tensor of residuals, as `scipy.optimize.least_squares` and `root` take it.

    Args:
        function: called as `function(params)` with float64 tensors in the form of `params`.
        params: where to start: tensors, arrays or numbers, alone or in nested lists, tuples and dicts.
        mode: how the Jacobian is computed: "reverse" or "forward" mode, or None for what costs less.

    >>> import retrograd as rg, numpy as np
    >>> problem = rg.optimize.Residuals(lambda p: rg.stack([p[0] ** 2 - 4, p[0] * p[1]]), [1.0, 3.0])
    >>> problem.jac(np.array([1.0, 3.0]))
    array([[2., 0.],
           [3., 1.]])
    """

    def __init__(self, function: Function, params: Any, mode: str | None = None) -> None:
        if mode not in (None, "reverse", "forward"):
            raise ValueError(f'optimize: mode must be "reverse", "forward" or None, not {mode!r}')
        super().__init__(function, params)
        self.mode = mode

    def _of_vector(self, x: Any) -> Any:
        found = self.function(self.vector.tensors(x))
        if not isinstance(found, Tensor):
            raise TypeError(f"optimize: the function must return a tensor, not {type(found).__name__}")
        return found.reshape(-1).double()

    def value(self, x: Array) -> Array:
        """The residuals at `x`."""
        known = self._cache.at(x)
        if "value" not in known:
            with no_grad():
                known["value"] = self._of_vector(Tensor(np.array(x, np.float64), share=True)).array
        found: Array = known["value"]
        return found.copy()

    def jac(self, x: Array) -> Array:
        """Their Jacobian at `x`: a row for each."""
        known = self._cache.at(x)
        if "jac" not in known:
            forward = self.mode == "forward" or (self.mode is None and self.value(x).size > self.vector.size)
            transform = jacfwd if forward else jacrev
            known["jac"] = transform(self._of_vector)(Tensor(np.array(x, np.float64), share=True)).array
        found: Array = known["jac"]
        return found.copy()

    def hess(self, x: Array, v: Array) -> Array:
        """The Hessian of the sum of residuals, each times its `v`: what constraints are asked for."""
        weights = Tensor(np.array(v, np.float64).reshape(-1), share=True)

        def weighted(point: Any) -> Any:
            return (self._of_vector(point) * weights).sum()

        found: Array = hessian(weighted)(Tensor(np.array(x, np.float64), share=True)).array
        return found
