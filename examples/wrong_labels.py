"""Find mislabelled samples by their own gradients: those that pull hardest on a fitted model are the suspects."""

import numpy as np

import retrograd as rg
from retrograd import optimize
from retrograd.datasets import load_digits
from retrograd.func import per_sample_grads
from retrograd.nn import functional as F

COUNT, SPOILT = 600, 20


def digits() -> tuple[rg.Tensor, rg.Tensor, set[int]]:
    """Images of handwritten digits, labels of which some are wrong, and which those are."""
    images, labels = load_digits()
    x = rg.tensor(np.asarray(images[:COUNT], np.float64).reshape(COUNT, -1) / 16)
    y = np.asarray(labels[:COUNT]).astype(np.int64)
    rng = np.random.default_rng(0)
    chosen = rng.choice(COUNT, SPOILT, replace=False)
    y[chosen] = (y[chosen] + rng.integers(1, 10, SPOILT)) % 10
    return x, rg.tensor(y), {int(i) for i in chosen}


def fitted(x: rg.Tensor, y: rg.Tensor) -> dict[str, rg.Tensor]:
    """A linear classifier, by L-BFGS; the weights are kept small."""
    start = {"w": rg.zeros(10, x.shape[1]), "b": rg.zeros(10)}

    def loss(p: dict[str, rg.Tensor]) -> rg.Tensor:
        return F.cross_entropy(F.linear(x, p["w"], p["b"]), y) + 1e-3 * (p["w"] ** 2).sum()

    found = optimize.minimize(loss, start, "L-BFGS-B", options={"maxiter": 100})
    params: dict[str, rg.Tensor] = found.params
    return params


def suspects(params: dict[str, rg.Tensor], x: rg.Tensor, y: rg.Tensor) -> list[int]:
    """The samples with the largest gradients; those of one parameter are in memory at a time."""
    model = {name: p.requires_grad_() for name, p in params.items()}
    squares = rg.zeros(len(x), dtype=rg.float64)

    def add(name: str, grads: rg.Tensor) -> None:
        squares.add_(grads.flatten(1).square().sum(1))

    per_sample_grads(
        lambda x, y: F.cross_entropy(F.linear(x, model["w"], model["b"]), y), model, x, y, each=add
    )
    return [int(i) for i in squares.argsort(descending=True)[:SPOILT]]


if __name__ == "__main__":
    x, y, wrong = digits()
    found = suspects(fitted(x, y), x, y)
    print(
        f"{len(wrong & set(found))} of the {SPOILT} wrong labels are among the {SPOILT} largest of {COUNT} gradients"
    )
