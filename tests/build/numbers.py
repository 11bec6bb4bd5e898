"""Calls of public functions with NumPy's numbers, with 1 for True, with tensors of one element for integers.

    python -m tests.build.numbers    prints what came of every call, as JSON

It must print the same on compiled modules and on their sources: `test_numbers.py`.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from tools.compiling.census import Census
from tools.compiling.modules import PACKAGE, SOURCE, compiled_files
from tools.compiling.public import called_by_users

import retrograd as rg
from retrograd.autograd import forward_ad as fwAD
from tests.ops.case import as_argument, find
from tests.ops.cases import CASES

# What may stand for a number that is declared to be of a kind.
INSTEAD: dict[str, list[Callable[[Any], Any]]] = {
    "int": [np.int64, np.int16, rg.tensor],
    "bool": [np.bool_, int, np.int64],
    "float": [np.float32, np.float64],
}

Function = tuple[str, str]  # a module, and `f` or `Class.method`


# ---- which parameters are declared to be numbers --------------------------------------------------------------------


def declared() -> dict[Function, dict[str, str]]:
    """The kinds of those of every compiled function that users call."""
    census = Census({_module(path): path.read_text(encoding="utf-8") for path in compiled_files()})
    trees = {_module(path): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    found: dict[Function, dict[str, str]] = {}
    for module, names in called_by_users(trees, census).items():
        for name, node in _functions(census.trees[module]):
            args = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            kinds = {a.arg: ast.unparse(a.annotation).removesuffix(" | None") for a in args if a.annotation}
            numbers = {arg: kind for arg, kind in kinds.items() if kind in INSTEAD}
            if name in names and numbers:
                found[module, name] = numbers
    return found


def _module(path: Any) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            if not any(ast.unparse(d) == "overload" for d in node.decorator_list):
                yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{f.name}", f) for f in node.body if isinstance(f, ast.FunctionDef))


# ---- how they are called --------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call that works, and makes its arguments anew each time."""

    function: Function
    callee: Callable[[], Any]
    arguments: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]


def x(*shape: int) -> Any:
    return rg.linspace(0.1, 0.9, int(np.prod(shape))).view(*shape)


def q() -> Any:
    return x(2, 1, 4)


def leaf(*shape: int) -> Any:
    return x(*shape or (3,)).double().requires_grad_()


def squares(t: Any) -> Any:
    return (t * t).sum()


def level() -> int:
    leave_levels()
    return fwAD.enter_dual_level()


def file() -> str:
    """The name of a file with some numbers."""
    path = os.path.join(tempfile.gettempdir(), f"retrograd-numbers-{os.getpid()}")  # noqa: PTH118 - a text
    np.ones(8, np.float32).tofile(path)
    return path


def leave_levels() -> None:
    with contextlib.suppress(RuntimeError):
        fwAD.exit_dual_level()


