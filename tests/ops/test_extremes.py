"""The op table against PyTorch where numbers end: infinities, NaN, zeros of both signs, huge, tiny and denormal ones.

Values and gradients must be NaN and infinite in the same places, and close elsewhere. And against PyTorch where
floating point ends: the dtype of the result, or the exception, for integers, booleans, half and complex numbers.
"""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import retrograd as rg
from tests.conformance.harness import record_exception
from tests.ops.case import Case
from tests.ops.cases import CASES
from tests.ops.cases_fourier import FOURIER
from tests.ops.cases_matrices import MATRICES
from tests.ops.checks import results, some
from tests.ops.samples import Array, Sample
from tests.ops.twins import NO_TWIN, Twin, dense, plain

# Every way to fill with every sample, in both precisions: EVERYTHING=1 pytest tests/ops/test_extremes.py
EVERYTHING = bool(os.environ.get("EVERYTHING"))

NAMED = {
    "float64": {"huge": 1e300, "tiny": 1e-300, "denormal": 1e-310},
    "float32": {"huge": 1e30, "tiny": 1e-37, "denormal": 1e-40},
}
ENDS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan, "0": 0.0, "-0": -0.0}
ORDINARY = (1.0, -1.0, 0.5, -2.5, 20.0)
FILLS = (
    *(f"one {v}" for v in (*ENDS, "huge", "-huge", "tiny", "denormal")),
    *(f"all {v}" for v in ("inf", "0", "huge", "tiny", "denormal")),
    *("mixed 0", "mixed 1", "gradient inf", "gradient nan"),
)
# What depends on the precision.
SINGLE_FILLS = ("one huge", "one denormal", "all huge", "all tiny", "mixed 0")
TOLERANCE = {"float32": 2e-4, "float64": 1e-7}

# -- where the two may differ ----------------------------------------------------------------------------------------

