"""`func.vmap`: where samples lie, trees, nesting, chunks, writes in place, and what cannot be done to a batch."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

from .harness import attempt, program

Pair = namedtuple("Pair", "a b")


def mat(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, -5.0, 6.0]], dtype=torch.float64)


def vec(torch: Any) -> Any:
    return torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)


# -- where samples lie -------------------------------------------------------------------------------------------------


@program()
def over_rows(torch: Any) -> Any:
    return torch.vmap(lambda x: x.sum())(mat(torch))


@program()
def over_columns(torch: Any) -> Any:
    return torch.func.vmap(lambda x: x.sum(), in_dims=1)(mat(torch))


@program()
def a_dimension_from_the_end(torch: Any) -> Any:
    return torch.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(mat(torch))


@program()
def an_argument_all_samples_share(torch: Any) -> Any:
    return torch.vmap(torch.dot, in_dims=(0, None))(mat(torch), vec(torch))


@program()
def a_number_all_samples_share(torch: Any) -> Any:
    return torch.vmap(lambda x, n: x * n, in_dims=(0, None))(mat(torch), 3)


@program()
def a_keyword_argument_is_shared(torch: Any) -> Any:
    return torch.vmap(lambda x, w=None: x * w)(mat(torch), w=vec(torch))


@program()
def a_tensor_of_the_closure_is_shared(torch: Any) -> Any:
    w = vec(torch)
    return torch.vmap(lambda x: x @ w)(mat(torch))


@program()
def results_along_another_dimension(torch: Any) -> Any:
    return torch.vmap(lambda x: torch.outer(x, x), out_dims=1)(mat(torch))


@program()
def several_results_each_along_its_own(torch: Any) -> Any:
    return torch.vmap(lambda x: (x * 2, x.sum(), x[:2]), out_dims=(1, 0, -1))(mat(torch))


@program()
def a_result_that_is_the_same_for_all(torch: Any) -> Any:
    return torch.vmap(lambda x: torch.ones(2))(mat(torch))


@program()
def a_result_without_samples(torch: Any) -> Any:
    return torch.vmap(lambda x: (x, torch.ones(2), 3), out_dims=(0, None, None))(mat(torch))


@program()
def no_samples_at_all(torch: Any) -> Any:
    return torch.vmap(lambda x: x * 2)(torch.ones(0, 3))


@program()
def one_sample(torch: Any) -> Any:
    return torch.vmap(lambda x: x.sum())(torch.ones(1, 3))


@program()
def samples_of_no_dimensions(torch: Any) -> Any:
    return torch.vmap(lambda x: x.exp())(vec(torch))


@program()
def what_a_sample_says_about_itself(torch: Any) -> Any:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((tuple(x.shape), x.dim(), x.numel(), len(x), x.size(-1), x.dtype, x.is_floating_point()))
        return x

    torch.vmap(f)(mat(torch))
    return seen


@program()
def the_function_keeps_its_name(torch: Any) -> Any:
    return torch.vmap(torch.dot).__name__


# -- trees -------------------------------------------------------------------------------------------------------------


@program()
def a_dict_of_arguments(torch: Any) -> Any:
    return torch.vmap(lambda d: d["x"] * d["y"])({"x": mat(torch), "y": mat(torch)})


@program()
def nested_arguments_and_dimensions(torch: Any) -> Any:
    f = torch.vmap(lambda a, b: a["x"] + b[0], in_dims=({"x": 0}, (None,)))
    return f({"x": mat(torch)}, (vec(torch),))


@program()
def one_dimension_for_a_whole_argument(torch: Any) -> Any:
    f = torch.vmap(lambda a, b: a["x"] + b[0] * b[1], in_dims=(0, None))
    return f({"x": mat(torch)}, [vec(torch), 2.0])


@program()
def results_in_a_dict(torch: Any) -> Any:
    return torch.vmap(lambda x: {"double": x * 2, "parts": [x[0], x[1:]]})(mat(torch))


@program()
def dimensions_of_results_in_a_dict(torch: Any) -> Any:
    f = torch.vmap(lambda x: {"a": x, "b": [x, x.sum()]}, out_dims={"a": 1, "b": [1, 0]})
    return f(mat(torch))


@program()
def one_dimension_for_some_results(torch: Any) -> Any:
    return torch.vmap(lambda x: (x, (x * 2, x * 3)), out_dims=(0, 1))(mat(torch))


@program()
def named_tuples_stay_what_they_are(torch: Any) -> Any:
    found = torch.vmap(lambda p: Pair(p.a + p.b, p.b))(Pair(mat(torch), mat(torch)))
    return type(found), found.a, found.b


@program()
def ordered_dicts_stay_what_they_are(torch: Any) -> Any:
    found = torch.vmap(lambda d: d)(OrderedDict(b=mat(torch), a=mat(torch)))
    return type(found), list(found)


# -- nesting and chunks ------------------------------------------------------------------------------------------------


@program()
def all_pairs(torch: Any) -> Any:
    f = torch.vmap(torch.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))
    return f(vec(torch), vec(torch))


@program()
def three_deep(torch: Any) -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    return torch.vmap(torch.vmap(torch.vmap(lambda v: v * v + 1)))(x)


@program()
def inner_and_outer_samples_along_other_dimensions(torch: Any) -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    f = torch.vmap(torch.vmap(lambda v: v.cumsum(0), in_dims=1, out_dims=1), in_dims=1, out_dims=2)
    return f(x)


@program()
def matrices_of_a_batch_of_batches(torch: Any) -> Any:
    a, b = torch.arange(12.0).reshape(2, 2, 3), torch.arange(12.0).reshape(2, 3, 2)
    return torch.vmap(torch.vmap(torch.mv, in_dims=(None, 1)))(a, b)


@program()
def chunks(torch: Any) -> Any:
    x = torch.arange(15.0).reshape(5, 3)
    return torch.vmap(lambda v: v * v.sum(), chunk_size=2)(x)


@program()
def chunks_of_several_results(torch: Any) -> Any:
    x = torch.arange(15.0).reshape(5, 3)
    return torch.vmap(lambda v: (v * 2, v.sum()), out_dims=(1, 0), chunk_size=3)(x)


@program()
def a_chunk_larger_than_the_batch(torch: Any) -> Any:
    return torch.vmap(lambda v: v + 1, chunk_size=100)(mat(torch))


# -- ops ---------------------------------------------------------------------------------------------------------------


@program()
def indexing_by_an_index_of_each_sample(torch: Any) -> Any:
    return torch.vmap(lambda x, i: x[i])(mat(torch), torch.tensor([0, 2]))


@program()
def indexing_by_several_indices_of_each_sample(torch: Any) -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    i = torch.tensor([[0, 2], [1, 1]])
    return torch.vmap(lambda x, i: (x[i], x[:, i], x[i, i]))(x, i)


@program()
def gathering(torch: Any) -> Any:
    i = torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]])
    return torch.vmap(lambda x, i: torch.gather(x, 0, i))(mat(torch), i)


@program()
def sorting(torch: Any) -> Any:
    return torch.vmap(lambda x: tuple(torch.sort(x, descending=True)))(mat(torch))


@program()
def a_linear_layer(torch: Any) -> Any:
    w, b = torch.arange(6.0).reshape(2, 3), torch.tensor([1.0, -1.0])
    return torch.vmap(lambda x: torch.nn.functional.linear(x, w, b))(mat(torch).float())


@program()
def a_linear_layer_of_each_sample(torch: Any) -> Any:
    w = torch.arange(12.0).reshape(2, 2, 3)
    return torch.vmap(torch.nn.functional.linear)(mat(torch).float(), w)


@program()
def convolution_with_a_kernel_of_each_sample(torch: Any) -> Any:
    x, w = torch.arange(32.0).reshape(2, 1, 4, 4), torch.arange(16.0).reshape(2, 2, 1, 2, 2)
    return torch.vmap(lambda x, w: torch.conv2d(x[None], w))(x, w)


@program()
def cross_entropy_of_each_sample(torch: Any) -> Any:
    target = torch.tensor([2, 0])
    return torch.vmap(torch.nn.functional.cross_entropy)(mat(torch), target)


@program()
def solving_a_system_of_each_sample(torch: Any) -> Any:
    a = torch.tensor([[[2.0, 0.0], [1.0, 1.0]], [[1.0, 3.0], [0.0, 1.0]]], dtype=torch.float64)
    return torch.vmap(torch.linalg.solve, in_dims=(0, None))(a, torch.tensor([1.0, 2.0], dtype=torch.float64))


@program()
def where_instead_of_if(torch: Any) -> Any:
    return torch.vmap(lambda x: torch.where(x.sum() > 5, x, -x))(mat(torch))


@program()
def stacking_what_samples_have_and_share(torch: Any) -> Any:
    return torch.vmap(lambda x: torch.stack([x.sum(), torch.tensor(1.0, dtype=torch.float64)]))(mat(torch))


@program()
def a_loop_over_the_elements_of_a_sample(torch: Any) -> Any:
    def f(x: Any) -> Any:
        total = torch.zeros((), dtype=torch.float64)
        for v in x:
            total = total * 2 + v
        return total

    return torch.vmap(f)(mat(torch))


# -- writes in place ---------------------------------------------------------------------------------------------------


@program()
def a_write_into_an_argument_is_seen_outside(torch: Any) -> Any:
    x = mat(torch)
    return torch.vmap(lambda v: v.add_(1))(x), x


@program()
def a_write_into_zeros_like_a_sample(torch: Any) -> Any:
    def f(x: Any) -> Any:
        y = torch.zeros_like(x)
        y[0] = x[1]
        y[1:] += x[:2]
        return y

    return torch.vmap(f)(mat(torch))


@program()
def a_write_into_new_zeros(torch: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.new_zeros(4)
        y[1:] = x
        return y

    return torch.vmap(f)(mat(torch))


@program()
def a_write_through_a_view(torch: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y[:2].mul_(y[2])
        return y

    return torch.vmap(f)(mat(torch))


@program()
def a_masked_fill(torch: Any) -> Any:
    return torch.vmap(lambda x: x.masked_fill(x < 0, 9.0))(mat(torch))


@program(phrase="vmap: inplace arithmetic")
def a_write_into_a_tensor_that_is_shared(torch: Any) -> Any:
    def f(x: Any) -> Any:
        y = torch.zeros(3, dtype=torch.float64)
        y[0] = x[0]
        return y

    return torch.vmap(f)(mat(torch))


# -- randomness --------------------------------------------------------------------------------------------------------


@program(phrase="called random operation while in randomness error mode")
def random_numbers_are_refused(torch: Any) -> Any:
    return torch.vmap(lambda x: x + torch.randn(3))(mat(torch))


@program(phrase="called random operation while in randomness error mode")
def dropout_is_refused(torch: Any) -> Any:
    return torch.vmap(lambda x: torch.nn.functional.dropout(x))(mat(torch))


@program()
def the_same_numbers_for_all_samples(torch: Any) -> Any:
    found = torch.vmap(lambda x: torch.rand(4), randomness="same")(mat(torch))
    return tuple(found.shape), bool((found[0] == found[1]).all())


@program()
def other_numbers_for_each_sample(torch: Any) -> Any:
    found = torch.vmap(lambda x: torch.rand(4), randomness="different")(mat(torch))
    return tuple(found.shape), bool((found[0] == found[1]).any())


@program()
def other_masks_for_each_sample(torch: Any) -> Any:
    ones = torch.ones(2, 200)
    found = torch.vmap(lambda x: torch.nn.functional.dropout(x, 0.5), randomness="different")(ones)
    return bool((found[0] == found[1]).all()), sorted({float(v) for v in found.flatten()})


@program(phrase="Only allowed values for randomness are 'error', 'different', or 'same'")
def a_kind_of_randomness_that_does_not_exist(torch: Any) -> Any:
    return torch.vmap(lambda x: x, randomness="other")(mat(torch))


# -- errors ------------------------------------------------------------------------------------------------------------


@program()
def arguments_that_do_not_fit(torch: Any) -> Any:
    x, v = mat(torch), vec(torch)
    vmap, same = torch.vmap, lambda *xs: xs[0]
    return [
        attempt("got no inputs", lambda: vmap(same)()),
        attempt("expected `in_dims` to be int or a", lambda: vmap(same, in_dims="a")(x)),
        attempt("expected `in_dims` to be int or a", lambda: vmap(same, in_dims=[0])(x)),
        attempt("expected `in_dims` to be int or a", lambda: vmap(same, in_dims=None)(x)),
        attempt("in_dims is not compatible with the structure of", lambda: vmap(same, in_dims=(0, 0))(x)),
        attempt("Got in_dim=0.5 for an input but in_dim must be", lambda: vmap(same, in_dims=(0.5,))(x)),
        attempt("We cannot vmap over non-Tensor arguments", lambda: vmap(same)(x, 3)),
        attempt("so expected in_dim to satisfy -2 <= in_dim < 2", lambda: vmap(same, in_dims=2)(x)),
        attempt("Expected all tensors to have the same size in the mapped", lambda: vmap(same)(x, v)),
        attempt("Expected at least one Tensor to vmap over", lambda: vmap(same, in_dims=(None,))(x)),
        attempt("chunk_size should be None or greater than 0", lambda: vmap(same, chunk_size=0)(x)),
        attempt("chunk_size should be None or greater than 0", lambda: vmap(same, chunk_size=-2)(x)),
    ]


@program()
def results_that_do_not_fit(torch: Any) -> Any:
    x = mat(torch)
    vmap = torch.vmap
    return [
        attempt("must only return Tensors, got type <class 'float'>", lambda: vmap(lambda x: 1.0)(x)),
        attempt("must only return Tensors, got type <class 'NoneType'>", lambda: vmap(lambda x: None)(x)),
        attempt("must only return Tensors", lambda: vmap(lambda x: (x, "a"))(x)),
        attempt(
            "out_dims is not compatible with the structure of", lambda: vmap(lambda x: x, out_dims=(0, 0))(x)
        ),
        attempt("`out_dims` must be an int, None or a python", lambda: vmap(lambda x: x, out_dims="a")(x)),
        attempt(
            "can not return a BatchedTensor when out_dim is None", lambda: vmap(lambda x: x, out_dims=None)(x)
        ),
        attempt("Dimension out of range", lambda: vmap(lambda x: x, out_dims=5)(x)),
    ]


@program()
def what_needs_a_number_of_one_sample(torch: Any) -> Any:
    x = mat(torch)
    vmap, item = torch.vmap, "vmap: It looks like you're calling .item"
    flow = "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow"
    storage = "Cannot access data pointer of Tensor that doesn't have storage"
    return [
        attempt(item, lambda: vmap(lambda x: x.sum().item())(x)),
        attempt(item, lambda: vmap(lambda x: float(x.sum()))(x)),
        attempt(item, lambda: vmap(lambda x: x[: x.argmax()])(x)),
        attempt(item, lambda: vmap(lambda x: range(x.argmax()))(x)),
        attempt(flow, lambda: vmap(lambda x: x if x.sum() > 0 else -x)(x)),
        attempt(flow, lambda: vmap(lambda x: x if (x > 0).any() else -x)(x)),
        attempt(flow, lambda: vmap(lambda x: x.sum() > 0 and x)(x)),
        attempt(storage, lambda: vmap(lambda x: x.numpy())(x)),
        attempt(storage, lambda: vmap(lambda x: x.tolist())(x)),
        attempt(storage, lambda: vmap(lambda x: x.data_ptr())(x)),
    ]


@program()
def results_whose_size_is_not_known(torch: Any) -> Any:
    x, dynamic = mat(torch), "vmap: We do not support batching operators that can"
    return [
        attempt(dynamic, lambda: torch.vmap(lambda x: x.nonzero())(x)),
        attempt(dynamic, lambda: torch.vmap(lambda x: x[x > 0])(x)),
        attempt(dynamic, lambda: torch.vmap(lambda x: x.unique())(x)),
    ]


@program()
def the_same_numbers_in_all_chunks(torch: Any) -> Any:
    def drawn(chunk_size: Any) -> Any:
        torch.manual_seed(1)
        f = lambda x: x + torch.rand(3, dtype=torch.float64) + torch.randn(())  # noqa: E731
        found = torch.vmap(f, randomness="same", chunk_size=chunk_size)(torch.zeros(5, 3))
        return found, torch.rand(2)

    whole, after = drawn(None)
    return [
        (bool((found == whole).all()), bool((found[0] == found).all()), bool((later == after).all()))
        for found, later in map(drawn, (1, 2, 3, 5, 9))
    ]


@program()
def the_same_numbers_by_parameters_of_each_sample(torch: Any) -> Any:
    p, phrase = (
        mat(torch).abs() / 10,
        "does not currently support same randomness with a batched tensor input",
    )
    shared, found = p[0], []
    for f in (
        torch.bernoulli, lambda p: torch.bernoulli(p, 0.5), lambda p: p.clone().bernoulli_(p),
        lambda p: torch.normal(p, p), lambda p: torch.normal(0.0, p), lambda p: torch.normal(p, 1.0),
        lambda p: torch.multinomial(p, 2), lambda p: torch.multinomial(p, 5, replacement=True), torch.poisson,
        lambda p: torch.binomial(p.round(), p),
    ):  # fmt: skip
        found.append(attempt(phrase, torch.vmap(f, randomness="same"), p))
        found.append(attempt("while in randomness error mode", torch.vmap(f), p))
        drawn = torch.vmap(f, randomness="different")(p)
        alike = torch.vmap(lambda x, f=f: f(shared) + x * 0, randomness="same")(torch.zeros(4, 1))
        found.append((drawn.shape, drawn.dtype, bool((alike == alike[0]).all())))
    return found


@program()
def dropout_that_draws_nothing(torch: Any) -> Any:
    F, x = torch.nn.functional, mat(torch)
    functions = [F.dropout, F.alpha_dropout, F.dropout1d, F.feature_alpha_dropout]
    found = []
    for f in functions:
        for p, training in ((1.0, True), (0.0, True), (0.5, False), (1.0, False)):
            found.append(torch.vmap(lambda x, f=f, p=p, t=training: f(x[None], p=p, training=t))(x))
        over = torch.vmap(lambda x, f=f: f(x[None], p=0.5, training=True))
        found.append(attempt("while in randomness error mode", over, x))
    whole = torch.tensor([1, 2])
    return found, [f(whole, p=1.0, training=True) for f in functions[:2]], F.dropout(x + 1j, 1.0)


@program()
def an_error_inside_leaves_nothing_behind(torch: Any) -> Any:
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    first = attempt("mine", lambda: torch.vmap(fails)(mat(torch)))
    return first, torch.rand(2).shape[0], torch.vmap(lambda x: x.sum())(mat(torch))
