"""nn.utils: clipping, vectors of parameters, packed sequences, fusion, parametrizations."""

from __future__ import annotations

import copy
from typing import Any

from .harness import attempt, program
from .nn_models import fill, linear, ramp


def with_grads(torch: Any) -> Any:
    net = linear(torch, 2, 3)
    net(ramp(torch, 4, 2)).pow(2).sum().backward()
    return net


@program()
def clipping_by_norm(torch: Any) -> Any:
    utils, seen = torch.nn.utils, []
    for norm_type in (2.0, 1.0, float("inf"), 0.5):
        net = with_grads(torch)
        seen += [utils.clip_grad_norm_(net.parameters(), 1.5, norm_type), net.weight.grad, net.bias.grad]
    net = with_grads(torch)
    seen += [utils.clip_grad_norm_(net.weight, 1e9), net.weight.grad]
    seen += [utils.get_total_norm([net.weight.grad, net.bias.grad]), utils.get_total_norm([])]
    utils.clip_grads_with_norm_(net.parameters(), 1.0, torch.tensor(4.0))
    seen += [net.weight.grad, utils.clip_grad_norm_([torch.ones(1)], 1.0)]
    net.bias.grad.fill_(float("inf"))
    seen.append(
        attempt(
            "is non-finite", lambda: utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
        )
    )
    return seen


@program()
def clipping_by_value(torch: Any) -> Any:
    net = with_grads(torch)
    torch.nn.utils.clip_grad_value_(net.parameters(), 2.0)
    return net.weight.grad, net.bias.grad


@program(warns="is now deprecated")
def clipping_by_its_old_name(torch: Any) -> Any:
    return torch.nn.utils.clip_grad_norm(with_grads(torch).parameters(), 1.0)


@program()
def vectors_of_parameters(torch: Any) -> Any:
    utils, net = torch.nn.utils, linear(torch, 2, 3)
    vector = utils.parameters_to_vector(net.parameters())
    vector.sum().backward()
    utils.vector_to_parameters(vector.detach() * 2, net.parameters())
    return [
        vector,
        net.weight,
        net.bias,
        net.weight.grad,
        attempt("expected", utils.vector_to_parameters, 3, []),
    ]


@program()
def sequences(torch: Any) -> Any:
    rnn = torch.nn.utils.rnn
    given = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]), torch.tensor([6.0])]
    padded = rnn.pad_sequence(given, batch_first=True, padding_value=-1.0)
    packed = rnn.pack_sequence(given, enforce_sorted=False)
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=9.0, total_length=4)
    return [
        padded, rnn.pad_sequence(given), rnn.pad_sequence(given, padding_side="left"), list(packed), back, lengths,
        rnn.pad_packed_sequence(packed), rnn.unpack_sequence(packed),
        rnn.unpad_sequence(padded, torch.tensor([2, 3, 1]), batch_first=True), list(packed.double()),
        rnn.pad_sequence([torch.ones(2, 3), torch.ones(1, 3)]),
    ]  # fmt: skip


@program()
def packing_and_its_gradient(torch: Any) -> Any:
    rnn, x = torch.nn.utils.rnn, ramp(torch, 3, 2, 2, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, [3, 1])
    back, _ = rnn.pad_packed_sequence(packed)
    (back * ramp(torch, 3, 2, 2)).sum().backward()
    return list(packed)[:2][1], packed.data.detach(), x.grad


@program()
def sequences_that_do_not_fit(torch: Any) -> Any:
    rnn, x = torch.nn.utils.rnn, torch.ones(3, 2, 1)
    packed = rnn.pack_padded_sequence(x, [3, 1])
    return [
        attempt("must be sorted in decreasing order", rnn.pack_padded_sequence, x, [1, 3]),
        attempt("greater than 0", rnn.pack_padded_sequence, x, [1, 0]),
        attempt("len\\(lengths\\)", rnn.pack_padded_sequence, x, [1]),
        attempt("Cannot pack empty", rnn.pack_padded_sequence, torch.ones(0, 0), []),
        attempt("total_length", lambda: rnn.pad_packed_sequence(packed, total_length=2)),
        attempt("terable", rnn.pad_sequence, 3),
    ]


