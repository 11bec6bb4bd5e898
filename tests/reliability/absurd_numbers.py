"""Every function with integer parameters, given numbers that make no sense: the calls, and a program that makes them.

    python -m tests.reliability.absurd_numbers retrograd        one line per call: how long it took, what came of it
    python -m tests.reliability.absurd_numbers torch 100 20     of PyTorch, from number 100 on, every 20th

A call is a row of the op table with one of its integers exchanged, or one of the functions that make tensors.
"""

from __future__ import annotations

import importlib
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.ops.cases import CASES

ABSURD = (2**31, 2**62, -(2**63), 10**9)
LIMIT = 10.0  # seconds after which a call is given up
ROOM = 2 << 30  # bytes that a call may take

WRITTEN = """
zeros({n})
ones({n})
empty({n})
full(({n},), 1.0)
zeros({n}, {n})
rand({n})
randn({n})
randint(0, 3, ({n},))
randint({n}, (3,))
randperm({n})
eye({n})
eye(3, {n})
arange({n})
arange(0, 1, 1 / {n})
linspace(0, 1, {n})
logspace(0, 1, {n})
ones(2).new_zeros({n})
ones(2).new_empty({n}, {n})
ones(2).new_full(({n},), 1)
hann_window({n})
bartlett_window({n})
kaiser_window({n})
blackman_window({n})
hamming_window({n})
tril_indices({n}, {n})
triu_indices(3, 3, {n})
fft.fftfreq({n})
fft.rfftfreq({n})
empty_strided(({n},), (1,))
empty_strided((3,), ({n},))
nn.functional.one_hot(tensor([0, 1]), {n})
bincount(tensor([1, 2]), minlength={n})
bincount(tensor([1, {n}]))
histc(ones(3), {n})
histogram(ones(3), {n})
vander(ones(3), {n})
combinations(ones(4), {n})
ones(3).repeat({n})
ones(3).repeat({n}, {n})
ones(3).tile(({n},))
ones(3).repeat_interleave({n})
repeat_interleave(tensor([1, {n}]))
tensor_split(ones(3), {n})
ones(3).chunk({n})
ones(3).split({n})
ones(3).roll({n})
ones(3, 3).rot90({n})
ones(3).unfold(0, 2, {n})
ones(3).unfold(0, {n}, 1)
ones(3).as_strided((2,), ({n},))
ones(3).as_strided(({n},), (0,))
ones(1).expand({n})
ones(1, 1).expand({n}, {n}) + 1
outer(ones(1).expand(2**31), ones(1).expand({n}))
ones(3).diff(n={n})
ones(3, 3).matrix_power({n})
ones(3).diag_embed({n})
ones(3).diag({n})
ones(3, 3).diagonal({n})
ones(3, 3).tril({n})
polygamma({n}, ones(3))
mvlgamma(ones(3) + 5, {n})
special.chebyshev_polynomial_t(ones(2) * 0.5, {n})
special.chebyshev_polynomial_u(ones(2) * 2, {n})
special.chebyshev_polynomial_v(ones(2) * 1.000001, {n})
special.chebyshev_polynomial_w(ones(2) * -1, {n})
special.shifted_chebyshev_polynomial_t(ones(2) * 0.5, {n})
special.hermite_polynomial_h(ones(2) * 0, {n})
special.hermite_polynomial_he(ones(2) * 0.5, {n})
fft.fft(ones(3), n={n})
fft.irfft(ones(3), n={n})
fft.fft2(ones(3, 3), s=({n}, {n}))
stft(ones(9), {n}, return_complex=True)
cartesian_prod(*[ones({n}).long()] * 2)
nn.functional.conv1d(ones(1, 1, 4), ones(1, 1, 3), padding={n})
nn.functional.conv1d(ones(1, 1, 4), ones(1, 1, 3), padding={n}, dilation={n})
nn.functional.conv2d(ones(1, 1, 4, 4), ones(1, 1, 3, 3), padding={n}, dilation={n} - 1)
nn.functional.conv2d(ones(1, 1, 4, 4), ones(1, 1, 3, 3), stride={n})
nn.functional.conv_transpose1d(ones(1, 1, 4), ones(1, 1, 3), stride={n})
nn.functional.conv_transpose2d(ones(1, 1, 4, 4), ones(1, 1, 3, 3), stride={n}, padding={n})
nn.functional.max_pool2d(ones(1, 1, 4, 4), 3, dilation={n}, padding=1)
nn.functional.max_pool2d(ones(1, 1, 4, 4), {n}, padding={n} // 2)
nn.functional.avg_pool1d(ones(1, 1, 4), {n})
nn.functional.avg_pool1d(ones(1, 1, 4), 2, stride={n})
nn.functional.max_pool1d(ones(1, 1, 4), 2, stride={n})
nn.functional.adaptive_avg_pool2d(ones(1, 1, 4, 4), {n})
nn.functional.adaptive_max_pool1d(ones(1, 1, 4), {n})
nn.functional.unfold(ones(1, 1, 4, 4), 3, dilation={n}, padding={n})
nn.functional.unfold(ones(1, 1, 4, 4), 3, stride={n})
nn.functional.fold(ones(1, 9, 4), {n}, 3)
nn.functional.fold(ones(1, 9, 4), (4, 4), 3, padding={n})
nn.functional.pad(ones(2), ({n}, {n}))
nn.functional.pad(ones(1, 2), ({n}, {n}), mode='circular')
nn.functional.pad(ones(1, 2), ({n}, 0), mode='replicate')
nn.functional.interpolate(ones(1, 1, 2, 2), size=({n}, {n}))
nn.functional.interpolate(ones(1, 1, 2), scale_factor={n})
nn.functional.pixel_shuffle(ones(1, 4, 2, 2), {n})
nn.functional.pixel_unshuffle(ones(1, 4, 2, 2), {n})
nn.functional.group_norm(ones(2, 4), {n})
nn.functional.local_response_norm(ones(1, 3, 4), {n})
nn.functional.glu(ones(4), {n})
nn.functional.channel_shuffle(ones(1, 4, 2, 2), {n})
nn.functional.lp_pool1d(ones(1, 1, 4), 2, {n})
nn.functional.max_unpool1d(ones(1, 1, 2), tensor([[[0, 1]]]), {n})
nn.functional.embedding(tensor([0]), ones(2, 2), padding_idx={n})
nn.functional.gumbel_softmax(ones(3), dim={n})
multinomial(ones(3), {n}, replacement=True)
topk(ones(3), {n})
kthvalue(ones(3), {n})
cumsum(ones(3), {n})
ones(3).narrow(0, {n}, 1)
ones(3).narrow(0, 0, {n})
ones(3)[{n}:]
ones(3)[::{n}]
ones(3)[{n}]
ones(3).select(0, {n})
ones(3).index_select(0, tensor([{n}]))
take(ones(3), tensor([{n}]))
gather(ones(3), 0, tensor([{n}]))
ones(3).scatter(0, tensor([{n}]), 1.0)
nn.Linear({n}, {n})
nn.Embedding({n}, {n})
nn.Conv2d({n}, {n}, 3)
nn.LSTM({n}, {n})
ones(6).unflatten(0, ({n}, 3))
ones(6).reshape({n}, {n})
ones(6).view({n})
ones(0).reshape({n}, {n}, 0)
ones(2, 3).movedim(0, {n})
bitwise_left_shift(tensor([1]), {n})
tensor([1]) << {n}
tensor([3]) ** {n}
tensor([3]) // {n}
svd_lowrank(ones(4, 4), {n})
nn.functional.ctc_loss(zeros(2, 1, 3), tensor([[{n}]]), [2], [1])
cumulative_trapezoid(ones(3), dim={n})
ones(3).quantile(0.5, {n})
nn.functional.hardtanh(ones(3), {n}, {n})
"""


