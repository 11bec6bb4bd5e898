"""The little engine of docs/inside/engine-in-200-lines.md does what retrograd and PyTorch do.

The same programs run on all three: gradients, the order of nodes and hooks, and errors must agree. The page's program
is taken from the page; that its sessions print what they show is checked by test_pages.py.
"""

from __future__ import annotations

import io
import random
import tokenize
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import retrograd as rg

from .pages import DOCS, blocks_of

PAGE = DOCS / "inside" / "engine-in-200-lines.md"
TEXT = PAGE.read_text(encoding="utf-8")
MOST_LINES = 200
SEEDS = range(200)


class Little:
    """The page's engine, behind the names that the programs here use."""

    def __init__(self) -> None:
        module = ModuleType("little")
        for block in blocks_of(TEXT):
            if not block.is_session:
                exec(compile("\n" * block.line + block.source, PAGE.name, "exec"), module.__dict__)
        self.module: Any = module

    def tensor(self, values: Any, requires_grad: bool = True) -> Any:
        return self.module.Tensor(values, requires_grad)

    def sincos(self, x: Any) -> Any:
        return self.module.SinCos().on(x)

    def enable_grad(self) -> Any:
        return self.module.recording(True)

    def on_gradient(self, x: Any, hook: Any) -> None:
        x.hooks.append(hook)

    def before_node(self, x: Any, hook: Any) -> None:
        x.node.prehooks.append(hook)

    def after_node(self, x: Any, hook: Any) -> None:
        x.node.posthooks.append(hook)

    def after_accumulation(self, x: Any, hook: Any) -> None:
        x.post_accumulate.append(hook)

    def array(self, x: Any) -> Any:
        return x.array

    def version(self, x: Any) -> int:
        return x.version[0]


