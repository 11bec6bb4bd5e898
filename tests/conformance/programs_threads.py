"""Threads: several callers, modes in hooks and Functions, deep re-entry, callbacks, settings."""

from __future__ import annotations

import threading
from typing import Any

from .harness import attempt, program, record_exception

LIMIT = 60.0


def together(*functions: Any) -> list[Any]:
    """Calls all functions at once, each on a thread of its own; what they returned or raised."""
    found: list[Any] = [None] * len(functions)
    start = threading.Barrier(len(functions))

    def call(i: int) -> None:
        start.wait(LIMIT)
        try:
            found[i] = functions[i]()
        except Exception as error:
            found[i] = record_exception(error, "")

    threads = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError("a thread is stuck")
    return found


# -- several callers -------------------------------------------------------------------------------------------------


@program()
def accumulation_from_several_threads(torch: Any) -> Any:
    x = torch.ones(5, requires_grad=True)

    def work() -> None:
        for _ in range(20):
            (x * 2).sum().backward()

    together(*[work] * 4)
    return x.grad


@program()
def graphs_of_their_own(torch: Any) -> Any:
    def work(k: int) -> Any:
        x = torch.full((3,), float(k), dtype=torch.float64, requires_grad=True)
        (x.sin() * x).sum().backward()
        return x.grad

    return together(*[lambda k=k: work(k) for k in range(4)])


@program()
def one_retained_graph(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x * x).sum()
    grads = together(*[lambda: torch.autograd.grad(y, x, retain_graph=True)[0]] * 4)
    together(*[lambda: y.backward(retain_graph=True)] * 3)
    return grads, x.grad


