"""The random numbers of the CPU: a Mersenne Twister, used as PyTorch uses it. The same seed gives the same numbers."""

# Note [Random numbers of the CPU]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The twister gives words of 32 bits; a word of 64 bits is two of them, the high one first. Of a word are made:
#
# - a float on [0, 1): the low 24 bits, and the low 53 of a long word in double precision;
# - normal numbers by Box and Muller. Fewer than 16 are made one after the other in double precision, and the second
#   of a pair waits for the next call (`spare`). 16 and more are made in blocks of 16 uniform numbers, radii from the
#   first eight and angles from the others; if their count is no multiple of 16, the last 16 are drawn again;
# - an integer below n: the word modulo n, a long word from n = 2**28 on;
# - exponential, Cauchy and geometric numbers: from uniform ones in double precision;
# - gamma, Poisson and binomial numbers: one after the other, from uniform and normal ones in double precision
#   (rejection.py).
#
# What is drawn to be written into an array is drawn in the order of its memory (`in_memory_order`); normal numbers for
# one that does not lie in rows are made one after the other, however many they are.

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from retrograd.backends.pieces import PIECE, look
from retrograd.backends.rejection import binomial_number, gamma_number, poisson_number
from retrograd.values import Array, Shape

WORDS: Final = 624  # that are the state of the twister
BLOCK: Final = 16
LONG_RANGE: Final = 1 << 28  # from here on, integers are made of long words
PI2: Final = 2 * math.pi
SEED_MASK: Final = (1 << 32) - 1
# What PyTorch keeps behind the seed: how many words are left, whether it was seeded, the next word; all words; three
# numbers of which the second is the spare one, whether it is there, and a spare float that nothing uses.
HEAD: Final = struct.Struct("<iiQ")
TAIL: Final = struct.Struct("<dddi4xf?3x")

float32: Final = np.dtype(np.float32)
float64: Final = np.dtype(np.float64)


