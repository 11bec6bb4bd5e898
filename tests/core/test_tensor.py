"""A tensor's place in the graph: leaves, gradients, detaching, versions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as rg


@pytest.fixture
def x() -> Any:
    return rg.tensor([1.0, 2.0], requires_grad=True)


# -- what a tensor holds ---------------------------------------------------------------------------


def test_a_tensor_holds_the_array_it_was_made_from():
    array = np.ones((2, 3))
    assert rg.Tensor(array, share=True).array is array


def test_an_array_is_shared_not_copied():
    array = np.zeros(3)
    t = rg.Tensor(array, share=True)
    array[0] = 5.0
    assert t.tolist() == [5.0, 0.0, 0.0]
    assert t.numpy() is array


@pytest.mark.parametrize(
    ("made", "shape"),
    [(lambda: rg.Tensor(2, 3), (2, 3)), (lambda: rg.Tensor([1, 2]), (2,)), (lambda: rg.Tensor(), (0,))],
    ids=["sizes", "values", "nothing"],
)
def test_the_old_constructor_makes_floats(made, shape):
    assert made().shape == shape
    assert made().dtype == rg.float32


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "uint8", "bool"])
def test_the_old_constructor_makes_floats_of_arrays(dtype):
    array = np.ones((2, 3), dtype)
    made = rg.Tensor(array)
    array[0] = 0
    assert made.dtype == rg.float32
    assert made.tolist() == [[1.0] * 3] * 2


def test_the_old_constructor_holds_an_array_of_the_default_dtype():
    array = np.zeros(3, "float32")
    assert rg.Tensor(array).array is array


def test_what_a_tensor_says_about_itself():
    t = rg.Tensor(np.zeros((2, 3), "float32").T, share=True)
    assert (t.shape, t.ndim, t.dim(), t.size(), t.size(-1)) == ((3, 2), 2, 2, (3, 2), 2)
    assert (t.dtype, t.itemsize, t.element_size(), t.nbytes) == (rg.float32, 4, 4, 24)
    assert (t.numel(), t.nelement(), t.stride(), t.stride(0)) == (6, 6, (1, 3), 1)
    assert (t.is_contiguous(), t.is_floating_point(), t.is_complex(), t.is_signed()) == (
        False,
        True,
        False,
        True,
    )
    assert str(t.device) == "cpu"
    assert t.storage_offset() == 0


def test_a_shape_counts_and_prints_like_pytorchs():
    shape = rg.Tensor(np.zeros((2, 3)), share=True).shape
    assert repr(shape) == "torch.Size([2, 3])"
    assert shape.numel() == 6
    assert repr(shape[1:]) == "torch.Size([3])"


# -- leaves ----------------------------------------------------------------------------------------


def test_a_leaf_has_no_grad_fn(x):
    assert (x.is_leaf, x.grad_fn, x.requires_grad, x.output_nr) == (True, None, True, 0)


def test_a_result_has_one(x):
    y = x * 2
    assert (y.is_leaf, y.requires_grad, y.grad_fn.name()) == (False, True, "MulBackward0")


def test_constants_are_leaves_without_gradient():
    y = rg.tensor([1.0]) * 2
    assert (y.is_leaf, y.requires_grad, y.grad_fn) == (True, False, None)


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_only_floating_and_complex_tensors_can_require_a_gradient(dtype):
    t = rg.Tensor(np.ones(2, dtype), share=True)
    with pytest.raises(RuntimeError, match="floating point"):
        t.requires_grad_()
    with pytest.raises(RuntimeError, match="floating point"):
        t.requires_grad = True
    assert t.requires_grad is False


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_they_can(dtype):
    assert rg.Tensor(np.ones(2, dtype), share=True).requires_grad_().requires_grad


def test_a_leafs_flag_can_be_taken_back(x):
    x.requires_grad = False
    assert not (x * 2).requires_grad
    x.requires_grad = True
    assert (x * 2).requires_grad


@pytest.mark.parametrize("value", [True, False])
def test_a_results_flag_cannot_be_assigned(x, value):
    y = x * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = value


def test_a_result_may_be_told_to_require_what_it_does(x):
    y = x * 2
    assert y.requires_grad_() is y
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad_(False)


# -- .grad -----------------------------------------------------------------------------------------


def test_grad_begins_as_none_and_can_be_set_and_deleted(x):
    assert x.grad is None
    x.grad = rg.tensor([3.0, 4.0])
    assert x.grad.tolist() == [3.0, 4.0]
    del x.grad
    assert x.grad is None


def test_backward_adds_to_what_is_there(x):
    mine = rg.tensor([10.0, 20.0])
    x.grad = mine
    (x * 2).sum().backward()
    assert x.grad is mine
    assert mine.tolist() == [12.0, 22.0]


def test_a_tensor_without_gradient_may_hold_one():
    t = rg.tensor([1.0])
    t.grad = rg.tensor([2.0])
    assert t.grad.item() == 2.0


BAD_GRADS = {
    "another size": (
        lambda x: rg.tensor([1.0, 2.0, 3.0]),
        RuntimeError,
        "attempting to assign a gradient of size",
    ),
    "another dtype": (
        lambda x: x.detach().double(),
        RuntimeError,
        "attempting to assign a gradient with dtype",
    ),
    "a number": (
        lambda x: 1.0,
        TypeError,
        "assigned grad expected to be a Tensor or None but got grad of type",
    ),
    "an array": (lambda x: np.ones(2, "float32"), TypeError, "assigned grad expected to be a Tensor or None"),
    "itself": (lambda x: x, RuntimeError, "can't assign Variable as its own grad"),
}


@pytest.mark.parametrize("kind", BAD_GRADS)
def test_a_grad_that_does_not_fit_is_refused_and_changes_nothing(x, kind):
    make, error, phrase = BAD_GRADS[kind]
    before = x.grad = rg.tensor([3.0, 4.0])
    with pytest.raises(error, match=phrase):
        x.grad = make(x)
    assert x.grad is before


def test_grad_dtype_lets_a_gradient_differ(x):
    assert x.grad_dtype == rg.float32
    x.grad_dtype = rg.float64
    x.grad = rg.tensor([1.0, 2.0], dtype=rg.float64)
    assert x.grad.dtype == rg.float64
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.dtype == rg.float64


def test_grad_dtype_none_takes_any(x):
    x.grad_dtype = None
    x.grad = rg.tensor([1.0, 2.0], dtype=rg.float16)
    assert x.grad.dtype == rg.float16


def test_reading_the_grad_of_a_result_warns(x):
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None


def test_retain_grad_keeps_the_gradient_of_a_result(x):
    y = x * 2
    assert y.retains_grad is False
    y.retain_grad()
    assert y.retains_grad is True
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0]


def test_retain_grad_on_a_leaf_does_nothing(x):
    x.retain_grad()
    assert x.retains_grad is False


def test_retain_grad_needs_a_gradient():
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        rg.tensor([1.0]).retain_grad()


# -- detaching -------------------------------------------------------------------------------------


def test_detach_shares_memory_and_version(x):
    y = x * 2
    d = y.detach()
    assert (d.requires_grad, d.grad_fn, d.is_leaf) == (False, None, True)
    assert d.array is y.array
    d += 1
    assert y.tolist() == [3.0, 5.0]
    assert y._version == d._version == 1


def test_writing_into_a_detached_twin_is_noticed(x):
    y = x * 1
    z = (y * y).sum()
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_data_shares_memory_but_not_the_version(x):
    y = x * 1
    z = (y * y).sum()
    data = y.data
    data += 1
    assert (y._version, data._version) == (0, 1)
    assert not data.requires_grad
    z.backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_data_can_be_replaced(x):
    x.data = rg.tensor([5.0, 6.0, 7.0])
    assert x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [10.0, 12.0, 14.0]


@pytest.mark.parametrize(
    ("value", "error", "phrase"),
    [
        (1, TypeError, "Variable data has to be a tensor, but got int"),
        (np.ones(2), TypeError, "Variable data has to be a tensor"),
        (rg.Tensor(np.ones(2, int), share=True), RuntimeError, "must be floating point or complex dtype"),
    ],
    ids=["number", "array", "integers"],
)
def test_data_must_be_a_tensor_that_can_have_the_gradient(x, value, error, phrase):
    with pytest.raises(error, match=phrase):
        x.data = value
    assert x.tolist() == [1.0, 2.0]


def test_detach_in_place_makes_a_leaf(x):
    y = x * 2
    assert y.detach_() is y
    assert (y.requires_grad, y.grad_fn, y.is_leaf, y.output_nr) == (False, None, True, 0)


def test_a_view_cannot_be_detached_in_place(x):
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (x * 2)[0:1].detach_()


# -- versions --------------------------------------------------------------------------------------


def test_each_write_counts():
    t = rg.zeros(3)
    assert t._version == 0
    t += 1
    t *= 2
    t[0] = 5.0
    assert t._version == 3


def test_a_view_shares_its_bases_version():
    t = rg.zeros(3)
    v = t[0:2]
    w = v[0:1]
    assert (v._is_view(), v._base is t, w._base is t, t._is_view(), t._base) == (
        True,
        True,
        True,
        False,
        None,
    )
    w += 1
    assert (t._version, v._version, w._version) == (1, 1, 1)
    assert t.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("write", ["x += 1", "x[0] = 1.0", "x.view(-1).__iadd__(1)"])
def test_a_leaf_that_requires_a_gradient_cannot_be_written(x, write):
    with pytest.raises(
        RuntimeError, match="a (view of a )?leaf Variable that requires grad is being used in an in-place"
    ):
        exec(write)
    assert x.tolist() == [1.0, 2.0]
    assert x._version == 0


def test_under_no_grad_it_can(x):
    with rg.no_grad():
        x += 1
        x[0] = 7.0
    assert x.tolist() == [7.0, 3.0]
    assert (x.requires_grad, x.is_leaf, x._version) == (True, True, 2)


def test_a_write_moves_the_tensor_on_in_the_graph(x):
    y = x * 2
    first = y.grad_fn
    y += 1
    assert y.grad_fn.name() == "AddBackward0"
    assert y.grad_fn.next_functions[0][0] is first
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# -- inference tensors -----------------------------------------------------------------------------


def test_inference_tensors_stay_out_of_graphs(x):
    with rg.inference_mode():
        t = x * 2
    assert (t.is_inference(), t.requires_grad, x.is_inference()) == (True, False, False)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * t
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        t += 1
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = t._version
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        t.requires_grad_()
    assert (x + t).requires_grad  # nothing is saved


@pytest.mark.parametrize("name", ["requires_grad", "grad_dtype"])
def test_a_property_cannot_be_deleted(name):
    with pytest.raises(AttributeError, match=name):
        delattr(rg.ones(2), name)


# -- what has no end -------------------------------------------------------------------------------

ENDLESS = {
    "tensor": lambda nested: rg.tensor(nested),
    "Tensor": lambda nested: rg.Tensor(nested),
    "as_tensor": lambda nested: rg.as_tensor((nested,)),
    "new_tensor": lambda nested: rg.ones(1).new_tensor(nested),
    "index": lambda nested: rg.ones(3, 3)[nested, nested],
    "concatenate": lambda nested: np.concatenate([rg.ones(1), nested]),
    "np.add": lambda nested: np.add(rg.ones(1), nested),
    "vmap": lambda nested: rg.vmap(lambda x: x)(nested),
    "result of vmap": lambda nested: rg.vmap(lambda x: nested)(rg.ones(3)),
    "grad": lambda nested: rg.func.grad(lambda x: x.sum())(nested),
    "jvp": lambda nested: rg.func.jvp(lambda x: x, (nested,), (nested,)),
    "pytree": lambda nested: rg.utils._pytree.tree_flatten(nested),
}


def inside_of_itself():
    found: list[Any] = [rg.ones(1)]
    found.append(found)
    return found


def a_chain_of_lists():
    found: Any = 1.0
    for _ in range(5000):  # few enough for Python to free it, more than an interpreter calls deep
        found = [found]
    return found


@pytest.mark.parametrize("make", [inside_of_itself, a_chain_of_lists])
@pytest.mark.parametrize("call", ENDLESS.values(), ids=ENDLESS)
def test_nested_lists_without_an_end_are_refused(call, make):
    with pytest.raises((RecursionError, ValueError), match="recursion depth|too many dimensions"):
        call(make())


def test_a_list_inside_of_itself_is_no_operand_of_autocast():
    with rg.autocast("cpu", rg.bfloat16), pytest.raises((RecursionError, TypeError)):
        rg.cat([rg.ones(1), inside_of_itself()])


@pytest.mark.parametrize("dtype", ["M8[D]", "m8[s]", "U3", "O", "V7", "longdouble"])
def test_arrays_that_no_tensor_holds_are_no_operands(dtype):
    array = np.zeros(3, dtype)
    with pytest.raises(TypeError, match="can't convert np.ndarray"):
        rg.ones(3) + array
    with pytest.raises(TypeError, match="can't convert np.ndarray"):
        rg.ones(()) + array
    with pytest.raises(TypeError, match="can't convert np.ndarray"):
        rg.ones(3)[:] = array


@pytest.mark.parametrize(
    "value",
    [
        np.str_("a"),
        np.bytes_(b"a"),
        np.datetime64("2020", "ns"),
        np.timedelta64(3, "s"),
        np.zeros(1, "i4,f4")[0],
    ],
)
def test_what_numpy_takes_out_of_such_an_array_is_no_number(value):
    x = rg.ones(2, 3)
    for call in (
        *(lambda: x + value, lambda: value - x, lambda: x**value, lambda: x < value, lambda: value @ x),
        *(lambda: rg.add(x, value), lambda: rg.maximum(x, value), lambda: rg.where(x > 0, x, value)),
        *(lambda: x.masked_fill(x > 0, value), lambda: x.clamp(value)),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert "ufunc" not in str(caught.value)


def test_a_number_of_80_bits_is_a_number():
    x = rg.ones(2)
    for y in (x * np.longdouble(2), np.longdouble(2) * x, 1 + x.clamp(np.longdouble(0), np.longdouble(1))):
        assert y.dtype is rg.float32
        assert y.tolist() == [2.0, 2.0]


def test_records_are_no_matrix():
    with pytest.raises(TypeError, match="no tensor holds such elements"):
        rg.ones(2, 3) @ np.zeros(3, "i4,f4")