@program()
def one_graph_after_another_thread_freed_it(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp().sum()
    first = together(y.backward)
    return first, attempt("second time", y.backward), together(y.backward)[0].types[0], x.grad


@program()
def a_graph_made_on_a_thread_that_has_ended(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    (y,) = together(lambda: x * x)
    y.backward()
    return x.grad


@program()
def leaves_of_several_threads_in_one_graph(torch: Any) -> Any:
    leaves = together(*[lambda k=k: torch.tensor(float(k), requires_grad=True) for k in range(3)])
    parts = together(*[lambda t=t: t * 2 for t in leaves])
    (parts[0] * parts[1] + parts[2]).backward()
    return [t.grad for t in leaves]


@program()
def hooks_run_on_the_thread_that_called_backward(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    names: list[int] = []
    x.register_hook(lambda g: names.append(threading.get_ident()))
    y = x * 2

    def work() -> bool:
        names.clear()
        y.backward(retain_graph=True)
        return names == [threading.get_ident()]

    return together(work), work()


@program()
def every_thread_calls_the_hooks(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    calls: list[str] = []
    x.register_hook(lambda g: calls.append("hook"))
    x.register_post_accumulate_grad_hook(lambda t: calls.append("accumulated"))
    together(*[lambda: (x * 2).backward()] * 4)
    return sorted(calls), x.grad


@program()
def an_error_on_one_thread_only(torch: Any) -> Any:
    x, w = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)

    def fail(g: Any) -> None:
        raise KeyError("mine")

    y = x * 2
    y.register_hook(fail)
    found = together(y.backward, (w * 3).backward)
    return found[0].types[0], found[1], x.grad, w.grad


@program()
def second_derivatives_on_several_threads(torch: Any) -> Any:
    def work(k: int) -> Any:
        x = torch.tensor(float(k), dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(x * x * x, x, create_graph=True)
        return torch.autograd.grad(g, x)[0]

    return together(*[lambda k=k: work(k) for k in range(1, 5)])


# -- modes -----------------------------------------------------------------------------------------------------------


@program()
def grad_mode_is_the_threads_own(torch: Any) -> Any:
    with torch.no_grad():
        inside = together(torch.is_grad_enabled)
    before = torch.is_grad_enabled()
    together(lambda: torch.set_grad_enabled(False))
    return inside, before, torch.is_grad_enabled()


@program()
def inference_mode_is_the_threads_own(torch: Any) -> Any:
    with torch.inference_mode():
        return together(torch.is_inference_mode_enabled), torch.is_inference_mode_enabled()


@program()
def grad_mode_in_hooks(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    seen: list[bool] = []
    x.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    y = x * x
    y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    y.grad_fn.register_prehook(lambda g: seen.append(torch.is_grad_enabled()))
    y.grad_fn.register_hook(lambda gi, go: seen.append(torch.is_grad_enabled()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(torch.is_grad_enabled()))
    y.backward(retain_graph=True)
    with torch.no_grad():
        y.backward(retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    return seen, torch.is_grad_enabled()


@program()
def grad_mode_in_callbacks(torch: Any) -> Any:
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(2.0, requires_grad=True)
    seen: list[bool] = []
    y = x * x
    y.register_hook(lambda g: engine.queue_callback(lambda: seen.append(torch.is_grad_enabled())))
    y.backward(retain_graph=True)
    with torch.no_grad():
        y.backward(retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    return seen, torch.is_grad_enabled()


@program()
def grad_mode_in_functions(torch: Any) -> Any:
    seen: list[bool] = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(torch.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(torch.is_grad_enabled())
            return g * 2

    x = torch.tensor(2.0, requires_grad=True)
    y = Watched.apply(x)
    y.backward(retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    together(lambda: y.backward(retain_graph=True))
    return seen, x.grad


@program()
def a_mode_set_in_a_hook_does_not_outlive_the_backward(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    x.register_hook(lambda g: torch.set_grad_enabled(True) and None)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
    with torch.no_grad():
        y.backward()
        seen.append(torch.is_grad_enabled())
    return seen, torch.is_grad_enabled()


@program()
def grad_mode_after_an_error(torch: Any) -> Any:
    def fail(*args: Any) -> None:
        raise KeyError("mine")

    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.register_hook(fail)
    failures = [attempt("mine", y.backward, retain_graph=True)]
    modes = [torch.is_grad_enabled()]
    with torch.no_grad():
        failures.append(attempt("mine", y.backward, retain_graph=True))
        modes.append(torch.is_grad_enabled())
    return failures, modes


@program()
def multithreading_can_be_forbidden(torch: Any) -> Any:
    x = torch.ones(300, 300, requires_grad=True)
    seen = [torch.autograd.is_multithreading_enabled()]
    with torch.autograd.set_multithreading_enabled(False):
        seen.append(torch.autograd.is_multithreading_enabled())
        seen += together(torch.autograd.is_multithreading_enabled)
        (x.sin() + x.cos()).sum().backward()
    seen.append(torch.autograd.is_multithreading_enabled())
    return seen, x.grad[0, 0]


@program()
def nested_settings_of_multithreading(torch: Any) -> Any:
    enabled = torch.autograd.is_multithreading_enabled
    seen = []
    with torch.autograd.set_multithreading_enabled(False):
        with torch.autograd.set_multithreading_enabled(True):
            seen.append(enabled())
        seen.append(enabled())
        x = torch.tensor(1.0, requires_grad=True)
        x.register_hook(lambda g: seen.append(enabled()))
        (x * 2).backward()
    return seen, enabled()


# -- deep re-entry ---------------------------------------------------------------------------------------------------


def descend(torch: Any, x: Any, depth: int, note: Any) -> None:
    with torch.enable_grad():
        y = x * 1.0

    def hook(g: Any) -> None:
        note(depth)
        if depth:
            descend(torch, x, depth - 1, note)

    y.register_hook(hook)
    y.backward()


@program()
def sixty_deep(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    log: list[int] = []
    for depth in (59, 60, 61):
        descend(torch, x, depth, log.append)
    return x.grad, log


@program()
def beyond_sixty_on_other_threads(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    threads: list[int] = []
    descend(torch, x, 130, lambda depth: threads.append(threading.get_ident()))
    return x.grad, len(set(threads)) > 2, threads[0] == threading.get_ident()


@program()
def modes_beyond_sixty(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    seen: list[Any] = []

    def note(depth: int) -> None:
        seen.append((torch.is_grad_enabled(), torch.autograd.is_multithreading_enabled()))

    descend(torch, x, 70, note)
    return seen, torch.is_grad_enabled()


@program()
def an_error_from_below(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)

    def note(depth: int) -> None:
        if depth == 0:
            raise LookupError("from below")

    failure = attempt("from below", descend, torch, x, 50, note)  # from beyond sixty torch loses it
    mode = torch.is_grad_enabled()
    (x * 2).backward()
    return failure, mode, x.grad


@program()
def deep_functions(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    left = [100]

    class Deeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            return t * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if left[0]:
                left[0] -= 1
                with torch.enable_grad():
                    Deeper.apply(x).backward()
            return g

    Deeper.apply(x).backward()
    return x.grad


@program()
def deep_callbacks(torch: Any) -> Any:
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(1.0, requires_grad=True)
    order: list[int] = []

    def run(depth: int) -> None:
        with torch.enable_grad():
            y = x * 1.0
        if depth:
            y.register_hook(lambda g: engine.queue_callback(lambda: run(depth - 1)))
        y.backward()
        order.append(depth)

    run(80)
    return x.grad, order


@program()
def grad_of_captures_beyond_sixty(torch: Any) -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    found: list[float] = []

    def run(depth: int) -> None:
        with torch.enable_grad():
            y = x * x
        if depth:
            y.register_hook(lambda g: run(depth - 1))
        found.append(torch.autograd.grad(y, x)[0].item() + depth)

    run(65)
    return found, x.grad


# -- callbacks -------------------------------------------------------------------------------------------------------


@program()
def callbacks_of_nested_backwards(torch: Any) -> Any:
    engine = torch.autograd.Variable._execution_engine
    x, w = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    log: list[str] = []

    def hook(g: Any) -> None:
        engine.queue_callback(lambda: log.append("outer 1"))
        with torch.enable_grad():
            y = w * 2
        y.register_hook(lambda g: engine.queue_callback(lambda: log.append("inner")))
        y.backward()
        engine.queue_callback(lambda: log.append("outer 2"))
        log.append("hook")

    x.register_hook(hook)
    (x * 2).backward()
    return log, x.grad, w.grad


@program()
def callbacks_see_all_gradients(torch: Any) -> Any:
    engine = torch.autograd.Variable._execution_engine
    leaves = [torch.tensor(float(k), requires_grad=True) for k in range(4)]
    seen: list[Any] = []
    y = leaves[0] * leaves[1] + leaves[2] * leaves[3]
    y.register_hook(lambda g: engine.queue_callback(lambda: seen.append([t.grad.item() for t in leaves])))
    y.backward()
    return seen


@program()
def a_callback_that_raises_skips_the_rest(torch: Any) -> Any:
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(1.0, requires_grad=True)
    log: list[str] = []

    def fail() -> None:
        log.append("fail")
        raise ValueError("in the callback")

    def hook(g: Any) -> None:
        for callback in (lambda: log.append("first"), fail, lambda: log.append("last")):
            engine.queue_callback(callback)

    x.register_hook(hook)
    failure = attempt("in the callback", (x * 2).backward)
    return failure, log, x.grad, attempt("only be installed during", engine.queue_callback, print)


@program()
def callbacks_on_the_thread_that_called_backward(torch: Any) -> Any:
    engine = torch.autograd.Variable._execution_engine
    x = torch.tensor(1.0, requires_grad=True)
    seen: list[int] = []
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: seen.append(threading.get_ident())))

    def work() -> bool:
        seen.clear()
        y.backward(retain_graph=True)
        return seen == [threading.get_ident()]

    return together(work), work()


# -- settings --------------------------------------------------------------------------------------------------------


@program(phrase="positive")
def no_threads(torch: Any) -> Any:
    torch.set_num_threads(0)


@program(phrase="positive")
def fewer_than_no_interop_threads(torch: Any) -> Any:
    torch.set_num_interop_threads(-1)


@program()
def numbers_of_threads_of_other_types(torch: Any) -> Any:
    return [attempt("expects an int", torch.set_num_threads, n) for n in (1.5, "2", None)]


@program()
def numbers_of_threads(torch: Any) -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    found = torch.get_num_threads()
    torch.set_num_threads(before)
    return found, torch.get_num_interop_threads() >= 1
