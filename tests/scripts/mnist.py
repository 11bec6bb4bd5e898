"""A classifier of images in the usual form: loader, schedule, clipping, checkpoint and resume."""

import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import set_weights, waves
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset, random_split

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None


class Images(Dataset):
    def __init__(self, n):
        self.labels = torch.arange(n) % 4
        self.images = waves(n, 64).view(n, 1, 8, 8) * 0.5
        for i in range(n):
            self.images[i, 0, 2 * self.labels[i] : 2 * self.labels[i] + 2] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.bn = nn.BatchNorm2d(8)
        self.dropout1 = nn.Dropout(0.0)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, 4)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.bn(F.relu(self.conv2(x)))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(self.dropout1(x), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print(
                f"epoch {epoch} [{batch_idx * len(data)}/{len(train_loader.dataset)}] loss {loss.item():.3f} norm {norm:.2f}"
            )


def test(model, device, test_loader):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in test_loader:
            output = model(data.to(device))
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(dim=1, keepdim=True).eq(target.view_as(output[:, :1])).sum().item()
    n = len(test_loader.dataset)
    print(f"test loss {test_loss / n:.3f}, accuracy {correct}/{n} ({100.0 * correct / n:.0f}%)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.5)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--clip", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--start", default=None)
    parser.add_argument("--log-interval", type=int, default=3)
    args = parser.parse_args()

    use_accel = torch.accelerator.is_available()
    device = torch.accelerator.current_accelerator() if use_accel else torch.device("cpu")
    kwargs = {"num_workers": args.workers, "pin_memory": use_accel}
    if args.start:
        kwargs["multiprocessing_context"] = args.start
    torch.manual_seed(1)
    data = Images(96)
    first, last = random_split(data, [64, 32], generator=torch.Generator().manual_seed(0))
    first.indices, last.indices = list(range(64)), list(range(64, 96))
    train_loader = DataLoader(first, batch_size=16, shuffle=False, **kwargs)
    test_loader = DataLoader(last, batch_size=16, **kwargs)

    model = Net().to(device)
    set_weights(model, 0.3)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)
        scheduler.step()
        torch.save(
            {
                "epoch": epoch,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
            },
            path,
        )

    checkpoint = torch.load(path, map_location=device, weights_only=True)
    other = Net().to(device)
    print(other.load_state_dict(checkpoint["model"]))
    optimizer = optim.Adadelta(other.parameters(), lr=1.0)
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    scheduler.load_state_dict(checkpoint["scheduler"])
    print(f"resumed after epoch {checkpoint['epoch']} with lr {scheduler.get_last_lr()[0]:.4f}")
    train(args, other, device, train_loader, optimizer, checkpoint["epoch"] + 1)
    test(other, device, test_loader)


if __name__ == "__main__":
    main()
