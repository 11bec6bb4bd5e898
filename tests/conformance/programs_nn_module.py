"""nn.Module: attributes, names, walking, dtypes, modes, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from .harness import attempt, program
from .nn_models import fill, linear, mlp, ramp


def holder(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(2, 2)
            self.scale = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("kept", torch.zeros(2))
            self.register_buffer("dropped", torch.ones(1), persistent=False)
            self.b = torch.nn.Sequential(torch.nn.Linear(2, 1, bias=False), torch.nn.ReLU())
            self.plain = 5

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x) * self.scale)

    return fill(torch, Net())


@program()
def names_of_what_is_in_a_module(torch: Any) -> Any:
    net = holder(torch)
    return (
        [n for n, _ in net.named_parameters()],
        [n for n, _ in net.named_parameters(prefix="p", recurse=False)],
        [n for n, _ in net.named_buffers()],
        [n for n, _ in net.named_modules()],
        [n for n, _ in net.named_modules(prefix="x")],
        [n for n, _ in net.named_children()],
        [type(m) for m in net.modules()],
        len(list(net.parameters())),
        len(list(net.buffers())),
        list(net.state_dict()),
    )


@program()
def what_is_shared_comes_once(torch: Any) -> Any:
    nn = torch.nn
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.ReLU(), shared)
    net[1].extra = shared.weight
    return (
        [n for n, _ in net.named_parameters()],
        [n for n, _ in net.named_parameters(remove_duplicate=False)],
        [n for n, _ in net.named_modules()],
        [n for n, _ in net.named_modules(remove_duplicate=False)],
        list(net.state_dict()),
    )


@program()
def the_text_of_modules(torch: Any) -> Any:
    nn = torch.nn

    class Lines(nn.Module):
        def extra_repr(self) -> str:
            return "one\ntwo"

    outer = Lines()
    outer.inner = nn.Sequential(nn.Linear(1, 2), Lines())
    outer.nothing = None
    outer.add_module("none", None)
    return repr(outer), repr(nn.Module()), repr(holder(torch)), repr(Lines()), outer._get_name()


@program()
def assignments_go_where_they_belong(torch: Any) -> Any:
    nn = torch.nn
    m = nn.Module()
    m.w = nn.Parameter(torch.ones(1))
    m.w = None
    seen = [list(m._parameters), m.w]
    del m.w
    m.w = nn.Linear(1, 1)
    seen += [list(m._parameters), list(m._modules)]
    m.w = nn.Parameter(torch.ones(1))
    seen += [list(m._parameters), list(m._modules)]
    m.register_buffer("b", torch.ones(2))
    m.b = torch.zeros(3)
    seen += [m.b, list(m._buffers)]
    m.b = None
    seen += [m.b, list(m.state_dict())]
    m.b = nn.Parameter(torch.ones(1))
    seen += [list(m._parameters), list(m._buffers)]
    m.c = torch.ones(1)
    seen += [list(m._buffers), "c" in m.__dict__]
    m.d = nn.Buffer(torch.ones(1), persistent=False)
    m.e = nn.Buffer(torch.ones(1))
    seen += [list(m._buffers), list(m.state_dict()), isinstance(m.d, nn.Buffer), isinstance(m.w, nn.Buffer)]
    del m.w, m.d
    seen += [list(m._parameters), list(m._buffers), hasattr(m, "w")]
    return seen


@program()
def tables_of_members_are_dicts_to_trees(torch: Any) -> Any:
    tree, model = torch.utils._pytree, linear(torch, 2, 1)
    leaves, form = tree.tree_flatten([model._parameters, model._buffers])
    shapes = tree.tree_map(lambda leaf: tuple(leaf.shape), model._parameters)
    sealed = tree.tree_map(lambda leaf: None, model._parameters, is_leaf=lambda leaf: leaf is model.bias)
    slopes = torch.func.grad(lambda members: (members["weight"] ** 2).sum())(model._parameters)
    same = tree.tree_flatten(dict(model._parameters))[1] == tree.tree_flatten(model._parameters)[1]
    paths = [tree.keystr(path) for path, _ in tree.tree_flatten_with_path(model._parameters)[0]]
    return len(leaves), form.num_nodes, shapes, type(shapes), sealed, slopes, same, paths


@program()
def bad_assignments(torch: Any) -> Any:
    nn, m = torch.nn, linear(torch, 2, 2)
    m.register_buffer("b", torch.ones(1))
    m.sub = nn.ReLU()

    class Early(nn.Module):
        def __init__(self, kind: str) -> None:
            if kind == "parameter":
                self.x = nn.Parameter(torch.ones(1))
            elif kind == "module":
                self.x = nn.ReLU()
            elif kind == "buffer":
                self.register_buffer("x", torch.ones(1))

    computed = torch.ones(1, requires_grad=True) * 2
    parameter = nn.Parameter(torch.ones(1))
    made = parameter * 1
    return [
        attempt("as parameter 'weight'", setattr, m, "weight", torch.ones(1)),
        attempt("as parameter 'weight'", setattr, m, "weight", 3),
        attempt("as child module 'sub'", setattr, m, "sub", 3),
        attempt("as buffer 'b'", setattr, m, "b", 3),
        attempt("before Module.__init__", Early, "parameter"),
        attempt("before Module.__init__", Early, "module"),
        attempt("before Module.__init__", Early, "buffer"),
        attempt("object to parameter 'q'", m.register_parameter, "q", computed),
        attempt("object to parameter 'q'", m.register_parameter, "q", made),
        attempt("already exists", m.register_parameter, "sub", parameter),
        attempt("already exists", m.register_buffer, "weight", None),
        attempt("already exists", m.add_module, "weight", nn.ReLU()),
        attempt("contain", m.register_parameter, "a.b", parameter),
        attempt("contain", m.register_buffer, "a.b", None),
        attempt("contain", m.add_module, "a.b", nn.ReLU()),
        attempt("empty string", m.register_parameter, "", parameter),
        attempt("empty string", m.register_buffer, "", None),
        attempt("empty string", m.add_module, "", None),
        attempt("should be a string", m.register_buffer, 3, None),
        attempt("should be a string", m.register_parameter, 3, None),
        attempt("should be a string", m.add_module, 3, None),
        attempt("is not a Module subclass", m.add_module, "q", 3),
        attempt("object to buffer", m.register_buffer, "q", 3),
        attempt("no attribute 'q'", getattr, m, "q"),
        attempt("q", delattr, m, "q"),
    ]


@program()
def things_by_name(torch: Any) -> Any:
    net = holder(torch)
    net.set_submodule("b.1", torch.nn.Tanh())
    return [
        type(net.get_submodule("b.0")),
        net.get_submodule("") is net,
        net.get_parameter("b.0.weight"),
        net.get_buffer("kept"),
        repr(net.b),
        attempt("has no attribute `q`", net.get_submodule, "b.q"),
        attempt("is not an nn.Module", net.get_submodule, "scale"),
        attempt("is not an nn.Parameter", net.get_parameter, "b.0"),
        attempt("has no attribute `q`", net.get_parameter, "a.q"),
        attempt("is not a buffer", net.get_buffer, "scale"),
        attempt("without a target", net.set_submodule, "", torch.nn.Tanh()),
        attempt("has no attribute `q`", net.set_submodule, "q", torch.nn.Tanh(), True),
        attempt("is not an nn.Module", net.set_submodule, "scale", torch.nn.Tanh()),
    ]


@program()
def modes(torch: Any) -> Any:
    net = mlp(torch)
    seen = [net.training, net.eval() is net, net[1].training, net.train() is net, net[1].training]
    net[0].eval()
    seen += [net.training, net[0].training, attempt("expected to be boolean", net.train, 1)]
    net.requires_grad_(False)
    seen += [[p.requires_grad for p in net.parameters()]]
    return seen


@program()
def gradients_are_forgotten(torch: Any) -> Any:
    net = linear(torch, 2, 2)
    net(ramp(torch, 3, 2)).sum().backward()
    before = net.weight.grad
    net.zero_grad(set_to_none=False)
    seen = [before, net.weight.grad is before]
    net.zero_grad()
    return [*seen, net.weight.grad, net.bias.grad]


@program()
def dtypes(torch: Any) -> Any:
    net = mlp(torch)
    net(ramp(torch, 4, 2)).sum().backward()
    weight = net[0].weight
    seen = []
    for change in ("double", "half", "float"):
        getattr(net, change)()
        seen += [weight.dtype, weight.grad.dtype, net[1].running_mean.dtype, net[1].num_batches_tracked.dtype]
        seen += [net[0].weight is weight, weight.is_leaf]
    net.to(torch.float64)
    seen.append(net[1].running_var.dtype)
    net.to("cpu", torch.float32)
    seen.append(net[1].running_var.dtype)
    net.to(torch.ones(1, dtype=torch.float64))
    seen.append(net[1].running_var.dtype)
    net.to(dtype=torch.float32, device="cpu")
    seen.append(net[1].running_var.dtype)
    net.type(torch.float64)
    seen += [net[1].running_var.dtype, net[1].num_batches_tracked.dtype]
    seen.append(attempt("only accepts floating point or complex", net.to, torch.int32))
    seen.append(net.cpu() is net)
    return seen


@program()
def apply_goes_from_the_inside_out(torch: Any) -> Any:
    seen: list[str] = []
    holder(torch).apply(lambda m: seen.append(type(m).__name__))
    return seen


@program()
def copies(torch: Any) -> Any:
    net = mlp(torch)
    net(ramp(torch, 4, 2)).sum().backward()
    twin = copy.deepcopy(net)
    with torch.no_grad():
        net[0].weight.zero_()
    again = pickle.loads(pickle.dumps(net))
    shallow = copy.copy(net)
    return [
        twin[0].weight,
        twin[0].weight.grad is None,
        twin[1].num_batches_tracked,
        again[0].weight,
        [n for n, _ in again.named_parameters()],
        shallow[0].weight is net[0].weight,
        type(copy.deepcopy(net[0].weight)) is torch.nn.Parameter,
        copy.deepcopy(net[0].weight).requires_grad,
    ]


@program()
def parameters_are_tensors(torch: Any) -> Any:
    nn = torch.nn
    p = nn.Parameter(torch.ones(2, 2))
    frozen = nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False)
    source = torch.zeros(2)
    shared = nn.Parameter(source)
    source += 1
    return [
        repr(p),
        repr(frozen),
        shared.detach(),
        p.is_leaf,
        isinstance(p, torch.Tensor),
        isinstance(p + 1, nn.Parameter),
        isinstance(p.detach(), nn.Parameter),
        isinstance(p.data, nn.Parameter),
        isinstance(nn.Parameter(p), nn.Parameter),
        p[0],
        attempt("floating point", nn.Parameter, torch.ones(1, dtype=torch.int64)),
        attempt("detach", nn.Parameter, 3.0),
        nn.Parameter().shape[0],
    ]


@program()
def calling_without_forward(torch: Any) -> Any:
    m = torch.nn.Module()
    return [
        attempt('missing the required "forward"', m, 1),
        attempt("takes 1 positional argument", torch.nn.Module, 1),
        attempt("unexpected keyword argument", lambda: torch.nn.Module(x=1)),
    ]


@program()
def dir_lists_what_is_held(torch: Any) -> Any:
    names = dir(holder(torch))
    return [name in names for name in ("a", "scale", "kept", "b", "plain", "forward", "q")]


@program()
def a_call_computes_and_records(torch: Any) -> Any:
    net, x = holder(torch), ramp(torch, 3, 2, requires_grad=True)
    out = net(x)
    out.sum().backward()
    return out, x.grad, {name: p.grad for name, p in net.named_parameters()}


@program()
def a_memory_format_is_for_images_and_volumes(torch: Any) -> Any:
    last, last3d = torch.channels_last, torch.channels_last_3d
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 2), torch.nn.BatchNorm2d(4), torch.nn.Flatten())
    x = torch.arange(54.0).reshape(2, 3, 3, 3)
    before = fill(torch, net)(x)
    before.sum().backward()
    moved = net.to(torch.float64, memory_format=last)
    layouts = [(p.stride(), p.grad.stride(), p.dtype) for p in moved.parameters()]
    again = [p.stride() for p in moved.to(memory_format=torch.contiguous_format).parameters()]
    return [
        layouts,
        again,
        torch.allclose(moved(x.double()), before.double(), atol=1e-5),
        torch.nn.Conv3d(2, 3, 2).to(memory_format=last3d).weight.stride(),
        torch.nn.Conv2d(2, 3, 2).to(memory_format=torch.preserve_format).weight.stride(),
        attempt("required rank 4 tensor", torch.nn.Conv3d(1, 1, 1).to, memory_format=last),
        attempt("required rank 5 tensor", torch.nn.Conv2d(1, 1, 1).to, memory_format=last3d),
    ]
