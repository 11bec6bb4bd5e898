"""Training steps of networks whose time goes into matrix products and convolutions."""

from __future__ import annotations

from typing import Any

from rows.row import Program, Row, Section, forget, numbers, parameter


def mlp(lib: Any) -> Program:
    """Four layers of 1024 units on a batch of 256."""
    weights = [parameter(lib, 1024, 1024, seed=i) for i in range(4)]
    biases = [lib.zeros(1024).requires_grad_() for _ in range(4)]
    x, target = lib.tensor(numbers(256, 1024, seed=8)), lib.tensor(numbers(256, 1024, seed=9))

    def program() -> Any:
        forget((*weights, *biases))
        h = x
        for w, b in zip(weights, biases, strict=True):
            h = lib.relu(lib.nn.functional.linear(h, w, b))
        loss = lib.nn.functional.mse_loss(h, target)
        loss.backward()
        return loss.detach()

    return program


class Block:
    """A transformer block: attention of four heads, and a network of one hidden layer, each after a layer norm."""

    def __init__(self, lib: Any, width: int, heads: int) -> None:
        self.lib, self.heads = lib, heads
        self.qkv, self.out = (
            parameter(lib, 3 * width, width, seed=1, scale=0.05),
            parameter(lib, width, width, seed=2),
        )
        self.up, self.down = (
            parameter(lib, 4 * width, width, seed=3, scale=0.05),
            parameter(lib, width, 4 * width, seed=4),
        )
        self.biases = [lib.zeros(n).requires_grad_() for n in (3 * width, width, 4 * width, width)]
        self.gains = [lib.ones(width).requires_grad_() for _ in range(2)]
        self.shifts = [lib.zeros(width).requires_grad_() for _ in range(2)]
        self.parameters = [self.qkv, self.out, self.up, self.down, *self.biases, *self.gains, *self.shifts]

    def __call__(self, x: Any) -> Any:
        """The block's output for a batch of sequences."""
        x = x + self.attention(self.norm(0, x))
        F = self.lib.nn.functional
        hidden = F.gelu(F.linear(self.norm(1, x), self.up, self.biases[2]))
        return x + F.linear(hidden, self.down, self.biases[3])

    def norm(self, i: int, x: Any) -> Any:
        """One of the two layer norms."""
        return self.lib.nn.functional.layer_norm(x, (x.shape[-1],), self.gains[i], self.shifts[i])

    def attention(self, x: Any) -> Any:
        """Every place looks at every other."""
        F = self.lib.nn.functional
        batch, length, width = x.shape
        parts = F.linear(x, self.qkv, self.biases[0]).reshape(
            batch, length, 3, self.heads, width // self.heads
        )
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, width), self.out, self.biases[1])


def transformer(lib: Any) -> Program:
    """A block of width 256 with 4 heads, on 4 sequences of 128."""
    block, x = Block(lib, 256, 4), lib.tensor(numbers(4, 128, 256, seed=9))

    def program() -> Any:
        forget(block.parameters)
        loss = (block(x) ** 2).mean()
        loss.backward()
        return loss.detach()

    return program


def convnet(lib: Any) -> Program:
    """Two convolutions with pooling and a linear layer, on 32 images of 3×32×32."""
    F = lib.nn.functional
    first, second = (
        parameter(lib, 32, 3, 3, 3, seed=1, scale=0.2),
        parameter(lib, 64, 32, 3, 3, seed=2, scale=0.05),
    )
    last = parameter(lib, 10, 64 * 8 * 8, seed=3, scale=0.02)
    biases = [lib.zeros(n).requires_grad_() for n in (32, 64, 10)]
    x, labels = lib.tensor(numbers(32, 3, 32, 32, seed=4)), lib.tensor([i % 10 for i in range(32)])

    def program() -> Any:
        forget((first, second, last, *biases))
        h = F.max_pool2d(lib.relu(F.conv2d(x, first, biases[0], padding=1)), 2)
        h = F.max_pool2d(lib.relu(F.conv2d(h, second, biases[1], padding=1)), 2)
        loss = F.cross_entropy(F.linear(h.flatten(1), last, biases[2]), labels)
        loss.backward()
        return loss.detach()

    return program


SECTIONS = (
    Section(
        "Large networks, forward + backward",
        (
            Row("MLP 1024×4, batch 256", mlp, 1, 0.9, 1.2, "large_mlp", True),
            Row("transformer block 4×128×256, 4 heads", transformer, 1, 0.9, 1.2, "", True),
            Row("convnet on 32×3×32×32", convnet, 1, 0.9, 1.2, "", True),
        ),
    ),
)
