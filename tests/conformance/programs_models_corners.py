"""Corners that PyTorch's own tests of modules, schedules, loaders and distributions look into."""

from __future__ import annotations

import math
import pickle
import types
from typing import Any

from .harness import attempt, program

HUGE = 1e300


@program()
def norms_of_windows_without_end(torch: Any) -> Any:
    F = torch.nn.functional
    x = (torch.arange(16.0).reshape(1, 1, 4, 4) - 8).requires_grad_()
    large, small = F.lp_pool2d(x, float("inf"), 2), F.lp_pool2d(x, -float("inf"), 2)
    large.sum().backward()
    return large, small, x.grad, F.lp_pool1d(x[0], float("inf"), 3, stride=1, ceil_mode=True)


@program()
def numbers_that_do_not_fit(torch: Any) -> Any:
    F = torch.nn.functional
    x, bytes_ = torch.ones(2, 2), torch.ones(2, 2).byte()
    phrase = "cannot be converted to type .* without overflow"
    calls = [
        lambda: torch.linspace(0, 300, 3, dtype=torch.uint8),
        lambda: torch.linspace(0, 300, 0, dtype=torch.uint8),
        lambda: torch.linspace(-1, 3, 3, dtype=torch.uint8),
        lambda: torch.logspace(0, 300, 3, dtype=torch.int8),
        lambda: torch.addmm(bytes_, bytes_, bytes_, beta=300),
        lambda: torch.addr(x, x[0], x[0], alpha=HUGE),
        lambda: F.threshold(x.half(), 2.0, HUGE),
        lambda: F.threshold(bytes_, 1, 300),
        lambda: bytes_.masked_fill(bytes_ > 0, torch.tensor(300)),
        lambda: x.long().masked_fill(x > 0, torch.tensor(2.7)),
        lambda: bytes_.index_fill(0, torch.tensor([0]), torch.tensor(300)),
    ]
    return [attempt(phrase, call) for call in calls]


@program()
def shapes_that_do_not_broadcast(torch: Any) -> Any:
    shapes = torch.broadcast_shapes
    return [
        attempt(r"length 3 at -1! Mismatching argument at index 1 had \(3,\)", shapes, (2,), (3,)),
        attempt(r"length 3 at -2! .* should be broadcastable to \[4, 2\]", shapes, (4, 2), (3, 2)),
        attempt("negative length", shapes, (-1,)),
        attempt("must match the size of", torch.broadcast_tensors, torch.ones(2), torch.ones(3)),
    ]


@program()
def rows_that_are_not_there(torch: Any) -> Any:
    at = torch.tensor([9])
    return [
        attempt("out of bounds for dimension 0", torch.ones(2, 3).index_add, 0, at, torch.ones(1, 3)),
        attempt("index out of range in self", torch.ones(2).index_add, 0, at, torch.ones(1)),
    ]


@program()
def sizes_of_pools(torch: Any) -> Any:
    F = torch.nn.functional
    x = torch.ones(1, 1, 4, 4)
    return [
        attempt("output_size must be 2", F.adaptive_avg_pool2d, x, (2,)),
        attempt(r"internal error: output_size.size\(\) must be 2", F.adaptive_max_pool2d, x, (2, 2, 2)),
        attempt("kernel_size must be greater than zero, but got 0", F.max_pool1d, x[0], 0),
        attempt("pad should be at most half", F.max_pool2d, torch.ones(0, 1, 4), 2, padding=2),
    ]


@program(warns="dropout3d")
def channels_of_a_vector(torch: Any) -> Any:
    return torch.nn.functional.dropout3d(torch.ones(3), 1.0)


@program(warns="has been overridden after learning rate scheduler initialization")
def a_step_that_was_replaced(torch: Any) -> Any:
    def optimizer() -> Any:
        return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)

    replaced_before = optimizer()
    inner = replaced_before.step
    replaced_before.step = types.MethodType(lambda self: inner(), replaced_before)
    schedule = torch.optim.lr_scheduler.StepLR(replaced_before, 1)
    replaced_before.step()
    schedule.step()

    replaced_after = optimizer()
    schedule = torch.optim.lr_scheduler.StepLR(replaced_after, 1)
    step = replaced_after.step
    replaced_after.step = types.MethodType(lambda self: step(), replaced_after)
    replaced_after.step()
    schedule.step()
    return schedule.get_last_lr()


@program()
def what_a_loader_refuses(torch: Any) -> Any:
    loader = torch.utils.data.DataLoader(range(3))
    return attempt("cannot be pickled", pickle.dumps, iter(loader))


@program()
def versions_of_spectral_norm(torch: Any) -> Any:
    utils = torch.nn.utils
    layer = utils.spectral_norm(torch.nn.Linear(2, 2))
    other = utils.spectral_norm(torch.nn.Linear(2, 2))
    kept = layer.state_dict()
    other.load_state_dict(kept)
    utils.remove_spectral_norm(layer)
    return kept._metadata[""], layer.state_dict()._metadata[""]


@program()
def lazy_layers_have_nothing_to_share(torch: Any) -> Any:
    return attempt("Can't share memory on an uninitialized", torch.nn.LazyLinear(2).share_memory)


@program(warns="copying from a non-meta parameter in the checkpoint to a meta parameter")
def values_for_a_layer_without_memory(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2, device="meta", bias=False)
    layer.load_state_dict({"weight": torch.ones(2, 2)})
    return layer.weight.is_meta


@program()
def parameters_stay_when_they_are_swapped(torch: Any) -> Any:
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer = torch.nn.Linear(2, 2)
        weight = layer.weight
        layer.double()
        asked = torch.__future__.get_swap_module_params_on_conversion()
        return asked, layer.weight is weight, weight.dtype
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


