"""DataLoader beside PyTorch's, and what its workers do when things go wrong."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.utils.data import DataLoader, TensorDataset
from retrograd.utils.data.parcel import HAS_SEGMENTS, discard, pack, remove, unpack

from . import samples
from .samples import Deadly, Failing, Numbers, Started, Stream, Who
from .test_datasets import both, plain

METHODS = ["fork", "spawn", "forkserver"] if os.name == "posix" else ["spawn"]
MEMORY = Path("/dev/shm")  # where Linux has shared memory


# From Python 3.12 on, a fork of a process with several threads warns; those that torch starts are idle.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def segments():
    """What is left of this process's shared memory."""
    return sorted(path.name for path in MEMORY.glob(f"rg{os.getpid()}_*")) if MEMORY.is_dir() else []


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = segments()
    yield
    gc.collect()
    assert segments() == before


def loaders(torch, make):
    """What loaders of the two libraries give, over a dataset of numbers, for what `make` gives the loader."""

    def program(lib, d):
        return list(d.DataLoader(**make(lib, d)))

    both(torch, program)


class Letters:
    def __len__(self):
        return 7

    def __getitem__(self, i):
        return "abcdefg"[i]


class Ten:
    """Can be asked for several samples at once."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return i

    def __getitems__(self, indices):
        return [i * 100 for i in indices]


def stream(d, length=None):
    class Row(d.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    if length is not None:
        Row.__len__ = lambda self: length
    return Row()


OPTIONS = [
    lambda t, d: {"dataset": Letters()},
    lambda t, d: {"dataset": Letters(), "batch_size": 3},
    lambda t, d: {"dataset": Letters(), "batch_size": 3, "drop_last": True},
    lambda t, d: {"dataset": Letters(), "batch_size": None},
    lambda t, d: {"dataset": [np.ones(2)], "batch_size": None},
    lambda t, d: {"dataset": Ten(), "batch_size": 4},
    lambda t, d: {"dataset": range(6), "sampler": [5, 1, 3], "batch_size": 2},
    lambda t, d: {"dataset": range(6), "batch_sampler": [[0], [1, 2, 3]]},
    lambda t, d: {"dataset": range(6), "collate_fn": sum, "batch_size": 3},
    lambda t, d: {"dataset": range(6), "collate_fn": str, "batch_size": None},
    lambda t, d: {"dataset": d.TensorDataset(t.arange(5), t.ones(5, 2)), "batch_size": 2},
    lambda t, d: {"dataset": stream(d)},
    lambda t, d: {"dataset": stream(d), "batch_size": 2},
    lambda t, d: {"dataset": stream(d), "batch_size": 2, "drop_last": True},
    lambda t, d: {"dataset": stream(d), "batch_size": None},
    lambda t, d: {"dataset": stream(d), "shuffle": False},
    lambda t, d: {"dataset": {"a": 1}, "sampler": ["a"], "batch_size": None},
    # refused
    lambda t, d: {"dataset": range(3), "num_workers": -1},
    lambda t, d: {"dataset": range(3), "timeout": -1},
    lambda t, d: {"dataset": range(3), "prefetch_factor": 2},
    lambda t, d: {"dataset": range(3), "num_workers": 1, "prefetch_factor": -1},
    lambda t, d: {"dataset": range(3), "persistent_workers": True},
    lambda t, d: {"dataset": stream(d), "shuffle": True},
    lambda t, d: {"dataset": stream(d), "sampler": [1]},
    lambda t, d: {"dataset": stream(d), "batch_sampler": [[1]]},
    lambda t, d: {"dataset": range(3), "sampler": [1], "shuffle": True},
    lambda t, d: {"dataset": range(3), "batch_sampler": [[1]], "batch_size": 2},
    lambda t, d: {"dataset": range(3), "batch_sampler": [[1]], "shuffle": True},
    lambda t, d: {"dataset": range(3), "batch_sampler": [[1]], "drop_last": True},
    lambda t, d: {"dataset": range(3), "batch_size": None, "drop_last": True},
    lambda t, d: {"dataset": range(3), "batch_size": 0},
    lambda t, d: {"dataset": range(3), "num_workers": 1, "multiprocessing_context": "x"},
    lambda t, d: {"dataset": range(3), "num_workers": 1, "multiprocessing_context": 3},
    lambda t, d: {"dataset": range(3), "multiprocessing_context": "fork"},
    lambda t, d: {"dataset": [], "shuffle": True},
]


@pytest.mark.parametrize("i", range(len(OPTIONS)))
def test_options_beside_pytorch(torch, i):
    loaders(torch, OPTIONS[i])


def test_lengths_and_attributes(torch):
    for program in (
        lambda t, d: [
            len(d.DataLoader(range(10), n, drop_last=drop)) for n in (1, 3, 5) for drop in (False, True)
        ],
        lambda t, d: [
            len(d.DataLoader(range(10), batch_size=None)),
            len(d.DataLoader(range(4), sampler=[1, 2])),
        ],
        lambda t, d: [
            len(d.DataLoader(stream(d, 7), n, drop_last=drop)) for n in (2, 7) for drop in (False, True)
        ],
        lambda t, d: len(d.DataLoader(stream(d))),
        lambda t, d: setattr(d.DataLoader(range(3)), "batch_size", 2),
        lambda t, d: setattr(d.DataLoader(range(3)), "dataset", 2),
        lambda t, d: [
            getattr(d.DataLoader(range(3), 2), name)
            for name in (
                "batch_size",
                "drop_last",
                "num_workers",
                "prefetch_factor",
                "timeout",
                "pin_memory",
                "in_order",
            )
        ],
        lambda t, d: d.DataLoader(range(3), num_workers=2).prefetch_factor,
        lambda t, d: sorted(int(i) for batch in d.DataLoader(range(9), 2, shuffle=True) for i in batch),
    ):
        both(torch, program)


def test_a_dataset_that_says_it_is_shorter_than_it_is():
    loader = DataLoader(stream(rg.utils.data, 2), batch_size=None)
    assert len(loader) == 2
    iterator = iter(loader)
    assert [next(iterator), next(iterator)] == [0, 1]
    with pytest.warns(UserWarning, match="was reported to be 2 .* but 3 samples have been fetched"):
        next(iterator)


def test_options_that_warn():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        list(DataLoader(range(2), pin_memory=True))
    with pytest.warns(UserWarning, match="will create 999 worker processes"):
        DataLoader(range(2), num_workers=999)


def test_the_same_generator_gives_the_same_batches():
    def run(**options):
        loader = DataLoader(range(20), 3, shuffle=True, generator=rg.Generator().manual_seed(1), **options)
        return [[batch.tolist() for batch in loader] for _ in range(2)]

    alone = run()
    assert alone == run()
    assert alone[0] != alone[1]
    assert alone == run(num_workers=2)


# ---- workers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_workers_give_what_one_process_gives(method):
    alone = [plain(batch) for batch in DataLoader(Numbers(), 3)]
    for side in (4, 100):  # small batches travel through the pipe, large ones through shared memory
        loader = DataLoader(Numbers(side=side), 3, num_workers=2, multiprocessing_context=method)
        found = list(loader)
        assert [batch["i"].tolist() for batch in found] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
        assert found[1]["x"].shape == (3, side, side)
        assert found[1]["x"][2, 0, 0].item() == 5.0
        if side == 4:
            assert [plain(batch) for batch in found] == alone


def test_batches_can_be_written_and_saved(tmp_path):
    (batch,) = DataLoader(Numbers(4, 100), 4, num_workers=1)
    batch["x"] += 1
    batch["a"][0] = 7
    rg.save(batch, tmp_path / "batch.pt")
    assert rg.load(tmp_path / "batch.pt")["x"][3, 0, 0].item() == 4.0


def test_streams_are_divided_between_workers(torch):
    def program(lib, d):
        class Row(d.IterableDataset):
            def __iter__(self):
                info = d.get_worker_info()
                return iter(range(info.id, 11, 2 if info.id else 3))

        how = {"num_workers": 2, "multiprocessing_context": "fork"}
        return [list(d.DataLoader(Row(), n, prefetch_factor=p, **how)) for n in (None, 1, 3) for p in (1, 3)]

    both(torch, program)


def test_batches_as_they_come():
    loader = DataLoader(range(20), 2, num_workers=2, in_order=False)
    assert sorted(int(i) for batch in loader for i in batch) == list(range(20))
    assert sorted(DataLoader(Stream(9), None, num_workers=2, in_order=False)) == list(range(9))


@pytest.mark.parametrize("method", METHODS[:2])
def test_workers_know_who_they_are(method):
    loader = DataLoader(Who(), None, num_workers=2, multiprocessing_context=method)
    loader.generator = rg.Generator().manual_seed(4)
    found = list(loader)
    assert [row[:2] for row in found] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert [row[2] for row in found] == [row[3] for row in found]
    assert found[1][2] == found[0][2] + 1
    assert len({row[4] for row in found}) == 4
    assert len({row[5] for row in found} - {os.getpid()}) == 2
    loader.generator = rg.Generator().manual_seed(4)
    assert [row[:5] for row in loader] == [row[:5] for row in found]
    assert rg.utils.data.get_worker_info() is None


def test_workers_are_started_by_a_function():
    assert list(DataLoader(Started(), None, num_workers=2, worker_init_fn=samples.note)) == [[0], [1]]
    with pytest.raises(
        ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0.*worker 0 does not"
    ):
        list(DataLoader(range(3), num_workers=1, worker_init_fn=samples.broken_start))


def test_persistent_workers_stay():
    class Process(rg.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            return os.getpid()

    loader = DataLoader(
        Process(), None, num_workers=2, persistent_workers=True, multiprocessing_context="fork"
    )
    first = set(loader)
    for _ in loader:
        break
    assert set(loader) == first
    fresh = DataLoader(Process(), None, num_workers=2, multiprocessing_context="fork")
    assert set(fresh).isdisjoint(set(fresh))


def test_persistent_workers_read_a_stream_from_the_beginning():
    loader = DataLoader(Stream(7), None, num_workers=2, persistent_workers=True)
    assert [list(loader) for _ in range(3)] == [list(range(7))] * 3


@pytest.mark.parametrize(("prefetch", "workers"), [(1, 1), (1, 2), (5, 2), (100, 2)])
def test_any_number_of_batches_ahead(prefetch, workers):
    loader = DataLoader(range(150), 2, num_workers=workers, prefetch_factor=prefetch)
    assert [int(i) for batch in loader for i in batch] == list(range(150))


def test_long_orders_do_not_block():
    """Lists of numbers larger than a pipe, while batches larger than a pipe wait to be sent."""
    order = [[i] * 40_000 for i in range(12)]
    loader = DataLoader(range(12), batch_sampler=order, num_workers=2, prefetch_factor=4, collate_fn=list)
    assert [(batch[0], len(batch)) for batch in loader] == [(i, 40_000) for i in range(12)]


# ---- errors -------------------------------------------------------------------------------------------------------


def test_errors_of_workers_come_with_their_traceback():
    for kind, expected in (
        (ValueError, ValueError), (KeyError, KeyError), (samples.NeedsTwo, RuntimeError), (OSError, OSError),
    ):  # fmt: skip
        loader = DataLoader(Failing(kind), num_workers=2)
        with pytest.raises(expected) as caught:
            list(loader)
        text = str(caught.value)
        assert text.startswith(f"Caught {kind.__name__} in DataLoader worker process 0.\nOriginal Traceback")
        assert "in __getitem__" in text
        assert "sample 2 is bad" in text


def test_one_may_go_on_after_an_error():
    iterator = iter(DataLoader(Failing(ValueError), None, num_workers=2))
    found = []
    while True:
        try:
            found.append(next(iterator))
        except ValueError:
            found.append("bad")
        except StopIteration:
            break
    assert found == [0, 1, "bad", 3, 4, 5]


def test_errors_of_streams():
    with pytest.raises(ValueError, match="the stream broke"):
        list(DataLoader(Stream(fail=True), num_workers=2))


@pytest.mark.parametrize(
    ("how", "text"), [("kill", "was killed by signal 9"), ("exit", "ended with exit code 3")]
)
def test_a_worker_that_dies_is_noticed(how, text):
    loader = DataLoader(Deadly(how), num_workers=2, multiprocessing_context="fork")
    began = time.monotonic()
    with pytest.raises(
        RuntimeError, match=rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: it {text}"
    ):
        list(loader)
    assert time.monotonic() - began < 30
    gc.collect()
    assert segments() == []


def test_a_worker_that_does_not_answer(monkeypatch):
    monkeypatch.setattr("retrograd.utils.data.pool.PATIENCE", 0.2)
    loader = DataLoader(Deadly("sleep"), num_workers=2, timeout=1, multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        list(loader)


def test_leaving_in_the_middle_ends_the_workers():
    for batch in DataLoader(Numbers(20, 100), 2, num_workers=2):
        assert batch["i"].tolist() == [0, 1]
        break
    gc.collect()
    assert segments() == []


PROGRAM = """
import os, signal, sys, time
from retrograd.utils.data import DataLoader
from tests.data.samples import Numbers

