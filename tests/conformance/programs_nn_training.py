"""Whole models, as people write them, trained for a few steps: the same parameters and buffers afterwards."""

from __future__ import annotations

import copy
import math
from typing import Any

from .harness import program
from .nn_models import fill, ramp


def train(torch: Any, model: Any, x: Any, loss_of: Any, optimizer: Any = None, steps: int = 3) -> Any:
    """The losses of some steps, and the state afterwards."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: t.double().sum().item() for name, t in model.state_dict().items()}


def waves(torch: Any, *shape: int) -> Any:
    return ramp(torch, *shape).double().mul(3.7).sin().float()


@program()
def a_residual_network(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels: int, out: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(out)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(out)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = nn.Sequential()
            if stride != 1 or channels != out:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
                )

        def forward(self, x: Any) -> Any:
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            out += self.shortcut(x)
            return self.relu(out)

    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), Block(4, 4, 1), Block(4, 6, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(6, 3),
    )  # fmt: skip
    for m in fill(torch, model).modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.constant_(m.weight, 1)
            nn.init.constant_(m.bias, 0)
            m.reset_running_stats()
    target = torch.tensor([0, 2, 1])
    x = waves(torch, 3, 2, 6, 6)
    found = train(torch, model, x, lambda out: nn.functional.cross_entropy(out, target))
    return found, model.eval()(x).detach(), repr(model)


@program()
def an_autoencoder_with_two_optimizer_groups(torch: Any) -> Any:
    nn = torch.nn

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))
            self.decoder = nn.Sequential(nn.Linear(2, 4), nn.ELU(), nn.Linear(4, 6))
            self.register_buffer("calls", torch.tensor(0))

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return self.decoder(self.encoder(x))

    model, x = fill(torch, Coder()), waves(torch, 5, 6)
    groups = [{"params": model.encoder.parameters(), "lr": 0.01}, {"params": model.decoder.parameters()}]
    return train(
        torch, model, x, lambda out: nn.functional.smooth_l1_loss(out, x), torch.optim.Adam(groups, lr=0.05)
    )


@program()
def a_language_model_with_tied_weights(torch: Any) -> Any:
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(7, 8)
            self.rnn = nn.GRU(8, 8, batch_first=True)
            self.norm = nn.LayerNorm(8)
            self.head = nn.Linear(8, 7, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens: Any) -> Any:
            out, _ = self.rnn(self.embedding(tokens) * math.sqrt(8))
            return self.head(self.norm(out))

    model = fill(torch, Model())
    tokens = torch.arange(12).reshape(2, 6) * 3 % 7
    loss = nn.CrossEntropyLoss()
    found = train(torch, model, tokens[:, :-1], lambda out: loss(out.flatten(0, 1), tokens[:, 1:].flatten()))
    return found, model.head.weight is model.embedding.weight, [n for n, _ in model.named_parameters()]


@program()
def a_causal_transformer(torch: Any) -> Any:
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 8)
            self.place = nn.Parameter(torch.zeros(1, 6, 8))
            layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
            self.body = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False)
            self.head = nn.Linear(8, 5)

        def forward(self, tokens: Any) -> Any:
            size = tokens.shape[1]
            mask = nn.Transformer.generate_square_subsequent_mask(size)
            return self.head(self.body(self.embed(tokens) + self.place[:, :size], mask=mask, is_causal=True))

    model = fill(torch, Model())
    tokens = torch.arange(10).reshape(2, 5) * 2 % 5
    return train(torch, model, tokens, lambda out: nn.functional.cross_entropy(out.transpose(1, 2), tokens))


@program()
def a_part_is_frozen_and_features_are_collected(torch: Any) -> Any:
    nn = torch.nn
    model = fill(torch, nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    model[0].requires_grad_(False)
    features: list[Any] = []
    handle = model[1].register_forward_hook(lambda m, args, out: features.append(out.detach()))
    wanted = [p for p in model.parameters() if p.requires_grad]
    x = waves(torch, 4, 3)
    found = train(torch, model, x, lambda out: (out**2).mean(), torch.optim.SGD(wanted, lr=0.1))
    handle.remove()
    return found, features[0], len(features), model[0].weight.grad


@program()
def a_running_mean_of_a_model(torch: Any) -> Any:
    nn = torch.nn
    model = fill(torch, nn.Sequential(nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3), nn.Linear(3, 1)))
    mean, x = copy.deepcopy(model).requires_grad_(False), waves(torch, 6, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(3):
        model.zero_grad()
        model(x).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(mean.parameters(), model.parameters(), strict=True):
                slow.mul_(0.9).add_(fast, alpha=0.1)
            for slow, fast in zip(mean.buffers(), model.buffers(), strict=True):
                slow.copy_(fast)
    return mean.eval()(x), dict(mean.named_parameters())


@program()
def a_module_is_checkpointed(torch: Any) -> Any:
    nn, seen = torch.nn, []
    for again in (False, True):
        model = fill(torch, nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)))
        x = waves(torch, 4, 3).requires_grad_()
        call = torch.utils.checkpoint.checkpoint
        out = call(model, x, use_reentrant=False) if again else model(x)
        out.pow(2).sum().backward()
        seen += [out.detach(), x.grad, *[p.grad for p in model.parameters()]]
    return seen


@program()
def second_derivatives_through_modules(torch: Any) -> Any:
    nn = torch.nn
    model = fill(torch, nn.Sequential(nn.Linear(2, 4), nn.Softplus(), nn.Linear(4, 1))).double()
    x = ramp(torch, 5, 2).double().mul(3.7).sin().requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    (gradient.norm(2, dim=1) - 1).pow(2).mean().backward()
    return gradient.detach(), [p.grad for p in model.parameters()]


@program()
def generator_and_critic(torch: Any) -> Any:
    nn = torch.nn
    generator = fill(torch, nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 3)))
    critic = fill(
        torch, nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2, inplace=True), nn.Linear(4, 1), nn.Sigmoid())
    )
    loss, real, noise = nn.BCELoss(), waves(torch, 4, 3), waves(torch, 4, 2)
    first = torch.optim.Adam(generator.parameters(), lr=0.02, betas=(0.5, 0.999))
    second = torch.optim.Adam(critic.parameters(), lr=0.02, betas=(0.5, 0.999))
    seen = []
    for _ in range(3):
        fake = generator(noise)
        second.zero_grad()
        wrong = loss(critic(real), torch.ones(4, 1)) + loss(critic(fake.detach()), torch.zeros(4, 1))
        wrong.backward()
        second.step()
        first.zero_grad()
        fooled = loss(critic(fake), torch.ones(4, 1))
        fooled.backward()
        first.step()
        seen += [wrong.item(), fooled.item()]
    return seen, list(generator.parameters()), list(critic.parameters())
