"""Operations of one's own that are found as `torch.ops.namespace.name`, under the names of `torch.library`.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.library.checking import OpCheckError, opcheck
    from retrograd.library.custom import CustomOpDef, custom_op
    from retrograd.library.libraries import Library, define, fallthrough_kernel, impl
    from retrograd.library.registering import (
        get_ctx,
        register_autograd,
        register_fake,
        register_kernel,
        register_vmap,
    )
    from retrograd.library.schema import infer_schema
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.library.checking": "OpCheckError opcheck",
            "retrograd.library.custom": "CustomOpDef custom_op",
            "retrograd.library.libraries": "Library _scoped_library define fallthrough_kernel impl",
            "retrograd.library.registering": (
                "get_ctx register_autograd register_fake register_kernel register_vmap impl_abstract=register_fake"
            ),
            "retrograd.library.schema": "infer_schema",
        },
    )

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
