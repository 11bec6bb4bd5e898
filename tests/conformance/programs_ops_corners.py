"""Operations at their corners: powers of zero, branch cuts, empty dimensions, arguments in orders of old."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from .harness import attempt, program

NAN, INF = float("nan"), float("inf")


def leaf(torch: Any, data: Any, dtype: str = "float64") -> Any:
    return torch.tensor(data, dtype=getattr(torch, dtype), requires_grad=True)


def gradient(torch: Any, y: Any, *xs: Any) -> Any:
    weighted = y.real.sum() + 2 * y.imag.sum() if y.is_complex() else y.sum()
    return [g.resolve_conj() for g in torch.autograd.grad(weighted, xs)]


# -- powers --------------------------------------------------------------------------------------------------------


@program()
def powers_of_zero(torch: Any) -> Any:
    found = []
    for base in (0, 0.0):
        x = leaf(torch, [-2.0, -0.5, -0.0, 0.0, 0.5, 2.0, INF, -INF, NAN])
        for y in (base**x, torch.pow(base, x), torch.float_power(base, x)):
            found.append((y, gradient(torch, y, x)))
    return found


@program()
def powers_with_a_zero_base(torch: Any) -> Any:
    numbers = [-2.0, -0.5, -0.0, 0.0, 0.5, 2.0, INF, -INF, NAN]
    x = leaf(torch, [a for a, _ in itertools.product(numbers, numbers)])
    y = leaf(torch, [b for _, b in itertools.product(numbers, numbers)])
    return [
        (z, gradient(torch, z, x, y))
        for z in (x**y, torch.float_power(x, y), torch.xlogy(x, y), torch.special.xlog1py(x, y))
    ]


@program()
def powers_of_a_complex_number(torch: Any) -> Any:
    found = []
    for base in (1 + 2j, -2, 3j, -1.5, 1):
        for dtype in ("float64", "complex128"):
            x = leaf(torch, [-1.0, 0.0, 2.0, 0.5], dtype)
            y = torch.pow(base, x)
            found.append((y, gradient(torch, y, x)))
    return found


@program()
def integer_powers_of_a_number(torch: Any) -> Any:
    x = torch.tensor([0, 1, 3])
    return [torch.pow(base, x) for base in (0, 1, -1, 2)]


# -- complex numbers -----------------------------------------------------------------------------------------------


@program()
def slopes_in_all_quadrants(torch: Any) -> Any:
    names = (
        "acos asin atan acosh asinh atanh cosh sinh tanh tan cos sin exp log log2 log10 sqrt rsqrt sigmoid"
    )
    z = leaf(torch, [-2 + 1j, -2 - 1j, 2 + 1j, 2 - 1j, -0.5 - 0.3j, -0.5 + 0.3j, 0.5 + 0.2j], "complex128")
    return {name: gradient(torch, getattr(torch, name)(z), z) for name in names.split()}


@program()
def a_real_product_of_complex_numbers(torch: Any) -> Any:
    z = leaf(torch, [1 + 2j, 3j, 2.0], "complex64")
    w = leaf(torch, [[1 + 2j, 3j], [2.0, 1.0]], "complex64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that imaginary parts are dropped
        return [
            gradient(torch, z.prod(dtype=torch.float32), z),
            gradient(torch, w.prod(1, dtype=torch.float32), w),
            gradient(torch, z.sum(dtype=torch.float32), z),
            gradient(torch, z.cumsum(0, dtype=torch.float32), z),
        ]


# -- dtypes --------------------------------------------------------------------------------------------------------


@program()
def interpolation_by_a_weight_of_another_dtype(torch: Any) -> Any:
    names = ("float32", "float64", "int64", "complex64", "bool", "uint8")
    return {
        f"{a} {b}": attempt(
            "lerp_kernel_tensor|not implemented",
            torch.lerp,
            torch.ones(2, dtype=getattr(torch, a)),
            torch.zeros(2, dtype=getattr(torch, a)),
            torch.ones((), dtype=getattr(torch, b)),
        )
        for a, b in itertools.product(names, names)
    }


@program()
def thresholds_of_integers(torch: Any) -> Any:
    limits = ((1, 5), (1.5, 5), (-1, 0), (2.9, 7.7), (1, -1), (300, 0))
    threshold = torch.nn.functional.threshold
    return [
        attempt("without overflow", threshold, torch.tensor([0, 1, 2, 3, 200]).to(dtype), *limit)
        for dtype in (torch.int64, torch.int32, torch.uint8, torch.float64)
        for limit in limits
    ]


# -- empty dimensions ----------------------------------------------------------------------------------------------


@program()
def pieces_of_nothing(torch: Any) -> Any:
    found = []
    for requires in (False, True):
        x = torch.zeros(0, 3, requires_grad=requires)
        y = torch.zeros(2, 0, requires_grad=requires)
        found += [list(x), x.unbind(0), y.unbind(1), x.split([]), x.split(0), y.split(1, 1), x.chunk(3)]
        found += [x.tensor_split(3), y.tensor_split((), 1), x.hsplit(3), x.tolist(), list(y)]
    return found


# -- arguments -----------------------------------------------------------------------------------------------------


@program()
def losses_under_their_bare_names_are_not_reduced(torch: Any) -> Any:
    x = leaf(torch, [[1.0, -2.0, 0.3], [0.2, 0.5, -1.0]])
    y, z = (
        torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64),
        torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64),
    )
    logs = torch.zeros(4, 2, 3, dtype=torch.float64).log_softmax(2)
    lengths = torch.tensor([2, 2])
    return [
        torch.hinge_embedding_loss(x, z),
        torch.margin_ranking_loss(x, y, z),
        torch.triplet_margin_loss(x, y[None], z[None]),
        torch.cosine_embedding_loss(x, y[None], torch.tensor([1, -1])),
        torch.kl_div(x, y),
        torch.binary_cross_entropy_with_logits(x, y.expand(2, 3)),
        torch.ctc_loss(logs, torch.tensor([[1, 2], [1, 2]]), lengths + 2, lengths),
        torch.hinge_embedding_loss(x, z, 1.0, 1),
        torch.margin_ranking_loss(x, y, z, 0.0, 2),
    ]


@program(warns="This overload of .* is deprecated")
def factors_before_tensors(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = torch.tensor([3.0], dtype=torch.float64)
    found = [
        torch.add(x, 2, y), x.add(2, y), torch.sub(x, 2, y), x.clone().add_(2, y), x.clone().sub_(2, y),
        torch.addcmul(x, 2, x, y), x.addcdiv(2, x, y), x.clone().addcmul_(2, x, y), x.clone().addcdiv_(2, x, y),
        torch.add(x, 1.5, -1), x.clone().add_(1.5, -1),
    ]  # fmt: skip
    return [(z, gradient(torch, z, x)) for z in found]


@program(warns="This overload of .* is deprecated")
def factors_before_matrices(torch: Any) -> Any:
    m, v = torch.ones(2, 2), torch.ones(2)
    b = m[None]
    return [
        torch.addmm(2, m, m, m), torch.addmm(2, m, 3, m, m), m.addmm(2, m, m), m.clone().addmm_(2, 3, m, m),
        torch.addmv(2, v, m, v), v.clone().addmv_(2, m, v), torch.addr(2, m, v, v), m.clone().addr_(2, 3, v, v),
        torch.baddbmm(2, b, b, b), b.clone().baddbmm_(2, b, b), torch.addbmm(2, m, b, b),
        m.clone().addbmm_(2, b, b),
    ]  # fmt: skip


@program(phrase="takes 2 positional arguments but 3 were given")
def a_tensor_is_no_factor(torch: Any) -> Any:
    x = torch.ones(2)
    return torch.add(x, x, 2)


@program()
def a_factor_of_rsub(torch: Any) -> Any:
    return torch.rsub(leaf(torch, [1.0, 2.0]), 2, 3)


@program()
def the_size_of_what_is_repeated(torch: Any) -> Any:
    x, counts = torch.tensor([1, 2]), torch.tensor([1, 2])
    return [
        x.repeat_interleave(counts, output_size=3),
        x.repeat_interleave(2, output_size=4),
        attempt("allocated size does not match", x.repeat_interleave, counts, output_size=4),
        attempt("allocated size does not match", torch.repeat_interleave, counts, output_size=2),
        attempt("expected 4 but got 3", x.repeat_interleave, 2, output_size=3),
    ]


# -- borders, images, conditions -----------------------------------------------------------------------------------


@program()
def borders_that_leave_nothing(torch: Any) -> Any:
    found = []
    for widths in ((-1, -2), (-3, 0), (0, -3), (-2, -2), (1, -4)):
        for mode in ("constant", "circular", "reflect", "replicate"):
            x = leaf(torch, [[[1.0, 2.0, 3.0]]])
            y = attempt("", torch.nn.functional.pad, x, widths, mode)
            # PyTorch writes into a new tensor where it repeats in a circle; here it is one operation.
            found.append((y.detach(), gradient(torch, y, x)) if isinstance(y, torch.Tensor) else y)
    return found


@program()
def images_of_bytes_are_resized_to_the_bit(torch: Any) -> Any:
    numbers = [(i * 7919 + i * i * 104729) % 256 for i in range(2 * 5 * 5 * 7)]
    resize = torch.nn.functional.interpolate
    found = []
    for channels in (1, 3, 5):
        image = torch.tensor(numbers, dtype=torch.uint8).reshape(2, 5, 5, 7)[:, :channels].contiguous()
        for size in ((9, 11), (3, 4), (5, 7), (2, 13), (10, 4)):
            for mode in ("bilinear", "bicubic"):
                found += [resize(image, size, mode=mode, align_corners=corners) for corners in (False, True)]
                found.append(resize(image, size, mode=mode, antialias=True))
    return found


@program()
def where_a_single_number_is_not_zero(torch: Any) -> Any:
    values = (True, False, 2.0, 0, 1j)
    return [(torch.where(torch.tensor(v)), torch.nonzero(torch.tensor(v), as_tuple=True)) for v in values]


@program(warns="uint8 condition")
def a_condition_of_bytes(torch: Any) -> Any:
    condition, x = torch.tensor([1, 0, 2], dtype=torch.uint8), leaf(torch, [1.0, 2.0, 3.0])
    return [torch.where(condition, x, 0.0), x.where(condition, -x), torch.where(condition[0], x, 0.0)]


@program()
def limits_of_logit_that_have_changed_places(torch: Any) -> Any:
    x = leaf(torch, [0.0, 0.2, 0.5, 0.55, 0.95, 1.0, NAN])
    found = [torch.logit(x, eps) for eps in (0.0, 0.1, 0.5, 0.6, 0.9)]
    return [(y, gradient(torch, y, x)) for y in found]


@program()
def complex_numbers_copied_into_truth_values(torch: Any) -> Any:
    return torch.tensor([False, True, False]).copy_(torch.tensor([1j, 0j, 2.0]))


@program()
def coordinates_are_integers_of_64_bits(torch: Any) -> Any:
    return [
        torch.unravel_index(torch.tensor([1, 5], dtype=dtype), (2, 3))
        for dtype in (torch.int64, torch.int32, torch.uint8, torch.int16)
    ]


@program()
def a_hinge_of_integers(torch: Any) -> Any:
    return torch.hinge_embedding_loss(torch.tensor([1, 2, 0]), torch.tensor([1, -1, -1]), 2.5)


@program()
def truth_values_of_a_loss(torch: Any) -> Any:
    loss = leaf(torch, [1.0, 2.0]).sum()
    names = ("isfinite", "isnan", "isinf", "isreal", "isposinf", "isneginf", "signbit")
    return {name: (getattr(loss, name)(), ~getattr(torch, name)(loss)) for name in names}


@program()
def tolerances_held_by_tensors(torch: Any) -> Any:
    x, y, tolerance = torch.tensor([1.0, 2.0]), torch.tensor([1.1, 2.5]), torch.tensor(0.2)
    return [torch.isclose(x, y, tolerance), torch.allclose(x, y, tolerance, tolerance)]


@program(warns="An output with one or more elements was resized")
def an_output_of_another_shape(torch: Any) -> Any:
    out = torch.ones(3)
    return torch.add(torch.ones(2), 1, out=out), out.shape, torch.add(torch.ones(2), 1, out=torch.empty(0))


@program()
def outputs_that_are_too_few(torch: Any) -> Any:
    x, matrix = torch.ones(2), torch.ones(2, 2)
    return [
        attempt("expected tuple of 2 elements but got 1", lambda: torch.max(matrix, 0, out=(x,))),
        attempt("expected tuple of 2 elements but got 1", lambda: torch.sort(x, out=(x,))),
        attempt("expected tuple of 2 elements but got 1", lambda: torch.cummax(x, 0, out=(x,))),
        attempt("expected tuple of 2 elements but got 3", lambda: torch.topk(x, 1, out=(x, x.long(), x))),
        attempt("expected tuple of 2 elements but got 1", lambda: torch.frexp(x, out=(x,))),
        attempt("expected tuple of 3 elements but got 1", lambda: torch.linalg.svd(matrix, out=(x,))),
        attempt("expected Tensor as element 0", lambda: torch.max(matrix, 0, out=(1, 2))),
    ]


@program()
def truth_values_as_factors(torch: Any) -> Any:
    t = torch.tensor([True, False])
    return torch.add(t, True, alpha=True), torch.add(t, True, alpha=False), torch.add(t, t, alpha=True)


@program()
def lists_beside_numbers(torch: Any) -> Any:
    x = [torch.arange(2.0)]
    each, few = (
        "must have same number of elements as scalar list",
        "Expected length of scalars to match input",
    )
    return [
        attempt(each, torch._foreach_add, x, [1.0, 2.0]),
        attempt(each, torch._foreach_addcmul, x, x, x, [1.0, 2.0]),
        attempt("scalar tensor expected to be 0 dim", torch._foreach_mul, x, torch.ones(2)),
        attempt(
            "packed scalar Tensor to be of dimension 1", torch._foreach_addcdiv, x, x, x, torch.tensor(1.0)
        ),
        attempt(few, torch._foreach_addcmul, x, x, x, torch.tensor([1.0, 2.0])),
        torch._foreach_add(x, torch.tensor(1.0)),
        torch._foreach_addcmul(x, x, x, torch.tensor([2.0])),
    ]