# Functions that the op table does not have: what is called, and with what.
EXTRA = """
rg._check_is_size(3, max=5)
rg._convert_indices_from_coo_to_csr(rg.tensor([0, 0, 2]), size=3, out_int32=True)
rg._convert_indices_from_csr_to_coo(rg.tensor([0, 1, 2]), rg.tensor([1, 0]), out_int32=True, transpose=True)
rg._amp_update_scale_(rg.ones(1), rg.ones(1, dtype=rg.int32), rg.ones(1), 2.0, 0.5, 3)
rg.hash_tensor(x(2, 2), 0, keepdim=True, mode=0)
rg.hsplit(x(4), sections=2)
rg.vsplit(x(4, 1), sections=2)
rg.dsplit(x(1, 1, 4), sections=2)
F.binary_cross_entropy(x(3), x(3), size_average=True, reduce=True)
F.binary_cross_entropy_with_logits(x(3), x(3), size_average=True, reduce=True)
F.cross_entropy(x(2, 3), rg.tensor([0, 1]), size_average=True, reduce=True)
F.kl_div(x(3), x(3), size_average=True, reduce=True)
F.nll_loss(x(2, 3), rg.tensor([0, 1]), size_average=True, reduce=True)
F.l1_loss(x(3), x(3), size_average=True, reduce=True)
F.mse_loss(x(3), x(3), size_average=True, reduce=True)
F.smooth_l1_loss(x(3), x(3), size_average=True, reduce=True)
F.poisson_nll_loss(x(3), x(3), size_average=True, reduce=True)
F.multi_margin_loss(x(2, 3), rg.tensor([0, 1]), size_average=True, reduce=True)
F.multilabel_margin_loss(x(3), rg.tensor([0, 1, -1]), size_average=True, reduce=True)
F.multilabel_soft_margin_loss(x(2, 3), x(2, 3), size_average=True, reduce=True)
F.soft_margin_loss(x(3), rg.ones(3), size_average=True, reduce=True)
F.cosine_embedding_loss(x(2, 3), x(2, 3), rg.ones(2), size_average=True, reduce=True)
F.hinge_embedding_loss(x(3), rg.ones(3), size_average=True, reduce=True)
F.margin_ranking_loss(x(3), x(3), rg.ones(3), size_average=True, reduce=True)
F.triplet_margin_loss(x(2, 3), x(2, 3), x(2, 3) + 1, size_average=True, reduce=True)
rg.lobpcg(x(4, 4) @ x(4, 4).T, k=1, n=1, niter=3, tol=0.1, largest=True)
F.avg_pool3d(x(1, 2, 2, 2), 2, divisor_override=3)
F.interpolate(x(1, 1, 4), scale_factor=2.0, recompute_scale_factor=True)
F.upsample(x(1, 1, 4), scale_factor=2, mode="linear", align_corners=True)
rg.as_strided_(x(4), (2,), (1,), 1)
rg.as_strided_scatter(x(4), x(2), (2,), (1,), 1)
rg.bernoulli(x(3), 0.5)
rg.bincount(rg.tensor([0, 1]), minlength=3)
rg.cat([x(2), x(2)], 0)
rg.cholesky(rg.eye(2))
rg.concat([x(2), x(2)], 0)
rg.concatenate([x(2), x(2)], 0)
rg.eye(2, 3)
rg.from_dlpack(x(3), copy=True)
rg.histc(x(4), 2, 0.0, 1.0)
rg.index_add(x(3, 2), 0, rg.tensor([0]), x(1, 2))
rg.index_copy(x(3, 2), 0, rg.tensor([0]), x(1, 2))
rg.index_fill(x(3, 2), 0, rg.tensor([0]), 1.0)
rg.index_put(x(3), (rg.tensor([0]),), x(1), accumulate=True)
rg.index_reduce(x(3, 2), 0, rg.tensor([0]), x(1, 2), "mean", include_self=True)
rg.istft(rg.stft(x(8), 4, window=rg.ones(4), return_complex=True), 4, 1, 4, rg.ones(4), True, False, True, 8, False)
rg.lu(rg.eye(2), pivot=True, get_infos=True)
rg.lu_unpack(rg.eye(2), rg.tensor([1, 2], dtype=rg.int32), True, True)
rg.manual_seed(1)
rg.matrix_power(rg.eye(2), 2)
rg.nonzero(x(3), as_tuple=False)
rg.nonzero_static(x(3), size=2, fill_value=0)
rg.nuclear_norm(x(2, 2), keepdim=True)
rg.pca_lowrank(x(4, 3), 2, True, 1)
rg.put(x(3), rg.tensor([0]), x(1), accumulate=True)
rg.qr(rg.eye(2), True)
rg.randint(5, (2,))
rg.randint(high=5, size=(2,))
rg.randint_like(x(3), high=5)
rg.repeat_interleave(x(2), rg.tensor([1, 2]), output_size=3)
rg.scatter(x(3), 0, rg.tensor([0]), x(1))
rg.scatter_add(x(3), 0, rg.tensor([0]), x(1))
rg.scatter_reduce(x(3), 0, rg.tensor([0]), x(1), "mean", include_self=True)
rg.segment_reduce(x(4), "sum", lengths=rg.tensor([2, 2]), initial=0.5)
rg.select_copy(x(3, 2), 0, 1)
rg.select_scatter(x(3, 2), x(2), 0, 1)
rg.slice_copy(x(3, 2), 0, 0, 2, 1)
rg.slice_scatter(x(3, 2), x(2, 2), 0, 0, 2, 1)
rg.stack([x(2), x(2)], 0)
rg.stft(x(8), 4, 1, 4, rg.ones(4), True, "reflect", False, True, True)
rg.stft(x(8), 4, 1, 4, rg.ones(4), False, return_complex=True, align_to_window=False)
rg.svd(rg.eye(2), True, True)
rg.svd_lowrank(x(4, 3), 2, 1)
rg.triangular_solve(x(2, 1), rg.eye(2), True, False, False)
rg.tril_indices(3, 3, 0)
rg.triu_indices(3, 3, 0)
rg.unique(x(3), dim=0)
rg.unique_consecutive(x(3), dim=0)
rg.fft.ihfft(x(4), 4)
rg.linalg.ldl_factor(rg.eye(2), hermitian=True)
rg.linalg.ldl_factor_ex(rg.eye(2), hermitian=True, check_errors=True)
rg.linalg.ldl_solve(rg.eye(2), rg.tensor([1, 2], dtype=rg.int32), x(2, 1), hermitian=False)
rg.linalg.lstsq(rg.eye(2), x(2, 1), 0.1)
rg.linalg.lu(rg.eye(2), pivot=True)
rg.linalg.lu_solve(rg.eye(2), rg.tensor([1, 2], dtype=rg.int32), x(2, 1), left=True, adjoint=False)
rg.linalg.matrix_power(rg.eye(2), 2)
rg.linalg.matrix_rank(rg.eye(2), hermitian=True)
rg.linalg.svd(rg.eye(2), True)
rg.linalg.vander(x(3), N=2)
rg.vander(x(3), 2, True)
rg.unbind(x(3, 2), axis=1)
rg.unsqueeze(x(3), axis=0)
rg.trapezoid(x(3, 2), axis=0)
rg.trapz(x(3, 2), axis=0)
rg.cumulative_trapezoid(x(3, 2), axis=0)
rg.special.round(x(3), decimals=1)
F.ctc_loss(x(4, 1, 3).log(), rg.tensor([[1, 2]]), rg.tensor([4]), rg.tensor([2]))
F.elu_(x(3))
F.embedding(rg.tensor([0, 1]), x(4, 3), padding_idx=1, max_norm=0.5)
F.embedding_bag(rg.tensor([[0, 1]]), x(4, 3), padding_idx=1, max_norm=0.5)
F.gumbel_softmax(x(2, 3))
F.hardtanh_(x(3))
F.leaky_relu_(x(3))
F.linear_cross_entropy(x(2, 3), x(4, 3), rg.tensor([0, 1]), ignore_index=1)
F.log_softmax(x(2, 3), 1)
F.multi_head_attention_forward(q(), q(), q(), 4, 2, x(12, 4), x(12), None, None, False, 0.0, x(4, 4), x(4))
F.one_hot(rg.tensor([0, 2]), 3)
F.softmax(x(2, 3), 1)
rg.all(x(2, 3), 1)
rg.allclose(x(3), x(3))
rg.alpha_dropout(x(3), 0.5, True)
rg.alpha_dropout_(x(3), 0.5, True)
rg.any(x(2, 3), 1)
rg.arange(3)
rg.argmax(x(2, 3), 1)
rg.argmin(x(2, 3), 1)
rg.argsort(x(3))
rg.asarray([1.0])
rg.asarray([1.0], copy=True)
rg.asarray([1.0], requires_grad=True)
rg.bartlett_window(4)
rg.batch_norm(x(2, 3), None, None, None, None, True, 0.1, 1e-5, True)
rg.binary_cross_entropy_with_logits(x(3), x(3))
rg.blackman_window(4)
rg.bucketize(x(3), x(3))
rg.celu_(x(3))
rg.cosine_embedding_loss(x(2, 3), x(2, 3), rg.ones(2))
rg.ctc_loss(x(4, 1, 3).log(), rg.tensor([[1, 2]]), rg.tensor([4]), rg.tensor([2]))
rg.device("cuda", 0)
rg.dropout(x(3), 0.5, True)
rg.dropout_(x(3), 0.5, True)
rg.embedding_bag(x(4, 3), rg.tensor([0, 1, 2]), rg.tensor([0]), padding_idx=1)
rg.embedding_renorm_(x(4, 3), rg.tensor([0, 1]), 0.5, 2.0)
rg.empty(2)
rg.empty_like(x(3))
rg.empty_permuted((2, 3), (1, 0))
rg.empty_strided((2, 3), (3, 1))
rg.eye(2)
rg.feature_alpha_dropout(x(2, 3), 0.5, True)
rg.feature_alpha_dropout_(x(2, 3), 0.5, True)
rg.feature_dropout(x(2, 3), 0.5, True)
rg.feature_dropout_(x(2, 3), 0.5, True)
rg.frombuffer(bytes(8), dtype=rg.float32)
rg.full((2,), 1.0)
rg.full_like(x(3), 1.0)
rg.group_norm(x(2, 4), 2)
rg.hamming_window(4, True, 0.54, 0.46)
rg.hann_window(4)
rg.hinge_embedding_loss(x(3), rg.ones(3))
rg.histogram(x(4), 2)
rg.histogramdd(x(4, 2), [2, 2])
rg.instance_norm(x(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, True)
rg.isclose(x(3), x(3))
rg.isin(x(3), x(2))
rg.kaiser_window(4, True, 12.0)
rg.kl_div(x(3), x(3))
rg.linspace(0, 1, 3)
rg.logspace(0, 1, 3)
rg.margin_ranking_loss(x(3), x(3), rg.ones(3))
rg.multinomial(x(3), 2)
rg.native_batch_norm(x(2, 3), None, None, None, None, True, 0.1, 1e-5)
rg.native_group_norm(x(2, 4), None, None, 2, 4, 1, 2, 1e-5)
rg.native_layer_norm(x(2, 4), (4,), None, None, 1e-5)
rg.normal(0.0, 1.0, (2,))
rg.ones(2)
rg.ones_like(x(3))
rg.poisson_nll_loss(x(3), x(3), True, False, 1e-8, 1)
rg.polygamma(1, x(3))
rg.rand(2)
rg.rand_like(x(3))
rg.randint(0, 5, (2,))
rg.randint_like(x(3), 0, 5)
rg.randn(2)
rg.randn_like(x(3))
rg.randperm(4)
rg.range(0, 2)
rg.rrelu_(x(3))
rg.scalar_tensor(1.0)
rg.searchsorted(x(3), x(2))
rg.segment_reduce(x(4), "sum", lengths=rg.tensor([2, 2]), axis=0)
rg.set_flush_denormal(False)
rg.set_num_interop_threads(1)
rg.set_num_threads(1)
rg.set_printoptions(sci_mode=False)
rg.set_warn_always(False)
rg.tensor([1.0])
rg.threshold_(x(3), 0.5, 1.0)
rg.triplet_margin_loss(x(2, 3), x(2, 3), x(2, 3) + 1)
rg.unique(x(3))
rg.unique_consecutive(x(3))
rg.use_deterministic_algorithms(False)
rg.zeros(2)
rg.zeros_like(x(3))
rg.from_file(file(), False, 3, requires_grad=False, pin_memory=False)
rg.UntypedStorage.from_file(file(), False, 8)
rg.set_anomaly_enabled(False, check_nan=True)
rg.Generator.manual_seed(rg.Generator(), 1)
rg.Tensor(np.zeros(3), share=True)
rg.Tensor.__array__(x(3), copy=True)
rg.Tensor.backward(squares(leaf()))
rg.Tensor.backward(squares(leaf()), retain_graph=True)
rg.Tensor.copy_(x(3), x(3))
rg.Tensor.cpu(x(3))
rg.Tensor.cuda(x(3))
rg.Tensor.fill_diagonal_(x(3, 3), 1.0)
rg.Tensor.numpy(x(3))
rg.Tensor.polygamma(x(3), 1)
rg.Tensor.polygamma_(x(3), 1)
rg.Tensor.requires_grad_(x(3))
rg.Tensor.size(x(2, 3), 1)
rg.Tensor.stride(x(2, 3), 1)
rg.Tensor.transpose_(x(2, 3), 0, 1)
rg.Tensor.type(x(3), rg.float64)
rg.Tensor.unsqueeze_(x(3), 0)
rg.autograd.backward(squares(leaf()))
rg.autograd.backward(squares(leaf()), retain_graph=True)
rg.autograd.detect_anomaly(check_nan=True)
rg.autograd.grad(squares(leaf()), leaf(), allow_unused=True)
rg.autograd.grad(squares(leaf()), leaf(), allow_unused=True, retain_graph=True)
rg.autograd.gradcheck(squares, leaf(), fast_mode=False)
rg.autograd.gradcheck(squares, leaf(), masked=False)
rg.autograd.gradgradcheck(squares, leaf(), fast_mode=False)
rg.autograd.set_detect_anomaly(False)
rg.fft.fftfreq(4)
rg.fft.rfftfreq(4)
rg.linalg.vector_norm(x(3))
rg.random.fork_rng()
rg.autograd.forward_ad.exit_dual_level(level=level())
rg.autograd.forward_ad.make_dual(x(3), x(3), level=level())
rg.autograd.forward_ad.set_fwd_grad_enabled(True)
rg.autograd.forward_ad.unpack_dual(x(3), level=level())
rg.autograd.functional.hessian(squares, leaf())
rg.autograd.functional.hvp(squares, leaf(), x(3).double())
rg.autograd.functional.jacobian(squares, leaf())
rg.autograd.functional.jvp(squares, leaf(), x(3).double())
rg.autograd.functional.vhp(squares, leaf(), x(3).double())
rg.autograd.functional.vjp(squares, leaf())
rg.autograd.graph.save_on_cpu()
rg.nn._reduction.legacy_get_string(True, None, emit_warning=False)
"""


