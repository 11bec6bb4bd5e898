"""Classes that say what functions do to them, under the names of `torch.overrides`.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.overrides.default import get_default_nowrap_functions, redispatch_function
    from retrograd.overrides.listing import (
        get_ignored_functions,
        get_overridable_functions,
        get_testing_overrides,
        is_tensor_method_or_property,
        resolve_name,
    )
    from retrograd.overrides.modes import BaseTorchFunctionMode, TorchFunctionMode
    from retrograd.overrides.protocol import (
        handle_torch_function,
        has_torch_function,
        has_torch_function_unary,
        has_torch_function_variadic,
        is_tensor_like,
        wrap_torch_function,
    )
    from retrograd.overrides.state import (
        DisableTorchFunction,
        DisableTorchFunctionSubclass,
        enable_reentrant_dispatch,
    )
    from retrograd.overrides.switch import switch_on
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.overrides.default": "get_default_nowrap_functions redispatch_function",
            "retrograd.overrides.listing": (
                "get_ignored_functions get_overridable_functions get_testing_overrides is_tensor_method_or_property "
                "resolve_name"
            ),
            "retrograd.overrides.modes": (
                "BaseTorchFunctionMode TorchFunctionMode _get_current_function_mode _get_current_function_mode_stack"
            ),
            "retrograd.overrides.protocol": (
                "handle_torch_function has_torch_function has_torch_function_unary has_torch_function_variadic "
                "is_tensor_like wrap_torch_function"
            ),
            "retrograd.overrides.state": (
                "DisableTorchFunction DisableTorchFunctionSubclass enable_reentrant_dispatch"
            ),
            "retrograd.overrides.switch": "switch_on",
        },
    )

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "switch_on",
    "wrap_torch_function",
]