class Slow(Numbers):
    def __getitem__(self, i):
        time.sleep(0.05)
        return super().__getitem__(i)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which programs in the background do not have
    loader = DataLoader(Slow(10_000, 100), 4, num_workers=2, multiprocessing_context="fork")
    iterator = iter(loader)
    next(iterator)
    print(*[p.pid for p in iterator._pool._processes], flush=True)
    for _ in iterator:
        pass
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_is_interrupted_leaves_nothing(number, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    root = Path(__file__).parent.parent.parent
    path = os.pathsep.join([str(root), str(Path(rg.__file__).parent.parent)])
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
    )  # fmt: skip
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: the workers hear it too
    else:
        process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    if number == signal.SIGINT:
        assert said.count("KeyboardInterrupt") == 1
        assert "Process" not in said  # the workers are quiet
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and (any(map(alive, pids)) or segments()):
        time.sleep(0.1)
    assert not any(map(alive, pids))
    assert segments() == []


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


# ---- parcels ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not HAS_SEGMENTS, reason="segments are POSIX's")
def test_arrays_travel_through_shared_memory():
    value = {
        "x": rg.arange(10_000.0),
        "y": np.ones((3, 4), order="F"),
        "z": rg.zeros(0),
        "t": rg.ones(6, 5).t()[1:],
    }
    parcel = pack(value, "rgtest_1", 1000)
    assert parcel.segment == "rgtest_1"
    assert parcel.data == []
    found = unpack(parcel)
    for name, sent in value.items():
        np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(sent))
    found["x"][0] = 5.0
    assert segments() == []
    discard(pack(value, "rgtest_2", 0))
    discard(pack(1, "rgtest_3", 1000))


