"""retrograd: PyTorch's autograd over NumPy arrays.

Most names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.

Written by `tools/generate.py` from the op library.
"""

from retrograd import forms as forms  # first: see Note [Compiled and interpreted]

# isort: split
import builtins as _builtins
import typing as _typing

import numpy as _np

from retrograd import ops as ops
from retrograd.autograd.modes import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from retrograd.backends import dtypes_without_arrays as _without_arrays
from retrograd.backends.device import (
    device,
)
from retrograd.backends.dtype_class import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from retrograd.backends.dtype_class import bool_ as _bool
from retrograd.backends.dtypes import (
    can_cast,
    set_default_dtype,
)
from retrograd.backends.dtypes_without_arrays import *  # noqa: F403
from retrograd.backends.layout_class import (
    jagged,
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from retrograd.backends.limits import (
    finfo,
    iinfo,
)
from retrograd.backends.memory_format import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from retrograd.core.modes import (
    is_grad_enabled,
    is_inference_mode_enabled,
)
from retrograd.core.plain import (
    Size,
)
from retrograd.core.printing import (
    set_printoptions,
)
from retrograd.core.tensor import (
    Tensor,
)
from retrograd.engine.threads import (
    get_num_interop_threads,
    get_num_threads,
    set_num_interop_threads,
    set_num_threads,
)
from retrograd.lazy import lazily as _lazily
from retrograd.public_names import FUNCTIONS as _FUNCTIONS
from retrograd.version import __version__

if _typing.TYPE_CHECKING:
    import builtins as _builtins
    from collections.abc import Sequence as _Sequence

    from retrograd import _C as _C
    from retrograd import __config__ as __config__
    from retrograd import __future__ as __future__
    from retrograd import _dynamo as _dynamo
    from retrograd import _functorch as _functorch
    from retrograd import _inductor as _inductor
    from retrograd import _jit_internal as _jit_internal
    from retrograd import _logging as _logging
    from retrograd import _ops as _ops
    from retrograd import _tensor_str as _tensor_str
    from retrograd import _vmap_internals as _vmap_internals
    from retrograd import (
        accelerator,
        amp,
        autograd,
        compiler,
        cpu,
        cuda,
        distributed,
        distributions,
        fft,
        func,
        futures,
        fx,
        hub,
        jit,
        library,
        linalg,
        masked,
        memory,
        mps,
        multiprocessing,
        nn,
        onnx,
        optim,
        optimize,
        overrides,
        profiler,
        quasirandom,
        random,
        signal,
        special,
        testing,
        utils,
        xpu,
    )
    from retrograd import backends as backends
    from retrograd import functional as functional
    from retrograd import inspect as inspect
    from retrograd import return_types as return_types
    from retrograd import serialization as serialization
    from retrograd import sparse as sparse
    from retrograd import storage as storage
    from retrograd import torch_version as torch_version
    from retrograd import types as types
    from retrograd import version as version
    from retrograd.__config__ import (
        compiled_with_cxx11_abi,
        has_lapack,
        has_mkl,
        has_openmp,
        has_spectral,
    )
    from retrograd.alias.install import (
        install_as_torch,
    )
    from retrograd.amp.autocast_mode import (
        autocast,
    )
    from retrograd.amp.grad_scaler import (
        GradScaler,
    )
    from retrograd.amp.settings import (
        autocast_decrement_nesting,
        autocast_increment_nesting,
        clear_autocast_cache,
        get_autocast_cpu_dtype,
        get_autocast_dtype,
        get_autocast_gpu_dtype,
        is_autocast_cache_enabled,
        is_autocast_cpu_enabled,
        is_autocast_enabled,
        set_autocast_cache_enabled,
        set_autocast_cpu_dtype,
        set_autocast_cpu_enabled,
        set_autocast_dtype,
        set_autocast_enabled,
        set_autocast_gpu_dtype,
    )
    from retrograd.autograd.anomaly_mode import (
        is_anomaly_check_nan_enabled,
        is_anomaly_enabled,
        set_anomaly_enabled,
    )
    from retrograd.autograd.custom_gradient import (
        custom_gradient,
    )
    from retrograd.compiler import (
        compile,
    )
    from retrograd.core.tensor import Tensor as _Tensor
    from retrograd.cpu import (
        get_device_module,
    )
    from retrograd.errors import (
        AcceleratorError,
        OutOfMemoryError,
    )
    from retrograd.func.mapping import (
        vmap,
    )
    from retrograd.futures import (
        Future,
    )
    from retrograd.inspect.why import (
        why_no_grad,
    )
    from retrograd.legacy_storages import (
        BFloat16Storage,
        BoolStorage,
        ByteStorage,
        CharStorage,
        ComplexDoubleStorage,
        ComplexFloatStorage,
        DoubleStorage,
        FloatStorage,
        HalfStorage,
        IntStorage,
        LongStorage,
        ShortStorage,
        _storage_classes,
    )
    from retrograd.legacy_types import (
        BFloat16Tensor,
        BoolTensor,
        ByteTensor,
        CharTensor,
        DoubleTensor,
        FloatTensor,
        HalfTensor,
        IntTensor,
        LongTensor,
        ShortTensor,
        _tensor_classes,
    )
    from retrograd.ops.elementwise.addcmul import (
        addcdiv,
        addcmul,
        lerp,
    )
    from retrograd.ops.elementwise.arithmetic import (
        add,
        div,
        floor_divide,
        mul,
        neg,
        positive,
        reciprocal,
        remainder,
        rsub,
        sub,
        true_divide,
    )
    from retrograd.ops.elementwise.arithmetic import (
        div as divide,
    )
    from retrograd.ops.elementwise.arithmetic import (
        mul as multiply,
    )
    from retrograd.ops.elementwise.arithmetic import (
        neg as negative,
    )
    from retrograd.ops.elementwise.arithmetic import (
        sub as subtract,
    )
    from retrograd.ops.elementwise.binary import (
        atan2,
        copysign,
        fmax,
        fmin,
        gcd,
        heaviside,
        hypot,
        lcm,
        ldexp,
        logaddexp,
        logaddexp2,
        nextafter,
        xlogy,
    )
    from retrograd.ops.elementwise.binary import (
        atan2 as arctan2,
    )
    from retrograd.ops.elementwise.choose import (
        clamp,
        clamp_max,
        clamp_min,
        maximum,
        minimum,
        where,
    )
    from retrograd.ops.elementwise.choose import (
        clamp as clip,
    )
    from retrograd.ops.elementwise.compare import (
        allclose,
        bitwise_and,
        bitwise_left_shift,
        bitwise_not,
        bitwise_or,
        bitwise_right_shift,
        bitwise_xor,
        eq,
        equal,
        ge,
        gt,
        isclose,
        le,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        lt,
        ne,
    )
    from retrograd.ops.elementwise.compare import (
        ge as greater_equal,
    )
    from retrograd.ops.elementwise.compare import (
        gt as greater,
    )
    from retrograd.ops.elementwise.compare import (
        le as less_equal,
    )
    from retrograd.ops.elementwise.compare import (
        lt as less,
    )
    from retrograd.ops.elementwise.compare import (
        ne as not_equal,
    )
    from retrograd.ops.elementwise.complex_numbers import (
        angle,
        complex,
        imag,
        is_complex,
        is_conj,
        is_floating_point,
        isreal,
        polar,
        real,
        view_as_complex,
        view_as_real,
    )
    from retrograd.ops.elementwise.conjugate import (
        conj,
        conj_physical,
        resolve_conj,
        resolve_neg,
    )
    from retrograd.ops.elementwise.conjugate import (
        neg_view as _neg_view,
    )
    from retrograd.ops.elementwise.exponential import (
        exp,
        exp2,
        expm1,
        log,
        log1p,
        log2,
        log10,
        logit,
        rsqrt,
        sigmoid,
        sqrt,
    )
    from retrograd.ops.elementwise.floating_point import (
        frexp,
        isfinite,
        isinf,
        isnan,
        isneginf,
        isposinf,
        nan_to_num,
        signbit,
    )
    from retrograd.ops.elementwise.power import (
        float_power,
        pow,
        square,
    )
    from retrograd.ops.elementwise.rounding import (
        ceil,
        floor,
        fmod,
        frac,
        round,
        trunc,
    )
    from retrograd.ops.elementwise.rounding import (
        trunc as fix,
    )
    from retrograd.ops.elementwise.sign import (
        abs,
        sgn,
        sign,
    )
    from retrograd.ops.elementwise.sign import (
        abs as absolute,
    )
    from retrograd.ops.elementwise.trigonometry import (
        acos,
        acosh,
        asin,
        asinh,
        atan,
        atanh,
        cos,
        cosh,
        deg2rad,
        rad2deg,
        sin,
        sinc,
        sinh,
        tan,
        tanh,
    )
    from retrograd.ops.elementwise.trigonometry import (
        acos as arccos,
    )
    from retrograd.ops.elementwise.trigonometry import (
        acosh as arccosh,
    )
    from retrograd.ops.elementwise.trigonometry import (
        asin as arcsin,
    )
    from retrograd.ops.elementwise.trigonometry import (
        asinh as arcsinh,
    )
    from retrograd.ops.elementwise.trigonometry import (
        atan as arctan,
    )
    from retrograd.ops.elementwise.trigonometry import (
        atanh as arctanh,
    )
    from retrograd.ops.fourier.windows import (
        bartlett_window,
        blackman_window,
        hamming_window,
        hann_window,
        istft,
        kaiser_window,
        stft,
    )
    from retrograd.ops.index.compressed import (
        rows_to_starts as _convert_indices_from_coo_to_csr,
    )
    from retrograd.ops.index.compressed import (
        starts_to_rows as _convert_indices_from_csr_to_coo,
    )
    from retrograd.ops.index.gather import (
        gather,
        index_put,
        scatter,
        scatter_add,
        take,
        take_along_dim,
    )
    from retrograd.ops.index.index_select import (
        index_add,
        index_copy,
        index_fill,
        index_select,
        repeat_interleave,
    )
    from retrograd.ops.index.mask import (
        argwhere,
        masked_fill,
        masked_scatter,
        masked_select,
        nonzero,
    )
    from retrograd.ops.index.scatter_reduce import (
        index_reduce,
        put,
        scatter_reduce,
    )
    from retrograd.ops.inplace.activation import (
        celu_,
        dropout_,
        selu_,
        threshold_,
    )
    from retrograd.ops.inplace.arithmetic import (
        abs_,
        conj_physical_,
    )
    from retrograd.ops.inplace.fill import (
        fill,
        fill_,
        zero_,
    )
    from retrograd.ops.inplace.loss_scale import (
        _amp_foreach_non_finite_check_and_unscale_,
        _amp_update_scale_,
    )
    from retrograd.ops.linalg.addmm import (
        addbmm,
        addmm,
        addmv,
        addr,
        baddbmm,
    )
    from retrograd.ops.linalg.distance import (
        cdist,
        cosine_similarity,
        dist,
        norm,
        norm_except_dim,
        pairwise_distance,
        pdist,
        renorm,
    )
    from retrograd.ops.linalg.eigenvalues import (
        svd,
    )
    from retrograd.ops.linalg.einsum import (
        einsum,
    )
    from retrograd.ops.linalg.factorizations import (
        cholesky,
        cholesky_inverse,
        cholesky_solve,
        qr,
    )
    from retrograd.ops.linalg.grouped import (
        grouped_mm as _grouped_mm,
    )
    from retrograd.ops.linalg.householder import (
        geqrf,
        orgqr,
        ormqr,
    )
    from retrograd.ops.linalg.least_squares import (
        pinverse,
    )
    from retrograd.ops.linalg.low_rank import (
        lobpcg,
        pca_lowrank,
        svd_lowrank,
    )
    from retrograd.ops.linalg.lu import (
        lu,
        lu_solve,
        lu_unpack,
    )
    from retrograd.ops.linalg.matmul import (
        bmm,
        dot,
        matmul,
        mm,
        mv,
        vdot,
    )
    from retrograd.ops.linalg.matrix_functions import (
        cross,
        kron,
        matrix_exp,
        matrix_power,
        vander,
    )
    from retrograd.ops.linalg.matrix_norm import (
        nuclear_norm,
    )
    from retrograd.ops.linalg.solve import (
        det,
        inverse,
        logdet,
        slogdet,
    )
    from retrograd.ops.linalg.tensordot import (
        chain_matmul,
        inner,
        outer,
        tensordot,
    )
    from retrograd.ops.linalg.tensordot import (
        outer as ger,
    )
    from retrograd.ops.linalg.triangular import (
        triangular_solve,
    )
    from retrograd.ops.linalg.weight_norm import (
        _weight_norm,
    )
    from retrograd.ops.nn.activation import (
        celu,
        relu,
        selu,
        threshold,
    )
    from retrograd.ops.nn.adaptive_pool import (
        adaptive_avg_pool1d,
    )
    from retrograd.ops.nn.adaptive_pool import (
        adaptive_max_pool1d_with_indices as adaptive_max_pool1d,
    )
    from retrograd.ops.nn.avg_pool import (
        avg_pool1d,
    )
    from retrograd.ops.nn.batch_norm import (
        batch_norm,
        instance_norm,
        native_batch_norm,
    )
    from retrograd.ops.nn.bilinear import (
        bilinear,
    )
    from retrograd.ops.nn.conv import (
        conv1d,
        conv2d,
        conv3d,
        conv_tbc,
        conv_transpose1d,
        conv_transpose2d,
        conv_transpose3d,
        convolution,
    )
    from retrograd.ops.nn.ctc_loss import (
        ctc_loss,
    )
    from retrograd.ops.nn.dropout import (
        alpha_dropout_,
        feature_alpha_dropout_,
        feature_dropout,
        feature_dropout_,
        native_dropout,
    )
    from retrograd.ops.nn.dropout import (
        plain_alpha_dropout as alpha_dropout,
    )
    from retrograd.ops.nn.dropout import (
        plain_dropout as dropout,
    )
    from retrograd.ops.nn.dropout import (
        plain_feature_alpha_dropout as feature_alpha_dropout,
    )
    from retrograd.ops.nn.embedding import (
        embedding_renorm_,
    )
    from retrograd.ops.nn.embedding import (
        table_embedding as embedding,
    )
    from retrograd.ops.nn.embedding_bag import (
        table_embedding_bag as embedding_bag,
    )
    from retrograd.ops.nn.gated import (
        hardshrink,
        prelu,
        rrelu,
        rrelu_,
    )
    from retrograd.ops.nn.grid_sample import (
        affine_grid_generator,
        grid_sampler,
    )
    from retrograd.ops.nn.grid_sample import (
        grid_sampler as grid_sampler_2d,
    )
    from retrograd.ops.nn.grid_sample import (
        grid_sampler as grid_sampler_3d,
    )
    from retrograd.ops.nn.interpolate import (
        channel_shuffle,
        pixel_shuffle,
        pixel_unshuffle,
    )
    from retrograd.ops.nn.interpolate import (
        channel_shuffle as native_channel_shuffle,
    )
    from retrograd.ops.nn.layer_norm import (
        group_norm,
        layer_norm,
        native_group_norm,
        native_layer_norm,
        rms_norm,
    )
    from retrograd.ops.nn.likelihood import (
        coded_binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    )
    from retrograd.ops.nn.likelihood import (
        coded_kl_div as kl_div,
    )
    from retrograd.ops.nn.likelihood import (
        poisson_nll_loss,
    )
    from retrograd.ops.nn.max_pool import (
        max_pool1d,
        max_pool1d_with_indices,
        max_pool2d,
        max_pool3d,
    )
    from retrograd.ops.nn.ranking_loss import (
        cosine_embedding_loss,
        hinge_embedding_loss,
        margin_ranking_loss,
        triplet_margin_loss,
    )
    from retrograd.ops.nn.recurrent import (
        gru,
        gru_cell,
        lstm,
        lstm_cell,
        rnn_relu,
        rnn_relu_cell,
        rnn_tanh,
        rnn_tanh_cell,
    )
    from retrograd.ops.nn.softmax import (
        log_softmax,
        softmax,
    )
    from retrograd.ops.random.gamma_draws import (
        dirichlet_grad as _dirichlet_grad,
    )
    from retrograd.ops.random.gamma_draws import (
        sample_dirichlet as _sample_dirichlet,
    )
    from retrograd.ops.random.gamma_draws import (
        standard_gamma as _standard_gamma,
    )
    from retrograd.ops.random.gamma_draws import (
        standard_gamma_grad as _standard_gamma_grad,
    )
    from retrograd.ops.random.generator import (
        Generator,
        default_generator,
        get_rng_state,
        initial_seed,
        manual_seed,
        seed,
        set_rng_state,
        thread_safe_generator,
    )
    from retrograd.ops.random.sampling import (
        bernoulli,
        binomial,
        multinomial,
        normal,
        poisson,
        rand,
        rand_like,
        randint,
        randint_like,
        randn,
        randn_like,
        randperm,
    )
    from retrograd.ops.reduce.calculus import (
        cumulative_trapezoid,
        diff,
        gradient,
        trapezoid,
        trapz,
    )
    from retrograd.ops.reduce.covariance import (
        corrcoef,
        cov,
        nanmean,
    )
    from retrograd.ops.reduce.extrema import (
        amax,
        amin,
        aminmax,
        argmax,
        argmin,
        max,
        min,
    )
    from retrograd.ops.reduce.hash import (
        hash_tensor,
    )
    from retrograd.ops.reduce.histogram import (
        bincount,
        histc,
        histogram,
        histogramdd,
    )
    from retrograd.ops.reduce.quantile import (
        nanquantile,
        quantile,
    )
    from retrograd.ops.reduce.running_extrema import (
        cummax,
        cummin,
        logcumsumexp,
    )
    from retrograd.ops.reduce.running_sums import (
        cumprod,
        cumsum,
    )
    from retrograd.ops.reduce.segment_reduce import (
        segment_reduce,
    )
    from retrograd.ops.reduce.segment_reduce import (
        segment_reduce as _segment_reduce,
    )
    from retrograd.ops.reduce.sort import (
        argsort,
        kthvalue,
        median,
        mode,
        msort,
        nanmedian,
        sort,
        topk,
    )
    from retrograd.ops.reduce.statistics import (
        std,
        std_mean,
        var,
        var_mean,
    )
    from retrograd.ops.reduce.sums import (
        all,
        any,
        count_nonzero,
        logsumexp,
        mean,
        nansum,
        prod,
        sum,
    )
    from retrograd.ops.reduce.unique import (
        bucketize,
        isin,
        searchsorted,
        unique,
        unique_consecutive,
    )
    from retrograd.ops.shape.combinations import (
        block_diag,
        cartesian_prod,
        combinations,
        detach,
        detach_,
        nonzero_static,
        unravel_index,
    )
    from retrograd.ops.shape.diagonals import (
        diag,
        diag_embed,
        diagflat,
        diagonal,
        trace,
        tril,
        tril_indices,
        triu,
        triu_indices,
    )
    from retrograd.ops.shape.join import (
        atleast_1d,
        atleast_2d,
        atleast_3d,
        cat,
        column_stack,
        concat,
        concatenate,
        dstack,
        hstack,
        meshgrid,
        row_stack,
        stack,
        vstack,
    )
    from retrograd.ops.shape.repeat import (
        tile,
    )
    from retrograd.ops.shape.reshape import (
        broadcast_shapes,
        broadcast_tensors,
        broadcast_to,
        flatten,
        is_same_size,
        numel,
        ravel,
        reshape,
        squeeze,
        unflatten,
        unsqueeze,
    )
    from retrograd.ops.shape.split import (
        chunk,
        dsplit,
        hsplit,
        narrow,
        select,
        split,
        split_with_sizes,
        tensor_split,
        unbind,
        vsplit,
    )
    from retrograd.ops.shape.strided import (
        as_strided,
        as_strided_,
        as_strided_copy,
        as_strided_scatter,
        resize_as_,
    )
    from retrograd.ops.shape.transpose import (
        adjoint,
        flip,
        fliplr,
        flipud,
        movedim,
        permute,
        roll,
        rot90,
        swapaxes,
        t,
        transpose,
    )
    from retrograd.ops.shape.transpose import (
        movedim as moveaxis,
    )
    from retrograd.ops.shape.transpose import (
        transpose as swapdims,
    )
    from retrograd.ops.shape.view_copies import (
        alias_copy,
        constant_pad_nd,
        detach_copy,
        diagonal_copy,
        expand_copy,
        narrow_copy,
        permute_copy,
        select_copy,
        slice_copy,
        split_copy,
        split_with_sizes_copy,
        squeeze_copy,
        t_copy,
        transpose_copy,
        unbind_copy,
        unfold_copy,
        unsafe_chunk,
        unsafe_split,
        unsafe_split_with_sizes,
        unsqueeze_copy,
        view_as_complex_copy,
        view_as_real_copy,
        view_copy,
    )
    from retrograd.ops.shape.view_scatters import (
        diagonal_scatter,
        select_scatter,
        slice_scatter,
    )
    from retrograd.ops.special.bessel import (
        i0,
    )
    from retrograd.ops.special.erf import (
        erf,
        erfc,
    )
    from retrograd.ops.special.gamma import (
        digamma,
        lgamma,
        mvlgamma,
        polygamma,
    )
    from retrograd.ops.special.incomplete_gamma import (
        igamma,
        igammac,
    )
    from retrograd.ops.special.normal import (
        erfinv,
    )
    from retrograd.ops.tensor.asarray import (
        asarray,
    )
    from retrograd.ops.tensor.attributes import (
        frobenius_norm,
        get_device,
        is_inference,
        is_neg,
        is_nonzero,
        is_signed,
        is_tensor,
        typename,
    )
    from retrograd.ops.tensor.buffers import (
        _debug_has_internal_overlap,
        empty_permuted,
        empty_strided,
        from_dlpack,
        frombuffer,
        to_dlpack,
    )
    from retrograd.ops.tensor.buffers import (
        inclusive_range as range,
    )
    from retrograd.ops.tensor.checks import (
        _assert,
        _assert_async,
        _check,
        _check_index,
        _check_is_size,
        _check_not_implemented,
        _check_tensor_all,
        _check_tensor_all_with,
        _check_type,
        _check_value,
        _check_with,
    )
    from retrograd.ops.tensor.convert import (
        clone,
    )
    from retrograd.ops.tensor.convert import (
        to_byte as _cast_Byte,
    )
    from retrograd.ops.tensor.convert import (
        to_char as _cast_Char,
    )
    from retrograd.ops.tensor.convert import (
        to_double as _cast_Double,
    )
    from retrograd.ops.tensor.convert import (
        to_float as _cast_Float,
    )
    from retrograd.ops.tensor.convert import (
        to_half as _cast_Half,
    )
    from retrograd.ops.tensor.convert import (
        to_int as _cast_Int,
    )
    from retrograd.ops.tensor.convert import (
        to_long as _cast_Long,
    )
    from retrograd.ops.tensor.convert import (
        to_short as _cast_Short,
    )
    from retrograd.ops.tensor.create import (
        arange,
        empty,
        empty_like,
        eye,
        full,
        full_like,
        linspace,
        logspace,
        ones,
        ones_like,
        scalar_tensor,
        zeros,
        zeros_like,
    )
    from retrograd.ops.tensor.data import (
        as_tensor,
        from_numpy,
        tensor,
    )
    from retrograd.ops.tensor.settings import (
        are_deterministic_algorithms_enabled,
        get_default_device,
        get_default_dtype,
        get_deterministic_debug_mode,
        get_float32_matmul_precision,
        is_deterministic_algorithms_warn_only_enabled,
        is_warn_always_enabled,
        promote_types,
        result_type,
        set_default_device,
        set_default_tensor_type,
        set_deterministic_debug_mode,
        set_float32_matmul_precision,
        set_flush_denormal,
        set_warn_always,
        use_deterministic_algorithms,
    )
    from retrograd.ops.tensor.storage import (
        from_file,
        is_distributed,
        is_storage,
    )
    from retrograd.ops.tensor.typed_storage import (
        TypedStorage,
    )
    from retrograd.ops.tensor.untyped_storage import (
        UntypedStorage,
    )
    from retrograd.overrides.state import (
        DisableTorchFunction,
        DisableTorchFunctionSubclass,
    )
    from retrograd.serialization.loading import (
        load,
    )
    from retrograd.serialization.saving import (
        save,
    )
    from retrograd.streams import (
        Event,
        Stream,
    )
    from retrograd.symbolic import (
        SymBool,
        SymFloat,
        SymInt,
        cond,
        sym_float,
        sym_int,
        sym_ite,
        sym_max,
        sym_min,
        sym_not,
        sym_sqrt,
        sym_sum,
        while_loop,
    )
    from retrograd.values import Number as _Number

    def acos_(self: _Tensor) -> _Tensor: ...
    def acosh_(self: _Tensor) -> _Tensor: ...
    def addmv_(
        self: _Tensor, mat: _Tensor, vec: _Tensor, *old: _Tensor, beta: _Number = 1, alpha: _Number = 1
    ) -> _Tensor: ...
    def arccos_(self: _Tensor) -> _Tensor: ...
    def arccosh_(self: _Tensor) -> _Tensor: ...
    def arcsin_(self: _Tensor) -> _Tensor: ...
    def arcsinh_(self: _Tensor) -> _Tensor: ...
    def arctan_(self: _Tensor) -> _Tensor: ...
    def arctanh_(self: _Tensor) -> _Tensor: ...
    def asin_(self: _Tensor) -> _Tensor: ...
    def asinh_(self: _Tensor) -> _Tensor: ...
    def atan_(self: _Tensor) -> _Tensor: ...
    def atanh_(self: _Tensor) -> _Tensor: ...
    def ceil_(self: _Tensor) -> _Tensor: ...
    def clamp_(
        self: _Tensor, min: _Tensor | _Number | None = None, max: _Tensor | _Number | None = None
    ) -> _Tensor: ...
    def clamp_max_(self: _Tensor, max: _Tensor | _Number) -> _Tensor: ...
    def clamp_min_(self: _Tensor, min: _Tensor | _Number) -> _Tensor: ...
    def clip_(
        self: _Tensor, min: _Tensor | _Number | None = None, max: _Tensor | _Number | None = None
    ) -> _Tensor: ...
    def cos_(self: _Tensor) -> _Tensor: ...
    def cosh_(self: _Tensor) -> _Tensor: ...
    def deg2rad_(self: _Tensor) -> _Tensor: ...
    def erf_(self: _Tensor) -> _Tensor: ...
    def erfc_(self: _Tensor) -> _Tensor: ...
    def exp2_(self: _Tensor) -> _Tensor: ...
    def exp_(self: _Tensor) -> _Tensor: ...
    def expm1_(self: _Tensor) -> _Tensor: ...
    def fix_(self: _Tensor) -> _Tensor: ...
    def floor_(self: _Tensor) -> _Tensor: ...
    def frac_(self: _Tensor) -> _Tensor: ...
    def gcd_(self: _Tensor, other: _Tensor) -> _Tensor: ...
    def i0_(self: _Tensor) -> _Tensor: ...
    def index_put_(
        self: _Tensor, indices: _Sequence[_Tensor], values: _Tensor, accumulate: _builtins.bool = False
    ) -> _Tensor: ...
    def lcm_(self: _Tensor, other: _Tensor) -> _Tensor: ...
    def ldexp_(self: _Tensor, other: _Tensor) -> _Tensor: ...
    def log10_(self: _Tensor) -> _Tensor: ...
    def log1p_(self: _Tensor) -> _Tensor: ...
    def log2_(self: _Tensor) -> _Tensor: ...
    def log_(self: _Tensor) -> _Tensor: ...
    def logit_(self: _Tensor, eps: _builtins.float | None = None) -> _Tensor: ...
    def nan_to_num_(
        self: _Tensor,
        nan: _builtins.float | None = None,
        posinf: _builtins.float | None = None,
        neginf: _builtins.float | None = None,
    ) -> _Tensor: ...
    def neg_(self: _Tensor) -> _Tensor: ...
    def negative_(self: _Tensor) -> _Tensor: ...
    def rad2deg_(self: _Tensor) -> _Tensor: ...
    def reciprocal_(self: _Tensor) -> _Tensor: ...
    def relu_(self: _Tensor) -> _Tensor: ...
    def round_(self: _Tensor, *, decimals: _builtins.int | None = None) -> _Tensor: ...
    def rsqrt_(self: _Tensor) -> _Tensor: ...
    def sigmoid_(self: _Tensor) -> _Tensor: ...
    def sin_(self: _Tensor) -> _Tensor: ...
    def sinc_(self: _Tensor) -> _Tensor: ...
    def sinh_(self: _Tensor) -> _Tensor: ...
    def sqrt_(self: _Tensor) -> _Tensor: ...
    def square_(self: _Tensor) -> _Tensor: ...
    def tan_(self: _Tensor) -> _Tensor: ...
    def tanh_(self: _Tensor) -> _Tensor: ...
    def trunc_(self: _Tensor) -> _Tensor: ...
    def xlogy_(self: _Tensor, other: _Tensor | _Number) -> _Tensor: ...
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        _FUNCTIONS,
        {
            "retrograd._C": "_C=",
            "retrograd.__config__": (
                "__config__= compiled_with_cxx11_abi has_lapack has_mkl has_openmp has_spectral"
            ),
            "retrograd.__future__": "__future__=",
            "retrograd._dynamo": "_dynamo=",
            "retrograd._functorch": "_functorch=",
            "retrograd._inductor": "_inductor=",
            "retrograd._jit_internal": "_jit_internal=",
            "retrograd._logging": "_logging=",
            "retrograd._ops": "_ops=",
            "retrograd._tensor_str": "_tensor_str=",
            "retrograd._vmap_internals": "_vmap_internals=",
            "retrograd.accelerator": "accelerator=",
            "retrograd.alias.install": "install_as_torch",
            "retrograd.amp": "amp=",
            "retrograd.amp.autocast_mode": "autocast",
            "retrograd.amp.grad_scaler": "GradScaler",
            "retrograd.amp.settings": (
                "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache "
                "get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
                "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
                "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
                "set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype"
            ),
            "retrograd.autograd": "autograd=",
            "retrograd.autograd.anomaly_mode": (
                "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled"
            ),
            "retrograd.autograd.custom_gradient": "custom_gradient",
            "retrograd.backends": "backends=",
            "retrograd.compiler": "compile compiler=",
            "retrograd.cpu": "cpu= get_device_module",
            "retrograd.cuda": "cuda=",
            "retrograd.distributed": "distributed=",
            "retrograd.distributions": "distributions=",
            "retrograd.errors": "AcceleratorError OutOfMemoryError",
            "retrograd.fft": "fft=",
            "retrograd.foreach": (
                "_foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add "
                "_foreach_add_ _foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul "
                "_foreach_addcmul_ _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_ "
                "_foreach_ceil _foreach_ceil_ _foreach_clamp_max _foreach_clamp_max_ "
                "_foreach_clamp_min _foreach_clamp_min_ _foreach_clone _foreach_copy_ "
                "_foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_div "
                "_foreach_div_ _foreach_erf _foreach_erf_ _foreach_erfc _foreach_erfc_ "
                "_foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_ _foreach_floor "
                "_foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lerp _foreach_lerp_ "
                "_foreach_lgamma _foreach_lgamma_ _foreach_log _foreach_log10 _foreach_log10_ "
                "_foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log_ "
                "_foreach_max _foreach_maximum _foreach_maximum_ _foreach_minimum "
                "_foreach_minimum_ _foreach_mm _foreach_mul _foreach_mul_ _foreach_neg "
                "_foreach_neg_ _foreach_norm _foreach_pow _foreach_pow_ _foreach_powsum "
                "_foreach_reciprocal _foreach_reciprocal_ _foreach_round _foreach_round_ "
                "_foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_ _foreach_sign "
                "_foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh _foreach_sinh_ "
                "_foreach_sqrt _foreach_sqrt_ _foreach_sub _foreach_sub_ _foreach_tan "
                "_foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc _foreach_trunc_ "
                "_foreach_zero_"
            ),
            "retrograd.func": "func=",
            "retrograd.func.mapping": "vmap",
            "retrograd.functional": "functional=",
            "retrograd.futures": "Future futures=",
            "retrograd.fx": "fx=",
            "retrograd.hub": "hub=",
            "retrograd.inspect": "inspect=",
            "retrograd.inspect.why": "why_no_grad",
            "retrograd.jit": "jit=",
            "retrograd.legacy_storages": (
                "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage "
                "ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage "
                "LongStorage ShortStorage _storage_classes"
            ),
            "retrograd.legacy_types": (
                "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor "
                "HalfTensor IntTensor LongTensor ShortTensor _tensor_classes"
            ),
            "retrograd.library": "library=",
            "retrograd.linalg": "linalg=",
            "retrograd.masked": "masked=",
            "retrograd.memory": "memory=",
            "retrograd.mps": "mps=",
            "retrograd.multiprocessing": "multiprocessing=",
            "retrograd.nn": "nn=",
            "retrograd.onnx": "onnx=",
            "retrograd.ops.random.generator": "Generator default_generator",
            "retrograd.ops.tensor.typed_storage": "TypedStorage",
            "retrograd.ops.tensor.untyped_storage": "UntypedStorage",
            "retrograd.optim": "optim=",
            "retrograd.optimize": "optimize=",
            "retrograd.overrides": "overrides=",
            "retrograd.overrides.state": "DisableTorchFunction DisableTorchFunctionSubclass",
            "retrograd.profiler": "profiler=",
            "retrograd.quasirandom": "quasirandom=",
            "retrograd.random": "random=",
            "retrograd.return_types": "return_types=",
            "retrograd.serialization": "serialization=",
            "retrograd.serialization.loading": "load",
            "retrograd.serialization.saving": "save",
            "retrograd.signal": "signal=",
            "retrograd.sparse": "sparse=",
            "retrograd.special": "special=",
            "retrograd.storage": "storage=",
            "retrograd.streams": "Event Stream",
            "retrograd.symbolic": (
                "SymBool SymFloat SymInt cond sym_float sym_int sym_ite sym_max sym_min sym_not "
                "sym_sqrt sym_sum while_loop"
            ),
            "retrograd.testing": "testing=",
            "retrograd.torch_version": "torch_version=",
            "retrograd.types": "types=",
            "retrograd.utils": "utils=",
            "retrograd.version": "version=",
            "retrograd.xpu": "xpu=",
        },
    )

