"""Forward mode: tangents of views, and what writes in place do to them."""

# mypy: disable-error-code=untyped-decorator
from __future__ import annotations

from typing import Any

from .harness import program
from .programs_forward_ad import dual, inside, tan

# -- views ---------------------------------------------------------------------------------------------------------


@program()
@inside
def views_of_a_dual(torch: Any) -> Any:
    d = dual(torch)
    results = (
        d[0],
        d[1:],
        d.view(3, 1),
        d[None],
        d.expand(2, 3),
        d.unbind()[2],
        d.split(2)[1],
        d.flip(0),
        d[[2, 0]],
    )
    return [tan(torch, y) for y in results]


@program()
@inside
def a_write_through_a_view_of_a_dual(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    x, t = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.1, 0.2, 0.3])
    d = fwd.make_dual(x, t)
    v = d[1:]
    v.mul_(10)
    return d, tan(torch, d), tan(torch, v), t, x


@program()
@inside
def a_write_to_a_dual_is_seen_by_its_views(torch: Any) -> Any:
    d = dual(torch)
    v = d[1:]
    d.mul_(10)
    return tan(torch, v), tan(torch, d)


@program()
@inside
def a_dual_written_through_a_view_gives_the_base_a_tangent(torch: Any) -> Any:
    base = torch.zeros(2, 3)
    row, column = base[1], base[:, 0]
    row.copy_(dual(torch))
    return tan(torch, base), tan(torch, row), tan(torch, column), tan(torch, base.t())


@program()
@inside
def a_view_made_before_its_base_got_a_tangent(torch: Any) -> Any:
    base = torch.zeros(2, 3)
    row = base[1]
    base.add_(dual(torch))
    first = tan(torch, row)
    row.mul_(10)
    return first, tan(torch, row), tan(torch, base)


@program()
@inside
def views_of_views(torch: Any) -> Any:
    base = torch.zeros(2, 3)
    inner = base[1][1:]
    inner.copy_(dual(torch)[:2])
    base.t()[0].fill_(7.0)
    base[0].mul_(3)
    return tan(torch, base), tan(torch, inner), base


@program()
def views_made_outside_of_the_level(torch: Any) -> Any:
    base = torch.zeros(2, 3)
    row = base[0]
    with torch.autograd.forward_ad.dual_level():
        base.copy_(dual(torch))
        return tan(torch, row)


@program()
@inside
def views_of_other_dtypes(torch: Any) -> Any:
    d = dual(torch, [1 + 1j, 2 - 1j], [0.1 + 2j, 0.2 + 1j])
    d.real.mul_(2)
    z = torch.zeros(3, dtype=torch.complex64)
    z.real.copy_(dual(torch))
    return tan(torch, d), tan(torch, z), tan(torch, z.imag)


# -- writes in place -----------------------------------------------------------------------------------------------


@program()
@inside
def writes_in_place_write_into_the_tangent(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    d = fwd.make_dual(x, t)
    d.pow_(3)
    d += 1
    return d, t, x, fwd.unpack_dual(d).tangent is t, t._version, x._version, d._version


@program()
@inside
def a_write_to_the_primal_leaves_the_tangent(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    d = fwd.make_dual(x, torch.ones(2))
    x.mul_(5)
    return d, tan(torch, d), tan(torch, x)


@program()
@inside
def a_plain_tensor_gets_a_tangent(torch: Any) -> Any:
    d, y, z = dual(torch), torch.zeros(3), torch.ones(2, 3)
    y.copy_(d)
    z *= d
    z -= d
    return tan(torch, y), tan(torch, z)


@program()
@inside
def constants_clear_the_tangent(torch: Any) -> Any:
    found = []
    for write in ("zero_()", "fill_(3.0)", "copy_(torch.ones(3))", "clamp_(0, 1)", "fill_(torch.tensor(2.0))",
                  "masked_fill_(torch.ones(3) > 0, 5.0)", "uniform_()", "normal_()"):  # fmt: skip
        d = dual(torch)
        eval(f"d.{write}", {"d": d, "torch": torch})
        found.append(tan(torch, d))
    return found


@program()
@inside
def plain_writes_to_plain_tensors(torch: Any) -> Any:
    dual(torch)
    y = torch.ones(3)
    y.zero_().add_(2).mul_(3).fill_(1)
    y[0] = 5
    return y, tan(torch, y)


@program()
@inside
def assignments(torch: Any) -> Any:
    d, y = dual(torch), torch.zeros(2, 3)
    y[1] = d
    y[0, 1] = d[0] * 5
    d[torch.tensor([0, 2])] = 7.0
    e = dual(torch)
    e[e > 2] = 0
    e[0] = 5.0
    return y, tan(torch, y), tan(torch, d), tan(torch, e)


@program()
@inside
def writes_by_index(torch: Any) -> Any:
    d, y, z = dual(torch), torch.zeros(4), torch.zeros(4)
    y.index_put_((torch.tensor([0, 2, 3]),), d)
    y.index_add_(0, torch.tensor([1, 1, 1]), d)
    y.masked_fill_(torch.tensor([True, False, False, False]), d.sum())
    z.scatter_(0, torch.tensor([3, 1, 0]), d)
    return tan(torch, y), tan(torch, z)


@program("a leaf Variable that requires grad is being used in an in-place operation")
@inside
def a_leaf_as_tangent_is_not_written(torch: Any) -> Any:
    d = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2, requires_grad=True))
    d.mul_(2)


@program("Can't detach views in-place")
@inside
def duals_are_not_detached_in_place(torch: Any) -> Any:
    dual(torch).detach_()


@program()
@inside
def a_detached_twin_writes_values_alone(torch: Any) -> Any:
    d = dual(torch)
    d.detach().mul_(2)
    return d, tan(torch, d), tan(torch, d * 1)


@program()
@inside
def integers_take_values_alone(torch: Any) -> Any:
    y = torch.zeros(3, dtype=torch.int64)
    y.copy_(dual(torch))
    wide = torch.zeros(3, dtype=torch.float64)
    wide.add_(dual(torch))
    return y, tan(torch, y), wide
