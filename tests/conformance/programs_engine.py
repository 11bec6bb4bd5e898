"""The engine as it is reached from Python: `Variable`, `run_backward`, all keywords, threads."""

from __future__ import annotations

import threading
from typing import Any

from .harness import attempt, program


@program()
def run_backward_by_position(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    z = x * 3 + 5
    engine = torch.autograd.Variable._execution_engine
    result = engine.run_backward(
        (z,), (torch.ones(1),), False, False, (), allow_unreachable=True, accumulate_grad=True
    )
    return result, x.grad


@program()
def run_backward_with_inputs_and_no_accumulation(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    z = x * x
    engine = torch.autograd.Variable._execution_engine
    result = engine.run_backward(
        tensors=(z,),
        grad_tensors=(torch.ones(1),),
        keep_graph=False,
        create_graph=False,
        inputs=(x,),
        allow_unreachable=True,
        accumulate_grad=False,
    )
    return result, x.grad


@program()
def run_backward_keeps_the_graph(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    z = x * x
    engine = torch.autograd.Variable._execution_engine
    for keep in (True, False):
        engine.run_backward((z,), (torch.ones(1),), keep, False, (), True, accumulate_grad=True)
    return x.grad


@program()
def engine_run_backward_of_the_graph_module(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    run = torch.autograd.graph._engine_run_backward
    return run((x * x,), (torch.ones(1),), False, False, (x,), allow_unreachable=True, accumulate_grad=False)


@program()
def the_engine_is_one_object(torch: Any) -> Any:
    variable = torch.autograd.Variable
    return variable._execution_engine is variable._execution_engine


@program()
def variable_is_another_name_for_tensor(torch: Any) -> Any:
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    return x, isinstance(x, torch.Tensor), isinstance(x, torch.autograd.Variable)


@program()
def all_keywords_of_backward(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.backward(gradient=torch.ones(2), retain_graph=True, create_graph=False, inputs=[x])
    torch.autograd.backward(
        tensors=[y], grad_tensors=[torch.ones(2)], retain_graph=None, create_graph=False, inputs=None
    )
    return x.grad


@program()
def all_keywords_of_grad(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.grad(
        outputs=x * x,
        inputs=x,
        grad_outputs=torch.ones(2),
        retain_graph=False,
        create_graph=False,
        only_inputs=True,
        allow_unused=None,
        is_grads_batched=False,
        materialize_grads=False,
    )


@program()
def unknown_keywords(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    return [
        attempt("unexpected keyword argument", (x * 2).backward, retain_graphs=True),
        attempt("unexpected keyword argument", torch.autograd.grad, x * 2, x, unused=True),
    ]


@program()
def threads_with_graphs_of_their_own(torch: Any) -> Any:
    leaves = [torch.tensor(float(k + 1), requires_grad=True) for k in range(4)]

    def work(x: Any) -> None:
        y = x
        for _ in range(50):
            y = y * 1.01
        y.backward()

    run_all(work, leaves)
    return [leaf.grad for leaf in leaves]


@program()
def threads_that_share_a_leaf(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    run_all(lambda k: (x * k).backward(), [1.0, 2.0, 3.0, 4.0])
    return x.grad


@program()
def threads_that_share_a_graph(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    shared = x * x
    run_all(lambda k: (shared * k).backward(retain_graph=True), [1.0, 2.0, 3.0, 4.0])
    return x.grad


@program()
def grad_mode_belongs_to_the_thread(torch: Any) -> Any:
    seen: list[bool] = []
    with torch.no_grad():
        run_all(lambda _: seen.append(torch.is_grad_enabled()), [0])
    return seen


@program()
def exceptions_reach_the_thread_that_called(torch: Any) -> Any:
    failures: list[Any] = []

    def fail(grad: Any) -> None:
        raise KeyError("in the thread")

    def work(k: float) -> None:
        y = torch.tensor(k, requires_grad=True) * 2
        y.register_hook(fail)
        failures.append(attempt("in the thread", y.backward))

    run_all(work, [1.0, 2.0])
    return failures


def run_all(work: Any, arguments: Any) -> None:
    """Run `work` once per argument, each in a thread of its own."""
    threads = [threading.Thread(target=work, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@program(warns="volatile was removed")
def a_volatile_variable_is_one_like_others(torch: Any) -> Any:
    return torch.autograd.Variable(torch.ones(2), volatile=True)


@program(warns="volatile was removed")
def variables_of_nothing_and_of_too_much(torch: Any) -> Any:
    variable = torch.autograd.Variable
    return (
        (variable(), variable(None), variable(torch.ones(2), volatile=False)),
        attempt("can't be volatile and require_grad", lambda: variable(torch.ones(2), True, volatile=True)),
        attempt("Variable data has to be a tensor", variable, [1.0]),
    )
