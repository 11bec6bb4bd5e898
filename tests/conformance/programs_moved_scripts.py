"""What scripts do in passing: numbers of NumPy's as arguments, frozen leaves, generators of inputs, stale prints."""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import program


def vec(torch: Any, **options: Any) -> Any:
    return torch.tensor([0.25, 1.5, 3.0], **options)


@program()
def numbers_of_numpys_do_not_decide_the_dtype(torch: Any) -> Any:
    x, found = vec(torch), []
    for number in (np.float32(0.5), np.float64(0.5), np.int64(1), np.int32(2)):
        found += [
            torch.where(x > 1, x, number),
            x.clamp(number),
            x.clamp(0, number),
            x.clamp_min(number),
            x.clamp_max(number),
            x % number,
            x.fmod(number),
            torch.add(x, x, alpha=number),
            torch.sub(x, x, alpha=number),
            x * number,
            torch.arange(3).clamp(int(number)),
        ]
    return found


@program()
def a_leaf_frozen_between_forward_and_backward(torch: Any) -> Any:
    x, w, kept = (vec(torch, requires_grad=True) for _ in range(3))
    (kept * 2).sum().backward()
    y = x * w + kept * 3
    x.requires_grad_(False)
    kept.requires_grad_(False)
    y.sum().backward()
    return x.grad, w.grad, kept.grad


@program()
def a_detached_leaf_gets_nothing(torch: Any) -> Any:
    x, w = (vec(torch, requires_grad=True) for _ in range(2))
    y = x * w
    x.detach_()
    y.sum().backward()
    return x.grad, w.grad


@program()
def inputs_of_backward_from_a_generator(torch: Any) -> Any:
    leaves = [vec(torch, requires_grad=True) for _ in range(3)]
    (leaves[0] * leaves[1] * leaves[2]).sum().backward(inputs=(leaf for leaf in leaves[:2]))
    return [leaf.grad for leaf in leaves]


@program("cannot be empty")
def no_inputs_from_a_generator(torch: Any) -> Any:
    vec(torch, requires_grad=True).sum().backward(inputs=iter(()))


@program()
def printing_a_view_that_is_out_of_date(torch: Any) -> Any:
    y = vec(torch, requires_grad=True) * 1
    first, _, _ = y.split(1)
    y.mul_(2)
    return repr(first)


@program()
def a_function_without_results(torch: Any) -> Any:
    class Sink(torch.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return ()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return None

    return Sink.apply(vec(torch, requires_grad=True))
