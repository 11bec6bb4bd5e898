"""Saved values as people look at them: `_saved_self`, `_raw_saved_self`, and what may be done with a SavedTensor."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def a_saved_operand_is_the_object_that_was_given(torch: Any) -> Any:
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2)
    c = a * 2
    found = []
    node = (a * b).grad_fn
    found.append((node._saved_other is b, node._saved_self))
    node = (c * a).grad_fn
    found.append((node._saved_self is c, node._saved_other is a))
    node = (c * b).grad_fn
    found.append((node._saved_self, node._saved_other is b))
    node = torch.mm(a.reshape(1, 2), torch.ones(2, 1)).grad_fn
    found.append((node._saved_self, node._saved_mat2))
    node = c.sin().grad_fn
    found.append(node._saved_self is c)
    out = c.exp()
    found.append((out.grad_fn._saved_result is out, out.grad_fn._saved_result.grad_fn is out.grad_fn))
    return found


@program()
def a_saved_operand_whose_tensor_is_gone(torch: Any) -> Any:
    a = torch.ones(2, requires_grad=True)
    node = (a * torch.tensor([2.0, 3.0])).grad_fn
    first, second = node._saved_other, node._saved_other
    return first, first.requires_grad, second is first


@program()
def what_an_unpack_hook_returns_is_handed_through(torch: Any) -> Any:
    kept: list[Any] = []

    def unpack(x: Any) -> Any:
        kept.append(x.clone())
        return kept[-1]

    a = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        y = a.sin()
        z = a * torch.ones(2)
    first = y.grad_fn._saved_self
    second = z.grad_fn._saved_other
    return first is kept[0], second is kept[-1], len(kept)


@program()
def an_unpack_hook_in_a_custom_function(torch: Any) -> Any:
    kept: list[Any] = []
    seen: list[Any] = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            seen.append(x)
            return 2 * g * x

    def unpack(x: Any) -> Any:
        kept.append(x.clone())
        return kept[-1]

    a = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        y = Square.apply(a)
    y.sum().backward()
    return seen[0] is kept[0], a.grad


@program()
def fields_of_a_saved_tensor(torch: Any) -> Any:
    a = torch.ones(2, requires_grad=True)
    raw = (a * a).grad_fn._raw_saved_self
    before = raw.unpack_hook, raw.data is a
    raw.register_hooks(lambda x: (x, "packed"), lambda p: p[0] * 2)
    return before, raw.data[1], raw.unpack_hook(raw.data)


@program()
def a_saved_none(torch: Any) -> Any:
    a = torch.ones(2, 3, requires_grad=True)

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    y = Two.apply(a)
    raw = y.grad_fn._raw_saved_tensors[1]
    x = torch.ones(1, 2, 3, requires_grad=True)
    norm = torch.nn.functional.layer_norm(x, (3,)).grad_fn
    words = "None is forbidden|not a valid|saved value|undefined"
    return [
        attempt(words, raw.register_hooks, lambda x: x, lambda x: x),
        y.grad_fn.saved_tensors,
        attempt(words, norm._raw_saved_weight.register_hooks, lambda x: x, lambda x: x),
        norm._saved_weight,
    ]


@program()
def saved_tensors_that_cannot_take_hooks(torch: Any) -> Any:
    a = torch.ones(2, requires_grad=True)
    y = a * a
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda x: x, lambda x: x)
    twice = attempt(
        "register_hooks on a saved tensor whose hooks have already been set",
        raw.register_hooks,
        lambda x: x,
        lambda x: x,
    )
    z = a * a
    late = z.grad_fn._raw_saved_self
    z.sum().backward()
    freed = attempt("", late.register_hooks, lambda x: x, lambda x: x)
    w = a * a
    wrong = attempt(
        "incompatible function arguments|must be|callable", w.grad_fn._raw_saved_self.register_hooks, 1, 2
    )
    return twice, freed, wrong


@program()
def making_a_saved_tensor_by_hand(torch: Any) -> Any:
    return attempt("No constructor defined|cannot be|create", type_of(torch))


def type_of(torch: Any) -> Any:
    """The class of saved tensors."""
    a = torch.ones(2, requires_grad=True)
    return type((a * a).grad_fn._raw_saved_self)


@program()
def a_leaf_that_was_detached_in_place_after_saving(torch: Any) -> Any:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = a * a, a.sin()
    a.detach_()
    found = a.requires_grad, y.grad_fn._saved_self, z.grad_fn._saved_self
    (y.sum() + z.sum()).backward()
    return found, a.grad


@program()
def what_pack_hooks_get(torch: Any) -> Any:
    seen: list[Any] = []
    a = torch.ones(2, requires_grad=True)
    b, c = a * 2, torch.ones(2)

    def pack(t: Any) -> Any:
        seen.append((t.requires_grad, t.grad_fn is None, t is a, t is b, t is c))
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = a.sin() * b.cos() + b.exp() * c
    z = b * c
    z.grad_fn._raw_saved_other.register_hooks(pack, lambda t: t)
    w = b * a
    w.grad_fn._raw_saved_other.register_hooks(pack, lambda t: t)
    (y + z + w).sum().backward()
    return seen, a.grad


@program("has been detached in-place")
def an_operand_that_is_detached_in_place(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True).clone()
    y = x.sin()
    x.detach_()
    y.sum().backward()


@program()
def an_operand_of_a_function_that_is_detached_in_place(torch: Any) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    x = torch.ones(2, requires_grad=True).clone()
    y = Square.apply(x)
    x.detach_()
    y.sum().backward()
    return x.requires_grad


@program()
def a_result_that_is_detached_in_place(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    z = y + 1
    y.detach_()
    z.sum().backward()
    before = y._version
    y.add_(1)
    return x.grad, before, y._version, y.requires_grad


@program("modified by an inplace operation")
def a_result_that_is_detached_and_written(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True).exp()
    z = y + 1
    y.detach_()
    y.add_(1)
    z.sum().backward()


@program()
def views_of_what_is_detached_in_place(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    view = y[:1]
    y.detach_()
    (view * 3).sum().backward()
    return x.grad, view.grad_fn, y.grad_fn, view._version


@program()
def a_state_that_is_detached_in_every_turn(torch: Any) -> Any:
    w, state, grads = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0), []
    for _ in range(3):
        state = torch.tanh(w * state)
        (grad,) = torch.autograd.grad(state, w)
        grads.append(grad)
        state.detach_()
    return grads, state, state._version


@program()
def saved_whole_numbers_are_shown_unsigned(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    logs, targets = torch.ones(2, 3, requires_grad=True), torch.tensor([0, 1])
    nodes = (
        x.tril(-1).grad_fn,
        x.diagonal(-1).grad_fn,
        x[-1].grad_fn,
        x.roll(-1).grad_fn,
        x.rot90(-1).grad_fn,
        torch.nn.functional.pad(x, (-1, 1)).grad_fn,
        torch.nn.functional.nll_loss(logs, targets).grad_fn,
        torch.nn.functional.embedding(targets, x).grad_fn,
    )
    names = ("diagonal", "offset", "index", "shifts", "k", "pad", "ignore_index", "padding_idx")
    clamped = x.clamp(-1, 2).grad_fn
    values = [getattr(node, f"_saved_{name}") for node, name in zip(nodes, names, strict=True)]
    return values, clamped._saved_min, (x**-1).grad_fn._saved_exponent