# PyTorch's libraries decide what becomes of numbers like these; what can be compared are zeros and small numbers.
MILD = frozenset(("one 0", "one -0", "one tiny"))
# So are all rows of cases_matrices.py and cases_fourier.py.
LAPACK = "LAPACK's results for matrices that are infinite, NaN or not invertible depend on its version"
SUMS = "the kernel decides whether zeros of the padding, or weights of zero, are multiplied with infinity or skipped"
FOLDED = "PyTorch multiplies by weight / deviation at once, whose overflow depends on the kernel"
FAMILIES: tuple[tuple[str, str], ...] = (
    (r".*conv", SUMS),
    (r".*(interpolate|grid_sample|adaptive_avg_pool)", SUMS),
    (r".*(layer|group|batch|instance)_norm", FOLDED),
    (r".*attention", "PyTorch's fused kernel makes 0 of rows that are NaN"),
    (r".*ctc_loss", "PyTorch's backward forms differences of infinities"),
    (r"(bilinear|linalg\.vander)", "products and sums of another order overflow earlier or later"),
)
SEGMENTS = "PyTorch counts equal elements of one column among those of the next, and skips all others"
QUOTIENT = "PyTorch divides infinity by infinity; ours is the limit"
DISTANCE = "PyTorch's kernel compares NaN in its own way: the largest of NaNs is 0"
REASONS: dict[str, tuple[str, str]] = {
    # row: (fills that are not compared, why)
    "addcdiv": ("(one|all|mixed).*", "PyTorch squares the divisor, which overflows; ours is the limit"),
    "polar": (".*", "PyTorch divides the result by its modulus: NaN where that is infinite"),
    "remainder": ("grid", "PyTorch's vector kernel takes x - floor(x / y) * y, which overflows"),
    "fmod": ("grid", "PyTorch's vector kernel takes x - trunc(x / y) * y, which overflows"),
    "cumprod": ("mixed.*", "0 times infinity, in another order"),
    "cumprod-zeros": ("one.*|gradient.*|mixed.*", "0 times infinity, in another order"),
    "var": ("all.*", "the rounding of the mean of equal numbers depends on the kernel"),
    "std": ("all.*", "the rounding of the mean of equal numbers depends on the kernel"),
    "var_mean": ("all.*|one -?inf|mixed.*", "PyTorch's running mean of infinities is NaN"),
    "std_mean": ("all.*|one -?inf|mixed.*", "PyTorch's running mean of infinities is NaN"),
    "topk": ("all.*|mixed.*", "which of equal elements comes first depends on the kernel"),
    "kthvalue": ("all.*|mixed.*", "which of equal elements comes first depends on the kernel"),
    "mode": (".*nan|mixed.*", "PyTorch counts NaN as equal to nothing while it sorts"),
    "logcumsumexp": ("one.*huge|gradient nan|mixed.*", "PyTorch takes logarithms of gradients and loses these"),
    "cdist-order_0.5": ("mixed.*", DISTANCE),
    "cdist-order_1.0": ("all inf|one nan|mixed.*", DISTANCE),
    "cdist-order_inf": ("(one|all|mixed).*", DISTANCE),
    "pdist-order_0.5": ("mixed.*", DISTANCE),
    "pdist-order_1.0": ("all inf|one nan|mixed.*", DISTANCE),
    "pdist-order_inf": ("(one|all|mixed).*", DISTANCE),
    "renorm-order_0.5": (".*(huge|mixed).*", "|x|**(p - 1) underflows later than PyTorch's |x|**(p - 2)"),
    "renorm-order_3.0": (".*(huge|mixed).*", "the norm overflows: infinity over infinity"),
    "cosine_similarity": ("mixed.*", "infinity over infinity, in another order"),
    "addmv": ("mixed.*", "a product that is added at once does not overflow by itself"),
    "as_strided_scatter": (".*", "PyTorch gives the input the gradient of the elements that were overwritten"),
    "nn.functional.gelu": ("grid|.*inf.*|mixed.*", "PyTorch's vector kernel makes NaN of infinity"),
    "nn.functional.soft_margin_loss": (".*(inf|huge|mixed).*", QUOTIENT),
    "nn.functional.multi_margin_loss": ("gradient.*", "PyTorch skips the classes that are within the margin"),
    "nn.functional.multilabel_margin_loss": ("gradient.*", "PyTorch skips the classes that are within the margin"),
    "segment_reduce-max": ("(all|mixed|gradient).*", SEGMENTS),
    "segment_reduce-min": ("(all|mixed|gradient).*", SEGMENTS),
    "special.i0e": ("grid", "a difference of two equal numbers, rounded"),
    "special.i1e": ("grid|.*nan|mixed.*", "PyTorch's gradient of NaN is that of 0"),
    "special.erfcx": ("grid", "a difference of two equal numbers, rounded"),
    "special.ndtri": ("grid|.*denormal|mixed.*", "on the edge of the largest number, in another order"),
    "special.log_ndtr": ("grid|.*(inf|huge)|mixed.*", "PyTorch divides 0 by 0; ours is the limit"),
    "sinc": ("grid", "PyTorch's gradient is 0 where the difference of the two terms is rounded away"),
    "frexp": (".*", "PyTorch divides by a power of two in single precision, which overflows"),
    "logaddexp2": ("grid", "PyTorch's constant is rounded: log2(2**-1 + 2**-1) is not 0"),
}  # fmt: skip
POLES = "PyTorch's polygamma functions have no poles at negative integers, and no limit at infinity"
GAMMAS = ["digamma", "special.zeta-of_number", "special.zeta-tensors", "polygamma-in_place"]
REASONS |= dict.fromkeys(
    (*GAMMAS, *(f"polygamma-order_{n}" for n in range(4))), (".*(grid|inf|huge|mixed).*", POLES)
)
BESSEL = "PyTorch's series make NaN of infinity; ours are the limits"
REASONS |= dict.fromkeys(("i0", "special.i1"), ("grid|.*(inf|nan)|mixed.*", BESSEL))
IGAMMA = "PyTorch multiplies 0 by the logarithm of 0; ours is the limit"
REASONS |= {f"{name}-second_argument": (".*(0|inf)|mixed.*", IGAMMA) for name in ("igamma", "igammac")}
REASONS |= {str(c): (".*", LAPACK) for c in MATRICES if "lu_solve" in c.name}
LEFT_OUT = {
    **NO_TWIN,
    **{str(c): "draws at random" for c in CASES if re.search("dropout|gumbel", str(c))},
    "nn.functional.grid_sample": "PyTorch's backward reads beyond its memory where the grid is infinite",
    "linalg.svd": "the signs of the vectors depend on the version of LAPACK",
    "linalg.eigh": "the signs of the vectors depend on the version of LAPACK",
}


def compared(case: Case, fill: str) -> bool:
    """Whether the row is compared with PyTorch for this way to fill."""
    row = str(case)
    if fill == "empty":
        return True
    if row in REASONS and re.fullmatch(REASONS[row][0], fill):
        return False
    if case in MATRICES:
        return fill in ("one 0", "one -0")
    return fill in MILD if case in FOURIER or any(re.match(p, row) for p, _ in FAMILIES) else True


