"""When hooks run and what they may do: Note [Hook order]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg


def leaf(value: Any = 2.0) -> Any:
    return rg.Tensor(np.asarray(value, float), share=True).requires_grad_()


# -- order -----------------------------------------------------------------------------------------


def test_the_order_around_one_node():
    x = leaf()
    y = x * 3
    seen: list[str] = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("post"))
    y.grad_fn.register_prehook(lambda outputs: seen.append("pre"))
    y.retain_grad()
    y.register_hook(lambda g: seen.append(f"tensor, retained {y._grad is not None}"))
    y.grad_fn.register_prehook(lambda outputs: seen.append(f"pre, retained {y._grad is not None}"))
    x.register_hook(lambda g: seen.append(f"leaf, accumulated {x.grad is not None}"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(f"accumulated {t.grad.item()}"))
    y.backward()
    assert seen == [
        "tensor, retained False",
        "pre",
        "pre, retained True",
        "post",
        "leaf, accumulated False",
        "accumulated 3.0",
    ]


def test_hooks_of_one_kind_run_in_the_order_of_registration():
    x = leaf()
    seen: list[int] = []
    for i in range(3):
        x.register_hook(lambda g, i=i: seen.append(i))
    (x * 2).backward()
    assert seen == [0, 1, 2]


def test_retained_gradients_are_stored_after_all_tensor_hooks_whenever_asked_for():
    x = leaf()
    y = x * 3
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.register_hook(lambda g: g * 100)
    y.backward()
    assert y.grad.item() == 1000.0
    assert x.grad.item() == 3000.0


def test_prehooks_do_not_change_what_is_retained():
    x = leaf()
    y = x * 3
    y.retain_grad()
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    y.backward()
    assert (y.grad.item(), x.grad.item()) == (1.0, 30.0)


def test_retaining_twice_is_retaining_once():
    x = leaf()
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    y.backward()
    assert y.grad.item() == 1.0


def test_retained_gradients_add_up():
    x = leaf()
    y = x * 3
    y.retain_grad()
    for _ in range(3):
        y.backward(retain_graph=True)
    assert (y.grad.item(), x.grad.item()) == (3.0, 9.0)


# -- what a hook gets ------------------------------------------------------------------------------


def test_a_tensor_hook_gets_the_sum_of_all_paths_once():
    x = leaf()
    y = x * 1
    got: list[float] = []
    y.register_hook(lambda g: got.append(g.item()))
    (y * 2 + y * 3 + y).backward()
    assert got == [6.0]


def test_a_node_hook_gets_all_gradients_of_inputs_and_outputs():
    x, y = leaf(2.0), leaf(5.0)
    z = x * y
    got: list[Any] = []
    z.grad_fn.register_hook(lambda inputs, outputs: got.append((inputs, outputs)))
    z.backward()
    ((inputs, outputs),) = got
    assert [g.item() for g in inputs] == [5.0, 2.0]
    assert [g.item() for g in outputs] == [1.0]


def test_a_node_hook_gets_none_where_no_gradient_is_wanted():
    x = leaf()
    z = x * rg.Tensor(np.asarray(5.0), share=True)
    got: list[Any] = []
    z.grad_fn.register_hook(lambda inputs, outputs: got.append([i is None for i in inputs]))
    z.backward()
    assert got == [[False, True]]


def test_hooks_on_outputs_of_one_node_each_see_their_own():
    x = leaf([1.0, 2.0, 3.0])
    a, b, c = x.unbind()
    got: dict[str, float | None] = {}
    a.register_hook(lambda g: got.update(a=g.item()))
    c.register_hook(lambda g: got.update(c=g.item()))
    b.register_hook(lambda g: got.update(b=g))  # unused, so there is no gradient: the hook is told so
    (a * 2 + c * 7).backward()
    assert got == {"a": 2.0, "c": 7.0, "b": None}
    assert x.grad.tolist() == [2.0, 0.0, 7.0]


def test_a_prehook_sees_none_for_outputs_that_got_no_gradient():
    x = leaf([1.0, 2.0])
    a, b = x.unbind()
    got: list[Any] = []
    a.grad_fn.register_prehook(lambda outputs: got.append([o is None for o in outputs]))
    b.backward()
    assert got == [[True, False]]


def test_a_hook_sees_no_recorded_gradient_unless_the_backward_is_recorded():
    x = leaf()
    seen: list[bool] = []
    x.register_hook(lambda g: seen.append(g.requires_grad))
    rg.autograd.grad(x * x, x)
    rg.autograd.grad(x * x, x, create_graph=True)
    assert seen == [False, True]


def test_a_gradient_kept_by_a_hook_stays_as_it_was():
    x = leaf([1.0, 2.0])
    kept: list[Any] = []
    x.register_hook(kept.append)
    for _ in range(3):
        (x * 2).sum().backward()
    assert [k.tolist() for k in kept] == [[2.0, 2.0]] * 3
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_gradient_kept_and_rewritten_by_a_hook_does_not_reach_the_leaf():
    x = leaf([1.0, 2.0])
    kept: list[Any] = []
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    kept[0].array[...] = 99.0
    assert x.grad.tolist() == [2.0, 2.0]


def test_gradients_kept_by_node_hooks_stay_as_they_were():
    x = leaf([1.0, 2.0])
    y = x * 2
    z = x * 3
    kept: list[Any] = []
    z.grad_fn.register_hook(lambda inputs, outputs: kept.append(inputs[0]))
    accumulator = z.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda outputs: kept.append(outputs[0]))
    for _ in range(2):
        (y + z).sum().backward(retain_graph=True)
    assert [k.tolist() for k in kept] == [[3.0, 3.0], [5.0, 5.0]] * 2
    assert x.grad.tolist() == [10.0, 10.0]


def test_a_retained_gradient_is_nobody_elses():
    x = leaf([1.0, 2.0])
    y = x * 1
    y.retain_grad()
    (y * 3).sum().backward(retain_graph=True)
    y.grad.array[...] = 99.0
    assert x.grad.tolist() == [3.0, 3.0]


# -- what a hook may return ------------------------------------------------------------------------


def test_a_post_hook_replaces_the_gradients_of_the_inputs():
    x, y = leaf(2.0), leaf(5.0)
    z = x * y
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, None))
    z.backward()
    assert x.grad.item() == 50.0
    assert y.grad is None


@pytest.mark.parametrize(
    ("returned", "error", "phrase"),
    [
        (lambda g: 1, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: rg.Tensor(np.ones(3), share=True), RuntimeError, "has changed the size of value"),
        (
            lambda g: rg.Tensor(np.ones(2, "float32"), share=True),
            RuntimeError,
            "has changed the type of value",
        ),
    ],
    ids=["type", "size", "dtype"],
)
def test_a_tensor_hook_must_return_a_gradient_of_the_same_kind(returned, error, phrase):
    x = leaf([1.0, 2.0])
    x.register_hook(returned)
    with pytest.raises(error, match=phrase):
        (x * 2).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("returned", [(), (None, None, None)])
def test_a_node_hook_must_return_as_many_gradients(returned):
    x, y = leaf(), leaf()
    z = x * y
    z.grad_fn.register_hook(lambda inputs, outputs: returned)
    with pytest.raises(RuntimeError, match="incorrect number of values"):
        z.backward()


def test_a_hook_must_be_callable():
    with pytest.raises(TypeError, match="callable"):
        leaf().register_hook("not a hook")


# -- removal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["leaf", "tensor", "pre", "post", "accumulated"])
def test_a_removed_hook_does_not_run(where):
    x = leaf()
    y = x * 3
    seen: list[Any] = []
    register = {
        "leaf": x.register_hook,
        "tensor": y.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "accumulated": x.register_post_accumulate_grad_hook,
    }[where]
    handle = register(lambda *args: seen.append(where))
    y.backward(retain_graph=True)
    handle.remove()
    handle.remove()
    y.backward(retain_graph=True)
    with register(lambda *args: seen.append("with")):
        y.backward(retain_graph=True)
    y.backward()
    assert seen == [where, "with"]


def test_a_hook_may_remove_itself_and_add_others_for_the_next_time():
    x = leaf()
    seen: list[str] = []

    def once(grad: Any) -> None:
        seen.append("once")
        handle.remove()
        x.register_hook(lambda g: seen.append("later"))

    handle = x.register_hook(once)
    x.register_hook(lambda g: seen.append("always"))
    (x * 2).backward()
    assert seen == ["once", "always"]
    (x * 2).backward()
    assert seen == ["once", "always", "always", "later"]


def test_a_handle_does_not_keep_the_tensor():
    import gc
    import weakref

    gc.disable()
    try:
        x = leaf()
        handle = x.register_hook(lambda g: None)
        dead = weakref.ref(x)
        del x
        assert dead() is None
        handle.remove()
    finally:
        gc.enable()


# -- leaves ----------------------------------------------------------------------------------------


def test_leaf_hooks_outlive_the_graph():
    x = leaf()
    x.register_hook(lambda g: g * 10)
    for _ in range(2):
        (x * 3).backward()
    assert x.grad.item() == 60.0


def test_a_leaf_hook_registered_after_the_forward_pass_runs():
    x = leaf()
    y = x * 3
    x.register_hook(lambda g: g * 10)
    y.backward()
    assert x.grad.item() == 30.0


def test_a_post_accumulate_hook_may_use_up_the_gradient():
    x = leaf([1.0, 2.0])

    def step(t: Any) -> None:
        t.array[...] -= 0.1 * t.grad.array
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.grad is None
    np.testing.assert_allclose(x.array, [0.8, 1.6])


def test_hooks_on_the_accumulator_node_see_the_gradient():
    x = leaf()
    y = x * 3
    accumulator = y.grad_fn.next_functions[0][0]
    seen: list[Any] = []
    accumulator.register_prehook(lambda grads: seen.append(grads[0].item()))
    accumulator.register_hook(lambda inputs, outputs: seen.append((inputs, outputs[0].item())))
    y.backward()
    assert seen == [3.0, ((), 3.0)]


def test_leaf_hooks_run_for_grad_too_but_post_accumulate_hooks_do_not():
    x = leaf()
    seen: list[str] = []
    x.register_hook(lambda g: seen.append("hook"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated"))
    rg.autograd.grad(x * 3, x)
    assert seen == ["hook"]


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_tensor_without_gradient_takes_no_hook(register):
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        getattr(rg.Tensor(np.ones(2), share=True), register)(print)


def test_post_accumulate_hooks_are_for_leaves():
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf() * 2).register_post_accumulate_grad_hook(print)
