"""What one call costs on a few numbers: every function, method, in-place form and module beside PyTorch's.

    python benchmarks/calls.py [--only WORD] [--below RATIO] [--seconds S] [--samples N] [--all] [--write]

Arguments are those of PyTorch's own table of operations, of the table of modules in `tests/nn`, and of `PLAIN` below.
A call is timed forward on tensors that need no gradient; then forward with its backward, where both libraries make
one. Processor time of one thread counts, the best of many, in turns in one process: so it can be measured on a machine
that is busy with other things. What is slower than `--below` is measured again, longer, before it is told.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from measuring import clock, machine
from measuring.report import duration

import retrograd

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # behind what is installed: only `tests` is meant

from tests.fuzz import opinfo  # noqa: E402
from tests.nn.table import ROWS as MODULES  # noqa: E402
from tests.nn.test_table import as_input, module_of, tensors_in  # noqa: E402

RESULTS = Path(__file__).parent / "RESULTS-CALLS.md"
SLOW = 0.5  # of PyTorch's speed: what the page lists
MOST = 400  # numbers in the tensors of a call
ENOUGH = 2e-4  # seconds: a timing
BLOCK = 3  # timings of one library before it is the other's turn
TURNS = 3  # of each, at least
DTYPES = ("float32", "int64", "complex64", "bool")  # the first that an operation takes
OPTIMISERS = (
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
)

# What the tables do not have. `t` is a vector of 8, `m` a matrix of 8×8, `k` has their indices.
PLAIN = """
t.shape; t.size(); t.dim(); t.ndim; t.numel(); len(t); t.dtype; t.device; t.requires_grad; t.is_leaf; t.grad
t.data; t.T; m.mT; t.stride(); t.is_contiguous(); t.element_size(); t.data_ptr(); t.storage_offset(); t._version
t.grad_fn; t.is_floating_point(); t.is_complex(); t.tolist(); t[0].item(); t.numpy(); t.detach(); t.detach_()
float(t[0]); bool(t[0]); t[0]; t[1:3]; t[None]; t[...]; t[k]; t[t > 0]; m[0, 1]; m[:, 1]; m[1:3, ::2]; m[k, k]
hash(t); id(t); t.to(lib.float64); t.to('cpu'); t.cpu(); t.type(lib.float64); t.type(); t.requires_grad_(False)
t.zero_(); t.is_same_size(t); t + 1; 1 + t; t - t; t * 2; t / t; t ** 2; -t; abs(t); t // 2; t % 2; t == t; t != t
t < 0; t <= t; t > t; t >= 0; m @ m; m @ t; k & 1; k | k; k ^ k; ~k; k << 1; k >> 1; t.copy_(t); t.clone()
t.new_zeros(8); t.new_tensor([1.0, 2.0]); for _ in t: pass; a, *b = t; t[0] = 1.0; t[1:3] = 0.0; t[k] = t
t[t > 2] = 0.0; t += 1; t *= 1; lib.tensor([1.0, 2.0]); lib.tensor(1.0); lib.as_tensor(a8); lib.from_numpy(a8)
lib.tensor(a8); lib.asarray([1, 2]); lib.manual_seed(0); lib.is_grad_enabled(); lib.get_default_dtype()
lib.is_tensor(t); lib.numel(t); lib.Size([1, 2]); lib.broadcast_shapes((2, 1), (1, 3)); lib.result_type(t, 1)
lib.promote_types(lib.int32, lib.float32); lib.finfo(lib.float32); lib.can_cast(lib.int32, lib.float32)
lib.iinfo(lib.int32); lib.Generator(); lib.device('cpu'); lib.is_floating_point(t); with lib.no_grad(): pass
with lib.enable_grad(): pass; with lib.inference_mode(): pass; with lib.set_grad_enabled(False): pass
with lib.autograd.detect_anomaly(): pass; with lib.random.fork_rng(): pass; lib.nn.Parameter(t)
lib.nn.Linear(8, 8); lib.nn.Module(); lib.nn.ReLU(); lib.nn.Sequential(lib.nn.Linear(8, 8), lib.nn.ReLU())
lib.nn.init.xavier_uniform_(m); lib.nn.init.kaiming_normal_(m); lib.nn.init.zeros_(m); lib.nn.init.orthogonal_(m)
list(net.parameters()); list(net.named_parameters()); net.state_dict(); net.zero_grad(); net.train(); net.eval()
net(m); list(net.modules()); net.requires_grad_(True); lib.nn.utils.clip_grad_norm_(ps, 1.0)
lib.nn.utils.parameters_to_vector(ps); lib.distributions.Normal(0.0, 1.0).sample()
lib.distributions.Normal(t, 1.0).log_prob(t); lib.distributions.Categorical(logits=t).sample()
lib.distributions.Categorical(logits=t).log_prob(k[0]); lib.distributions.Bernoulli(logits=t).entropy()
lib.distributions.kl_divergence(lib.distributions.Normal(t, 1.0), lib.distributions.Normal(0.0, 1.0))
opts['SGD'].step(); opts['SGD'].zero_grad(); opts['Adam'].step(); opts['AdamW'].step(); opts['RMSprop'].step()
opts['Adagrad'].step(); opts['Adadelta'].step(); opts['Adamax'].step(); opts['NAdam'].step(); opts['RAdam'].step()
opts['ASGD'].step(); opts['Rprop'].step(); lib.func.grad(lambda x: (x * x).sum())(t)
lib.func.vmap(lambda x: x * 2)(m); lib.func.jvp(lib.sin, (t,), (t,)); lib.func.vjp(lib.sin, t)[1](t)
lib.func.jacrev(lib.sin)(t); lib.func.jacfwd(lib.sin)(t); lib.func.hessian(lambda x: (x ** 3).sum())(t)
lib.func.functional_call(net, dict(net.named_parameters()), (m,)); lib.autograd.functional.jacobian(lib.sin, t)
lib.utils.checkpoint.checkpoint(lib.sin, g, use_reentrant=False); repr(t); str(t)
lib.autograd.grad(g.sin().sum(), g); g.sin().sum().backward(); (g * g).sum().backward()
g.register_hook(print).remove()
"""

Program = Callable[[], Any]


class Call(NamedTuple):
    """One call, and how its programs are made: ours, then PyTorch's."""

    name: str
    make: Callable[[], tuple[Program, Program]]


