"""Programs that train, beside PyTorch's: a DQN, a character GPT, an epoch on the digits, what a DataLoader brings.

Each program is written once, for both libraries. They run in turns, and the best time counts.

    python benchmarks/training.py [--only WORD] [--seconds S] [--threads N]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import clock
from measuring.report import duration

Program = Callable[[], None]


def numbers(lib: Any, *shape: int) -> Any:
    return lib.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def dqn(lib: Any) -> Program:
    """A step of Q-learning on a batch of 32 from the memory, with a target network."""
    nn = lib.nn

    def network() -> Any:
        return nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 2))

    online, target = network(), network()
    optimizer, loss = lib.optim.Adam(online.parameters(), lr=1e-3), nn.SmoothL1Loss()
    state, after, reward = numbers(lib, 32, 4), numbers(lib, 32, 4) + 1, numbers(lib, 32)
    action = lib.tensor(np.arange(32) % 2).unsqueeze(1)

    def run() -> None:
        with lib.no_grad():
            aim = reward + 0.99 * target(after).max(1).values
        optimizer.zero_grad()
        loss(online(state).gather(1, action).squeeze(1), aim).backward()
        optimizer.step()

    return run


def gpt(lib: Any) -> Program:
    """A step of a character GPT: 4 layers, 128 wide, 4 heads, a batch of 16 × 64, AdamW."""
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(128), nn.LayerNorm(128)
            self.attend, self.project = nn.Linear(128, 3 * 128), nn.Linear(128, 128)
            self.think = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))

        def forward(self, x: Any) -> Any:
            batch, time, width = x.shape
            parts = self.attend(self.before(x)).split(width, dim=2)
            q, k, v = (p.view(batch, time, 4, width // 4).transpose(1, 2) for p in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(y.transpose(1, 2).contiguous().view(batch, time, width))
            return x + self.think(self.between(x))

    class Gpt(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.letters, self.places = nn.Embedding(65, 128), nn.Embedding(64, 128)
            self.blocks = nn.Sequential(*[Block() for _ in range(4)])
            self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 65, bias=False)

        def forward(self, letters: Any) -> Any:
            x = self.letters(letters) + self.places(lib.arange(letters.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    model = Gpt()
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    text = lib.tensor(np.random.default_rng(0).integers(0, 65, (16, 65)))

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        logits = model(text[:, :-1])
        F.cross_entropy(logits.reshape(-1, 65), text[:, 1:].reshape(-1)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


def digits(lib: Any) -> Program:
    """An epoch of a convolutional network on 1024 images of 8 × 8, in batches of 64 from a DataLoader."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
    optimizer = lib.optim.Adam(model.parameters(), lr=1e-3)
    data = lib.utils.data.TensorDataset(numbers(lib, 1024, 1, 8, 8), lib.tensor(np.arange(1024) % 10))
    loader = lib.utils.data.DataLoader(data, batch_size=64, shuffle=True)

    def run() -> None:
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

    return run


class Images:
    """Images that are made when they are asked for."""

    def __init__(self, lib: Any, size: int) -> None:
        self.lib, self.images = lib, np.random.default_rng(0).random((64, size, size), np.float32)

    def __len__(self) -> int:
        return 1024

    def __getitem__(self, index: int) -> Any:
        return self.lib.from_numpy(self.images[index % 64] * 2 - 1), index % 10


def loader(size: int, workers: int) -> Callable[[Any], Program]:
    def make(lib: Any) -> Program:
        made = lib.utils.data.DataLoader(
            Images(lib, size), batch_size=64, num_workers=workers, persistent_workers=workers > 0
        )

        def run() -> None:
            for _ in made:
                pass

        return run

    return make


PROGRAMS: dict[str, Callable[[Any], Program]] = {
    "DQN, 4 → 24 → 24 → 2, batch of 32, Adam": dqn,
    "character GPT, 4 layers, 128 wide, 16 × 64, AdamW": gpt,
    "convolutions, an epoch of 1024 digits, Adam": digits,
    "DataLoader, 1024 images of 28 × 28": loader(28, 0),
    "DataLoader, 1024 images of 28 × 28, 2 workers": loader(28, 2),
    "DataLoader, 1024 images of 128 × 128, 2 workers": loader(128, 2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Programs that train, with retrograd and with PyTorch.")
    parser.add_argument("--only", default="", help="rows whose names have this in them")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each row")
    parser.add_argument("--threads", type=int, default=1, help="threads of both libraries")
    args = parser.parse_args()
    import torch

    import retrograd

    torch.set_num_threads(args.threads)
    retrograd.set_num_threads(args.threads)
    print(f"{'':52}{'retrograd':>11}{'PyTorch':>11}{'ratio':>9}")
    for name, make in PROGRAMS.items():
        if args.only in name:
            ours, theirs = clock.best_times([make(retrograd), make(torch)], args.seconds, 3)
            print(f"  {name:50}{duration(ours):>11}{duration(theirs):>11}{theirs / ours:>8.2f}×", flush=True)


if __name__ == "__main__":
    main()
