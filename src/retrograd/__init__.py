"""retrograd: PyTorch's autograd over NumPy arrays.

The function imports below are written by `tools/generate.py` from the op library.
"""

import numpy as _np

from retrograd import autograd, cuda, fft, linalg, nn, utils
from retrograd.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
)
from retrograd.autograd.custom_gradient import (
    custom_gradient,
)
from retrograd.autograd.modes import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from retrograd.backends.base import (
    device,
)
from retrograd.backends.dtypes import bool_ as _bool
from retrograd.backends.dtypes import (
    can_cast,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    result_type,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
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
from retrograd.inspect.why import (
    why_no_grad,
)
from retrograd.ops.activation import (
    celu,
    dropout,
    relu,
    selu,
    threshold,
)
from retrograd.ops.arithmetic import (
    add,
    div,
    float_power,
    floor_divide,
    mul,
    neg,
    positive,
    pow,
    reciprocal,
    remainder,
    rsub,
    square,
    sub,
)
from retrograd.ops.arithmetic import (
    div as divide,
)
from retrograd.ops.arithmetic import (
    div as true_divide,
)
from retrograd.ops.arithmetic import (
    mul as multiply,
)
from retrograd.ops.arithmetic import (
    neg as negative,
)
from retrograd.ops.arithmetic import (
    sub as subtract,
)
from retrograd.ops.arrange import (
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
from retrograd.ops.arrange import (
    movedim as moveaxis,
)
from retrograd.ops.arrange import (
    transpose as swapdims,
)
from retrograd.ops.choose import (
    clamp,
    clamp_max,
    clamp_min,
    maximum,
    minimum,
    where,
)
from retrograd.ops.choose import (
    clamp as clip,
)
from retrograd.ops.combine import (
    block_diag,
    cartesian_prod,
    combinations,
    detach,
    nonzero_static,
    unravel_index,
)
from retrograd.ops.compare import (
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
from retrograd.ops.compare import (
    ge as greater_equal,
)
from retrograd.ops.compare import (
    gt as greater,
)
from retrograd.ops.compare import (
    le as less_equal,
)
from retrograd.ops.compare import (
    lt as less,
)
from retrograd.ops.compare import (
    ne as not_equal,
)
from retrograd.ops.complexes import (
    complex,
    imag,
    is_complex,
    is_conj,
    is_floating_point,
    isreal,
    polar,
    real,
    resolve_neg,
    view_as_complex,
    view_as_real,
)
from retrograd.ops.convert import (
    clone,
    contiguous,
    cpu,
    to,
    type,
    type_as,
)
from retrograd.ops.copies import (
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
from retrograd.ops.create import (
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
from retrograd.ops.data import (
    as_tensor,
    asarray,
    from_numpy,
    tensor,
)
from retrograd.ops.einsum import (
    einsum,
)
from retrograd.ops.entropy import (
    binary_cross_entropy_with_logits,
)
from retrograd.ops.erf import (
    erf,
    erfc,
)
from retrograd.ops.extrema import (
    amax,
    amin,
    aminmax,
    argmax,
    argmin,
    max,
    min,
)
from retrograd.ops.fused import (
    addcdiv,
    addcmul,
    lerp,
)
from retrograd.ops.gather import (
    gather,
    index_put,
    scatter,
    scatter_add,
    take,
    take_along_dim,
)
from retrograd.ops.generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from retrograd.ops.inplace import (
    fill,
)
from retrograd.ops.inplace_functions import (
    celu_,
    dropout_,
    selu_,
    threshold_,
)
from retrograd.ops.join import (
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
from retrograd.ops.kinds import (
    is_inference,
    is_nonzero,
    is_tensor,
)
from retrograd.ops.linalg import (
    addbmm,
    addmm,
    addmv,
    addr,
    baddbmm,
    bmm,
    chain_matmul,
    dot,
    inner,
    linear,
    matmul,
    mm,
    mv,
    outer,
    tensordot,
    vdot,
)
from retrograd.ops.linalg import (
    outer as ger,
)
from retrograd.ops.mask import (
    argwhere,
    masked_fill,
    masked_scatter,
    masked_select,
    nonzero,
)
from retrograd.ops.math import (
    abs,
    angle,
    conj,
    conj_physical,
    exp,
    exp2,
    expm1,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    resolve_conj,
    rsqrt,
    sgn,
    sigmoid,
    sign,
    sqrt,
)
from retrograd.ops.math import (
    abs as absolute,
)
from retrograd.ops.memory import (
    empty_permuted,
    empty_strided,
    from_dlpack,
    frombuffer,
    to_dlpack,
)
from retrograd.ops.memory import (
    inclusive_range as range,
)
from retrograd.ops.random import (
    bernoulli,
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
from retrograd.ops.reduce import (
    all,
    any,
    count_nonzero,
    logsumexp,
    mean,
    nansum,
    prod,
    sum,
)
from retrograd.ops.rounding import (
    ceil,
    floor,
    frac,
    round,
    trunc,
)
from retrograd.ops.rounding import (
    trunc as fix,
)
from retrograd.ops.rows import (
    index_add,
    index_copy,
    index_fill,
    index_select,
    repeat_interleave,
)
from retrograd.ops.scan import (
    cumprod,
    cumsum,
)
from retrograd.ops.scatters import (
    diagonal_scatter,
    index_reduce,
    put,
    scatter_reduce,
    select_scatter,
    slice_scatter,
)
from retrograd.ops.shape import (
    broadcast_shapes,
    broadcast_tensors,
    broadcast_to,
    expand,
    expand_as,
    flatten,
    is_same_size,
    numel,
    ravel,
    repeat,
    reshape,
    reshape_as,
    squeeze,
    tile,
    unflatten,
    unsqueeze,
    view,
    view_as,
)
from retrograd.ops.softmax import (
    log_softmax,
    softmax,
)
from retrograd.ops.split import (
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
from retrograd.ops.statistics import (
    norm,
    std,
    std_mean,
    var,
    var_mean,
)
from retrograd.ops.strided import (
    as_strided,
    as_strided_copy,
    as_strided_scatter,
)
from retrograd.ops.triangle import (
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
from retrograd.ops.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)
from retrograd.ops.trigonometry import (
    acos as arccos,
)
from retrograd.ops.trigonometry import (
    acosh as arccosh,
)
from retrograd.ops.trigonometry import (
    asin as arcsin,
)
from retrograd.ops.trigonometry import (
    asinh as arcsinh,
)
from retrograd.ops.trigonometry import (
    atan as arctan,
)
from retrograd.ops.trigonometry import (
    atanh as arctanh,
)
from retrograd.ops.windows import (
    bartlett_window,
    blackman_window,
    hamming_window,
    hann_window,
    istft,
    kaiser_window,
    stft,
)

__version__ = "0.1.0"

bool = _bool
half = float16
float = float32
double = float64
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128
dtype = _np.dtype
strided = "strided"
contiguous_format = "contiguous_format"
preserve_format = "preserve_format"
e = _np.e
finfo = _np.finfo
iinfo = _np.iinfo
inf = _np.inf
nan = _np.nan
newaxis = _np.newaxis
pi = _np.pi
abs_ = Tensor.abs_
acos_ = Tensor.acos_
acosh_ = Tensor.acosh_
addmv_ = Tensor.addmv_
arccos_ = Tensor.arccos_
arccosh_ = Tensor.arccosh_
arcsin_ = Tensor.arcsin_
arcsinh_ = Tensor.arcsinh_
arctan_ = Tensor.arctan_
arctanh_ = Tensor.arctanh_
as_strided_ = Tensor.as_strided_
asin_ = Tensor.asin_
asinh_ = Tensor.asinh_
atan_ = Tensor.atan_
atanh_ = Tensor.atanh_
ceil_ = Tensor.ceil_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
conj_physical_ = Tensor.conj_physical_
cos_ = Tensor.cos_
cosh_ = Tensor.cosh_
detach_ = Tensor.detach_
erf_ = Tensor.erf_
erfc_ = Tensor.erfc_
exp2_ = Tensor.exp2_
exp_ = Tensor.exp_
expm1_ = Tensor.expm1_
fill_ = Tensor.fill_
fix_ = Tensor.fix_
floor_ = Tensor.floor_
frac_ = Tensor.frac_
index_put_ = Tensor.index_put_
log10_ = Tensor.log10_
log1p_ = Tensor.log1p_
log2_ = Tensor.log2_
log_ = Tensor.log_
neg_ = Tensor.neg_
negative_ = Tensor.negative_
reciprocal_ = Tensor.reciprocal_
relu_ = Tensor.relu_
resize_as_ = Tensor.resize_as_
round_ = Tensor.round_
rsqrt_ = Tensor.rsqrt_
sigmoid_ = Tensor.sigmoid_
sin_ = Tensor.sin_
sinh_ = Tensor.sinh_
sqrt_ = Tensor.sqrt_
square_ = Tensor.square_
tan_ = Tensor.tan_
tanh_ = Tensor.tanh_
trunc_ = Tensor.trunc_
zero_ = Tensor.zero_

__all__ = [
    "Generator",
    "Size",
    "Tensor",
    "__version__",
    "abs",
    "abs_",
    "absolute",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addmv_",
    "addr",
    "adjoint",
    "alias_copy",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
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
    "arctan_",
    "arctanh",
    "arctanh_",
    "argmax",
    "argmin",
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
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autograd",
    "baddbmm",
    "bartlett_window",
    "bernoulli",
    "binary_cross_entropy_with_logits",
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
    "can_cast",
    "cartesian_prod",
    "cat",
    "cdouble",
    "ceil",
    "ceil_",
    "celu",
    "celu_",
    "cfloat",
    "chain_matmul",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "combinations",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "conj",
    "conj_physical",
    "conj_physical_",
    "constant_pad_nd",
    "contiguous",
    "contiguous_format",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "count_nonzero",
    "cpu",
    "cuda",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "default_generator",
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
    "exp",
    "exp2",
    "exp2_",
    "exp_",
    "expand",
    "expand_as",
    "expand_copy",
    "expm1",
    "expm1_",
    "eye",
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
    "frac",
    "frac_",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "gather",
    "ge",
    "ger",
    "get_default_dtype",
    "get_num_interop_threads",
    "get_num_threads",
    "get_rng_state",
    "greater",
    "greater_equal",
    "gt",
    "half",
    "hamming_window",
    "hann_window",
    "hsplit",
    "hstack",
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
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_nonzero",
    "is_same_size",
    "is_tensor",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isreal",
    "istft",
    "kaiser_window",
    "le",
    "lerp",
    "less",
    "less_equal",
    "linalg",
    "linear",
    "linspace",
    "log",
    "log10",
    "log10_",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log_",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "logsumexp",
    "long",
    "lt",
    "manual_seed",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multinomial",
    "multiply",
    "mv",
    "nan",
    "nansum",
    "narrow",
    "narrow_copy",
    "ne",
    "neg",
    "neg_",
    "negative",
    "negative_",
    "newaxis",
    "nn",
    "no_grad",
    "nonzero",
    "nonzero_static",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "ones",
    "ones_like",
    "outer",
    "permute",
    "permute_copy",
    "pi",
    "poisson",
    "polar",
    "positive",
    "pow",
    "preserve_format",
    "prod",
    "promote_types",
    "put",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "range",
    "ravel",
    "real",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu_",
    "remainder",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "resize_as_",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "roll",
    "rot90",
    "round",
    "round_",
    "row_stack",
    "rsqrt",
    "rsqrt_",
    "rsub",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "seed",
    "select",
    "select_copy",
    "select_scatter",
    "selu",
    "selu_",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "sgn",
    "short",
    "sigmoid",
    "sigmoid_",
    "sign",
    "sin",
    "sin_",
    "sinh",
    "sinh_",
    "slice_copy",
    "slice_scatter",
    "softmax",
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
    "swapaxes",
    "swapdims",
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
    "threshold",
    "threshold_",
    "tile",
    "to",
    "to_dlpack",
    "trace",
    "transpose",
    "transpose_copy",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "trunc_",
    "type",
    "type_as",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unbind",
    "unbind_copy",
    "unflatten",
    "unfold_copy",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_copy",
    "utils",
    "var",
    "var_mean",
    "vdot",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_complex_copy",
    "view_as_real",
    "view_as_real_copy",
    "view_copy",
    "vsplit",
    "vstack",
    "where",
    "why_no_grad",
    "zero_",
    "zeros",
    "zeros_like",
]
