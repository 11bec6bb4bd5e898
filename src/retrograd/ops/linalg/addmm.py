"""A sum with a product: addmm, addmv, addr, baddbmm, addbmm, and linear, which most are made for."""

from __future__ import annotations

from typing import Any, ClassVar

from retrograd.backends.base import Backend
from retrograd.backends.dtypes import SCALAR_NAMES, promote_types, result_type
from retrograd.backends.native import quick_layout
from retrograd.core.apply import apply1, apply_n
from retrograd.core.autocast import autocasting, autocasting_on_gpu, lowered
from retrograd.core.families import added, conjugate, scaled
from retrograd.core.op import Variadic, X
from retrograd.core.tensor import Tensor
from retrograd.errors import DtypeError, ShapeError, dimension_error, sizes
from retrograd.ops.common import c_name, deliver_exact, number_from, old_order, require_tensor
from retrograd.ops.linalg.matmul import Bmm, Mv, Product, adjoint, conjugated, laid_out, matmul_of
from retrograd.ops.linalg.product_arguments import check_bmm, check_mm, check_mv, element_count, tensor_pair
from retrograd.ops.register import public
from retrograd.ops.shape.transpose import T, t
from retrograd.ops.tensor.convert import ToCopy
from retrograd.ops.tensor.data import held_number
from retrograd.values import Array, Number, Shape

# -- ops -----------------------------------------------------------------------------------------------------------


class Ger(Product):
    """the products of all elements of x with all of y"""

    second = "vec2"

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        return xp.multiply(x.reshape(-1, 1), y)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return Mv().on(g, conjugated(y)) if i == 0 else Mv().on(g.swapaxes(0, 1), conjugated(x))


class BmmSum(Bmm):
    """matrices times matrices, pair by pair, all added up"""

    def forward(self, xp: Backend, x: Array, y: Array) -> Array:
        products = xp.product(x, y)
        return products.sum(axis=0, dtype=products.dtype)

    def transpose(self, i: int, g: Any, x: Any, y: Any) -> Any:
        return g @ adjoint(y) if i == 0 else adjoint(x) @ g


class AddProduct(Variadic):
    """beta * x + alpha * (y @ z), for some product of y and z"""

    params: ClassVar[tuple[str, ...]] = ("beta", "alpha")
    keeps: ClassVar[int] = X
    multiplies: ClassVar[bool] = True

    def __init__(self, beta: Any, alpha: Any) -> None:
        self.beta = beta
        self.alpha = alpha

    def product(self) -> Product:
        """The product's own op; its transposes are this op's, too."""
        raise NotImplementedError

    def keeps_input(self, i: int) -> bool:
        return i > 0 and self.needs(3 - i)

    def forward(self, xp: Backend, xs: Any) -> Any:
        return self.computed(xp, xs[0], xs[1], xs[2])

    def computed(self, xp: Backend, x: Array, y: Array, z: Array) -> Array:
        """The result by the array library."""
        out = self.product().forward(xp, y, z)
        if self.alpha != 1:
            out = (out * self.alpha).astype(out.dtype, copy=False)
        if self.beta == 0:  # then x is not looked at: it may hold NaN
            return out
        part = x if self.beta == 1 else x * self.beta
        return (
            xp.add_into(out, part) if part.dtype == out.dtype else (out + part).astype(out.dtype, copy=False)
        )

    def vjp(self, gs: Any, xs: Any, outs: Any) -> Any:
        g = gs[0]
        grads: list[Any] = [scaled(g, conjugate(self.beta)) if self.needs(0) else None, None, None]
        part = scaled(g, conjugate(self.alpha)) if self.needs(1) or self.needs(2) else None
        for i in (1, 2):
            if self.needs(i):
                grads[i] = self.product().transpose(i - 1, part, xs[1], xs[2])
        return grads

    def jvp(self, ts: Any, xs: Any, outs: Any) -> Any:
        a = None if ts[0] is None else scaled(ts[0], self.beta)
        b = None if ts[1] is None else scaled(self.product().fresh().on(ts[1], xs[2]), self.alpha)
        c = None if ts[2] is None else scaled(self.product().fresh().on(xs[1], ts[2]), self.alpha)
        return added(added(a, b), c)


class Addmm(AddProduct):
    """beta * x + alpha * (matrix @ matrix)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "mat1": "x:1", "mat2": "x:2"}

    layout: int = 0  # how the matrices lie, once known

    def product(self) -> Product:
        return laid_out(self.layout)

    def forward(self, xp: Backend, xs: Any) -> Any:
        x, y, z = xs[0], xs[1], xs[2]
        if self.alpha != 1 or self.beta != 1:
            return self.computed(xp, x, y, z)
        if not self.layout:
            self.layout = xp.layout_of(y, z)
        return xp.addmm(self, x, y, z)


class Addmv(AddProduct):
    """beta * x + alpha * (matrix @ vector)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "mat": "x:1", "vec": "x:2"}

    def product(self) -> Product:
        return Mv()


