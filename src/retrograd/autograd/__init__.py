"""What people import: backward, grad, the modes and the graph's public face."""

from retrograd.autograd import graph
from retrograd.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from retrograd.autograd.backward import backward, grad
from retrograd.autograd.function import Function
from retrograd.autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from retrograd.autograd.variable import Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
