"""Hooks on saved values, and anomaly mode."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

from tests.conformance.harness import attempt, program


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


@program()
def values_go_through_both_hooks(torch: Any) -> Any:
    x, log = leaf(torch), []

    def pack(t: Any) -> Any:
        log.append(("pack", t is x, t.requires_grad, torch.is_grad_enabled()))
        return t.tolist()

    def unpack(values: Any) -> Any:
        log.append(("unpack",))
        return torch.tensor(values)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
        z = y.exp()
    z.sum().backward()
    return log, x.grad


@program()
def saved_attribute_is_unpacked(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 2, lambda t: t / 2):
        y = x * x
    return y.grad_fn._saved_self, y.grad_fn._saved_other


@program()
def unpacking_decides_what_backward_sees(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.detach() * 10):
        y = x * x
    y.sum().backward()
    return x.grad


@program()
def the_innermost_hooks_are_used(torch: Any) -> Any:
    x, log = leaf(torch), []

    def named(name: str) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append(name), t)[1], lambda t: t)

    with named("outer"):
        with named("inner"):
            x * x
        x.exp()
    x * x
    return log


@program()
def hooks_that_are_refused(torch: Any) -> Any:
    x = leaf(torch)
    graph = torch.autograd.graph

    def disabled() -> None:
        with graph.disable_saved_tensors_hooks("not here"), graph.saved_tensors_hooks(abs, abs):
            pass

    def writing() -> None:
        with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            (x * 1) * x

    def wrong_type() -> None:
        with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
            y = x * x
        y.sum().backward()

    return (
        attempt("not here", disabled),
        attempt("pack hook is modifying its input in place", writing),
        attempt("unpack_hook expected to be a Tensor but got result of type int", wrong_type),
    )


@program()
def an_exception_in_a_pack_hook_is_the_callers(torch: Any) -> Any:
    x = leaf(torch)

    def pack(t: Any) -> Any:
        raise KeyError("mine")

    def run() -> None:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            x * x

    return attempt("mine", run), (x * x).grad_fn


@program()
def hooks_of_one_saved_value(torch: Any) -> Any:
    x, log = leaf(torch), []
    y = x * x
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: (log.append("pack"), t)[1], lambda t: (log.append("unpack"), t)[1])
    again = attempt("hooks have already been set", saved.register_hooks, abs, abs)
    y.sum().backward()
    freed = attempt("after it has been freed", y.grad_fn._raw_saved_self.register_hooks, abs, abs)
    return log, x.grad, again, freed


@program()
def hooks_of_a_value_that_is_not_there(torch: Any) -> Any:
    y = leaf(torch) * 2
    return attempt("with value None is forbidden", y.grad_fn._raw_saved_self.register_hooks, abs, abs)


@program()
def packed_values_do_not_mind_later_writes(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        z = y * y
    y.add_(1)
    z.sum().backward()
    return x.grad


@program()
def hooks_on_what_a_function_saves(torch: Any) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x, log = leaf(torch), []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append(t is x), t)[1], lambda t: t.detach() * 3
    ):
        y = Square.apply(x)
    saved = len(y.grad_fn._raw_saved_tensors)
    y.sum().backward()
    return log, saved, x.grad


@program()
def second_order_through_packed_values(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * x * x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)


@program()
def kept_on_the_cpu(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        y = x.exp() * x
    y.sum().backward()
    return x.grad


@program()
def version_can_be_incremented(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    z = y * y
    torch.autograd.graph.increment_version(y)
    return y._version, attempt("modified by an inplace operation", z.sum().backward)


@program(
    phrase="Function 'SqrtBackward0' returned nan values in its 0th output",
    warns="Error detected in SqrtBackward0",
)
def nan_is_found(torch: Any) -> Any:
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        (x.sqrt() * 0).sum().backward()


@program(warns="Anomaly Detection has been enabled")
def nan_is_let_through(torch: Any) -> Any:
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
    return x.grad


@program()
def anomaly_mode_is_restored(torch: Any) -> Any:
    states = [torch.is_anomaly_enabled()]
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        states += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        y = leaf(torch) * 2
        states.append(sorted(y.grad_fn.metadata))
    return states, torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


@program()
def a_block_inside_an_unpack_hook(torch: Any) -> Any:
    seen: list[str] = []
    hooks = torch.autograd.graph.saved_tensors_hooks

    def note(t: Any) -> Any:
        seen.append("packed")
        return t

    def within(t: Any) -> Any:
        with hooks(note, lambda t: t), torch.enable_grad():
            torch.ones(1, requires_grad=True).square()
        return t

    def left_open(t: Any) -> Any:
        hooks(note, lambda t: t).__enter__()
        return t

    counts = []
    for unpack in (within, left_open):
        x = torch.tensor([2.0], requires_grad=True)
        with hooks(lambda t: t, unpack):
            y = x * x
        y.backward()
        counts.append(len(seen))
        x.square().backward()
        counts.append(len(seen))
    return counts


@program()
def a_hook_that_unpacking_registers_on_its_node_is_called(torch: Any) -> Any:
    log = []

    def unpack(saved: Any) -> Any:
        node = torch._C._current_autograd_node()

        def hook(inputs: Any, _: Any) -> Any:
            log.append((node.name(), [i if i is None else i.clone() for i in inputs]))
            return tuple(i if i is None else 10 * i for i in inputs)

        node.register_hook(hook)
        return saved

    found = []
    functions = (
        torch.exp,
        torch.sigmoid,
        lambda x: x * x.detach(),
        lambda x: x**3,
        lambda x: torch.cat([x, x.sin()]),
    )
    for function in functions:
        for several in (False, True):
            x = leaf(torch)
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
                y = function(x.clone())
            if several:  # another way into the engine
                found.append(torch.autograd.grad(y.sum() * 2, [x], create_graph=True))
            else:
                (y.sum() * 2).backward()
                found.append(x.grad)
    return found, log


@program()
def a_warning_of_anomaly_mode_that_is_an_error_is_written_to_stderr(torch: Any) -> Any:
    x = leaf(torch)
    written = io.StringIO()
    with contextlib.redirect_stderr(written), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            y = x + 1
            z = y**2
            y += 1
            warnings.simplefilter("error")
            error = attempt("modified by an inplace operation", lambda: z.sum().backward())
    return error, "Error detected in PowBackward0" in written.getvalue()


def _functions(torch: Any) -> list[Any]:
    f = torch.nn.functional
    return [
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: a**b,
        lambda a, b: a @ b,
        lambda a, b: torch.bmm(a[None], b[None]),
        lambda a, b: torch.mv(a, b[0]),
        lambda a, b: torch.dot(a[0], b[0]),
        lambda a, b: torch.outer(a[0], b[0]),
        lambda a, b: torch.baddbmm(a[None], a[None], b[None]),
        torch.atan2,
        torch.maximum,
        torch.hypot,
        torch.fmod,
        torch.xlogy,
        torch.logaddexp,
        torch.cdist,
        lambda a, b: torch.lerp(a, b, a / 2),
        lambda a, b: torch.addcdiv(a, a * 2, b),
        lambda a, b: a.clamp(b, b + 1),
        lambda a, b: torch.cummax(a, 0)[0],
        lambda a, b: torch.prelu(a, b[0]),
        lambda a, b: f.linear(a, b, b[0]),
        f.mse_loss,
        f.smooth_l1_loss,
        f.binary_cross_entropy_with_logits,
        lambda a, b: f.conv1d(a[None], b[:, :, None]),
    ]


@program()
def values_go_through_hooks_by_the_alphabet_of_their_names(torch: Any) -> Any:
    found = []
    for function in _functions(torch):
        a = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
        b = torch.tensor([[5.0, 6.0], [7.0, 9.0]], requires_grad=True)
        seen: list[Any] = []

        def note(x: Any, seen: list[Any] = seen) -> Any:
            seen.append(round(float(x.detach().double().sum()), 2))
            return x

        with torch.autograd.graph.saved_tensors_hooks(note, note):
            y = function(a, b)
        y.sum().backward()
        found.append((seen, a.grad, b.grad))
    return found