# -- what is filled in -----------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """One call: how it was filled, the sample, its arrays, and what the gradient of the results is filled with."""

    fill: str
    sample: Sample
    arrays: list[Array]
    gradient: float | None = None


def number(name: str, dtype: str) -> float:
    value = {**ENDS, **NAMED[dtype]}.get(name.lstrip("-") if name not in ENDS else name)
    assert value is not None
    return -value if name.startswith("-") and name not in ENDS else value


def numbers(dtype: str) -> list[float]:
    named = NAMED[dtype].values()
    return [*ENDS.values(), *named, *(-n for n in named), *ORDINARY]


def filled(case: Case, sample: Sample, dtype: str, fill: str) -> Trial:
    """The sample's usual numbers, with one of each input's, or all of them, replaced."""
    arrays = case.arrays(sample, dtype)
    how, _, what = fill.partition(" ")
    if how == "gradient":
        return Trial(fill, sample, arrays, ENDS[what])
    rng = np.random.default_rng(zlib.crc32(f"{sample.shapes} {fill}".encode()))
    chosen = int(rng.integers(len(arrays)))
    for i, array in enumerate(arrays):
        if how == "mixed":
            array[...] = rng.choice(numbers(dtype), array.shape)
        elif how == "all":
            array[...] = number(what, dtype)
        elif i == chosen and array.size:
            array[tuple(rng.integers(n) for n in array.shape)] = number(what, dtype)
    return Trial(fill, sample, arrays)


def has_elements(sample: Sample) -> bool:
    return all(np.prod(shape) for shape in sample.shapes)


def trials(case: Case, dtype: str) -> Iterator[Trial]:
    """Every way to fill is tried with one of the samples at least, and every sample with one."""
    fills = [f for f in (FILLS if dtype == "float64" or EVERYTHING else SINGLE_FILLS) if compared(case, f)]
    whole = [s for s in case.samples if has_elements(s)]
    for sample in case.samples:
        if not has_elements(sample) and dtype == "float64":
            yield Trial("empty", sample, case.arrays(sample, dtype))
    if not whole or not fills:
        return
    count = max(len(whole), len(fills))
    pairs = [(s, f) for s in whole for f in fills] if EVERYTHING else [
        (whole[i % len(whole)], fills[i % len(fills)]) for i in range(count)
    ]  # fmt: skip
    for sample, fill in pairs:
        yield filled(case, sample, dtype, fill)


def grids(case: Case, dtype: str) -> Iterator[Trial]:
    """All numbers, and all pairs of them, for rows that take vectors."""
    values = np.array(numbers(dtype), dtype)
    seen = set()
    for sample in case.samples:
        options = repr((sample.args, sample.kwargs))
        if sample.shapes not in (((3,),), ((2, 3), (3,))) or options in seen or sample.layout != "plain":
            continue
        if any(isinstance(a, np.ndarray) for a in (*sample.args, *sample.kwargs.values())):
            continue
        seen.add(options)
        arrays = [values] if len(sample.shapes) == 1 else list(np.meshgrid(values, values, indexing="ij"))
        arrays = [np.ascontiguousarray(a).ravel() for a in arrays]
        shapes = tuple(a.shape for a in arrays)
        yield Trial("grid", Sample(shapes, "plain", sample.args, sample.kwargs), arrays)


# -- what comes out --------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """Values and gradients, or what was raised in place of either."""

    values: list[Array]
    gradients: list[Array]
    raised: BaseException | None