class Names(dict[str, Any]):
    """A library's names as a namespace of the calls that are written as text."""

    def __init__(self, lib: Any) -> None:
        super().__init__()
        self.lib = lib

    def __missing__(self, name: str) -> Any:
        return getattr(self.lib, name)


def calls() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Every call: what to print, and a function that makes it of a library."""
    for text in WRITTEN.strip().splitlines():
        for n in ABSURD:
            yield text.format(n=n), lambda lib, text=text.format(n=n): eval(text, {}, Names(lib))
    for case in CASES:
        if case.call is not None:
            continue
        for number, sample in enumerate(case.samples[:4]):
            for place, args, kwargs in exchanges(list(sample.args), dict(sample.kwargs)):
                yield f"{case} #{number} {place}", partial(call, case, sample, args, kwargs)


def exchanges(args: list[Any], kwargs: dict[str, Any]) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """The arguments, once for every integer in them and every absurd number in its place."""
    for n in ABSURD:
        for i, value in enumerate(args):
            for other in instead(value, n):
                yield f"{i}: {other}", [*args[:i], other, *args[i + 1 :]], kwargs
        for name, value in kwargs.items():
            for other in instead(value, n):
                yield f"{name}={other}", args, {**kwargs, name: other}


def instead(value: Any, n: int) -> Iterator[Any]:
    if type(value) is int:
        yield n
    elif type(value) is tuple and value and all(type(v) is int for v in value):
        yield from ((*value[:i], n, *value[i + 1 :]) for i in range(len(value)))


def call(case: Any, sample: Any, args: list[Any], kwargs: dict[str, Any], lib: Any) -> Any:
    """A row of the op table, forwards and backwards."""
    function = lib
    for name in case.name.split("."):
        function = getattr(function, name)
    tensor = getattr(lib, "from_numpy", None) or lib.tensor
    inputs = [tensor(a.copy()) for a in case.arrays(sample, case.dtypes[0])]
    for x in inputs:
        x.requires_grad_(x.is_floating_point())
    out = function(
        *inputs, *[_own(tensor, a) for a in args], **{k: _own(tensor, v) for k, v in kwargs.items()}
    )
    for result in out if isinstance(out, (tuple, list)) else (out,):
        if getattr(result, "requires_grad", False) and result.numel() < 1_000_000:
            result.sum().abs().backward(retain_graph=True)
    return out


def _own(tensor: Any, value: Any) -> Any:
    return tensor(value.copy()) if isinstance(value, np.ndarray) else value


def outcome(lib: Any, function: Callable[[Any], Any]) -> str:
    """The type of the error, or of the result."""
    try:
        return f"ok {type(function(lib)).__name__}"
    except Exception as error:
        found = next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return f"{found.__name__} {str(error).splitlines()[0][:140] if str(error) else ''}"


class Slow(BaseException):
    """A call that takes too long."""


def within(seconds: float, function: Callable[[], str]) -> str:
    """What a function answers, or that it did not in time. A call that hears of no signal is its caller's to end."""

    def give_up(*_: Any) -> None:
        raise Slow

    signal.signal(signal.SIGALRM, give_up)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        found = function()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Slow:
        return "HANG"
    return found


def leave_room(room: int) -> None:
    """Leaves so many bytes to all that follows."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, -1))


def main(name: str, start: int, step: int) -> None:
    warnings.simplefilter("ignore")
    lib = importlib.import_module(name)
    if name == "torch":
        lib.set_num_threads(1)
    leave_room(ROOM)
    for i, (label, function) in enumerate(calls()):
        if i >= start and (i - start) % step == 0:
            print(f"{i}\t{label}", end="\t", flush=True)
            began = time.perf_counter()
            found = within(LIMIT, partial(outcome, lib, function))
            print(f"{time.perf_counter() - began:.2f}\t{found}", flush=True)


if __name__ == "__main__":
    main(
        sys.argv[1],
        int(sys.argv[2]) if len(sys.argv) > 2 else 0,
        int(sys.argv[3]) if len(sys.argv) > 3 else 1,
    )
