"""Random expressions of operations, the same on retrograd and on PyTorch: values, gradients, second derivatives."""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as rg
from tests.conformance.harness import record_exception

# More of them: EXAMPLES=5000 pytest tests/ops/test_expressions.py
EXAMPLES = int(os.environ.get("EXAMPLES", "200"))
SHAPES = ((), (3,), (1,), (2, 3), (2, 1), (3, 3), (3, 1), (2, 2, 3), (2, 1, 3), (4,), (0, 3), (1, 2, 4))
LIMIT = 30.0  # values beyond are drawn back, or a chain of products would leave the range of numbers
CLOSE = {"rtol": 1e-7, "atol": 1e-9}
TWICE = {"rtol": 1e-6, "atol": 1e-8}


class Step(NamedTuple):
    """One operation: its name, which of the values so far are its operands, and two numbers for its options."""

    op: str
    a: int
    b: int
    c: int
    k: int
    m: int


class Call(NamedTuple):
    """What an operation is given: the library, up to three values, and two small numbers."""

    lib: Any
    a: Any
    b: Any
    c: Any
    k: int
    m: int

    def const(self, array: Any) -> Any:
        """A constant tensor."""
        return self.lib.from_numpy(np.array(array))

    @property
    def apart(self) -> Any:
        """The first value with its elements moved apart: which is the largest must not depend on rounding."""
        return self.a + self.const(ramp(self.a.shape))

    @property
    def longer(self) -> Any:
        """The first value and more along a dimension: no norm of it is 0, where second derivatives do not exist."""
        ends = self.a.narrow(self.dim, 0, 0).sum(self.dim, keepdim=True) + 0.7
        return self.lib.cat([self.apart + 2, ends, -ends], self.dim)

    @property
    def off(self) -> Any:
        """The first value moved off the places where functions have kinks."""
        return self.a - 0.1371 * (self.k + 1)

    @property
    def dim(self) -> int:
        """A dimension, most of the time one that the first value has."""
        return self.k % max(self.a.dim(), 1) - (self.a.dim() if self.m % 2 else 0)

    @property
    def square(self) -> Any:
        """A positive definite matrix, or a batch of them."""
        a = self.a.reshape(1, -1)[:, :6] if self.a.dim() < 2 else self.a
        return a @ a.mT * 0.1 + self.const(np.diag(1.0 + 0.31 * np.arange(a.shape[-2])))

    def index(self, size: int, count: int) -> Any:
        return self.const((np.arange(count) * (self.m + 1) + self.k) % max(size, 1))

    def mask(self, shape: Any) -> Any:
        return self.const((np.arange(int(np.prod(shape))) * (self.m + 2) + self.k) % 3 == 0).reshape(
            tuple(shape)
        )


ORDERS = (1, 2, 3, 2.5, float("inf"), -1)


@functools.cache
def ramp(shape: tuple[int, ...]) -> Any:
    """Fixed numbers, no two alike."""
    return (0.173 * np.sqrt(np.arange(1.0, 1.0 + int(np.prod(shape))))).reshape(shape)


def functional(name: str) -> Any:
    return lambda s: getattr(s.lib.nn.functional, name)(s.a)


