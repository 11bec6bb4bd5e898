"""Single functions on large arrays, forward and backward: kernels, and memory traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rows.row import Make, Program, Row, Section, forget, numbers, parameter

Function = Callable[..., Any]  # (library, x) or (library, x, w, b) -> y


def alone(function: Function, *shape: int) -> Make:
    """A function of one array; the gradient that comes back to it is random."""

    def make(lib: Any) -> Program:
        x, grad = parameter(lib, *shape, scale=1.0), lib.tensor(numbers(*shape, seed=1))

        def program() -> Any:
            x.grad = None
            function(lib, x).backward(grad)
            return x.grad

        return program

    return make


def with_weights(function: Function, rows: int, columns: int) -> Make:
    """A function of an array, and of a weight and a bias for each column."""

    def make(lib: Any) -> Program:
        x, grad = parameter(lib, rows, columns, scale=1.0), lib.tensor(numbers(rows, columns, seed=1))
        w, b = parameter(lib, columns, seed=2, scale=1.0), parameter(lib, columns, seed=3, scale=1.0)

        def program() -> Any:
            forget((x, w, b))
            function(lib, x, w, b).backward(grad)
            return x.grad

        return program

    return make


def elementwise(lib: Any) -> Program:
    """`tanh(x * w + b) * w` on two million elements."""
    x, w, b = (parameter(lib, 2_000_000, seed=i, scale=1.0) for i in range(3))

    def program() -> Any:
        forget((x, w, b))
        (lib.tanh(x * w + b) * w).sum().backward()
        return w.grad

    return program


def arithmetic(lib: Any) -> Program:
    """Sums, products and a quotient of two million elements: nothing but memory traffic."""
    x, y = (parameter(lib, 2_000_000, seed=i, scale=1.0) for i in range(2))

    def program() -> Any:
        forget((x, y))
        ((x - y) * x / (y * y + 1.0)).mean().backward()
        return x.grad

    return program


def cross_entropy(lib: Any) -> Program:
    """2048 rows of 4096 classes."""
    x = parameter(lib, 2048, 4096, scale=1.0)
    labels = lib.tensor([i * 7 % 4096 for i in range(2048)])

    def program() -> Any:
        x.grad = None
        loss = lib.nn.functional.cross_entropy(x, labels)
        loss.backward()
        return loss.detach()

    return program


def adam(**options: Any) -> Make:
    """A step of Adam over fifty matrices of 128×128; `options` are for PyTorch, which has several implementations."""

    def make(lib: Any) -> Program:
        parameters = [parameter(lib, 128, 128, seed=i) for i in range(50)]
        for i, p in enumerate(parameters):
            p.grad = lib.tensor(numbers(128, 128, seed=100 + i))
        optimizer = lib.optim.Adam(parameters, **options)

        def program() -> Any:
            optimizer.step()
            return parameters[0]

        return program

    return make


def softmax(lib: Any, x: Any) -> Any:
    """Along the last dimension."""
    return lib.softmax(x, -1)


def gelu(lib: Any, x: Any) -> Any:
    """The exact one, by erf."""
    return lib.nn.functional.gelu(x)


def layer_norm(lib: Any, x: Any, w: Any, b: Any) -> Any:
    """Over the last dimension."""
    return lib.nn.functional.layer_norm(x, (x.shape[-1],), w, b)


SECTIONS = (
    Section(
        "Single functions on large arrays, forward + backward",
        (
            Row("elementwise 2M: tanh(x * w + b) * w", elementwise, 1, 1.0, 1.5, "elementwise", True),
            Row("elementwise 2M: (x - y) * x / (y * y + 1)", arithmetic, 1, 1.0, 1.5, "", True),
            Row("cross entropy 2048×4096", cross_entropy, 1, 1.0, 1.5, "", True),
            Row("layer norm 2048×1024", with_weights(layer_norm, 2048, 1024), 1, 1.0, 1.5, "", True),
            Row("softmax 2048×1024", alone(softmax, 2048, 1024), 1, 1.0, 1.5, "", True),
            Row("gelu 2M", alone(gelu, 2_000_000), 1, 1.0, 1.5, "", True),
            Row("Adam step over 50×128×128", adam(), 1, 1.0, 1.5),
            Row("Adam step over 50×128×128, fused=True", adam(fused=True), 1, 1.0, 1.5),
        ),
    ),
)
