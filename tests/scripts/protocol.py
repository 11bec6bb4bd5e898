"""Classes that say what functions do to them: subclasses of Tensor, other objects, modes."""

import torch
from torch.overrides import (
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
)

LOG = []


class LoggingTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        LOG.append((resolve_name(func), [type(a).__name__ for a in args], [t.__name__ for t in types]))
        return super().__torch_function__(func, types, args, kwargs or {})


def show(expression):
    LOG.clear()
    result = eval(expression, globals())
    print(expression, "->", LOG[:], type(result).__name__)


x, t = torch.ones(2, 2).as_subclass(LoggingTensor), torch.ones(2, 2)
for e in (
    "x + t; t + x; x + 1; 1 + x; x - 1; 1 - x; 2 * x; x / 2; 2 / x; x // 2; 2 // x; x % 2; 2 % x; x ** 2; 2 ** x; x @ t; "
    "t @ x; -x; abs(x); ~x.bool(); x == t; x < 1; x != 1; x[0]; len(x); bool(x[0, 0] > 0); float(x.sum()); x.shape; "
    "x.dtype; x.grad; x.requires_grad; x.T; x.data; x.exp(); torch.exp(x); torch.add(t, x); t.add(x); "
    "torch.stack([t, x]); torch.nn.functional.relu(x); torch.nn.Linear(2, 2)(x); x.tolist(); x.numpy(); x.size(); "
    "x.dim(); x.detach(); torch.zeros_like(x); x.new_zeros(2); torch.is_tensor(x); torch.as_tensor(x); "
    "x.requires_grad_(); x.is_leaf; x.device; x.clone(); x.unbind(); hash(x); x.numel(); x.ndim; torch.nn.Parameter(x); "
    "x.is_floating_point(); x.to(torch.float64); x.type(); x.float(); x.view(-1); x.sum().item(); torch.linalg.norm(x); "
    "torch.add(x, 1, alpha=2); 0 in x; format(x[0, 0]); torch.max(x); torch.allclose(x, x); x.stride(); "
    "x.as_subclass(torch.Tensor); x.reshape(4); torch.manual_seed(1); x.sum().backward()"
).split("; "):
    show(e)
print(x.grad, repr(x.detach()))
x = torch.ones(2, 2).as_subclass(LoggingTensor)
LOG.clear()
x += 1
x[0] = 5
x.add_(1)
x.requires_grad = True
print([name for name, _, _ in LOG])


class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        LOG.append((resolve_name(func), [], []))
        return func(*args, **(kwargs or {}))


with Mode():
    for e in "t + t; torch.ones(2); t.exp(); torch.tensor([1.0]); t[0]; torch.nn.functional.relu(t); torch.cat([t, t])".split(
        "; "
    ):
        show(e)
    with torch._C.DisableTorchFunctionSubclass():
        show("x * 2")
show("t + t")


class Silent:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Answers:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return resolve_name(func), [t.__name__ for t in types], len(args), sorted(kwargs or {})


class Derived(Answers):
    pass


for f in (
    lambda: torch.add(Silent(), t), lambda: t + Silent(), lambda: Silent() + t, lambda: t.add(Silent()),
    lambda: t[Silent()], lambda: torch.nn.functional.gelu(Silent()),
):  # fmt: skip
    try:
        f()
    except TypeError:
        print("TypeError")
print(
    torch.add(Answers(), 1),
    torch.sum(Answers(), dim=1),
    t + Answers(),
    t @ Answers(),
    torch.stack([t, Answers()]),
)
print(torch.where(t > 0, Answers(), t), torch.add(Answers(), Derived()), torch.add(Silent(), Answers()))

HANDLED = {}


def implements(*functions):
    def decorate(f):
        HANDLED.update(dict.fromkeys(functions, f))
        return f

    return decorate


class ScalarTensor:
    def __init__(self, n, value):
        self._n, self._value = n, value

    def tensor(self):
        return self._value * torch.eye(self._n)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(k, (torch.Tensor, ScalarTensor)) for k in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


@implements(torch.mean, torch.Tensor.mean)
def mean(input):
    return float(input._value) / input._n


@implements(torch.add)
def add(input, other):
    return torch.add(*(v.tensor() if isinstance(v, ScalarTensor) else v for v in (input, other)))


s = ScalarTensor(5, 2)
print(torch.mean(s), torch.add(s, torch.ones(5, 5)).sum(), is_tensor_like(s), has_torch_function((s, 1)))


def ours(a, b):
    if has_torch_function((a, b)):
        return handle_torch_function(ours, (a, b), a, b=b)
    return a + b


print(ours(1, 2), ours(1, Answers())[1:], is_tensor_method_or_property(torch.Tensor.add))


class Unit(torch.Tensor):
    @staticmethod
    def __new__(cls, values, unit, *args, **kwargs):
        return super().__new__(cls, values, *args, **kwargs)

    def __init__(self, values, unit):
        self.unit = unit


class Marked(torch.Tensor):
    def __new__(cls, values, mark):
        made = torch.as_tensor(values).as_subclass(cls)
        made.mark = mark
        return made


class Leaf(torch.Tensor):
    def __new__(cls, values, requires_grad=False):
        return torch.Tensor._make_subclass(cls, values, requires_grad)


class Labelled(torch.Tensor):
    pass


class Boxes(Labelled):  # Tensor is not a base of its own
    def __new__(cls, values, *, form):
        made = (torch.as_tensor(values) * 2).as_subclass(cls)
        made.form = form
        return made


class Scaled(Labelled):
    def __new__(cls, values, scale):
        return super().__new__(cls, values)


class Packed(torch.nn.Parameter):
    def __new__(cls, values, requires_grad=True, *, bits=8):
        made = torch.Tensor._make_subclass(cls, values, requires_grad)
        made.bits = bits
        return made


class Louder(LoggingTensor):
    pass


louder = torch.ones(2).as_subclass(Louder)
with torch._C.DisableTorchFunctionSubclass():
    print(type(louder + 1).__name__, type(louder.detach()).__name__)
print(type(louder + 1).__name__, type(louder + torch.ones(2).as_subclass(LoggingTensor)).__name__)
u, m, leaf = Unit([1.0, 2.0], "m"), Marked([1.0, 2.0], "here"), Leaf(torch.ones(2), True)
print(u, u.unit, type(u + 1).__name__, m, m.mark, type(m[0]).__name__, leaf, leaf.is_leaf)
(leaf * 3).sum().backward()
print(leaf.grad, type(leaf.grad).__name__)
boxes, packed = Boxes([1.0, 2.0], form="xyxy"), Packed(torch.ones(2), bits=4)
print(boxes, boxes.form, type(boxes + 1).__name__, Scaled([1.0, 2.0], 3))
print(packed, packed.bits, isinstance(packed, torch.nn.Parameter), packed.requires_grad)
print([type(made).__name__ for made in (packed + 1, packed[0], packed.data, packed.detach())])
logged = torch.ones(2).as_subclass(LoggingTensor)
print([type(logged.as_subclass(kind)).__name__ for kind in (torch.Tensor, Labelled, LoggingTensor)])
print(torch.Tensor.as_subclass in torch.overrides.get_ignored_functions())
