"""The same seed gives PyTorch's random numbers, and leaves the generator where PyTorch leaves it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg

# Logarithms, cosines and products of matrices may round otherwise; a draw that differs differs in all digits.
CLOSE = {"rtol": 2e-5, "atol": 2e-6}

DRAWS = """
torch.rand(5)
torch.rand(3,100)
torch.rand(5,dtype=torch.float64)
torch.rand(5,dtype=torch.float16)
torch.rand(50,dtype=torch.bfloat16)
torch.rand(5,dtype=torch.complex64)
torch.randn(1)
torch.randn(5)
torch.randn(15)
torch.randn(16)
torch.randn(17)
torch.randn(100)
torch.randn(1000)
torch.randn(20,dtype=torch.float64)
torch.randn(5,dtype=torch.float64)
torch.randn(20,dtype=torch.complex64)
torch.randn(20,dtype=torch.float16)
torch.randn(37,dtype=torch.bfloat16)
torch.randn(3), torch.randn(3)
torch.randint(10,(5,))
torch.randint(-5,10,(50,))
torch.randint(2**40,(50,))
torch.randint(0,2**28,(5,))
torch.randint(0,255,(50,),dtype=torch.uint8)
torch.randperm(10)
torch.randperm(1000)
torch.randperm(10,dtype=torch.int32)
torch.bernoulli(torch.full((20,),0.3))
torch.bernoulli(torch.full((20,),0.3,dtype=torch.float64))
torch.empty(20).bernoulli_(0.4)
torch.empty(20).bernoulli_(torch.full((20,),0.4))
torch.multinomial(torch.tensor([1.,2,3,4]),2)
torch.multinomial(torch.tensor([1.,2,3,4]),10,replacement=True)
torch.multinomial(torch.ones(3,4),3)
torch.multinomial(torch.ones(3,4),30,True)
torch.normal(0.,1.,(5,))
torch.normal(torch.zeros(20),torch.ones(20)*2)
torch.normal(torch.zeros(20),2.)
torch.normal(1.,torch.ones(20))
torch.empty(20).normal_(2,3)
torch.empty(20).uniform_(-2,3)
torch.empty(20).exponential_(2)
torch.empty(20).cauchy_()
torch.empty(20).cauchy_(1,2)
torch.empty(20).log_normal_()
torch.empty(20).geometric_(0.3)
torch.empty(20).random_()
torch.empty(20).random_(100)
torch.empty(20,dtype=torch.int64).random_()
torch.empty(20,dtype=torch.int32).random_()
torch.empty(20,dtype=torch.uint8).random_()
torch.empty(20,dtype=torch.bool).random_()
torch.empty(20,dtype=torch.int64).random_(5,50)
torch.nn.functional.dropout(torch.ones(50),0.3)
torch.nn.functional.dropout(torch.ones(50,dtype=torch.float64),0.3)
torch.nn.functional.dropout(torch.ones(4,6).t(),0.3)
torch.nn.functional.alpha_dropout(torch.ones(50),0.3,training=True)
torch.nn.functional.feature_alpha_dropout(torch.ones(5,4,3),0.3,training=True)
torch.nn.functional.dropout1d(torch.ones(2,5,3),0.3)
torch.nn.functional.dropout2d(torch.ones(2,5,3,2),0.3)
torch.nn.functional.dropout3d(torch.ones(2,5,3,2,2),0.3)
torch.nn.functional.rrelu(torch.linspace(-2,2,20),training=True)
torch.nn.functional.gumbel_softmax(torch.zeros(3,4))
torch.nn.functional.gumbel_softmax(torch.zeros(3,4),hard=True)
torch.nn.functional.fractional_max_pool2d(torch.arange(100.).reshape(1,1,10,10),2,output_size=4)
torch.nn.functional.scaled_dot_product_attention(torch.ones(1,2,4,8),torch.ones(1,2,4,8),torch.ones(1,2,4,8),dropout_p=0.5)
torch.nn.Linear(3,4).weight
torch.nn.Linear(3,4).bias
torch.nn.Conv2d(3,4,3).weight
torch.nn.LSTM(3,4,2).weight_hh_l1
torch.nn.Embedding(30,4).weight
torch.nn.MultiheadAttention(8,2).in_proj_weight
torch.nn.TransformerEncoderLayer(8,2,16).linear2.weight
torch.nn.Bilinear(2,3,4).weight
torch.nn.PReLU().weight
torch.nn.Transformer(8,2,1,1,16,batch_first=True).decoder.layers[0].linear1.weight
torch.nn.init.xavier_normal_(torch.empty(3,4))
torch.nn.init.xavier_uniform_(torch.empty(3,4))
torch.nn.init.kaiming_normal_(torch.empty(30,4))
torch.nn.init.kaiming_uniform_(torch.empty(3,4))
torch.nn.init.orthogonal_(torch.empty(5,4))
torch.nn.init.sparse_(torch.empty(10,4),0.3)
torch.nn.init.trunc_normal_(torch.empty(30,4))
torch.nn.init.trunc_normal_(torch.empty(30,4),0,1,-.1,.1)
torch.distributions.Normal(0.,1.).sample((5,))
torch.distributions.Normal(torch.zeros(3),torch.ones(3)).rsample((5,))
torch.distributions.Uniform(0.,2.).sample((5,))
torch.distributions.Bernoulli(torch.full((5,),0.3)).sample((5,))
torch.distributions.Categorical(torch.full((5,),0.2)).sample((5,))
torch.distributions.Beta(torch.tensor(2.),torch.tensor(3.)).sample((5,))
torch.distributions.Gamma(torch.tensor(2.),torch.tensor(3.)).sample((5,))
torch.distributions.Gamma(torch.tensor(.2),torch.tensor(3.)).sample((5,))
torch.distributions.Dirichlet(torch.tensor([2.,3.,.5])).sample((5,))
torch.distributions.Exponential(torch.tensor(2.)).sample((5,))
torch.distributions.Laplace(0.,1.).sample((5,))
torch.distributions.Gumbel(0.,1.).sample((5,))
torch.distributions.Cauchy(0.,1.).sample((5,))
torch.distributions.HalfNormal(1.).sample((5,))
torch.distributions.HalfCauchy(1.).sample((5,))
torch.distributions.LogNormal(0.,1.).sample((5,))
torch.distributions.Poisson(torch.tensor(3.)).sample((5,))
torch.distributions.Poisson(torch.tensor(30.)).sample((5,))
torch.distributions.Binomial(10,torch.tensor(.3)).sample((5,))
torch.distributions.Binomial(1000,torch.tensor(.3)).sample((5,))
torch.distributions.NegativeBinomial(10,torch.tensor(.3)).sample((5,))
torch.distributions.Geometric(torch.tensor(.3)).sample((5,))
torch.distributions.StudentT(torch.tensor(3.)).sample((5,))
torch.distributions.Chi2(torch.tensor(3.)).sample((5,))
torch.distributions.FisherSnedecor(torch.tensor(3.),torch.tensor(4.)).sample((5,))
torch.distributions.Weibull(torch.tensor(3.),torch.tensor(4.)).sample((5,))
torch.distributions.Pareto(torch.tensor(3.),torch.tensor(4.)).sample((5,))
torch.distributions.VonMises(torch.tensor(3.),torch.tensor(4.)).sample((5,))
torch.distributions.Kumaraswamy(torch.tensor(3.),torch.tensor(4.)).sample((5,))
torch.distributions.MultivariateNormal(torch.zeros(3),torch.eye(3)).sample((5,))
torch.distributions.LowRankMultivariateNormal(torch.zeros(3),torch.ones(3,1),torch.ones(3)).sample((5,))
torch.distributions.LKJCholesky(3).sample((2,))
torch.distributions.Multinomial(10,torch.ones(4)).sample()
torch.distributions.OneHotCategorical(torch.ones(4)).sample((3,))
torch.distributions.RelaxedBernoulli(torch.tensor(1.),torch.tensor(.3)).sample((3,))
torch.distributions.RelaxedOneHotCategorical(torch.tensor(1.),torch.ones(3)).sample((3,))
torch.distributions.ContinuousBernoulli(torch.tensor(.3)).sample((3,))
torch.distributions.LogisticNormal(torch.zeros(3),torch.ones(3)).sample((3,))
torch.distributions.InverseGamma(torch.tensor(3.),torch.tensor(2.)).sample((3,))
torch.distributions.GeneralizedPareto(torch.tensor(3.),torch.tensor(2.),torch.tensor(.2)).sample((3,))
torch.poisson(torch.full((20,),3.))
torch.poisson(torch.full((20,),30.))
torch.binomial(torch.full((20,),10.),torch.full((20,),.3))
torch.binomial(torch.full((20,),1000.),torch.full((20,),.3))
torch._standard_gamma(torch.full((20,),3.))
torch._standard_gamma(torch.full((20,),.3,dtype=torch.float64))
torch._sample_dirichlet(torch.full((5,3),.3))
torch.rand_like(torch.ones(3,4))
torch.randn_like(torch.ones(3,40))
torch.randn_like(torch.ones(30,4).t())
torch.rand_like(torch.ones(30,4).t())
torch.randint_like(torch.ones(3,4),10)
torch.get_rng_state()
torch.rand(7).new_empty(0), torch.get_rng_state()
torch.randn(7).new_empty(0), torch.get_rng_state()
torch.Generator().get_state()
torch.randn(5,generator=torch.Generator().manual_seed(3))
torch.rand(5,generator=torch.Generator())
torch.pca_lowrank(torch.arange(50.).reshape(10,5))[1]
torch.empty(10,10).t().normal_()
torch.empty(10,10)[:,::2].normal_()
torch.empty(10,10)[:,::2].uniform_()
torch.utils.data.random_split(range(10),[3,7])[0].indices
list(torch.utils.data.RandomSampler(range(10)))
list(torch.utils.data.WeightedRandomSampler([.1,.2,.7],5))
torch.nn.RNN(3,4,2,dropout=.5)(torch.ones(5,2,3))[0]
torch.nn.LSTM(3,4,2,dropout=.5)(torch.ones(5,2,3))[0]
torch.nn.TransformerEncoderLayer(8,2,16)(torch.ones(3,2,8))
torch.nn.MultiheadAttention(8,2,dropout=.3)(torch.ones(3,2,8),torch.ones(3,2,8),torch.ones(3,2,8))[0]
torch.nn.functional.dropout(torch.ones(5,5).to(memory_format=torch.contiguous_format)[:, :3],.4)
torch.nn.Dropout(0.2)(torch.ones(3,5))
torch.dropout(torch.ones(30), .3, True)
torch.native_dropout(torch.ones(30), .3, True)[0]
torch.ones(30).to(torch.float16).normal_()
torch.rand(1000003).sum(dtype=torch.float64)
torch.randn(1000003).double().sum()
torch.testing.make_tensor((5,),device="cpu",dtype=torch.float32)
torch.testing.make_tensor((5,),device="cpu",dtype=torch.int64)
torch.multinomial(torch.rand(5,4).t(),2)
torch.multinomial(torch.rand(6,8)[:,::2].t(),2)
torch.rand(3,4,5).transpose(0,2).cauchy_()
torch.rand(3,4,5).transpose(0,2)[::2].cauchy_(1,3)
torch.rand(3,4,5).transpose(0,2).log_normal_()
torch.rand(3,4,5).transpose(0,2).geometric_(.2)
torch.rand(3,4,5).transpose(0,2).exponential_()
torch.rand(4,5).t().bernoulli_(torch.full((5,4),.4))
torch.zeros(9,dtype=torch.int64).random_(-2**63,None)
torch.empty(20,dtype=torch.complex128).normal_(1,2)
torch.normal(1.,2.,(3,),dtype=torch.complex64)
torch.testing.make_tensor((5,),device="cpu",dtype=torch.complex64)
torch.testing.make_tensor((5,6),device="cpu",dtype=torch.float16,noncontiguous=True)
""".strip().splitlines()

# Of bfloat16, which does not lie in rows.
HALVES = """
torch.nn.functional.dropout(X.transpose(0,2),.3)
torch.nn.functional.alpha_dropout(X.transpose(0,2),.3,training=True)
torch.nn.functional.rrelu(X-.5,training=True)
torch.nn.functional.rrelu((X-.5).transpose(0,1),training=True)
torch.native_dropout(X.transpose(0,2),.4,True)
torch.rand_like(X.transpose(0,2))
torch.randn_like(X.transpose(0,2))
torch.randint_like(X.transpose(0,1),100)
X.transpose(0,2).normal_()
X[:,::2].normal_(1,2)
X.transpose(0,2).random_(7)
X.transpose(0,2).bernoulli_(.8)
""".strip().splitlines()


def arrays(found: Any) -> list[Any]:
    """The numbers of tensors, one after the other; bfloat16, which NumPy may not have, as float32."""
    if isinstance(found, tuple | list):
        return [array for part in found for array in arrays(part)]
    if not hasattr(found, "detach"):
        return [np.asarray(found)]
    found = found.detach()
    return [(found.float() if str(found.dtype).endswith("float16") else found).numpy()]


@pytest.mark.parametrize("expression", DRAWS)
def test_the_same_seed_gives_the_same_numbers(expression: str, torch: Any) -> None:
    found = []
    for lib in (torch, rg):
        lib.manual_seed(7)
        drawn = eval(expression, {"torch": lib})
        found.append([*arrays(drawn), lib.rand(1).numpy()])
    for theirs, ours in zip(*found, strict=True):
        assert (theirs.shape, theirs.dtype) == (ours.shape, ours.dtype)
        np.testing.assert_allclose(ours, theirs, **CLOSE)


@pytest.mark.parametrize("expression", HALVES)
def test_the_same_seed_gives_the_same_halves(expression: str, torch: Any) -> None:
    pytest.importorskip("ml_dtypes")
    found = []
    for lib in (torch, rg):
        lib.manual_seed(7)
        x = lib.rand(3, 4, 5, dtype=lib.bfloat16)
        drawn = eval(expression, {"torch": lib, "X": x})
        found.append([*arrays(drawn), *arrays(x), lib.rand(1).numpy()])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("dimension", [1, 2, 50])
@pytest.mark.parametrize("scramble", [False, True])
def test_points_of_sobol(dimension: int, scramble: bool, seed: int | None, torch: Any) -> None:
    pytest.importorskip("scipy")
    found = []
    for lib in (torch, rg):
        lib.manual_seed(7)
        engine = lib.quasirandom.SobolEngine(dimension, scramble, seed)
        seen = [engine.draw(6), engine.draw(1), engine.fast_forward(5).draw(2, dtype=lib.float64)]
        seen += [engine.reset().draw(9), engine.reset().draw_base2(3), engine.draw_base2(3), lib.rand(1)]
        found.append([t.numpy() for t in seen])
    for theirs, ours in zip(*found, strict=True):
        assert theirs.dtype == ours.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", [True, 1.0, "3"])
def test_a_generator_is_seeded_by_an_integer(seed: Any, torch: Any) -> None:
    for lib in (torch, rg):
        with pytest.raises(RuntimeError, match="manual_seed expected a long, but got"):
            lib.Generator().manual_seed(seed)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gamma_numbers_of_halves(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = rg.full((200,), 3.0, dtype=getattr(rg, dtype))
    drawn = rg._standard_gamma(x)
    assert drawn.dtype == x.dtype
    assert 2 < drawn.float().mean() < 4
    parts = rg._sample_dirichlet(x.reshape(50, 4))
    assert float((parts.float().sum(1) - 1).abs().max()) < 0.05


@pytest.mark.parametrize("drawn", [0, 1, 3, 623, 624, 625])
def test_states_go_from_one_library_to_the_other(drawn: int, torch: Any) -> None:
    for one, other in ((torch, rg), (rg, torch)):
        one.manual_seed(drawn)
        one.rand(drawn)
        one.randn(3)  # an odd number: one more normal number waits
        other.set_rng_state(other.tensor(one.get_rng_state().tolist(), dtype=other.uint8))
        for draw in ("randn(3)", "rand(700)", "randn(17)"):
            np.testing.assert_allclose(
                *(eval(f"lib.{draw}", {"lib": lib}).numpy() for lib in (one, other)), **CLOSE
            )
        assert one.initial_seed() == other.initial_seed()


def test_a_training_run_gives_the_same_losses(torch: Any) -> None:
    """Initial weights, order of batches, dropout and noise are all drawn."""
    losses: list[list[float]] = []
    for lib in (torch, rg):
        losses.append([])
        lib.manual_seed(3)
        net = lib.nn.Sequential(
            lib.nn.Linear(4, 32), lib.nn.ReLU(), lib.nn.Dropout(0.2), lib.nn.Linear(32, 1)
        )
        x = lib.randn(64, 4)
        y = x.sum(1, keepdim=True) + 0.1 * lib.randn(64, 1)
        loader = lib.utils.data.DataLoader(lib.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True)
        optimizer = lib.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(3):
            for inputs, wanted in loader:
                optimizer.zero_grad()
                loss = lib.nn.functional.mse_loss(net(inputs), wanted)
                loss.backward()
                optimizer.step()
                losses[-1].append(loss.item())
    np.testing.assert_allclose(*losses, rtol=1e-4)


UNUSUAL = ["float('nan')", "float('inf')", "-1.0", "0.0", "1e300", "5e-324"]


@pytest.mark.parametrize("number", UNUSUAL)
def test_unusual_parameters_end(number: str) -> None:
    x = rg.full((20,), eval(number), dtype=rg.float64)
    half = rg.full((20,), 0.5, dtype=rg.float64)
    for draw in (
        lambda: rg._standard_gamma(x),
        lambda: rg.binomial(x, half),
        lambda: rg.binomial(half * 40, x),
    ):
        assert draw().shape == (20,)
    if x[0] >= 0:
        assert rg.poisson(x).shape == (20,)
    else:
        with pytest.raises(RuntimeError, match="rate to be non-negative"):
            rg.poisson(x)
