"""A convolutional network learns to read handwritten digits (`retrograd.datasets`, CC BY 4.0)."""

import sys
from contextlib import suppress
from itertools import islice

import numpy as np

import retrograd as rg
from retrograd import nn
from retrograd.datasets import Digits, load_digits, split_digits
from retrograd.nn import functional as F
from retrograd.utils.data import DataLoader, TensorDataset
from retrograd.utils.progress import track
from retrograd.utils.run_log import RunLog, pyplot

BATCH = 32


def tensors(digits: Digits) -> TensorDataset:
    """Images of 1×8×8 points between 0 and 1, and labels."""
    images = digits.images.astype(np.float32).reshape(-1, 1, 8, 8) / 16
    return TensorDataset(rg.from_numpy(images), rg.from_numpy(digits.labels.astype(np.int64)))


def network() -> nn.Module:
    """Two convolutions, each followed by a smaller picture, and a layer that decides."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 4, 10),
    )  # fmt: skip


@rg.no_grad()
def judged(model: nn.Module, data: TensorDataset) -> tuple[float, rg.Tensor]:
    """The loss on all of the data, and what the model reads."""
    model.eval()
    scores = model(data.tensors[0])
    model.train()
    return F.cross_entropy(scores, data.tensors[1]).item(), scores.argmax(1)


def main(quick: bool) -> int:
    """Train, judge by digits that were held out, and draw those that were misread."""
    rg.manual_seed(0)
    train, held_out = map(tensors, split_digits(load_digits()))
    model = network()
    optimizer = rg.optim.Adam(model.parameters(), lr=3e-3)
    schedule = rg.optim.lr_scheduler.ExponentialLR(optimizer, 0.85)
    before, _ = judged(model, held_out)
    loader = DataLoader(train, batch_size=BATCH, shuffle=True)
    steps = 40 if quick else len(loader)
    with RunLog("build/examples/conv_digits.csv") as log:
        for epoch in range(1 if quick else 12):
            for images, labels in track(islice(loader, steps), f"epoch {epoch + 1}", steps):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(images), labels)
                loss.backward()
                optimizer.step()
            schedule.step()
            held, read = judged(model, held_out)
            accuracy = (read == held_out.tensors[1]).float().mean().item()
            log.write(step=epoch, train=loss, held_out=held, accuracy=accuracy)
    print(f"loss before {before:.3f}, after {held:.3f}; {accuracy:.1%} of the held-out digits are read")
    with suppress(ModuleNotFoundError):  # there is no picture without matplotlib
        draw_mistakes(held_out, read)
    return 0 if held < 0.5 * before else 1


def draw_mistakes(data: TensorDataset, read: rg.Tensor) -> None:
    """The first digits that were misread, with what they were taken for."""
    images, labels = data.tensors
    wrong = (read != labels).nonzero().flatten().tolist()[:12]
    plt = pyplot()
    figure, grid = plt.subplots(2, 6, figsize=(9, 3.4))
    for axes in grid.flat:
        axes.axis("off")
    for axes, i in zip(grid.flat, wrong, strict=False):
        axes.imshow(images[i, 0].numpy(), cmap="gray_r")
        axes.set_title(f"{labels[i].item()} read as {read[i].item()}", fontsize=9)
    figure.savefig("build/examples/conv_digits.png")
    print("picture: build/examples/conv_digits.png")


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