class Mersenne:
    """What draws on the CPU, with the methods of `numpy.random.Generator` that functions call."""

    piece = 1 << 14  # how many numbers by parameters are drawn before Ctrl-C is answered

    def __init__(self, seed: int) -> None:
        self.spare: float | None = None
        self.begin(seed & SEED_MASK)

    def begin(self, seed: int) -> None:
        """Makes the twister: here NumPy's."""
        generator: Any = np.random.RandomState(seed)._bit_generator
        self.bit_generator = generator
        self.numpy = np.random.Generator(generator)
        self.lock: Any = generator.lock  # what a thread that draws holds

    # -- words -----------------------------------------------------------------------------------------------------

    def words(self, n: int) -> Array:
        return self.numpy.integers(0, 1 << 32, n, np.uint32)

    def long_words(self, n: int) -> Array:
        pairs = self.words(2 * n).astype(np.uint64).reshape(n, 2)
        return pairs[:, 0] << np.uint64(32) | pairs[:, 1]

    def _unit(self, n: int, dtype: Any) -> Array:
        """Uniform numbers on [0, 1)."""
        if dtype == float32:
            return (self.words(n) & np.uint32((1 << 24) - 1)).astype(np.float32) * np.float32(2.0**-24)
        return (self.long_words(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53

    # -- uniform numbers and what is made of one each --------------------------------------------------------------

    def random(self, size: Any = (), dtype: Any = float64) -> Array:
        shape, found = room(size, np.dtype(dtype))
        for part in pieces(found):
            part[...] = self._unit(len(part), found.dtype)
        return found.reshape(shape)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = ()) -> Array:
        return self.stretched(shape_of(size), float64, low, high - low)

    def stretched(self, shape: Shape, dtype: Any, low: float, width: float) -> Array:
        """Numbers from `low` on, computed in double precision and rounded once."""
        return (self.random(shape, dtype).astype(np.float64) * width + low).astype(dtype, copy=False)

    def choices(self, shape: Shape, dtype: Any, chance: float, scale: float) -> Array:
        """`scale` with probability `chance`, else 0."""
        return (self.random(shape) < chance) * dtype.type(scale)

    def standard_exponential(self, size: Any = (), dtype: Any = float64) -> Array:
        shape, found = room(size, np.dtype(dtype))
        for part in pieces(found):
            part[...] = -np.log1p(-self._unit(len(part), float64))
        return found.reshape(shape)

    def standard_cauchy(self, size: Any = ()) -> Array:
        return np.tan(math.pi * (self.random(size) - 0.5))

    def geometric(self, p: Any, size: Any = ()) -> Array:
        with np.errstate(divide="ignore"):
            return np.ceil(np.log(self.random(size)) / math.log1p(-p))

    # -- integers --------------------------------------------------------------------------------------------------

    def integers(
        self, low: int, high: int, size: Any = (), dtype: Any = np.int64, endpoint: bool = False
    ) -> Array:
        """Integers from `low` up to `high`, without it unless `endpoint`; in uint32 all of them are words."""
        wide = np.dtype(np.uint64 if np.dtype(dtype).kind == "u" else np.int64)
        shape, found = room(size, wide)
        count, least = int(high) - int(low) + endpoint, np.uint64(int(low) % (1 << 64))
        short = count < LONG_RANGE or np.dtype(dtype) == np.uint32
        for part in pieces(found):
            words = self.words(len(part)).astype(np.uint64) if short else self.long_words(len(part))
            if count < 1 << 64:  # else they are taken as they are
                words = words % np.uint64(count) + least
            part[...] = words.view(wide)
        return found.reshape(shape).astype(dtype, copy=False)

    def permutation(self, count: int) -> Array:
        """The numbers below `count`: each place is exchanged with one of those from it on."""
        order = list(range(count))
        steps = (self.words(max(count - 1, 0)) % np.arange(count, 1, -1, dtype=np.uint32)).tolist()
        for i, step in enumerate(steps):
            order[i], order[i + step] = order[i + step], order[i]
        return np.array(order, np.int64)

    def permuted(self, rows: Array, axis: int = -1) -> Array:
        """Each row in an order of its own."""
        flat = rows.reshape(-1, rows.shape[axis])
        return np.stack([row[self.permutation(len(row))] for row in flat]).reshape(rows.shape)

    # -- normal numbers --------------------------------------------------------------------------------------------

    def standard_normal(self, size: Any = (), dtype: Any = float64) -> Array:
        shape, found = room(size, np.dtype(dtype))
        if found.size < BLOCK:
            return self.normal_in_turn(size, dtype)
        whole = found[: found.size - found.size % BLOCK]
        for part in pieces(whole):
            part[...] = self._blocks(len(part), found.dtype)
        if len(whole) < len(found):
            self._unit(len(found) - len(whole), found.dtype)  # PyTorch draws these too, and does not use them
            found[-BLOCK:] = self._blocks(BLOCK, found.dtype)
        return found.reshape(shape)

    def half_normal(self, size: Any = (), dtype: Any = float32) -> Array:
        """Normal numbers for half precision: as `standard_normal`, but that nothing is drawn in vain."""
        shape, found = room(size, np.dtype(dtype))
        if found.size < BLOCK or found.size % BLOCK == 0:
            return self.standard_normal(size, dtype)
        whole = found.size - found.size % BLOCK
        found[:whole] = self.standard_normal(whole, dtype)
        found[-BLOCK:] = self.standard_normal(BLOCK, dtype)
        return found.reshape(shape)

    def _blocks(self, n: int, dtype: Any) -> Array:
        """Normal numbers, in blocks of 16."""
        unit = self._unit(n, dtype).reshape(-1, 2, BLOCK // 2)
        radius = np.sqrt(dtype.type(-2) * np.log(1 - unit[:, 0]))
        angle = dtype.type(PI2) * unit[:, 1]
        unit[:, 0] = radius * np.cos(angle)
        unit[:, 1] = radius * np.sin(angle)
        return unit.reshape(-1)

    def normal_in_turn(self, size: Any = (), dtype: Any = float64) -> Array:
        """Normal numbers, one after the other: the second of a pair waits for the next call."""
        shape, found = room(size, np.dtype(dtype))
        for part in pieces(found):
            part[...] = self._in_turn(len(part))
        return found.reshape(shape)

    def _in_turn(self, n: int) -> Array:
        spare = self.spare if n else None
        first = [] if spare is None else [spare]
        if first:
            self.spare = None
        unit = self._unit((n - len(first) + 1) // 2 * 2, float64).reshape(-1, 2)
        radius, angle = np.sqrt(-2 * np.log1p(-unit[:, 1])), PI2 * unit[:, 0]
        drawn = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
        if len(first) + len(drawn) > n:
            self.spare = float(drawn[-1])
        return np.concatenate([first, drawn])[:n]

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = ()) -> Array:
        return np.exp(mean + sigma * self.normal_in_turn(size))

    # -- by parameters ---------------------------------------------------------------------------------------------

    def unit(self) -> float:
        """A uniform number on [0, 1)."""
        return float(self._unit(1, float64)[0])

    def normal(self) -> float:
        """A normal number."""
        return float(self._in_turn(1)[0])

    def poisson(self, lam: Array) -> Array:
        """For each rate a number of events."""
        return in_pieces(self._poisson, self.piece, lam)

    def binomial(self, n: Array, p: Array) -> Array:
        """For each number of trials, and each chance, how many succeed; both arrays are of one shape."""
        return in_pieces(self._binomial, self.piece, n, p)

    def standard_gamma(self, shape: Array) -> Array:
        """For each shape a number of the gamma distribution with scale 1."""
        return in_pieces(self._gamma, self.piece, shape)

    def _poisson(self, rates: Array) -> Any:
        return [poisson_number(self.unit, rate) for rate in rates.tolist()]

    def _binomial(self, trials: Array, chances: Array) -> Any:
        pairs = zip(trials.tolist(), chances.tolist(), strict=True)
        return [binomial_number(self.unit, n, chance) for n, chance in pairs]

    def _gamma(self, shapes: Array) -> Any:
        return [gamma_number(self.unit, self.normal, shape) for shape in shapes.tolist()]

    # -- state -----------------------------------------------------------------------------------------------------

    def twisted(self) -> tuple[int, bytes]:
        """The place of the next word, and the bytes of all words."""
        inner = self.bit_generator.state["state"]
        return int(inner["pos"]), inner["key"].astype("<u4").tobytes()

    def go_to(self, place: int, words: bytes) -> None:
        key = np.frombuffer(words, "<u4").astype(np.uint32)
        self.bit_generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": place}}

    def state(self) -> bytes:
        """Where the stream is, as PyTorch writes it behind the seed."""
        place, words = self.twisted()
        place %= WORDS
        left = WORDS - place + 1 if place else 1
        spare, has = (0.0, 0) if self.spare is None else (self.spare, 1)
        wide = np.frombuffer(words, "<u4").astype("<u8").tobytes()
        return HEAD.pack(left, 1, place) + wide + TAIL.pack(0.0, spare, 0.0, has, 0.0, False)

    def restore(self, state: bytes) -> None:
        """Goes to where `state` was asked, here or in PyTorch."""
        left, _, place = HEAD.unpack_from(state)
        _, spare, _, has, _, _ = TAIL.unpack_from(state, HEAD.size + 8 * WORDS)
        words = np.frombuffer(state, "<u8", WORDS, HEAD.size).astype("<u4").tobytes()
        self.go_to(WORDS if left == 1 else min(place, WORDS), words)
        self.spare = spare if has else None


def lies_in_rows(array: Array) -> bool:
    """Whether an array of the CPU lies row after row; others may say that they do."""
    return not isinstance(array, np.ndarray) or bool(array.flags.c_contiguous)


def in_memory_order(draw: Callable[[Shape], Any], array: Array) -> Any:
    """What is drawn for each place of an array, in the order of its memory; in rows if places share memory."""
    if lies_in_rows(array) or 0 in array.strides:
        return draw(array.shape)
    order = sorted(range(array.ndim), key=lambda dim: -abs(array.strides[dim]))
    drawn = draw(tuple([array.shape[dim] for dim in order]))
    return drawn.transpose(np.argsort(order))


def normal_draw(stream: Any, is_half: bool, lies_in_rows: bool) -> Callable[..., Any]:
    """The method of a stream that draws normal numbers for a tensor."""
    if not isinstance(stream, Mersenne) or (lies_in_rows and not is_half):
        draw: Callable[..., Any] = stream.standard_normal
        return draw
    return stream.half_normal if lies_in_rows else stream.normal_in_turn


def shape_of(size: Any) -> Shape:
    """A shape, given as one or as a number."""
    if type(size) is tuple:
        return size
    return () if size is None else (int(size),) if hasattr(size, "__index__") else tuple(size)


def size_of(shape: Shape) -> int:
    n = 1
    for length in shape:
        n *= length
    return n


def room(size: Any, dtype: Any) -> tuple[Shape, Array]:
    """A shape, and a line of memory for as many numbers."""
    shape = shape_of(size)
    return shape, np.empty(size_of(shape), dtype)


def parts(count: int, piece: int) -> Iterator[slice]:
    """The parts of what is drawn between which Ctrl-C is answered."""
    for begin in range(0, count, piece):
        if begin:
            look()
        yield slice(begin, begin + piece)


def pieces(line: Array) -> Iterator[Array]:
    """The parts of a line of memory."""
    for part in parts(len(line), PIECE):
        yield line[part]


def in_pieces(draw: Callable[..., Any], piece: int, *parameters: Array) -> Array:
    """What is drawn by the parameters of each place, in double precision, piece by piece."""
    lines = [np.ascontiguousarray(np.asarray(p, float64).reshape(-1)) for p in parameters]
    found = np.empty(len(lines[0]))
    for part in parts(len(found), piece):
        found[part] = draw(*[line[part] for line in lines])
    return found.reshape(parameters[0].shape)
