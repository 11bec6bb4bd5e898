"""Programs on a GPU, on retrograd and on PyTorch: times and peaks of memory, in turns, best of many.

    python benchmarks/gpu.py [--only WORD] [--seconds S]

Each program is written once for both libraries. A row that retrograd loses is printed like the others.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]
ROWS: dict[str, Callable[[Any], Step]] = {}


def row(make: Callable[[Any], Step]) -> Callable[[Any], Step]:
    ROWS[make.__name__.replace("_", " ")] = make
    return make


def leaf(lib: Any, *shape: int, dtype: Any = None) -> Any:
    return lib.randn(*shape, device="cuda", dtype=dtype).requires_grad_()


@row
def chain_of_20_small_ops_forward(lib: Any) -> Step:
    x, w = lib.randn(8, device="cuda"), leaf(lib, 8)

    def step() -> Any:
        y = x
        for _ in range(20):
            y = y * w
        return y

    return step


@row
def chain_of_20_small_ops_forward_and_backward(lib: Any) -> Step:
    forward = chain_of_20_small_ops_forward(lib)
    return lambda: forward().sum().backward()


def trained(lib: Any, model: Any, loss: Callable[[], Any]) -> Step:
    optimizer = lib.optim.Adam(model.parameters(), 1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


@row
def MLP_10x256_training_step(lib: Any) -> Step:
    nn = lib.nn
    model = nn.Sequential(*[m for _ in range(10) for m in (nn.Linear(256, 256), nn.ReLU())]).to("cuda")
    x, y = lib.randn(64, 256, device="cuda"), lib.randn(64, 256, device="cuda")
    return trained(lib, model, lambda: nn.functional.mse_loss(model(x), y))


@row
def DQN_training_step(lib: Any) -> Step:
    nn = lib.nn
    model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)).to(
        "cuda"
    )
    x, y = lib.randn(32, 4, device="cuda"), lib.randn(32, 1, device="cuda")
    a = lib.zeros(32, 1, dtype=lib.int64, device="cuda")
    return trained(lib, model, lambda: nn.functional.smooth_l1_loss(model(x).gather(1, a), y))


def block(lib: Any, width: int, heads: int) -> tuple[Any, Callable[[Any], Any]]:
    nn, F = lib.nn, lib.nn.functional
    parts = nn.ModuleDict({
        "n1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
        "n2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width),
    })  # fmt: skip

    def call(x: Any) -> Any:
        b, t, c = x.shape
        q, k, v = parts["qkv"](parts["n1"](x)).split(width, 2)
        q, k, v = (u.view(b, t, heads, c // heads).transpose(1, 2) for u in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + parts["out"](y.transpose(1, 2).reshape(b, t, c))
        return x + parts["down"](F.gelu(parts["up"](parts["n2"](x))))

    return parts, call


@row
def small_transformer_training_step(lib: Any) -> Step:
    parts, call = block(lib, 64, 4)
    parts = parts.to("cuda")
    x = lib.randn(8, 32, 64, device="cuda")
    return trained(lib, parts, lambda: call(x).square().mean())


@row
def add_of_64M(lib: Any) -> Step:
    x, y = leaf(lib, 1 << 26), lib.randn(1 << 26, device="cuda")
    g = lib.ones(1 << 26, device="cuda")

    def step() -> None:
        x.grad = None
        (x + y).backward(g)

    return step


@row
def tanh_x_times_x_plus_b_of_64M(lib: Any) -> Step:
    x, b = leaf(lib, 1 << 26), leaf(lib, 1 << 26)
    g = lib.ones(1 << 26, device="cuda")

    def step() -> None:
        x.grad = b.grad = None
        (x.tanh() * x + b).backward(g)

    return step


@row
def matmul_4096_float32(lib: Any) -> Step:
    x, y = lib.randn(4096, 4096, device="cuda"), lib.randn(4096, 4096, device="cuda")
    return lambda: x @ y


@row
def matmul_8192_bfloat16(lib: Any) -> Step:
    x, y = (lib.randn(8192, 8192, device="cuda", dtype=lib.bfloat16) for _ in range(2))
    return lambda: x @ y


def normalised(lib: Any, f: Callable[[Any], Any]) -> Step:
    x = leaf(lib, 8192, 4096)
    g = lib.randn(8192, 4096, device="cuda")

    def step() -> None:
        x.grad = None
        y = f(x)
        y.backward(g if y.ndim else None)

    return step


@row
def softmax_8192x4096(lib: Any) -> Step:
    return normalised(lib, lambda x: x.softmax(1))


@row
def layer_norm_8192x4096(lib: Any) -> Step:
    return normalised(lib, lambda x: lib.nn.functional.layer_norm(x, (4096,)))


@row
def cross_entropy_8192x4096(lib: Any) -> Step:
    target = lib.zeros(8192, dtype=lib.int64, device="cuda")
    return normalised(lib, lambda x: lib.nn.functional.cross_entropy(x, target))


def transformer(lib: Any, dtype: Any) -> Step:
    parts, call = block(lib, 768, 12)
    parts = parts.to("cuda", dtype)
    x = lib.randn(8, 512, 768, device="cuda", dtype=dtype)
    return trained(lib, parts, lambda: call(x).square().mean())


@row
def transformer_block_8x512x768(lib: Any) -> Step:
    return transformer(lib, lib.float32)


@row
def transformer_block_8x512x768_bfloat16(lib: Any) -> Step:
    return transformer(lib, lib.bfloat16)


@row
def attention_8x12x2048x64_bfloat16(lib: Any) -> Step:
    q, k, v = (leaf(lib, 8, 12, 2048, 64, dtype=lib.bfloat16) for _ in range(3))
    g = lib.randn(8, 12, 2048, 64, device="cuda", dtype=lib.bfloat16)

    def step() -> None:
        q.grad = k.grad = v.grad = None
        lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)

    return step


@row
def sum_of_columns_65536x1024(lib: Any) -> Step:
    x = lib.randn(65536, 1024, device="cuda")
    return lambda: x.sum(0)


@row
def residual_block_64x64x56x56(lib: Any) -> Step:
    nn = lib.nn
    body = nn.Sequential(
        nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64),
    ).to("cuda")  # fmt: skip
    x = lib.randn(64, 64, 56, 56, device="cuda")
    return trained(lib, body, lambda: (body(x) + x).relu().mean())


@row
def Adam_over_100M_parameters(lib: Any) -> Step:
    parameters = [leaf(lib, 10_000_000) for _ in range(10)]
    for p in parameters:
        p.grad = lib.randn(10_000_000, device="cuda")
    return lib.optim.Adam(parameters, 1e-3).step


def peak(lib: Any, step: Step) -> float:
    """The most memory that arrays of a library take while a step runs, in MiB."""
    step()
    lib.cuda.synchronize()
    lib.cuda.reset_peak_memory_stats()
    step()
    lib.cuda.synchronize()
    return float(lib.cuda.max_memory_allocated()) / (1 << 20)


def best(steps: list[Step], finish: list[Callable[[], Any]], seconds: float) -> list[float]:
    """The best time of each step, run in turns; many steps are timed together, as they run one after the other."""
    counts = []
    for step, end in zip(steps, finish, strict=True):
        for _ in range(3):
            step()
        end()
        began = time.perf_counter()
        step()
        end()
        counts.append(max(1, int(0.02 / (time.perf_counter() - began))))
    found = [float("inf")] * len(steps)
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        for i, (step, end) in enumerate(zip(steps, finish, strict=True)):
            began = time.perf_counter()
            for _ in range(counts[i]):
                step()
            end()
            found[i] = min(found[i], (time.perf_counter() - began) / counts[i])
    return found


def main() -> None:
    """Prints a table."""
    import cupy
    import torch

    import retrograd as rg

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    print(
        "| program | retrograd µs | PyTorch µs | ratio | retrograd MiB | PyTorch MiB |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for name, make in ROWS.items():
        if options.only not in name:
            continue
        try:
            steps = [make(rg), make(torch)]
            ours, theirs = best(
                steps, [cupy.cuda.Device().synchronize, torch.cuda.synchronize], options.seconds
            )
            room = [peak(lib, step) for lib, step in zip((rg, torch), steps, strict=True)]
            print(
                f"| {name} | {ours * 1e6:,.0f} | {theirs * 1e6:,.0f} | {theirs / ours:.2f} | {room[0]:,.0f} | "
                f"{room[1]:,.0f} |",
                flush=True,
            )
        except Exception as error:  # noqa: BLE001 - a row that fails is a row of the table
            print(f"| {name} | {type(error).__name__}: {str(error)[:200]} | | | | |", flush=True)
        steps = []
        cupy.get_default_memory_pool().free_all_blocks()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
