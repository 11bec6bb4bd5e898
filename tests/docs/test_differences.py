"""Every difference that docs/differences.md tells of is one: PyTorch does the one thing, retrograd the other."""

from __future__ import annotations

import asyncio
import collections
import copy
import importlib
import io
import pickle
import re
import sys
import threading
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import scipy.special

import retrograd as rg
import retrograd.utils.checkpoint
from retrograd.__config__ import is_compiled

from .pages import DOCS

TEXT = (DOCS / "differences.md").read_text(encoding="utf-8")
SHOWN: set[str] = set()
NOT_SHOWN = {
    "Hooks, custom Functions and callbacks always run on the thread that called backward": "without a GPU both do",
    **dict.fromkeys(
        ("A class or an index out of range on a GPU", "Attention with dropout"),
        "needs a GPU; see tests/gpu",
    ),
    "Without its compiled form": "the tests run both forms",
}

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's; ours are tested where they belong


def about(*titles: str) -> Callable[[Any], Any]:
    """Says which passages a test is about."""
    SHOWN.update(titles)
    return lambda test: test


def fails(function: Callable[[], Any], words: str = "") -> bool:
    """Whether a call raises, with these words."""
    try:
        function()
    except Exception as error:
        return words in str(error)
    return False


def leaf(lib: Any, values: Any, dtype: str = "float64") -> Any:
    return lib.tensor(values, dtype=getattr(lib, dtype), requires_grad=True)


def titles(text: str) -> list[str]:
    """What the passages of the page begin with: their first words, in bold."""
    passages = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    return [
        found[1].strip(":. ") if (found := re.match(r"\*\*(.+?)\*\*", p, re.DOTALL)) else p for p in passages
    ]


def test_every_difference_is_shown():
    assert sorted(titles(TEXT)) == sorted(SHOWN | set(NOT_SHOWN))


def test_a_passage_is_known_by_its_first_words():
    assert titles("# A\n\n- **One thing.** More\n  of it.\n- **Two**: x\n- three\n") == [
        "One thing",
        "Two",
        "three\n",
    ]


# ---- arrays -------------------------------------------------------------------------------------------------------


@about("Dtypes equal NumPy's")
def test_dtypes(torch):
    numpy = np.dtype("float32")
    assert (rg.float32 == numpy, numpy == rg.float32, torch.float32 == numpy) == (True, True, False)
    assert np.zeros(1, rg.float32).dtype == rg.zeros(1, dtype=numpy).dtype


@about("Of dtypes that NumPy has not there are no tensors")
def test_dtypes_without_arrays(torch):
    for name in ("complex32", "float8_e4m3fn", "bits8", "uint3"):
        assert torch.empty(2, dtype=getattr(torch, name)).dtype == getattr(torch, name)
        assert fails(lambda: rg.empty(2, dtype=getattr(rg, name)), f"torch.{name} can be named here")
    assert rg.iinfo(rg.qint8).dtype == "qint8"
    assert fails(lambda: torch.iinfo(torch.qint8).dtype, "not implemented for 'QInt8'")
    assert torch.finfo(torch.float4_e2m1fn_x2).bits == 8
    assert fails(lambda: rg.finfo(rg.float4_e2m1fn_x2), "not implemented for torch.float4_e2m1fn_x2")


@about("bfloat16 needs the package ml_dtypes")
def test_bfloat16(torch):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    ours, theirs = rg.ones(2, dtype=rg.bfloat16), torch.ones(2, dtype=torch.bfloat16)
    assert ours.numpy().dtype == ml_dtypes.bfloat16
    assert np.shares_memory(ours.numpy(), rg.from_numpy(ours.numpy()).numpy())
    assert fails(theirs.numpy, "unsupported ScalarType BFloat16")
    assert fails(lambda: torch.from_numpy(ours.numpy()), "can't convert np.ndarray")
    assert type(ours.array) is not np.ndarray
    sizes = []
    for t in (rg, torch):
        x = t.linspace(-1.3, 2, 64).reshape(2, 32).bfloat16().requires_grad_()
        t.nn.functional.group_norm(x, 4).sum().backward()  # whose gradient is 0
        sizes.append(x.grad.abs().max().item())
    assert sizes[0] < 1e-4 < sizes[1]


@about("Under `autocast`, `linalg.pinv` computes in the dtype that it gets")
def test_autocast(torch):
    pytest.importorskip("ml_dtypes")
    seen = []
    for t in (rg, torch):
        with t.autocast("cpu"):
            seen.append(str(t.linalg.pinv(t.ones(2, 2)).dtype))
        with t.autocast("cpu", dtype=t.float16):
            both = [t.ones(2, dtype=t.bfloat16), t.ones(2)]
            seen.append(fails(lambda: t.cat(both), "Unexpected floating ScalarType"))
        block = t.autocast("cpu")
        with block, t.autocast("cpu", dtype=t.float16), block:
            pass
        seen.append(str(t.get_autocast_dtype("cpu")))
        t.set_autocast_enabled("cpu", False)
        t.set_autocast_dtype("cpu", t.bfloat16)
    assert seen == ["torch.float32", False, "torch.bfloat16", "torch.bfloat16", True, "torch.float16"]


@about("`t.array`")
def test_the_array_itself(torch):
    y = rg.ones(2, requires_grad=True) * 2
    assert isinstance(y.array, np.ndarray)
    assert fails(lambda: (torch.ones(2, requires_grad=True) * 2).numpy())


@about("NumPy arrays are operands")
def test_numpy_arrays_and_functions(torch):
    array = np.ones(2, np.float32)

    def assign(lib):
        t = lib.zeros(2)
        t[:1] = array[:1]

    programs = [
        lambda lib: lib.ones(2, requires_grad=True) * array,
        lambda lib: array + lib.ones(2, requires_grad=True),
        lambda lib: np.sin(lib.ones(2, requires_grad=True)),
        lambda lib: np.sum(lib.ones(2, requires_grad=True), axis=0),
    ]
    for program in programs:
        assert program(rg).grad_fn is not None
        assert fails(lambda program=program: program(torch))
    assign(rg)
    assert fails(lambda: assign(torch))
    assert rg.from_numpy(np.arange(3)[::-1]).tolist() == [2, 1, 0]
    assert fails(lambda: torch.from_numpy(np.arange(3)[::-1]))


@about("Memory that NumPy calls read-only is never written")
def test_read_only_memory(torch):
    array = np.ones(2)
    array.flags.writeable = False
    assert fails(lambda: rg.from_numpy(array).add_(1), "read-only")
    torch.from_numpy(array).add_(1)
    assert array.tolist() == [2.0, 2.0]


@about("A retained gradient of the second output of a function")
def test_a_retained_gradient_of_a_second_output(torch):
    def run(lib):
        variance, mean = lib.var_mean(leaf(lib, [1.0, 2.0]))
        variance.retain_grad()  # PyTorch fails inside if there is none to move
        mean.retain_grad()
        mean.mul_(2)
        (variance + mean).backward()
        return mean.grad.item()

    assert (run(torch), run(rg)) == (2.0, 1.0)


@about("Functions on lists", "`lobpcg`")
def test_nodes_of_functions_made_of_others(torch):
    def names(lib):
        x = leaf(lib, [1.0, 2.0])
        a = lib.eye(4, dtype=lib.float64).requires_grad_()
        return lib._foreach_add([x], 1)[0].grad_fn.name(), "LOBPCG" in lib.lobpcg(a)[0].grad_fn.name()

    assert names(rg) == ("AddBackward0", False)
    assert names(torch)[0].startswith("ForeachAdd")
    assert names(torch)[1]


@about("`_force_original_view_tracking`")
def test_view_replay(torch):
    def node(lib):
        with lib.autograd._force_original_view_tracking(True):
            y = leaf(lib, [1.0, 2.0, 3.0, 4.0]).clone()
            v = y.view(2, 2)
            y.mul_(2)
            return v.grad_fn.name()

    assert (node(rg), node(torch)) == ("AsStridedBackward0", "ViewBackward0")


