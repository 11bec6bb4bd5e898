"""What people import: backward, grad, the modes, custom operations and the graph's public face."""

from retrograd.autograd import forward_ad, functional, graph
from retrograd.autograd import modes as grad_mode
from retrograd.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from retrograd.autograd.backward import backward, grad
from retrograd.autograd.custom_gradient import custom_gradient
from retrograd.autograd.function import Function, NestedIOFunction
from retrograd.autograd.gradcheck import gradcheck, gradgradcheck
from retrograd.autograd.modes import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from retrograd.autograd.mutation import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from retrograd.autograd.nonfinite import detect_nonfinite
from retrograd.autograd.variable import Variable
from retrograd.core.saved import SavedTensor

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
