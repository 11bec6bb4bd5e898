"""One good call of every function of the pack: its arguments, new ones each time. What is hostile is made of them."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

GUARD = 256  # bytes on either side of an array that nobody may write to
MARK = 0xA5

Arguments = tuple[Any, ...]


def guarded(values: Any) -> Any:
    """A copy of an array amid bytes that are known."""
    values = np.asarray(values)
    memory = np.full(values.nbytes + 2 * GUARD, MARK, "uint8")
    inner = memory[GUARD : GUARD + values.nbytes].view(values.dtype).reshape(values.shape)
    inner[...] = values
    return inner


def is_guarded(array: Any) -> bool:
    """Whether the bytes around an array are still what they were; True for arrays without such bytes."""
    memory = array
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    if memory.dtype != np.uint8 or memory.ndim != 1 or memory.size < 2 * GUARD:
        return True
    return bool((memory[:GUARD] == MARK).all() and (memory[-GUARD:] == MARK).all())


def floats(*shape: int, dtype: str = "float32") -> Any:
    """Numbers between 0 and 1, which are good for every function."""
    n = int(np.prod(shape))
    return guarded((np.arange(n) % 7 + 1).reshape(shape).astype(dtype) / 8)


def whole(*numbers: int, shape: tuple[int, ...] | None = None) -> Any:
    found = guarded(np.array(numbers, "int64"))
    return found if shape is None else found.reshape(shape)


def truths(*shape: int) -> Any:
    return guarded(np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0)


def words(text: str) -> list[str]:
    return text.split()


ONE = words("""
    abs absolute negative square reciprocal sqrt sign floor ceil trunc rint exp exp2 expm1 log log2 log1p tanh
    sin cos isnan isinf isfinite logical_not copy dense_copy empty_like zeros_like ones_like ones_of
    conv_channel_sums extent_of is_open within_0_1 metadata_of lu
""")
TWO = words("""
    add subtract multiply true_divide divide maximum minimum fmax fmin power less less_equal greater
    greater_equal equal not_equal logical_and logical_or logical_xor add_into copy_over matmul mm matmul_nt matmul_tn
""")
REDUCED = words("sum mean prod max amax min amin any all argmax argmin")
NOTHING = words("""
    empty_cache memory_stats reset_peak_memory_stats threads fused_kernels instruction_set instruction_sets
    thread_state gpu_close gpu_stream gpu_step_sizes gpu_trim
""")
OBJECT = words("""
    spot set_owner_test set_metadata_maker set_thread_state set_launch_refusal untrack track instances