class Library:
    """retrograd or PyTorch, behind the same names."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.sincos = _sincos_of(lib)
        self.enable_grad = lib.enable_grad

    def tensor(self, values: Any, requires_grad: bool = True) -> Any:
        return self.lib.tensor(values, dtype=self.lib.float64, requires_grad=requires_grad)

    def on_gradient(self, x: Any, hook: Any) -> None:
        x.register_hook(hook)

    def before_node(self, x: Any, hook: Any) -> None:
        x.grad_fn.register_prehook(hook)

    def after_node(self, x: Any, hook: Any) -> None:
        x.grad_fn.register_hook(hook)

    def after_accumulation(self, x: Any, hook: Any) -> None:
        x.register_post_accumulate_grad_hook(hook)

    def array(self, x: Any) -> Any:
        return x.detach().numpy()

    def version(self, x: Any) -> int:
        return x._version


def _sincos_of(lib: Any) -> Any:
    """Sine and cosine by one node, which neither library has."""

    class SinCos(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            sine, cosine = x.sin(), x.cos()
            ctx.save_for_backward(sine, cosine)
            return sine, cosine

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            sine, cosine = ctx.saved_tensors
            return cosine * grads[0] + sine * grads[1] * -1.0

    return SinCos.apply


@pytest.fixture(scope="module")
def little():
    return Little()


@pytest.fixture(params=["retrograd", "torch"], scope="module")
def library(request):
    return Library(rg if request.param == "retrograd" else request.getfixturevalue("torch"))


# ---- the page -----------------------------------------------------------------------------------------------------


def code_lines(source: str) -> int:
    """Lines with a token that is no comment."""
    silent = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    return len(
        {
            line
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type not in silent
            for line in range(token.start[0], token.end[0] + 1)
        }
    )


def test_it_is_no_longer_than_its_title_says():
    program = "\n".join(block.source for block in blocks_of(TEXT) if not block.is_session)
    assert 100 < code_lines(program) <= MOST_LINES


def test_lines_are_counted_without_comments():
    assert code_lines('x = [\n    1,  # one\n]\n\n# nothing\ny = """\n\n"""\n') == 6


# ---- the same programs --------------------------------------------------------------------------------------------


def product(lib):
    x, y = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])
    (x * y).sum().backward()
    return x.grad, y.grad


def diamond(lib):
    x = lib.tensor([0.5, -1.0])
    s = x * x
    (s * x + s).sum().backward()
    return (x.grad,)


def broadcast(lib):
    x, row, column, b = (
        lib.tensor(np.arange(6.0).reshape(2, 3)),
        lib.tensor([1.0, 2.0, 3.0]),
        lib.tensor([[2.0], [5.0]]),
        lib.tensor(3.0),
    )
    (x * row * column + b + row).sum().backward()
    return x.grad, row.grad, column.grad, b.grad


def two_results(lib):
    x, y = lib.tensor(0.3), lib.tensor([1.0, 2.0])
    sine, cosine = lib.sincos(x)
    ((sine * y).sum() + cosine * cosine).backward()
    return x.grad, y.grad


def one_result_of_two(lib):
    x = lib.tensor(0.3)
    lib.sincos(x)[1].backward()
    return (x.grad,)


def several_backwards(lib):
    x = lib.tensor([1.0, 2.0])
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    first, before = x.grad, lib.version(x.grad)
    loss.backward()
    assert x.grad is first
    assert lib.version(first) == before + 1  # added in place, and noted
    return (x.grad,)


def written_in_place(lib):
    x, w = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 5.0])
    y = x * x
    y = y.mul_(w)
    y = y.mul_(10.0)
    (y * w).sum().backward()
    return x.grad, w.grad


def given_gradient(lib):
    x, y = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])
    g = lib.tensor([10.0, 20.0], requires_grad=False)
    (x + y).backward(g)
    assert not np.shares_memory(lib.array(x.grad), lib.array(y.grad))
    assert not np.shares_memory(lib.array(x.grad), lib.array(g))
    (x + y).backward(g)
    return x.grad, y.grad, g


def changed_by_hooks(lib):
    x, y = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])
    s = x * y
    t = s * s
    lib.on_gradient(s, lambda g: g * 2.0)
    lib.on_gradient(s, lambda g: g + 1.0)
    lib.before_node(t, lambda grads: (grads[0] * 3.0,))
    lib.after_node(t, lambda inputs, outputs: (inputs[0] * 5.0, inputs[1]))
    lib.on_gradient(x, lambda g: g * 7.0)
    t.sum().backward()
    return x.grad, y.grad


def kept_by_a_hook(lib):
    """What a hook keeps must not change when later gradients are added."""
    x = lib.tensor([1.0, 2.0])
    kept = []
    lib.on_gradient(x, kept.append)
    (x * 2.0).sum().backward()
    (x * 3.0).sum().backward()
    return x.grad, *kept


def third_derivative(lib):
    x = lib.tensor(0.7)
    sine, cosine = lib.sincos(x)
    y = sine * cosine * x
    found = []
    for _ in range(3):
        x.grad = None
        y.backward(create_graph=True)
        y = x.grad
        found.append(y)
    return found


def backward_in_a_hook(lib):
    x, w = lib.tensor(2.0), lib.tensor(3.0)

    def inner(g):
        with lib.enable_grad():
            (w * w).backward()
            (w * 10.0).backward()

    y = x * w
    lib.on_gradient(y, inner)
    (y * x).backward()
    return x.grad, w.grad


PROGRAMS = [
    product,
    diamond,
    broadcast,
    two_results,
    one_result_of_two,
    several_backwards,
    written_in_place,
    given_gradient,
    changed_by_hooks,
    kept_by_a_hook,
    third_derivative,
    backward_in_a_hook,
]


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True will create a reference cycle")
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_gradients_agree(program, little, library):
    ours, theirs = program(little), program(library)
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(little.array(a), library.array(b), rtol=1e-12)


# ---- order --------------------------------------------------------------------------------------------------------


def hooks_of_every_kind(lib):
    x, y = lib.tensor([1.0, 2.0]), lib.tensor(4.0)
    log = []
    s = x * y
    out = (s + x).sum()
    lib.after_node(s, lambda inputs, outputs: log.append(f"after s, {len(inputs)} {len(outputs)}"))
    lib.before_node(s, lambda grads: log.append(f"before s, {len(grads)}"))
    lib.on_gradient(s, lambda g: log.append("gradient of s"))
    lib.on_gradient(s, lambda g: log.append("gradient of s again"))
    lib.after_node(out, lambda inputs, outputs: log.append("after out"))
    for name, leaf in {"x": x, "y": y}.items():
        lib.after_accumulation(
            leaf, lambda leaf, name=name: log.append(f"{name}.grad {lib.array(leaf.grad)}")
        )
        lib.on_gradient(leaf, lambda g, name=name: log.append(f"gradient of {name} {lib.array(g)}"))
    out.backward()
    return log


def a_backward_inside_a_backward(lib):
    x, w = lib.tensor(2.0), lib.tensor(3.0)
    log = []

    def inner(g):
        with lib.enable_grad():
            a, b = w * 2.0, w * w
            lib.on_gradient(a, lambda g: log.append("inner a"))
            lib.on_gradient(b, lambda g: log.append("inner b"))
            (a * b).backward()

    y, z = x * 2.0, x * 3.0
    lib.on_gradient(y, lambda g: log.append("y"))
    lib.on_gradient(z, inner)
    lib.on_gradient(z, lambda g: log.append("z"))
    lib.on_gradient(w, lambda g: log.append("w"))
    lib.on_gradient(x, lambda g: log.append("x"))
    (y * z).backward()
    return log


@pytest.mark.parametrize("program", [hooks_of_every_kind, a_backward_inside_a_backward])
def test_hooks_run_in_the_same_order(program, little, library):
    assert program(little) == program(library) != []


def random_graph(lib, seed):
    """A graph of random operations: its leaves, the tensors in the order in which they were made, and its loss."""
    draw = random.Random(seed)
    shapes = [(), (3,), (2, 1), (2, 3)]
    leaves = [
        lib.tensor(np.reshape([draw.uniform(-1, 1) for _ in range(int(np.prod(shape)))], shape))
        for shape in draw.choices(shapes, k=draw.randint(1, 4))
    ]
    made = []
    fixed = set()  # numbers of tensors that were saved, or have been looked at: not to be written
    for _ in range(draw.randint(1, 25)):
        everything = leaves + made
        kind, a, b = (
            draw.choice(["add", "mul", "sincos", "number", "write"]),
            *draw.choices(range(len(everything)), k=2),
        )
        x, y = everything[a], everything[b]
        if kind == "add":
            made.append(x + y)
        elif kind == "mul":
            made.append(x * y)
            fixed |= {a, b}
        elif kind == "sincos":
            # Its results are views to nobody, but a write would change what it has saved.
            fixed |= {len(everything), len(everything) + 1}
            made.extend(lib.sincos(x))
        elif kind == "number":
            made.append(x * draw.uniform(-2, 2))
        elif a >= len(leaves) and a not in fixed:
            x.mul_(draw.uniform(-2, 2))
    loss = leaves[0].sum()
    for tensor in made:
        if draw.random() < 0.4:
            loss = loss + tensor.sum()
    return leaves, made, loss


def watched(lib, seed):
    """The order in which the gradients of a random graph come, and those of its leaves."""
    leaves, made, loss = random_graph(lib, seed)
    log = []
    for number, tensor in enumerate(leaves + made):
        lib.on_gradient(tensor, lambda g, number=number: log.append(number))
    loss.backward()
    return log, [None if leaf.grad is None else lib.array(leaf.grad) for leaf in leaves]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_graphs_run_in_the_same_order(seed, little, library):
    (log, grads), (expected_log, expected) = watched(little, seed), watched(library, seed)
    assert log == expected_log
    for a, b in zip(grads, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True will create a reference cycle")
@pytest.mark.parametrize("seed", range(30))
def test_second_derivatives_of_random_graphs_agree(seed, little, library):
    def second(lib):
        leaves, _, loss = random_graph(lib, seed)
        (loss * loss).backward(create_graph=True)
        total = lib.tensor(0.0)
        for leaf in leaves:
            if leaf.grad is not None:
                total = total + leaf.grad.sum()
                leaf.grad = None
        total.backward()
        return [None if leaf.grad is None else lib.array(leaf.grad) for leaf in leaves]

    for a, b in zip(second(little), second(library), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


# ---- errors -------------------------------------------------------------------------------------------------------


def second_backward(lib):
    x = lib.tensor([1.0, 2.0])
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


def overwritten(lib):
    x = lib.tensor([1.0, 2.0])
    y = x * 2.0
    z = y * x
    y.mul_(2.0)
    z.sum().backward()


def written_leaf(lib):
    lib.tensor(1.0).mul_(2.0)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (second_backward, "Trying to backward through the graph a second time"),
        (overwritten, "modified by an inplace operation"),
        (written_leaf, "a leaf Variable that requires grad is being used in an in-place operation"),
    ],
)
def test_errors_begin_alike(program, words, little, library):
    for lib in (little, library):
        with pytest.raises(RuntimeError, match=words):
            program(lib)


def test_what_does_not_need_its_saved_values_may_run_twice(little, library):
    for lib in (little, library):
        x, y = lib.tensor(1.0), lib.tensor(2.0)
        out = x + y
        out.backward()
        out.backward()
        assert lib.array(x.grad) == lib.array(y.grad) == 2.0


def test_after_an_error_operations_are_recorded_as_before(little):
    x = little.tensor(1.0)
    y = x * 2.0
    little.on_gradient(y, lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert (x * 2.0).requires_grad


def test_a_gradient_that_is_ours_is_taken_over(little):
    x = little.tensor([1.0, 2.0])
    taken = []
    accumulate = little.module.AccumulateGrad.apply

    def watch(self, gs, owned):
        taken.append((gs[0], owned[0]))
        return accumulate(self, gs, owned)

    little.module.AccumulateGrad.apply = watch
    try:
        (x * 2.0).sum().backward()
        assert taken[0][1]
        assert x.grad is taken[0][0]
        (x + x).sum().backward()
        (x + 1.0).backward()
        assert [owned for _, owned in taken] == [
            True,
            True,
            False,
        ]  # a sum of two is ours, what was given is not
    finally:
        little.module.AccumulateGrad.apply = accumulate