@pytest.mark.skipif(not HAS_SEGMENTS, reason="segments are POSIX's")
def test_a_segment_that_was_never_given_a_size_is_removed():
    from _posixshmem import shm_open

    os.close(shm_open("/rgtest_4", os.O_CREAT | os.O_RDWR, mode=0o600))
    remove("rgtest_4")
    assert segments() == []
    remove("rgtest_4")


def test_a_dataset_of_tensors_is_read_by_workers():
    dataset = TensorDataset(rg.arange(12.0).reshape(6, 2), rg.arange(6))
    found = list(DataLoader(dataset, 4, num_workers=1))
    assert [y.tolist() for _, y in found] == [[0, 1, 2, 3], [4, 5]]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_workers_killed_at_any_time_leave_nothing():
    """A batch that has come when the death of its worker is noticed is thrown away, too."""
    chance = random.Random(3)
    for _ in range(25):
        loader = DataLoader(
            Numbers(80, 64), chance.choice([1, 4]), num_workers=chance.choice([1, 2]), multiprocessing_context="fork",
            prefetch_factor=chance.choice([1, 2, 8]), in_order=chance.random() < 0.7,
        )  # fmt: skip
        iterator = iter(loader)
        for _ in range(chance.randrange(1, 8)):
            next(iterator)
        victim = chance.choice(iterator._pool._processes)
        os.kill(victim.pid, chance.choice([signal.SIGKILL, signal.SIGTERM]))
        with contextlib.suppress(RuntimeError):  # it may have sent all that is wanted of it
            list(iterator)
        del iterator, loader
        gc.collect()
        assert segments() == []