def calls() -> Iterator[Call]:
    """All of them."""
    for line in EXTRA.split("\n"):
        if line:
            yield _written(line)
    for case in CASES:
        if case.call is None:
            for sample in case.samples:
                yield Call(
                    function_of(find(case.name), case.name.rpartition(".")[2]),
                    lambda path=case.name: find(path),
                    lambda case=case, sample=sample: (
                        (
                            *(rg.Tensor(a, share=True) for a in case.arrays(sample, case.dtypes[0])),
                            *map(as_argument, sample.args),
                        ),
                        {name: as_argument(value) for name, value in sample.kwargs.items()},
                    ),
                )


def _written(line: str) -> Call:
    """A line of the table: a call whose arguments are evaluated anew each time."""
    node = ast.parse(line, mode="eval").body
    assert isinstance(node, ast.Call)
    callee, names = ast.unparse(node.func), {**globals(), "F": rg.nn.functional}
    positional = [ast.unparse(argument) for argument in node.args]
    named = {str(keyword.arg): ast.unparse(keyword.value) for keyword in node.keywords}
    return Call(
        function_of(eval(callee, names), callee.rpartition(".")[2]),
        lambda: eval(callee, names),
        lambda: (
            tuple(eval(text, names) for text in positional),
            {name: eval(text, names) for name, text in named.items()},
        ),
    )


