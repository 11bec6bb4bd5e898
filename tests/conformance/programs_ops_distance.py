"""Distances, lengths and angles, the calculus of samples, and covariances: values, gradients, edges, errors."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program

NAN, INF = float("nan"), float("inf")
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
CUBE = [[[1.0, 2.0], [3.0, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]
POINTS = [[0.5, 0.5], [1.0, -1.0], [2.5, 1.0]]
OTHERS = [[0.0, 0.25], [3.0, 1.0]]


# -- distances -------------------------------------------------------------------------------------


@program()
def dist_of_every_order(torch: Any) -> Any:
    return [
        derivatives(torch, lambda x, y, p=p: torch.dist(x, y, p), POINTS[:2], OTHERS)
        for p in (1, 1.5, 2, 3, INF)
    ]


@program()
def distances_of_all_pairs(torch: Any) -> Any:
    found = []
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF):
        x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
        y = torch.tensor(OTHERS, dtype=torch.float64, requires_grad=True)
        apart, among = torch.cdist(x, y, p), torch.pdist(x, p)
        ((apart * torch.arange(6.0).reshape(3, 2)).sum() + (among * torch.arange(3.0)).sum()).backward()
        found.append((apart, among, x.grad, y.grad))
    return found


@program()
def distances_by_products(torch: Any) -> Any:
    mode = "use_mm_for_euclid_dist"
    return derivatives(torch, lambda x, y: torch.cdist(x, y, compute_mode=mode), POINTS, OTHERS)


@program()
def distances_of_coinciding_points(torch: Any) -> Any:
    found = []
    for p in (1.0, 1.5, 2.0, 3.0, INF):
        x = torch.tensor([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
        (torch.cdist(x, torch.ones(1, 2), p).sum() + torch.pdist(x, p).sum() + torch.dist(x, x, p)).backward()
        found.append(x.grad)
    return found, torch.cdist(torch.ones(3, 0), torch.ones(2, 0)), torch.pdist(torch.ones(1, 3))


@program()
def distance_errors(torch: Any) -> Any:
    x = torch.ones(2, 2)
    return (
        attempt("at least 2D", torch.cdist, torch.ones(2), x),
        attempt("same number of columns", torch.cdist, x, torch.ones(2, 3)),
        attempt("non-negative p", torch.cdist, x, x, -1.0),
        attempt("floating-point", torch.cdist, x.long(), x.long()),
        attempt("not a valid value for compute_mode", torch.cdist, x, x, compute_mode="fast"),
        attempt("only supports 2D", torch.pdist, torch.ones(2)),
        attempt("floating point or complex", torch.dist, torch.tensor([1]), torch.tensor([2])),
        attempt("must match the size", torch.dist, torch.ones(2), torch.ones(3)),
    )


@program()
def renorm_in_its_forms(torch: Any) -> Any:
    found = [derivatives(torch, lambda x, p=p: x.renorm(p, 1, 1.5), MATRIX) for p in (1, 2, 3, INF)]
    y = torch.tensor([[3.0, 4.0], [0.3, 0.4]], requires_grad=True) * 1
    return (
        found,
        y.renorm_(2, 0, 1.0),
        derivatives(torch, lambda x: x.renorm(2, 0, 1), [[3j, 4.0]], dtype="complex128"),
    )


@program()
def renorm_errors(torch: Any) -> Any:
    x = torch.ones(2, 2)
    return (
        attempt("non-positive-norm", x.renorm, 0, 0, 1.0),
        attempt("maxnorm to be >= 0", x.renorm, 2, 0, -1.0),
        attempt("at least 2 dimensions", torch.ones(2).renorm, 2, 0, 1.0),
        attempt("floating point or complex", x.long().renorm, 2, 0, 1.0),
    )


@program()
def cosines(torch: Any) -> Any:
    similar = torch.nn.functional.cosine_similarity
    return (
        derivatives(torch, similar, POINTS, [[1.0, 2.0]]),
        derivatives(torch, lambda x, y: similar(x, y, dim=0), POINTS[:2], OTHERS),
        similar(torch.zeros(1, 2), torch.ones(1, 2)),
        attempt(
            "common dtype to be floating point", similar, torch.ones(1, 2).long(), torch.ones(1, 2).long()
        ),
    )


@program()
def pairwise_distances_and_normalized_vectors(torch: Any) -> Any:
    F = torch.nn.functional
    zero = torch.zeros(1, 2, requires_grad=True)
    F.normalize(zero).sum().backward()
    return (
        [derivatives(torch, lambda x, y, p=p: F.pairwise_distance(x, y, p), POINTS[:2], OTHERS) for p in (1, 2.0, INF)],
        [derivatives(torch, lambda x, p=p: F.normalize(x, p, dim=0), POINTS) for p in (1.0, 2.0, 3.0)],
        [derivatives(torch, lambda x, d=d: torch.norm_except_dim(x, 2, d), CUBE) for d in (-1, 0, 1, 2)],
        zero.grad, F.pairwise_distance(torch.tensor([1, 2]), torch.tensor([3, 4]), keepdim=True),
    )  # fmt: skip


# -- calculus and statistics -----------------------------------------------------------------------


@program()
def diff_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: x.diff(), lambda x: x.diff(n=2), lambda x: torch.diff(x, dim=0),
        lambda x: x.diff(0), lambda x: x.diff(9),
        lambda x: torch.diff(x, prepend=x, append=2 * x), lambda x: torch.diff(x, axis=0),
    )  # fmt: skip
    kinds = [torch.tensor([1, 0, 5]).to(k).diff() for k in (torch.bool, torch.uint8, torch.int64)]
    return [derivatives(torch, f, MATRIX) for f in forms], kinds, torch.ones(0).diff()


@program()
def diff_errors(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return (
        attempt("at least one-dimensional", torch.tensor(1.0).diff),
        attempt("order must be non-negative", x.diff, -1),
        attempt("same dimension as input", x.diff, prepend=torch.ones(1)),
        attempt("except along the differencing dimension", x.diff, prepend=torch.ones(3, 1)),
    )


@program()
def integrals(torch: Any) -> Any:
    both = torch.trapezoid, torch.cumulative_trapezoid
    places = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    return (
        [derivatives(torch, f, MATRIX) for f in (*both, torch.trapz)],
        [derivatives(torch, lambda y, f=f: f(y, dx=0.5, dim=0), MATRIX) for f in both],
        [derivatives(torch, lambda y, f=f: f(y, places), MATRIX) for f in both],
        [derivatives(torch, f, MATRIX, [[0.0, 0.5, 2.0], [1.0, 3.0, 4.0]]) for f in both],
        [f(torch.tensor([1, 2, 4])) for f in both], [f(torch.ones(2, 0)) for f in both],
        [attempt("one `x` value for each sample", f, torch.ones(3), torch.ones(2)) for f in both],
        [attempt("bool is not supported", f, torch.tensor([True])) for f in both],
        [attempt("only support dx as a real number", f, torch.ones(3), dx=1j) for f in both],
    )  # fmt: skip


@program()
def gradients_of_samples(torch: Any) -> Any:
    grid = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    forms = (
        lambda x: torch.gradient(x)[0], lambda x: torch.gradient(x, dim=1)[0],
        lambda x: torch.gradient(x, spacing=2.0)[1],
        lambda x: torch.gradient(x, dim=1, edge_order=2)[0], lambda x: torch.gradient(x, spacing=(0.5, 2.0))[1],
        lambda x: torch.gradient(x, spacing=(grid,), dim=1)[0],
        lambda x: torch.gradient(x, spacing=(grid,), dim=1, edge_order=2)[0],
    )  # fmt: skip
    return (
        [derivatives(torch, f, MATRIX) for f in forms],
        torch.gradient(torch.tensor([1, 4, 9])),
        len(torch.gradient(torch.ones(2, 2, 2), dim=(2, 0))),
    )


@program()
def gradient_errors(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return (
        attempt("at least edge_order\\+1", torch.gradient, torch.ones(1)),
        attempt("edge_order=1 and edge_order=2", torch.gradient, x, edge_order=3),
        attempt("expected spacing to be unspecified", torch.gradient, x, spacing=(1.0, 2.0, 3.0)),
        attempt("appears multiple times", torch.gradient, x, dim=(0, 0)),
        attempt("does not support uint8", torch.gradient, x.to(torch.uint8)),
    )


@program()
def means_without_nan(torch: Any) -> Any:
    data = [[1.0, NAN, 3.0], [4.0, 5.0, NAN]]
    x = torch.tensor([NAN, NAN], requires_grad=True)
    torch.nanmean(x).backward()
    return (
        [derivatives(torch, f, data) for f in (torch.nanmean, lambda x: x.nanmean(1), lambda x: x.nanmean(0, True))],
        x.grad, torch.ones(0).nanmean(), torch.ones(2).nanmean(dtype=torch.float64),
        attempt("floating point or complex dtype", torch.tensor([1]).nanmean),
    )  # fmt: skip


@program()
def covariances(torch: Any) -> Any:
    often, weight = torch.tensor([1, 2, 1]), torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    forms = (
        lambda x: x.cov(), lambda x: torch.cov(x, correction=0), lambda x: torch.cov(x, fweights=often),
        lambda x: torch.cov(x, aweights=weight), lambda x: torch.cov(x, fweights=often, aweights=weight),
        lambda x: torch.cov(x[0]),
    )  # fmt: skip
    return (
        [derivatives(torch, f, MATRIX) for f in forms],
        torch.cov(torch.tensor([1, 2, 4])),
        derivatives(torch, torch.cov, [[1j, 2.0, 1 - 1j], [0.5, 1j, 2.0]], dtype="complex128"),
    )


@program()
def correlations(torch: Any) -> Any:
    x = torch.tensor(MATRIX, dtype=torch.float64, requires_grad=True)
    found = x.corrcoef()
    found[0, 1].backward()
    return found, x.grad, torch.corrcoef(torch.tensor([1.0, 2.0, 4.0])), torch.corrcoef(torch.ones(2, 3))


@program(warns="degrees of freedom is <= 0")
def covariance_of_too_few_observations(torch: Any) -> Any:
    return torch.cov(torch.ones(2, 1)), torch.cov(torch.tensor([1.0, 3.0]), correction=2)


@program()
def covariance_errors(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return (
        attempt("two or fewer dimensions", torch.cov, torch.ones(1, 1, 1)),
        attempt("fweights to have integral dtype", torch.cov, x, fweights=torch.ones(3)),
        attempt("fweights cannot be negative", torch.cov, x, fweights=torch.tensor([-1, 1, 1])),
        attempt("the same numel as there are observations", torch.cov, x, aweights=torch.ones(2)),
        attempt("bool dtype is not supported", torch.cov, torch.tensor([True])),
    )
