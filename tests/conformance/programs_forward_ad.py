"""Forward mode: levels, duals, tangents through operations, views and writes in place."""

# mypy: disable-error-code=untyped-decorator
from __future__ import annotations

import contextlib
import copy
import importlib
import warnings
from collections.abc import Callable
from typing import Any

from .harness import attempt, program

# PyTorch loads this module with its first dual, and warns of deprecated functions that it uses there itself.
with contextlib.suppress(ImportError), warnings.catch_warnings(action="ignore"):
    importlib.import_module("torch._decomp.decompositions_for_jvp")


def tan(torch: Any, x: Any) -> Any:
    """The tangent without its graph, whose shape is each library's own affair."""
    found = torch.autograd.forward_ad.unpack_dual(x).tangent
    return None if found is None else found.detach().clone()


def dual(torch: Any, primal: Any = (1.0, 2.0, 3.0), tangent: Any = (0.1, 0.2, 0.3), **options: Any) -> Any:
    """A dual of numbers."""
    x = torch.tensor(list(primal), **options)
    return torch.autograd.forward_ad.make_dual(x, torch.tensor(list(tangent), dtype=x.dtype))


def inside(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program that runs inside a level."""

    def wrapped(torch: Any) -> Any:
        with torch.autograd.forward_ad.dual_level():
            return run(torch)

    wrapped.__name__, wrapped.__module__ = run.__name__, run.__module__
    return wrapped


# -- levels --------------------------------------------------------------------------------------------------------


@program()
def levels_are_entered_and_left(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    level = fwd.enter_dual_level()
    d = dual(torch)
    before = tan(torch, d)
    fwd.exit_dual_level(level=level)
    return level, before, fwd.unpack_dual(d).tangent


@program()
def a_block_gives_its_level(torch: Any) -> Any:
    with torch.autograd.forward_ad.dual_level() as level:
        return level


@program()
def leaving_a_level_drops_tangents(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        d = dual(torch)
        y = d * 2
    with fwd.dual_level():
        return fwd.unpack_dual(d), fwd.unpack_dual(y)


@program("Nested forward mode AD is not supported")
def levels_do_not_nest(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    with fwd.dual_level(), fwd.dual_level():
        return None


@program()
def after_a_nested_level_failed_there_is_none(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    attempt("Nested", levels_do_not_nest, torch)
    return attempt("no level exists", fwd.make_dual, torch.ones(2), torch.ones(2))


@program("no level exists")
def duals_need_a_level(torch: Any) -> Any:
    torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))


@program("Dual level must be a positive number")
def no_level_can_be_left(torch: Any) -> Any:
    torch.autograd.forward_ad.exit_dual_level()


@program("not the last one that was created")
@inside
def another_level_cannot_be_left(torch: Any) -> Any:
    torch.autograd.forward_ad.exit_dual_level(level=3)


@program()
def no_level_can_be_left_by_its_number(torch: Any) -> Any:
    leave = torch.autograd.forward_ad.exit_dual_level
    return (
        [attempt("not the last one that was created", leave, level=n) for n in (0, 3)],
        attempt("Dual level must be a positive number", leave, level=-1),
    )


@program()
def exceptions_leave_the_level(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad

    def fail() -> None:
        with fwd.dual_level():
            raise KeyError("inside")

    return attempt("inside", fail), attempt("no level", fwd.make_dual, torch.ones(1), torch.ones(1))


@program()
def a_level_decorates(torch: Any) -> Any:
    @torch.autograd.forward_ad.dual_level()
    def run() -> Any:
        return tan(torch, dual(torch) ** 2)

    return run(), run()


# -- making and unpacking ------------------------------------------------------------------------------------------


@program()
@inside
def a_dual_is_a_view_of_its_primal(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    d = fwd.make_dual(x, t)
    found = fwd.unpack_dual(d)
    return (
        d._base is x,
        d._is_view(),
        found.tangent is t,
        found.primal._is_view(),
        tan(torch, found.primal),
        tan(torch, x),
    )


@program()
@inside
def unpacking_gives_names(torch: Any) -> Any:
    found = torch.autograd.forward_ad.unpack_dual(dual(torch))
    return type(found).__name__, found._fields, found.primal, found.tangent, len(found)


@program()
@inside
def a_plain_tensor_has_no_tangent(torch: Any) -> Any:
    x = torch.ones(2)
    found = torch.autograd.forward_ad.unpack_dual(x)
    return found.primal, found.tangent, found.primal is x


@program()
def outside_of_levels_unpacking_gives_the_tensor_itself(torch: Any) -> Any:
    x = torch.ones(2)
    found = torch.autograd.forward_ad.unpack_dual(x)
    return found.primal is x, found.tangent


@program()
@inside
def primals_keep_their_history(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    d = torch.autograd.forward_ad.make_dual(x, torch.ones(3))
    primal = torch.autograd.forward_ad.unpack_dual(d).primal
    return d, primal, torch.autograd.grad((d * primal).sum(), x)


@program()
@inside
def duals_say_what_is_wrong(torch: Any) -> Any:
    make = torch.autograd.forward_ad.make_dual
    x, t = torch.ones(3), torch.ones(3)
    return (
        attempt(r"different size than that of the original Tensor.*\[3\].*\[2\]", make, x, torch.ones(2)),
        attempt("Expected primal to be floating point or complex", make, torch.ones(3).long(), t),
        attempt("Expected tangent to be floating point or complex", make, x, torch.ones(3).long()),
        attempt("already has a forward gradient", make, make(x, t), t),
        attempt("itself has a forward gradient", make, x, make(x, t)),
        attempt("Invalid level", lambda: make(x, t, level=1)),
        attempt("no level exists", lambda: make(x, t, level=-1)),
    )


@program("Invalid level given")
@inside
def duals_have_one_level(torch: Any) -> Any:
    return torch.autograd.forward_ad.unpack_dual(dual(torch), level=1).tangent


@program()
@inside
def tangents_take_the_layout_of_their_primal(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    t = torch.arange(6.0).reshape(3, 2)
    d = fwd.make_dual(torch.zeros(2, 3).t(), t)
    found = fwd.unpack_dual(d).tangent
    return found is t, found.stride(), found, fwd.unpack_dual(d.t().reshape(6)).tangent


@program()
@inside
def a_dual_of_a_view_leaves_the_base_alone(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    base, t = torch.zeros(3, 2), torch.ones(3)
    d = fwd.make_dual(base[:, 0], t)
    d.add_(1).mul_(2)
    return tan(torch, base), tan(torch, d), t, base


@program()
@inside
def duals_print_their_tangent(torch: Any) -> Any:
    d = dual(torch)
    return repr(d), repr(d * 2), repr(dual(torch, [1.0], [2.0]).reshape(1, 1)), repr(torch.ones(2))


@program()
@inside
def copies_and_detached_twins_have_no_tangent(torch: Any) -> Any:
    d = dual(torch)
    other = d * 2
    other.detach_()
    return [tan(torch, y) for y in (d.detach(), d.data, copy.copy(d), copy.deepcopy(d), other)]


@program()
@inside
def numbers_leave_forward_mode(torch: Any) -> Any:
    d = dual(torch)
    return d.tolist(), d[0].item(), d.numpy(), float(d[1])


# -- operations ----------------------------------------------------------------------------------------------------


@program()
@inside
def one_operand_with_a_tangent_is_enough(torch: Any) -> Any:
    d, x = dual(torch), torch.tensor([4.0, 5.0, 6.0])
    return [tan(torch, y) for y in (d * x, x * d, d + x, x - d, d / x, x / d, d**2, 2**d, d**x, x**d)]


@program()
@inside
def tangents_have_the_shape_of_the_result(torch: Any) -> Any:
    d, wide = dual(torch), torch.ones(2, 3)
    results = (
        d * wide,
        wide + d,
        torch.where(wide > 0, d, wide),
        d.expand(2, 3),
        torch.stack([d, wide[0]]),
        d @ wide.t(),
    )
    return [tan(torch, y) for y in results]


@program()
@inside
def tangents_are_not_shared(torch: Any) -> Any:
    d = dual(torch)
    y, z, w = d + 1, d.clone(), d.reshape(3, 1).squeeze(1).clone()
    for other in (y, z, w):
        other.mul_(10)
    return tan(torch, d), tan(torch, y), tan(torch, z), tan(torch, w)


@program()
@inside
def results_without_a_derivative(torch: Any) -> Any:
    d = dual(torch)
    results = (d > 1, d.argmax(), d.sort().indices, d.long(), d.bool(), torch.isnan(d), d.nonzero(), d.floor(),
               d.sign(), torch.zeros_like(d), d.new_ones(2), torch.ones(2))  # fmt: skip
    return [tan(torch, y) for y in results]


@program()
@inside
def conversions(torch: Any) -> Any:
    d = dual(torch)
    results = (
        d.double(),
        d.to(torch.float64),
        d.to(torch.complex64),
        d.contiguous(),
        d.float(),
        d.half(),
        d.type(torch.float64),
    )
    return [tan(torch, y) for y in results], d.contiguous() is d, torch.as_tensor(d) is d


@program()
@inside
def reductions_and_choices(torch: Any) -> Any:
    d = dual(torch, [3.0, 1.0, 2.0])
    results = (d.sum(), d.mean(), d.prod(), d.max(), d.max(0).values, d.sort().values, d.topk(2).values, d.cumsum(0),
               d.logsumexp(0), d.std(), d.norm(), d.softmax(0), d.median())  # fmt: skip
    return [tan(torch, y) for y in results]


@program()
@inside
def complex_numbers(torch: Any) -> Any:
    d = dual(torch, [1 + 1j, 2 - 1j], [0.1 + 2j, 0.2 + 1j])
    results = (
        d.real,
        d.imag,
        d.abs(),
        d.angle(),
        d.conj(),
        d * d.conj(),
        d.exp(),
        torch.view_as_real(d),
        d.sum(),
    )
    return [tan(torch, y) for y in results]


@program()
@inside
def real_numbers_become_complex(torch: Any) -> Any:
    d, x = dual(torch), torch.ones(3)
    results = (
        torch.complex(d, x),
        torch.complex(x, d),
        (d * 1j).abs(),
        torch.view_as_real(torch.complex(d, d)),
    )
    return [tan(torch, y) for y in results]


@program("does not support it")
@inside
def an_operation_without_forward_mode(torch: Any) -> Any:
    return dual(torch) // 2


@program()
@inside
def an_operation_without_forward_mode_takes_plain_tensors(torch: Any) -> Any:
    return torch.ones(2) // 2, dual(torch).detach() // 2


@program()
@inside
def functions_with_out_refuse(torch: Any) -> Any:
    d, plain = dual(torch), torch.empty(3)
    why = "because it is an out= function"
    x = torch.ones(3)
    return (
        attempt(why, lambda: torch.mul(d, d, out=plain)),
        attempt(why, lambda: torch.mul(x, x, out=d)),
        torch.mul(x, x, out=torch.empty(3)),
    )


@program("cannot resize variables that has a forward grad")
@inside
def duals_are_not_resized(torch: Any) -> Any:
    dual(torch).resize_(2)
