"""Forward mode as transforms: jvp, and linearize, whose product can be had many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.autograd.forward_ad import inner_level, make_dual, unpack_dual
from retrograd.autograd.modes import enable_grad
from retrograd.core.modes import current
from retrograd.core.switches import differentiating
from retrograd.core.tensor import Tensor
from retrograd.core.tree import flatten, tree_map, unflatten
from retrograd.func.grads import RecordedCall, end, gradients
from retrograd.func.transform import Function, R, require_tensors, with_aux
from retrograd.ops.tensor.create import zeros_like

CALL = "jvp(f, primals, tangents)"


def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """What `func` returns, and its change along `tangents`: `(output, jvp_out)`.

    Args:
        func: called as `func(*primals)`.
        primals: a tuple of the arguments.
        tangents: a tuple nested as `primals` is, of tensors of the same shapes.
        strict: refuse a result that does not depend on the arguments, whose change is zero otherwise.
        has_aux: `func` returns `(output, aux)`, and the result is `(output, jvp_out, aux)`.

    >>> import retrograd as rg
    >>> rg.func.jvp(lambda x: x ** 2, (rg.tensor(3.0),), (rg.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    given, directions, form = _checked(primals, tangents)
    with differentiating(forward=True), inner_level():
        duals = [make_dual(p, t) for p, t in zip(given, directions, strict=True)]
        output, aux = with_aux(func(*unflatten(duals, form)), has_aux, CALL)
        leaves, out_form = flatten(output)
        if not leaves or (len(leaves) == 1 and leaves[0] is None):
            raise RuntimeError(
                f"{CALL}: Expected f to be a function that has non-empty output (got output = {leaves})"
            )
        require_tensors(
            leaves, CALL + ": expected f(*primals) to return only tensors, got unsupported type {}"
        )
        pairs = [_unpacked(leaf, strict) for leaf in leaves]
        if has_aux:
            aux = tree_map(_primal, aux)
    outputs = unflatten([p for p, _ in pairs], out_form)
    changes = unflatten([t for _, t in pairs], out_form)
    return (outputs, changes, aux) if has_aux else (outputs, changes)


def _checked(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    """The leaves of both, and their common form."""
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{CALL}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals). For one argument "
            "write (x,)."
        )
    given, form = flatten(primals)
    directions, tangent_form = flatten(tangents)
    if form != tangent_form:
        raise RuntimeError(
            f"{CALL}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {form} and tangents with structure "
            f"{tangent_form}"
        )
    if not given:
        raise RuntimeError(f"{CALL}: Expected primals to contain at least one Tensor.")
    require_tensors(given, CALL + ": Expected primals to only contain Tensors, got {}")
    require_tensors(directions, CALL + ": Expected tangents to only contain Tensors, got {}")
    return given, directions, form


def _unpacked(leaf: Tensor, strict: bool) -> tuple[Any, Any]:
    """A result without its tangent, and the tangent."""
    primal, tangent = unpack_dual(leaf)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        tangent = zeros_like(primal.detach())
    return primal, tangent


def _primal(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor):
        raise RuntimeError(
            f"{CALL}: Expected tensors, got unsupported type {type(leaf)} beside the output of f"
        )
    return unpack_dual(leaf).primal


def linearize(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """What `func` returns at `primals`, and its best linear approximation there: `(output, jvp_fn)`.

    `jvp_fn(*tangents)` gives what `jvp` gives, without running `func` again.

    >>> import retrograd as rg
    >>> output, jvp_fn = rg.func.linearize(lambda x: x.sin(), rg.tensor([0.0, 1.0]))
    >>> jvp_fn(rg.tensor([1.0, 0.0])), jvp_fn(rg.tensor([0.0, 2.0]))
    (tensor([1., 0.]), tensor([0.0000, 1.0806]))
    """
    run = RecordedCall("linearize(f, *primals)", func, primals, None, {}, False)
    leaves, form = flatten(run.output)
    require_tensors(leaves, "linearize(f, *primals): expected f(*primals) to return only tensors, got {}")
    recorded = run.recorded(leaves)
    inputs, in_form = run.inputs, run.form
    with enable_grad():
        # The product with the Jacobian from the left is linear in its weights: its derivative by them is the product
        # from the right.
        weights = [_weight(leaf) for leaf in leaves]
        pulled = run.gradients(leaves, weights, True, True)
    end([w for w in weights if w.requires_grad])

    def jvp_fn(*tangents: Any) -> Any:
        given, given_form = flatten(tangents)
        _check_tangents(given, given_form, inputs, in_form)
        create = current().grad_enabled and (recorded or any(t.requires_grad for t in given))
        found = gradients(pulled, [w for w in weights if w.requires_grad], given, True, create)
        changes = iter(found)
        return unflatten([next(changes) if w.requires_grad else w for w in weights], form)

    return run.released(run.output), jvp_fn


def _weight(leaf: Tensor) -> Any:
    """Zeros to differentiate by; whole numbers do not change, so that none are needed."""
    made = zeros_like(leaf.detach())
    if leaf.array.dtype.kind in "fc":
        made._set_requires_grad(True)  # requires_grad_() would refuse to inside of other transforms
    return made


def _check_tangents(given: list[Any], form: Any, inputs: list[Any], in_form: Any) -> None:
    """Tangents are as the primals were."""
    if form != in_form:
        raise RuntimeError(f"Expected the tangents {form} to have the same argspec as the primals {in_form}")
    for i, (t, x) in enumerate(zip(given, inputs, strict=True)):
        for what in ("shape", "dtype"):
            if getattr(t, what) != getattr(x, what):
                raise RuntimeError(
                    f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} "
                    f"{getattr(x, what)} of the corresponding primal."
                )
