"""Helpers around modules and their parameters.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

if _typing.TYPE_CHECKING:
    from retrograd.nn.utils import parametrizations, parametrize, prune, rnn, stateless
    from retrograd.nn.utils.clip_grad import (
        clip_grad_norm,
        clip_grad_norm_,
        clip_grad_value_,
        clip_grads_with_norm_,
        get_total_norm,
    )
    from retrograd.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
    from retrograd.nn.utils.fusion import (
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
    )
    from retrograd.nn.utils.init import skip_init
    from retrograd.nn.utils.memory_format import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
    )
    from retrograd.nn.utils.spectral_norm_hook import remove_spectral_norm, spectral_norm
    from retrograd.nn.utils.weight_norm_hook import remove_weight_norm, weight_norm
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        {
            "retrograd.nn.utils.memory_format": (
                "memory_format= convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format"
            ),
            "retrograd.nn.utils.clip_grad": (
                "clip_grad= clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm"
            ),
            "retrograd.nn.utils.convert_parameters": "convert_parameters= parameters_to_vector vector_to_parameters",
            "retrograd.nn.utils.fusion": (
                "fusion= fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights"
            ),
            "retrograd.nn.utils.init": "init= skip_init",
            "retrograd.nn.utils.parametrizations": "parametrizations=",
            "retrograd.nn.utils.parametrize": "parametrize=",
            "retrograd.nn.utils.prune": "prune=",
            "retrograd.nn.utils.rnn": "rnn=",
            "retrograd.nn.utils.spectral_norm_hook": "remove_spectral_norm spectral_norm",
            "retrograd.nn.utils.stateless": "stateless=",
            "retrograd.nn.utils.weight_norm_hook": "remove_weight_norm weight_norm",
        },
    )

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]
