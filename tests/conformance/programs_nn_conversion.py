"""Modules that are converted or loaded while `torch.__future__` says what becomes of their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .harness import attempt, program
from .nn_models import linear


@contextmanager
def _setting(torch: Any, name: str) -> Iterator[None]:
    put, get = (
        getattr(torch.__future__, f"{verb}_{name}_module_params_on_conversion") for verb in ("set", "get")
    )
    assert get() is False
    put(True)
    try:
        assert get() is True
        yield
    finally:
        put(False)


def _trained(torch: Any) -> Any:
    net = linear(torch, 2, 3)
    net(torch.ones(1, 2)).sum().backward()
    return net


@program()
def new_parameters(torch: Any) -> Any:
    net = _trained(torch)
    weight, grad = net.weight, net.weight.grad
    with _setting(torch, "overwrite"):
        net.double()
    kept = net.weight is weight, net.weight.grad is grad, type(net.weight) is torch.nn.Parameter
    return kept, net.weight, net.weight.grad, weight, weight.grad, next(net.parameters()) is net.weight


@program()
def swapped_parameters(torch: Any) -> Any:
    net = _trained(torch)
    weight_id, grad_id = id(net.weight), id(net.weight.grad)
    net.weight.mine = 3
    with _setting(torch, "swap"):
        net.double()
    kept = id(net.weight) == weight_id, id(net.weight.grad) == grad_id, hasattr(net.weight, "mine")
    return kept, net.weight, net.weight.grad, type(net.weight) is torch.nn.Parameter


@program()
def a_graph_of_before_is_spoilt(torch: Any) -> Any:
    net = linear(torch, 2, 3)
    loss = net(torch.ones(1, 2)).sum()
    with _setting(torch, "swap"):
        net.double()
    return attempt("poisoned by swap_tensors", loss.backward), net.weight.grad


@program()
def loading_by_swapping(torch: Any) -> Any:
    net, other, found = linear(torch, 2, 3), torch.nn.Linear(2, 3), []
    state = net.state_dict()

    class Watch(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    state["bias"] = state["bias"].as_subclass(Watch)
    found.clear()
    kept = id(other.weight), id(other.bias)
    with _setting(torch, "swap"):
        other.load_state_dict(state)
        same = kept == (id(other.weight), id(other.bias))
        other.load_state_dict({name: value * 2 for name, value in net.state_dict().items()}, assign=True)
    kinds = type(other.weight) is torch.nn.Parameter, other.weight.requires_grad
    return same, kinds, "module_load" in found, other.weight, other.bias.detach()


@program()
def a_module_load_of_ones_own(torch: Any) -> Any:
    class Echo(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.Tensor.module_load:
                return args[1]
            return super().__torch_function__(func, types, args, kwargs or {})

    net = linear(torch, 2, 3)
    state = {"weight": torch.ones(3, 2).as_subclass(Echo), "bias": torch.ones(3)}
    with _setting(torch, "swap"):
        return attempt(
            "While swapping the parameter named .weight.*returned one of self", net.load_state_dict, state
        )


@program()
def what_cannot_be_swapped(torch: Any) -> Any:
    import weakref

    class Slotted(torch.Tensor):
        __slots__ = ("mine",)

    swap, a, b = torch.utils.swap_tensors, torch.ones(2), torch.zeros(3)
    watch = weakref.ref(a)
    weak = attempt("Cannot swap t1 because it has weakref", swap, a, b), attempt("Cannot swap t2", swap, b, a)
    del watch
    first, second = torch.ones(2).as_subclass(Slotted), torch.zeros(3).as_subclass(Slotted)
    slots = attempt("different slots", swap, a, first)
    first.mine, first.other = 1, 2
    swap(first, second)
    found = (
        hasattr(first, "mine"),
        second.mine,
        hasattr(first, "other"),
        second.other,
        first.tolist(),
        second.tolist(),
    )
    return weak, slots, found


@program()
def new_parameters_on_another_kind_of_device(torch: Any) -> Any:
    net = linear(torch, 2, 3)
    weight = net.weight
    net.to("meta")
    return net.weight is weight, net.weight.is_meta, weight.is_meta, net.weight.requires_grad
