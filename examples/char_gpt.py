"""A small GPT learns to write, letter by letter, from two of Shakespeare's sonnets (which are in the public domain).

python examples/char_gpt.py [--quick] [--device cuda]
"""

import argparse
import sys
from contextlib import suppress
from pathlib import Path

import retrograd as rg
from retrograd import nn
from retrograd.nn import functional as F
from retrograd.utils.progress import progress
from retrograd.utils.run_log import RunLog, plot_log

TEXT = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade
Nor lose possession of that fair thou owest;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou growest:
So long as men can breathe or eyes can see,
So long lives this and this gives life to thee.

My mistress' eyes are nothing like the sun;
Coral is far more red than her lips' red;
If snow be white, why then her breasts are dun;
If hairs be wires, black wires grow on her head.
"""
LETTERS = sorted(set(TEXT))
LENGTH, WIDTH, HEADS, LAYERS, BATCH = 32, 32, 4, 2, 8


class Block(nn.Module):
    """Attention to what came before, then a small network for each place."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU("tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: rg.Tensor) -> rg.Tensor:
        batch, length, _ = x.shape
        parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Letters and their places in, a score for each next letter out."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(LETTERS))

    def forward(self, x: rg.Tensor) -> rg.Tensor:
        hidden = self.letters(x) + self.places(rg.arange(x.shape[1], device=x.device))
        return self.head(self.norm(self.blocks(hidden)))


def loss_of(model: GPT, data: rg.Tensor) -> rg.Tensor:
    """How surprised the model is by the letters of a few pieces of the text."""
    starts = rg.randint(0, len(data) - LENGTH, (BATCH,))
    pieces = rg.stack([data[s : s + LENGTH + 1] for s in starts.tolist()])
    return F.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())


@rg.no_grad()
def written(model: GPT, start: str, count: int) -> str:
    """What the model goes on to write."""
    text = start
    for _ in range(count):
        seen = rg.tensor([[LETTERS.index(c) for c in text[-LENGTH:]]], device=model.head.weight.device)
        policy = rg.distributions.Categorical(logits=model(seen)[0, -1] / 0.5)
        text += LETTERS[int(policy.sample())]
    return text


def main(quick: bool, device: str) -> int:
    """Train, and write."""
    rg.manual_seed(0)
    steps = 40 if quick else 3000
    data = rg.tensor([LETTERS.index(c) for c in TEXT], device=device)
    model = GPT().to(device)
    optimizer = rg.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    with RunLog("build/examples/char_gpt.jsonl") as log, progress(steps, "training") as bar:
        for step in range(steps):
            loss = loss_of(model, data)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            log.write(step=step, loss=loss)
            bar.advance(f"loss {loss.item():.3f}")
    first, last = losses[0], sum(losses[-10:]) / 10
    print(
        f"loss before {first:.3f}, after {last:.3f}\n\n{written(model, 'Shall I ', 40 if quick else 300)}\n"
    )
    with suppress(ModuleNotFoundError):  # there is no picture without matplotlib
        print("picture:", plot_log(Path("build/examples/char_gpt.jsonl")))
    return 0 if last < 0.75 * first else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains a small GPT on two sonnets.")
    parser.add_argument("--quick", action="store_true", help="few steps")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda for a GPU")
    options = parser.parse_args()
    sys.exit(main(options.quick, options.device))
