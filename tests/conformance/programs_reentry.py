"""During a backward pass: queued callbacks, backward inside backward, exceptions from hooks."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .watching import watch


@program()
def callbacks_run_once_at_the_end(torch: Any) -> Any:
    log: list[Any] = []
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2

    def hook(grad: Any) -> None:
        log.append("hook")
        engine.queue_callback(lambda: log.append(("first", x.grad.item())))
        engine.queue_callback(lambda: log.append("second"))

    y.register_hook(hook)
    (y * 3).backward(retain_graph=True)
    log.append("returned")
    y.backward()
    return log


@program()
def callbacks_may_queue_callbacks(torch: Any) -> Any:
    log: list[str] = []
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(1.0, requires_grad=True)

    def outer() -> None:
        log.append("outer")
        engine.queue_callback(lambda: log.append("inner"))

    x.register_hook(lambda grad: engine.queue_callback(outer))
    (x * 2).backward()
    return log


@program(phrase="Final callbacks can only be installed during backward pass")
def callbacks_outside_a_backward(torch: Any) -> Any:
    torch.autograd.Variable._execution_engine.queue_callback(print)


@program()
def callback_that_raises(torch: Any) -> Any:
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(1.0, requires_grad=True)

    def fail() -> None:
        raise KeyError("from the callback")

    handle = x.register_hook(lambda grad: engine.queue_callback(fail))
    failure = attempt("from the callback", (x * 2).backward)
    handle.remove()
    x.grad = None
    (x * 2).backward()
    return failure, x.grad


@program()
def checkpoint_validity(torch: Any) -> Any:
    log: list[bool] = []
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(1.0, requires_grad=True)
    x.register_hook(lambda grad: log.append(engine.is_checkpoint_valid()))
    (x * 2).backward()
    torch.autograd.grad(x * 2, x)
    return log, engine.is_checkpoint_valid()


@program()
def backward_inside_a_hook(torch: Any) -> Any:
    log: list[str] = []
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)

    def hook(grad: Any) -> None:
        log.append("enter")
        with torch.enable_grad():
            (w * w).backward()
        log.append("leave")

    y = x * 2
    y.register_hook(hook)
    z = y * 3
    watch(log, y=y, z=z)
    z.backward()
    return log, x.grad, w.grad


@program()
def grad_inside_a_hook_over_the_same_graph(torch: Any) -> Any:
    inner = []
    x = torch.tensor(2.0, requires_grad=True)
    shared = x * x

    def hook(grad: Any) -> None:
        inner.append(torch.autograd.grad(shared, x, retain_graph=True)[0].item())

    y = shared * 3
    y.register_hook(hook)
    (y * 5).backward()
    return inner, x.grad


@program()
def nested_backward_three_deep(torch: Any) -> Any:
    log: list[Any] = []
    leaves = [torch.tensor(float(k + 1), requires_grad=True) for k in range(3)]

    def hook_of(level: int) -> Any:
        def hook(grad: Any) -> None:
            log.append(("enter", level))
            if level + 1 < len(leaves):
                run(level + 1)
            log.append(("leave", level))

        return hook

    def run(level: int) -> None:
        with torch.enable_grad():
            y = leaves[level] * 2
            y.register_hook(hook_of(level))
            y.backward()

    run(0)
    return log, [leaf.grad for leaf in leaves]


@program()
def deep_reentry(torch: Any) -> Any:
    depth = [0]
    x = torch.tensor(1.0, requires_grad=True)

    def hook(grad: Any) -> None:
        depth[0] += 1
        if depth[0] < 20:
            with torch.enable_grad():
                y = x * 1.0
                y.register_hook(hook)
                y.backward()

    y = x * 1.0
    y.register_hook(hook)
    y.backward()
    return depth, x.grad


@program()
def exception_in_a_node_hook(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    y = x.exp()

    def hook(gi: Any, go: Any) -> None:
        raise LookupError("from the node hook")

    handle = y.grad_fn.register_hook(hook)
    failure = attempt("from the node hook", y.backward, retain_graph=True)
    handle.remove()
    return failure, x.grad, attempt("", y.backward)


@program()
def exception_stops_the_rest(torch: Any) -> Any:
    log: list[str] = []
    x = torch.tensor(1.0, requires_grad=True)
    a = x * 2
    b = a * 3
    c = b * 4

    def hook(grad: Any) -> None:
        raise ZeroDivisionError("stop here")

    b.register_hook(hook)
    watch(log, a=a, b=b, c=c)
    return attempt("stop here", c.backward), log, x.grad


@program()
def leaves_reached_before_the_exception_keep_their_grad(torch: Any) -> Any:
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    a = x * 2

    def hook(grad: Any) -> None:
        raise RuntimeError("later")

    a.register_hook(hook)
    failure = attempt("later", (a * y).backward)
    return failure, x.grad, y.grad


@program()
def exception_in_a_nested_backward(torch: Any) -> Any:
    class Inner(Exception):
        pass

    x, w = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)

    def fail(grad: Any) -> None:
        raise Inner("deep")

    def hook(grad: Any) -> None:
        with torch.enable_grad():
            y = w * 2
            y.register_hook(fail)
            y.backward()

    y = x * 2
    y.register_hook(hook)
    failure = attempt("deep", y.backward)
    (x * 3).backward()
    return failure, x.grad, w.grad