class Time(NamedTuple):
    name: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


class NoCall(Exception):
    """There is nothing to time: no derivative, or nothing of that name."""


# -- operations ------------------------------------------------------------------------------------------------------


def operation_calls(samples: int) -> Iterator[Call]:
    """The calls of PyTorch's table, in all their forms."""
    for place, row in enumerate(rows()):
        for number, form in itertools.product(range(samples), opinfo.forms(row)):
            name = f"{opinfo.title(row)} ({form.name})" + (f" #{number}" if number else "")
            yield Call(name, partial(both, forward, form, place, number))
            if not form.writes:
                yield Call(f"{name}, backward", partial(both, backward, form, place, number))


@cache
def rows() -> list[Any]:
    return opinfo.operations()


@lru_cache(maxsize=1)
def small_samples(place: int) -> list[Any]:
    """The first samples of a row with few numbers, each with other arguments."""
    row = rows()[place]
    dtype = next((d for d in DTYPES if getattr(torch, d) in row.dtypes), "float32")
    chosen: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # some samples ask for what this build of PyTorch lacks
        for sample in row.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False):
            sizes = [t.numel() for t in opinfo.tensors([sample.input, *sample.args])]
            if all(0 < size <= MOST for size in sizes):
                chosen.setdefault(opinfo.told(sample.args, sample.kwargs) if chosen else "", sample)
    return list(chosen.values())


def both(make: Any, form: opinfo.Form, place: int, number: int) -> tuple[Program, Program]:
    """The programs of a call, each with arguments of its own."""
    if number >= len(small_samples(place)):
        raise NoCall
    sample = small_samples(place)[number]
    given = ((sample.input, *sample.args), sample.kwargs)
    return (
        make(retrograd, form.ours, *(opinfo.mapped(part, opinfo.ours) for part in given)),
        make(torch, form.theirs, *(opinfo.mapped(part, opinfo.copied) for part in given)),
    )


