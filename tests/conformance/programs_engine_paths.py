"""Which nodes run, which hooks are called and in what order, where only a part of a graph is wanted."""

from __future__ import annotations

import copy
import weakref
from typing import Any

from .harness import attempt, program


@program()
def a_write_through_a_view_above_a_node_that_raises(torch: Any) -> Any:
    def alone(x: Any, y: Any) -> Any:
        out = x.clone().view(-1)
        out += y
        return out

    def used_before(x: Any, y: Any) -> Any:
        out = x.clone().view(-1)
        before = out * 2
        out += y
        return out + before

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    trap = torch._C._functions.DelayedError("Boom!", 1)(y)
    seen = []
    for function in (alone, used_before):
        seen.append(attempt("Boom!", function(x, trap).sum().backward))
        seen.append(attempt("Boom!", torch.autograd.grad, function(x, trap).sum(), y))
        seen.append(torch.autograd.grad(function(x, trap).sum(), x))
        seen.append(torch.autograd.grad(function(x, trap).sum(), [trap, x]))
        seen.append(attempt("Boom!", torch.autograd.grad, function(x, trap).sum(), [trap, x, y]))
    return seen


@program()
def hooks_where_only_some_gradients_are_wanted(torch: Any) -> Any:
    a = torch.tensor(1.0, requires_grad=True)
    b = a * 2
    c = b * 2
    log: list[str] = []

    def noting(word: str) -> Any:
        return lambda *_: log.append(word)

    a.register_hook(noting("a"))
    b.register_hook(noting("b"))
    a.register_post_accumulate_grad_hook(noting("accumulated"))
    b.grad_fn.next_functions[0][0].register_prehook(noting("before a"))
    b.grad_fn.register_prehook(noting("before b"))
    seen = []
    for call in (
        lambda: torch.autograd.grad(c, inputs=(b,), retain_graph=True),
        lambda: torch.autograd.grad(c, inputs=(a, b), retain_graph=True),
        lambda: c.backward(retain_graph=True),
        lambda: c.backward(inputs=(a, b), retain_graph=True),
        lambda: c.backward(inputs=(b,), retain_graph=True),
    ):
        call()
        seen.append(list(log))
        log.clear()
    return seen, b.grad


