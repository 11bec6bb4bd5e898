"""Products with Jacobians and Hessians, and the whole of them, of functions of tensors.

Each function here takes `func` and the inputs it is to be called with (a Tensor, or a tuple of them), and
differentiates what it returns (likewise). Results are tuples where inputs or outputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.autograd.functional_args import (
    LENIENT,
    OUTPUTS,
    Tensors,
    as_tensors,
    check_strict,
    constant_derivative,
    filled,
    finished,
    gradients,
    needs_no_vector,
    prepared,
    single_number,
    unwrapped,
    vector,
)
from retrograd.autograd.modes import enable_grad
from retrograd.backends.base import backend_of
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError
from retrograd.ops.shape.join import stack
from retrograd.ops.tensor.create import ones_like, zeros_like

Inputs: TypeAlias = Tensor | Sequence[Tensor]

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

THE_INPUT = "the input to the user-provided function is"
STRATEGIES = ("forward-mode", "reverse-mode")
TOGETHER = (
    "autograd.functional.jacobian: `{}` and `{}` are not supported together. Set one of them otherwise."
)


def vjp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """What `func` returns, and the product of the vector `v` with its Jacobian: one backward pass.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs: what to call it with: a Tensor or a tuple of them.
        v: a Tensor for each output, of its shape; may be left out if the output is a single number.
        create_graph: make the results differentiable.
        strict: raise an error where an output does not depend on an input, instead of giving zeros.

    >>> import retrograd as rg
    >>> x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> rg.autograd.functional.vjp(lambda x: (x * x).sum(dim=1), x, rg.tensor([1.0, 0.0]))
    (tensor([ 5., 25.]), tensor([[2., 4.],
            [0., 0.]]))
    """
    with enable_grad():
        several, points = as_tensors(inputs, "inputs", "vjp")
        points = prepared(points, create_graph, need_graph=True)
        several_out, outputs = as_tensors(func(*points), OUTPUTS, "vjp")
        check_strict(outputs, "outputs", strict)
        seeds = vector(v, "vjp", outputs, several_out, create_graph)
        if seeds is None:
            needs_no_vector(outputs, "the user-provided function returns")
            if outputs[0].is_complex():
                raise GradientError(
                    f"grad can be implicitly created only for real scalar outputs but got {outputs[0].dtype}. Pass `v`."
                )
            seeds = (ones_like(outputs[0]),)
        found = gradients(outputs, points, seeds, create_graph)
        products = filled(found, points, "back", strict, create_graph)
    both = unwrapped(outputs, several_out), unwrapped(products, several)
    return finished(both[0], create_graph), finished(both[1], create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """What `func` returns, and the product of its Jacobian with the vector `v`: the change of the outputs along `v`.

    This runs two backwards, the second through the first. Forward mode (`autograd.forward_ad`) needs no backward.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs: what to call it with: a Tensor or a tuple of them.
        v: a Tensor for each input, of its shape; may be left out if the input is a single number.
        create_graph: make the results differentiable.
        strict: raise an error where an output does not depend on an input, instead of giving zeros.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0])
    >>> rg.autograd.functional.jvp(lambda x: x * x, x, rg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        several, points = as_tensors(inputs, "inputs", "jvp")
        points = prepared(points, create_graph, need_graph=True)
        directions = _directions(v, "jvp", points, several, create_graph)
        several_out, outputs = as_tensors(func(*points), OUTPUTS, "jvp")
        check_strict(outputs, "outputs", strict)
        weights, pulled = _pulled_back(outputs, outputs, points)
        check_strict(pulled, "grad_inputs", strict)
        found = gradients(pulled, weights, directions, create_graph)
        products = filled(found, outputs, "back_trick", strict, create_graph)
    both = unwrapped(outputs, several_out), unwrapped(products, several_out)
    return finished(both[0], create_graph), finished(both[1], create_graph)


def vhp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """What `func` returns, a single number, and the product of the vector `v` with its Hessian.

    Args:
        func: a function of Tensors that returns a Tensor with one element.
        inputs: what to call it with: a Tensor or a tuple of them.
        v: a Tensor for each input, of its shape; may be left out if the input is a single number.
        create_graph: make the results differentiable.
        strict: raise an error where the result does not depend on an input, instead of giving zeros.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0])
    >>> rg.autograd.functional.vhp(lambda x: (x ** 3).sum(), x, rg.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        several, points = as_tensors(inputs, "inputs", "vhp")
        points = prepared(points, create_graph, need_graph=True)
        directions = _directions(v, "vhp", points, several, create_graph)
        output, slopes = _number_and_slopes(func, points, "vhp", strict)
        found = gradients(slopes, points, directions, create_graph)
        products = filled(found, points, "double_back", strict, create_graph)
    return finished(output, create_graph), finished(unwrapped(products, several), create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """What `func` returns, a single number, and the product of its Hessian with the vector `v`.

    A Hessian is symmetric where second derivatives are continuous; then `vhp` gives the same for less work.

    Args:
        func: a function of Tensors that returns a Tensor with one element.
        inputs: what to call it with: a Tensor or a tuple of them.
        v: a Tensor for each input, of its shape; may be left out if the input is a single number.
        create_graph: make the results differentiable.
        strict: raise an error where the result does not depend on an input, instead of giving zeros.

    >>> import retrograd as rg
    >>> x, y = rg.tensor([1.0, 2.0]), rg.tensor(3.0)
    >>> rg.autograd.functional.hvp(lambda x, y: (x * x).sum() * y, (x, y), (rg.ones(2), rg.tensor(1.0)))
    (tensor(15.), (tensor([ 8., 10.]), tensor(6.)))
    """
    with enable_grad():
        several, points = as_tensors(inputs, "inputs", "hvp")
        points = prepared(points, create_graph, need_graph=True)
        directions = _directions(v, "hvp", points, several, create_graph)
        output, slopes = _number_and_slopes(func, points, "hvp", strict)
        weights, pulled = _pulled_back(slopes, points, points)
        found = gradients(pulled, weights, directions, create_graph)
        products = filled(found, points, "double_back_trick", strict, create_graph)
    return finished(output, create_graph), finished(unwrapped(products, several), create_graph)


def _construct_standard_basis_for(
    tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]
) -> tuple[Tensor, ...]:
    """Unit vectors of the space of all tensors together, cut into one matrix per tensor."""
    total, begin, made = sum(tensor_numels), 0, []
    for tensor, numel in zip(tensors, tensor_numels, strict=True):
        units = backend_of(tensor.array).zeros((total, numel), tensor.array.dtype)
        for i in range(numel):
            units[begin + i, i] = 1
        made.append(Tensor(units, share=True))
        begin += numel
    return tuple(made)


def _directions(v: Any, function: str, points: Tensors, several: bool, create_graph: bool) -> Tensors:
    """A vector for each input; where a single number is the input, 1 if none is given."""
    given = vector(v, function, points, several, create_graph)
    if given is None:
        needs_no_vector(points, THE_INPUT)
        return (ones_like(points[0]),)
    return given


def _pulled_back(values: Tensors, like: Tensors, points: Tensors) -> tuple[Tensors, Tensors]:
    """Weights w on `values`, and w times their Jacobian, as a graph.

    That is linear in w, so a backward through it multiplies by the transpose: by the Jacobian itself.
    """
    weights = tuple(zeros_like(t, requires_grad=True) for t in like)
    return weights, gradients(values, points, weights, create_graph=True)


def _number_and_slopes(
    func: Callable[..., Any], points: Tensors, function: str, strict: bool
) -> tuple[Any, Tensors]:
    """What `func` returns, a single number, and its derivatives, to be differentiated again."""
    several, outputs = as_tensors(func(*points), OUTPUTS, function)
    check_strict(outputs, "outputs", strict)
    single_number(outputs, several, function)
    slopes = gradients(outputs, points, create_graph=True)
    check_strict(slopes, "jacobian", strict)
    return outputs[0], slopes


@overload
def jacobian(
    func: Callable[[Tensor], Tensor],
    inputs: Tensor,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tensor: ...
@overload
def jacobian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any: ...
def jacobian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`: `J[i][j]` for output i and input j, of the output's shape followed by the input's.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs: what to call it with: a Tensor or a tuple of them.
        create_graph: make the result differentiable; not in forward mode.
        strict: raise an error where an output does not depend on an input, instead of giving zeros; neither with
            `vectorize` nor in forward mode.
        vectorize: compute all rows in one batched call. The result is the same.
        strategy: "reverse-mode", a backward for each element of the outputs, or "forward-mode", a forward pass for
            each element of the inputs; the latter with `vectorize=True` only.

    >>> import retrograd as rg
    >>> rg.autograd.functional.jacobian(lambda x: x ** 2, rg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    >>> rg.autograd.functional.jacobian(lambda x, y: x * y, (rg.tensor([1.0, 2.0]), rg.tensor(3.0)))
    (tensor([[3., 0.],
            [0., 3.]]), tensor([1., 2.]))
    """
    _check_plan(strategy, create_graph, strict, vectorize)
    with enable_grad():
        several, points = as_tensors(inputs, "inputs", "jacobian")
        if strategy == "forward-mode":
            several_out, rows = _forward_jacobian(func, points)
        else:
            points = prepared(points, create_graph, need_graph=True)
            several_out, outputs = as_tensors(func(*points), OUTPUTS, "jacobian")
            check_strict(outputs, "outputs", strict)
            if strict and vectorize:
                raise GradientError(TOGETHER.format("strict=True", "vectorized=True"))
            one = _batched_rows if vectorize else _rows
            rows = tuple(one(i, out, points, create_graph, strict) for i, out in enumerate(outputs))
    result = tuple(unwrapped(row, several) for row in rows)
    return finished(unwrapped(result, several_out), create_graph)


@overload
def hessian(
    func: Callable[[Tensor], Tensor],
    inputs: Tensor,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tensor: ...
@overload
def hessian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> tuple[tuple[Tensor, ...], ...]: ...
def hessian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of `func`, which returns a single number: the Jacobian of its gradient.

    For a tuple of inputs, `H[i][j]` has the shape of input i followed by that of input j.

    Args:
        func: a function of Tensors that returns a Tensor with one element.
        inputs: what to call it with: a Tensor or a tuple of them.
        create_graph: make the result differentiable; not in forward mode.
        strict: raise an error where the gradient does not depend on an input, instead of giving zeros; neither with
            `vectorize` nor in forward mode.
        vectorize: compute all rows in one batched call. The result is the same.
        outer_jacobian_strategy: how the gradient is differentiated, see `jacobian`.

    >>> import retrograd as rg
    >>> rg.autograd.functional.hessian(lambda x: (x ** 3).sum(), rg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, points = as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in STRATEGIES:
        raise AssertionError(_no_such_strategy("outer_jacobian_strategy", outer_jacobian_strategy))
    slopes = _Slopes(func, strict, outer_jacobian_strategy)
    found = jacobian(slopes, points, create_graph, strict, vectorize, outer_jacobian_strategy)
    return unwrapped(tuple(unwrapped(row, several) for row in found), several)


class _Slopes:
    """The gradient of `func` as a function: what `hessian` takes the Jacobian of."""

    def __init__(self, func: Callable[..., Any], strict: bool, strategy: str) -> None:
        self.func = func
        self.strict = strict
        self.forward_mode = strategy == "forward-mode"

    def __call__(self, *points: Any) -> Any:
        if self.forward_mode:
            for point in points:
                point.requires_grad_()  # else the inner Jacobian would detach it, and lose its tangent
        slopes = jacobian(self.number, points, create_graph=True)
        check_strict(slopes, "jacobian", self.strict)
        return slopes

    def number(self, *points: Any) -> Any:
        """What the function returns, if it has a Hessian."""
        several, outputs = as_tensors(self.func(*points), OUTPUTS, "hessian")
        check_strict(outputs, "outputs", self.strict)
        single_number(outputs, several, "hessian")
        return outputs[0].squeeze()


def _check_plan(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Refuses what forward mode is not supported together with."""
    if strategy not in STRATEGIES:
        raise AssertionError(_no_such_strategy("strategy", strategy))
    forward = strategy == "forward-mode"
    if forward and create_graph:
        raise NotImplementedError(TOGETHER.format("create_graph=True", 'strategy="forward-mode"'))
    if forward and strict:
        raise GradientError(TOGETHER.format("strict=True", 'strategy="forward-mode"'))
    if forward and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`: pass that, too."
        )


def _no_such_strategy(name: str, given: str) -> str:
    return (
        f'Expected {name.removeprefix("outer_jacobian_")} to be either "forward-mode" or "reverse-mode", but got '
        f"{name}={given!r}. Forward mode suits functions with more outputs than inputs, reverse mode the others."
    )


def _rows(i: int, output: Any, points: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of output `i` with respect to each input, a backward for each of its elements."""
    if output.array.dtype.kind == "c" and output.requires_grad:
        raise GradientError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"{output.array.dtype} as output {i} of the user-provided function. With vectorize=True the rows are the "
            "gradients of the real parts; torch.view_as_real(output) has real and imaginary parts as rows."
        )
    columns: list[list[Any]] = [[] for _ in points]
    for j in range(output.array.size):
        found = gradients((output,), points, (_unit(output, j),), create_graph, retain_graph=True)
        for k, (row, point) in enumerate(zip(found, points, strict=True)):
            if strict and row is None:
                raise GradientError(
                    f"Output {i} of the user-provided function is independent of input {k}.{LENIENT}"
                )
            if strict and create_graph and not row.requires_grad:
                raise constant_derivative(k, "jacobian")
            columns[k].append(zeros_like(point) if row is None else row)
    return tuple(_joined(rows, output, point) for rows, point in zip(columns, points, strict=True))


def _batched_rows(i: int, output: Any, points: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The same in one batched backward."""
    size = output.array.size
    if not output.requires_grad or not size:
        return tuple(_joined([zeros_like(point)] * size, output, point) for point in points)
    xp = backend_of(output.array)
    seeds = Tensor(xp.eye(size, dtype=output.array.dtype).reshape((size, *output.array.shape)), share=True)
    found: Any = grad(
        output, points, seeds, True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
    )
    return tuple(
        _joined([zeros_like(point)] * size, output, point)
        if rows is None
        else rows.view((*output.shape, *point.shape))
        for rows, point in zip(found, points, strict=True)
    )


def _unit(like: Any, j: int) -> Tensor:
    """1 at element `j` in row-major order, zeros elsewhere."""
    made = zeros_like(like)
    made.array[np.unravel_index(j, made.array.shape)] = 1
    return made


def _joined(rows: list[Any], output: Any, point: Any) -> Tensor:
    """The rows of one output and one input in one Tensor."""
    shape = (*output.shape, *point.shape)
    if not rows:
        return zeros_like(point).new_zeros(shape)
    joined: Tensor = stack(rows).view(shape)
    return joined


# -- forward mode --------------------------------------------------------------------------------------------------


def _pushed_forward(func: Callable[..., Any], points: Tensors, tangents: Tensors) -> tuple[bool, Tensors]:
    """Whether `func` returns a tuple, and how each output changes along the tangents of the inputs."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(p, t) for p, t in zip(points, tangents, strict=True)]
        several, outputs = as_tensors(func(*duals), OUTPUTS, "jacobian")
        changes = [forward_ad.unpack_dual(output).tangent for output in outputs]
        return several, tuple(
            zeros_like(o) if t is None else t for t, o in zip(changes, outputs, strict=True)
        )


def _forward_jacobian(func: Callable[..., Any], points: Tensors) -> tuple[bool, tuple[Tensors, ...]]:
    """Whether `func` returns a tuple, and the Jacobian of each output, a forward pass for each input element."""
    several, blocks = False, []
    for k in range(len(points)):
        several, column = _forward_column(func, points, k)
        blocks.append(column)
    return several, tuple(zip(*blocks, strict=True))


def _forward_column(func: Callable[..., Any], points: Tensors, k: int) -> tuple[bool, Tensors]:
    """The Jacobian of each output with respect to input `k`, in one pass on a batch of tangents."""
    from retrograd.func.levels import Level, entered, left

    array = points[k].array
    size = array.size
    still = [zeros_like(point) for point in points]
    level = Level(max(size, 1), "same")  # an empty input needs one pass, too: it shows what `func` returns
    units = backend_of(array).eye(level.size, size, dtype=array.dtype).reshape((level.size, *array.shape))
    tangents = (*still[:k], entered(Tensor(units, share=True), 0, level), *still[k + 1 :])
    several, changes = _pushed_forward(func, points, tangents)
    columns = [left(change, change.ndim, level)[..., :size] for change in changes]
    return several, tuple(c.reshape((*c.shape[:-1], *array.shape)) for c in columns)
