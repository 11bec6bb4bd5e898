"""Modules as functions of their parameters: functional_call, stack_module_state, transforms over modules."""

from __future__ import annotations

import copy
from typing import Any

from .harness import attempt, program
from .nn_models import fill, linear, mlp, ramp


@program()
def other_parameters(torch: Any) -> Any:
    net, x = mlp(torch), ramp(torch, 4, 2)
    params = {n: p.detach().clone().mul(2).requires_grad_() for n, p in net.named_parameters()}
    buffers = {n: b.clone() for n, b in net.named_buffers()}
    call = torch.func.functional_call
    out = call(net, (params, buffers), x)
    out.sum().backward()
    return [
        out,
        {n: p.grad for n, p in params.items()},
        [p.grad for p in net.parameters()],
        buffers,
        dict(net.named_buffers()),
        call(net, {"0.bias": torch.zeros(3)}, (x,)),
        attempt("Unexpected key", lambda: call(net, {"q": x}, x, strict=True)),
        attempt("appeared in multiple", lambda: call(net, (params, params), x)),
    ]


@program()
def gradients_by_a_transform(torch: Any) -> Any:
    net, x = linear(torch, 2, 3), ramp(torch, 4, 2)
    params = {n: p.detach() for n, p in net.named_parameters()}

    def loss(p: Any, x: Any) -> Any:
        return torch.func.functional_call(net, p, x).pow(2).sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)
    return torch.func.grad(loss)(params, x), each


@program()
def ensembles(torch: Any) -> Any:
    nets = [
        fill(torch, torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))).eval()
        for _ in range(3)
    ]
    with torch.no_grad():
        nets[1][0].weight.mul_(2)
        for net in nets:
            net[1].running_var.abs_()
    params, buffers = torch.func.stack_module_state(nets)
    base = copy.deepcopy(nets[0])

    def call(p: Any, b: Any, x: Any) -> Any:
        return torch.func.functional_call(base, (p, b), (x,))

    out = torch.func.vmap(call, in_dims=(0, 0, None))(params, buffers, ramp(torch, 4, 2))
    frozen = linear(torch, 1, 1).requires_grad_(False)
    return [
        {n: tuple(p.shape) for n, p in params.items()},
        [p.requires_grad for p in params.values()],
        [p.is_leaf for p in params.values()],
        {n: tuple(b.shape) for n, b in buffers.items()},
        out.detach(),
        attempt("at least one model", torch.func.stack_module_state, []),
        attempt("same class", torch.func.stack_module_state, [linear(torch, 1, 1), torch.nn.ReLU()]),
        attempt("same .requires_grad", torch.func.stack_module_state, [linear(torch, 1, 1), frozen]),
        attempt("same training/eval mode", torch.func.stack_module_state, [nets[0], linear(torch, 2, 2)]),
    ]


@program()
def tied_weights(torch: Any) -> Any:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(1))
            self.b = self.a

        def forward(self, x: Any) -> Any:
            return self.a * x + self.b

    net, call = Tied(), torch.func.functional_call
    x = torch.tensor([2.0])
    return [
        call(net, {"a": torch.tensor([5.0])}, x),
        call(net, {"a": torch.tensor([5.0])}, x, tie_weights=False),
        attempt("tied|multiple values", lambda: call(net, {"a": x, "b": x + 1}, x)),
    ]


class WithAttribute:
    """What makes a module whose `plain` is a tensor that it has not registered, and whose `note` is none."""

    def __new__(cls, torch: Any) -> Any:
        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = linear(torch, 1, 1)
                self.plain, self.note = torch.ones(1), 0.5
                self.register_buffer("calls", torch.zeros(1))

            def forward(self, x: Any) -> Any:
                self.calls = self.calls + 1
                return self.inner(x) + self.plain

        return Net()


@program()
def attributes_that_are_no_parameters(torch: Any) -> Any:
    net, call, x = WithAttribute(torch), torch.func.functional_call, torch.ones(1, 1)
    given = {"plain": torch.zeros(1), "calls": torch.full((1,), 5.0)}
    found = call(net, given, x)
    unknown = call(net, {"new": torch.ones(1)}, x)
    return found, given["calls"], net.calls, net.plain, unknown, hasattr(net, "new")


@program()
def without_a_bias(torch: Any) -> Any:
    net = linear(torch, 2, 2)
    return torch.func.functional_call(net, {"bias": None}, torch.ones(1, 2)), net.bias


@program()
def names_and_values_that_are_refused(torch: Any) -> Any:
    net, x = WithAttribute(torch), torch.ones(1, 1)
    one = torch.ones(1)
    rows = [
        ("attribute `note`: 0.5 is not an instance of torch.Tensor", {"note": one}),
        ("3 is not an instance of torch.Tensor", {"inner.weight": 3}),
        ("is not an instance of torch.Tensor", {"inner": torch.nn.ReLU()}),
        (
            "submodule `inner.weight`: (?s:.*) is not an instance of torch.nn.Module",
            {"inner.weight.data": one},
        ),
        ("submodule `note`: 0.5 is not an instance of torch.nn.Module", {"note.weight": one}),
        ("Net has no attribute `outer`", {"outer.weight": one}),
        ("be empty string", {"": one}),
    ]
    found = [attempt(phrase, torch.func.functional_call, net, given, x) for phrase, given in rows]
    return found, net(x), net.inner.weight