UNARY: dict[str, Any] = {
    **{n: (lambda s, n=n: getattr(s.lib, n)(s.a)) for n in ("sin", "cos", "tanh", "sigmoid", "atan", "asinh",
       "square", "neg", "erf", "exp2", "clone", "positive", "deg2rad")},
    **{n: functional(n) for n in ("gelu", "silu", "softplus", "elu", "selu", "celu", "logsigmoid", "mish",
       "softsign", "tanhshrink")},
    "exp": lambda s: s.a.tanh().exp(),
    "expm1": lambda s: s.lib.expm1(s.a.tanh()),
    "log": lambda s: (s.a * s.a + 0.5).log(),
    "log1p": lambda s: (s.a * s.a).log1p(),
    "log2": lambda s: s.lib.log2(s.a.square() + 0.3),
    "sqrt": lambda s: (s.a * s.a + 0.3).sqrt(),
    "rsqrt": lambda s: (s.a * s.a + 0.3).rsqrt(),
    "reciprocal": lambda s: (s.a * s.a + 0.5).reciprocal(),
    "tan": lambda s: s.a.sin().tan(),
    "asin": lambda s: s.lib.asin(s.a.sin() * 0.9),
    "atanh": lambda s: s.lib.atanh(s.a.cos() * 0.9),
    "cosh": lambda s: s.a.sin().cosh(),
    "lgamma": lambda s: s.lib.lgamma(s.a * s.a + 0.7),
    "digamma": lambda s: s.lib.digamma(s.a * s.a + 0.7),
    "sinc": lambda s: s.lib.sinc(s.off),
    "logit": lambda s: s.lib.logit(s.a.sigmoid() * 0.9 + 0.05),
    "abs": lambda s: s.off.abs(),
    "sign": lambda s: s.a * s.off.sign(),
    "relu": lambda s: s.off.relu(),
    "leaky_relu": lambda s: s.lib.nn.functional.leaky_relu(s.off, 0.1 * (s.m + 1)),
    "hardtanh": lambda s: s.lib.nn.functional.hardtanh(s.off, -0.731, 0.862),
    "hardswish": lambda s: s.lib.nn.functional.hardswish(s.off),
    "softshrink": lambda s: s.lib.nn.functional.softshrink(s.off, 0.2173),
    "clamp": lambda s: s.off.clamp(-0.521 * s.k, 0.917),
    "pow": lambda s: s.a ** (s.k + s.m),
    "power": lambda s: (s.a * s.a + 0.3) ** (0.7 * s.k - 1.3),
    "power_of": lambda s: (0.5 + s.k) ** s.a.tanh(),
    "numbers": lambda s: (2.5 - s.a * 0.7) / (1.0 + s.k) + s.m,
    "dtype": lambda s: s.a.to(s.lib.float32).to(s.lib.float64),
    "detach": lambda s: s.a.detach() * 0.5 + s.a,
}  # fmt: skip

BINARY: dict[str, Any] = {
    "add": lambda s: s.a + s.b,
    "add_scaled": lambda s: s.lib.add(s.a, s.b, alpha=0.5 + s.k),
    "sub": lambda s: s.a - s.b,
    "mul": lambda s: s.a * s.b,
    "div": lambda s: s.a / (s.b * s.b + 0.5),
    "maximum": lambda s: s.lib.maximum(s.apart, s.b),
    "minimum": lambda s: s.lib.minimum(s.apart, s.b),
    "fmax": lambda s: s.lib.fmax(s.apart, s.b),
    "atan2": lambda s: s.lib.atan2(s.a, s.b * s.b + 0.5),
    "hypot": lambda s: s.lib.hypot(s.a, s.b + 5),
    "logaddexp": lambda s: s.lib.logaddexp(s.a, s.b),
    "xlogy": lambda s: s.lib.xlogy(s.a, s.b * s.b + 0.5),
    "power": lambda s: (s.a * s.a + 0.3) ** s.b.tanh(),
    "copysign": lambda s: s.lib.copysign(s.off, s.b.detach() - 0.1741),
    "where": lambda s: s.lib.where(s.off > 0, s.b, s.c),
    "where_number": lambda s: s.lib.where(s.off > 0, s.b, 0.25 * s.k),
    "lerp": lambda s: s.lib.lerp(s.a, s.b, s.c.sigmoid()),
    "addcmul": lambda s: s.lib.addcmul(s.a, s.b, s.c, value=0.5),
    "addcdiv": lambda s: s.lib.addcdiv(s.a, s.b, s.c * s.c + 0.5, value=0.7),
    "clamp": lambda s: s.lib.clamp(s.apart, s.b - 1, s.b + 1.3),
    "mse": lambda s: s.lib.nn.functional.mse_loss(
        s.a, s.b.expand_as(s.a), reduction=("sum", "none")[s.m % 2]
    ),
    "smooth_l1": lambda s: s.lib.nn.functional.smooth_l1_loss(s.apart, s.b.expand_as(s.a), reduction="sum"),
    "bce": lambda s: s.lib.nn.functional.binary_cross_entropy_with_logits(
        s.a, s.b.sigmoid().expand_as(s.a), reduction="sum"
    ),
    "cosine": lambda s: s.lib.cosine_similarity(s.a + 3, s.b - 3, dim=-1),
}