class Addr(AddProduct):
    """beta * x + alpha * (vector times vector)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "vec1": "x:1", "vec2": "x:2"}

    def product(self) -> Product:
        return Ger()


class Baddbmm(AddProduct):
    """beta * x + alpha * (matrices @ matrices)"""

    shown: ClassVar[dict[str, str]] = {"beta": "beta", "alpha": "alpha", "batch1": "x:1", "batch2": "x:2"}

    def product(self) -> Product:
        return Bmm()


class Addbmm(Baddbmm):
    """beta * x + alpha * sum(matrices @ matrices)"""

    def product(self) -> Product:
        return BmmSum()


# -- functions -----------------------------------------------------------------------------------------------------


def _add_product(function: str, op: AddProduct, base: Any, x: Any, y: Any, shape: Shape, out: Any) -> Tensor:
    """`beta * base + alpha * product`, once the product itself has been checked."""
    _check_expands(base.array.shape, shape)
    if type(op.beta) is not int or type(op.alpha) is not int:
        op.beta = number_from(function, "beta", 4, op.beta)
        op.alpha = number_from(function, "alpha", 5, op.alpha)
    if op.beta != 1 or op.alpha != 1:
        if x.array.dtype.kind in "iu":
            op.beta, op.alpha = int(op.beta), int(op.alpha)
        for number in (op.beta, op.alpha):
            held_number(number, x.array.dtype)  # complains about one that does not fit
    return deliver_exact(apply_n(op, (base, x, y)), out)


def _check_dtypes(function: str, base: Any, x: Tensor, y: Tensor) -> None:
    """Raises unless what is added and what is multiplied have one dtype."""
    a, b, c = require_tensor(function, "input", 1, base).array, x.array, y.array
    if (a.dtype is b.dtype or a.dtype == b.dtype) and (b.dtype is c.dtype or b.dtype == c.dtype):
        return
    names = SCALAR_NAMES[a.dtype], SCALAR_NAMES[b.dtype], SCALAR_NAMES[c.dtype]
    if function == "addmv":
        words = (
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}"
        )
    elif function == "baddbmm" and a.dtype != b.dtype:
        words = (
            f"Input dtypes must be the same, got: input {c_name(a)}, batch1: {c_name(b)}, batch2: {c_name(c)}"
        )
    elif function == "baddbmm":
        words = f"expected scalar type {names[1]} but found {names[2]}"
    elif a.dtype != c.dtype:
        words = f"self and mat2 must have the same dtype, but got {names[0]} and {names[2]}"
    else:
        words = f"mat1 and mat2 must have the same dtype, but got {names[1]} and {names[2]}"
    raise DtypeError(f"{words}. Convert with .to(dtype).")


def _check_dimensions(x: Tensor, y: Tensor) -> None:
    """Raises unless two batches have the dimensions that the shape of their product is made of."""
    for v, dim in ((x, 1), (y, 2)):
        if v.array.ndim <= dim:
            raise dimension_error(dim, v.array.ndim)


def _check_expands(shape: Shape, target: Shape) -> None:
    """Raises unless a tensor of this shape broadcasts to the shape of the product."""
    if len(shape) == 1 and shape[0] == target[-1]:
        return  # a bias
    if len(shape) > len(target):
        raise ShapeError(
            f"expand({sizes(shape)}, size={sizes(target)}): the number of sizes provided ({len(target)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    first = len(target) - len(shape)
    for dim, n in enumerate(shape, first):
        if n != 1 and n != target[dim]:
            raise ShapeError(
                f"The expanded size of the tensor ({target[dim]}) must match the existing size ({n}) at non-singleton "
                f"dimension {dim}.  Target sizes: {sizes(target)}.  Tensor sizes: {sizes(shape)}"
            )


@public("addmm", "Tensor.addmm_", method=True)
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *old: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`.

    >>> import retrograd as rg
    >>> rg.addmm(rg.tensor([10.0, 20.0]), rg.eye(2), rg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[11., 22.],
            [13., 24.]])
    """
    if autocasting():
        return lowered(addmm, input, mat1, mat2, *old, beta=beta, alpha=alpha, out=out)
    if old:
        tensors, numbers = old_order("addmm", (input, mat1, mat2, *old), ("beta", "alpha"))
        return addmm(*tensors, **numbers, out=out)
    x, y = tensor_pair("addmm", mat1, mat2, "mat2")
    if x.array.ndim != 2:
        raise ShapeError(f"mat1 must be a matrix, got {x.array.ndim}-D tensor")
    return _addmm(Addmm(beta, alpha), input, x, y, out)


def _addmm(op: Addmm, input: Any, x: Tensor, y: Tensor, out: Any) -> Tensor:
    """`addmm`, of two tensors of which the first is a matrix."""
    if isinstance(input, Tensor) and _are_one(op):
        op.layout = quick_layout(x.array, y.array, input.array)
        if op.layout:  # as in nearly every network
            return deliver_exact(apply_n(op, (input, x, y)), out)
    _check_dtypes("addmm", input, x, y)
    op.layout = check_mm(x, y)
    return _add_product("addmm", op, input, x, y, (x.array.shape[0], y.array.shape[1]), out)


def _are_one(op: AddProduct) -> bool:
    """Whether nothing is scaled."""
    return type(op.beta) is int and op.beta == 1 and type(op.alpha) is int and op.alpha == 1


