"""Tensors that results are written into: which dtypes they may have, and in which words others are refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .harness import attempt, program

MATRIX = [[2.0, 0.0], [0.0, 3.0]]


def into(torch: Any, phrase: str, dtype: str, use: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """A call that writes into a tensor of another dtype than its result has."""
    return attempt(phrase, use, *args, **named, out=torch.empty(0, dtype=getattr(torch, dtype)))


@program()
def matrices_into_another_dtype(torch: Any) -> Any:
    a, v, la = torch.tensor(MATRIX), torch.ones(2), torch.linalg
    exact = "Expected out tensor to have dtype float, but got double instead"
    return (
        [into(torch, exact, "float64", f, a) for f in (la.cholesky, la.inv, la.det, la.eigvalsh, la.svdvals)],
        [into(torch, exact, "float64", f, a, a) for f in (torch.mm, torch.matmul, la.solve)],
        into(torch, "but got int instead", "int32", la.cholesky, a),
        into(torch, "got result with dtype Int", "int32", la.pinv, a),
        into(torch, "got result with dtype Int", "int32", la.cond, a),
        into(torch, "Expected eigenvalues to be safely castable", "int32", la.eigvals, a),
        into(torch, "linalg.norm expected out tensor dtype", "float64", la.norm, v),
        into(
            torch, "expected out tensor to have dtype float but got double", "float64", la.multi_dot, [a, a]
        ),
        into(torch, "result dtype Double does not match input dtype Float", "float64", torch.dot, v, v),
        into(torch, "Expected the output tensor to have dtype Float", "float64", torch.tensordot, a, a, 1),
        attempt("but got int instead", la.inv_ex, a, out=(a.int(), a.int())),
        attempt("Expected eigenvalues to be", la.eig, a, out=(torch.empty(0), torch.empty(0))),
        attempt("Expected tau to be safely", torch.geqrf, a, out=(torch.empty(0), torch.empty(0).long())),
        la.pinv(a, out=torch.empty(0, dtype=torch.float64)).dtype,
    )


@program()
def elements_into_another_dtype(torch: Any) -> Any:
    a, i = torch.tensor(MATRIX), torch.tensor([0])
    return (
        into(torch, "self and result must have the same scalar type", "float64", torch.index_select, a, 0, i),
        into(torch, "self and result must have the same scalar", "float64", torch.masked_select, a, a > 0),
        into(torch, "self and out expected to have the same dtype", "float64", torch.take, a, i),
        into(torch, "Expected out tensor to have dtype float", "float64", torch.gather, a, 0, i[None]),
        into(torch, "scalar type Long", "float32", torch.nonzero, a),
        into(torch, "only supports bool tensor for result, got: Float", "float32", torch.all, a, 0),
        into(torch, "Expected object of scalar type ComplexFloat", "complex128", torch.complex, a, a),
        into(torch, "input types can't be cast to the desired output type Int", "int32", torch.cat, [a, a]),
        into(torch, "Expected out type to be Float but got Double", "float64", torch.where, a > 0, a, a),
        into(torch, "should have the same dtype", "float64", torch.histc, a),
        into(torch, "expected scalar_type Float but found Double", "float64", torch.logcumsumexp, a, 0),
        into(torch, "multinomial expects Long tensor out, got: Float", "float32", torch.multinomial, a[0], 1),
        into(torch, "the output given to float_power has dtype Float", "float32", torch.float_power, a, 2),
        attempt("output indices must be", torch.kthvalue, a, 1, out=(torch.empty(0), torch.empty(0))),
        attempt("expected scalar_type Long but found", torch.cummax, a, 0, out=(torch.ones(2, 2), a.clone())),
    )


@program()
def what_any_dtype_can_hold(torch: Any) -> Any:
    whole = torch.ones(3, dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.bernoulli(torch.tensor([0.0, 1.0, 1.0]), out=whole)


@program()
def what_is_just_filled_takes_another_shape_without_a_word(torch: Any) -> Any:
    odds = torch.tensor([0.0, 1.0])
    return (
        [f(2, out=torch.empty(3)) for f in (torch.zeros, torch.ones, torch.eye)],
        torch.full((2, 2), 5.0, out=torch.empty(3)),
        torch.linspace(0, 1, 2, out=torch.empty(3)),
        torch.logspace(0, 1, 2, out=torch.empty(3)),
        [f(2, out=torch.empty(3)).shape for f in (torch.empty, torch.rand, torch.randn)],
        torch.randint(3, (2,), out=torch.empty(3)).shape,
        torch.randperm(3, out=torch.empty(2, dtype=torch.int64)).shape,
        torch.normal(0, 1, (2,), out=torch.empty(3)).shape,
        torch.bernoulli(odds, out=torch.empty(3)),
        torch.multinomial(odds, 1, out=torch.empty(3, dtype=torch.int64)),
    )


@program()
def numbers_in_a_row_fill_an_output_of_another_shape(torch: Any) -> Any:
    return (
        torch.arange(2, out=torch.empty(2, 1)),
        torch.linspace(0, 1, 2, out=torch.empty(1, 2)),
        torch.logspace(0, 1, 4, out=torch.empty(2, 2)),
        torch.fft.fftfreq(2, out=torch.empty(2, 1)),
    )


@program(warns=r"The number of elements in the out tensor of shape \[2\] is 2 which does not match")
def an_output_of_fewer_elements_than_a_range_has(torch: Any) -> Any:
    return torch.arange(3, out=torch.empty(2)), torch.fft.fftfreq(4, out=torch.empty(2))
