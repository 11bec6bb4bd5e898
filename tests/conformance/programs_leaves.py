"""What a leaf goes through between two backwards: other memory, other data, no elements at all."""

from __future__ import annotations

import copy
from typing import Any

from .harness import attempt, program


@program()
def a_leaf_that_is_set_to_a_part_of_itself(torch: Any) -> Any:
    p = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    found, graphs = [], []
    for _ in range(3):
        graphs.append(p * p)
        graphs[-1].sum().backward()
        found.append((p.grad.clone(), p.is_leaf))
        p.grad = None
        with torch.no_grad():
            p.set_(p[1:])
    return found


@program()
def a_graph_from_before_the_leaf_was_set(torch: Any) -> Any:
    p = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = p * 3
    with torch.no_grad():
        p.set_(torch.zeros(2))
    y.sum().backward()
    return p.grad


@program()
def hooks_of_a_leaf_that_was_set(torch: Any) -> Any:
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    seen: list[Any] = []
    p.register_hook(lambda g: g * 2)
    p.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    with torch.no_grad():
        p.set_(torch.zeros(3))
    (p * 2).sum().backward()
    return p.grad, seen


@program()
def a_gradient_of_another_size(torch: Any) -> Any:
    def run(shape: Any) -> Any:
        p = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        (p * 2).sum().backward()
        p.data = torch.zeros(shape)
        (p * p).sum().backward()
        return p.grad

    return [
        attempt(r"size of tensor a \(4\) must match the size of tensor b \(2\)", run, (2,)),
        attempt(r"output with shape \[4\] doesn't match the broadcast shape \[4, 4\]", run, (4, 1)),
        run((1,)),
    ]


@program()
def writes_into_no_elements(torch: Any) -> Any:
    found = []
    for part in (lambda y: y[:, ::2], lambda y: y.t()[::2], lambda y: y[::2], lambda y: y.expand(4, 0, 3)):
        x = torch.zeros(0, 3, requires_grad=True)
        y = x.clone()
        part(y).mul_(2)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        found.append((g.shape, torch.autograd.grad(g.sum(), x)))
    return found


@program(phrase="leaf variable has been moved into the graph interior")
def a_leaf_that_is_one_no_more(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True)
    a = y * 3
    y.requires_grad_(False)
    y.mul_(torch.ones(2, requires_grad=True))
    a.sum().backward()


@program()
def deep_copies_share_what_the_originals_share(torch: Any) -> Any:
    a = torch.arange(6.0).reshape(2, 3)
    p = torch.zeros(4, requires_grad=True)
    p.grad = torch.ones(4)
    whole = {
        "a": a,
        "row": a[1],
        "turned": a.t(),
        "again": a,
        "wide": a[:1].expand(2, 3),
        "p": p,
        "v": p.detach()[1:3],
    }
    made = copy.deepcopy(whole)
    made["a"][1, 1] = 9
    made["v"].fill_(7)
    return (
        made,
        [(t.stride(), t.storage_offset()) for t in made.values()],
        made["again"] is made["a"],
        made["p"].grad is not p.grad,
        a,
        attempt("more than one element", made["wide"].mul_, 2),
    )