@program()
def fusion(torch: Any) -> Any:
    nn, utils, seen = torch.nn, torch.nn.utils, []
    for conv, bn, x in (
        (nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3), ramp(torch, 1, 2, 4, 4)),
        (nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3, affine=False), ramp(torch, 1, 2, 4)),
    ):
        fill(torch, conv).eval()
        fill(torch, bn).eval()
        bn.running_var.abs_()
        fused = utils.fuse_conv_bn_eval(conv, bn)
        seen += [repr(fused), fused(x).detach().round(decimals=4), bn(conv(x)).detach().round(decimals=4)]
    transposed, bn = fill(torch, nn.ConvTranspose1d(2, 3, 2)).eval(), fill(torch, nn.BatchNorm1d(3)).eval()
    bn.running_var.abs_()
    x = ramp(torch, 1, 2, 4)
    seen.append(utils.fuse_conv_bn_eval(transposed, bn, transpose=True)(x).detach().round(decimals=4))
    dense = linear(torch, 2, 3).eval()
    fused = utils.fuse_linear_bn_eval(dense, bn)
    seen += [fused.weight, fused.bias, type(fused)]
    seen.append(attempt("only for eval", utils.fuse_linear_bn_eval, linear(torch, 2, 3), bn))
    seen.append(
        attempt("out_features == bn.num_features", utils.fuse_linear_bn_eval, linear(torch, 2, 4).eval(), bn)
    )
    return seen


@program()
def parametrized_modules(torch: Any) -> Any:
    nn, parametrize = torch.nn, torch.nn.utils.parametrize

    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a: Any) -> Any:
            return a.triu()

    class Double(nn.Module):
        def forward(self, x: Any) -> Any:
            return 2 * x

    net = linear(torch, 3, 3)
    parametrize.register_parametrization(net, "weight", Symmetric())
    seen = [repr(net), net.weight, list(net.state_dict()), [n for n, _ in net.named_parameters()], type(net)]
    seen += [parametrize.is_parametrized(net), parametrize.is_parametrized(net, "bias")]
    seen += [parametrize.type_before_parametrizations(net)]
    net.weight = torch.ones(3, 3)
    seen += [net.weight, net.parametrizations.weight.original]
    parametrize.register_parametrization(net, "weight", Double())
    seen += [
        net.weight,
        attempt("does not implement right_inverse", setattr, net, "weight", torch.ones(3, 3)),
    ]
    net(ramp(torch, 1, 3)).sum().backward()
    seen += [net.parametrizations.weight.original.grad]
    with parametrize.cached():
        seen.append(net.weight is net.weight)
    seen.append(net.weight is net.weight)
    twin = copy.deepcopy(net)
    seen += [twin.weight, repr(twin), attempt("state_dict", net.__getstate__)]
    other = parametrize.transfer_parametrizations_and_params(net, linear(torch, 3, 3))
    seen += [repr(other), other.weight, list(other.state_dict())]
    parametrize.remove_parametrizations(other, "weight", leave_parametrized=False)
    seen += [other.weight]
    parametrize.remove_parametrizations(net, "weight")
    seen += [repr(net), net.weight, list(net.state_dict()), type(net)]
    return seen


