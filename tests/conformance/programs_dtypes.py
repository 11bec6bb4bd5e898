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
WITHOUT_ARRAYS = [
    "complex32", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    "float4_e2m1fn_x2", "qint8", "quint8", "qint32", "quint4x2", "quint2x4", "bits8", "bits16", "bits1x8", "bits2x4",
    "bits4x2", *(f"int{bits}" for bits in range(1, 8)), *(f"uint{bits}" for bits in range(1, 8)),
]  # fmt: skip


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
    kinds = [getattr(torch, name) for name in NAMES]
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
def dtypes_without_arrays(torch: Any) -> Any:
    """Here there are no tensors of them; they can be asked all the same."""
    found = []
    for kind in (getattr(torch, name) for name in WITHOUT_ARRAYS):
        facts = [
            kind.itemsize,
            kind.is_floating_point,
            kind.is_complex,
            kind.abbr,
            repr(kind),
            kind.to_real(),
        ]
        changed = attempt("Unknown Complex ScalarType", kind.to_complex)
        found.append((*facts, changed, isinstance(kind, torch.dtype)))
    return found, torch.chalf, torch.bit, torch.float16.to_complex()


@program()
def signs_of_dtypes_without_arrays(torch: Any) -> Any:
    words = "isSignedType not supported for quantized types|Bits types are undefined"
    return [attempt(words, lambda kind=getattr(torch, name): kind.is_signed) for name in WITHOUT_ARRAYS]


@program()
def one_object_each_without_arrays(torch: Any) -> Any:
    kinds = [getattr(torch, name) for name in WITHOUT_ARRAYS]
    copies = zip(kinds, copy.deepcopy(kinds), pickle.loads(pickle.dumps(kinds)), strict=True)
    return (
        [a is b is c for a, b, c in copies],
        len({*kinds, *(getattr(torch, name) for name in NAMES)}),
        [kind in (torch.float32, torch.int8, "qint8") for kind in kinds],
        {kind: str(kind) for kind in kinds}[torch.float8_e5m2],
    )


@program()
def limits_of_small_floats(torch: Any) -> Any:
    kinds = [getattr(torch, name) for name in WITHOUT_ARRAYS[:6]]
    fields = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    return [(repr(torch.finfo(d)), [getattr(torch.finfo(d), f) for f in fields]) for d in kinds]


@program()
def limits_of_quantised_and_narrow_integers(torch: Any) -> Any:
    infos = [torch.iinfo(getattr(torch, name)) for name in WITHOUT_ARRAYS if name.startswith("q")]
    others = [getattr(torch, name) for name in WITHOUT_ARRAYS if not name.startswith("q")]
    return (
        [(info.bits, info.max, info.min) for info in infos],
        [attempt("requires an integer input type", torch.iinfo, kind) for kind in others],
        [attempt("requires a floating point input type", torch.finfo, kind) for kind in others[7:]],
        attempt("not implemented for", lambda: torch.finfo(torch.float4_e2m1fn_x2).eps),
    )


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
