"""A tensor turned into numbers, lists, arrays, copies, pickles; and as an ordinary Python object."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import retrograd as rg


@pytest.fixture
def x() -> Any:
    return rg.tensor([1.0, 2.0], requires_grad=True)


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2.5, 3, True, 1 + 2j])
def test_one_element_becomes_its_number(value):
    t = rg.tensor([[value]])
    assert t.item() == value
    assert type(t.item()) is type(value)
    assert bool(t) is bool(value)
    if not isinstance(value, complex):
        assert (float(t), int(t)) == (float(value), int(value))
    assert complex(t) == complex(value)


REFUSALS = {
    "item": (
        lambda: rg.ones(2).item(),
        RuntimeError,
        "a Tensor with 2 elements cannot be converted to Scalar",
    ),
    "float": (
        lambda: float(rg.ones(2)),
        ValueError,
        "only one element tensors can be converted to Python scalars",
    ),
    "int": (lambda: int(rg.ones(2)), ValueError, "only one element tensors"),
    "complex": (lambda: complex(rg.ones(2)), ValueError, "only one element tensors"),
    "bool": (lambda: bool(rg.ones(2)), RuntimeError, "more than one value is ambiguous"),
    "bool of nothing": (lambda: bool(rg.ones(0)), RuntimeError, "no values is ambiguous"),
    "index": (lambda: range(rg.tensor(2.0)), TypeError, "only integer tensors of a single element"),
    "len": (lambda: len(rg.tensor(1.0)), TypeError, "len\\(\\) of a 0-d tensor"),
    "iteration": (lambda: list(rg.tensor(1.0)), TypeError, "iteration over a 0-d tensor"),
    "format": (lambda: format(rg.ones(2), ".2f"), TypeError, "unsupported format string"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_what_has_no_single_value_says_so(kind):
    act, error, phrase = REFUSALS[kind]
    with pytest.raises(error, match=phrase):
        act()


def test_a_masked_array_is_an_operand_like_others():
    masked = np.ma.array([3.0, 4.0], mask=[False, True])
    found = rg.tensor([1.0, 2.0]) * masked
    assert type(found.array) is np.ndarray
    assert found.tolist() == [3.0, 8.0]


def test_an_integer_tensor_is_an_index():
    assert list(range(rg.tensor(3))) == [0, 1, 2]
    assert [10, 20, 30][rg.tensor([1])] == 20


def test_a_number_with_a_gradient_is_converted_with_a_warning(x):
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        float(x[0])
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        rg.tensor([x[0], 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x[0].item()


# -- text ------------------------------------------------------------------------------------------


def test_a_zero_dim_tensor_formats_as_its_number():
    assert f"{rg.tensor(1.5):.3f}" == "1.500"
    assert f"{rg.tensor(3):5d}" == "    3"


def test_formatting_without_a_specification_prints_the_tensor():
    assert f"{rg.tensor([1.0, 2.0])}" == "tensor([1., 2.])"


def test_repr_names_the_place_in_the_graph(x):
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert repr(x.detach()) == "tensor([1., 2.])"


# -- lists, arrays, iteration ----------------------------------------------------------------------


def test_tolist_gives_python_numbers():
    assert rg.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert rg.tensor(1.5).tolist() == 1.5
    assert type(rg.tensor([1.5]).tolist()[0]) is float


def test_numpy_refuses_to_lose_a_gradient(x):
    for lose in (x.numpy, lambda: np.asarray(x), lambda: np.array([x, x])):
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
            lose()
    assert x.detach().numpy().tolist() == [1.0, 2.0]
    assert x.numpy(force=True).tolist() == [1.0, 2.0]


def test_numpy_functions_take_a_tensor():
    t = rg.tensor([1.0, 4.0])
    assert np.asarray(t).dtype == np.float32
    assert np.array(t, dtype="int64").tolist() == [1, 4]
    assert np.asarray(t) is t.array or np.shares_memory(np.asarray(t), t.array)


def test_iteration_unbinds(x):
    rows = list(x)
    assert [r.item() for r in rows] == [1.0, 2.0]
    assert {r.grad_fn.name() for r in rows} == {"UnbindBackward0"}
    a, b = x
    (a * 2 + b * 3).backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_len_is_the_first_size():
    assert len(rg.zeros(4, 2)) == 4


# -- copies ----------------------------------------------------------------------------------------


def test_a_deep_copy_is_a_leaf_of_its_own(x):
    (x * 2).sum().backward()
    x.note = ["mine"]
    y = copy.deepcopy(x)
    assert (y.requires_grad, y.is_leaf, y.tolist(), y.grad.tolist()) == (True, True, [1.0, 2.0], [2.0, 2.0])
    assert y.note == ["mine"]
    assert y.note is not x.note
    assert not np.shares_memory(y.array, x.array)
    assert not np.shares_memory(y.grad.array, x.grad.array)


def test_a_deep_copy_has_no_hooks(x):
    x.register_hook(lambda g: g * 10)
    y = copy.deepcopy(x)
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]


def test_a_deep_copy_copies_shared_tensors_once(x):
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_a_result_cannot_be_deep_copied(x):
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_a_shallow_copy_shares_memory_but_not_the_gradient(x):
    (x * 2).sum().backward()
    x.note = "mine"
    y = copy.copy(x)
    assert y is not x
    assert np.shares_memory(y.array, x.array)
    assert (y.requires_grad, y.grad, y.note) == (True, None, "mine")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_keeps_values_flags_and_attributes(x, protocol):
    (x * 2).sum().backward()
    x.note = "mine"
    y = pickle.loads(pickle.dumps(x, protocol))
    assert (y.tolist(), y.requires_grad, y.is_leaf, y.note) == ([1.0, 2.0], True, True, "mine")
    assert y.grad is None
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float64", "complex64"])
def test_a_pickle_keeps_dtype_and_shape(dtype):
    t = rg.Tensor(np.ones((2, 0, 3), dtype), share=True)
    back = pickle.loads(pickle.dumps(t))
    assert (back.dtype, back.shape) == (t.dtype, t.shape)


def test_a_pickled_result_comes_back_as_a_leaf(x):
    y = pickle.loads(pickle.dumps(x * 2))
    assert (y.is_leaf, y.requires_grad, y.tolist()) == (True, True, [2.0, 4.0])


# -- an ordinary object ----------------------------------------------------------------------------


def test_tensors_are_hashed_by_identity(x):
    other = rg.tensor([1.0, 2.0])
    assert len({x, other, x}) == 2
    assert {x: "x"}[x] == "x"


def test_weak_references_and_attributes(x):
    gc.disable()
    try:
        y = rg.tensor([1.0])
        y.anything = x
        ref = weakref.ref(y)
        assert ref() is y
        assert vars(y)["anything"] is x
        del y
        assert ref() is None
    finally:
        gc.enable()


def test_nodes_take_weak_references_and_metadata(x):
    node = (x * 2).grad_fn
    assert weakref.ref(node)() is node
    node.metadata["line"] = 7
    assert node.metadata == {"line": 7}


# -- subclasses ------------------------------------------------------------------------------------


class Length(rg.Tensor):
    """A tensor with a meaning."""

    def doubled(self) -> Any:
        return self * 2


class Width(Length):
    """A narrower one."""


def test_results_keep_the_subclass(x):
    s = x.as_subclass(Length)
    assert isinstance(s, Length)
    results = [s * 2, 2 * s, s + x, x + s, s.sum(), s[0], s.detach(), s.clone(), s.doubled(), -s, s.exp()]
    assert {type(r) for r in results} == {Length}


def test_the_narrower_subclass_wins():
    a, b = rg.ones(2).as_subclass(Length), rg.ones(2).as_subclass(Width)
    assert type(a + b) is type(b + a) is Width


def test_unrelated_subclasses_do_not_mix():
    class Other(rg.Tensor):
        pass

    with pytest.raises(TypeError):
        rg.ones(2).as_subclass(Length) + rg.ones(2).as_subclass(Other)


def test_a_subclass_shares_the_place_in_the_graph(x):
    y = x * 2
    s = y.as_subclass(Length)
    assert type(s.grad_fn).__name__ == "AliasBackward0"
    assert s.grad_fn.next_functions[0][0] is y.grad_fn
    s.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_gradient_of_a_subclass_is_a_plain_tensor():
    s = rg.ones(2).as_subclass(Length).requires_grad_()
    (s * 2).sum().backward()
    assert type(s.grad) is rg.Tensor


def test_only_tensor_classes_will_do(x):
    with pytest.raises(TypeError):
        x.as_subclass(int)


def test_a_subclass_survives_copies():
    s = rg.ones(2).as_subclass(Length)
    assert type(copy.copy(s)) is Length
    assert type(copy.deepcopy(s)) is Length
    assert type(pickle.loads(pickle.dumps(s))) is Length


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "int32", "complex64", "bool", "uint8"])
def test_arrays_are_cast_to_dtypes_of_both_kinds(name):
    """Formulas say `values.astype(t.dtype)`: the library's own object, of which only bfloat16 is special."""
    from retrograd.backends.casts import cast, maker_of, reinterpreted

    wanted = np.dtype(name)
    for dtype in (wanted, getattr(rg, name)):
        found = cast(np.asarray([0.0, 1.5]), dtype)
        assert type(found) is np.ndarray
        assert found.dtype == wanted
        assert type(reinterpreted(np.zeros(4, np.float64), dtype)) is np.ndarray
        assert type(maker_of(dtype).zeros(2, wanted)) is np.ndarray
