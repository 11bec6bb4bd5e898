"""State dicts of modules: keys, metadata, loading, hooks, what is told of what does not fit."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .nn_models import fill, linear, mlp, ramp


@program()
def keys_and_metadata(torch: Any) -> Any:
    state = mlp(torch).state_dict(prefix="net.")
    return list(state), {k: dict(v) for k, v in state._metadata.items()}, list(state.values())


@program()
def what_is_in_it_shares_memory(torch: Any) -> Any:
    net = linear(torch, 2, 2)
    state, kept = net.state_dict(), net.state_dict(keep_vars=True)
    with torch.no_grad():
        net.weight.zero_()
    return state["weight"], state["weight"].requires_grad, kept["weight"] is net.weight


@program(warns="Positional args are being deprecated")
def positional_arguments(torch: Any) -> Any:
    import collections

    destination = collections.OrderedDict()
    linear(torch, 1, 1).state_dict(destination, "p.", True)
    return list(destination)


@program()
def loading(torch: Any) -> Any:
    nn, net = torch.nn, mlp(torch)
    other = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 1))
    weight = other[0].weight
    found = other.load_state_dict(net.state_dict())
    return repr(found), list(found), other.state_dict(), other[0].weight is weight, weight.requires_grad


@program()
def errors_come_all_at_once(torch: Any) -> Any:
    net = mlp(torch)
    bad = {"0.weight": torch.ones(2, 2), "0.bias": [1.0], "7.x": torch.ones(1), "y": torch.ones(1)}
    found = net.load_state_dict({"y": torch.ones(1), "0.bias": torch.ones(3)}, strict=False)
    keys = r'Missing key.s. in state_dict: "1.weight", .*\n\tUnexpected key.s. in state_dict: "7.x", "y"'
    shapes = r"size mismatch for 0.weight: copying a param with shape torch.Size\(\[2, 2\]\) from checkpoint, the shape"
    return [
        attempt(keys, net.load_state_dict, bad),
        attempt(shapes + r" in current model is torch.Size\(\[3, 2\]\)", net.load_state_dict, bad, False),
        attempt("expected torch.Tensor or Tensor-like object", net.load_state_dict, bad, strict=False),
        attempt("Error\\(s\\) in loading state_dict for Sequential", net.load_state_dict, bad, strict=False),
        attempt("dict-like", net.load_state_dict, 3),
        found.missing_keys,
        found.unexpected_keys,
        repr(found),
        net[0].bias,
    ]  # fmt: skip


@program()
def assigning(torch: Any) -> Any:
    net = linear(torch, 2, 2)
    net.bias.requires_grad_(False)
    weight = torch.zeros(2, 2, dtype=torch.float64)
    net.load_state_dict({"weight": weight, "bias": torch.nn.Parameter(torch.ones(2))}, assign=True)
    weight += 1
    return net.weight, net.bias, isinstance(net.weight, torch.nn.Parameter)


@program()
def dtypes_are_kept_by_copying(torch: Any) -> Any:
    net = linear(torch, 2, 2)
    net.load_state_dict(
        {"weight": torch.ones(2, 2, dtype=torch.float64), "bias": torch.ones(2, dtype=torch.int64)}
    )
    return net.weight, net.bias


@program()
def single_numbers_of_old_versions(torch: Any) -> Any:
    m = torch.nn.Module()
    m.register_buffer("n", torch.tensor(3.0))
    m.load_state_dict({"n": torch.tensor([5.0])})
    return m.n


@program()
def batch_norm_of_version_one(torch: Any) -> Any:
    norm = torch.nn.BatchNorm1d(2)
    state = {k: v for k, v in norm.state_dict().items() if k != "num_batches_tracked"}
    return repr(norm.load_state_dict(state)), norm.num_batches_tracked


@program()
def extra_state(torch: Any) -> Any:
    class Extra(torch.nn.Module):
        def __init__(self, value: Any) -> None:
            super().__init__()
            self.value = value

        def get_extra_state(self) -> Any:
            return {"value": self.value}

        def set_extra_state(self, state: Any) -> None:
            self.value = state["value"]

    a, b = torch.nn.Sequential(Extra(1)), torch.nn.Sequential(Extra(2))
    state = a.state_dict()
    b.load_state_dict(state)
    return [
        list(state),
        b[0].value,
        attempt(r'Missing key\(s\) in state_dict: "0._extra_state"', b.load_state_dict, {}),
        attempt(r'Unexpected key\(s\) in state_dict: "_extra_state"', linear(torch, 1, 1).load_state_dict,
                {**linear(torch, 1, 1).state_dict(), "_extra_state": 1}),
    ]  # fmt: skip


@program()
def hooks_around_saving_and_loading(torch: Any) -> Any:
    seen: list[Any] = []
    net = torch.nn.Sequential(linear(torch, 1, 1))
    inner = net[0]
    inner.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("pre", prefix, keep)))

    def post(m: Any, state: Any, prefix: str, metadata: Any) -> None:
        seen.append(("post", prefix, list(state), dict(metadata)))
        state[prefix + "more"] = torch.ones(1)

    handle = inner.register_state_dict_post_hook(post)
    state = net.state_dict()
    handle.remove()

    def before(
        m: Any, state: Any, prefix: str, meta: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        seen.append(("load", m is inner, prefix, list(state), strict))
        state.pop(prefix + "more", None)

    def after(m: Any, keys: Any) -> None:
        seen.append(("loaded", list(keys.missing_keys), list(keys.unexpected_keys)))
        keys.missing_keys.clear()

    inner.register_load_state_dict_pre_hook(before)
    net.register_load_state_dict_post_hook(after)
    state.pop("0.weight")
    seen.append(repr(net.load_state_dict(state)))
    seen.append(attempt("must return None", _bad_post, torch))
    seen.append(attempt("not expected to return new values", _bad_load_post, torch))
    return seen


def _bad_post(torch: Any) -> Any:
    net = linear(torch, 1, 1)
    net.register_state_dict_post_hook(lambda *args: {})
    return net.state_dict()


def _bad_load_post(torch: Any) -> Any:
    net = linear(torch, 1, 1)
    net.register_load_state_dict_post_hook(lambda *args: 1)
    return net.load_state_dict(net.state_dict())


@program()
def a_hook_that_replaces_the_state(torch: Any) -> Any:
    net = linear(torch, 1, 1)
    net._register_state_dict_hook(lambda m, state, prefix, metadata: {"all": len(state)})
    return net.state_dict()


@program()
def state_goes_through_a_file(torch: Any) -> Any:
    import io

    file, net = io.BytesIO(), mlp(torch)
    torch.save(net.state_dict(), file)
    file.seek(0)
    state = torch.load(file)
    fresh = fill(torch, mlp(torch))
    found = repr(fresh.load_state_dict(state))
    x = ramp(torch, 4, 2)
    return found, list(state), {k: dict(v) for k, v in state._metadata.items()}, fresh(x), net(x)


@program()
def parameters_go_through_a_file(torch: Any) -> Any:
    import io

    file, net = io.BytesIO(), linear(torch, 2, 2)
    torch.save([*net.parameters(), torch.nn.Parameter(torch.ones(1), requires_grad=False)], file)
    file.seek(0)
    found = torch.load(file)
    return found, [isinstance(p, torch.nn.Parameter) for p in found]


@program()
def a_whole_module_goes_through_a_file(torch: Any) -> Any:
    import io

    file, net = io.BytesIO(), mlp(torch)
    torch.save(net, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    return repr(again), again(ramp(torch, 4, 2)), list(again.state_dict())


@program()
def pickles_of_old_versions(torch: Any) -> Any:
    nn = torch.nn
    rows = [
        (nn.Conv2d(1, 1, 1), ["padding_mode"]),
        (nn.ConvTranspose1d(1, 1, 1), ["padding_mode"]),
        (nn.MultiheadAttention(2, 1), ["_qkv_same_embed_dim"]),
        (nn.Upsample(scale_factor=2), ["recompute_scale_factor"]),
        (nn.Softmax(1), ["dim"]),
        (nn.Softmin(1), ["dim"]),
        (nn.LogSoftmax(1), ["dim"]),
        (nn.LSTM(1, 1), ["proj_size"]),
        (nn.AvgPool3d(2), ["padding", "ceil_mode", "count_include_pad"]),
    ]
    found = []
    for module, later in rows:
        state = {name: value for name, value in module.__dict__.items() if name not in later}
        old = type(module).__new__(type(module))
        old.__setstate__(state)
        found.append([getattr(old, name) for name in later])
    return found


@program()
def lazy_modules_take_states_without_shapes(torch: Any) -> Any:
    net, other = torch.nn.LazyLinear(2), torch.nn.LazyLinear(2)
    found = repr(net.load_state_dict(other.state_dict()))
    return found, net.has_uninitialized_params(), net(torch.ones(1, 3)).shape


@program()
def lazy_modules_go_through_a_file(torch: Any) -> Any:
    import io

    file, net = io.BytesIO(), torch.nn.LazyLinear(2)
    torch.save(net.state_dict(), file)
    file.seek(0)
    found = torch.load(file, weights_only=False)
    return [repr(value) for value in found.values()], found["weight"].requires_grad


@program()
def single_numbers_take_lines_of_one_element(torch: Any) -> Any:
    net = torch.nn.Module()
    net.limit = torch.nn.Parameter(torch.tensor(0.0))
    refused = [
        attempt("size mismatch for limit", net.load_state_dict, {"limit": torch.ones(*shape)})
        for shape in ((3,), (0,), (1, 1))
    ]
    return refused, repr(net.load_state_dict({"limit": torch.ones(1)})), net.limit