""")

SLIDING = ((5, 4), (2, 2), (1, 1), (0, 0), (1, 1), (4, 3))
APART = ((8,), (3,), (2,), (1,), (1,), (4,))


VARIABLE: contextvars.ContextVar[object] = contextvars.ContextVar("quiet")


class Sizes(tuple[int, ...]):
    """A class of shapes."""

    def __new__(cls, *sizes: int) -> Sizes:
        raise ValueError("it is not called")


class Thing:
    """An object of a class written in Python."""


def network_calls() -> dict[str, Callable[[], Arguments]]:
    """Those of the kernels of networks."""

    def heads() -> Any:
        return floats(2, 4, 3, 5)

    def memory() -> Any:
        """What a layer of an LSTM has: rows, states, weights."""
        weights = [floats(16, 3), floats(16, 5), floats(16), None, floats(5, 4)]
        return [floats(3, 3), floats(2, 5), floats(2, 4), *weights]

    def twister() -> Any:
        return Loaded.pack.twister(5)

    def noted() -> Any:
        return (floats(3, 5), floats(3, 4), floats(3, 16), floats(3, 4))

    return {
        "attention": lambda: (heads(), heads(), heads(), floats(3, 3), False, 0.5),
        "attention_back": lambda: (heads(), heads(), heads(), heads(), floats(3, 3), True, 0.5, 7),
        "avg_pool": lambda: (floats(2, 5, 4), SLIDING, floats(4, 3)),
        "avg_pool_back": lambda: (floats(2, 4, 3), SLIDING, floats(1)),
        "max_pool": lambda: (floats(2, 5, 4), SLIDING, True),
        "max_pool_back": lambda: (floats(2, 2), whole(0, 3, 1, 4, shape=(2, 2)), (2, 5), 1),
        "max_cover": lambda: (floats(2, 4), (whole(0, 1, 2, 3, shape=(2, 2)),)),
        "batch_norm": lambda: (floats(3, 4, 2), floats(4), floats(4), None, None, 1e-5),
        "batch_norm_backward": lambda: (floats(3, 4), floats(3, 4), floats(4), floats(3, 4), True, 7),
        "group_norm": lambda: (floats(3, 4, 2), floats(4), floats(4), 1e-5, 2),
        "group_norm_backward": lambda: (floats(3, 4, 2), floats(3, 4, 2), floats(4), floats(2, 6), 2, 7),
        "layer_norm": lambda: (floats(3, 4), floats(4), floats(4), 1e-5, 1),
        "layer_norm_backward": lambda: (floats(3, 4), floats(3, 4), floats(4), floats(2, 3), 1, 7),
        "recurrence": lambda: (2, (2, 1), True, memory()),
        "recurrence_backward": lambda: (
            2,
            (2, 1),
            True,
            memory(),
            [floats(3, 5), None, floats(2, 4)],
            noted(),
            255,
        ),
        "conv_correlate": lambda: (floats(2, 4, 5, 4), floats(6, 2, 2, 2), floats(6), SLIDING, 2),
        "conv_overlap": lambda: (floats(2, 2, 8), floats(2, 3, 4), APART, 1),
        "conv_spread": lambda: (floats(2, 3, 4), floats(3, 2, 3), floats(2), APART, 1),
        "log_softmax": lambda: (floats(3, 4), 1),
        "log_softmax_backward": lambda: (floats(3, 4), floats(3, 4), 0),
        "logsumexp": lambda: (floats(3, 4), 1),
        "logsumexp_backward": lambda: (floats(3, 1), floats(3, 4), floats(3, 1), 1),
        "softmax": lambda: (floats(3, 4), 1),
        "softmax_backward": lambda: (floats(3, 4), floats(3, 4), 1),
        "loss": lambda: (1, floats(3, 4), floats(3, 4), 0.5, 1),
        "loss_backward": lambda: (2, floats(3, 4), floats(3, 4), floats(3, 4), 0.5, 1.0),
        "nll": lambda: (floats(3, 4, 2), whole(0, 1, 2, 3, -1, 1, shape=(3, 2)), floats(4), 1, -1),
        "nll_backward": lambda: (floats(3), whole(0, 1, 3), floats(4), 0, -100, (3, 4)),
        "twister": lambda: (17,),
        "twister_state": lambda: (twister(),),
        "twister_go": lambda: (twister(), 3, bytes(2496)),
        "draw": lambda: (twister(), 1, (3, 7), True),
        "draw_binomial": lambda: (
            twister(),
            floats(3, 4, dtype="float64"),
            floats(3, 4, dtype="float64"),
        ),
        "draw_choices": lambda: (twister(), (3, 4), False, 0.5, 2.0),
        "draw_gamma": lambda: (twister(), floats(3, 4, dtype="float64"), 0.5),
        "draw_in_turn": lambda: (twister(), (3, 4), False, 0.5),
        "draw_integers": lambda: (twister(), (3, 4), 10, 3, False),
        "draw_permutation": lambda: (twister(), 7),
        "draw_poisson": lambda: (twister(), floats(3, 4, dtype="float64")),
        "draw_uniform": lambda: (twister(), (3, 4), True, 0.5, 2.0),
        "sgd_steps": lambda: ([(floats(4), floats(4), floats(4), 1.0)], (0.1, 0.9, 0.0, 0.1, True, False)),
        "rule_steps": lambda: (
            1,
            [(floats(4), floats(4), (floats(4), floats(4)), (1.0, 0.0, 1.0, 0.1, 0.9, 0.1, 1e-8, 0.5))],
        ),
        "adam_steps": lambda: (
            [(floats(4), floats(4), floats(4), floats(4), floats(4), 1.0)],
            (0.1, 0.9, 0.99, 1e-8, 0.0, True, False),
        ),
    }


def gpu_calls() -> dict[str, Callable[[], Arguments]]:
    """Those of GPUs. Arrays of NumPy's are none of theirs: without CuPy nothing is served, and all is refused."""
    return {
        "gpu_open": lambda: ((floats(3, 4), floats(3)), len, Thing()),
        "gpu_empty": lambda: ((3, 4), np.dtype("float32")),
        "gpu_narrow": lambda: (np.ndarray,),
        "gpu_seen_as": lambda: (floats(3, 4), np.ndarray),
        "gpu_formulas": lambda: ([((0, 1), 1), ((0,), 1)], len, len, 0, 1),
        "gpu_copy": lambda: (floats(3, 4),),
        "gpu_add_into": lambda: (floats(3, 4), floats(3, 4)),
        "gpu_products": lambda: ("no library", len, len),
        "gpu_product": lambda: (floats(3, 4), floats(4, 5), floats(5), 0),
        "gpu_steps": lambda: (len,),
        "gpu_adam_steps": lambda: network_calls()["adam_steps"](),
        "gpu_sgd_steps": lambda: network_calls()["sgd_steps"](),
        "gpu_sums": lambda: (len,),
        "gpu_sum": lambda: (floats(3, 4), (1,), False, 1.0),
        "gpu_filled": lambda: (floats(3, 4), 1.0),
        "gpu_loss": lambda: (1, floats(3, 4), floats(3, 4), 0.5, 1),
        "gpu_loss_backward": lambda: (1, floats(3, 4), floats(3, 4), floats(3, 4), 0.5, 1.0),
        "gpu_stretch": lambda: (floats(3, 1), (2, 3, 4)),
    }