REDUCTIONS: dict[str, Any] = {
    "sum": lambda s: s.a.sum(),
    "sum_dim": lambda s: s.a.sum(s.dim, keepdim=s.m > 1),
    "sum_dims": lambda s: s.a.sum((0, -1)),
    "mean": lambda s: s.a.mean(s.dim, keepdim=s.m > 1),
    "prod": lambda s: s.a.tanh().prod(),
    "prod_dim": lambda s: s.a.prod(s.dim, keepdim=s.m > 1),
    "var": lambda s: s.lib.var(s.a, dim=s.dim, correction=0, keepdim=s.m > 1),
    "std": lambda s: s.lib.std(s.longer, dim=s.dim, keepdim=s.m > 1),
    "logsumexp": lambda s: s.a.logsumexp(s.dim, keepdim=s.m > 1),
    "norm": lambda s: s.lib.linalg.vector_norm(s.longer, ORDERS[s.k + s.m % 2], dim=s.dim),
    "amax": lambda s: s.apart.amax(s.dim, keepdim=s.m > 1),
    "amin": lambda s: s.apart.amin(),
    "max": lambda s: s.apart.max(s.dim)[0],
    "min": lambda s: s.apart.min(),
    "median": lambda s: s.apart.median(s.dim)[0],
    "quantile": lambda s: s.lib.quantile(s.apart, 0.15 + 0.2 * s.k, dim=s.dim),
    "kthvalue": lambda s: s.apart.kthvalue(s.m + 1, s.dim)[0],
    "trace": lambda s: s.lib.trace(s.a),
    "cumsum": lambda s: s.a.cumsum(s.dim),
    "cumprod": lambda s: s.a.tanh().cumprod(s.dim),
    "cummax": lambda s: s.apart.cummax(s.dim)[0],
    "softmax": lambda s: s.a.softmax(s.dim),
    "log_softmax": lambda s: s.a.log_softmax(s.dim),
    "sort": lambda s: s.apart.sort(s.dim, descending=s.m > 1)[0],
    "topk": lambda s: s.apart.topk(s.m + 1, s.dim)[0],
    "diff": lambda s: s.a.diff(dim=s.dim),
    "normalize": lambda s: s.lib.nn.functional.normalize(s.apart + 2, dim=s.dim),
    "layer_norm": lambda s: s.lib.nn.functional.layer_norm(s.apart, tuple(s.a.shape[-1:])),
    "rms_norm": lambda s: s.lib.nn.functional.rms_norm(s.apart, tuple(s.a.shape[-1:])),
}

