"""Programs with conjugates and negatives that share memory: what they show, what is written through them, and what the
graph knows of it."""

from __future__ import annotations

import copy
import pickle
from importlib import import_module
from typing import Any

from tests.conformance.harness import attempt, program


def numbers(torch: Any) -> Any:
    return torch.tensor([[1 + 2j, 3 - 4j], [0.5j, -2 + 0j]])


def leaf(torch: Any) -> Any:
    return numbers(torch).requires_grad_()


def views(z: Any) -> list[Any]:
    """All ways to a conjugate, or to a negative."""
    return [
        z.conj(), z.mH, z.H, z.adjoint(), z.conj().conj(), z._conj(), z.conj()[0], z.conj().t(), z.conj().imag,
        z.conj().real, z._neg_view(), z.conj()._neg_view(), z._neg_view().imag, z.real._neg_view(),
        z.conj().reshape(4), z.conj().unsqueeze(0), z.conj().expand(3, 2, 2), z.conj().diagonal(), z.mH.conj(),
        z.conj().detach(), z.conj().data,
    ]  # fmt: skip


def facts(t: Any, base: Any) -> Any:
    return (
        t, t.is_conj(), t.is_neg(), t._is_view(), t._base is base, t.stride(), t.storage_offset(), t._version,
        t.is_contiguous(), repr(t.detach()), t.tolist(),
    )  # fmt: skip


def chain(t: Any) -> list[str]:
    """The names of the nodes along the first edges."""
    node, names = t.grad_fn, []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


# -- what they show ------------------------------------------------------------------------------------------------


@program()
def facts_about_conjugates(torch: Any) -> Any:
    z = numbers(torch)
    return [facts(v, z) for v in views(z)]


@program()
def conjugates_share_memory(torch: Any) -> Any:
    z = numbers(torch)
    return [v.data_ptr() - z.data_ptr() for v in views(z)]


@program()
def nodes_of_conjugates(torch: Any) -> Any:
    z = leaf(torch) * 1
    return [(chain(v), v.requires_grad) for v in views(z)]


@program()
def what_is_made_of_conjugates(torch: Any) -> Any:
    z = numbers(torch)
    c, n = z.conj(), z.conj().imag
    made = [
        c.clone(), c.contiguous(), c.resolve_conj(), c.resolve_neg(), c.conj_physical(), c + 1, c * z, -c, c @ z,
        torch.cat([c, z]), torch.stack([c, c]), c.to(torch.complex128), torch.zeros_like(c), torch.ones_like(c),
        torch.where(c.real > 0, c, z), c[torch.tensor([1, 0])], c.repeat(2, 1), c.sum(0), c.abs(), c.angle(),
        n.clone(), n.contiguous(), n.resolve_neg(), n + 1, n.neg(), n.sum(), n.sort(1).values, n.exp(),
        *c.split(1), *c.unbind(), *c.chunk(2), *n.split(1), c.T, torch.view_as_real(c.resolve_conj()),
        torch.conj_physical(z), torch.equal(c, z.conj_physical()), torch.allclose(c, z), c == z.conj_physical(),
    ]  # fmt: skip
    return [(m, m.is_conj(), m.is_neg()) if isinstance(m, torch.Tensor) else m for m in made]


@program()
def conjugates_that_are_the_tensor_itself(torch: Any) -> Any:
    x, z = torch.ones(2), numbers(torch)
    return [
        x.conj() is x, x.resolve_conj() is x, x.resolve_neg() is x, z.resolve_conj() is z, z.conj().conj() is z,
        torch.conj_physical(x) is x, x.mH.is_conj() if x.ndim > 1 else None, torch.is_conj(z.conj()),
        torch.is_neg(z.conj().imag), z.conj().resolve_neg().is_conj(),
    ]  # fmt: skip


@program()
def conjugates_leave_for_numpy(torch: Any) -> Any:
    c = numbers(torch).conj()
    return [
        attempt("on Tensor that has conjugate bit set", c.numpy),
        attempt("on Tensor that has negative bit set", c.imag.numpy),
        attempt("conjugate bit set", c.__array__),
        c.resolve_conj().numpy(),
        c.numpy(force=True),
        c.imag.resolve_neg().numpy(),
        c.tolist(),
        c[0, 0].item(),
        complex(c[0, 1]),
        f"{c[0, 0]}",
    ]


@program("view_as_real doesn't work on unresolved conjugated tensors")
def a_conjugate_is_no_pair_of_numbers(torch: Any) -> Any:
    return torch.view_as_real(numbers(torch).conj())


@program()
def copies_of_conjugates(torch: Any) -> Any:
    c = numbers(torch).conj()
    copies = [copy.deepcopy(c), copy.copy(c), pickle.loads(pickle.dumps(c))]
    return [(t, t.is_conj()) for t in copies]


