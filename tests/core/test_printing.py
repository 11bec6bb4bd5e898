"""The printed text of tensors, compared letter by letter with PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from retrograd.core import printing

torch = pytest.importorskip("torch")
torch_options = torch._tensor_str

Array = np.ndarray[Any, Any]
nan, inf = float("nan"), float("inf")
FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    printing.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")


def ours(array: Array, **options: Any) -> str:
    with printing.printoptions(**options):
        return printing.format_tensor(array, default_dtype=np.dtype("float32"))


def theirs(array: Array, **options: Any) -> str:
    with torch_options.printoptions(**options):
        return repr(torch.from_numpy(np.array(array)))


FLOAT_ROWS = {
    "whole": [1.0, 2.0, 1000.0],
    "whole_wide_ratio": [1.0, 1001.0],
    "whole_at_limit": [1e8],
    "whole_past_limit": [1e8 + 8],
    "fraction": [1.5, -2.25, 100.125],
    "fraction_at_ratio": [0.5, 500.0],
    "fraction_past_ratio": [0.5, 500.25],
    "fraction_past_limit": [1e8 + 0.5],
    "small_at_limit": [1e-4],
    "small_past_limit": [0.99e-4],
    "rounds_up": [9.99995, 99.99999],
    "zeros": [0.0, -0.0],
    "zero_and_fraction": [0.0, 0.5],
    "zero_and_large": [100000.0, 0.0],
    "nan": [nan],
    "nan_and_whole": [nan, 1.0, 10.0],
    "nan_and_fraction": [nan, 1.5],
    "infinities": [inf, -inf],
    "infinity_and_sci": [-inf, 1e-7, 1.0],
    "subnormal": [5e-324, 1.0],
    "extremes": [1.7e308, 5e-324],
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("row", FLOAT_ROWS.values(), ids=FLOAT_ROWS.keys())
@pytest.mark.parametrize("sci_mode", [None, True, False])
def test_float_styles(row: list[float], dtype: str, sci_mode: bool | None) -> None:
    array = np.array(row).astype(dtype)
    for case in (array, array[:1].reshape(()), np.stack([array, array])):
        assert ours(case, sci_mode=sci_mode) == theirs(case, sci_mode=sci_mode)


@pytest.mark.parametrize("low", [0.003, 0.7, 1.0, 3.0, 60.0])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("toward", [-inf, 0.0, inf])
def test_ratio_limit_to_the_last_bit(low: float, dtype: str, toward: float) -> None:
    scalar = np.dtype(dtype).type
    high = scalar(scalar(low) * scalar(1000))
    array = np.array([low, high if toward == 0 else np.nextafter(high, scalar(toward))], dtype)
    assert ours(array) == theirs(array)


COMPLEX_ROWS: list[list[complex]] = [
    [1 + 2j],
    [1.5 + 2j, 3 - 1j],
    [1 + 2j, 1 + 200j],
    [1.5 + 1e10j, 2 - 3j],
    [complex(nan, 1.5), 2],
    [complex(inf, -inf), 1.5 + 2j],
    [complex(-0.0, -0.0)],
    [complex(0.0, nan)],
    [-1.5 - 2.25j, 100.25 + 7j] * 9,
    [0j] * 40,
]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("row", COMPLEX_ROWS)
def test_complex_styles(row: list[complex], dtype: str) -> None:
    array = np.array(row, dtype)
    for case in (array, array[:1].reshape(())):
        assert ours(case) == theirs(case)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_to_their_limits(dtype: str) -> None:
    limits = np.iinfo(dtype)
    array = np.array([limits.min, 0, 7, limits.max], dtype)
    assert ours(array) == theirs(array)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(), (1,), (0,), (1, 0), (0, 3), (2, 0, 3), (2, 3), (1, 1, 1), (2, 1, 3, 2)]
)
@pytest.mark.parametrize("edgeitems", [0, 3])
def test_shapes_and_dtypes(shape: tuple[int, ...], dtype: str, edgeitems: int) -> None:
    array = np.ones(shape, dtype)
    assert ours(array, edgeitems=edgeitems) == theirs(array, edgeitems=edgeitems)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("default", FLOATS)
@pytest.mark.parametrize("size", [0, 2])
def test_dtype_is_named_unless_evident(dtype: str, default: str, size: int) -> None:
    array = np.zeros(size, dtype)
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        expected = theirs(array)
    finally:
        torch.set_default_dtype(before)
    assert printing.format_tensor(array, default_dtype=np.dtype(default)) == expected


@pytest.mark.parametrize(
    "shape",
    [
        (1000,),
        (1001,),
        (6, 200),
        (7, 200),
        (40, 50),
        (1001, 1),
        (1, 1001),
        (2, 2, 500),
        (7, 8, 9, 10),
        (2,) * 10,
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "options", [{}, {"edgeitems": 1}, {"edgeitems": 9}, {"profile": "short"}, {"edgeitems": 0}]
)
def test_large_arrays_are_cut(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    for case in (array, array * 0.5, array % 2 == 0, array * 1j):
        assert ours(case, **options) == theirs(case, **options)


def test_what_is_cut_away_has_no_say_in_the_style() -> None:
    array = np.ones(2000, np.float32)
    array[1000] = 1e-9
    assert ours(array) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])" == theirs(array)


@pytest.mark.parametrize("linewidth", [-5, 0, 9, 15.2, 18, 30, 33.7, 79, 80, 81, 1000])
@pytest.mark.parametrize("threshold", [-1, 0, 5, 1000, inf])
def test_lines_are_broken(linewidth: float, threshold: float) -> None:
    for case in (
        np.arange(40),
        np.linspace(-1, 1, 40).reshape(2, 20),
        np.ones((2, 2, 9)) * 1j,
        np.array(2.5),
    ):
        options = {"linewidth": linewidth, "threshold": threshold}
        assert ours(case, **options) == theirs(case, **options)


def test_an_endless_line_is_allowed() -> None:
    text = ours(np.arange(500), linewidth=inf)
    assert text == theirs(np.arange(500), linewidth=10**6)


@pytest.mark.parametrize("precision", [0, 1, 2, 6, 17])
@pytest.mark.parametrize("sci_mode", [None, True, False])
def test_precision(precision: int, sci_mode: bool | None) -> None:
    for case in (
        np.array([1.5, 2.25, -3.5]),
        np.array([1.0, 2.0]),
        np.array([1e-7, 1.5]),
        np.array([2.5 + 1j]),
    ):
        options = {"precision": precision, "sci_mode": sci_mode}
        assert ours(case, **options) == theirs(case, **options)


@pytest.mark.parametrize("size", range(20))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("linewidth", [0, 50, 80])
def test_suffixes_move_to_a_new_line(size: int, dtype: str, linewidth: int) -> None:
    leaf = torch.full((size,), 1.5, dtype=getattr(torch, dtype), requires_grad=True)
    array, default = leaf.detach().numpy(), np.dtype("float32")
    with torch_options.printoptions(linewidth=linewidth), printing.printoptions(linewidth=linewidth):
        for tensor, suffix in ((leaf, "requires_grad=True"), (leaf.clone(), "grad_fn=<CloneBackward0>")):
            assert printing.format_tensor(array, default_dtype=default, suffixes=[suffix]) == repr(tensor)


class Sub(torch.Tensor):  # type: ignore[misc, name-defined]
    pass


class AMuchLongerNameForATensor(torch.Tensor):  # type: ignore[misc, name-defined]
    pass


@pytest.mark.parametrize("kind", [Sub, AMuchLongerNameForATensor])
def test_prefix_sets_the_indent(kind: Any) -> None:
    for array in (np.arange(60, dtype=np.int32), np.ones((3, 3, 3)), np.zeros((0, 2))):
        text = printing.format_tensor(array, default_dtype=np.dtype("float32"), prefix=f"{kind.__name__}(")
        assert text == repr(torch.from_numpy(array).as_subclass(kind))


def test_dtype_prefix_and_device() -> None:
    text = printing.format_tensor(
        np.zeros((0, 2)), default_dtype=np.dtype("float32"), dtype_prefix="rg.", device="cuda:0"
    )
    assert text == "tensor([], device='cuda:0', size=(0, 2), dtype=rg.float64)"
    # A meta tensor has no numbers to print, but shows the same order of what follows them.
    meta = repr(torch.zeros((0, 2), dtype=torch.float64, device="meta"))
    assert text.replace("[]", "...").replace("cuda:0", "meta").replace("rg.", "torch.") == meta


def test_memory_order_and_byte_order_do_not_show() -> None:
    array = np.arange(12.0).reshape(3, 4)
    assert ours(array.T) == ours(array.T.copy())
    assert ours(array[::-1, ::2]) == ours(array[::-1, ::2].copy())
    assert ours(array.astype(">f8")) == ours(array)


def test_most_dimensions_numpy_has() -> None:
    array = np.ones((1,) * 63 + (8,), np.float32)
    assert ours(array, threshold=1) == theirs(array, threshold=1)


def test_printing_leaves_the_array_alone_and_warns_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    array = np.array([1.7e308, 5e-324, nan, -inf])
    array.flags.writeable = False
    ours(array)
    ours(np.array([0x7F800001], np.uint32).view(np.float32))
    assert not recwarn.list


OPTION_CALLS: list[dict[str, Any]] = [
    {},
    {"precision": 2},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "short", "linewidth": 40},
    {"profile": "unknown", "precision": 1},
    {"sci_mode": True},
    {"threshold": inf, "edgeitems": 7},
    {"precision": np.int64(3), "edgeitems": np.int8(2), "threshold": np.int64(50), "linewidth": np.int64(60)},
]


@pytest.mark.parametrize("first", OPTION_CALLS, ids=str)
@pytest.mark.parametrize("second", OPTION_CALLS, ids=str)
def test_options_follow_each_other_as_in_torch(first: dict[str, Any], second: dict[str, Any]) -> None:
    for module in (printing, torch):
        module.set_printoptions(**first)
        module.set_printoptions(**second)
    after = printing.get_printoptions()
    assert after == torch_options.get_printoptions()
    with printing.printoptions(**first), torch_options.printoptions(**first):
        assert printing.get_printoptions() == torch_options.get_printoptions()
    assert printing.get_printoptions() == after


def test_options_come_back_after_an_error() -> None:
    before = printing.get_printoptions()
    with pytest.raises(KeyError), printing.printoptions(precision=1, sci_mode=True):
        raise KeyError
    assert printing.get_printoptions() == before


@pytest.mark.parametrize(
    "bad", [{"precision": -1}, {"precision": 2.5}, {"precision": "a"}, {"edgeitems": -1}]
)
def test_bad_options_change_nothing(bad: dict[str, Any]) -> None:
    before = printing.get_printoptions()
    with pytest.raises(ValueError, match="whole number that is 0 or larger"):
        printing.set_printoptions(**bad)
    assert printing.get_printoptions() == before


@pytest.mark.parametrize(
    ("value", "spec"), [(0.1, ""), (1.5, ".3f"), (3, "5d"), (True, ">6"), (1 + 2j, ".2f"), (nan, "6.1f")]
)
def test_format_scalar(value: complex, spec: str) -> None:
    for array in (np.array(value), np.array(value, np.float16 if isinstance(value, float) else None)):
        assert printing.format_scalar(array, spec) == format(torch.from_numpy(array), spec)


shapes = st.one_of(
    hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5),
    st.tuples(st.integers(0, 90)),
    st.just((3, 30)),
)
options_drawn = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.sampled_from(["default", "short", "full"]),
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([-1, 0, 5, 30, 1000, inf]),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(0, 130),
        "sci_mode": st.sampled_from([None, True, False]),
    },
)


@st.composite
def magnitudes(draw: st.DrawFn) -> Array:
    """Floats of neighbouring sizes: free floats nearly always need scientific notation."""
    shape, dtype = draw(shapes), draw(st.sampled_from(FLOATS))
    scale = 10.0 ** draw(st.integers(-6, 4))
    step = draw(st.sampled_from([1.0, 0.5, 0.001]))
    whole = draw(hnp.arrays(np.int64, shape, elements=st.integers(-1500, 1500)))
    with np.errstate(over="ignore"):
        array: Array = (whole * step * scale).astype(dtype)
    return array


@settings(deadline=None, max_examples=300)
@given(
    array=st.one_of(magnitudes(), st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, shapes))),
    options=options_drawn,
)
def test_any_array_under_any_options(array: Array, options: dict[str, Any]) -> None:
    assert ours(array, **options) == theirs(array, **options)
