"""Which kernel computes `scaled_dot_product_attention`, masks that know what they are, and attention by functions.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.nn.attention import bias, flex_attention
    from retrograd.nn.attention.kernels import SDPBackend, sdpa_kernel
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.nn.attention.bias": "bias=",
            "retrograd.nn.attention.flex_attention": "flex_attention=",
            "retrograd.nn.attention.kernels": "SDPBackend _cur_sdpa_kernel_backends sdpa_kernel",
        },
    )

__all__ = ["SDPBackend", "bias", "flex_attention", "sdpa_kernel"]
