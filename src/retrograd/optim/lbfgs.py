"""L-BFGS: Newton's steps with the curvature of the last gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from retrograd.autograd.modes import enable_grad, no_grad
from retrograd.core.tensor import Tensor
from retrograd.ops.elementwise.complex_numbers import view_as_real
from retrograd.ops.shape.join import cat
from retrograd.ops.tensor.create import zeros_like
from retrograd.optim.line_search import ENOUGH_DOWN, ENOUGH_FLATTER, Point, StrongWolfe
from retrograd.optim.optimizer import Group, Optimizer, Params, StateDict
from retrograd.optim.options import check_rate, number

LAST: Final = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """L-BFGS: each step makes up to `max_iter` moves along directions that past gradients say lead to the lowest point.

    A step calls its `closure` several times: it must clear the gradients, compute the loss, call `backward()`, and
    return the loss. All parameters are one group.

    Args:
        params: what to optimise: tensors or (name, tensor) pairs.
        lr: the length of a move; with a line search, of the first try.
        max_iter: the most moves in a step.
        max_eval: the most calls of the closure in a step; max_iter * 1.25 if None.
        tolerance_grad: end where no component of the gradient is larger.
        tolerance_change: end where a move changes nothing by more.
        history_size: how many past moves are remembered.
        line_search_fn: "strong_wolfe" to look for a good length of each move, or None.

    >>> import retrograd as rg
    >>> w = rg.tensor([-1.5, 2.0], requires_grad=True)
    >>> optimizer = rg.optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=100)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> w.round(decimals=2).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Makes one step; returns the loss at its beginning."""
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss and its gradients anew")
        with no_grad():
            return self._step(enable_grad()(closure))

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        is_first = "d" not in state
        first = closure()
        loss, grad = number(first), self._gradient()
        calls = 1
        state["func_evals"] += 1
        if _largest(grad) <= group["tolerance_grad"]:
            return first
        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            _turn(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            slope = float(grad.dot(state["d"]))
            state["t"] = _first_length(state["n_iter"], grad, number(group["lr"]))
            if slope > -group["tolerance_change"]:
                break
            last = i == group["max_iter"]
            start, left = Point(0.0, loss, grad, slope), group["max_eval"] - calls
            loss, grad, new_calls = self._advance(closure, state, start, last, left)
            calls += new_calls
            state["func_evals"] += new_calls
            if last or calls >= group["max_eval"] or _settled(state, loss, grad, group):
                break
        if is_first and "d" in state:
            _put_in_order(state)
        return first

    def _advance(
        self, closure: Callable[[], Any], state: StateDict, start: Point, last: bool, left: int
    ) -> tuple[float, Tensor, int]:
        """Moves along the direction; gives the loss and the gradient there, and how often the closure was called."""
        group, direction = self.param_groups[0], state["d"]
        if group["line_search_fn"] is None:
            self._shift(direction, state["t"])
            if last:  # nobody will need them
                return start.loss, start.grad, 0
            return number(closure()), self._gradient(), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError(
                f"only 'strong_wolfe' is supported as line_search_fn, not {group['line_search_fn']!r}"
            )
        origin = [param.clone() for param in group["params"]]
        look = partial(self._look, closure, origin, direction)
        search = StrongWolfe(look, start, _largest(direction), group["tolerance_change"], min(25, left))
        found = search.find(state["t"])
        state["t"] = found.at
        self._shift(direction, found.at)
        return found.loss, found.grad, search.evaluations

    def _look(self, closure: Callable[[], Any], origin: list[Tensor], direction: Tensor, at: float) -> Point:
        """The loss and its gradient some way along the direction; the parameters stay where they are."""
        self._shift(direction, at)
        loss, grad = number(closure()), self._gradient()
        for param, value in zip(self.param_groups[0]["params"], origin, strict=True):
            param.copy_(value)
        return Point(at, loss, grad, float(grad.dot(direction)))

    # -- all parameters as one vector ----------------------------------------------------------------------------

    def _gradient(self) -> Tensor:
        """The gradients of all parameters, in one vector; zeros where there is none."""
        parts = []
        for param in self.param_groups[0]["params"]:
            grad = zeros_like(param, requires_grad=False) if param.grad is None else param.grad.detach()
            parts.append((view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        found: Tensor = cat(parts, 0)
        return found.clone() if len(parts) == 1 else found

    def _shift(self, direction: Tensor, length: float) -> None:
        """Moves all parameters along a direction."""
        done = 0
        for param in self.param_groups[0]["params"]:
            own = view_as_real(param) if param.is_complex() else param
            count = own.numel()
            own.add_(direction[done : done + count].view_as(own), alpha=length)
            done += count


def _strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: float, d: Tensor, f: float, g: Tensor, gtd: Any, c1: float = ENOUGH_DOWN,
    c2: float = ENOUGH_FLATTER, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:  # fmt: skip
    """The search as other optimisers call PyTorch's: new loss and gradient, the step, and how many points it took.

    `obj_func(x, t, d)` gives the loss and the gradient at `x + t * d`; at `x` these are `f` and `g`, the slope `gtd`.
    """

    def look(at: float) -> Point:
        loss, grad = obj_func(x, at, d)
        return Point(at, loss, grad.clone(), float(grad.dot(d)))

    search = StrongWolfe(look, Point(0.0, f, g, float(gtd)), _largest(d), tolerance_change, max_ls, c1, c2)
    found = search.find(t)
    return found.loss, found.grad, found.at, search.evaluations


def _turn(state: StateDict, grad: Tensor, history: int) -> None:
    """Puts the next direction into the state, and the last move into the memory of curvature."""
    if state["n_iter"] == 1:
        state.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return
    change, move = grad - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = change.dot(move)
    if float(curvature) > 1e-10:
        if len(state["old_dirs"]) == history:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(move)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / change.dot(change)
    weights = state.setdefault("al", [None] * history)
    state["d"] = _newton(grad.neg(), state, weights)


def _put_in_order(state: StateDict) -> None:
    """The state of a first step as PyTorch has it: what it moves by stands behind the weights of the recursion."""
    for name in LAST:
        state[name] = state.pop(name)


def _newton(vector: Tensor, state: StateDict, weights: list[Any]) -> Tensor:
    """A vector times the inverse of the curvature that is remembered: the two-loop recursion, with its weights."""
    rows = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
    for i, (change, move, scale) in reversed(list(enumerate(rows))):
        weights[i] = move.dot(vector) * scale
        vector = vector - change * weights[i]
    vector = vector * state["H_diag"]
    for i, (change, move, scale) in enumerate(rows):
        vector = vector + move * (weights[i] - change.dot(vector) * scale)
    return vector


def _first_length(moves: int, grad: Tensor, lr: float) -> float:
    """How far to move: the first time no further than a step of length 1 along the gradient."""
    return min(1.0, 1.0 / float(grad.abs().sum())) * lr if moves == 1 else lr


def _settled(state: StateDict, loss: float, grad: Tensor, group: Group) -> bool:
    """Whether there is nothing more to gain."""
    return bool(
        _largest(grad) <= group["tolerance_grad"]
        or _largest(state["d"] * state["t"]) <= group["tolerance_change"]
        or abs(loss - state["prev_loss"]) < group["tolerance_change"]
    )


def _largest(vector: Tensor) -> float:
    return float(vector.abs().max())