SHAPING: dict[str, Any] = {
    "flatten": lambda s: s.a.flatten(),
    "reshape": lambda s: s.a.reshape(2, -1),
    "view": lambda s: s.a.contiguous().view(-1, 1),
    "transpose": lambda s: s.a.transpose(0, -1),
    "mT": lambda s: s.a.mT,
    "permute": lambda s: s.a.permute(*reversed(range(s.a.dim()))),
    "movedim": lambda s: s.a.movedim(0, -1),
    "unsqueeze": lambda s: s.a.unsqueeze(s.k % (s.a.dim() + 1)),
    "squeeze": lambda s: s.a.squeeze(),
    "expand": lambda s: s.a.expand(2, *s.a.shape),
    "broadcast": lambda s: s.lib.broadcast_tensors(s.a, s.b)[s.m % 2],
    "repeat": lambda s: s.a.repeat(2, *[1] * (s.a.dim() - 1)),
    "repeat_interleave": lambda s: s.a[None].repeat_interleave(2, dim=s.dim),
    "cat": lambda s: s.lib.cat([s.a, s.b], dim=s.dim),
    "stack": lambda s: s.lib.stack([s.a, s.b, s.a], dim=s.k % (s.a.dim() + 1)),
    "flip": lambda s: s.a.flip(s.dim),
    "roll": lambda s: s.a.roll(s.m + 1, s.dim),
    "tril": lambda s: s.a.tril(s.k - 1),
    "triu": lambda s: s.a.triu(s.k - 1),
    "diagonal": lambda s: s.a.diagonal(s.k - 1, -2, -1),
    "diag_embed": lambda s: s.lib.diag_embed(s.a),
    "pad": lambda s: s.lib.nn.functional.pad(s.a, (1, s.m), value=0.3),
    "pad_circular": lambda s: s.lib.nn.functional.pad(s.a.reshape(1, 1, -1), (1, 1), mode="circular"),
    "unfold": lambda s: s.a.unfold(s.dim, 2, 1),
    "chunk": lambda s: s.a.chunk(2, s.dim)[0],
    "split": lambda s: s.a.split(2, s.dim)[-1],
    "unbind": lambda s: s.a.unbind(s.dim)[s.m % 2],
    "meshgrid": lambda s: s.lib.meshgrid(s.a.flatten()[:3], s.b.flatten()[:3], indexing="ij")[s.m % 2],
}

INDEXING: dict[str, Any] = {
    "first": lambda s: s.a[0],
    "last": lambda s: s.a[..., -1],
    "slice": lambda s: s.a[s.m % 2 :: 2],
    "rest": lambda s: s.a[..., 1:],
    "none": lambda s: s.a[:, None],
    "list": lambda s: s.a[[0, -1, 0]],
    "tensor": lambda s: s.a[s.index(len(s.a), 4)],
    "pairs": lambda s: s.a[s.index(len(s.a), 3), ..., s.index(s.a.shape[-1], 3)],
    "mask": lambda s: s.a[s.mask(s.a.shape)],
    "narrow": lambda s: s.a.narrow(s.dim, s.m % 2, 1),
    "select": lambda s: s.a.select(s.dim, s.m % 2),
    "index_select": lambda s: s.a.index_select(s.dim, s.index(s.a.shape[s.dim], 4)),
    "gather": lambda s: s.a.gather(s.dim, s.apart.detach().argsort(s.dim)),
    "take": lambda s: s.lib.take(s.a, s.index(s.a.numel(), 5)),
    "masked_fill": lambda s: s.a.masked_fill(s.mask(s.a.shape), 0.7),
    "masked_select": lambda s: s.a.masked_select(s.mask(s.a.shape)),
    "index_add": lambda s: s.a.index_add(s.dim, s.index(s.a.shape[s.dim], s.a.shape[s.dim]), s.a * 0.5),
    "scatter_add": lambda s: s.a.scatter_add(s.dim, s.apart.detach().argsort(s.dim), s.a * 0.5),
    "index_copy": lambda s: s.a.index_copy(0, s.const([0]), s.b.expand_as(s.a[:1])),
    "setitem": lambda s: written(s),
    "select_scatter": lambda s: s.lib.select_scatter(s.a.contiguous(), s.b.expand_as(s.a[0]), 0, 0),
}

