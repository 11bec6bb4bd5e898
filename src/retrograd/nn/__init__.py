"""Neural networks: modules, their parameters, and the functions that they call.

Names are loaded when they are first asked for: see Note [Loaded on demand] in lazy.py.

>>> import retrograd as rg
>>> model = rg.nn.Sequential(rg.nn.Linear(2, 8), rg.nn.Tanh(), rg.nn.Linear(8, 1))
>>> model(rg.ones(4, 2)).shape
torch.Size([4, 1])
"""

import typing as _typing

from retrograd.lazy import lazily as _lazily

# Which file has which class.
_CLASSES: dict[str, str] = {
    "retrograd.nn.activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
        "LogSoftmax Mish PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin "
        "Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
    ),
    "retrograd.nn.adaptive_softmax": "AdaptiveLogSoftmaxWithLoss",
    "retrograd.nn.multihead_attention": "MultiheadAttention",
    "retrograd.nn.batchnorm": (
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d"
    ),
    "retrograd.nn.containers": "Container ModuleDict ModuleList Sequential",
    "retrograd.nn.conv": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d "
        "LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
    ),
    "retrograd.nn.distance": "CosineSimilarity PairwiseDistance",
    "retrograd.nn.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "retrograd.nn.embedding": "Embedding EmbeddingBag",
    "retrograd.nn.instancenorm": (
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
        "LazyInstanceNorm3d"
    ),
    "retrograd.nn.factory": "factory_kwargs",
    "retrograd.nn.linear": "Bilinear Identity LazyLinear Linear",
    "retrograd.nn.losses": (
        "BCELoss BCEWithLogitsLoss CTCLoss CrossEntropyLoss GaussianNLLLoss HuberLoss "
        "KLDivLoss L1Loss LinearCrossEntropyLoss LinearCrossEntropyOptions MSELoss NLLLoss "
        "NLLLoss2d PoissonNLLLoss SmoothL1Loss"
    ),
    "retrograd.nn.margin_losses": (
        "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss "
        "MultiLabelSoftMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss "
        "TripletMarginWithDistanceLoss"
    ),
    "retrograd.nn.module": "Module",
    "retrograd.nn.normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "retrograd.nn.padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
        "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
        "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d"
    ),
    "retrograd.nn.parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "retrograd.nn.parameter_containers": "ParameterDict ParameterList",
    "retrograd.nn.pooling": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
        "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d "
        "FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d "
        "MaxUnpool1d MaxUnpool2d MaxUnpool3d"
    ),
    "retrograd.nn.recurrent": "GRU LSTM RNN RNNBase",
    "retrograd.nn.recurrent_cells": "GRUCell LSTMCell RNNCell RNNCellBase",
    "retrograd.nn.parallel.data_parallel": "DataParallel",
    "retrograd.nn.shapes": (
        "ChannelShuffle Flatten Fold PixelShuffle PixelUnshuffle Unflatten Unfold Upsample "
        "UpsamplingBilinear2d UpsamplingNearest2d"
    ),
    "retrograd.nn.sync_batchnorm": "SyncBatchNorm",
    "retrograd.nn.transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
    ),
}

