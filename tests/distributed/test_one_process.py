"""What is made for several processes, in one: a program can be written and tried without MPI."""

from __future__ import annotations

import copy
import gc
import weakref

import numpy as np
import pytest
import torch

import retrograd as rg
from retrograd.distributed.buckets import plan_buckets
from retrograd.distributed.sharding import share_out


@pytest.fixture
def alone():
    """A world of one rank."""
    rg.distributed.init_process_group()
    yield
    rg.distributed.destroy_process_group()


def test_buckets_hold_the_last_parameters_first():
    params = [rg.zeros(10) for _ in range(6)]
    assert plan_buckets(params, [40, 80]) == [[5], [4, 3], [2, 1], [0]]
    assert plan_buckets(params, [10**6]) == [[5, 4, 3, 2, 1, 0]]
    assert plan_buckets([], [1]) == []


def test_buckets_are_of_one_dtype_and_go_when_they_can_be_complete():
    params = [rg.zeros(1), rg.zeros(1, dtype=rg.float64), rg.zeros(1), rg.zeros(1, dtype=rg.float64)]
    assert plan_buckets(params, [10**6]) == [[3, 1], [2, 0]]
    assert plan_buckets(params, [1]) == [[3], [2], [1], [0]]
    assert plan_buckets(params[::2] * 2, [10**6], lambda position: position % 2) == [[3, 1], [2, 0]]


def test_shares_are_even_and_all_are_given():
    rng = np.random.default_rng(0)
    for count in (1, 2, 5):
        sizes = [int(size) for size in rng.integers(1, 100, 40)]
        loads = [0] * count
        owners = share_out(sizes, loads)
        assert sum(loads) == sum(sizes)
        assert [sum(s for s, o in zip(sizes, owners, strict=True) if o == i) for i in range(count)] == loads
        assert max(loads) - min(loads) <= max(sizes)


def test_wrapped_model_is_the_model(alone):
    net = rg.nn.Sequential(rg.nn.Linear(3, 4), rg.nn.BatchNorm1d(4))
    ddp = rg.nn.parallel.DistributedDataParallel(copy.deepcopy(net))
    x = rg.randn(5, 3)
    for model in (net, ddp):
        model(x).pow(2).sum().backward()
    for a, b in zip(net.parameters(), ddp.parameters(), strict=True):
        np.testing.assert_array_equal(a.grad.numpy(), b.grad.numpy())


def test_a_wrapper_that_is_gone_leaves_no_hooks(alone):
    layer = rg.nn.Linear(2, 2)
    ddp = rg.nn.parallel.DistributedDataParallel(layer)
    ddp(rg.ones(1, 2)).sum().backward()
    reducer = weakref.ref(ddp.reducer)
    assert layer.weight._post_accumulate
    del ddp
    gc.collect()
    assert reducer() is None
    assert not layer.weight._post_accumulate


def test_arguments_that_cannot_be_honoured_are_refused(alone):
    wrap = rg.nn.parallel.DistributedDataParallel
    for name in ("mixed_precision", "delay_all_reduce_named_params"):
        with pytest.raises(ValueError, match=name):
            wrap(rg.nn.Linear(1, 1), **{name: object()})
    limits = wrap(rg.nn.Sequential(*[rg.nn.Linear(8, 8) for _ in range(4)]), bucket_cap_mb_list=[1e-4, 3e-4])
    sizes = [bucket.length * 4 for bucket in limits.reducer.buckets]
    assert sizes[0] < sizes[1]


def test_without_a_group():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(1, 1))
    layer = rg.nn.SyncBatchNorm(2)
    assert repr(layer) == repr(torch.nn.SyncBatchNorm(2))
    assert layer(rg.tensor([[0.0, 1.0], [2.0, 5.0]])).round().tolist() == [[-1, -1], [1, 1]]
    for shape in ((2,), (2, 0)):
        messages = []
        for lib in (rg, torch):
            with pytest.raises(ValueError, match=".") as error:
                lib.nn.SyncBatchNorm(2)(lib.ones(shape))
            messages.append(str(error.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("lib", [rg, torch], ids=["retrograd", "torch"])
def test_data_parallel_without_a_gpu(lib):
    model = lib.nn.DataParallel(lib.nn.Linear(2, 1))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert model.device_ids == []
    assert model(lib.ones(3, 2)).shape == (3, 1)


def test_parts_and_the_whole():
    inputs = ({"x": rg.arange(6).reshape(3, 2)}, [rg.arange(3)], 7)
    parts = rg.nn.parallel.scatter(inputs, ["cpu", "cpu"])
    assert [part[0]["x"].tolist() for part in parts] == [[[0, 1], [2, 3]], [[4, 5]]]
    assert [part[2] for part in parts] == [7, 7]
    whole = rg.nn.parallel.gather([part[:2] for part in parts], "cpu")
    assert whole[0]["x"].tolist() == inputs[0]["x"].tolist()
    assert whole[1][0].tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="DistributedDataParallel"):
        rg.nn.parallel.replicate(rg.nn.Linear(1, 1), ["cpu", "cpu"])
