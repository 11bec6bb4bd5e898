"""Random numbers inside of vmap, by tensors that samples share and by those that each has for itself."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program

IN_PLACE = {
    "uniform_": lambda x: x.uniform_(),
    "normal_": lambda x: x.normal_(),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "random_": lambda x: x.random_(),
    "exponential_": lambda x: x.exponential_(),
    "cauchy_": lambda x: x.cauchy_(),
    "geometric_": lambda x: x.geometric_(0.5),
    "log_normal_": lambda x: x.log_normal_(),
}


def of_a_new_tensor(torch: Any) -> dict[str, Any]:
    functional = torch.nn.functional
    return {
        "rand_like": torch.rand_like,
        "randn_like": torch.randn_like,
        "randint_like": lambda x: torch.randint_like(x, 1000),
        "dropout": lambda x: functional.dropout(x, 0.5),
        "dropout2d": lambda x: functional.dropout2d(x.reshape(1, 40, 1, 1), 0.5),
        "feature_dropout": lambda x: torch.feature_dropout(x.reshape(1, 40, 1), 0.5, True),
        "native_dropout": lambda x: torch.native_dropout(x, 0.5, True)[0],
        "bernoulli": torch.bernoulli,
        "normal": lambda x: torch.normal(x, 1.0),
    }


def outcome(torch: Any, draw: Any, randomness: str, shared: bool) -> Any:
    """Whether two samples get the same numbers, of 40, or the error."""
    x = torch.full((40,) if shared else (2, 40), 0.5)

    def of_sample(_: Any, given: Any) -> Any:
        return draw(given)

    def run() -> bool:
        found = torch.vmap(of_sample, (0, None if shared else 0), randomness=randomness)(torch.zeros(2), x)
        return bool((found[0] == found[1]).all())

    return attempt(".", run)


def every_way(torch: Any, draws: dict[str, Any]) -> Any:
    return {
        f"{name}, {randomness}, {'shared' if shared else 'of each'}": outcome(torch, draw, randomness, shared)
        for name, draw in draws.items()
        for randomness in ("error", "same", "different")
        for shared in (True, False)
    }


@program()
def in_place(torch: Any) -> Any:
    return every_way(torch, IN_PLACE)


@program()
def out_of_place(torch: Any) -> Any:
    return every_way(torch, of_a_new_tensor(torch))


@program()
def numbers_of_each_sample_are_not_written_into_a_tensor_that_all_share(torch: Any) -> Any:
    def draw(_: Any) -> Any:
        return torch.zeros(3).uniform_()

    return attempt(
        "different inplace randomness on an unbatched tensor",
        lambda: torch.vmap(draw, randomness="different")(torch.ones(2)),
    )


@program()
def dropout_of_a_shared_tensor_keeps_its_gradient(torch: Any) -> Any:
    x = torch.ones(50, requires_grad=True)
    y = torch.vmap(lambda w: torch.nn.functional.dropout(x, 0.5) * w, randomness="different")(torch.ones(3))
    y.sum().backward()
    return bool((x.grad == (y != 0).sum(0) * 2).all()), y.shape