def forward(_: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Program:
    return lambda: function(*args, **kwargs)


def backward(lib: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Program:
    """A call, and the gradients of all that it was given."""
    leaves = [t for t in opinfo.tensors([args, kwargs]) if t.is_floating_point() or t.is_complex()]
    for leaf in leaves:
        leaf.requires_grad_()
    ones = [lib.ones_like(out) for out in differentiable(function(*args, **kwargs))]

    def program() -> Any:
        results = differentiable(function(*args, **kwargs))
        return lib.autograd.grad(results, leaves, ones, allow_unused=True)

    return program


def differentiable(results: Any) -> list[Any]:
    found = [t for t in opinfo.tensors(results) if t.requires_grad]
    if not found:
        raise NoCall
    return found


# -- modules, and the rest -------------------------------------------------------------------------------------------


def module_calls(_: int) -> Iterator[Call]:
    """The modules of the table in `tests/nn`, each in its first configuration."""
    first = {row.text.partition("(")[0]: row for row in reversed(MODULES)}
    for row in first.values():
        for way, name in ((module_forward, ""), (module_step, ", backward")):
            yield Call(
                f"nn.{row.text}{name}", lambda row=row, way=way: (way(retrograd, row), way(torch, row))
            )


def module_call(lib: Any, row: Any) -> Program:
    """A module's call, on inputs that require grad if they can."""
    module = module_of(lib, row.text, "float32")
    inputs = [as_input(lib, value, "float32") for value in row.inputs]
    options = {name: as_input(lib, value, "float32") for name, value in row.options.items()}
    return lambda: module(*inputs, **options)


def module_forward(lib: Any, row: Any) -> Program:
    call = module_call(lib, row)

    def program() -> Any:
        with lib.no_grad():
            return call()

    return program


def module_step(lib: Any, row: Any) -> Program:
    call = module_call(lib, row)
    ones = [lib.ones_like(out) for out in differentiable(tensors_in(call(), lib.Tensor))]
    return lambda: lib.autograd.backward(differentiable(tensors_in(call(), lib.Tensor)), ones)


def plain_calls(_: int) -> Iterator[Call]:
    """The lines of `PLAIN`."""
    for line in PLAIN.strip().splitlines():
        for text in line.split("; "):
            yield Call(text, lambda text=text: (plain(retrograd, text), plain(torch, text)))


def plain(lib: Any, text: str) -> Program:
    """A statement as a program."""
    lib.manual_seed(0)
    net = lib.nn.Sequential(lib.nn.Linear(8, 8), lib.nn.Tanh(), lib.nn.Linear(8, 1))
    net(lib.rand(4, 8)).sum().backward()
    names = {
        "lib": lib, "t": lib.rand(8) + 1, "m": lib.rand(8, 8), "k": lib.arange(8), "g": lib.rand(8).requires_grad_(),
        "a8": lib.rand(8).numpy(), "net": net, "ps": list(net.parameters()),
        "opts": {name: getattr(lib.optim, name)(net.parameters(), lr=1e-6) for name in OPTIMISERS},
    }  # fmt: skip
    exec(f"def program(t=t, m=m, k=k, g=g, lib=lib):\n    {text}\n", names)
    return names["program"]


SOURCES = (plain_calls, operation_calls, module_calls)

# -- measuring -------------------------------------------------------------------------------------------------------


def measured(call: Call, seconds: float) -> Time:
    """The best time of each library, in turns."""
    programs = call.make()
    counts = [calls_for(program) for program in programs]
    best = [math.inf, math.inf]
    end, turns = clock.now() + seconds, 0
    while turns < TURNS or clock.now() < end:
        for i, program in enumerate(programs):
            for _ in range(BLOCK):
                best[i] = min(best[i], clock.timed(program, counts[i]) / counts[i])
        turns += 1
    return Time(call.name, *best)


def calls_for(program: Program) -> int:
    """How many calls make a time that the clock can tell; the first ones load and fill what is kept."""
    for _ in range(3):
        program()
    return max(1, round(ENOUGH / (clock.timed(program, 2) / 2)))


def all_times(args: argparse.Namespace) -> tuple[list[Time], list[str]]:
    """The times of every call that both libraries take, and the names of those that one refuses."""
    times, refused = [], []
    for source in SOURCES:
        for call in source(args.samples):
            if args.only not in call.name:
                continue
            try:
                time = measured(call, args.seconds)
                if time.ratio < args.below:
                    again = measured(call, 10 * args.seconds)
                    time = Time(call.name, min(time.ours, again.ours), min(time.theirs, again.theirs))
            except NoCall:
                continue
            except Exception as error:  # noqa: BLE001 - whatever a library refuses with
                refused.append(f"{call.name}: {type(error).__name__}")
            else:
                times.append(time)
                if args.all:
                    print(text_of(time), flush=True)
        gc.collect()
    return times, refused


def text_of(time: Time) -> str:
    return f"  {time.name:75}{duration(time.ours):>10}{duration(time.theirs):>10}{time.ratio:>8.2f}×"


def page(header: list[str], times: list[Time]) -> str:
    """The table in Markdown: how many calls are how fast, and of each operation that is much slower its worst call."""
    ratios = sorted(t.ratio for t in times)
    lost = sum(ratio < 1 for ratio in ratios)
    worst: dict[str, Time] = {}
    for t in sorted((t for t in times if t.ratio < SLOW), key=lambda t: t.ratio):
        worst.setdefault(re.split(r" \(|, backward", t.name)[0], t)
    rows = [
        f"| `{t.name}` | {duration(t.ours)} | {duration(t.theirs)} | {t.ratio:.2f}× |" for t in worst.values()
    ]
    bounds = list(itertools.pairwise((0, 0.1, 0.25, 0.5, 1, 2, 5, math.inf)))
    counts = [f"| {low:g} to {high:g} | {sum(low <= r < high for r in ratios)} |" for low, high in bounds]
    return "\n".join(
        [
            "# Single calls on a few numbers",
            "",
            "Written by `python benchmarks/calls.py --write`: functions, methods, in-place forms and modules, forward,",
            "and forward with their backward. Processor time of one thread, the best of many, in turns. Ratio:",
            "PyTorch's time over retrograd's, so above 1 retrograd is quicker.",
            "",
            *(f"- {line}" for line in header),
            "",
            f"{len(times)} calls, {lost} of them lost; the median ratio is {ratios[len(ratios) // 2]:.2f}.",
            "",
            *("| ratio | calls |", "|---|---:|", *counts),
            "",
            f"## Below {SLOW:g}: the worst call of each operation",
            "",
            *("| | retrograd | PyTorch | ratio |", "|---|---:|---:|---:|", *rows),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="calls with this word in their names")
    parser.add_argument("--below", type=float, default=2.0, help="tell of calls with a smaller ratio")
    parser.add_argument(
        "--seconds", type=float, default=0.005, help="time for each call; ten times that for slow ones"
    )
    parser.add_argument("--samples", type=int, default=1, help="how many sets of arguments of an operation")
    parser.add_argument("--all", action="store_true", help="tell of every call as it is measured")
    parser.add_argument(
        "--write", action="store_true", help="put the results into benchmarks/RESULTS-CALLS.md"
    )
    args = parser.parse_args()
    clock.now = time.thread_time
    torch.set_num_threads(1)
    retrograd.set_num_threads(1)
    warnings.simplefilter("ignore")
    header = machine.description(torch, 1)
    print("\n".join(header), flush=True)
    times, refused = all_times(args)
    slow = sorted((t for t in times if t.ratio < args.below), key=lambda t: t.ratio)
    print(f"\nslower than {args.below:g}×:", *map(text_of, slow), sep="\n")
    ratios = sorted(t.ratio for t in times)
    lost, below = sum(r < 1 for r in ratios), sum(r < 2 for r in ratios)
    print(f"\n{len(times)} calls: {lost} lost, {below} below 2×, median {ratios[len(ratios) // 2]:.2f}×")
    print(f"{len(refused)} calls that one of the two refuses")
    if args.write:
        RESULTS.write_text(page(header, times), encoding="utf-8")


if __name__ == "__main__":
    main()
