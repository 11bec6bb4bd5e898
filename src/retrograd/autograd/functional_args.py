"""What goes into and comes out of the functions of `autograd.functional`: tuples, vectors, strictness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.autograd.backward import grad
from retrograd.core.plain import Size
from retrograd.core.tensor import Tensor
from retrograd.errors import GradientError
from retrograd.ops.tensor.create import zeros_like

Tensors = tuple[Any, ...]

OUTPUTS = "outputs of the user-provided function"

# What strict mode calls a value that turns out to be constant, `{i}` being its number.
INDEPENDENT_OUTPUT = "The output of the user-provided function is independent of input {i}."
CONSTANT = {
    "outputs": "Output {i} of the user-provided function does not require gradients. In strict mode each output must "
    "be computed from the inputs by recorded operations: no detach(), no_grad() or integers on the way.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided "
    "function. This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {i} is independent of the input. This is not allowed in strict mode: a function that is linear in an input "
    "has no second derivative there.",
}
# The same for a derivative that is missing; a "trick" is a backward through a backward, in place of forward mode.
MISSING = {
    "back": INDEPENDENT_OUTPUT,
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs, so forward "
    "mode cannot be had from two backwards.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian, "
    "so forward mode cannot be had from two backwards.",
}
LENIENT = " This is not allowed in strict mode; strict=False gives zeros."


def as_tensors(value: Any, name: str, function: str) -> tuple[bool, Tensors]:
    """Whether `value` is a tuple, and the value as a tuple of Tensors."""
    several = isinstance(value, tuple)
    given = value if several else (value,)
    for i, item in enumerate(given):
        if not isinstance(item, Tensor):
            what = f"the value at index {i}" if several else f"the given {name}"
            cure = " A list is not taken for a tuple: use tuple(...)." if isinstance(item, list) else ""
            raise TypeError(
                f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but {what} has type "
                f"{type(item)}.{cure}"
            )
    return several, given


def prepared(values: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """The tensors to differentiate at: attached to the caller's graph if a graph is wanted, else cut off from it."""
    made = []
    for value in values:
        if create_graph and value.requires_grad:
            made.append(value.view_as(value))  # a tensor of its own, even where the same one is given twice
        else:
            leaf = value.detach()
            leaf._lost = None  # it starts a graph on purpose, however its value came about
            made.append(leaf.requires_grad_(need_graph))
    return tuple(made)


def finished(value: Any, create_graph: bool) -> Any:
    """Tensors, in tuples of tuples, as the caller gets them: without a graph unless one is wanted."""
    if isinstance(value, tuple):
        return tuple(finished(item, create_graph) for item in value)
    return value if create_graph else value.detach()


def unwrapped(values: Tensors, several: bool) -> Any:
    """A tuple for one who gave a tuple, else its only tensor."""
    return values if several else values[0]


def vector(v: Any, function: str, others: Tensors, several: bool, create_graph: bool) -> Tensors | None:
    """The vector of a product, as a tuple that fits `others`; None if none is given."""
    if v is None:
        return None
    _, given = as_tensors(v, "v", function)
    vectors = prepared(given, create_graph, need_graph=False)
    if len(vectors) != len(others) and several:
        raise GradientError(
            f"v is a tuple of invalid length: should be {len(others)} but got {len(vectors)}."
        )
    if len(vectors) != len(others):
        raise GradientError(
            f"The given v should contain a single Tensor. {function} got {len(vectors)} for one."
        )
    for i, (item, other) in enumerate(zip(vectors, others, strict=True)):
        if item.shape != other.shape:
            entry = f"Entry {i} in v" if several else "v"
            raise GradientError(
                f"{entry} has invalid size: should be {Size(other.shape)} but got {Size(item.shape)}."
            )
    return vectors


def needs_no_vector(tensors: Tensors, what: str) -> None:
    """Refuses a product without its vector, unless it would be a single number."""
    if len(tensors) != 1 or tensors[0].array.size != 1:
        shapes = ", ".join(str(list(t.shape)) for t in tensors)
        raise GradientError(
            f"The vector v can only be None if {what} a single Tensor with a single element. Here: {len(tensors)} of "
            f"shape {shapes}; pass v of the same shape."
        )


def single_number(outputs: Tensors, several: bool, function: str) -> None:
    """Refuses what has no Hessian: several outputs, or more than one element."""
    if several:
        raise GradientError(
            f"The function given to {function} should return a single Tensor, not a tuple of {len(outputs)}."
        )
    if outputs[0].array.size != 1:
        raise GradientError(
            f"The Tensor returned by the function given to {function} should contain a single element. It has shape "
            f"{list(outputs[0].shape)}: reduce it (.sum(), .mean())."
        )


def check_strict(values: Sequence[Any], stage: str, strict: bool) -> None:
    """In strict mode, refuses values that do not depend on the inputs."""
    if not strict:
        return
    for i, value in enumerate(values):
        if value is None:
            raise GradientError(INDEPENDENT_OUTPUT.format(i=i) + LENIENT)
        if not value.requires_grad:
            raise GradientError(CONSTANT[stage].format(i=i))


def constant_derivative(i: int, name: str) -> GradientError:
    """The error for a derivative that cannot be differentiated again, where strict mode wants that it can."""
    return GradientError(
        f"The {name} of the user-provided function is independent of input {i}. This is not allowed in strict mode "
        "when create_graph=True: it could not be differentiated again."
    )


def gradients(
    outputs: Sequence[Any],
    inputs: Tensors,
    grad_outputs: Sequence[Any] | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> Tensors:
    """Like `autograd.grad`; outputs that are None or constant count as zero, and missing gradients are None."""
    seeds = [None] * len(outputs) if grad_outputs is None else grad_outputs
    pairs = [(o, g) for o, g in zip(outputs, seeds, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = [o for o, _ in pairs], [g for _, g in pairs]
    found: Any = grad(
        roots, inputs, seeds, retain_graph=retain_graph, create_graph=create_graph, allow_unused=True
    )
    return tuple(found)


def filled(grads: Tensors, like: Tensors, stage: str, strict: bool, create_graph: bool) -> Tensors:
    """Zeros in the place of missing gradients; in strict mode, an error."""
    for i, found in enumerate(grads):
        if not strict:
            break
        if found is None:
            raise GradientError(MISSING[stage].format(i=i) + LENIENT)
        if create_graph and not found.requires_grad:
            raise constant_derivative(i, "hessian" if "double" in stage else "jacobian")
    return tuple(zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True))
