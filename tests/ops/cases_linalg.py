"""Rows of products of vectors and matrices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import call_with

COMPOSED = {"jvp": "views around a product"}


def quiet(function: Any) -> Any:
    """The function without PyTorch's warning that it is deprecated."""

    def called(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return function(*args, **kwargs)

    return called


def plus(product: Any) -> Any:
    return lambda c, a, b, beta=1, alpha=1: beta * c + alpha * product(a, b)


def scaled(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    return call_with(*shapes), call_with(*shapes, beta=2, alpha=3), call_with(*shapes, layout="strided")


PRODUCTS = (
    Case("dot", (call_with((3,), (3,)), call_with((0,), (0,)), call_with((3,), (3,), layout="strided")), np.dot),
    Case("vdot", (call_with((3,), (3,)), call_with((0,), (0,))), np.vdot),
    Case("mv", (call_with((2, 3), (3,)), call_with((2, 0), (0,)), call_with((2, 3), (3,),
         layout="transposed")), np.matmul),
    Case("mm", (call_with((2, 3), (3, 2)), call_with((2, 0), (0, 3)), call_with((2, 3), (3, 1),
         layout="transposed")), np.matmul),
    Case("bmm", (call_with((2, 1, 3), (2, 3, 2)), call_with((0, 1, 3), (0, 3, 2))), np.matmul),
    Case("matmul", (call_with((3,), (3,)),), np.matmul, form="dot"),
    Case("matmul", (call_with((2, 3), (3,)),), np.matmul, form="mv"),
    Case("matmul", (call_with((2, 3), (3, 2)), call_with((2, 3), (3, 2), layout="strided")), np.matmul, form="mm"),
    Case("matmul", (call_with((3,), (3, 2)), call_with((3,), (2, 3, 2)), call_with((2, 2, 3), (3,)),
         call_with((2, 2, 3), (3, 2)),
                    call_with((2, 3), (2, 3, 1)), call_with((2, 1, 1, 2), (1, 2, 2, 1)), call_with((2, 1, 3),
                    (2, 3, 2)),
                    call_with((0, 2), (2, 2))), np.matmul, form="batches", excuses=COMPOSED),
    Case("Tensor.__matmul__", (call_with((2, 3), (3, 2)),), np.matmul),
    Case("outer", (call_with((3,), (2,)), call_with((0,), (2,))), np.outer, excuses=COMPOSED),
    Case("inner", (call_with((3,), (3,)), call_with((2, 3), (3,)), call_with((2, 3), (1, 3)),
         call_with((), (2,))), np.inner, excuses=COMPOSED),
    Case("tensordot", (call_with((2, 3), (3, 2), dims=1), call_with((2, 3), (2, 3), dims=2),
         call_with((2, 3), (2, 2), dims=([0], [1])),
                       call_with((2,), (2,), dims=0)), lambda x, y, dims: np.tensordot(x, y, dims),
                       excuses=COMPOSED),
    Case("chain_matmul", (call_with((2, 3), (3, 1), (1, 2)),), lambda *xs: np.linalg.multi_dot(xs),
         call=quiet(rg.chain_matmul), excuses=COMPOSED),
    *(Case("einsum", (call_with(*shapes),), lambda *xs, e=e: np.einsum(e, *xs),
         call=lambda *xs, e=e: rg.einsum(e, *xs), form=e.replace(" ", ""),
           excuses=COMPOSED)
      for e, shapes in (("ij,jk->ik", ((2, 3), (3, 2))), ("ij->ji", ((2, 3),)), ("ij->", ((2, 3),)),
      ("ii->i", ((2, 2),)), ("ii", ((2, 2),)),
                        ("bij,bjk->bik", ((2, 1, 3), (2, 3, 2))), ("i,j", ((2,), (3,))),
                        ("...i,i->...", ((2, 2, 3), (3,))),
                        ("ij,jk,kl->il", ((2, 3), (3, 1), (1, 2))), ("ij,ij->j", ((2, 3), (2, 3))))),
)  # fmt: skip

SUMS = (
    Case("addmm", (*scaled((2, 2), (2, 3), (3, 2)), call_with((2,), (2, 3), (3, 2)), call_with((), (2, 3),
         (3, 2))), plus(np.matmul)),
    Case("addmv", (*scaled((2,), (2, 3), (3,)), call_with((), (2, 3), (3,))), plus(np.matmul)),
    Case("addr", scaled((3, 2), (3,), (2,)), plus(np.outer)),
    Case("baddbmm", scaled((2, 1, 2), (2, 1, 3), (2, 3, 2)), plus(np.matmul)),
    Case("addbmm", scaled((1, 2), (2, 1, 3), (2, 3, 2)), plus(lambda a, b: np.matmul(a, b).sum(0))),
    Case("nn.functional.linear", (call_with((2, 3), (4, 3), (4,)), call_with((3,), (4, 3), (4,)),
         call_with((2, 1, 3), (4, 3), (4,)),
                                  call_with((2, 3), (4, 3))), lambda x, w, b=0: x @ w.T + b, excuses=COMPOSED),
    *(Case("linalg.vector_norm", (call_with((2, 3)), call_with((2, 3), dim=1), call_with((2, 3), dim=(0, 1),
         keepdim=True)),
           lambda x, dim=None, keepdim=False, p=p: np.linalg.norm(x.ravel() if dim in (None, (0, 1)) else x, p,
           dim if dim == 1 else None).reshape(
               (1, 1) if keepdim else (2,) if dim == 1 else ()),
           call=lambda x, dim=None, keepdim=False, p=p: rg.linalg.vector_norm(x, p, dim, keepdim),
           form=f"order_{p}")
      for p in (1, 2, 3)),
    Case("trace", (call_with((2, 2)), call_with((2, 3)), call_with((0, 3))), np.trace),
)  # fmt: skip

LINALG = (*PRODUCTS, *SUMS)
