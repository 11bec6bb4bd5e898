"""Functions of neural networks: activations, losses, linear maps.

Written by `tools/generate.py` from the op library.
"""

from retrograd.ops.activation import (
    celu,
    dropout,
    elu,
    gelu,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    relu,
    relu6,
    selu,
    silu,
    softplus,
    softsign,
    tanhshrink,
    threshold,
)
from retrograd.ops.entropy import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    nll_loss,
)
from retrograd.ops.inplace_functions import (
    celu_,
    elu_,
    hardtanh_,
    leaky_relu_,
    relu_,
    selu_,
    threshold_,
)
from retrograd.ops.linalg import (
    linear,
)
from retrograd.ops.loss import (
    huber_loss,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from retrograd.ops.math import (
    sigmoid,
)
from retrograd.ops.pad import (
    pad,
)
from retrograd.ops.softmax import (
    functional_log_softmax as log_softmax,
)
from retrograd.ops.softmax import (
    functional_softmax as softmax,
)
from retrograd.ops.softmax import (
    softmin,
)
from retrograd.ops.trigonometry import (
    tanh,
)

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "cross_entropy",
    "dropout",
    "elu",
    "elu_",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "pad",
    "relu",
    "relu6",
    "relu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]