def function_of(callee: Any, name: str = "") -> Function:
    """Where a function or a class, whose `__init__` it is then, is defined."""
    if isinstance(callee, type):
        return callee.__module__, f"{callee.__name__}.__init__"
    for cls in (*rg.Tensor.__mro__, rg.Generator, rg.UntypedStorage):
        found = vars(cls).get(name)
        found = getattr(found, "__func__", found)  # of a static method
        if found is getattr(callee, "__func__", callee) and cls.__module__ != "retrograd.core.plain":
            return cls.__module__, f"{cls.__name__}.{name}"
    callee = getattr(callee, "__func__", callee)
    return getattr(callee, "__module__", ""), getattr(callee, "__name__", "")


# ---- what comes of it -----------------------------------------------------------------------------------------------


def outcomes() -> dict[str, str]:
    """By function, parameter and what stood for its number: what came of the first call that gives it one."""
    found: dict[str, str] = {}
    kinds = declared()
    for call in calls():
        for parameter, kind in kinds.get(call.function, {}).items():
            for instead in INSTEAD[kind]:
                key = f"{'.'.join(call.function)}({parameter}: {instead.__module__}.{instead.__name__})"
                if key not in found:
                    outcome = attempt(call, parameter, kind, instead)
                    if outcome is not None:
                        found[key] = outcome
    return found


