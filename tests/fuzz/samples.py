"""Every operation that PyTorch's own tests know, with the arguments that they use: both libraries do the same.

A call is made as a function, a method, in place or by another name; on tensors that lie otherwise; with NumPy's numbers
and 0-dim tensors for numbers; with names for arguments; with `out=`, in inference mode, or with what is to be refused.
Compared are: whether it is taken, the type of an error, dtype, shape, strides, values, what shares memory, the
node; then gradients, second derivatives, tangents and batches.
"""

from __future__ import annotations

import importlib
import itertools
import random
import signal
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import retrograd as rg

from .execute import close, outside, strides
from .opinfo import (
    DTYPES,
    RANDOM,
    Form,
    NoCounterpart,
    copied,
    flat,
    forms,
    mapped,
    numbers,
    operations,
    ours,
    rebound,
    tensors,
    title,
    told,
)  # fmt: skip
from .samples_explained import reason
from .signatures import Finding

SECONDS = 20  # for one call
SAMPLES = 25  # of an operation and a dtype
TOLERANCE = {
    "float16": 1e-2, "bfloat16": 5e-2, "float32": 2e-4, "complex64": 2e-4, "float64": 1e-7, "complex128": 1e-7,
}  # fmt: skip
EXACT = {"float64", "complex128"}


class Trial(NamedTuple):
    """One call, and what of it is compared."""

    title: str
    dtype: str
    way: str
    form: Form
    args: tuple[Any, ...]
    named: dict[str, Any]
    check: Callable[..., Iterator[tuple[str, str]]]
    after: Any = None  # what the table does with results before they are differentiated
    is_random: bool = False

    def text(self) -> str:
        return f"{self.title} ({self.form.name}, {self.way}): {told(self.args, self.named)}"


