"""What programs see of modules from inside: conversions, hooks, parts that subclasses override, names of their own."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import weakref
from collections import OrderedDict
from typing import Any

from .harness import attempt, program


def _add_one(t: Any) -> Any:
    return t.add_(1.0)


@program()
def arguments_of_to(torch: Any) -> Any:
    layer, wrong = torch.nn.Linear(1, 1), "invalid combination of arguments"
    calls: list[tuple[Any, ...]] = [
        (None, True),
        ("cpu", True),
        ([],),
        (torch.float64, torch.float64),
        ("cpu", torch.ones(1)),
        (torch.ones(1), torch.float64),
    ]
    return [
        *[attempt(wrong, layer.to, *args) for args in calls],
        attempt(wrong, lambda: layer.to(foo=1)),
        attempt(wrong, lambda: layer.to("cpu", memory_format=3)),
        attempt("does not accept copy argument", lambda: layer.to("cpu", copy=True)),
        attempt("only accepts floating point", lambda: layer.to(torch.tensor(3), non_blocking=True)),
        layer.to("cpu", torch.float64, True).weight.dtype,
        layer.to(None).weight.dtype,
        layer.to(tensor=torch.ones(1)).weight.dtype,
    ]


@program("modified by an inplace operation")
def writes_to_parameters_are_noticed(torch: Any) -> None:
    layer = torch.nn.Linear(2, 2)
    product = layer.weight.mul(layer.weight)
    layer._apply(_add_one)
    product.backward(torch.ones(2, 2))


@program()
def parameters_are_overwritten_where_that_is_asked_for(torch: Any) -> Any:
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        layer = torch.nn.Linear(2, 2)
        before, part = layer.weight, layer.weight[:]
        layer.weight.grad = torch.ones(2, 2)
        layer.double()
        with torch.no_grad():
            part[0][0] = 5
        changed = layer.weight
        return changed is before, before[0][0], part.dtype, before.dtype, changed.dtype, changed.grad.dtype
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)


@program()
def buffers_that_are_assigned(torch: Any) -> Any:
    class Old(torch.nn.Module):
        def register_buffer(self, name: str, value: Any) -> None:
            super().register_buffer(name, value, True)

    module, old = torch.nn.Module(), Old()
    module.size = 3
    old.kept = torch.nn.Buffer(torch.ones(1))

    def assign(owner: Any, name: str, buffer: Any) -> None:
        setattr(owner, name, buffer)

    return [
        attempt("attribute 'size' already exists", assign, module, "size", torch.nn.Buffer(torch.ones(1))),
        attempt("without .*persistent", assign, old, "x", torch.nn.Buffer(torch.ones(1), persistent=False)),
        list(old.state_dict()),
    ]


@program()
def replicas_have_places_for_tensors_with_a_history(torch: Any) -> Any:
    table = torch.nn.ParameterDict({"a": torch.ones(2), "b": torch.zeros(1)})
    replica = table._replicate_for_data_parallel()
    for name, param in table.named_parameters():
        setattr(replica, name, param.view_as(param))
    return [(key, value.grad_fn is not None) for key, value in replica.items()], len(
        list(replica.parameters())
    )


@program(warns="`torch.nn.utils.weight_norm` is deprecated")
def weights_that_a_recurrent_network_lists(torch: Any) -> Any:
    net = torch.nn.utils.weight_norm(torch.nn.LSTM(2, 3, bidirectional=True), "weight_ih_l0")
    counts = [isinstance(w, torch.nn.Parameter) for w in net._flat_weights]
    torch.nn.utils.remove_weight_norm(net, "weight_ih_l0")
    return counts, len(net._flat_weights), net._all_weights


@program()
def states_of_two_dimensions_too_few(torch: Any) -> Any:
    net, h = torch.nn.LSTM(2, 3), torch.ones(1, 1, 3)
    return attempt(
        r"hx and cx should also be 2-D but got \(3-D, 3-D\) tensors", net, torch.ones(4, 2), (h, h)
    )


@program()
def parts_of_layers_that_subclasses_override(torch: Any) -> Any:
    nn = torch.nn

    class Cast(nn.Conv1d):  # type: ignore[misc, name-defined]
        def _conv_forward(self, x: Any, weight: Any, bias: Any) -> Any:
            return super()._conv_forward(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))

    class Quiet(nn.TransformerDecoderLayer):  # type: ignore[misc, name-defined]
        def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
            return x * 0

        def _mha_block(
            self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
        ) -> Any:
            return mem

        def _ff_block(self, x: Any) -> Any:
            return x * 2

    conv = Cast(2, 2, 3, padding=1, padding_mode="circular")
    x = torch.arange(4.0).reshape(1, 1, 4)
    return (
        conv(torch.ones(1, 2, 3, dtype=torch.float64)).dtype,
        tuple(conv._reversed_padding_repeated_twice),
        Quiet(4, 2, 8, 0.0)(x, x + 1),
    )


@program()
def a_first_form_of_spectral_norm_is_read(torch: Any) -> Any:
    plain = torch.nn.Linear(3, 2)
    with torch.no_grad():
        plain.weight.copy_(torch.tensor([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]]))
        plain.bias.fill_(0.5)
    net = torch.nn.utils.spectral_norm(plain, n_power_iterations=30)
    net(torch.ones(1, 3))
    state = copy.deepcopy(net.state_dict())
    del state._metadata[""]["spectral_norm"], state["weight_v"]
    state["weight"] = net.weight.detach().clone()
    net.eval()
    before = net(torch.ones(1, 3))
    net.load_state_dict(state)
    missing = attempt("Missing key.*weight_u", net.load_state_dict, OrderedDict(weight=state["weight"]))
    return before, net(torch.ones(1, 3)), missing


class _Counted:
    """A hook that can be pickled."""

    def __call__(self, module: Any, *args: Any) -> None:
        module.calls = getattr(module, "calls", 0) + 1


@program()
def hooks_of_state_dicts_know_their_module(torch: Any) -> Any:
    gc.collect()
    gc.disable()
    try:
        layer = torch.nn.Linear(1, 1)
        layer.register_load_state_dict_pre_hook(_Counted())
        gone = weakref.ref(layer)
        twin, again = copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))
        del layer
        freed = gone() is None
    finally:
        gc.enable()
    for module in (twin, again, again):
        module.load_state_dict(twin.state_dict())
    hook = next(iter(twin._load_state_dict_pre_hooks.values()))
    return freed, twin.calls, again.calls, hook.with_module, type(hook).__name__


@program()
def tables_of_all_modules_hooks_can_be_emptied(torch: Any) -> Any:
    file, seen = torch.nn.modules.module, []
    file.register_module_forward_hook(lambda *args: seen.append("after"))
    file.register_module_forward_pre_hook(lambda *args: seen.append("before"))
    layer, counts = (
        torch.nn.Identity(),
        [len(file._global_forward_hooks), len(file._global_forward_pre_hooks)],
    )
    layer(1)
    file._global_forward_hooks = OrderedDict()
    layer(1)
    file._global_forward_pre_hooks = OrderedDict()
    layer._call_impl(1)
    return seen, counts


@program(warns="Initializing zero-element tensors is a no-op")
def convolutions_of_no_channels(torch: Any) -> Any:
    found = []
    for dims, kind in enumerate((torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d), 1):
        layer = kind(0, 3, 2)
        x = torch.ones(2, 0, *[4] * dims, requires_grad=True)
        out = layer(x)
        out.sum().backward()
        found.append((out.detach(), x.grad, layer.weight.grad, layer.bias.grad))
    return found


@program()
def empty_images(torch: Any) -> Any:
    F = torch.nn.functional
    return [
        attempt("Expected input to have non-zero size", F.adaptive_max_pool2d, torch.ones(2, 0, 3, 3), 2),
        attempt("Expected input to have non-zero size", F.adaptive_avg_pool3d, torch.ones(2, 0, 3, 3, 3), 2),
        F.adaptive_avg_pool2d(torch.ones(2, 0, 3, 3), 2),
        F.pad(torch.ones(2, 0, 3), (1, 1), mode="circular"),
        attempt("wrapping around more than once", F.pad, torch.ones(2, 3, 0), (1, 1), mode="circular"),
        attempt(
            "sliding blocks as .-4, -3., which is too small", F.fold, torch.ones(1, 12, 12), (4, 5), 2, 8
        ),
    ]


@program()
def large_integers_without_a_tolerance(torch: Any) -> Any:
    a, b = torch.tensor([2**60, 2**60]), torch.tensor([2**60 + 1, 2**60])
    return torch.isclose(a, b, rtol=0, atol=0), torch.allclose(a, b, rtol=0, atol=0), torch.isclose(a, b)


@program()
def names_of_pruning_and_initial_values(torch: Any) -> Any:
    prune, init = importlib.import_module(f"{torch.__name__}.nn.utils.prune"), torch.nn.init
    t = torch.zeros(2, 3)
    init._no_grad_fill_(t, 2.0)
    layer = torch.nn.Embedding(3, 2, padding_idx=1)
    init._no_grad_uniform_(layer.weight, 1.0, 2.0)
    layer._fill_padding_idx_with_zero()
    return [
        t,
        layer.weight[1],
        prune._compute_norm(torch.tensor([[1.0, -2.0], [3.0, 4.0]]), 1, 0),
        [prune._compute_nparams_toprune(amount, 17) for amount in (0, 10, 1.0, 0.4)],
        attempt("should be smaller than the number", prune._validate_pruning_amount, 20, 19),
        attempt("amount=1.1", prune._validate_pruning_amount_init, 1.1),
        attempt("multidimensional", prune._validate_structured_pruning, torch.ones(2)),
        attempt("Invalid index 2", prune._validate_pruning_dim, t, 2),
        repr(torch.nn.Unflatten("features", (2, 3))),
        repr(torch.nn.ParameterList([torch.ones(1, device="meta")])),
    ]