class Loaded:
    """The pack that is called: notes are made by itself."""

    pack: Any = None


def notes() -> Any:
    return Loaded.pack.notes_new(8, 0)


def calls() -> dict[str, Callable[[], Arguments]]:
    """All of them, by name."""
    found: dict[str, Callable[[], Arguments]] = {
        "where": lambda: (truths(3, 4), floats(3, 4), floats(4)),
        "empty": lambda: ((3, 4), np.dtype("float32")),
        "zeros": lambda: ((3, 4), np.dtype("float32")),
        "ones": lambda: (5, np.dtype("float64")),
        "addmm": lambda: (floats(4), floats(3, 5), floats(5, 4)),
        "tril": lambda: (floats(3, 4), 1),
        "triu": lambda: (floats(3, 4), -1),
        "scan": lambda: (floats(3, 4), 1, True, False),
        "search": lambda: (
            floats(3, 4),
            floats(3, 2),
            whole(*range(4), *range(4), *range(4), shape=(3, 4)),
            True,
            False,
        ),
        "resample": lambda: (floats(3, 4), whole(0, 3, 1, 2, shape=(2, 2)), floats(2, 2, dtype="float64"), 1),
        "permutation": lambda: (guarded(np.array([2, 2], "int32")), 3, np.dtype("float32")),
        "solve_triangle": lambda: (floats(3, 3), floats(3, 2), True, False),
        "special": lambda: ("gammainc", floats(3, 4), floats(3, 4)),
        "layout": lambda: (floats(3, 4), floats(4, 3), floats(3)),
        "mean_of": lambda: (floats(3, 4), (1,), False),
        "sum_of": lambda: (floats(3, 4), (1,), False),
        "variance": lambda: (floats(3, 4), (1,), 1.0, True, False),
        "variance_backward": lambda: (floats(3, 1), floats(3, 4), 1, 0.5),
        "numbers": lambda: ([[1.0, 2], [True, 4.0]], None, np.dtype("float32")),
        "join": lambda: ([floats(3, 4), floats(3, 4)], 1, False),
        "stretched": lambda: (floats(3, 1), (2, 3, 4)),
        "fit_of": lambda: (floats(3, 4), None),
        "outside": lambda: (whole(0, 1, 2), 0, 3),
        "take": lambda: (floats(3, 4), whole(0, 2, 1), 1),
        "take_along": lambda: (floats(3, 4), whole(0, 1, 2, 3, shape=(2, 2)), 1),
        "put_along": lambda: (floats(3, 4), whole(0, 1, 2, 3, shape=(2, 2)), 1, floats(2, 2)),
        "add_along": lambda: (floats(3, 4), whole(0, 1, 2, 3, shape=(2, 2)), 1, floats(2, 2)),
        "add_rows": lambda: (floats(3, 4), 0, whole(0, 2, 1), floats(3, 4)),
        "sum_rows": lambda: (floats(3, 4), whole(0, 2, 1), 5, -1, True),
        "notes_new": lambda: (8, 0),
        "notes_value": lambda: (notes(), floats(3, 4), False),
        "notes_block": lambda: (notes(), floats(3, 4)),
        "notes_finite": lambda: (notes(), floats(3, 4)),
        "notes_doubt": lambda: (notes(),),
        "notes_row": lambda: ([], 1, 2.0),
        "notes_values": lambda: (notes(),),
        "notes_blocks": lambda: (notes(),),
        "notes_close": lambda: (notes(),),
        "begin": lambda: (whole(0, 1, 2), [whole(0, 1, 2)]),
        "set_quiet": lambda: (VARIABLE, None, 3),
        "heed": lambda: (bytearray(1),),
        "set_threads": lambda: (2,),
        "set_memory_limit": lambda: (-1,),
        "keep_arenas": lambda: (True,),
        **network_calls(),
        **gpu_calls(),
    }
    found |= dict.fromkeys(ONE, lambda: (floats(3, 4),))
    found |= dict.fromkeys(TWO, lambda: (floats(4, 4), floats(4, 4)))
    found |= dict.fromkeys(REDUCED, lambda: (floats(3, 4), 1))
    found |= dict.fromkeys(NOTHING, lambda: ())
    found |= dict.fromkeys(OBJECT, lambda: (Thing,))
    found["set_metadata_maker"] = lambda: (str,)
    found["set_size_class"] = lambda: (Sizes,)
    found["size_of"] = lambda: ((3, 4),)
    return found
