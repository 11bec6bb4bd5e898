"""First draws of several threads after a seed: the generator is made once, whoever comes first."""

from __future__ import annotations

import threading

import retrograd as rg

THREADS, ROUNDS = 6, 200


def test_threads_may_draw_first_at_the_same_time():
    errors: list[BaseException] = []
    for seed in range(ROUNDS):
        rg.manual_seed(seed)
        start = threading.Barrier(THREADS)
        drawn: list[float] = []

        def draw(start: threading.Barrier = start, drawn: list[float] = drawn) -> None:
            start.wait()
            try:
                drawn.append(rg.rand(1).item())
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=draw) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rg.manual_seed(seed)
        assert errors == []
        assert sorted(drawn) == sorted(rg.rand(1).item() for _ in range(THREADS)), (
            "one stream, each number once"
        )