# -- writes --------------------------------------------------------------------------------------------------------


@program()
def writes_through_conjugates(torch: Any) -> Any:
    def into(write: Any, of: Any = lambda z: z.conj()) -> Any:
        z = numbers(torch)
        view = of(z)
        write(view)
        return z, view, z._version, view._version

    mask = torch.tensor([[True, False], [False, True]])
    return [
        into(lambda c: c.mul_(2j)),
        into(lambda c: c.add_(1j)),
        into(lambda c: c.zero_()),
        into(lambda c: c.fill_(1 + 1j)),
        into(lambda c: c.copy_(numbers(torch) * 2)),
        into(lambda c: c.copy_(c.clone().conj())),
        into(lambda c: c.__setitem__(0, 5 + 5j)),
        into(lambda c: c.__setitem__((slice(None), 1), numbers(torch)[0])),
        into(lambda c: c.__setitem__(mask, 7j)),
        into(lambda c: c[0].mul_(3j)),
        into(lambda c: c.t_().mul_(2j)),
        into(lambda c: c.imag.fill_(7.0)),
        into(lambda c: c.real.fill_(7.0)),
        into(lambda c: setattr(c, "imag", torch.ones(2, 2))),
        into(lambda c: c.index_fill_(0, torch.tensor([1]), 1j)),
        into(lambda c: c.index_add_(0, torch.tensor([1]), torch.ones(1, 2) * 1j)),
        into(lambda c: c.masked_fill_(mask, 1j)),
        into(lambda c: c.exp_()),
        into(lambda c: c.neg_()),
        into(lambda c: c.fill_diagonal_(1j)),
        into(lambda c: c.addcmul_(c, c, value=1j)),
        into(lambda n: n.mul_(2), lambda z: z.conj().imag),
        into(lambda n: n.sort(), lambda z: z.conj().imag),
        into(lambda n: n.gt_(0), lambda z: z.conj().imag),
        into(lambda n: n.clamp_(0), lambda z: z.conj().imag),
        into(lambda n: n.add_(1j), lambda z: z._neg_view()),
        into(lambda h: h.add_(numbers(torch)), lambda z: z.mH),
        into(lambda h: torch.add(h, 1j, out=h), lambda z: z.mH),
    ]


@program()
def writes_to_the_base_of_a_conjugate(torch: Any) -> Any:
    z = numbers(torch)
    c, n = z.conj(), z.conj().imag
    z.mul_(2j)
    z[0, 0] = 1 - 1j
    return c, n, c._version, n._version


@program()
def history_after_writes_through_a_conjugate(torch: Any) -> Any:
    found = []
    for of in (
        lambda y: y.conj(),
        lambda y: y.mH,
        lambda y: y.conj()[0],
        lambda y: y._neg_view(),
        lambda y: y[0].conj(),
    ):
        x = leaf(torch)
        y = x * 1
        view = of(y)
        view.mul_(3j)
        weights = torch.arange(1.0, 5.0).reshape(2, 2) * (1 + 1j)
        (gradient,) = torch.autograd.grad((y * weights).real.sum(), x, retain_graph=True)
        (through,) = torch.autograd.grad((view * (2 - 1j)).real.sum(), x)
        found.append((y, view, chain(y), chain(view), gradient, through))
    return found


@program()
def history_of_conjugates_whose_base_was_written(torch: Any) -> Any:
    found = []
    for of in (lambda y: y.conj(), lambda y: y.mH, lambda y: y.conj()[1:], lambda y: y._neg_view()):
        x = leaf(torch)
        y = x * 1
        view = of(y)
        y.mul_(x)
        loss = (view * (2 - 1j)).real.sum()
        found.append((view, chain(view), torch.autograd.grad(loss, x)))
    return found


