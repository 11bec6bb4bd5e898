"""Tensors of GPUs over NCCL and over an MPI that reaches GPUs, with a fake CuPy: run by test_gpu.py."""

from __future__ import annotations

import os

import numpy as np
import pytest

import retrograd as rg
import retrograd.distributed as dist
from retrograd import nn
from retrograd.distributed import calls, cuda_aware, groups
from tests.distributed import fake_cupy

CASES = {}
DTYPES = (rg.float32, rg.float16, rg.float64, rg.int64, rg.uint8, rg.bool, rg.complex64)
DDP = nn.parallel.DistributedDataParallel


def case(function):
    CASES[function.__name__] = function
    return function


def start(backend):
    """Another backend for the same ranks."""
    if not dist.is_initialized() or dist.get_backend() != backend:
        if dist.is_initialized():
            dist.destroy_process_group()
        dist.init_process_group(backend)


def own(rank, dtype=rg.float32, size=6):
    return rg.arange(size, device="cuda").to(dtype) + rg.tensor(rank, device="cuda").to(dtype)


def of_all(count, dtype=rg.float32):
    return [own(rank, dtype).cpu().numpy() for rank in range(count)]


def check_reductions(rank, count, dtype):
    """SUM and the others, of every reduction."""
    wanted = of_all(count, dtype)
    total = np.logical_or.reduce(wanted) if dtype == rg.bool else sum(wanted).astype(wanted[0].dtype)
    dist.all_reduce(x := own(rank, dtype))
    np.testing.assert_array_equal(x.cpu().numpy(), total)
    dist.reduce(x := own(rank, dtype), 0)
    np.testing.assert_array_equal(x.cpu().numpy(), total if rank == 0 else wanted[rank])
    dist.reduce_scatter(out := rg.empty(6, dtype=dtype, device="cuda"), [own(rank, dtype)] * count)
    np.testing.assert_array_equal(out.cpu().numpy(), total)
    dist.reduce_scatter_tensor(out, rg.cat([own(rank, dtype)] * count))
    np.testing.assert_array_equal(out.cpu().numpy(), total)
    if dtype in (rg.float32, rg.int64):
        for kind, function in (("MAX", np.maximum), ("MIN", np.minimum), ("PRODUCT", np.multiply)):
            dist.all_reduce(x := own(rank, dtype), getattr(dist.ReduceOp, kind))
            np.testing.assert_array_equal(x.cpu().numpy(), function.reduce(wanted))


def check_movements(rank, count, dtype):
    """Everything that brings tensors elsewhere."""
    wanted = of_all(count, dtype)
    dist.broadcast(x := own(rank, dtype), count - 1)
    np.testing.assert_array_equal(x.cpu().numpy(), wanted[-1])
    rooms = lambda: [rg.empty(6, dtype=dtype, device="cuda") for _ in range(count)]  # noqa: E731
    dist.all_gather(outs := rooms(), own(rank, dtype))
    np.testing.assert_array_equal([out.cpu().numpy() for out in outs], wanted)
    dist.all_gather_into_tensor(out := rg.empty(count, 6, dtype=dtype, device="cuda"), own(rank, dtype))
    np.testing.assert_array_equal(out.cpu().numpy(), wanted)
    dist.gather(own(rank, dtype), outs := rooms() if rank == 0 else None)
    if outs is not None:
        np.testing.assert_array_equal([out.cpu().numpy() for out in outs], wanted)
    given = [own(i, dtype) for i in range(count)] if rank == 0 else None
    dist.scatter(out := rooms()[0], given)
    np.testing.assert_array_equal(out.cpu().numpy(), wanted[rank])
    dist.all_to_all(outs := rooms(), [own(rank, dtype)] * count)
    np.testing.assert_array_equal([out.cpu().numpy() for out in outs], wanted)
    dist.all_to_all_single(
        out := rg.empty(count * 6, dtype=dtype, device="cuda"), rg.cat([own(rank, dtype)] * count)
    )
    np.testing.assert_array_equal(out.cpu().numpy(), np.concatenate(wanted))


def check_others(rank, count):
    """Strides, means, factors, several at once, works, tensors of the CPU's, objects."""
    x = own(rank).reshape(2, 3).t()
    work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
    assert work.wait()
    assert work.is_completed()
    np.testing.assert_allclose(x.cpu().numpy(), np.mean(of_all(count), 0).reshape(2, 3).T)
    dist.all_reduce(x := own(rank), dist._make_nccl_premul_sum(2.0))
    np.testing.assert_allclose(x.cpu().numpy(), 2 * np.sum(of_all(count), 0))
    pair = [own(rank), own(rank, size=3)]
    dist.all_reduce_coalesced(pair)
    np.testing.assert_allclose(pair[1].cpu().numpy(), np.sum(of_all(count), 0)[:3])
    dist.all_reduce(y := rg.ones(3))
    assert y.tolist() == [float(count)] * 3
    dist.all_gather_object(things := [None] * count, rank)
    assert things == list(range(count))
    dist.barrier()
    part = dist.new_group([rank], use_local_synchronization=True)
    dist.all_reduce(x := own(rank), group=part)
    np.testing.assert_array_equal(x.cpu().numpy(), of_all(count)[rank])