MATRICES: dict[str, Any] = {
    "matmul": lambda s: s.a @ s.b,
    "matmul_own": lambda s: s.a @ s.a.mT,
    "matmul_rows": lambda s: s.a.reshape(-1, s.a.shape[-1]) @ s.b.reshape(s.a.shape[-1], -1),
    "dot": lambda s: s.a.flatten().dot(s.b.expand_as(s.a).flatten()),
    "outer": lambda s: s.lib.outer(s.a.flatten()[:4], s.b.flatten()[:4]),
    "kron": lambda s: s.lib.kron(s.a.flatten()[:3], s.b.contiguous()),
    "einsum": lambda s: s.lib.einsum("...i,...i->...", s.a, s.b),
    "einsum_outer": lambda s: s.lib.einsum("i,j->ij", s.a.flatten()[:4], s.b.flatten()[:3]),
    "tensordot": lambda s: s.lib.tensordot(s.a, s.b, dims=1),
    "linear": lambda s: s.lib.nn.functional.linear(s.a, s.b, None),
    "addmm": lambda s: s.lib.addmm(s.a, s.b, s.b.mT, beta=0.5, alpha=0.7),
    "bmm": lambda s: s.lib.bmm(s.a, s.a.mT),
    "inverse": lambda s: s.lib.linalg.inv(s.square),
    "solve": lambda s: s.lib.linalg.solve(s.square, s.square * 0.5 + s.b.mean()),
    "det": lambda s: s.lib.linalg.det(s.square),
    "slogdet": lambda s: s.lib.linalg.slogdet(s.square)[1],
    "cholesky": lambda s: s.lib.linalg.cholesky(s.square),
    "matrix_power": lambda s: s.lib.linalg.matrix_power(s.square * 0.2, s.k + 1),
    "cross": lambda s: s.lib.linalg.cross(s.a, s.b),
    "conv1d": lambda s: s.lib.nn.functional.conv1d(s.a.reshape(1, 1, -1), s.b.reshape(1, 1, -1)[..., :2], padding=1),
    "avg_pool": lambda s: s.lib.nn.functional.avg_pool1d(s.a.reshape(1, 1, -1), 2),
    "max_pool": lambda s: s.lib.nn.functional.max_pool1d(s.apart.reshape(1, 1, -1), 2),
}  # fmt: skip


def written(s: Call) -> Any:
    """A copy, partly overwritten."""
    copy = s.a * 1
    if s.a.numel():
        copy[s.m % 2 :] = s.b
    copy.mul_(0.8)
    return copy


OPS = {
    f"{kind}.{name}": op
    for kind, ops in (
        ("unary", UNARY), ("binary", BINARY), ("reduction", REDUCTIONS),
        ("shape", SHAPING), ("index", INDEXING), ("matrix", MATRICES),
    )
    for name, op in ops.items()
}  # fmt: skip

small = st.integers(0, 3)
steps = st.lists(
    st.builds(Step, st.sampled_from(sorted(OPS)), *[st.integers(0, 14)] * 3, small, small),
    min_size=3,
    max_size=12,
)
leaf_shapes = st.lists(st.sampled_from(SHAPES), min_size=2, max_size=3)


