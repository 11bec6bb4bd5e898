"""Tensors as instances of other classes, and slots: what becomes of their gradients."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def subclass(torch: Any, **fields: Any) -> Any:
    return type("Metres", (torch.Tensor,), fields)


@program()
def a_leaf_as_another_class(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.as_subclass(subclass(torch))
    (y * 3).sum().backward()
    return x.grad, y.is_leaf, type(y.grad_fn).__name__, y._is_view()


@program()
def a_write_through_another_class(torch: Any) -> Any:
    x = torch.ones(2)
    y = x.as_subclass(subclass(torch))
    y.add_(1)
    return x, x._version, attempt("does not inherit from Tensor", x.as_subclass, int)


@program()
def classes_are_called_with_a_tensor(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    made = [subclass(torch)(x), torch.Tensor(x), torch.FloatTensor(x), x.new(x)]
    sum((m * 2).sum() for m in made).backward()
    return [(m.requires_grad, m.is_leaf) for m in made], x.grad


@program()
def a_class_with_a_constructor(torch: Any) -> Any:
    class Length(torch.Tensor):  # type: ignore[misc, name-defined, unused-ignore]
        def __new__(cls, data: Any, unit: str) -> Any:
            return super().__new__(cls, data)

        def __init__(self, data: Any, unit: str) -> None:
            self.unit = unit

    x = torch.ones(2, requires_grad=True)
    y = Length(x, "cm")
    y.sum().backward()
    return y.unit, x.grad


@program()
def slots_that_differ(torch: Any) -> Any:
    first = subclass(torch, __slots__=("a",))(torch.ones(2))
    second = subclass(torch, __slots__=("b",))(torch.ones(2))
    return attempt("different slots", torch.utils.swap_tensors, first, second)