@public("addmv", "addmv_", method=True)
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *old: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
    if old:
        tensors, numbers = old_order("addmv", (input, mat, vec, *old), ("beta", "alpha"))
        return addmv(*tensors, **numbers, out=out)
    if autocasting_on_gpu(mat):
        return lowered(addmv, input, mat, vec, beta=beta, alpha=alpha, out=out)
    x, y = tensor_pair("addmv", mat, vec, "vec")
    _check_dtypes("addmv", input, x, y)
    a = input.array
    check_mv(x, y, a.shape[0] if a.ndim else 1)
    return _add_product("addmv", Addmv(beta, alpha), input, x, y, (x.array.shape[0],), out)


@public("addr", "Tensor.addr_", method=True)
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *old: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    if old:
        tensors, numbers = old_order("addr", (input, vec1, vec2, *old), ("beta", "alpha"))
        return addr(*tensors, **numbers, out=out)
    if autocasting_on_gpu(vec1):
        return lowered(addr, input, vec1, vec2, beta=beta, alpha=alpha, out=out)
    x, y = tensor_pair("addr", vec1, vec2, "vec2")
    for name, v in (("vec1", x), ("vec2", y)):
        if v.array.ndim != 1:
            raise ShapeError(f"addr: Expected 1-D argument {name}, but got {v.array.ndim}-D")
    a = require_tensor("addr", "input", 1, input)
    if not a.array.dtype == x.array.dtype == y.array.dtype:  # of all sums with products, this one promotes
        dtype = promote_types(result_type(a, x), result_type(x, y))
        input, x, y = (v if v.array.dtype == dtype else apply1(ToCopy(dtype), v) for v in (a, x, y))
    for name, number in (("beta", beta), ("alpha", alpha)):
        if x.array.dtype.kind in "biu" and isinstance(number, float):
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    return _add_product("addr", Addr(beta, alpha), input, x, y, (x.array.shape[0], y.array.shape[0]), out)


@public("baddbmm", "Tensor.baddbmm_", method=True)
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *old: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    if autocasting():
        return lowered(baddbmm, input, batch1, batch2, *old, beta=beta, alpha=alpha, out=out)
    if old:
        tensors, numbers = old_order("baddbmm", (input, batch1, batch2, *old), ("beta", "alpha"))
        return baddbmm(*tensors, **numbers, out=out)
    x, y = tensor_pair("baddbmm", batch1, batch2, "batch2")
    _check_dimensions(x, y)
    _check_dtypes("baddbmm", input, x, y)
    check_bmm(x, y)
    shape = (*x.array.shape[:2], y.array.shape[2])
    return _add_product("baddbmm", Baddbmm(beta, alpha), input, x, y, shape, out)


@public("addbmm", "Tensor.addbmm_", method=True)
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *old: Tensor,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    if autocasting():
        return lowered(addbmm, input, batch1, batch2, *old, beta=beta, alpha=alpha, out=out)
    if old:
        tensors, numbers = old_order("addbmm", (input, batch1, batch2, *old), ("beta", "alpha"))
        return addbmm(*tensors, **numbers, out=out)
    x, y = tensor_pair("addbmm", batch1, batch2, "batch2")
    _check_dimensions(x, y)
    if x.array.ndim == y.array.ndim == 3 and len(x.array) != len(y.array):
        raise ShapeError(
            f"batch1 and batch2 must have same number of batches, got {len(x.array)} and {len(y.array)}"
        )
    _check_dtypes("addbmm", input, x, y)
    check_bmm(x, y)
    return _add_product("addbmm", Addbmm(beta, alpha), input, x, y, (x.array.shape[1], y.array.shape[2]), out)


@public("nn.functional.linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`: the rows of `weight` are the outputs.

    >>> import retrograd as rg
    >>> rg.nn.functional.linear(rg.ones(2, 3), rg.ones(1, 3), rg.tensor([0.5]))
    tensor([[3.5000],
            [3.5000]])
    """
    if autocasting():
        return lowered(linear, input, weight, bias)
    x, w = tensor_pair("linear", input, weight, "weight")
    turned = apply1(T(), w) if w.array.ndim == 2 else t(w)
    if bias is None:
        found: Tensor = matmul_of(x, turned)
        return found
    if x.array.ndim == 2 and w.array.ndim == 2:
        return _addmm(Addmm(1, 1), bias, x, turned, None)
    if w.array.ndim == 1 and isinstance(bias, Tensor) and (bias.array.ndim or x.array.ndim == 2):
        raise ShapeError(
            "mat2 must be a matrix, got 1-D tensor: a weight of one dimension makes one number of a row, and "
            "a bias is as many. Give weight.unsqueeze(0)."
        )
    if w.array.ndim != 2 or x.array.ndim == 0 or not x.array.flags.c_contiguous:
        found = matmul_of(x, turned) + bias
        return found
    shape = x.array.shape
    rows = x.reshape((element_count(shape[:-1]), shape[-1]))
    return addmm(bias, rows, turned).view((*shape[:-1], w.array.shape[0]))
