"""The statements of random programs that draw random numbers, from the default generator and others, and move its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.native.hostile.calls import words

if TYPE_CHECKING:
    from .grow import Grower

DRAWS = words("""
    normal_() normal_(1,2) uniform_() uniform_(-1,1) bernoulli_(0.3) random_(5) exponential_() geometric_(0.4) log_normal_()
    cauchy_() random_() bernoulli_()
""")


def draw(g: Grower) -> str:
    """Random numbers: both libraries have been given the same seed."""
    x = g.tensor(*g.pick(("float",), ("smooth",), ("grad",), ()))
    if g.chance(0.25):
        y = g.tensor("written", g.pick("plain", "smooth", "node"))
        return f"{y}.{g.rng.choice(DRAWS)}"
    if g.chance(0.2):
        return generator(g, x)
    f, size = "torch.nn.functional.", g.pick("()", "(3,)", "(2, 3)", "(17,)", "(0, 3)", "(3, 2, 2)")
    dtype = g.pick("float32", "float32", "float64", "float16", "complex64")
    return f"{g.new()} = " + g.pick(
        f"torch.rand({size})", f"torch.randn({size})", f"torch.rand({size}, dtype=torch.{dtype}, requires_grad=True)",
        f"torch.randn({size}, dtype=torch.{dtype})", f"torch.rand_like({x})", f"torch.randn_like({x})", f"torch.randint(5, {size})",
        f"torch.randint_like({x}, 1, 4)", f"torch.randperm({g.pick('0', '1', '5', '30')})", f"torch.bernoulli({x}.sigmoid())",
        f"torch.bernoulli({x})", f"torch.normal({x}, 2.0)", f"torch.normal(0.5, {x}.abs())", f"torch.normal({x}, {x}.abs())",
        f"torch.multinomial({x}.abs(), 2, replacement=True)", f"torch.multinomial({x}.softmax(-1), 1)", f"torch.poisson({x}.abs())",
        f"{f}dropout({x}, 0.5)", f"{f}dropout({x}, 0.25)", f"{f}dropout({x}, 0.5, inplace=True)", f"{f}alpha_dropout({x}, 0.5, training=True)",
        f"{f}rrelu({x}, training=True)", f"{f}gumbel_softmax({x})", f"{f}dropout1d({x}, 0.5)", f"torch.nn.Dropout(0.5)({x}.detach())",
        f"torch.native_dropout({x}, 0.5, True)[0] if {x}.numel() else {x}", f"torch.nn.Linear(2, 3)({x}[..., :2])", f"torch.empty_like({x}).normal_()",
        f"torch.distributions.Normal({x}, 1.0).rsample()", f"checkpoint(lambda a: {f}dropout(a, 0.5), {x}, use_reentrant={g.pick('False', 'True')})",
        f"torch.func.vmap(lambda a: {f}dropout(a, 0.5), randomness='{g.pick('same', 'different')}')({x})",
        f"torch.func.vmap(lambda a: a * torch.randn_like(a), randomness='{g.pick('same', 'different')}')({x})",
    )  # fmt: skip


def generator(g: Grower, x: str) -> str:
    """Seeds, states, and generators of one's own."""
    own = f"torch.Generator().manual_seed({g.pick('0', '7', '123456789')})"
    return g.pick(
        f"torch.manual_seed({g.pick('0', '1', '-1', '2**40')})", f"{g.new()} = torch.get_rng_state()", "torch.set_rng_state(torch.get_rng_state())",
        f"{g.new()} = torch.get_rng_state(); log.append(torch.rand(2).tolist()); torch.set_rng_state(t{g.count}); log.append(torch.rand(2).tolist())",
        "log.append(torch.initial_seed())", f"{g.new()} = torch.rand(2, 3, generator={own})", f"{g.new()} = torch.randperm(5, generator={own})",
        f"{g.new()} = {x}.detach().clone().normal_(generator={own})", f"{g.new()} = torch.bernoulli({x}.sigmoid(), generator={own})",
        "with torch.random.fork_rng():\n    log.append(torch.rand(2).tolist())", "log.append(torch.randn(1).item())",
        "torch.set_rng_state(torch.Generator().manual_seed(5).get_state())",
    )  # fmt: skip
