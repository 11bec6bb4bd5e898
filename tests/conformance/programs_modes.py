"""Grad modes: context managers, decorators, generators, classes, inference mode."""

# mypy: disable-error-code=untyped-decorator
from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def no_grad_block(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        inside = torch.is_grad_enabled(), x * 2, x.requires_grad
    return inside, torch.is_grad_enabled(), x * 2


@program()
def tensors_made_under_no_grad_may_require_grad(torch: Any) -> Any:
    with torch.no_grad():
        x = torch.ones(2, requires_grad=True)
        y = torch.ones(2).requires_grad_()
    return x, y, (x * y).sum()


@program()
def no_grad_copies(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        return x.clone(), x.detach(), x.to(torch.float64), x.sum()


@program()
def no_grad_view_answers_for_its_base(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = x[0]
    return view.requires_grad, view.is_leaf, view.grad_fn


@program()
def enable_grad_inside_no_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        with torch.enable_grad():
            y = x * 2
        z = x * 2
    return y, z


@program()
def nested_blocks_restore_each_level(torch: Any) -> Any:
    states = [torch.is_grad_enabled()]
    with torch.no_grad():
        states.append(torch.is_grad_enabled())
        with torch.enable_grad():
            states.append(torch.is_grad_enabled())
            with torch.no_grad():
                states.append(torch.is_grad_enabled())
            states.append(torch.is_grad_enabled())
        states.append(torch.is_grad_enabled())
    return [*states, torch.is_grad_enabled()]


@program()
def set_grad_enabled_as_a_function(torch: Any) -> Any:
    torch.set_grad_enabled(False)
    off = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return off, torch.is_grad_enabled()


@program()
def set_grad_enabled_as_a_block(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    results = []
    for mode in (False, True):
        with torch.set_grad_enabled(mode):
            results.append((x * 2).requires_grad)
    return results, torch.is_grad_enabled()


@program()
def set_grad_enabled_takes_effect_at_once(torch: Any) -> Any:
    guard = torch.set_grad_enabled(False)
    before = torch.is_grad_enabled()
    with guard:
        inside = torch.is_grad_enabled()
    return before, inside, torch.is_grad_enabled()


@program()
def set_grad_enabled_as_a_decorator(torch: Any) -> Any:
    @torch.set_grad_enabled(False)
    def double(x: Any) -> Any:
        return x * 2

    x = torch.ones(2, requires_grad=True)
    return torch.is_grad_enabled(), double(x), torch.is_grad_enabled()


@program()
def exceptions_restore_the_mode(torch: Any) -> Any:
    def fail() -> None:
        with torch.no_grad():
            raise KeyError("inside")

    return attempt("inside", fail), torch.is_grad_enabled()


@program()
def decorators_with_and_without_parentheses(torch: Any) -> Any:
    @torch.no_grad()
    def called(x: Any) -> Any:
        return x * 2

    @torch.no_grad
    def bare(x: Any) -> Any:
        return x * 2

    x = torch.ones(2, requires_grad=True)
    return called(x), bare(x), torch.is_grad_enabled()


@program()
def enable_grad_as_a_decorator(torch: Any) -> Any:
    @torch.enable_grad()
    def double(x: Any) -> Any:
        return x * 2

    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        return double(x), torch.is_grad_enabled()


@program()
def decorators_keep_name_and_docstring(torch: Any) -> Any:
    @torch.no_grad()
    def double(x: Any) -> Any:
        """Twice."""
        return x * 2

    return double.__name__, double.__doc__, double.__wrapped__ is not None


@program()
def decorated_function_restores_after_an_exception(torch: Any) -> Any:
    @torch.no_grad()
    def fail() -> None:
        raise ValueError("inside")

    return attempt("inside", fail), torch.is_grad_enabled()


@program()
def decorated_recursion(torch: Any) -> Any:
    states = []

    @torch.no_grad()
    def descend(n: int) -> None:
        states.append(torch.is_grad_enabled())
        if n:
            descend(n - 1)

    descend(3)
    return states, torch.is_grad_enabled()


@program()
def decorated_method(torch: Any) -> Any:
    class Model:
        @torch.no_grad()
        def predict(self, x: Any) -> Any:
            return x * 2

    return Model().predict(torch.ones(2, requires_grad=True))


@program()
def decorated_generator_switches_per_step(torch: Any) -> Any:
    @torch.no_grad()
    def steps() -> Any:
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    states = []
    for inside in steps():
        states.append((inside, torch.is_grad_enabled()))
    return states, torch.is_grad_enabled()


@program()
def decorated_generator_receives_values(torch: Any) -> Any:
    @torch.no_grad()
    def echo() -> Any:
        received: list[Any] = []
        while len(received) < 2:
            value = yield torch.is_grad_enabled()
            received.append(value)
        return received

    generator = echo()
    log = [next(generator), generator.send("a")]
    try:
        generator.send("b")
    except StopIteration as stop:
        log.append(stop.value)
    return log, torch.is_grad_enabled()


@program()
def decorated_generator_receives_exceptions(torch: Any) -> Any:
    @torch.no_grad()
    def guard() -> Any:
        try:
            yield "first"
        except KeyError:
            yield torch.is_grad_enabled()

    generator = guard()
    return next(generator), generator.throw(KeyError("k")), torch.is_grad_enabled()


@program()
def decorated_generator_is_closed(torch: Any) -> Any:
    log = []

    @torch.no_grad()
    def guard() -> Any:
        try:
            yield 1
        finally:
            log.append(torch.is_grad_enabled())

    generator = guard()
    next(generator)
    generator.close()
    return log, torch.is_grad_enabled()


@program(warns="Decorating classes is deprecated")
def decorated_class(torch: Any) -> Any:
    @torch.no_grad()
    class Model:
        def __init__(self) -> None:
            self.inside = torch.is_grad_enabled()

        def later(self) -> Any:
            return torch.is_grad_enabled()

    model = Model()
    return model.inside, model.later()


@program()
def one_guard_used_twice(torch: Any) -> Any:
    guard = torch.no_grad()
    states = []
    for _ in range(2):
        with guard:
            states.append(torch.is_grad_enabled())
        states.append(torch.is_grad_enabled())
    return states


@program()
def what_the_guards_return(torch: Any) -> Any:
    with torch.no_grad() as a, torch.enable_grad() as b, torch.set_grad_enabled(True) as c:
        return a, b, c


@program()
def backward_inside_no_grad_and_forward_inside_enable_grad(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    with torch.no_grad():
        with torch.enable_grad():
            y = x * x
        y.backward()
    return x.grad


@program()
def grad_mode_inside_hooks(torch: Any) -> Any:
    seen = []
    x = torch.tensor(2.0, requires_grad=True)
    x.register_hook(lambda grad: seen.append(torch.is_grad_enabled()))
    y = x * x
    y.backward(retain_graph=True)
    with torch.no_grad():
        torch.autograd.grad(y, x, create_graph=True)
    return seen


@program()
def names_under_autograd_and_torch(torch: Any) -> Any:
    names = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode"]
    return [getattr(torch, n) is getattr(torch.autograd, n) for n in names]


@program()
def inference_mode_block(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = x * 2
        state = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), y.is_inference(), y.requires_grad
    return state, torch.is_inference_mode_enabled(), torch.is_grad_enabled(), x.is_inference()


@program()
def inference_mode_switched_off(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(mode=False):
        y = x * 2
    with torch.inference_mode(), torch.inference_mode(False):
        z = x * 2
    return y, z, y.is_inference(), z.is_inference()


@program()
def inference_mode_as_a_decorator(torch: Any) -> Any:
    @torch.inference_mode()
    def double(x: Any) -> Any:
        return x * 2

    @torch.inference_mode
    def bare(x: Any) -> Any:
        return x * 2

    x = torch.ones(2, requires_grad=True)
    return double(x).is_inference(), bare(x).is_inference(), torch.is_inference_mode_enabled()


@program()
def inference_mode_on_a_generator(torch: Any) -> Any:
    @torch.inference_mode()
    def steps() -> Any:
        for _ in range(2):
            yield torch.is_inference_mode_enabled()

    return [(inside, torch.is_inference_mode_enabled()) for inside in steps()]


@program()
def enable_grad_does_not_leave_inference_mode(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        y = x * 2
    return y.requires_grad, y.is_inference()


@program()
def inference_tensors_made_inside(torch: Any) -> Any:
    with torch.inference_mode():
        x = torch.ones(2)
        y = torch.ones(2, requires_grad=True)
    return x.is_inference(), y.is_inference(), x.requires_grad, y.requires_grad


@program(phrase="Inference tensors cannot be saved for backward")
def inference_tensor_saved_for_backward(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
    x = torch.ones(2, requires_grad=True)
    return x * c


@program()
def inference_tensor_that_is_not_saved(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
    x = torch.ones(2, requires_grad=True)
    y = x + c
    y.sum().backward()
    return y, x.grad


@program(phrase="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed")
def inference_tensor_cannot_start_to_require_grad(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
    c.requires_grad_()


@program(phrase="Inplace update to inference tensor outside InferenceMode is not allowed")
def inference_tensor_written_outside(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
    c.add_(1.0)


@program()
def inference_tensor_written_inside(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
        c.add_(1.0)
        c[0] = 5.0
    return c.tolist()


@program(phrase="Inference tensors do not track version counter")
def inference_tensor_has_no_version(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
    return c._version


@program()
def clone_turns_an_inference_tensor_normal(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
    n = c.clone()
    x = torch.ones(2, requires_grad=True)
    (x * n).sum().backward()
    return n.is_inference(), x.grad


@program()
def view_of_a_normal_tensor_in_inference_mode_is_normal(torch: Any) -> Any:
    x = torch.ones(2, 2)
    with torch.inference_mode():
        v = x[0]
    return v.is_inference(), v.requires_grad


@program()
def operations_between_inference_tensors_outside(torch: Any) -> Any:
    with torch.inference_mode():
        c = torch.ones(2)
    return (c * 2).is_inference(), c[0].is_inference(), (c * 2).tolist()


@program(phrase="element 0 of tensors does not require grad and does not have a grad_fn")
def backward_of_an_inference_result(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = (x * 2).sum()
    y.backward()