@program()
def parametrizations_that_do_not_fit(torch: Any) -> Any:
    nn, parametrize = torch.nn, torch.nn.utils.parametrize

    class Narrow(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    class Wide(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.double()

    class Pair(nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a + b

        def right_inverse(self, x: Any) -> Any:
            return x - 1, torch.ones_like(x)

    register, net = parametrize.register_parametrization, linear(torch, 2, 2)
    several = register(linear(torch, 2, 2), "weight", Pair())
    return [
        attempt("may not change the shape", register, net, "weight", Narrow()),
        attempt("may not change the dtype", register, linear(torch, 2, 2), "weight", Wide()),
        attempt("does not have a parameter", register, net, "q", Narrow()),
        register(linear(torch, 2, 2), "weight", Narrow(), unsafe=True).weight,
        attempt("does not have a parametrization", parametrize.remove_parametrizations, net, "weight"),
        list(several.state_dict()),
        several.weight,
        attempt("sequence of tensors", parametrize.remove_parametrizations, several, "weight", False),
        parametrize.remove_parametrizations(several, "weight").weight,
    ]


@program()
def weight_norm(torch: Any) -> Any:
    seen = []
    for dim in (0, 1, None):
        net = torch.nn.utils.parametrizations.weight_norm(linear(torch, 2, 3), dim=dim)
        net(ramp(torch, 2, 2)).pow(2).sum().backward()
        seen += [
            net.weight.detach(),
            list(net.state_dict()),
            {n: p.grad for n, p in net.named_parameters()},
            repr(net),
        ]
        net.weight = torch.ones(3, 2)
        seen.append(net.weight.detach())
    return seen


@program(warns="`torch.nn.utils.weight_norm` is deprecated")
def the_node_of_a_weight(torch: Any) -> Any:
    """One node where the lengths are along the first or last dimension, a product elsewhere."""
    seen = []
    kinds = (
        ((2, 3), (2, 1), 0), ((2, 3), (1, 3), 1), ((2, 3), (), -1), ((2, 3, 2), (1, 3, 1), 1),
        ((2, 3, 2), (1, 1, 2), 2), ((4,), (4,), 0), ((2, 3), (2,), 0), ((2, 3), (2, 1), -2),
    )  # fmt: skip
    for shape, lengths, dim in kinds:
        for dtype in (torch.float64, torch.float16):
            v = ramp(torch, *shape).to(dtype).requires_grad_()
            g = (ramp(torch, *lengths) + 2).to(dtype).requires_grad_()
            made = torch._weight_norm(v, g, dim)
            seen.append((made.grad_fn.name(), getattr(made.grad_fn, "_saved_dim", None), made.detach()))
            if lengths != (2,):  # PyTorch's backward wants lengths that broadcast
                grads = torch.autograd.grad((made**3).sum(), (v, g))
                seen.append(grads if dtype == torch.float64 else [grad.dtype for grad in grads])
    for scheme in (torch.nn.utils.weight_norm, torch.nn.utils.parametrizations.weight_norm):
        seen.append(scheme(linear(torch, 2, 2)).weight.grad_fn.name())
    wide = torch.ones(2, 3, dtype=torch.float64)
    return [
        *seen,
        attempt("expected scalar type Double but found Float", torch._weight_norm, wide, torch.ones(2, 1)),
        attempt("weight_norm_kernel", torch._weight_norm, wide.long(), torch.ones(2, 1)),
        attempt("weight_norm_kernel", torch._weight_norm, wide.to(torch.complex64), torch.ones(2, 1)),
        attempt("Dimension out of range", torch._weight_norm, wide, wide, 3),
        attempt("must be int, not float", torch._weight_norm, wide, wide, 0.0),
    ]


@program()
def spectral_norm(torch: Any) -> Any:
    seen = []
    for module in (linear(torch, 3, 2), fill(torch, torch.nn.ConvTranspose1d(2, 3, 2))):
        net = torch.nn.utils.parametrizations.spectral_norm(module, n_power_iterations=2)
        held = net.parametrizations.weight[0]
        for t in (held._u, held._v):
            t.copy_(torch.ones(t.shape) / t.numel() ** 0.5)
        seen += [list(net.state_dict()), repr(net)]
        net(ramp(torch, 1, 2, 4) if module.weight.dim() == 3 else ramp(torch, 2, 3)).pow(2).sum().backward()
        seen += [net.eval().weight, held._u, net.parametrizations.weight.original.grad]
    return seen


@program()
def orthogonal(torch: Any) -> Any:
    parametrizations, seen = torch.nn.utils.parametrizations, []
    for sizes, kind in (((3, 3), "matrix_exp"), ((3, 3), "cayley"), ((2, 4), "householder"), ((4, 2), None)):
        for trivial in (True, False):
            module = linear(torch, *sizes).double()
            start = torch.eye(4, dtype=torch.float64)[: sizes[1], : sizes[0]]
            with torch.no_grad():
                module.weight.copy_(start)
            net = parametrizations.orthogonal(module, orthogonal_map=kind, use_trivialization=trivial)
            seen += [list(net.state_dict()), repr(net), net.parametrizations.weight.original]
            if sizes[0] == sizes[1] or not trivial:
                with torch.no_grad():
                    net.parametrizations.weight.original.add_(
                        ramp(torch, *start.shape).double().tril(-1) * 0.1
                    )
                net.weight.pow(3).sum().backward()
                seen += [net.weight, net.parametrizations.weight.original.grad]
    seen += [
        attempt(
            "has to be one of", lambda: parametrizations.orthogonal(linear(torch, 2, 2), orthogonal_map="q")
        ),
        attempt("Expected a matrix", parametrizations.orthogonal, linear(torch, 2, 2), "bias"),
        attempt("no parameter or buffer", parametrizations.orthogonal, linear(torch, 2, 2), "q"),
    ]
    return seen


@program(warns="deprecated")
def the_older_weight_norm(torch: Any) -> Any:
    utils = torch.nn.utils
    net = utils.weight_norm(linear(torch, 2, 3))
    with torch.no_grad():
        net.weight_g.mul_(2)
    out = net(ramp(torch, 2, 2))
    out.pow(2).sum().backward()
    seen = [out, list(net.state_dict()), {n: p.grad for n, p in net.named_parameters()}, repr(net)]
    seen.append(attempt("two weight_norm hooks", utils.weight_norm, net))
    utils.remove_weight_norm(net)
    seen += [list(net.state_dict()), net(ramp(torch, 2, 2))]
    return [*seen, attempt("not found in", utils.remove_weight_norm, net)]


@program()
def the_older_spectral_norm(torch: Any) -> Any:
    utils = torch.nn.utils
    net = utils.spectral_norm(linear(torch, 2, 3))
    net.weight_u.copy_(torch.ones(3) / 3**0.5)
    net.weight_v.copy_(torch.ones(2) / 2**0.5)
    out = net(ramp(torch, 2, 2))
    out.pow(2).sum().backward()
    seen = [out, list(net.state_dict()), net.weight_orig.grad, net.weight_u, repr(net)]
    seen.append(attempt("two spectral_norm hooks", utils.spectral_norm, net))
    utils.remove_spectral_norm(net)
    return [
        *seen,
        list(net.state_dict()),
        net.weight,
        attempt("not found in", utils.remove_spectral_norm, net),
    ]


@program(warns="deprecated")
def calls_without_state(torch: Any) -> Any:
    net = linear(torch, 2, 2)
    new = {"weight": torch.ones(2, 2, requires_grad=True)}
    out = torch.nn.utils.stateless.functional_call(net, new, ramp(torch, 1, 2))
    out.sum().backward()
    return out, new["weight"].grad, net.weight.grad, net.weight


@program()
def skipped_initial_values(torch: Any) -> Any:
    utils = torch.nn.utils
    net = utils.skip_init(torch.nn.Linear, 2, 3, bias=False)
    return [
        repr(net),
        tuple(net.weight.shape),
        attempt("Expected a Module", utils.skip_init, int),
        attempt("must support a 'device' arg", utils.skip_init, torch.nn.ReLU),
    ]


@program()
def gradients_of_convolutions(torch: Any) -> Any:
    grad, seen = torch.nn.grad, []
    for dims, size in ((1, (5,)), (2, (5, 4)), (3, (4, 5, 3))):
        x, w = ramp(torch, 1, 4, *size), ramp(torch, 2, 2, *(2,) * dims)
        options = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
        g = getattr(torch.nn.functional, f"conv{dims}d")(x, w, None, **options)
        seen.append(getattr(grad, f"conv{dims}d_input")(x.shape, w, g, **options))
        seen.append(getattr(grad, f"conv{dims}d_weight")(x, w.shape, g, **options))
    return seen


@program()
def fused_layers_are_trained_as_their_parts_are(torch: Any) -> Any:
    found = []
    for bias in (False, True):
        for trained in (False, True):
            conv = torch.nn.Conv1d(1, 2, 1, bias=bias).requires_grad_(trained).eval()
            bn = torch.nn.BatchNorm1d(2).eval()
            fused = torch.nn.utils.fusion.fuse_conv_bn_eval(conv, bn)
            found.append([p.requires_grad for p in fused.parameters()])
    layers = torch.nn.Linear(1, 2).eval(), torch.nn.BatchNorm1d(3).eval()
    fuse = torch.nn.utils.fusion.fuse_linear_bn_eval
    return found, attempt("got linear.out_features=2 and bn.num_features=3", fuse, *layers)
