"""Pickles and safetensors in a program of `retrograd run`; what PyTorch has pickled is in the file named first."""

import pickle
import sys
import tempfile
from pathlib import Path

import torch
import torch.multiprocessing as mp


def square(i, out):
    torch.save(torch.full((2,), float(i)) ** 2, f"{out}/{i}.pt")


def fail(i):
    raise ValueError(f"number {i}")


if __name__ == "__main__":
    weights, module, size, kind, device, function, linear, dataset = pickle.loads(
        Path(sys.argv[1]).read_bytes()
    )
    assert type(weights["w"]) is torch.Tensor and weights["w"].tolist() == [0.0, 1.0, 2.0]
    assert weights["p"].requires_grad and isinstance(weights["p"], torch.nn.Parameter)
    assert module(torch.ones(1, 2)).shape == (1, 3) and type(module[0]) is linear is torch.nn.Linear
    assert (size, kind, device) == (torch.Size([2]), torch.float32, torch.device("cpu"))
    assert function is torch.nn.functional.relu and isinstance(dataset, torch.utils.data.TensorDataset)
    again = pickle.loads(pickle.dumps(module))
    assert type(again) is type(module) and torch.equal(again[0].weight, module[0].weight)

    folder = tempfile.mkdtemp()
    mp.spawn(square, args=(folder,), nprocs=2)
    assert [torch.load(f"{folder}/{i}.pt").tolist() for i in range(2)] == [[0.0, 0.0], [1.0, 1.0]]
    try:
        mp.spawn(fail, nprocs=1)
    except mp.ProcessRaisedException as e:
        assert "ValueError: number 0" in str(e)
    else:
        raise AssertionError("nothing was raised")

    try:
        from safetensors.torch import load_file, save_file
    except ImportError:
        pass
    else:
        tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([1, 2])}
        save_file(tensors, f"{folder}/x.safetensors")
        found = load_file(f"{folder}/x.safetensors")
        assert all(
            torch.equal(found[name], t) and type(found[name]) is torch.Tensor for name, t in tensors.items()
        )
    assert "retrograd" in sys.modules["torch"].__version__
    print("all as it should be")
