"""The differences in calls of PyTorch's samples that are known, with their reasons: docs/differences.md tells users."""

from __future__ import annotations

import re
from typing import NamedTuple


class Known(NamedTuple):
    """Why calls differ: patterns of the kind of difference, the operation, the words, and the way it was called."""

    why: str
    kinds: str
    operations: str = ".*"
    words: str = ""  # what is found in the words of the difference or in the call
    ways: str = ".*"


NO_KERNEL = r"not implemented for \\?'"
NOTHING = r"\[0\b|, 0\b|\[\]|<\w+\[\]"  # an empty tensor in the call, or one without dimensions
FACTORS = (
    r"(linalg\.)?(svd|eig|eigh|qr|lu|ldl_factor|ldl_factor_ex|ldl_solve|householder_product|geqrf|lstsq|cond|pinv|norm"
    r"|matrix_norm|matrix_rank|eigvals|eigvalsh|solve|solve_ex|slogdet|logdet|det|lu_solve|lu_factor|lu_factor_ex|inv"
    r"|inv_ex|svdvals|tensorinv|tensorsolve|solve_triangular|cholesky|cholesky_ex|cholesky_inverse|cholesky_solve)(\.\w+)?"
    r"|pinverse|triangular_solve|ormqr|svd_lowrank|pca_lowrank"
)
EXPLAINED = [
    # What is taken.
    Known("PyTorch has no kernel for that dtype", ".*raises only there", words=NO_KERNEL),
    Known(
        "of nothing, PyTorch runs no kernel that would refuse",
        ".*raises only here",
        words=f"{NO_KERNEL}.*\n.*({NOTHING})",
    ),
    Known("two faults, of which another is told first", ".*error type", words=NO_KERNEL),
    Known(
        "two faults, of which another is told first", "error type|raises only here", r"cum(sum|prod)", "Bool"
    ),
    Known(
        "two faults, of which another is told first",
        "error type",
        "arange|narrow_copy|.*linear_cross_entropy.*",
    ),
    Known("two faults, of which another is told first", "error type", words="single memory location"),
    Known(
        "derivatives where PyTorch has none",
        ".*raises only there",
        words="automatic differentiation for outputs",
    ),
    Known(
        "derivatives where PyTorch has none",
        ".*(raises only there|error type)",
        words="is not implemented|forward AD",
    ),
    Known(
        "derivatives where PyTorch has none",
        "tangent.*|second derivative.*",
        r".*linear_cross_entropy\.\w+|scatter_reduce.*",
    ),
    Known(
        "of nothing, PyTorch runs no formula that would refuse",
        "tangent raises only here",
        r"(linalg\.)?svd",
        "full_matrices",
    ),
    Known(
        "out= takes any dtype that can be cast to",
        "raises only there",
        words="out tensor|object of scalar type|'out'|tensor out",
    ),
    Known(
        "no out= where PyTorch's is not documented", "raises only here", words="argument 'out'", ways="out"
    ),
    Known(
        "Python's operators take a number first",
        "raises only there|values",
        r"__r\w+__|rsub",
        "descriptor|NotImplemented|int, Tensor",
    ),
    Known("an operator of Python 2", ".*", "__rdiv__", "__rdiv__"),
    Known(
        "a compiled class's `x.__rsub__(y)` is Python's, and asks for `y - x`",
        "node",
        "__rsub__",
        "SubBackward0 here",
    ),
    Known(
        "where a number is wanted, more stands for one",
        ".*raises only there|error type",
        ways="other numbers",
    ),
    Known("names that PyTorch's overloads have apart are one", "raises only there", ways="by names"),
    Known(
        "NumPy's names for input and other",
        "raises only here|error type",
        words="argument '(a|input)'|argument: 'x'",
        ways="by names",
    ),
    Known(
        "layouts that PyTorch's kernel does not take",
        ".*raises only there",
        words="view size is not|INTERNAL ASSERT|is_contiguous",
    ),
    Known(
        "expanded matrices are singular",
        ".*raises only (t?here)",
        words="singular|full rank|positive-definite",
        ways="other layout",
    ),
    Known(
        "statistics that share memory are not written",
        "raises only there",
        r".*instance_norm",
        "single memory location",
    ),
    Known(
        "vmap where PyTorch has none",
        "vmap raises only there",
        words="Batching rule|special handling|required rank 4",
    ),
    Known(
        "PyTorch calls it once for each sample",
        "vmap raises only here",
        r"argwhere|nonzero_static|histogram|lin.*|log.*",
        "vmap",
    ),
    Known("PyTorch gives the target another shape", "raises only here", "addbmm", "broadcast"),
    Known(
        "there is no complex32", "dtype|raises only here", "complex|view_as_complex|polar", "complex32|Half"
    ),
    Known("no gradient of nan_to_num for complex numbers", "raises only here", "nan_to_num", "complex"),
    Known("numbers that are drawn have no gradient", "raises only there", r"normal.*", "complex|Bool"),
    Known(
        "PyTorch's is made of others, which refuse",
        "raises only there",
        r".*embedding|.*cross_entropy.*|broadcast_shapes|masked_fill",
    ),
    # What comes out.
    Known(
        "which of equal elements is free",
        ".*(values|gradient)",
        r"sort|argsort|msort|topk|kthvalue|mode|unique.*",
    ),
    Known(
        "PyTorch reads beyond an expanded tensor",
        "values|gradient",
        r"(nan)?median|native_group_norm",
        ways="other layout",
    ),
    Known("signs of vectors are free, expanded matrices singular", ".*(values|gradient|shape)", FACTORS),
    Known("a tangent of a half of a matrix is one of that half", "tangent", FACTORS),
    Known("finite where PyTorch's are NaN", "second derivative", r".*norm.*", "nan there"),
    Known(
        "half precision is computed in float32, and rounded once",
        ".*(values|gradient)",
        words=r"\b(b?float16)\[",
    ),
    Known(
        "PyTorch's is off",
        ".*(values|tangent)",
        r".*silu\.complex|special\.(bessel|airy|i0|i1).*|.*soft_margin_loss|i0",
    ),
    Known("PyTorch's is off", "gradient", r"as_strided_scatter|.*hardsigmoid|scatter_reduce\.prod"),
    Known("PyTorch's out= is not written", "values", r"fft\.ihfft\w+", ways="out"),
    Known("a result that is an argument there", ".*", "histogramdd"),
    Known("a multiple of a turn is free", "values", "logcumsumexp", "complex"),
    Known("elements that share memory are written once", "values", "as_strided_scatter", ways="other layout"),
    Known("truth values are counted", ".*values", r".*cosine_embedding_loss", "bool"),
    Known("infinite beside NaN", ".*values", words="(inf|nan).* (there|here)"),
    Known("integers stay integers", "vmap dtype", r"b?add(bmm|mv|mm)"),
    Known(
        "number parameters do not decide the dtype",
        "dtype|values",
        r".*local_response_norm|.*cosine_embedding_loss",
        ways="other numbers",
    ),
    Known("no gradient where nothing depends", ".*of nothing", r"linalg\.householder_product|ormqr|orgqr"),
    Known(
        "rounding beside large numbers", "gradient", "logcumsumexp|renorm|std_mean.*|var_mean.*|std.*|var.*"
    ),
    Known(
        "rounding of numbers that are all equal",
        "second derivative",
        "(std|var)(_mean)?.*",
        ways="other layout",
    ),
    Known("finite where PyTorch's are NaN", "second derivative", words="nan.* there"),
    Known("PyTorch takes truth values and complex numbers", "raises only here", r"index_reduce.*", NO_KERNEL),
    Known("PyTorch fills a line of one truth value", "raises only here", r"(lin|log)space.*", "Bool"),
    Known("no pair, no kernel that would refuse", "raises only here", r".*pdist", NO_KERNEL),
    Known(
        "statistics that share memory are not written",
        "raises only here",
        r"native_batch_norm",
        "single memory",
    ),
    Known("derivatives where PyTorch has none", ".*raises only there", r"native_layer_norm", "proper Tensor"),
    Known(
        "layouts that PyTorch's kernel does not take",
        "gradient raises only there",
        words="must be contiguous",
    ),
    Known(
        "statistics that share memory are not written", "raises only here", r".*batch_norm.*", "single memory"
    ),
    Known(
        "PyTorch calls it once for each sample",
        "vmap raises only here",
        r"index_reduce.*|masked_select|trace|.*max_pool1d",
    ),
    Known("finite where PyTorch's are NaN", "tangent", "logcumsumexp", "nan.* there"),
    Known("layouts that are dense are kept", "strides", "ldexp|stft"),
    Known("rounding of singular matrices", "second derivative", FACTORS, ways="other layout"),
    Known("PyTorch multiplies truth values that lie apart", "raises only here", "inner|v?dot", "Bool"),
    # How it came about.
    Known(
        "other nodes for the same",
        "node",
        r"einsum|.*pad\.circular|.*conv.*|repeat_interleave|linalg\.tensorinv|native_group_norm",
    ),
    Known(
        "other nodes for the same",
        "node",
        r"signal\.windows.*|.*linear_cross_entropy.*|to|a(cos|sin|tan)h|.*rms_norm",
    ),
    Known("other nodes for the same", "node", "as_strided_copy", "bfloat16"),
    Known(
        "a product of conjugates is a conjugate in PyTorch",
        "conjugate",
        r"vdot|tensordot|linalg\.lu_solve|dot|inner",
    ),
    Known("pieces of bfloat16 are copies", "sharing", r"unsafe_\w+", "bfloat16"),
    Known("a window that requires a gradient is a leaf", "requires_grad", r"signal\.windows.*"),
    Known("results of inference are known to be such", "values", "native_batch_norm|diff", ways="inference"),
    Known("layouts that are dense are kept", "strides", r"masked_fill|angle|unravel_index|" + FACTORS),
    Known("layouts of expanded operands", "strides", ways="other layout", words=r"strides \(.*\b0\b.*\)"),
]


def reason(operation: str, way: str, kind: str, words: str, call: str) -> str | None:
    """Why a call is known to differ, or None."""
    for known in EXPLAINED:
        if (
            re.fullmatch(known.kinds, kind)
            and re.fullmatch(known.operations, operation)
            and re.fullmatch(known.ways, way)
            and re.search(known.words, f"{words}\n{call}", re.DOTALL)
        ):
            return known.why
    return None
