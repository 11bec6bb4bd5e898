"""Which module has which name: Tensor's methods, and the functions of every package.

Written by `tools/generate.py` from the op library.
"""

METHODS: dict[str, str] = {
    "retrograd.ops.elementwise.addcmul": "addcdiv addcmul lerp",
    "retrograd.ops.elementwise.arithmetic": (
        "add div divide divide_ floor_divide floor_divide_ mul multiply multiply_ neg "
        "neg_ negative negative_ positive reciprocal reciprocal_ remainder remainder_ sub "
        "subtract subtract_ true_divide true_divide_"
    ),
    "retrograd.ops.elementwise.binary": (
        "arctan2 arctan2_ atan2 atan2_ copysign copysign_ fmax fmin gcd gcd_ heaviside "
        "heaviside_ hypot hypot_ lcm lcm_ ldexp ldexp_ logaddexp logaddexp2 nextafter "
        "nextafter_ xlogy xlogy_"
    ),
    "retrograd.ops.elementwise.choose": (
        "clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ maximum minimum where"
    ),
    "retrograd.ops.elementwise.compare": (
        "allclose bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ "
        "bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift "
        "bitwise_right_shift_ bitwise_xor bitwise_xor_ eq equal ge greater greater_equal "
        "gt isclose le less less_equal logical_and logical_not logical_or logical_xor lt "
        "ne not_equal"
    ),
    "retrograd.ops.elementwise.complex_numbers": "angle imag isreal real",
    "retrograd.ops.elementwise.conjugate": ("_conj _neg_view conj conj_physical resolve_conj resolve_neg"),
    "retrograd.ops.elementwise.exponential": (
        "exp exp2 exp2_ exp_ expm1 expm1_ log log10 log10_ log1p log1p_ log2 log2_ log_ "
        "logit logit_ rsqrt rsqrt_ sigmoid sigmoid_ sqrt sqrt_"
    ),
    "retrograd.ops.elementwise.floating_point": (
        "frexp isfinite isinf isnan isneginf isposinf nan_to_num nan_to_num_ signbit"
    ),
    "retrograd.ops.elementwise.power": "float_power pow pow_ square square_",
    "retrograd.ops.elementwise.rounding": (
        "ceil ceil_ fix fix_ floor floor_ fmod fmod_ frac frac_ round round_ trunc trunc_"
    ),
    "retrograd.ops.elementwise.sign": "abs absolute sgn sgn_ sign sign_",
    "retrograd.ops.elementwise.trigonometry": (
        "acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh "
        "arcsinh_ arctan arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan_ "
        "atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ rad2deg rad2deg_ sin sin_ sinc "
        "sinc_ sinh sinh_ tan tan_ tanh tanh_"
    ),
    "retrograd.ops.fourier.windows": "istft stft",
    "retrograd.ops.index.gather": (
        "gather index_put index_put_ scatter scatter_ scatter_add scatter_add_ take take_along_dim"
    ),
    "retrograd.ops.index.index_select": (
        "index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_select repeat_interleave"
    ),
    "retrograd.ops.index.mask": (
        "argwhere masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select nonzero"
    ),
    "retrograd.ops.index.scatter_reduce": (
        "index_reduce index_reduce_ put put_ scatter_reduce scatter_reduce_"
    ),
    "retrograd.ops.inplace.arithmetic": (
        "abs_ absolute_ add_ addcdiv_ addcmul_ conj_physical_ div_ float_power_ lerp_ mul_ sub_"
    ),
    "retrograd.ops.inplace.compare": (
        "eq_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ logical_and_ "
        "logical_not_ logical_or_ logical_xor_ lt_ ne_ not_equal_"
    ),
    "retrograd.ops.inplace.fill": "copy_ fill_ fill_diagonal_ module_load zero_",
    "retrograd.ops.inplace.loss_scale": "_amp_update_scale_",
    "retrograd.ops.inplace.shape": "squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_",
    "retrograd.ops.linalg.addmm": ("addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_"),
    "retrograd.ops.linalg.distance": "dist norm renorm renorm_",
    "retrograd.ops.linalg.eigenvalues": "svd",
    "retrograd.ops.linalg.factorizations": "cholesky cholesky_inverse cholesky_solve qr",
    "retrograd.ops.linalg.householder": "geqrf orgqr ormqr",
    "retrograd.ops.linalg.least_squares": "pinverse",
    "retrograd.ops.linalg.lu": "lu lu_solve",
    "retrograd.ops.linalg.matmul": "bmm dot matmul mm mv vdot",
    "retrograd.ops.linalg.matrix_functions": "cross kron matrix_exp matrix_power",
    "retrograd.ops.linalg.solve": "det inverse logdet slogdet",
    "retrograd.ops.linalg.tensordot": "ger inner outer",
    "retrograd.ops.linalg.triangular": "triangular_solve",
    "retrograd.ops.nn.activation": "relu relu_",
    "retrograd.ops.nn.gated": "hardshrink prelu",
    "retrograd.ops.nn.softmax": "log_softmax softmax",
    "retrograd.ops.numpy.protocol": "__array_function__ __array_ufunc__",
    "retrograd.ops.random.fill": (
        "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_"
    ),
    "retrograd.ops.random.sampling": "bernoulli multinomial",
    "retrograd.ops.reduce.calculus": "diff",
    "retrograd.ops.reduce.covariance": "corrcoef cov nanmean",
    "retrograd.ops.reduce.extrema": "amax amin aminmax argmax argmin max min",
    "retrograd.ops.reduce.hash": "hash_tensor",
    "retrograd.ops.reduce.histogram": "bincount histc histogram",
    "retrograd.ops.reduce.quantile": "nanquantile quantile",
    "retrograd.ops.reduce.running_extrema": "cummax cummin logcumsumexp",
    "retrograd.ops.reduce.running_sums": "cumprod cumprod_ cumsum cumsum_",
    "retrograd.ops.reduce.sort": "argsort kthvalue median mode msort nanmedian sort topk",
    "retrograd.ops.reduce.statistics": "std var",
    "retrograd.ops.reduce.sums": "all any count_nonzero logsumexp mean nansum prod sum",
    "retrograd.ops.reduce.unique": "unique unique_consecutive",
    "retrograd.ops.shape.combinations": "__reversed__ nonzero_static sum_to_size",
    "retrograd.ops.shape.diagonals": ("diag diag_embed diagflat diagonal trace tril tril_ triu triu_"),
    "retrograd.ops.shape.repeat": "repeat tile",
    "retrograd.ops.shape.reshape": (
        "as_subclass broadcast_to expand expand_as flatten is_same_size ravel reshape "
        "reshape_as squeeze unflatten unsqueeze view view_as"
    ),
    "retrograd.ops.shape.split": (
        "chunk dsplit hsplit narrow select split split_with_sizes tensor_split unbind vsplit"
    ),
    "retrograd.ops.shape.strided": (
        "as_strided as_strided_ as_strided_scatter resize resize_ resize_as resize_as_ set_ unfold"
    ),
    "retrograd.ops.shape.transpose": (
        "H T adjoint flip fliplr flipud mH mT moveaxis movedim permute roll rot90 "
        "swapaxes swapdims t transpose"
    ),
    "retrograd.ops.shape.view_copies": ("narrow_copy unsafe_chunk unsafe_split unsafe_split_with_sizes"),
    "retrograd.ops.shape.view_scatters": "diagonal_scatter select_scatter slice_scatter",
    "retrograd.ops.special.bessel": "i0 i0_",
    "retrograd.ops.special.erf": "erf erf_ erfc erfc_",
    "retrograd.ops.special.gamma": (
        "digamma digamma_ lgamma lgamma_ mvlgamma mvlgamma_ polygamma polygamma_"
    ),
    "retrograd.ops.special.incomplete_gamma": "igamma igamma_ igammac igammac_",
    "retrograd.ops.special.normal": "erfinv erfinv_",
    "retrograd.ops.tensor.attributes": (
        "apply_ const_data_ptr cuda is_ipu is_maia is_meta is_mkldnn is_mps is_mtia "
        "is_nested is_nonzero is_quantized is_shared is_sparse_csr is_vulkan is_xla "
        "is_xpu layout map2_ map_ share_memory_"
    ),
    "retrograd.ops.tensor.buffers": ("__dlpack__ __dlpack_device__ dim_order is_set_to new_empty_strided"),
    "retrograd.ops.tensor.convert": (
        "bfloat16 bool byte cdouble cfloat char clone contiguous cpu double float half "
        "int long short to to_dense type type_as"
    ),
    "retrograd.ops.tensor.create": "new_empty new_full new_ones new_tensor new_zeros",
    "retrograd.ops.tensor.inner": (
        "__div__ __idiv__ __long__ __nonzero__ __rdiv__ _backward_hooks _grad_fn "
        "_post_accumulate_grad_hooks _view_func _view_func_unsafe name"
    ),
    "retrograd.ops.tensor.pinned_memory": "is_pinned pin_memory",
    "retrograd.ops.tensor.storage": ("_typed_storage new storage storage_type untyped_storage volatile"),
}
FUNCTIONS: dict[str, str] = {
    "retrograd.core.tensor": (
        "acos_=Tensor.acos_ acosh_=Tensor.acosh_ addmv_=Tensor.addmv_ "
        "arccos_=Tensor.arccos_ arccosh_=Tensor.arccosh_ arcsin_=Tensor.arcsin_ "
        "arcsinh_=Tensor.arcsinh_ arctan_=Tensor.arctan_ arctanh_=Tensor.arctanh_ "
        "asin_=Tensor.asin_ asinh_=Tensor.asinh_ atan_=Tensor.atan_ atanh_=Tensor.atanh_ "
        "ceil_=Tensor.ceil_ clamp_=Tensor.clamp_ clamp_max_=Tensor.clamp_max_ "
        "clamp_min_=Tensor.clamp_min_ clip_=Tensor.clip_ cos_=Tensor.cos_ "
        "cosh_=Tensor.cosh_ deg2rad_=Tensor.deg2rad_ erf_=Tensor.erf_ erfc_=Tensor.erfc_ "
        "exp2_=Tensor.exp2_ exp_=Tensor.exp_ expm1_=Tensor.expm1_ fix_=Tensor.fix_ "
        "floor_=Tensor.floor_ frac_=Tensor.frac_ gcd_=Tensor.gcd_ i0_=Tensor.i0_ "
        "index_put_=Tensor.index_put_ lcm_=Tensor.lcm_ ldexp_=Tensor.ldexp_ "
        "log10_=Tensor.log10_ log1p_=Tensor.log1p_ log2_=Tensor.log2_ log_=Tensor.log_ "
        "logit_=Tensor.logit_ nan_to_num_=Tensor.nan_to_num_ neg_=Tensor.neg_ "
        "negative_=Tensor.negative_ rad2deg_=Tensor.rad2deg_ "
        "reciprocal_=Tensor.reciprocal_ relu_=Tensor.relu_ round_=Tensor.round_ "
        "rsqrt_=Tensor.rsqrt_ sigmoid_=Tensor.sigmoid_ sin_=Tensor.sin_ "
        "sinc_=Tensor.sinc_ sinh_=Tensor.sinh_ sqrt_=Tensor.sqrt_ square_=Tensor.square_ "
        "tan_=Tensor.tan_ tanh_=Tensor.tanh_ trunc_=Tensor.trunc_ xlogy_=Tensor.xlogy_"
    ),
    "retrograd.errors": "OutOfMemoryError",
    "retrograd.ops.elementwise.addcmul": "addcdiv addcmul lerp",
    "retrograd.ops.elementwise.arithmetic": (
        "add div divide=div floor_divide mul multiply=mul neg negative=neg positive "
        "reciprocal remainder rsub sub subtract=sub true_divide"
    ),
    "retrograd.ops.elementwise.binary": (
        "arctan2=atan2 atan2 copysign fmax fmin gcd heaviside hypot lcm ldexp logaddexp "
        "logaddexp2 nextafter xlogy"
    ),
    "retrograd.ops.elementwise.choose": ("clamp clamp_max clamp_min clip=clamp maximum minimum where"),
    "retrograd.ops.elementwise.compare": (
        "allclose bitwise_and bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor eq equal ge greater=gt greater_equal=ge gt "
        "isclose le less=lt less_equal=le logical_and logical_not logical_or logical_xor "
        "lt ne not_equal=ne"
    ),
    "retrograd.ops.elementwise.complex_numbers": (
        "angle complex imag is_complex is_conj is_floating_point isreal polar real "
        "view_as_complex view_as_real"
    ),
    "retrograd.ops.elementwise.conjugate": ("_neg_view=neg_view conj conj_physical resolve_conj resolve_neg"),
    "retrograd.ops.elementwise.exponential": ("exp exp2 expm1 log log10 log1p log2 logit rsqrt sigmoid sqrt"),
    "retrograd.ops.elementwise.floating_point": (
        "frexp isfinite isinf isnan isneginf isposinf nan_to_num signbit"
    ),
    "retrograd.ops.elementwise.power": "float_power pow square",
    "retrograd.ops.elementwise.rounding": "ceil fix=trunc floor fmod frac round trunc",
    "retrograd.ops.elementwise.sign": "abs absolute=abs sgn sign",
    "retrograd.ops.elementwise.trigonometry": (
        "acos acosh arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan "
        "arctanh=atanh asin asinh atan atanh cos cosh deg2rad rad2deg sin sinc sinh tan "
        "tanh"
    ),
    "retrograd.ops.fourier.windows": (
        "bartlett_window blackman_window hamming_window hann_window istft kaiser_window stft"
    ),
    "retrograd.ops.index.compressed": (
        "_convert_indices_from_coo_to_csr=rows_to_starts _convert_indices_from_csr_to_coo=starts_to_rows"
    ),
    "retrograd.ops.index.gather": ("gather index_put scatter scatter_add take take_along_dim"),
    "retrograd.ops.index.index_select": ("index_add index_copy index_fill index_select repeat_interleave"),
    "retrograd.ops.index.mask": ("argwhere masked_fill masked_scatter masked_select nonzero"),
    "retrograd.ops.index.scatter_reduce": "index_reduce put scatter_reduce",
    "retrograd.ops.inplace.activation": "celu_ dropout_ selu_ threshold_",
    "retrograd.ops.inplace.arithmetic": "abs_ conj_physical_",
    "retrograd.ops.inplace.fill": "fill fill_ zero_",
    "retrograd.ops.inplace.loss_scale": ("_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_"),
    "retrograd.ops.linalg.addmm": "addbmm addmm addmv addr baddbmm",
    "retrograd.ops.linalg.distance": (
        "cdist cosine_similarity dist norm norm_except_dim pairwise_distance pdist renorm"
    ),
    "retrograd.ops.linalg.eigenvalues": "svd",
    "retrograd.ops.linalg.einsum": "einsum",
    "retrograd.ops.linalg.factorizations": "cholesky cholesky_inverse cholesky_solve qr",
    "retrograd.ops.linalg.grouped": "_grouped_mm=grouped_mm",
    "retrograd.ops.linalg.householder": "geqrf orgqr ormqr",
    "retrograd.ops.linalg.least_squares": "pinverse",
    "retrograd.ops.linalg.low_rank": "lobpcg pca_lowrank svd_lowrank",
    "retrograd.ops.linalg.lu": "lu lu_solve lu_unpack",
    "retrograd.ops.linalg.matmul": "bmm dot matmul mm mv vdot",
    "retrograd.ops.linalg.matrix_functions": "cross kron matrix_exp matrix_power vander",
    "retrograd.ops.linalg.matrix_norm": "nuclear_norm",
    "retrograd.ops.linalg.solve": "det inverse logdet slogdet",
    "retrograd.ops.linalg.tensordot": "chain_matmul ger=outer inner outer tensordot",
    "retrograd.ops.linalg.triangular": "triangular_solve",
    "retrograd.ops.linalg.weight_norm": "_weight_norm",
    "retrograd.ops.nn.activation": "celu relu selu threshold",
    "retrograd.ops.nn.adaptive_pool": (
        "adaptive_avg_pool1d adaptive_max_pool1d=adaptive_max_pool1d_with_indices"
    ),
    "retrograd.ops.nn.avg_pool": "avg_pool1d",
    "retrograd.ops.nn.batch_norm": "batch_norm instance_norm native_batch_norm",
    "retrograd.ops.nn.bilinear": "bilinear",
    "retrograd.ops.nn.conv": (
        "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution"
    ),
    "retrograd.ops.nn.ctc_loss": "ctc_loss",
    "retrograd.ops.nn.dropout": (
        "alpha_dropout=plain_alpha_dropout alpha_dropout_ dropout=plain_dropout "
        "feature_alpha_dropout=plain_feature_alpha_dropout feature_alpha_dropout_ "
        "feature_dropout feature_dropout_ native_dropout"
    ),
    "retrograd.ops.nn.embedding": "embedding=table_embedding embedding_renorm_",
    "retrograd.ops.nn.embedding_bag": "embedding_bag=table_embedding_bag",
    "retrograd.ops.nn.gated": "hardshrink prelu rrelu rrelu_",
    "retrograd.ops.nn.grid_sample": (
        "affine_grid_generator grid_sampler grid_sampler_2d=grid_sampler grid_sampler_3d=grid_sampler"
    ),
    "retrograd.ops.nn.interpolate": (
        "channel_shuffle native_channel_shuffle=channel_shuffle pixel_shuffle pixel_unshuffle"
    ),
    "retrograd.ops.nn.layer_norm": ("group_norm layer_norm native_group_norm native_layer_norm rms_norm"),
    "retrograd.ops.nn.likelihood": (
        "binary_cross_entropy_with_logits=coded_binary_cross_entropy_with_logits "
        "kl_div=coded_kl_div poisson_nll_loss"
    ),
    "retrograd.ops.nn.max_pool": ("max_pool1d max_pool1d_with_indices max_pool2d max_pool3d"),
    "retrograd.ops.nn.ranking_loss": (
        "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss triplet_margin_loss"
    ),
    "retrograd.ops.nn.recurrent": (
        "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell"
    ),
    "retrograd.ops.nn.softmax": "log_softmax softmax",
    "retrograd.ops.random.gamma_draws": (
        "_dirichlet_grad=dirichlet_grad _sample_dirichlet=sample_dirichlet "
        "_standard_gamma=standard_gamma _standard_gamma_grad=standard_gamma_grad"
    ),
    "retrograd.ops.random.generator": (
        "get_rng_state initial_seed manual_seed seed set_rng_state thread_safe_generator"
    ),
    "retrograd.ops.random.sampling": (
        "bernoulli binomial multinomial normal poisson rand rand_like randint "
        "randint_like randn randn_like randperm"
    ),
    "retrograd.ops.reduce.calculus": "cumulative_trapezoid diff gradient trapezoid trapz",
    "retrograd.ops.reduce.covariance": "corrcoef cov nanmean",
    "retrograd.ops.reduce.extrema": "amax amin aminmax argmax argmin max min",
    "retrograd.ops.reduce.hash": "hash_tensor",
    "retrograd.ops.reduce.histogram": "bincount histc histogram histogramdd",
    "retrograd.ops.reduce.quantile": "nanquantile quantile",
    "retrograd.ops.reduce.running_extrema": "cummax cummin logcumsumexp",
    "retrograd.ops.reduce.running_sums": "cumprod cumsum",
    "retrograd.ops.reduce.segment_reduce": "_segment_reduce=segment_reduce segment_reduce",
    "retrograd.ops.reduce.sort": "argsort kthvalue median mode msort nanmedian sort topk",
    "retrograd.ops.reduce.statistics": "std std_mean var var_mean",
    "retrograd.ops.reduce.sums": "all any count_nonzero logsumexp mean nansum prod sum",
    "retrograd.ops.reduce.unique": "bucketize isin searchsorted unique unique_consecutive",
    "retrograd.ops.shape.combinations": (
        "block_diag cartesian_prod combinations detach detach_ nonzero_static unravel_index"
    ),
    "retrograd.ops.shape.diagonals": (
        "diag diag_embed diagflat diagonal trace tril tril_indices triu triu_indices"
    ),
    "retrograd.ops.shape.join": (
        "atleast_1d atleast_2d atleast_3d cat column_stack concat concatenate dstack "
        "hstack meshgrid row_stack stack vstack"
    ),
    "retrograd.ops.shape.repeat": "tile",
    "retrograd.ops.shape.reshape": (
        "broadcast_shapes broadcast_tensors broadcast_to flatten is_same_size numel ravel "
        "reshape squeeze unflatten unsqueeze"
    ),
    "retrograd.ops.shape.split": (
        "chunk dsplit hsplit narrow select split split_with_sizes tensor_split unbind vsplit"
    ),
    "retrograd.ops.shape.strided": ("as_strided as_strided_ as_strided_copy as_strided_scatter resize_as_"),
    "retrograd.ops.shape.transpose": (
        "adjoint flip fliplr flipud moveaxis=movedim movedim permute roll rot90 swapaxes "
        "swapdims=transpose t transpose"
    ),
    "retrograd.ops.shape.view_copies": (
        "alias_copy constant_pad_nd detach_copy diagonal_copy expand_copy narrow_copy "
        "permute_copy select_copy slice_copy split_copy split_with_sizes_copy "
        "squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsafe_chunk "
        "unsafe_split unsafe_split_with_sizes unsqueeze_copy view_as_complex_copy "
        "view_as_real_copy view_copy"
    ),
    "retrograd.ops.shape.view_scatters": "diagonal_scatter select_scatter slice_scatter",
    "retrograd.ops.special.bessel": "i0",
    "retrograd.ops.special.erf": "erf erfc",
    "retrograd.ops.special.gamma": "digamma lgamma mvlgamma polygamma",
    "retrograd.ops.special.incomplete_gamma": "igamma igammac",
    "retrograd.ops.special.normal": "erfinv",
    "retrograd.ops.tensor.asarray": "asarray",
    "retrograd.ops.tensor.attributes": (
        "frobenius_norm get_device is_inference is_neg is_nonzero is_signed is_tensor typename"
    ),
    "retrograd.ops.tensor.buffers": (
        "_debug_has_internal_overlap empty_permuted empty_strided from_dlpack frombuffer "
        "range=inclusive_range to_dlpack"
    ),
    "retrograd.ops.tensor.checks": (
        "_assert _assert_async _check _check_index _check_is_size _check_not_implemented "
        "_check_tensor_all _check_tensor_all_with _check_type _check_value _check_with"
    ),
    "retrograd.ops.tensor.convert": (
        "_cast_Byte=to_byte _cast_Char=to_char _cast_Double=to_double "
        "_cast_Float=to_float _cast_Half=to_half _cast_Int=to_int _cast_Long=to_long "
        "_cast_Short=to_short clone"
    ),
    "retrograd.ops.tensor.create": (
        "arange empty empty_like eye full full_like linspace logspace ones ones_like "
        "scalar_tensor zeros zeros_like"
    ),
    "retrograd.ops.tensor.data": "as_tensor from_numpy tensor",
    "retrograd.ops.tensor.settings": (
        "are_deterministic_algorithms_enabled get_default_device get_default_dtype "
        "get_deterministic_debug_mode get_float32_matmul_precision "
        "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled "
        "promote_types result_type set_default_device set_default_tensor_type "
        "set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal "
        "set_warn_always use_deterministic_algorithms"
    ),
    "retrograd.ops.tensor.storage": "from_file is_distributed is_storage",
}
FUNCTIONAL: dict[str, str] = {
    "retrograd.core.tensor": "relu_=Tensor.relu_",
    "retrograd.ops.elementwise.exponential": "sigmoid",
    "retrograd.ops.elementwise.trigonometry": "tanh",
    "retrograd.ops.inplace.activation": "celu_ leaky_relu_ selu_ threshold_",
    "retrograd.ops.linalg.addmm": "linear",
    "retrograd.ops.linalg.distance": "cosine_similarity normalize pairwise_distance pdist",
    "retrograd.ops.linalg.grouped": "grouped_mm",
    "retrograd.ops.nn.activation": (
        "celu dropout elu elu_ gelu hardsigmoid hardswish hardtanh hardtanh_ leaky_relu "
        "logsigmoid mish relu relu6 selu silu softplus softsign tanhshrink threshold"
    ),
    "retrograd.ops.nn.adaptive_pool": (
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
        "adaptive_max_pool1d_with_indices adaptive_max_pool2d "
        "adaptive_max_pool2d_with_indices adaptive_max_pool3d "
        "adaptive_max_pool3d_with_indices"
    ),
    "retrograd.ops.nn.attention": "scaled_dot_product_attention",
    "retrograd.ops.nn.avg_pool": ("avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d lp_pool3d"),
    "retrograd.ops.nn.batch_norm": (
        "batch_norm=functional_batch_norm instance_norm=functional_instance_norm"
    ),
    "retrograd.ops.nn.bilinear": "bilinear",
    "retrograd.ops.nn.binary_cross_entropy": ("binary_cross_entropy binary_cross_entropy_with_logits"),
    "retrograd.ops.nn.conv": (
        "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d"
    ),
    "retrograd.ops.nn.cross_entropy": "cross_entropy kl_div nll_loss",
    "retrograd.ops.nn.ctc_loss": "ctc_loss=functional_ctc_loss",
    "retrograd.ops.nn.difference_loss": "huber_loss l1_loss mse_loss smooth_l1_loss",
    "retrograd.ops.nn.dropout": (
        "alpha_dropout dropout1d dropout2d dropout3d feature_alpha_dropout gumbel_softmax"
    ),
    "retrograd.ops.nn.embedding": "embedding one_hot",
    "retrograd.ops.nn.embedding_bag": "embedding_bag",
    "retrograd.ops.nn.fold": "fold unfold",
    "retrograd.ops.nn.fractional_pool": (
        "fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d "
        "fractional_max_pool3d_with_indices"
    ),
    "retrograd.ops.nn.gated": "glu hardshrink prelu rrelu rrelu_ softshrink",
    "retrograd.ops.nn.grid_sample": "affine_grid grid_sample",
    "retrograd.ops.nn.interpolate": (
        "channel_shuffle interpolate native_channel_shuffle=channel_shuffle pixel_shuffle "
        "pixel_unshuffle upsample upsample_bilinear upsample_nearest"
    ),
    "retrograd.ops.nn.layer_norm": (
        "group_norm=functional_group_norm layer_norm local_response_norm rms_norm"
    ),
    "retrograd.ops.nn.likelihood": (
        "gaussian_nll_loss linear_cross_entropy poisson_nll_loss=functional_poisson_nll_loss"
    ),
    "retrograd.ops.nn.margin_loss": (
        "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss soft_margin_loss"
    ),
    "retrograd.ops.nn.max_pool": (
        "max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d "
        "max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d"
    ),
    "retrograd.ops.nn.multi_head_attention": "multi_head_attention_forward",
    "retrograd.ops.nn.pad": "pad",
    "retrograd.ops.nn.ranking_loss": (
        "cosine_embedding_loss=functional_cosine_embedding_loss "
        "hinge_embedding_loss=functional_hinge_embedding_loss "
        "margin_ranking_loss=functional_margin_ranking_loss "
        "triplet_margin_loss=functional_triplet_margin_loss "
        "triplet_margin_with_distance_loss"
    ),
    "retrograd.ops.nn.softmax": ("log_softmax=functional_log_softmax softmax=functional_softmax softmin"),
}
LINALG: dict[str, str] = {
    "retrograd.errors": "LinAlgError",
    "retrograd.ops.linalg.eigenvalues": ("eig eigh eigvals eigvalsh svd=linalg_svd_of svdvals"),
    "retrograd.ops.linalg.factorizations": ("cholesky=linalg_cholesky cholesky_ex qr=linalg_qr_of"),
    "retrograd.ops.linalg.householder": "householder_product",
    "retrograd.ops.linalg.ldl": "ldl_factor ldl_factor_ex ldl_solve",
    "retrograd.ops.linalg.least_squares": "lstsq pinv",
    "retrograd.ops.linalg.lu": ("lu=linalg_lu_of lu_factor lu_factor_ex lu_solve=linalg_lu_solve"),
    "retrograd.ops.linalg.matmul": "matmul",
    "retrograd.ops.linalg.matrix_functions": (
        "cross=linalg_cross diagonal=linalg_diagonal matrix_exp=linalg_matrix_exp "
        "matrix_power multi_dot tensorinv tensorsolve vander=linalg_vander vecdot"
    ),
    "retrograd.ops.linalg.matrix_norm": "cond matrix_norm matrix_rank norm=linalg_norm",
    "retrograd.ops.linalg.solve": ("det=linalg_det inv inv_ex slogdet=linalg_slogdet_of solve solve_ex"),
    "retrograd.ops.linalg.triangular": "solve_triangular",
    "retrograd.ops.reduce.statistics": "vector_norm",
}
FFT: dict[str, str] = {
    "retrograd.ops.fourier.frequencies": "fftfreq fftshift ifftshift rfftfreq",
    "retrograd.ops.fourier.transform": (
        "fft fft2 fftn hfft hfft2 hfftn ifft ifft2 ifftn ihfft ihfft2 ihfftn irfft irfft2 "
        "irfftn rfft rfft2 rfftn"
    ),
}
SPECIAL: dict[str, str] = {
    "retrograd.ops.elementwise.binary": "xlog1py xlogy",
    "retrograd.ops.elementwise.exponential": "entr exp2 expit=sigmoid expm1 log1p logit",
    "retrograd.ops.elementwise.rounding": "round=special_round",
    "retrograd.ops.elementwise.trigonometry": "sinc",
    "retrograd.ops.nn.softmax": "log_softmax softmax",
    "retrograd.ops.reduce.sums": "logsumexp",
    "retrograd.ops.special.bessel": (
        "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 i0 i0e i1 i1e modified_bessel_i0 "
        "modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 "
        "scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"
    ),
    "retrograd.ops.special.erf": "erf erfc",
    "retrograd.ops.special.gamma": (
        "digamma gammaln=lgamma multigammaln=mvlgamma polygamma psi=digamma zeta"
    ),
    "retrograd.ops.special.incomplete_gamma": "gammainc=igamma gammaincc=igammac",
    "retrograd.ops.special.normal": "erfcx erfinv log_ndtr ndtr ndtri",
    "retrograd.ops.special.polynomials": (
        "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
        "chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he "
        "laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t "
        "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
        "shifted_chebyshev_polynomial_w"
    ),
}
# What of METHODS is an attribute.
PROPERTIES = (
    "H T _backward_hooks _grad_fn _post_accumulate_grad_hooks imag is_ipu is_maia "
    "is_meta is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse_csr is_vulkan "
    "is_xla is_xpu layout mH mT name real volatile"
)
