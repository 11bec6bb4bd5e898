"""Every collective, for every dtype, beside NumPy. Each case is a function of the rank and the number of ranks."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest

import retrograd as rg
import retrograd.distributed as dist

CASES: dict[str, Callable[[int, int], None]] = {}
SIZES = (1, 5, 1000, 20_000)  # up to MPI's own sums, and beyond
WHOLE = (rg.uint8, rg.int8, rg.int16, rg.int32, rg.int64, rg.uint16, rg.uint32)
FLOATING = (rg.float16, rg.bfloat16, rg.float32, rg.float64)
COMPLEX = (rg.complex64, rg.complex128)
DTYPES = (rg.bool, *WHOLE, *FLOATING, *COMPLEX)
SUMS: dict[str, Any] = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum}
BITS: dict[str, Any] = {"BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor}


def case(name: str) -> Callable[[Callable[[int, int], None]], Callable[[int, int], None]]:
    def add(function: Callable[[int, int], None]) -> Callable[[int, int], None]:
        CASES[name] = function
        return function

    return add


def values(rank: int, size: int, dtype: Any) -> rg.Tensor:
    """Small whole numbers, so that sums are exact in any dtype; their own on each rank."""
    drawn = np.random.default_rng([rank, size]).integers(0, 4, size)
    if dtype in COMPLEX:
        return (rg.tensor(drawn) + 1j * rg.tensor(drawn[::-1].copy())).to(dtype)
    return rg.tensor(drawn).to(dtype)


def plain(tensor: rg.Tensor) -> Any:
    return (tensor.float() if tensor.dtype == rg.bfloat16 else tensor).numpy()


def expected(function: Any, count: int, size: int, dtype: Any) -> Any:
    """What NumPy makes of the values of all ranks."""
    total = plain(values(0, size, dtype))
    for rank in range(1, count):
        total = function(total, plain(values(rank, size, dtype)))
    return total


def assert_same(tensor: rg.Tensor, wanted: Any) -> None:
    found = plain(tensor)
    np.testing.assert_array_equal(found, np.asarray(wanted, found.dtype))


def check_reductions(dtype: Any, rank: int, count: int) -> None:
    kinds = {"SUM": np.add} if dtype in COMPLEX else {**SUMS, **(BITS if dtype not in FLOATING else {})}
    for size in SIZES:
        for name, function in kinds.items():
            op = getattr(dist.ReduceOp, name)
            wanted = expected(function, count, size, dtype)
            x = values(rank, size, dtype)
            assert dist.all_reduce(x, op) is None
            assert_same(x, wanted)
            root = count - 1
            x = values(rank, size, dtype)
            dist.reduce(x, root, op)
            assert_same(x, wanted if rank == root else plain(values(rank, size, dtype)))
            out = rg.empty(size, dtype=dtype)
            dist.reduce_scatter(out, [values(rank, size, dtype) for _ in range(count)], op)
            assert_same(out, wanted)
            parts = rg.cat([values(rank, size, dtype)] * count)
            out = rg.empty(size, dtype=dtype)
            dist.reduce_scatter_tensor(out, parts, op)
            assert_same(out, wanted)


def check_movements(dtype: Any, rank: int, count: int) -> None:
    for size in SIZES:
        own = values(rank, size, dtype)
        wanted = [plain(values(i, size, dtype)) for i in range(count)]
        x = own.clone()
        dist.broadcast(x, count - 1)
        assert_same(x, wanted[-1])
        outs = [rg.empty_like(own) for _ in range(count)]
        dist.all_gather(outs, own)
        for out, each in zip(outs, wanted, strict=True):
            assert_same(out, each)
        out = rg.empty(count, size, dtype=dtype)
        dist.all_gather_into_tensor(out, own)
        assert_same(out, np.stack(wanted))
        outs = [rg.empty_like(own) for _ in range(count)]
        dist.gather(own, outs if rank == 0 else None)
        if rank == 0:
            for out, each in zip(outs, wanted, strict=True):
                assert_same(out, each)
        out = rg.empty_like(own)
        dist.scatter(out, [values(i, size, dtype) for i in range(count)] if rank == 0 else None, 0)
        assert_same(out, wanted[rank])
        outs = [rg.empty_like(own) for _ in range(count)]
        dist.all_to_all(outs, [values(rank * count + i, size, dtype) for i in range(count)])
        for i, out in enumerate(outs):
            assert_same(out, plain(values(i * count + rank, size, dtype)))
        out = rg.empty(count * size, dtype=dtype)
        dist.all_to_all_single(out, rg.cat([values(rank * count + i, size, dtype) for i in range(count)]))
        assert_same(out, np.concatenate([plain(values(i * count + rank, size, dtype)) for i in range(count)]))


for each in DTYPES:
    CASES[f"reductions {each}"] = partial(check_reductions, each)
    CASES[f"movements {each}"] = partial(check_movements, each)


@case("averages")
def averages(rank: int, count: int) -> None:
    for dtype in (*FLOATING, *COMPLEX):
        for size in SIZES:
            x = values(rank, size, dtype) * count
            dist.all_reduce(x, dist.ReduceOp.AVG)
            assert_same(x, expected(np.add, count, size, dtype))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        dist.all_reduce(rg.ones(2, dtype=rg.int64), dist.ReduceOp.AVG)


@case("sums with a factor")
def sums_with_a_factor(rank: int, count: int) -> None:
    double = dist._make_nccl_premul_sum(2.0)
    for size in SIZES:
        wanted = 2 * expected(np.add, count, size, rg.float32)
        x = values(rank, size, rg.float32)
        dist.all_reduce(x, double)
        assert_same(x, wanted)
        x = values(rank, size, rg.float32)
        dist.reduce(x, 0, double)
        assert_same(x, wanted if rank == 0 else plain(values(rank, size, rg.float32)))
        source, out = rg.cat([values(rank, size, rg.float32)] * count), rg.empty(size)
        dist.reduce_scatter_tensor(out, source, double)
        assert_same(out, wanted)
        assert_same(source[:size], plain(values(rank, size, rg.float32)))


@case("halves are rounded once")
def halves_are_rounded_once(rank: int, count: int) -> None:
    for dtype, step in ((rg.float16, 1.0), (rg.bfloat16, 1.0)):
        big = 2048.0 if dtype == rg.float16 else 256.0
        x = rg.tensor([big if rank == 0 else step], dtype=dtype)
        dist.all_reduce(x)
        assert_same(x, plain(rg.tensor([big + step * (count - 1)]).to(dtype)))


@case("NaN stays NaN")
def nan_stays_nan(rank: int, count: int) -> None:
    for op in (dist.ReduceOp.MIN, dist.ReduceOp.MAX):
        x = rg.tensor([float("nan") if rank == 0 else 1.0, float("nan") if rank == count - 1 else 2.0])
        dist.all_reduce(x, op)
        assert x.isnan().all()


@case("the same bits on all ranks")
def the_same_bits(rank: int, count: int) -> None:
    for size in (1, 7, 3000, 50_000):
        x = rg.tensor(np.random.default_rng([rank, size]).standard_normal(size, np.float32))
        dist.all_reduce(x)
        outs = [rg.empty_like(x) for _ in range(count)]
        dist.all_gather(outs, x)
        assert all(rg.equal(out, x) for out in outs)


@case("sums in a fixed order")
def sums_in_a_fixed_order(rank: int, count: int) -> None:
    transport: Any = dist.group.WORLD.transport
    before, transport.fixed_order = transport.fixed_order, True
    try:
        for size in (3, 50_000):
            drawn = [np.random.default_rng([i, size]).standard_normal(size, np.float32) for i in range(count)]
            x = rg.tensor(drawn[rank])
            dist.all_reduce(x)
            wanted = drawn[0].copy()
            for other in drawn[1:]:
                wanted += other
            assert_same(x, wanted)
    finally:
        transport.fixed_order = before


@case("strided and small tensors")
def strided(rank: int, count: int) -> None:
    base = rg.full((6, 8), float(rank))
    x = base[:, ::2]
    dist.all_reduce(x)
    assert (x == sum(range(count))).all()
    assert (base[:, 1::2] == rank).all()
    y = rg.arange(12.0).reshape(3, 4).t() * (rank + 1)
    dist.broadcast(y, 0)
    assert rg.equal(y, rg.arange(12.0).reshape(3, 4).t())
    outs = [rg.zeros(4, 2)[:, 0] for _ in range(count)]
    dist.all_gather(outs, rg.full((4, 2), float(rank))[:, 1])
    assert [out.tolist() for out in outs] == [[float(i)] * 4 for i in range(count)]
    scalar = rg.tensor(1.0)
    dist.all_reduce(scalar)
    assert scalar.item() == count
    nothing = rg.empty(0)
    dist.all_reduce(nothing)
    dist.broadcast(nothing, 0)
    conjugate = rg.tensor([1 + 1j]).conj()
    dist.all_reduce(conjugate)
    assert conjugate.tolist() == [count * (1 - 1j)]
    leaf = rg.ones(3, requires_grad=True)
    dist.all_reduce(leaf)
    assert leaf.tolist() == [count] * 3
    assert leaf.is_leaf


@case("uneven parts")
def uneven(rank: int, count: int) -> None:
    outs = [rg.empty(i + 1) for i in range(count)]
    dist.all_gather(outs, rg.full((rank + 1,), float(rank)))
    assert [out.tolist() for out in outs] == [[float(i)] * (i + 1) for i in range(count)]
    sizes_in, sizes_out = [i + 1 for i in range(count)], [rank + 1] * count
    out = rg.empty(sum(sizes_out), 2)
    dist.all_to_all_single(out, rg.full((sum(sizes_in), 2), float(rank)), sizes_out, sizes_in)
    assert out[:, 1].tolist() == [float(i) for i in range(count) for _ in range(rank + 1)]


@case("several at once")
def several_at_once(rank: int, count: int) -> None:
    tensors = [rg.full((size,), float(rank)) for size in (3, 70_000, 5, 40_000)]
    works = [dist.all_reduce(x, async_op=True) for x in tensors for _ in range(2)]
    first = sum(range(count))
    assert all(work.wait() for work in works)
    assert all(work.is_completed() and work.is_success() and work.exception() is None for work in works)
    assert all((x == first * count).all() for x in tensors)
    assert works[0].result()[0] is tensors[0]
    work = dist.broadcast(x := rg.tensor([rank]), 0, async_op=True)
    halved = work.get_future().then(lambda future: future.value()[0] + 5)
    assert halved.wait().item() == 5
    assert x.item() == 0


@case("an operation ends by the helper thread alone")
def helper(rank: int, count: int) -> None:
    import time

    work: Any = dist.all_reduce(rg.ones(100_000), async_op=True)
    for _ in range(2000):
        if work._operation.over:
            break
        time.sleep(0.005)
    assert work._operation.over


@case("messages")
def messages(rank: int, count: int) -> None:
    after, before = (rank + 1) % count, (rank - 1) % count
    out = rg.empty(5)
    operations = [
        dist.P2POp(dist.isend, rg.full((5,), float(rank)), after),
        dist.P2POp(dist.irecv, out, before),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert out.tolist() == [float(before)] * 5
    if rank == 0:
        for tag in (7, 8):
            dist.send(rg.tensor([tag]), 1, tag=tag)
        big = rg.empty(100_000)
        assert dist.recv(big) == 1
        assert (big == 3).all()
    elif rank == 1:
        later, sooner = rg.empty(1, dtype=rg.int64), rg.empty(1, dtype=rg.int64)
        assert dist.recv(later, 0, tag=8) == 0
        dist.recv(sooner, 0, tag=7)
        assert (later.item(), sooner.item()) == (8, 7)
        dist.send(rg.full((100_000,), 3.0), 0)
    with pytest.raises(ValueError, match="destination rank should not be the same"):
        dist.send(rg.ones(1), rank)
    with pytest.raises(ValueError, match="Invalid ``op``"):
        dist.P2POp(dist.send, rg.ones(1), after)


@case("objects")
def objects(rank: int, count: int) -> None:
    things: list[Any] = [{"rank": rank}, "x" * rank, None] if rank == 0 else [None] * 3
    dist.broadcast_object_list(things, 0)
    assert things == [{"rank": 0}, "", None]
    gathered: list[Any] = [None] * count
    dist.all_gather_object(gathered, ["y"] * rank)
    assert gathered == [["y"] * i for i in range(count)]
    here: list[Any] | None = [None] * count if rank == 1 else None
    dist.gather_object(rank, here, dst=1)
    assert here == (list(range(count)) if rank == 1 else None)
    got = [None]
    dist.scatter_object_list(got, [i * i for i in range(count)] if rank == 0 else None, 0)
    assert got == [rank * rank]
    if rank == 0:
        dist.send_object_list([1, "a"], 1)
    elif rank == 1:
        pair: list[Any] = [None, None]
        assert dist.recv_object_list(pair, 0) == 0
        assert pair == [1, "a"]
    tensors: list[Any] = [None] * count
    dist.all_gather_object(tensors, rg.full((2,), rank))
    assert [each.tolist() for each in tensors] == [[i, i] for i in range(count)]


@case("several tensors in one operation")
def coalesced(rank: int, count: int) -> None:
    tensors = [rg.full((3,), float(rank)), rg.full((2, 2), float(rank + 1))]
    dist.all_reduce_coalesced(tensors)
    assert tensors[0].tolist() == [sum(range(count))] * 3
    assert tensors[1][0, 0] == sum(range(1, count + 1))
    mixed = [rg.ones(2), rg.full((2,), 1 + 1j)]
    assert dist.all_reduce_coalesced(mixed, async_op=True).then(lambda done: len(done.value())).wait() == 2
    assert (mixed[0].tolist(), mixed[1].tolist()) == ([count] * 2, [count * (1 + 1j)] * 2)
    with pytest.raises(ValueError, match="different dtypes"):
        dist.all_reduce_coalesced([rg.ones(2), rg.ones(2, dtype=rg.int64)])
    outs = [[rg.empty(2), rg.empty(3)] for _ in range(count)]
    dist.all_gather_coalesced(outs, [rg.full((2,), float(rank)), rg.full((3,), float(-rank))])
    assert [(a.tolist(), b.tolist()) for a, b in outs] == [
        ([i] * 2, [-i] * 3) for i in map(float, range(count))
    ]


@case("groups")
def groups(rank: int, count: int) -> None:
    last_two = dist.new_group([count - 1, count - 2])
    inside = rank >= count - 2
    assert (dist.get_rank(last_two), dist.get_world_size(last_two)) == (
        (rank - count + 2, 2) if inside else (-1, -1)
    )
    x = rg.ones(30_000)
    if inside:
        dist.all_reduce(x, group=last_two)
        assert (x == 2).all()
        y = rg.tensor([rank])
        dist.broadcast(y, count - 1, group=last_two)
        assert y.item() == count - 1
        dist.broadcast(y := rg.tensor([rank]), group=last_two, group_src=0)
        assert y.item() == count - 2
        assert dist.get_group_rank(last_two, count - 1) == 1
        assert dist.get_global_rank(last_two, 0) == count - 2
        assert dist.get_process_group_ranks(last_two) == [count - 2, count - 1]
        with pytest.raises(ValueError, match="Global rank 99 is not part of group"):
            dist.broadcast(y, 99, group=last_two)
        dist.barrier(last_two)
    else:
        assert last_two == dist.GroupMember.NON_GROUP_MEMBER
        with pytest.warns(UserWarning, match="which does not belong to the given group"):
            assert dist.broadcast(rg.ones(1), 0, group=last_two) is None
        with pytest.warns(UserWarning, match="which does not belong to the given group"):
            assert dist.all_reduce(x, group=last_two) is None
        with pytest.warns(UserWarning, match="which does not belong to the given group"):
            dist.gather_object(rank, None, count - 1, group=last_two)
        assert dist.get_process_group_ranks(last_two) == [count - 2, count - 1]
        assert dist.get_global_rank(last_two, 0) == count - 2
        assert dist.get_rank(last_two) == dist.get_world_size(last_two) == -1
        for refused in (dist.get_backend, lambda group: dist.send(x, count - 1, group=group)):
            with pytest.raises(ValueError, match="Invalid process group"):
                refused(last_two)
    for other in (3, "model", dist.group):  # a mistake is no group that this rank is not in
        with pytest.raises(ValueError, match="is not initialized in the world group map"):
            dist.all_reduce(x, group=other)
        with pytest.raises(ValueError, match="is not registered"):
            dist.get_rank(other)
        with pytest.raises(ValueError, match="Invalid process group"):
            dist.destroy_process_group(other)
    own, every = dist.new_subgroups(1)
    assert dist.get_process_group_ranks(own) == [rank]
    assert len(every) == count
    dist.all_reduce(x := rg.tensor([rank]), group=own)
    assert x.item() == rank
    unsorted = dist.new_group([1, 0], sort_ranks=False)
    if rank < 2:
        assert dist.get_rank(unsorted) == 1 - rank
        local = dist.new_group([0, 1], use_local_synchronization=True)
        dist.all_reduce(x := rg.ones(1), group=local)
        assert x.item() == 2
        dist.destroy_process_group(local)
        with pytest.raises(ValueError, match=r"all_reduce: .* was given back by destroy_process_group"):
            dist.all_reduce(x, group=local)
    with pytest.raises(ValueError, match="duplicate"):
        dist.new_group([0, 0])
    with pytest.raises(
        ValueError, match=re.escape(f"Rank {count} is out of range. Valid ranks are 0 to {count - 1}")
    ):
        dist.new_group([0, count])
    if inside:
        dist.destroy_process_group(last_two)


@case("two groups at once")
def two_groups_at_once(rank: int, count: int) -> None:
    one, two = dist.new_group(), dist.new_group()
    x, y = rg.full((50_000,), float(rank)), rg.full((50_000,), 1.0)
    pair = [(x, one), (y, two)] if rank % 2 else [(y, two), (x, one)]  # in different orders
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in pair]
    for work in works:
        work.wait()
    assert (x == sum(range(count))).all()
    assert (y == count).all()


@case("wrong arguments")
def wrong(rank: int, count: int) -> None:
    one = rg.ones(2)
    with pytest.raises(TypeError, match="Expected parameter `tensor` of type torch.Tensor"):
        dist.all_reduce([one])
    with pytest.raises(TypeError, match="Expected parameter `tensor_list` of type List"):
        dist.all_gather(rg.ones(2, 2), one)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        dist.all_reduce(one, "sum")
    with pytest.raises(ValueError, match="Must specify global_rank or group_rank"):
        dist.broadcast(one)
    with pytest.raises(ValueError, match="Can't specify both group_rank and global_rank"):
        dist.broadcast(one, 0, group_src=0)
    with pytest.raises(RuntimeError, match=f"expected length {count}, got 1"):
        dist.all_gather([one], one)
    with pytest.raises(ValueError, match="tensors with different dtypes"):
        dist.all_gather([one] * count, one.double())
    with pytest.raises(RuntimeError, match="invalid tensor size"):
        dist.all_gather([rg.ones(3)] * count, one)
    with pytest.raises(RuntimeError, match="invalid tensor size"):
        dist.all_gather_into_tensor(rg.ones(2 * count + 1), one)
    with pytest.raises(RuntimeError, match="world size"):
        dist.reduce_scatter_tensor(one, rg.ones(2 * count + 1))
    with pytest.raises(RuntimeError, match="Split sizes doesn't match total dim 0 size"):
        dist.all_to_all_single(rg.ones(count), rg.ones(count), [2] * count, [1] * count)
    with pytest.raises(RuntimeError, match="Cannot use ReduceOp.BAND with non-integral dtype"):
        dist.all_reduce(one, dist.ReduceOp.BAND)
    with pytest.raises(ValueError, match="all_reduce does not support RedOpType.MAX on complex tensors"):
        dist.all_reduce(one + 1j, dist.ReduceOp.MAX)
    with pytest.raises(
        ValueError, match="must NOT be specified on non-destination ranks" if rank else "must be specified"
    ):
        dist.gather(one, [one] * count if rank else None, 0)
    with pytest.raises(
        ValueError, match="must NOT be specified on non-source ranks" if rank else "must be specified"
    ):
        dist.scatter(one, [one] * count if rank else None, 0)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("mpi")


@case("ranks compare what they do")
def compared(rank: int, count: int) -> None:
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    try:
        dist.all_reduce(x := rg.ones(3))
        assert x[0] == count
        with pytest.raises(
            dist.DistBackendError, match=r"(?s)not the same on all ranks.*rank 0: all_reduce.*rank 1"
        ):
            dist.all_reduce(rg.ones(3 + rank))
    finally:
        dist.set_debug_level(dist.DebugLevel.OFF)


@case("parameters that differ")
def parameters_that_differ(rank: int, count: int) -> None:
    dist.verify_agreement(rg.nn.Linear(3, 2).named_parameters())
    width = 2 if rank else 3
    wanted = (
        r"(?s)parameter 0 is not the same.*rank 0: weight: float32 \[3, 4\].*rank 1: weight: float32 \[2, 4\]"
    )
    with pytest.raises(dist.DistBackendError, match=wanted):
        dist.verify_agreement(rg.nn.Linear(4, width).named_parameters())
    with pytest.raises(dist.DistBackendError, match=r"(?s)rank 0 has 2, rank 1 has 1.*no parameter 1"):
        dist.verify_agreement(rg.nn.Linear(4, 2, bias=rank == 0).parameters())
    with pytest.raises(dist.DistBackendError, match=r"(?s)rank 0: float32 \[2\].*rank 1: float64 \[2\]"):
        dist.verify_agreement([rg.ones(2, dtype=rg.float64 if rank else rg.float32)])


@case("a forked process is no rank")
def forked(rank: int, count: int) -> None:
    import os

    if not hasattr(os, "fork"):
        return
    pid = os.fork()
    if pid == 0:
        try:
            dist.all_reduce(rg.ones(1))
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) and dist.get_rank() == rank else 1)
        os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    dist.all_reduce(x := rg.ones(1))
    assert x.item() == count


@case("a loader with workers")
def loader(rank: int, count: int) -> None:
    loaded = rg.utils.data.DataLoader(list(range(6)), batch_size=2, num_workers=1)
    for batch in loaded:
        dist.all_reduce(batch)
    assert batch.tolist() == [4 * count, 5 * count]


@case("barriers")
def barriers(rank: int, count: int) -> None:
    dist.barrier()
    dist.monitored_barrier()
    dist.barrier(async_op=True).wait()


@case("a rank that does not come to a monitored barrier")
def missed_barrier(rank: int, count: int) -> None:
    late, soon = count - 1, timedelta(seconds=0.5)
    if rank == 0:
        with pytest.raises(
            RuntimeError, match=rf"Rank {late} failed to pass monitoredBarrier(.|\n)*rank {late} is at"
        ):
            dist.monitored_barrier(timeout=soon)
        with pytest.raises(RuntimeError, match="Rank 0 timed out in monitoredBarrier after 0 ms"):
            dist.monitored_barrier(timeout=timedelta(0))
    elif rank != late:
        with pytest.raises(RuntimeError, match=f"Rank {rank} successfully reached monitoredBarrier"):
            dist.monitored_barrier(timeout=timedelta(seconds=20))
    dist.barrier()  # operations of the group go on
    if rank == late:
        with pytest.raises(RuntimeError, match="waiting for send/recv from rank 0"):
            dist.monitored_barrier(timeout=soon)
    dist.barrier()
    if rank == 0:
        others = ", ".join(map(str, range(1, count)))
        with pytest.raises(RuntimeError, match=f"Ranks {others} failed to pass monitoredBarrier in 100 ms"):
            dist.monitored_barrier(timeout=0.1, wait_all_ranks=True)
    dist.barrier()
    dist.monitored_barrier()  # and so do barriers: what came before has left nothing behind
    pair = dist.new_group([0, 1])
    if rank < 2:
        pair.monitored_barrier(timedelta(seconds=20))


@case("operations as methods of a group")
def methods(rank: int, count: int) -> None:
    group = dist.distributed_c10d._get_default_group()
    total = count * (count + 1) / 2
    group.allreduce([x := rg.full((2,), rank + 1.0)]).wait()
    assert x.tolist() == [total] * 2
    options = dist.AllreduceOptions()
    options.reduceOp, options.timeout = dist.ReduceOp.MAX, timedelta(seconds=30)
    assert group.allreduce([x := rg.tensor([float(rank)])], options).get_future().wait()[0] is x
    assert x.item() == count - 1
    group.allreduce(x := rg.tensor([float(rank)]), dist.ReduceOp.MIN).wait()
    assert x.item() == 0
    group.broadcast(x := rg.tensor([float(rank)]), 1).wait()
    assert x.item() == 1
    options = dist.BroadcastOptions()
    options.rootRank = count - 1
    group.broadcast([x := rg.tensor([float(rank)])], options).wait()
    assert x.item() == count - 1
    group.reduce(x := rg.tensor([float(rank)]), 1, dist.ReduceOp.SUM).wait()
    assert x.item() == (total - count if rank == 1 else rank)
    rows = [rg.empty(1) for _ in range(count)]
    group.allgather([rows], [rg.tensor([float(rank)])]).wait()
    group._allgather_base(whole := rg.empty(count), rg.tensor([float(rank)])).wait()
    assert rg.cat(rows).tolist() == whole.tolist() == [float(i) for i in range(count)]
    group.gather([rows] if rank == 0 else [], [rg.tensor([rank + 0.5])], 0).wait()
    assert rank or rg.cat(rows).tolist() == [i + 0.5 for i in range(count)]
    group.scatter(
        x := rg.empty(1), [rg.tensor([i * 2.0]) for i in range(count)] if rank == 0 else [], 0
    ).wait()
    assert x.item() == 2 * rank
    group.reduce_scatter([x], [[rg.tensor([float(i)]) for i in range(count)]]).wait()
    assert x.item() == count * rank
    group._reduce_scatter_base(x, rg.arange(float(count))).wait()
    assert x.item() == count * rank
    group.alltoall(rows, [rg.tensor([10.0 * rank + i]) for i in range(count)]).wait()
    group.alltoall_base(whole, rg.arange(float(count)) + 10 * rank, [], []).wait()
    assert rg.cat(rows).tolist() == whole.tolist() == [10.0 * i + rank for i in range(count)]
    if rank == 0:
        group.send([x], 1, 5).wait()
    elif rank == 1:
        work = group.recv_anysource([x := rg.empty(1)], 5)
        work.wait()
        assert (x.item(), work._source_rank()) == (0, 0)
    group.barrier().wait()
    with pytest.raises(ValueError, match="one tensor of each rank"):
        group.allreduce([x, x])


@case("a world that was given back")
def again(rank: int, count: int) -> None:
    """Stays the last one: the names of groups begin anew."""
    dist.destroy_process_group()
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
    dist.init_process_group("gloo", rank=rank, world_size=count)
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (rank, count, "mpi")
    dist.all_reduce(x := rg.ones(2))
    assert x.tolist() == [count, count]


@case("a grid of ranks")
def grid_of_ranks(rank: int, count: int) -> None:
    if count % 2:
        return
    mesh = dist.init_device_mesh("cpu", (2, count // 2), mesh_dim_names=("data", "model"))
    row, column = divmod(rank, count // 2)
    assert mesh.get_coordinate() == (row, column)
    assert (mesh.get_local_rank("data"), mesh.get_local_rank(1)) == (row, column)
    assert (mesh.shape, mesh.size(), mesh.size(0), mesh.ndim) == ((2, count // 2), count, 2, 2)
    x = rg.tensor([float(rank)])
    dist.all_reduce(x, group=mesh.get_group("model"))
    assert x.item() == sum(range(row * count // 2, (row + 1) * count // 2))
    part = mesh["data"]
    assert part.mesh.tolist() == [column, column + count // 2]
    assert dist.get_process_group_ranks(part.get_group()) == part.mesh.tolist()
    assert mesh["model", "data"].mesh.tolist() == mesh.mesh.t().tolist()
    assert repr(part) == "DeviceMesh((data=2), 'cpu')"
    with pytest.raises(RuntimeError, match="mesh_dim"):
        mesh.get_group()
    with pytest.raises(KeyError, match="Invalid mesh_dim_names"):
        mesh["x"]
    with pytest.raises(RuntimeError, match="bigger than default world size"):
        dist.init_device_mesh("cpu", (count, 2))
    with pytest.raises(RuntimeError, match="Only 1D device mesh is supported"):
        rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(2, 1), device_mesh=mesh)
    model = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(2, 1), device_mesh=part)
    model(rg.ones(1, 2) * rank).sum().backward()
    assert model.module.weight.grad[0, 0].item() == (column + column + count // 2) / 2
