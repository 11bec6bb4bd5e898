"""What has no row of its own in the op table, and why."""

from __future__ import annotations


def because(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


EXEMPT_OPS: dict[str, str] = {
    **because(
        "made only by forward mode, of addr and addbmm", "products.BmmSumBackward0 products.GerBackward0"
    ),
    **because(
        "has no derivative, as in PyTorch; see test_without_derivative.py", "arithmetic.FloorDivideBackward0"
    ),
    **because(
        "draws at random, so that its gradient is 0; see test_without_derivative.py",
        """
        random.BernoulliBackward0 random.BernoulliBackward1 random.BernoulliBackward2 random.ExponentialBackward0
        random.NormalBackward0 random.NormalBackward1 random.NormalBackward2 random.NormalBackward3
        random.PoissonBackward0 random.RandomBackward0 random.UniformBackward0
    """,
    ),
}

EXEMPT_FUNCTIONS: dict[str, str] = {
    **because(
        "its result has no gradient",
        """
        all allclose any argmax argmin argwhere bitwise_and bitwise_left_shift bitwise_not bitwise_or
        bitwise_right_shift bitwise_xor broadcast_shapes count_nonzero eq equal ge gt is_complex is_conj
        is_floating_point is_inference is_nonzero is_same_size is_tensor isclose isfinite isinf isnan isreal le
        logical_and logical_not logical_or logical_xor lt ne nonzero numel tril_indices triu_indices
        greater greater_equal less less_equal not_equal
    """,
    ),
    **because(
        "makes a tensor that depends on no other",
        """
        arange as_tensor asarray bernoulli empty empty_like eye from_numpy full full_like linspace logspace multinomial
        normal ones ones_like poisson rand rand_like randint randint_like randn randn_like randperm scalar_tensor
        tensor zeros zeros_like Tensor.new_empty Tensor.new_full Tensor.new_ones Tensor.new_tensor Tensor.new_zeros
    """,
    ),
    **because(
        "the random generator, not an operation", "get_rng_state initial_seed manual_seed seed set_rng_state"
    ),
    **because("gives its argument back", "cpu resolve_conj resolve_neg"),
    **because("a conversion like Tensor.to", "type"),
    **because("another name of a function with a row", "concatenate row_stack"),
    **because("has no derivative, as in PyTorch", "floor_divide"),
    **because(
        "fills with random numbers",
        """
        Tensor.bernoulli_ Tensor.exponential_ Tensor.normal_ Tensor.random_ Tensor.uniform_
    """,
    ),
}
