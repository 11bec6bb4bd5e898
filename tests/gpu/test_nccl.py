"""NCCL at world size 1, and tensors of a GPU staged over what carries the CPU's."""

from __future__ import annotations

import pytest

import retrograd as rg
import retrograd.distributed as dist


@pytest.fixture(params=["nccl", "mpi"])
def world(request):
    if request.param == "nccl" and not dist.is_nccl_available():
        pytest.skip("CuPy has no NCCL here")
    dist.init_process_group(request.param)
    yield request.param
    dist.destroy_process_group()


@pytest.mark.parametrize("dtype", [rg.float32, rg.float16, rg.float64, rg.int64, rg.bool, rg.complex64])
def test_collectives_of_one_rank(world, dtype):
    assert dist.get_backend() == world
    x = rg.tensor([1, 0, 3], device="cuda").to(dtype)
    wanted = x.clone()
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    assert rg.equal(x, wanted)
    outs = [rg.empty_like(x)]
    dist.all_gather(outs, x)
    dist.all_gather_into_tensor(joined := rg.empty(1, 3, dtype=dtype, device="cuda"), x)
    dist.all_to_all(exchanged := [rg.empty_like(x)], [x])
    dist.reduce_scatter_tensor(part := rg.empty_like(x), x)
    dist.scatter(scattered := rg.empty_like(x), [x])
    for found in (*outs, joined[0], *exchanged, part, scattered):
        assert found.device.type == "cuda"
        assert rg.equal(found, wanted)


def test_averages_strides_and_works(world):
    x = rg.arange(12.0, device="cuda").reshape(3, 4).t()
    work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
    assert work.wait()
    assert rg.equal(x.cpu(), rg.arange(12.0).reshape(3, 4).t())
    y = rg.ones(3)  # a tensor of the CPU's, in the same group
    dist.all_reduce(y)
    things = [None]
    dist.all_gather_object(things, "a")
    assert things == ["a"]
    dist.barrier()