def explore(count: int, seed: int) -> Iterator[Finding]:
    """What is found in so many calls: a few of each operation and dtype, in a random order."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    rng = random.Random(seed)
    pairs = [(row, dtype) for row in operations() for dtype in DTYPES]
    rng.shuffle(pairs)
    each = max(1, -(-count // len(pairs)))
    chosen = itertools.chain.from_iterable(trials(row, dtype, each, rng) for row, dtype in pairs)
    for trial in itertools.islice(chosen, count):
        yield from findings(trial)


def findings(trial: Trial) -> Iterator[Finding]:
    """What of one call differs."""
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind, words in trial.check(trial):
                why = reason(trial.title, trial.way, kind, words, trial.text())
                yield Finding("known" if why else kind, trial.text(), f"{why}: {words}" if why else words)
    except NoCounterpart:
        pass
    except Exception as error:
        yield Finding("broken result", trial.text(), f"{error!r:.200}")
    finally:
        signal.alarm(0)


# -- calls -----------------------------------------------------------------------------------------------------------


def trials(row: Any, dtype: str, count: int, rng: random.Random) -> Iterator[Trial]:
    """Some calls of an operation, chosen at random from its samples and the ways to call it."""
    torch = importlib.import_module("torch")
    torch.manual_seed(rng.randrange(1 << 30))
    np.random.seed(rng.randrange(1 << 30))  # noqa: NPY002 - the table draws from it
    their_dtype = getattr(torch, dtype)
    differentiable = their_dtype.is_floating_point or their_dtype.is_complex
    try:
        samples = row.sample_inputs("cpu", their_dtype, requires_grad=differentiable)
        made = list(itertools.islice(samples, SAMPLES))
        refused = list(row.error_inputs("cpu")) if row.error_inputs_func and rng.random() < 0.2 else []
    except Exception:
        return
    every = list(forms(row))
    common = {"title": title(row), "dtype": dtype, "is_random": row.name in RANDOM}
    for _ in range(count):
        if refused and rng.random() < 0.3:
            sample = rng.choice(refused).sample_input
            yield Trial(way="refused", form=every[0], args=(sample.input, *sample.args), named=sample.kwargs,
                        check=calls, **common)  # fmt: skip
        elif made:
            sample = rng.choice(made)
            way = rng.choice(WAYS)
            form = rng.choice(every) if way == "plain" else every[0]
            found = WAY[way](row, form, (sample.input, *sample.args), sample.kwargs, rng)
            if found is not None:
                form, args, named, check = found
                yield Trial(way=way, form=form, args=args, named=named, check=check,
                            after=sample.output_process_fn_grad, **common)  # fmt: skip


Way = tuple[Form, tuple[Any, ...], dict[str, Any], Any]


def plain(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way:
    return form, args, named, calls


def laid_out(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way | None:
    """The same tensors, lying otherwise: transposed, with gaps, or expanded."""
    change = rng.choice([transposed, with_gaps, expanded])
    return form, mapped(args, change), mapped(named, change), calls


def transposed(t: Any) -> Any:
    return _replaced(t, lambda t: t.mT.contiguous().mT if t.ndim > 1 else t.clone())


def with_gaps(t: Any) -> Any:
    return _replaced(t, lambda t: t.repeat_interleave(2, -1)[..., ::2] if t.ndim else t.clone())


def expanded(t: Any) -> Any:
    return _replaced(t, lambda t: t[:1].expand(t.shape) if t.ndim and len(t) else t.clone())


def _replaced(value: Any, change: Any) -> Any:
    if not hasattr(value, "requires_grad") or value.is_sparse or value.is_conj():
        return value
    return change(value.detach()).requires_grad_(value.requires_grad)


def other_numbers(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way | None:
    """NumPy's numbers, or tensors without dimensions, for Python's."""
    torch = importlib.import_module("torch")
    make = rng.choice([np.asarray, torch.tensor])

    def change(value: Any) -> Any:
        if type(value) not in (int, float):
            return value
        return make(value)[()] if make is np.asarray else make(value)

    def tensors_at_the_top(value: Any) -> Any:
        return change(value) if make is np.asarray or not isinstance(value, list | tuple) else value

    if make is np.asarray:
        return form, mapped(args, change), mapped(named, change), calls
    return (
        form,
        tuple(map(tensors_at_the_top, args)),
        {k: tensors_at_the_top(v) for k, v in named.items()},
        calls,
    )


def by_names(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way | None:
    """All arguments by the names that PyTorch has for them."""
    if isinstance(form.theirs, types.FunctionType):
        return None
    torch = importlib.import_module("torch")
    operator = f"aten::{row.name.replace('.', '_').removeprefix('nn_functional_')}"
    for schema in torch._C._jit_get_schemas_for_operator(operator):
        names = ["input" if a.name == "self" else a.name for a in schema.arguments if not a.kwarg_only]
        if len(names) >= len(args) and not schema.overload_name:
            return form, (), dict(zip(names, args, strict=False)) | named, calls
    return None


def with_out(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way | None:
    """A place for the result, which the same call has shown the shape of."""
    if not row.supports_out:
        return None
    theirs, mine = (
        _given_out(lib, f) for lib, f in ((importlib.import_module("torch"), form.theirs), (rg, form.ours))
    )
    return Form("out=", theirs, mine), args, named, calls


def _given_out(library: Any, function: Any) -> Callable[..., Any]:
    def run(*args: Any, **named: Any) -> Any:
        with library.no_grad():
            found = function(*args, **named)
            several = not hasattr(found, "requires_grad")
            out = tuple(map(library.empty_like, found)) if several else library.empty_like(found)
            given = function(*args, **named, out=out)
        return given, [a is b for a, b in zip(flat(given), flat(out), strict=True)]

    return run


def in_inference_mode(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way | None:
    def inside(library: Any, function: Any) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            with library.inference_mode():
                found = function(
                    *[a.detach().clone() if hasattr(a, "requires_grad") else a for a in args], **named
                )
            return found, [t.is_inference() for t in tensors(found)]

        return run

    torch = importlib.import_module("torch")
    return Form("inference", inside(torch, form.theirs), inside(rg, form.ours)), args, named, calls


def forward(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way | None:
    return form, args, named, tangents


def batched(row: Any, form: Form, args: Any, named: Any, rng: random.Random) -> Way | None:
    return (form, args, named, batches) if args and hasattr(args[0], "requires_grad") else None


WAY: dict[str, Callable[..., Way | None]] = {
    "plain": plain, "other layout": laid_out, "other numbers": other_numbers, "by names": by_names, "out": with_out,
    "inference": in_inference_mode, "tangent": forward, "vmap": batched,
}  # fmt: skip
WAYS = ["plain"] * 6 + ["other layout"] * 3 + ["other numbers"] * 2 + list(WAY)[3:]


# -- what is compared ------------------------------------------------------------------------------------------------


def outcome(function: Any, args: Any, named: Any) -> Any:
    try:
        return function(*args, **named)
    except Exception as error:
        return error.with_traceback(None)


def errors(hers: Any, mine: Any, what: str = "") -> tuple[str, str] | None:
    """How two outcomes differ if one of them is an exception; ("", "") if they do not."""
    there, here = isinstance(hers, Exception), isinstance(mine, Exception)
    if there and here:
        return (
            ("", "")
            if isinstance(mine, outside(hers))
            else (f"{what}error type", f"{hers!r:.200} there, {mine!r:.200} here")
        )
    if there or here:
        return f"{what}raises only {'there' if there else 'here'}", f"{hers if there else mine!r:.300}"
    return None


def calls(trial: Trial) -> Iterator[tuple[str, str]]:
    """The results of a call and, where they are right, gradients of first and second order."""
    hers_given, mine_given = (mapped([list(trial.args), trial.named], f) for f in (copied, ours))
    leaves = [[t for t in tensors(given) if t.requires_grad] for given in (hers_given, mine_given)]
    for given in (hers_given, mine_given) if trial.form.writes else ():
        first = given[0][0]  # a leaf that requires a gradient cannot be written
        given[0][0] = first * 1 if hasattr(first, "requires_grad") and first.requires_grad else first
    hers, mine = outcome(trial.form.theirs, *hers_given), outcome(trial.form.ours, *mine_given)
    if (found := errors(hers, mine)) is not None:
        yield from [found] if found[0] else []
        return
    found_any = False
    for kind, words in results(hers, mine, tensors(hers_given), tensors(mine_given), trial.is_random):
        found_any = True
        yield kind, words
    if leaves[0] and not found_any and not trial.is_random and trial.way not in {"out", "inference"}:
        yield from gradients(trial, hers, mine, *leaves)


def results(
    hers: Any, mine: Any, hers_given: Any, mine_given: Any, is_random: bool
) -> Iterator[tuple[str, str]]:
    hers, mine = flat(hers), flat(mine)
    if len(hers) != len(mine):
        yield "values", f"{len(hers)} results there, {len(mine)} here"
        return
    for a, b in zip(hers, mine, strict=True):
        if not hasattr(a, "is_contiguous"):
            same = not isinstance(a, bool | int | float | complex | str) or is_random or close(a, b, 1e-4)
            yield from [] if same else [("values", f"{a!r} there, {b!r} here")]
        elif not hasattr(b, "is_contiguous"):
            yield "values", f"a tensor there, {b!r} here"
        else:
            yield from _of_tensors(a, b, hers_given, mine_given, is_random)


def _of_tensors(
    a: Any, b: Any, hers_given: Any, mine_given: Any, is_random: bool
) -> Iterator[tuple[str, str]]:
    for kind, read in FACTS.items():
        there, here = read(a), read(b)
        if there != here:
            yield kind, f"{there} there, {here} here"
            return
    if strides(a) != strides(b) and not b.is_contiguous():
        yield "strides", f"{tuple(a.shape)}: {a.stride()} there, {b.stride()} here"
    there, here = _sharing(a, hers_given), _sharing(b, mine_given)
    if there != here:
        yield "sharing", f"shares memory with arguments {there} there, {here} here"
    if not is_random and not _agree(numbers(a), numbers(b), str(a.dtype)):
        yield "values", _apart(numbers(a), numbers(b))


FACTS: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: tuple(t.shape),
    "conjugate": lambda t: (t.is_conj(), t.is_neg()),
    "requires_grad": lambda t: t.requires_grad,
    "node": lambda t: None if t.grad_fn is None else t.grad_fn.name().rpartition("::")[2],
}


def _sharing(result: Any, given: Any) -> list[int]:
    """Which arguments a result shares memory with."""
    return [i for i, t in enumerate(given) if result.numel() and _place(t) == _place(result)]


def _place(t: Any) -> int:
    return int(t.untyped_storage().data_ptr())


def _agree(a: Any, b: Any, dtype: str) -> bool:
    if a.dtype.kind in "biu":
        return np.array_equal(a, b)
    return close(a, b, TOLERANCE[dtype.removeprefix("torch.")])


def _apart(a: Any, b: Any) -> str:
    """Where two arrays differ first."""
    with np.errstate(all="ignore"):
        places = (
            np.argwhere(~np.isclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)) if a.shape == b.shape else []
        )
    if not len(places):
        return f"{a.tolist()!r:.150} there, {b.tolist()!r:.150} here"
    first = tuple(map(int, places[0]))
    return f"{len(places)} of {a.size} numbers, at {first}: {a[first]} there, {b[first]} here"


def gradients(
    trial: Trial, hers: Any, mine: Any, hers_leaves: Any, mine_leaves: Any
) -> Iterator[tuple[str, str]]:
    torch = importlib.import_module("torch")
    after = rebound(trial.after) if isinstance(trial.after, types.FunctionType) else trial.after
    hers = outcome(pulled, (torch, trial.after(hers), hers_leaves), {})
    mine = outcome(pulled, (rg, after(mine), mine_leaves), {})
    yield from _derivatives("gradient", hers, mine)
    if isinstance(hers, list) and isinstance(mine, list) and trial.dtype in EXACT:
        hers, mine = (
            outcome(pulled, (torch, hers, hers_leaves), {}),
            outcome(pulled, (rg, mine, mine_leaves), {}),
        )
        yield from _derivatives("second derivative", hers, mine, lenient=True)


def pulled(library: Any, results: Any, leaves: Any) -> Any:
    """The gradients of the leaves, from random gradients of the results."""
    outs = [t for t in tensors(results) if t.grad_fn is not None]
    given = [_random(library, t, 1) for t in outs]
    return (
        list(library.autograd.grad(outs, leaves, given, allow_unused=True, create_graph=True))
        if outs
        else None
    )


def _random(library: Any, t: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((2, *t.shape))
    return library.tensor(drawn[0] + 1j * drawn[1] if t.dtype.is_complex else drawn[0]).to(t.dtype)


def _derivatives(what: str, hers: Any, mine: Any, lenient: bool = False) -> Iterator[tuple[str, str]]:
    """How gradients or tangents differ; a `lenient` comparison takes None for zero."""
    if (found := errors(hers, mine, f"{what} ")) is not None:
        yield from [found] if found[0] else []
        return
    for a, b in zip(hers or [], mine or [], strict=False):
        if a is None or b is None:
            other = b if a is None else a
            if other is not None and not (lenient and not numbers(other).any()):
                yield f"{what} of nothing", f"{'none' if a is None else 'one'} there"
        elif (str(a.dtype), tuple(a.shape)) != (str(b.dtype), tuple(b.shape)):
            yield what, f"{a.dtype} {tuple(a.shape)} there, {b.dtype} {tuple(b.shape)} here"
        elif not _agree(numbers(a), numbers(b), str(a.dtype)):
            yield what, _apart(numbers(a), numbers(b))


def tangents(trial: Trial) -> Iterator[tuple[str, str]]:
    if trial.dtype not in EXACT or trial.is_random:
        return
    found = []
    for library, function, change in _both(trial):
        args, named = mapped([list(trial.args), trial.named], change)
        found.append(outcome(_pushed, (library, function, args, named), {}))
    yield from _derivatives("tangent", *found, lenient=True)


def _both(trial: Trial) -> list[tuple[Any, Any, Any]]:
    return [(importlib.import_module("torch"), trial.form.theirs, copied), (rg, trial.form.ours, ours)]


def _pushed(library: Any, function: Any, args: Any, named: Any) -> Any:
    """The tangents of the results, from random tangents of what requires a gradient."""
    ad = library.autograd.forward_ad

    def dual(value: Any) -> Any:
        known = hasattr(value, "requires_grad") and value.requires_grad
        return ad.make_dual(value.detach(), _random(library, value, 2)) if known else value

    with ad.dual_level():
        results = function(*mapped(list(args), dual), **mapped(named, dual))
        return [
            ad.unpack_dual(t).tangent
            for t in tensors(results)
            if t.dtype.is_floating_point or t.dtype.is_complex
        ]


def batches(trial: Trial) -> Iterator[tuple[str, str]]:
    if trial.is_random:
        return
    found = []
    for library, function, change in _both(trial):
        args, named = mapped([list(trial.args), trial.named], change)
        found.append(outcome(_over_two, (library, function, args, named), {}))
    if (wrong := errors(*found, "vmap ")) is not None:
        yield from [wrong] if wrong[0] else []
        return
    for kind, words in results(*found, [], [], False):
        if kind in {"values", "dtype", "shape"}:
            yield f"vmap {kind}", words


def _over_two(library: Any, function: Any, args: Any, named: Any) -> Any:
    """A function over a batch of two: the first argument, and the same turned round."""
    with library.no_grad():
        first = args[0].detach()
        both = library.stack([first, first.flip(0) if first.ndim else first])
        return library.vmap(lambda x: function(x, *args[1:], **named), randomness="different")(both)