if _typing.TYPE_CHECKING:
    from retrograd.nn import (
        _reduction,
        attention,
        common_types,
        functional,
        grad,
        init,
        modules,
        parallel,
        parameter,
        utils,
    )
    from retrograd.nn.activation import (
        CELU,
        ELU,
        GELU,
        GLU,
        SELU,
        Hardshrink,
        Hardsigmoid,
        Hardswish,
        Hardtanh,
        LeakyReLU,
        LogSigmoid,
        LogSoftmax,
        Mish,
        PReLU,
        ReLU,
        ReLU6,
        RReLU,
        Sigmoid,
        SiLU,
        Softmax,
        Softmax2d,
        Softmin,
        Softplus,
        Softshrink,
        Softsign,
        Tanh,
        Tanhshrink,
        Threshold,
    )
    from retrograd.nn.adaptive_softmax import (
        AdaptiveLogSoftmaxWithLoss,
    )
    from retrograd.nn.batchnorm import (
        BatchNorm1d,
        BatchNorm2d,
        BatchNorm3d,
        LazyBatchNorm1d,
        LazyBatchNorm2d,
        LazyBatchNorm3d,
    )
    from retrograd.nn.containers import (
        Container,
        ModuleDict,
        ModuleList,
        Sequential,
    )
    from retrograd.nn.conv import (
        Conv1d,
        Conv2d,
        Conv3d,
        ConvTranspose1d,
        ConvTranspose2d,
        ConvTranspose3d,
        LazyConv1d,
        LazyConv2d,
        LazyConv3d,
        LazyConvTranspose1d,
        LazyConvTranspose2d,
        LazyConvTranspose3d,
    )
    from retrograd.nn.distance import (
        CosineSimilarity,
        PairwiseDistance,
    )
    from retrograd.nn.dropout import (
        AlphaDropout,
        Dropout,
        Dropout1d,
        Dropout2d,
        Dropout3d,
        FeatureAlphaDropout,
    )
    from retrograd.nn.embedding import (
        Embedding,
        EmbeddingBag,
    )
    from retrograd.nn.factory import factory_kwargs
    from retrograd.nn.instancenorm import (
        InstanceNorm1d,
        InstanceNorm2d,
        InstanceNorm3d,
        LazyInstanceNorm1d,
        LazyInstanceNorm2d,
        LazyInstanceNorm3d,
    )
    from retrograd.nn.linear import (
        Bilinear,
        Identity,
        LazyLinear,
        Linear,
    )
    from retrograd.nn.losses import (
        BCELoss,
        BCEWithLogitsLoss,
        CrossEntropyLoss,
        CTCLoss,
        GaussianNLLLoss,
        HuberLoss,
        KLDivLoss,
        L1Loss,
        LinearCrossEntropyLoss,
        LinearCrossEntropyOptions,
        MSELoss,
        NLLLoss,
        NLLLoss2d,
        PoissonNLLLoss,
        SmoothL1Loss,
    )
    from retrograd.nn.margin_losses import (
        CosineEmbeddingLoss,
        HingeEmbeddingLoss,
        MarginRankingLoss,
        MultiLabelMarginLoss,
        MultiLabelSoftMarginLoss,
        MultiMarginLoss,
        SoftMarginLoss,
        TripletMarginLoss,
        TripletMarginWithDistanceLoss,
    )
    from retrograd.nn.module import (
        Module,
    )
    from retrograd.nn.multihead_attention import (
        MultiheadAttention,
    )
    from retrograd.nn.normalization import (
        CrossMapLRN2d,
        GroupNorm,
        LayerNorm,
        LocalResponseNorm,
        RMSNorm,
    )
    from retrograd.nn.padding import (
        CircularPad1d,
        CircularPad2d,
        CircularPad3d,
        ConstantPad1d,
        ConstantPad2d,
        ConstantPad3d,
        ReflectionPad1d,
        ReflectionPad2d,
        ReflectionPad3d,
        ReplicationPad1d,
        ReplicationPad2d,
        ReplicationPad3d,
        ZeroPad1d,
        ZeroPad2d,
        ZeroPad3d,
    )
    from retrograd.nn.parallel.data_parallel import DataParallel
    from retrograd.nn.parameter import (
        Buffer,
        Parameter,
        UninitializedBuffer,
        UninitializedParameter,
    )
    from retrograd.nn.parameter_containers import (
        ParameterDict,
        ParameterList,
    )
    from retrograd.nn.pooling import (
        AdaptiveAvgPool1d,
        AdaptiveAvgPool2d,
        AdaptiveAvgPool3d,
        AdaptiveMaxPool1d,
        AdaptiveMaxPool2d,
        AdaptiveMaxPool3d,
        AvgPool1d,
        AvgPool2d,
        AvgPool3d,
        FractionalMaxPool2d,
        FractionalMaxPool3d,
        LPPool1d,
        LPPool2d,
        LPPool3d,
        MaxPool1d,
        MaxPool2d,
        MaxPool3d,
        MaxUnpool1d,
        MaxUnpool2d,
        MaxUnpool3d,
    )
    from retrograd.nn.recurrent import (
        GRU,
        LSTM,
        RNN,
        RNNBase,
    )
    from retrograd.nn.recurrent_cells import (
        GRUCell,
        LSTMCell,
        RNNCell,
        RNNCellBase,
    )
    from retrograd.nn.shapes import (
        ChannelShuffle,
        Flatten,
        Fold,
        PixelShuffle,
        PixelUnshuffle,
        Unflatten,
        Unfold,
        Upsample,
        UpsamplingBilinear2d,
        UpsamplingNearest2d,
    )
    from retrograd.nn.sync_batchnorm import SyncBatchNorm
    from retrograd.nn.transformer import (
        Transformer,
        TransformerDecoder,
        TransformerDecoderLayer,
        TransformerEncoder,
        TransformerEncoderLayer,
    )
else:
    __getattr__, __dir__ = _lazily(
        __name__,
        _CLASSES,
        {
            "retrograd.nn.attention": "attention=",
            "retrograd.nn._reduction": "_reduction=",
            "retrograd.nn.common_types": "common_types=",
            "retrograd.nn.factory": "factory_kwargs",
            "retrograd.nn.functional": "functional=",
            "retrograd.nn.grad": "grad=",
            "retrograd.nn.init": "init=",
            "retrograd.nn.modules": "modules=",
            "retrograd.nn.parallel": "parallel=",
            "retrograd.nn.parameter": "parameter=",
            "retrograd.nn.utils": "utils=",
        },
    )

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CELU",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Container",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "CrossMapLRN2d",
    "DataParallel",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "NLLLoss2d",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNN",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "UninitializedBuffer",
    "UninitializedParameter",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "_reduction",
    "attention",
    "common_types",
    "factory_kwargs",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