@program()
def lengths_of_sequences(torch: Any) -> Any:
    pack = torch.nn.utils.rnn.pack_padded_sequence
    x = torch.arange(24.0).reshape(4, 3, 2)
    return [
        pack(x, torch.tensor([4.0, 3.0, 1.0])).data,
        attempt("'lengths' argument should be a 1D", pack, x, torch.tensor([[4, 3, 1]])),
    ]


@program()
def results_made_of_sequences(torch: Any) -> Any:
    kind = type(torch.max(torch.ones(2, 2), 0))
    return [
        kind([1, 2]).indices,
        kind((3, 4))[0],
        attempt("2-sequence", kind, [1]),
    ]


@program()
def a_number_as_a_sample(torch: Any) -> Any:
    gamma = torch.distributions.Gamma(1.0, 2.0)
    constraints = torch.distributions.constraints
    return [
        gamma.log_prob(2),
        attempt("must be >= 0", constraints.independent, constraints.real, -1),
        attempt("must be a Constraint", constraints.independent, 3, 1),
    ]


@program()
def a_random_tensor_without_dimensions(torch: Any) -> Any:
    make = torch.testing.make_tensor
    numbers = [make((), dtype=d, device="cpu") for d in (torch.float32, torch.int64, torch.complex64)]
    return [(t.shape, t.dtype) for t in numbers]


@program(warns="deprecated")
def older_comparisons(torch: Any) -> Any:
    torch.testing.assert_allclose(torch.ones(2), torch.ones(2))
    return torch.testing.make_tensor((2,), dtype=torch.float32, device="cpu", low=1, high=1)


@program()
def windows_and_upscaling_refused(torch: Any) -> Any:
    F = torch.nn.functional
    x = torch.ones(1, 8, 2, 2)
    return [
        attempt("upscale factor is too large", F.pixel_shuffle, x, 10**18),
        attempt("got: torch.int64", torch.signal.windows.hann, 3, dtype=torch.int64),
        attempt("step must be nonzero", torch.arange, 0, 64, 0.5, out=torch.empty(0, dtype=torch.int64)),
        attempt("Dimension specified as 0", torch.fft.fftn, torch.ones(()), dim=0),
        attempt("invalid combination of arguments", torch.linspace, 0, 1, 2.0),
        attempt("invalid combination of arguments", torch.hsplit, torch.ones(4), "abc"),
    ]


@program()
def truth_is_written_to_booleans(torch: Any) -> Any:
    x = torch.tensor([-1.0, float("inf")])
    return [
        attempt("does not support non-boolean outputs", getattr(torch, name), x, out=torch.empty(2))
        for name in ("isposinf", "isneginf", "signbit")
    ]


@program()
def lists_that_are_empty(torch: Any) -> Any:
    tensors = [torch.ones(2)]
    return [
        attempt("same number of elements as scalar list", getattr(torch, name), tensors, [])
        for name in ("_foreach_maximum", "_foreach_minimum", "_foreach_add")
    ]


@program()
def recurrent_layers_behind_others_under_autocast(torch: Any) -> Any:
    nn, x = torch.nn, torch.linspace(0, 1, 12).reshape(3, 2, 2)
    seen = []
    for name in ("RNN", "GRU", "LSTM"):
        first, net = nn.Linear(2, 2), getattr(nn, name)(2, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = first(x)
            packed = nn.utils.rnn.pack_padded_sequence(hidden, [3, 1])
            out, state = net(hidden)
            seen += [hidden.dtype, out.dtype, state[0].dtype, net(packed)[0].data.dtype]
        out.float().sum().backward()
        seen += [first.weight.grad.dtype, net.weight_hh_l0.grad.dtype]
    return seen


@program()
def parts_of_recurrent_layers(torch: Any) -> Any:
    nn, x = torch.nn, torch.ones(5, 2, 3)
    seen = []
    for name, options in (
        ("RNN", {}),
        ("GRU", {"bidirectional": True}),
        ("LSTM", {"proj_size": 2, "num_layers": 2}),
    ):
        net = getattr(nn, name)(3, 4, **options)
        sizes = torch.tensor([2, 1])
        expected = net.get_expected_hidden_size(x, None), net.get_expected_hidden_size(x[:, 0], sizes)
        hidden = torch.arange(math.prod(expected[0])).reshape(expected[0]).float()
        hx = (hidden, torch.zeros(net.get_expected_cell_size(x, None))) if name == "LSTM" else hidden
        turned = net.permute_hidden(hx, torch.tensor([1, 0]))
        wrong = (hidden[:, :1], hx[1]) if name == "LSTM" else hidden[:, :1]
        seen += [
            expected, turned, net.permute_hidden(hx, None) is hx, net.check_forward_args(x, hx, None),
            attempt("Expected hidden.* size", net.check_forward_args, x, wrong, None),
            attempt("input must have 2 dimensions, got 3", net.check_input, x, sizes),
            attempt("must be equal to input_size", net.check_input, x[..., :1], None),
            attempt("Expected hidden size", net.check_hidden_size, hidden, (1, 2, 3)),
        ]  # fmt: skip
    return seen


@program()
def a_recurrent_layer_that_checks_nothing(torch: Any) -> Any:
    calls = []

    class Unchecked(torch.nn.GRU):
        def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
            calls.append((input.shape, hidden.shape, batch_sizes is None))

    net = Unchecked(3, 4)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(5, 2, 3), [5, 2])
    return net(torch.ones(5, 3))[0].shape, net(packed)[1].shape, calls