bool = _bool
half = float16
float = float32
double = float64
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128
e: _builtins.float = _np.e
inf: _builtins.float = _np.inf
nan: _builtins.float = _np.nan
pi: _builtins.float = _np.pi
newaxis = _np.newaxis

__all__ = [
    "AcceleratorError",
    "BFloat16Storage",
    "BFloat16Tensor",
    "BoolStorage",
    "BoolTensor",
    "ByteStorage",
    "ByteTensor",
    "CharStorage",
    "CharTensor",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DoubleStorage",
    "DoubleTensor",
    "Event",
    "FloatStorage",
    "FloatTensor",
    "Future",
    "Generator",
    "GradScaler",
    "HalfStorage",
    "HalfTensor",
    "IntStorage",
    "IntTensor",
    "LongStorage",
    "LongTensor",
    "OutOfMemoryError",
    "ShortStorage",
    "ShortTensor",
    "Size",
    "Stream",
    "SymBool",
    "SymFloat",
    "SymInt",
    "Tensor",
    "TypedStorage",
    "UntypedStorage",
    "__version__",
    "_amp_foreach_non_finite_check_and_unscale_",
    "_amp_update_scale_",
    "_assert",
    "_assert_async",
    "_cast_Byte",
    "_cast_Char",
    "_cast_Double",
    "_cast_Float",
    "_cast_Half",
    "_cast_Int",
    "_cast_Long",
    "_cast_Short",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_tensor_all_with",
    "_check_type",
    "_check_value",
    "_check_with",
    "_convert_indices_from_coo_to_csr",
    "_convert_indices_from_csr_to_coo",
    "_debug_has_internal_overlap",
    "_dirichlet_grad",
    "_grouped_mm",
    "_neg_view",
    "_sample_dirichlet",
    "_segment_reduce",
    "_standard_gamma",
    "_standard_gamma_grad",
    "_storage_classes",
    "_tensor_classes",
    "_weight_norm",
    "abs",
    "abs_",
    "absolute",
    "accelerator",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addmv_",
    "addr",
    "adjoint",
    "affine_grid_generator",
    "alias_copy",
    "all",
    "allclose",
    "alpha_dropout",
    "alpha_dropout_",
    "amax",
    "amin",
    "aminmax",
    "amp",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccos_",
    "arccosh",
    "arccosh_",
    "arcsin",
    "arcsin_",
    "arcsinh",
    "arcsinh_",
    "arctan",
    "arctan2",
    "arctan_",
    "arctanh",
    "arctanh_",
    "are_deterministic_algorithms_enabled",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_strided_",
    "as_strided_copy",
    "as_strided_scatter",
    "as_tensor",
    "asarray",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "atan",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "autograd",
    "avg_pool1d",
    "baddbmm",
    "bartlett_window",
    "batch_norm",
    "bernoulli",
    "bfloat16",
    "bilinear",
    "binary_cross_entropy_with_logits",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "bool",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cat",
    "cdist",
    "cdouble",
    "ceil",
    "ceil_",
    "celu",
    "celu_",
    "cfloat",
    "chain_matmul",
    "channel_shuffle",
    "channels_last",
    "channels_last_3d",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clear_autocast_cache",
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "combinations",
    "compile",
    "compiled_with_cxx11_abi",
    "compiler",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "cond",
    "conj",
    "conj_physical",
    "conj_physical_",
    "constant_pad_nd",
    "contiguous_format",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
    "copysign",
    "corrcoef",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cpu",
    "cross",
    "ctc_loss",
    "cuda",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "custom_gradient",
    "default_generator",
    "deg2rad",
    "deg2rad_",
    "det",
    "detach",
    "detach_",
    "detach_copy",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_copy",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dist",
    "distributed",
    "distributions",
    "div",
    "divide",
    "dot",
    "double",
    "dropout",
    "dropout_",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "einsum",
    "embedding",
    "embedding_bag",
    "embedding_renorm_",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "enable_grad",
    "eq",
    "equal",
    "erf",
    "erf_",
    "erfc",
    "erfc_",
    "erfinv",
    "exp",
    "exp2",
    "exp2_",
    "exp_",
    "expand_copy",
    "expm1",
    "expm1_",
    "eye",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "fft",
    "fill",
    "fill_",
    "finfo",
    "fix",
    "fix_",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frac_",
    "frexp",
    "frobenius_norm",
    "from_dlpack",
    "from_file",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "func",
    "futures",
    "fx",
    "gather",
    "gcd",
    "gcd_",
    "ge",
    "geqrf",
    "ger",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_deterministic_debug_mode",
    "get_device",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "group_norm",
    "gru",
    "gru_cell",
    "gt",
    "half",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "hash_tensor",
    "heaviside",
    "hinge_embedding_loss",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hub",
    "hypot",
    "i0",
    "i0_",
    "igamma",
    "igammac",
    "iinfo",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_select",
    "inf",
    "inference_mode",
    "initial_seed",
    "inner",
    "install_as_torch",
    "instance_norm",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_complex",
    "is_conj",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_distributed",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "is_warn_always_enabled",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "jagged",
    "jit",
    "kaiser_window",
    "kl_div",
    "kron",
    "kthvalue",
    "layer_norm",
    "layout",
    "lcm",
    "lcm_",
    "ldexp",
    "ldexp_",
    "le",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "library",
    "linalg",
    "linspace",
    "load",
    "lobpcg",
    "log",
    "log10",
    "log10_",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log_",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logit_",
    "logspace",
    "logsumexp",
    "long",
    "lstm",
    "lstm_cell",
    "lt",
    "lu",
    "lu_solve",
    "lu_unpack",
    "manual_seed",
    "margin_ranking_loss",
    "masked",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "max",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "median",
    "memory",
    "memory_format",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "movedim",
    "mps",
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "multiprocessing",
    "mv",
    "mvlgamma",
    "nan",
    "nan_to_num",
    "nan_to_num_",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "native_batch_norm",
    "native_channel_shuffle",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "ne",
    "neg",
    "neg_",
    "negative",
    "negative_",
    "newaxis",
    "nextafter",
    "nn",
    "no_grad",
    "nonzero",
    "nonzero_static",
    "norm",
    "norm_except_dim",
    "normal",
    "not_equal",
    "nuclear_norm",
    "numel",
    "ones",
    "ones_like",
    "onnx",
    "optim",
    "optimize",
    "orgqr",
    "ormqr",
    "outer",
    "overrides",
    "pairwise_distance",
    "pca_lowrank",
    "pdist",
    "permute",
    "permute_copy",
    "pi",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "poisson_nll_loss",
    "polar",
    "polygamma",
    "positive",
    "pow",
    "prelu",
    "preserve_format",
    "prod",
    "profiler",
    "promote_types",
    "put",
    "qr",
    "quantile",
    "quasirandom",
    "rad2deg",
    "rad2deg_",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "range",
    "ravel",
    "real",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu_",
    "remainder",
    "renorm",
    "repeat_interleave",
    "reshape",
    "resize_as_",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "rms_norm",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "roll",
    "rot90",
    "round",
    "round_",
    "row_stack",
    "rrelu",
    "rrelu_",
    "rsqrt",
    "rsqrt_",
    "rsub",
    "save",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "segment_reduce",
    "select",
    "select_copy",
    "select_scatter",
    "selu",
    "selu_",
    "set_anomaly_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
    "set_default_device",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "set_warn_always",
    "sgn",
    "short",
    "sigmoid",
    "sigmoid_",
    "sign",
    "signal",
    "signbit",
    "sin",
    "sin_",
    "sinc",
    "sinc_",
    "sinh",
    "sinh_",
    "slice_copy",
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "special",
    "split",
    "split_copy",
    "split_with_sizes",
    "split_with_sizes_copy",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "squeeze_copy",
    "stack",
    "std",
    "std_mean",
    "stft",
    "strided",
    "sub",
    "subtract",
    "sum",
    "svd",
    "svd_lowrank",
    "swapaxes",
    "swapdims",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
    "t",
    "t_copy",
    "take",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor",
    "tensor_split",
    "tensordot",
    "testing",
    "thread_safe_generator",
    "threshold",
    "threshold_",
    "tile",
    "to_dlpack",
    "topk",
    "trace",
    "transpose",
    "transpose_copy",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triplet_margin_loss",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "trunc_",
    "typename",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unbind",
    "unbind_copy",
    "unflatten",
    "unfold_copy",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_copy",
    "use_deterministic_algorithms",
    "utils",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "view_as_complex",
    "view_as_complex_copy",
    "view_as_real",
    "view_as_real_copy",
    "view_copy",
    "vmap",
    "vsplit",
    "vstack",
    "where",
    "while_loop",
    "why_no_grad",
    "xlogy",
    "xlogy_",
    "xpu",
    "zero_",
    "zeros",
    "zeros_like",
]
__all__ += _without_arrays.__all__
