"""Modules that are made or called wrongly: types and words of what is raised."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def table(torch: Any, rows: list[tuple[str, str]]) -> list[Any]:
    """What each call of a class of nn raises; a row is a phrase and the call as text."""
    names = {"nn": torch.nn, "torch": torch, "ones": torch.ones}
    return [attempt(phrase, eval, f"nn.{text}", names) for phrase, text in rows]


@program()
def options_of_layers(torch: Any) -> Any:
    return table(
        torch,
        [
            ("groups", "Conv2d(4, 6, 3, groups=0)"),
            ("in_channels must be divisible by groups", "Conv2d(3, 6, 3, groups=2)"),
            ("out_channels must be divisible by groups", "Conv2d(4, 5, 3, groups=2)"),
            ("Invalid padding string", "Conv2d(4, 6, 3, padding='full')"),
            ("strided convolutions", "Conv2d(4, 6, 3, padding='same', stride=2)"),
            ("padding_mode must be one of", "Conv2d(4, 6, 3, padding_mode='q')"),
            ('Only "zeros" padding mode', "ConvTranspose2d(4, 6, 3, padding_mode='reflect')"),
            ("in1_features must be > 0", "Bilinear(0, 1, 1)"),
            ("has to be between 0 and 1", "Dropout(1.5)"),
            ("has to be between 0 and 1", "Dropout2d(-0.5)"),
            ("must be divisible by num_groups", "GroupNorm(3, 4)"),
            ("within num_embeddings", "Embedding(3, 2, padding_idx=3)"),
            ("within num_embeddings", "EmbeddingBag(3, 2, padding_idx=-4)"),
            ("requires specifying either", "FractionalMaxPool2d(2)"),
            ("only one of output_size and output_ratio", "FractionalMaxPool2d(2, 3, 0.5)"),
            ("between 0 and 1", "FractionalMaxPool2d(2, output_ratio=1.5)"),
            ("must be greater than", "Hardtanh(2.0, 1.0)"),
            ("expected margin to be greater than 0", "TripletMarginLoss(margin=-1.0)"),
            ("only p == 1 and p == 2", "MultiMarginLoss(p=3)"),
            ("greater than 0", "MultiheadAttention(0, 2)"),
            ("must be divisible by num_heads", "MultiheadAttention(5, 2)"),
            ("unique, positive integers", "AdaptiveLogSoftmaxWithLoss(8, 20, [10, 4])"),
            ("length larger than 0", "AdaptiveLogSoftmaxWithLoss(8, 20, [])"),
            ("relu/gelu", "TransformerEncoderLayer(4, 2, activation='q')"),
            ("must be a? ?tuple of ints", "Unflatten(1, (2.0, 3))"),
            ("must be greater than zero", "LSTM(2, 0)"),
            ("must be greater than zero", "LSTM(2, 3, num_layers=0)"),
            ("should be of type int", "GRU(2, 3.0)"),
            ("should be a number in range", "RNN(2, 3, dropout=2.0)"),
            ("smaller than hidden_size", "LSTM(2, 3, proj_size=3)"),
            ("only supported for LSTM", "GRU(2, 3, proj_size=1)"),
            ("only supported for LSTM", "RNN(2, 3, proj_size=1)"),
            ("Unknown nonlinearity", "RNN(2, 3, nonlinearity='q')"),
        ],
    )


@program()
def inputs_that_do_not_fit(torch: Any) -> Any:
    return table(
        torch,
        [
            ("shapes", "Linear(2, 3)(ones(4, 3))"),
            ("expected 2D or 3D input", "BatchNorm1d(3)(ones(3))"),
            ("expected 4D input", "BatchNorm2d(3)(ones(2, 3))"),
            ("expected 5D input", "BatchNorm3d(3)(ones(2, 3))"),
            ("expected 2D or 3D input", "InstanceNorm1d(3)(ones(3))"),
            ("to match num_features", "InstanceNorm1d(3, affine=True)(ones(1, 2, 4))"),
            ("Expected more than 1 value per channel", "BatchNorm1d(3)(ones(1, 3))"),
            ("expected input to be 3D or 4D", "Softmax2d()(ones(2, 2))"),
            ("valid sizes range", "ConvTranspose1d(1, 1, 3, stride=2)(ones(1, 1, 4), output_size=[20])"),
            ("output_size must have", "ConvTranspose1d(1, 1, 3)(ones(1, 1, 4), output_size=[1, 2])"),
            ("input.size\\(-1\\) must be equal to input_size", "LSTM(2, 3)(ones(4, 1, 3))"),
            ("2D or 3D", "GRU(2, 3)(ones(4))"),
            ("Expected hidden size", "GRU(2, 3)(ones(4, 1, 2), ones(1, 2, 3))"),
            ("Expected hidden\\[0\\] size", "LSTM(2, 3)(ones(4, 1, 2), [ones(1, 2, 3)] * 2)"),
            ("Expected hidden\\[1\\] size", "LSTM(2, 3)(ones(4, 1, 2), (ones(1, 1, 3), ones(1, 2, 3)))"),
            ("hx should also be", "GRU(2, 3)(ones(4, 2), ones(1, 1, 3))"),
            ("dtype", "GRU(2, 3)(ones(4, 2).double())"),
            ("1D or 2D", "RNNCell(2, 3)(ones(1, 1, 2))"),
            ("inconsistent input_size", "LSTMCell(2, 3)(ones(1, 3))"),
            ("inconsistent hidden_size", "GRUCell(2, 3)(ones(1, 2), ones(1, 2))"),
            ("batch number of src and tgt", "Transformer(4, 2, 1, 1, batch_first=True)(ones(1, 2, 4), ones(2, 2, 4))"),
            ("feature number of src", "Transformer(4, 2, 1, 1, batch_first=True)(ones(2, 1, 3), ones(2, 1, 4))"),
            ("same size in the batch", "AdaptiveLogSoftmaxWithLoss(8, 9, [4])(ones(2, 8), ones(3).long())"),
            ("Target values should be in", "AdaptiveLogSoftmaxWithLoss(8, 9, [4])(ones(1, 8), torch.tensor([9]))"),
        ],
    )  # fmt: skip


@program(warns="num_layers greater than 1")
def dropout_of_one_layer(torch: Any) -> Any:
    return repr(torch.nn.LSTM(2, 3, dropout=0.5))


@program(warns="size_average and reduce args")
def old_reductions(torch: Any) -> Any:
    nn = torch.nn
    return [
        nn.MSELoss(size_average=False).reduction,
        nn.L1Loss(reduce=False).reduction,
        nn.NLLLoss(size_average=True).reduction,
    ]


@program()
def bits_of_layers(torch: Any) -> Any:
    nn = torch.nn
    table = torch.arange(6.0).reshape(3, 2)
    embedding, bag = (
        nn.Embedding.from_pretrained(table),
        nn.EmbeddingBag.from_pretrained(table, False, mode="sum"),
    )
    lstm = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    softmax = nn.AdaptiveLogSoftmaxWithLoss(4, 8, [3], div_value=2.0)
    with torch.no_grad():
        for p in softmax.parameters():
            p.copy_(torch.arange(float(p.numel())).sin().reshape(p.shape))
    x = torch.arange(12.0).cos().reshape(3, 4)
    return [
        embedding.weight, embedding(torch.tensor([2, 0])), bag.weight.requires_grad, bag(torch.tensor([[2, 0]])),
        [len(group) for group in lstm.all_weights], lstm.flatten_parameters(), mask, softmax.log_prob(x).detach(),
        softmax.predict(x), repr(nn.ReLU(inplace=True)), nn.ReLU(inplace=True)(torch.tensor([-1.0])),
        repr(nn.Upsample(scale_factor=(2, 3))), repr(nn.Identity(3, q=4)),
    ]  # fmt: skip