def tried(function: Any) -> tuple[Any, Any]:
    """The result, or what was raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(), None
        except Exception as error:
            return None, error


def numbers(t: Any) -> Any:
    """The numbers of a tensor of either library."""
    return np.array(t.detach().array if isinstance(t, rg.Tensor) else t.numpy(force=True))


class Pair:
    """The same values in both libraries."""

    def __init__(self, torch: Any, shapes: list[tuple[int, ...]], seed: int) -> None:
        rng = np.random.default_rng(seed)
        arrays = [rng.uniform(-2, 2, s) for s in shapes]
        self.torch = torch
        self.leaves = [
            (torch.tensor(a, requires_grad=True), rg.tensor(a, dtype=rg.float64, requires_grad=True))
            for a in arrays
        ]
        self.values = list(self.leaves)

    def libraries(self) -> tuple[Any, Any]:
        return self.torch, rg

    def run(self, step: Step) -> None:
        """Adds the result of a step to the values; where one library refuses it, the other must do so too."""
        operands = [self.values[-1 - i % len(self.values)] for i in (step.a, step.b, step.c)]
        (theirs, refused), (ours, error) = (
            tried(
                lambda i=i, lib=lib: kept(OPS[step.op](Call(lib, *[o[i] for o in operands], step.k, step.m)))
            )
            for i, lib in enumerate(self.libraries())
        )
        if refused is not None or error is not None:
            assert error is not None, f"{step}: PyTorch says {refused!r}, retrograd computes {ours}"
            assert refused is not None, f"{step}: retrograd says {error!r}, PyTorch computes {theirs}"
            # The two may find different faults with one call first; both call it a fault of the arguments.
            assert families(error) & families(refused), f"{step}: {error!r} in place of {refused!r}"
            return
        if theirs.numel() and float(theirs.detach().abs().max()) > LIMIT:
            theirs, ours = theirs.tanh(), ours.tanh()
        agree(ours, theirs, CLOSE, str(step))
        assert ours.requires_grad == theirs.requires_grad, step
        if (
            theirs.isfinite().all()
        ):  # NaN is compared, but not what is made of it: means of nothing, derivatives of those
            self.values.append((theirs, ours))

    def totals(self) -> list[Any]:
        """A number that depends on every result, by either library."""
        results = [v for v in self.values[len(self.leaves) :] if v[0].requires_grad]
        return [sum(weighted(lib, v[i], 0) for v in results) for i, lib in enumerate(self.libraries())]


def weighted(lib: Any, value: Any, phase: float) -> Any:
    """The sum of the elements, each with a weight of its own."""
    return (value * lib.from_numpy(np.array(np.cos(ramp(tuple(value.shape)) + phase)))).sum()


def kept(value: Any) -> Any:
    """A result small enough to go on with."""
    return value if value.numel() <= 64 else value.flatten()[:24]


def families(error: BaseException) -> set[str]:
    """The exception's types apart from those that all errors share."""
    return set(record_exception(error).types) - {"Exception", "BaseException", "object"}


def agree(ours: Any, theirs: Any, close: dict[str, float], what: str) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape), what
    assert str(ours.dtype).removeprefix("torch.") == str(theirs.dtype).removeprefix("torch."), what
    wanted = numbers(theirs)
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    np.testing.assert_allclose(
        numbers(ours), wanted, rtol=close["rtol"], atol=close["atol"] * scale, equal_nan=True, err_msg=what
    )


def gradients(pair: Pair, tensors: list[Any], **options: Any) -> list[list[Any]]:
    """The gradients of one tensor of each library by all leaves; zeros where it is a constant."""
    found = []
    for i, (lib, t) in enumerate(zip(pair.libraries(), tensors, strict=True)):
        xs = [leaf[i] for leaf in pair.leaves]
        if t.requires_grad:
            found.append(list(lib.autograd.grad(t, xs, materialize_grads=True, **options)))
        else:
            found.append([lib.zeros_like(x) for x in xs])
    return found


@settings(max_examples=EXAMPLES, derandomize="EXAMPLES" not in os.environ)
@given(shapes=leaf_shapes, seed=st.integers(0, 2**16), program=steps)
def test_expressions_agree_with_pytorch_and_so_do_their_derivatives(torch, shapes, seed, program):
    pair = Pair(torch, shapes, seed)
    for step in program:
        pair.run(step)
    totals = pair.totals()
    if not isinstance(totals[0], torch.Tensor) or not totals[0].requires_grad:
        return
    theirs, ours = gradients(pair, totals, create_graph=True)
    for f, w in zip(ours, theirs, strict=True):
        agree(f, w, CLOSE, "first gradient")
    seconds = [
        sum(weighted(lib, g, 1) for g in found)
        for lib, found in zip(pair.libraries(), (theirs, ours), strict=True)
    ]
    # One library may record a linear backward that the other does not; their derivatives are 0 alike.
    for w, f in zip(*gradients(pair, seconds), strict=True):
        agree(f, w, TWICE, "second derivatives")
