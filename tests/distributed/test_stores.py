"""Stores beside PyTorch's: the same calls give the same answers, in one process and in several."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta

import pytest

import retrograd.distributed as dist

SHORT = timedelta(seconds=0.2)


def program(store, error):
    """Calls of a store, and what came of them."""
    store.set("a", "b")
    said = [store.get("a"), store.add("n", 3), store.add("n", -1), store.get("n"), store.check(["a", "x"])]
    said += [
        store.compare_set("k", "", "1"),
        store.compare_set("k", "1", "2"),
        store.compare_set("k", "9", "3"),
    ]
    said += [store.compare_set("q", "x", "3"), store.num_keys(), store.delete_key("a"), store.delete_key("a")]
    store.multi_set(["u", "v"], ["1", b"\x00\xff"])
    store.append("u", "2")
    said += [store.multi_get(["u", "v"])]
    with pytest.raises(error, match="Wait timeout|timeout"):
        store.wait(["never"], SHORT)
    store.wait(["u"], SHORT)
    copied = store.clone()
    said += [copied.get("u"), sorted(key for key in copied.list_keys() if key != "init/")]
    return said + queue(store)


def queue(store):
    """What is pushed comes out in the same order."""
    store.queue_push("line", "1")
    store.queue_push("line", "2")
    said = [
        store.queue_len("line"),
        store.queue_pop("line"),
        store.queue_pop("line"),
        store.queue_len("line"),
    ]
    with pytest.raises(RuntimeError, match="queue is empty"):
        store.queue_pop("line", block=False)
    store.barrier("all", 1)
    return said


def stores(lib, folder):
    """One of each kind."""
    yield lib.HashStore()
    yield lib.FileStore(str(folder / lib.__name__), 1)
    yield lib.TCPStore("127.0.0.1", 0, 1, True)
    yield lib.PrefixStore("p", lib.HashStore())


def test_beside_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    theirs = stores(torch.distributed, tmp_path)
    for ours, other in zip(stores(dist, tmp_path), theirs, strict=True):
        if isinstance(ours, dist.FileStore):  # PyTorch's has fewer calls, and keeps a name of its own
            program(ours, dist.DistStoreError)
            continue
        assert program(ours, dist.DistStoreError) == program(other, torch.distributed.DistStoreError)


def test_threads_add_to_one_counter(tmp_path):
    master = dist.TCPStore("127.0.0.1", 0, is_master=True)

    def count():
        own = dist.TCPStore("127.0.0.1", master.port)
        for _ in range(50):
            own.add("n", 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert master.add("n", 0) == 200
    assert master.list_keys() == ["n"]


def test_processes_share_a_store(tmp_path):
    master = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for kind, place in (
        ("TCPStore", f"'127.0.0.1', {master.port}"),
        ("FileStore", f"{str(tmp_path / 's')!r}, 2"),
    ):
        code = (
            "import retrograd.distributed as dist\n"
            f"store = dist.{kind}({place})\n"
            "store.set('answer', store.get('question') + b'!')\n"
        )
        child = subprocess.Popen([sys.executable, "-c", code])
        own = master if kind == "TCPStore" else dist.FileStore(str(tmp_path / "s"), 2)
        own.set("question", "why")
        assert own.get("answer") == b"why!"
        assert child.wait(60) == 0


def test_nobody_there():
    with pytest.raises(dist.DistNetworkError, match="timed out"):
        dist.TCPStore("127.0.0.1", 1, timeout=SHORT)
    lonely = dist.TCPStore("127.0.0.1", 0, is_master=True)
    lonely.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        lonely.get("x")


def test_a_number_is_added_to_what_is_none():
    """The one who asks is told; the store goes on."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    store.set("word", "x")
    with pytest.raises(ValueError, match="'x'"):
        store.add("word", 1)
    assert store.get("word") == b"x"
    with pytest.raises(TypeError, match="keeps str and bytes, not int"):
        store.set("number", 3)
    with pytest.raises(dist.DistNetworkError, match="failed to listen"):
        dist.TCPStore("127.0.0.1", store.port, is_master=True)
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timeout=SHORT)


def test_a_store_of_ones_own_behind_a_prefix():
    class Own(dist.Store):
        def __init__(self):
            self.values = {}

        def set(self, key, value):
            self.values[key] = value

        def get(self, key):
            return self.values[key]

    own = Own()
    inner = dist.PrefixStore("a", dist.PrefixStore("b", own))
    inner.set("k", b"v")
    assert (own.values, inner.get("k")) == ({"b/a/k": b"v"}, b"v")
    assert inner._underlying_non_prefix_store is own
