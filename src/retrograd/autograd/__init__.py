"""What people import: backward, grad, the modes, custom operations and the graph's public face.

Most names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.autograd import graph
from retrograd.autograd import modes as grad_mode
from retrograd.autograd.backward import backward, grad
from retrograd.autograd.modes import (
    _force_original_view_tracking as _force_original_view_tracking,
)
from retrograd.autograd.modes import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from retrograd.core.saved import SavedTensor
from retrograd.lazy import lazily as _lazily
from retrograd.lazy import prefer_functions as _prefer_functions

if _typing.TYPE_CHECKING:
    from retrograd.autograd import forward_ad, functional
    from retrograd.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
    from retrograd.autograd.custom_gradient import custom_gradient
    from retrograd.autograd.function import Function, NestedIOFunction
    from retrograd.autograd.gradcheck import gradcheck, gradgradcheck
    from retrograd.autograd.mutation import (
        _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
    )
    from retrograd.autograd.nonfinite import detect_nonfinite
    from retrograd.autograd.variable import Variable
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.autograd._functions": "_functions=",
            "retrograd.autograd.anomaly_mode": "anomaly_mode= detect_anomaly set_detect_anomaly",
            "retrograd.autograd.backward": (
                "_calculate_shape=shapes_of _make_grads=make_grads _tensor_or_tensors_to_tuple=grad_list"
            ),
            "retrograd.autograd.custom_gradient": "custom_gradient",
            "retrograd.autograd.forward_ad": "forward_ad=",
            "retrograd.autograd.function": "function= Function NestedIOFunction",
            "retrograd.autograd.functional": "functional=",
            "retrograd.autograd.gradcheck": "gradcheck gradgradcheck",
            "retrograd.autograd.mutation": "_unsafe_preserve_version_counter",
            "retrograd.autograd.modes": "is_view_replay_enabled",
            "retrograd.autograd.nonfinite": "detect_nonfinite",
            "retrograd.autograd.variable": "variable= Variable",
            "retrograd.profiler.events": "profiler_util=",
            "retrograd.profiler.legacy": "profiler= _profiler_enabled",
            "retrograd.profiler.session": "kineto_available",
        },
    )
    _prefer_functions(__name__)

__all__ = [
    "Function",
    "NestedIOFunction",
    "SavedTensor",
    "Variable",
    "backward",
    "custom_gradient",
    "detect_anomaly",
    "detect_nonfinite",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
