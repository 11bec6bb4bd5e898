"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict, and lazy modules."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

from .harness import attempt, program
from .nn_models import fill, ramp


@program()
def sequential(torch: Any) -> Any:
    nn = torch.nn
    net = nn.Sequential(OrderedDict([("first", nn.Linear(2, 2)), ("act", nn.ReLU())]))
    many = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    seen = [
        repr(net),
        repr(net[0]),
        repr(many[1:]),
        repr(net[:1]),
        repr(many[-1]),
        len(many),
        [type(m) for m in many],
    ]
    many.append(nn.GELU()).insert(1, nn.SiLU())
    seen.append(repr(many))
    del many[0]
    many[0] = nn.Mish()
    seen += [repr(many), repr(many + net), repr(nn.Sequential(nn.ReLU()) * 2), type(many.pop(1)), repr(many)]
    many.extend(net)
    many += nn.Sequential(nn.ReLU())
    seen += [repr(many), [n for n, _ in many.named_children()]]
    seen += [
        attempt("out of range", many.__getitem__, 9),
        attempt("is not a Module subclass", nn.Sequential, 3),
        attempt("only objects of Sequential", many.__add__, [nn.ReLU()]),
        attempt("Non-positive", many.__mul__, 0),
        attempt("should be of type", many.insert, 0, 3),
        attempt("Index out of range", many.insert, 99, nn.ReLU()),
    ]
    return seen


@program()
def module_list(torch: Any) -> Any:
    nn = torch.nn
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()])
    seen = [repr(layers), len(layers), repr(layers[1:]), repr(nn.ModuleList())]
    layers.append(nn.Tanh()).extend([nn.GELU(), nn.GELU()])
    layers.insert(0, nn.SiLU())
    layers[1] = nn.Mish()
    del layers[2], layers[-1]
    seen += [
        repr(layers),
        type(layers.pop(0)),
        repr(layers + [nn.ReLU()]),
        nn.ReLU in [type(m) for m in layers],
    ]
    layers += [nn.Tanh()]
    seen += [
        repr(layers),
        attempt("out of range", layers.__getitem__, 99),
        attempt("iterable", layers.extend, 3),
        attempt("forward", layers, 1),
    ]
    return seen


@program()
def module_dict(torch: Any) -> Any:
    nn = torch.nn
    d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    d["c"] = nn.GELU()
    d.update([("a", nn.SiLU()), ("d", nn.Mish())])
    seen = [
        repr(d),
        list(d),
        list(d.keys()),
        [type(m) for m in d.values()],
        [k for k, _ in d.items()],
        "a" in d,
        len(d),
    ]
    del d["b"]
    seen += [type(d.pop("a")), repr(d)]
    d.clear()
    seen += [
        repr(d),
        attempt("b", d.__getitem__, "b"),
        attempt("iterable of key/value", d.update, 3),
        attempt("should be Iterable", d.update, [3]),
        attempt("2 is required", d.update, [("a", 1, 2)]),
        attempt("already exists", nn.ModuleDict, {"keys": nn.ReLU()}),
    ]
    return seen


@program()
def parameter_list(torch: Any) -> Any:
    nn = torch.nn
    p = nn.ParameterList([torch.ones(2, 3), nn.Parameter(torch.zeros(2, dtype=torch.float64)), 5])
    p.append(torch.ones(1))
    p += [torch.ones(1)]
    p[0] = torch.ones(4)
    return [
        repr(p), len(p), [n for n, _ in p.named_parameters()], p[1], p[2], repr(p[:2]), p[-1],
        isinstance(p[0], nn.Parameter), list(p.state_dict()),
        attempt("out of range", p.__getitem__, 9),
        attempt("iterable", p.extend, torch.ones(2)),
        attempt("should not be called", p, 1),
    ]  # fmt: skip


@program()
def parameter_dict(torch: Any) -> Any:
    nn = torch.nn
    d = nn.ParameterDict({"a": torch.ones(2), "b": nn.Parameter(torch.zeros(1)), "n": 3})
    d["c"] = torch.ones(2, 2)
    seen = [
        repr(d),
        list(d),
        [k for k, _ in d.items()],
        len(list(d.values())),
        "a" in d,
        len(d),
        d.get("q"),
        d["n"],
    ]
    other = nn.ParameterDict({"z": torch.ones(1), "a": torch.zeros(1)})
    seen += [
        list(d | other),
        (d | other)["a"],
        list(reversed(d)),
        d.setdefault("s", torch.ones(1)),
        d.setdefault("a"),
    ]
    seen += [d.pop("a"), d.popitem()[0], list(d), list(d.fromkeys(["x", "y"], torch.ones(1)))]
    del d["b"]
    d |= other
    seen += [list(d), [n for n, _ in d.named_parameters()], list(d.copy())]
    d.clear()
    seen += [
        len(d),
        attempt("not a string", d.__setitem__, 3, torch.ones(1)),
        attempt("should not be called", d, 1),
    ]
    return seen


@program()
def lazy_modules(torch: Any) -> Any:
    nn = torch.nn
    net = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d(), nn.LazyLinear(2, bias=False))
    twin = nn.Sequential(copy.deepcopy(net[0]), nn.LazyBatchNorm1d(), nn.LazyLinear(2, bias=False))
    seen = [
        repr(net), repr(net[0].weight), [repr(p) for p in net.parameters()], net[0].has_uninitialized_params(),
        attempt("Can't access the shape", lambda: net[0].weight.shape),
        attempt("uninitialized", lambda: net[0].weight + 1),
        attempt("uninitialized", lambda: net[0].weight.numel()),
    ]  # fmt: skip
    net.double()
    seen.append(net(ramp(torch, 4, 5).double()).shape[1])
    fill(torch, net)
    seen += [repr(net), net[0].weight, [type(m) for m in net], net[1].running_mean.dtype]
    seen += [repr(twin.load_state_dict(net.state_dict())), twin[0].weight, type(twin[0])]
    seen += [twin(ramp(torch, 4, 5)), repr(twin)]
    return seen


@program()
def lazy_modules_that_are_used_wrongly(torch: Any) -> Any:
    nn = torch.nn
    return [
        attempt("Expected 3D .unbatched. or 4D .batched. input", nn.LazyConv2d(2, 3), torch.ones(2, 2)),
        attempt("divisible by groups", nn.LazyConv2d(4, 3, groups=2), torch.ones(1, 3, 5, 5)),
        attempt("Can't access the shape", nn.Linear(2, 2).load_state_dict, nn.LazyLinear(2).state_dict()),
    ]


@program()
def copies_of_lazy_modules(torch: Any) -> Any:
    lazy, seen = torch.nn.LazyLinear(2), []
    for twin in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        twin(torch.ones(1, 3))
        seen += [len(twin._forward_pre_hooks), tuple(twin(torch.ones(1, 3)).shape), repr(twin)]
    return seen, len(lazy._forward_pre_hooks), repr(lazy)


@program()
def a_copied_handle_removes_the_copied_hook(torch: Any) -> Any:
    net = torch.nn.ReLU()
    net.handle = net.register_forward_hook(len, with_kwargs=True)
    twin = copy.deepcopy(net)
    before = len(twin._forward_hooks), len(twin._forward_hooks_with_kwargs)
    twin.handle.remove()
    return before, len(twin._forward_hooks), len(twin._forward_hooks_with_kwargs), len(net._forward_hooks)