@program()
def gradients_of_parts_of_a_written_conjugate(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    imag = y.conj().imag
    imag.mul_(2)
    (imag * torch.arange(1.0, 5.0).reshape(2, 2)).sum().backward()
    return imag, y, x.grad


@program("modified by an inplace operation")
def a_saved_conjugate_that_was_overwritten(torch: Any) -> Any:
    z, w = numbers(torch), leaf(torch)
    out = (z.conj() * w).abs().sum()
    z.zero_()
    out.backward()


@program("a view of a leaf Variable that requires grad is being used in an in-place operation")
def a_conjugate_of_a_leaf_is_not_written(torch: Any) -> Any:
    leaf(torch).conj().zero_()


@program("is being modified inplace")
def a_conjugate_made_without_recording_is_not_written(torch: Any) -> Any:
    y = leaf(torch) * 1
    with torch.no_grad():
        c = y.conj()
    c.mul_(2)


# -- derivatives ---------------------------------------------------------------------------------------------------


@program()
def gradients_through_conjugates(torch: Any) -> Any:
    found = []
    for f in (
        lambda z: z.mH @ z, lambda z: z.conj() * z, lambda z: z.conj().imag * z.conj().real,
        lambda z: (z @ z.mH).real, lambda z: z.conj()._neg_view() ** 2, lambda z: z.conj().exp(),
        lambda z: z.conj().abs(),
        lambda z: z.conj_physical() * z, lambda z: z.conj().resolve_conj() * z, lambda z: z.conj()[0] * z[1],
    ):  # fmt: skip
        z = leaf(torch)
        out = f(z)
        (first,) = torch.autograd.grad(out.real.sum() + (out * 1j).real.sum(), z, create_graph=True)
        found.append(
            (
                out,
                first.resolve_conj(),
                torch.autograd.grad((first * (1 + 2j)).real.sum(), z, allow_unused=True),
            )
        )
    return found


@program()
def checks_of_gradients_through_conjugates(torch: Any) -> Any:
    z = numbers(torch).to(torch.complex128).requires_grad_()
    check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    functions = [
        lambda z: z.conj() * z,
        lambda z: z.mH @ z,
        lambda z: z.conj().imag ** 2,
        lambda z: z._neg_view() * z,
    ]
    return [(check(f, z, check_forward_ad=True), check_twice(f, z)) for f in functions]


@program()
def a_leaf_that_shows_conjugates(torch: Any) -> Any:
    x = numbers(torch).conj().detach().requires_grad_()
    (x * x).real.sum().backward()
    with torch.no_grad():
        x -= 0.5 * x.grad
    return x, x.is_leaf, x.is_conj(), x.grad, x.grad.is_conj()


@program()
def tangents_of_conjugates(torch: Any) -> Any:
    fw = import_module(f"{torch.__name__}.autograd.forward_ad")
    with fw.dual_level():
        z = fw.make_dual(numbers(torch), numbers(torch) * (2 + 1j))
        outs = [
            z.conj(),
            z.mH,
            z.conj() * z,
            z.conj().imag,
            z.conj().real,
            z._neg_view(),
            z.conj().resolve_conj(),
        ]
        pairs = [fw.unpack_dual(out) for out in outs]
        y = z * 1
        y.conj().mul_(1j)
        pairs.append(fw.unpack_dual(y))
        return [
            (p.primal.resolve_conj().resolve_neg(), p.tangent.resolve_conj().resolve_neg()) for p in pairs
        ]


@program()
def batches_of_conjugates(torch: Any) -> Any:
    func = import_module(f"{torch.__name__}.func")
    z = numbers(torch)
    return [
        func.vmap(lambda a: a.conj().resolve_conj())(z),
        func.vmap(lambda a: a.conj() * a)(z),
        func.vmap(lambda a: a * 2)(z.conj()),
        func.vmap(lambda a, b: a * b, in_dims=(0, None))(z, z.conj()),
        func.vmap(lambda a: a @ z.mH)(z),
        func.vmap(lambda a: a * z.conj())(z),
        func.vmap(func.grad(lambda a: (a.conj() * a).real.sum()))(z),
        func.jvp(lambda a: a.conj() * a, (z,), (z.conj(),)),
        func.vjp(lambda a: a.conj() * 2, z)[1](z.conj())[0].resolve_conj(),
    ]


@program()
def gradients_that_show_conjugates(torch: Any) -> Any:
    x, z = leaf(torch), numbers(torch)
    (x * 2).backward(z.conj())
    first = x.grad.clone()
    x.grad = z.conj()
    (x * 2).backward(z.mH)
    return first, x.grad, torch.autograd.grad(x * 3j, x, z.conj())


@program()
def hooks_that_return_conjugates(torch: Any) -> Any:
    x = leaf(torch)
    x.register_hook(lambda g: g.conj())
    (x * (1 + 2j)).real.sum().backward()
    return x.grad.resolve_conj()


@program()
def saved_conjugates(torch: Any) -> Any:
    seen = []

    def pack(t: Any) -> Any:
        seen.append((t.resolve_conj(), t.is_conj()))
        return t

    x, z = leaf(torch), numbers(torch)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = x * z.conj()
    y.real.sum().backward()
    kept = x * z.conj()
    return seen, x.grad, kept.grad_fn._saved_other, kept.grad_fn._saved_other.is_conj()


@program()
def negatives_by_the_function(torch: Any) -> Any:
    x = torch.ones(2)
    view = torch._neg_view(x)
    view[0] = 5
    return x, view.is_neg(), view.resolve_neg().is_neg()


@program()
def a_conjugate_is_not_viewed_as_a_dtype_not_even_its_own(torch: Any) -> Any:
    z = torch.tensor([1j, 2]).conj()
    return attempt("not supported for conjugate view tensors", z.view, torch.complex64), z.view(2)