def outcome(lib: Any, call: Any, wrap: Any, numbers_of: Any, trial: Trial) -> Outcome:
    """Runs a trial with one library."""
    xs = [wrap(a if a.base is not None else a.copy()).requires_grad_() for a in trial.arrays]
    values: list[Array] = []
    try:
        outs = call(trial.sample, xs)
        values = [numbers_of(o) for o in outs]
        outs = [o for o in outs if o.requires_grad]
        gs = some([numbers_of(o) for o in outs], seed=1)
        if trial.fill == "grid":  # which may be taken in pieces
            gs = [np.ones_like(g) for g in gs]
        for g in gs:
            if trial.gradient is not None and g.size:
                g.flat[g.size // 2] = trial.gradient
        found = lib.autograd.grad(outs, xs, [wrap(g) for g in gs], materialize_grads=True) if outs else []
        return Outcome(values, [numbers_of(f) for f in found], None)
    except Exception as error:
        return Outcome(values, [], error)


def shared(array: Any) -> rg.Tensor:
    return rg.Tensor(array, share=True)


class Libraries:
    """Both libraries, ready to run trials of one row."""

    def __init__(self, torch: Any, case: Case) -> None:
        self.torch = torch
        self.twin = Twin(torch)
        self.case = case

    def ours(self, trial: Trial) -> Outcome:
        return outcome(
            rg, lambda s, xs: results(self.case.run(s, xs)), shared, lambda t: t.detach().array, trial
        )

    def theirs(self, trial: Trial) -> Outcome:
        return outcome(
            self.torch,
            lambda s, xs: self.twin.run(self.case, s, xs),
            lambda a: dense(self.torch, a),
            plain,
            trial,
        )

    def possible(self, trial: Trial) -> bool:
        """Whether PyTorch can run and differentiate this sample at all, with usual numbers."""
        dtype = str(trial.arrays[0].dtype)
        usual = trial._replace(arrays=self.case.arrays(trial.sample, dtype), gradient=None)
        return self.theirs(usual).raised is None

    def pieces(self, trial: Trial) -> list[Outcome]:
        """PyTorch's outcomes for three elements at a time, which are too few for its vector kernels."""
        found = []
        for i in range(0, trial.arrays[0].size, 3):
            part = [a[i : i + 3].copy() for a in trial.arrays]
            sample = replace(trial.sample, shapes=tuple(p.shape for p in part))
            found.append(self.theirs(trial._replace(sample=sample, arrays=part)))
        return found

    def check(self, trial: Trial) -> None:
        """Compares the outcomes of one trial."""
        ours, theirs = self.ours(trial), self.theirs(trial)
        if ours.raised is not None or theirs.raised is not None:
            if ours.raised is not None and theirs.raised is not None:
                same_exception(ours.raised, theirs.raised)
            elif self.possible(trial):
                raise AssertionError(f"ours: {ours.raised!r}, PyTorch's: {theirs.raised!r}")
            return
        scale = 0.0 if trial.fill == "grid" else max(size(a) for a in (*theirs.values, *trial.arrays))
        for what, f, w in pairs(ours, theirs):
            assert (f.shape, f.dtype) == (w.shape, w.dtype), what
            wrong = differing(f, w, max(scale, size(w), 1.0) if scale else 0.0)
            if wrong.any() and trial.fill == "grid":
                wrong &= ~self.undecided(trial, theirs)
            assert not wrong.any(), explained(what, f, w, wrong, trial)

    def undecided(self, trial: Trial, whole: Outcome) -> Any:
        """Elements of which PyTorch's vector kernel makes something else than its kernel for single numbers."""
        mask = np.zeros(trial.arrays[0].shape, bool)
        pieces = self.pieces(trial)
        for k, (_, w, _) in enumerate(pairs(whole, whole)):
            parts = [[a for _, a, _ in pairs(p, p)] for p in pieces]
            if w.shape != mask.shape or any(len(p) <= k or p[k].ndim != 1 for p in parts):
                return np.ones(mask.shape, bool)  # not element by element: there is nothing to tell apart
            mask |= differing(np.concatenate([p[k] for p in parts]), w, 0.0)
        return mask


def pairs(ours: Outcome, theirs: Outcome) -> Iterator[tuple[str, Array, Array]]:
    """What is compared, with its name."""
    for what, found, wanted in (
        ("value", ours.values, theirs.values),
        ("gradient", ours.gradients, theirs.gradients),
    ):
        assert len(found) == len(wanted), what
        yield from ((f"{what} {i}", f, w) for i, (f, w) in enumerate(zip(found, wanted, strict=True)))


def size(a: Array) -> float:
    """The largest finite size of the elements."""
    if a.dtype.kind not in "fc":
        return 0.0
    finite = np.abs(a[np.isfinite(a)])
    return float(finite.max()) if finite.size else 0.0


def explained(what: str, found: Array, wanted: Array, wrong: Any, trial: Trial) -> str:
    """A few of the differing elements, by the numbers they came from or by their index."""
    lines = []
    for index in [tuple(i) for i in np.argwhere(wrong)[:6]]:
        source = [a[index] for a in trial.arrays] if trial.fill == "grid" else index
        lines.append(f"  at {source}: {found[index]}, but PyTorch's is {wanted[index]}")
    return f"{what} differs in {wrong.sum()} elements\n" + "\n".join(lines) + f"\n  of {trial.arrays}"


def same_exception(ours: BaseException, theirs: BaseException) -> None:
    """An `except` clause for PyTorch's exception must catch ours."""
    wanted = record_exception(theirs).types[0]
    assert wanted in [t.__name__ for t in type(ours).__mro__], f"{ours!r} in place of {theirs!r}"


def differing(found: Array, wanted: Array, scale: float) -> Any:
    """Where two arrays are not NaN or infinite alike, or not close, as a mask."""
    if found.dtype.kind not in "fc":
        return found != wanted
    if found.dtype.kind == "c":
        return differing(found.real, wanted.real, scale) | differing(found.imag, wanted.imag, scale)
    relative = TOLERANCE[str(found.dtype)]
    floor = 8 * float(np.finfo(found.dtype).smallest_subnormal) + relative * 0.02 * scale
    with np.errstate(all="ignore"):
        apart = np.abs(found - wanted) > relative * np.abs(wanted) + floor
    finite = np.isfinite(found) & np.isfinite(wanted)
    return np.where(finite, apart, ~((found == wanted) | (np.isnan(found) & np.isnan(wanted))))


rows = pytest.mark.parametrize("case", [c for c in CASES if str(c) not in LEFT_OUT], ids=str)


@rows
def test_extreme_numbers_give_what_pytorch_gives(torch, case):
    if "real" in case.excuses:
        pytest.skip(case.excuses["real"])
    libraries = Libraries(torch, case)
    with np.errstate(all="ignore"):
        for dtype in ("float64", "float32"):
            extremes = [*(grids(case, dtype) if compared(case, "grid") else ()), *trials(case, dtype)]
            for trial in extremes:
                try:
                    libraries.check(trial)
                except AssertionError as error:
                    error.add_note(f"in row {case}, sample {trial.sample} {dtype}, filled with {trial.fill}")
                    raise


def test_reasons_belong_to_rows():
    """A reason whose row is gone excuses nothing."""
    known = {str(c) for c in CASES}
    assert not {*REASONS, *LEFT_OUT} - known
    assert all(any(re.match(pattern, row) for row in known) for pattern, _ in FAMILIES)
    assert all(any(re.fullmatch(pattern, row) for row in known) for pattern, *_ in DTYPE_REASONS)


# -- other dtypes ----------------------------------------------------------------------------------------------------

DTYPES = ("int64", "int32", "uint8", "bool", "float16", "complex64")
DTYPE_REASONS: tuple[tuple[str, str, str], ...] = (
    # rows, dtypes, why they are not compared
    ("complex|view_as_complex(_copy)?", "float16", "NumPy has no complex numbers of half precision"),
    ("nn.functional.local_response_norm", "int64", "PyTorch averages integers by dividing integers"),
    ("index_reduce-.*", "bool|complex64", "PyTorch takes them in some shapes, and without gradients"),
    ("native_dropout-on", "complex64", "the numbers drawn are real"),
    ("fft.*-empty", ".*", "PyTorch's library refuses empty tensors"),
    (
        "nn.functional.fractional_max_pool.*",
        "float16",
        "the drawn numbers are part of the sample, in another dtype",
    ),
    ("cdist-by_product", "float16", "PyTorch takes half precision in this one way to compute distances"),
)


def in_dtype(array: Array, dtype: str) -> Array:
    """The numbers as near as the dtype has them."""
    if dtype == "complex64":
        array = array + 0.5j
    elif dtype in ("int64", "int32", "uint8"):
        array = np.round(np.abs(array * 2) if dtype == "uint8" else array)
    return np.asarray(array).astype(dtype)


def dtypes_or_error(run: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [str(t.dtype).removeprefix("torch.") for t in run()]
        except Exception as error:
            return error


@rows
def test_other_dtypes_give_the_dtype_or_the_exception_that_pytorch_gives(torch, case):
    sample = next((s for s in case.samples if has_elements(s)), case.samples[0])
    twin = Twin(torch)
    for dtype in DTYPES:
        if any(re.fullmatch(row, str(case)) and re.fullmatch(d, dtype) for row, d, _ in DTYPE_REASONS):
            continue
        arrays = [in_dtype(a, dtype) for a in case.arrays(sample, "float64")]
        ours = dtypes_or_error(
            lambda: results(case.run(sample, [rg.Tensor(a.copy(), share=True) for a in arrays]))
        )
        theirs = dtypes_or_error(lambda: twin.run(case, sample, [dense(torch, a.copy()) for a in arrays]))
        if not isinstance(theirs, Exception):
            assert ours == theirs, (case, sample, dtype)
        elif "not implemented for" in str(theirs):
            # PyTorch has no kernel for every dtype; a function that makes sense for this one may compute.
            assert isinstance(ours, RuntimeError | list), f"{ours!r} in place of {theirs!r} for {dtype}"
        else:
            assert isinstance(ours, Exception), f"{ours} in place of {theirs!r} for {dtype}"
            same_exception(ours, theirs)
