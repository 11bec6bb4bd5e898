"""Corners of grad, of nodes called by hand, of hooks and of anomaly mode."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

from .harness import attempt, program


@program()
def zeros_for_edges_and_tensors(torch: Any) -> Any:
    edge_of = torch.autograd.graph.get_gradient_edge
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    z = (x * 2).sum()
    words = "materialize_grads cannot be used when the given input is a GradientEdge"
    return [
        attempt(
            words,
            torch.autograd.grad,
            z,
            (edge_of(x), y),
            allow_unused=True,
            materialize_grads=True,
            retain_graph=True,
        ),
        attempt(
            words,
            torch.autograd.grad,
            z,
            (y, edge_of(x)),
            allow_unused=True,
            materialize_grads=True,
            retain_graph=True,
        ),
        attempt(
            words,
            torch.autograd.grad,
            z,
            (edge_of(y), x),
            allow_unused=True,
            materialize_grads=True,
            retain_graph=True,
        ),
        torch.autograd.grad(z, (edge_of(x), y), allow_unused=True, retain_graph=True),
    ]


@program()
def nodes_called_with_too_few_and_too_many(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    g = torch.ones(2)
    y = x * 2
    parts = x.split(1)

    return [
        attempt("expected 1 arguments? *,? *(but )?got 2|expected 1", y.grad_fn, g, g),
        attempt("expected 1", y.grad_fn),
        attempt("expected 2", parts[0].grad_fn, torch.ones(1)),
        y.grad_fn(g),
        parts[0].grad_fn(torch.ones(1), None),
        attempt("", y.grad_fn, 1),
    ]


@program(warns="Anomaly")
def warnings_as_errors_in_anomaly_mode(torch: Any) -> Any:
    x = torch.tensor([0.0], requires_grad=True)

    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("the real one")

    with torch.autograd.detect_anomaly():
        y = Bad.apply(x).sum()
        z = (x / x).sqrt().sum()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = attempt("the real one", y.backward), attempt("returned nan values", z.backward)
    return found


@program()
def weak_references_to_public_objects(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * x
    objects = {
        "saved_tensors_hooks": torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        "save_on_cpu": torch.autograd.graph.save_on_cpu(),
        "Generator": torch.Generator(),
        "SavedTensor": y.grad_fn._raw_saved_self,
        "no_grad": torch.no_grad(),
        "enable_grad": torch.enable_grad(),
        "inference_mode": torch.inference_mode(),
        "set_grad_enabled": torch.set_grad_enabled(True),
        "Tensor": y,
        "handle": x.register_hook(lambda g: None),
        "Function": torch.autograd.Function,
        "edge": type(torch.autograd.graph.get_gradient_edge(y)),
    }
    return {name: weakref.ref(o)() is o for name, o in objects.items()}


@program()
def deleting_attributes(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)

    def drop(name: str) -> Any:
        return lambda: delattr(x, name)

    x.grad = torch.ones(2)
    del x.grad
    return [
        x.grad,
        attempt("Deleting tensor data is not allowed", drop("data")),
        attempt("", drop("shape")),
        attempt("", drop("dtype")),
        attempt("", drop("grad_fn")),
        attempt("", drop("nothing")),
    ]


@program()
def what_dir_lists_is_there(torch: Any) -> Any:
    x = torch.ones(2, 2, dtype=torch.complex64, requires_grad=True)
    y = (x * x).exp()
    autograd = torch.autograd
    things = (
        x, y, y.grad_fn, y.grad_fn.next_functions[0][0], torch, autograd, autograd.graph, torch.nn.functional,
        autograd.forward_ad, autograd.functional, torch.func, torch.linalg, torch.no_grad(), torch.Generator(),
        torch.float32, torch.device("cpu"), y.grad_fn._raw_saved_result,
    )  # fmt: skip
    if torch.__name__ == "torch":
        return [[] for _ in things]  # PyTorch lists more names than it has
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # `__weakref__` is listed by Python itself, of what is compiled.
        return [[n for n in dir(t) if not has(t, n) and n != "__weakref__"] for t in things]


def has(thing: Any, name: str) -> bool:
    """hasattr; what raises another error is there."""
    try:
        return hasattr(thing, name)
    except RuntimeError:
        return True


@program()
def hooks_of_the_wrong_kind(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    graph = torch.autograd.graph

    def kind(function: Any, *args: Any, **named: Any) -> Any:
        found = attempt("", function, *args, **named)
        return type(found) if type(found).__name__.endswith("Handle") else found

    def entered(*hooks: Any) -> Any:
        with graph.saved_tensors_hooks(*hooks):
            return x.sin()

    def returns(value: Any) -> Any:
        def run() -> Any:
            z = x * 2
            z.register_hook(lambda g: value)
            z.sum().backward()

        return run

    def node_returns(value: Any, before: bool) -> Any:
        def run() -> Any:
            z = x * 2
            if before:
                z.grad_fn.register_prehook(lambda g: value)
            else:
                z.grad_fn.register_hook(lambda g, h: value)
            z.sum().backward()

        return run

    return [
        kind(graph.register_multi_grad_hook, [torch.ones(2)], lambda g: None),
        kind(graph.register_multi_grad_hook, [torch.ones(2)], lambda g: None, mode="any"),
        kind(graph.register_multi_grad_hook, [x], lambda g: None, mode="some"),
        kind(graph.register_multi_grad_hook, [], lambda g: None),
        kind(graph.register_multi_grad_hook, (x, y), lambda g: None),
        kind(y.register_post_accumulate_grad_hook, lambda t: None),
        kind(torch.ones(2).register_hook, lambda g: None),
        kind(torch.ones(2).register_post_accumulate_grad_hook, lambda g: None),
        attempt("", entered, 1, 2),
        attempt("", entered, lambda t: t, 2),
        attempt("", returns(1)),
        attempt("", returns("a")),
        attempt("", returns(torch.ones(3))),
        attempt("", returns(torch.ones(2, dtype=torch.float64))),
        attempt("", node_returns(1, False)),
        attempt("", node_returns((1, None), False)),
        attempt("", node_returns((), False)),
        attempt("", node_returns((torch.ones(2),), True)),
        attempt("", node_returns(torch.ones(2), True)),
        attempt("", node_returns((torch.ones(2), None), True)),
    ]


@program()
def hooks_that_cannot_be_registered_while_a_graph_runs(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    found: list[Any] = []

    def late(g: Any) -> None:
        found.append(type(x.register_hook(lambda g: None)).__name__)

    y = x * 2
    y.register_hook(late)
    y.sum().backward()
    return found, x.grad


@program()
def tangents_beyond_the_base(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad
    found = []
    with fwad.dual_level():
        base = torch.arange(8.0)
        part = base[2:5]
        dual = fwad.make_dual(part, torch.tensor([1.0, 2.0, 3.0]))
        found.append(fwad.unpack_dual(dual.as_strided((2,), (2,), 2)))
        found.append(fwad.unpack_dual(torch.as_strided(dual, (4,), (1,), 1)))
        found.append(fwad.unpack_dual(torch.as_strided(dual, (8,), (1,), 0)))
        found.append(fwad.unpack_dual(dual.as_strided((2,), (1,))))
    return [tuple(pair) for pair in found]


@program()
def a_table_of_mutated_values(torch: Any) -> Any:
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        a = torch.ones(2, requires_grad=True)
        b = a.clone()
        c = b.sin()
        counts = [(len(ctx.original), len(ctx.cloned))]
        b.mul_(2)
        counts.append((len(ctx.original), len(ctx.cloned)))
        c.sum().backward()
        counts.append((len(ctx.original), len(ctx.cloned)))
    return counts, a.grad, attempt("", ctx.clear)
