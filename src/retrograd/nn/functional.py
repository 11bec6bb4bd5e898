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
    "cross_entropy",
    "dropout",
    "elu",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "pad",
    "relu",
    "relu6",
    "selu",
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
]