@program()
def a_leaf_asked_about_while_gradients_are_handed_out(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    seen: list[Any] = []

    def asked(y: Any) -> Any:
        leaf = y.grad_fn.next_functions[0][0]
        words = r"currently running autograd.grad\(\)"
        y.register_hook(
            lambda _: seen.append(attempt(words, torch._C._will_engine_execute_node, leaf)) and None
        )
        return y

    asked(x.clone()).sum().backward()
    torch.autograd.grad(asked(x.clone()).sum(), x)
    return seen


@program()
def what_a_post_accumulate_hook_returns(torch: Any) -> Any:
    seen = []
    for value in (5, "a", True, (torch.ones(3),), {}, torch.ones(3), None):
        x = torch.ones(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda _, value=value: value)
        words = "should return None" if isinstance(value, torch.Tensor) else "but hook returned"
        seen.append(attempt(words, x.sum().backward))
    return seen


@program()
def a_backward_inside_of_a_backward_goes_first(torch: Any) -> Any:
    order: list[str] = []

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            order.append("plain")
            return g

    class Deeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            order.append("deeper")
            if ctx.x >= 0:
                with torch.enable_grad():
                    Deeper.apply(ctx.x).backward()
            return g

    a = Plain.apply(torch.tensor(6.0, requires_grad=True))
    b = Deeper.apply(torch.tensor(9.0, requires_grad=True))
    (a * b).backward()
    return order


@program()
def what_a_node_is_not(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def change(name: str, value: Any) -> None:
        setattr(y, name, value)

    seen = [
        attempt("cannot pickle 'MulBackward0' object", copy.deepcopy, y.grad_fn),
        attempt("_grad_fn can be only set to None", change, "_grad_fn", 3),
        attempt("Deletion of _grad_fn not allowed", delattr, y, "_grad_fn"),
        y._grad_fn,
    ]
    y._grad_fn = None
    return seen, y, attempt("Can't detach views in-place", setattr, (x * 2)[0], "_grad_fn", None)


@program()
def versions_that_cannot_be(torch: Any) -> Any:
    x = torch.ones(2)
    to = torch._C._autograd._unsafe_set_version_counter
    to((x,), (5,))
    return [
        x._version,
        attempt("Cannot set a version_counter to a value below 0: -1", to, (x,), (-1,)),
        attempt(
            "expects each element of the iterable to be a tensor", torch.autograd.graph.increment_version, [3]
        ),
        x._version,
    ]


@program()
def the_same_view_of_another_base(torch: Any) -> Any:
    def again(view_of: Any, base: Any, other: Any) -> Any:
        base = base.clone()
        found = view_of(base)._view_func(other)
        return (
            None if found is None else (found, found.stride(), found.storage_offset(), found._base is other)
        )

    base, other = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(2, 3) * 10
    numbers = torch.view_as_complex(torch.arange(12.0).view(2, 3, 2)).requires_grad_()
    seen: list[Any] = []
    for view_of in (
        lambda b: b[0], lambda b: b.t(), lambda b: b[:, 1:2], lambda b: b.view(3, 2), lambda b: b.unbind()[1],
        lambda b: b.expand(2, 2, 3), lambda b: b.diagonal(), lambda b: b.unfold(1, 2, 1),
    ):  # fmt: skip
        seen.append(again(view_of, base, other))
        seen.append(again(view_of, base, (other.clone().requires_grad_() * 2))[0])
    for view_of in (
        lambda z: z.real, lambda z: z.imag, lambda z: torch.view_as_real(z)[0], lambda z: z.conj()[0],
        lambda z: z.conj().imag,
    ):  # fmt: skip
        seen.append(again(view_of, numbers, (numbers * 2))[0])
    for elsewhere in (torch.ones(1), torch.ones(3, 2), torch.ones(3, 2).t(), torch.ones(12)[::2].view(2, 3)):
        seen.append(again(lambda b: b[0], base, elsewhere))
    unsafe = base.clone()[0]._view_func_unsafe(torch.ones(3, 2))
    return seen, unsafe, base._view_func(base), attempt("must be Tensor, not int", base[0]._view_func, 3)


@program()
def several_views_of_one_custom_function(torch: Any) -> Any:
    class Views(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, count: int) -> Any:
            return (a.view_as(a), b * 2, b.argmax(), b.view_as(b))[:count]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0], grads[0], None

    seen = []
    for count, words in ((1, "inside a custom Function"), (2, "multiple views"), (4, "multiple views")):
        a, b = (torch.ones(2, 2, requires_grad=True).clone() for _ in range(2))
        for out in Views.apply(a, b, count):
            if out.dtype.is_floating_point:
                seen.append(attempt(words, out.add_, 1))
    return seen


@program()
def values_that_a_block_of_mutation_knows(torch: Any) -> Any:
    def counts(block: Any) -> list[int]:
        return [len(list(table.items())) for table in (block.cloned, block.original, block.tid_to_weakhandle)]

    x = torch.ones(2, 2, requires_grad=True)
    seen = []
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as block:
        a = x.clone()
        y = a.sin()
        seen.append(counts(block))
        a.mul_(3)
        seen.append(counts(block))
        z = a.cos()
        row = a[0]
        w = row.exp()
        seen.append(counts(block))
        a.mul_(2)
        seen.append(counts(block))
        (y.sum() + z.sum() + w.sum()).backward()
    return seen, counts(block), x.grad


@program()
def graphs_and_objects_end_with_their_results(torch: Any) -> Any:
    class Thing:
        pass

    refs: list[Any] = []

    class Holding(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.thing = Thing()
            refs.append(weakref.ref(ctx.thing))
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = torch.ones(2, requires_grad=True)
    y = Holding.apply(x)
    z = y * 2
    del y
    seen = [refs[0]() is None]
    del z
    seen.append(refs[0]() is None)
    leaf = torch.ones(2, requires_grad=True)
    ref = weakref.ref(leaf)
    loss = (leaf * 2).sum()
    del leaf
    loss.backward()
    seen.append(ref() is None)
    return seen, loss.grad_fn.next_functions[0][0].next_functions[0][0].variable.grad
