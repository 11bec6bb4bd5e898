"""Functions of neural networks: activations, losses, linear maps.

Written by `tools/generate.py` from the op library.
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily
from retrograd.public_names import FUNCTIONAL as _FUNCTIONAL

if _typing.TYPE_CHECKING:
    from retrograd.core.tensor import Tensor as _Tensor
    from retrograd.ops.elementwise.exponential import (
        sigmoid,
    )
    from retrograd.ops.elementwise.trigonometry import (
        tanh,
    )
    from retrograd.ops.inplace.activation import (
        celu_,
        leaky_relu_,
        selu_,
        threshold_,
    )
    from retrograd.ops.linalg.addmm import (
        linear,
    )
    from retrograd.ops.linalg.distance import (
        cosine_similarity,
        normalize,
        pairwise_distance,
        pdist,
    )
    from retrograd.ops.linalg.grouped import (
        grouped_mm,
    )
    from retrograd.ops.nn.activation import (
        celu,
        dropout,
        elu,
        elu_,
        gelu,
        hardsigmoid,
        hardswish,
        hardtanh,
        hardtanh_,
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
    from retrograd.ops.nn.adaptive_pool import (
        adaptive_avg_pool1d,
        adaptive_avg_pool2d,
        adaptive_avg_pool3d,
        adaptive_max_pool1d,
        adaptive_max_pool1d_with_indices,
        adaptive_max_pool2d,
        adaptive_max_pool2d_with_indices,
        adaptive_max_pool3d,
        adaptive_max_pool3d_with_indices,
    )
    from retrograd.ops.nn.attention import (
        scaled_dot_product_attention,
    )
    from retrograd.ops.nn.avg_pool import (
        avg_pool1d,
        avg_pool2d,
        avg_pool3d,
        lp_pool1d,
        lp_pool2d,
        lp_pool3d,
    )
    from retrograd.ops.nn.batch_norm import (
        functional_batch_norm as batch_norm,
    )
    from retrograd.ops.nn.batch_norm import (
        functional_instance_norm as instance_norm,
    )
    from retrograd.ops.nn.bilinear import (
        bilinear,
    )
    from retrograd.ops.nn.binary_cross_entropy import (
        binary_cross_entropy,
        binary_cross_entropy_with_logits,
    )
    from retrograd.ops.nn.conv import (
        conv1d,
        conv2d,
        conv3d,
        conv_tbc,
        conv_transpose1d,
        conv_transpose2d,
        conv_transpose3d,
    )
    from retrograd.ops.nn.cross_entropy import (
        cross_entropy,
        kl_div,
        nll_loss,
    )
    from retrograd.ops.nn.ctc_loss import (
        functional_ctc_loss as ctc_loss,
    )
    from retrograd.ops.nn.difference_loss import (
        huber_loss,
        l1_loss,
        mse_loss,
        smooth_l1_loss,
    )
    from retrograd.ops.nn.dropout import (
        alpha_dropout,
        dropout1d,
        dropout2d,
        dropout3d,
        feature_alpha_dropout,
        gumbel_softmax,
    )
    from retrograd.ops.nn.embedding import (
        embedding,
        one_hot,
    )
    from retrograd.ops.nn.embedding_bag import (
        embedding_bag,
    )
    from retrograd.ops.nn.fold import (
        fold,
        unfold,
    )
    from retrograd.ops.nn.fractional_pool import (
        fractional_max_pool2d,
        fractional_max_pool2d_with_indices,
        fractional_max_pool3d,
        fractional_max_pool3d_with_indices,
    )
    from retrograd.ops.nn.gated import (
        glu,
        hardshrink,
        prelu,
        rrelu,
        rrelu_,
        softshrink,
    )
    from retrograd.ops.nn.grid_sample import (
        affine_grid,
        grid_sample,
    )
    from retrograd.ops.nn.interpolate import (
        channel_shuffle,
        interpolate,
        pixel_shuffle,
        pixel_unshuffle,
        upsample,
        upsample_bilinear,
        upsample_nearest,
    )
    from retrograd.ops.nn.interpolate import (
        channel_shuffle as native_channel_shuffle,
    )
    from retrograd.ops.nn.layer_norm import (
        functional_group_norm as group_norm,
    )
    from retrograd.ops.nn.layer_norm import (
        layer_norm,
        local_response_norm,
        rms_norm,
    )
    from retrograd.ops.nn.likelihood import (
        functional_poisson_nll_loss as poisson_nll_loss,
    )
    from retrograd.ops.nn.likelihood import (
        gaussian_nll_loss,
        linear_cross_entropy,
    )
    from retrograd.ops.nn.margin_loss import (
        multi_margin_loss,
        multilabel_margin_loss,
        multilabel_soft_margin_loss,
        soft_margin_loss,
    )
    from retrograd.ops.nn.max_pool import (
        max_pool1d,
        max_pool1d_with_indices,
        max_pool2d,
        max_pool2d_with_indices,
        max_pool3d,
        max_pool3d_with_indices,
        max_unpool1d,
        max_unpool2d,
        max_unpool3d,
    )
    from retrograd.ops.nn.multi_head_attention import (
        multi_head_attention_forward,
    )
    from retrograd.ops.nn.pad import (
        pad,
    )
    from retrograd.ops.nn.ranking_loss import (
        functional_cosine_embedding_loss as cosine_embedding_loss,
    )
    from retrograd.ops.nn.ranking_loss import (
        functional_hinge_embedding_loss as hinge_embedding_loss,
    )
    from retrograd.ops.nn.ranking_loss import (
        functional_margin_ranking_loss as margin_ranking_loss,
    )
    from retrograd.ops.nn.ranking_loss import (
        functional_triplet_margin_loss as triplet_margin_loss,
    )
    from retrograd.ops.nn.ranking_loss import (
        triplet_margin_with_distance_loss,
    )
    from retrograd.ops.nn.softmax import (
        functional_log_softmax as log_softmax,
    )
    from retrograd.ops.nn.softmax import (
        functional_softmax as softmax,
    )
    from retrograd.ops.nn.softmax import (
        softmin,
    )

    def relu_(self: _Tensor) -> _Tensor: ...
else:
    __getattr__, __dir__ = _lazily(__name__, _FUNCTIONAL)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "grouped_mm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
