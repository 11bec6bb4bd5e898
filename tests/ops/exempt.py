"""What has no row of its own in the op table, and why."""

from __future__ import annotations


def because(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


EXEMPT_OPS: dict[str, str] = {
    **because("made only by forward mode, of addr and addbmm", "linalg.addmm.BmmSum linalg.addmm.Ger"),
    **because(
        "has no derivative, as in PyTorch; see test_without_derivative.py",
        "elementwise.arithmetic.FloorDivide special.gamma.ZetaByNumber elementwise.binary.Heaviside",
    ),
    **because(
        "draws at random, so that its gradient is 0; see test_without_derivative.py",
        """
        random.sampling.Bernoulli random.sampling.BernoulliBackward1 inplace.write.BernoulliBackward2
        random.fill.Exponential random.fill.Normal random.sampling.NormalBoth inplace.write.NormalBackward1
        inplace.write.NormalBackward2 random.sampling.Poisson random.fill.Random inplace.write.RandomBackward1
        inplace.write.RandomBackward2 random.fill.Uniform random.fill.Cauchy random.fill.Geometric
        random.fill.LogNormal
    """,
    ),
}

EXEMPT_OPS |= because(
    "stands for conj or _neg_view, which have rows, inside of vmap",
    "elementwise.conjugate.ConjCopy elementwise.conjugate.NegCopy",
)

EXEMPT_OPS |= because("made on GPUs alone; see tests/gpu/test_rows.py", "nn.layer_norm.FusedRmsNorm")

EXEMPT_OPS |= because(
    "made where there is a GPU; see tests/devices/test_accelerator.py", "tensor.pinned_memory.Pin"
)

EXEMPT_OPS |= because("takes no double precision; see test_grouped.py", "linalg.grouped.GroupedMm")

EXEMPT_OPS |= because("an old name of reshape, which has rows", "shape.reshape.ResizeBackward")

EXEMPT_OPS |= because(
    "refuses a derivative; see test_without_derivative.py",
    "random.sampling.BinomialDraw index.scatter_reduce.TwoZeros",
)

EXEMPT_OPS |= because(
    "draws at random, and moves with what it is drawn by; see tests/distributions/test_samples.py",
    """
    random.gamma_draws.DirichletGrad random.gamma_draws.SampleDirichlet random.gamma_draws.StandardGamma
    random.gamma_draws.StandardGammaGrad
    """,
)

EXEMPT_FUNCTIONS: dict[str, str] = {
    **because(
        "its result has no gradient",
        """
        all allclose any argmax argmin argwhere bitwise_and bitwise_left_shift bitwise_not bitwise_or
        bitwise_right_shift bitwise_xor broadcast_shapes count_nonzero eq equal ge gt is_complex is_conj
        is_floating_point is_inference is_nonzero is_same_size is_tensor isclose isfinite isinf isnan isreal le
        hash_tensor logical_and logical_not logical_or logical_xor lt ne nonzero numel tril_indices triu_indices
        nn.functional.one_hot greater greater_equal less less_equal not_equal gcd isneginf isposinf lcm signbit
    """,
    ),
    **because(
        "makes a tensor that depends on no other",
        """
        arange as_tensor asarray bernoulli empty empty_like eye from_numpy full full_like linspace logspace multinomial
        normal ones ones_like poisson rand range rand_like randint randint_like randn randn_like randperm scalar_tensor
        tensor zeros zeros_like Tensor.new_empty Tensor.new_full Tensor.new_ones Tensor.new_tensor Tensor.new_zeros
    """,
    ),
    **because(
        "the random generator, not an operation", "get_rng_state initial_seed manual_seed seed set_rng_state"
    ),
    **because("scales rows of a table in place, without a gradient", "embedding_renorm_"),
    **because("gives its argument back, or a copy; see programs_conjugates.py", "resolve_conj resolve_neg"),
    **because("another name of conj, which has a row", "Tensor._conj"),
    **because("gives its argument back, or what Tensor.to makes of it", "Tensor.to_dense"),
    **because(
        "a conversion like Tensor.to",
        """
        Tensor.type Tensor.bool Tensor.byte Tensor.cdouble Tensor.cfloat Tensor.char Tensor.float Tensor.half Tensor.int
        Tensor.long Tensor.short
    """,
    ),
    **because(
        "gives a tensor other memory; no operation on its values", "Tensor.resize_ Tensor.set_ resize_as_"
    ),
    **because("another name of a function with a row", "concatenate row_stack"),
    **because("old names of reshape, which warn; see conformance", "Tensor.resize Tensor.resize_as"),
    **because("has no derivative, as in PyTorch", "floor_divide heaviside"),
    **because(
        "has no derivative, as in PyTorch; its values are in test_special.py",
        """
        special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1
        special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
        special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he
        special.laguerre_polynomial_l special.legendre_polynomial_p special.modified_bessel_i0
        special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1
        special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.shifted_chebyshev_polynomial_t
        special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
        special.shifted_chebyshev_polynomial_w special.spherical_bessel_j0
    """,
    ),
    **because(
        "fills with random numbers",
        """
        Tensor.bernoulli_ Tensor.exponential_ Tensor.normal_ Tensor.random_ Tensor.uniform_
    """,
    ),
}

EXEMPT_FUNCTIONS |= {
    **because(
        "its result has no gradient",
        "detach_copy detach get_device is_neg is_signed nonzero_static unravel_index",
    ),
    **because(
        "makes a tensor that depends on no other",
        """
        bartlett_window binomial blackman_window empty_permuted empty_strided fft.fftfreq fft.rfftfreq from_dlpack
        frombuffer hamming_window hann_window kaiser_window Tensor.new_empty_strided
    """,
    ),
    **because("fills with random numbers", "Tensor.cauchy_ Tensor.geometric_ Tensor.log_normal_"),
    **because(
        "NumPy's way to functions with rows; see test_numpy.py",
        "Tensor.__array_function__ Tensor.__array_ufunc__",
    ),
    **because(
        "looks at memory",
        "Tensor.__dlpack__ Tensor.__dlpack_device__ Tensor.dim_order Tensor.is_set_to Tensor.storage_type to_dlpack",
    ),
}

EXEMPT_FUNCTIONS |= because(
    "draws at random, or says how such a draw moves; see tests/distributions/test_samples.py",
    "_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad",
)
EXEMPT_OPS |= because("refuses a derivative; see test_matrices.py", "linalg.householder.Geqrf")
EXEMPT_FUNCTIONS |= because("its result has no gradient", "linalg.matrix_rank")
EXEMPT_FUNCTIONS |= because("has no derivative, as in PyTorch", "geqrf")
EXEMPT_FUNCTIONS |= because("an exception, not an operation", "linalg.LinAlgError")

EXEMPT_OPS |= because(
    "refuses a derivative; see programs_ops_sorting.py",
    """
    reduce.histogram.Bincount reduce.histogram.Histogram reduce.histogram.Histogramdd reduce.unique.UniqueConsecutive
    reduce.unique.UniqueDim
    """,
)
EXEMPT_FUNCTIONS |= because(
    "its result has no gradient",
    "argsort bucketize histc isin searchsorted _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo",
)
EXEMPT_FUNCTIONS |= because(
    "the method is tested, without the underscore",
    "_cast_Byte _cast_Char _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short",
)
EXEMPT_FUNCTIONS |= because(
    "refuses a derivative; see programs_ops_sorting.py",
    "bincount histogram histogramdd unique unique_consecutive",
)
EXEMPT_FUNCTIONS |= because(
    "a deprecated name of interpolate; see programs_ops_images.py",
    "nn.functional.upsample nn.functional.upsample_bilinear nn.functional.upsample_nearest",
)

EXEMPT_OPS |= because(
    "refuses a derivative; see programs_ops_polish.py", "linalg.ldl.LdlFactor linalg.ldl.LdlSolve"
)
EXEMPT_FUNCTIONS |= because(
    "refuses a derivative; see programs_ops_polish.py",
    "linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve",
)
EXEMPT_FUNCTIONS |= because(
    "writes what Python says, without a gradient; see programs_ops_polish.py",
    "Tensor.apply_ Tensor.map2_ Tensor.map_",
)
EXEMPT_FUNCTIONS |= because(
    "says something about memory or devices",
    """
    Tensor.const_data_ptr Tensor.cpu Tensor.cuda Tensor.is_ipu Tensor.is_maia Tensor.is_meta Tensor.is_mkldnn
    Tensor.is_mps Tensor.is_mtia Tensor.is_nested Tensor.is_pinned Tensor.is_quantized Tensor.is_shared
    Tensor.is_sparse_csr Tensor.is_vulkan Tensor.is_xla Tensor.is_xpu Tensor.layout Tensor.pin_memory
    Tensor.share_memory_ typename
    """,
)
EXEMPT_FUNCTIONS |= because("gives a dtype", "promote_types result_type")
EXEMPT_FUNCTIONS |= because("a conversion; see test_half_precision.py", "Tensor.bfloat16")
EXEMPT_FUNCTIONS |= because(
    "takes no tensor, or no part of one", "OutOfMemoryError from_file is_distributed thread_safe_generator"
)
EXEMPT_FUNCTIONS |= because(
    "a switch of the whole process",
    """
    are_deterministic_algorithms_enabled get_default_device get_default_dtype get_deterministic_debug_mode
    get_float32_matmul_precision is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled
    set_default_device set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision
    set_flush_denormal set_warn_always use_deterministic_algorithms
    """,
)

EXEMPT_FUNCTIONS |= because(
    "an old name of what makes or describes memory; see programs_tools.py of the conformance suite",
    "is_storage Tensor._typed_storage Tensor.new Tensor.storage Tensor.untyped_storage Tensor.volatile",
)

EXEMPT_FUNCTIONS |= because(
    "asks or tells, and computes nothing; see tests/conformance/programs_names_of_tools.py",
    """
    _assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all
    _check_tensor_all_with _check_type _check_value _check_with Tensor._backward_hooks
    Tensor._post_accumulate_grad_hooks Tensor.name
    """,
)
EXEMPT_FUNCTIONS |= because(
    "hands on what there is; see programs_engine_paths.py of the conformance suite, and tests/nn/test_conversion.py",
    "Tensor._grad_fn Tensor._view_func Tensor._view_func_unsafe Tensor.module_load",
)
EXEMPT_FUNCTIONS |= because(
    "an old name of an operator, which has rows",
    "Tensor.__div__ Tensor.__idiv__ Tensor.__rdiv__ Tensor.__long__ Tensor.__nonzero__",
)

EXEMPT_FUNCTIONS |= because(
    "takes no double precision; see test_grouped.py", "nn.functional.grouped_mm _grouped_mm"
)
EXEMPT_FUNCTIONS |= because(
    "the same tensor, of another class; see tests/core/test_conversions.py", "Tensor.as_subclass"
)
EXEMPT_FUNCTIONS |= because(
    "what mixed precision does to gradients and scales; see tests/amp/test_grad_scaler.py",
    "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
)
EXEMPT_FUNCTIONS |= because("tells how a tensor lies in memory", "_debug_has_internal_overlap")
EXEMPT_FUNCTIONS |= because(
    "what a view and a graph know; see tests/conformance/programs_engine_paths.py",
    "Tensor._grad_fn Tensor._view_func Tensor._view_func_unsafe",
)
