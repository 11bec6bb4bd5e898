"""Bad input to operations: exception types and key phrases."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program

SIZES = "The size of tensor a .2. must match the size of tensor b .3. at non-singleton dimension 0"
RANGE = "Dimension out of range .expected to be in range of .-2, 1., but got"


@program()
def shapes_that_do_not_broadcast(torch: Any) -> Any:
    a, b = torch.ones(2), torch.ones(3)
    calls = (
        lambda: a + b, lambda: a - b, lambda: a * b, lambda: a / b, lambda: a**b, lambda: a == b,
        lambda: torch.maximum(a, b), lambda: torch.where(a > 0, a, b),
    )  # fmt: skip
    return [attempt(SIZES, call) for call in calls]


@program()
def dims_out_of_range(torch: Any) -> Any:
    x = torch.ones(2, 3)
    calls = (
        lambda: x.sum(2), lambda: x.mean(-3), lambda: x.max(5), lambda: x.softmax(2), lambda: x.cumsum(3),
        lambda: x.argmax(2), lambda: x.transpose(0, 2), lambda: x.squeeze(2), lambda: x.logsumexp(4),
        lambda: x.flip(2), lambda: x.split(1, 2), lambda: x.chunk(2, 7), lambda: torch.cat([x, x], 2),
        lambda: x.prod(3), lambda: x.var(2), lambda: x.amax(3), lambda: x.any(2), lambda: x.gather(2, x.long()),
    )  # fmt: skip
    return [attempt(RANGE, call) for call in calls]


@program()
def dims_repeated(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt("dim 0 appears multiple times", x.sum, (0, 0)),
        attempt("multiple times", x.amax, (1, -1)),
        attempt("duplicate dims are not allowed", x.permute, 0, 0),
    ]


@program()
def matrix_products_that_do_not_fit(torch: Any) -> Any:
    v, m, b = torch.ones(2), torch.ones(3, 4), torch.ones(2, 3, 4)
    return [
        attempt("mat1 and mat2 shapes cannot be multiplied .3x4 and 3x4.", torch.mm, m, m),
        attempt("mat1 and mat2 shapes cannot be multiplied .3x4 and 3x4.", torch.matmul, m, m),
        attempt("size mismatch", torch.mv, m, v),
        attempt("inconsistent tensor size", torch.dot, v, torch.ones(3)),
        attempt("Expected size for first two dimensions of batch2 tensor to be", torch.bmm, b, b),
        attempt("inconsistent tensor size", torch.matmul, v, torch.ones(3)),
    ]


@program()
def matrix_products_of_wrong_rank(torch: Any) -> Any:
    v, m = torch.ones(2), torch.ones(2, 2)
    return [
        attempt("must be a matrix", torch.mm, v, m),
        attempt("1D tensors expected", torch.dot, m, m),
        attempt("", torch.mv, v, v),
        attempt("must be a 3D tensor", torch.bmm, m, m),
        attempt("both arguments to matmul need to be at least 1D", torch.matmul, torch.tensor(1.0), m),
        attempt("Expected 1-D argument", torch.outer, m, v),
    ]


@program()
def products_of_different_dtypes(torch: Any) -> Any:
    a, b = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    return [
        attempt("same dtype", torch.mm, a, b),
        attempt("same dtype", torch.dot, a[0], b[0]),
        attempt("expected scalar type Float but found Double", torch.bmm, a[None], b[None]),
    ]


@program()
def sums_with_products_of_different_dtypes(torch: Any) -> Any:
    a, b = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    x, y = a[None], b[None]
    return [
        attempt("mat1 and mat2 must have the same dtype, but got Double and Float", torch.addmm, a, b, a),
        attempt("self and mat2 must have the same dtype, but got Float and Double", torch.addmm, a, a, b),
        attempt("self and mat2 must have the same dtype, but got Double and Float", torch.addmm, b, a, a),
        attempt("mat1 and mat2 must .* got Double and Float", torch.nn.functional.linear, b, a, a[0]),
        attempt("same dtype, but got Double, Float, and Float", torch.addmv, b[0], a, a[0]),
        attempt("input float, batch1: double, batch2: double", torch.baddbmm, x, y, y),
        attempt("expected scalar type Float but found Double", torch.baddbmm, x, x, y),
        attempt("mat1 and mat2 must have the same dtype, but got Double and Float", torch.addbmm, a, y, x),
    ]


@program()
def reshapes_that_do_not_fit(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt("shape '.4, 2.' is invalid for input of size 6", x.reshape, 4, 2),
        attempt("shape '.5.' is invalid for input of size 6", x.view, 5),
        attempt("only one dimension can be inferred", x.reshape, -1, -1),
        attempt("invalid shape dimension -2", x.reshape, -2, 3),
        attempt("view size is not compatible with input tensor's size and stride", x.t().view, 6),
        attempt("cannot reshape tensor of 0 elements", torch.ones(0).reshape, -1, 0),
    ]


@program()
def expansions_that_do_not_fit(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt("The expanded size of the tensor .4. must match the existing size .2.", x.expand, 4, 3),
        attempt("must be greater or equal to the number of dimensions", x.expand, 3),
        attempt("expanded size of the tensor .-1. isn't allowed in a leading", x.expand, -1, 2, 3),
        attempt("number of sizes provided", torch.broadcast_to, x, (5,)),
    ]


@program()
def joins_that_do_not_fit(torch: Any) -> Any:
    return [
        attempt(
            "Sizes of tensors must match except in dimension 0",
            torch.cat,
            [torch.ones(2, 3), torch.ones(2, 4)],
        ),
        attempt("expected a non-empty list of Tensors", torch.cat, []),
        attempt(
            "zero-dimensional tensor .* cannot be concatenated",
            torch.cat,
            [torch.tensor(1.0), torch.tensor(2.0)],
        ),
        attempt("stack expects each tensor to be equal size", torch.stack, [torch.ones(2), torch.ones(3)]),
        attempt("stack expects a non-empty TensorList", torch.stack, []),
        attempt("same number of dimensions", torch.cat, [torch.ones(2), torch.ones(2, 2)]),
        attempt("", torch.cat, [torch.ones(2), 1.0]),
    ]


@program()
def splits_that_do_not_fit(torch: Any) -> Any:
    x = torch.ones(5)
    return [
        attempt("split_with_sizes expects split_sizes to sum exactly to 5", x.split, [2, 2]),
        attempt("non-negative", x.split, -1),
        attempt("chunks. to be greater than 0", x.chunk, 0),
        attempt("chunk expects at least a 1-dimensional tensor", torch.tensor(1.0).chunk, 1),
    ]


@program()
def permutations_that_do_not_fit(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt("number of dimensions", x.permute, 0),
        attempt(r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D", torch.ones(1, 1, 1).t),
        attempt("Dimension out of range", x.unsqueeze, 4),
        attempt("diagonal dimensions cannot be identical", x.diagonal, 0, 1, 1),
    ]


@program()
def operands_of_foreign_types(torch: Any) -> Any:
    x = torch.ones(2)
    calls = (
        lambda: x + "a", lambda: "a" + x, lambda: x * None, lambda: x - [1, 2], lambda: x @ 2, lambda: x < "a",
        lambda: x**"a", lambda: {} / x,
    )  # fmt: skip
    return [attempt("", call) for call in calls]


@program()
def arguments_of_foreign_types(torch: Any) -> Any:
    x = torch.ones(2, 2)
    calls = (
        lambda: torch.exp(1.0), lambda: torch.sum([1, 2]), lambda: torch.matmul(x, [1.0]), lambda: torch.cat(x, x),
        lambda: x.sum("a"), lambda: x.reshape("a"), lambda: torch.softmax(x), lambda: torch.relu("a"),
        lambda: torch.stack(1), lambda: torch.mm(x), lambda: x.transpose(0),
    )  # fmt: skip
    return [attempt("", call) for call in calls]


@program()
def unknown_keyword_arguments(torch: Any) -> Any:
    x = torch.ones(2)
    calls = (
        lambda: x.sum(dims=0), lambda: torch.exp(x, fast=True), lambda: torch.zeros(2, type=1), lambda: x.clone(1, 2),
    )  # fmt: skip
    return [attempt("", call) for call in calls]


@program()
def reductions_of_nothing(torch: Any) -> Any:
    x = torch.ones(0)
    unspecified = "Expected reduction dim to be specified for input.numel.. == 0"
    return [
        attempt(unspecified, x.max),
        attempt(unspecified, x.argmax),
        attempt(unspecified, x.amax),
        attempt("Expected reduction dim 0 to have non-zero size", torch.ones(0, 2).max, 0),
    ]


@program()
def functions_that_need_floats(torch: Any) -> Any:
    i = torch.tensor([1, 2])
    return [
        attempt("floating point", i.var),
        attempt("floating point", i.std),
        attempt("floating point", i.norm),
        attempt("", i.softmax, 0),
        attempt("could not infer output dtype", i.mean),
    ]


@program()
def functions_that_need_numbers(torch: Any) -> Any:
    b = torch.tensor([True, False])
    return [
        attempt("Negation, the `-` operator, on a bool tensor is not supported", lambda: -b),
        attempt("Subtraction, the `-` operator, with two bool tensors is not supported", lambda: b - b),
        attempt("not implemented for 'Float'", lambda: torch.tensor([1.5]) & torch.tensor([1.5])),
        attempt("only implemented on integer and Boolean-type tensors", lambda: ~torch.tensor([1.5])),
    ]


@program()
def clamp_without_bounds(torch: Any) -> Any:
    return attempt("At least one of 'min' or 'max' must not be None", torch.ones(2).clamp)


@program()
def pads_that_do_not_fit(torch: Any) -> Any:
    pad, x = torch.nn.functional.pad, torch.ones(2, 3)
    return [
        attempt("Padding length must be divisible by 2", pad, x, (1,)),
        attempt(
            "Padding length should be less than or equal to two times the input dimension",
            pad,
            x,
            (1, 1, 1, 1, 1, 1),
        ),
        attempt("", pad, x, (-5, 0)),
    ]


@program()
def einsum_equations_that_do_not_fit(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt(
            "the number of subscripts in the equation .1. does not match the number of dimensions .2.",
            torch.einsum,
            "i->i",
            x,
        ),
        attempt("fewer operands were provided than specified", torch.einsum, "ij,jk->ik", x),
        attempt("output subscript k does not appear", torch.einsum, "ij->ik", x),
        attempt("does not broadcast with previously seen size", torch.einsum, "ij,ij->", x, torch.ones(3, 2)),
    ]


@program()
def linear_that_does_not_fit(torch: Any) -> Any:
    f = torch.nn.functional.linear
    return [
        attempt("cannot be multiplied", f, torch.ones(2, 3), torch.ones(4, 2)),
        attempt(
            "expanded size of the tensor .4. must match the existing size .5.",
            f,
            torch.ones(2, 3),
            torch.ones(4, 3),
            torch.ones(5),
        ),
    ]


@program()
def in_place_that_does_not_fit(torch: Any) -> Any:
    x, i = torch.ones(2), torch.ones(2, dtype=torch.int64)
    return [
        attempt("doesn't match the broadcast shape", x.add_, torch.ones(3, 2)),
        attempt("result type Float can't be cast to the desired output type", i.add_, 1.5),
        attempt("result type Float can't be cast to the desired output type", i.div_, 2),
        x,
        i,
    ]


@program()
def values_are_unchanged_after_an_error(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    failures = [attempt("", lambda: x + torch.ones(3)), attempt("", x.sum, 5), attempt("", x.reshape, 7)]
    (x * 2).sum().backward()
    return failures, x, x.grad


@program()
def what_is_no_word_where_one_is_asked_for(torch: Any) -> Any:
    a, functional = torch.full((4, 4), 0.5), torch.nn.functional
    rows = torch.tensor([0])
    losses = (functional.mse_loss, functional.l1_loss, functional.kl_div, functional.binary_cross_entropy,
              functional.soft_margin_loss, functional.huber_loss)  # fmt: skip
    words = (
        lambda bad: torch.meshgrid(a[0], indexing=bad),
        lambda bad: torch.linalg.eigh(a, UPLO=bad),
        lambda bad: torch.linalg.qr(a, bad),
        lambda bad: torch.linalg.lstsq(a, a, driver=bad),
        lambda bad: torch.fft.fft(a, norm=bad),
        lambda bad: torch.index_reduce(a, 0, rows, a[:1], bad),
        lambda bad: torch.scatter_reduce(a, 0, rows.view(1, 1), a[:1], bad),
        lambda bad: functional.gelu(a, approximate=bad),
        lambda bad: functional.pad(a, (1, 1), mode=bad),
    )
    combinations = (
        lambda bad: torch.div(a, a, rounding_mode=bad),
        lambda bad: torch.quantile(a, 0.5, interpolation=bad),
        lambda bad: torch.searchsorted(a[0], a, side=bad),
    )
    return [
        [attempt("1 is not a valid value for reduction", loss, a, a, reduction=1) for loss in losses],
        attempt("mode has to be one of sum, mean or max", functional.embedding_bag, rows, a, rows, mode=1),
        [attempt("must be str, not int", call, 1) for call in words],
        [attempt("", call, 1) for call in combinations],
    ]


@program()
def functions_take_lists_where_methods_take_numbers(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    tuple_wanted = "must be tuple of ints, not int"
    return (
        x.flip(0, 1), x.flip((1,)), x.flip(dims=[0]), torch.flip(x, [0]), torch.flip(x, dims=(0, 1)),
        x.tile(2), x.tile(2, 1), torch.tile(x, (2,)), torch.tile(x, dims=(2, 1)), torch.fliplr(x), torch.flipud(x),
        attempt(tuple_wanted, torch.flip, x, 0),
        attempt(tuple_wanted, torch.tile, x, 2),
    )  # fmt: skip


@program()
def parameters_of_windows_come_in_turn(torch: Any) -> Any:
    taken = "invalid combination of arguments"
    return (
        torch.hamming_window(4), torch.hamming_window(4, True, 0.5), torch.hamming_window(4, periodic=False, alpha=0.5),
        torch.hamming_window(4, True, 0.5, 0.2), torch.kaiser_window(4), torch.kaiser_window(4, True, 5.0),
        attempt(taken, lambda: torch.hamming_window(4, alpha=0.5)),
        attempt(taken, lambda: torch.hamming_window(4, True, beta=0.5)),
        attempt(taken, lambda: torch.kaiser_window(4, beta=5.0)),
        attempt("expects a str, but got NoneType", torch.set_float32_matmul_precision, None),
    )  # fmt: skip


@program()
def what_reductions_and_shifts_refuse(torch: Any) -> Any:
    empty, whole = torch.zeros(0, 3), torch.ones(2, dtype=torch.int64)
    dtypes = "only support floating point and complex dtypes"
    return [
        attempt("Expected reduction dim to be specified", torch.amax, empty, dim=None),
        attempt("Expected reduction dim to be specified", torch.amin, empty, dim=None, keepdim=True),
        torch.amax(torch.ones(2, 3), dim=None),
        *[attempt(dtypes, f, whole, 5) for f in (torch.std, torch.var, torch.std_mean, torch.var_mean)],
        attempt("lshift_cpu", lambda: torch.ones(2) << 1),
        attempt("rshift_cpu", torch.bitwise_right_shift, torch.ones(2), 1),
        attempt("eps must be non-negative", torch.cosine_similarity, torch.ones(2), torch.ones(2), 0, -1.5),
        attempt("invalid type: 'int'", torch.ones(2).type, int),
    ]


@program()
def truth_values_minus_what_is_no_operand(torch: Any) -> Any:
    x = torch.tensor([True])
    return [
        *[attempt("unsupported operand type", lambda v=v: x - v) for v in (None, "a", [1])],
        *[attempt("Subtraction, the `-` operator", lambda v=v: x - v) for v in (True, 1, x)],
    ]


@program()
def complex_numbers_and_flags_that_are_refused(torch: Any) -> Any:
    x, f = torch.ones(2), torch.nn.functional
    return [
        attempt("value cannot be converted to type float without overflow", f.threshold, x, 1, 1j),
        attempt("value cannot be converted to type int without overflow", f.threshold, x.int(), 1j, 1),
        f.threshold(x, 1 + 0j, 2),
        attempt("not implemented for 'ComplexFloat'", torch.xlogy, 1j, x),
        attempt("not implemented for 'ComplexFloat'", torch.special.xlog1py, 1j, x),
        attempt("argument 'return_inverse' must be bool, not int", torch.unique, x, return_inverse=1),
        attempt("argument 'return_counts' must be bool", torch.unique_consecutive, x, return_counts=None),
    ]


@program(warns="torch.range is deprecated")
def ranges_with_their_end(torch: Any) -> Any:
    complexes = "value cannot be converted to type double without overflow"
    return [
        torch.range(0.5, 3, dtype=torch.int64),
        torch.range(0.5, 3, 0.5),
        attempt(complexes, torch.range, 1j, 2),
        attempt(
            "range_cpu.* not implemented for 'ComplexFloat'", torch.range, 2.5, -1, dtype=torch.complex64
        ),
        attempt(complexes, torch.histc, torch.ones(2), 2, min=1j),
    ]


@program()
def distances_and_losses_of_several_dtypes(torch: Any) -> Any:
    x, counts, f = torch.tensor([0.5, 2.0]), torch.tensor([1, 3]), torch.nn.functional
    return [
        attempt("Subtraction, the `-` operator", torch.dist, x, x.bool()),
        torch.dist(x, counts),
        f.poisson_nll_loss(x.half(), counts, full=True),
        f.poisson_nll_loss(x, counts, log_input=False, full=True),
        attempt("takes 1 positional argument but 2 were given", torch.as_tensor, [1], torch.float32),
    ]
