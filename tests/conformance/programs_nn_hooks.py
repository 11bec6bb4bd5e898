"""Hooks of modules: before and after forward, in backward, on registration, of all modules."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .nn_models import linear, ramp


@program()
def forward_hooks_in_their_order(torch: Any) -> Any:
    net, seen = linear(torch, 2, 2), []
    net.register_forward_pre_hook(lambda m, args: seen.append(("pre", m is net, args[0])))
    net.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    net.register_forward_pre_hook(lambda m, args: args[0] + 1)
    net.register_forward_pre_hook(lambda m, args: seen.append("first"), prepend=True)
    net.register_forward_hook(lambda m, args, out: seen.append(("post", args[0], out)))
    handle = net.register_forward_hook(lambda m, args, out: out * 10)
    out = net(ramp(torch, 1, 2))
    handle.remove()
    return seen, out, net(ramp(torch, 1, 2))


@program()
def hooks_with_keyword_arguments(torch: Any) -> Any:
    class Scaled(torch.nn.Module):
        def forward(self, x: Any, *, scale: float = 1.0) -> Any:
            return x * scale

    net, seen = Scaled(), []
    net.register_forward_pre_hook(lambda m, args, kw: (args, {"scale": kw["scale"] + 1}), with_kwargs=True)
    net.register_forward_hook(lambda m, args, kw, out: seen.append((dict(kw), out)), with_kwargs=True)
    out = net(torch.ones(1), scale=2.0)
    net.register_forward_pre_hook(lambda m, args, kw: 5, with_kwargs=True)
    return seen, out, attempt("must return None or a tuple", net, torch.ones(1), scale=2.0)


@program(warns="always_call=True")
def hooks_that_are_always_called(torch: Any) -> Any:
    class Fails(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("forward fails")

    net, seen = Fails(), []
    net.register_forward_hook(lambda m, args, out: seen.append("never"))
    net.register_forward_hook(lambda m, args, out: seen.append(("always", out)), always_call=True)

    def raises(m: Any, args: Any, out: Any) -> None:
        raise TypeError("hook fails")

    net.register_forward_hook(raises, always_call=True)
    return attempt("forward fails", net, torch.ones(1)), seen


@program()
def full_backward_hooks(torch: Any) -> Any:
    net, seen = torch.nn.Bilinear(2, 2, 2), []
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(0.5)
    net.register_full_backward_pre_hook(lambda m, grads: seen.append(("pre", grads)))
    net.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 2,))
    net.register_full_backward_hook(lambda m, gi, go: seen.append(("post", gi, go)))
    net.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10, None))
    net.register_full_backward_hook(lambda m, gi, go: seen.append(("last", gi)))
    x, y = ramp(torch, 1, 2, requires_grad=True), ramp(torch, 1, 2)
    out = net(x, y)
    out.sum().backward()
    return seen, out.grad_fn, x.grad, y.grad, net.weight.grad


@program(warns="no inputs require gradients")
def backward_hooks_without_inputs_that_want_gradients(torch: Any) -> Any:
    net, seen = linear(torch, 2, 2), []
    handle = net.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    net(ramp(torch, 1, 2)).sum().backward()
    handle.remove()
    net.register_full_backward_hook(lambda m, gi, go: (go[0],))
    return seen, attempt("no input requires gradient", net(ramp(torch, 1, 2)).sum().backward), net.weight.grad


@program()
def backward_hooks_that_return_too_much(torch: Any) -> Any:
    net, other = linear(torch, 2, 2), linear(torch, 2, 2)
    net.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    other.register_full_backward_pre_hook(lambda m, go: (go[0], go[0]))
    x = ramp(torch, 1, 2, requires_grad=True)
    return [
        attempt("invalid number of grad_input, got 2, but expected 1", net(x).sum().backward),
        attempt("invalid number of grad_output, got 2, but expected 1", other(x).sum().backward),
        attempt("both regular backward hooks and full", net.register_backward_hook, print),
    ]


@program()
def backward_hooks_of_several_outputs(torch: Any) -> Any:
    class Two(torch.nn.Module):
        def forward(self, x: Any, n: int) -> Any:
            return x * 2, n, x + 1

    net, seen = Two(), []
    net.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    x = ramp(torch, 2, requires_grad=True)
    a, _, b = net(x, 3)
    (a.sum() + (b * 3).sum()).backward()
    a, _, b = net(x, 3)
    b.sum().backward()
    return seen, x.grad, a.grad_fn


@program()
def an_output_behind_a_hook_is_a_view(torch: Any) -> Any:
    net = linear(torch, 2, 2)
    net.register_full_backward_hook(lambda m, gi, go: None)
    out = net(ramp(torch, 1, 2, requires_grad=True))
    return attempt("is a view and is being modified inplace", out.add_, 1)


@program()
def hooks_of_the_last_operation(torch: Any) -> Any:
    net, seen = torch.nn.ReLU(), []
    net.register_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    net(x * 1).sum().backward()
    return seen, x.grad


@program()
def hooks_of_all_modules(torch: Any) -> Any:
    from_all = torch.nn.modules.module
    net, seen = torch.nn.Sequential(linear(torch, 2, 2), torch.nn.Tanh()), []
    handles = [
        from_all.register_module_forward_pre_hook(lambda m, args: seen.append(("pre", type(m)))),
        from_all.register_module_forward_hook(lambda m, args, out: seen.append(("post", type(m)))),
        from_all.register_module_full_backward_pre_hook(lambda m, go: seen.append(("bpre", type(m)))),
        from_all.register_module_full_backward_hook(lambda m, gi, go: seen.append(("bpost", type(m)))),
    ]
    net[0].register_forward_hook(lambda m, args, out: seen.append("own"))
    net(ramp(torch, 1, 2, requires_grad=True)).sum().backward()
    for handle in handles:
        handle.remove()
    net(ramp(torch, 1, 2))
    return seen


@program()
def hooks_on_registration(torch: Any) -> Any:
    from_all, seen = torch.nn.modules.module, []
    handles = [
        from_all.register_module_parameter_registration_hook(lambda m, name, p: seen.append(("p", name))),
        from_all.register_module_buffer_registration_hook(lambda m, name, b: seen.append(("b", name))),
        from_all.register_module_module_registration_hook(lambda m, name, s: seen.append(("m", name))),
        from_all.register_module_module_registration_hook(
            lambda m, name, s: torch.nn.Tanh() if name == "swap" else None
        ),
    ]
    net = torch.nn.BatchNorm1d(2)
    net.swap = torch.nn.ReLU()
    net.add_module("other", torch.nn.ReLU())
    for handle in handles:
        handle.remove()
    net.late = torch.nn.ReLU()
    return seen, type(net.swap), type(net.late)


@program()
def a_handle_in_a_with_block(torch: Any) -> Any:
    net, seen = linear(torch, 1, 1), []
    with net.register_forward_hook(lambda m, args, out: seen.append(1)):
        net(torch.ones(1))
    net(torch.ones(1))
    return len(seen)


@program(warns="non-full backward hook")
def hooks_that_do_not_see_everything(torch: Any) -> Any:
    class Steps(torch.nn.Module):
        def forward(self, x: Any, kind: Any = None) -> Any:
            return x * 2 + 1 if kind is None else [x * 2] if kind == "list" else (x * 2, x * 3)

    net, seen = Steps(), []
    net.register_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    for kind in (None, "list", "both"):
        out = net(ramp(torch, 2, requires_grad=True) * 1, *([kind] if kind else []))
        (out if kind is None else out[0]).sum().backward()
    return seen


@program(warns="module output should be a Tensor or a tuple of Tensors but received <class 'dict'>")
def full_backward_hooks_of_a_module_that_returns_a_dict(torch: Any) -> Any:
    class Named(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return {"a": x * 2}

    log: list[Any] = []
    module = Named()
    module.register_full_backward_hook(lambda _, gi, go: log.append((len(gi), len(go))))
    x = torch.ones(2, requires_grad=True)
    module(x)["a"].sum().backward()
    return log, x.grad


@program()
def module_hooks_among_those_of_nodes(torch: Any) -> Any:
    order: list[str] = []

    def note(name: str) -> Any:
        return lambda *_: order.append(name)

    model = torch.nn.Linear(2, 2)
    model.register_full_backward_pre_hook(note("module, before"))
    model.register_full_backward_hook(note("module, after"))
    x = torch.ones(1, 2, requires_grad=True)
    y = model(x)
    y.grad_fn.register_prehook(note("node, before"))
    y.grad_fn.register_hook(note("node, after"))
    y.register_hook(note("result"))
    x.register_hook(note("argument"))
    y.sum().backward()
    return order
