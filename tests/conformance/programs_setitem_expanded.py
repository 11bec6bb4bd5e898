"""Item assignment into expanded tensors, into numbers, and of values with leading dimensions of size 1."""

from __future__ import annotations

import warnings
from typing import Any

from .harness import attempt, program

REFUSED = "more than one element of the written-to tensor refers to a single memory location"


def column(torch: Any, requires_grad: bool = False) -> Any:
    return torch.tensor([[1.0], [2.0]], requires_grad=requires_grad)


@program()
def a_part_that_does_not_overlap(torch: Any) -> Any:
    t = column(torch)
    wide = t.expand(2, 3)
    wide[:, 0] = 5
    wide[1, 1:2] = torch.tensor([7.0])
    return t, wide, t._version


@program()
def a_part_that_does_not_overlap_recorded(torch: Any) -> Any:
    x, w = column(torch, True), torch.ones(2, requires_grad=True)
    y = x * 1
    y.expand(2, 3)[:, 1] = w * 3
    (y * y).sum().backward()
    return y, x.grad, w.grad


@program()
def a_part_that_overlaps(torch: Any) -> Any:
    t = column(torch)
    wide = t.expand(2, 3)
    return [
        attempt(REFUSED, wide.__setitem__, 0, 1.0),
        attempt(REFUSED, wide.__setitem__, slice(None), 1.0),
        attempt(REFUSED, wide.__setitem__, ..., torch.ones(3)),
        attempt(REFUSED, wide.__setitem__, 0, torch.ones(3, requires_grad=True)),
        t,
        t._version,
    ]


@program()
def index_arrays_and_masks(torch: Any) -> Any:
    t, u = column(torch), column(torch)
    with warnings.catch_warnings(record=True) as caught:  # PyTorch may warn twice of one assignment
        warnings.simplefilter("always")
        t.expand(2, 3)[torch.tensor([0])] = 5.0
        u.expand(2, 3)[u.expand(2, 3) > 1] = 7.0
    return t, u, t._version, {str(w.message)[:3] for w in caught}


@program()
def a_number_has_no_slices(torch: Any) -> Any:
    t = torch.tensor(1.0)
    found = [
        attempt("slice\\(\\) cannot be applied to a 0-dim tensor", t.__setitem__, slice(None), 2.0),
        attempt("invalid index of a 0-dim tensor", t.__setitem__, 0, 2.0),
        attempt("too many indices", t.__setitem__, (slice(None),), 2.0),
    ]
    t[...] = 3.0
    return found, t


@program()
def values_with_leading_ones(torch: Any) -> Any:
    indices = {
        "row": lambda: 0,
        "all": lambda: ...,
        "slice": lambda: slice(None),
        "array": lambda: torch.tensor([0, 1]),
        "mask": lambda: torch.tensor([True, False]),
        "number and array": lambda: (0, torch.tensor([1, 2])),
    }
    found = {}
    for name, index in indices.items():
        for shape in ((1,), (1, 1), (1, 3), (1, 1, 3), (1, 2, 3), (3,)):
            y, w = torch.zeros(2, 3), torch.ones(*shape, requires_grad=True)
            refused = attempt("", y.__setitem__, index(), w)
            found[f"{name} {shape}"] = refused, y, y.grad_fn and y.grad_fn.next_functions[-1][0]
    return found
