"""One process, with no MPI: a world of one rank."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest

import retrograd as rg
import retrograd.distributed as dist
from retrograd.distributed.environment import seat_of_mpi, seat_of_torchrun
from retrograd.distributed.rendezvous import Registry

VARIABLES = (
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
    "RANK",
    "WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def world():
    dist.init_process_group("mpi")
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_everything_before_the_start_says_so():
    assert dist.is_available()
    assert not dist.is_initialized()
    assert dist.group.WORLD is None
    for function in (dist.get_rank, dist.get_world_size, dist.barrier, dist.get_backend, dist.new_group):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            function()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.all_reduce(rg.ones(1))


def test_a_world_of_one(world):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "mpi")
    x = rg.tensor([1.0, 2.0])
    dist.all_reduce(x, dist.ReduceOp.AVG)
    dist.all_reduce(x, dist._make_nccl_premul_sum(3.0))
    assert x.tolist() == [3.0, 6.0]
    dist.reduce(x, 0)
    dist.broadcast(x, 0)
    outs = [rg.empty(2)]
    dist.all_gather(outs, x)
    dist.gather(x, gathered := [rg.empty(2)])
    dist.scatter(scattered := rg.empty(2), [x])
    dist.reduce_scatter(reduced := rg.empty(2), [x])
    dist.all_to_all(exchanged := [rg.empty(2)], [x])
    dist.all_gather_into_tensor(joined := rg.empty(1, 2), x)
    for found in (*outs, *gathered, scattered, reduced, *exchanged, joined[0]):
        assert rg.equal(found, x)
    work = dist.all_reduce(x, async_op=True)
    assert work.wait()
    assert work.get_future().wait()[0] is x
    things = [None]
    dist.all_gather_object(things, {"a": 1})
    assert things == [{"a": 1}]
    dist.barrier()
    dist.isend(x, 0, tag=4)
    assert dist.recv(received := rg.empty(2), 0, tag=4) == 0
    assert rg.equal(received, x)
    assert dist.get_process_group_ranks(dist.new_group([0])) == [0]


def test_a_message_that_never_comes_times_out():
    dist.init_process_group("mpi", timeout=timedelta(milliseconds=50))
    try:
        with pytest.raises(
            dist.DistBackendError, match=r"irecv\(from 0, tag 0\).*has waited for its timeout of 0.05 seconds"
        ):
            dist.recv(rg.empty(1), 0)
    finally:
        dist.destroy_process_group()


def test_wrong_starts(monkeypatch):
    with pytest.raises(TypeError, match="Expected timeout argument to be of type datetime.timedelta"):
        dist.init_process_group("mpi", timeout=3)
    with pytest.raises(AssertionError, match="Unknown backend type smoke"):
        dist.init_process_group("smoke")
    with pytest.raises(ValueError, match="needs a GPU"):
        dist.init_process_group("nccl")
    with pytest.raises(AssertionError, match="Cannot specify both init_method and store"):
        dist.init_process_group("mpi", init_method="env://", store=object())
    with pytest.raises(ValueError, match="Give both rank and world_size"):
        dist.init_process_group("mpi", world_size=2)
    with pytest.raises(ValueError, match="environment variable MASTER_ADDR expected, but not set"):
        dist.init_process_group("mpi", world_size=2, rank=0)
    with pytest.raises(ValueError, match="by 'env://', 'tcp://host:port' or 'file:///path' here"):
        dist.init_process_group("mpi", "smoke://x", world_size=2, rank=0)
    assert not dist.is_initialized()


def test_a_start_without_mpi_leaves_nothing_behind(tmp_path):
    program = (
        "import os, sys; sys.modules['mpi4py'] = None\n"
        "import retrograd.distributed as dist\n"
        "try: dist.init_process_group('mpi', 'file://' + sys.argv[1], world_size=2, rank=0)\n"
        "except RuntimeError as error: print(\"pip install 'retrograd[mpi]'\" in str(error))\n"
        "print([n for n in os.environ if n.startswith('PMI_')], dist.is_initialized())"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.stdout, done.stderr) == ("True\n[] False\n", "")


def test_it_needs_no_mpi4py():
    program = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import retrograd as rg, retrograd.distributed as dist\n"
        "dist.init_process_group('gloo'); x = rg.ones(2); dist.all_reduce(x); dist.barrier(); print(x.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[1.0, 1.0]\n", "")


def test_names_of_backends():
    assert dist.Backend("GLOO") == dist.Backend.GLOO == "gloo"
    with pytest.raises(ValueError, match="must be string-ish"):
        dist.Backend(3)
    assert not dist.is_gloo_available()
    assert dist.get_default_backend_for_device("cuda:1") == "nccl"
    assert not dist.is_backend_available("gloo")


@pytest.mark.parametrize(
    ("variables", "seat"),
    [
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
            (1, 4, 0, None),
        ),
        (
            {"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "3"},
            (2, 3, 2, 3),
        ),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1"}, (5, 8, 1, None)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),  # the batch script itself
        ({"RANK": "1", "WORLD_SIZE": "2"}, None),
    ],
)
def test_who_has_started_the_process(variables, seat, monkeypatch):
    for name in (
        "SLURM_STEP_NUM_TASKS",
        "SLURM_LOCALID",
        "PMI_SIZE",
        "OMPI_COMM_WORLD_SIZE",
        "MPI_LOCALRANKID",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert seat_of_mpi() == seat
    if "RANK" in variables:
        assert seat_of_torchrun() == (1, 2, None, None)


def test_reductions_have_pytorchs_names():
    assert repr(dist.ReduceOp.SUM) == "<RedOpType.SUM: 0>"
    assert int(dist.ReduceOp.BXOR) == 7
    assert dist.ReduceOp(dist.ReduceOp.MAX) == dist.ReduceOp.MAX
    assert dist.ReduceOp(dist.ReduceOp.MAX) != dist.ReduceOp.MIN
    assert dist.ReduceOp.RedOpType.AVG is dist.ReduceOp.AVG


def test_each_job_of_spawned_ranks_has_shared_memory_of_its_own():
    # MPICH calls it by this name: what a job that was killed has left there must not be found by the next one.
    jobs = [Registry(2) for _ in range(2)]
    names = [[job.answer({"cmd": "get_my_kvsname"}, None) for _ in range(2)] for job in jobs]
    assert names[0][0] == names[0][1]
    assert names[0][0] != names[1][0]
