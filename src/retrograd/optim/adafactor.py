"""Adafactor: Adam's paces for matrices, from sums over rows and columns."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

from retrograd.backends.limits import finfo
from retrograd.core.tensor import Tensor
from retrograd.ops.tensor.create import zeros
from retrograd.optim.formula import FormulaOptimizer, Kept, fade
from retrograd.optim.optimizer import Group, Params, functional_step


class Adafactor(FormulaOptimizer):
    """Adafactor: of the squares of a matrix's gradients it keeps the means of rows and of columns alone.

    Args:
        params: what to optimise: tensors, (name, tensor) pairs, or dicts that describe groups.
        lr: the learning rate, relative to the size of a parameter.
        beta2_decay: the power of the count of steps by which new gradients lose weight.
        eps: the smallest square (None: that of the dtype), and the smallest size of a parameter.
        d: the largest size of a step, before the learning rate.
        weight_decay: how strongly a parameter is pulled towards 0.
        maximize: climb instead of descending.
        foreach: accepted for PyTorch's sake; there is one implementation here.

    >>> import retrograd as rg
    >>> w = rg.tensor([[4.0, -2.0], [1.0, 1.0]], requires_grad=True)
    >>> optimizer = rg.optim.Adafactor([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([[ 3.7813, -1.7984],
            [ 0.8271,  0.6812]], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        _check("Learning rate", lr >= 0, ">= 0", lr)
        _check("beta2_decay", beta2_decay <= 0, "<= 0", beta2_decay)
        _check("epsilon1", eps[0] is None or eps[0] >= 0, ">= 0", eps[0])
        _check("epsilon2", eps[1] >= 0, ">= 0", eps[1])
        _check("Clipping threshold d", d >= 1, ">= 1", d)
        _check("weight_decay", weight_decay >= 0, ">= 0", weight_decay)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    _absent = {"foreach": None, "maximize": False}
    _elementwise = False

    def _names(self, param: Tensor, group: Group) -> tuple[str, ...]:
        return ("row_var", "col_var") if param.ndim > 1 else ("variance",)

    def _begin(self, name: str, param: Tensor, group: Group) -> Tensor:
        if param.array.dtype.kind == "c":
            raise RuntimeError("Adafactor does not support complex parameters: view them as real ones")
        if name == "variance":
            return super()._begin(name, param, group)
        *batch, rows, columns = param.shape
        shape = (*batch, rows, 1) if name == "row_var" else (*batch, 1, columns)
        made: Tensor = zeros(shape, dtype=param.dtype, device=param.device)
        return made

    def _new(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        """As others, but the size of a parameter is that before weight decay."""
        return self._formula(xp, param, -grad if rates["maximize"] else grad, kept, step, rates)

    def _formula(self, xp: Any, param: Any, grad: Any, kept: Kept, step: float, rates: Group) -> Any:
        lr, (least, smallest) = rates["lr"], rates["eps"]
        least = float(finfo(grad.dtype).eps) if least is None else least
        move = xp.divide(grad, _sizes(xp, grad, kept, step ** rates["beta2_decay"], least))
        size = max(smallest, _mean_size(xp, param)) * min(lr, step**-0.5)
        if rates["weight_decay"] != 0:
            param = xp.multiply(param, 1 - lr * rates["weight_decay"])
        return xp.subtract(param, xp.multiply(move, size / max(1.0, _mean_size(xp, move) / rates["d"])))


def _sizes(xp: Any, grad: Any, kept: Kept, weight: float, least: float) -> Any:
    """About how large gradients are, by the means of squares that are kept; these get the new gradient first."""
    square = xp.multiply(grad, grad)
    if grad.ndim < 2:
        kept["variance"] = fade(kept["variance"], square, weight)
        return xp.maximum(xp.sqrt(kept["variance"]), least)
    kept["row_var"] = rows = fade(kept["row_var"], square.mean(axis=-1, keepdims=True), weight)
    kept["col_var"] = columns = fade(kept["col_var"], square.mean(axis=-2, keepdims=True), weight)
    # The roots of rows and columns, and not of their products: there are fewer.
    share = xp.sqrt(rows / xp.maximum(rows.mean(axis=-2, keepdims=True), least))
    return xp.maximum(xp.multiply(share, xp.sqrt(columns)), least)


def _check(what: str, good: Any, rule: str, value: Any) -> None:
    if not good:
        raise ValueError(f"{what} should be {rule} but is: {value}")


def _mean_size(xp: Any, value: Any) -> float:
    """The root of the mean of the squares."""
    flat = value.reshape(-1)
    return sqrt(float(xp.vdot(flat, flat)) / max(1, prod(value.shape)))


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """A step of Adafactor whose state the caller keeps: Note [Functional forms]."""
    kept = {
        "row_var": row_vars,
        "col_var": col_vars,
        "variance": variances,
        "step": state_steps,
    }
    rates = {
        "lr": lr,
        "beta2_decay": beta2_decay,
        "eps": (eps1, eps2),
        "d": d,
        "weight_decay": weight_decay,
        "maximize": maximize,
    }
    functional_step(Adafactor, params, grads, kept, rates, grad_scale, found_inf)