def check_messages(rank, count):
    """To the next rank, from the one before it."""
    after, before = (rank + 1) % count, (rank - 1) % count
    if count > 1:
        for turn in range(2):
            if (rank + turn) % 2:
                dist.recv(x := rg.empty(6, device="cuda"), before)
                np.testing.assert_array_equal(x.cpu().numpy(), of_all(count)[before])
            else:
                dist.send(own(rank), after)
    out = rg.empty(6, device="cuda")
    for work in dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, own(rank), after), dist.P2POp(dist.irecv, out, before)]
    ):
        work.wait()
    np.testing.assert_array_equal(out.cpu().numpy(), of_all(count)[before])


def check_training(rank, count):
    """DistributedDataParallel: the gradients of the whole batch."""
    rg.manual_seed(3)
    net, whole = (nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)) for _ in range(2))
    whole.load_state_dict(net.state_dict())
    inputs = [rg.randn(3, 4, generator=rg.Generator().manual_seed(i)) for i in range(count)]
    ddp = DDP(net.to("cuda"), bucket_cap_mb=1e-4)
    for _ in range(3):
        ddp.zero_grad()
        whole.zero_grad()
        ddp(inputs[rank].to("cuda")).pow(2).mean().backward()
        sum(whole(x).pow(2).mean() / count for x in inputs).backward()
        for a, b in zip(net.parameters(), whole.parameters(), strict=True):
            dist.broadcast_object_list(wanted := [b.detach().numpy()])
            np.testing.assert_allclose(a.grad.cpu().numpy(), b.grad.numpy(), rtol=1e-4, atol=1e-6)
            assert wanted[0].shape == tuple(a.shape)


def suite(backend):
    """All of this on one backend, as cases."""
    for dtype in DTYPES:

        def both(rank, count, dtype=dtype):
            start(backend)
            check_reductions(rank, count, dtype)
            check_movements(rank, count, dtype)

        CASES[f"{backend} {dtype}"] = both
    for check in (check_others, check_messages, check_training):

        def run(rank, count, check=check):
            start(backend)
            check(rank, count)

        CASES[f"{backend} {check.__name__}"] = run


@case
def installed(rank, count):
    assert not cuda_aware.is_cuda_aware()  # what MPICH from PyPI says
    cuda_aware.is_cuda_aware.cache_clear()
    os.environ[cuda_aware.SWITCH] = "1"
    assert cuda_aware.is_cuda_aware()
    fake_cupy.install()


suite("nccl")
suite("mpi")


@case
def arrays_go_to_mpi_without_a_copy(rank, count):
    start("mpi")
    transport = groups.WORLD.group.transport
    assert (calls._mark(transport, [own(rank)]) is not None) == (count > 1)
    assert calls._mark(transport, [rg.ones(1)], [rg.ones(1, dtype=rg.bfloat16)]) is None


@case
def nccl_was_called(rank, count):
    wanted = {"allReduce", "reduce", "reduceScatter", "bcast", "allGather", "send", "recv", "destroy"}
    assert wanted <= set(fake_cupy.CALLS)


@case
def the_backend_is_nccl_where_each_rank_has_a_gpu(rank, count):
    start("mpi")
    dist.destroy_process_group()
    dist.init_process_group()
    assert dist.get_backend() == "nccl"
    assert groups.WORLD.group.transport.device == rank % 2
    assert dist.get_backend_config() == "cuda:nccl"


@case
def what_nccl_cannot_do_is_said(rank, count):
    start("nccl")
    with pytest.raises(RuntimeError, match="int16"):
        dist.all_reduce(own(rank, rg.int16))
    with pytest.raises(RuntimeError, match="give recv"):
        dist.recv(rg.empty(3, device="cuda"))
    check_reductions(rank, count, rg.float32)


@case
def ranks_that_share_a_gpu_are_refused(rank, count):
    dist.destroy_process_group()
    if count > 1:
        with pytest.raises(dist.DistBackendError, match="ranks 0 and 1 of the group have the same one"):
            dist.init_process_group("nccl", device_id=0)
        assert not dist.is_initialized()
    dist.init_process_group(device_id=0)
    assert dist.get_backend() == ("mpi" if count > 1 else "nccl")
    check_reductions(rank, count, rg.float32)
