"""Dtypes as objects: attributes, names, equality, limits, and what takes them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from .harness import attempt, program

NAMES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
ALIASES = ["half", "float", "double", "short", "int", "long", "cfloat", "cdouble"]


@program()
def attributes(torch: Any) -> Any:
    kinds = [getattr(torch, name) for name in NAMES]
    return [(d.is_floating_point, d.is_complex, d.is_signed, d.itemsize, d.abbr) for d in kinds]


@program()
def names(torch: Any) -> Any:
    return [(str(getattr(torch, name)), repr(getattr(torch, name))) for name in (*NAMES, *ALIASES)]


@program()
def one_object_each(torch: Any) -> Any:
    x = torch.zeros(2, dtype=torch.float64)
    return (
        x.dtype is torch.float64,
        torch.double is torch.float64,
        copy.deepcopy(x.dtype) is x.dtype,
        pickle.loads(pickle.dumps(x.dtype)) is x.dtype,
        isinstance(x.dtype, torch.dtype),
        x.dtype in (torch.float32, torch.float64),
        {torch.float64: "here"}[x.dtype],
    )


@program()
def real_and_complex(torch: Any) -> Any:
    kinds = [getattr(torch, name) for name in NAMES if name != "float16"]  # torch's complex32 is not NumPy's
    return [(d.to_real(), attempt("Unknown Complex ScalarType", d.to_complex)) for d in kinds]


@program()
def nobody_makes_one(torch: Any) -> Any:
    words = "cannot create 'torch.dtype' instances"
    return (
        attempt(words, torch.dtype),
        attempt(words, torch.dtype, "float32"),
        hasattr(torch.float32, "colour"),
    )


@program()
def order_is_not_defined(torch: Any) -> Any:
    return (
        attempt("not supported between", lambda: torch.float32 < torch.float64),
        torch.float32 != torch.float64,
        torch.float32 == None,  # noqa: E711
    )


@program()
def limits_of_floats(torch: Any) -> Any:
    kinds = [torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128]
    fields = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    return [(repr(torch.finfo(d)), [getattr(torch.finfo(d), f) for f in fields]) for d in kinds]


@program()
def limits_of_integers(torch: Any) -> Any:
    kinds = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    return [
        (repr(torch.iinfo(d)), [getattr(torch.iinfo(d), f) for f in ("bits", "dtype", "max", "min")])
        for d in kinds
    ]


@program()
def limits_by_default_and_refused(torch: Any) -> Any:
    return (
        torch.finfo() == torch.finfo(torch.float32),
        attempt("requires a floating point input type", torch.finfo, torch.int8),
        attempt("requires an integer input type", torch.iinfo, torch.float32),
        attempt("not supported by torch.iinfo", torch.iinfo, torch.bool),
        attempt("must be torch.dtype, not int", torch.finfo, 3),
    )


@program()
def functions_that_give_one(torch: Any) -> Any:
    x, i = torch.ones(2), torch.ones(2, dtype=torch.int32)
    return (
        torch.get_default_dtype() is torch.float32,
        torch.promote_types(torch.int8, torch.float16) is torch.float16,
        torch.result_type(i, 1.5) is torch.float32,
        (x * i).dtype is torch.float32,
        x.to(x.dtype.to_complex()).dtype,
        x.grad_dtype is torch.float32,
    )


@program()
def as_scripts_ask(torch: Any) -> Any:
    """The tests that Module.to and its like make."""
    found = []
    for t in (torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.complex64)):
        wanted = torch.float64 if t.dtype.is_floating_point or t.dtype.is_complex else t.dtype
        found.append(
            (
                wanted,
                t.to(wanted if not t.dtype.is_complex else None).dtype,
                t.element_size() == t.dtype.itemsize,
            )
        )
    return found


@program()
def in_a_graph(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    y = (x.to(torch.float64) * torch.tensor(2.0, dtype=x.dtype)).cumsum(0, dtype=torch.float64)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y.dtype, g.dtype, y.sum(dtype=x.dtype).dtype, x.new_zeros(2, dtype=y.dtype).dtype, g.requires_grad
