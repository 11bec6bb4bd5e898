"""Every distribution with parameters of every shape: the rows that the tests of this folder go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def real(rng, batch):
    return rng.normal(size=batch)


def positive(rng, batch):
    return rng.uniform(0.5, 3.0, batch)


def large(rng, batch):
    """Above what second moments ask for."""
    return rng.uniform(4.5, 9.0, batch)


def small(rng, batch):
    return rng.uniform(0.1, 0.4, batch)


def unit(rng, batch):
    return rng.uniform(0.1, 0.9, batch)


def counts(rng, batch):
    return rng.integers(2, 6, batch).astype(float)


def simplex(rng, batch):
    return rng.dirichlet(np.ones(3), batch)


def vector(rng, batch):
    return rng.normal(size=(*batch, 3))


def positive_vector(rng, batch):
    return rng.uniform(0.5, 3.0, (*batch, 3))


def factor(rng, batch):
    return rng.normal(size=(*batch, 3, 2))


def lower(rng, batch):
    return np.tril(rng.normal(size=(*batch, 3, 3)), -1) + np.eye(3) * rng.uniform(0.5, 2.0, (*batch, 3, 1))


def definite(rng, batch):
    root = lower(rng, batch)
    return root @ root.swapaxes(-1, -2)


class Row(NamedTuple):
    """A distribution: what it is called, and what its parameters are drawn by."""

    name: str
    parameters: dict[str, Draw]
    fixed: dict[str, Any] = {}
    dtype: str = "float64"

    def __str__(self) -> str:
        return "-".join(
            [self.name, *(p for p in self.parameters if p in ("logits", "scale_tril", "precision_matrix"))]
        )

    def arrays(self, batch: tuple[int, ...], seed: int = 0) -> dict[str, np.ndarray]:
        """Parameters of a batch. The first has all of its dimensions, the others lack the first one."""
        rng = np.random.default_rng(seed)
        shapes = [batch, *[batch[1:]] * (len(self.parameters) - 1)]
        return {n: draw(rng, s) for (n, draw), s in zip(self.parameters.items(), shapes, strict=True)}

    def make(
        self, lib: Any, arrays: dict[str, np.ndarray], validate: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """The distribution in PyTorch or in retrograd, and its parameters."""
        leaves = {
            n: lib.tensor(a, dtype=getattr(lib, self.dtype), requires_grad=True) for n, a in arrays.items()
        }
        given = {**leaves, **self.fixed, **({} if validate is None else {"validate_args": validate})}
        if "temperature" in given:
            given["temperature"] = lib.tensor(given["temperature"], dtype=lib.float64)
        return getattr(lib.distributions, self.name)(**given), list(leaves.values())


ROWS = (
    Row("Bernoulli", {"probs": unit}),
    Row("Bernoulli", {"logits": real}),
    Row("Beta", {"concentration1": positive, "concentration0": positive}),
    Row("Binomial", {"probs": unit}, {"total_count": 5}),
    Row("Binomial", {"logits": real}, {"total_count": 5}),
    Row("Categorical", {"probs": simplex}),
    Row("Categorical", {"logits": vector}),
    Row("Cauchy", {"loc": real, "scale": positive}),
    Row("Chi2", {"df": positive}),
    Row("ContinuousBernoulli", {"probs": unit}),
    Row("ContinuousBernoulli", {"logits": real}),
    Row("Dirichlet", {"concentration": positive_vector}),
    Row("Exponential", {"rate": positive}),
    Row("FisherSnedecor", {"df1": large, "df2": large}),
    Row("Gamma", {"concentration": positive, "rate": positive}),
    Row(
        "GeneralizedPareto", {"loc": real, "scale": positive, "concentration": small}, {}, "float32"
    ),  # PyTorch's fails in double
    Row("Geometric", {"probs": unit}),
    Row("Geometric", {"logits": real}),
    Row("Gumbel", {"loc": real, "scale": positive}),
    Row("HalfCauchy", {"scale": positive}),
    Row("HalfNormal", {"scale": positive}),
    Row("InverseGamma", {"concentration": large, "rate": positive}),
    Row("Kumaraswamy", {"concentration1": positive, "concentration0": positive}),
    Row("LKJCholesky", {"concentration": positive}, {"dim": 3}),
    Row("Laplace", {"loc": real, "scale": positive}),
    Row("LogNormal", {"loc": real, "scale": positive}),
    Row("LogisticNormal", {"loc": vector, "scale": positive_vector}),
    Row("LowRankMultivariateNormal", {"loc": vector, "cov_factor": factor, "cov_diag": positive_vector}),
    Row("Multinomial", {"probs": simplex}, {"total_count": 4}),
    Row("Multinomial", {"logits": vector}, {"total_count": 4}),
    Row("MultivariateNormal", {"loc": vector, "covariance_matrix": definite}),
    Row("MultivariateNormal", {"loc": vector, "precision_matrix": definite}),
    Row("MultivariateNormal", {"loc": vector, "scale_tril": lower}),
    Row("NegativeBinomial", {"total_count": counts, "probs": unit}),
    Row("NegativeBinomial", {"total_count": counts, "logits": real}),
    Row("Normal", {"loc": real, "scale": positive}),
    Row("OneHotCategorical", {"probs": simplex}),
    Row("OneHotCategorical", {"logits": vector}),
    Row("OneHotCategoricalStraightThrough", {"probs": simplex}),
    Row("Pareto", {"scale": positive, "alpha": large}),
    Row("Poisson", {"rate": positive}),
    Row("RelaxedBernoulli", {"probs": unit}, {"temperature": 0.7}),
    Row("RelaxedBernoulli", {"logits": real}, {"temperature": 0.7}),
    Row("RelaxedOneHotCategorical", {"probs": simplex}, {"temperature": 0.7}),
    Row("RelaxedOneHotCategorical", {"logits": vector}, {"temperature": 0.7}),
    Row("StudentT", {"df": large, "loc": real, "scale": positive}),
    Row("Uniform", {"low": real, "high": large}),
    Row("VonMises", {"loc": real, "concentration": positive}),
    Row("Weibull", {"scale": positive, "concentration": positive}),
    Row("Wishart", {"df": large, "covariance_matrix": definite}),
    Row("Wishart", {"df": large, "precision_matrix": definite}),
    Row("Wishart", {"df": large, "scale_tril": lower}),
)
BATCHES = ((), (4,), (2, 4))
