"""Distributions of random numbers under PyTorch's names: drawing, probabilities, entropies, divergences, transforms.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.

>>> import retrograd as rg
>>> scale = rg.tensor(2.0, requires_grad=True)
>>> rg.distributions.Normal(0.0, scale).log_prob(rg.tensor(1.0)).backward()
>>> scale.grad
tensor(-0.3750)
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.distributions import constraint_registry, kl, utils
    from retrograd.distributions import constraints as constraints
    from retrograd.distributions import transforms as transforms
    from retrograd.distributions.bernoulli import Bernoulli
    from retrograd.distributions.beta import Beta
    from retrograd.distributions.binomial import Binomial
    from retrograd.distributions.categorical import Categorical
    from retrograd.distributions.cauchy import Cauchy
    from retrograd.distributions.chi2 import Chi2
    from retrograd.distributions.constraint_registry import biject_to, transform_to
    from retrograd.distributions.continuous_bernoulli import ContinuousBernoulli
    from retrograd.distributions.dirichlet import Dirichlet
    from retrograd.distributions.distribution import Distribution
    from retrograd.distributions.exp_family import ExponentialFamily
    from retrograd.distributions.exponential import Exponential
    from retrograd.distributions.fishersnedecor import FisherSnedecor
    from retrograd.distributions.gamma import Gamma
    from retrograd.distributions.generalized_pareto import GeneralizedPareto
    from retrograd.distributions.geometric import Geometric
    from retrograd.distributions.gumbel import Gumbel
    from retrograd.distributions.half_cauchy import HalfCauchy
    from retrograd.distributions.half_normal import HalfNormal
    from retrograd.distributions.independent import Independent
    from retrograd.distributions.inverse_gamma import InverseGamma
    from retrograd.distributions.kl import kl_divergence, register_kl
    from retrograd.distributions.kumaraswamy import Kumaraswamy
    from retrograd.distributions.laplace import Laplace
    from retrograd.distributions.lkj_cholesky import LKJCholesky
    from retrograd.distributions.log_normal import LogNormal
    from retrograd.distributions.logistic_normal import LogisticNormal
    from retrograd.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
    from retrograd.distributions.mixture_same_family import MixtureSameFamily
    from retrograd.distributions.multinomial import Multinomial
    from retrograd.distributions.multivariate_normal import MultivariateNormal
    from retrograd.distributions.negative_binomial import NegativeBinomial
    from retrograd.distributions.normal import Normal
    from retrograd.distributions.one_hot_categorical import (
        OneHotCategorical,
        OneHotCategoricalStraightThrough,
    )
    from retrograd.distributions.pareto import Pareto
    from retrograd.distributions.poisson import Poisson
    from retrograd.distributions.relaxed_bernoulli import RelaxedBernoulli
    from retrograd.distributions.relaxed_categorical import RelaxedOneHotCategorical
    from retrograd.distributions.studentT import StudentT
    from retrograd.distributions.transformed_distribution import TransformedDistribution
    from retrograd.distributions.transforms import (
        AbsTransform,
        AffineTransform,
        CatTransform,
        ComposeTransform,
        CorrCholeskyTransform,
        CumulativeDistributionTransform,
        ExpTransform,
        IndependentTransform,
        LowerCholeskyTransform,
        PositiveDefiniteTransform,
        PowerTransform,
        ReshapeTransform,
        SigmoidTransform,
        SoftmaxTransform,
        SoftplusTransform,
        StackTransform,
        StickBreakingTransform,
        TanhTransform,
        Transform,
        identity_transform,
    )
    from retrograd.distributions.uniform import Uniform
    from retrograd.distributions.von_mises import VonMises
    from retrograd.distributions.weibull import Weibull
    from retrograd.distributions.wishart import Wishart
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.distributions.bernoulli": "bernoulli= Bernoulli",
            "retrograd.distributions.beta": "beta= Beta",
            "retrograd.distributions.binomial": "binomial= Binomial",
            "retrograd.distributions.categorical": "categorical= Categorical",
            "retrograd.distributions.cauchy": "cauchy= Cauchy",
            "retrograd.distributions.chi2": "chi2= Chi2",
            "retrograd.distributions.constraint_registry": "constraint_registry= biject_to transform_to",
            "retrograd.distributions.constraints": "constraints=",
            "retrograd.distributions.continuous_bernoulli": "continuous_bernoulli= ContinuousBernoulli",
            "retrograd.distributions.dirichlet": "dirichlet= Dirichlet",
            "retrograd.distributions.distribution": "distribution= Distribution",
            "retrograd.distributions.exp_family": "exp_family= ExponentialFamily",
            "retrograd.distributions.exponential": "exponential= Exponential",
            "retrograd.distributions.fishersnedecor": "fishersnedecor= FisherSnedecor",
            "retrograd.distributions.gamma": "gamma= Gamma",
            "retrograd.distributions.generalized_pareto": "generalized_pareto= GeneralizedPareto",
            "retrograd.distributions.geometric": "geometric= Geometric",
            "retrograd.distributions.gumbel": "gumbel= Gumbel",
            "retrograd.distributions.half_cauchy": "half_cauchy= HalfCauchy",
            "retrograd.distributions.half_normal": "half_normal= HalfNormal",
            "retrograd.distributions.independent": "independent= Independent",
            "retrograd.distributions.inverse_gamma": "inverse_gamma= InverseGamma",
            "retrograd.distributions.kl": "kl= kl_divergence register_kl",
            "retrograd.distributions.kumaraswamy": "kumaraswamy= Kumaraswamy",
            "retrograd.distributions.laplace": "laplace= Laplace",
            "retrograd.distributions.lkj_cholesky": "lkj_cholesky= LKJCholesky",
            "retrograd.distributions.log_normal": "log_normal= LogNormal",
            "retrograd.distributions.logistic_normal": "logistic_normal= LogisticNormal",
            "retrograd.distributions.lowrank_multivariate_normal": (
                "lowrank_multivariate_normal= LowRankMultivariateNormal"
            ),
            "retrograd.distributions.mixture_same_family": "mixture_same_family= MixtureSameFamily",
            "retrograd.distributions.multinomial": "multinomial= Multinomial",
            "retrograd.distributions.multivariate_normal": "multivariate_normal= MultivariateNormal",
            "retrograd.distributions.negative_binomial": "negative_binomial= NegativeBinomial",
            "retrograd.distributions.normal": "normal= Normal",
            "retrograd.distributions.one_hot_categorical": (
                "one_hot_categorical= OneHotCategorical OneHotCategoricalStraightThrough"
            ),
            "retrograd.distributions.pareto": "pareto= Pareto",
            "retrograd.distributions.poisson": "poisson= Poisson",
            "retrograd.distributions.relaxed_bernoulli": "relaxed_bernoulli= RelaxedBernoulli",
            "retrograd.distributions.relaxed_categorical": "relaxed_categorical= RelaxedOneHotCategorical",
            "retrograd.distributions.studentT": "studentT= StudentT",
            "retrograd.distributions.transformed_distribution": "transformed_distribution= TransformedDistribution",
            "retrograd.distributions.transforms": (
                "transforms= AbsTransform AffineTransform CatTransform ComposeTransform "
                "CorrCholeskyTransform CumulativeDistributionTransform ExpTransform "
                "IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform "
                "PowerTransform ReshapeTransform SigmoidTransform SoftmaxTransform "
                "SoftplusTransform StackTransform StickBreakingTransform TanhTransform "
                "Transform identity_transform"
            ),
            "retrograd.distributions.uniform": "uniform= Uniform",
            "retrograd.distributions.utils": "utils=",
            "retrograd.distributions.von_mises": "von_mises= VonMises",
            "retrograd.distributions.weibull": "weibull= Weibull",
            "retrograd.distributions.wishart": "wishart= Wishart",
        },
    )

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraint_registry",
    "identity_transform",
    "kl",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "utils",
]