@about("Nodes of custom Functions can be called")
def test_custom_nodes_are_called(torch):
    def called(lib):
        class Twice(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        x = leaf(lib, [1.0])
        return fails(lambda: Twice.apply(x).grad_fn(x.detach()))

    assert (called(rg), called(torch)) == (False, True)

    def stacked(lib):
        x, y = leaf(lib, [1.0]), lib.ones(1, dtype=lib.float64)
        return [g is None for g in lib.stack([x, y]).grad_fn(lib.ones(2, 1, dtype=lib.float64))]

    assert (stacked(rg), stacked(torch)) == ([False, True], [False, False])


@about("A parameter that a custom Function returns")
def test_parameters_that_are_returned(torch):
    def run(lib):
        class Hand(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return w

        w = lib.nn.Parameter(lib.ones(2))
        Hand.apply(lib.ones(1))
        return w.requires_grad

    assert (run(rg), run(torch)) == (True, False)


@about("`functional_call` puts back what it has replaced")
def test_modules_of_two_names_are_put_back(torch):
    def run(lib):
        inner = lib.nn.Linear(1, 1)
        outer = lib.nn.Sequential(inner, inner)
        before = inner.weight
        lib.func.functional_call(outer, {"0.weight": lib.zeros(1, 1)}, (lib.ones(1),))
        return inner.weight is before

    assert (run(rg), run(torch)) == (True, False)


@about("Copies of subclasses of Tensor")
def test_subclasses_are_copied(torch):
    def run(lib):
        class Own(lib.Tensor):
            pass

        return fails(lambda: copy.deepcopy(lib.ones(2).as_subclass(Own)), "new_empty")

    def clipped(lib):
        return fails(lambda: lib.nn.utils.clip_grad_value_(lib.nn.Linear(1, 1).parameters(), 0.1), "empty()")

    assert (run(rg), run(torch)) == (False, True)
    assert (clipped(rg), clipped(torch)) == (False, True)


@about("The error of an overwritten value names who made that value")
def test_who_made_what_was_overwritten(torch):
    def run(lib, words):
        y = leaf(lib, [1.0, 2.0]) * 2
        z = y.sin()
        y.add_(1)
        return fails(lambda: z.sum().backward(), words)

    assert run(rg, "output 0 of Mul,")
    assert run(torch, "output 0 of Add,")


@about("`resize_` beyond the end of its memory")
def test_resize(torch):
    def first(lib):
        a = lib.arange(4.0)
        part = a[:2].resize_(6)
        part[0] = 100.0
        return a[0].item()

    assert (first(rg), first(torch)) == (0.0, 100.0)


@about("What is contiguous in PyTorch is contiguous here; more is")
def test_layouts(torch):  # tests/ops/test_layouts.py is about the first half
    def rows(lib):
        x = lib.rand(3, 3, dtype=lib.float64).t()
        functions = (lib.linalg.inv, lib.lgamma, lib.exp, lib.nn.functional.logsigmoid, lambda x: 2**x)
        return [function(x).is_contiguous() for function in functions]

    assert rows(rg) == [True, True, False, True, True]
    assert rows(torch) == [False, False, False, True, True]


@about("`einsum` of several operands is one node")
def test_nodes_of_einsum(torch):
    def name(lib):
        return lib.einsum("ij,jk", leaf(lib, [[1.0]]), leaf(lib, [[1.0]])).grad_fn.name()

    assert (name(rg), name(torch)) == ("EinsumBackward0", "ViewBackward0")


@about("What is written is checked first")
def test_nothing_is_written_before_it_is_checked(torch):
    def written(lib):
        with lib.inference_mode():
            x = lib.ones(2)
        assert fails(lambda: x.mul_(2))
        return x.tolist()

    assert (written(rg), written(torch)) == ([1.0, 1.0], [2.0, 2.0])


@about("`out=`")
def test_dtypes_of_out(torch):
    def refused(lib):
        return fails(lambda: lib.neg(lib.ones(2), out=lib.zeros(2, dtype=lib.float64)))

    assert (refused(rg), refused(torch)) == (False, True)
    assert all(
        fails(lambda lib=lib: lib.mm(lib.eye(2), lib.eye(2), out=lib.eye(2).double())) for lib in (rg, torch)
    )


@about("A hook of `register_multi_grad_hook`")
def test_hooks_of_several_gradients_on_the_root(torch):
    def calls(lib):
        log: list[Any] = []
        y = leaf(lib, [1.0]) * 2
        lib.autograd.graph.register_multi_grad_hook([y], log.append)
        y.backward()
        return len(log)

    assert (calls(rg), calls(torch)) == (1, 0)


@about("Gradients are in memory of their own")
def test_gradients_can_be_written(torch):
    def refused(lib):
        x = leaf(lib, [1.0, 2.0])
        (g,) = lib.autograd.grad(x.sum(), [x])
        return fails(lambda: g.add_(1))

    assert (refused(rg), refused(torch)) == (False, True)


@about("Gradients of mixed operands")
def test_gradients_of_mixed_operands(torch):
    def refused(lib):
        x = leaf(lib, [1.0, 2.0])
        return fails(lambda: lib.logaddexp(x, lib.tensor([True, False])).sum().backward())

    assert (refused(rg), refused(torch)) == (False, True)


@about("Calls that PyTorch takes by the way")
def test_calls_that_are_taken_by_the_way(torch):
    for lib, refused in ((torch, False), (rg, True)):
        nothing, f = lib.zeros(0), lib.nn.functional
        calls = (
            lambda nothing=nothing: nothing.diff(0, 1),
            lambda nothing=nothing: nothing.roll(0, 1),
            lambda lib=lib, f=f: f.multilabel_soft_margin_loss(lib.ones(2, 3), 0),
            lambda lib=lib, f=f: f.threshold_(lib.ones(1).expand(2), 0, 1),
        )
        assert [fails(call) for call in calls] == [refused] * len(calls)


@about("`V` of `svd`")
def test_layout_of_v(torch):
    assert torch.svd(torch.rand(3, 3)).V.is_contiguous()
    assert rg.svd(rg.rand(3, 3)).V.mT.is_contiguous()


@about("Conjugates inside of `vmap`")
def test_conjugates(torch):
    def facts(lib):
        inside = []
        z = leaf(lib, [1 + 2j], "complex64")
        lib.func.vmap(lambda t: (inside.append(t.conj().is_conj()), t)[1])(z.detach())
        (gradient,) = lib.autograd.grad(z.conj(), z, lib.ones(1, dtype=lib.complex64))
        p = z.detach().conj().requires_grad_()
        p.grad = z.detach().clone()
        stuck = fails(lib.optim.Adam([p]).step)
        signs = lib.nn.functional.max_pool1d(lib.ones(1, 2)._neg_view(), 1).sign().tolist()
        return inside, gradient.is_conj(), stuck, signs

    assert facts(torch) == ([True], True, True, [[1.0, 1.0]])
    assert facts(rg) == ([False], False, False, [[-1.0, -1.0]])


@about("Where a number is wanted, more stands for one")
def test_numbers(torch):
    for lib, refused in ((torch, True), (rg, False)):
        x = lib.ones(2, 3)
        assert fails(lambda lib=lib, x=x: lib.allclose(x, x, rtol=lib.tensor([0.5]))) is refused
        assert fails(lambda x=x: x.sum(True)) is refused
        assert fails(lambda lib=lib, x=x: lib.logit(x, lib.tensor(0.5, requires_grad=True)))


@about("`inplace` of activations is a truth value or a number")
def test_inplace(torch):
    assert torch.nn.functional.relu(torch.ones(1), ()).item() == 1
    assert fails(lambda: rg.nn.functional.relu(rg.ones(1), ()), "bool") == is_compiled()


@about("`fractional_max_pool2d` with a kernel of size 0")
def test_windows_of_nothing(torch):
    pooled = torch.nn.functional.fractional_max_pool2d(torch.ones(1, 4, 4), 0, output_size=2)
    assert bool((pooled == -float("inf")).all())
    assert fails(
        lambda: rg.nn.functional.fractional_max_pool2d(rg.ones(1, 4, 4), 0, output_size=2), "windows"
    )


@about("A new `data` of another shape is taken")
def test_other_data(torch):
    def shrunk(lib):
        p = leaf(lib, [1.0, 2.0])
        y = p * p
        p.data = p.data[1:]
        (p * p).sum().backward()
        return y, p.grad.tolist()

    def replaced(lib):
        p = leaf(lib, [1.0, 2.0])
        y = (p * p).sum()
        p.data = lib.zeros(2, dtype=lib.float64)
        y.backward()
        return p.grad.tolist()

    assert shrunk(rg)[1] == [4.0]
    assert fails(lambda: shrunk(torch), "invalid gradient")
    assert (replaced(rg), replaced(torch)) == ([2.0, 4.0], [0.0, 0.0])


@about("Attributes of `t.array` itself")
def test_attributes_of_the_array(torch):
    x = leaf(rg, [1.0, 2.0])
    y = (x * x).sum()
    x.array.dtype = "int64"
    y.backward()
    assert x.grad.tolist() != [2.0, 4.0]
    x = leaf(rg, [1.0, 2.0])
    with rg.autograd.graph.seal_saved_tensors():
        y = (x * x).sum()
    x.array.dtype = "int64"
    assert fails(y.backward, "saved as float64 [2] and is int64 [2]")


@about("Complex powers")
def test_complex_powers_of_zero(torch):
    def power(lib):
        return (lib.tensor(0j) ** lib.tensor(0j)).item()

    assert power(rg) == 1
    assert np.isnan(power(torch))


@about("Distributions where PyTorch is off")
def test_distributions(torch):
    mode = {lib.__name__: lib.distributions.Kumaraswamy(2.0, 3.0).mode.item() for lib in (torch, rg)}
    assert np.isnan(mode["torch"])
    assert mode["retrograd"] == pytest.approx(0.2**0.5)
    in_double = {
        lib.__name__: fails(
            lambda lib=lib: lib.distributions.GeneralizedPareto(
                *lib.tensor([0.0, 1.0, 0.1]).double()
            ).log_prob(lib.tensor(1.0).double())
        )
        for lib in (torch, rg)
    }
    assert in_double == {"torch": True, "retrograd": False}

    def of_batch(lib):
        D, eye = lib.distributions, lib.eye(2)
        p, q = (D.Wishart(lib.tensor(df), eye) for df in ([5.0, 6.0], [4.0, 4.0]))
        alone = D.kl_divergence(D.Wishart(lib.tensor(5.0), eye), D.Wishart(lib.tensor(4.0), eye))
        return abs(D.kl_divergence(p, q)[0].item() - alone.item()) < 1e-4

    assert (of_batch(torch), of_batch(rg)) == (False, True)
    x, a, total = 5e-6, 1.0, 1e6
    slopes = [lib._dirichlet_grad(*lib.tensor([[x], [a], [total]]).double()).item() for lib in (torch, rg)]
    step, p = 1e-5, scipy.special.betainc(a, total - a, x)
    moved = [scipy.special.betaincinv(a + s, total - a, p) for s in (step, -step)]
    exact = (moved[0] - moved[1]) / (2 * step)
    assert slopes[1] == pytest.approx(exact, rel=1e-4)
    assert slopes[0] != pytest.approx(exact, rel=1e-3)


@about("Random numbers")
def test_random_numbers(torch):
    def drawn(lib, draw):
        lib.manual_seed(0)
        return draw(lib).tolist()

    def matrices(lib):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, of a singular matrix
            return lib.distributions.Wishart(lib.tensor(4.0), lib.eye(2)).sample()

    assert drawn(rg, lambda lib: lib.rand(3)) == drawn(torch, lambda lib: lib.rand(3))
    assert drawn(rg, matrices) != drawn(torch, matrices)


# ---- writes in place ----------------------------------------------------------------------------------------------


@about("`y.mul_(y)` can be differentiated")
def test_a_product_with_itself(torch):
    def square(lib):
        x = leaf(lib, [3.0])
        y = x * 1
        y.mul_(y).sum().backward()
        return x.grad.tolist()

    def power(lib):
        y = leaf(lib, [3.0]) * 1
        z = 2**y
        y.mul_(2)
        z.sum().backward()

    def gather(lib):
        y = leaf(lib, [3.0]) * 1
        z = y.gather(0, lib.tensor([0]))
        y.mul_(2)
        z.sum().backward()

    assert square(rg) == [6.0]
    power(rg)
    gather(rg)
    for program in (square, power, gather):
        assert fails(lambda program=program: program(torch), "modified by an inplace operation")


@about("An operand that overlaps the target of an in-place write")
def test_overlapping_operand(torch):
    def program(lib):
        y = lib.arange(4.0)
        y[1:].add_(y[:-1])
        return y.tolist()

    assert program(rg) == [0.0, 1.0, 3.0, 5.0]
    assert fails(lambda: program(torch), "unsupported operation")


@about("A write through a view whose elements overlap")
def test_overlapping_view(torch):
    def program(lib):
        y = lib.arange(5.0)
        y.unfold(0, 3, 1).mul_(lib.arange(9.0).reshape(3, 3))
        return y.tolist()

    assert program(rg) == [0.0, 3.0, 12.0, 21.0, 32.0]
    assert program(torch) != program(rg)
    for lib in (rg, torch):
        assert fails(lambda lib=lib: lib.zeros(1).expand(3).add_(1), "unsupported operation")

    def added(lib):
        x = lib.zeros(3, 1).expand(3, 4)
        return x.index_put_((lib.tensor([0, 0]),), lib.ones(2, 4), accumulate=True)[0, 0].item()

    assert (added(rg), added(torch)) == (2.0, 8.0)


# ---- derivatives and values ---------------------------------------------------------------------------------------


@about("Gradients where PyTorch has none, or a wrong one")
def test_first_derivatives(torch):
    for name in ("acosh_", "asinh_", "atanh_"):
        at = 1.5 if name == "acosh_" else 0.5

        def in_place(lib, name=name, at=at):
            x = leaf(lib, [at])
            getattr(x * 1, name)().sum().backward()
            return x.grad.item()

        def out_of_place(lib, name=name, at=at):
            x = leaf(lib, [at])
            getattr(x, name[:-1])().sum().backward()
            return x.grad.item()

        assert in_place(rg) == pytest.approx(out_of_place(torch))
        assert fails(lambda: in_place(torch), "not implemented")

    def leaky(lib):
        x = leaf(lib, [-1.0, 2.0])
        lib.nn.functional.leaky_relu(x * 1, -0.5, inplace=True).sum().backward()
        return x.grad.tolist()

    def scatter(lib):
        x = leaf(lib, [0.0, 1.0, 2.0, 3.0])
        lib.as_strided_scatter(x, lib.zeros(2, dtype=lib.float64), (2,), (2,), 0).sum().backward()
        return x.grad.tolist()

    assert leaky(rg) == [-0.5, 1.0]
    assert fails(lambda: leaky(torch), "negative slope")
    assert scatter(rg) == [0.0, 1.0, 0.0, 1.0]  # what was overwritten has no gradient
    assert scatter(torch) != scatter(rg)


def second(lib, function, at):
    """The second derivatives of a function of a tensor, each summed over all elements."""
    x = leaf(lib, at, "complex128" if np.iscomplexobj(at) else "float64")
    out = function(lib, x)
    (first,) = lib.autograd.grad((out.real if out.is_complex() else out).sum(), x, create_graph=True)
    (found,) = lib.autograd.grad((first.real + first.imag if first.is_complex() else first).sum(), x)
    return found.detach().numpy()


def random(*shape):
    return np.random.default_rng(0).normal(size=shape)


LABELS = [0, 1, 2, 3]
WITHOUT_SECOND = {
    "attention": (
        lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x.float(), x.float(), x.float()) ** 2,
        random(1, 1, 4, 8),
    ),
    "embedding_bag": (
        lambda lib, x: (
            lib.nn.functional.embedding_bag(lib.tensor(LABELS), x, lib.tensor([0, 2]), mode="sum") ** 2
        ),
        random(4, 3),
    ),
    "multi_margin_loss": (
        lambda lib, x: lib.nn.functional.multi_margin_loss(x * x, lib.tensor(LABELS)),
        random(4, 5),
    ),
    "multilabel_margin_loss": (
        lambda lib, x: lib.nn.functional.multilabel_margin_loss(x * x, lib.tensor([[0, 1, -1, 0, 0]] * 4)),
        random(4, 5),
    ),
    "ctc_loss": (
        lambda lib, x: lib.nn.functional.ctc_loss(
            (x * x).log_softmax(2), lib.tensor([[1, 2]]), lib.tensor([6]), lib.tensor([2])
        ),
        random(6, 1, 4),
    ),
    "cdist": (lambda lib, x: lib.cdist(x, lib.ones(3, 4, dtype=lib.float64)) ** 2, random(3, 4)),
    "pdist": (lambda lib, x: lib.nn.functional.pdist(x) ** 2, random(3, 4)),
}
SINGULAR = {
    "sinc": (lambda lib, x: lib.sinc(x), [0.0]),
    "norm": (lambda lib, x: x.norm(2.5), [0.0, 0.5]),
    "cosine": (lambda lib, x: lib.cosine_similarity(x, lib.ones(2, dtype=lib.float64), dim=0), [0.0, 0.0]),
    "angle": (lambda lib, x: lib.angle(x), [0j]),
    "sgn": (lambda lib, x: lib.sgn(x), [0j]),
    "det": (lambda lib, x: lib.linalg.det(x), [[0.0, 0.0], [0.0, 0.0]]),
    "logaddexp": (lambda lib, x: lib.logaddexp(x, lib.zeros(1, dtype=lib.float64)), [-np.inf]),
    "atan2": (lambda lib, x: lib.atan2(x[:1], x[1:]), [0.0, 0.0]),
}


@about("Second derivatives where PyTorch has none")
@pytest.mark.parametrize("name", WITHOUT_SECOND)
def test_second_derivatives(torch, name):
    assert np.isfinite(second(rg, *WITHOUT_SECOND[name])).all()
    assert fails(lambda: second(torch, *WITHOUT_SECOND[name]), "not implemented")


@pytest.mark.parametrize("name", SINGULAR)
def test_second_derivatives_at_singular_points(torch, name):
    assert np.isfinite(second(rg, *SINGULAR[name])).all()
    assert np.isnan(second(torch, *SINGULAR[name])).any()


@about("Values where PyTorch's kernels are off")
def test_special_functions(torch):
    assert rg.polygamma(1, rg.tensor(-1.0, dtype=rg.float64)).isinf()
    assert torch.polygamma(1, torch.tensor(-1.0, dtype=torch.float64)).isfinite()
    numbers = [lib.unique_consecutive(lib.tensor([1, 1, 2]), True)[1].numel() for lib in (rg, torch)]
    assert numbers == [3, 0]
    assert (rg.i0(rg.tensor(np.inf)).item(), np.isnan(torch.i0(torch.tensor(np.inf)).item())) == (
        np.inf,
        True,
    )
    truth = {
        "bessel_j0": scipy.special.j0,
        "bessel_y1": scipy.special.y1,
        "airy_ai": lambda x: scipy.special.airy(x)[0],
    }
    for name, function in truth.items():
        x = np.linspace(-10 if name == "airy_ai" else 0.1, 20, 500)
        ours, theirs = (getattr(lib.special, name)(lib.tensor(x)).numpy() for lib in (rg, torch))
        assert np.abs(ours - function(x)).max() < 1e-13
        assert np.abs(theirs - function(x)).max() > 1e-9
    tail = np.array([-20.0])
    np.testing.assert_allclose(rg.special.ndtr(rg.tensor(tail)).numpy(), scipy.special.ndtr(tail), rtol=1e-12)
    assert torch.special.ndtr(torch.tensor(tail)).item() == 0.0


def test_kernels_of_bags_images_and_transforms(torch):
    def bag(lib):
        w = leaf(lib, np.zeros((3, 1)))
        rows, starts = lib.tensor([0, 1, 1, 2]), lib.tensor([0, 2])
        lib.nn.functional.embedding_bag(rows, w, starts, mode="sum", scale_grad_by_freq=True).sum().backward()
        return w.grad.flatten().tolist()

    def narrow(lib, size):
        x = lib.tensor(random(1, 1, 4, 6))
        return lib.nn.functional.interpolate(x, size=size, mode="bilinear", antialias=True).numpy()

    assert bag(rg) == [1.0, 1.0, 1.0]  # a row that was used twice gets half of each
    assert bag(torch) != bag(rg)
    np.testing.assert_allclose(narrow(rg, (2, 2)), narrow(torch, (2, 2)))
    assert not np.allclose(narrow(rg, (2, 1)), narrow(torch, (2, 1)))
    lying = torch.tensor(random(1, 1, 4, 6)).mT  # turned on its side, it is right there too
    right = torch.nn.functional.interpolate(lying, size=(1, 2), mode="bilinear", antialias=True).mT
    np.testing.assert_allclose(narrow(rg, (2, 1)), right.numpy())
    assert rg.fft.fft(rg.zeros(0, 4)).shape == (0, 4)


@about("Ties")
def test_ties(torch):
    assert rg.topk(rg.ones(20), 3)[1].tolist() == [0, 1, 2]
    assert rg.kthvalue(rg.ones(20), 3)[1].item() == 2
    assert rg.sort(rg.ones(40))[1].tolist() == list(range(40))
    assert torch.topk(torch.ones(20), 3)[1].tolist() != [0, 1, 2]
    numbers = [float("nan"), 2.0, 1.0]
    assert rg.mode(rg.tensor(numbers)).values.item() == 1
    assert np.isnan(torch.mode(torch.tensor(numbers)).values.item())


@about("Out-of-range indices that PyTorch reads as garbage")
def test_out_of_range_indices(torch):
    def ctc(lib):
        log_probs = lib.tensor(random(6, 1, 4)).log_softmax(2)
        return lib.nn.functional.ctc_loss(log_probs, lib.tensor([[1, 4]]), lib.tensor([6]), lib.tensor([2]))

    def bags(lib):
        return lib.nn.functional.embedding_bag(
            lib.tensor([0, 1, 2, 2]), lib.ones(3, 3), lib.tensor([0, 3, 2]), mode="max"
        )

    for program in (ctc, bags):
        assert fails(lambda program=program: program(rg))
        assert not fails(lambda program=program: program(torch))


# ---- backward -----------------------------------------------------------------------------------------------------


@about("Checkpoint")
def test_checkpoint(torch):
    def overwritten(lib):
        def function(x):
            y = x.exp()
            s = y.sin()
            y.mul_(2)
            return s * y

        x = leaf(lib, [1.0])
        lib.utils.checkpoint.checkpoint(function, x, use_reentrant=False).sum().backward()
        return x.grad.item()

    def signal(lib):
        caught = []

        def function(x):
            try:
                return (x.exp().sin() * 2).cos()
            except Exception:
                caught.append("Exception")
                raise

        lib.utils.checkpoint.checkpoint(function, leaf(lib, [1.0]), use_reentrant=False).sum().backward()
        return caught

    e = np.e
    right = 2 * e * (np.cos(e) * e + np.sin(e))
    assert overwritten(rg) == pytest.approx(right)
    assert overwritten(torch) != pytest.approx(right)
    assert (signal(rg), signal(torch)) == ([], ["Exception"])


@about("An attribute `array` that a subclass of Tensor defines")
def test_an_array_of_a_subclass(torch):
    def own(lib):
        return type("Own", (lib.Tensor,), {"array": "its own"})

    assert torch.ones(1).as_subclass(own(torch)).array == "its own"
    assert rg.ones(1).as_subclass(own(rg)).array == [1.0]


@about("An exception raised more than sixty backwards deep")
def test_a_deep_exception(torch):
    def nested(lib, depth):
        with lib.enable_grad():
            out = leaf(lib, 1.0) * 2

            def hook(g):
                if not depth:
                    raise LookupError("from below")
                nested(lib, depth - 1)

            out.register_hook(hook)
            out.backward()

    with pytest.raises(LookupError, match="from below"):
        nested(rg, 70)
    with pytest.raises(SystemError):
        nested(torch, 70)


@about("`allow_mutation_on_saved_tensors`")
def test_mutation_through_views(torch):
    def gradient(lib):
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            x = leaf(lib, [1.0, 1.0, 1.0])
            y = x * 2
            loss = (y * y).sum()
            y[1:].mul_(2)
            loss.backward()
        return x.grad.tolist()

    assert gradient(rg) == [8.0, 8.0, 8.0]
    assert gradient(torch) != gradient(rg)


@about("A loss whose history was lost, and that was made a leaf, warns in backward")
def test_a_lost_history(torch):
    def warned(lib):
        with lib.no_grad():
            loss = (leaf(lib, [1.0, 2.0]) * 2).sum()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            loss.requires_grad = True
            assert not found
            loss.backward()
        return len(found)

    assert (warned(rg), warned(torch)) == (1, 0)


@about("A part of a tensor that a custom backward or a hook returns")
def test_a_part_of_a_tensor_as_a_gradient(torch):
    def shared(lib):
        table, x = lib.ones(4), lib.ones(2, requires_grad=True)
        x.register_hook(lambda g: table[:2])
        (x * 2).sum().backward()
        x.grad.zero_()
        return table.sum().item() == 2

    assert (shared(rg), shared(torch)) == (False, True)


@about("Several differentiable steps of Adam with `amsgrad`")
def test_optimisers(torch):
    def through(lib, amsgrad):
        start = leaf(lib, [1.0, 2.0])
        w = start.clone()
        w.retain_grad()
        optimizer = lib.optim.Adam([w], lr=0.1, amsgrad=amsgrad, differentiable=True)
        for _ in range(2):
            w.grad = start * 3
            optimizer.step()
        w.sum().backward()

    def hooks(lib):
        class Subclass(lib.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        lib.optim.SGD([leaf(lib, [1.0])], lr=0.1)  # in PyTorch it matters that there has been one
        w = leaf(lib, [1.0])
        w.grad = lib.ones(1, dtype=lib.float64)
        optimizer = Subclass([w], lr=0.1)
        calls = []
        optimizer.register_step_pre_hook(lambda *args: calls.append("hook"))
        optimizer.step()
        return len(calls)

    def writes(lib):
        w = leaf(lib, [1.0])
        w.grad = lib.ones(1, dtype=lib.float64)
        lib.optim.AdamW([w], lr=0.1).step()
        return w._version

    for lib in (rg, torch):
        through(lib, amsgrad=False)
    through(rg, amsgrad=True)
    assert fails(lambda: through(torch, amsgrad=True), "modified by an inplace operation")
    assert (hooks(rg), hooks(torch)) == (1, 2)
    assert (writes(rg), writes(torch)) == (1, 2)


# ---- transforms, modes, hooks -------------------------------------------------------------------------------------


@about("Inside `vmap`")
def test_vmap(torch):
    def requires(lib):
        seen = []
        lib.vmap(lambda v: seen.append(v.requires_grad) or v)(leaf(lib, [1.0, 2.0]) * 1)
        return seen

    def shared(lib):
        w = leaf(lib, [1.0, 1.0])
        return lib.vmap(lambda v: lib.autograd.grad((v * w).sum(), w)[0])(
            lib.tensor([[1.0, 2.0], [3.0, 4.0]])
        ).tolist()

    def outlives(lib):
        kept = []
        lib.vmap(lambda v: kept.append(v) or v)(lib.ones(3))
        return kept[0] + 1

    def written(lib):
        x = lib.zeros(2)
        lib.vmap(lambda v: v.add_(1))(x)
        lib.vmap(lambda v: v.add_(1))((leaf(lib, [1.0, 2.0, 3.0]) * 1)[:2])

    assert (requires(rg), requires(torch)) == ([True], [False])
    assert shared(rg) == [[4.0, 6.0], [4.0, 6.0]]
    assert fails(lambda: shared(torch))
    assert not fails(lambda: outlives(rg))
    assert fails(lambda: outlives(torch))
    assert fails(lambda: written(rg), "modified inplace")
    written(torch)


def test_functions_with_a_vmap_of_their_own(torch):
    def program(lib):
        class Function(lib.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, g):
                return g * 100

            @staticmethod
            def vmap(info, in_dims, x):
                return x * 3, 0

        x = leaf(lib, [1.0])
        out = lib.vmap(Function.apply)(x)
        out.sum().backward()
        return out.item(), x.grad.item()

    assert (program(rg), program(torch)) == ((3.0, 100.0), (3.0, 3.0))


def test_other_transforms(torch):
    def keywords(lib, name):
        return getattr(lib.func, name)(lambda x, *, k: x * k)(lib.ones(2), k=3.0)

    def captured(lib):
        c = lib.zeros(2)
        lib.func.grad(lambda x: (x * c.add_(1)).sum())(lib.ones(2))
        return c.tolist()

    for name in ("jacrev", "jacfwd"):
        assert keywords(rg, name).tolist() == [[3.0, 0.0], [0.0, 3.0]]
        assert fails(lambda name=name: keywords(torch, name))
    assert captured(rg) == [1.0, 1.0]
    assert fails(lambda: captured(torch))


@about("`no_grad` decorates coroutines and async generators")
def test_coroutines(torch):
    def modes(lib):
        @lib.no_grad()
        async def coroutine():
            return lib.is_grad_enabled()

        @lib.no_grad()
        async def generator():
            yield lib.is_grad_enabled()

        async def both():
            return [await coroutine()] + [mode async for mode in generator()]

        return asyncio.run(both())

    assert (modes(rg), modes(torch)) == ([False, False], [True, True])


@about("Hooks must be callable when they are registered")
def test_hooks_that_cannot_be_called(torch):
    assert fails(lambda: rg.ones(1, requires_grad=True).register_hook(3), "not callable")
    assert not fails(lambda: torch.ones(1, requires_grad=True).register_hook(3))


@about("Modes are the thread's own")
def test_anomaly_mode_of_another_thread(torch):
    def elsewhere(lib):
        seen = []
        with lib.autograd.detect_anomaly():
            thread = threading.Thread(target=lambda: seen.append(lib.is_anomaly_enabled()))
            thread.start()
            thread.join()
        return seen

    assert (elsewhere(rg), elsewhere(torch)) == ([False], [True])


@about("Errors and warnings")
def test_errors_begin_alike(torch):
    def message(lib):
        with pytest.raises(RuntimeError) as raised:
            lib.ones(2).sum().backward()
        return str(raised.value)

    assert message(rg).startswith(message(torch))
    assert len(message(rg)) > len(message(torch))


# ---- graphs -------------------------------------------------------------------------------------------------------


def chain(node):
    """The names of a node and of those behind it, along first edges."""
    names = []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


@about("Regenerated views of complex tensors")
def test_views_of_complex_tensors(torch):
    def program(lib, view):
        z = leaf(lib, [1 + 1j, 2 + 2j], "complex128") * 1
        shown = view(lib, z)
        z.mul_(2)
        return chain(shown.grad_fn)

    def there_and_back(lib, z):
        return lib.view_as_complex(lib.view_as_real(z))

    def part_of_part(lib, z):
        return z[0].real

    assert program(rg, there_and_back)[0] == "AsStridedBackward0"
    assert program(torch, there_and_back)[:2] == ["ViewAsComplexBackward0", "ViewAsRealBackward0"]
    assert program(torch, part_of_part).count("AsStridedBackward0") == 2
    assert program(rg, part_of_part).count("AsStridedBackward0") == 1


# ---- modules ------------------------------------------------------------------------------------------------------


@about("What of `torch.nn` is not here")
def test_names_of_nn(torch):
    for name in re.findall(r"`(\w+)`", TEXT[TEXT.index("**What of `torch.nn`") :].partition("`xpu`")[0]):
        assert not hasattr(rg.nn, name), name
    assert (hasattr(rg.nn, "quantized"), hasattr(torch.nn, "quantized")) == (False, True)
    for name in ("xpu", "ipu", "mtia"):
        assert (hasattr(rg.nn.Module, name), hasattr(torch.nn.Module, name)) == (False, True)
    assert rg.nn.modules.batchnorm._BatchNorm in rg.nn.BatchNorm1d.__mro__
    assert fails(lambda: __import__("retrograd.nn.modules.batchnorm"), "not a package")


@about("What of `torch` is not here")
def test_names_of_torch(torch):
    passage = TEXT[TEXT.index("**What of `torch` is not here") :].partition("\n- ")[0]
    for name in re.findall(r"`(\w+)`", passage)[1:]:
        there = any(hasattr(place, name) for place in (torch, torch.nn.functional)) or name == "ScriptModule"
        assert (hasattr(rg, name), there) == (False, True), name


@about("`quasirandom.SobolEngine` needs SciPy")
def test_sobol_engines_need_scipy(torch: Any, monkeypatch: Any) -> None:
    assert rg.quasirandom.SobolEngine(2).draw(4).tolist() == torch.quasirandom.SobolEngine(2).draw(4).tolist()
    monkeypatch.setitem(sys.modules, "scipy.stats.qmc", None)
    with pytest.raises(ImportError, match=r"retrograd\[scipy\]"):
        rg.quasirandom.SobolEngine(2)


@about("CUDA graphs")
def test_cuda_graphs() -> None:
    for name in ("CUDAGraph", "graph"):
        with pytest.raises(RuntimeError, match="captures no CUDA graphs: call the step itself"):
            getattr(rg.cuda, name)()


@about("Results of functions on a subclass")
def test_nodes_of_results_on_a_subclass(torch: Any) -> None:
    def node(lib: Any) -> str:
        x = lib.ones(2).as_subclass(type("Metres", (lib.Tensor,), {})).requires_grad_()
        return type(x.sin().grad_fn).__name__

    assert (node(rg), node(torch)) == ("SinBackward0", "AliasBackward0")


@about("`torch.ops.aten`")
def test_operations_of_the_dispatcher_alone(torch: Any) -> None:
    def refused(lib: Any) -> bool:
        two = [lib.ones(3) for _ in range(4)]
        return fails(
            lambda: lib.ops.aten._batch_norm_with_update(lib.ones(2, 3), *two, 0.1, 1e-5), "cannot be called"
        )

    assert (refused(rg), refused(torch)) == (True, False)


@about("`grouped_mm`")
def test_strides_of_grouped_products(torch: Any) -> None:
    def refused(lib: Any) -> bool:
        return fails(lambda: lib.nn.functional.grouped_mm(lib.ones(2, 3, 4), lib.ones(2, 4, 5)), "strides")

    assert (refused(rg), refused(torch)) == (False, True)


@about("Dispatch modes")
def test_dispatch_modes_see_our_operations(torch: Any) -> None:
    def seen(lib: Any, call: Callable[[], Any]) -> list[str]:
        class Log(importlib.import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                calls.append(str(func))
                return func(*args, **(kwargs or {}))

        calls: list[str] = []
        with Log():
            call()
        return calls

    for lib, einsums, detaches in ((torch, 0, 1), (rg, 1, 0)):
        x = lib.ones(2, 3)
        assert seen(lib, lambda: lib.einsum("ij,kj->ik", x, x)).count("aten.einsum.default") == einsums
        assert len(seen(lib, x.detach)) == detaches
        weight = lib.ones(2, 2, 3, requires_grad=True)
        image = lib.ones(1, 2, 5, requires_grad=True)
        y = lib.nn.functional.conv1d(image, weight).sum()
        assert seen(lib, y.backward).count("aten.convolution_backward.default") == 2 - detaches


@about("Operations of `torch.library`")
def test_library(torch):
    def gone_through(lib: Any) -> bool:
        op = lib.library.custom_op(
            "a_difference::twice", _twice, mutates_args=(), schema="(Tensor x) -> Tensor"
        )
        op.register_autograd(lambda ctx, g: 2 * g)
        return not fails(lambda: lib.func.grad(lambda x: op(x).sum())(lib.ones(2)), "setup_context")

    assert (gone_through(rg), gone_through(torch)) == (True, False)
    assert [hasattr(lib.library, "triton_op") for lib in (rg, torch)] == [False, True]


def _twice(x: Any) -> Any:
    return 2 * x


@about("`compile` and `jit.script` give back the function")
def test_nothing_is_compiled(torch):
    def f(x):
        return x

    assert (rg.compile(f) is f, torch.compile(f) is f) == (True, False)
    assert (rg.jit.script(f) is f, torch.jit.script(f) is f) == (True, False)


@about("A name that is missing under `retrograd run`")
def test_other_processes(torch):
    from retrograd.alias.missing import StandIn

    assert fails(StandIn("torch.onnx.export"), "torch.onnx.export is not in retrograd")


@about("Averages over ranks")
def test_averages_over_ranks(torch, tmp_path):
    def kept_out(lib):
        model = lib.nn.parallel.DistributedDataParallel(
            lib.nn.ModuleList([lib.nn.Linear(1, 1) for _ in range(2)])
        )
        model.module.forward = lambda x: model.module[0](x)
        for _ in range(3):
            model(lib.ones(1, 1)).sum().backward()

    def second_derivatives(lib):
        model = lib.nn.parallel.DistributedDataParallel(lib.nn.Linear(1, 1))
        model(lib.ones(1, 1)).sum().backward(create_graph=True)

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/ranks", rank=0, world_size=1)
    rg.distributed.init_process_group()
    try:
        assert (fails(lambda: kept_out(rg)), fails(lambda: kept_out(torch), "find_unused_parameters")) == (
            False,
            True,
        )
        assert (
            fails(lambda: second_derivatives(rg), "create_graph"),
            fails(lambda: second_derivatives(torch)),
        ) == (
            True,
            False,
        )
    finally:
        torch.distributed.destroy_process_group()
        rg.distributed.destroy_process_group()
    assert fails(
        lambda: rg.distributed.optim.ZeroRedundancyOptimizer([], rg.optim.SGD, overlap_with_ddp=True),
        "overlap_with_ddp",
    )
    assert not hasattr(rg.distributed, "fsdp")


@about("`torch.distributed` is MPI")
def test_what_carries_messages(torch):
    assert (rg.distributed.is_gloo_available(), torch.distributed.is_gloo_available()) == (False, True)
    rg.distributed.init_process_group("gloo")
    assert rg.distributed.get_backend() == "mpi"
    rg.distributed.destroy_process_group()


@about("Functions ask for `__torch_function__`")
def test_modes_that_see_calls(torch):
    def program(lib):
        seen = []

        class Mode(lib.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append((lib.overrides.resolve_name(func), bool(kwargs)))
                return func(*args, **(kwargs or {}))

        x, bound = lib.ones(1), lib.exp
        with Mode():
            _ = x.shape, bound(x), lib.nn.functional.relu(x)
        return seen

    assert program(rg) == [("torch.nn.functional.relu", False)]
    names = ["torch.Tensor.shape.__get__", "torch.exp", "torch.nn.functional.relu"]
    assert program(torch) == [(names[0], False), (names[1], False), (names[2], True)]


@about("The profiler notes public functions")
def test_what_a_profiler_notes(torch):
    def program(lib):
        layer = lib.nn.Linear(1, 1)
        with lib.profiler.profile() as profiler:
            layer(lib.ones(1, 1))
        return {event.key for event in profiler.key_averages()}

    assert program(rg) == {"aten::linear", "aten::ones"}
    assert "aten::addmm" in program(torch)


@about("Operations on the device `meta`")
def test_meta_computes_on_the_cpu(torch):
    def program(lib):
        x = lib.zeros(2, device="meta")
        return (x + 1).shape, (x / x).device.type

    assert program(rg) == program(torch)


@about("Tensors are copied to other processes")
def test_processes_share_what_was_moved(torch):
    assert rg.multiprocessing.get_all_sharing_strategies() == {"file_system"}
    assert "file_descriptor" in torch.multiprocessing.get_all_sharing_strategies()

    def program(lib):
        x = lib.zeros(3)
        part = x[:2]
        x.share_memory_().fill_(1)
        return x.is_shared(), part.tolist()

    assert (program(rg), program(torch)) == ((True, [0, 0]), (True, [1, 1]))


@about("A module's members are in its `__dict__`")
def test_members(torch):
    def program(lib):
        layer = lib.nn.Linear(1, 1)
        return "weight" in layer.__dict__, copy.copy(layer)._parameters is layer._parameters

    assert (program(rg), program(torch)) == ((True, False), (False, True))


@about("`CrossMapLRN2d` is `LocalResponseNorm` of images")
def test_the_older_response_norm(torch):
    def same(lib):
        x = lib.from_numpy(np.random.default_rng(0).normal(size=(1, 4, 2, 2)))
        return bool(lib.allclose(lib.nn.CrossMapLRN2d(3, 0.5)(x), lib.nn.LocalResponseNorm(3, 0.5)(x)))

    def gradient_of_table(lib):
        table = lib.nn.Embedding(3, 2, sparse=True)
        table(lib.tensor([1])).sum().backward()
        return str(table.weight.grad.layout) if hasattr(table.weight.grad, "layout") else "torch.strided"

    assert (same(rg), same(torch)) == (True, False)
    assert "sparse" in gradient_of_table(torch)
    assert "sparse" not in gradient_of_table(rg)


@about("`UninitializedBuffer` can be copied")
def test_parts_of_modules_that_are_not_there_yet(torch):
    assert repr(copy.deepcopy(rg.nn.UninitializedBuffer())) == "<UninitializedBuffer>"
    assert fails(lambda: copy.deepcopy(torch.nn.UninitializedBuffer()))

    def warned(lib):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lib.nn.TransformerEncoder(lib.nn.TransformerEncoderLayer(2, 1, 2), 1)
        return len(caught)

    assert (warned(rg), warned(torch)) == (0, 1)


# ---- training -----------------------------------------------------------------------------------------------------


@about("Files")
def test_files(torch):
    for value in (np.ones(2), frozenset([1]), collections.deque([1]), slice(1, 2)):
        for lib, refused in ((rg, False), (torch, True)):
            file = io.BytesIO()
            lib.save(value, file)
            file.seek(0)
            assert fails(lambda: lib.load(file), "Weights only load failed") is refused
    kinds = []
    for lib in (rg, torch):
        file = io.BytesIO()
        lib.save(lib.ones(2, 3), file, _use_new_zipfile_serialization=False)
        kinds.append(file.getvalue()[:2] == b"PK")
    assert kinds == [True, False]


@about("`utils.tensorboard`")
def test_logs(tmp_path):
    logs = importlib.import_module("retrograd.utils.tensorboard")
    with logs.SummaryWriter(tmp_path) as writer:
        with pytest.warns(UserWarning, match="writes nothing"):
            writer.add_graph(rg.nn.Linear(1, 1))
        assert not hasattr(writer, "add_embedding")


@about("`rearrange` refuses a `1` on its left side for a dimension of another size")
def test_rearrange(torch):
    assert torch.func.rearrange(torch.ones(2, 3), "1 b -> b").shape == (3,)
    assert fails(lambda: rg.func.rearrange(rg.ones(2, 3), "1 b -> b"), "do not match")


@about("Muon computes in the dtype of the parameter")
def test_muon(torch):
    def moved(lib, dtype):
        w = lib.zeros(3, 3, dtype=getattr(lib, dtype), requires_grad=True)
        w.grad = (lib.arange(9.0).reshape(3, 3) ** 2).to(w.dtype)
        lib.optim.Muon([w], lr=1.0).step()
        return np.array(w.tolist())

    assert np.abs(moved(rg, "float64") - moved(rg, "float32")).max() < 1e-4
    off = np.abs(moved(rg, "float64") - moved(torch, "float64")).max()
    assert 1e-4 < off < 5e-2


@about("Schedules of schedules")
def test_schedules_of_schedules(torch):
    def chained(lib):
        o, s = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.1), lib.optim.lr_scheduler
        scheduler = s.SequentialLR(o, [s.ConstantLR(o), s.ChainedScheduler([s.StepLR(o, 2)])], [1])
        o.step()
        scheduler.step()

    def nested(lib):
        o, s = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.1), lib.optim.lr_scheduler
        inner = s.SequentialLR(o, [s.ConstantLR(o, 0.5), s.StepLR(o, 2)], [2])
        scheduler = s.SequentialLR(o, [inner, s.StepLR(o, 2)], [4])
        o.step()
        scheduler.step()
        return scheduler.get_last_lr()

    assert [fails(lambda: chained(lib)) for lib in (rg, torch)] == [False, True]
    assert nested(rg) == [0.05] != nested(torch)


@about("A dataset of DataPipes")
def test_names_that_are_left_out(torch):
    for name in re.findall(r"`(\w+)`", passage("A dataset of DataPipes")):
        space = "optim" if name == "SparseAdam" else "utils.data"
        assert hasattr(attrgetter(space)(torch), name)
        assert not hasattr(attrgetter(space)(rg), name)


@about("Workers of a DataLoader")
def test_workers_hold_at_most_32_batches(torch):
    from retrograd.utils.data.pool import MOST_ORDERS

    assert MOST_ORDERS == 32


def passage(title: str) -> str:
    """The text of a passage."""
    (found,) = (p for p in re.split(r"^- ", TEXT, flags=re.MULTILINE) if p.startswith(f"**{title}**"))
    return found.partition("\n\n")[0]


@about("Too little memory")
def test_too_little_memory(torch):
    with pytest.raises(RuntimeError) as there:
        torch.zeros(2**62)
    with pytest.raises(
        RuntimeError, match=r"\[4611686018427387904\] and dtype float32 needs 16.0 EiB"
    ) as here:
        rg.zeros(2**62)
    assert (isinstance(there.value, MemoryError), isinstance(here.value, MemoryError)) == (False, True)
    assert torch.ones(1).expand(2**61).shape == (2**61,)
    assert fails(lambda: rg.ones(1).expand(2**62), "not enough memory")


@about("Degrees without end")
def test_degrees_without_end(torch):
    assert fails(lambda: rg.special.legendre_polynomial_p(rg.tensor(0.5), 2**20 + 1), "takes as many steps")
    assert torch.special.legendre_polynomial_p(torch.tensor(0.5), 2**20 + 1).isfinite()
    assert fails(lambda: rg.tensor_split(rg.ones(3), 2**24 + 1), "not enough memory")
    assert fails(lambda: rg.mvlgamma(rg.ones(3) + 5, 2**20 + 1), "terms")


@about("Numbers that wrap around in PyTorch")
def test_numbers_that_wrap_around(torch):
    def pooled(lib):
        return lib.nn.functional.max_pool1d(lib.ones(1, 1, 4, requires_grad=True), 2, stride=2**31)

    assert fails(lambda: pooled(torch), "overflow")
    assert pooled(rg).shape == (1, 1, 1)


# ---- what PyTorch's samples showed ----------------------------------------------------------------------------------


@about("Gradients and tangents that are right where PyTorch's are not")
def test_tangents_that_are_right(torch: Any) -> None:
    def slope(lib: Any) -> complex:
        z = lib.tensor(0.3 + 0.7j, dtype=lib.complex128)
        return lib.func.jvp(lib.nn.functional.silu, (z,), (lib.ones_like(z),))[1].item()

    z, small = 0.3 + 0.7j, 1e-6
    by_difference = (_silu(z + small) - _silu(z - small)) / (2 * small)
    assert abs(slope(rg) - by_difference) < 1e-6 < abs(slope(torch) - by_difference)
    needed = [lib.detach_copy(lib.ones(2, requires_grad=True)).requires_grad for lib in (rg, torch)]
    assert needed == [False, True]


def _silu(z: complex) -> complex:
    return complex(z / (1 + np.exp(-z)))


@about("More dtypes are taken than PyTorch's kernels on CPUs have")
def test_more_dtypes(torch: Any) -> None:
    def pooled(lib: Any) -> Any:
        return lib.nn.functional.avg_pool3d(lib.ones(1, 2, 2, 2).half(), 2)

    def nothing(lib: Any) -> Any:
        return lib.linalg.cholesky(lib.ones(0, 0).half())

    assert fails(lambda: pooled(torch), "not implemented")
    assert not fails(lambda: pooled(rg))
    assert not fails(lambda: nothing(torch))
    assert fails(lambda: nothing(rg), "not implemented")


@about("Names of parameters")
def test_names_of_parameters(torch: Any) -> None:
    assert not fails(lambda: torch.exp(x=torch.ones(1)))
    assert fails(lambda: rg.exp(x=rg.ones(1)))
    assert fails(lambda: torch.max(torch.ones(2), dim=torch.ones(2)))
    assert not fails(lambda: rg.max(rg.ones(2), dim=rg.ones(2)))


@about("A window of `signal.windows` that requires a gradient is a leaf")
def test_windows_are_leaves(torch: Any) -> None:
    made = [lib.signal.windows.hann(4, requires_grad=True) for lib in (torch, rg)]
    assert [t.is_leaf for t in made] == [False, True]


@about("A tensor has at most 64 dimensions")
def test_dimensions(torch: Any) -> None:
    assert not fails(lambda: torch.ones(1).expand((1,) * 65))
    assert fails(lambda: rg.ones(1).expand((1,) * 65))


@about("`lstsq`")
def test_least_squares(torch: Any) -> None:
    found = [lib.linalg.lstsq(lib.tensor([[0.5, -1.5], [1.0, 0.25]]), lib.eye(2), 0.7) for lib in (torch, rg)]
    assert not np.allclose(found[0].solution.numpy(), found[1].solution.numpy())


@about("What has no number of results known beforehand")
def test_dynamic_results_in_vmap(torch: Any) -> None:
    def run(lib: Any) -> Any:
        return lib.vmap(lib.argwhere)(lib.tensor([[1.0, 0.0], [0.0, 1.0]]))

    assert not fails(lambda: run(torch))
    assert fails(lambda: run(rg), "dynamic shape")


@about("Hooks on saved values work inside of `func.grad`, `vjp` and their kin")
def test_saved_hooks_inside_of_transforms(torch: Any) -> None:
    def run(lib: Any) -> Any:
        with lib.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return lib.func.grad(lambda x: x.sin())(lib.tensor(1.0))

    assert fails(lambda: run(torch), "don't yet support saved tensor hooks")
    assert abs(run(rg).item() - np.cos(1.0)) < 1e-6


@about("Attributes that PyTorch protects")
def test_protected_attributes(torch: Any) -> None:
    def assigned(lib: Any) -> None:
        leaf(lib, [1.0]).output_nr = 0

    def deleted(lib: Any) -> type[Exception]:
        with pytest.raises(Exception) as caught:
            del leaf(lib, [1.0]).requires_grad
        return caught.type

    assert (fails(lambda: assigned(rg)), fails(lambda: assigned(torch))) == (False, True)
    assert (deleted(rg), deleted(torch)) == (AttributeError, RuntimeError)
    assert not fails(rg.autograd.graph.Node)
    assert fails(torch.autograd.graph.Node, "abstract")


@about("`detach()` and `.data` of an inference tensor")
def test_detached_inference_tensors(torch: Any) -> None:
    def shown(lib: Any) -> list[bool]:
        with lib.inference_mode():
            x = lib.ones(2)
        w = lib.ones(2, requires_grad=True)
        calls = (
            lambda: x.data.add_(1), lambda: x.detach().add_(1), lambda: x.detach()._version,
            lambda: x.detach().__setitem__(0, 1), lambda: x.detach().mul_(w),
        )  # fmt: skip
        return [fails(call) for call in calls]

    assert shown(rg) == [False, False, True, False, True]
    assert shown(torch) == [False, False, False, True, False]


@about("What no gradient needs is not saved")
def test_inference_tensors_that_nobody_needs(torch: Any) -> None:
    def run(lib: Any) -> bool:
        x = lib.ones(2, requires_grad=True)
        with lib.inference_mode():
            view, y = x.view(-1), lib.ones(2)
        return fails(lambda: lib.fmax(y, view), "cannot be saved for backward")

    assert (run(rg), run(torch)) == (False, True)


@about("Gradients that are made in inference mode")
def test_gradients_made_in_inference_mode(torch: Any) -> None:
    def run(lib: Any) -> bool:
        x = leaf(lib, [1.0, 2.0])
        y = x * x
        with lib.inference_mode():
            y.backward(lib.ones(2, dtype=lib.float64))
        return fails((x * 2).sum().backward, "Inplace update to inference tensor")

    assert (run(rg), run(torch)) == (False, True)


@about("A tangent's nodes")
def test_nodes_of_tangents(torch: Any) -> None:
    def name(lib: Any) -> str:
        x = leaf(lib, [1.0])
        forward = lib.autograd.forward_ad
        with forward.dual_level():
            dual = forward.make_dual(x.detach(), lib.ones(1, dtype=lib.float64))
            return forward.unpack_dual(dual * x.cos()).tangent.grad_fn.name()

    assert (name(rg), name(torch)) == ("MulBackward0", "AddBackward0")


@about("The gradient of a pool")
def test_gradients_of_pools(torch: Any) -> None:
    def needs(lib: Any) -> bool:
        x = lib.ones(1, 1, 4, requires_grad=True)
        y = lib.nn.functional.avg_pool1d(x, 2).sum()
        return lib.autograd.grad(y, x, create_graph=True)[0].requires_grad

    assert (needs(rg), needs(torch)) == (False, True)


@about("A part of nothing")
def test_where_parts_of_nothing_begin(torch: Any) -> None:
    assert (rg.ones(2)[2:].storage_offset(), torch.ones(2)[2:].storage_offset()) == (0, 2)
    assert not fails(lambda: rg.ones(2)[2:].as_strided((2,), (1,)))
    assert fails(lambda: torch.ones(2)[2:].as_strided((2,), (1,)))


@about("`autograd.grad` by a subclass of Tensor")
def test_gradients_by_a_subclass(torch: Any) -> None:
    def kept(lib: Any) -> bool:
        class Kind(lib.Tensor):
            pass

        x = lib.ones(2).as_subclass(Kind).requires_grad_()
        return type(lib.autograd.grad((x * 2).sum(), x)[0]) is Kind

    assert (kept(rg), kept(torch)) == (False, True)


@about("Tangents where PyTorch has none yet")
def test_more_tangents(torch: Any) -> None:
    def run(lib: Any, function: Callable[[Any], Any]) -> Any:
        x = lib.tensor([[0.5, 1.0], [2.0, 4.0]])
        return lib.func.jvp(function, (x,), (lib.ones_like(x),))

    def functions(lib: Any) -> list[Callable[[Any], Any]]:
        f = lib.nn.functional
        return [
            lambda x: lib.cdist(x, x + 1),
            lib.pdist,
            lambda x: f.grid_sample(x[None, None], lib.zeros(1, 2, 2, 2), align_corners=False),
            lambda x: f.embedding_bag(lib.tensor([[0]]), x),
            lambda x: f.multi_margin_loss(x, lib.tensor([0, 1])),
            lambda x: lib.igamma(lib.ones(2, 2), x),
            lambda x: lib._weight_norm(x, lib.ones(2, 1)),
            lambda x: lib.special.gammaincc(lib.ones(2, 2), x),
        ]

    assert all(fails(lambda f=f: run(torch, f), "forward AD") for f in functions(torch))
    assert not any(fails(lambda f=f: run(rg, f)) for f in functions(rg))


@about("A strided part of a tensor that pickle has copied")
def test_strides_after_pickle(torch: Any) -> None:
    def strides(lib: Any) -> tuple[Any, Any]:
        part, file = lib.ones(4)[::2], io.BytesIO()
        lib.save(part, file)
        file.seek(0)
        return pickle.loads(pickle.dumps(part)).stride(), lib.load(file).stride()

    assert (strides(rg), strides(torch)) == (((1,), (2,)), ((2,), (2,)))


@about("A tensor that others hold can be swapped")
def test_swapping_what_others_hold(torch: Any) -> None:
    def swap(lib: Any) -> list[Any]:
        a, b = lib.ones(2), lib.zeros(3)
        holder = a.view(2), a.view(2)
        lib.utils.swap_tensors(a, b)
        return [a.tolist(), len(holder)]

    assert swap(rg) == [[0, 0, 0], 2]
    assert fails(lambda: swap(torch), "use_count")


@about("A view whose base was given a history")
def test_views_of_a_base_with_a_new_history(torch: Any) -> None:
    def write(lib: Any) -> None:
        base = lib.zeros(4)
        first, second = base[:2], base[2:]
        first.mul_(lib.ones(2, requires_grad=True))
        second.add_(1)

    def leave(lib: Any) -> None:
        (lib.ones(4, requires_grad=True) * 2)[:2].set_(lib.zeros(3))

    assert fails(lambda: write(torch), "a leaf Variable that requires grad")
    assert not fails(lambda: write(rg))
    assert (fails(lambda: leave(rg)), fails(lambda: leave(torch))) == (True, False)


@about("The gradient of a tangent")
def test_gradients_of_tangents(torch: Any) -> None:
    def first(lib: Any, x: Any) -> Any:
        t = lib.tensor([[1.0, 0.0, 3.0]], dtype=lib.float64)
        return lib.func.jvp(lambda v: lib.nn.functional.layer_norm(v, (3,)), (x,), (t,))[1][0, 0]

    def slopes(lib: Any) -> tuple[float, float]:
        x = lib.tensor([[1.0, 2.0, 4.0]], dtype=lib.float64, requires_grad=True)
        told = lib.autograd.grad(first(lib, x), x)[0][0, 1].item()
        step = lib.tensor([[0.0, 1e-6, 0.0]], dtype=lib.float64)
        return told, ((first(lib, x + step) - first(lib, x - step)) / 2e-6).item()

    ours, theirs = slopes(rg), slopes(torch)
    assert abs(ours[0] - ours[1]) < 1e-6
    assert abs(theirs[0] - theirs[1]) > 1e-2


@about("`func.linearize`")
def test_linearize(torch: Any) -> None:
    def slope(lib: Any) -> float:
        def f(x: Any) -> Any:
            with lib.no_grad():
                y = x * 2
            return x * y

        return lib.func.linearize(f, lib.tensor(3.0))[1](lib.tensor(1.0)).item()

    assert (slope(rg), slope(torch)) == (6, 12)


@about("Calls that fail in PyTorch for the layout alone")
def test_layouts_that_fail_there(torch: Any) -> None:
    def kron(lib: Any) -> Any:
        return lib.kron(lib.ones(2, 3).t(), lib.ones(2, 2))

    def take(lib: Any) -> Any:
        return lib.take_along_dim(lib.ones(2, 3).t(), lib.zeros(2, 3, dtype=lib.int64).t())

    for call in (kron, take):
        assert (fails(lambda call=call: call(rg)), fails(lambda call=call: call(torch))) == (False, True)
