"""What people import: backward, grad, the modes and the graph's public face."""

from retrograd.autograd import graph
from retrograd.autograd.backward import backward, grad
from retrograd.autograd.function import Function
from retrograd.autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from retrograd.autograd.variable import Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]
