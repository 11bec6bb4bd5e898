"""Writes over saved values: `allow_mutation_on_saved_tensors`, versions that are kept, hooks around in-place writes.

PyTorch looks saved values up by the address of their first element, so a write through a view that begins elsewhere
goes unnoticed there and gives wrong gradients; such writes are in tests/autograd/test_mutation.py instead.
"""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .programs_function import VECTOR, custom, leaf, square

OUTSIDE = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"


def allowed(torch: Any) -> Any:
    return torch.autograd.graph.allow_mutation_on_saved_tensors()


@program()
def value_is_that_of_the_save(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        loss = (y**2).sum()
        y.sin_()
        loss.backward()
    return x.grad, y


@program()
def several_writes_and_saves(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        total = y.sum() * 0
        for _ in range(4):
            total = total + (y**2).sum()
            y.mul_(2)
        total.backward()
    return x.grad, y


@program()
def writes_of_every_kind(torch: Any) -> Any:
    def copied(y: Any) -> None:
        y.copy_(torch.zeros(3))

    def assigned(y: Any) -> None:
        y[0] = 5.0

    def all_assigned(y: Any) -> None:
        y[:] = 5.0

    def masked(y: Any) -> None:
        y[y > 1] = 0.0

    def indexed(y: Any) -> None:
        y[torch.tensor([0, 2])] = 7.0

    def augmented(y: Any) -> None:
        y *= 3

    def whole_view(y: Any) -> None:
        y.view(3, 1).add_(1)

    def detached(y: Any) -> None:
        y.detach().add_(1)

    def data(y: Any) -> None:
        y.data.add_(1)

    found = []
    for write in (copied, assigned, all_assigned, masked, indexed, augmented, whole_view, detached, data):
        with allowed(torch):
            x = leaf(torch)
            y = x.clone()
            loss = (y**3).sum()
            write(y)
            loss.backward()
        found.append((x.grad, y))
    return found


@program()
def leaf_written_under_no_grad(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        loss = (x**2).sum()
        with torch.no_grad():
            x.add_(10)
        loss.backward()
    return x.grad, x


@program()
def constant_operand_overwritten(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        c = torch.tensor(VECTOR)
        loss = (x * c).sum()
        c.zero_()
        loss.backward()
    return x.grad, c


@program()
def written_by_out(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        c = torch.tensor(VECTOR)
        loss = (x * c).sum()
        torch.mul(c.clone(), 10, out=c)
        loss.backward()
    return x.grad, c


@program()
def leaf_written_by_out_under_no_grad(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        loss = (x**2).sum()
        refused = attempt("don't support automatic differentiation", torch.mul, x.detach(), 10, out=x)
        with torch.no_grad():
            torch.mul(x, 10, out=x)
        loss.backward()
    return x.grad, x, refused


@program()
def gradient_that_accumulates_was_saved(torch: Any) -> Any:
    with allowed(torch):
        x, w = leaf(torch), leaf(torch)
        (x * 3).sum().backward()
        loss = (w * x.grad).sum()
        (x * 5).sum().backward()
        loss.backward()
    return w.grad, x.grad


@program()
def saved_output_overwritten(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.exp()
        z = y.sum()
        y.zero_()
        z.backward()
    return x.grad, y


@program()
def in_place_ops_that_save(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        y.sin_()
        y.exp_()
        y.mul_(y)
        y.mul_(x)
        y.sqrt_()
        y.zero_()
        y.add_(x)
        y.sum().backward()
    return x.grad, y


@program()
def chain_of_in_place_ops(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        y.sin_()
        y.exp_()
        y.mul_(x)
        y.sum().backward()
    return x.grad, y


@program()
def graph_retained(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        loss = (y**2).sum()
        loss.backward(retain_graph=True)
        y.zero_()
        loss.backward(retain_graph=True)
        y.add_(1)
        loss.backward()
        second = attempt("second time", loss.backward)
    return x.grad, second


@program()
def second_order(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        loss = (y**3).sum()
        y.zero_()
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
    return first, second


@program()
def second_order_through_a_leaf(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        loss = (x**3).sum()
        with torch.no_grad():
            x.zero_()
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
    return first, second


@program()
def saved_by_a_function(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        out = square(torch).apply(y)
        y.zero_()
        out.sum().backward()
    return x.grad, y


@program()
def output_saved_by_a_function(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    with allowed(torch):
        x = leaf(torch)
        out = custom(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
        total = out.sum()
        out.zero_()
        total.backward()
    return x.grad, out


@program()
def written_inside_a_function(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        before = (y**2).sum()
        custom(torch, forward, lambda ctx, g: g * 2).apply(y)
        (before + y.sum()).backward()
    return x.grad, y


@program()
def saved_value_as_an_attribute(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        out = y**2
        y.zero_()
        node = out.grad_fn
        return node._saved_self, node._saved_self is y, node._saved_self._version, y._version


@program()
def copies_are_made_on_demand_and_shared(torch: Any) -> Any:
    found = []
    with allowed(torch) as ctx:
        x = leaf(torch)
        y = x.clone()
        losses = [(y**2).sum(), (y**3).sum(), y.sin().sum()]
        found.append(len(ctx.cloned))
        y.zero_()
        found.append(len(ctx.cloned))
        y.add_(1)
        found.append(len(ctx.cloned))
        sum(losses).backward()
        found.append(len(ctx.cloned))
    return x.grad, found, len(ctx.cloned), len(ctx.original)


@program()
def freed_with_the_graph(torch: Any) -> Any:
    found = []
    with allowed(torch) as ctx:
        x = leaf(torch)
        y = x.clone()
        loss = (y**2).sum()
        y.zero_()
        found.append(len(ctx.cloned))
        del loss
        found.append(len(ctx.cloned))
    return found


@program(phrase=OUTSIDE)
def backward_after_the_block(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        loss = (x**2).sum()
    loss.backward()


@program(phrase=OUTSIDE)
def backward_after_the_block_and_a_write(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        loss = (y**2).sum()
        y.zero_()
    loss.backward()


@program(phrase=OUTSIDE)
def backward_in_another_block(torch: Any) -> Any:
    with allowed(torch):
        x = leaf(torch)
        loss = (x**2).sum()
    with allowed(torch):
        loss.backward()


@program(phrase=OUTSIDE)
def backward_after_clear(torch: Any) -> Any:
    with allowed(torch) as ctx:
        x = leaf(torch)
        loss = (x**2).sum()
        ctx.clear()
        loss.backward()


@program()
def new_graph_after_clear(torch: Any) -> Any:
    with allowed(torch) as ctx:
        x = leaf(torch)
        (x**2).sum()
        ctx.clear()
        y = x.clone()
        loss = (y**2).sum()
        y.zero_()
        loss.backward()
    return x.grad


@program(phrase="allow_mutation_on_saved_tensors contexts cannot be nested")
def nested_blocks(torch: Any) -> Any:
    with allowed(torch), allowed(torch):
        pass


@program()
def blocks_after_errors(torch: Any) -> Any:
    def failing() -> None:
        with allowed(torch):
            raise KeyError("inside")

    def nested() -> None:
        with allowed(torch), allowed(torch):
            pass

    found = [attempt("inside", failing), attempt("nested", nested)]
    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        loss = (y**2).sum()
        y.zero_()
        loss.backward()
    return found, x.grad


@program(phrase="modified by an inplace operation")
def saved_before_the_block(torch: Any) -> Any:
    x = leaf(torch)
    y = x.clone()
    loss = (y**2).sum()
    with allowed(torch):
        y.zero_()
        loss.backward()


@program(phrase="modified by an inplace operation")
def rules_after_the_block(torch: Any) -> Any:
    with allowed(torch):
        pass
    x = leaf(torch)
    y = x.clone()
    loss = (y**2).sum()
    y.zero_()
    loss.backward()


@program(phrase="a leaf Variable that requires grad is being used in an in-place operation")
def leaves_stay_protected(torch: Any) -> Any:
    with allowed(torch):
        leaf(torch).zero_()


@program()
def as_a_decorator(torch: Any) -> Any:
    @allowed(torch)
    def gradient(x: Any) -> Any:
        y = x.clone()
        loss = (y**2).sum()
        y.zero_()
        return torch.autograd.grad(loss, x)[0]

    return gradient(leaf(torch)), gradient(leaf(torch))


@program()
def other_hooks_inside(torch: Any) -> Any:
    seen: list[str] = []

    def pack(t: Any) -> Any:
        seen.append("pack")
        return t

    with allowed(torch):
        x = leaf(torch)
        y = x.clone()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            first = (y**2).sum()
        second = (y**2).sum()
        y.zero_()
        (second + 0 * first).backward()
    return x.grad, seen


@program()
def hooks_cannot_be_disabled_inside(torch: Any) -> Any:
    def inside() -> None:
        with allowed(torch), torch.autograd.graph.disable_saved_tensors_hooks("not here"):
            pass

    def around() -> None:
        with torch.autograd.graph.disable_saved_tensors_hooks("not here"), allowed(torch):
            pass

    return attempt("not here", inside), attempt("not here", around)


# -- hooks around in-place writes --------------------------------------------------------------------------------------


@program()
def hooks_on_an_in_place_op_that_saves_its_input(torch: Any) -> Any:
    kept: list[Any] = []

    def pack(t: Any) -> int:
        kept.append(t)
        return len(kept) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, kept.__getitem__):
        x = leaf(torch)
        y = x.clone()
        y.sin_()
        y.cos_()
        y.sum().backward()
    return x.grad, len(kept), [t.detach() for t in kept]


@program()
def hooks_on_an_in_place_op_that_saves_its_output(torch: Any) -> Any:
    seen: list[str] = []

    def pack(t: Any) -> Any:
        seen.append("pack")
        return t.detach().clone()

    def unpack(t: Any) -> Any:
        seen.append("unpack")
        return t * 10

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        x = leaf(torch)
        y = x.clone()
        y.exp_()
        y.sum().backward()
    return x.grad, seen


@program()
def second_order_of_a_leaf_that_a_function_saved_through_hooks(torch: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        x = leaf(torch)
        out = square(torch).apply(x)
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first, second


# -- versions that are kept --------------------------------------------------------------------------------------------


@program()
def version_is_preserved(torch: Any) -> Any:
    x = leaf(torch)
    y = x.clone()
    loss = (y**2).sum()
    with torch.autograd._unsafe_preserve_version_counter(y) as entered:
        y.mul_(2)
        inside = y._version
    loss.backward()
    return x.grad, inside, y._version, y, entered


@program()
def versions_of_several(torch: Any) -> Any:
    a, b, c = (torch.ones(2) for _ in range(3))
    a.add_(1)
    with torch.autograd._unsafe_preserve_version_counter((a, b)):
        for t in (a, b, c):
            t.add_(1)
    return a._version, b._version, c._version


@program()
def version_of_a_view_is_that_of_its_base(torch: Any) -> Any:
    a = torch.ones(2, 2)
    with torch.autograd._unsafe_preserve_version_counter(a[0]):
        a.mul_(2)
        a[1].mul_(2)
    return a._version, a[1]._version


@program()
def version_after_an_error(torch: Any) -> Any:
    a = torch.ones(2)

    def failing() -> None:
        with torch.autograd._unsafe_preserve_version_counter(a):
            a.add_(1)
            raise KeyError("inside")

    return attempt("inside", failing), a._version


@program()
def versions_that_cannot_be_kept(torch: Any) -> Any:
    with torch.inference_mode():
        a = torch.ones(2)
    preserve = torch.autograd._unsafe_preserve_version_counter
    return (
        attempt("Expected tensors to be a tuple", preserve, [torch.ones(2)]),
        attempt("Expected tensors to be a tuple", preserve, 3),
        attempt("Inference tensors do not track version counter", preserve, a),
    )


@program()
def view_is_not_renewed_when_its_version_is_kept(torch: Any) -> Any:
    x = leaf(torch)
    y = x.clone()
    v = y[1:]
    with torch.autograd._unsafe_preserve_version_counter(y):
        y.mul_(2)
    return v.grad_fn, v.detach().clone()


@program()
def saved_samples_of_a_batch_may_be_overwritten(torch: Any) -> Any:
    def write(a: Any) -> Any:
        b = a.sin()
        c = b * b
        b.zero_()
        return c

    found = []
    for function in (lambda a: a * torch.ones_like(a), lambda a: a.exp() * a, write):
        x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            y = torch.func.vmap(function)(x)
            y.sum().backward()
        found.append((y.detach(), x.grad))
    return found
