"""Which file has which class of `nn`. See Note [Loaded on demand] in lazy.py."""

CLASSES: dict[str, str] = {
    "retrograd.nn.activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
        "LogSoftmax Mish PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin "
        "Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
    ),
    "retrograd.nn.adaptive_softmax": "AdaptiveLogSoftmaxWithLoss",
    "retrograd.nn.attention": "MultiheadAttention",
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
    "retrograd.nn.shapes": (
        "ChannelShuffle Flatten Fold PixelShuffle PixelUnshuffle Unflatten Unfold Upsample "
        "UpsamplingBilinear2d UpsamplingNearest2d"
    ),
    "retrograd.nn.transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
    ),
}