def test_workers_read_at_least_one_batch_ahead():
    loader = DataLoader(range(3), num_workers=1, prefetch_factor=0)
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(loader)


def test_classes_that_take_the_type_of_a_sample(torch):
    """As annotations and packages write them: `DataLoader[int]`, `class Mine(DataLoader[int])`."""

    def program(lib, d):
        kinds = [
            getattr(d, name) for name in ("DataLoader", "StackDataset", "ChainDataset", "DistributedSampler")
        ]
        kinds += [lib.nn.DataParallel, lib.distributions.Independent]

        class Mine(d.DataLoader[int]):
            pass

        return [kind[int].__origin__.__name__ for kind in kinds], [int(i) for i in Mine([1, 2])]

    both(torch, program)


def test_what_a_worker_knows_of_itself_is_pytorchs_and_cannot_be_changed(torch):
    data = "utils.data._utils.worker", "utils.data.worker"
    theirs, ours = (
        importlib.import_module(f"{t.__name__}.{name}") for t, name in zip((torch, rg), data, strict=True)
    )
    made = [m.WorkerInfo(1, 2, 3, [0]) for m in (theirs, ours)]
    assert repr(made[0]) == repr(made[1])
    for info in made:
        with pytest.raises(AttributeError, match="cannot assign to field 'id'"):
            info.id = 5