def attempt(call: Call, parameter: str, kind: str, instead: Callable[[Any], Any]) -> str | None:
    """What came of a call with another kind of number; None if it has no number there."""
    callee = call.callee()
    args, kwargs = call.arguments()
    names = list(inspect.signature(callee).parameters)
    given = dict(zip(names, args, strict=False)) | kwargs
    default = inspect.signature(callee).parameters[parameter].default
    value = given.get(parameter, default)
    if not isinstance(value, {"int": int, "bool": bool, "float": (float, int)}[kind]) or isinstance(
        value, np.generic
    ):
        return None
    place = names.index(parameter)
    if place < len(args):
        args = (*args[:place], instead(value), *args[place + 1 :])
    else:
        kwargs[parameter] = instead(value)
    rg.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = callee(*args, **kwargs)
            return described(made.zero_() if "empty" in call.function[1] else made)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        rg.set_num_threads(1)
        rg.autograd.set_detect_anomaly(False)
        leave_levels()


def described(result: Any) -> str:
    """A result as text: what is random or has an address is left out."""
    if isinstance(result, rg.Tensor):
        total = float(np.nansum(np.abs(result.detach().resolve_conj().numpy(force=True))))
        return f"{result.dtype}{list(result.shape)} {total:.5g} {result.requires_grad}"
    if isinstance(result, (tuple, list)):
        return f"({', '.join(described(part) for part in result)})"
    return repr(result) if isinstance(result, (bool, int, float, str, type(None))) else type(result).__name__


if __name__ == "__main__":
    print(json.dumps(outcomes()))
