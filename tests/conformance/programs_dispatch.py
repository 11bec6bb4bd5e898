"""Dispatch modes: which operations they see, with what arguments, and what becomes of what they return."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

from .harness import attempt, program


def _tools(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch")


def _shown(torch: Any, value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"T{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_shown(torch, v) for v in value)}]"
    return str(value)


def _log(torch: Any, calls: list[str], arguments: bool = True) -> Any:
    """A mode that notes calls; what is recorded for `.grad` alone, `detach`, it leaves out."""

    class Log(_tools(torch).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if "detach" not in str(func) and "ones_like" not in str(func):
                calls.append(f"{func} {_shown(torch, args)}" if arguments else str(func))
            return func(*args, **(kwargs or {}))

    return Log()


@program()
def a_mode_sees_operations_and_their_arguments(torch: Any) -> Any:
    x, index = torch.zeros(2, 3), torch.zeros(2, 1, dtype=torch.int64)
    calls: list[str] = []
    functional = torch.nn.functional
    with _log(torch, calls):
        x * 2, 1 - x, x / x, x**2, 2**x, x**x, -x, x > 1, x == x
        x.sum(), x.sum(1), x.sum(1, True), x.mean(0), x.amax(1), x.max(1), x.any(), x.prod()
        (
            x.view(3, 2),
            x.t(),
            x.transpose(0, 1),
            x[0],
            x[:, 1:],
            x[index[:, 0]],
            x.expand(4, 2, 3),
            x.squeeze(0),
        )
        torch.cat([x, x]), torch.stack([x, x], 1), x.unbind(), x.split(1), x.flip(0), x.repeat(2, 1)
        x.softmax(1), functional.linear(x, x, x[:, 0]), functional.layer_norm(x, (3,)), functional.gelu(x)
        (
            x.gather(1, index),
            x.scatter_add(1, index, x),
            functional.embedding(index, x),
            torch.where(x > 1, x, x),
        )
        functional.conv1d(x[None], x[None]), functional.mse_loss(x, x), functional.pad(x, (1, 1))
        torch.zeros(2, 3), torch.full((2,), 1.0), x.isnan(), x.nonzero(), x.new_zeros((2,))
    return calls


@program()
def a_mode_sees_writes_and_they_are_recorded(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    calls: list[str] = []
    with _log(torch, calls):
        y = x.clone()
        y.mul_(3)
        y += 1
        torch.zeros(2).fill_(2).zero_()
    y.sum().backward()
    return calls, x.grad, y.grad_fn


@program()
def a_mode_knows_the_node_that_runs(torch: Any) -> Any:
    inside = importlib.import_module(f"{torch.__name__}._C")
    x = torch.ones(2, 3, requires_grad=True)
    seen: list[tuple[str, Any]] = []

    class Nodes(_tools(torch).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            node = inside._current_autograd_node()
            if "detach" not in str(func) and "ones_like" not in str(func):
                seen.append((str(func), node and node.name()))
            return func(*args, **(kwargs or {}))

    with Nodes():
        x.exp().sin().sum().backward()
    return seen


@program()
def a_mode_sees_backward(torch: Any) -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    calls: list[str] = []
    with _log(torch, calls):
        (x * 2).sin().sum().backward()
        torch.autograd.grad((x @ x.T).sum(), x, create_graph=True)
    return calls[:6], sum("aten.mm" in call for call in calls), x.grad


@program()
def results_of_a_mode_get_the_node_of_the_operation(torch: Any) -> Any:
    class TenTimes(_tools(torch).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            seen.append((types, out.requires_grad, out.is_leaf))
            return out * 10 if func is torch.ops.aten.sin.default else out

    seen: list[Any] = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with TenTimes():
        y = x.sin()
    y.sum().backward()
    return y, x.grad, seen


@program()
def a_mode_need_not_call_the_operation_and_may_call_it_with_others(torch: Any) -> Any:
    class Sevens(_tools(torch).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return torch.full_like(args[0], 7.0)

    class PlusOne(_tools(torch).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*[a + 1 if isinstance(a, torch.Tensor) else a for a in args], **(kwargs or {}))

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with Sevens():
        y = x * 3
    y.sum().backward()
    z = x.detach()
    with PlusOne():
        more = z * 3, z.sum(0), torch.atan2(z, z)
    return y, x.grad, more


@program()
def modes_nest(torch: Any) -> Any:
    tools = _tools(torch)
    calls: list[Any] = []

    class Named(tools.TorchDispatchMode):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append((self.name, str(func), len(tools._get_current_dispatch_mode_stack())))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Named("outer") as outer, Named("inner"):
        x * 2
        torch.zeros(2)
        stack = [mode.name for mode in tools._get_current_dispatch_mode_stack()]
        with tools._disable_current_modes():
            x + 2
    with outer, outer:
        x + 1
    x * 3
    return calls, stack, tools._get_current_dispatch_mode()


@program()
def a_mode_that_fails_is_off_afterwards(torch: Any) -> Any:
    class Silent(_tools(torch).TorchDispatchMode):  # type: ignore[misc]
        pass

    class Fails(_tools(torch).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError("not today")

    def call(mode: Any) -> Any:
        with mode():
            return x * 2

    x = torch.ones(2, requires_grad=True)
    found = attempt("", call, Silent), attempt("not today", call, Fails)
    return *found, x * 2, _tools(torch)._get_current_dispatch_mode()


@program()
def a_mode_around_a_selective_checkpoint_sees_what_is_computed(torch: Any) -> Any:
    checkpoints = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    keep = partial(checkpoints.create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    x = torch.eye(2, requires_grad=True)
    calls: list[str] = []
    with _log(torch, calls, arguments=False):
        y = checkpoints.checkpoint(lambda x: (x @ x).sin() @ x, x, use_reentrant=False, context_fn=keep)
        y.sum().backward()
    return calls.count("aten.mm.default"), calls.count("aten.sin.default"), x.grad


@program()
def functions_of_ones_own_under_a_mode(torch: Any) -> Any:
    class Sine(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.cos()

    x = torch.ones(2, requires_grad=True)
    calls: list[str] = []
    with _log(torch, calls, arguments=False):
        Sine.apply(x).sum().backward()
    return calls, x.grad


@program()
def operations_have_names(torch: Any) -> Any:
    mul = torch.ops.aten.mul.Tensor
    return str(mul), mul.name(), mul.namespace, mul.__name__, mul._overloadname, str(mul.overloadpacket)


# -- what is built on them -------------------------------------------------------------------------------------------


def _flops(torch: Any, step: Any, **options: Any) -> Any:
    counter = importlib.import_module(f"{torch.__name__}.utils.flop_counter").FlopCounterMode(
        display=False, **options
    )
    with counter:
        step()
    counts = counter.get_flop_counts()
    return counter.get_total_flops(), sorted((m, str(op), n) for m in counts for op, n in counts[m].items())


@program()
def operations_are_counted(torch: Any) -> Any:
    x = torch.ones(4, 5, requires_grad=True)
    layers = torch.nn.Sequential(
        torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(5, 6))
    )
    network = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3, stride=2, padding=1), torch.nn.ConvTranspose2d(4, 6, 2)
    )
    image = torch.ones(2, 2, 9, 9, requires_grad=True)
    sines = {torch.ops.aten.sin: lambda shape, **_: 7 * shape[0]}
    return (
        _flops(torch, lambda: (x @ torch.ones(5, 6)).sum().backward()),
        _flops(torch, lambda: layers(torch.ones(300, 4)).sum().backward()),
        _flops(torch, lambda: network(image).sum().backward()),
        _flops(torch, lambda: torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))),
        _flops(torch, lambda: torch.ones(3).sin(), custom_mapping=sines),
        _flops(torch, lambda: torch.ones(3) + 1),
    )


@program()
def formulas_are_registered_once_for_operations(torch: Any) -> Any:
    register = importlib.import_module(f"{torch.__name__}.utils.flop_counter").register_flop_formula
    return (
        attempt("expected each target to be OpOverloadPacket", register(3), lambda: 0),
        attempt("duplicate registrations", register(torch.ops.aten.mm), lambda: 0),
    )


@program()
def what_operations_are(torch: Any) -> Any:
    tools, operations = _tools(torch), importlib.import_module(f"{torch.__name__}._ops")
    mm = torch.ops.aten.mm
    kinds: list[bool] = []

    class Kinds(tools.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kinds.append(isinstance(func, operations.OpOverload))
            return func(*args, **(kwargs or {}))

    with Kinds():
        inside = tools.is_in_torch_dispatch_mode()
        torch.ones(2, 2) @ torch.ones(2, 2)
    return (
        kinds, inside, tools.is_in_torch_dispatch_mode(), isinstance(mm, operations.OpOverloadPacket),
        isinstance(mm.default, operations.OpOverload), isinstance(mm, operations.OpOverload), mm._qualified_op_name,
    )  # fmt: skip
