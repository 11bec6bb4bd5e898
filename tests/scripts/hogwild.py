"""Processes that train one model in shared memory."""

import argparse
import os
import sys
import time

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from common import set_weights, waves
from torch import nn, optim
from torch.multiprocessing import Process, Queue, set_start_method


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 8)
        self.bn = nn.BatchNorm1d(8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return F.log_softmax(self.fc2(F.relu(self.bn(self.fc1(x)))), dim=1)


def train(rank, args, model, device, q=None):
    torch.manual_seed(args.seed + rank)
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    model.train()
    for i in range(5):
        opt.zero_grad()
        loss = F.nll_loss(model(waves(6, 8, rank).to(device)), torch.tensor([0, 1, 2, 0, 1, 2]))
        loss.backward()
        opt.step()
    if q is not None:
        q.put((rank, (torch.ones(3) * rank).tolist(), model.fc1.weight.is_shared()))


if __name__ == "__main__":
    args = argparse.Namespace(seed=1, num_processes=2)
    for method in ("fork", "spawn"):
        mp.set_start_method(method, force=True)
        model = Net().to("cpu")
        set_weights(model, 0.3)
        before = model.fc1.weight.detach().clone()
        model.share_memory()
        print(model.fc1.weight.is_shared(), model.bn.running_mean.is_shared())
        processes = []
        q = mp.get_context(method).Queue()
        for rank in range(args.num_processes):
            p = mp.Process(target=train, args=(rank, args, model, "cpu", q))
            p.start()
            got = q.get()
            print(got[0], got[1], got[2])
            p.join()
            processes.append(p)
        print(
            [p.exitcode for p in processes],
            "%.4f" % (model.fc1.weight - before).abs().sum().item(),
            model.bn.num_batches_tracked.item(),
        )
    x = torch.zeros(4).share_memory_()
    v = x[1:3]
    print(v.is_shared())
