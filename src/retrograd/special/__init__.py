"""Special functions under PyTorch's names.

Written by `tools/generate.py` from the op library.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily
from retrograd.public_names import SPECIAL as _SPECIAL

if _typing.TYPE_CHECKING:
    from retrograd.ops.elementwise.binary import (
        xlog1py,
        xlogy,
    )
    from retrograd.ops.elementwise.exponential import (
        entr,
        exp2,
        expm1,
        log1p,
        logit,
    )
    from retrograd.ops.elementwise.exponential import (
        sigmoid as expit,
    )
    from retrograd.ops.elementwise.rounding import (
        special_round as round,
    )
    from retrograd.ops.elementwise.trigonometry import (
        sinc,
    )
    from retrograd.ops.nn.softmax import (
        log_softmax,
        softmax,
    )
    from retrograd.ops.reduce.sums import (
        logsumexp,
    )
    from retrograd.ops.special.bessel import (
        airy_ai,
        bessel_j0,
        bessel_j1,
        bessel_y0,
        bessel_y1,
        i0,
        i0e,
        i1,
        i1e,
        modified_bessel_i0,
        modified_bessel_i1,
        modified_bessel_k0,
        modified_bessel_k1,
        scaled_modified_bessel_k0,
        scaled_modified_bessel_k1,
        spherical_bessel_j0,
    )
    from retrograd.ops.special.erf import (
        erf,
        erfc,
    )
    from retrograd.ops.special.gamma import (
        digamma,
        polygamma,
        zeta,
    )
    from retrograd.ops.special.gamma import (
        digamma as psi,
    )
    from retrograd.ops.special.gamma import (
        lgamma as gammaln,
    )
    from retrograd.ops.special.gamma import (
        mvlgamma as multigammaln,
    )
    from retrograd.ops.special.incomplete_gamma import (
        igamma as gammainc,
    )
    from retrograd.ops.special.incomplete_gamma import (
        igammac as gammaincc,
    )
    from retrograd.ops.special.normal import (
        erfcx,
        erfinv,
        log_ndtr,
        ndtr,
        ndtri,
    )
    from retrograd.ops.special.polynomials import (
        chebyshev_polynomial_t,
        chebyshev_polynomial_u,
        chebyshev_polynomial_v,
        chebyshev_polynomial_w,
        hermite_polynomial_h,
        hermite_polynomial_he,
        laguerre_polynomial_l,
        legendre_polynomial_p,
        shifted_chebyshev_polynomial_t,
        shifted_chebyshev_polynomial_u,
        shifted_chebyshev_polynomial_v,
        shifted_chebyshev_polynomial_w,
    )
else:
    __getattr__, __dir__ = _lazily(__name__, _SPECIAL)

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]
